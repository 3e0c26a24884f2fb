//! Tests of types that are stated in one step with a write. Goal: a write that fails states no types, and one that
//! succeeds states them with its records, whatever kind of write it is. Method: every write that there is, through a
//! handle that states types, in a keyspace without any; each is made to fail, then to succeed, then is opened again;
//! threads that decide at the same time; and a fault at each call of the storage.

use super::keyspaces::open;
use ogive::io::{MemoryStorage, Storage};
use ogive::types::{KeyType, RecordType, Value, ValueType};
use ogive::{Cause, Db, DbOptions, Durability, Error, Keyspace, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive_testkit::{Fault, FaultInjector, Operation};
use std::sync::{Arc, Barrier};

type Write = fn(&Db, &Keyspace, &[u8], &[u8]) -> Result<(), Error>;

/// Each kind of write of one record.
const WRITES: [(&str, Write); 8] = [
    ("insert", |_, keyspace, key, value| keyspace.insert(key, value)),
    ("insert_if_absent", |_, keyspace, key, value| keyspace.insert_if_absent(key, value).map(drop)),
    ("insert_stream", |_, keyspace, key, value| keyspace.insert_stream(key, &mut { value })),
    ("batch", |db, keyspace, key, value| {
        let mut batch = db.batch();
        batch.insert(&**db, b"another keyspace", b"").remove(keyspace, b"\0\0").insert(keyspace, key, value);
        batch.commit()
    }),
    ("buffered batch", |db, keyspace, key, value| {
        let mut batch = db.batch();
        batch.durability(Durability::Buffered).insert(keyspace, key, value).commit_of(db)
    }),
    ("long value", |_, keyspace, key, _| keyspace.insert(key, [1; 100_000])),
    ("ingest", |_, keyspace, key, value| keyspace.ingest_from(&[table(key, value)]).map(drop)),
    ("adopt", |_, keyspace, key, value| keyspace.adopt_from(&[table(key, value)]).map(drop)),
];

/// A batch that is built in one expression.
trait CommitOf {
    fn commit_of(&mut self, db: &Db) -> Result<(), Error>;
}

impl CommitOf for ogive::Batch {
    fn commit_of(&mut self, db: &Db) -> Result<(), Error> {
        std::mem::replace(self, db.batch()).commit()
    }
}

fn table(key: &[u8], value: &[u8]) -> (Arc<dyn Storage>, String) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default()).unwrap();
    writer.append(key, value).unwrap();
    writer.finish().unwrap();
    assert_eq!(Table::open((storage.clone(), "t"), &TableOptions::default()).unwrap().len(), 1);
    (storage, "t".to_owned())
}

fn types(values: KeyType) -> RecordType {
    RecordType::new(KeyType::U64, values)
}

const LONG: &[u8] = &[b'k'; 70_000];

