//! Indexes of rows that expire: entries expire with their rows, and unique values become free.

use crate::support::{HOUR, MINUTE, START, at, small, store};
use ogive::io::{Clock, MemoryStorage, Storage};
use ogive::types::{IndexDefinition, KeyType, RecordType, Value, ValueType};
use ogive::{Cause, Db, Error, Keyspace, TableWriteOptions, TableWriter};
use ogive_testkit::{Random, Repeat, seeds};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

fn values() -> ValueType {
    "{email: text}".parse().unwrap()
}

fn row(email: &str) -> Vec<u8> {
    values().encode(&Value::Tuple(vec![Value::Text(email.to_owned())])).unwrap()
}

/// A folder with a table of users, by their numbers.
fn table(users: &BTreeMap<u64, u64>) -> (Arc<dyn Storage>, String) {
    let folder: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_type(values());
    let mut writer = TableWriter::create((Arc::clone(&folder), "table"), options).unwrap();
    for (number, email) in users {
        writer.append(&number.to_be_bytes(), &row(&format!("{email}@x"))).unwrap();
    }
    writer.finish().unwrap();
    (folder, "table".to_owned())
}

/// Ingests users; none, if their values are not unique.
fn ingest(keyspace: &Keyspace, users: &BTreeMap<u64, u64>, rows: &mut BTreeMap<u64, (u64, Option<u64>)>, now_ms: u64) {
    let emails: BTreeSet<u64> = users.values().copied().collect();
    let is_taken = emails.len() < users.len()
        || rows.iter().any(|(number, (email, expires))| {
            let is_alive = expires.is_none_or(|expires_ms| expires_ms > now_ms);
            is_alive && emails.contains(email) && !users.contains_key(number)
        });
    match keyspace.ingest_from(&[table(users)]) {
        Ok(_) => {
            assert!(!is_taken);
            // A table states no times.
            rows.extend(users.iter().map(|(number, email)| (*number, (*email, None))));
        }
        Err(Error { cause: Cause::NotUnique, .. }) => assert!(is_taken),
        Err(error) => panic!("{error}"),
    }
}

fn users(db: &Db) -> Keyspace {
    let users = db.keyspace("users").unwrap();
    drop(users.declare(&RecordType::new(KeyType::U64, values())).unwrap());
    db.create_index("by_email", &users, &IndexDefinition::by("email").unwrap().unique()).unwrap();
    users
}

fn keys_of_index(db: &Db) -> Vec<u64> {
    let index = db.indexes().into_iter().next().unwrap();
    let all = index.range(Bound::Unbounded, Bound::Unbounded).unwrap();
    let mut keys: Vec<u64> = all.map(|record| u64::from_be_bytes((*record.unwrap().0).try_into().unwrap())).collect();
    keys.sort_unstable();
    keys
}

fn check_sound(db: &Db) {
    let report = db.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn a_unique_value_of_an_expired_row_is_free_and_taken_again() {
    let (clock, db, _) = store();
    let users = users(&db);
    users.insert_with(1_u64.to_be_bytes(), row("a@x"), at(START + HOUR)).unwrap();
    let taken = users.insert(2_u64.to_be_bytes(), row("a@x")).unwrap_err();
    assert_eq!(taken.cause, Cause::NotUnique);
    clock.pass(HOUR);
    users.insert(2_u64.to_be_bytes(), row("a@x")).unwrap();
    // The row that has expired may not take its value back.
    let taken = users.insert(1_u64.to_be_bytes(), row("a@x")).unwrap_err();
    assert_eq!(taken.cause, Cause::NotUnique);
    users.insert(1_u64.to_be_bytes(), row("b@x")).unwrap();
    assert_eq!(keys_of_index(&db), [1, 2]);
    // One that has expired when it is written takes none.
    users.insert_with(3_u64.to_be_bytes(), row("a@x"), at(START)).unwrap();
    assert_eq!(keys_of_index(&db), [1, 2]);
    check_sound(&db);
}

/// Rows with the same values and another time have entries with that time.
#[test]
fn a_longer_time_holds_for_the_entries_too() {
    let (clock, db, _) = store();
    let users = users(&db);
    users.insert_with(1_u64.to_be_bytes(), row("a@x"), at(START + HOUR)).unwrap();
    users.insert_with(1_u64.to_be_bytes(), row("a@x"), at(START + 3 * HOUR)).unwrap();
    clock.pass(2 * HOUR);
    assert_eq!(keys_of_index(&db), [1]);
    users.insert(1_u64.to_be_bytes(), row("a@x")).unwrap();
    clock.pass(2 * HOUR);
    assert_eq!(keys_of_index(&db), [1]);
    check_sound(&db);
}

#[test]
fn indexes_have_the_entries_of_the_rows_that_have_not_expired() {
    for seed in seeds(0..4) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let (clock, storage, mut random) =
            (Clock::moved_by_hand(START), Arc::new(MemoryStorage::new()), Random::new(seed));
        let mut db = Db::open(storage.clone(), &small(&clock)).unwrap();
        let mut keyspace = users(&db);
        let mut rows: BTreeMap<u64, (u64, Option<u64>)> = BTreeMap::new();
        for step in 0..250 {
            let (number, email) = (random.below(12), random.below(16));
            let (key, row) = (number.to_be_bytes(), row(&format!("{email}@x")));
            let now_ms = db.time_ms();
            let is_alive = |expires: &Option<u64>| expires.is_none_or(|expires_ms| expires_ms > now_ms);
            let is_taken =
                rows.iter().any(|(other, (taken, expires))| *other != number && *taken == email && is_alive(expires));
            match random.below(12) {
                0 => db.flush().unwrap(),
                1 => db.compact().unwrap(),
                2..=4 => clock.pass(random.below(50 * MINUTE)),
                5 => {
                    keyspace.remove(key).unwrap();
                    rows.remove(&number);
                }
                6 => {
                    keyspace.remove_range(key..(number + 2).to_be_bytes()).unwrap();
                    rows.retain(|other, _| *other != number && *other != number + 1);
                }
                8 => {
                    let ingested = (0..3).map(|_| (random.below(12), random.below(16))).collect();
                    ingest(&keyspace, &ingested, &mut rows, now_ms);
                }
                7 if random.one_in(3) => {
                    db.close().unwrap();
                    db = Db::open(storage.clone(), &small(&clock)).unwrap();
                    keyspace = db.keyspace("users").unwrap();
                }
                _ => {
                    let expires = (!random.one_in(3)).then(|| now_ms + random.below(3 * HOUR));
                    let written = match expires {
                        Some(expires_ms) => keyspace.insert_with(key, row, at(expires_ms)),
                        None => keyspace.insert(key, row),
                    };
                    match written {
                        Ok(()) => {
                            assert!(!is_taken, "step {step}");
                            rows.insert(number, (email, expires));
                        }
                        Err(Error { cause: Cause::NotUnique, .. }) => assert!(is_taken, "step {step}"),
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            let now_ms = db.time_ms();
            let alive = rows.iter().filter(|(_, (_, expires))| expires.is_none_or(|expires_ms| expires_ms > now_ms));
            assert_eq!(keys_of_index(&db), alive.map(|(key, _)| *key).collect::<Vec<_>>(), "step {step}");
            if step % 25 == 0 {
                check_sound(&db);
            }
        }
    }
}
