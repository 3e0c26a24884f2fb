//! Tests of the external sort: against a stable sort in memory, for its memory and its temporary files, and with
//! a fault at every storage call.

use super::*;
use crate::error::{Cause, Error, Result};
use crate::io::{
    MemoryStorage, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, WritableFile, WriterWrapper,
};
use proptest::prelude::*;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

type Record = (Vec<u8>, Vec<u8>);
type Damage = fn(&mut Vec<u8>);

const SMALL: u64 = SORT_MEMORY_BYTES_MIN;

/// A pseudo-random sequence, the same in each run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 7
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Records with repeated keys, each with a value that identifies its arrival.
fn records(count: u64, distinct_keys: u64, value_bytes: usize) -> Vec<Record> {
    let mut noise = Noise(count);
    let record = |arrival: u64| {
        let mut value = arrival.to_le_bytes().to_vec();
        value.resize(value_bytes.max(8), arrival as u8);
        (noise.below(distinct_keys).to_be_bytes().to_vec(), value)
    };
    (0..count).map(record).collect()
}

fn push_all(sorter: &mut Sorter, records: &[Record]) -> Result<()> {
    records.iter().try_for_each(|(key, value)| sorter.push(key, value))
}

fn sort(storage: &Arc<dyn Storage>, memory_bytes: u64, records: &[Record]) -> Result<Vec<Record>> {
    let mut sorter = Sorter::new(Arc::clone(storage), memory_bytes, "table")?;
    push_all(&mut sorter, records)?;
    let sorted = sorter.finish()?;
    assert_eq!(sorted.records(), records.len() as u64);
    sorted.collect()
}

fn assert_sorts(memory_bytes: u64, records: &[Record]) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let found = sort(&storage, memory_bytes, records).unwrap();
    let mut expected = records.to_vec();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found.len(), expected.len());
    assert!(found == expected, "{} records came in another order", records.len());
    assert_eq!(storage.list().unwrap(), Vec::<String>::new(), "files were left behind");
}

#[test]
fn input_that_fits_the_buffer_never_touches_the_storage() {
    let storage = Storm::after(0);
    let records = records(1000, 100, 8);
    let mut expected = records.clone();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(sort(&(Arc::new(storage) as Arc<dyn Storage>), 1 << 20, &records).unwrap() == expected);
}

#[test]
fn nothing_and_one_record_are_sorted() {
    assert_sorts(SMALL, &[]);
    assert_sorts(SMALL, &[(b"key".to_vec(), b"value".to_vec())]);
    assert_sorts(SMALL, &[(vec![], vec![]), (vec![0], vec![1]), (vec![], vec![2])]);
}

#[test]
fn one_merge_suffices_for_a_few_runs() {
    assert_sorts(SMALL, &records(10_000, 1 << 40, 8));
}

#[test]
fn more_runs_than_the_budget_merges_at_once_take_several_passes() {
    let records = records(100_000, 1 << 40, 8);
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut sorter = Sorter::new(Arc::clone(&storage), SMALL, "table").unwrap();
    push_all(&mut sorter, &records).unwrap();
    assert!(storage.list().unwrap().last().unwrap().as_str() > "table.000040.ogive-sort");
    drop(sorter);
    assert_sorts(SMALL, &records);
}

#[test]
fn equal_keys_keep_the_order_of_their_arrival_across_runs_and_passes() {
    for distinct_keys in [1, 2, 3, 1000] {
        assert_sorts(SMALL, &records(60_000, distinct_keys, 8));
    }
}

#[test]
fn sorted_and_reversed_input_are_sorted() {
    let mut records = records(30_000, 1 << 30, 8);
    records.sort();
    assert_sorts(SMALL, &records);
    records.reverse();
    assert_sorts(SMALL, &records);
}

