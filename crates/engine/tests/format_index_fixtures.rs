//! Indexes of every released version of the page format are read for ever. Goal: a change that loses an old file, or the log of one that
//! was not closed, is noticed. Method: files that a version wrote lie in `fixtures/`; each is opened for reading and for writing, walked over and
//! changed. What they hold is computed here, not stored.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use ogive::Result;
use ogive::index::{Index, Kind, OpenOptions};
use ogive::io::{MemoryStorage, Storage};
use std::collections::BTreeMap;
use std::sync::Arc;

type Map = BTreeMap<u64, u64>;

const CLOSED: &[u8] = include_bytes!("fixtures/index-v1/closed");
const LIVE: &[u8] = include_bytes!("fixtures/index-v1/live");
const LIVE_LOG: &[u8] = include_bytes!("fixtures/index-v1/live.log-2");

/// The entries of the one that was closed: of an index of kind `ogive`, in pages of 512 bytes.
fn closed() -> Map {
    (0..300).map(|i| (i * 7, i * 21)).collect()
}

/// Those of the one whose writer was killed: in its log are commits of ten entries each.
fn live() -> Map {
    closed().into_iter().chain((0..60).map(|i| (i * 7 + 1, (i * 7 + 1) * 3))).collect()
}

fn storage(files: &[(&str, &[u8])]) -> (MemoryStorage, Arc<dyn Storage>) {
    let memory = MemoryStorage::new();
    files.iter().for_each(|(name, content)| memory.put(name, content.to_vec()).unwrap());
    (memory.clone(), Arc::new(memory))
}

fn entries(index: &Index<u64, u64>) -> Map {
    let reader = index.reader().unwrap();
    assert_eq!(reader.verify().unwrap().entries, reader.len().unwrap());
    reader.iter().collect::<Result<Map>>().unwrap()
}

/// Reads an index, changes it, and reads it again, with and without a clean end.
fn check(files: &[(&str, &[u8])], mut map: Map) {
    let (memory, storage) = storage(files);
    let options = OpenOptions::default();
    assert_eq!(entries(&Index::open_read_only(&storage, "f", &options).unwrap()), map);
    let index = Index::open(&storage, "f", &options).unwrap();
    assert_eq!(entries(&index), map);
    let mut transaction = index.write().unwrap();
    for key in [3, 500_000] {
        transaction.insert(key, key).unwrap();
        map.insert(key, key);
    }
    transaction.commit().unwrap();
    // As a kill leaves it: a segment of the new version behind one of the old.
    let killed = MemoryStorage::new();
    for name in memory.list().unwrap() {
        killed.put(&name, memory.content(&name).unwrap()).unwrap();
    }
    let killed: Arc<dyn Storage> = Arc::new(killed);
    assert_eq!(entries(&Index::open(&killed, "f", &options).unwrap()), map);
    drop(index);
    assert_eq!(entries(&Index::open(&storage, "f", &options).unwrap()), map);
}

#[test]
fn version_1_of_an_index_that_was_closed_is_read_and_written() {
    check(&[("f", CLOSED)], closed());
}

#[test]
fn version_1_of_an_index_whose_writer_was_killed_is_recovered() {
    check(&[("f", LIVE), ("f.log-2", LIVE_LOG)], live());
}

/// A file of version 2, by its name in the folder.
macro_rules! version_2 {
    ($name:literal) => {
        include_bytes!(concat!("fixtures/index-v2/", $name))
    };
}

/// One file of each kind that there is.
const KINDS: [(&str, &[u8]); 11] = [
    ("ogive", version_2!("ogive")),
    ("aulid", version_2!("aulid")),
    ("btree", version_2!("btree")),
    ("fiting", version_2!("fiting")),
    ("pgm", version_2!("pgm")),
    ("alex", version_2!("alex")),
    ("lipp", version_2!("lipp")),
    ("fiting-btree", version_2!("fiting-btree")),
    ("pgm-btree", version_2!("pgm-btree")),
    ("alex-btree", version_2!("alex-btree")),
    ("lipp-btree", version_2!("lipp-btree")),
];

/// Key of the entry with a number.
fn key(number: u64) -> u64 {
    number * number * 3 + number % 7
}

/// The entries of a closed index of version 2: 400 loaded, then 20 transactions of ten insertions and a removal.
fn closed_2() -> Map {
    let mut map: Map = (0..400).map(|number| (key(number), number)).collect();
    for batch in 0..20 {
        for number in 400 + batch * 10..410 + batch * 10 {
            map.insert(key(number * 7 % 400) + 1 + number % 3, number);
        }
        map.remove(&key(batch * 20));
    }
    map
}

#[test]
fn version_2_of_every_kind_is_read_and_written() {
    for (name, content) in KINDS {
        let (_, storage) = storage(&[("f", content)]);
        let index = Index::<u64, u64>::open_read_only(&storage, "f", &OpenOptions::default()).unwrap();
        assert_eq!(index.kind(), name.parse::<Kind>().unwrap());
        check(&[("f", content)], closed_2());
    }
    assert_eq!(KINDS.map(|(name, _)| name), Kind::ALL.map(Kind::name));
}

#[test]
fn version_2_whose_writer_was_killed_is_recovered() {
    // One transaction of 40 entries is in the log alone.
    let live: Map = closed_2().into_iter().chain((600..640).map(|number| (key(number), number))).collect();
    check(&[("f", version_2!("alex-live")), ("f.log-2", version_2!("alex-live.log-2"))], live.clone());
    check(&[("f", version_2!("btree-live")), ("f.log-2", version_2!("btree-live.log-2"))], live);
}

#[test]
fn version_1_does_not_say_whether_there_is_a_log() {
    // Its loss cannot be noticed; the first commit of this version ends that.
    let (memory, storage) = storage(&[("f", LIVE)]);
    let index = Index::open(&storage, "f", &OpenOptions::default()).unwrap();
    assert_eq!(entries(&index), closed());
    let mut transaction = index.write().unwrap();
    transaction.insert(3, 3).unwrap();
    transaction.commit().unwrap();
    let killed: Arc<dyn Storage> = Arc::new({
        let killed = MemoryStorage::new();
        killed.put("f", memory.content("f").unwrap()).unwrap();
        killed
    });
    let lost = Index::<u64, u64>::open(&killed, "f", &OpenOptions::default());
    assert!(matches!(lost, Err(ogive::Error::Damaged { .. })), "{lost:?}");
}
