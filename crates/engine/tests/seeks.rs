//! Moves of the ends of open ranges of tables, indexes, multimaps, and secondary indexes of stores. Goal: an end moves
//! to any key of its range, ahead and back, and the range goes on from there as a new one would. Method: drawn steps
//! and moves of both ends, compared with positions in the list of what the range has; equal keys, own writes of
//! transactions, reads that fail. Ranges of keyspaces are tested in `db/seeks.rs` and `transactions/seeks.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use ogive::index::{Index, IndexOptions};
use ogive::io::{FastPaths, MemoryStorage, Storage};
use ogive::typed::TypedRecord;
use ogive::types::{IndexDefinition, Value};
use ogive::{Db, DbOptions, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive_testkit::{Fault, FaultInjector, MovedList, Operation, Random, Repeat, seeds};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// A step of an end, the front or the back, or its move to a place.
enum Act<'a, P> {
    Step(bool),
    Move(bool, &'a P),
}

/// Steps and moves of a range of numbers.
type ActOnNumbers<'a> = &'a mut dyn FnMut(Act<'_, u64>) -> Option<(u64, u64)>;

/// Draws steps and moves of a range, and compares it with the list of what it has.
fn drive<T: Clone + Debug + PartialEq, P: Debug>(
    random: &mut Random,
    list: Vec<T>,
    place: impl Fn(&mut Random) -> P,
    compare: impl Fn(&T, &P) -> Ordering,
    mut act: impl FnMut(Act<'_, P>) -> Option<T>,
) {
    let (mut model, only) = (MovedList::new(list), random.below(3));
    for _ in 0..random.below(60) {
        // The front alone, the back alone, or both.
        let forward = only == 0 || only == 1 && random.one_in(2);
        if random.one_in(3) {
            let to = place(random);
            act(Act::Move(forward, &to));
            match forward {
                true => model.seek(|element| compare(element, &to).is_lt()),
                false => model.seek_for_prev(|element| compare(element, &to).is_le()),
            }
        } else {
            assert_eq!(act(Act::Step(forward)), model.step(forward), "{forward}");
        }
    }
}

fn text(random: &mut Random) -> Vec<u8> {
    (0..random.below(3)).map(|_| b'a' + random.below(5) as u8).collect()
}

fn bound<T>(random: &mut Random, key: impl Fn(&mut Random) -> T) -> Bound<T> {
    match random.below(4) {
        0 => Bound::Included(key(random)),
        1 => Bound::Excluded(key(random)),
        _ => Bound::Unbounded,
    }
}

/// A table of these records, with small blocks.
fn table(records: &[(Vec<u8>, Vec<u8>)]) -> Arc<MemoryStorage> {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().block_bytes(512);
    let mut writer = TableWriter::create((storage.clone() as Arc<dyn Storage>, "table"), options).unwrap();
    records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    storage
}

#[test]
fn moved_ends_of_ranges_of_tables_go_on_as_new_ranges_would() {
    for seed in seeds(0..150) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        // Equal keys are records of their own.
        let mut keys: Vec<Vec<u8>> = (0..random.below(90)).map(|_| text(random)).collect();
        keys.sort();
        let long = random.one_in(2);
        let value = |number: usize| vec![number as u8; if long { 90 } else { 2 }];
        let records: Vec<_> = keys.into_iter().enumerate().map(|(number, key)| (key, value(number))).collect();
        let options = TableOptions::default();
        let options = if random.one_in(2) { options } else { options.fast_paths(FastPaths::NONE) };
        let table = Table::open((table(&records) as Arc<dyn Storage>, "table"), &options).unwrap();
        for _ in 0..6 {
            let bounds = (bound(random, text), bound(random, text));
            let within = records.iter().filter(|(key, _)| bounds.contains(key)).cloned().collect();
            let mut range = table.range(bounds);
            drive(
                random,
                within,
                text,
                |(key, _), to| key.cmp(to),
                |act| match act {
                    Act::Step(true) => range.next().transpose().unwrap(),
                    Act::Step(false) => range.next_back().transpose().unwrap(),
                    Act::Move(true, to) => {
                        range.seek(to);
                        None
                    }
                    Act::Move(false, to) => {
                        range.seek_for_prev(to);
                        None
                    }
                },
            );
        }
    }
}

#[test]
fn a_range_of_a_table_that_has_failed_stays_ended_when_it_is_moved() {
    let records: Vec<_> = (0..2_000_u32).map(|number| (number.to_be_bytes().to_vec(), vec![7; 40])).collect();
    let injector = FaultInjector::new(table(&records));
    let options = TableOptions::default().fast_paths(FastPaths::NONE);
    let table = Table::open((Arc::new(injector.clone()) as Arc<dyn Storage>, "table"), &options).unwrap();
    let mut range = table.iter();
    range.next().unwrap().unwrap();
    injector.fail_once(Operation::Read, 0, Fault::DeviceError);
    range.seek(1_000_u32.to_be_bytes());
    range.next().unwrap().unwrap_err();
    injector.clear();
    range.seek(0_u32.to_be_bytes());
    range.seek_for_prev(9_u32.to_be_bytes());
    assert!(range.next().is_none() && range.next_back().is_none());
    // Nor does a move read anything by itself.
    let mut range = table.iter();
    range.next().unwrap().unwrap();
    injector.fail_from(Operation::Read, 0, Fault::DeviceError);
    (0..2_000_u32).rev().for_each(|number| range.seek(number.to_be_bytes()));
    assert!(!injector.triggered());
}

#[test]
fn moved_ends_of_ranges_of_indexes_go_on_as_new_ranges_would() {
    for seed in seeds(0..150) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        let mut options = IndexOptions::default().duplicates(random.one_in(2));
        options.pages.page_bytes = 512;
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let index = Index::<u64, u64>::create((storage, "index"), &options).unwrap();
        let (keys, count) = (1 + random.below(300), random.below(400));
        let place = |random: &mut Random| random.below(keys + 2);
        let mut transaction = index.write().unwrap();
        for number in 0..count {
            transaction.insert(random.below(keys), number).unwrap();
        }
        let all: Vec<(u64, u64)> = transaction.range(..).map(Result::unwrap).collect();
        let mut tried = |range: ActOnNumbers<'_>, bounds: (Bound<u64>, Bound<u64>)| {
            let within = all.iter().filter(|(key, _)| bounds.contains(key)).copied().collect();
            drive(random, within, place, |(key, _), to| key.cmp(to), range);
        };
        let bounds = [(Bound::Unbounded, Bound::Unbounded), (Bound::Included(keys / 4), Bound::Excluded(keys / 2))];
        for bounds in bounds {
            let mut range = transaction.range(bounds);
            tried(
                &mut |act| match act {
                    Act::Step(true) => range.next().transpose().unwrap(),
                    Act::Step(false) => range.next_back().transpose().unwrap(),
                    Act::Move(true, to) => {
                        range.seek(*to);
                        None
                    }
                    Act::Move(false, to) => {
                        range.seek_for_prev(*to);
                        None
                    }
                },
                bounds,
            );
        }
        transaction.commit().unwrap();
        for bounds in bounds.into_iter().chain([(Bound::Excluded(0), Bound::Included(keys / 2))]) {
            let mut range = index.range(bounds).unwrap();
            tried(
                &mut |act| match act {
                    Act::Step(true) => range.next().transpose().unwrap(),
                    Act::Step(false) => range.next_back().transpose().unwrap(),
                    Act::Move(true, to) => {
                        range.seek(*to);
                        None
                    }
                    Act::Move(false, to) => {
                        range.seek_for_prev(*to);
                        None
                    }
                },
                bounds,
            );
        }
    }
}

