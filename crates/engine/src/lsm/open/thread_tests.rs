//! Tests of refused threads. Goal: a thread that the system refuses to start is an error at opening, or the work is
//! done without it, and no data is lost. Method: the same work is repeated, with another thread refused each time, and
//! then with all threads from that one on refused.

use crate::error::{Cause, Error};
use crate::io::{MemoryStorage, Storage, refusing};
use crate::lsm::{Db, DbOptions};
use std::sync::Arc;

fn options(threads: usize) -> DbOptions {
    DbOptions::default()
        .threads(threads)
        .memory_bytes(8 << 20)
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .levels(|levels| levels.table_bytes(64 << 10))
}

fn key(number: u32) -> [u8; 4] {
    number.wrapping_mul(2_654_435_761).to_be_bytes()
}

#[test]
fn a_store_whose_threads_cannot_be_started_says_so_and_opens_later() {
    for lasting in [false, true] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut refused = 0;
        for at in 0..=3 {
            let (opened, was_asked) = refusing(at, lasting, || Db::open(Arc::clone(&storage), &options(3)));
            match opened {
                Err(error @ Error { cause: Cause::Io(_), .. }) if error.action() == "start a thread for" => {
                    assert!(error.to_string().contains("ulimit -u"), "{error}");
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
                Ok(db) => assert!(!was_asked && db.get("key").unwrap().is_some()),
            }
            let db = Db::open(Arc::clone(&storage), &options(3)).unwrap();
            db.insert("key", at.to_string()).unwrap();
            db.close().unwrap();
        }
        assert_eq!(refused, 3);
    }
}

#[test]
fn flushes_and_compactions_need_no_thread() {
    for (at, lasting) in [(0, false), (1, false), (0, true), (5, true)] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let (outcome, _) = refusing(at, lasting, || {
            let db = Db::open(Arc::clone(&storage), &options(0))?;
            for number in 0..20_000 {
                db.insert(key(number), vec![number as u8; 60])?;
            }
            db.compact()?;
            db.close()
        });
        outcome.unwrap();
        let db = Db::open(storage, &options(0)).unwrap();
        for number in 0..20_000 {
            assert_eq!(db.get(key(number)).unwrap().as_deref(), Some(&[number as u8; 60][..]));
        }
    }
}
