//! Tests of ingestion and checkpoints. Goal: an ingested table reads as if a batch had inserted its records, whatever
//! the store contains before and after; a checkpoint equals the store at that time, and stays so. Method: stores
//! against maps, with keys of every type; crashes at every call.

#![expect(clippy::disallowed_methods, reason = "links and copies are made in real folders")]

use ogive::io::{LocalStorage, MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::{Cause, Durability, Error, KeyType};
use ogive_testkit::{CrashOptions, Fault, Operation, Random, SimulatedDisk, enumerate_crashes, enumerate_faults};
use std::collections::BTreeMap;
use std::sync::Arc;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn options() -> DbOptions {
    DbOptions::default()
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .levels(|levels| levels.table_bytes(4 << 10).level_bytes(16 << 10))
        .memory_bytes(8 << 20)
        .threads(0)
}

/// Creates a table with these records.
fn table(storage: &Arc<dyn Storage>, name: &str, options: TableWriteOptions, records: &Model) {
    let mut writer = TableWriter::create((Arc::clone(storage), name), options).unwrap();
    records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

fn all(db: &Db) -> Model {
    db.iter().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

fn check(db: &Db, model: &Model, probes: impl Iterator<Item = Vec<u8>>) {
    assert_eq!(&all(db), model);
    for key in probes.chain(model.keys().cloned()) {
        assert_eq!(db.get(&key).unwrap().map(|value| value.to_vec()), model.get(&key).cloned(), "{key:?}");
    }
    let report = db.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

fn tables_of(db: &Db) -> Vec<u64> {
    db.stats().keyspaces[0].levels.iter().map(|level| level.tables).collect()
}

/// The size of a growing table includes buffered records, which compress well: tables that ended by it would be smaller
/// than their limit, and small adjacent ones would be rewritten into as many again.
#[test]
fn compaction_ends_where_tables_are_smaller_than_they_were_expected_to_be() {
    let prefix = vec![b'p'; 1_000];
    let key = |number: u32| [&prefix[..], &number.to_be_bytes()].concat();
    for threads in [0, 2] {
        let db = Db::open(memory(), &options().threads(threads).levels(|levels| levels.table_bytes(64 << 10))).unwrap();
        let sources = memory();
        for part in 0..30 {
            let records: Model = (0..100).map(|i| (key(part * 100 + i), b"value".to_vec())).collect();
            let name = format!("part-{part}");
            table(&sources, &name, TableWriteOptions::default(), &records);
            db.ingest_from(&[(Arc::clone(&sources), name)]).unwrap();
        }
        db.compact().unwrap();
        db.compact().unwrap();
        assert_eq!(db.iter().count(), 3_000);
        let tables: u64 = tables_of(&db).iter().sum();
        assert!(tables <= 2, "{tables} tables");
    }
}

#[test]
fn ingested_records_read_as_if_they_had_been_inserted() {
    for seed in 0..12 {
        let (storage, files) = (memory(), memory());
        let (mut db, mut model, mut random) =
            (Db::open(Arc::clone(&storage), &options()).unwrap(), Model::new(), Random::new(seed));
        for step in 0..40 {
            let start = random.below(2_000);
            match random.below(6) {
                0 => {
                    let spread = [1, 7, 40][random.below(3) as usize];
                    let records: Model = (0..random.below(100) + 1)
                        .map(|i| ((start + i * spread).to_be_bytes().to_vec(), format!("{step} {i}").into_bytes()))
                        .collect();
                    let name = format!("{step}.ogive");
                    table(&files, &name, TableWriteOptions::default().key_type(KeyType::U64), &records);
                    let snapshot = db.snapshot();
                    let ingested = db.ingest_from(&[(Arc::clone(&files), name)]).unwrap();
                    assert_eq!((ingested.tables, ingested.records), (1, records.len() as u64));
                    let before: Vec<_> =
                        snapshot.range::<&[u8]>(&db, ..).map(|record| record.unwrap().0.to_vec()).collect();
                    assert_eq!(before, model.keys().cloned().collect::<Vec<_>>(), "a snapshot sees nothing of it");
                    model.extend(records);
                }
                1 => {
                    db.remove_range(start.to_be_bytes()..(start + 300).to_be_bytes()).unwrap();
                    model.retain(|key, _| {
                        *key < start.to_be_bytes().to_vec() || *key >= (start + 300).to_be_bytes().to_vec()
                    });
                }
                2 => db.compact().unwrap(),
                3 => {
                    drop(db);
                    db = Db::open(Arc::clone(&storage), &options()).unwrap();
                }
                _ => {
                    for i in 0..random.below(150) {
                        let key = (start + i * 3).to_be_bytes().to_vec();
                        if random.one_in(4) {
                            db.remove(&key).unwrap();
                            model.remove(&key);
                        } else {
                            db.insert(&key, b"written").unwrap();
                            model.insert(key, b"written".to_vec());
                        }
                    }
                }
            }
            if step % 8 == 7 {
                // Shorter and longer keys than those of the table are ordinary keys of the store.
                let odd = (0..200_u64).flat_map(|i| {
                    let key = (i * 17).to_be_bytes();
                    [key[..7].to_vec(), [&key[..], &[0]].concat(), vec![], vec![0xff; 20]]
                });
                check(&db, &model, odd);
            }
        }
        drop(db);
        crate::support::in_any_memory(&*storage, &options(), |db| check(db, &model, std::iter::empty()));
    }
}

#[test]
fn keys_of_every_type_are_taken_as_the_bytes_that_order_them() {
    let widths = [
        (KeyType::U64, 8),
        (KeyType::U128, 16),
        (KeyType::I64, 8),
        (KeyType::F64, 8),
        (KeyType::Text, 5),
        (KeyType::Bytes, 11),
    ];
    for (key_type, width) in widths {
        let (storage, files) = (memory(), memory());
        let db = Db::open(storage, &options()).unwrap();
        let mut random = Random::new(9);
        let records: Model = (0..500)
            .map(|i| {
                let mut key = vec![b'a' + (random.below(20) as u8); width];
                key[width - 2..].copy_from_slice(&[b'a' + (i / 25 % 25) as u8, b'a' + (i % 25) as u8]);
                (key, vec![i as u8; (i % 50) as usize])
            })
            .collect();
        table(&files, "t", TableWriteOptions::default().key_type(key_type), &records);
        db.insert("other", "1").unwrap();
        db.ingest_from(&[(Arc::clone(&files), "t".to_owned())]).unwrap();
        let mut model = records.clone();
        model.insert(b"other".to_vec(), b"1".to_vec());
        check(&db, &model, records.keys().flat_map(|key| [key[..width - 1].to_vec(), [&key[..], b"a"].concat()]));
        db.compact().unwrap();
        check(&db, &model, std::iter::empty());
    }
}

#[test]
fn a_table_among_no_other_keys_goes_to_the_last_level_and_is_not_written_again() {
    let (storage, files) = (memory(), memory());
    let db = Db::open(storage, &options()).unwrap();
    let records = |from: u64| -> Model { (from..from + 500).map(|i| (i.to_be_bytes().to_vec(), vec![1; 9])).collect() };
    for (name, from) in [("a", 0), ("b", 1000), ("c", 200)] {
        table(&files, name, TableWriteOptions::default().key_type(KeyType::U64), &records(from));
    }
    let ingest = |names: &[&str]| {
        let files: Vec<_> = names.iter().map(|name| (Arc::clone(&files), (*name).to_owned())).collect();
        db.ingest_from(&files).unwrap()
    };
    let before = db.activity();
    ingest(&["a", "b"]);
    assert_eq!(tables_of(&db), [0, 0, 0, 0, 0, 0, 2]);
    ingest(&["c"]);
    assert_eq!(tables_of(&db), [0, 0, 0, 0, 0, 1, 2]);
    assert_eq!(db.activity(), before);
}

/// An ingested table may have been written by any program, so a requested compaction rewrites it.
#[test]
fn a_compaction_that_was_asked_for_writes_tables_anew_that_were_taken_in() {
    let (storage, files) = (memory(), memory());
    let db = Db::open(storage, &options()).unwrap();
    let records: Model = (0..500_u64).map(|i| (i.to_be_bytes().to_vec(), vec![1; 9])).collect();
    table(&files, "a", TableWriteOptions::default().key_type(KeyType::U64), &records);
    db.ingest_from(&[(files, "a".to_owned())]).unwrap();
    let taken_in: Vec<u64> = db.tables().iter().map(|table| table.number).collect();
    db.compact().unwrap();
    let written = db.tables();
    assert!(!written.is_empty() && written.iter().all(|table| !taken_in.contains(&table.number)), "{written:?}");
    check(&db, &records, std::iter::empty());
    let before = db.activity().compactions;
    db.compact().unwrap();
    assert_eq!(db.activity().compactions, before, "once is enough");
}

#[test]
fn what_is_no_table_for_a_store_is_refused_and_leaves_nothing() {
    let memory = MemoryStorage::new();
    let (storage, files): (Arc<dyn Storage>, Arc<dyn Storage>) = (Arc::new(memory.clone()), self::memory());
    let db = Db::open(storage, &options()).unwrap();
    let mut writer = TableWriter::create((Arc::clone(&files), "twice"), TableWriteOptions::default()).unwrap();
    for _ in 0..2 {
        writer.append(b"key", b"value").unwrap();
    }
    writer.finish().unwrap();
    table(&files, "sound", TableWriteOptions::default(), &[(b"a".to_vec(), b"b".to_vec())].into());
    let damaged = MemoryStorage::new();
    let mut bytes = vec![0; files.open("sound").unwrap().len() as usize];
    files
        .open("sound")
        .unwrap()
        .read(ogive::io::ReadRequest { offset: 0, buffer: &mut bytes, purpose: ogive::io::Purpose::Walk })
        .unwrap();
    bytes[3] ^= 1;
    damaged.put("flipped", bytes).unwrap();
    let damaged: Arc<dyn Storage> = Arc::new(damaged);
    let names = || memory.list().unwrap();
    let before = names();
    let ingest = |files: &[(&Arc<dyn Storage>, &str)]| {
        let files: Vec<_> = files.iter().map(|(storage, name)| (Arc::clone(storage), (*name).to_owned())).collect();
        db.ingest_from(&files)
    };
    assert!(matches!(ingest(&[(&files, "sound"), (&files, "twice")]), Err(Error { cause: Cause::Input, .. })));
    assert!(matches!(ingest(&[(&files, "sound"), (&damaged, "flipped")]), Err(Error { cause: Cause::Damaged, .. })));
    assert!(matches!(ingest(&[(&files, "sound"), (&files, "missing")]), Err(Error { cause: Cause::Io(_), .. })));
    assert_eq!(names(), before);
    assert_eq!(all(&db), Model::new());
    assert_eq!(ingest(&[]).unwrap().tables, 0);
}

#[test]
fn after_every_crash_of_an_ingestion_all_of_its_tables_are_there_or_none() {
    let files = memory();
    let records =
        |from: u64| -> Model { (from..from + 40).map(|i| (i.to_be_bytes().to_vec(), b"new".to_vec())).collect() };
    for (name, from) in [("a", 0), ("b", 20)] {
        table(&files, name, TableWriteOptions::default().key_type(KeyType::U64), &records(from));
    }
    let work = |disk: &SimulatedDisk| -> ogive::Result<usize> {
        let db = Db::open(Arc::new(disk.clone()), &options())?;
        db.insert(5_u64.to_be_bytes(), "old")?;
        let files: Vec<_> = ["a", "b"].iter().map(|name| (Arc::clone(&files), (*name).to_owned())).collect();
        db.ingest_from(&files)?;
        db.insert(7_u64.to_be_bytes(), "newest")?;
        Ok(60)
    };
    let check = |outcome: &ogive::Result<usize>, disk: &SimulatedDisk, _: &_| -> Result<(), String> {
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        let db = Db::open(Arc::clone(&storage), &options()).map_err(|error| error.to_string())?;
        let found = all(&db);
        let seventh = found.get(&7_u64.to_be_bytes()[..]);
        let is_right = match found.len() {
            0 | 1 => outcome.is_err(),
            60 => seventh.is_some_and(|value| value == b"newest" || (outcome.is_err() && value == b"new")),
            _ => false,
        };
        let report = db.verify(&mut |_, _| {}).map_err(|error| error.to_string())?;
        drop(db);
        let orphans = ogive::verify::verify_store(&storage, &mut |_, _| {}).map_err(|error| error.to_string())?.orphans;
        if is_right && report.is_sound() && orphans.is_empty() {
            return Ok(());
        }
        Err(format!("{} records, {:?}, orphans {orphans:?}", found.len(), report.findings))
    };
    let report = enumerate_crashes(CrashOptions::default(), &SimulatedDisk::new(), work, check).unwrap();
    assert!(report.images > 300, "{report:?}");
}

#[test]
fn a_checkpoint_is_the_store_as_it_was_and_stays_so() {
    for separation_bytes in [0, u64::MAX] {
        let (storage, target) = (memory(), memory());
        let options = options().values(|values| values.separation_bytes(separation_bytes));
        let db = Db::open(storage, &options).unwrap();
        let people = db.keyspace("people").unwrap();
        for i in 0..2_000_u64 {
            db.insert(i.to_be_bytes(), format!("value {i}")).unwrap();
        }
        people.insert("ada", "1815").unwrap();
        let model = all(&db);
        db.checkpoint(&target).unwrap();
        let again = db.checkpoint(&target);
        assert!(matches!(again, Err(Error { cause: Cause::Io(_), .. })), "the folder is taken");
        for i in 0..2_000_u64 {
            db.insert(i.to_be_bytes(), "other").unwrap();
        }
        db.compact().unwrap();
        let report = ogive::verify::verify_store(&target, &mut |_, _| {}).unwrap();
        assert!(report.is_sound() && report.orphans.is_empty(), "{report:?}");
        let copy = Db::open(target, &options).unwrap();
        assert_eq!(all(&copy), model);
        assert_eq!(copy.keyspace("people").unwrap().get("ada").unwrap().as_deref(), Some(&b"1815"[..]));
        copy.insert("more", "in the copy alone").unwrap();
        copy.compact().unwrap();
        assert_eq!(db.get("more").unwrap(), None);
        assert_eq!(all(&copy).len(), 2_001);
    }
}

#[test]
fn a_checkpoint_in_a_folder_takes_links_and_no_space() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("db"), folder.path().join("copy/of it"));
    let db = Db::open(&path, &options().durability(Durability::Buffered)).unwrap();
    for i in 0..3_000_u64 {
        db.insert(i.to_be_bytes(), vec![i as u8; 100]).unwrap();
    }
    db.checkpoint(&copy).unwrap();
    let mut linked = 0;
    for entry in std::fs::read_dir(&copy).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "table") {
            assert_eq!(std::fs::metadata(&path).unwrap().nlink(), 2, "{}", path.display());
            linked += 1;
        }
    }
    assert!(linked > 0);
    let model = all(&db);
    drop(db);
    std::fs::remove_dir_all(&path).unwrap();
    assert_eq!(all(&Db::open(&copy, &options()).unwrap()), model);
}

