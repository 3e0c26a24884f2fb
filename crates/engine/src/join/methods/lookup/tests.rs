//! Goal: the windows of the index of every table hold the keys they should, and a planned scan gives the rows of a
//! plain reference, whatever its index says.

use super::blocks::load::{LoadedIndex, load};
use super::planned::PlannedScan;
use super::sizes::wanted_bytes;
use super::window::{BlockFinger, BlockIndex, BlockWindow};
use crate::error::{Cause, Error, Result};
use crate::index::{Index, IndexOptions};
use crate::io::{
    FastPaths, MemoryStorage, Meter, Profile, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper,
};
use crate::join::input::scan::TableRelation;
use crate::join::methods::emit::CallerSink;
use crate::join::methods::group::KeyGroup;
use crate::join::methods::merge;
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::sink::RowSink;
use crate::join::rows::task::Task;
use crate::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinSide, JoinSource, join};
use crate::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use crate::tune::DesignRequest;
use crate::types::KeyType;
use ogive_testkit::Random;
use ogive_testkit::key_sets::nasty;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

type Row = (Vec<u8>, Vec<u8>);
/// A row as a caller sees it.
type Seen = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

fn designs() -> Vec<DesignRequest> {
    let texts = [
        "none",
        "coded",
        "tuned",
        "btree",
        "layers=3,builder=pla,error=1",
        "layers=1,builder=coded,lambda=4096",
        "layers=2,builder=gband,lambda=1024",
    ];
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// A table of these rows in blocks of 512 bytes.
fn table(
    storage: &Arc<dyn Storage>,
    name: &str,
    rows: &[Row],
    shape: (KeyType, Option<u32>),
    design: DesignRequest,
) -> Table {
    let options = TableWriteOptions {
        key_type: shape.0,
        value_width: shape.1,
        block_bytes: Some(512),
        design,
        ..TableWriteOptions::default()
    };
    let mut writer = TableWriter::create((storage.clone(), name), options).unwrap();
    rows.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    Table::open((storage.clone(), name), &TableOptions::default()).unwrap()
}

fn numbered(keys: &[u64]) -> Vec<Row> {
    keys.iter().zip(0_u64..).map(|(key, i)| (key.to_be_bytes().to_vec(), i.to_le_bytes().to_vec())).collect()
}

fn task_of(kind: JoinKind, memory_bytes: u64, profile: Profile) -> Arc<Task> {
    Task::new(&JoinOptions { kind, memory_bytes, profile, ..JoinOptions::default() }).unwrap()
}

/// The block where the first row of each key lies, and the first and last keys of blocks.
fn homes(table: &Table, task: &Task) -> BTreeMap<Vec<u8>, u64> {
    let mut homes = BTreeMap::new();
    for block in 0..table.blocks() {
        let mut block_batch = super::blocks::block_batch::BlockBatch::default();
        block_batch.read(table, task, std::slice::from_ref(&(block..block + 1)), u64::MAX).unwrap();
        let mut decoded = super::blocks::decoded::DecodedRows::new(1 << 20, &task.budget);
        decoded.load(table, &block_batch, 0, 0).unwrap();
        let rows = decoded.rows(table, &block_batch, 0);
        (0..rows.len()).for_each(|row| _ = homes.entry(rows.key(row).to_vec()).or_insert(block));
    }
    homes
}

/// Looks all keys and their neighbours up, in order and then in reverse.
fn check_windows(loaded: &LoadedIndex, homes: &BTreeMap<Vec<u8>, u64>, blocks: u64, what: &str) {
    let mut keys: Vec<Vec<u8>> = homes.keys().cloned().collect();
    for key in homes.keys() {
        if let Ok(word) = <[u8; 8]>::try_from(&key[..]) {
            let x = u64::from_be_bytes(word);
            keys.extend([x.saturating_sub(1), x.saturating_add(1)].map(|x| x.to_be_bytes().to_vec()));
        } else {
            keys.extend([[&key[..], &[0]].concat(), key[..key.len().saturating_sub(1)].to_vec()]);
        }
    }
    keys.sort();
    let descending = keys.iter().rev();
    let mut finger = BlockFinger::default();
    for key in keys.iter().chain(descending) {
        let window = loaded.index.find(key, &mut finger).unwrap();
        assert!(window.first <= window.last && window.last < blocks, "{what}: {window:?} of {blocks}");
        if let Some(home) = homes.get(key).filter(|_| window.is_exact) {
            assert!((window.first..=window.last).contains(home), "{what}: {key:?} in {home}, not in {window:?}");
        }
    }
}

#[test]
fn every_index_leads_to_the_first_row_of_every_key_of_nasty_sets() {
    for (name, keys) in nasty(1500) {
        if keys.is_empty() {
            continue;
        }
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let rows = numbered(&keys);
        for design in designs() {
            let what = format!("{name}, {design}");
            let table = table(&storage, &what.replace(['/', ':'], "-"), &rows, (KeyType::U64, Some(8)), design);
            let task = task_of(JoinKind::Inner, 16 << 20, Profile::default());
            let homes = homes(&table, &task);
            let loaded = load(&table, &task).unwrap();
            check_windows(&loaded, &homes, table.blocks(), &what);
        }
    }
}

/// Keys that share long prefixes, repeat, and are of all lengths.
fn strings(random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            let stem: &[u8] = [&b"http://a/"[..], b"http://a/\0", b"http://b/c/d/e/f/"][random.below(3) as usize];
            let tail = random.below(20) as usize;
            [stem, &(0..tail).map(|_| random.below(3) as u8).collect::<Vec<_>>()].concat()
        })
        .collect();
    keys.sort();
    keys
}

