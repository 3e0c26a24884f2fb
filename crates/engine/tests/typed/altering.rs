//! Tests of alterations. Goal: whatever the place of a record (log, memtable, table, value file, backup), however often
//! its keyspace was altered since, and whatever handle reads it, it is read as the same values in the type of now; and
//! an alteration is there wholly or not at all. Method: drawn types, alterations and programs against a map of decoded
//! values, which a function of a few lines converts; power losses at every call; handles from before and after.

use super::keyspaces::open;
use ogive::backup::{BackupOptions, Backups};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{ALTERED_FORMAT, STORE_FORMAT, Swap};
use ogive::repair::repair_store;
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::types::{Alteration, Field, KeyType, RecordType, RowType, Value, ValueType};
use ogive::verify::verify_store;
use ogive::{Cause, Db, DbOptions, DbSnapshot, Error, Keyspace};
use ogive_testkit::{CrashOptions, Random, Repeat, SimulatedDisk, enumerate_crashes};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

/// Records by key, as fields.
type Model = BTreeMap<u8, Vec<Value>>;

/// Types, each of which holds all values of the one before.
const CHAINS: [&[&str]; 13] = [
    &["u8", "u16", "u32", "u64", "u128"],
    &["i8", "i16", "i32", "i64", "i128", "decimal(38,0)"],
    &["u8", "i16", "i32", "decimal(12,2)", "decimal(38,9)"],
    &["u64", "i128"],
    &["f32", "f64"],
    &["decimal(4,2)", "decimal(9,2)", "decimal(10,3)", "decimal(38,4)"],
    &["time(s)", "time(ms)", "time(us)", "time(ns)"],
    &["u16", "f32", "f64"],
    &["decimal(9,0)", "i32", "f64"],
    &["date", "timestamp(s)"],
    &["text"],
    &["bytes"],
    &["timestamp(ms)"],
];

fn options() -> DbOptions {
    DbOptions::default()
        .values(|values| values.separation_bytes(64))
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .levels(|levels| levels.table_bytes(4 << 10).level_bytes(16 << 10).block_bytes(512))
        .threads(0)
}

fn types(values: &str) -> RecordType {
    RecordType::new(KeyType::U8, values.parse::<ValueType>().unwrap())
}

fn declared(db: &Db, values: &str) -> Keyspace {
    let keyspace = db.keyspace("k").unwrap();
    drop(keyspace.declare(&types(values)).unwrap());
    keyspace
}

/// A value of a type, often at its limits.
fn draw(key_type: KeyType, random: &mut Random) -> Value {
    let name = key_type.to_string();
    let extreme = random.one_in(3);
    let number = |most: i128, random: &mut Random| match (extreme, random.one_in(2)) {
        (true, _) => most,
        (false, _) => i128::from(random.next_u64()) % most.saturating_add(1).max(1),
    };
    let text = "x".repeat(if random.one_in(4) { 100 } else { random.below(6) as usize });
    let sign = if random.one_in(2) { -1 } else { 1 };
    match key_type {
        KeyType::U8 => Value::Unsigned(number(u8::MAX.into(), random) as u128),
        KeyType::U16 => Value::Unsigned(number(u16::MAX.into(), random) as u128),
        KeyType::U32 => Value::Unsigned(number(u32::MAX.into(), random) as u128),
        KeyType::U64 => Value::Unsigned(number(u64::MAX.into(), random) as u128),
        KeyType::U128 => Value::Unsigned(if extreme { u128::MAX } else { random.next_u64().into() }),
        KeyType::I8 => Value::Signed(sign * number(i8::MAX.into(), random)),
        KeyType::I16 => Value::Signed(sign * number(i16::MAX.into(), random)),
        KeyType::I32 | KeyType::Date => Value::Signed(sign * number(i32::MAX.into(), random)),
        KeyType::I64 | KeyType::Timestamp(_) => Value::Signed(sign * number(i64::MAX.into(), random)),
        KeyType::I128 => Value::Signed(if extreme { i128::MIN } else { sign * i128::from(random.next_u64()) }),
        KeyType::F32 | KeyType::F64 if extreme => Value::Float([-0.0, f64::INFINITY, -1.5][random.below(3) as usize]),
        KeyType::F32 => Value::Float(f64::from(random.unit() as f32)),
        KeyType::F64 => Value::Float(random.unit()),
        KeyType::Decimal { precision, .. } => Value::Signed(sign * number(10_i128.pow(precision.into()) - 1, random)),
        KeyType::Time(_) => {
            let seconds = if extreme { 86_399 } else { u128::from(random.below(86_400)) };
            let digits = ["time(s)", "time(ms)", "time(us)", "time(ns)"].iter().position(|unit| *unit == name);
            let per_second = 1_000_u128.pow(digits.unwrap() as u32);
            Value::Unsigned(seconds * per_second + if extreme { per_second - 1 } else { 0 })
        }
        KeyType::Text => Value::Text(text),
        _ => Value::Bytes(text.into_bytes()),
    }
}

