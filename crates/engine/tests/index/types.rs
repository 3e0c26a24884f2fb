//! Types of keys and values. Goal: an index states them, holds their values whole, keeps the order of tuples, and
//! refuses handles of other types by name. Method: random types and entries against a map, across reopening, joins and
//! repair.

use ogive::index::{Index, IndexKind, IndexOptions, RawKey};
use ogive::io::{MemoryStorage, Storage};
use ogive::repair::repair_index;
use ogive::types::{KeyColumn, RecordType, Row, Value, ValueType};
use ogive::{Cause, Error, JoinMethod, JoinOptions, JoinOutput, JoinSource, KeyType, Table, TableOptions, join};
use std::collections::BTreeMap;
use std::sync::Arc;

type Long = Index<RawKey<u128>, Vec<u8>>;

fn storage() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

fn word(key: &[u8]) -> RawKey<u128> {
    RawKey(key.iter().fold(0, |word, &byte| word << 8 | u128::from(byte)))
}

fn options(types: &RecordType, payload_bytes: Option<usize>) -> IndexOptions {
    let options = IndexOptions::default().record_type(types.clone());
    match payload_bytes {
        Some(bytes) => options.payload_bytes(bytes),
        None => options,
    }
}

#[test]
fn rows_under_tuples_come_back_in_order() {
    for kind in [IndexKind::OGIVE, IndexKind::BTREE] {
        let keys: KeyType = "(i32, date? desc)".parse().unwrap();
        let values: ValueType = "{name: text, born: date?, n: i64}".parse().unwrap();
        let columns = [("id", 0), ("day", 2)].map(|(name, position)| KeyColumn { name: name.into(), position });
        let types = RecordType::new(keys, values.clone()).key_columns(columns.to_vec());
        let storage = storage();
        let index = Long::create((storage.clone(), "pets"), &options(&types, Some(64)).kind(kind)).unwrap();
        let mut expected = BTreeMap::new();
        let mut transaction = index.write().unwrap();
        for number in 0..2_000_i32 {
            let day = if number % 7 == 0 { String::new() } else { format!("2024-01-{:02}", 1 + number % 28) };
            let key = keys.parse(&format!("{},{day}", (number - 1_000) / 3)).unwrap();
            let name = "x".repeat((number % 40) as usize);
            let value = values.parse(&format!("{name},{day},{number}")).unwrap();
            transaction.insert(word(&key), index.encode_value(&value).unwrap()).unwrap();
            expected.insert(key, value);
        }
        transaction.commit().unwrap();
        index.close().unwrap();

        let index = Long::open_read_only((storage, "pets"), &IndexOptions::default()).unwrap();
        assert_eq!(*index.record_type(), types);
        let found = index.iter().unwrap().map(|entry| {
            let (RawKey(word), payload) = entry.unwrap();
            (word, index.decode_value(&payload).unwrap().into_owned())
        });
        let expected: Vec<_> = expected.into_iter().map(|(key, value)| (word(&key).0, value)).collect();
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let ValueType::Row(row_type) = &index.record_type().values else { panic!() };
        assert!(matches!(Row::new(row_type, &expected[0].1).unwrap().get("name").unwrap(), Value::Text(_)));
    }
}

#[test]
fn integers_are_those_of_rust_by_any_writer() {
    let storage = storage();
    let by_type = RecordType::new(KeyType::U32, KeyType::I64);
    let raw: Index<RawKey<u64>, Vec<u8>> = Index::create((storage.clone(), "raw"), &options(&by_type, None)).unwrap();
    let mut transaction = raw.write().unwrap();
    let value = KeyType::I64.parse("-7").unwrap();
    transaction.insert(RawKey(1), raw.encode_value(&value).unwrap()).unwrap();
    transaction.commit().unwrap();
    raw.close().unwrap();
    let typed: Index<u32, i64> = Index::open((storage.clone(), "raw"), &IndexOptions::default()).unwrap();
    assert_eq!(typed.get(1).unwrap(), Some(-7));
    assert_eq!(*typed.record_type(), by_type);

    let typed: Index<u32, i64> = Index::create((storage.clone(), "typed"), &IndexOptions::default()).unwrap();
    assert_eq!(*typed.record_type(), by_type);
    typed.bulk_load([(1, i64::MIN), (2, 258)]).unwrap();
    typed.close().unwrap();
    let raw: Index<RawKey<u64>, Vec<u8>> = Index::open((storage, "typed"), &IndexOptions::default()).unwrap();
    let shown = |key| {
        let payload = raw.get(RawKey(key)).unwrap().unwrap();
        KeyType::I64.display(&raw.decode_value(&payload).unwrap()).to_string()
    };
    assert_eq!((shown(1).as_str(), shown(2).as_str()), ("-9223372036854775808", "258"));
}

