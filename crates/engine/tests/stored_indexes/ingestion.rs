//! Ingestions into keyspaces with indexes. Goal: the entries of all rows come and go with them, whatever the size; a
//! row that a unique index does not admit is found before anything is added; the memory is a small part of the data.
//! Method: ingestions larger than a batch and than the memory of a sort, with rows that are replaced, compared with a
//! map; ingestions beside writers of the same rows.

use crate::support::{User, Users, check, definitions, drawn, key, small, table, users};
use ogive::io::{MemoryStorage, Storage, StorageWrapper, WritableFile};
use ogive::{Cause, Db, DbOptions, Error, Keyspace, Result};
use ogive_testkit::{Random, Repeat, seeds};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;

fn user(number: u64, round: u64) -> User {
    let email = (!number.is_multiple_of(7)).then(|| format!("{number}-{}@x", round * (number % 3)));
    let country = ["de", "dk", "fr"][(number % 3) as usize].to_owned();
    User { name: "n".repeat(20), email, country, score: (number * 7 % 100) as i32 + round as i32 }
}

/// Folders with a table each.
fn tables(of: &[Users]) -> Vec<(Arc<dyn Storage>, String)> {
    let table_of = |users: &Users| {
        let folder: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        table(&folder, users.clone());
        (folder, "table".to_owned())
    };
    of.iter().map(table_of).collect()
}

fn open(storage: Arc<dyn Storage>, options: &DbOptions) -> (Db, Keyspace) {
    let db = Db::open(storage, options).unwrap();
    let keyspace = users(&db).unwrap();
    for (name, definition) in definitions() {
        db.create_index(name, &keyspace, &definition).unwrap();
    }
    (db, keyspace)
}

#[test]
fn rows_of_any_number_are_ingested_with_their_entries() {
    let places: [Arc<dyn Storage>; 2] = [Arc::new(MemoryStorage::new()), Arc::new(MemoryStorage::objects())];
    for storage in places {
        let options =
            small().writes(|writes| writes.memtable_bytes(64 << 10)).levels(|levels| levels.table_bytes(64 << 10));
        let (db, keyspace) = open(Arc::clone(&storage), &options);
        let mut all: Users = (0..100).map(|number| (number * 97, user(number * 97, 5))).collect();
        all.iter().for_each(|(&number, user)| keyspace.insert(key(number), user.encode()).unwrap());
        for round in 0..2 {
            // Each takes more than a sort may have in memory; the second table of a key counts.
            let step = 1 + round;
            let first: Users = (0..12_000).map(|number| (number * step, user(number * step, round))).collect();
            let second: Users = (5_000..5_500).map(|number| (number, user(number, 3))).collect();
            let last: Users = (30_000..30_010).map(|number| (number, user(number, 0))).collect();
            let ingested = keyspace.ingest_from(&tables(&[first.clone(), second.clone(), last.clone()])).unwrap();
            assert_eq!((ingested.tables, ingested.records), (3, 12_510));
            [first, second, last].into_iter().for_each(|users| all.extend(users));
            check(&db, &all).unwrap();
        }
        let is_sort = |name: &String| name.ends_with(".ogive-sort");
        assert!(!storage.list().unwrap().iter().any(is_sort));
        db.compact().unwrap();
        check(&db, &all).unwrap();
        db.close().unwrap();
        let db = Db::open(storage, &options).unwrap();
        check(&db, &all).unwrap();
        db.keyspace("users").unwrap().remove_range(key(100)..key(200)).unwrap();
        all.retain(|number, _| !(100..200).contains(number));
        check(&db, &all).unwrap();
    }
}

#[test]
fn a_row_that_a_unique_index_does_not_admit_is_found_before_anything_is_added() {
    let storage = Arc::new(MemoryStorage::new());
    let (db, keyspace) = open(storage.clone(), &small());
    let of = |email: &str| User { email: Some(email.into()), ..user(0, 0) };
    let stored: Users = [(1, of("ann@x")), (2, of("bob@x")), (3, user(0, 0))].into();
    stored.iter().for_each(|(&number, user)| keyspace.insert(key(number), user.encode()).unwrap());
    type Case = (&'static [(u64, &'static str)], Option<[u64; 2]>);
    let cases: [Case; 7] = [
        // Two of the new rows; one of the store; one of the store that is replaced without another value.
        (&[(7, "cid@x"), (8, "Cid@x")], Some([8, 7])),
        (&[(7, "ANN@x")], Some([7, 1])),
        (&[(1, "ann@x"), (7, "ann@x")], Some([7, 1])),
        // A value that is free since its row is replaced, two that change places, and the same row again.
        (&[(1, "new@x"), (7, "ann@x")], None),
        (&[(1, "bob@x"), (2, "new@x")], None),
        (&[(1, "bob@x"), (2, "new@x")], None),
        (&[(9, "ann@x"), (2, "bob@x")], Some([9, 7])),
    ];
    let mut all = stored;
    for (rows, refused) in cases {
        let before = storage.list().unwrap().len();
        let rows: Users = rows.iter().map(|(number, email)| (*number, of(email))).collect();
        let outcome = keyspace.ingest_from(&tables(std::slice::from_ref(&rows)));
        match (outcome, refused) {
            (Ok(_), None) => all.extend(rows),
            (Err(error), Some([new, other])) => {
                assert_eq!(error.cause, Cause::NotUnique);
                let told = format!("the row \"{new}\" has the values of the row \"{other}\"");
                assert!(error.to_string().contains(&told), "{error}");
                assert_eq!(storage.list().unwrap().len(), before);
            }
            (outcome, refused) => panic!("{outcome:?}, not {refused:?}"),
        }
        check(&db, &all).unwrap();
    }
    // A row that is none is told, too.
    let folder: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut writer = ogive::TableWriter::create((Arc::clone(&folder), "table"), Default::default()).unwrap();
    writer.append(&key(5), b"no row").unwrap();
    writer.finish().unwrap();
    assert_eq!(keyspace.ingest_from(&[(folder, "table".into())]).unwrap_err().cause, Cause::Input);
    check(&db, &all).unwrap();
}

