//! Tests of compaction against a model. Goal: no reader sees a difference, invisible entries are dropped, and a failed
//! job leaves no file.

use super::subcompactions::run_subcompactions;
use super::test_support::{OWNER, TestFolder, entries, job, points};
use super::{CollectedFiles, JobRange, LevelsBelow, MergeJob, run_job};
use crate::block::Slice;
use crate::block::cache::BlockCache;
use crate::block::compress::Compression;
use crate::error::{Cause, Error, Result};
use crate::io::{
    LocalStorage, MemoryStorage, Purpose, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, Timer,
    UpdatableFile, UpdaterWrapper, WritableFile, WriterWrapper,
};
use crate::lsm::read::merge::MergeCursor;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{Entry, SEQUENCE_MAX, Sequence, ValueKind};
use crate::lsm::state::live_snapshots::SeenAt;
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::level::{LevelCursor, LevelTables};
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::test_model::{History, TIME_MAX_MS, TestOperation, keys, steps};
use crate::lsm::state::version::{FileKind, TableFileMeta, file_name};
use crate::vlog::{ValueFile, ValueFilePointer, ValueFileWriter};
use proptest::prelude::*;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Compares the metadata of a table with its contents.
fn check_meta(meta: &TableFileMeta, file: &Arc<TableFile>) {
    let versions = entries(file);
    let removals: Vec<_> = file.tombstones.iter().cloned().collect();
    assert_eq!(meta.records, versions.len() as u64);
    let expiries: Vec<u64> = versions.iter().filter_map(|version| version.entry().expires_ms()).collect();
    let stated = meta.expiring.map(|all| (all.entries, all.first_ms, all.last_ms));
    let counted = expiries.iter().min().zip(expiries.iter().max());
    assert_eq!(stated, counted.map(|(&first_ms, &last_ms)| (expiries.len() as u64, first_ms, last_ms)));
    assert_eq!(meta.tombstones, versions.iter().filter(|version| version.kind == ValueKind::Remove).count() as u64);
    let shadowed = versions.windows(2).filter(|pair| pair[0].key == pair[1].key).count();
    assert_eq!(meta.shadowed, shadowed as u64);
    assert_eq!(meta.has_range_tombstones, !removals.is_empty());
    let sequences =
        versions.iter().map(|version| version.sequence).chain(removals.iter().map(|removal| removal.sequence));
    assert_eq!(meta.smallest_sequence, sequences.clone().min().unwrap());
    assert_eq!(meta.largest_sequence, sequences.max().unwrap());
    let starts = versions.first().map(|version| version.key.as_slice()).into_iter();
    assert_eq!(meta.smallest, starts.chain(removals.iter().map(|removal| &*removal.start)).min().unwrap());
    for version in &versions {
        assert!(file.may_hold(&version.key));
    }
    for removal in &removals {
        let is_ended = meta.is_endless() || (!removal.end.is_empty() && *removal.end <= *meta.largest);
        assert!(is_ended && *removal.start >= *meta.smallest);
    }
}

