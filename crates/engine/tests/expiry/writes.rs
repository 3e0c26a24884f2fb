//! Writes of records that expire: conditional ones, batches, transactions, followers, repairs and copies.

use crate::support::{HOUR, START, at, small, store};
use ogive::backup::{BackupOptions, Backups};
use ogive::io::{Clock, MemoryStorage, Storage};
use ogive::repair::repair_store;
use ogive::{Cause, Change, Db};
use std::sync::Arc;

#[test]
fn conditional_writes_see_expired_records_as_absent() {
    let (clock, db, _) = store();
    db.insert_with("lock", "mine", at(START + HOUR)).unwrap();
    assert!(!db.insert_if_absent("lock", "yours").unwrap().is_done());
    let mut taken = db.batch();
    taken.expect(&db, "lock", None).insert(&db, "lock", "yours");
    assert_eq!(taken.commit().unwrap_err().cause, Cause::Conflict);
    clock.pass(2 * HOUR);
    assert!(!db.replace_if("lock", "mine", "again").unwrap().is_done());
    assert!(!db.remove_present("lock").unwrap());
    let mut free = db.batch();
    free.expect(&db, "lock", None).insert_with(&db, "lock", "yours", at(START + 5 * HOUR));
    free.commit().unwrap();
    assert_eq!(db.get("lock").unwrap().as_deref(), Some(&b"yours"[..]));
    clock.pass(4 * HOUR);
    assert_eq!(db.update("lock", |old| Some([old.unwrap_or(b"none"), b"!"].concat())).unwrap(), None);
    assert_eq!(db.get("lock").unwrap().as_deref(), Some(&b"none!"[..]));
}

#[test]
fn passing_time_is_no_conflict() {
    let (clock, db, _) = store();
    db.insert_with("a", "1", at(START + HOUR)).unwrap();
    db.flush().unwrap();
    let transaction = db.begin();
    assert!(transaction.get(&db, "a").unwrap().is_some());
    clock.pass(20 * HOUR);
    db.compact().unwrap();
    assert!(db.get("a").unwrap().is_none() && transaction.get(&db, "a").unwrap().is_some());
    transaction.insert(&db, "b", "1").unwrap();
    transaction.commit().unwrap();
    let transaction = db.begin();
    assert!(transaction.get(&db, "a").unwrap().is_none());
    // One that expires at once is a write as any other.
    db.insert_with("a", "2", at(0)).unwrap();
    db.compact().unwrap();
    transaction.insert(&db, "b", "2").unwrap();
    assert_eq!(transaction.commit().unwrap_err().cause, Cause::Conflict);
}

#[test]
fn own_writes_expire_as_of_the_beginning_also_before_the_first_record_that_expires() {
    for is_used in [false, true] {
        let (clock, db, _) = store();
        if is_used {
            db.insert_with("other", "1", at(START + 9 * HOUR)).unwrap();
        }
        let begun = db.begin();
        clock.pass(2 * HOUR);
        // Others may make a record expire meanwhile, which changes nothing either.
        for (key, other) in [("a", false), ("b", true)] {
            if other {
                db.insert_with("later", "1", at(START + 9 * HOUR)).unwrap();
            }
            begun.insert_with(&db, key, "ends", at(START)).unwrap();
            assert!(begun.get(&db, key).unwrap().is_none(), "{is_used}, {key}");
            begun.insert_with(&db, key, "alive", at(START + 1)).unwrap();
            assert_eq!(begun.get(&db, key).unwrap().as_deref(), Some(&b"alive"[..]), "{is_used}, {key}");
            clock.pass(HOUR);
        }
        assert_eq!(begun.range::<&str>(&db, "a"..="b").count(), 2);
        begun.commit().unwrap();
        assert!(db.get("a").unwrap().is_none() && db.get("b").unwrap().is_none());
    }
}

#[test]
fn followers_get_records_with_their_times_and_nothing_when_they_expire() {
    let (clock, db, _) = store();
    let start = db.subscribe("search").unwrap();
    for value in ["short", &"long".repeat(50)] {
        db.insert_with("a", value, at(START + HOUR)).unwrap();
    }
    db.insert("b", "1").unwrap();
    clock.pass(5 * HOUR);
    db.compact().unwrap();
    let changes = db.changes_since(start).unwrap().flat_map(|batch| batch.unwrap().changes);
    let found: Vec<(Vec<u8>, Vec<u8>, _)> = changes
        .map(|change| match change {
            Change::Insert { key, value, expires, .. } => (key, value, expires),
            other => panic!("{other:?}"),
        })
        .collect();
    let expires = Some(at(START + HOUR));
    let expected = [("a", "short".to_owned(), expires), ("a", "long".repeat(50), expires), ("b", "1".to_owned(), None)];
    assert_eq!(found, expected.map(|(key, value, expires)| (key.into(), value.into(), expires)));
}

#[test]
fn copies_backups_and_repairs_keep_the_times() {
    let (_, db, storage) = store();
    for number in 0..300_u32 {
        db.insert_with(number.to_be_bytes(), [7; 90], at(START + HOUR + u64::from(number))).unwrap();
    }
    let shared: Arc<dyn Storage> = storage.clone();
    let backups = Backups::at(Arc::new(MemoryStorage::new())).unwrap();
    backups.create(&shared, &BackupOptions::default(), &mut |_, _| {}).unwrap();
    let copies = [(); 3].map(|()| Arc::new(MemoryStorage::new()) as Arc<dyn Storage>);
    backups.restore(None, &copies[0], &mut |_, _| {}).unwrap();
    db.checkpoint(&copies[1]).unwrap();
    db.close().unwrap();
    for name in storage.list().unwrap() {
        let is_manifest = name.ends_with(".manifest");
        let mut file = copies[2].create(&name).unwrap();
        file.append(if is_manifest { b"lost" } else { &[] }).unwrap();
        if !is_manifest {
            file.append(&storage.content(&name).unwrap()).unwrap();
        }
        file.sync().unwrap();
    }
    repair_store(&copies[2], &mut |_, _| {}).unwrap();
    for copy in &copies {
        let count = |ms: u64| {
            let clock = Clock::moved_by_hand(ms);
            Db::open(Arc::clone(copy), &small(&clock)).unwrap().iter().count()
        };
        assert_eq!((count(START), count(START + HOUR + 99), count(START + 2 * HOUR)), (300, 200, 0));
    }
}
