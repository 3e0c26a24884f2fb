//! Tests of the types of a keyspace under several handles. Goal: types are never replaced under a handle that uses
//! them, or under a record of any version that is still read; handles of older types go on after fields were added; and
//! what was read can be compared and swapped. Method: two handles for each call, threads, readers, and drawn programs
//! of up to twenty handles, whose outcomes a model of a few lines predicts.

use super::keyspaces::open;
use ogive::io::MemoryStorage;
use ogive::lsm::{PinnedTypes, Swap};
use ogive::typed::{TypedKeyspace, TypedMultimap};
use ogive::types::{KeyType, RecordType, ValueType};
use ogive::{Cause, Db, DbOptions, DbSnapshot, Error, Keyspace};
use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};

mod first {
    ogive::row! {
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Reading { pub(crate) a: f64 }
    }
}

mod second {
    ogive::row! {
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Reading { pub(crate) a: f64, pub(crate) x: Option<f32>, pub(crate) note: Option<String> }
    }
}

fn refused(outcome: Result<impl std::fmt::Debug, Error>) -> usize {
    match outcome.unwrap_err() {
        Error { cause: Cause::WrongType { handles }, .. } => handles,
        other => panic!("{other}"),
    }
}

#[test]
fn a_row_from_before_a_field_was_added_can_be_swapped_by_what_load_returns() {
    let db = open(&MemoryStorage::new());
    let keyspace = db.keyspace("k").unwrap();
    let old = keyspace.typed::<u64, first::Reading>().unwrap();
    for (key, a) in [(1, 0.5), (2, -0.0), (3, f64::NAN), (4, -f64::NAN)] {
        old.insert(key, first::Reading { a }).unwrap();
    }
    let new = keyspace.typed::<u64, second::Reading>().unwrap();
    for key in 1..5 {
        let read = new.load(key).unwrap().unwrap();
        assert_eq!((read.x, read.note.as_deref()), (None, None));
        let next = second::Reading { x: Some(-0.0), ..read.clone() };
        assert!(new.compare_and_swap(key, Some(&read), Some(&next)).unwrap().is_done());
        let Swap::Mismatch(Some(current)) = new.compare_and_swap(key, Some(&read), None).unwrap() else { panic!() };
        let current = current.value().unwrap();
        assert!(current.x.unwrap().is_sign_negative(), "a zero keeps its sign");
        // The handle of the first type sees the row without the new fields, and swaps it by them.
        let seen = old.load(key).unwrap().unwrap();
        assert_eq!((seen.a.is_nan(), seen.a == 0.5), (key > 2, key == 1));
        assert_eq!(seen.a.is_sign_negative(), key == 2 || key == 4, "{key}");
        assert!(old.compare_and_swap(key, Some(&seen), None).unwrap().is_done());
    }
    let scalars = db.keyspace("scalars").unwrap().typed::<u8, f64>().unwrap();
    scalars.insert(1, -0.0).unwrap();
    assert!(scalars.load(1).unwrap().unwrap().is_sign_negative());
    assert!(!scalars.compare_and_swap(1, Some(&0.0), None).unwrap().is_done(), "as values, zeros differ");
    assert!(scalars.compare_and_swap(1, Some(&-0.0), Some(&f64::NAN)).unwrap().is_done());
    assert!(scalars.compare_and_swap(1, Some(&-f64::NAN), None).unwrap().is_done());
}