fn stripes_of(snapshots: &[Sequence]) -> impl Fn(Sequence) -> usize {
    move |sequence| snapshots.partition_point(|&snapshot| snapshot < sequence)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Readers at every snapshot see the same before and after a compaction, whatever lies below, and no invisible
    /// entry remains.
    #[test]
    fn no_reader_sees_a_difference(
        older in steps(40), newer in steps(160), mut snapshots in proptest::collection::vec(0..220_u64, 0..4),
        table_bytes in 1..3000_u64, level in 0..3_usize,
    ) {
        snapshots.sort_unstable();
        snapshots.dedup();
        let folder = TestFolder::new(table_bytes);
        let older = History::of(&older, 1);
        let newer = History::of(&newer, 41);
        let deeper = folder.run(&older, 6, &snapshots, LevelsBelow::default()).unwrap().tables;
        let below = LevelsBelow::new([deeper.iter().cloned().map(Arc::new).collect()]);
        let outcome = folder.run(&newer, level, &snapshots, below).unwrap();
        prop_assert!(level > 0 || outcome.tables.len() <= 1);
        for pair in outcome.tables.windows(2) {
            prop_assert!(pair[0].ends_before(&pair[1].smallest), "tables overlap");
        }
        outcome.tables.iter().for_each(|meta| check_meta(meta, &folder.open(meta)));
        let (after, below) = (folder.read(&outcome.tables), folder.read(&deeper));
        prop_assert_eq!(outcome.entries - outcome.dropped, after.versions.len() as u64);
        for &at in snapshots.iter().chain(&[SEQUENCE_MAX]) {
            prop_assert_eq!(after.with(&below).seen(at), newer.with(&older).seen(at), "at {}", at);
        }
        let stripe = stripes_of(&snapshots);
        for pair in after.versions.windows(2).filter(|pair| pair[0].key == pair[1].key) {
            prop_assert_ne!(stripe(pair[0].sequence), stripe(pair[1].sequence), "two of one key in a stripe");
        }
    }

    /// Snapshots see the same before and after a compaction that drops what has expired, and so do readers at any later
    /// time: no entry below is uncovered. What has expired for all of them is gone.
    #[test]
    fn what_has_expired_for_all_readers_is_dropped_and_uncovers_nothing(
        older in steps(40), newer in steps(160), level in 0..3_usize, expired_by_ms in 0..=TIME_MAX_MS,
        seen in proptest::collection::btree_map(0..220_u64, 0..=TIME_MAX_MS, 0..4),
    ) {
        let snapshots: Vec<SeenAt> = seen.iter().map(|(&sequence, &now_ms)| SeenAt { sequence, now_ms }).collect();
        let folder = TestFolder::new(1000);
        let (older, newer, collected) = (History::of(&older, 1), History::of(&newer, 41), CollectedFiles::new());
        let all: Vec<Sequence> = seen.keys().copied().collect();
        let deeper = folder.run(&older, 6, &all, LevelsBelow::default()).unwrap().tables;
        let below = LevelsBelow::new([deeper.iter().cloned().map(Arc::new).collect()]);
        let job = MergeJob { expired_by_ms, ..job(&newer, level, &snapshots, below, &collected) };
        let outcome = run_job(&folder.context(), job).unwrap();
        outcome.tables.iter().for_each(|meta| check_meta(meta, &folder.open(meta)));
        let (after, below) = (folder.read(&outcome.tables), folder.read(&deeper));
        let readers = snapshots.iter().map(|snapshot| (snapshot.sequence, snapshot.now_ms));
        for (at, first_ms) in readers.chain([(SEQUENCE_MAX, expired_by_ms)]) {
            for now_ms in first_ms..=TIME_MAX_MS {
                let found = after.with(&below).seen_by(at, now_ms);
                let expected = newer.with(&older).seen_by(at, now_ms);
                prop_assert_eq!(found, expected, "at {} and {}", at, now_ms);
            }
        }
        let earliest_ms = seen.values().copied().min().unwrap_or(u64::MAX).min(expired_by_ms);
        let expiries = after.versions.iter().filter_map(|version| version.entry().expires_ms());
        prop_assert!(expiries.into_iter().all(|expires_ms| expires_ms > earliest_ms));
    }

    /// At the bottom only visible entries remain, with sequence number 0 where no snapshot needs it.
    #[test]
    fn at_the_bottom_without_snapshots_only_what_is_seen_stays(operations in steps(160), table_bytes in 1..3000_u64) {
        let folder = TestFolder::new(table_bytes);
        let history = History::of(&operations, 1);
        let outcome = folder.run(&history, 1, &[], LevelsBelow::default()).unwrap();
        let after = folder.read(&outcome.tables);
        prop_assert!(after.tombstones.is_empty());
        let seen = history.seen(SEQUENCE_MAX);
        prop_assert_eq!(after.versions.len(), seen.len());
        prop_assert!(after.versions.iter().all(|version| version.kind != ValueKind::Remove));
        if history.tombstones.is_empty() {
            prop_assert!(after.versions.iter().all(|version| version.sequence == 0));
        }
        prop_assert_eq!(after.seen(SEQUENCE_MAX), seen);
    }

    /// A job run in parts has the same result as one run at once.
    #[test]
    fn parts_make_a_whole(
        operations in steps(120), mut borders in proptest::collection::vec(keys(), 0..4), at in 0..130_u64,
        threads in 0..4_usize,
    ) {
        borders.sort();
        borders.dedup();
        let folder = TestFolder::new(600);
        let history = History::of(&operations, 1);
        let (collected, snapshots) = (CollectedFiles::new(), points(&[at]));
        let part = |part| MergeJob { part, ..job(&history, 1, &snapshots, LevelsBelow::default(), &collected) };
        let outcome = run_subcompactions(&folder.context(), threads, borders, part).unwrap();
        prop_assert_eq!(outcome.entries, history.versions.len() as u64);
        let tables = outcome.tables;
        for pair in tables.windows(2) {
            prop_assert!(pair[0].ends_before(&pair[1].smallest), "tables overlap");
        }
        let after = folder.read(&tables);
        for at in [at, SEQUENCE_MAX] {
            prop_assert_eq!(after.seen(at), history.seen(at));
        }
    }
}

