//! Format compatibility tests of stores. Goal: stores of every released format version stay readable. Method:
//! `fixtures/store-v1` and `store-v4` contain the files of stores that older versions wrote and closed; they are
//! opened, read and written, and asked for every record, and `verify` finds nothing. The expected records are computed
//! here, not stored.

use ogive::Error;
use ogive::backup::{BackupOptions, Backups};
use ogive::block::checksum;
use ogive::check::verify_store;
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions, Keyspace, checkpoint_store_in};
use ogive_testkit::{Fault, FaultInjector, Operation};
use std::collections::BTreeMap;
use std::sync::Arc;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// The records of the fixture's default keyspace: in tables, in the value log, and only in the log.
fn default_records() -> Records {
    let mut records: Records = (0..120_u32).map(|i| (format!("key {i:03}").into_bytes(), value(i))).collect();
    (20..30).for_each(|i: u32| _ = records.remove(format!("key {i:03}").as_bytes()));
    records.insert(b"key 001".to_vec(), b"overwritten in the log".to_vec());
    records.remove(&b"key 002"[..]);
    records
}

/// Every tenth value is long enough to be separated.
fn value(i: u32) -> Vec<u8> {
    vec![i as u8; if i.is_multiple_of(10) { 300 } else { 20 }]
}

fn other_records() -> Records {
    [(Vec::new(), b"the empty key".to_vec()), (vec![0xff; 40], vec![7; 250])].into()
}

const FILES: &[(&str, &[u8])] = &[
    ("000003.values", include_bytes!("../fixtures/store-v1/000003.values")),
    ("000004.log", include_bytes!("../fixtures/store-v1/000004.log")),
    ("000005.table", include_bytes!("../fixtures/store-v1/000005.table")),
    ("000006.table", include_bytes!("../fixtures/store-v1/000006.table")),
    ("000007.values", include_bytes!("../fixtures/store-v1/000007.values")),
    ("000008.log", include_bytes!("../fixtures/store-v1/000008.log")),
    ("000009.table", include_bytes!("../fixtures/store-v1/000009.table")),
    ("000010.values", include_bytes!("../fixtures/store-v1/000010.values")),
    ("000011.manifest", include_bytes!("../fixtures/store-v1/000011.manifest")),
];

/// A store of the same records whose tables are coded.
const CODED_FILES: &[(&str, &[u8])] = &[
    ("000003.log", include_bytes!("../fixtures/store-v4/000003.log")),
    ("000004.values", include_bytes!("../fixtures/store-v4/000004.values")),
    ("000005.table", include_bytes!("../fixtures/store-v4/000005.table")),
    ("000006.log", include_bytes!("../fixtures/store-v4/000006.log")),
    ("000007.table", include_bytes!("../fixtures/store-v4/000007.table")),
    ("000008.values", include_bytes!("../fixtures/store-v4/000008.values")),
    ("000009.manifest", include_bytes!("../fixtures/store-v4/000009.manifest")),
];

fn fixture(files: &[(&str, &[u8])]) -> Arc<MemoryStorage> {
    let storage = Arc::new(MemoryStorage::new());
    for (name, bytes) in files {
        storage.put(name, bytes.to_vec()).unwrap();
    }
    storage
}

fn options() -> DbOptions {
    DbOptions::default().create(false).separation_threshold(200).block_bytes(512).threads(0)
}

fn check(keyspace: &Keyspace, records: &Records) {
    let shown: Records = keyspace
        .iter()
        .map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())))
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(&shown, records);
    for (key, value) in records {
        assert_eq!(keyspace.get(key).unwrap().as_deref(), Some(value.as_slice()));
    }
    assert_eq!(keyspace.get("key 025").unwrap(), None);
}

#[test]
fn version_1_of_a_store_is_read_written_and_sound() {
    is_read_written_and_sound(fixture(FILES));
}

#[test]
fn a_store_with_coded_blocks_is_read_written_and_sound() {
    let storage = fixture(CODED_FILES);
    let (manifest, tables) = versions(&storage);
    assert_eq!((manifest, tables), (4, vec![4, 2]));
    is_read_written_and_sound(storage);
}

