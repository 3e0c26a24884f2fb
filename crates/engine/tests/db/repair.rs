//! Tests of repair where something else than a file's content is wrong: manifests that are none, the version in a
//! header, sectors that cannot be read, and files that are no files. Goal: each is named with its place, and costs what
//! is in it at most. Method: small stores with every kind of file, compared with models.

use crate::verify::{Model, copy, key, names, needed, options, repaired, shared, store, verify};
use ogive::io::{LocalStorage, MemoryStorage, Storage};
use ogive::lsm::Db;
use ogive::repair::{RepairReport, repair_store};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::types::{Alteration, KeyType, RecordType, ValueType};
use ogive::verify::{StoreFinding, StoreReport, verify_store};
use ogive::{Cause, Error};
use ogive_testkit::BadSectors;
use std::collections::BTreeMap;
use std::sync::Arc;

const SECTOR_BYTES: u64 = 4096;

/// Adds keyspaces to a store: `users`, which has types, and `orders`, which is dropped again.
fn with_keyspaces(memory: &MemoryStorage) {
    let db = Db::open(shared(memory), &options()).unwrap();
    let users = db.keyspace("users").unwrap();
    users.declare(&RecordType::new(KeyType::U64, ValueType::default())).unwrap();
    users.insert(key(1), "one").unwrap();
    db.keyspace("orders").unwrap().insert("a", "b").unwrap();
    db.flush().unwrap();
    db.drop_keyspace("orders").unwrap();
    db.close().unwrap();
}

/// Checks that a store has its keyspaces, and all entries of a model.
fn is_whole(memory: &MemoryStorage, model: &Model, what: &str) {
    let db = Db::open(shared(memory), &options()).unwrap();
    assert_eq!(db.keyspaces(), ["default", "users"], "{what}");
    let users = db.keyspace("users").unwrap();
    assert_eq!(users.record_type().keys, KeyType::U64, "{what}");
    assert!(users.get(key(1)).unwrap().is_some(), "{what}");
    assert_eq!(held(&db), *model, "{what}");
}