#[test]
fn a_job_without_entries_makes_no_table_and_one_of_range_tombstones_alone_makes_one() {
    let folder = TestFolder::new(1000);
    assert!(folder.run(&History::default(), 0, &[], LevelsBelow::default()).unwrap().tables.is_empty());
    let mut history = History::default();
    history.tombstones.add(b"b", b"d", 5);
    assert!(folder.run(&history, 0, &[], LevelsBelow::default()).unwrap().tables.is_empty());
    let outcome = folder.run(&history, 0, &[2], LevelsBelow::default()).unwrap();
    let [meta] = &outcome.tables[..] else { panic!("{outcome:?}") };
    assert_eq!(
        (meta.smallest.as_slice(), meta.largest.as_slice(), meta.largest_excluded),
        (&b"b"[..], &b"d"[..], true)
    );
    let file = folder.open(meta);
    assert_eq!((file.covering(b"c", 9), file.covering(b"d", 9), file.covering(b"c", 4)), (5, 0, 0));
}

#[test]
fn an_entry_newer_than_a_range_removal_that_stays_keeps_its_number() {
    let folder = TestFolder::new(1000);
    let older = History::of(&[TestOperation::Put(b"z".to_vec(), ValueKind::Value, vec![1])], 1);
    let deeper = folder.run(&older, 6, &[], LevelsBelow::default()).unwrap().tables;
    let operations = [
        TestOperation::RemoveRange(b"a".to_vec(), b"zz".to_vec()),
        TestOperation::Put(b"b".to_vec(), ValueKind::Value, vec![2]),
    ];
    let history = History::of(&operations, 5);
    let below = LevelsBelow::new([deeper.into_iter().map(Arc::new).collect()]);
    let tables = folder.run(&history, 1, &[], below).unwrap().tables;
    let after = folder.read(&tables);
    assert_eq!((after.versions[0].sequence, after.tombstones.len()), (6, 1));
    assert_eq!(after.seen(SEQUENCE_MAX).len(), 1);
}

#[test]
fn a_job_that_is_told_to_stop_leaves_nothing() {
    let folder = TestFolder::new(2000);
    let put = |i: u32| TestOperation::Put(i.to_be_bytes().to_vec(), ValueKind::Value, vec![7; 20]);
    let history = History::of(&(0..20_000).map(put).collect::<Vec<_>>(), 1);
    folder.stop.store(true, Ordering::Relaxed);
    assert!(matches!(
        folder.run(&history, 1, &[], LevelsBelow::default()),
        Err(Error { cause: Cause::Interrupted, .. })
    ));
    assert_eq!(folder.storage.list().unwrap(), Vec::<String>::new());
}