#[test]
fn keys_that_are_prefixes_of_each_other_come_in_the_order_of_their_bytes() {
    let mut keys = vec![vec![], vec![0], vec![0; 7], vec![0; 8], vec![0; 9], vec![0, 1], vec![0; 100]];
    keys.extend([
        b"a".to_vec(),
        b"a\0".to_vec(),
        b"abcdefgh".to_vec(),
        b"abcdefgh\0".to_vec(),
        vec![255; 8],
        vec![255; 7],
        vec![255; 9],
    ]);
    let mut noise = Noise(3);
    let records = (0..20_000_u64)
        .map(|arrival| (keys[noise.below(keys.len() as u64) as usize].clone(), arrival.to_le_bytes().to_vec()));
    assert_sorts(SMALL, &records.collect::<Vec<_>>());
}

#[test]
fn records_as_long_as_the_budget_allows_are_sorted_and_longer_ones_refused() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut sorter = Sorter::new(Arc::clone(&storage), SMALL, "table").unwrap();
    let longest = usize::try_from(sorter.record_bytes_max()).unwrap();
    assert!(longest >= 16_000);
    let refused = sorter.push(b"key", &vec![0; longest - 2]);
    assert!(matches!(refused, Err(Error { cause: Cause::ValueTooLarge { length, limit }, .. }) if length == limit + 1));
    sorter.push(b"key", b"the sort goes on").unwrap();
    assert_eq!(sorter.finish().unwrap().count(), 1);

    let mut noise = Noise(5);
    let lengths = [0, 1, 5000, longest - 8];
    let record =
        |arrival: u64| (noise.next().to_be_bytes().to_vec(), vec![arrival as u8; lengths[arrival as usize % 4]]);
    assert_sorts(SMALL, &(0..200).map(record).collect::<Vec<_>>());
}

#[test]
fn a_change_from_long_to_short_records_does_not_make_tiny_runs() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut sorter = Sorter::new(Arc::clone(&storage), 1 << 20, "table").unwrap();
    push_all(&mut sorter, &records(300, 1 << 40, 10_000)).unwrap();
    push_all(&mut sorter, &records(300_000, 1 << 40, 8)).unwrap();
    let runs = storage.list().unwrap().len();
    // 3 MB and 7.2 MB of records, and an index of 16 bytes for each.
    assert!(runs <= 18, "{runs} runs");
}

#[test]
fn a_budget_too_small_to_work_with_is_refused() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    for budget in [0, SMALL - 1] {
        assert!(matches!(Sorter::new(Arc::clone(&storage), budget, "table"), Err(Error { cause: Cause::Input, .. })));
    }
}

#[test]
fn all_memory_stays_within_the_budget() {
    for (budget, count, value_bytes) in
        [(SMALL, 60_000, 8), (1 << 20, 200_000, 8), (SMALL, 2000, 10_000), (300_000, 3000, 3000)]
    {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut sorter = Sorter::new(Arc::clone(&storage), budget, "table").unwrap();
        for (key, value) in records(count, 1 << 40, value_bytes) {
            sorter.push(&key, &value).unwrap();
            assert!(sorter.allocated_bytes() as u64 <= budget);
            assert!(sorter.runs().len() <= 400);
        }
        let mut sorted = sorter.finish().unwrap();
        while sorted.next_record().unwrap().is_some() {
            assert!(sorted.allocated_bytes() as u64 <= budget);
        }
    }
}

#[test]
fn the_bytes_of_all_merges_are_known_before_the_first() {
    for (budget, count) in [(SMALL, 60_000), (SMALL, 3000), (1 << 20, 60_000), (64 << 20, 1000)] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut sorter = Sorter::new(storage, budget, "table").unwrap();
        push_all(&mut sorter, &records(count, 1 << 40, 8)).unwrap();
        let (one_merge, runs) = (sorter.record_bytes(), sorter.runs().len());
        let mut seen: Vec<(u64, u64)> = Vec::new();
        let mut sorted = sorter.finish_observed(&mut |done, total| seen.push((done, total))).unwrap();
        seen.push(sorted.progress());
        while sorted.next_record().unwrap().is_some() {}
        seen.push(sorted.progress());
        let total = seen[0].1;
        assert!(seen.iter().all(|&(_, each)| each == total) && seen.is_sorted(), "{runs} runs: {seen:?}");
        assert_eq!(seen.last(), Some(&(total, total)));
        assert_eq!(total > one_merge, seen.len() > 2, "{runs} runs");
    }
}

