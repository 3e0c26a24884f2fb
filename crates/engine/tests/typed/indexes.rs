//! Tests of secondary indexes. Goal: an index contains exactly what its function makes of the records, whatever is
//! written, by how many threads, and after any crash. Method: drawn operations, compared with a `BTreeMap`; two threads
//! that change the same keys; every crash of a simulated disk.

use super::keyspaces::open;
use ogive::io::MemoryStorage;
use ogive::typed::IndexedKeyspace;
use ogive::{Cause, Db, DbOptions, Error};
use ogive_testkit::{CrashOptions, Random, SimulatedDisk, enumerate_crashes};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

ogive::row! {
    #[derive(Clone, Debug, PartialEq)]
    struct Person {
        name: String,
        city: Option<String>,
        age: u8,
    }
}

fn person(random: &mut Random) -> Person {
    let pick = |random: &mut Random, from: [&str; 4]| from[random.below(4) as usize].to_owned();
    let city = pick(random, ["", "Rome", "Ro", "Rome\0"]);
    let city = (random.below(3) > 0).then_some(city);
    Person { name: pick(random, ["ann", "bob", "an", "b\0b"]), city, age: random.below(4) as u8 }
}

type People = IndexedKeyspace<str, Person>;

fn people(db: &Db) -> ogive::Result<People> {
    let people = db.keyspace("people")?.typed::<str, Person>()?;
    let people = people.with_index("by_city", |_, person| person.city.clone())?;
    people.with_index("by_age", |key, person| Some((person.age, key.len() as u8)))
}

/// Compares the records and both indexes with each other; returns the records.
fn checked(people: &People) -> BTreeMap<String, Person> {
    let pair = |record: ogive::Result<ogive::typed::TypedRecord<str, Person>>| {
        let (key, value) = record.unwrap();
        (key.value().unwrap().to_owned(), value.value().unwrap())
    };
    let records: BTreeMap<String, Person> = people.iter().map(pair).collect();
    let by_city = people.by::<str>("by_city").unwrap();
    let mut expected: Vec<_> = records.iter().filter(|(_, person)| person.city.is_some()).collect();
    expected.sort_by_key(|(key, person)| (&person.city, *key));
    let found: Vec<_> = by_city.range(..).map(pair).collect();
    assert!(found.iter().map(|(key, person)| (key, person)).eq(expected.iter().copied()), "{found:?} {records:?}");
    let mut back: Vec<_> = by_city.range(..).rev().map(pair).collect();
    back.reverse();
    assert_eq!(back, found);
    for city in ["", "Rome", "Ro", "Rome\0"] {
        let keys: Vec<_> = by_city.keys(city).map(|key| key.unwrap().value().unwrap().to_owned()).collect();
        let lives_there = |(_, person): &(&String, &Person)| person.city.as_deref() == Some(city);
        assert!(keys.iter().eq(records.iter().filter(lives_there).map(|(key, _)| key)));
        assert_eq!(by_city.get(city).count(), keys.len());
    }
    let by_age = people.by::<(u8, u8)>("by_age").unwrap();
    let mut ages: Vec<_> = records.iter().map(|(key, person)| (person.age, key.len(), key.clone())).collect();
    ages.sort();
    assert!(by_age.range(..).map(pair).map(|(key, _)| key).eq(ages.into_iter().map(|(.., key)| key)));
    records
}

#[test]
fn indexes_follow_the_records() {
    let memory = MemoryStorage::new();
    let mut db = open(&memory);
    let mut model = BTreeMap::new();
    let mut random = Random::new(3);
    for round in 0..300 {
        let people = people(&db).unwrap();
        let mut batch = people.batch();
        for _ in 0..1 + random.below(4) {
            let key = ["a", "b", "bb", "a\0", ""][random.below(5) as usize];
            match random.below(4) {
                0 => {
                    batch.remove(key);
                    model.remove(key);
                }
                _ => {
                    let person = person(&mut random);
                    batch.insert(key, &person);
                    model.insert(key.to_owned(), person);
                }
            }
        }
        batch.commit().unwrap();
        if round % 10 == 0 {
            assert_eq!(checked(&people), model);
        }
        drop(people);
        if round % 100 == 50 {
            db.close().unwrap();
            db = open(&memory);
        }
    }
}

#[test]
fn threads_with_handles_of_their_own_keep_the_indexes_right() {
    let db = open(&MemoryStorage::new());
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let db = &db;
            scope.spawn(move || {
                let (people, mut random) = (people(db).unwrap(), Random::new(seed));
                for _ in 0..500 {
                    let key = ["x", "y"][random.below(2) as usize];
                    match random.below(5) {
                        0 => people.remove(key).unwrap(),
                        _ => people.insert(key, person(&mut random)).unwrap(),
                    }
                }
            });
        }
    });
    checked(&people(&db).unwrap());
}