#[test]
fn a_failing_input_leaves_nothing() {
    let folder = TestFolder::new(2000);
    let put = |i: u32| TestOperation::Put(i.to_be_bytes().to_vec(), ValueKind::Value, vec![7; 20]);
    let history = History::of(&(0..5000).map(put).collect::<Vec<_>>(), 1);
    let collected = CollectedFiles::new();
    let failing =
        MergeJob { cursor: history.failing_cursor(3000), ..job(&history, 1, &[], LevelsBelow::default(), &collected) };
    assert!(run_job(&folder.context(), failing).is_err());
    assert_eq!(folder.storage.list().unwrap(), Vec::<String>::new());
}

/// A storage on a disk of limited size.
#[derive(Debug)]
struct SmallDisk {
    inner: MemoryStorage,
    left: Arc<AtomicU64>,
}

impl StorageWrapper for SmallDisk {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(SmallWriter { inner: self.inner.create(name)?, left: Arc::clone(&self.left) }))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(SmallUpdater { inner: self.inner.create_update(name)?, left: Arc::clone(&self.left) }))
    }
}

fn take(left: &AtomicU64, bytes: u64, path: &Path) -> Result<()> {
    let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
    taken.map(|_| ()).map_err(|_| Error::io("write", path, ErrorKind::StorageFull.into()))
}

#[derive(Debug)]
struct SmallWriter {
    inner: Box<dyn WritableFile>,
    left: Arc<AtomicU64>,
}

impl WriterWrapper for SmallWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.inner
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        take(&self.left, bytes.len() as u64, self.inner.path())?;
        self.inner.write_at(offset, bytes)
    }
}

#[derive(Debug)]
struct SmallUpdater {
    inner: Arc<dyn UpdatableFile>,
    left: Arc<AtomicU64>,
}

impl ReaderWrapper for SmallUpdater {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.inner.read(request)
    }
}

impl UpdaterWrapper for SmallUpdater {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.inner
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        take(&self.left, bytes.len() as u64, self.inner.path())?;
        self.inner.write_at(offset, bytes, purpose)
    }
}

/// Moves the values of a history to a value file, and replaces them by pointers.
fn separated(folder: &TestFolder, history: &History, number: u64) -> (History, Arc<ValueFile>) {
    let mut writer =
        ValueFileWriter::create(&folder.storage, folder.context().binding, number, Compression::None).unwrap();
    let mut pointing = history.clone();
    for version in pointing.versions.iter_mut().filter(|version| version.kind == ValueKind::Value) {
        let place = writer.append(&version.key, &version.value).unwrap();
        version.kind = ValueKind::Pointer;
        version.value.clear();
        place.encode(&mut version.value);
    }
    (pointing, writer.finish().unwrap())
}

/// Replaces pointers by their values.
fn resolved(history: &History, files: &[Arc<ValueFile>]) -> History {
    let mut resolved = history.clone();
    for version in resolved.versions.iter_mut().filter(|version| version.kind == ValueKind::Pointer) {
        let place = ValueFilePointer::decode(&version.value).unwrap();
        let file = files.iter().find(|file| file.number() == place.file).unwrap();
        version.value = file.get(&place, 1 << 30).unwrap().to_vec();
        version.kind = ValueKind::Value;
    }
    resolved
}

