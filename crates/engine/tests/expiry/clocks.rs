//! Clocks of stores with records that expire: set back, far ahead, after reopenings, in other processes.

use crate::support::{DAY, HOUR, START, at, format_of, small, store};
use ogive::io::Clock;
use ogive::lsm::{EXPIRING_FORMAT, STORE_FORMAT};
use ogive::{Cause, Db};
use std::time::Duration;

#[test]
fn a_clock_that_is_set_back_lets_no_record_come_back_also_after_a_reopening() {
    let (clock, db, storage) = store();
    db.insert_with("a", "1", at(START + HOUR)).unwrap();
    clock.pass(2 * HOUR);
    assert_eq!(db.get("a").unwrap(), None);
    clock.set_unix_ms(START);
    assert_eq!(db.get("a").unwrap(), None);
    db.close().unwrap();
    let db = Db::open(storage.clone(), &small(&clock)).unwrap();
    assert_eq!(db.get("a").unwrap(), None);
    let reader = Db::open_read_only(storage, &small(&Clock::moved_by_hand(START - DAY))).unwrap();
    assert_eq!(reader.get("a").unwrap(), None, "a reader knows the time of the writer");
}

#[test]
fn a_clock_far_ahead_expires_nothing_beyond_a_day_and_refuses_writes_that_expire_with_both_times() {
    let (clock, db, storage) = store();
    db.insert_with("soon", "1", at(START + 20 * HOUR)).unwrap();
    db.insert_with("later", "1", at(START + 30 * HOUR)).unwrap();
    clock.set_unix_ms(START + 4000 * DAY);
    let check = |db: &Db| {
        assert_eq!(db.get("soon").unwrap(), None);
        assert_eq!(db.get("later").unwrap().as_deref(), Some(&b"1"[..]));
        let refused = db.insert_with("new", "1", at(START + 5000 * DAY)).unwrap_err();
        assert_eq!(refused.cause, Cause::Input);
        let (time, clock) = ("2024-10-05T00:00:00", "2035-09-17T00:00:00");
        let text = refused.to_string();
        assert!(text.contains(time) && text.contains(clock) && text.contains("clock_ahead_max"), "{text}");
        assert_eq!(db.get("new").unwrap(), None);
        db.insert("plain", "1").unwrap();
    };
    for _ in 0..4 {
        check(&db);
        db.flush().unwrap();
    }
    db.close().unwrap();
    for _ in 0..3 {
        let db = Db::open(storage.clone(), &small(&clock)).unwrap();
        check(&db);
        db.compact().unwrap();
        db.close().unwrap();
    }
    let trusting = small(&clock).expiry(|expiry| expiry.clock_ahead_max(Duration::MAX));
    let db = Db::open(storage.clone(), &trusting).unwrap();
    assert_eq!(db.get("later").unwrap(), None);
    db.insert_with("new", "1", at(START + 5000 * DAY)).unwrap();
    db.close().unwrap();
    // Its time is recorded now.
    let db = Db::open(storage, &small(&clock)).unwrap();
    db.insert_with("newer", "1", at(START + 5000 * DAY)).unwrap();
}

#[test]
fn a_store_that_was_closed_for_long_goes_on_unless_the_machine_was_started_again() {
    let (clock, db, storage) = store();
    db.insert_with("a", "1", at(START + 40 * DAY)).unwrap();
    db.close().unwrap();
    clock.pass(50 * DAY);
    let reader = Db::open_read_only(storage.clone(), &small(&clock)).unwrap();
    assert_eq!(reader.get("a").unwrap(), None);
    let db = Db::open(storage.clone(), &small(&clock)).unwrap();
    db.insert_with("b", "1", at(START + 90 * DAY)).unwrap();
    db.close().unwrap();
    clock.restart();
    clock.pass(50 * DAY);
    let db = Db::open(storage, &small(&clock)).unwrap();
    let refused = db.insert_with("c", "1", at(START + 200 * DAY)).unwrap_err();
    assert!(refused.cause == Cause::Input && db.get("b").unwrap().is_some(), "{refused}");
}