#[test]
fn what_a_mismatch_returns_is_what_a_swap_expects_whatever_the_type() {
    let db = open(&MemoryStorage::new());
    let mut random = Random::new(11);
    let scalars = ["bool", "u8", "i128", "f32", "f64", "text", "bytes", "bytes3", "uuid", "date", "time(ms)"];
    let more = ["timestamp(ns)", "decimal(9,2)", "decimal(38,0)"];
    let names: Vec<&str> = scalars.into_iter().chain(more).collect();
    for round in 0..300 {
        let fields = 1 + random.below(4) as usize;
        let field = |at: usize, random: &mut Random| {
            format!(
                "f{at}: {}{}",
                names[random.below(names.len() as u64) as usize],
                ["", "?"][random.below(2) as usize]
            )
        };
        let mut list: Vec<String> = (0..fields).map(|at| field(at, &mut random)).collect();
        let older = match random.one_in(4) {
            true => names[random.below(names.len() as u64) as usize].to_owned(),
            false => format!("{{{}}}", list.join(", ")),
        };
        let keyspace = db.keyspace(&format!("k{round}")).unwrap();
        let types = |values: &str| RecordType::new(KeyType::U8, values.parse::<ValueType>().unwrap());
        let pinned = keyspace.declare(&types(&older)).unwrap();
        let stored = drawn_value(&pinned.types().values, &mut random);
        keyspace.insert([1], &stored).unwrap();
        let pinned = match older.starts_with('{') {
            true => {
                list.push(format!("later: {}?", names[random.below(names.len() as u64) as usize]));
                keyspace.declare(&types(&format!("{{{}}}", list.join(", ")))).unwrap()
            }
            false => pinned,
        };
        let other = drawn_value(&pinned.types().values, &mut random);
        let is_same = pinned.types().values.comparable(&other) == pinned.types().values.comparable(&stored);
        let Swap::Mismatch(Some(current)) = pinned.compare_and_swap([1], None, None).unwrap() else { panic!() };
        let swapped = pinned.compare_and_swap([1], Some(&other), Some(&stored)).unwrap();
        assert_eq!(swapped.is_done(), is_same, "{}", pinned.types());
        assert!(pinned.compare_and_swap([1], Some(&current), None).unwrap().is_done());
        assert!(!keyspace.contains_key([1]).unwrap(), "{}", pinned.types());
    }
}

/// The bytes of a drawn value: floats are of any bits, and all else decodes from bytes that were drawn until they do.
fn drawn_value(values: &ValueType, random: &mut Random) -> Vec<u8> {
    let scalar = |key_type: KeyType, random: &mut Random| loop {
        let width = key_type.width().unwrap_or(random.below(4) as usize);
        let mut bytes: Vec<u8> = (0..width).map(|_| random.below(256) as u8).collect();
        if random.one_in(2) {
            bytes.iter_mut().skip(1).for_each(|byte| *byte = 0);
        }
        match key_type {
            KeyType::Text => return b"abcd"[..width].to_vec(),
            KeyType::F32 if random.one_in(2) => return [0xff - 0x80 * (random.below(2) as u8), 0xff, 0xff, 1].to_vec(),
            _ if key_type.decode(&bytes).is_ok() => return bytes,
            _ => {}
        }
    };
    match values {
        ValueType::Scalar(key_type) => scalar(*key_type, random),
        ValueType::Row(row_type) => {
            let mut row = ogive::types::RowBuilder::new(row_type.clone());
            for field in row_type.fields() {
                let bytes = (!field.nullable || random.one_in(2)).then(|| scalar(field.key_type, random));
                row.push_bytes(bytes.as_deref()).unwrap();
            }
            let mut bytes = Vec::new();
            row.finish(&mut bytes).unwrap();
            bytes
        }
    }
}

#[test]
fn types_without_records_are_not_replaced_under_a_handle_a_range_a_batch_or_a_snapshot() {
    let db = open(&MemoryStorage::new());
    let keyspace = db.keyspace("k").unwrap();
    let numbers = || keyspace.typed::<u64, u64>();
    let a = numbers().unwrap();
    assert_eq!(refused(keyspace.typed::<u64, i64>()), 1);
    assert_eq!(refused(keyspace.declare(&RecordType::new(KeyType::U64, KeyType::I64))), 1);
    let clone = a.clone();
    assert_eq!(refused(keyspace.typed::<u64, i64>()), 2);
    drop((a, clone));
    keyspace.typed::<u64, i64>().unwrap();

    let a = numbers().unwrap();
    let range = a.iter();
    drop(a);
    assert_eq!(refused(keyspace.typed::<u64, i64>()), 1, "a range");
    drop(range);
    let mut batch = db.batch();
    batch.typed_insert(&numbers().unwrap(), 1, 5).typed_insert(&numbers().unwrap(), 2, 5);
    assert_eq!(refused(keyspace.typed::<u64, i64>()), 1, "a batch");
    batch.commit().unwrap();
    assert_eq!(refused(keyspace.typed::<u64, i64>()), 0, "records");
    let snapshot = db.snapshot();
    keyspace.remove_range::<&[u8]>(..).unwrap();
    assert_eq!(refused(keyspace.typed::<u64, i64>()), 0, "records of a snapshot");
    drop(snapshot);
    keyspace.typed::<u64, i64>().unwrap().insert(1, -5).unwrap();
    assert_eq!(keyspace.typed::<u64, i64>().unwrap().load(1).unwrap(), Some(-5));
}

