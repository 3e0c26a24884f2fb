//! Tests of commits whose request or sync fails. Goal: the error says that the outcome is unknown, and is never a
//! conflict; after any other error nothing has changed. Method: a storage whose puts of logs fail, before or after they
//! were made, and a failing sync; then the store is opened again.

use crate::support::{small, store};
use ogive::io::{MemoryStorage, Storage, StorageWrapper};
use ogive::{Cause, Db, DbOptions, Error, Result};
use ogive_testkit::{Fault, FaultInjector, Operation};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Options of a store whose memtables do not fill up, so that the only request of a commit is that for its group.
fn options() -> DbOptions {
    small().writes(|writes| writes.memtable_bytes(1 << 20))
}

/// What happens to puts of logs.
const PUT: u8 = 0;
const LOST: u8 = 1;
const ANSWER_LOST: u8 = 2;

/// An object store whose puts of logs may be lost, or have no answer.
#[derive(Debug)]
struct Unanswered {
    inner: MemoryStorage,
    fate: AtomicU8,
}

impl StorageWrapper for Unanswered {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let fate = if name.starts_with("wal-") { self.fate.load(Ordering::Relaxed) } else { PUT };
        if fate != LOST {
            self.inner.put_if_absent(name, bytes)?;
        }
        match fate {
            PUT => Ok(()),
            _ => Err(Error::io("write", name, ErrorKind::TimedOut.into())),
        }
    }
}

#[test]
fn a_commit_without_an_answer_says_that_its_outcome_is_unknown() {
    for (fate, is_there) in [(LOST, false), (ANSWER_LOST, true)] {
        let storage = Arc::new(Unanswered { inner: MemoryStorage::objects(), fate: AtomicU8::new(PUT) });
        let db = Db::open(Arc::clone(&storage) as Arc<dyn Storage>, &options()).unwrap();
        db.insert("x", "1").unwrap();
        storage.fate.store(fate, Ordering::Relaxed);
        let mut runs = 0;
        let error = db
            .transaction(|tx| {
                runs += 1;
                tx.get(&db, "x")?;
                tx.insert(&db, "x", "2")
            })
            .unwrap_err();
        assert_eq!((error.cause, runs), (Cause::Io(ErrorKind::TimedOut), 1), "{error}");
        assert!(error.is_outcome_unknown() && error.to_string().contains("the outcome is unknown"), "{error}");

        // What is not even tried has an outcome.
        let later = db.insert("y", "1").unwrap_err();
        assert_eq!(later.cause, Cause::ReadOnly);
        assert!(!later.is_outcome_unknown() && !later.to_string().contains("unknown"), "{later}");
        drop(db);
        storage.fate.store(PUT, Ordering::Relaxed);
        let db = Db::open(storage as Arc<dyn Storage>, &options()).unwrap();
        let found = db.get("x").unwrap();
        assert_eq!(found.as_deref(), Some(if is_there { &b"2"[..] } else { b"1" }));
    }
}

/// All transactions that share the request are told so.
#[test]
fn transactions_that_share_a_failed_request_have_unknown_outcomes() {
    let storage = Arc::new(Unanswered { inner: MemoryStorage::objects(), fate: AtomicU8::new(PUT) });
    let options = options().objects(|objects| objects.gather_ms(100));
    let db = Db::open(Arc::clone(&storage) as Arc<dyn Storage>, &options).unwrap();
    storage.fate.store(ANSWER_LOST, Ordering::Relaxed);
    let begun: Vec<_> = (0..4).map(|number| (number.to_string(), db.begin())).collect();
    std::thread::scope(|scope| {
        let commit = |(key, tx): (String, ogive::lsm::DbTransaction)| {
            tx.get(&db, &key).unwrap();
            tx.insert(&db, &key, "1").unwrap();
            tx.commit().unwrap_err()
        };
        let threads: Vec<_> = begun.into_iter().map(|begun| scope.spawn(move || commit(begun))).collect();
        let errors: Vec<Error> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(errors.iter().all(|error| error.cause != Cause::Conflict));
        assert!(errors.iter().any(Error::is_outcome_unknown));
    });
}

#[test]
fn a_commit_whose_sync_fails_says_that_its_outcome_is_unknown() {
    let injector = Arc::new(FaultInjector::new(Arc::new(MemoryStorage::new())));
    let db = Db::open(Arc::clone(&injector) as Arc<dyn Storage>, &options()).unwrap();
    injector.fail_once(Operation::Sync, 0, Fault::DeviceError);
    let tx = db.begin();
    tx.get(&db, "x").unwrap();
    tx.insert(&db, "x", "1").unwrap();
    let error = tx.commit().unwrap_err();
    assert!(error.is_outcome_unknown() && error.cause != Cause::Conflict, "{error}");

    let db = store();
    let tx = db.begin();
    tx.get(&db, "x").unwrap();
    tx.insert(&db, "x", "1").unwrap();
    db.insert("x", "2").unwrap();
    let error = tx.commit().unwrap_err();
    assert!(!error.is_outcome_unknown() && !error.to_string().contains("unknown"), "{error}");
}
