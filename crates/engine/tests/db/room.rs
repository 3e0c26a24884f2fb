//! Tests of stores that are short of memory for open tables, or crowded. Goal: a flush finds room wherever a merge
//! makes it, writers wait for work that others do, and a store goes on after a failure or ends while it makes room.
//! Method: the least memory, tables of one record, many keyspaces, several threads, and a full disk.

use crate::support::{LEAST_MEMORY, Records, collect};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::{Cause, Durability, Error};
use ogive_testkit::{Fault, FaultInjector, Operation};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

fn options(threads: usize) -> DbOptions {
    DbOptions::default()
        .threads(threads)
        .durability(Durability::Buffered)
        .memory_bytes(LEAST_MEMORY)
        .values(|values| values.separation_bytes(u64::MAX))
}

/// The threads of a store sleep while it has failed.
#[test]
fn a_store_with_threads_goes_on_after_a_failed_flush() {
    for threads in [0, 1, 2, 8] {
        let disk = FaultInjector::new(Arc::new(MemoryStorage::new()));
        let db = Db::open(Arc::new(disk.clone()) as Arc<dyn Storage>, &options(threads)).unwrap();
        db.insert("a", "1").unwrap();
        disk.fail_from(Operation::Create, 1, Fault::NoSpace);
        db.flush().unwrap_err();
        disk.clear();
        db.resume().unwrap();
        db.insert("b", "2").unwrap();
        db.flush().unwrap();
        assert_eq!(
            collect(db.iter()).unwrap(),
            Records::from([(b"a".into(), b"1".into()), (b"b".into(), b"2".into())])
        );
    }
}

/// A store without threads works in its callers, and the others wait for the one that does.
#[test]
fn writers_of_a_store_without_threads_wait_for_one_another() {
    let db = Db::open(memory(), &options(0)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !stop.load(Ordering::Relaxed) {
                most = most.max(db.stats().keyspaces[0].levels[0].tables);
                std::thread::yield_now();
            }
            most
        });
        let writers = [0, 1, 2, 3].map(|writer: u64| {
            let db = &db;
            scope.spawn(move || {
                for number in 0..8_000_u64 {
                    let key = (number * 4 + writer).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
                    db.insert(key, [7; 300]).unwrap();
                }
            })
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        stop.store(true, Ordering::Relaxed);
        let most = watch.join().unwrap();
        // Level 0 stalls writers from 20 tables on, and a flush may be under way.
        assert!(most <= 24, "{most} tables in level 0");
    });
}

/// Tables of level 0 are merged, too, although none of many keyspaces has enough of them to make that due.
#[test]
fn flushes_of_many_keyspaces_find_room_in_the_least_memory() {
    for threads in [0, 1, 2] {
        let storage = memory();
        let db = Db::open(Arc::clone(&storage), &options(threads)).unwrap();
        let keyspaces: Vec<_> = (0..75).map(|number| db.keyspace(&format!("k{number}")).unwrap()).collect();
        for round in 0..10_u64 {
            for keyspace in &keyspaces {
                keyspace.insert(round.to_be_bytes(), "value").unwrap();
            }
            db.flush().unwrap();
        }
        for keyspace in &keyspaces {
            assert_eq!(keyspace.iter().count(), 10);
        }
        db.compact().unwrap();
        drop(keyspaces);
        drop(db);
        Db::open(storage, &options(threads)).unwrap();
    }
}

/// A flush that makes room is interrupted by a closing, which is no failure.
#[test]
fn a_store_is_closed_while_a_flush_makes_room() {
    for threads in [0, 1, 2] {
        for round in 0..6 {
            let storage = memory();
            let options = options(threads).levels(|levels| levels.table_bytes(1));
            let db = Db::open(Arc::clone(&storage), &options).unwrap();
            std::thread::scope(|scope| {
                for writer in 0..3_u64 {
                    let db = db.clone();
                    scope.spawn(move || {
                        for number in 0.. {
                            let key = (number * 3 + writer).to_be_bytes();
                            let done = db.insert(key, key).and_then(|()| db.flush());
                            match done {
                                Ok(()) => {}
                                Err(Error { cause: Cause::Interrupted | Cause::Closed, .. }) => break,
                                Err(error) => panic!("{error}"),
                            }
                        }
                    });
                }
                while db.activity().flushes < 100 + 50 * round {
                    std::thread::yield_now();
                }
                db.close().unwrap();
            });
            Db::open(storage, &options).unwrap();
        }
    }
}
