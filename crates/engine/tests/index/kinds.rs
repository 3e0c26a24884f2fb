//! The engine's kinds of index, and the registration of others. Goal: each kind passes the tests of all kinds; options
//! and files that do not fit are refused with a typed error. Method: the tests of the test kit, and a kind that is
//! registered here.

use ogive::index::extend::{Structure, StructureFactory, Tunable};
use ogive::index::{Index, IndexKind, IndexLayout, IndexOptions, Key, Payload};
use ogive::io::Storage;
use ogive::{Cause, Error, KeyType};
use ogive_testkit::kind_tests;
use ogive_testkit::kinds::support::{NAME, Numbers, assert_same, empty, memory, options};
use ogive_testkit::kinds::{crash, reference};
use std::sync::Arc;

kind_tests!(ogive_kind, IndexKind::OGIVE, duplicates);
kind_tests!(btree_kind, IndexKind::BTREE, duplicates);

#[test]
#[ignore = "long: 12 minutes"]
fn two_hundred_thousand_images_of_lost_power_are_all_whole() {
    crash::many_crash_images_recover(&[IndexKind::OGIVE, IndexKind::BTREE], 200_000);
}

#[test]
#[ignore = "long: 2 minutes"]
fn every_kind_agrees_with_a_map_on_many_nasty_keys() {
    [IndexKind::OGIVE, IndexKind::BTREE].into_iter().for_each(reference::follow_many_nasty_keys);
}

/// The B+-tree under another name, without repeated keys, and with one tunable from 1 to 9.
#[derive(Debug)]
struct Renamed(&'static str, u8);

impl StructureFactory for Renamed {
    fn name(&self) -> &'static str {
        self.0
    }

    fn code(&self) -> u8 {
        self.1
    }

    fn tunables(&self, given: &[Tunable]) -> Result<Vec<Tunable>, String> {
        match given {
            [] => Ok(vec![(1, 5)]),
            [(1, 1..=9)] => Ok(given.to_vec()),
            _ => Err("a number from 1 to 9".to_owned()),
        }
    }

    fn for_u64(&self, layout: IndexLayout, tunables: &[Tunable]) -> Arc<dyn Structure<u64>> {
        assert!(matches!(tunables, [(1, 1..=9)]), "{tunables:?}");
        IndexKind::BTREE.factory().for_u64(layout, &[])
    }

    fn for_u128(&self, layout: IndexLayout, _tunables: &[Tunable]) -> Arc<dyn Structure<u128>> {
        IndexKind::BTREE.factory().for_u128(layout, &[])
    }
}

const UNIQUE: IndexKind = IndexKind::new(&Renamed("unique", 130));
const UNREGISTERED: IndexKind = IndexKind::new(&Renamed("unregistered", 131));

#[test]
fn a_kind_of_another_crate_keeps_its_tunables_in_the_file() {
    UNIQUE.register().unwrap();
    let (storage, index) = empty("unique".parse().unwrap());
    index.bulk_load((0..3000).map(|i| (i, i))).unwrap();
    drop(index);
    let index = Numbers::open((storage.clone(), NAME), &IndexOptions::default()).unwrap();
    assert_eq!(index.kind(), UNIQUE);
    assert_same(&index, &(0..3000).map(|i| (i, i)).collect(), "unique");
    for (tunables, is_sound) in [(vec![(1, 9)], true), (vec![(1, 0)], false), (vec![(2, 5)], false)] {
        let options = options(UNIQUE).tunables(tunables);
        match Numbers::create((memory(), NAME), &options) {
            Ok(_) => assert!(is_sound),
            Err(error) => assert!(!is_sound && error.to_string().contains("takes a number from 1 to 9"), "{error}"),
        }
    }
}

#[test]
fn types_other_than_those_of_the_file_are_refused() {
    let (storage, index) = empty(IndexKind::default());
    drop(index);
    fn refused<K: Key, V: Payload>(storage: &Arc<dyn Storage>) {
        match Index::<K, V>::open((Arc::clone(storage), NAME), &IndexOptions::default()) {
            Err(error @ Error { cause: Cause::WrongType { .. }, .. }) => {
                assert!(error.detail().contains("u64") || error.detail().contains('8'), "{error}")
            }
            other => panic!("{other:?}"),
        }
    }
    refused::<u64, u32>(&storage);
    refused::<u64, ()>(&storage);
    refused::<u32, u64>(&storage);
    refused::<i64, u64>(&storage);
    refused::<u128, u64>(&storage);
    refused::<[u8; 8], u64>(&storage);
    refused::<ogive::index::RawKey<u128>, u64>(&storage);
    Index::<ogive::index::RawKey<u64>, Vec<u8>>::open((storage.clone(), NAME), &IndexOptions::default()).unwrap();
    Numbers::open((storage.clone(), NAME), &IndexOptions::default()).unwrap();
}

#[test]
fn options_that_make_no_sense_are_refused_and_leave_no_file() {
    let storage = memory();
    let good = options(IndexKind::BTREE);
    let refused = |options: IndexOptions| {
        let error = Index::<u64, u64>::create((storage.clone(), NAME), &options).unwrap_err();
        assert!(matches!(error, Error { cause: Cause::Input, .. }), "{error}");
        assert!(storage.list().unwrap().is_empty());
    };
    refused(good.clone().fill_percent(0));
    refused(good.clone().fill_percent(101));
    refused(good.clone().kind(UNIQUE).duplicates(true));
    refused(good.clone().kind(UNREGISTERED));
    refused(good.clone().tunables(vec![(1, 1)]));
    refused(good.clone().payload_bytes(9));
    refused(good.clone().key_type(KeyType::U128));
    for key_type in [KeyType::Text, KeyType::Bytes, KeyType::FixedBytes(17)] {
        let options = good.clone().key_type(key_type);
        let short =
            Index::<ogive::index::RawKey<u64>, u64>::create((storage.clone(), NAME), &options).map(drop).unwrap_err();
        let long =
            Index::<ogive::index::RawKey<u128>, u64>::create((storage.clone(), NAME), &options).map(drop).unwrap_err();
        for error in [short, long] {
            let message = error.to_string();
            let names_types = message.contains("bytes1 to bytes16") || message.contains("1 to 16 bytes");
            assert!(matches!(error, Error { cause: Cause::Input, .. }) && names_types, "{error}");
        }
        assert!(storage.list().unwrap().is_empty());
    }
    assert!(Index::<u64, [u8; 400]>::create((storage.clone(), NAME), &good).is_err());
    assert!(Index::<ogive::index::RawKey<u64>, u64>::create((storage.clone(), NAME), &good).is_err());
    assert!(Index::<u64, Vec<u8>>::create((storage.clone(), NAME), &good).is_err());
    for page_bytes in [0, 256, 1000, 1 << 17] {
        let mut options = good.clone();
        options.pages.page_bytes = page_bytes;
        refused(options);
    }
}
