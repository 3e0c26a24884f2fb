//! Compactions of records that have expired: what stays, what goes, and what is not read for it.

use crate::support::{DAY, HOUR, MINUTE, START, at, small, store};
use ogive::io::{Clock, MemoryStorage};
use ogive::{Db, DbOptions};
use std::sync::Arc;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn fill(db: &Db, numbers: std::ops::Range<u32>, expires_ms: u64) {
    for number in numbers {
        db.insert_with(key(number), [7; 40], at(expires_ms)).unwrap();
    }
}

#[test]
fn whole_tables_are_dropped_without_reading_them_once_all_their_entries_have_expired() {
    let (clock, db, _) = store();
    fill(&db, 0..400, START + HOUR);
    db.compact().unwrap();
    let before = (db.tables().len(), db.stats().activity);
    assert!(before.0 > 4, "{before:?}");
    clock.pass(HOUR + 30 * MINUTE);
    db.insert("other", "1").unwrap();
    db.flush().unwrap();
    assert_eq!(db.tables().len(), before.0 + 1, "the grace period is not over");
    clock.pass(HOUR);
    db.insert("another", "1").unwrap();
    db.flush().unwrap();
    let after = (db.tables().len(), db.stats().activity);
    assert!(after.0 <= 2, "{after:?}");
    assert_eq!(after.1.compaction_read_bytes, before.1.compaction_read_bytes);
    assert_eq!(db.estimate().0, 2);
}

#[test]
fn a_snapshot_keeps_the_tables_that_it_sees() {
    let (clock, db, _) = store();
    fill(&db, 0..200, START + HOUR);
    db.compact().unwrap();
    let snapshot = db.snapshot();
    clock.pass(DAY);
    db.compact().unwrap();
    assert_eq!(db.iter().count(), 0);
    assert_eq!(snapshot.range::<&[u8]>(&db, ..).count(), 200);
    drop(snapshot);
    db.compact().unwrap();
    assert!(db.tables().is_empty());
}

/// An expired record lies above older ones, which have not expired, in every level.
#[test]
fn an_expired_record_uncovers_no_older_one_through_any_compaction() {
    for deep in [false, true] {
        let (clock, db, _) = store();
        for number in 0..200 {
            db.insert(key(number), "older").unwrap();
        }
        if deep {
            db.compact().unwrap();
        } else {
            db.flush().unwrap();
        }
        fill(&db, 0..200, START + HOUR);
        db.flush().unwrap();
        for _ in 0..6 {
            clock.pass(40 * MINUTE);
            db.insert("other", "1").unwrap();
            db.flush().unwrap();
            let alive = if clock.unix_ms() < START + HOUR { 200 } else { 0 };
            assert_eq!(db.iter().count(), alive + 1);
        }
        db.compact().unwrap();
        assert_eq!((db.iter().count(), db.estimate().0), (1, 1));
    }
}

/// What has expired before it is flushed lies above older records, which the flush does not read.
#[test]
fn a_flush_of_expired_records_uncovers_no_older_ones() {
    let (clock, db, _) = store();
    for number in 0..10 {
        db.insert(key(number), "older").unwrap();
    }
    db.compact().unwrap();
    fill(&db, 0..10, START + HOUR);
    clock.pass(3 * HOUR);
    for _ in 0..2 {
        db.flush().unwrap();
        assert_eq!(db.iter().count(), 0);
        db.compact().unwrap();
        assert_eq!((db.iter().count(), db.estimate().0), (0, 0));
    }
}

#[test]
fn a_table_of_which_much_has_expired_is_rewritten() {
    let (clock, db, _) = store();
    for number in 0..300 {
        let expires_ms = if number % 3 == 0 { START + 9000 * DAY } else { START + HOUR };
        db.insert_with(key(number), [7; 40], at(expires_ms)).unwrap();
    }
    db.compact().unwrap();
    let before = db.estimate().0;
    clock.pass(3 * HOUR);
    db.compact().unwrap();
    assert_eq!((before, db.estimate().0, db.iter().count()), (300, 100, 100));
}

#[test]
fn entries_whose_times_are_spread_make_a_compaction_due_when_half_of_them_have_expired() {
    let (clock, db, _) = store();
    for number in 0..300_u32 {
        db.insert_with(key(number), [7; 40], at(START + u64::from(number % 100) * MINUTE)).unwrap();
    }
    db.compact().unwrap();
    clock.pass(60 * MINUTE + 75 * MINUTE);
    db.insert("other", "1").unwrap();
    db.flush().unwrap();
    assert!(db.estimate().0 < 150, "{}", db.estimate().0);
}

/// With threads of its own, a store without writers drops tables when their time has come.
#[test]
fn an_idle_store_drops_tables_when_their_time_has_come() {
    let clock = Clock::default();
    let options: DbOptions = small(&clock).threads(2).expiry(|expiry| expiry.grace(std::time::Duration::ZERO));
    let db = Db::open(Arc::new(MemoryStorage::new()), &options).unwrap();
    fill(&db, 0..200, clock.unix_ms() + 1500);
    db.flush().unwrap();
    db.compact().unwrap();
    for _ in 0..200 {
        if db.tables().is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{:?}", db.stats());
}
