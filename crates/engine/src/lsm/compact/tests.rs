//! Compactions held against a model: no reader sees a difference, what nobody sees is gone, and what fails leaves no file.

use super::super::entry::{Kind, MAX_SEQUENCE, Sequence};
use super::super::model::{History, Step, Version, keys, steps};
use super::super::options::DbOptions;
use super::super::removals::Removals;
use super::super::table_file::TableFile;
use super::super::version::TableMeta;
use super::{Below, Collected, CompactJob, JobContext, Outcome, Part, run_job};
use crate::block::cache::BlockCache;
use crate::error::{Error, Result};
use crate::io::{MemoryStorage, Storage};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

const OWNER: u64 = 77;

/// A folder and what a job needs around it.
struct World {
    storage: Arc<dyn Storage>,
    options: DbOptions,
    next_file: AtomicU64,
    stop: AtomicBool,
}

impl World {
    fn new(table_bytes: u64) -> Self {
        let options = DbOptions { table_bytes, block_bytes: 512, ..DbOptions::default() };
        Self::on(Arc::new(MemoryStorage::new()), options)
    }

    fn on(storage: Arc<dyn Storage>, options: DbOptions) -> Self {
        Self { storage, options, next_file: AtomicU64::new(1), stop: AtomicBool::new(false) }
    }

    fn context(&self) -> JobContext<'_> {
        JobContext {
            storage: &self.storage,
            owner: OWNER,
            options: &self.options,
            next_file: &self.next_file,
            stop: &self.stop,
        }
    }

    fn open(&self, meta: &TableMeta) -> Arc<TableFile> {
        let cache = Arc::new(BlockCache::new(1 << 20));
        TableFile::open(&self.storage, OWNER, Arc::new(meta.clone()), &cache, &self.options).unwrap()
    }

    fn run(&self, history: &History, level: usize, snapshots: &[Sequence], below: Below) -> Result<Outcome> {
        run_job(&self.context(), job(history, level, snapshots, below, &Collected::new()))
    }

    /// All that the tables hold.
    fn read(&self, tables: &[TableMeta]) -> History {
        let mut history = History::default();
        for meta in tables {
            let file = self.open(meta);
            check_meta(meta, &file);
            history.versions.extend(entries(&file));
            history.removals.extend(&file.removals);
        }
        history.sort();
        history
    }
}

fn job<'a>(
    history: &History,
    level: usize,
    snapshots: &'a [Sequence],
    below: Below,
    collected: &'a Collected,
) -> CompactJob<'a> {
    CompactJob {
        cursor: history.cursor(),
        removals: vec![Arc::new(history.removals.clone())],
        level,
        cuts: None,
        snapshots,
        below,
        collected,
        part: Part::default(),
    }
}

fn entries(file: &Arc<TableFile>) -> Vec<Version> {
    let mut cursor = file.cursor(true);
    let mut versions = Vec::new();
    cursor.first().unwrap();
    while let Some(entry) = cursor.entry() {
        let (key, value) = (entry.key.to_vec(), entry.value.to_vec());
        versions.push(Version { key, sequence: entry.sequence, kind: entry.kind, value });
        cursor.next().unwrap();
    }
    versions
}

/// Holds what is said of a table against the table.
fn check_meta(meta: &TableMeta, file: &Arc<TableFile>) {
    let versions = entries(file);
    let removals: Vec<_> = file.removals.iter().cloned().collect();
    assert_eq!(meta.records, versions.len() as u64);
    assert_eq!(meta.removals, versions.iter().filter(|version| version.kind == Kind::Remove).count() as u64);
    let shadowed = versions.windows(2).filter(|pair| pair[0].key == pair[1].key).count();
    assert_eq!(meta.shadowed, shadowed as u64);
    assert_eq!(meta.has_range_removals, !removals.is_empty());
    let sequences = versions.iter().map(|version| version.sequence).chain(removals.iter().map(|removal| removal.sequence));
    assert_eq!(meta.smallest_sequence, sequences.clone().min().unwrap());
    assert_eq!(meta.largest_sequence, sequences.max().unwrap());
    let starts = versions.first().map(|version| version.key.as_slice()).into_iter();
    assert_eq!(meta.smallest, starts.chain(removals.iter().map(|removal| &*removal.start)).min().unwrap());
    for version in &versions {
        assert!(file.may_hold(&version.key));
    }
    for removal in &removals {
        assert!(meta.ends_before(&removal.end) && *removal.start >= *meta.smallest);
    }
}