#[test]
fn the_types_of_an_empty_multimap_are_not_replaced_under_a_handle() {
    let db = open(&MemoryStorage::new());
    let map: TypedMultimap<u8, str> = db.multimap("m").unwrap();
    assert_eq!(refused(db.multimap::<u64, str>("m")), 1);
    map.insert(1, "a").unwrap();
    map.remove_all(1).unwrap();
    assert_eq!(refused(db.multimap::<u64, str>("m")), 1);
    let values = map.get(1);
    drop(map);
    assert_eq!(refused(db.multimap::<u64, str>("m")), 1, "a range of values");
    drop(values);
    db.multimap::<u64, str>("m").unwrap();
}

#[test]
fn of_two_threads_that_open_a_keyspace_with_different_types_one_is_refused() {
    for round in 0..200 {
        let db = open(&MemoryStorage::new());
        let keyspace = db.keyspace("k").unwrap();
        let start = Barrier::new(2);
        let (unsigned, signed) = std::thread::scope(|scope| {
            let unsigned = scope.spawn(|| {
                start.wait();
                let handle = keyspace.typed::<u64, u64>()?;
                handle.insert(1, 5).map(|()| handle)
            });
            let signed = scope.spawn(|| {
                start.wait();
                let handle = keyspace.typed::<u64, i64>()?;
                handle.insert(2, -5).map(|()| handle)
            });
            (unsigned.join().unwrap(), signed.join().unwrap())
        });
        assert_ne!(unsigned.is_ok(), signed.is_ok(), "round {round}");
        assert_eq!(keyspace.iter().count(), 1);
    }
}

#[test]
fn an_index_of_another_type_is_built_if_it_is_accepted() {
    let db = open(&MemoryStorage::new());
    let keyspace = || db.keyspace("k").unwrap().typed::<u64, u64>().unwrap();
    // No record has an entry, and the index is noted as complete.
    let by_text = keyspace().with_index("by", |_, _| None::<String>).unwrap();
    for key in 0..10 {
        by_text.insert(key, key % 3).unwrap();
    }
    assert_eq!(refused(keyspace().with_index("by", |_, value| Some(*value))), 1);
    drop(by_text);
    let by_number = keyspace().with_index("by", |_, value| Some(*value)).unwrap();
    let found = (0..3).map(|value| by_number.by::<u64>("by").unwrap().keys(value).count()).sum::<usize>();
    assert_eq!(found, 10);
}