fn is_read_written_and_sound(storage: Arc<MemoryStorage>) {
    let shared: Arc<dyn Storage> = storage.clone();
    let report = verify_store(&shared, &mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let db = Db::open_read_only_in(storage.clone(), &options()).unwrap();
    check(&db, &default_records());
    check(&db.keyspace("other").unwrap(), &other_records());
    drop(db);

    let db = Db::open_in(storage, &options()).unwrap();
    check(&db, &default_records());
    db.insert("new", "one").unwrap();
    db.compact().unwrap();
    let mut records = default_records();
    records.insert(b"new".to_vec(), b"one".to_vec());
    check(&db, &records);
    check(&db.keyspace("other").unwrap(), &other_records());
}

/// The format versions of the newest manifest, and of all tables.
fn versions(storage: &MemoryStorage) -> (u32, Vec<u32>) {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let content = |name: &String| storage.content(name).unwrap();
    let names = storage.list().unwrap();
    let of_kind = |kind: &str| names.iter().filter(move |name| name.ends_with(kind)).map(content).collect::<Vec<_>>();
    let manifests: Vec<u32> = of_kind(".manifest").iter().map(|bytes| word(bytes, 8)).collect();
    let tables = of_kind(".table").iter().map(|bytes| word(bytes, bytes.len() - 24)).collect();
    (*manifests.last().unwrap(), tables)
}

#[test]
fn an_older_store_has_coded_blocks_only_once_it_is_upgraded() {
    let storage = fixture(FILES);
    let fill = |db: &Db| {
        (0..3000_u64).for_each(|i| db.insert((i * 17).to_be_bytes(), i.to_be_bytes()).unwrap());
        db.compact().unwrap();
    };
    let db = Db::open_in(storage.clone(), &options()).unwrap();
    fill(&db);
    assert!(!db.stats().has_coding);
    db.close().unwrap();
    let (manifest, tables) = versions(&storage);
    assert_eq!(manifest, 3);
    assert!(tables.iter().all(|&version| version < 4), "{tables:?}");

    let db = Db::open_in(storage.clone(), &options().upgrade(true)).unwrap();
    assert!(db.stats().has_coding);
    db.close().unwrap();
    let db = Db::open_in(storage.clone(), &options()).unwrap();
    fill(&db);
    let mut records = default_records();
    records.extend((0..3000_u64).map(|i| ((i * 17).to_be_bytes().to_vec(), i.to_be_bytes().to_vec())));
    check(&db, &records);
    db.close().unwrap();
    let (manifest, tables) = versions(&storage);
    assert_eq!(manifest, 6);
    assert!(tables.contains(&4), "{tables:?}");
    let shared: Arc<dyn Storage> = storage;
    let report = verify_store(&shared, &mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// The release before knows manifests up to version 3 and tables before version 4. It reads and writes the store, and
/// every copy of it, until the upgrade; then the version in the manifest, which it does not know, is refused.
#[test]
fn two_versions_share_a_store_until_it_is_upgraded_and_the_older_one_refuses_it_after() {
    let storage = fixture(FILES);
    let shared: Arc<dyn Storage> = storage.clone();
    let db = Db::open_in(storage.clone(), &options()).unwrap();
    (0..3000_u64).for_each(|i| db.insert((i * 17).to_be_bytes(), i.to_be_bytes()).unwrap());
    db.compact().unwrap();
    db.insert("in the log", "1").unwrap();
    let backups = Backups::new(Arc::new(MemoryStorage::new()));
    backups.create(&shared, &BackupOptions::default(), &mut |_, _| {}).unwrap();
    let copies = [MemoryStorage::new(), MemoryStorage::new(), MemoryStorage::new()];
    let [checkpoint, live, restored] = copies.clone().map(|copy| Arc::new(copy) as Arc<dyn Storage>);
    checkpoint_store_in(&shared, &live).unwrap();
    db.checkpoint_in(&checkpoint).unwrap();
    backups.restore(None, &restored, &mut |_, _| {}).unwrap();
    db.close().unwrap();
    for copy in copies.iter().chain([&*storage]) {
        let (manifest, tables) = versions(copy);
        assert!(manifest == 3 && tables.iter().all(|&version| version < 4), "{manifest}, {tables:?}");
        assert_eq!(Db::open_in(Arc::new(copy.clone()), &options()).unwrap().get("key 025").unwrap(), None);
    }

    Db::open_in(storage.clone(), &options().upgrade(true)).unwrap().close().unwrap();
    assert_eq!(versions(&storage).0, 6);
    // What 6 is to the release before, this is to this one.
    let name = storage.list().unwrap().into_iter().filter(|name| name.ends_with(".manifest")).max().unwrap();
    let mut manifest = storage.content(&name).unwrap();
    manifest[8] = 99;
    let word = |at: usize| u64::from_le_bytes(manifest[at..at + 8].try_into().unwrap());
    let id = checksum::identity(word(16) ^ word(32), word(24));
    checksum::seal(id, 0, &mut manifest[..44]);
    storage.put(&name, manifest).unwrap();
    let before: Vec<_> = storage.list().unwrap().iter().map(|name| storage.content(name).unwrap()).collect();
    let refusals = [
        Db::open_in(storage.clone(), &options()).unwrap_err(),
        Db::open_read_only_in(storage.clone(), &options()).unwrap_err(),
        backups.create(&shared, &BackupOptions::default(), &mut |_, _| {}).unwrap_err(),
        checkpoint_store_in(&shared, &(Arc::new(MemoryStorage::new()) as Arc<dyn Storage>)).unwrap_err(),
    ];
    for refused in refusals {
        assert!(matches!(refused, Error::UnknownVersion { found: 99, .. }), "{refused}");
        assert!(refused.to_string().contains(&name), "{refused}");
    }
    let after: Vec<_> = storage.list().unwrap().iter().map(|name| storage.content(name).unwrap()).collect();
    assert!(before == after, "a refused store has changed");
}

/// An opening that fails for lack of space changes no format; one that succeeds has raised it, whatever fails later.
#[test]
fn an_upgrade_that_fails_leaves_the_format_as_it_was() {
    let mut failures = 0;
    for operation in [Operation::Create, Operation::Write, Operation::Sync, Operation::Rename] {
        for at in 0.. {
            let storage = fixture(FILES);
            let injector = FaultInjector::new(storage.clone());
            injector.fail_from(operation, at, Fault::NoSpace);
            let opened = Db::open_in(Arc::new(injector.clone()), &options().upgrade(true));
            let is_upgraded = opened.is_ok();
            let closed = opened.and_then(|db| db.close());
            let has_coding = Db::open_read_only_in(storage.clone(), &options()).unwrap().stats().has_coding;
            assert_eq!(has_coding, is_upgraded, "{operation:?} {at}: {closed:?}");
            is_read_written_and_sound(storage);
            if closed.is_ok() {
                break;
            }
            failures += 1;
        }
    }
    assert!(failures > 8, "{failures}");
}
