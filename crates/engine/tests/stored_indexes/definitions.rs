//! Definitions of indexes, what is refused, and lookups. Goal: an index is what its text says, and what cannot be kept
//! is refused with the reason. Method: examples.

use crate::support::{User, Users, check, definitions, key, small, users};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{INDEXED_FORMAT, KeyspaceIndexRange};
use ogive::types::{Alteration, Field, IndexDefinition, KeyType, RecordType, Value, ValueType};
use ogive::verify::verify_store;
use ogive::{Cause, Db, Keyspace, repair_store};
use std::ops::Bound;
use std::sync::Arc;

fn store() -> Db {
    Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap()
}

fn keys(found: KeyspaceIndexRange) -> Vec<u64> {
    found.map(|record| u64::from_be_bytes((*record.unwrap().0).try_into().unwrap())).collect()
}

fn user(email: Option<&str>, country: &str, score: i32) -> User {
    User { name: "n".into(), email: email.map(str::to_owned), country: country.into(), score }
}

fn filled(db: &Db) -> (Keyspace, Users) {
    let keyspace = users(db).unwrap();
    let all: Users = [
        (1, user(Some("Ann@x"), "de", 5)),
        (2, user(Some("bob@x"), "de", 7)),
        (3, user(None, "dk", 1)),
        (4, user(Some("Cid@x"), "fr", -3)),
        (5, user(None, "de", 5)),
    ]
    .into();
    all.iter().for_each(|(&number, user)| keyspace.insert(key(number), user.encode()).unwrap());
    (keyspace, all)
}

#[test]
fn lookups_find_values_ranges_and_prefixes_from_either_end() {
    let db = store();
    let (keyspace, all) = filled(&db);
    for (name, definition) in definitions() {
        db.create_index(name, &keyspace, &definition).unwrap();
    }
    check(&db, &all).unwrap();
    let [by_email, by_country, by_initial] = definitions().map(|(name, _)| db.index(name).unwrap());
    assert_eq!(keys(by_email.get(&["ann@x".into()]).unwrap()), [1]);
    assert!(keys(by_email.get(&["Ann@x".into()]).unwrap()).is_empty());
    assert_eq!(keys(by_country.get(&["de".into()]).unwrap()), [2, 1, 5]);
    assert_eq!(keys(by_country.get(&by_country.parse("de,5").unwrap()).unwrap()), [1, 5]);
    let reversed: Vec<u64> = by_country
        .get(&["de".into()])
        .unwrap()
        .rev()
        .map(|record| u64::from_be_bytes((*record.unwrap().0).try_into().unwrap()))
        .collect();
    assert_eq!(reversed, [5, 1, 2]);
    let from_dk = by_country.range(Bound::Included(&["dk".into()]), Bound::Unbounded).unwrap();
    assert_eq!(keys(from_dk), [3, 4]);
    let behind_de = by_country.range(Bound::Excluded(&["de".into()]), Bound::Excluded(&["fr".into()])).unwrap();
    assert_eq!(keys(behind_de), [3]);
    assert_eq!(keys(by_country.prefix(&["d".into()]).unwrap()), [2, 1, 5, 3]);
    assert_eq!(keys(by_initial.get(&["d".into(), Value::Null]).unwrap()), [3, 5]);
    assert_eq!(keys(by_initial.get(&by_initial.parse("d").unwrap()).unwrap()), [1, 2, 3, 5]);
    let wrong = by_country.get(&[7_u64.into()]).unwrap_err();
    assert_eq!(wrong.cause, Cause::Input);
    // A range that was begun sees what was there.
    let range = by_country.get(&["de".into()]).unwrap();
    keyspace.remove(key(1)).unwrap();
    assert_eq!(keys(range), [2, 1, 5]);
    assert_eq!(keys(by_country.get(&["de".into()]).unwrap()), [2, 5]);
}