#[test]
fn a_handle_of_older_types_goes_on_after_fields_were_added() {
    let db = open(&MemoryStorage::new());
    let keyspace = db.keyspace("k").unwrap();
    let old = keyspace.typed::<u64, first::Reading>().unwrap();
    let indexed = keyspace.typed::<u64, first::Reading>().unwrap();
    let indexed = indexed.with_index("by_a", |_, reading| Some(reading.a)).unwrap();
    indexed.insert(1, first::Reading { a: 1.0 }).unwrap();
    let mut begun = old.iter();
    assert_eq!(begun.next().unwrap().unwrap().1.value().unwrap().a, 1.0);
    let new = keyspace.typed::<u64, second::Reading>().unwrap();
    let wide = |a: f64| second::Reading { a, x: Some(2.5), note: Some("wide".into()) };
    let by_new = keyspace.typed::<u64, second::Reading>().unwrap();
    let by_new = by_new.with_index("by_a", |_, reading| Some(reading.a)).unwrap();
    for key in 2..6 {
        by_new.insert(key, wide(key as f64)).unwrap();
    }
    let snapshot = db.snapshot();
    let loaded = |key: u64| old.load(key).unwrap().map(|reading| reading.a);
    assert_eq!((loaded(1), loaded(2), loaded(9)), (Some(1.0), Some(2.0), None));
    assert_eq!(old.get(3).unwrap().unwrap().row().unwrap().field(0).unwrap().map(<[u8]>::len), Some(8));
    let many = old.multi_get([4, 9, 1]).unwrap();
    let many: Vec<Option<f64>> = many.iter().map(|it| it.as_ref().map(|it| it.value().unwrap().a)).collect();
    assert_eq!(many, [Some(4.0), None, Some(1.0)]);
    let all = |range: ogive::typed::TypedRange<u64, first::Reading>| -> Vec<f64> {
        range.map(|record| record.unwrap().1.value().unwrap().a).collect()
    };
    assert_eq!(all(old.iter()), [1.0, 2.0, 3.0, 4.0, 5.0]);
    let back: Vec<f64> = old.range(2..5).rev().map(|record| record.unwrap().1.value().unwrap().a).collect();
    assert_eq!(back, [4.0, 3.0, 2.0]);
    assert_eq!(all(snapshot.typed(&old).range(4..)), [4.0, 5.0]);
    assert_eq!(snapshot.typed(&old).load(2).unwrap().unwrap().a, 2.0);
    assert_eq!(snapshot.typed(&old).multi_get([2]).unwrap()[0].as_ref().unwrap().value().unwrap().a, 2.0);
    // Its writes are null in the new fields, and keep the index right.
    indexed.insert(2, first::Reading { a: 20.0 }).unwrap();
    assert_eq!(new.load(2).unwrap(), Some(second::Reading { a: 20.0, x: None, note: None }));
    let mut batch = db.batch();
    batch.typed_insert(&old, 7, first::Reading { a: 7.0 });
    batch.commit().unwrap();
    let by_a = indexed.by::<f64>("by_a").unwrap();
    assert_eq!(
        by_a.range(..).map(|record| record.unwrap().1.value().unwrap().a).collect::<Vec<_>>(),
        [1.0, 3.0, 4.0, 5.0, 20.0]
    );
    indexed.rebuild().unwrap();
    assert_eq!(by_a.range(..).count(), 6);
    assert_eq!(refused(keyspace.typed::<u64, first::Reading>()), 0, "a new handle must know the fields");
}

#[test]
fn a_reader_states_no_types_and_a_keyspace_made_again_has_others() {
    let memory = MemoryStorage::new();
    let db = open(&memory);
    let keyspace = db.keyspace("k").unwrap();
    assert!(keyspace.is_undecided().unwrap());
    db.keyspace("bytes").unwrap().insert("a", "b").unwrap();
    assert!(!db.keyspace("bytes").unwrap().is_undecided().unwrap(), "its records are bytes");
    assert_eq!(refused(db.keyspace("bytes").unwrap().typed::<u64, u64>()), 0);
    let reader = || Db::open_read_only(Arc::new(memory.clone()), &DbOptions::default()).unwrap();
    let before = reader().keyspace("k").unwrap();
    let seen = before.typed::<u64, u8>().unwrap();
    assert_eq!((seen.load(1).unwrap(), before.is_undecided().unwrap()), (None, true));
    let numbers = keyspace.typed::<u64, u64>().unwrap();
    assert_eq!(refused(reader().keyspace("k").unwrap().typed::<u64, i64>()), 0, "a reader replaces nothing");
    assert_eq!(seen.load(1).unwrap(), None, "the reader is still at its version");
    assert!(!keyspace.is_undecided().unwrap());

    let generation = numbers.pinned().generation();
    db.drop_keyspace("k").unwrap();
    assert!(matches!(numbers.insert(1, 1), Err(Error { cause: Cause::KeyspaceDropped, .. })));
    assert!(matches!(keyspace.typed::<u64, i64>(), Err(Error { cause: Cause::KeyspaceDropped, .. })));
    let again = db.keyspace("k").unwrap();
    assert!(again.is_undecided().unwrap());
    let signed = again.typed::<u64, i64>().unwrap();
    assert!(matches!(numbers.load(1), Err(Error { cause: Cause::KeyspaceDropped, .. })));
    assert_eq!((generation, signed.pinned().generation()), (1, 1));
    drop((signed, again, numbers, keyspace));
    db.close().unwrap();
    let stated = RecordType::new(KeyType::U64, KeyType::I64);
    for generation in [1, 2] {
        let db = open(&memory);
        let keyspace = db.keyspace("k").unwrap();
        let pinned = keyspace.pin_types();
        assert_eq!((pinned.generation(), &**pinned.types()), (generation, &stated), "generations last");
        drop(pinned);
        keyspace.declare(&RecordType::new(KeyType::U64, KeyType::U64)).unwrap();
        db.close().unwrap();
        let db = open(&memory);
        if generation == 1 {
            // Bytes can be stated, too.
            let bytes = db.keyspace("k").unwrap().declare(&RecordType::default()).unwrap();
            assert_eq!((bytes.generation(), bytes.keyspace().is_undecided().unwrap()), (3, false));
            break;
        }
    }
}

