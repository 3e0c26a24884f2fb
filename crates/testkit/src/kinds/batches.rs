//! Batches: sorted entries inserted together, and entries of any order through the sorting loader, leave what single
//! inserts leave; whole or not at all, whatever fails.
//!
//! Options, key sets and batches are drawn from seeds: empty, small, large, dense, in one gap, in front of all keys,
//! behind them, of one key. The reference is a map, or a map of lists where keys repeat.

use super::support::{Map, NAME, Numbers, assert_same, empty, entries, memory, open, options};
use crate::{Fault, Operation, Random, enumerate_faults, key_sets, seeds};
use ogive::SortingWriter;
use ogive::index::{Index, IndexKind, IndexOptions, Key};
use ogive::io::{FastPaths, Storage};
use ogive::{Cause, Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

type Records = Vec<(u64, Vec<u8>)>;
type PayloadLists = BTreeMap<u64, Vec<Vec<u8>>>;

/// The names of the batches that [`batch`] draws.
const BATCHES: [&str; 9] =
    ["empty", "single", "few", "replacing", "many", "in one gap", "behind", "in front", "of one key"];

/// Keys of a batch into an index with these keys, in any order.
fn batch(random: &mut Random, name: &str, present: &[u64], size: u64) -> Vec<u64> {
    let some = |random: &mut Random| match present.get(random.below(present.len().max(1) as u64) as usize) {
        Some(&key) => key,
        None => random.next_u64(),
    };
    let count = match name {
        "empty" => 0,
        "single" => 1,
        "few" => 1 + random.below(20),
        _ => 1 + random.below(size),
    };
    let from = some(random);
    let one = |random: &mut Random| match name {
        "few" | "single" => some(random).wrapping_add(random.below(5)).wrapping_sub(2),
        "replacing" => some(random),
        "many" => random.next_u64() >> (random.below(3) * 20),
        "in one gap" => from.saturating_add(random.below(4 * size)),
        "behind" => present.last().map_or(7, |&last| last.saturating_add(random.below(4 * size))),
        "in front" => present.first().map_or(7, |&first| random.below(first.saturating_add(1))),
        _ => from,
    };
    (0..count).map(|_| one(random)).collect()
}

/// An index of drawn options.
struct DrawnIndex<K: Key> {
    storage: Arc<dyn Storage>,
    options: IndexOptions,
    index: Index<K, Vec<u8>>,
    payload_bytes: usize,
}

impl<K: Key> DrawnIndex<K> {
    fn new(random: &mut Random, kind: IndexKind, duplicates: bool) -> Self {
        let payload_bytes = [0, 1, 8, 40][random.below(4) as usize];
        let mut options = IndexOptions::default()
            .kind(kind)
            .payload_bytes(payload_bytes)
            .duplicates(duplicates)
            .fill_percent([10, 50, 80, 80, 100][random.below(5) as usize]);
        options.pages.page_bytes = [512, 512, 1024, 4096][random.below(4) as usize];
        options.pages.memory_bytes = [0, 50_000, 64 << 20][random.below(3) as usize];
        options.pages.transaction_bytes = [0, 8_000][random.below(2) as usize];
        options.pages.checkpoint_bytes = [20_000, 64 << 20][random.below(2) as usize];
        options.pages.fast_paths = FastPaths { batches: !random.one_in(5), ..FastPaths::ALL };
        let storage = memory();
        let index = Index::create((Arc::clone(&storage), NAME), &options).unwrap();
        Self { storage, options, index, payload_bytes }
    }

    /// Inserts records with their payloads, in one of all ways.
    fn insert(&self, random: &mut Random, records: &Records, key_of: fn(u64) -> K) -> Result<u64> {
        let mut records: Vec<(K, Vec<u8>)> = records.iter().map(|(key, value)| (key_of(*key), value.clone())).collect();
        if random.one_in(2) {
            let mut loader = self.index.sorting_loader(SortingWriter::MEMORY_BYTES_MIN)?;
            records.into_iter().try_for_each(|(key, value)| loader.append(key, value))?;
            return loader.finish();
        }
        records.sort_by_key(|record| record.0);
        let mut transaction = self.index.write()?;
        let before = transaction.len();
        let parts = 1 + random.below(3) as usize;
        for part in records.chunks(records.len().div_ceil(parts).max(1)) {
            let length = transaction.len();
            let grown = transaction.insert_sorted(part.iter().cloned())?;
            assert_eq!(transaction.len(), length + grown);
        }
        let grown = transaction.len() - before;
        transaction.commit()?;
        Ok(grown)
    }

    fn reopen(self) -> Self {
        drop(self.index);
        let index = Index::open((Arc::clone(&self.storage), NAME), &self.options).unwrap();
        Self { index, ..self }
    }
}

fn records(random: &mut Random, keys: &[u64], payload_bytes: usize) -> Records {
    keys.iter().map(|&key| (key, (0..payload_bytes).map(|_| random.next_u64() as u8).collect())).collect()
}

/// Follows drawn batches with an index and a map of lists, with single inserts and removals between them.
fn follow<K: Key>(kind: IndexKind, seed: u64, duplicates: bool, key_of: fn(u64) -> K) {
    let mut random = Random::new(seed);
    let mut drawn = DrawnIndex::<K>::new(&mut random, kind, duplicates);
    let sets = key_sets::nasty(600);
    let (set, keys) = &sets[random.below(sets.len() as u64) as usize];
    let what = format!("{kind}, seed {seed}, {set}, duplicates {duplicates}, {:?}", drawn.options);
    let mut lists = PayloadLists::new();
    let add = |lists: &mut PayloadLists, key: u64, value: Vec<u8>| {
        let values = lists.entry(key).or_default();
        if !duplicates {
            values.clear();
        }
        values.push(value);
    };
    let start = records(&mut random, keys, drawn.payload_bytes);
    start.iter().for_each(|(key, value)| add(&mut lists, *key, value.clone()));
    drawn.insert(&mut random, &start, key_of).unwrap();
    for round in 0..8 {
        let present: Vec<u64> = lists.keys().copied().collect();
        let name = BATCHES[random.below(BATCHES.len() as u64) as usize];
        let size = [100, 3000][random.below(2) as usize];
        let keys = batch(&mut random, name, &present, size);
        let batch = records(&mut random, &keys, drawn.payload_bytes);
        let reader = drawn.index.reader().unwrap();
        let before: Vec<(K, Vec<u8>)> = reader.iter().map(Result::unwrap).collect();
        let grown = drawn.insert(&mut random, &batch, key_of).unwrap();
        batch.iter().for_each(|(key, value)| add(&mut lists, *key, value.clone()));
        let count: usize = lists.values().map(Vec::len).sum();
        let what = format!("{what}, round {round}: {} keys {name}", batch.len());
        assert_eq!(before.len() as u64 + grown, count as u64, "{what}");
        assert!(reader.iter().map(Result::unwrap).eq(before), "{what}: an older commit changed");
        drop(reader);
        assert_lists(&drawn.index, &lists, duplicates, key_of, &what);
        let mut transaction = drawn.index.write().unwrap();
        for _ in 0..random.below(30) {
            let key = present.get(random.below(present.len().max(1) as u64) as usize).copied().unwrap_or(3);
            if random.one_in(2) {
                let removed = transaction.remove_all(key_of(key)).unwrap();
                assert_eq!(removed as usize, lists.remove(&key).map_or(0, |values| values.len()), "{what}");
            } else {
                transaction.insert(key_of(key), vec![9; drawn.payload_bytes]).unwrap();
                add(&mut lists, key, vec![9; drawn.payload_bytes]);
            }
        }
        transaction.commit().unwrap();
        if random.one_in(3) {
            drawn = drawn.reopen();
        }
    }
    assert_lists(&drawn.index, &lists, duplicates, key_of, &what);
}

/// Compares an index with lists; entries of one key may be in any order.
#[track_caller]
fn assert_lists<K: Key>(
    index: &Index<K, Vec<u8>>,
    lists: &PayloadLists,
    duplicates: bool,
    key_of: fn(u64) -> K,
    what: &str,
) {
    let verified = index.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
    let sorted = |mut entries: Vec<(K, Vec<u8>)>| {
        assert!(entries.is_sorted_by_key(|entry| entry.0), "{what}: out of order");
        if duplicates {
            entries.sort();
        }
        entries
    };
    let all = lists.iter().flat_map(|(&key, values)| values.iter().map(move |value| (key_of(key), value.clone())));
    let expected = sorted(all.collect());
    assert_eq!(verified.entries, expected.len() as u64, "{what}");
    assert!(sorted(index.iter().unwrap().map(Result::unwrap).collect()) == expected, "{what}: forward");
    let mut backward: Vec<_> = index.iter().unwrap().rev().map(Result::unwrap).collect();
    backward.reverse();
    assert!(sorted(backward) == expected, "{what}: backward");
    for (&key, values) in lists.iter().step_by(1 + lists.len() / 50) {
        assert_eq!(index.get_all(key_of(key)).unwrap().len(), values.len(), "{what}: {key}");
    }
}

/// Compares drawn batches with a map.
pub fn batches_match_a_map(kind: IndexKind) {
    for seed in seeds(1..=9) {
        match seed % 3 {
            0 => follow::<u128>(kind, seed, false, |key| u128::from(key) << 60 | 5),
            _ => follow::<u64>(kind, seed, false, |key| key),
        }
    }
}

/// Compares drawn batches of repeated keys with a map of lists.
pub fn batches_of_repeated_keys_match_a_map_of_lists(kind: IndexKind) {
    for seed in seeds(1..=9) {
        follow::<u64>(kind, seed, true, |key| key);
    }
}

/// A batch with a key that repeats from less than a leaf to many leaves, in front of others, between them, behind them.
pub fn a_batch_may_repeat_one_key_any_number_of_times(kind: IndexKind) {
    let copies = [3, 29, 30, 31, 400, 5000].into_iter();
    for (copies, at) in copies.flat_map(|copies| [0, 500, 5000].map(|at| (copies, at))) {
        let index = Numbers::create((memory(), NAME), &options(kind).duplicates(true)).unwrap();
        let mut expected: Vec<(u64, u64)> = (0..300).map(|i| (i * 10, i)).collect();
        index.bulk_load(expected.clone()).unwrap();
        for round in 0..2 {
            let mut batch: Vec<(u64, u64)> = (0..copies).map(|i| (at, i)).collect();
            batch.extend((0..200).map(|i| (i * 15 + round, i)));
            batch.sort_by_key(|entry| entry.0);
            let mut transaction = index.write().unwrap();
            assert_eq!(transaction.insert_sorted(batch.iter().copied()).unwrap(), batch.len() as u64);
            transaction.commit().unwrap();
            expected.extend(batch);
            expected.sort_unstable();
            let what = format!("{kind}: {copies} copies of {at}, round {round}");
            index.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
            let mut found: Vec<(u64, u64)> = index.iter().unwrap().map(Result::unwrap).collect();
            assert!(found.is_sorted_by_key(|entry| entry.0), "{what}");
            found.sort_unstable();
            assert!(found == expected, "{what}");
        }
    }
}

/// Entries out of order, a failing source, an interrupt, a loader that is dropped: nothing changes, nothing is left.
pub fn failed_batches_change_nothing(kind: IndexKind) {
    let (storage, index) = empty(kind);
    let map: Map = (0..2000).map(|i| (i * 3, i)).collect();
    index.bulk_load(map.clone()).unwrap();
    let names = storage.list().unwrap();
    let mut transaction = index.write().unwrap();
    let unsorted = (0..3000).map(|i| (if i == 2500 { 1 } else { i * 2 }, i));
    assert!(
        matches!(transaction.insert_sorted(unsorted), Err(Error { cause: Cause::Unsorted { record: 2500 }, .. })),
        "{kind}"
    );
    assert!(matches!(transaction.commit(), Err(Error { cause: Cause::Aborted, .. })), "{kind}");
    let source = (0..3000).map(|i| if i < 2500 { Ok((i, i)) } else { Err(Error::interrupted()) });
    let failed = index.write().unwrap().try_insert_sorted(source, &mut |_| Ok(()));
    assert!(matches!(failed, Err(Error { cause: Cause::Interrupted, .. })), "{kind}");
    let mut stop = |count| if count > 5000 { Err(Error::interrupted()) } else { Ok(()) };
    let failed = index.write().unwrap().try_insert_sorted((0..50_000).map(|i| Ok((i, i))), &mut stop);
    assert!(matches!(failed, Err(Error { cause: Cause::Interrupted, .. })), "{kind}");
    for is_stopped in [false, true] {
        let mut loader = index.sorting_loader(SortingWriter::MEMORY_BYTES_MIN).unwrap();
        (0..20_000).rev().for_each(|i| loader.append(i, i).unwrap());
        assert!(storage.list().unwrap().len() > names.len(), "{kind}: the budget was not exceeded");
        if is_stopped {
            let stopped = loader.finish_observed(&mut |done, total| {
                if done > total / 2 { Err(Error::interrupted()) } else { Ok(()) }
            });
            assert!(matches!(stopped, Err(Error { cause: Cause::Interrupted, .. })), "{kind}");
        } else {
            drop(loader);
        }
    }
    assert_eq!(storage.list().unwrap(), names, "{kind}: temporary files are left");
    assert_same(&index, &map, kind.name());
    assert!(
        matches!(index.sorting_loader(SortingWriter::MEMORY_BYTES_MIN - 1), Err(Error { cause: Cause::Input, .. })),
        "{kind}"
    );
    assert_eq!(index.sorting_loader(SortingWriter::MEMORY_BYTES_MIN).unwrap().finish().unwrap(), 0, "{kind}");
    assert_same(&open_again(index, &storage), &map, kind.name());
}

fn open_again(index: Numbers, storage: &Arc<dyn Storage>) -> Numbers {
    drop(index);
    open(storage).unwrap()
}

/// Fails every call of a load once, in each way: the index then has all entries of the load or none, and rejects
/// writes after a failed write or sync of its own files.
pub fn a_load_that_fails_is_whole_or_absent(kind: IndexKind) {
    let before: Map = (0..300).map(|i| (i * 7, i)).collect();
    let batch: Map = (0..3000).map(|i| (i * 5, i + 1)).collect();
    let mut after = before.clone();
    after.extend(batch.clone());
    let start = || {
        let storage = memory();
        let index = Numbers::create((Arc::clone(&storage), NAME), &options(kind)).unwrap();
        index.bulk_load(before.clone()).unwrap();
        storage
    };
    let change = |storage: Arc<dyn Storage>| -> Result<()> {
        let index = open(&storage)?;
        let mut loader = index.sorting_loader(SortingWriter::MEMORY_BYTES_MIN)?;
        for (&key, &value) in batch.iter().rev() {
            loader.append(key, value)?;
        }
        let loaded = loader.finish().map(drop);
        let of_sort = |error: &Error| error.to_string().contains("ogive-sort");
        if let Err(error @ Error { cause: Cause::Io(_), .. }) = &loaded
            && ["write", "sync"].contains(&error.action())
            && !of_sort(error)
        {
            let again = index.write().and_then(|mut transaction| {
                transaction.insert(1, 1)?;
                transaction.commit()
            });
            assert!(again.is_err(), "{kind}: after {error} the next commit succeeded");
        }
        loaded
    };
    for operation in [Operation::Write, Operation::Sync, Operation::Read, Operation::Create] {
        for fault in [Fault::DeviceError, Fault::NoSpace] {
            let check = |at: u64, outcome: Result<()>, storage: Arc<dyn Storage>| {
                let what = format!("{kind}: {operation:?} {at}, {fault:?}");
                let index = open(&storage).unwrap_or_else(|error| panic!("{what}: {error}"));
                let reader = index.reader().unwrap();
                let found = entries(&reader).unwrap_or_else(|error| panic!("{what}: {error}"));
                let whole = found == after;
                assert!(whole || outcome.is_err() && found == before, "{what}: {} entries", found.len());
                reader.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
            };
            enumerate_faults(operation, fault, start, change, check);
        }
    }
}