/// A small store in memory.
fn store() -> Db {
    let options = DbOptions::default()
        .threads(0)
        .memory_bytes(4 << 20)
        .writes(|writes| writes.memtable_bytes(4 << 10))
        .levels(|levels| levels.table_bytes(4 << 10));
    Db::open(Arc::new(MemoryStorage::new()), &options).unwrap()
}

/// Steps and moves of a range whose moves may fail, as those of typed ones.
macro_rules! act {
    ($range:ident, $entry:expr) => {
        |act| match act {
            Act::Step(true) => $range.next().map(Result::unwrap).map($entry),
            Act::Step(false) => $range.next_back().map(Result::unwrap).map($entry),
            Act::Move(true, to) => {
                $range.seek(to).unwrap();
                None
            }
            Act::Move(false, to) => {
                $range.seek_for_prev(to).unwrap();
                None
            }
        }
    };
}

#[test]
fn moved_ends_of_ranges_of_multimaps_go_on_as_new_ranges_would() {
    for seed in seeds(0..100) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        let db = store();
        let map = db.multimap::<u8, u8>("map").unwrap();
        let number = |random: &mut Random| random.below(7) as u8 * 40;
        let mut pairs = BTreeSet::new();
        for _ in 0..random.below(60) {
            let (key, value) = (number(random), number(random));
            map.insert(key, value).unwrap();
            pairs.insert((key, value));
            if random.one_in(20) {
                db.flush().unwrap();
            }
        }
        let tx = db.begin();
        let mut own = pairs.clone();
        for _ in 0..random.below(8) {
            let (key, value) = (number(random), number(random));
            if random.one_in(2) {
                tx.multimap_remove(&map, key, value).unwrap();
                own.remove(&(key, value));
            } else {
                tx.multimap_insert(&map, key, value).unwrap();
                own.insert((key, value));
            }
        }
        for bounds in [(Bound::Unbounded, Bound::Unbounded), (bound(random, number), bound(random, number))] {
            let within = |of: &BTreeSet<(u8, u8)>| of.iter().filter(|it| bounds.contains(&it.0)).copied().collect();
            let by_key = |(key, _): &(u8, u8), to: &u8| key.cmp(to);
            let (mut range, key) = (map.range(bounds), number(random));
            drive(
                random,
                within(&pairs),
                number,
                by_key,
                act!(range, |(key, value)| (key.value().unwrap(), value.value().unwrap())),
            );
            let mut range = tx.multimap_range(&map, bounds);
            drive(
                random,
                within(&own),
                number,
                by_key,
                act!(range, |(key, value)| (key.value().unwrap(), value.value().unwrap())),
            );
            let of_key = |of: &BTreeSet<(u8, u8)>| of.iter().filter(|it| it.0 == key).map(|it| it.1).collect();
            let mut values = map.get(key);
            drive(random, of_key(&pairs), number, u8::cmp, act!(values, |value| value.value().unwrap()));
            let mut values = tx.multimap_get(&map, key);
            drive(random, of_key(&own), number, u8::cmp, act!(values, |value| value.value().unwrap()));
        }
    }
}

