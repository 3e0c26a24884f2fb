//! Counts of requests, rounds and bytes. Goal: a lookup takes the requests that the design says, and many lookups share
//! their rounds. Method: tables in a store that counts requests by waves, with the time of a wave by the profile.

use crate::faulty_store::FaultyStore;
use ogive::KeyType;
use ogive::io::{Profile, Storage};
use ogive::table::{Table, TableOptions, TableReport, TableWriteOptions, TableWriter};
use ogive_object_store::ObjectOptions;
use ogive_testkit::Random;
use std::collections::BTreeSet;
use std::sync::Arc;

const RECORDS: u64 = 400_000;

fn s3() -> Profile {
    Profile::named("s3").unwrap()
}

fn key(number: u64) -> [u8; 8] {
    (number * 1_000 + number % 7).to_be_bytes()
}

/// A table of records of 16 bytes, in blocks of this size.
fn build(storage: &Arc<dyn Storage>, block_bytes: Option<u32>) -> TableReport {
    let options = TableWriteOptions::default().key_type(KeyType::U64).profile(s3()).block_bytes(block_bytes);
    let mut writer = TableWriter::create((storage.clone(), "t"), options.value_width(Some(8))).unwrap();
    let mut random = Random::new(5);
    for number in 0..RECORDS {
        writer.append(&key(number), &random.next_u64().to_le_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

fn open(storage: &Arc<dyn Storage>) -> Table {
    Table::open((storage.clone(), "t"), &TableOptions::default().profile(s3())).unwrap()
}

#[test]
fn a_cold_lookup_is_two_requests_and_one_in_an_open_table() {
    let store = FaultyStore::in_waves();
    let storage = store.storage(ObjectOptions::default());
    let report = build(&storage, None);
    store.take_counts();
    for number in [0, RECORDS / 2, RECORDS * 2 / 3] {
        let table = open(&storage);
        assert!(table.get(&key(number)).unwrap().is_some());
        let counts = store.take_counts();
        assert_eq!((counts.gets, counts.heads), (2, 0), "{number}");
        let designed = report.modelled_us(&s3());
        assert!(counts.modelled_us(&s3()) <= 1.1 * designed, "{} us, {designed} us", counts.modelled_us(&s3()));
    }
    let table = open(&storage);
    assert!(table.get(&key(RECORDS - 1)).unwrap().is_some() && table.get(&key(RECORDS)).unwrap().is_none());
    assert_eq!(store.take_counts().gets, 1, "the last block came with the opening");
    for number in [RECORDS / 3, RECORDS / 5, RECORDS / 7] {
        table.get(&key(number)).unwrap().unwrap();
        assert_eq!(store.take_counts().gets, 1);
    }
}

#[test]
fn a_hundred_lookups_take_at_most_three_times_one() {
    let store = FaultyStore::in_waves();
    let storage = store.storage(ObjectOptions::default());
    build(&storage, Some(4096));
    let table = open(&storage);
    store.take_counts();
    let mut random = Random::new(3);
    let numbers: BTreeSet<u64> = (0..100).map(|_| random.below(RECORDS)).collect();
    let keys: Vec<[u8; 8]> = numbers.iter().map(|&number| key(number)).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let found = table.multi_get(&keys).unwrap();
    assert!(found.iter().all(Option::is_some));
    let counts = store.take_counts();
    let one_us = s3().time_us(4096);
    let modelled_us = counts.modelled_us(&s3());
    assert!(counts.waves.len() <= 3 && modelled_us <= 3.0 * one_us, "{counts:?}: {modelled_us} us, one {one_us} us");
    assert!(counts.gets <= 100 && counts.heads == 0);
}

#[test]
fn a_small_table_is_one_request_in_all() {
    let store = FaultyStore::new();
    let storage = store.storage(ObjectOptions::default());
    let mut writer =
        TableWriter::create((storage.clone(), "t"), TableWriteOptions::default().key_type(KeyType::U64)).unwrap();
    (0..5_000_u64).for_each(|number| writer.append(&key(number), b"value").unwrap());
    writer.finish().unwrap();
    store.take_counts();
    let table = open(&storage);
    for number in (0..5_000).step_by(500) {
        table.get(&key(number)).unwrap().unwrap();
    }
    assert_eq!(table.iter().count(), 5_000);
    let counts = store.take_counts();
    assert_eq!((counts.gets, counts.heads, counts.lists), (1, 0, 0));
}
