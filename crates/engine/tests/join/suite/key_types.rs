//! Goal: keys of every type are joined, and sides of different types whenever keys of both can be equal. Method:
//! tables, indexes and unsorted rows of keys of 1 to 16 bytes by every method and kind, against the reference; pairs of
//! types that must be joined, and pairs that must be refused; numbers of different types are compared in
//! `compared_keys.rs`.

use crate::support::{
    DENSE, Draws, Row, Shape, check, index_of, narrow_or_wide, options, pairs, reference, table, unsorted,
};
use crate::{drawn_tunables, methods};
use ogive::index::{Index, IndexOptions, RawKey};
use ogive::io::{MemoryStorage, Storage};
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinSource, explain, join};
use ogive::lsm::{Db, DbOptions};
use ogive::table::{Table, TableOptions, TableWriteOptions};
use ogive::types::RecordType;
use ogive::{Cause, Error, KeyType};
use std::sync::Arc;

const TYPES: [KeyType; 7] = [
    KeyType::U32,
    KeyType::I128,
    KeyType::FixedBytes(1),
    KeyType::FixedBytes(3),
    KeyType::FixedBytes(8),
    KeyType::FixedBytes(11),
    KeyType::FixedBytes(16),
];
const MEMORY_BYTES: u64 = 16 << 20;

#[test]
fn every_method_joins_keys_of_every_type() {
    let mut draws = Draws::new(env!("CARGO_CRATE_NAME"), drawn_tunables);
    for key_type in TYPES {
        let shape = Shape { key_type, value_width: Some(8), ..DENSE };
        let by_column = Shape { value_width: None, ..shape };
        for (what, left, right) in pairs(200) {
            let width = key_type.width().unwrap();
            let (left, right) = (narrow_or_wide(&left, width, 1), narrow_or_wide(&right, width, 2));
            let forms = [
                ("tables", draws.table(&left, shape), draws.table(&right, shape)),
                ("tables by column", draws.table(&left, by_column), draws.table(&right, by_column)),
                ("unsorted", unsorted(&left, key_type, Some(8)), draws.table(&right, shape)),
            ];
            let kind = draws.any(&JoinKind::ALL).0;
            let expected = reference(kind, &left, &right);
            for (form, left, right) in &forms {
                for method in methods() {
                    draws.check((left, right), (kind, method), &expected, &format!("{key_type}, {what}, {form}"));
                }
            }
        }
    }
}