ogive::row! {
    #[derive(Clone, Debug, PartialEq)]
    struct Person {
        city: String,
        age: u8,
    }
}

/// The city, the age and the number of a person.
type Entry = (String, u8, u64);

type People = BTreeMap<u64, Person>;

fn city(random: &mut Random) -> String {
    String::from_utf8(text(random)).unwrap()
}

fn person(random: &mut Random) -> (u64, Person) {
    (random.below(40), Person { city: city(random), age: random.below(4) as u8 })
}

/// The entries of people, in the order of an index by city and age.
fn entries(of: &People) -> BTreeSet<Entry> {
    of.iter().map(|(number, person)| (person.city.clone(), person.age, *number)).collect()
}

/// Values of the index, or the first of them only.
fn place(random: &mut Random) -> Vec<Value> {
    let mut values = vec![Value::Text(city(random))];
    values.extend(random.one_in(2).then(|| Value::Unsigned(u128::from(random.below(4)))));
    values
}

fn compare((city, age, _): &Entry, to: &Vec<Value>) -> Ordering {
    match &to[..] {
        [Value::Text(of)] => city.cmp(of),
        [Value::Text(of), Value::Unsigned(other)] => city.cmp(of).then(u128::from(*age).cmp(other)),
        _ => panic!("{to:?}"),
    }
}