fn stripes_of(snapshots: &[Sequence]) -> impl Fn(Sequence) -> usize {
    move |sequence| snapshots.partition_point(|&snapshot| snapshot < sequence)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Readers at every snapshot, and new ones, see the same before and after, whatever lies below; and nothing stays that they
    /// cannot see.
    #[test]
    fn no_reader_sees_a_difference(
        older in steps(40), newer in steps(160), mut snapshots in proptest::collection::vec(0..220_u64, 0..4),
        table_bytes in 1..3000_u64, level in 0..3_usize,
    ) {
        snapshots.sort_unstable();
        snapshots.dedup();
        let world = World::new(table_bytes);
        let older = History::of(&older, 1);
        let newer = History::of(&newer, 41);
        let deeper = world.run(&older, 6, &snapshots, Below::default()).unwrap().tables;
        let below = Below::new([deeper.iter().cloned().map(Arc::new).collect()]);
        let outcome = world.run(&newer, level, &snapshots, below).unwrap();
        prop_assert!(level > 0 || outcome.tables.len() <= 1);
        for pair in outcome.tables.windows(2) {
            prop_assert!(pair[0].ends_before(&pair[1].smallest), "tables overlap");
        }
        let (after, below) = (world.read(&outcome.tables), world.read(&deeper));
        prop_assert_eq!(outcome.entries - outcome.dropped, after.versions.len() as u64);
        for &at in snapshots.iter().chain(&[MAX_SEQUENCE]) {
            prop_assert_eq!(after.with(&below).seen(at), newer.with(&older).seen(at), "at {}", at);
        }
        let stripe = stripes_of(&snapshots);
        for pair in after.versions.windows(2).filter(|pair| pair[0].key == pair[1].key) {
            prop_assert_ne!(stripe(pair[0].sequence), stripe(pair[1].sequence), "two of one key in a stripe");
        }
    }

    /// At the bottom nothing is left but what is seen, and it is settled where no snapshot needs its number.
    #[test]
    fn at_the_bottom_without_snapshots_only_what_is_seen_stays(operations in steps(160), table_bytes in 1..3000_u64) {
        let world = World::new(table_bytes);
        let history = History::of(&operations, 1);
        let outcome = world.run(&history, 1, &[], Below::default()).unwrap();
        let after = world.read(&outcome.tables);
        prop_assert!(after.removals.is_empty());
        let seen = history.seen(MAX_SEQUENCE);
        prop_assert_eq!(after.versions.len(), seen.len());
        prop_assert!(after.versions.iter().all(|version| version.kind != Kind::Remove));
        if history.removals.is_empty() {
            prop_assert!(after.versions.iter().all(|version| version.sequence == 0));
        }
        prop_assert_eq!(after.seen(MAX_SEQUENCE), seen);
    }

    /// A job that is done in parts comes to the same as one that is done at once.
    #[test]
    fn parts_make_a_whole(operations in steps(120), mut borders in proptest::collection::vec(keys(), 0..4), at in 0..130_u64) {
        borders.sort();
        borders.dedup();
        let world = World::new(600);
        let history = History::of(&operations, 1);
        let mut edges: Vec<Option<Vec<u8>>> = borders.into_iter().map(Some).collect();
        edges.insert(0, None);
        edges.push(None);
        let mut tables = Vec::new();
        for edge in edges.windows(2) {
            let part = Part { from: edge[0].clone(), to: edge[1].clone() };
            let collected = Collected::new();
            let job = CompactJob { part, ..job(&history, 1, &[at], Below::default(), &collected) };
            tables.extend(run_job(&world.context(), job).unwrap().tables);
        }
        for pair in tables.windows(2) {
            prop_assert!(pair[0].ends_before(&pair[1].smallest), "tables overlap");
        }
        let after = world.read(&tables);
        for at in [at, MAX_SEQUENCE] {
            prop_assert_eq!(after.seen(at), history.seen(at));
        }
    }
}

#[test]
fn a_job_without_entries_makes_no_table_and_one_of_range_removals_alone_makes_one() {
    let world = World::new(1000);
    assert!(world.run(&History::default(), 0, &[], Below::default()).unwrap().tables.is_empty());
    let mut history = History::default();
    history.removals.add(b"b", b"d", 5);
    assert!(world.run(&history, 0, &[], Below::default()).unwrap().tables.is_empty());
    let outcome = world.run(&history, 0, &[2], Below::default()).unwrap();
    let [meta] = &outcome.tables[..] else { panic!("{outcome:?}") };
    assert_eq!((meta.smallest.as_slice(), meta.largest.as_slice(), meta.largest_excluded), (&b"b"[..], &b"d"[..], true));
    let file = world.open(meta);
    assert_eq!((file.covering(b"c", 9), file.covering(b"d", 9), file.covering(b"c", 4)), (5, 0, 0));
}

#[test]
fn an_entry_newer_than_a_range_removal_that_stays_keeps_its_number() {
    let world = World::new(1000);
    let older = History::of(&[Step::Put(b"z".to_vec(), Kind::Value, vec![1])], 1);
    let deeper = world.run(&older, 6, &[], Below::default()).unwrap().tables;
    let operations = [Step::RemoveRange(b"a".to_vec(), b"zz".to_vec()), Step::Put(b"b".to_vec(), Kind::Value, vec![2])];
    let history = History::of(&operations, 5);
    let below = Below::new([deeper.into_iter().map(Arc::new).collect()]);
    let tables = world.run(&history, 1, &[], below).unwrap().tables;
    let after = world.read(&tables);
    assert_eq!((after.versions[0].sequence, after.removals.len()), (6, 1));
    assert_eq!(after.seen(MAX_SEQUENCE).len(), 1);
}

#[test]
fn a_job_that_is_told_to_stop_leaves_nothing() {
    let world = World::new(2000);
    let put = |i: u32| Step::Put(i.to_be_bytes().to_vec(), Kind::Value, vec![7; 20]);
    let history = History::of(&(0..20_000).map(put).collect::<Vec<_>>(), 1);
    world.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(world.run(&history, 1, &[], Below::default()), Err(Error::Interrupted)));
    assert_eq!(world.storage.list().unwrap(), Vec::<String>::new());
}

#[test]
fn a_failing_input_leaves_nothing() {
    let world = World::new(2000);
    let put = |i: u32| Step::Put(i.to_be_bytes().to_vec(), Kind::Value, vec![7; 20]);
    let history = History::of(&(0..5000).map(put).collect::<Vec<_>>(), 1);
    let collected = Collected::new();
    let failing = CompactJob {
        cursor: history.failing_cursor(3000),
        ..job(&history, 1, &[], Below::default(), &collected)
    };
    assert!(run_job(&world.context(), failing).is_err());
    assert_eq!(world.storage.list().unwrap(), Vec::<String>::new());
}