#[test]
fn run_files_are_removed_when_a_sort_is_given_up() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let start = || {
        let mut sorter = Sorter::new(Arc::clone(&storage), SMALL, "table").unwrap();
        push_all(&mut sorter, &records(10_000, 1 << 40, 8)).unwrap();
        assert!(storage.list().unwrap().len() > 3);
        sorter
    };
    drop(start());
    assert!(storage.list().unwrap().is_empty(), "dropped while records came");
    drop(start().finish().unwrap());
    assert!(storage.list().unwrap().is_empty(), "dropped before the first record was taken");
    drop(start().finish().unwrap().nth(5000));
    assert!(storage.list().unwrap().is_empty(), "dropped half-way");
}

#[test]
fn leftovers_of_a_killed_sort_are_removed_and_nothing_else() {
    let storage = MemoryStorage::new();
    let others = [
        "table",
        "table.ogive-sort",
        "table..ogive-sort",
        "table.1.copy",
        "table.x1.ogive-sort",
        "table2.000001.ogive-sort",
        "table.a.000001.ogive-sort",
        "a.table.000001.ogive-sort",
    ];
    let leftovers = ["table.000001.ogive-sort", "table.000002.ogive-sort", "table.12345678.ogive-sort"];
    others.iter().chain(&leftovers).for_each(|name| storage.put(name, vec![1]).unwrap());
    let refused = sort(&(Arc::new(storage.clone()) as Arc<dyn Storage>), SMALL, &records(10_000, 9, 8));
    assert!(matches!(refused, Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. })));
    assert_eq!(storage.content("table.000001.ogive-sort").unwrap(), [1], "a foreign file was removed");
    assert_eq!(remove_leftovers(&storage, "table").unwrap(), 3);
    let mut left = others.map(str::to_owned);
    left.sort();
    assert_eq!(storage.list().unwrap(), left);
    assert_eq!(remove_leftovers(&storage, "table").unwrap(), 0);
}

#[test]
fn every_damage_of_a_run_is_an_error_and_never_a_shorter_result() {
    let records = records(5000, 1 << 40, 8);
    let damage: [(&str, Damage); 5] = [
        ("a flipped bit at the front", |run| run[0] ^= 1),
        ("a flipped bit in the middle", |run| run[20_001] ^= 64),
        ("a flipped bit in the last checksum", |run| *run.last_mut().unwrap() ^= 128),
        ("a missing byte", |run| run.truncate(run.len() - 1)),
        ("two chunks swapped", |run| {
            let (first, second) = run[..8192].split_at_mut(4096);
            first.swap_with_slice(second);
        }),
    ];
    for (what, damage) in damage {
        let storage = MemoryStorage::new();
        let mut sorter = Sorter::new(Arc::new(storage.clone()), SMALL, "table").unwrap();
        push_all(&mut sorter, &records).unwrap();
        let name = storage.list().unwrap()[0].clone();
        let mut run = storage.content(&name).unwrap();
        damage(&mut run);
        storage.put(&name, run).unwrap();
        let mut outcome = sorter.finish().map(Iterator::collect::<Result<Vec<_>>>);
        outcome = outcome.and_then(|found| found.map(Ok));
        assert!(
            matches!(outcome, Err(error @ Error { cause: Cause::Damaged, .. })
                if error.path().unwrap().ends_with(&name)),
            "{what}"
        );
        assert!(storage.list().unwrap().is_empty(), "{what}: files were left behind");
    }
}