fn draw_row(values: &ValueType, random: &mut Random) -> Vec<Value> {
    let field = |field: &Field, random: &mut Random| match field.nullable && random.one_in(3) {
        true => Value::Null,
        false => draw(field.key_type, random),
    };
    match values {
        ValueType::Row(row) => row.fields().iter().map(|it| field(it, random)).collect(),
        ValueType::Scalar(key_type) => vec![draw(*key_type, random)],
    }
}

fn encode(values: &ValueType, row: &[Value]) -> Vec<u8> {
    let value = match values {
        ValueType::Row(_) => Value::Tuple(row.to_vec()),
        ValueType::Scalar(_) => row[0].clone(),
    };
    values.encode(&value).unwrap()
}

fn decode(values: &ValueType, bytes: &[u8]) -> Vec<Value> {
    match values.decode(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}")) {
        Value::Tuple(row) => row,
        value => vec![value],
    }
}

fn digits_behind(name: &str) -> u32 {
    let behind = |prefix: &str| name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(')'));
    match (behind("decimal("), behind("time(")) {
        (Some(decimal), _) => decimal.split_once(',').unwrap().1.parse().unwrap(),
        (_, Some(unit)) => ["s", "ms", "us", "ns"].iter().position(|it| *it == unit).unwrap() as u32 * 3,
        _ => 0,
    }
}

/// A value of one type as one of another.
fn convert(value: &Value, from: KeyType, to: KeyType) -> Value {
    let factor = match (from, to) {
        (KeyType::Date, KeyType::Timestamp(_)) => 86_400 * if to.to_string().contains("ms") { 1000 } else { 1 },
        _ => 10_i128.pow(digits_behind(&to.to_string()) - digits_behind(&from.to_string())),
    };
    let (is_signed, is_float) = (to.to_string().starts_with(['i', 'd']), matches!(to, KeyType::F32 | KeyType::F64));
    match value {
        Value::Unsigned(number) if is_float => Value::Float(*number as f64),
        Value::Signed(number) if is_float => Value::Float(*number as f64),
        Value::Unsigned(number) if is_signed => Value::Signed(i128::try_from(*number).unwrap() * factor),
        Value::Unsigned(number) => Value::Unsigned(number * factor as u128),
        Value::Signed(number) => Value::Signed(number * factor),
        other => other.clone(),
    }
}

fn fields(values: &ValueType) -> Vec<(KeyType, bool)> {
    match values {
        ValueType::Row(row) => row.fields().iter().map(|field| (field.key_type, field.nullable)).collect(),
        ValueType::Scalar(key_type) => vec![(*key_type, false)],
    }
}

fn convert_all(model: &mut Model, from: &ValueType, to: &ValueType) {
    let (from, to) = (fields(from), fields(to));
    for row in model.values_mut() {
        for (index, value) in row.iter_mut().enumerate() {
            *value = convert(value, from[index].0, to[index].0);
        }
        row.resize(to.len(), Value::Null);
    }
}

fn drawn_type(random: &mut Random) -> ValueType {
    let scalar = |random: &mut Random| -> KeyType { random.pick(&CHAINS)[0].parse().unwrap() };
    if random.one_in(6) {
        return ValueType::Scalar(random.pick(&CHAINS[..10])[0].parse().unwrap());
    }
    let field = |at: u64, random: &mut Random| Field {
        name: format!("f{at}"),
        key_type: scalar(random),
        nullable: random.one_in(3),
    };
    let fields: Vec<Field> = (0..1 + random.below(5)).map(|at| field(at, random)).collect();
    RowType::new(fields).unwrap().into()
}