#[test]
fn a_write_that_fails_states_no_types_and_one_that_succeeds_states_them() {
    for is_on_objects in [false, true] {
        let memory = if is_on_objects { MemoryStorage::objects() } else { MemoryStorage::new() };
        for (name, write) in WRITES {
            let db = open(&memory);
            let keyspace = db.keyspace(name).unwrap();
            let stating = keyspace.deciding(&types(KeyType::U8)).unwrap();
            if !["ingest", "adopt"].contains(&name) {
                assert!(
                    matches!(write(&db, &stating, LONG, b"v"), Err(Error { cause: Cause::KeyLength { .. }, .. })),
                    "{name}"
                );
            }
            assert!(keyspace.is_undecided().unwrap(), "{name} failed");
            // Reads of the handle are those of any other.
            assert_eq!((stating.get([0; 8]).unwrap(), stating == keyspace), (None, true));
            db.drop_keyspace(name).unwrap();
            assert!(
                matches!(write(&db, &stating, &[0; 8], b"v"), Err(Error { cause: Cause::KeyspaceDropped, .. })),
                "{name}"
            );
            let keyspace = db.keyspace(name).unwrap();
            assert!(keyspace.is_undecided().unwrap() && stating != keyspace, "{name}: the new one has no types");

            let stating = keyspace.deciding(&types(KeyType::U8)).unwrap();
            write(&db, &stating, &[0; 8], b"v").unwrap();
            assert_eq!((*keyspace.record_type()).clone(), types(KeyType::U8), "{name}");
            let other = keyspace.deciding(&types(KeyType::I8)).unwrap();
            assert!(
                matches!(write(&db, &other, &[1; 8], b"w"), Err(Error { cause: Cause::WrongType { .. }, .. })),
                "{name}"
            );
            let stated = keyspace.stating(&types(KeyType::I8)).unwrap();
            assert!(
                matches!(write(&db, &stated, &[1; 8], b"w"), Err(Error { cause: Cause::WrongType { .. }, .. })),
                "{name}"
            );
            // A refusal leaves the store as it was.
            write(&db, &stating, &[2; 8], b"x").unwrap();
            assert_eq!(keyspace.iter().keys().count(), 2, "{name}");
            assert_eq!(keyspace.pin_types().generation(), 1, "{name} states them once");
            db.close().unwrap();
            let db = open(&memory);
            let again = db.keyspace(name).unwrap();
            assert_eq!((*again.record_type()).clone(), types(KeyType::U8), "{name}");
            assert_eq!(again.iter().keys().count(), 2, "{name}");
            db.close().unwrap();
        }
    }
}

#[test]
fn types_that_were_decided_stay_unless_they_are_stated() {
    let db = open(&MemoryStorage::new());
    let keyspace = db.keyspace("k").unwrap();
    drop(keyspace.declare(&types(KeyType::U16)).unwrap());
    let deciding = keyspace.deciding(&types(KeyType::U8)).unwrap();
    assert!(matches!(deciding.insert([0; 8], [0]), Err(Error { cause: Cause::WrongType { handles: 0 }, .. })));
    let stating = keyspace.stating(&types(KeyType::U8)).unwrap();
    let pinned = keyspace.pin_types();
    assert!(matches!(stating.insert([0; 8], [0]), Err(Error { cause: Cause::WrongType { handles: 1 }, .. })));
    assert!(matches!(
        stating.ingest_from(&[table(b"k", b"v")]),
        Err(Error { cause: Cause::WrongType { handles: 1 }, .. })
    ));
    drop(pinned);
    stating.insert([0; 8], [0]).unwrap();
    assert_eq!((*keyspace.record_type()).clone(), types(KeyType::U8));
    // Rows take fields that are added with a write.
    let rows = db.keyspace("rows").unwrap();
    let values = |text: &str| RecordType::new(KeyType::U64, text.parse::<ValueType>().unwrap());
    let narrow = rows.declare(&values("{a: u8}")).unwrap();
    rows.stating(&values("{a: u8, b: u8?}")).unwrap().insert([0; 8], [0]).unwrap();
    assert_eq!((rows.record_type().values.to_string(), narrow.is_current()), ("{a: u8, b: u8?}".into(), false));
    rows.deciding(&values("{a: u8}")).unwrap().insert([1; 8], [0]).unwrap();
    // One batch states one kind of records of a keyspace.
    let other = db.keyspace("other").unwrap();
    let mut batch = db.batch();
    batch.insert(other.stating(&types(KeyType::U8)).unwrap(), [0; 8], [0]);
    batch.insert(other.stating(&types(KeyType::I8)).unwrap(), [1; 8], [0]);
    assert!(matches!(batch.commit(), Err(Error { cause: Cause::WrongType { .. }, .. })));
    assert!(other.is_undecided().unwrap());
}