fn held(db: &Db) -> Model {
    db.iter().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

/// A store with keyspaces, and the contents of the default one.
fn store_of_keyspaces(seed: u64) -> (MemoryStorage, Model) {
    let (memory, model) = store(seed);
    with_keyspaces(&memory);
    is_whole(&memory, &model, "before");
    (memory, model)
}

#[test]
fn what_is_no_manifest_costs_the_one_before_it_nothing() {
    let (whole, model) = store_of_keyspaces(30);
    let manifest = whole.content(&names(&whole, ".manifest")[0]).unwrap();
    let contents = [Vec::new(), b"garbage ".repeat(100), manifest[..manifest.len() / 2].to_vec(), manifest];
    let table = names(&whole, ".table").remove(0);
    for name in ["000099.manifest", "18446744073709551614.manifest"] {
        for (number, content) in contents.iter().enumerate() {
            let what = format!("{name}, content {number}");
            let memory = copy(&whole);
            memory.put(name, content.clone()).unwrap();
            assert!(!verify(&memory).unwrap().is_sound(), "{what}");
            let also_damaged = copy(&memory);
            let report = repair_store(shared(&memory), &mut |_, _| {}).unwrap();
            assert_eq!(report.foreign_files, [name], "{what}");
            assert!(report.damaged_files.is_empty() && report.is_loss_known && !report.manifest_rebuilt, "{what}");
            assert_eq!(memory.content(&format!("{name}.foreign")).unwrap(), *content, "{what}");
            assert!(verify(&memory).unwrap().is_sound(), "{what}");
            is_whole(&memory, &model, &what);
            // The names of keyspaces stay if other files are damaged, too.
            let mut flipped = also_damaged.content(&table).unwrap();
            flipped[10] ^= 1;
            also_damaged.put(&table, flipped).unwrap();
            let report = repair_store(shared(&also_damaged), &mut |_, _| {}).unwrap();
            assert!(report.damaged_files.len() == 2 && report.damaged_files.contains(&name.to_owned()), "{report:?}");
            assert!(!report.manifest_rebuilt && report.lost_entries > 0, "{what}: {report:?}");
            assert!(verify(&also_damaged).unwrap().is_sound(), "{what}");
            let db = Db::open(shared(&also_damaged), &options()).unwrap();
            assert_eq!(db.keyspaces(), ["default", "users"], "{what}");
        }
    }
}

#[test]
fn of_two_manifests_the_older_is_used_as_far_as_it_goes() {
    let (older, _) = store_of_keyspaces(31);
    let newer = copy(&older);
    let db = Db::open(shared(&newer), &options()).unwrap();
    for number in 1000..1100 {
        db.insert(key(number), vec![7; if number % 3 == 0 { 300 } else { 20 }]).unwrap();
    }
    db.flush().unwrap();
    db.insert(key(1100), "in the log alone").unwrap();
    db.close().unwrap();
    let db = Db::open(shared(&newer), &options()).unwrap();
    let model = held(&db);
    drop(db);
    let name_of = |memory: &MemoryStorage| names(memory, ".manifest").pop().unwrap();
    let (old, new) = (name_of(&older), name_of(&newer));
    assert!(old < new);
    let content = newer.content(&new).unwrap();
    for damage in 0..3 {
        let memory = copy(&newer);
        memory.put(&old, older.content(&old).unwrap()).unwrap();
        let mut damaged = content.clone();
        match damage {
            0 => damaged.clear(),
            1 => damaged[5] ^= 1,
            _ => damaged[80] ^= 1,
        }
        memory.put(&new, damaged).unwrap();
        let report = repair_store(shared(&memory), &mut |_, _| {}).unwrap();
        assert!(report.manifest_rebuilt && report.damaged_files.contains(&new), "{report:?}");
        assert!(verify(&memory).unwrap().is_sound());
        is_whole(&memory, &model, &format!("damage {damage}"));
    }
}

#[test]
fn a_flipped_bit_of_a_version_is_damage_and_no_newer_version() {
    let (whole, model) = store_of_keyspaces(32);
    for name in needed(&whole) {
        let content = whole.content(&name).unwrap();
        // A table states its version in its footer.
        let place = if name.ends_with(".table") { content.len() - 24 } else { 8 };
        for bit in 0..32 {
            let what = format!("bit {bit} of the version of {name}");
            let memory = copy(&whole);
            let mut flipped = content.clone();
            flipped[place + bit / 8] ^= 1 << (bit % 8);
            memory.put(&name, flipped).unwrap();
            let found = verify(&memory).unwrap();
            assert!(found.findings.iter().any(|finding| finding.file == name), "{what}: {:?}", found.findings);
            let is_of_version = |finding: &StoreFinding| finding.detail.contains("newest supported");
            assert!(!found.findings.iter().any(is_of_version), "{what}: {:?}", found.findings);
            let opened = Db::open(shared(&memory), &options());
            assert!(!matches!(opened, Err(Error { cause: Cause::Version { .. }, .. })), "{what}: {opened:?}");
            drop(opened);
            let report = repair_store(shared(&memory), &mut |_, _| {}).unwrap();
            assert_eq!(report.damaged_files, [&*name], "{what}");
            assert!(verify(&memory).unwrap().is_sound(), "{what}");
            if name.ends_with(".manifest") {
                assert!(!report.manifest_rebuilt && report.is_loss_known && report.lost_entries == 0, "{what}");
                is_whole(&memory, &model, &what);
            }
        }
    }
}

/// Repairs a store on a device with a bad sector; afterwards the sector is readable, as after a write to it.
fn repaired_around(memory: &MemoryStorage, name: &str, start: u64) -> (StoreReport, RepairReport) {
    let end = start + SECTOR_BYTES;
    let storage: Arc<dyn Storage> = Arc::new(BadSectors::new(shared(memory)).with(name, start..end));
    let found = verify_store(&storage, &mut |_, _| {}).unwrap_or_else(|error| panic!("{name} from {start}: {error}"));
    let report = repair_store(&storage, &mut |_, _| {}).unwrap_or_else(|error| panic!("{name} from {start}: {error}"));
    (found, report)
}

#[test]
fn a_sector_that_cannot_be_read_is_a_finding_and_costs_what_is_in_it() {
    let (whole, model) = store_of_keyspaces(33);
    for name in needed(&whole) {
        let length = whole.content(&name).unwrap().len() as u64;
        for start in (0..length).step_by(SECTOR_BYTES as usize) {
            let what = format!("{name} from {start} of {length}");
            let memory = copy(&whole);
            let (found, report) = repaired_around(&memory, &name, start);
            let first = found.findings.first().unwrap_or_else(|| panic!("{what}: no finding"));
            assert_eq!((&*first.file, first.offset), (&*name, start), "{what}: {:?}", found.findings);
            assert!(first.detail.contains("cannot be read"), "{what}: {}", first.detail);
            assert_eq!(report.damaged_files, [&*name], "{what}");
            let sound = verify(&memory).unwrap();
            assert!(sound.is_sound(), "{what}: {:?}", sound.findings);
            let db = Db::open(shared(&memory), &options()).unwrap();
            let held = held(&db);
            assert!(held.keys().all(|key| model.contains_key(key)), "{what}");
            if name.ends_with(".manifest") {
                assert!(report.manifest_rebuilt, "{what}");
                assert_eq!(held, model, "{what}");
            } else {
                // No more is lost than where the sector is zeros.
                let zeroed = copy(&whole);
                let mut content = whole.content(&name).unwrap();
                let end = (start + SECTOR_BYTES).min(length);
                content[start as usize..end as usize].fill(0);
                zeroed.put(&name, content).unwrap();
                let expected = repaired(&zeroed);
                assert_eq!((report.lost_entries, held.len()), (expected.0.lost_entries, expected.1.len()), "{what}");
            }
        }
    }
}

#[test]
fn the_tail_of_a_manifest_that_cannot_be_read_is_not_a_crash() {
    let memory = MemoryStorage::new();
    let db = Db::open(shared(&memory), &options()).unwrap();
    let mut model = Model::new();
    for round in 0..120 {
        for number in 0..20 {
            db.insert(key(round * 20 + number), "value").unwrap();
            model.insert(key(round * 20 + number), b"value".to_vec());
        }
        db.flush().unwrap();
    }
    // As after a kill.
    let crashed = copy(&memory);
    drop(db);
    let manifest = names(&crashed, ".manifest").pop().unwrap();
    let last = (crashed.content(&manifest).unwrap().len() as u64 - 1) / SECTOR_BYTES * SECTOR_BYTES;
    assert!(last > 0, "the manifest is short");
    let (_, report) = repaired_around(&crashed, &manifest, last);
    assert!(report.manifest_rebuilt && !report.is_loss_known, "{report:?}");
    let db = Db::open(shared(&crashed), &options()).unwrap();
    let held = held(&db);
    assert_eq!(held, model);
}

#[test]
fn a_device_that_fails_as_a_whole_is_no_list_of_findings() {
    let (whole, _) = store(34);
    for name in needed(&whole) {
        let device = BadSectors::new(shared(&whole)).with(&name, 0..u64::MAX);
        let storage: Arc<dyn Storage> = Arc::new(device.clone());
        // A small file is as good as lost; of a large one, the error is that of the device.
        if let Ok(report) = verify_store(&storage, &mut |_, _| {}) {
            assert!(!report.is_sound(), "{name}");
        }
        assert!(device.failed_reads() < 10_000, "{name}: {} reads", device.failed_reads());
    }
}

/// What is put in the place of a file.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a storage puts none of this in its folder")]
fn replace(path: &std::path::Path, kind: &str) {
    if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
    match kind {
        "a pipe" => assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        "a folder" => std::fs::create_dir(path).unwrap(),
        _ => std::os::unix::fs::symlink(path, path).unwrap(),
    }
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "files for tests")]
fn what_is_no_file_in_the_place_of_one_is_like_a_missing_one() {
    let (whole, model) = store_of_keyspaces(35);
    for name in needed(&whole) {
        for kind in ["a pipe", "a folder", "a link to itself"] {
            let what = format!("{kind} in the place of {name}");
            let folder = tempfile::tempdir().unwrap();
            for file in whole.list().unwrap() {
                std::fs::write(folder.path().join(&file), whole.content(&file).unwrap()).unwrap();
            }
            replace(&folder.path().join(&name), kind);
            let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
            let found = verify_store(&storage, &mut |_, _| {}).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(!found.is_sound(), "{what}");
            let report = repair_store(&storage, &mut |_, _| {}).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(!report.damaged_files.is_empty(), "{what}");
            let sound = verify_store(&storage, &mut |_, _| {}).unwrap();
            assert!(sound.is_sound(), "{what}: {:?}", sound.findings);
            let db = Db::open(storage, &options()).unwrap();
            let missing = copy(&whole);
            missing.remove(&name).unwrap();
            let (_, expected) = repaired(&missing);
            let held = held(&db);
            assert_eq!(held.len(), expected.len(), "{what}");
            assert!(held.keys().all(|key| model.contains_key(key)), "{what}");
        }
    }
}

