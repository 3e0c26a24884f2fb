//! Tests of typed keyspaces. Goal: they answer as a map of Rust values does, state their types, and refuse others.
//! Method: small stores in memory; ranges are compared with `BTreeMap`.

use ogive::io::MemoryStorage;
use ogive::lsm::Swap;
use ogive::typed::{Desc, TypedKeyspace};
use ogive::types::{KeyColumn, RecordType, ValueType};
use ogive::{Cause, Db, DbOptions, Error};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn open(memory: &MemoryStorage) -> Db {
    Db::open(Arc::new(memory.clone()), &DbOptions::default()).unwrap()
}

mod first {
    ogive::row! {
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Order {
            pub(crate) item: String,
            pub(crate) price: Option<f64>,
        }
    }
}

mod later {
    ogive::row! {
        /// The same order, with more known of it.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Order {
            pub(crate) item: String,
            pub(crate) price: Option<f64>,
            pub(crate) r#type: Option<String>,
            pub(crate) paid: Option<bool>,
        }
    }
}

#[test]
fn keyspaces_of_scalars_and_text_read_what_was_written() {
    let db = open(&MemoryStorage::new());
    let words = db.keyspace("words").unwrap().typed::<i64, str>().unwrap();
    words.insert(-5, "minus five").unwrap();
    words.insert(&7, "seven").unwrap();
    words.insert(1, String::from("one").as_str()).unwrap();
    assert_eq!(words.get(7).unwrap().unwrap().value().unwrap(), "seven");
    assert!(words.get(8).unwrap().is_none() && words.contains_key(-5).unwrap());
    let shown = |words: &TypedKeyspace<i64, str>| -> Vec<(i64, String)> {
        let record = |record: ogive::Result<_>| {
            let (key, value): ogive::typed::TypedRecord<i64, str> = record.unwrap();
            (key.value().unwrap(), value.value().unwrap().to_owned())
        };
        words.range(..5).rev().map(record).collect()
    };
    assert_eq!(shown(&words), [(1, "one".into()), (-5, "minus five".into())], "by number, not by text");
    let keys: Vec<i64> = words.iter().keys().map(|key| key.unwrap().value().unwrap()).collect();
    assert_eq!(keys, [-5, 1, 7]);
    let snapshot = db.snapshot();
    words.remove(1).unwrap();
    words.remove_range(5..).unwrap();
    assert_eq!(words.iter().count(), 1);
    let before = snapshot.typed(&words);
    assert_eq!(before.get(1).unwrap().unwrap().value().unwrap(), "one");
    assert_eq!((before.range(1..).count(), before.iter().count()), (2, 3));
    assert!(before.contains_key(7).unwrap() && !words.contains_key(7).unwrap());
}

