//! Goal: a transaction of any size costs log in proportion to what it changes, is not refused, and leaves exactly what
//! it should. Method: indexes with little memory and small limits take many random inserts at once; the meter counts
//! what is written, and the entries are held against a map.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_macros, reason = "the long test shows its figures")]

use ogive::index::{IndexKind, IndexOptions};
use ogive::io::{LocalStorage, MemoryStorage, Meter, Purpose, Storage};
use ogive::page::PageOptions;
use ogive_testkit::Random;
use ogive_testkit::kinds::support::{Map, NAME, Numbers, assert_same, entries};
use std::sync::Arc;

/// Little memory, and a limit of the log that one such transaction is far beyond.
fn little(pages: &mut PageOptions) {
    pages.memory_bytes = 256 << 10;
    pages.transaction_bytes = 64 << 10;
    pages.log_limit_bytes = 256 << 10;
}

fn insert(index: &Numbers, map: &mut Map, random: &mut Random, inserts: u64) {
    let mut transaction = index.write().unwrap();
    for _ in 0..inserts {
        let (key, value) = (random.next_u64(), random.next_u64());
        assert_eq!(transaction.insert(key, value).unwrap(), map.insert(key, value).is_none());
    }
    transaction.commit().unwrap();
}

/// Bytes of log that an insert into a page that is spilled may take: records of a few changes, with an image after
/// fifteen of them.
const INSERT_BYTES: u64 = 600;

fn log_written(meter: &Meter) -> u64 {
    meter.reset().writes_by_purpose.get(&Purpose::Log).map_or(0, |written| written.bytes)
}

#[test]
fn a_transaction_larger_than_memory_into_an_empty_index_is_taken() {
    for kind in [IndexKind::OGIVE, IndexKind::BTREE] {
        let meter = Meter::new(Arc::new(MemoryStorage::new()));
        let storage: Arc<dyn Storage> = Arc::new(meter.clone());
        let mut options = IndexOptions::default().kind(kind);
        little(&mut options.pages);
        let index = Numbers::create((storage.clone(), NAME), &options).unwrap();
        let (mut map, mut random) = (Map::new(), Random::new(1));
        insert(&index, &mut map, &mut random, 20_000);
        let bytes = log_written(&meter);
        assert!(bytes <= 20_000 * INSERT_BYTES, "{kind}: {bytes} bytes");
        assert_same(&index, &map, kind.name());
        drop(index);
        let mut again = PageOptions::default();
        little(&mut again);
        assert_same(
            &Numbers::open((storage.clone(), NAME), &IndexOptions::default().pages(again.clone())).unwrap(),
            &map,
            kind.name(),
        );
    }
}

#[test]
fn a_transaction_larger_than_memory_logs_each_page_of_a_loaded_index_once() {
    let meter = Meter::new(Arc::new(MemoryStorage::new()));
    let storage: Arc<dyn Storage> = Arc::new(meter.clone());
    let mut options = IndexOptions::default();
    little(&mut options.pages);
    let index = Numbers::create((storage.clone(), NAME), &options).unwrap();
    let mut map: Map = (0..200_000).map(|i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i)).collect();
    index.bulk_load(map.clone()).unwrap();
    let pages = index.page_statistics().pages;
    meter.reset();
    insert(&index, &mut map, &mut Random::new(2), 10_000);
    let bytes = log_written(&meter);
    let most = pages * 4200 + 10_000 * INSERT_BYTES;
    assert!(bytes <= most, "{bytes} bytes rather than {most}");
    assert_eq!(entries(&index.reader().unwrap()).unwrap(), map);
    index.verify().unwrap();
}

#[test]
fn a_large_transaction_that_is_given_up_leaves_nothing_and_blocks_no_other() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut options = IndexOptions::default();
    little(&mut options.pages);
    options.pages.memory_bytes = 16 << 20;
    let index = Numbers::create((storage.clone(), NAME), &options).unwrap();
    let (mut map, mut random) = (Map::new(), Random::new(3));
    insert(&index, &mut map, &mut random, 5_000);
    for round in 0..3 {
        let mut transaction = index.write().unwrap();
        for _ in 0..5_000 {
            transaction.insert(random.next_u64(), 0).unwrap();
        }
        drop(transaction);
        assert_same(&index, &map, &format!("round {round}, given up"));
        insert(&index, &mut map, &mut random, 3_000);
        assert_same(&index, &map, &format!("round {round}"));
    }
}

#[test]
#[ignore = "long: 3 minutes"]
fn hundreds_of_thousands_of_random_inserts_are_one_transaction() {
    for (loaded, inserts, memory_bytes) in [(12_000_000_u64, 400_000, 64 << 20), (0, 400_000, 1 << 20)] {
        let directory = tempfile::tempdir().unwrap();
        let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
        let mut options = IndexOptions::default();
        options.pages.memory_bytes = memory_bytes;
        let index = Numbers::create((storage.clone(), NAME), &options).unwrap();
        let step = u64::MAX / loaded.max(1);
        index.bulk_load((0..loaded).map(|i| (i * step, i))).unwrap();
        let before = index.page_statistics();
        let mut random = Random::new(4);
        let mut transaction = index.write().unwrap();
        let mut added = 0;
        for _ in 0..inserts {
            added += u64::from(transaction.insert(random.next_u64(), 7).unwrap());
        }
        transaction.commit().unwrap();
        let after = index.page_statistics();
        let log_bytes = after.log_bytes_written - before.log_bytes_written;
        println!(
            "{inserts} inserts into {loaded} entries in {} pages, {memory_bytes} bytes of memory: {log_bytes} bytes \
            of log, {} images, \
             {} changes",
            before.pages,
            after.images_logged - before.images_logged,
            after.changes_logged - before.changes_logged,
        );
        assert!(log_bytes <= before.pages * 4200 + inserts * INSERT_BYTES, "{log_bytes} bytes");
        assert_eq!(index.len().unwrap(), loaded + added);
        index.verify().unwrap();
    }
}
