//! Index files of released versions. Goal: a change that loses an old file of a kind of this crate, or the log of one
//! that was not closed, is noticed. Method: files that a version wrote lie in `fixtures/`; each is opened, read,
//! verified and changed.

use ogive::index::{Index, IndexKind};
use ogive::page::PageOptions;
use ogive_papers::{
    AIRINDEX, ALEX, ALEX_BTREE, AULID, FITING, FITING_BTREE, KINDS, LIPP, LIPP_BTREE, PGM, PGM_BTREE, register,
};
use ogive_testkit::kinds::fixtures::{check, closed, live, storage};

/// A file of version 2, by its name in the folder.
macro_rules! version_2 {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/index-v2/", $name))
    };
}

/// One file of each kind.
const FILES: [(IndexKind, &[u8]); 10] = [
    (AULID, version_2!("aulid")),
    (FITING, version_2!("fiting")),
    (PGM, version_2!("pgm")),
    (ALEX, version_2!("alex")),
    (LIPP, version_2!("lipp")),
    (FITING_BTREE, version_2!("fiting-btree")),
    (PGM_BTREE, version_2!("pgm-btree")),
    (ALEX_BTREE, version_2!("alex-btree")),
    (LIPP_BTREE, version_2!("lipp-btree")),
    (AIRINDEX, version_2!("airindex")),
];

#[test]
fn version_2_of_every_kind_is_read_and_written() {
    register();
    for (kind, content) in FILES {
        let (_, storage) = storage(&[("f", content)]);
        let index = Index::<u64, u64>::open_read_only(storage.clone(), "f", &PageOptions::default()).unwrap();
        assert_eq!(index.kind(), kind);
        check(&[("f", content)], closed());
    }
    assert_eq!(FILES.map(|(kind, _)| kind), KINDS);
}

#[test]
fn version_2_whose_writer_was_killed_is_recovered() {
    register();
    check(&[("f", version_2!("alex-live")), ("f.log-2", version_2!("alex-live.log-2"))], live());
}
