//! Index files of a program that has registered nothing. Goal: such a file is refused with an error that names its kind
//! and the remedy, and can be opened once the kinds are registered. Method: a fixture, in a test binary of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ogive::Error;
use ogive::index::{Index, IndexKind, IndexOptions};
use ogive::page::PageOptions;
use ogive_papers::{ALEX, register};
use ogive_testkit::kinds::fixtures::{closed, entries, storage};

#[test]
fn a_file_of_a_kind_that_is_not_registered_names_the_kind_and_the_remedy() {
    let (memory, storage) = storage(&[("f", include_bytes!("fixtures/index-v2/alex"))]);
    let open = || Index::<u64, u64>::open(storage.clone(), "f", &PageOptions::default());
    let error = open().unwrap_err();
    assert!(matches!(error, Error::UnregisteredKind { code: 6, kind: Some("alex"), .. }), "{error:?}");
    for part in ["kind 'alex'", "ogive_papers::register()", "command `ogive`"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = "alex".parse::<IndexKind>().unwrap_err();
    assert!(error.contains("ogive-papers"), "{error}");
    let options = IndexOptions::default().kind(ALEX);
    let error = Index::<u64, u64>::create(storage.clone(), "g", &options).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
    assert!(!ogive::io::Storage::exists(&memory, "g").unwrap());
    register();
    assert_eq!(entries(&open().unwrap()), closed());
}
