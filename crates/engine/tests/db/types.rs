//! Tests of types of keyspaces. Goal: a keyspace keeps its types, and takes others only if its records are of them.
//! Method: stores are opened again, read-only too; a keyspace with records is asked for other types.

use ogive::io::MemoryStorage;
use ogive::lsm::{Db, DbOptions, Keyspace};
use ogive::types::{KeyType, RecordType, ValueType};
use ogive::{Cause, Error};
use std::sync::Arc;

fn types(keys: &str, values: &str) -> RecordType {
    RecordType::new(keys.parse().unwrap(), values.parse::<ValueType>().unwrap())
}

fn open(memory: &MemoryStorage) -> Db {
    Db::open(Arc::new(memory.clone()), &DbOptions::default()).unwrap()
}

/// A keyspace of these types, which nothing pins.
fn keyspace_of(db: &Db, name: &str, types: &RecordType) -> ogive::Result<Keyspace> {
    let keyspace = db.keyspace(name)?;
    keyspace.declare(types)?;
    Ok(keyspace)
}

#[test]
fn keyspaces_keep_their_types() {
    let memory = MemoryStorage::new();
    let (orders, rows) = (types("u64", "{name: text}"), types("(text, date desc)", "decimal(10,2)"));
    let db = open(&memory);
    keyspace_of(&db, "orders", &orders).unwrap().insert(1_u64.to_be_bytes(), b"").unwrap();
    keyspace_of(&db, "rows", &rows).unwrap();
    assert!(db.record_type().is_bytes());
    db.close().unwrap();
    for _ in 0..2 {
        let db = open(&memory);
        assert_eq!(*db.keyspace("orders").unwrap().record_type(), orders);
        assert_eq!(*db.keyspace("rows").unwrap().record_type(), rows);
        keyspace_of(&db, "more", &rows).unwrap();
    }
    let db = Db::open_read_only(Arc::new(memory), &DbOptions::default()).unwrap();
    assert_eq!(*db.keyspace("more").unwrap().record_type(), rows);
}

#[test]
fn records_bind_a_keyspace_to_its_types_but_rows_gain_fields() {
    let memory = MemoryStorage::new();
    let db = open(&memory);
    let first = types("u64", "{name: text}");
    let keyspace = keyspace_of(&db, "k", &types("text", "u8")).unwrap();
    assert_eq!(*keyspace.record_type(), types("text", "u8"));
    keyspace_of(&db, "k", &first).unwrap();
    assert_eq!(*keyspace.record_type(), first, "it has no records");
    let fig = first.values.parse("fig").unwrap();
    keyspace.insert(1_u64.to_be_bytes(), &fig).unwrap();
    for (keys, values) in
        [("i64", "{name: text}"), ("u64", "{name: bytes}"), ("u64", "text"), ("u64", "{name: text, n: u8}")]
    {
        let error = keyspace_of(&db, "k", &types(keys, values)).unwrap_err();
        assert!(
            matches!(&error, Error { cause: Cause::WrongType { .. }, .. }
            if error.detail().starts_with(&format!("is {first}, not {}; ", types(keys, values)))),
            "{error}"
        );
    }
    let later = types("u64", "{name: text, n: u8?}");
    keyspace_of(&db, "k", &later).unwrap();
    assert!(keyspace_of(&db, "k", &first).is_err(), "rows may have the new field");
    drop(keyspace);
    db.close().unwrap();
    let last = types("u64", "{name: text, n: u8?, m: u8?}");
    let db = Db::open_read_only(Arc::new(memory.clone()), &DbOptions::default()).unwrap();
    let keyspace = keyspace_of(&db, "k", &last).unwrap();
    assert_eq!(last.values.display(&keyspace.get(1_u64.to_be_bytes()).unwrap().unwrap()), "fig,,");
    assert!(keyspace_of(&db, "k", &types("u8", "u8")).is_err());
    drop((keyspace, db));
    assert_eq!(*open(&memory).keyspace("k").unwrap().record_type(), later, "a reader changes nothing");
}

#[test]
fn a_snapshot_of_after_a_drop_refuses_the_handles_of_the_dropped_keyspace() {
    let db = open(&MemoryStorage::new());
    let keyspace = db.keyspace("k").unwrap();
    keyspace.insert("a", "1").unwrap();
    let before = db.snapshot();
    db.drop_keyspace("k").unwrap();
    let is_dropped = |error: Option<Error>| matches!(error, Some(Error { cause: Cause::KeyspaceDropped, .. }));
    for is_made_again in [false, true] {
        if is_made_again {
            db.keyspace("k").unwrap().insert("b", "2").unwrap();
        }
        let after = db.snapshot();
        assert!(is_dropped(after.get(&keyspace, "a").err()), "{is_made_again}");
        assert!(is_dropped(after.range::<&str>(&keyspace, ..).next().and_then(Result::err)), "{is_made_again}");
        assert!(is_dropped(after.range::<&str>(&keyspace, ..).next_back().and_then(Result::err)), "{is_made_again}");
        assert!(is_dropped(after.prefix(&keyspace, "a").keys().next().and_then(Result::err)), "{is_made_again}");
        assert!(is_dropped(after.prefix(&keyspace, "a").visit(|_, _| unreachable!()).err()), "{is_made_again}");
        assert_eq!(before.range::<&str>(&keyspace, ..).count(), 1, "{is_made_again}");
    }
}

#[test]
fn a_dropped_keyspace_takes_no_types() {
    let db = open(&MemoryStorage::new());
    let keyspace = keyspace_of(&db, "k", &types("u64", "u8")).unwrap();
    db.drop_keyspace("k").unwrap();
    let again = keyspace_of(&db, "k", &types("u8", "u8")).unwrap();
    assert_eq!((again.record_type().keys, keyspace.record_type().keys), (KeyType::U8, KeyType::U64));
    assert!(keyspace_of(&db, "t", &RecordType::new(KeyType::U8, ValueType::Scalar("(u8)".parse().unwrap()))).is_err());
}