/// What is done once, when the first table of entries is begun.
type Meanwhile = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// A storage in memory in which others write while an ingestion computes entries.
#[derive(Clone)]
struct Interrupting {
    inner: MemoryStorage,
    meanwhile: Meanwhile,
}

impl fmt::Debug for Interrupting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl StorageWrapper for Interrupting {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        // A table of entries gets its name when it is complete; rows are copied.
        if name.contains(".table.") {
            let meanwhile = self.meanwhile.lock().unwrap().take();
            meanwhile.into_iter().for_each(|meanwhile| meanwhile());
        }
        self.inner.create(name)
    }
}

/// A way to write meanwhile, and whether the ingestion is refused then.
type Interruption = (fn(&Db, &Keyspace), bool);

#[test]
fn entries_are_computed_again_if_others_write_what_they_were_computed_from() {
    let of = |email: &str| User { email: Some(email.into()), ..user(0, 0) };
    let interruptions: [Interruption; 4] = [
        (|_, keyspace| keyspace.insert(key(1), user(10, 9).encode()).unwrap(), false),
        (|_, keyspace| keyspace.remove(key(1)).unwrap(), false),
        (|_, keyspace| keyspace.insert(key(9), user(5, 1).encode()).unwrap(), true),
        (|db, keyspace| drop(db.create_index("by_initial", keyspace, &definitions()[2].1).unwrap()), false),
    ];
    for (interruption, is_refused) in interruptions {
        let meanwhile = Meanwhile::default();
        let storage = Interrupting { inner: MemoryStorage::new(), meanwhile: Arc::clone(&meanwhile) };
        let (db, keyspace) = open(Arc::new(storage), &small());
        db.drop_index("by_initial").unwrap();
        keyspace.insert(key(1), of("ann@x").encode()).unwrap();
        let (writer, written) = (db.clone(), keyspace.clone());
        *meanwhile.lock().unwrap() = Some(Box::new(move || interruption(&writer, &written)));
        let rows: Users = [(1, of("bob@x")), (2, user(5, 1))].into();
        let ingested = keyspace.ingest_from(&tables(&[rows]));
        assert!(meanwhile.lock().unwrap().is_none(), "it was not interrupted");
        assert_eq!(ingested.is_err_and(|error| error.cause == Cause::NotUnique), is_refused);
        let number = |key: &[u8]| u64::from_be_bytes(key.try_into().unwrap());
        let rows = keyspace.iter().map(|record| record.map(|(key, row)| (number(&key), User::decode(&row))));
        let rows = rows.collect::<Result<Users>>().unwrap();
        assert_eq!(rows.get(&1) == Some(&of("bob@x")), !is_refused);
        check(&db, &rows).unwrap();
    }
}

#[test]
fn rows_are_ingested_while_others_write_them() {
    for seed in seeds(0..3) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let options = small().writes(|writes| writes.memtable_bytes(64 << 10)).memory_bytes(32 << 20).threads(1);
        let (db, keyspace) = open(Arc::new(MemoryStorage::new()), &options);
        let work = |writer: u64| -> Result<()> {
            let mut random = Random::new(seed * 10 + writer);
            for _ in 0..60 {
                let written = match writer {
                    0 => {
                        let rows: Users = (0..4).map(|_| (random.below(40), drawn(&mut random))).collect();
                        keyspace.ingest_from(&tables(&[rows])).map(drop)
                    }
                    1 => {
                        let (name, definition) = &definitions()[1];
                        db.drop_index(name)?;
                        db.create_index(name, &keyspace, definition).map(drop)
                    }
                    _ if random.below(4) == 0 => keyspace.remove(key(random.below(40))),
                    _ => keyspace.insert(key(random.below(40)), drawn(&mut random).encode()),
                };
                match written {
                    Err(Error { cause: Cause::NotUnique, .. }) => {}
                    written => written?,
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let work = &work;
            let writers: Vec<_> = (0..5).map(|writer| scope.spawn(move || work(writer))).collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap().unwrap());
        });
        let number = |key: &[u8]| u64::from_be_bytes(key.try_into().unwrap());
        let rows = keyspace.iter().map(|record| record.map(|(key, row)| (number(&key), User::decode(&row))));
        check(&db, &rows.collect::<Result<Users>>().unwrap()).unwrap();
    }
}