#[test]
fn readers_of_other_processes_use_their_own_clocks() {
    let (_, db, storage) = store();
    db.insert_with("a", "1", at(START + HOUR)).unwrap();
    let reader = |ms: u64| Db::open_read_only(storage.clone(), &small(&Clock::moved_by_hand(ms))).unwrap();
    assert!(reader(START).get("a").unwrap().is_some() && reader(START + 2 * HOUR).get("a").unwrap().is_none());
    // The clock of a reader is no better than that of a writer.
    db.insert_with("b", "1", at(START + 30 * HOUR)).unwrap();
    let far_ahead = reader(START + 9000 * DAY);
    assert!(far_ahead.get("b").unwrap().is_some());
    assert_eq!(far_ahead.check_clock().unwrap_err().cause, Cause::Input);
    assert!(reader(START + 2 * HOUR).check_clock().is_ok());
}

#[test]
fn a_store_gets_the_format_of_expiring_records_with_the_first_one_and_not_before() {
    let (_, db, storage) = store();
    db.insert("a", "1").unwrap();
    db.flush().unwrap();
    assert_eq!(format_of(&storage), STORE_FORMAT);
    let mut refused = db.batch();
    refused.insert_with(&db, vec![0; 1 << 20], "1", at(START)).insert(&db, "b", "1");
    assert!(refused.commit().is_err());
    assert_eq!(format_of(&storage), STORE_FORMAT);
    db.insert_with("a", "1", at(START)).unwrap();
    assert_eq!(format_of(&storage), EXPIRING_FORMAT);
}

#[test]
fn a_clock_far_behind_the_time_of_the_store_refuses_writes_that_expire() {
    let (clock, db, storage) = store();
    clock.set_unix_ms(START + 4000 * DAY);
    db.insert_with("a", "1", at(START + 5000 * DAY)).unwrap();
    db.close().unwrap();
    // The clock was wrong, and is right now.
    clock.set_unix_ms(START);
    let db = Db::open(storage.clone(), &small(&clock)).unwrap();
    let refused = db.insert_with("b", "1", at(START + HOUR)).unwrap_err();
    let (time, clock_time) = ("2035-09-17T00:00:00", "2024-10-04T00:00:00");
    let text = refused.to_string();
    assert!(refused.cause == Cause::Input && text.contains(time) && text.contains(clock_time), "{text}");
    db.insert("plain", "1").unwrap();
    clock.set_unix_ms(START + 3999 * DAY);
    db.insert_with("b", "1", at(START + 5000 * DAY)).unwrap();
    let trusting = small(&clock).expiry(|expiry| expiry.clock_ahead_max(Duration::MAX));
    drop(db);
    clock.set_unix_ms(START);
    Db::open(storage, &trusting).unwrap().insert_with("c", "1", at(START + 5000 * DAY)).unwrap();
}

#[test]
fn no_count_is_called_exact_where_records_may_expire() {
    let (_, db, _) = store();
    let counted = |db: &Db| db.stats().keyspaces.iter().map(|of| (of.rows, of.is_exact)).collect::<Vec<_>>();
    db.insert("a", "1").unwrap();
    db.compact().unwrap();
    assert_eq!(counted(&db), [(1, true)]);
    db.insert_with("b", "1", at(START + HOUR)).unwrap();
    db.compact().unwrap();
    assert_eq!(counted(&db), [(2, false)]);
    let ruled = db.keyspace("ruled").unwrap();
    ruled.insert("a", "1").unwrap();
    ruled.expire_after(Some(Duration::from_secs(1))).unwrap();
    db.compact().unwrap();
    assert_eq!(counted(&db), [(2, false), (1, false)]);
}

#[test]
fn times_at_the_ends_are_taken() {
    let (clock, db, storage) = store();
    db.insert_with("past", "1", std::time::SystemTime::UNIX_EPOCH - Duration::from_secs(1)).unwrap();
    db.insert_with("future", "1", at(u64::MAX >> 12)).unwrap();
    clock.pass(10_000 * DAY);
    for _ in 0..2 {
        assert_eq!(db.get("past").unwrap(), None);
        assert_eq!(db.get("future").unwrap().as_deref(), Some(&b"1"[..]));
        db.compact().unwrap();
    }
    db.close().unwrap();
    let clock = Clock::moved_by_hand(u64::MAX);
    let options = small(&clock).expiry(|expiry| expiry.clock_ahead_max(Duration::MAX).grace(Duration::MAX));
    let db = Db::open(storage, &options).unwrap();
    db.compact().unwrap();
    assert_eq!(db.iter().count(), 0);
}