#[test]
fn every_index_leads_to_the_first_row_of_every_byte_string() {
    let mut random = Random::new(5);
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let task = task_of(JoinKind::Inner, 16 << 20, Profile::default());
    for design in [DesignRequest::None, DesignRequest::Coded, DesignRequest::Tuned] {
        let rows: Vec<Row> = strings(&mut random, 4000).into_iter().map(|key| (key, b"value".to_vec())).collect();
        let strings = table(&storage, &format!("strings {design}"), &rows, (KeyType::Bytes, None), design.clone());
        let wide: Vec<Row> = (0..4000_u128).map(|i| (((i * i / 7) << 60).to_be_bytes().to_vec(), vec![7; 4])).collect();
        let wide = table(&storage, &format!("wide {design}"), &wide, (KeyType::U128, Some(4)), design);
        for table in [strings, wide] {
            let homes = homes(&table, &task);
            let loaded = load(&table, &task).unwrap();
            check_windows(&loaded, &homes, table.blocks(), &format!("{:?}", table.path()));
        }
    }
}

/// An index that says anything.
#[derive(Debug)]
struct MisleadingIndex {
    seed: u64,
    blocks: u64,
    length: u64,
}

impl BlockIndex for MisleadingIndex {
    fn find(&self, key: &[u8], _: &mut BlockFinger) -> Result<BlockWindow> {
        let sum = key.iter().fold(self.seed, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let first = Random::new(sum).below(self.blocks);
        Ok(BlockWindow { first, last: (first + self.length).min(self.blocks - 1), is_exact: false })
    }

    fn bytes(&self) -> u64 {
        0
    }
}

/// The rows of a join by a plain model, sorted.
fn model(kind: JoinKind, left: &[Row], right: &[Row]) -> Vec<Seen> {
    let mut partners: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    right.iter().for_each(|(key, value)| partners.entry(key).or_default().push(value));
    let mut seen: Vec<Seen> = Vec::new();
    for (key, value) in left {
        let found = partners.get(&key[..]);
        let mut give = |right: Option<&[u8]>| seen.push((key.clone(), value.clone(), right.map(<[u8]>::to_vec)));
        match (kind, found) {
            (JoinKind::Inner | JoinKind::Left, Some(found)) => found.iter().for_each(|right| give(Some(right))),
            (JoinKind::Semi, Some(_)) | (JoinKind::Left | JoinKind::Anti, None) => give(None),
            _ => {}
        }
    }
    seen.sort();
    seen
}

/// A form of the join.
#[derive(Clone, Copy, Debug)]
struct JoinForm {
    inner: JoinSide,
    memory_bytes: u64,
}

/// The rows that a join gives, checked for their order, and sorted.
fn run(way: JoinForm, outer: &Table, inner: &Table, index: &LoadedIndex, task: &Arc<Task>) -> Vec<Seen> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let taken = seen.clone();
    let mut visit = move |key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>| {
        taken.lock().unwrap().push((key.to_vec(), left.unwrap().to_vec(), right.map(<[u8]>::to_vec)));
        Ok(())
    };
    let mut sink = CallerSink { visit: &mut visit, rows: 0 };
    let outer: Arc<dyn Relation> = Arc::new(TableRelation::new(outer.clone()));
    let memory = task.budget.take(way.memory_bytes, "a test").unwrap();
    let PlannedScan { mut outer, mut inner } =
        PlannedScan::start(&outer, &KeyRange::all(), inner, index, task, memory).unwrap();
    let mut group = KeyGroup::new(task, 256 << 10, None, None).unwrap();
    match way.inner {
        JoinSide::Right => merge::join(task, &mut outer, &mut inner, &mut sink, &mut group, &mut |_| {}).unwrap(),
        JoinSide::Left => merge::join(task, &mut inner, &mut outer, &mut sink, &mut group, &mut |_| {}).unwrap(),
    }
    assert_eq!(sink.rows(), seen.lock().unwrap().len() as u64);
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    assert!(seen.is_sorted_by(|a, b| a.0 <= b.0), "rows come in key order");
    seen.sort();
    seen
}