#[test]
fn dates_and_columns_of_keys_are_indexed() {
    let db = store();
    let events = db.keyspace("events").unwrap();
    let types: ValueType = "{at: timestamp(ms), note: text}".parse().unwrap();
    let keys_of: KeyType = "(text, u32)".parse().unwrap();
    drop(events.declare(&RecordType::new(keys_of, types.clone())).unwrap());
    let put = |key: &str, row: &str| events.insert(keys_of.parse(key).unwrap(), types.parse(row).unwrap()).unwrap();
    put("ann,1", "2024-02-29T23:59:59.5,late");
    put("bob,1", "1969-12-31T23:59:59,before");
    put("ann,2", "2024-02-29T00:00:00,early");
    let by_day = db.create_index("by_day", &events, &IndexDefinition::by("date(at), key1").unwrap()).unwrap();
    let found = |text: &str| -> Vec<String> {
        let records = by_day.get(&by_day.parse(text).unwrap()).unwrap();
        records.map(|record| keys_of.display(&record.unwrap().0)).collect()
    };
    assert_eq!(found("2024-02-29"), ["ann,1", "ann,2"]);
    assert_eq!(found("1969-12-31"), ["bob,1"]);
    assert_eq!(found("2024-02-29,bob"), Vec::<String>::new());
}

#[test]
fn what_cannot_be_kept_is_refused_with_the_reason() {
    let db = store();
    let (keyspace, all) = filled(&db);
    let refused = |keyspace: &Keyspace, by: &str| {
        let error = IndexDefinition::by(by).and_then(|by| db.create_index("i", keyspace, &by)).unwrap_err();
        assert_eq!(error.cause, Cause::Input);
        assert!(db.indexes().is_empty());
        error.to_string()
    };
    let bytes = db.keyspace("bytes").unwrap();
    bytes.insert("a", "b").unwrap();
    assert!(refused(&bytes, "email").contains("no columns"));
    assert!(refused(&keyspace, "mail").contains("the columns are key, name, email, country, score"));
    assert!(refused(&keyspace, "lower(score)").contains("lower is of text"));
    assert!(refused(&keyspace, "date(score)").contains("timestamp"));
    assert!(refused(&keyspace, "upper(email)").contains("upper(email)"));
    assert!(refused(&keyspace, "prefix(email, 0)").contains("prefix(email, 0)"));
    let country = IndexDefinition::by("country").unwrap();
    assert_eq!(db.create_index("i", &keyspace, &country.clone().unique()).unwrap_err().cause, Cause::NotUnique);
    assert!(db.indexes().is_empty());
    assert!(db.create_index("a b", &keyspace, &country).is_err());

    db.create_index("i", &keyspace, &country).unwrap();
    db.create_index("i", &keyspace, &country).unwrap();
    let other = db.create_index("i", &keyspace, &country.clone().where_not_null("email")).unwrap_err();
    assert!(other.to_string().contains("already"), "{other}");
    assert!(db.keyspace("ogive.index.i").is_err() && db.drop_keyspace("ogive.index.i").is_err());
    assert!(!db.keyspaces().iter().any(|name| name.starts_with("ogive.")));
    let no_row = keyspace.insert(key(9), "no row").unwrap_err();
    assert_eq!(no_row.cause, Cause::Input);
    let long = keyspace.insert(vec![b'k'; 65_530], user(None, &"c".repeat(100), 1).encode()).unwrap_err();
    assert!(matches!(long.cause, Cause::KeyLength { .. }), "{long}");

    // Its columns keep their types; others do not have to.
    let widened = keyspace.alter(&Alteration::new().widen("country", KeyType::Bytes)).unwrap_err();
    assert_eq!(widened.cause, Cause::Input);
    keyspace.alter(&Alteration::new().widen("score", KeyType::I64).allow_null("country")).unwrap();
    keyspace.alter(&Alteration::new().add_field(Field::new("more", KeyType::Text).nullable())).unwrap();
    assert_eq!(keys(db.index("i").unwrap().get(&["de".into()]).unwrap()), [1, 2, 5]);
    assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
    assert_eq!(all.len(), keyspace.iter().count());
}