#[test]
fn after_every_crash_of_a_checkpoint_both_stores_are_whole_or_the_copy_is_refused() {
    let work = |disk: &SimulatedDisk| -> ogive::Result<()> {
        let db = Db::open(memory(), &options())?;
        for i in 0..300_u64 {
            db.insert(i.to_be_bytes(), vec![7; 40])?;
        }
        db.checkpoint(&(Arc::new(disk.clone()) as Arc<dyn Storage>))
    };
    let check = |outcome: &ogive::Result<()>, disk: &SimulatedDisk, _: &_| -> Result<(), String> {
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        match Db::open(storage, &options().create(false)) {
            Ok(db) if all(&db).len() == 300 => Ok(()),
            Ok(db) => Err(format!("{} records", all(&db).len())),
            Err(Error { cause: Cause::NotAStore | Cause::Damaged, .. }) if outcome.is_err() => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    };
    enumerate_crashes(CrashOptions::default(), &SimulatedDisk::new(), work, check).unwrap();
}

#[test]
fn files_of_a_folder_are_linked_into_the_store() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let local: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    table(&local, "t.ogive", TableWriteOptions::default(), &[(b"a".to_vec(), b"b".to_vec())].into());
    let db = Db::open(folder.path().join("db"), &options().durability(Durability::Buffered)).unwrap();
    db.ingest([folder.path().join("t.ogive")]).unwrap();
    assert_eq!(db.get("a").unwrap().as_deref(), Some(&b"b"[..]));
    assert_eq!(std::fs::metadata(folder.path().join("t.ogive")).unwrap().nlink(), 2);
}