/// Every kind, either side, every way, against the model.
fn check_joins(outer: (&[Row], &Table), inner: (&[Row], &Table), memory_bytes: u64, liar: Option<u64>, what: &str) {
    for (kind, _) in JoinKind::ALL.into_iter().filter(|(kind, _)| *kind != JoinKind::Full) {
        for side in [JoinSide::Right, JoinSide::Left] {
            if side == JoinSide::Left && kind.keeps_unmatched() {
                continue;
            }
            let expected = match side {
                JoinSide::Right => model(kind, outer.0, inner.0),
                JoinSide::Left => model(kind, inner.0, outer.0),
            };
            let task = task_of(kind, 32 << 20, Profile::affine("x", 10.0, 1000.0, 4).unwrap());
            let mut loaded = load(inner.1, &task).unwrap();
            if let Some(seed) = liar {
                loaded.index = Arc::new(MisleadingIndex { seed, blocks: inner.1.blocks().max(1), length: seed % 5 });
            }
            let way = JoinForm { inner: side, memory_bytes };
            let seen = run(way, outer.1, inner.1, &loaded, &task);
            let lost = expected.iter().find(|row| seen.binary_search(row).is_err());
            assert!(
                seen == expected,
                "{what}: {way:?}, liar {liar:?}: {} rows for {}, without {lost:?}",
                seen.len(),
                expected.len()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn joins_equal_the_model_whatever_the_index_says(
        seed: u64, outer_rows in 0_usize..400, inner_rows in 0_usize..2500, spread in 1_u64..4000, runs in 0_u64..3,
        design in 0_usize..7, liar in proptest::option::of(0_u64..100), small: bool,
        shape in 0_usize..3,
    ) {
        let mut random = Random::new(seed);
        let mut rows = |count: usize| {
            let mut keys: Vec<u64> = (0..count).map(|_| random.below(spread) * 7).collect();
            if runs > 0 && count > 300 {
                // One key with many repeats.
                let key = keys[0];
                keys.iter_mut().take(200 * runs as usize).for_each(|other| *other = key);
            }
            keys.sort_unstable();
            let mut rows = numbered(&keys);
            for (key, value) in &mut rows {
                match shape {
                    0 => {}
                    1 => *key = [b"prefix/", &key[..]].concat(),
                    _ => value.truncate(random.below(8) as usize),
                }
            }
            rows
        };
        let (ours, theirs) = (rows(outer_rows), rows(inner_rows));
        let (key_type, width, design) = match shape {
            0 => (KeyType::U64, Some(8), designs()[design].clone()),
            1 => (KeyType::Bytes, None, [DesignRequest::None, DesignRequest::Coded][design % 2].clone()),
            _ => (KeyType::U64, None, designs()[design].clone()),
        };
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let outer = table(&storage, "outer", &ours, (key_type, width), DesignRequest::None);
        let inner = table(&storage, "inner", &theirs, (key_type, width), design);
        let memory = if small { 300 << 10 } else { 4 << 20 };
        check_joins((&ours, &outer), (&theirs, &inner), memory, liar, "generated");
    }
}

#[test]
fn nasty_sets_join_with_each_other() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let sets = nasty(700);
    let tables: Vec<(Vec<Row>, Table)> = sets
        .iter()
        .map(|(name, keys)| {
            let rows = numbered(keys);
            let table = table(&storage, name, &rows, (KeyType::U64, Some(8)), DesignRequest::Coded);
            (rows, table)
        })
        .collect();
    for (i, (ours, outer)) in tables.iter().enumerate() {
        let (theirs, inner) = &tables[(i * 7 + 3) % tables.len()];
        for (theirs, inner) in [(theirs, inner), (ours, outer)] {
            if sets[i].0 == "all_equal" && ours == theirs {
                continue;
            }
            let what = format!("{:?} in {:?}", outer.path(), inner.path());
            check_joins((ours, outer), (theirs, inner), 300 << 10, None, &what);
        }
    }
}

/// Requests for the inner table that a planned inner join makes, blocks that they bring, and blocks that it has.
fn reads_of(profile: &Profile, outer_keys: &[u64], inner_keys: &[u64]) -> (u64, u64, u64) {
    let meter = Meter::new(Arc::new(MemoryStorage::new()));
    let storage: Arc<dyn Storage> = Arc::new(meter.clone());
    let plain: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let inner = table(&storage, "inner", &numbered(inner_keys), (KeyType::U64, Some(8)), DesignRequest::Coded);
    let outer = table(&plain, "outer", &numbered(outer_keys), (KeyType::U64, Some(8)), DesignRequest::Coded);
    let task = task_of(JoinKind::Inner, 256 << 20, profile.clone());
    meter.reset();
    let loaded = load(&inner, &task).unwrap();
    let way = JoinForm { inner: JoinSide::Right, memory_bytes: wanted_bytes(&inner) };
    assert_eq!(meter.reset().reads.requests, 0, "the index is on file, and in memory");
    run(way, &outer, &inner, &loaded, &task);
    let reads = meter.reset().reads;
    (reads.requests, reads.bytes / 512, inner.blocks())
}

#[test]
fn sparse_keys_read_their_own_blocks_and_dense_ones_all_in_long_reads() {
    let inner: Vec<u64> = (0..800_000).map(|i| i * 10).collect();
    // A request costs as much as 1,000 bytes: less than two blocks.
    let quick = Profile::affine("quick", 1.0, 1000.0, 4).unwrap();
    let sparse: Vec<u64> = inner.iter().copied().step_by(4000).collect();
    let (requests, read, blocks) = reads_of(&quick, &sparse, &inner);
    assert_eq!((requests, read), (200, 200), "of {blocks}");
    // As much as 100,000 bytes: gaps of some thirty blocks are read.
    let slow = Profile::affine("slow", 100.0, 1000.0, 4).unwrap();
    let (requests, read, blocks) = reads_of(&slow, &sparse, &inner);
    let in_long_reads = |blocks: u64| blocks * 512 / (64 << 10) + 8;
    assert!(requests <= in_long_reads(blocks) && read > blocks - 200, "{requests} requests, {read} of {blocks} blocks");
    let (requests, read, blocks) = reads_of(&quick, &inner, &inner);
    assert!(requests <= in_long_reads(blocks) && read == blocks, "{requests} requests, {read} of {blocks} blocks");
    let (requests, read, _) = reads_of(&quick, &[u64::MAX], &inner);
    assert_eq!((requests, read), (1, 1));
}

#[test]
fn every_method_joins_two_sources() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let outer_keys: Vec<u64> = (0..3000).map(|i| i * 5).collect();
    let inner_keys: Vec<u64> = (0..9000).map(|i| i * 3).collect();
    let (ours, theirs) = (numbered(&outer_keys), numbered(&inner_keys));
    let outer = table(&storage, "outer", &ours, (KeyType::U64, Some(8)), DesignRequest::Tuned);
    let inner = table(&storage, "inner", &theirs, (KeyType::U64, Some(8)), DesignRequest::Tuned);
    let index: Index<u64, u64> = Index::create((storage.clone(), "index"), &IndexOptions::default()).unwrap();
    index.bulk_load(inner_keys.iter().copied().zip((0..).map(u64::swap_bytes))).unwrap();
    let one_by_one = FastPaths { batches: false, ..FastPaths::ALL };
    let ways =
        [(JoinMethod::Inlj, FastPaths::ALL), (JoinMethod::Inlj, one_by_one), (JoinMethod::InljIndex, FastPaths::ALL)];
    for (method, fast_paths) in ways {
        for (kind, _) in JoinKind::ALL.into_iter().filter(|(kind, _)| *kind != JoinKind::Full) {
            let inner = match method {
                JoinMethod::InljIndex => JoinSource::index(&index).unwrap(),
                _ => JoinSource::table(&inner),
            };
            let seen = Arc::new(Mutex::new(Vec::new()));
            let taken = seen.clone();
            let output = JoinOutput::caller(move |key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>| {
                taken.lock().unwrap().push((key.to_vec(), left.unwrap().to_vec(), right.map(|value| value.len())));
                Ok(())
            });
            let options =
                JoinOptions { kind, method, fast_paths, inner: Some(JoinSide::Right), ..JoinOptions::default() };
            join(&JoinSource::table(&outer), &inner, output, &options).unwrap();
            let expected: Vec<_> = model(kind, &ours, &theirs)
                .into_iter()
                .map(|(key, left, right)| (key, left, right.map(|value| value.len())))
                .collect();
            assert!(*seen.lock().unwrap() == expected, "{method}, {kind}");
        }
    }
}

/// Two tables, for joins that do not end well.
fn pair(storage: &Arc<dyn Storage>) -> (Table, Table) {
    let keys: Vec<u64> = (0..60_000).map(|i| i * 3).collect();
    let outer = table(storage, "outer", &numbered(&keys), (KeyType::U64, Some(8)), DesignRequest::Coded);
    let inner = table(storage, "inner", &numbered(&keys), (KeyType::U64, Some(8)), DesignRequest::Coded);
    (outer, inner)
}

#[test]
fn a_join_ends_when_it_is_told_to_and_when_its_sink_fails() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (outer, inner) = pair(&storage);
    for method in [JoinMethod::Inlj, JoinMethod::Merge] {
        for fails in [false, true] {
            let stop = Arc::new(AtomicBool::new(false));
            let (told, mut rows) = (stop.clone(), 0);
            let output = JoinOutput::caller(move |_: &[u8], _: Option<&[u8]>, _: Option<&[u8]>| {
                rows += 1;
                told.store(rows == 1000 && !fails, Ordering::Relaxed);
                if rows < 1000 || !fails { Ok(()) } else { Err(Error::input("enough")) }
            });
            let options = JoinOptions {
                method,
                inner: Some(JoinSide::Right),
                memory_bytes: 2 << 20,
                stop: Some(stop),
                ..JoinOptions::default()
            };
            let outcome = join(&JoinSource::table(&outer), &JoinSource::table(&inner), output, &options);
            match fails {
                true => assert!(
                    matches!(outcome, Err(error @ Error { cause: Cause::Input, .. }) if error.detail() == "enough")
                ),
                // The flag is reset by the next row, so it may have been missed.
                false => assert!(matches!(outcome, Err(Error { cause: Cause::Interrupted, .. }) | Ok(_))),
            }
        }
    }
}

