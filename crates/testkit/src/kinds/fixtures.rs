//! Fixtures: index files of released versions, read and written by the current one.

use super::support::Map;
use ogive::Result;
use ogive::index::Index;
use ogive::io::{MemoryStorage, Storage};
use ogive::page::PageOptions;
use std::sync::Arc;

/// A memory storage with the given files.
pub fn storage(files: &[(&str, &[u8])]) -> (MemoryStorage, Arc<dyn Storage>) {
    let memory = MemoryStorage::new();
    files.iter().for_each(|(name, content)| memory.put(name, content.to_vec()).unwrap());
    (memory.clone(), Arc::new(memory))
}

/// All entries of an index, verified.
pub fn entries(index: &Index<u64, u64>) -> Map {
    let reader = index.reader().unwrap();
    assert_eq!(reader.verify().unwrap().entries, reader.len().unwrap());
    reader.iter().collect::<Result<Map>>().unwrap()
}

/// Reads an index, changes it, and reads it again, with and without a clean close.
pub fn check(files: &[(&str, &[u8])], mut map: Map) {
    let (memory, storage) = storage(files);
    let options = PageOptions::default();
    assert_eq!(entries(&Index::open_read_only(storage.clone(), "f", &options).unwrap()), map);
    let index = Index::open(storage.clone(), "f", &options).unwrap();
    assert_eq!(entries(&index), map);
    let mut transaction = index.write().unwrap();
    for key in [3, 500_000] {
        transaction.insert(key, key).unwrap();
        map.insert(key, key);
    }
    transaction.commit().unwrap();
    // As after a kill: a log segment of the new version follows one of the old.
    let killed = MemoryStorage::new();
    for name in memory.list().unwrap() {
        killed.put(&name, memory.content(&name).unwrap()).unwrap();
    }
    let killed: Arc<dyn Storage> = Arc::new(killed);
    assert_eq!(entries(&Index::open(killed.clone(), "f", &options).unwrap()), map);
    drop(index);
    assert_eq!(entries(&Index::open(storage.clone(), "f", &options).unwrap()), map);
}

/// The key of the entry with a number.
fn key(number: u64) -> u64 {
    number * number * 3 + number % 7
}

/// The entries of a closed index of version 2: 400 loaded, then 20 transactions of ten insertions and a removal.
pub fn closed() -> Map {
    let mut map: Map = (0..400).map(|number| (key(number), number)).collect();
    for batch in 0..20 {
        for number in 400 + batch * 10..410 + batch * 10 {
            map.insert(key(number * 7 % 400) + 1 + number % 3, number);
        }
        map.remove(&key(batch * 20));
    }
    map
}

/// The entries of a killed index of version 2: one transaction of 40 entries is only in the log.
pub fn live() -> Map {
    closed().into_iter().chain((600..640).map(|number| (key(number), number))).collect()
}