#[test]
fn a_fault_in_an_ingestion_or_a_checkpoint_is_an_error_and_leaves_whole_stores() {
    let files = memory();
    let records: Model = (0..40_u64).map(|i| (key(i), b"new".to_vec())).collect();
    table(&files, "t", TableWriteOptions::default().key_type(KeyType::U64), &records);
    let work = |storage: Arc<dyn Storage>| -> ogive::Result<()> {
        let db = Db::open(storage, &options())?;
        db.insert(key(5), "old")?;
        db.ingest_from(&[(Arc::clone(&files), "t".to_owned())])?;
        db.checkpoint(memory())?;
        db.close()
    };
    let operations =
        [Operation::Create, Operation::Open, Operation::Read, Operation::Write, Operation::Sync, Operation::Rename];
    let mut faults = 0;
    for operation in operations {
        faults += enumerate_faults(operation, Fault::NoSpace, memory, work, |at, outcome, storage| {
            let db = Db::open(Arc::clone(&storage), &options()).unwrap();
            let held = all(&db);
            assert!(held.len() == 40 || (held.len() < 2 && outcome.is_err()), "{operation:?} {at}: {}", held.len());
            assert!(db.verify(&mut |_, _| {}).unwrap().is_sound(), "{operation:?} {at}");
            drop(db);
            let report = ogive::verify::verify_store(&storage, &mut |_, _| {}).unwrap();
            assert!(report.is_sound() && report.orphans.is_empty(), "{operation:?} {at}: {report:?}");
        });
    }
    assert!(faults > 40, "{faults} faults");
}

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}