fn drawn_alteration(values: &ValueType, random: &mut Random) -> Alteration {
    let mut alteration = Alteration::new();
    for _ in 0..1 + random.below(2) {
        let at = random.below(fields(values).len() as u64);
        let name = if let ValueType::Row(_) = values { format!("f{at}") } else { "value".to_owned() };
        let key_type = fields(values)[at as usize].0;
        let all = CHAINS.iter().flat_map(|chain| chain.iter()).map(|name| name.parse::<KeyType>().unwrap());
        let wider: Vec<KeyType> = all.filter(|wider| wider.holds(key_type)).collect();
        let added = Field::new(format!("f{}", 100 + random.below(100_000)), random.pick(&CHAINS)[0].parse().unwrap());
        alteration = match (random.below(3), values) {
            (0, ValueType::Row(_)) => alteration.add_field(added.nullable()),
            (1, ValueType::Row(row)) => alteration.allow_null(row.fields()[at as usize].name.clone()),
            (_, ValueType::Row(row)) => alteration.widen(row.fields()[at as usize].name.clone(), *random.pick(&wider)),
            _ => alteration.widen(name, *random.pick(&wider)),
        };
        if !random.one_in(3) {
            break;
        }
    }
    alteration
}

/// Compares all records, by each way to read them.
fn check(keyspace: &Keyspace, model: &Model, random: &mut Random) {
    let types = keyspace.record_type();
    let shown = |row: &[Value]| format!("{row:?}");
    let mut found = BTreeMap::new();
    keyspace
        .iter()
        .visit(|key, value| {
            found.insert(key[0], shown(&decode(&types.values, value)));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let expected: BTreeMap<u8, String> = model.iter().map(|(key, row)| (*key, shown(row))).collect();
    assert_eq!(found, expected, "visited");
    let found: BTreeMap<u8, String> = keyspace
        .iter()
        .rev()
        .map(|record| record.map(|(key, value)| (key[0], shown(&decode(&types.values, &value)))).unwrap())
        .collect();
    assert_eq!(found, expected, "iterated backwards");
    let key = random.below(20) as u8;
    let row = |value: &[u8]| shown(&decode(&types.values, value));
    let expected = model.get(&key).map(|row| shown(row));
    assert_eq!(keyspace.get([key]).unwrap().map(|value| row(&value)), expected, "got");
    let mut buffer = Vec::new();
    let is_there = keyspace.get_into([key], &mut buffer).unwrap();
    assert_eq!(is_there.then(|| row(&buffer)), expected, "got into a buffer");
    let mut streamed = Vec::new();
    let stream = keyspace.get_stream([key]).unwrap();
    let is_there = stream.map(|mut stream| stream.read_to_end(&mut streamed).unwrap()).is_some();
    assert_eq!(is_there.then(|| row(&streamed)), expected, "got as a stream");
    let found = keyspace.multi_get([[key], [key ^ 1]]).unwrap();
    assert_eq!(found[0].as_deref().map(row), expected, "got with others");
    let lazy: Vec<_> = keyspace.range([key]..=[key]).pairs().map(|it| it.unwrap().value().unwrap()).collect();
    assert_eq!(lazy.first().map(|value| row(value)), expected, "read on demand");
}

fn check_snapshot(snapshot: &DbSnapshot, keyspace: &Keyspace, model: &Model) {
    let types = keyspace.record_type();
    let rows = snapshot.range::<&[u8]>(keyspace, ..).map(|record| {
        let (key, value) = record.unwrap();
        (key[0], format!("{:?}", decode(&types.values, &value)))
    });
    let expected: Vec<_> = model.iter().map(|(key, row)| (*key, format!("{row:?}"))).collect();
    assert_eq!(rows.collect::<Vec<_>>(), expected, "at a snapshot");
}

struct World {
    storage: Arc<dyn Storage>,
    db: Option<Db>,
    model: Model,
    snapshots: Vec<(DbSnapshot, Model)>,
    /// The types of the keyspace over time.
    past: Vec<RecordType>,
}

impl World {
    fn keyspace(&self) -> Keyspace {
        self.db.as_ref().unwrap().keyspace("k").unwrap()
    }

    fn put(&mut self, random: &mut Random) {
        let keyspace = self.keyspace();
        let types = keyspace.record_type();
        for _ in 0..1 + random.below(6) {
            let (key, row) = (random.below(20) as u8, draw_row(&types.values, random));
            let bytes = encode(&types.values, &row);
            match random.below(5) {
                0 => keyspace.insert_stream([key], &mut &bytes[..]).unwrap(),
                1 => {
                    let current = keyspace.get([key]).unwrap();
                    assert!(matches!(
                        keyspace.compare_and_swap([key], current.as_deref(), Some(&bytes)).unwrap(),
                        Swap::Done
                    ));
                }
                _ => keyspace.insert([key], bytes).unwrap(),
            }
            self.model.insert(key, row);
        }
    }

    /// A batch that is made before an alteration and committed after it.
    fn alter(&mut self, random: &mut Random) {
        let keyspace = self.keyspace();
        let before = keyspace.record_type();
        let pinned = keyspace.pin_types();
        let (key, row) = (random.below(20) as u8, draw_row(&before.values, random));
        let mut batch = self.db.as_ref().unwrap().batch();
        let from_handle = random.one_in(2);
        let through = if from_handle { pinned.keyspace().clone() } else { keyspace.clone() };
        batch.insert(&through, [key], encode(&before.values, &row));
        let alteration = drawn_alteration(&before.values, random);
        let altered = keyspace.alter(&alteration).unwrap();
        assert_eq!(altered, keyspace.record_type());
        convert_all(&mut self.model, &before.values, &altered.values);
        for (_, model) in &mut self.snapshots {
            convert_all(model, &before.values, &altered.values);
        }
        batch.commit().unwrap();
        let mut late = Model::from([(key, row)]);
        convert_all(&mut late, &before.values, &altered.values);
        self.model.extend(late);
        self.past.push(altered.as_ref().clone());
    }

    /// A table whose values are of a type that the keyspace has, or had.
    fn ingest(&mut self, random: &mut Random) {
        let keyspace = self.keyspace();
        let at = random.below(self.past.len() as u64) as usize;
        let of_table = self.past[at].clone();
        let mut rows: Model = (0..3).map(|_| random.below(20) as u8).map(|key| (key, Vec::new())).collect();
        rows.values_mut().for_each(|row| *row = draw_row(&of_table.values, random));
        let elsewhere: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let options = TableWriteOptions::default().record_type(of_table.clone());
        let mut writer = TableWriter::create((Arc::clone(&elsewhere), "t.ogive"), options).unwrap();
        rows.iter().for_each(|(key, row)| writer.append(&[*key], &encode(&of_table.values, row)).unwrap());
        writer.finish().unwrap();
        keyspace.ingest_from(&[(elsewhere, "t.ogive".to_owned())]).unwrap();
        for pair in self.past[at..].windows(2) {
            convert_all(&mut rows, &pair[0].values, &pair[1].values);
        }
        self.model.extend(rows);
    }

    fn reopen(&mut self, random: &mut Random) {
        self.snapshots.clear();
        let db = self.db.take().unwrap();
        match random.one_in(2) {
            true => db.close().unwrap(),
            false => drop(db),
        }
        let reader = Db::open_read_only(Arc::clone(&self.storage), &options()).unwrap();
        check(&reader.keyspace("k").unwrap(), &self.model, random);
        drop(reader);
        self.db = Some(Db::open(Arc::clone(&self.storage), &options()).unwrap());
    }

    fn copies(&mut self, random: &mut Random) {
        let db = self.db.as_ref().unwrap();
        let copy: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        match random.below(3) {
            0 => db.checkpoint(&copy).unwrap(),
            1 => ogive::lsm::checkpoint_store(&self.storage, &copy).unwrap(),
            _ => {
                let backups = Backups::at(Arc::new(MemoryStorage::new())).unwrap();
                backups.create(&self.storage, &BackupOptions::default(), &mut |_, _| {}).unwrap();
                backups.restore(None, &copy, &mut |_, _| {}).unwrap();
            }
        }
        assert!(verify_store(&copy, &mut |_, _| {}).unwrap().is_sound());
        let copied = Db::open(copy, &options()).unwrap();
        check(&copied.keyspace("k").unwrap(), &self.model, random);
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(14) {
            0..4 => self.put(random),
            4 => {
                let key = random.below(20) as u8;
                self.keyspace().remove([key]).unwrap();
                self.model.remove(&key);
            }
            5 => {
                let key = random.below(20) as u8;
                self.keyspace().remove_range([key]..[key + 3]).unwrap();
                self.model.retain(|other, _| !(key..key + 3).contains(other));
            }
            6 => self.db.as_ref().unwrap().flush().unwrap(),
            7 => self.db.as_ref().unwrap().compact().unwrap(),
            8 => self.reopen(random),
            9 => self.snapshots.push((self.db.as_ref().unwrap().snapshot(), self.model.clone())),
            10 => self.copies(random),
            11 => self.ingest(random),
            _ => self.alter(random),
        }
    }
}

#[test]
fn records_of_every_age_and_place_are_read_in_the_type_of_now() {
    for seed in ogive_testkit::seeds(0..120) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let mut random = Random::new(seed);
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let db = Db::open(Arc::clone(&storage), &options()).unwrap();
        let types = RecordType::new(KeyType::U8, drawn_type(&mut random));
        drop(db.keyspace("k").unwrap().declare(&types).unwrap());
        let (model, snapshots) = (Model::new(), Vec::new());
        let mut world = World { storage, db: Some(db), model, snapshots, past: vec![types] };
        for _ in 0..40 {
            world.step(&mut random);
            check(&world.keyspace(), &world.model, &mut random);
            world.snapshots.iter().for_each(|(at, model)| check_snapshot(at, &world.keyspace(), model));
        }
        let report = world.db.as_ref().unwrap().verify(&mut |_, _| {}).unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
    }
}

/// The names of the files with a record of key 1, whose value is long or short.
fn place(db: &Db, keyspace: &Keyspace, place: &str, value: &[u8]) {
    keyspace.insert([1], value).unwrap();
    match place {
        "memtable" => {}
        "table" => db.flush().unwrap(),
        "level" => db.compact().unwrap(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_record_is_read_in_the_new_type_from_each_place() {
    for length in [3, 200] {
        for from in ["memtable", "table", "level"] {
            let memory = MemoryStorage::new();
            let db = Db::open(Arc::new(memory.clone()), &options()).unwrap();
            let keyspace = declared(&db, "{t: text, n: u8}");
            let text = "x".repeat(length);
            place(&db, &keyspace, from, &keyspace.record_type().values.parse(&format!("{text},255")).unwrap());
            let alteration = Alteration::to("{t: text?, n: decimal(5,2), d: date?}".parse::<ValueType>().unwrap());
            keyspace.alter(&alteration).unwrap();
            let shown =
                |keyspace: &Keyspace| keyspace.record_type().values.display(&keyspace.get([1]).unwrap().unwrap());
            let expected = format!("{text},255.00,");
            assert_eq!(shown(&keyspace), expected, "{from}");
            drop(keyspace);
            // Without a close, so that the log is read again.
            drop(db);
            let db = Db::open(Arc::new(memory.clone()), &options()).unwrap();
            assert_eq!(shown(&db.keyspace("k").unwrap()), expected, "{from}, opened again");
            db.compact().unwrap();
            assert_eq!(shown(&db.keyspace("k").unwrap()), expected, "{from}, compacted");
        }
    }
}

#[test]
fn a_store_that_was_never_altered_keeps_its_format_and_an_altered_one_is_refused_by_older_programs() {
    let format_of = |memory: &MemoryStorage| {
        let newest = memory.list().unwrap().into_iter().filter(|name| name.ends_with(".manifest")).max().unwrap();
        u32::from_le_bytes(memory.content(&newest).unwrap()[8..12].try_into().unwrap())
    };
    let memory = MemoryStorage::new();
    let db = open(&memory);
    let keyspace = declared(&db, "{t: text, n: u8}");
    let row = keyspace.record_type().values.parse("fig,7").unwrap();
    keyspace.insert([1], &row).unwrap();
    keyspace.alter(&Alteration::new().add_field(Field::new("d", KeyType::Date).nullable())).unwrap();
    db.flush().unwrap();
    assert_eq!((format_of(&memory), db.stats().format), (STORE_FORMAT, STORE_FORMAT), "fields were added only");
    let contents =
        || memory.list().unwrap().into_iter().map(|name| (memory.content(&name).unwrap(), name)).collect::<Vec<_>>();
    let before = contents();
    let generation = keyspace.pin_types().generation();
    keyspace.alter(&Alteration::new().allow_null("d").widen("n", KeyType::U8)).unwrap();
    assert_eq!(keyspace.pin_types().generation(), generation, "nothing has changed");
    assert!(contents() == before, "and nothing was written");
    keyspace.alter(&Alteration::new().widen("n", KeyType::U16)).unwrap();
    assert_eq!((format_of(&memory), db.stats().format), (ALTERED_FORMAT, ALTERED_FORMAT));
    assert_eq!(keyspace.pin_types().generation(), generation + 1);
    db.close().unwrap();
    assert_eq!(format_of(&memory), ALTERED_FORMAT);
    assert_eq!(open(&memory).stats().format, ALTERED_FORMAT);
    let db = Db::open(Arc::new(memory.clone()), &DbOptions::default().upgrade(true)).unwrap();
    assert_eq!(db.stats().format, ALTERED_FORMAT, "an upgrade lowers no format");
}

#[test]
fn what_would_change_a_value_or_its_meaning_is_refused_with_the_reason_and_changes_nothing() {
    let db = open(&MemoryStorage::new());
    let keyspace = declared(&db, "{t: text, n: i32, at: timestamp(s), p: decimal(8,2)?}");
    let fruit = keyspace.record_type();
    let to = |values: &str| Alteration::to(values.parse::<ValueType>().unwrap());
    for (alteration, reason) in [
        (to("{t: text, n: i16, at: timestamp(s), p: decimal(8,2)?}"), "take i64, i128, f64, decimal(10,0), or"),
        (to("{t: text, n: u64, at: timestamp(s), p: decimal(8,2)?}"), "does not hold all its values"),
        (to("{t: text, n: i32, at: timestamp(ms), p: decimal(8,2)?}"), "does not reach as far"),
        (to("{t: text, n: i32, at: timestamp(s), p: decimal(8,2)}"), "there may be nulls"),
        (
            to("{t: text, n: i32, at: timestamp(s), p: decimal(8,3)?}"),
            "at least 6 digits before the point and 2 behind",
        ),
        (to("{t: text, n: i32, at: timestamp(s)}"), "neither removed nor renamed"),
        (to("{t: text, m: i32, at: timestamp(s), p: decimal(8,2)?}"), "have the name \"m\""),
        (to("{n: i32, t: text, at: timestamp(s), p: decimal(8,2)?}"), "another place"),
        (to("{t: text, n: i32, at: timestamp(s), p: decimal(8,2)?, x: u8}"), "\"x: u8?\""),
        (to("{t: bytes, n: i32, at: timestamp(s), p: decimal(8,2)?}"), "leave it as it is"),
        (to("text"), "not text"),
        (Alteration::new().widen("key", KeyType::U64), "belongs to the key"),
        (Alteration::new().allow_null("m"), "there are: key, t, n, at, p"),
        (Alteration::new().add_field(Field::new("t", KeyType::U8).nullable()), "a column \"t\" already"),
        (Alteration::new().add_field(Field::new("x", KeyType::U8)), "let it be null"),
    ] {
        let refused = keyspace.alter(&alteration).unwrap_err();
        assert!(matches!(refused, Error { cause: Cause::Input, .. }), "{refused}");
        assert!(refused.to_string().contains(reason), "{refused} does not say {reason:?}");
        assert_eq!(keyspace.record_type(), fruit);
    }
    let counts = db.keyspace("counts").unwrap();
    drop(counts.declare(&types("u64")).unwrap());
    let refused = counts.alter(&Alteration::new().widen("value", KeyType::I64)).unwrap_err();
    assert!(refused.to_string().contains("take u128, i128, decimal(20,0), or"), "{refused}");
    let undecided = db.keyspace("bytes").unwrap();
    let refused = undecided.alter(&Alteration::new().add_field(Field::new("x", KeyType::U8).nullable())).unwrap_err();
    assert!(refused.to_string().contains("have no fields"), "{refused}");
    drop(undecided.declare(&types("u8")).unwrap());
    assert!(undecided.alter(&Alteration::new().allow_null("value")).is_err(), "only fields can be null");
    undecided.alter(&Alteration::new().widen("value", KeyType::U16)).unwrap();
    let ids = db.keyspace("ids").unwrap();
    drop(ids.declare(&RecordType::new(KeyType::U8, KeyType::Bytes).keys_only()).unwrap());
    assert!(ids.alter(&Alteration::to(KeyType::U8)).is_err(), "keys alone have no values");
}

mod first {
    ogive::row! {
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Fruit { pub(crate) name: String, pub(crate) amount: u32 }
    }
}

mod second {
    ogive::row! {
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Fruit {
            pub(crate) name: Option<String>, pub(crate) amount: u32, pub(crate) origin: Option<String>
        }
    }
}

mod third {
    ogive::row! {
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Fruit {
            pub(crate) name: Option<String>, pub(crate) amount: u64, pub(crate) origin: Option<String>
        }
    }
}

#[test]
fn handles_go_on_after_added_fields_and_nulls_and_end_when_a_field_has_another_type() {
    let is_wrong = |error: Error| matches!(error, Error { cause: Cause::WrongType { .. }, .. });
    let db = open(&MemoryStorage::new());
    let keyspace = db.keyspace("k").unwrap();
    let old = keyspace.typed::<u64, first::Fruit>().unwrap();
    let fig = first::Fruit { name: "fig".into(), amount: 3 };
    old.insert(1, fig.clone()).unwrap();
    let snapshot = db.snapshot().typed(&old);
    let mut range = old.iter();
    let more = Alteration::new().allow_null("name").add_field(Field::new("origin", KeyType::Text).nullable());
    keyspace.alter(&more).unwrap();
    let new = keyspace.typed::<u64, second::Fruit>().unwrap();
    let with_origin = second::Fruit { name: Some("lime".into()), amount: 4, origin: Some("Iran".into()) };
    new.insert(2, with_origin.clone()).unwrap();
    new.insert(3, second::Fruit { name: None, amount: 5, origin: None }).unwrap();
    // The old handle reads and writes rows of its type, wherever they are, and those of the new one without its fields.
    old.insert(4, fig.clone()).unwrap();
    let clone = old.clone();
    clone.insert(5, fig.clone()).unwrap();
    for _ in 0..2 {
        assert_eq!(old.load(1).unwrap().unwrap(), fig);
        assert_eq!(old.load(2).unwrap().unwrap(), first::Fruit { name: "lime".into(), amount: 4 });
        assert!(is_wrong(old.load(3).unwrap_err()), "a null where it has none");
        assert!(is_wrong(old.iter().map(|record| record.map(drop)).collect::<Result<Vec<_>, _>>().unwrap_err()));
        assert_eq!(old.iter().rev().take(2).count(), 2);
        for key in [4, 5] {
            let read = new.load(key).unwrap().unwrap();
            assert_eq!(read, second::Fruit { name: Some("fig".into()), amount: 3, origin: None }, "{key}");
        }
        assert_eq!(snapshot.load(1).unwrap().unwrap(), fig);
        db.compact().unwrap();
    }
    assert!(range.next().unwrap().is_ok());
    let mut batch = db.batch();
    batch.typed_insert(&old, 6, &fig);
    assert!(old.compare_and_swap(1, Some(&fig), Some(&fig)).unwrap().is_done());

    keyspace.alter(&Alteration::new().widen("amount", KeyType::U64)).unwrap();
    assert!(is_wrong(old.load(1).unwrap_err()) && is_wrong(old.load(99).unwrap_err()));
    assert!(is_wrong(old.insert(1, fig.clone()).unwrap_err()) && is_wrong(snapshot.load(1).unwrap_err()));
    assert!(is_wrong(old.contains_key(1).unwrap_err()) && is_wrong(old.multi_get([1]).unwrap_err()));
    assert!(is_wrong(batch.commit().unwrap_err()) && is_wrong(new.load(2).unwrap_err()));
    assert!(is_wrong(old.iter().next().unwrap().unwrap_err()));
    let newest = keyspace.typed::<u64, third::Fruit>().unwrap();
    let read = newest.load(2).unwrap().unwrap();
    assert_eq!(read, third::Fruit { name: Some("lime".into()), amount: 4, origin: Some("Iran".into()) });
    assert_eq!(newest.iter().count(), 5);
}

#[test]
fn the_fields_of_a_keyspace_with_a_secondary_index_only_grow_in_number() {
    let db = open(&MemoryStorage::new());
    let fruit = db.keyspace("fruit").unwrap();
    let typed = fruit.typed::<u64, first::Fruit>().unwrap();
    let indexed = typed.with_index("by_name", |_, fruit| Some(fruit.name.clone())).unwrap();
    indexed.insert(1, first::Fruit { name: "fig".into(), amount: 3 }).unwrap();
    for alteration in [Alteration::new().widen("amount", KeyType::U64), Alteration::new().allow_null("name")] {
        let refused = fruit.alter(&alteration).unwrap_err();
        assert!(refused.to_string().contains("secondary index \"fruit.by_name\""), "{refused}");
    }
    fruit.alter(&Alteration::new().add_field(Field::new("origin", KeyType::Text).nullable())).unwrap();
    indexed.insert(1, first::Fruit { name: "lime".into(), amount: 3 }).unwrap();
    assert_eq!(indexed.by::<str>("by_name").unwrap().get("lime").count(), 1);
    assert_eq!(indexed.by::<str>("by_name").unwrap().get("fig").count(), 0);
    drop(indexed);
    db.drop_keyspace("fruit.by_name").unwrap();
    fruit.alter(&Alteration::new().widen("amount", KeyType::U64)).unwrap();
}

#[test]
fn a_keyspace_without_records_takes_other_types_after_an_alteration() {
    let memory = MemoryStorage::new();
    let db = open(&memory);
    let keyspace = declared(&db, "{n: u8}");
    keyspace.insert([1], keyspace.record_type().values.parse("7").unwrap()).unwrap();
    keyspace.alter(&Alteration::new().widen("n", KeyType::U16)).unwrap();
    keyspace.remove([1]).unwrap();
    for values in ["text", "u8", "{m: u8, t: text}"] {
        drop(keyspace.declare(&types(values)).unwrap());
        let value = if values.starts_with('{') { "7,x" } else { "7" };
        let stored = keyspace.record_type().values.parse(value).unwrap();
        keyspace.stating(&types(values)).unwrap().insert([2], &stored).unwrap();
        assert_eq!(keyspace.get([2]).unwrap().as_deref(), Some(&stored[..]), "{values}");
        db.compact().unwrap();
        assert_eq!(keyspace.get([2]).unwrap().as_deref(), Some(&stored[..]), "{values}");
        keyspace.remove([2]).unwrap();
    }
    db.drop_keyspace("k").unwrap();
    let again = declared(&db, "{n: u8}");
    again.insert([1], again.record_type().values.parse("7").unwrap()).unwrap();
    assert_eq!(again.get([1]).unwrap().unwrap().len(), 2, "a row of a new keyspace has no form");
}

/// Work with an alteration in the middle, until the power loss; returns what was acknowledged.
fn work(disk: &SimulatedDisk) -> (bool, Vec<u8>) {
    let mut acknowledged = (false, Vec::new());
    let _ = try_work(disk, &mut acknowledged);
    acknowledged
}

fn try_work(disk: &SimulatedDisk, (is_altered, keys): &mut (bool, Vec<u8>)) -> ogive::Result<()> {
    let db = Db::open(Arc::new(disk.clone()), &options())?;
    let keyspace = db.keyspace("k")?;
    drop(keyspace.declare(&types("{t: text, n: u8}"))?);
    for key in 0..6 {
        let values = keyspace.record_type().values.clone();
        let text = "x".repeat(if key % 2 == 0 { 100 } else { 3 });
        keyspace.insert([key], values.parse(&format!("{text},{key}"))?)?;
        keys.push(key);
        match key {
            1 | 4 => db.flush()?,
            2 => {
                keyspace.alter(&Alteration::new().widen("n", KeyType::I32).allow_null("t"))?;
                *is_altered = true;
            }
            _ => {}
        }
    }
    db.compact()?;
    db.close()
}

#[test]
fn after_any_power_loss_an_alteration_is_whole_or_not_there() {
    let mut found = [0; 2];
    let crash = CrashOptions { random_images: 4, stride: 1, seed: 1 };
    let outcome = enumerate_crashes(crash, &SimulatedDisk::new(), work, |(is_altered, keys), disk, _| {
        let opened = Db::open(Arc::new(disk.clone()), &options()).map_err(|error| error.to_string())?;
        let keyspace = opened.keyspace("k").map_err(|error| error.to_string())?;
        let types = keyspace.record_type();
        let shown = types.values.to_string();
        let has_altered = shown == "{t: text?, n: i32}";
        found[usize::from(has_altered)] += 1;
        if *is_altered && !has_altered || !has_altered && !keys.is_empty() && shown != "{t: text, n: u8}" {
            return Err(format!("altered: {is_altered}, but found {shown}"));
        }
        for key in keys {
            let value = keyspace.get([*key]).map_err(|error| error.to_string())?.ok_or(format!("{key} is gone"))?;
            let text = "x".repeat(if key % 2 == 0 { 100 } else { 3 });
            if types.values.display(&value) != format!("{text},{key}") {
                return Err(format!("{key} is {}", types.values.display(&value)));
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(found.iter().all(|&images| images > 20), "{found:?}");
}

#[test]
fn a_repair_without_a_manifest_reads_the_forms_that_tables_state() {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let db = Db::open(Arc::clone(&storage), &options()).unwrap();
    let keyspace = declared(&db, "{t: text, n: u8}");
    let insert = |key: u8, text: &str| {
        keyspace.insert([key], keyspace.record_type().values.parse(&format!("{text},{key}")).unwrap()).unwrap();
    };
    insert(1, &"x".repeat(100));
    insert(2, "fig");
    db.flush().unwrap();
    keyspace.alter(&Alteration::new().widen("n", KeyType::U64)).unwrap();
    insert(3, "lime");
    db.flush().unwrap();
    insert(4, "pear");
    db.close().unwrap();
    let manifests = storage.list().unwrap().into_iter().filter(|name| name.ends_with(".manifest"));
    manifests.for_each(|name| storage.remove(&name).unwrap());
    let report = repair_store(&storage, &mut |_, _| {}).unwrap();
    assert!(report.manifest_rebuilt);
    let db = Db::open(storage, &options()).unwrap();
    let keyspace = db.keyspace("k").unwrap();
    let types = keyspace.record_type();
    assert_eq!(types.values.to_string(), "{t: text, n: u64}");
    let shown: Vec<String> = keyspace.iter().map(|record| types.values.display(&record.unwrap().1)).collect();
    assert_eq!(shown, [format!("{},1", "x".repeat(100)), "fig,2".into(), "lime,3".into(), "pear,4".into()]);
    keyspace.alter(&Alteration::new().allow_null("t")).unwrap();
    assert_eq!(keyspace.iter().filter(|record| record.is_ok()).count(), 4);
}