/// A storage whose files fail after some reads.
#[derive(Debug)]
struct Failing {
    inner: MemoryStorage,
    left: Arc<AtomicU64>,
}

impl StorageWrapper for Failing {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(FailingFile { inner: self.inner.open(name)?, left: self.left.clone() }))
    }
}

#[derive(Debug)]
struct FailingFile {
    inner: Arc<dyn ReadableFile>,
    left: Arc<AtomicU64>,
}

impl ReaderWrapper for FailingFile {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match left {
            Ok(_) => self.inner.read(request),
            Err(_) => Err(Error::io("read", self.inner.path(), std::io::Error::other("the device is gone"))),
        }
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        requests.into_iter().try_for_each(|request| ReaderWrapper::read(self, request))
    }
}

#[test]
fn a_read_that_fails_ahead_ends_the_join_with_its_error() {
    let left = Arc::new(AtomicU64::new(u64::MAX));
    let storage: Arc<dyn Storage> = Arc::new(Failing { inner: MemoryStorage::new(), left: left.clone() });
    let plain: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (_, inner) = pair(&storage);
    let (outer, _) = pair(&plain);
    for method in [JoinMethod::Inlj, JoinMethod::Merge] {
        let options =
            JoinOptions { method, inner: Some(JoinSide::Right), memory_bytes: 4 << 20, ..JoinOptions::default() };
        let run = || {
            let output = JoinOutput::caller(|_: &[u8], _: Option<&[u8]>, _: Option<&[u8]>| Ok(()));
            join(&JoinSource::table(&outer), &JoinSource::table(&inner), output, &options)
        };
        left.store(0, Ordering::Relaxed);
        assert!(matches!(run(), Err(Error { cause: Cause::Io(_), .. })), "{method}");
        left.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(run().unwrap().rows, 60_000, "{method}");
    }
}

