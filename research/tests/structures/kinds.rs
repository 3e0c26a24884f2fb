//! The kinds of index of this crate. Goal: each passes the tests of all kinds, and its name and code lead back to it.
//! Method: the tests of the test kit.

use ogive::index::IndexKind;
use ogive_research::{
    AIRINDEX, ALEX, ALEX_BTREE, AULID, FITING, FITING_BTREE, KINDS, LIPP, LIPP_BTREE, PGM, PGM_BTREE, register,
};
use ogive_testkit::kind_tests;
use ogive_testkit::kinds::{crash, reference};

fn registered(kind: IndexKind) -> IndexKind {
    register();
    kind
}

kind_tests!(aulid, registered(AULID), duplicates);
kind_tests!(fiting, registered(FITING));
kind_tests!(pgm, registered(PGM));
kind_tests!(alex, registered(ALEX));
kind_tests!(lipp, registered(LIPP));
kind_tests!(fiting_btree, registered(FITING_BTREE));
kind_tests!(pgm_btree, registered(PGM_BTREE));
kind_tests!(alex_btree, registered(ALEX_BTREE));
kind_tests!(lipp_btree, registered(LIPP_BTREE));
kind_tests!(airindex, registered(AIRINDEX), duplicates);

#[test]
#[ignore = "long: 48 minutes"]
fn eight_hundred_thousand_images_of_lost_power_are_all_whole() {
    register();
    crash::many_crash_images_recover(&KINDS, 800_000);
}

#[test]
#[ignore = "long: 8 minutes"]
fn every_kind_agrees_with_a_map_on_many_nasty_keys() {
    register();
    KINDS.into_iter().for_each(reference::follow_many_nasty_keys);
}

#[test]
fn names_lead_back_and_registering_again_changes_nothing() {
    std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(register)));
    register();
    let all = IndexKind::all();
    assert_eq!(all.len(), 12);
    assert!(all.is_sorted() && KINDS.is_sorted());
    for kind in KINDS {
        assert!(kind.is_registered());
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert_eq!("LIPP-B+".parse(), Ok(LIPP_BTREE));
    let names: Vec<&str> = all.into_iter().map(IndexKind::name).collect();
    let expected = "ogive aulid btree fiting pgm alex lipp fiting-btree pgm-btree alex-btree lipp-btree airindex";
    assert_eq!(names.join(" "), expected);
}
