//! Tests of statistics. Goal: rows are counted wherever they are, and a count that is called exact is. Method: a store
//! by hand; the reference test compares exact counts with its model.

use ogive::io::MemoryStorage;
use ogive::lsm::{Db, DbOptions, KeyspaceStats};
use std::sync::Arc;

fn of(db: &Db, name: &str) -> KeyspaceStats {
    db.stats().keyspaces.into_iter().find(|keyspace| keyspace.name == name).unwrap()
}

fn rows(db: &Db, name: &str) -> (u64, bool) {
    let stats = of(db, name);
    (stats.rows, stats.is_exact)
}

#[test]
fn rows_are_counted_in_memtables_and_tables_and_are_exact_after_a_compaction() {
    let db = Db::open(Arc::new(MemoryStorage::new()), &DbOptions::default().threads(0)).unwrap();
    let other = db.keyspace("other").unwrap();
    assert_eq!(rows(&db, "other"), (0, true));
    for number in 0..100_u32 {
        db.insert(number.to_be_bytes(), "value").unwrap();
        other.insert(number.to_be_bytes(), vec![7; 10_000]).unwrap();
    }
    db.remove(7_u32.to_be_bytes()).unwrap();
    let stats = of(&db, "default");
    assert_eq!((stats.memtable_records, stats.memtable_tombstones), (101, 1));
    assert_eq!((stats.rows, stats.is_exact), (99, false));
    assert_eq!(rows(&db, "other"), (100, false));
    db.flush().unwrap();
    // An old version may hide behind a newer one of another table, and here one does.
    assert_eq!((rows(&db, "default"), rows(&db, "other")), ((99, true), (100, true)));
    other.insert(3_u32.to_be_bytes(), "newer").unwrap();
    db.flush().unwrap();
    assert_eq!(rows(&db, "other"), (101, false));
    db.compact().unwrap();
    let stats = of(&db, "other");
    assert_eq!((stats.rows, stats.is_exact, stats.memtable_records), (100, true, 0));
    assert!((99 * 10_000..100 * 10_100).contains(&stats.value_bytes), "{}", stats.value_bytes);
    // Nothing says how many rows a removed range had.
    other.remove_range(0_u32.to_be_bytes()..50_u32.to_be_bytes()).unwrap();
    assert_eq!(rows(&db, "other"), (100, false));
    db.compact().unwrap();
    assert_eq!(rows(&db, "other"), (50, true));
}
