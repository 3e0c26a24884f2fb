//! Folders of RocksDB: what its library has put in is what the store has; what only its program knows is refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support::{Place, bytes_of};
use ogive_testkit::{Random, Repeat, seeds};
use rocksdb::{DB, MergeOperands, Options};
use std::collections::BTreeMap;
use std::time::Duration;

fn open(place: &Place, families: &[&str]) -> DB {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    DB::open_cf(&options, place.path("source"), families).unwrap()
}

#[test]
fn random_column_families_arrive_from_tables_and_the_log() {
    for seed in seeds(0..4) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let (place, mut random) = (Place::new(), Random::new(seed));
        let names = ["default", "größe", "a name"];
        let db = open(&place, &names);
        let mut models = vec![BTreeMap::new(); names.len()];
        for _ in 0..600 {
            let at = random.below(3) as usize;
            let family = db.cf_handle(names[at]).unwrap();
            let key: Vec<u8> = (0..random.below(3)).map(|_| random.below(256) as u8).collect();
            match random.below(20) {
                0..6 => {
                    db.delete_cf(family, &key).unwrap();
                    models[at].remove(&key);
                }
                6 => db.flush_cf(family).unwrap(),
                7 if random.below(10) == 0 => {
                    db.delete_range_cf(family, &b"a"[..], &b"c"[..]).unwrap();
                    models[at].retain(|key: &Vec<u8>, _| !(&b"a"[..]..&b"c"[..]).contains(&&key[..]));
                }
                _ => {
                    let value = vec![random.below(256) as u8; random.below(200) as usize];
                    db.put_cf(family, &key, &value).unwrap();
                    models[at].insert(key, value);
                }
            }
        }
        drop(db);
        let before = place.files("source");
        place.import(&["source", "store"]);
        assert!(place.files("source") == before, "{:?}", place.files("source").keys());
        let store = place.store();
        for (name, model) in names.iter().zip(models) {
            assert_eq!(bytes_of(&store, name), model.into_iter().collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn a_folder_in_use_is_refused_and_long_values_arrive() {
    let place = Place::new();
    let db = open(&place, &["default"]);
    let long = vec![7; 20 << 20];
    db.put(b"long", &long).unwrap();
    place.refused(&["source", "store"], 1, &["source is in use", "checkpoint"]);
    assert!(!place.path("store").exists());
    drop(db);
    place.import(&["source", "store"]);
    assert!(bytes_of(&place.store(), "default") == [(b"long".to_vec(), long)]);
}

fn keep_last(_: &[u8], _: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    operands.iter().last().map(<[u8]>::to_vec)
}

#[test]
fn merge_operators_and_comparators_are_refused_by_name() {
    let place = Place::new();
    let mut db = open(&place, &["default"]);
    let mut options = Options::default();
    options.set_merge_operator_associative("keep-last", keep_last);
    db.create_cf("merged", &options).unwrap();
    let mut options = Options::default();
    options.set_comparator("backwards", |one, other| other.cmp(one));
    db.create_cf("turned", &options).unwrap();
    db.put(b"k", b"v").unwrap();
    db.merge_cf(db.cf_handle("merged").unwrap(), b"k", b"v").unwrap();
    drop(db);
    place.refused(&["source", "store"], 1, &["column family \"merged\"", "merge operator keep-last", "--skip merged"]);
    place.refused(&["source", "store", "--skip", "merged"], 1, &["\"turned\"", "comparator backwards"]);
    // Without the file of options, RocksDB says it.
    for path in place.files("source").into_keys().filter(|path| path.to_string_lossy().contains("OPTIONS-")) {
        std::fs::remove_file(path).unwrap();
    }
    place.refused(&["source", "store"], 1, &["source is not of SQLite, LMDB or RocksDB"]);
    let only = |name| ["source", "store", "--from", "rocksdb", "--only", name];
    place.refused(&only("merged"), 1, &["merge"]);
    place.refused(&only("turned"), 1, &["omparator"]);
    assert!(!place.path("store").exists() || place.keyspaces().is_empty());
    place.import(&only("default"));
    assert_eq!(bytes_of(&place.store(), "default"), [(b"k".to_vec(), b"v".to_vec())]);
}

#[test]
fn damaged_tables_are_told_and_leave_nothing() {
    let place = Place::new();
    let db = open(&place, &["default"]);
    (0..2000_u32).for_each(|number| db.put(number.to_be_bytes(), [7; 50]).unwrap());
    db.flush().unwrap();
    drop(db);
    let table = place.files("source").into_keys().find(|path| path.extension().is_some_and(|end| end == "sst"));
    let table = table.unwrap();
    let whole = std::fs::read(&table).unwrap();
    let mut damaged = whole.clone();
    damaged[1000] ^= 1;
    std::fs::write(&table, damaged).unwrap();
    place.refused(&["source", "store"], 1, &["cannot read source"]);
    assert!(place.keyspaces().is_empty());
    std::fs::write(&table, &whole[..whole.len() / 2]).unwrap();
    place.refused(&["source", "store"], 1, &["cannot read source"]);
    std::fs::write(place.path("source/CURRENT"), "MANIFEST-999999\n").unwrap();
    place.refused(&["source", "store"], 1, &["cannot read source"]);
}

#[test]
fn values_with_their_time_are_told() {
    let place = Place::new();
    let mut options = Options::default();
    options.create_if_missing(true);
    let db = DB::open_with_ttl(&options, place.path("source"), Duration::from_secs(3600)).unwrap();
    db.put(b"k", b"v").unwrap();
    drop(db);
    let told = place.import(&["source", "store"]);
    assert!(told.contains("values end with 4 bytes of time"), "{told}");
    assert_eq!(bytes_of(&place.store(), "default")[0].1.len(), 1 + 4);
}

/// Its library would end the log there, and say nothing.
#[test]
fn damage_in_the_middle_of_the_log_is_told() {
    let place = Place::new();
    let db = open(&place, &["default"]);
    (0..2000_u32).for_each(|number| db.put(number.to_be_bytes(), [7; 50]).unwrap());
    drop(db);
    let log = place.files("source").into_keys().find(|path| path.extension().is_some_and(|end| end == "log")).unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    place.refused(&["source", "store"], 1, &["cannot read source"]);
    assert!(!place.path("store").exists());
}