#[test]
fn of_threads_that_decide_at_the_same_time_one_does() {
    for _ in 0..40 {
        let db = open(&MemoryStorage::new());
        let start = Arc::new(Barrier::new(8));
        let all = [KeyType::U8, KeyType::I8, KeyType::Bool, KeyType::FixedBytes(1)];
        let outcomes: Vec<Result<(), Error>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8_u64)
                .map(|thread| {
                    let (db, start, types) = (db.clone(), start.clone(), types(all[thread as usize % 4]));
                    scope.spawn(move || {
                        let deciding = db.keyspace("k").unwrap().deciding(&types).unwrap();
                        start.wait();
                        deciding.insert(thread.to_be_bytes(), [0])
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let written = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert!(written == 2 && outcomes.iter().flat_map(|outcome| outcome.as_ref().err()).all(is_wrong_type));
        assert_eq!(db.keyspace("k").unwrap().iter().keys().count(), 2);
    }
}

fn is_wrong_type(error: &Error) -> bool {
    matches!(error, Error { cause: Cause::WrongType { .. }, .. })
}

#[test]
fn after_an_error_of_the_storage_records_are_never_without_their_types() {
    for operation in [Operation::Write, Operation::Sync] {
        for at in 0..6 {
            let memory = MemoryStorage::new();
            let faults = FaultInjector::new(Arc::new(memory.clone()));
            let db = Db::open(Arc::new(faults.clone()), &DbOptions::default()).unwrap();
            let keyspace = db.keyspace("k").unwrap();
            let deciding = keyspace.deciding(&types(KeyType::U8)).unwrap();
            faults.fail_from(operation, at, Fault::NoSpace);
            let outcome = deciding.insert([0; 8], [7]);
            drop((db, keyspace, deciding));
            faults.clear();
            let keyspace = open(&memory).keyspace("k").unwrap();
            let is_there = keyspace.get([0; 8]).unwrap().is_some();
            let is_typed = (*keyspace.record_type()).clone() == types(KeyType::U8);
            assert!(is_typed || !is_there, "{operation:?} {at}: a record without its types");
            assert!(outcome.is_err() || is_there && is_typed, "{operation:?} {at}: an acknowledged write is gone");
        }
    }
}

#[test]
fn a_reader_goes_on_with_its_types_or_is_refused() {
    let memory = MemoryStorage::objects();
    let db = open(&memory);
    let values = |text: &str| text.parse::<ValueType>().unwrap();
    let (narrow, wide) = (values("{a: u8}"), values("{a: u8, b: text?}"));
    let of = |values: &ValueType| RecordType::new(KeyType::U64, values.clone());
    let short = narrow.encode(&Value::Tuple(vec![Value::Unsigned(1)])).unwrap();
    let long = wide.encode(&Value::Tuple(vec![Value::Unsigned(1), Value::Text("b".into())])).unwrap();
    let rows = db.keyspace("rows").unwrap();
    rows.stating(&of(&narrow)).unwrap().insert([0; 8], &short).unwrap();
    let mut reader = Db::open_read_only(Arc::new(memory.clone()), &DbOptions::default()).unwrap();
    let early = reader.keyspace("rows").unwrap();
    let (old, new) = (early.declare(&of(&narrow)).unwrap(), early.declare(&of(&wide)).unwrap());
    rows.stating(&of(&wide)).unwrap().insert([1; 8], &long).unwrap();
    assert!(reader.refresh().unwrap());
    let now = reader.keyspace("rows").unwrap();
    for (pinned, expected) in [(&old, &short), (&new, &long)] {
        let renewed = pinned.renewed(&now).unwrap();
        assert_eq!(renewed.types(), pinned.types());
        assert_eq!(&*renewed.keyspace().get([1; 8]).unwrap().unwrap(), &expected[..]);
        let range: Vec<_> = renewed.adapt_range(now.iter()).collect::<Result<_, _>>().unwrap();
        assert_eq!((range.len(), &*range[1].1), (2, &expected[..]));
        assert_eq!(renewed.renewed(&now).unwrap().types(), pinned.types());
    }
    db.drop_keyspace("rows").unwrap();
    db.keyspace("rows").unwrap().stating(&types(KeyType::U8)).unwrap().insert([0; 8], [7]).unwrap();
    reader.refresh().unwrap();
    let now = reader.keyspace("rows").unwrap();
    assert!([&old, &new].into_iter().all(|pinned| is_wrong_type(&pinned.renewed(&now).unwrap_err())));
}
