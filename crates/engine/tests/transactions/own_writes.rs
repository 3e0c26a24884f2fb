//! Tests of reads over own writes. Goal: a transaction reads its snapshot with its own writes, by keys and by ranges in
//! both directions, whatever others write meanwhile. Method: drawn operations on a transaction and on a sorted map.

use crate::support::{small, store};
use ogive::Db;
use ogive::io::MemoryStorage;
use ogive_testkit::{Random, Repeat, seeds};
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(random: &mut Random) -> Vec<u8> {
    (0..random.below(3)).map(|_| b'a' + random.below(4) as u8).collect()
}

fn bound(random: &mut Random) -> Bound<Vec<u8>> {
    match random.below(3) {
        0 => Bound::Included(key(random)),
        1 => Bound::Excluded(key(random)),
        _ => Bound::Unbounded,
    }
}

/// Takes records from both ends, in a drawn order, at most this many.
fn take<T>(mut range: impl DoubleEndedIterator<Item = T>, mut random: Random, most: u64) -> Vec<T> {
    (0..most).map_while(|_| if random.one_in(2) { range.next() } else { range.next_back() }).collect()
}

fn write(records: &mut Records, db_write: impl FnOnce(&[u8], Option<&[u8]>), random: &mut Random) {
    let key = key(random);
    if random.one_in(3) {
        db_write(&key, None);
        records.remove(&key);
    } else {
        let value = random.next_u64().to_string().into_bytes();
        db_write(&key, Some(&value));
        records.insert(key, value);
    }
}

/// Removes the keys of a drawn range.
fn remove_range(records: &mut Records, db_remove: impl FnOnce((Bound<Vec<u8>>, Bound<Vec<u8>>)), random: &mut Random) {
    let bounds = (bound(random), bound(random));
    records.retain(|key, _| !bounds.contains(key));
    db_remove(bounds);
}

fn set(db: &Db, key: &[u8], value: Option<&[u8]>) {
    value.map_or_else(|| db.remove(key), |value| db.insert(key, value)).unwrap();
}

#[test]
fn a_transaction_reads_its_snapshot_with_its_own_writes() {
    for seed in seeds(0..60) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        let db = Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap();
        let (mut records, mut others, mut have_written) = (Records::new(), Records::new(), false);
        (0..20).for_each(|_| write(&mut records, |key, value| set(&db, key, value), random));
        let tx = db.begin();
        let mut saved = (tx.savepoint(), records.clone());
        for _ in 0..60 {
            match random.below(9) {
                8 if random.one_in(2) => {
                    remove_range(&mut records, |bounds| tx.remove_range(&db, bounds).unwrap(), random);
                }
                0..3 => write(
                    &mut records,
                    |key, value| value.map_or_else(|| tx.remove(&db, key), |value| tx.insert(&db, key, value)).unwrap(),
                    random,
                ),
                3 if seed % 2 == 0 => {
                    write(&mut others, |key, value| set(&db, key, value), random);
                    have_written = true;
                }
                3 => {}
                4 if random.one_in(3) => db.flush().unwrap(),
                4 => saved = (tx.savepoint(), records.clone()),
                5 if random.one_in(4) => {
                    tx.rollback_to(saved.0);
                    records.clone_from(&saved.1);
                }
                5 => {
                    let keys: Vec<_> = (0..4).map(|_| key(random)).collect();
                    let found = tx.multi_get(&db, &keys).unwrap();
                    for (key, found) in keys.iter().zip(found) {
                        assert_eq!(found.as_deref(), records.get(key).map(Vec::as_slice));
                        assert_eq!(tx.get(&db, key).unwrap(), found);
                        assert_eq!(tx.contains_key(&db, key).unwrap(), found.is_some());
                    }
                }
                _ => {
                    let (bounds, most, order) = ((bound(random), bound(random)), random.below(12), random.clone());
                    let expected = records.iter().filter(|(key, _)| bounds.contains(*key));
                    let expected = take(expected.map(|(key, value)| (key.clone(), value.clone())), order.clone(), most);
                    let found = tx.range(&db, bounds).map(|record| {
                        let (key, value) = record.unwrap();
                        (key.to_vec(), value.to_vec())
                    });
                    assert_eq!(take(found, order, most), expected);
                }
            }
        }
        // It is committed unless others have written; then it has changed nothing.
        let committed = tx.commit().is_ok();
        assert!(committed || have_written);
        if !have_written {
            let found: Records =
                db.iter().map(|record| record.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap()).collect();
            assert_eq!((committed, found), (true, records));
        }
    }
}

#[test]
fn others_see_nothing_before_the_commit_and_all_of_it_after() {
    let db = store();
    let other = db.keyspace("other").unwrap();
    let tx = db.begin();
    tx.insert(&db, "x", "1").unwrap();
    tx.insert(&other, "y", "1").unwrap();
    assert_eq!((db.get("x").unwrap(), other.get("y").unwrap()), (None, None));
    let dropped = db.begin();
    dropped.insert(&db, "z", "1").unwrap();
    drop(dropped);
    let before = db.snapshot();
    tx.commit().unwrap();
    assert!(db.contains_key("x").unwrap() && other.contains_key("y").unwrap() && !db.contains_key("z").unwrap());
    assert!(!before.contains_key(&db, "x").unwrap() && !before.contains_key(&other, "y").unwrap());
}

#[test]
fn keyspaces_of_another_store_are_refused() {
    let (db, elsewhere) = (store(), store());
    let tx = db.begin();
    tx.insert(&db, "x", "1").unwrap();
    let refused = [
        tx.get(&elsewhere, "x").map(drop),
        tx.insert(&elsewhere, "x", "2"),
        tx.remove_range(&elsewhere, "a".."z"),
        tx.multi_get(&elsewhere, ["x"]).map(drop),
        tx.range(&elsewhere, "a".."z").try_for_each(|record| record.map(drop)),
    ];
    for outcome in refused {
        assert!(outcome.unwrap_err().to_string().contains("another store"));
    }
}

/// A record that is longer than a key may be is refused at its call; the others are committed.
#[test]
fn a_write_that_is_refused_is_an_error_at_its_call() {
    let db = store();
    let tx = db.begin();
    tx.insert(&db, "x", "1").unwrap();
    assert!(tx.insert(&db, vec![0; 70_000], "1").is_err());
    assert!(tx.remove_range(&db, vec![0; 70_000]..).is_err());
    tx.commit().unwrap();
    assert_eq!(db.iter().count(), 1);
}