#[test]
fn a_crash_leaves_records_and_indexes_at_the_same_write() {
    let options = DbOptions::default().threads(0);
    let open = |disk: &SimulatedDisk| Db::open(Arc::new(disk.clone()), &options);
    let work = |disk: &SimulatedDisk| -> ogive::Result<()> {
        let (db, mut random) = (open(disk)?, Random::new(5));
        let people = people(&db)?;
        for key in ["x", "y", "x", "x", "y"] {
            people.insert(key, person(&mut random))?;
        }
        people.remove("x")
    };
    let mut seen = BTreeSet::new();
    let crashes = CrashOptions { random_images: 2, ..CrashOptions::default() };
    enumerate_crashes(
        crashes,
        &SimulatedDisk::new(),
        |disk| drop(work(disk)),
        |(), disk, _| {
            let db = open(disk).map_err(|error| error.to_string())?;
            let people = people(&db).map_err(|error| error.to_string())?;
            seen.insert(format!("{:?}", checked(&people)));
            Ok(())
        },
    )
    .unwrap();
    assert_eq!(seen.len(), 7, "nothing, and each of the writes");
}

#[test]
fn a_crash_while_an_index_is_built_leaves_none_that_is_taken_for_complete() {
    let options = DbOptions::default().threads(0);
    let open = |disk: &SimulatedDisk| Db::open(Arc::new(disk.clone()), &options);
    let (start, mut random) = (SimulatedDisk::new(), Random::new(6));
    let db = open(&start).unwrap();
    let plain = db.keyspace("people").unwrap().typed::<str, Person>().unwrap();
    for key in ["x", "y", "z"] {
        plain.insert(key, person(&mut random)).unwrap();
    }
    drop(plain);
    db.close().unwrap();
    let work = |disk: &SimulatedDisk| open(disk).and_then(|db| people(&db).map(drop)).is_ok();
    let crashes = CrashOptions { random_images: 2, ..CrashOptions::default() };
    enumerate_crashes(crashes, &start, work, |_, disk, _| {
        let db = open(disk).map_err(|error| error.to_string())?;
        let people = people(&db).map_err(|error| error.to_string())?;
        if checked(&people).len() == 3 { Ok(()) } else { Err("a record is missing".to_owned()) }
    })
    .unwrap();
}

#[test]
fn an_index_of_a_keyspace_with_records_is_built_and_can_be_rebuilt() {
    let db = open(&MemoryStorage::new());
    let plain = db.keyspace("numbers").unwrap().typed::<(u32, &str), u64>().unwrap();
    for number in 0..2500 {
        plain.insert((number, "n"), u64::from(number % 100)).unwrap();
    }
    let indexed = plain.clone().with_index("by_value", |_, value| (value % 2 == 0).then_some(*value)).unwrap();
    let by_value = indexed.by::<u64>("by_value").unwrap();
    assert_eq!((by_value.get(98).count(), by_value.get(99).count(), by_value.range(..).count()), (25, 0, 1250));
    assert_eq!(by_value.keys(4).next().unwrap().unwrap().value().unwrap(), (4, "n".into()));
    // A write that bypasses the index is found, and repaired.
    plain.remove((4, "n")).unwrap();
    let error = by_value.get(4).next().unwrap().unwrap_err().to_string();
    assert!(error.contains("numbers") && error.contains("rebuild"), "{error}");
    indexed.rebuild().unwrap();
    assert_eq!(by_value.get(4).count(), 24);

    assert!(matches!(indexed.by::<u64>("by_name").unwrap_err(), Error { cause: Cause::Input, .. }));
    let error = indexed.by::<u32>("by_value").unwrap_err().to_string();
    assert!(error.contains("u64, u32, text") && error.contains("u32;") || error.contains("with u32"), "{error}");
    assert!(indexed.clone().with_index("by_value", |_, value| Some(*value)).is_err(), "the name is taken");
    drop((plain, indexed));
    db.drop_keyspace("numbers").unwrap();
    let again = db.keyspace("numbers").unwrap().typed::<(u32, &str), u64>().unwrap();
    let again = again.with_index("by_value", |_, value| Some(*value)).unwrap();
    assert_eq!(again.by::<u64>("by_value").unwrap().range(..).count(), 0, "no entries of the dropped keyspace");
}

#[test]
fn a_write_between_reading_and_committing_starts_the_other_again() {
    let db = open(&MemoryStorage::new());
    let plain = db.keyspace("numbers").unwrap().typed::<u8, u64>().unwrap();
    let other = plain.clone().with_index("by_value", |_, value| Some(*value)).unwrap();
    other.insert(1, 10).unwrap();
    let (armed, between) = (std::sync::atomic::AtomicBool::new(true), other.clone());
    let indexed = plain.with_index("by_value", move |_, value| {
        if armed.swap(false, std::sync::atomic::Ordering::Relaxed) {
            between.insert(1, 20).unwrap();
        }
        Some(*value)
    });
    indexed.unwrap().insert(1, 30).unwrap();
    let keys = |value: u64| other.by::<u64>("by_value").unwrap().keys(value).count();
    assert_eq!((other.load(1).unwrap(), keys(10), keys(20), keys(30)), (Some(30), 0, 0, 1));
}

