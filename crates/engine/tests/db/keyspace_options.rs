//! Tests of the options of keyspaces. Goal: tables and values of a keyspace have its options from the call on, every
//! copy of the store has them, and so has a repaired one; a crash leaves those before or after the call. Method: equal
//! records in keyspaces of different options, whose tables are looked at; copies of every kind; a power loss at every
//! call. (The reference and crash tests of stores draw options of keyspaces, too.)

use crate::support::{copy_of, files, memory, small};
use ogive::backup::{BackupOptions, Backups};
use ogive::block::Compression;
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{KeyspaceOptions, OPTIONS_FORMAT};
use ogive::repair::repair_store;
use ogive::table::{TableOptions, TableReport};
use ogive::{Cause, Db, DbOptions, Error, Table};
use ogive_testkit::{CrashOptions, Random, SimulatedDisk, enumerate_crashes};
use std::sync::Arc;

fn shared(memory: &MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

fn options() -> DbOptions {
    DbOptions::default().threads(0).memory_bytes(16 << 20).values(|values| values.separation_bytes(1 << 10))
}

/// Options of which each is other than that of the store.
fn own() -> KeyspaceOptions {
    KeyspaceOptions::default()
        .compression(Compression::Lz4)
        .filter_bits_per_key(20)
        .separation_bytes(100)
        .block_bytes(16 << 10)
}

fn value(number: u32) -> Vec<u8> {
    // Shrinks well, and every third one is long enough for the value log of the keyspace, but not of the store.
    vec![number as u8; if number.is_multiple_of(3) { 400 } else { 40 }]
}

fn fill(db: &Db, name: &str) {
    let keyspace = db.keyspace(name).unwrap();
    for from in (0..3_000).step_by(100) {
        let mut batch = db.batch();
        for number in from..from + 100_u32 {
            batch.insert(&keyspace, number.to_be_bytes(), value(number));
        }
        batch.commit().unwrap();
    }
}

/// What the tables of a keyspace say of themselves.
fn tables(db: &Db, memory: &MemoryStorage, name: &str) -> Vec<TableReport> {
    let of_keyspace = db.table_key_ranges().into_iter().filter(|range| range.keyspace == name);
    let report = |number: u64| {
        let place = (shared(memory), format!("{number:06}.table"));
        Table::open(place, &TableOptions::default()).unwrap().explain()
    };
    of_keyspace.map(|range| report(range.number)).collect()
}

/// Checks that all tables of a keyspace have the options, and its long values lie in value files.
fn check_own(db: &Db, memory: &MemoryStorage, name: &str) {
    let found = tables(db, memory, name);
    assert!(!found.is_empty());
    for table in found {
        assert_eq!(table.compression, "lz4", "{name}");
        assert!(table.filter_bytes * 8 > table.records * 18, "{name}: {} for {}", table.filter_bytes, table.records);
        assert_eq!(table.block_size_bytes, 16 << 10, "{name}");
    }
    let stats = db.stats().keyspaces.into_iter().find(|keyspace| keyspace.name == name).unwrap();
    // Compressed there, too.
    assert!((1..400 * 1_000 / 4).contains(&stats.value_bytes), "{name}: {} bytes", stats.value_bytes);
    assert_eq!(stats.options, own());
}

fn check_common(db: &Db, memory: &MemoryStorage, name: &str) {
    for table in tables(db, memory, name) {
        assert_eq!(table.compression, "none", "{name}");
        assert!(table.filter_bytes * 8 < table.records * 18, "{name}");
        assert_eq!(table.block_size_bytes, 4 << 10, "{name}");
    }
    let stats = db.stats().keyspaces.into_iter().find(|keyspace| keyspace.name == name).unwrap();
    assert_eq!((stats.value_bytes, stats.options), (0, KeyspaceOptions::default()));
}

#[test]
fn tables_and_values_have_the_options_of_their_keyspace_on_the_open_store() {
    let memory = MemoryStorage::new();
    let db = Db::open(shared(&memory), &options()).unwrap();
    let (photos, words) = (db.keyspace("photos").unwrap(), db.keyspace("words").unwrap());
    fill(&db, "photos");
    fill(&db, "words");
    db.flush().unwrap();
    check_common(&db, &memory, "photos");
    assert!(db.stats().format < OPTIONS_FORMAT);
    photos.set_options(&own()).unwrap();
    assert_eq!((photos.options(), words.options()), (own(), KeyspaceOptions::default()));
    assert_eq!(db.stats().format, OPTIONS_FORMAT);
    db.keyspace("fresh").unwrap().set_options(&own()).unwrap();
    fill(&db, "fresh");
    db.flush().unwrap();
    check_own(&db, &memory, "fresh");
    // One memtable set, and one group, has records of both.
    fill(&db, "photos");
    fill(&db, "words");
    db.flush().unwrap();
    db.compact().unwrap();
    check_own(&db, &memory, "photos");
    check_common(&db, &memory, "words");
    // Small batches are separated when they are flushed.
    for number in 0..3_000 {
        photos.insert(u32::to_be_bytes(number), value(number)).unwrap();
    }
    db.flush().unwrap();
    db.compact().unwrap();
    check_own(&db, &memory, "photos");
    // A greater limit than that of the store, and no filter.
    let none = KeyspaceOptions::default().separation_bytes(u64::MAX).filter_bits_per_key(0);
    words.set_options(&none).unwrap();
    words.insert("long", vec![1; 5_000]).unwrap();
    db.flush().unwrap();
    db.compact().unwrap();
    assert!(tables(&db, &memory, "words").iter().all(|table| table.filter_bytes == 0));
    assert_eq!(db.stats().keyspaces.iter().find(|keyspace| keyspace.name == "words").unwrap().value_bytes, 0);
    // All as the store again.
    photos.set_options(&KeyspaceOptions::default()).unwrap();
    db.keyspace("photos").unwrap().insert("a", "b").unwrap();
    db.flush().unwrap();
    db.compact().unwrap();
    assert!(tables(&db, &memory, "photos").iter().all(|table| table.compression == "none"));
    assert_eq!(photos.options(), KeyspaceOptions::default());
}

#[test]
fn options_that_no_table_can_have_are_refused_and_change_nothing() {
    let db = Db::open(shared(&MemoryStorage::new()), &options()).unwrap();
    let keyspace = db.keyspace("k").unwrap();
    let wrong = [
        KeyspaceOptions::default().block_bytes(1_000),
        KeyspaceOptions::default().block_bytes(1 << 30),
        KeyspaceOptions::default().filter_bits_per_key(33),
    ];
    for options in wrong {
        let error = keyspace.set_options(&options).unwrap_err();
        assert!(matches!(error, Error { cause: Cause::Input, .. }), "{error}");
    }
    assert_eq!(keyspace.options(), KeyspaceOptions::default());
    assert!(db.stats().format < OPTIONS_FORMAT);
    db.drop_keyspace("k").unwrap();
    let gone = keyspace.set_options(&own()).unwrap_err();
    assert!(matches!(gone, Error { cause: Cause::KeyspaceDropped, .. }), "{gone}");
    // Another keyspace of the name has none of its options.
    let again = db.keyspace("k").unwrap();
    again.set_options(&own()).unwrap();
    db.drop_keyspace("k").unwrap();
    assert_eq!(db.keyspace("k").unwrap().options(), KeyspaceOptions::default());
}

/// Opens a store, and checks that what is written to it has the options.
fn check_copy(storage: &MemoryStorage, what: &str) {
    let reader = Db::open_read_only(shared(storage), &options()).unwrap();
    assert_eq!(reader.keyspace("photos").unwrap().options(), own(), "{what}");
    drop(reader);
    let db = Db::open(shared(storage), &options()).unwrap();
    assert_eq!(db.keyspace("photos").unwrap().options(), own(), "{what}");
    assert_eq!(db.keyspace("words").unwrap().options(), KeyspaceOptions::default(), "{what}");
    fill(&db, "photos");
    db.flush().unwrap();
    db.compact().unwrap();
    check_own(&db, storage, "photos");
}

#[test]
fn options_are_recorded_through_reopening_copies_and_repairs() {
    let memory_of_store = MemoryStorage::new();
    let db = Db::open(shared(&memory_of_store), &options()).unwrap();
    db.keyspace("photos").unwrap().set_options(&own()).unwrap();
    db.keyspace("words").unwrap().insert("a", "b").unwrap();
    fill(&db, "photos");
    let checkpoint = MemoryStorage::new();
    db.checkpoint(shared(&checkpoint)).unwrap();
    check_copy(&checkpoint, "a checkpoint of an open store");
    db.flush().unwrap();
    check_copy(&copy_of(&memory_of_store), "after a crash");
    db.close().unwrap();
    check_copy(&copy_of(&memory_of_store), "closed");
    let backups = Backups::at(shared(&MemoryStorage::new())).unwrap();
    backups.create(shared(&memory_of_store), &BackupOptions::default(), &mut |_, _| ()).unwrap();
    let restored = MemoryStorage::new();
    backups.restore(None, shared(&restored), &mut |_, _| ()).unwrap();
    check_copy(&restored, "restored");
    let all = files(&memory_of_store);
    let table = all.keys().find(|name| name.ends_with(".table")).unwrap();
    let damaged = memory(&all);
    let mut content = all[table].clone();
    content[20] ^= 1;
    damaged.put(table, content).unwrap();
    repair_store(shared(&damaged), &mut |_, _| ()).unwrap();
    check_copy(&damaged, "with a repaired table");
    let lost = memory(&all.into_iter().filter(|(name, _)| !name.ends_with(".manifest")).collect());
    assert!(repair_store(shared(&lost), &mut |_, _| ()).unwrap().manifest_rebuilt);
    let db = Db::open(shared(&lost), &options()).unwrap();
    assert_eq!(db.keyspace("photos").unwrap().options(), own(), "tables state the options for a repair");
    check_own(&db, &lost, "photos");
}

#[test]
fn a_crash_leaves_the_options_before_or_after_the_call() {
    let drawn = |random: &mut Random| {
        let options = KeyspaceOptions::default().separation_bytes(random.below(300));
        options.filter_bits_per_key((random.below(3) > 0).then(|| random.below(20) as u32))
    };
    let outcome = enumerate_crashes(
        CrashOptions { random_images: 3, stride: 1, seed: 1 },
        &SimulatedDisk::new(),
        |disk| {
            let (mut set, mut random) = (vec![KeyspaceOptions::default()], Random::new(7));
            let mut work = || -> ogive::Result<()> {
                let db = Db::open(Arc::new(disk.clone()) as Arc<dyn Storage>, &small())?;
                let keyspace = db.keyspace("k")?;
                for round in 0..8_u64 {
                    let next = drawn(&mut random);
                    set.push(next.clone());
                    keyspace.set_options(&next)?;
                    set = vec![next];
                    keyspace.insert(round.to_be_bytes(), vec![7; 100 * round as usize])?;
                    if round % 3 == 0 {
                        db.flush()?;
                    }
                }
                db.close()
            };
            _ = work();
            set
        },
        |set, disk, _| {
            let db = Db::open(Arc::new(disk.clone()) as Arc<dyn Storage>, &small());
            let db = db.map_err(|error| error.to_string())?;
            let found = db.keyspace("k").map_err(|error| error.to_string())?.options();
            if set.contains(&found) { Ok(()) } else { Err(format!("{found:?} is none of {set:?}")) }
        },
    );
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
