//! Shared helpers of the tests of kinds: small indexes, generated changes, and comparison with a map.

use crate::{Random, key_sets};
use ogive::Result;
use ogive::index::{Index, IndexKind, IndexOptions, IndexReader, WriteTransaction};
use ogive::io::{MemoryStorage, Storage};
use ogive::page::PageOptions;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The index of most tests.
pub type Numbers = Index<u64, u64>;
/// The reference map of an index.
pub type Map = BTreeMap<u64, u64>;

/// The file name of the index.
pub const NAME: &str = "index";

/// Options with small pages, so that few entries make several levels.
pub fn options(kind: IndexKind) -> IndexOptions {
    let mut options = IndexOptions::default().kind(kind);
    options.pages.page_bytes = 512;
    options
}

/// A storage in memory.
pub fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

/// An empty index in memory.
pub fn empty(kind: IndexKind) -> (Arc<dyn Storage>, Numbers) {
    let storage = memory();
    let index = Numbers::create((storage.clone(), NAME), &options(kind)).unwrap();
    (storage, index)
}

/// Opens the index [`NAME`].
pub fn open(storage: &Arc<dyn Storage>) -> Result<Numbers> {
    Numbers::open((Arc::clone(storage), NAME), &IndexOptions::default())
}

/// Opens the index [`NAME`] with a memory budget.
pub fn open_in(storage: &Arc<dyn Storage>, memory_bytes: u64) -> Result<Numbers> {
    let mut options = PageOptions::default();
    options.memory_bytes = memory_bytes;
    Numbers::open((Arc::clone(storage), NAME), &IndexOptions::default().pages(options.clone()))
}

/// The nasty key sets without repeated keys.
pub fn nasty(size: usize) -> Vec<(&'static str, Vec<u64>)> {
    let mut sets = key_sets::nasty(size);
    sets.iter_mut().for_each(|(_, keys)| keys.dedup());
    sets
}

/// A change of an index.
#[derive(Clone, Copy, Debug)]
pub enum IndexChange {
    /// Inserts a key with a payload.
    Insert(u64, u64),
    /// Removes a key.
    Remove(u64),
}

impl IndexChange {
    /// A random change of one of `keys` or of a neighbour; mostly inserts if `growing`.
    pub fn random(random: &mut Random, keys: &[u64], growing: bool) -> Self {
        let key = match keys.get(random.below(keys.len() as u64) as usize) {
            Some(&key) if random.one_in(4) => key.wrapping_add(random.below(5)).wrapping_sub(2),
            Some(&key) => key,
            None => random.next_u64(),
        };
        let removals = if growing { 4 } else { 2 };
        if random.one_in(removals) { Self::Remove(key) } else { Self::Insert(key, random.next_u64()) }
    }

    /// Applies the change to a map; whether the number of entries changed.
    pub fn in_map(self, map: &mut Map) -> bool {
        match self {
            Self::Insert(key, value) => map.insert(key, value).is_none(),
            Self::Remove(key) => map.remove(&key).is_some(),
        }
    }

    /// Applies the change to an index; whether the number of entries changed.
    pub fn in_index(self, transaction: &mut WriteTransaction<u64, u64>) -> Result<bool> {
        match self {
            Self::Insert(key, value) => transaction.insert(key, value),
            Self::Remove(key) => transaction.remove(key),
        }
    }
}

/// All entries of an index, in order.
pub fn entries(reader: &IndexReader<u64, u64>) -> Result<Map> {
    let entries: Result<Vec<(u64, u64)>> = reader.iter().collect();
    let entries = entries?;
    assert!(entries.is_sorted_by(|left, right| left.0 < right.0), "out of order");
    Ok(entries.into_iter().collect())
}

/// Compares all answers of an index with a map.
#[track_caller]
pub fn assert_same(index: &Numbers, map: &Map, what: &str) {
    let reader = index.reader().unwrap();
    assert_eq!(reader.len().unwrap(), map.len() as u64, "{what}: len");
    assert_eq!(reader.is_empty().unwrap(), map.is_empty(), "{what}");
    let forward: Vec<(u64, u64)> = reader.iter().map(Result::unwrap).collect();
    let expected: Vec<(u64, u64)> = map.iter().map(|(&key, &value)| (key, value)).collect();
    assert!(forward == expected, "{what}: forward {forward:?} rather than {expected:?}");
    let mut backward: Vec<(u64, u64)> = reader.iter().rev().map(Result::unwrap).collect();
    backward.reverse();
    assert!(backward == expected, "{what}: backward");
    assert_eq!(reader.first().unwrap(), expected.first().copied(), "{what}: first");
    assert_eq!(reader.last().unwrap(), expected.last().copied(), "{what}: last");
    let verified = reader.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(verified.entries, map.len() as u64, "{what}: verify");
}

/// Compares lookups and ranges at some keys with a map.
#[track_caller]
pub fn assert_same_at(index: &Numbers, map: &Map, keys: &[u64], what: &str) {
    for &key in keys {
        for near in [key.wrapping_sub(1), key, key.wrapping_add(1)] {
            assert_eq!(index.get(near).unwrap(), map.get(&near).copied(), "{what}: get {near}");
            assert_eq!(index.contains_key(near).unwrap(), map.contains_key(&near), "{what}: contains {near}");
        }
        let found: Vec<u64> = index.range(key..).unwrap().take(5).map(|entry| entry.unwrap().0).collect();
        let expected: Vec<u64> = map.range(key..).take(5).map(|entry| *entry.0).collect();
        assert_eq!(found, expected, "{what}: range from {key}");
        let found: Vec<u64> = index.range(..key).unwrap().rev().take(5).map(|entry| entry.unwrap().0).collect();
        let expected: Vec<u64> = map.range(..key).rev().take(5).map(|entry| *entry.0).collect();
        assert_eq!(found, expected, "{what}: range back from {key}");
    }
    let expected: Vec<Option<u64>> = keys.iter().map(|key| map.get(key).copied()).collect();
    assert_eq!(index.multi_get(keys).unwrap(), expected, "{what}: multi_get");
}

/// Sets the memory for pages to 0, so that each read reaches the storage.
pub fn without_memory(pages: &mut ogive::page::PageOptions) {
    pages.memory_bytes = 0;
}