/// A folder with a table of one record.
fn table_of(key: &str, value: &str) -> (Arc<dyn Storage>, String) {
    let folder: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let types = TableWriteOptions::default().key_type(KeyType::Text);
    let mut writer = TableWriter::create((Arc::clone(&folder), "table"), types).unwrap();
    writer.append(key.as_bytes(), value.as_bytes()).unwrap();
    writer.finish().unwrap();
    (folder, "table".to_owned())
}

/// The records of each keyspace, as text.
fn by_keyspace(memory: &MemoryStorage) -> BTreeMap<String, Vec<String>> {
    assert!(verify(memory).unwrap().is_sound());
    let db = Db::open(shared(memory), &options()).unwrap();
    let shown = |record: ogive::Result<(ogive::Slice, ogive::Slice)>| {
        let (key, value) = record.unwrap();
        format!("{}={}", key.escape_ascii(), value.escape_ascii())
    };
    let records = |name: String| (name.clone(), db.keyspace(&name).unwrap().iter().map(shown).collect());
    db.keyspaces().into_iter().map(records).collect()
}

/// A store with two ingested tables and other records of the same keyspaces, which was closed, and what it contains.
fn store_with_ingested_tables() -> (MemoryStorage, BTreeMap<String, Vec<String>>) {
    let memory = MemoryStorage::new();
    let db = Db::open(shared(&memory), &options()).unwrap();
    let users = db.keyspace("users").unwrap();
    drop(users.declare(&RecordType::new(KeyType::Text, ValueType::default())).unwrap());
    users.insert("ann", "old").unwrap();
    users.insert("bob", "1").unwrap();
    db.insert("apple", "red").unwrap();
    db.flush().unwrap();
    users.ingest_from(&[table_of("ann", "new")]).unwrap();
    db.ingest_from(&[table_of("lime", "green")]).unwrap();
    db.close().unwrap();
    drop((db, users));
    let contents = by_keyspace(&memory);
    assert_eq!(contents["users"], ["ann=new", "bob=1"]);
    (memory, contents)
}