#[test]
fn tuples_order_by_component_and_prefixes_are_ranges() {
    let db = open(&MemoryStorage::new());
    type Visit = (&'static str, Desc<u32>, Option<bool>);
    let visits = db.keyspace("visits").unwrap().typed::<Visit, ()>().unwrap();
    for name in ["ann", "anna", "bob", "a\0b"] {
        for day in [3, 1, 2] {
            for paid in [None, Some(true), Some(false)] {
                visits.insert((name, Desc(day), paid), ()).unwrap();
            }
        }
    }
    let shown = |records: &mut dyn Iterator<Item = ogive::Result<ogive::typed::TypedRecord<Visit, ()>>>| -> String {
        let mut text = String::new();
        for record in records {
            let (key, value) = record.unwrap();
            let (name, Desc(day), paid) = key.value().unwrap();
            value.value().unwrap();
            text.push_str(&format!("{name}{day}{} ", paid.map_or("-", |paid| if paid { "t" } else { "f" })));
        }
        text
    };
    assert_eq!(
        shown(&mut visits.prefix(("ann",))),
        "ann3f ann3t ann3- ann2f ann2t ann2- ann1f ann1t ann1- ",
        "descending days, nulls last"
    );
    let name = String::from("ann");
    assert_eq!(shown(&mut visits.prefix((name.as_str(), Desc(2)))), "ann2f ann2t ann2- ");
    assert_eq!(
        shown(&mut visits.range(("bob", Desc(2), Some(true))..).rev()),
        "bob1- bob1t bob1f bob2- bob2t ",
        "from either end"
    );
    assert_eq!(visits.prefix(("a\0b",)).count(), 9);
    // A loose index scan: one record of each name.
    let (mut names, mut range) = (Vec::new(), visits.iter());
    while let Some(record) = range.next() {
        let name = record.unwrap().0.value().unwrap().0.into_owned();
        range.seek((format!("{name}\0").as_str(), Desc(u32::MAX), Some(false))).unwrap();
        names.push(name);
    }
    assert_eq!(names, ["a\0b", "ann", "anna", "bob"]);
    range.seek_for_prev(("ann", Desc(1), Some(true))).unwrap();
    range.seek(("a", Desc(3), None)).unwrap();
    assert_eq!(shown(&mut range.by_ref().rev().take(2)), "ann1t ann1f ");
    db.transaction(|tx| {
        let mut range = tx.typed(&visits).range(..);
        range.seek(("bob", Desc(2), None))?;
        assert_eq!(range.next().unwrap()?.0.value()?, ("bob".into(), Desc(2), None));
        range.seek_for_prev(("bob", Desc(1), Some(true)))?;
        assert_eq!(range.next_back().unwrap()?.0.value()?, ("bob".into(), Desc(1), Some(true)));
        Ok::<_, ogive::Error>(())
    })
    .unwrap();
    let words = db.keyspace("words").unwrap().typed::<str, ()>().unwrap();
    for word in ["a", "ab", "abc", "b"] {
        words.insert(word, ()).unwrap();
    }
    assert_eq!((words.prefix("ab").count(), words.range("ab"..="b").count()), (2, 3));
}

#[test]
fn other_types_are_refused_by_an_error_that_names_both() {
    let memory = MemoryStorage::new();
    let db = open(&memory);
    db.keyspace("orders").unwrap().typed::<u64, str>().unwrap();
    let orders = db.keyspace("orders").unwrap().typed::<u64, first::Order>().expect("it has no records");
    orders.insert(1, first::Order { item: "fig".into(), price: None }).unwrap();
    drop(orders);
    db.close().unwrap();
    let db = open(&memory);
    let orders = db.keyspace("orders").unwrap();
    let error = orders.typed::<i64, first::Order>().unwrap_err();
    assert!(
        matches!(&error, Error { cause: Cause::WrongType { .. }, .. }
        if error.detail().starts_with(
            "is u64 -> {item: text, price: f64?}, not i64 -> {item: text, price: f64?}; "
        )),
        "{error}"
    );
    orders.typed::<u64, first::Order>().unwrap();
    // Bytes of an untyped handle are not checked before they are read.
    orders.insert(2_u64.to_be_bytes(), [0xff; 7]).unwrap();
    let orders = orders.typed::<u64, first::Order>().unwrap();
    let message = orders.load(2).unwrap_err().to_string();
    assert!(message.contains("7 bytes") && message.contains("Order"), "{message}");
}

#[test]
fn structs_are_rows_that_gain_fields() {
    let db = open(&MemoryStorage::new());
    let orders = db.keyspace("orders").unwrap();
    let old = orders.typed::<u64, first::Order>().unwrap();
    let fig = first::Order { item: "fig".into(), price: Some(0.25) };
    old.insert(1, &fig).unwrap();
    old.insert(2, first::Order { item: String::new(), price: None }).unwrap();
    assert_eq!(old.load(1).unwrap(), Some(fig));
    let stated = orders.record_type();
    assert_eq!(stated.values.display(&orders.get(1_u64.to_be_bytes()).unwrap().unwrap()), "fig,0.25");

    let new = orders.typed::<u64, later::Order>().unwrap();
    let read = later::Order { item: "fig".into(), price: Some(0.25), r#type: None, paid: None };
    assert_eq!(new.load(1).unwrap(), Some(read.clone()));
    new.insert(3, later::Order { r#type: Some("fruit".into()), paid: Some(true), ..read }).unwrap();
    let found = new.get(3).unwrap().unwrap();
    assert_eq!(found.row().unwrap().get("type").unwrap(), ogive::types::Value::Text("fruit".into()));
    assert!(orders.typed::<u64, first::Order>().is_err(), "rows have more fields now");
}

#[test]
fn typed_handles_keep_the_names_of_key_columns() {
    let db = open(&MemoryStorage::new());
    let types = RecordType::new("u64".parse().unwrap(), "text".parse::<ValueType>().unwrap())
        .key_columns(vec![KeyColumn { name: "id".into(), position: 1 }]);
    let keyspace = db.keyspace("k").unwrap();
    keyspace.declare(&types).unwrap();
    keyspace.typed::<u64, str>().unwrap();
    assert_eq!(*keyspace.record_type(), types);
}

#[test]
fn batches_take_typed_records_and_report_their_errors() {
    let db = open(&MemoryStorage::new());
    let ages = db.keyspace("ages").unwrap().typed::<str, u8>().unwrap();
    let names = db.keyspace("names").unwrap().typed::<(u8, &str), ()>().unwrap();
    ages.insert("bob", 1).unwrap();
    let mut batch = db.batch();
    batch.typed_insert(&ages, "ada", 36).typed_insert(&names, (36, "ada"), ()).typed_remove(&ages, "bob");
    assert_eq!(ages.load("ada").unwrap(), None);
    batch.commit().unwrap();
    assert_eq!((ages.load("ada").unwrap(), ages.load("bob").unwrap()), (Some(36), None));
    assert_eq!(names.prefix((36,)).count(), 1);
    let mut batch = db.batch();
    batch.typed_insert(&ages, "x".repeat(70_000).as_str(), 1).typed_insert(&ages, "eve", 2);
    assert!(matches!(batch.commit().unwrap_err(), Error { cause: Cause::KeyLength { .. }, .. }));
    assert!(!ages.contains_key("eve").unwrap());
}

#[test]
fn a_batch_of_refused_operations_is_not_empty() {
    let db = open(&MemoryStorage::new());
    let (ages, other) = (db.keyspace("ages").unwrap(), open(&MemoryStorage::new()));
    let long = "x".repeat(70_000);
    let typed = ages.typed::<str, u8>().unwrap();
    let refuse: [&dyn Fn(&mut ogive::Batch); 5] = [
        &|batch| _ = batch.insert(&ages, &long, ""),
        &|batch| _ = batch.remove(&ages, &long),
        &|batch| _ = batch.remove_range(&ages, ..&long[..]),
        &|batch| _ = batch.insert(&other, "a", ""),
        &|batch| _ = batch.typed_insert(&typed, long.as_str(), 1),
    ];
    for refuse in refuse {
        let mut batch = db.batch();
        assert!(batch.is_empty());
        refuse(&mut batch);
        // Who skips empty batches must not skip the error.
        assert_eq!((batch.len(), batch.is_empty()), (1, false));
        batch.commit().unwrap_err();
    }
}

#[test]
fn compare_and_swap_compares_values() {
    let db = open(&MemoryStorage::new());
    let counts = db.keyspace("counts").unwrap().typed::<str, u64>().unwrap();
    assert!(counts.compare_and_swap("a", None, Some(&1)).unwrap().is_done());
    let Swap::Mismatch(Some(current)) = counts.compare_and_swap("a", Some(&2), Some(&3)).unwrap() else { panic!() };
    assert_eq!(current.value().unwrap(), 1);
    assert!(counts.compare_and_swap("a", Some(&1), None).unwrap().is_done());
    assert!(!counts.contains_key("a").unwrap());
}

#[test]
fn a_typed_keyspace_answers_as_a_map_does() {
    let db = open(&MemoryStorage::new());
    let floats = db.keyspace("floats").unwrap().typed::<(i16, String), Vec<u8>>().unwrap();
    let mut model = BTreeMap::new();
    let mut state = 1_u64;
    for _ in 0..500 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let key = ((state >> 40) as i16 % 20, ["", "a", "\0", "a\0", "ab"][(state >> 33) as usize % 5].to_owned());
        if state >> 60 == 0 {
            floats.remove((key.0, key.1.as_str())).unwrap();
            model.remove(&key);
        } else {
            let value = state.to_le_bytes().to_vec();
            floats.insert((key.0, key.1.as_str()), value.as_slice()).unwrap();
            model.insert(key, value);
        }
    }
    let read: Vec<_> = floats
        .range((-7, "a")..(9, ""))
        .map(|record| record.map(|(key, value)| (key.value().unwrap(), value.value().unwrap())).unwrap())
        .collect();
    let expected: Vec<_> = model.range((-7, "a".to_owned())..(9, String::new())).collect();
    assert!(read.iter().map(|(key, value)| (key, value)).eq(expected) && !read.is_empty());
}
