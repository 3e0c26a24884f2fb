//! Typed keyspaces with records that expire, and the indexes of programs over them.

use crate::support::{HOUR, MINUTE, START, at, store};
use std::time::Duration;

ogive::row! {
    struct User { name: String, country: String }
}

fn user(name: &str, country: &str) -> User {
    User { name: name.to_owned(), country: country.to_owned() }
}

#[test]
fn typed_records_expire_in_every_way_of_writing() {
    let (clock, db, _) = store();
    let ages = db.keyspace("ages").unwrap().typed::<str, u32>().unwrap();
    ages.insert_with("ada", 36, at(START + HOUR)).unwrap();
    let mut batch = db.batch();
    batch.typed_insert_with(&ages, "bob", 40, at(START + HOUR)).typed_insert(&ages, "cid", 50);
    batch.commit().unwrap();
    db.transaction(|transaction| transaction.typed(&ages).insert_with("dan", 60, at(START + HOUR))).unwrap();
    assert_eq!(ages.iter().count(), 4);
    clock.pass(HOUR);
    assert_eq!((ages.iter().count(), ages.load("ada").unwrap()), (1, None));
}

/// Entries of indexes that a program keeps expire with their records.
#[test]
fn indexes_of_programs_lead_to_records_that_have_not_expired() {
    let (clock, db, _) = store();
    let records = db.keyspace("users").unwrap().typed::<u64, User>().unwrap();
    let users = records.clone().with_index("by_country", |_, user| Some(user.country.clone())).unwrap();
    let by_country = users.by::<str>("by_country").unwrap();
    let of = |country: &str| -> Vec<u64> {
        by_country.get(country).map(|record| record.and_then(|(key, _)| key.value()).unwrap()).collect()
    };
    users.insert_with(1, user("ada", "de"), at(START + HOUR)).unwrap();
    users.insert(2, user("bob", "de")).unwrap();
    assert_eq!(of("de"), [1, 2]);
    // A longer time holds for the entry, too.
    users.insert_with(1, user("ada", "de"), at(START + 2 * HOUR)).unwrap();
    clock.pass(HOUR);
    assert_eq!(of("de"), [1, 2]);
    clock.pass(HOUR);
    assert_eq!(of("de"), [2]);
    users.insert(1, user("eve", "fr")).unwrap();
    assert_eq!((of("de"), of("fr")), (vec![2], vec![1]));
    records.untyped().expire_after(Some(Duration::from_millis(10 * MINUTE))).unwrap();
    users.insert(2, user("bob", "fr")).unwrap();
    db.transaction(|transaction| transaction.indexed_insert(&users, 3, user("cid", "fr"))).unwrap();
    assert_eq!(of("fr"), [1, 2, 3]);
    clock.pass(10 * MINUTE);
    assert_eq!((of("fr"), of("de")), (vec![1], vec![]));
}