#[test]
fn ingested_tables_whose_keyspace_no_file_tells_are_set_aside_by_name() {
    let (memory, contents) = store_with_ingested_tables();
    let lost = names(&memory, ".manifest");
    lost.iter().for_each(|name| memory.remove(name).unwrap());
    let report = repair_store(shared(&memory), &mut |_, _| {}).unwrap();
    assert_eq!(report.ingested_files.len(), 2, "{report:?}");
    assert!(report.manifest_rebuilt && !report.is_loss_known && report.foreign_files.is_empty(), "{report:?}");
    let left = by_keyspace(&memory);
    assert_eq!(left["default"], ["apple=red"]);
    assert_eq!(left["users"], ["ann=old", "bob=1"]);
    // They are whole: a user who knows their keyspaces ingests them again.
    let db = Db::open(shared(&memory), &options()).unwrap();
    let users = db.keyspace("users").unwrap();
    let aside = |at: usize| (shared(&memory), format!("{}.ingested", report.ingested_files[at]));
    users.ingest_from(&[aside(0)]).unwrap();
    db.ingest_from(&[aside(1)]).unwrap();
    db.close().unwrap();
    drop((db, users));
    assert_eq!(by_keyspace(&memory), contents);
}

#[test]
fn ingested_tables_that_an_outdated_manifest_names_stay_in_their_keyspaces() {
    let (memory, mut contents) = store_with_ingested_tables();
    let older = names(&memory, ".manifest");
    let older: Vec<_> = older.iter().map(|name| (name, memory.content(name).unwrap())).collect();
    // The store goes on, and its newest manifest is damaged.
    let db = Db::open(shared(&memory), &options()).unwrap();
    db.insert("fig", "blue").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    drop(db);
    contents.get_mut("default").unwrap().insert(1, "fig=blue".to_owned());
    assert_eq!(by_keyspace(&memory), contents);
    names(&memory, ".manifest").iter().for_each(|name| memory.put(name, b"garbage".to_vec()).unwrap());
    older.into_iter().for_each(|(name, content)| memory.put(name, content).unwrap());
    let report = repair_store(shared(&memory), &mut |_, _| {}).unwrap();
    assert!(report.manifest_rebuilt && report.ingested_files.is_empty(), "{report:?}");
    assert_eq!(by_keyspace(&memory), contents);
}

#[test]
fn a_copy_of_an_ingested_table_in_an_altered_keyspace_states_where_it_belongs() {
    let memory = MemoryStorage::new();
    let db = Db::open(shared(&memory), &options()).unwrap();
    let numbers = db.keyspace("numbers").unwrap();
    drop(numbers.declare(&RecordType::new(KeyType::Text, KeyType::U16)).unwrap());
    numbers.insert("one", 1_u16.to_be_bytes()).unwrap();
    db.flush().unwrap();
    numbers.alter(&Alteration::new().widen("value", KeyType::U32)).unwrap();
    numbers.ingest_from(&[table_of("two", "\0\0\0\x02")]).unwrap();
    db.close().unwrap();
    drop((db, numbers));
    let contents = by_keyspace(&memory);
    assert_eq!(contents["numbers"][1], "two=\\x00\\x00\\x00\\x02");
    names(&memory, ".manifest").iter().for_each(|name| memory.remove(name).unwrap());
    let report = repair_store(shared(&memory), &mut |_, _| {}).unwrap();
    assert!(report.ingested_files.is_empty(), "{report:?}");
    assert_eq!(by_keyspace(&memory), contents);
}