#[test]
fn a_store_with_an_index_has_a_format_that_older_programs_refuse() {
    let storage = Arc::new(MemoryStorage::new());
    let db = Db::open(storage.clone(), &small()).unwrap();
    let (keyspace, all) = filled(&db);
    assert!(db.stats().format < INDEXED_FORMAT);
    db.create_index("by_country", &keyspace, &definitions()[1].1).unwrap();
    assert_eq!(db.stats().format, INDEXED_FORMAT);
    db.close().unwrap();
    let db = Db::open(storage.clone(), &small()).unwrap();
    check(&db, &all).unwrap();
    assert_eq!(db.index("by_country").unwrap().definition(), &definitions()[1].1);
    let reader = Db::open_read_only(storage, &small()).unwrap();
    assert_eq!(keys(reader.index("by_country").unwrap().get(&["fr".into()]).unwrap()), [4]);
    // A dropped keyspace takes its indexes along.
    db.drop_keyspace("users").unwrap();
    assert!(db.indexes().is_empty());
    assert!(keyspace.get(key(1)).is_err());
}

#[test]
fn a_stopped_build_is_kept_by_writes_and_done_again() {
    let storage = Arc::new(MemoryStorage::new());
    let db = Db::open(storage.clone(), &small()).unwrap();
    let (keyspace, mut all) = filled(&db);
    let definition = &definitions()[0].1;
    let stopped = db
        .create_index_showing("by_email", &keyspace, definition, &mut |_| Err(ogive::Error::interrupted()))
        .unwrap_err();
    assert_eq!(stopped.cause, Cause::Interrupted);
    let unfinished = db.index("by_email").unwrap_err();
    assert!(unfinished.to_string().contains("not built to its end"), "{unfinished}");
    db.close().unwrap();
    let db = Db::open(storage.clone(), &small()).unwrap();
    let keyspace = users(&db).unwrap();
    let taken = keyspace.insert(key(8), user(Some("BOB@x"), "de", 1).encode());
    assert!(taken.is_err_and(|error| error.cause == Cause::NotUnique));
    all.insert(9, user(Some("new@x"), "de", 1));
    keyspace.insert(key(9), all[&9].encode()).unwrap();
    let index = db.create_index("by_email", &keyspace, definition).unwrap();
    assert_eq!(keys(index.get(&["new@x".into()]).unwrap()), [9]);
    check(&db, &all).unwrap();
    db.close().unwrap();
    assert!(verify_store(storage, &mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn a_build_goes_on_where_it_was_stopped() {
    let storage = Arc::new(MemoryStorage::new());
    let db = Db::open(storage.clone(), &small()).unwrap();
    let keyspace = users(&db).unwrap();
    let of = |number: u64| user(Some(&format!("{number}@x")), "de", number as i32);
    let mut all: Users = (0..10_000).map(|number| (number * 2, of(number * 2))).collect();
    let mut batch = db.batch();
    all.iter().for_each(|(&number, user)| _ = batch.insert(&keyspace, key(number), user.encode()));
    batch.commit().unwrap();
    let definition = &definitions()[0].1;
    let stop = &mut |_| Err(ogive::Error::interrupted());
    assert!(db.create_index_showing("by_email", &keyspace, definition, stop).is_err());
    db.close().unwrap();
    let db = Db::open(storage.clone(), &small()).unwrap();
    let keyspace = users(&db).unwrap();
    // Rows that come, change and go before and behind the place.
    for number in [1, 2, 19_001, 19_002] {
        all.insert(number, user(Some(&format!("new {number}@x")), "fr", 0));
        keyspace.insert(key(number), all[&number].encode()).unwrap();
    }
    for number in [4, 19_004] {
        all.remove(&number);
        keyspace.remove(key(number)).unwrap();
    }
    let mut reached = Vec::new();
    let mut note = |rows| {
        reached.push(rows);
        Ok(())
    };
    let index = db.create_index_showing("by_email", &keyspace, definition, &mut note).unwrap();
    // Each call builds up to 4,096 rows at once.
    assert!(reached[0] > 4096 && reached.len() == 2, "{reached:?}");
    assert_eq!(keys(index.get(&["new 1@x".into()]).unwrap()), [1]);
    check(&db, &all).unwrap();
    db.close().unwrap();
    assert!(verify_store(storage, &mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn nulls_are_not_compared_in_an_index_that_has_them() {
    let db = store();
    let (keyspace, mut all) = filled(&db);
    let by_email = IndexDefinition::by("email, country").unwrap().unique();
    let index = db.create_index("by_both", &keyspace, &by_email).unwrap();
    // Two rows have no address, and a third one may come; one of the same values may not.
    all.insert(6, user(None, "de", 9));
    keyspace.insert(key(6), all[&6].encode()).unwrap();
    let mut batch = db.batch();
    for number in [7, 8] {
        all.insert(number, user(None, "dk", 1));
        batch.insert(&keyspace, key(number), all[&number].encode());
    }
    batch.commit().unwrap();
    let taken = keyspace.insert(key(9), user(Some("bob@x"), "de", 1).encode()).unwrap_err();
    assert_eq!(taken.cause, Cause::NotUnique);
    assert_eq!(keys(index.get(&[Value::Null, "de".into()]).unwrap()), [5, 6]);
    db.drop_index("by_both").unwrap();
    db.create_index("by_both", &keyspace, &by_email).unwrap();
    assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn a_repair_that_lost_rows_leaves_indexes_to_be_built_anew() {
    [true, false].into_iter().for_each(repair_after_a_loss);
}

/// Loses rows and entries of an index that is complete, or of one whose building was stopped.
fn repair_after_a_loss(is_complete: bool) {
    let storage = Arc::new(MemoryStorage::new());
    let db = Db::open(storage.clone(), &small()).unwrap();
    let (keyspace, _) = filled(&db);
    // A table has several blocks, and loses one.
    let more = |number: u64| keyspace.insert(key(number), user(None, "dk", number as i32).encode()).unwrap();
    (100..400).for_each(more);
    let definition = &definitions()[1].1;
    let progress = &mut |_| if is_complete { Ok(()) } else { Err(ogive::Error::interrupted()) };
    assert_eq!(db.create_index_showing("by_country", &keyspace, definition, progress).is_ok(), is_complete);
    db.flush().unwrap();
    db.compact().unwrap();
    db.close().unwrap();
    for name in storage.list().unwrap().iter().filter(|name| name.ends_with(".table")) {
        let mut bytes = storage.content(name).unwrap();
        let middle = bytes.len() / 3;
        bytes[middle] ^= 1;
        storage.remove(name).unwrap();
        storage.put(name, bytes).unwrap();
    }
    assert!(!verify_store(storage.clone(), &mut |_, _| {}).unwrap().is_sound());
    repair_store(storage.clone(), &mut |_, _| {}).unwrap();
    let db = Db::open(storage, &small()).unwrap();
    assert!(db.index("by_country").is_err() && !db.indexes()[0].is_complete());
    let keyspace = db.keyspace("users").unwrap();
    let rows = keyspace.iter().count();
    let index = db.create_index("by_country", &keyspace, definition).unwrap();
    assert_eq!(index.range(Bound::Unbounded, Bound::Unbounded).unwrap().count(), rows);
    assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn differences_of_rows_and_entries_are_found() {
    let storage = Arc::new(MemoryStorage::new());
    let db = Db::open(storage.clone(), &small()).unwrap();
    let (keyspace, _) = filled(&db);
    db.create_index("by_email", &keyspace, &definitions()[0].1).unwrap();
    // As promised, then not: the entry of the old address stays.
    keyspace.insert_absent(key(6), user(Some("fay@x"), "de", 1).encode()).unwrap();
    assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
    keyspace.insert_absent(key(1), user(Some("new@x"), "de", 1).encode()).unwrap();
    let by_email = db.index("by_email").unwrap();
    assert_eq!(keys(by_email.range(Bound::Unbounded, Bound::Unbounded).unwrap()), [2, 4, 6, 1]);
    let faults = db.verify(&mut |_, _| {}).unwrap().index_faults;
    assert_eq!(faults, ["index \"by_email\": an entry leads to the key \"1\", whose row has other values"]);
    // It does not keep the address from another user.
    keyspace.insert(key(7), user(Some("ANN@x"), "de", 1).encode()).unwrap();
    keyspace.remove(key(1)).unwrap();
    db.close().unwrap();
    let faults = verify_store(storage.clone(), &mut |_, _| {}).unwrap().index_faults;
    assert_eq!(faults, ["index \"by_email\": an entry leads to the key \"1\", which has no row"]);
    let db = Db::open(storage, &small()).unwrap();
    db.drop_index("by_email").unwrap();
    db.create_index("by_email", users(&db).unwrap(), &definitions()[0].1).unwrap();
    assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
}
