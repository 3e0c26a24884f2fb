//! Tests of tables in object stores. Goal: a table appears whole under its name or not at all, and is replaced at once.
//! Method: writers on a store of objects in memory, which are finished, dropped, or refused.

use ogive::io::{MemoryStorage, Storage};
use ogive::table::{SortingWriter, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType};
use std::io::ErrorKind;
use std::sync::Arc;

fn writer(storage: &Arc<MemoryStorage>, replace: bool, value: &[u8]) -> Result<TableWriter, Error> {
    let options = TableWriteOptions::default().key_type(KeyType::U64).replace(replace);
    let mut writer = TableWriter::create((storage.clone(), "t"), options)?;
    for key in 0..5_000_u64 {
        writer.append(&key.to_be_bytes(), value)?;
    }
    Ok(writer)
}

fn value_of(storage: &Arc<MemoryStorage>, key: u64) -> Option<Vec<u8>> {
    let table = Table::open((storage.clone(), "t"), &TableOptions::default()).unwrap();
    table.get(&key.to_be_bytes()).unwrap()
}

#[test]
fn a_table_in_an_object_store_appears_whole_or_not_at_all() {
    let storage = Arc::new(MemoryStorage::objects());
    drop(writer(&storage, false, b"dropped").unwrap());
    assert_eq!(storage.list().unwrap(), Vec::<String>::new());
    let complete = writer(&storage, false, b"old").unwrap();
    assert!(!storage.exists("t").unwrap());
    complete.finish().unwrap();
    assert_eq!(storage.list().unwrap(), ["t"]);
    assert_eq!(value_of(&storage, 4_999).unwrap(), b"old");
}

#[test]
fn an_object_is_replaced_at_once_and_only_when_asked_for() {
    let storage = Arc::new(MemoryStorage::objects());
    writer(&storage, false, b"old").unwrap().finish().unwrap();
    let taken = writer(&storage, false, b"new").map(drop);
    assert!(matches!(taken, Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. })));
    drop(writer(&storage, true, b"dropped").unwrap());
    assert_eq!(value_of(&storage, 7).unwrap(), b"old");
    writer(&storage, true, b"new").unwrap().finish().unwrap();
    assert_eq!((value_of(&storage, 7).unwrap(), storage.list().unwrap().len()), (b"new".to_vec(), 1));

    storage.put("t", b"not a table, and of some length".repeat(1000)).unwrap();
    assert!(matches!(writer(&storage, true, b"new"), Err(Error { cause: Cause::NotATable, .. })));
}

#[test]
fn a_copy_that_meets_an_object_of_the_name_leaves_it() {
    let (from, storage) = (MemoryStorage::new(), MemoryStorage::objects());
    from.put("t", b"new".to_vec()).unwrap();
    storage.put("t", b"old".to_vec()).unwrap();
    assert!(from.export("t", &storage, "t").is_err());
    assert_eq!(storage.content("t").unwrap(), b"old");
}

#[test]
fn a_sort_that_exceeds_its_memory_uses_a_scratch_storage_beside_an_object_store() {
    let scratch = Arc::new(MemoryStorage::new());
    let keys = |writer: &mut SortingWriter| {
        (0..60_000_u64).try_for_each(|i| writer.append(&(i * 7919 % 60_000).to_be_bytes(), &i.to_le_bytes()))
    };
    let options = TableWriteOptions::default().key_type(KeyType::U64);
    let storage = Arc::new(MemoryStorage::objects());
    let mut alone = SortingWriter::create((storage.clone(), "t"), options.clone(), 1 << 20).unwrap();
    assert!(matches!(keys(&mut alone), Err(Error { cause: Cause::Unsupported, .. })));
    drop(alone);

    let (target, temporary) = (storage.clone(), scratch.clone());
    let mut writer = SortingWriter::create_with_scratch((target, "t"), options, 1 << 20, temporary).unwrap();
    keys(&mut writer).unwrap();
    assert!(!scratch.list().unwrap().is_empty());
    writer.finish().unwrap();
    assert!(scratch.list().unwrap().is_empty());
    assert_eq!(value_of(&storage, 7919), Some(1_u64.to_le_bytes().to_vec()));
}
