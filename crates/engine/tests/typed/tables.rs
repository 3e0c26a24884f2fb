//! Tests of typed tables. Goal: they answer as tables do, with Rust values, and only with the types that they state.
//! Method: a small table with repeated keys.

use ogive::io::MemoryStorage;
use ogive::typed::{Desc, TypedTable, TypedTableWriter};
use ogive::{Cause, Error, Table, TableOptions, TableWriteOptions};
use std::sync::Arc;

ogive::row! {
    #[derive(Debug, PartialEq)]
    struct Fruit {
        name: String,
        price: Option<u32>,
    }
}

ogive::row! {
    #[derive(Debug, PartialEq)]
    struct MoreFruit {
        name: String,
        price: Option<u32>,
        origin: Option<String>,
    }
}

fn fruit(number: i32) -> Fruit {
    Fruit { name: format!("fruit {number}"), price: (number % 2 == 0).then_some(number as u32) }
}

fn table(memory: &MemoryStorage) -> Table {
    let storage = Arc::new(memory.clone());
    let mut writer =
        TypedTableWriter::<i32, Fruit>::create((storage.clone(), "fruit"), TableWriteOptions::default()).unwrap();
    for number in -50..50 {
        writer.append(number, fruit(number)).unwrap();
        if number == 7 {
            writer.append(7, &fruit(8)).unwrap();
        }
    }
    writer.finish().unwrap();
    Table::open((storage, "fruit"), &TableOptions::default()).unwrap()
}

#[test]
fn a_typed_table_answers_with_values() {
    let memory = MemoryStorage::new();
    let fruits: TypedTable<i32, Fruit> = table(&memory).typed().unwrap();
    assert_eq!(fruits.load(-50).unwrap(), Some(fruit(-50)));
    assert!(fruits.get(50).unwrap().is_none() && fruits.contains_key(&49).unwrap());
    let all: Vec<Fruit> = fruits.get_all(7).unwrap().iter().map(|value| value.value().unwrap()).collect();
    assert_eq!(all, [fruit(7), fruit(8)]);
    let (first, last) = (fruits.first().unwrap().unwrap(), fruits.last().unwrap().unwrap());
    assert_eq!((first.0.value().unwrap(), last.0.value().unwrap()), (-50, 49));
    assert_eq!(fruits.nth(50).unwrap().unwrap().0.value().unwrap(), 0);
    assert!(fruits.nth(101).unwrap().is_none());
    assert_eq!((fruits.rank(0).unwrap(), fruits.len(), fruits.is_empty()), (50, 101, false));
    assert_eq!((fruits.range(5..=8).count(), fruits.count(5..=8).unwrap(), fruits.iter().count()), (5, 5, 101));
    let back: Vec<i32> = fruits.range(..-48).rev().map(|record| record.unwrap().0.value().unwrap()).collect();
    assert_eq!(back, [-49, -50]);
}

#[test]
fn a_table_is_read_only_with_its_own_types() {
    let memory = MemoryStorage::new();
    let table = table(&memory);
    for error in [table.typed::<u32, Fruit>().unwrap_err(), table.typed::<Desc32, Fruit>().unwrap_err()] {
        assert!(
            matches!(&error, Error { cause: Cause::WrongType { .. }, .. }
                if error.detail().contains("a table of i32 -> {name: text, price: u32?}, not")),
            "{error}"
        );
    }
    let error = table.typed::<u32, str>().unwrap_err().to_string();
    assert!(error.contains("fruit") && error.contains("i32 ->") && error.contains("u32 -> text"), "{error}");
    let more = table.typed::<i32, MoreFruit>().unwrap();
    assert_eq!(more.load(4).unwrap().unwrap().origin, None);
}

type Desc32 = (Desc<i32>, u8);

#[test]
fn prefixes_of_tuples_and_text_are_ranges() {
    let storage = Arc::new(MemoryStorage::new());
    type Visit = (&'static str, Desc<u32>);
    let mut writer =
        TypedTableWriter::<Visit, ()>::create((storage.clone(), "visits"), TableWriteOptions::default()).unwrap();
    for name in ["a\0b", "ann", "anna", "bob"] {
        for day in [3, 2, 1] {
            writer.append((name, Desc(day)), ()).unwrap();
        }
    }
    writer.finish().unwrap();
    let visits = Table::open((storage.clone(), "visits"), &TableOptions::default()).unwrap();
    let visits = visits.typed::<Visit, ()>().unwrap();
    let days = |name: &'static str| -> Vec<u32> {
        visits.prefix((name,)).map(|record| record.unwrap().0.value().unwrap().1.0).collect()
    };
    assert_eq!((days("ann"), days("a\0b"), days("an")), (vec![3, 2, 1], vec![3, 2, 1], vec![]));
    assert_eq!(visits.prefix(("bob",)).rev().count(), 3);
    let mut writer =
        TypedTableWriter::<str, ()>::create((storage.clone(), "words"), TableWriteOptions::default()).unwrap();
    for word in ["a", "ab", "abc", "b"] {
        writer.append(word, ()).unwrap();
    }
    writer.finish().unwrap();
    let words = Table::open((storage, "words"), &TableOptions::default()).unwrap().typed::<str, ()>().unwrap();
    assert_eq!((words.prefix("ab").count(), words.prefix("").count(), words.prefix("b").rev().count()), (2, 4, 1));
}