fn within(of: &People, bounds: &(Bound<Vec<Value>>, Bound<Vec<Value>>)) -> Vec<Entry> {
    let is_within = |entry: &Entry| {
        let is_above = match &bounds.0 {
            Bound::Unbounded => true,
            Bound::Included(from) => compare(entry, from).is_ge(),
            Bound::Excluded(from) => compare(entry, from).is_gt(),
        };
        let is_below = match &bounds.1 {
            Bound::Unbounded => true,
            Bound::Included(to) => compare(entry, to).is_le(),
            Bound::Excluded(to) => compare(entry, to).is_lt(),
        };
        is_above && is_below
    };
    entries(of).into_iter().filter(is_within).collect()
}

fn typed_entry((key, value): TypedRecord<u64, Person>) -> Entry {
    let person = value.value().unwrap();
    (person.city, person.age, key.value().unwrap())
}

#[test]
fn moved_ends_of_ranges_of_secondary_indexes_go_on_as_new_ranges_would() {
    for seed in seeds(0..60) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        let db = store();
        let people = db.keyspace("people").unwrap().typed::<u64, Person>().unwrap();
        let definition = IndexDefinition::by("city, age").unwrap();
        let index = db.create_index("by_city", people.untyped(), &definition).unwrap();
        let typed = people.index::<(String, u8)>("by_city").unwrap();
        let mut all = People::new();
        for _ in 0..random.below(80) {
            let (number, person) = person(random);
            people.insert(number, person.clone()).unwrap();
            all.insert(number, person);
            if random.one_in(30) {
                db.flush().unwrap();
            }
        }
        let (tx, mut own) = (db.begin(), all.clone());
        for _ in 0..random.below(12) {
            let (number, person) = person(random);
            if random.one_in(3) {
                tx.typed(&people).remove(number).unwrap();
                own.remove(&number);
            } else {
                tx.typed(&people).insert(number, person.clone()).unwrap();
                own.insert(number, person);
            }
        }
        let types = people.untyped().record_type();
        let entry = |(key, row): (ogive::Slice, ogive::Slice)| {
            let Value::Tuple(fields) = types.values.decode(&row).unwrap() else { panic!() };
            let [Value::Text(city), Value::Unsigned(age)] = &fields[..] else { panic!("{fields:?}") };
            (city.clone(), *age as u8, u64::from_be_bytes((*key).try_into().unwrap()))
        };
        for _ in 0..3 {
            let first = |random: &mut Random| vec![Value::Text(city(random))];
            let bounds = (bound(random, first), bound(random, first));
            let (from, to) = (bounds.0.as_ref().map(Vec::as_slice), bounds.1.as_ref().map(Vec::as_slice));
            let mut range = index.range(from, to).unwrap();
            drive(random, within(&all, &bounds), place, compare, act!(range, entry));
            let mut range = tx.index_range(&index, from, to).unwrap();
            drive(random, within(&own, &bounds), place, compare, act!(range, entry));
            let mut range = typed.range(..);
            drive(random, entries(&all).into_iter().collect(), place, compare, act!(range, typed_entry));
        }
    }
}

#[test]
fn moved_ends_of_ranges_of_indexes_of_programs_go_on_as_new_ranges_would() {
    for seed in seeds(0..40) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        let db = store();
        let people = db.keyspace("people").unwrap().typed::<u64, Person>().unwrap();
        let people = people.with_index("by_city", |_, person| Some(person.city.clone())).unwrap();
        let mut all = BTreeSet::new();
        for number in 0..random.below(60) {
            let (_, person) = person(random);
            people.insert(number, person.clone()).unwrap();
            all.insert((person.city, number));
        }
        let by_city = people.by::<str>("by_city").unwrap();
        let compare = |(city, _): &(String, u64), to: &String| city.cmp(to);
        let entry = |record| {
            let (city, _, number) = typed_entry(record);
            (city, number)
        };
        for _ in 0..3 {
            let mut range = by_city.range(..);
            drive(random, all.iter().cloned().collect(), city, compare, |act| match act {
                Act::Step(true) => range.next().map(|found| entry(found.unwrap())),
                Act::Step(false) => range.next_back().map(|found| entry(found.unwrap())),
                Act::Move(true, to) => {
                    range.seek(to.as_str()).unwrap();
                    None
                }
                Act::Move(false, to) => {
                    range.seek_for_prev(to.as_str()).unwrap();
                    None
                }
            });
        }
    }
}