fn integer(key: &[u8]) -> u64 {
    key.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn rows(width: usize) -> (Vec<Row>, Vec<Row>) {
    let keys = |step: usize| (0..900_u64).step_by(step).collect::<Vec<_>>();
    (narrow_or_wide(&keys(2), width, 1), narrow_or_wide(&keys(3), width, 2))
}

/// Joins by every method, and holds the rows against the reference.
fn check_joined(left: &JoinSource, right: &JoinSource, rows: (&[Row], &[Row]), what: &str) {
    let expected = reference(JoinKind::Inner, rows.0, rows.1);
    let done = methods()
        .into_iter()
        .filter(|&method| check(left, right, &options(JoinKind::Inner, method, MEMORY_BYTES), &expected, what))
        .count();
    assert!(done > 0, "{what}: no method");
}

#[test]
fn indexes_are_joined_with_tables_of_their_type_and_of_bytes() {
    let narrow = rows(4);
    let words = rows(8);
    let wide = rows(16);
    let of_u32 = index_of(&narrow.0, |key| integer(key) as u32);
    let of_bytes4 = index_of(&narrow.0, |key| <[u8; 4]>::try_from(key).unwrap());
    let of_bytes8 = index_of(&words.0, |key| <[u8; 8]>::try_from(key).unwrap());
    let of_i128 = index_of(&wide.0, |key| i128::from_be_bytes(key.try_into().unwrap()) ^ i128::MIN);
    let cases = [
        ("u32", &of_u32, &narrow, vec![KeyType::U32, KeyType::Bytes, KeyType::Text, KeyType::FixedBytes(4)]),
        ("bytes4", &of_bytes4, &narrow, vec![KeyType::U32, KeyType::Bytes, KeyType::FixedBytes(4)]),
        (
            "bytes8",
            &of_bytes8,
            &words,
            vec![KeyType::FixedBytes(8), KeyType::Bytes, KeyType::U64, KeyType::I64, KeyType::F64],
        ),
        ("i128", &of_i128, &wide, vec![KeyType::I128, KeyType::Bytes, KeyType::FixedBytes(16)]),
    ];
    for (what, index, (ours, theirs), types) in cases {
        for key_type in types {
            let what = format!("an index of {what} with a table of {key_type}");
            let value_width = key_type.width().map(|_| 8);
            let other = table(theirs, Shape { key_type, value_width, ..DENSE });
            check_joined(index, &other, (ours, theirs), &what);
            check_joined(&other, index, (theirs, ours), &what);
        }
    }
}

#[test]
fn types_without_equal_keys_are_refused() {
    let words = rows(8).0;
    let of_u64 = index_of(&words, integer);
    for name in ["date", "timestamp(s)", "bool", "uuid", "(u64, u8)", "(text?)"] {
        let key_type: KeyType = name.parse().unwrap();
        let other = unsorted(&[], key_type, None);
        for (left, right) in [(&of_u64, &other), (&other, &of_u64)] {
            let error = explain(left, right, &JoinOptions::default()).map(drop).unwrap_err();
            assert!(
                matches!(&error, error @ Error { cause: Cause::Input, .. }
                    if error.detail().contains("cannot be joined")),
                "{error}"
            );
        }
    }
    let no_width = unsorted(&[], KeyType::FixedBytes(0), None);
    assert!(matches!(explain(&no_width, &no_width, &JoinOptions::default()), Err(Error { cause: Cause::Input, .. })));
}

#[test]
fn an_output_table_has_the_type_of_the_left_index() {
    let (left, right) = rows(4);
    for key_type in [KeyType::U32, KeyType::FixedBytes(4)] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let options = IndexOptions::default().key_type(key_type).payload_bytes(8);
        let index: Index<RawKey<u64>, Vec<u8>> = Index::create((storage.clone(), "i"), &options).unwrap();
        index.bulk_load(left.iter().map(|(key, value)| (RawKey(integer(key)), value.clone()))).unwrap();
        let other = table(&right, Shape { key_type, value_width: Some(8), ..DENSE });
        let output = JoinOutput::table(storage.clone(), "t", TableWriteOptions::default());
        let source = JoinSource::index(&index).unwrap();
        join(&source, &other, output, &crate::support::options(JoinKind::Inner, JoinMethod::Merge, MEMORY_BYTES))
            .unwrap();
        let joined = Table::open((storage, "t"), &TableOptions::default()).unwrap();
        assert_eq!(joined.key_type(), key_type);
        let expected = reference(JoinKind::Inner, &left, &right);
        let found: Vec<Row> = joined.range::<&[u8]>(..).map(Result::unwrap).collect();
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(&expected).all(|((key, _), (other, ..))| key == other));
    }
}

#[test]
fn an_output_table_has_the_type_that_a_keyspace_states_for_its_keys() {
    let db = Db::open(Arc::new(MemoryStorage::new()), &DbOptions::default()).unwrap();
    for key_type in ["text", "bytes", "bytes3", "u64", "i32", "(text, u8?)", "uuid"] {
        let key_type: KeyType = key_type.parse().unwrap();
        let keyspace = db.keyspace(&key_type.to_string()).unwrap();
        keyspace.declare(&RecordType::new(key_type, KeyType::Bytes)).unwrap();
        let written = match key_type {
            KeyType::FixedBytes(_) => "abc",
            KeyType::Tuple(_) => "a,7",
            KeyType::Uuid => "00000000-0000-0000-0000-000000000007",
            _ => "7",
        };
        keyspace.insert(key_type.parse(written).unwrap(), "value").unwrap();
        let side = || JoinSource::snapshot::<Vec<u8>>(&db.snapshot(), &keyspace, ..);
        let of_bytes = JoinSource::snapshot_of::<Vec<u8>>(&db.snapshot(), &keyspace, KeyType::Bytes, ..);
        for (left, expected) in [(side(), key_type), (of_bytes, KeyType::Bytes)] {
            let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
            let output = JoinOutput::table(storage.clone(), "t", TableWriteOptions::default());
            join(&left, &side(), output, &JoinOptions::default()).unwrap();
            let joined = Table::open((storage, "t"), &TableOptions::default()).unwrap();
            assert_eq!((joined.key_type(), joined.len()), (expected, 1), "{key_type}");
        }
    }
}