#[test]
fn joins_keep_to_their_memory_and_say_when_it_is_too_little() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (outer, inner) = pair(&storage);
    for method in [JoinMethod::Inlj, JoinMethod::Merge] {
        for memory_bytes in [1 << 20, 3 << 20, 64 << 20] {
            let output = JoinOutput::caller(|_: &[u8], _: Option<&[u8]>, _: Option<&[u8]>| Ok(()));
            let options = JoinOptions { method, inner: Some(JoinSide::Right), memory_bytes, ..JoinOptions::default() };
            match join(&JoinSource::table(&outer), &JoinSource::table(&inner), output, &options) {
                Ok(report) => assert!(report.rows == 60_000 && report.peak_memory_bytes <= memory_bytes, "{method}"),
                Err(error) => panic!("{method} within {memory_bytes} bytes: {error}"),
            }
        }
    }
}

#[test]
fn runs_longer_than_all_buffers_pass_on_either_side_whatever_the_index_says() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let around = |run: usize| {
        let mut keys: Vec<u64> = (0..3000).map(|i| i * 2).chain(std::iter::repeat_n(2001, run)).collect();
        keys.sort_unstable();
        numbered(&keys)
    };
    let (few, many) = (around(3), around(30_000));
    let short = table(&storage, "short", &few, (KeyType::U64, Some(8)), DesignRequest::Coded);
    let long = table(&storage, "long", &many, (KeyType::U64, Some(8)), DesignRequest::Coded);
    for liar in [None, Some(3)] {
        check_joins((&few, &short), (&many, &long), 300 << 10, liar, "a long run inside");
        check_joins((&many, &long), (&few, &short), 300 << 10, liar, "a long run outside");
    }
}