fn collect(file: &Arc<ValueFile>) -> CollectedFiles {
    [(file.number(), Arc::clone(file))].into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Moved values are unchanged, their entries keep their sequence numbers, and nothing points into the old file any
    /// more.
    #[test]
    fn values_move_and_no_reader_sees_a_difference(older in steps(40), newer in steps(60), at in 0..100_u64) {
        let folder = TestFolder::new(700);
        let (older, newer) = (History::of(&older, 1), History::of(&newer, 41));
        folder.next_file.store(3, Ordering::Relaxed);
        let (older_pointing, old_file) = separated(&folder, &older, 1);
        let (newer_pointing, new_file) = separated(&folder, &newer, 2);
        let both = newer_pointing.with(&older_pointing);
        let (collected, snapshots) = (collect(&old_file), points(&[at]));
        let job = job(&both, 1, &snapshots, LevelsBelow::default(), &collected);
        let outcome = run_job(&folder.context(), job).unwrap();
        let after = folder.read(&outcome.tables);
        let places = after.versions.iter().filter(|version| version.kind == ValueKind::Pointer);
        let places: Vec<_> = places.map(|version| ValueFilePointer::decode(&version.value).unwrap()).collect();
        prop_assert!(places.iter().all(|place| place.file != 1));
        let mut files = outcome.value_files.clone();
        files.push(new_file);
        let mut live = std::collections::BTreeMap::new();
        for (file, bytes) in outcome.tables.iter().flat_map(|table| &table.values) {
            *live.entry(*file).or_insert(0) += bytes;
        }
        for place in &places {
            *live.get_mut(&place.file).unwrap() -= place.stored_bytes;
        }
        prop_assert!(live.values().all(|&bytes| bytes == 0), "bytes of value files are counted wrong: {live:?}");
        let (after, before) = (resolved(&after, &files), newer.with(&older));
        for at in [at, SEQUENCE_MAX] {
            prop_assert_eq!(after.seen(at), before.seen(at));
        }
        for version in after.versions.iter().filter(|version| version.sequence > 0) {
            prop_assert!(before.versions.contains(version));
        }
    }
}

#[test]
fn a_value_longer_than_is_held_in_memory_moves_too() {
    let folder = TestFolder::new(1 << 20);
    folder.next_file.store(2, Ordering::Relaxed);
    let long: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    let history = History::of(&[TestOperation::Put(b"long".to_vec(), ValueKind::Value, long)], 1);
    let (pointing, file) = separated(&folder, &history, 1);
    let outcome = run_job(&folder.context(), job(&pointing, 1, &[], LevelsBelow::default(), &collect(&file))).unwrap();
    let after = resolved(&folder.read(&outcome.tables), &outcome.value_files);
    assert_eq!(after.versions[0].value, history.versions[0].value);
    assert!(outcome.moved_bytes > 3_000_000);
}

#[test]
fn damaged_pointers_and_values_fail_the_job_and_leave_nothing() {
    let folder = TestFolder::new(1 << 20);
    folder.next_file.store(2, Ordering::Relaxed);
    let history = History::of(&[TestOperation::Put(b"a".to_vec(), ValueKind::Value, vec![1; 2000])], 1);
    let (pointing, file) = separated(&folder, &history, 1);
    let before = folder.storage.list().unwrap();
    for (at, bit) in [(0, 1), (1, 7), (2, 1), (3, 3)] {
        let mut forged = pointing.clone();
        forged.versions[0].value[at] ^= bit;
        let moves = ValueFilePointer::decode(&forged.versions[0].value).is_none_or(|place| place.file == 1);
        let collected = collect(&file);
        let outcome = run_job(&folder.context(), job(&forged, 1, &[], LevelsBelow::default(), &collected));
        assert!(!moves || matches!(outcome, Err(Error { cause: Cause::Damaged, .. })), "byte {at}: {outcome:?}");
        if let Ok(outcome) = outcome {
            outcome.discard(&folder.context());
        }
        assert_eq!(folder.storage.list().unwrap(), before);
    }
    let mut cut = pointing;
    cut.versions[0].value.truncate(2);
    assert!(matches!(folder.run(&cut, 1, &[], LevelsBelow::default()), Err(Error { cause: Cause::Damaged, .. })));
    assert_eq!(folder.storage.list().unwrap(), before);
}