/// The types of drawn programs: the first three extend each other.
const TYPES: [&str; 5] = ["{a: u32}", "{a: u32, b: text?}", "{a: u32, b: text?, c: f64?}", "{a: i32}", "text"];

fn types(number: usize) -> RecordType {
    RecordType::new(KeyType::U8, TYPES[number].parse::<ValueType>().unwrap())
}

/// The contents of a keyspace as a program sees them: the text of each value, in the type of its writer.
type Records = BTreeMap<u8, String>;

#[derive(Default)]
struct TypesModel {
    stated: Option<usize>,
    records: Records,
}

impl TypesModel {
    fn accepts(&self, asked: usize, handles: usize, has_old_records: bool) -> bool {
        match self.stated {
            None => true,
            Some(stated) if stated == asked || (stated < asked && asked < 3) => true,
            Some(_) => handles == 0 && self.records.is_empty() && !has_old_records,
        }
    }
}

/// A value of a type, as text; its fields are shown without those at the end that are null.
fn shown(values: &ValueType, bytes: &[u8]) -> String {
    values.display(bytes).trim_end_matches(',').to_owned()
}

/// As a handle of fewer fields shows it.
fn cut(text: &str, number: usize) -> String {
    let fields = if number < 3 { number + 1 } else { 1 };
    text.split(',').take(fields).collect::<Vec<_>>().join(",").trim_end_matches(',').to_owned()
}

/// A store and a model of one keyspace of it, with the handles and snapshots that a program has.
struct TypesProgram {
    memory: MemoryStorage,
    db: Db,
    model: TypesModel,
    handles: Vec<(usize, PinnedTypes)>,
    snapshots: Vec<(DbSnapshot, Records)>,
    /// Declarations that were accepted and refused, and values that a handle of fewer fields read.
    counts: [usize; 3],
}

impl TypesProgram {
    fn new() -> Self {
        let memory = MemoryStorage::new();
        let db = open(&memory);
        Self { memory, db, model: TypesModel::default(), handles: vec![], snapshots: vec![], counts: [0; 3] }
    }

    fn keyspace(&self) -> Keyspace {
        self.db.keyspace("k").unwrap()
    }

    fn declare(&mut self, asked: usize, at: &str) {
        let old = self.snapshots.iter().any(|(_, records)| !records.is_empty());
        let expected = self.model.accepts(asked, self.handles.len(), old);
        let declared = self.keyspace().declare(&types(asked));
        assert_eq!(declared.is_ok(), expected, "{at}: {asked} over {:?}", self.model.stated);
        match declared {
            Ok(pinned) => {
                self.counts[0] += 1;
                self.model.stated = Some(asked);
                self.handles.push((asked, pinned));
            }
            Err(_) => self.counts[1] += 1,
        }
    }

    fn insert(&mut self, handle: usize, key: u8) {
        let (number, pinned) = &self.handles[handle];
        let text = if *number > 2 { "7" } else { ["7", "7,b", "7,,1.5"][*number] };
        pinned.check().unwrap();
        pinned.keyspace().insert([key], pinned.types().values.parse(text).unwrap()).unwrap();
        self.model.records.insert(key, text.to_owned());
    }

