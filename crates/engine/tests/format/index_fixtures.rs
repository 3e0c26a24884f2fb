//! Indexes of every released version of the page format are read for ever. Goal: a change that loses an old file, or
//! the log of one that was not closed, is noticed. Method: files that a version wrote lie in `fixtures/`; each is
//! opened for reading and for writing, walked over and changed. What they hold is computed here, not stored.

use ogive::index::{Index, IndexKind};
use ogive::io::{MemoryStorage, Storage};
use ogive::page::PageOptions;
use ogive_testkit::kinds::fixtures::{self, check, entries, storage};
use ogive_testkit::kinds::support::Map;
use std::sync::Arc;

const CLOSED: &[u8] = include_bytes!("../fixtures/index-v1/closed");
const LIVE: &[u8] = include_bytes!("../fixtures/index-v1/live");
const LIVE_LOG: &[u8] = include_bytes!("../fixtures/index-v1/live.log-2");

/// The entries of the one that was closed: of an index of kind `ogive`, in pages of 512 bytes.
fn closed() -> Map {
    (0..300).map(|i| (i * 7, i * 21)).collect()
}

/// Those of the one whose writer was killed: in its log are commits of ten entries each.
fn live() -> Map {
    closed().into_iter().chain((0..60).map(|i| (i * 7 + 1, (i * 7 + 1) * 3))).collect()
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
        include_bytes!(concat!("../fixtures/index-v2/", $name))
    };
}

/// One file of each kind of the engine; those of other kinds are fixtures of `ogive-papers`.
const KINDS: [(IndexKind, &[u8]); 2] =
    [(IndexKind::OGIVE, version_2!("ogive")), (IndexKind::BTREE, version_2!("btree"))];

#[test]
fn version_2_of_every_kind_is_read_and_written() {
    for (kind, content) in KINDS {
        let (_, storage) = storage(&[("f", content)]);
        let index = Index::<u64, u64>::open_read_only(storage.clone(), "f", &PageOptions::default()).unwrap();
        assert_eq!(index.kind(), kind);
        check(&[("f", content)], fixtures::closed());
    }
}

#[test]
fn version_2_whose_writer_was_killed_is_recovered() {
    check(&[("f", version_2!("btree-live")), ("f.log-2", version_2!("btree-live.log-2"))], fixtures::live());
}

#[test]
fn version_1_does_not_say_whether_there_is_a_log() {
    // Its loss cannot be noticed; the first commit of this version ends that.
    let (memory, storage) = storage(&[("f", LIVE)]);
    let index = Index::open(storage.clone(), "f", &PageOptions::default()).unwrap();
    assert_eq!(entries(&index), closed());
    let mut transaction = index.write().unwrap();
    transaction.insert(3, 3).unwrap();
    transaction.commit().unwrap();
    let killed: Arc<dyn Storage> = Arc::new({
        let killed = MemoryStorage::new();
        killed.put("f", memory.content("f").unwrap()).unwrap();
        killed
    });
    let lost = Index::<u64, u64>::open(killed.clone(), "f", &PageOptions::default());
    assert!(matches!(lost, Err(ogive::Error::Damaged { .. })), "{lost:?}");
}