/// With a disk that fills up at each write in turn, the job fails until the disk is large enough, and leaves no files.
#[test]
fn a_full_disk_leaves_no_files() {
    let put = |i: u32| TestOperation::Put(i.to_be_bytes().to_vec(), ValueKind::Value, vec![i as u8; 60]);
    let history = History::of(&(0..300).map(put).collect::<Vec<_>>(), 1);
    let (mut size, mut failures) = (24_000, 0);
    loop {
        let left = Arc::new(AtomicU64::new(size));
        let storage = Arc::new(SmallDisk { inner: MemoryStorage::new(), left });
        let options = DbOptions::default().levels(|levels| levels.table_bytes(6000).block_bytes(512));
        let folder = TestFolder::on(storage, options);
        folder.next_file.store(2, Ordering::Relaxed);
        let (pointing, file) = separated(&folder, &history, 1);
        match run_job(&folder.context(), job(&pointing, 1, &[], LevelsBelow::default(), &collect(&file))) {
            Ok(_) => break,
            Err(error) => {
                assert!(
                    error.to_string().contains("storage full") || error.to_string().contains("no storage space"),
                    "{error}"
                );
                assert_eq!(folder.storage.list().unwrap(), ["000001.values"]);
                failures += 1;
            }
        }
        size += 301;
    }
    assert!(failures > 20, "{failures} failures");
}

#[test]
fn the_file_of_an_obsolete_table_goes_with_its_last_handle() {
    let folder = TestFolder::new(1000);
    let history = History::of(&[TestOperation::Put(b"a".to_vec(), ValueKind::Value, vec![1])], 1);
    let tables = folder.run(&history, 1, &[], LevelsBelow::default()).unwrap().tables;
    let name = file_name(tables[0].number, FileKind::Table);
    let file = folder.open(&tables[0]);
    let reader = Arc::clone(&file);
    file.mark_obsolete();
    drop(file);
    assert_eq!(
        reader.get(b"a", 5, None, None, |_| {}, |value| value.into_slice()).unwrap().map(|found| found.2.to_vec()),
        Some(vec![1])
    );
    assert!(folder.storage.exists(&name).unwrap());
    drop(reader);
    assert!(!folder.storage.exists(&name).unwrap());
}

#[test]
fn a_table_in_the_place_of_another_is_told() {
    let folder = TestFolder::new(1000);
    let history = History::of(&[TestOperation::Put(b"a".to_vec(), ValueKind::Value, vec![1])], 1);
    let run = || folder.run(&history, 1, &[], LevelsBelow::default()).unwrap().tables.remove(0);
    let (one, other) = (run(), run());
    let name = |meta: &TableFileMeta| file_name(meta.number, FileKind::Table);
    folder.storage.rename(&name(&other), &name(&one)).unwrap();
    let cache = Arc::new(BlockCache::for_blocks_of(1 << 20, 4096));
    let opened = TableFile::open(&folder.storage, OWNER, Arc::new(one), &cache, &folder.options.of_tables(), None);
    assert!(matches!(opened, Err(Error { cause: Cause::Damaged, .. })));
    let (mine, theirs) = (run(), OWNER + 1);
    assert!(
        TableFile::open(&folder.storage, theirs, Arc::new(mine), &cache, &folder.options.of_tables(), None).is_err()
    );
}

/// If one part fails, the files of the others are removed, too.
#[test]
fn a_part_that_fails_leaves_nothing_of_any() {
    let folder = TestFolder::new(2000);
    let put = |i: u32| TestOperation::Put(i.to_be_bytes().to_vec(), ValueKind::Value, vec![7; 20]);
    let history = History::of(&(0..3000).map(put).collect::<Vec<_>>(), 1);
    let collected = CollectedFiles::new();
    let part = |part: JobRange| {
        let moves = if part.from.is_none() { usize::MAX } else { 500 };
        let cursor = history.failing_cursor(moves);
        MergeJob { part, cursor, ..job(&history, 1, &[], LevelsBelow::default(), &collected) }
    };
    let borders = vec![1000_u32.to_be_bytes().to_vec()];
    assert!(run_subcompactions(&folder.context(), 2, borders, part).is_err());
    assert_eq!(folder.storage.list().unwrap(), Vec::<String>::new());
}

