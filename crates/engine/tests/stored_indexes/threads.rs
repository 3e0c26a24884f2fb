//! Indexes under several threads. Goal: of two writers of the same unique value one is refused, whatever the timing,
//! and an index that is built while others write has all entries. Method: threads that race on few values, on memory
//! and on an object store, with synced writes that share groups of the log; then rows and entries are compared.

use crate::support::{User, Users, are_unique, check, definitions, key, small, table, users};
use ogive::io::{MemoryStorage, Storage};
use ogive::{Cause, Db, Durability, Error, Keyspace, Result};
use ogive_testkit::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn user(email: String) -> User {
    User { name: "n".into(), email: Some(email), country: "de".into(), score: 0 }
}

fn rows(keyspace: &Keyspace) -> Users {
    let number = |key: &[u8]| u64::from_be_bytes(key.try_into().unwrap());
    keyspace
        .iter()
        .map(|record| record.map(|(key, row)| (number(&key), User::decode(&row))))
        .collect::<Result<_>>()
        .unwrap()
}

fn open(storage: Arc<dyn Storage>, durability: Durability) -> Db {
    let options = small().writes(|writes| writes.memtable_bytes(64 << 10)).memory_bytes(32 << 20);
    Db::open(storage, &options.durability(durability).threads(1)).unwrap()
}

fn ingest(keyspace: &Keyspace, number: u64, row: User) -> Result<()> {
    let folder: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    table(&folder, [(number, row)]);
    keyspace.ingest_from(&[(folder, "table".to_owned())]).map(drop)
}

#[test]
fn of_two_writers_of_the_same_value_one_is_refused() {
    let places: [(Arc<dyn Storage>, Durability); 3] = [
        (Arc::new(MemoryStorage::new()), Durability::Buffered),
        (Arc::new(MemoryStorage::new()), Durability::Synced),
        (Arc::new(MemoryStorage::objects()), Durability::Synced),
    ];
    for (storage, durability) in places {
        let db = open(storage, durability);
        let keyspace = users(&db).unwrap();
        db.create_index("by_email", &keyspace, &definitions()[0].1).unwrap();
        for round in 0..100_u64 {
            let made: usize = thread::scope(|scope| {
                let writers = (0..4).map(|writer| {
                    let keyspace = &keyspace;
                    scope.spawn(move || {
                        let (number, row) = (round * 10 + writer, user(format!("{round}@x")));
                        let written = match writer {
                            0 => ingest(keyspace, number, row),
                            _ => keyspace.insert(key(number), row.encode()),
                        };
                        match written {
                            Ok(()) => 1,
                            Err(Error { cause: Cause::NotUnique, .. }) => 0,
                            Err(error) => panic!("{error}"),
                        }
                    })
                });
                writers.collect::<Vec<_>>().into_iter().map(|writer| writer.join().unwrap()).sum()
            });
            assert_eq!(made, 1, "round {round}");
        }
        check(&db, &rows(&keyspace)).unwrap();
    }
}

#[test]
fn no_write_misses_an_index_that_comes_while_it_is_computed() {
    let db = open(Arc::new(MemoryStorage::new()), Durability::Synced);
    let keyspace = users(&db).unwrap();
    let (name, definition) = &definitions()[1];
    db.create_index("by_email", &keyspace, &definitions()[0].1).unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..3_u64 {
            let (keyspace, is_done) = (&keyspace, &is_done);
            scope.spawn(move || {
                let mut random = Random::new(writer);
                for round in 0.. {
                    let number = random.below(3) * 3 + writer;
                    keyspace.insert(key(number), user(format!("{number}-{round}@x")).encode()).unwrap();
                    if is_done.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        for _ in 0..150 {
            db.create_index(name, &keyspace, definition).unwrap();
            let faults = db.verify(&mut |_, _| {}).unwrap().index_faults;
            assert!(faults.is_empty(), "{faults:?}");
            db.drop_index(name).unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
    });
    check(&db, &rows(&keyspace)).unwrap();
}

#[test]
fn an_index_that_is_built_while_others_write_has_all_entries() {
    for seed in 0..2 {
        let db = open(Arc::new(MemoryStorage::new()), Durability::Buffered);
        let keyspace = users(&db).unwrap();
        for number in 0..1500 {
            keyspace.insert(key(number), user(format!("{number}@x")).encode()).unwrap();
        }
        let indexes = definitions();
        thread::scope(|scope| {
            for writer in 0..3_u64 {
                let keyspace = &keyspace;
                scope.spawn(move || {
                    let mut random = Random::new(seed * 10 + writer);
                    for round in 0..200 {
                        let number = random.below(700) * 3 + writer;
                        match random.below(5) {
                            0 => keyspace.remove(key(number)).unwrap(),
                            1 => keyspace.remove_range(key(number)..key(number + 3)).unwrap(),
                            _ => {
                                let new = user(format!("{number}-{round}-{writer}@x"));
                                keyspace.insert(key(number), new.encode()).unwrap();
                            }
                        }
                    }
                });
            }
            for (name, definition) in &indexes[..2] {
                let (db, keyspace) = (&db, &keyspace);
                scope.spawn(move || db.create_index(name, keyspace, definition).map(drop).unwrap());
            }
        });
        let found = rows(&keyspace);
        assert!(are_unique(&found) && db.index("by_email").is_ok() && db.index("by_country").is_ok());
        check(&db, &found).unwrap();
    }
}