#[test]
fn an_index_empties_no_keyspace_of_another_purpose() {
    let memory = MemoryStorage::new();
    let db = open(&memory);
    let numbers = |name: &str| db.keyspace(name).unwrap().typed::<u64, u64>().unwrap();
    let tags = db.multimap::<u64, u64>("orders.by_item").unwrap();
    tags.insert(7, 8).unwrap();
    let refused = numbers("orders").with_index("by_item", |_, value| Some(*value)).unwrap_err().to_string();
    assert!(refused.contains("orders.by_item") && refused.contains("another name"), "{refused}");
    assert!(tags.contains(7, 8).unwrap(), "it is as it was");

    let one = numbers("a").with_index("b.c", |_, value| Some(*value)).unwrap();
    one.insert(1, 10).unwrap();
    let refused = numbers("a.b").with_index("c", |_, value| Some(*value)).unwrap_err().to_string();
    assert!(refused.contains("the index of another keyspace"), "{refused}");
    let keys = |of: &ogive::typed::IndexedKeyspace<u64, u64>| -> Vec<u64> {
        of.by::<u64>("b.c").unwrap().keys(10).map(|key| key.unwrap().value().unwrap()).collect()
    };
    assert_eq!(keys(&one), [1]);
    // Of records that were dropped, the index goes to those that take their name.
    drop(one);
    db.drop_keyspace("a").unwrap();
    let again = numbers("a").with_index("b.c", |_, value| Some(*value)).unwrap();
    assert!(keys(&again).is_empty());
    again.insert(2, 10).unwrap();
    assert_eq!(keys(&again), [2]);
}

/// Its records are notes, and any other would be taken for one.
#[test]
fn the_keyspace_that_notes_complete_indexes_is_reserved() {
    let db = open(&MemoryStorage::new());
    let numbers = |name: &str| db.keyspace(name).unwrap().typed::<u64, u64>().unwrap();
    for _ in 0..2 {
        let refused = numbers("ogive").with_index("indexes", |_, value| Some(*value)).unwrap_err().to_string();
        assert!(refused.contains("\"ogive.indexes\" is reserved"), "{refused}");
        let declared = numbers("q").with_index("by", |_, value| Some(*value)).unwrap();
        declared.insert(1, 10).unwrap();
        assert_eq!(declared.by::<u64>("by").unwrap().keys(10).count(), 1);
    }
    assert!(db.keyspace("ogive.indexes").is_err() && db.drop_keyspace("ogive.indexes").is_err());
    assert!(db.snapshot().keyspace("ogive.indexes").is_none());
    assert_eq!(db.keyspaces(), ["default", "ogive", "q", "q.by"]);
}

#[test]
fn a_record_that_bypassed_an_index_and_fits_it_in_no_entry_can_be_replaced_and_removed() {
    let db = open(&MemoryStorage::new());
    let texts = db.keyspace("texts").unwrap().typed::<str, str>().unwrap();
    let indexed = texts.clone().with_index("by_text", |_, text| Some((*text).to_owned())).unwrap();
    for replaces in [true, false] {
        texts.insert("k", &*"v".repeat(65_535)).unwrap();
        if replaces {
            indexed.insert("k", "short").unwrap();
            assert_eq!(indexed.by::<str>("by_text").unwrap().keys("short").count(), 1);
        } else {
            indexed.remove("k").unwrap();
            assert_eq!(indexed.iter().count(), 0);
        }
    }
}

/// Both fit by themselves.
#[test]
fn an_entry_that_is_too_long_for_an_index_names_the_index_and_changes_nothing() {
    let db = open(&MemoryStorage::new());
    let texts = db.keyspace("texts").unwrap().typed::<str, str>().unwrap();
    let long = "k".repeat(40_000);
    texts.insert(&*long, &*"v".repeat(40_000)).unwrap();
    let assert_told = |error: Error| {
        let text = error.to_string();
        assert!(matches!(error, Error { cause: Cause::KeyLength { length }, .. } if length > 80_000), "{error:?}");
        assert!(text.contains("\"by_text\"") && text.contains("65536") && text.contains("40000"), "{text}");
    };
    let declare = || texts.clone().with_index("by_text", |_, text| Some((*text).to_owned()));
    assert_told(declare().unwrap_err());
    texts.remove(&*long).unwrap();
    let indexed = declare().unwrap();
    assert_told(indexed.insert(&*long, &*"v".repeat(40_000)).unwrap_err());
    let mut batch = indexed.batch();
    batch.insert("short", "text").insert(&*long, &*"v".repeat(40_000));
    assert_told(batch.commit().unwrap_err());
    assert_eq!((indexed.iter().count(), indexed.by::<str>("by_text").unwrap().range(..).count()), (0, 0));
    indexed.insert(&*long, "short").unwrap();
    assert_eq!(indexed.by::<str>("by_text").unwrap().keys("short").count(), 1);
}
