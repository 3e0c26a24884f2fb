//! Tests of what is a conflict and what is none, and of its error. Goal: whatever was read and written since, by
//! whomever, is a conflict that names keyspace and key; what was not read, or only moved, is none. Method: courses of
//! events in one thread.

use crate::support::{is_conflict, small, store};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{DbTransaction, Isolation};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::types::{KeyType, RecordType, Value};
use ogive::{Cause, Db, Durability, Error, ErrorKind};
use std::sync::Arc;

/// A transaction that has read some keys, present and absent, and a range.
fn reader(db: &Db) -> DbTransaction {
    let tx = db.begin();
    tx.multi_get(db, ["b", "c"]).unwrap();
    assert!(!tx.contains_key(db, "d").unwrap());
    assert_eq!(tx.range(db, "m".."p").count(), 1);
    tx.insert(db, "written", "1").unwrap();
    tx
}

fn filled() -> Db {
    let db = store();
    for key in ["a", "b", "n", "q"] {
        db.insert(key, "1").unwrap();
    }
    db
}

fn table(keys: &[&str]) -> (Arc<dyn Storage>, String) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::Bytes);
    let mut writer = TableWriter::create((Arc::clone(&storage), "table"), options).unwrap();
    keys.iter().for_each(|key| writer.append(key.as_bytes(), b"2").unwrap());
    writer.finish().unwrap();
    (storage, "table".to_owned())
}

#[test]
fn every_write_to_what_was_read_is_a_conflict() {
    type Write = fn(&Db) -> ogive::Result<()>;
    let writes: [(&str, Write); 10] = [
        ("insert", |db| db.insert("b", "2")),
        ("the same value", |db| db.insert("b", "1")),
        ("remove", |db| db.remove("b")),
        ("insert of an absent key", |db| db.insert("d", "2")),
        ("a key that comes and goes", |db| db.insert("c", "2").and_then(|()| db.remove("c"))),
        ("stream", |db| db.insert_stream("b", &mut &b"2"[..])),
        ("range removal", |db| db.remove_range("a".."bb")),
        ("range removal of nothing", |db| db.remove_range("o".."z")),
        ("ingestion", |db| db.ingest_from(&[table(&["a", "d"])]).map(drop)),
        ("compare-and-swap", |db| db.replace_if("n", "1", "2").map(|swap| assert!(swap.is_done()))),
    ];
    for (name, write) in writes {
        let moves: [Write; 3] = [|_| Ok(()), Db::flush, Db::compact];
        for moves in moves {
            let db = filled();
            let tx = reader(&db);
            write(&db).unwrap();
            moves(&db).unwrap();
            assert!(is_conflict(tx.commit()), "{name}");
            assert_eq!(db.get("written").unwrap(), None);
        }
    }
}

