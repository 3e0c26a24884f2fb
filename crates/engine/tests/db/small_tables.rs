//! Tests of small tables. Goal: the number of tables depends on the records and not on the number of flushes, and
//! compaction ends. Method: stores that are flushed after a few records, in the order of keys and in others.

use crate::support::{Records, collect};
use ogive::Durability;
use ogive::block::Compression;
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive_testkit::{Random, Repeat, seeds};
use std::sync::Arc;

/// Tables of a level that are left, at most: fewer than eight of each class of sizes.
const TABLES_MAX: u64 = 64;

/// Tables of level 0 from which on writes stall, and the one of the flush that comes next.
const LEVEL0_TABLES_MAX: u64 = 21;

fn any<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

fn tables(db: &Db) -> u64 {
    db.stats().keyspaces[0].levels.iter().map(|level| level.tables).sum()
}

#[test]
fn a_store_is_flushed_after_each_record_and_has_few_tables() {
    for memory_bytes in [1 << 20, 256 << 20] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let options = DbOptions::default().threads(0).durability(Durability::Buffered).memory_bytes(memory_bytes);
        let db = Db::open(Arc::clone(&storage), &options).unwrap();
        for number in 0..6_000_u64 {
            db.insert(number.to_be_bytes(), number.to_le_bytes()).unwrap();
            db.flush().unwrap();
            let found = tables(&db);
            assert!(found <= TABLES_MAX, "{found} tables after {number} flushes in {memory_bytes} bytes of memory");
        }
        let activity = db.activity();
        let times = activity.compaction_written_bytes as f64 / activity.flushed_bytes as f64;
        assert!(times <= 3.0, "merged {times} times");
        drop(db);
        let db = Db::open(storage, &options).unwrap();
        let expected: Records = (0..6_000_u64).map(|i| (i.to_be_bytes().to_vec(), i.to_le_bytes().to_vec())).collect();
        assert_eq!(collect(db.iter()).unwrap(), expected);
        db.insert("more", "value").unwrap();
        assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
    }
}

/// Draws options with which tables are smaller, or larger, than what the writer counts before it ends a table.
fn options(random: &mut Random) -> DbOptions {
    DbOptions::default()
        .threads(any(random, &[0, 0, 2]))
        .durability(Durability::Buffered)
        .memory_bytes(any(random, &[2 << 20, 64 << 20]))
        .writes(|writes| writes.memtable_bytes(any(random, &[64 << 10, 1 << 20])))
        .levels(|levels| {
            levels
                .table_bytes(any(random, &[1, 1 << 10, 16 << 10, 1 << 20]))
                .level_bytes(any(random, &[4 << 10, 1 << 20]))
                .level_factor(any(random, &[2, 10]))
                .block_bytes(any(random, &[512, 4096]))
        })
        .values(|values| values.separation_bytes(any(random, &[0, 64, 1 << 10, u64::MAX])))
        .compression(any(random, &[Compression::None, Compression::Lz4, Compression::Zstd { level: 1 }]))
        .levels(|levels| levels.coding(random.one_in(2)))
}

fn value(random: &mut Random) -> Vec<u8> {
    let bytes = any(random, &[0, 0, 3, 100, 100, 2_000, 2_000, 20_000, 100_000]);
    let length = random.below(bytes + 1) as usize;
    match random.below(3) {
        0 => vec![7; length],
        1 => b"the same words again ".iter().copied().cycle().take(length).collect(),
        _ => std::iter::repeat_with(|| random.next_u64() as u8).take(length).collect(),
    }
}

/// Whatever tables are merged, it ends: a call of a store without threads returns when nothing is due.
#[test]
fn compaction_ends_whatever_the_sizes_of_tables_are() {
    for seed in seeds(0..24) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let mut random = Random::new(seed);
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let (mut records, order) = (Records::new(), random.below(3));
        let prefix = vec![b'p'; any(&mut random, &[0, 0, 1_000])];
        let key = |number: u64| [&prefix[..], &number.to_be_bytes()].concat();
        for opening in 0..3 {
            let db = crate::support::open_or_raise(&storage, &options(&mut random));
            for step in opening * 100..(opening + 1) * 100 {
                for part in 0..1 + random.below(3) {
                    let number = match order {
                        0 => step * 4 + part,
                        1 => 10_000 - step * 4 - part,
                        _ => random.below(1_500),
                    };
                    let value = value(&mut random);
                    db.insert(key(number), &value).unwrap();
                    records.insert(key(number), value);
                    let from = random.below(1_500);
                    if random.one_in(10) {
                        db.remove(key(from)).unwrap();
                        records.remove(&key(from));
                    }
                    if random.one_in(60) {
                        db.remove_range(key(from)..key(from + 30)).unwrap();
                        records.retain(|found, _| !(key(from)..key(from + 30)).contains(found));
                    }
                }
                if !random.one_in(5) {
                    db.flush().unwrap();
                }
            }
            assert_eq!(collect(db.iter()).unwrap(), records);
            if random.one_in(2) {
                db.compact().unwrap();
                assert_eq!(collect(db.iter()).unwrap(), records);
            }
            assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
        }
    }
}

/// Each flush waits until compactions have left few tables in level 0, as each write does.
#[test]
fn flushes_wait_for_compactions() {
    let options = DbOptions::default()
        .threads(2)
        .durability(Durability::Buffered)
        .memory_bytes(4 << 20)
        .values(|values| values.separation_bytes(u64::MAX));
    let db = Db::open(Arc::new(MemoryStorage::new()) as Arc<dyn Storage>, &options).unwrap();
    let mut random = Random::new(3);
    // Compactions that rewrite these take longer than many flushes.
    for number in 0..3_000_u64 {
        let value: Vec<u8> = std::iter::repeat_with(|| random.next_u64() as u8).take(1_000).collect();
        db.insert(number.to_be_bytes(), value).unwrap();
    }
    db.compact().unwrap();
    for number in 0..1_000_u64 {
        db.insert(random.below(3_000).to_be_bytes(), number.to_be_bytes()).unwrap();
        db.flush().unwrap();
        let found = db.stats().keyspaces[0].levels[0].tables;
        assert!(found <= LEVEL0_TABLES_MAX, "{found} tables in level 0 after {number} flushes");
    }
}

#[test]
fn a_range_is_compacted_and_the_rest_is_left_as_it_is() {
    let db = Db::open(Arc::new(MemoryStorage::new()) as Arc<dyn Storage>, &DbOptions::default().threads(0)).unwrap();
    let write_twice = |key: &str| {
        for value in ["old", "new"] {
            db.insert(key, value).unwrap();
            db.flush().unwrap();
        }
    };
    let read_bytes = || db.activity().compaction_read_bytes;
    write_twice("b");
    db.compact_range("b"..).unwrap();
    let once = read_bytes();
    assert!(once > 0);
    write_twice("a");
    db.compact_range("b"..).unwrap();
    db.compact_range("c"..).unwrap();
    assert_eq!((read_bytes(), tables(&db)), (once, 3));
    db.insert("aa", "in memory").unwrap();
    db.compact_range(.."b").unwrap();
    assert!(read_bytes() > once);
    let read = db.iter().map(|record| record.unwrap().0.to_vec()).collect::<Vec<_>>();
    assert_eq!(
        (read, db.get("a").unwrap().as_deref()),
        (vec![b"a".to_vec(), b"aa".to_vec(), b"b".to_vec()], Some(&b"new"[..]))
    );
}