#[test]
fn nothing_comes_after_an_error() {
    let storage = MemoryStorage::new();
    let mut sorter = Sorter::new(Arc::new(storage.clone()), SMALL, "table").unwrap();
    push_all(&mut sorter, &records(5000, 1 << 40, 8)).unwrap();
    let name = storage.list().unwrap()[0].clone();
    let mut run = storage.content(&name).unwrap();
    run[25_000] ^= 1;
    storage.put(&name, run).unwrap();
    let mut sorted = sorter.finish().unwrap();
    assert!(sorted.by_ref().any(|record| record.is_err()));
    assert!(sorted.next().is_none() && sorted.next_record().unwrap().is_none());
}

/// A storage whose n-th call and all later ones fail like a full disk, except for removals.
#[derive(Debug)]
struct Storm {
    inner: MemoryStorage,
    calls_left: Arc<AtomicI64>,
}

impl Storm {
    fn after(calls: i64) -> Self {
        Self { inner: MemoryStorage::new(), calls_left: Arc::new(AtomicI64::new(calls)) }
    }
}

fn count_down(calls_left: &AtomicI64, path: &Path) -> Result<()> {
    match calls_left.fetch_sub(1, Ordering::Relaxed) {
        1.. => Ok(()),
        _ => Err(Error::io("write", path, ErrorKind::StorageFull.into())),
    }
}

impl StorageWrapper for Storm {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        count_down(&self.calls_left, &self.path(name))?;
        let (file, calls_left) = (self.inner.open(name)?, Arc::clone(&self.calls_left));
        Ok(Arc::new(StormReader { file, calls_left }))
    }
    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        count_down(&self.calls_left, &self.path(name))?;
        let (file, calls_left) = (self.inner.create(name)?, Arc::clone(&self.calls_left));
        Ok(Box::new(StormWriter { file, calls_left }))
    }
}

#[derive(Debug)]
struct StormReader {
    file: Arc<dyn ReadableFile>,
    calls_left: Arc<AtomicI64>,
}

impl ReaderWrapper for StormReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.file
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        count_down(&self.calls_left, self.path())?;
        self.file.read(request)
    }
}

#[derive(Debug)]
struct StormWriter {
    file: Box<dyn WritableFile>,
    calls_left: Arc<AtomicI64>,
}

impl WriterWrapper for StormWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.file
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.file
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        count_down(&self.calls_left, self.file.path())?;
        self.file.append(bytes)
    }
}

#[test]
fn a_disk_that_fills_up_at_any_call_is_a_typed_error_and_leaves_no_file() {
    let records = records(25_000, 1 << 40, 8);
    for calls in 0.. {
        let storage = Arc::new(Storm::after(calls));
        let outcome = sort(&(Arc::clone(&storage) as Arc<dyn Storage>), SMALL, &records);
        assert!(storage.list().unwrap().is_empty(), "files were left behind by failing at call {calls}");
        match outcome {
            Ok(found) => {
                assert_eq!(found.len(), records.len());
                assert!(calls > 300, "the sort needed only {calls} calls");
                return;
            }
            Err(error) => assert!(
                matches!(&error, Error { cause: Cause::Io(ErrorKind::StorageFull), .. }),
                "call {calls}: {error}"
            ),
        }
    }
}

#[test]
fn after_a_failed_push_the_sort_takes_and_gives_nothing() {
    let storage = Arc::new(Storm::after(2));
    let mut sorter = Sorter::new(Arc::clone(&storage) as Arc<dyn Storage>, SMALL, "table").unwrap();
    assert!(push_all(&mut sorter, &records(10_000, 1 << 40, 8)).is_err());
    storage.calls_left.store(i64::MAX, Ordering::Relaxed);
    assert!(matches!(sorter.push(b"key", b"value"), Err(Error { cause: Cause::Poisoned, .. })));
    assert!(matches!(sorter.finish(), Err(Error { cause: Cause::Poisoned, .. })));
    assert!(storage.list().unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_records_come_back_in_stable_order(
        records in proptest::collection::vec(
            (proptest::collection::vec(0_u8..3, 0..12), proptest::collection::vec(any::<u8>(), 0..400)), 0..2500,
        ),
        budget in SMALL..200_000,
    ) {
        assert_sorts(budget, &records);
    }
}