#[test]
fn other_types_and_sizes_are_refused_by_name() {
    let storage = storage();
    drop(Index::<u64, u64>::create((storage.clone(), "numbers"), &IndexOptions::default()).unwrap());
    let refused = Index::<u64, i64>::open((storage.clone(), "numbers"), &IndexOptions::default()).unwrap_err();
    assert!(
        matches!(refused, Error { cause: Cause::WrongType { .. }, .. })
            && refused.to_string().contains("of type u64, not i64")
    );
    assert!(Index::<u64, [u8; 8]>::open((storage.clone(), "numbers"), &IndexOptions::default()).is_ok());
    // An index without types of values, as all were, takes any payload of its size.
    drop(Index::<u64, [u8; 8]>::create((storage.clone(), "bytes"), &IndexOptions::default()).unwrap());
    assert!(Index::<u64, i64>::open((storage.clone(), "bytes"), &IndexOptions::default()).is_ok());

    let refused = |types: &str, values: &str, payload_bytes| {
        let types = RecordType::new(types.parse().unwrap(), values.parse::<ValueType>().unwrap());
        let created = Long::create((storage.clone(), "refused"), &options(&types, payload_bytes));
        match created.unwrap_err() {
            error @ Error { cause: Cause::Input, .. } => error.detail().to_owned(),
            error => panic!("{error}"),
        }
    };
    assert!(refused("uuid", "text", None).contains("size"));
    assert!(refused("uuid", "text", Some(1)).contains("2 bytes and their own"));
    assert!(refused("uuid", "date", Some(5)).contains("4 bytes, not 5"));
    assert!(refused("(uuid, u8)", "date", None).contains("up to 16 bytes"));
    assert!(refused("(u64, text)", "date", None).contains("fixed width"));
    let columns: Vec<String> = (0..100).map(|number| format!("a column with a long name {number}: u8?")).collect();
    assert!(refused("uuid", &format!("{{{}}}", columns.join(", ")), None).contains("fewer columns"));
    let wrong = IndexOptions::default().value_type(ValueType::Scalar(KeyType::U32));
    assert!(Index::<u64, u64>::create((storage.clone(), "refused"), &wrong).is_err());

    let types = RecordType::new(KeyType::Uuid, KeyType::Text);
    let index = Long::create((storage.clone(), "text"), &options(&types, Some(6))).unwrap();
    assert!(index.encode_value(b"abcd").is_ok());
    assert!(index.encode_value(b"abcde").unwrap_err().to_string().contains("at most 4 bytes"));
    // A payload written as bytes is no value.
    let mut transaction = index.write().unwrap();
    transaction.insert(RawKey(1), vec![0xff; 6]).unwrap();
    transaction.commit().unwrap();
    let payload = index.get(RawKey(1)).unwrap().unwrap();
    assert!(index.decode_value(&payload).unwrap_err().to_string().contains("text"));
}

/// An index of rows of varying length.
fn filled(storage: &Arc<dyn Storage>, name: &str) -> Index<RawKey<u64>, Vec<u8>> {
    let types = RecordType::new(KeyType::U32, "{name: text}".parse::<ValueType>().unwrap());
    let index = Index::create((storage.clone(), name), &options(&types, Some(20))).unwrap();
    let entry = |key: u64| {
        let value = types.values.parse(&"n".repeat(key as usize % 10)).unwrap();
        (RawKey(key), index.encode_value(&value).unwrap())
    };
    index.bulk_load((0..1_000).map(entry)).unwrap();
    index
}

#[test]
fn joins_take_the_values_and_their_types() {
    let storage = storage();
    let index = filled(&storage, "left");
    let source = JoinSource::index(&index).unwrap();
    assert_eq!(source.record_type(), index.record_type());
    let right: Index<u32, u16> = Index::create((storage.clone(), "right"), &IndexOptions::default()).unwrap();
    right.bulk_load((500..2_000).map(|key| (key, key as u16))).unwrap();
    for method in [JoinMethod::Merge, JoinMethod::Hash] {
        let output = JoinOutput::table(storage.clone(), "joined", JoinOutput::options());
        let options = JoinOptions::default().method(method);
        let report = join(&source, &JoinSource::index(&right).unwrap(), output, &options).unwrap();
        assert_eq!(report.rows, 500);
        let joined = Table::open((storage.clone(), "joined"), &TableOptions::default()).unwrap();
        let types = joined.record_type();
        let row = joined.get(&507_u32.to_be_bytes()).unwrap().unwrap();
        let values = types.values.row(&row).unwrap().values().unwrap();
        assert_eq!(values, [Value::Text("nnnnnnn".into()), Value::Unsigned(507)], "{types}");
        storage.remove("joined").unwrap();
    }
}

#[test]
fn a_repaired_index_keeps_its_types() {
    let storage = storage();
    let index = filled(&storage, "index");
    let (types, first) = (index.record_type().clone(), index.first().unwrap());
    index.close().unwrap();
    let options = IndexOptions::default();
    let report = repair_index((&storage, "index"), (&storage, "repaired"), &options, &mut |_, _| {}).unwrap();
    assert_eq!(report.saved_records, 1_000);
    let repaired: Index<RawKey<u64>, Vec<u8>> = Index::open((storage, "repaired"), &options).unwrap();
    assert_eq!((repaired.record_type(), repaired.first().unwrap()), (&types, first));
}
