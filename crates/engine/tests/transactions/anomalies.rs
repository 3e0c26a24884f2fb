//! Tests of anomalies by name, after Berenson and others ("A critique of ANSI SQL isolation levels", 1995), Adya (1999)
//! and Fekete, O'Neil and O'Neil ("A read-only transaction anomaly under snapshot isolation", 2004). Goal: none is
//! possible. Method: the interleaving of each, in one thread; the transaction that would complete it conflicts.

use crate::support::{is_conflict, number, store};
use ogive::{Db, Isolation};

#[test]
fn lost_update() {
    let db = store();
    let add_one = |tx: &ogive::DbTransaction| {
        let before = number(tx.get(&db, "x").unwrap());
        tx.insert(&db, "x", (before + 1).to_string()).unwrap();
    };
    let (one, other) = (db.begin(), db.begin());
    add_one(&one);
    add_one(&other);
    one.commit().unwrap();
    assert!(is_conflict(other.commit()));
    assert_eq!(number(db.get("x").unwrap()), 1);
}

/// Two doctors are on call, and each leaves if the other one stays.
#[test]
fn write_skew() {
    let leave = |db: &Db, isolation| {
        db.insert("ann", "on call").unwrap();
        db.insert("bob", "on call").unwrap();
        let [ann, bob] = [("ann", "bob"), ("bob", "ann")].map(|(name, colleague)| {
            let mut tx = db.begin();
            tx.isolation(isolation);
            assert!(tx.get(db, colleague).unwrap().is_some());
            tx.remove(db, name).unwrap();
            tx
        });
        ann.commit().unwrap();
        is_conflict(bob.commit())
    };
    let db = store();
    assert!(leave(&db, Isolation::Serializable));
    assert_eq!(db.iter().count(), 1);
    // Snapshot isolation allows it, as its documentation says.
    assert!(!leave(&db, Isolation::Snapshot));
    assert_eq!(db.iter().count(), 0);
}

/// The sum of two accounts is the same in each transaction, whatever is moved meanwhile.
#[test]
fn read_skew() {
    let db = store();
    db.insert("x", "50").unwrap();
    db.insert("y", "50").unwrap();
    let tx = db.begin();
    let x = number(tx.get(&db, "x").unwrap());
    let mut batch = db.batch();
    batch.insert(&db, "x", "25").insert(&db, "y", "75");
    batch.commit().unwrap();
    db.compact().unwrap();
    assert_eq!(x + number(tx.get(&db, "y").unwrap()), 100);
    tx.commit().unwrap();
}

/// Meetings of one room, each added if there is none at its time.
#[test]
fn phantom() {
    let db = store();
    let add_meeting = |tx: &ogive::DbTransaction, at: &str| {
        assert_eq!(tx.range(&db, "room 1, 10:00".."room 1, 11:00").count(), 0);
        tx.insert(&db, at, "meeting").unwrap();
    };
    let (one, other) = (db.begin(), db.begin());
    add_meeting(&one, "room 1, 10:15");
    add_meeting(&other, "room 1, 10:30");
    one.commit().unwrap();
    assert!(is_conflict(other.commit()));
    assert_eq!(db.iter().count(), 1);
}

/// Two readers see two independent writes in one order: the first that sees either of them without the other.
#[test]
fn long_fork() {
    let db = store();
    let see = || {
        let tx = db.begin();
        let seen = [number(tx.get(&db, "x").unwrap()), number(tx.get(&db, "y").unwrap())];
        tx.commit().unwrap();
        seen
    };
    let (x, y) = (db.begin(), db.begin());
    x.insert(&db, "x", "1").unwrap();
    y.insert(&db, "y", "1").unwrap();
    let early = db.begin();
    x.commit().unwrap();
    assert_eq!(see(), [1, 0]);
    y.commit().unwrap();
    assert_eq!(see(), [1, 1]);
    assert_eq!([number(early.get(&db, "x").unwrap()), number(early.get(&db, "y").unwrap())], [0, 0]);
}

/// A bank charges 1 if the sum of two accounts gets below 0. A withdrawal of 10 is charged by the state before a
/// deposit of 20, but a report shows the deposit without the withdrawal: no order explains all three.
#[test]
fn read_only_anomaly() {
    let db = store();
    db.insert("checking", "0").unwrap();
    db.insert("savings", "0").unwrap();
    let withdrawal = db.begin();
    let [checking, savings] = ["checking", "savings"].map(|key| number(withdrawal.get(&db, key).unwrap()));
    let deposit = db.begin();
    let before = number(deposit.get(&db, "savings").unwrap());
    deposit.insert(&db, "savings", (before + 20).to_string()).unwrap();
    deposit.commit().unwrap();
    let report = db.begin();
    let shown = ["checking", "savings"].map(|key| number(report.get(&db, key).unwrap()));
    report.commit().unwrap();
    assert_eq!(shown, [0, 20]);
    assert!(checking + savings < 10, "it is charged");
    withdrawal.insert(&db, "checking", (checking - 11).to_string()).unwrap();
    assert!(is_conflict(withdrawal.commit()));
}

/// What a transaction read before it was rolled back to a savepoint may have decided what it writes.
#[test]
fn a_rolled_back_part_has_read_what_it_read() {
    let db = store();
    let tx = db.begin();
    let savepoint = tx.savepoint();
    if tx.get(&db, "x").unwrap().is_none() {
        tx.insert(&db, "tried", "1").unwrap();
    }
    tx.rollback_to(savepoint);
    tx.insert(&db, "y", "1").unwrap();
    db.insert("x", "1").unwrap();
    assert!(is_conflict(tx.commit()));
    assert_eq!(db.iter().count(), 1);
}