    fn read(&mut self, handle: usize, at: &str) {
        let (number, pinned) = &self.handles[handle];
        let values = &pinned.types().values;
        for (key, text) in &self.model.records {
            let found = pinned.keyspace().get([*key]).unwrap().unwrap();
            assert_eq!(shown(values, &found), cut(text, *number), "{at}");
            self.counts[2] += usize::from(cut(text, *number) != *text);
        }
        let range = pinned.adapt_range(pinned.keyspace().iter());
        let all: Vec<String> = range.map(|record| shown(values, &record.unwrap().1)).collect();
        assert_eq!(all, self.model.records.values().map(|text| cut(text, *number)).collect::<Vec<_>>(), "{at}");
    }

    /// Drops the keyspace, or opens the store again.
    fn end(&mut self, drops: bool) {
        self.handles.clear();
        self.snapshots.clear();
        if drops {
            self.db.drop_keyspace("k").unwrap();
            self.model = TypesModel::default();
        } else {
            self.db.close().unwrap();
            self.db = open(&self.memory);
        }
    }

    fn step(&mut self, random: &mut Random, at: &str) {
        let handle = random.below(self.handles.len().max(1) as u64) as usize;
        match random.below(20) {
            0..=4 if self.handles.len() < 20 => self.declare(random.below(5) as usize, at),
            5..=9 if !self.handles.is_empty() => self.insert(handle, random.below(6) as u8),
            10..=12 if !self.handles.is_empty() => self.read(handle, at),
            13 | 14 => {
                self.keyspace().remove_range::<&[u8]>(..).unwrap();
                self.model.records.clear();
            }
            15 => self.snapshots.push((self.db.snapshot(), self.model.records.clone())),
            16 => _ = self.snapshots.pop(),
            17 if !self.handles.is_empty() => _ = self.handles.swap_remove(handle),
            18 if random.one_in(2) => self.handles.clear(),
            19 if random.one_in(3) => self.end(random.one_in(2)),
            _ => self.db.flush().unwrap(),
        }
        let stated = self.model.stated.map_or_else(RecordType::default, types);
        assert_eq!(*self.keyspace().record_type(), stated, "{at}");
        assert_eq!(self.keyspace().is_undecided().unwrap(), self.model.stated.is_none(), "{at}");
    }
}

#[test]
fn programs_of_twenty_handles_open_add_fields_write_drop_and_reopen_as_a_model_does() {
    let mut counts = [0; 3];
    for seed in 0..60 {
        let (mut random, mut program) = (Random::new(seed), TypesProgram::new());
        for step in 0..150 {
            program.step(&mut random, &format!("seed {seed}, step {step}"));
        }
        counts.iter_mut().zip(program.counts).for_each(|(all, more)| *all += more);
    }
    let [accepted, refused, narrowed] = counts;
    assert!(accepted > 500 && refused > 300 && narrowed > 30, "{accepted} {refused} {narrowed}");
}

#[test]
fn eight_threads_write_through_handles_of_three_generations() {
    let db = open(&MemoryStorage::new());
    let keyspace = db.keyspace("k").unwrap();
    let old: TypedKeyspace<u64, first::Reading> = keyspace.typed().unwrap();
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (old, keyspace, start) = (&old, &keyspace, &start);
            scope.spawn(move || {
                start.wait();
                for i in 0..200 {
                    let key = i % 16;
                    if thread % 2 == 0 {
                        old.insert(key, first::Reading { a: i as f64 }).unwrap();
                    } else {
                        let new = keyspace.typed::<u64, second::Reading>().unwrap();
                        let wide = second::Reading { a: i as f64, x: Some(1.0), note: Some("n".repeat(40)) };
                        new.insert(key, wide).unwrap();
                        assert!(new.load(key).unwrap().is_some());
                    }
                    assert!(old.load(key).unwrap().is_some());
                    assert!(old.iter().all(|record| record.unwrap().1.value().is_ok()));
                }
            });
        }
    });
}