/// A cursor over generated sorted entries.
#[derive(Debug)]
struct Rising {
    next: u64,
    step: u64,
    end: u64,
    key: [u8; 16],
    sequence: Sequence,
    is_placed: bool,
}

impl Rising {
    fn new(from: u64, step: u64, end: u64, sequence: Sequence) -> Self {
        Self { next: from, step, end, key: [0; 16], sequence, is_placed: false }
    }

    fn place(&mut self) -> Result<()> {
        self.is_placed = self.next < self.end;
        let spread = self.next.wrapping_mul(u64::MAX / self.end);
        self.key[..8].copy_from_slice(&spread.to_be_bytes());
        self.key[8..].copy_from_slice(&self.next.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        Ok(())
    }
}

impl EntryCursor for Rising {
    fn entry(&self) -> Option<Entry<'_>> {
        let entry = Entry { key: &self.key, sequence: self.sequence, kind: ValueKind::Value, value: &[7; 64] };
        self.is_placed.then_some(entry)
    }

    fn value_slice(&self) -> Option<Slice> {
        None
    }

    fn seek(&mut self, _: &[u8], _: Sequence) -> Result<()> {
        self.first()
    }

    fn seek_before(&mut self, _: &[u8]) -> Result<()> {
        self.first()
    }

    fn first(&mut self) -> Result<()> {
        self.place()
    }

    fn last(&mut self) -> Result<()> {
        self.first()
    }

    fn next(&mut self) -> Result<()> {
        self.next += self.step;
        self.place()
    }

    fn prev(&mut self) -> Result<()> {
        self.first()
    }
}

/// Prints the cost per record of a compaction of eight runs: `cargo test --release -p ogive --lib -- --ignored
/// --nocapture merging_and_writing`.
#[test]
#[ignore = "long: 1 minutes"]
#[expect(clippy::print_stdout, clippy::disallowed_macros, reason = "it prints what it measures")]
fn merging_and_writing_ten_million_records() {
    let folder = tempfile::tempdir().unwrap();
    let folder = TestFolder::on(Arc::new(LocalStorage::new(folder.path())), DbOptions::default());
    let (runs, records) = (8, 10_000_000);
    let merged = || -> Box<dyn EntryCursor> {
        let run = |run| Box::new(Rising::new(run, runs, records, 100 - run)) as Box<dyn EntryCursor>;
        Box::new(MergeCursor::new((0..runs).map(run).collect()))
    };
    let collected = CollectedFiles::new();
    let mut tables = Vec::new();
    for round in 0..3 {
        let timer = Timer::start();
        let cursor = merged();
        let history = History::default();
        let work = MergeJob { cursor, ..job(&history, 1, &[], LevelsBelow::default(), &collected) };
        tables = run_job(&folder.context(), work).unwrap().tables;
        let elapsed = timer.elapsed_us() / records as f64 * 1000.0;
        println!("round {round}: {elapsed:.0} ns a record, {} tables", tables.len());
    }
    let level = Arc::new(LevelTables::new(tables.iter().map(|meta| folder.open(meta)).collect()));
    let mut cursor = LevelCursor::new(level, Some(512 << 10));
    let timer = Timer::start();
    cursor.first().unwrap();
    let mut count = 0;
    while cursor.entry().is_some() {
        count += 1;
        cursor.next().unwrap();
    }
    println!("reading: {:.0} ns a record", timer.elapsed_us() / count as f64 * 1000.0);
}
