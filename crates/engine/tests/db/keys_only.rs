//! Records that are keys alone. Goal: their type says so, and no value is written that it hides. Method: each way of
//! writing, to keyspaces that have values and to those that have none.

use ogive::io::{MemoryStorage, Storage};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::types::{KeyType, RecordType};
use ogive::{Cause, Db, DbOptions, Error};
use std::sync::Arc;

fn keys(names: &[&str]) -> RecordType {
    let keys = if names.len() == 1 { "u64" } else { "(u64, u64)" };
    RecordType::new(keys.parse().unwrap(), KeyType::Bytes).keys_only()
}

fn table(storage: &Arc<dyn Storage>, name: &str, types: RecordType, value: &str) -> ogive::Result<()> {
    let mut writer = TableWriter::create((storage.clone(), name), TableWriteOptions::default().record_type(types))?;
    writer.append(&9_u64.to_be_bytes(), value.as_bytes())?;
    writer.finish().map(drop)
}

#[test]
fn keys_alone_take_no_values_on_any_path() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let open = || Db::open(storage.clone(), &DbOptions::default()).unwrap();
    let db = open();
    db.keyspace("ids").unwrap().typed::<u64, ()>().unwrap().insert(1, ()).unwrap();
    db.multimap::<u64, u64>("pairs").unwrap().insert(1, 2).unwrap();
    db.close().unwrap();

    let db = open();
    let ids = db.keyspace("ids").unwrap();
    assert_eq!(*ids.record_type(), keys(&["key"]));
    assert_eq!(*db.keyspace("pairs").unwrap().record_type(), keys(&["key1", "key2"]));
    let refused = |result: ogive::Result<()>| {
        let message = result.unwrap_err().to_string();
        assert!(message.contains("keys alone"), "{message}");
    };
    refused(ids.insert("k", "v"));
    refused(ids.insert_stream("k", &mut &b"value"[..]));
    refused(ids.insert_if_absent("k", "v").map(drop));
    let mut batch = db.batch();
    batch.insert(&ids, "k", "v");
    refused(batch.commit());
    ids.insert(7_u64.to_be_bytes(), "").unwrap();

    let from: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    table(&from, "values", RecordType::new(KeyType::U64, KeyType::Bytes), "v").unwrap();
    refused(ids.ingest_from(&[(from.clone(), "values".to_owned())]).map(drop));
    table(&from, "keys", keys(&["key"]), "").unwrap();
    ids.ingest_from(&[(from.clone(), "keys".to_owned())]).unwrap();
    let wrong = table(&from, "wrong", keys(&["key"]), "v").unwrap_err().to_string();
    assert!(wrong.contains("not of type u64 -> {}"), "{wrong}");
    let found: Vec<u64> = ids.typed::<u64, ()>().unwrap().iter().map(|it| it.unwrap().0.value().unwrap()).collect();
    assert_eq!(found, [1, 7, 9]);
}

#[test]
fn keys_alone_get_no_values_and_values_do_not_vanish() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let db = Db::open(storage, &DbOptions::default()).unwrap();
    let ids = db.keyspace("ids").unwrap();
    let alone = ids.typed::<u64, ()>().unwrap();
    alone.insert(1, ()).unwrap();
    let with_values = ids.typed::<u64, Vec<u8>>().unwrap();
    with_values.insert(2, &b""[..]).unwrap();
    let refused = with_values.insert(2, &b"two"[..]).unwrap_err().to_string();
    assert!(refused.contains("keys alone"), "{refused}");
    let bytes = RecordType::new(KeyType::U64, KeyType::Bytes);
    assert!(matches!(ids.declare(&bytes), Err(Error { cause: Cause::WrongType { .. }, .. })));
    alone.insert(3, ()).unwrap();
    assert_eq!(ids.record_type().to_string(), "u64 -> {}");
    // Stores of older versions say nothing of their keys: they are opened as before, and stay what they are.
    let older = db.keyspace("older").unwrap();
    older.declare(&bytes).unwrap();
    older.insert(1_u64.to_be_bytes(), "").unwrap();
    older.typed::<u64, ()>().unwrap().insert(4, ()).unwrap();
    assert_eq!(older.record_type().to_string(), "u64 -> bytes");
    assert!(matches!(older.declare(&keys(&["key"])), Err(Error { cause: Cause::WrongType { .. }, .. })));
    let untyped = db.keyspace("untyped").unwrap();
    untyped.insert("k", "").unwrap();
    untyped.typed::<[u8], ()>().unwrap().insert(&b"l"[..], ()).unwrap();
    assert_eq!(untyped.record_type().to_string(), "bytes -> bytes");
}

#[test]
fn an_emptied_keyspace_of_keys_alone_takes_values() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let open = || Db::open(storage.clone(), &DbOptions::default()).unwrap();
    let db = open();
    db.keyspace("ids").unwrap().typed::<u64, ()>().unwrap().insert(1, ()).unwrap();
    db.close().unwrap();
    let db = open();
    let ids = db.keyspace("ids").unwrap();
    assert!(ids.typed::<u64, Vec<u8>>().unwrap().insert(2, &b"two"[..]).is_err());
    ids.remove(1_u64.to_be_bytes()).unwrap();
    drop(ids);
    db.close().unwrap();
    let db = open();
    let ids = db.keyspace("ids").unwrap();
    ids.typed::<u64, Vec<u8>>().unwrap().insert(2, &b"two"[..]).unwrap();
    assert_eq!(ids.record_type().to_string(), "u64 -> bytes");
}