#[test]
fn what_was_not_read_or_only_moved_is_no_conflict() {
    let options = small().writes(|writes| writes.memtable_bytes(256 << 10));
    let db = Db::open(Arc::new(MemoryStorage::new()), &options).unwrap();
    ["a", "b", "q"].iter().for_each(|key| db.insert(key, "1").unwrap());
    // The value of a key that is read is in a file with values that are dead once they are compacted.
    let value = vec![7; 5000];
    (0..20).for_each(|round| db.insert(format!("r {round}"), &value).unwrap());
    db.insert("n", &value).unwrap();
    db.flush().unwrap();
    (0..20).for_each(|round| db.insert(format!("r {round}"), "short").unwrap());
    let tx = reader(&db);
    let moved_before = db.activity().moved_value_bytes;
    let keyspace = db.keyspace("others").unwrap();
    for round in 0..200_u32 {
        // Beside what was read: before, between and behind.
        for key in ["a", "bb", "l", "p", "q", "zz"] {
            db.insert(key, round.to_string()).unwrap();
        }
        keyspace.insert("b", "2").unwrap();
    }
    db.remove_range("p".."z").unwrap();
    db.remove_range("e".."m").unwrap();
    db.ingest_from(&[table(&["a", "l", "p"])]).unwrap();
    db.flush().unwrap();
    db.compact().unwrap();
    assert!(db.activity().moved_value_bytes > moved_before, "no value was moved");
    db.drop_keyspace("others").unwrap();
    tx.commit().unwrap();
    assert_eq!(db.get("written").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn a_range_has_read_as_far_as_it_was_iterated() {
    let take = |forward: bool, written: &str| {
        let db = store();
        ["b", "d", "f", "h"].iter().for_each(|key| db.insert(key, "1").unwrap());
        let tx = db.begin();
        let mut range = tx.range(&db, "a".."i");
        let taken: Vec<_> =
            (0..2).map(|_| if forward { range.next() } else { range.next_back() }.unwrap().unwrap().0).collect();
        assert_eq!(*taken[1], *if forward { b"d" } else { b"f" });
        tx.insert(&db, "z", "1").unwrap();
        db.insert(written, "2").unwrap();
        is_conflict(tx.commit())
    };
    for (written, by_start, by_end) in [
        ("A", false, false),
        ("a", true, false),
        ("c", true, false),
        ("d", true, false),
        ("e", false, false),
        ("f", false, true),
        ("g", false, true),
        ("hh", false, true),
        ("i", false, false),
    ] {
        assert_eq!([take(true, written), take(false, written)], [by_start, by_end], "{written}");
    }
}

#[test]
fn a_conflict_names_keyspace_and_key_and_is_busy() {
    let db = store();
    let accounts = db.keyspace("accounts").unwrap();
    let tx = db.begin();
    tx.get(&accounts, "ada\n").unwrap();
    tx.insert(&db, "x", "1").unwrap();
    accounts.insert("ada\n", "2").unwrap();
    let error = tx.commit().unwrap_err();
    assert_eq!((error.cause, error.kind(), error.name()), (Cause::Conflict, ErrorKind::Busy, "accounts"));
    let shown = error.to_string();
    assert!(shown.contains("\"accounts\"") && shown.contains("ada\\n"), "{shown}");
    // The store goes on.
    db.insert("x", "3").unwrap();
}

#[test]
fn a_keyspace_that_was_dropped_or_altered_is_a_conflict_if_it_was_read() {
    for is_read in [true, false] {
        for change in [
            |db: &Db| db.drop_keyspace("other").map(drop),
            |db: &Db| db.keyspace("other")?.declare(&RecordType::new(KeyType::Text, KeyType::U32)).map(drop),
        ] {
            let db = store();
            let other = db.keyspace("other").unwrap();
            let tx = db.begin();
            if is_read {
                assert_eq!(tx.get(&other, "key").unwrap(), None);
            }
            change(&db).unwrap();
            tx.insert(&db, "x", "1").unwrap();
            assert_eq!(is_conflict(tx.commit()), is_read);
        }
    }
    let db = store();
    let other = db.keyspace("other").unwrap();
    let tx = db.begin();
    tx.insert(&other, "key", "1").unwrap();
    db.drop_keyspace("other").unwrap();
    assert_eq!(tx.commit().unwrap_err().cause, Cause::KeyspaceDropped);
}

#[test]
fn transactions_that_only_read_or_only_write_never_conflict() {
    let db = filled();
    let (reads, writes) = (db.begin(), db.begin());
    reads.get(&db, "b").unwrap();
    writes.insert(&db, "b", "3").unwrap();
    writes.remove(&db, "n").unwrap();
    db.insert("b", "2").unwrap();
    db.remove_range::<&str>(..).unwrap();
    reads.commit().unwrap();
    writes.commit().unwrap();
    assert_eq!(db.get("b").unwrap().as_deref(), Some(&b"3"[..]));
    // A key that it has written itself before it was read is not read.
    let tx = db.begin();
    tx.insert(&db, "b", "4").unwrap();
    assert_eq!(tx.get(&db, "b").unwrap().as_deref(), Some(&b"4"[..]));
    db.insert("b", "5").unwrap();
    tx.commit().unwrap();
}

/// What others write to a range that is removed is removed, too, and is no conflict unless the range was read; a key
/// that was removed so is not read.
#[test]
fn a_range_removal_removes_what_is_there_at_the_commit() {
    let keys = |db: &Db| -> Vec<_> { db.iter().map(|record| record.unwrap().0.to_vec()).collect() };
    let db = filled();
    let tx = db.begin();
    tx.insert(&db, "n", "2").unwrap();
    tx.remove_range(&db, "b".."p").unwrap();
    tx.insert(&db, "c", "2").unwrap();
    assert_eq!(tx.get(&db, "b").unwrap(), None);
    db.insert("b", "3").unwrap();
    db.insert("m", "3").unwrap();
    tx.commit().unwrap();
    assert_eq!(keys(&db), [b"a", b"c", b"q"]);

    let tx = db.begin();
    assert_eq!(tx.range(&db, "b".."p").count(), 1);
    tx.remove_range(&db, "b".."p").unwrap();
    db.insert("m", "3").unwrap();
    assert!(is_conflict(tx.commit()));
    assert_eq!(keys(&db), [b"a", b"c", b"m", b"q"]);
}

/// Of two handles of a store, each sees what all have open.
#[test]
fn open_transactions_are_counted_and_the_oldest_has_an_age() {
    let db = filled();
    assert_eq!((db.stats().open_transactions, db.stats().oldest_transaction_s), (0, None));
    let (oldest, other) = (db.clone().begin(), db.begin());
    let age = db.stats().oldest_transaction_s.unwrap();
    assert!(age >= 0.0);
    other.commit().unwrap();
    let stats = db.stats();
    assert_eq!(stats.open_transactions, 1);
    assert!(stats.oldest_transaction_s.unwrap() >= age);
    drop(oldest);
    assert_eq!(db.stats().open_transactions, 0);
    db.transaction(|tx| tx.insert(&db, "x", db.stats().open_transactions.to_string())).unwrap();
    assert_eq!((db.get("x").unwrap().as_deref(), db.stats().open_transactions), (Some(&b"1"[..]), 0));
}

#[test]
fn more_reads_than_memory_make_more_conflicts_and_never_fewer() {
    let options = small().writes(|writes| writes.transaction_bytes(2000));
    let read_then_write = |written: &str| {
        let db = Db::open(Arc::new(MemoryStorage::new()), &options).unwrap();
        let tx = db.begin();
        for number in 0..1000 {
            tx.get(&db, format!("{:04}", 2 * number)).unwrap();
        }
        tx.insert(&db, "x", "1").unwrap();
        db.insert(written, "2").unwrap();
        is_conflict(tx.commit())
    };
    for read in [0, 778, 1000, 1998] {
        assert!(read_then_write(&format!("{read:04}")), "{read}");
    }
    // What lies between the keys that were read may count as read, and what lies behind them does not.
    assert!(read_then_write("0777"));
    assert!(!read_then_write("x"));
}

#[test]
fn writes_beyond_the_memory_are_an_error_and_lose_nothing() {
    let options = small().writes(|writes| writes.transaction_bytes(10_000));
    let db = Db::open(Arc::new(MemoryStorage::new()), &options).unwrap();
    let tx = db.begin();
    let mut written = 0;
    let refused = loop {
        match tx.insert(&db, format!("{written:04}"), [0; 100]) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused.cause, Cause::Input);
    assert!((10..100).contains(&written), "{written}");
    assert_eq!(tx.range::<&str>(&db, ..).count(), written);
    tx.commit().unwrap();
    assert_eq!(db.iter().count(), written);
}

#[test]
fn a_transaction_is_run_again_after_a_conflict_and_not_after_an_error() {
    let db = store();
    let mut runs = 0;
    db.transaction(|tx| {
        runs += 1;
        let before = tx.get(&db, "x")?;
        if runs < 4 {
            db.insert("x", runs.to_string())?;
        }
        tx.insert(&db, "y", before.unwrap_or_else(|| b"none"[..].into()))
    })
    .unwrap();
    assert_eq!((runs, db.get("y").unwrap().as_deref()), (4, Some(&b"3"[..])));

    let failed: Result<(), Error> = db.transaction(|tx| {
        tx.insert(&db, "y", "never")?;
        Err(Error::input("no"))
    });
    assert_eq!(failed.unwrap_err().cause, Cause::Input);
    assert_eq!(db.get("y").unwrap().as_deref(), Some(&b"3"[..]));

    runs = 0;
    let always = db.transaction(|tx| {
        runs += 1;
        tx.get(&db, "x")?;
        db.insert("x", runs.to_string())?;
        tx.insert(&db, "y", "never")
    });
    assert_eq!((always.unwrap_err().cause, runs), (Cause::Conflict, 64));
}

#[test]
fn a_batch_expects_values_and_is_committed_wholly_or_not_at_all() {
    let db = filled();
    let commit = |expected: &[(&str, Option<&[u8]>)]| {
        let mut batch = db.batch();
        expected.iter().for_each(|(key, value)| _ = batch.expect(&db, key, *value));
        batch.insert(&db, "x", "1").insert(&db, "b", "2");
        batch.commit()
    };
    assert!(is_conflict(commit(&[("b", Some(b"1")), ("c", Some(b"1"))])));
    assert!(is_conflict(commit(&[("b", Some(b"9"))])));
    assert!(is_conflict(commit(&[("a", None)])));
    assert_eq!(db.get("x").unwrap(), None);
    commit(&[("b", Some(b"1")), ("c", None)]).unwrap();
    let error = commit(&[("b", Some(b"1"))]).unwrap_err();
    assert_eq!((error.cause, error.name(), error.key()), (Cause::Conflict, "default", Some(&b"b"[..])));
    assert!(error.to_string().contains("\"b\""), "{error}");
    assert_eq!(db.get("b").unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn a_transaction_expects_values_with_each_isolation() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let db = filled();
        let begin = || {
            let mut tx = db.begin();
            tx.isolation(isolation);
            tx.insert(&db, "x", "1").unwrap();
            tx
        };
        // What is there is compared at the call.
        let tx = begin();
        for (key, value) in [("b", Some(&b"2"[..])), ("b", None), ("c", Some(b"1")), ("x", None)] {
            let error = tx.expect(&db, key, value).unwrap_err();
            assert_eq!((error.cause, error.name(), error.key()), (Cause::Conflict, "default", Some(key.as_bytes())));
        }
        for (key, value) in [("b", Some(&b"1"[..])), ("c", None), ("x", Some(b"1"))] {
            tx.expect(&db, key, value).unwrap();
        }
        tx.commit().unwrap();
        // What others write is compared at the commit.
        for (key, value) in [("b", Some(&b"1"[..])), ("c", None)] {
            let tx = begin();
            tx.expect(&db, key, value).unwrap();
            db.insert(key, "3").unwrap();
            assert!(is_conflict(tx.commit()), "{isolation:?} {key}");
        }
        // Its own value is none that others write.
        let tx = begin();
        tx.expect(&db, "x", Some(b"1")).unwrap();
        db.insert("q", "3").unwrap();
        tx.commit().unwrap();
    }
}

#[test]
fn a_transaction_compares_expected_values_by_their_types() {
    let db = store();
    let rates = db.keyspace("rates").unwrap();
    let types = rates.declare(&RecordType::new(KeyType::Text, KeyType::F64)).unwrap();
    let of = |rate: f64| types.types().values.encode(&Value::Float(rate)).unwrap();
    // There is more than one NaN.
    rates.insert("fig", of(-f64::NAN)).unwrap();
    let tx = db.begin();
    tx.expect_as(&types, "fig", Some(&of(f64::NAN))).unwrap();
    tx.expect_as(&types, "lime", None).unwrap();
    assert!(tx.expect(&rates, "fig", Some(&of(f64::NAN))).is_err());
    assert_eq!(tx.expect_as(&types, "fig", Some(b"short")).unwrap_err().cause, Cause::Input);
}

#[test]
fn counters_of_many_threads_count_each_addition() {
    for durability in [Durability::Synced, Durability::Buffered] {
        let db = Db::open(Arc::new(MemoryStorage::new()), &small().durability(durability)).unwrap();
        let visits = db.keyspace("visits").unwrap().typed::<str, u64>().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (db, visits) = (&db, &visits);
                scope.spawn(move || {
                    for _ in 0..100 {
                        visits.fetch_add("all", 1).unwrap();
                        visits.update(format!("of {thread}").as_str(), |old| Some(old.unwrap_or(0) + 1)).unwrap();
                        db.update("log", |old| Some([old.unwrap_or_default(), b"."].concat())).unwrap();
                    }
                });
            }
        });
        assert_eq!(visits.load("all").unwrap(), Some(400));
        assert_eq!(visits.load("of 2").unwrap(), Some(100));
        assert_eq!(db.get("log").unwrap().map(|log| log.len()), Some(400));
    }
}

/// One request to an object store, or one sync, serves all that wait at the same time.
#[test]
fn transactions_at_the_same_time_share_a_group() {
    let options = small().objects(|objects| objects.gather_ms(100));
    let db = Db::open(Arc::new(MemoryStorage::objects()), &options).unwrap();
    let before = db.activity();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let db = &db;
            scope.spawn(move || {
                let tx = db.begin();
                assert_eq!(tx.get(db, format!("{thread}")).unwrap(), None);
                tx.insert(db, format!("{thread}"), "1").unwrap();
                tx.commit().unwrap();
            });
        }
    });
    let after = db.activity();
    let (batches, groups) = (after.batches - before.batches, after.groups - before.groups);
    assert!(batches == 6 && groups < 6, "{batches} transactions in {groups} groups");
}
