//! Goal: a key with a null matches no key, as in SQL, by every method and in every kind. Method: keys of tuples with
//! few distinct values and many nulls, of one width and of any, in tables, stores, and unsorted rows whose type is
//! stated or follows from the other side, compared with nested loops that refuse keys with nulls; memory, threads,
//! order and output are drawn. One key with a null and more bytes than memory on both sides.

use crate::support::{
    DENSE, Draws, Row, Shape, check, collect, options, reference, reference_where, store, table, unsorted,
};
use crate::{drawn_tunables, methods};
use ogive::join::{JoinKind, JoinMethod, JoinSource};
use ogive::types::{KeyType, NullOrder, RecordType, Value, ValueType};
use ogive::{Cause, Error};
use ogive_testkit::Random;
use std::collections::HashMap;
use std::sync::Arc;

const TYPES: [&str; 8] = [
    "(u64?)",
    "(u8?, u32, u16? desc nulls last)",
    "(i64?, u32, u8 desc, u8? nulls first)",
    "(text?)",
    "(text? desc, u16)",
    "(bytes desc, text? nulls first, date)",
    "(u8, bytes? desc nulls last, i64?)",
    "(text, u8)",
];

fn value(random: &mut Random, key_type: KeyType) -> Value {
    let number = random.below(3);
    let bytes: Vec<u8> = (0..number).map(|_| [0, 1, b'a', 0xfe, 0xff][random.below(5) as usize]).collect();
    match key_type {
        KeyType::Text => Value::Text(bytes.iter().map(|&byte| char::from(byte)).collect()),
        KeyType::Bytes => Value::Bytes(bytes),
        KeyType::I64 | KeyType::Date => Value::Signed(i128::from(number) - 1),
        _ => Value::Unsigned(number.into()),
    }
}

fn key(random: &mut Random, key_type: KeyType) -> Vec<u8> {
    let KeyType::Tuple(tuple) = key_type else { panic!("{key_type} is no tuple") };
    let values = tuple.components().map(|component| match component.nulls != NullOrder::Never && random.one_in(3) {
        true => Value::Null,
        false => value(random, component.key_type),
    });
    key_type.encode(&Value::Tuple(values.collect())).unwrap()
}

fn has_null(key_type: KeyType, key: &[u8]) -> bool {
    matches!(key_type.decode(key).unwrap(), Value::Tuple(values) if values.contains(&Value::Null))
}

/// Sorted rows, each with a value of its own.
fn rows(random: &mut Random, key_type: KeyType, mark: u64) -> Vec<Row> {
    let count = [0, 1, 30, 300][random.below(4) as usize];
    let mut rows: Vec<Row> =
        (0..count).map(|at| (key(random, key_type), (mark << 32 | at).to_le_bytes().to_vec())).collect();
    rows.sort();
    rows
}

/// The rows of the first of each key.
fn distinct(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.dedup_by(|one, other| one.0 == other.0);
    rows
}

fn typed(source: JoinSource, key_type: KeyType) -> JoinSource {
    source.with_types(RecordType::new(key_type, ValueType::default()))
}

#[test]
fn keys_with_nulls_match_no_key() {
    let mut draws = Draws::new(env!("CARGO_CRATE_NAME"), drawn_tunables);
    let mut random = Random::new(7);
    let mut done: HashMap<(String, JoinKind), u64> = HashMap::new();
    for round in 0..TYPES.len() * 4 {
        let key_type: KeyType = TYPES[round % TYPES.len()].parse().unwrap();
        let (left, right) = (rows(&mut random, key_type, 1), rows(&mut random, key_type, 2));
        let once = distinct(&right);
        let shape = Shape { key_type, value_width: key_type.width().map(|_| 8), ..DENSE };
        let by_column = Shape { value_width: None, ..shape };
        let open = Shape { key_type: KeyType::Bytes, value_width: None, ..DENSE };
        let folder = tempfile::tempdir().unwrap();
        let forms = [
            ("tables", draws.table(&left, shape), draws.table(&right, by_column), &right),
            ("a table and bytes", draws.table(&left, by_column), unsorted(&right, KeyType::Bytes, None), &right),
            ("bytes and a table", draws.table(&left, open), draws.table(&right, shape), &right),
            ("unsorted", unsorted(&left, key_type, Some(8)), unsorted(&right, key_type, None), &right),
            ("types stated", typed(table(&left, open), key_type), table(&right, open), &right),
            ("a store", draws.table(&left, shape), typed(store(folder.path(), &once), key_type), &once),
        ];
        for (kind, _) in JoinKind::ALL {
            for (form, one, other, right) in &forms {
                let third = |left: &[u8], right: &[u8]| (left[0].wrapping_add(right[0])).is_multiple_of(3);
                let is_conditional = draws.any(&[true, false, false]);
                draws.condition = None;
                if is_conditional {
                    draws.condition = Some(Arc::new(move |pair| Ok(third(pair.left, pair.right))));
                }
                let passes = |key: &[u8], left: &[u8], right: &[u8]| {
                    !has_null(key_type, key) && (!is_conditional || third(left, right))
                };
                let expected = reference_where(kind, &left, right, passes);
                for method in methods() {
                    let ran = draws.check((one, other), (kind, method), &expected, &format!("{key_type}, {form}"));
                    *done.entry((method.to_string(), kind)).or_default() += u64::from(ran);
                }
            }
        }
    }
    for method in methods() {
        let ran = |kind: JoinKind| done.get(&(method.to_string(), kind)).copied().unwrap_or(0) > 0;
        if matches!(method, JoinMethod::Merge | JoinMethod::Hash | JoinMethod::Partition) {
            assert!(JoinKind::ALL.iter().all(|(kind, _)| ran(*kind)), "{method}: {done:?}");
        }
        if matches!(method, JoinMethod::Inlj | JoinMethod::InljIndex) {
            let kinds = JoinKind::ALL.iter().filter(|(kind, _)| *kind != JoinKind::Full);
            assert!(kinds.clone().all(|(kind, _)| ran(*kind)), "{method}: {done:?}");
        }
    }
}

#[test]
fn a_key_with_a_null_and_more_bytes_than_memory_on_both_sides_has_no_pairs() {
    let key_type: KeyType = "(text?)".parse().unwrap();
    let null = key_type.encode(&Value::Tuple(vec![Value::Null])).unwrap();
    let other = key_type.encode(&Value::Tuple(vec![Value::Text("b".into())])).unwrap();
    let rows = |count: usize| -> Vec<Row> {
        let mut rows: Vec<Row> =
            (0..count).map(|at| (null.clone(), [&at.to_be_bytes()[..], &[1; 3000]].concat())).collect();
        rows.push((other.clone(), vec![0; 10]));
        rows
    };
    let (left, right) = (rows(420), rows(400));
    let sides = (unsorted(&left, key_type, None), unsorted(&right, key_type, None));
    for (kind, _) in JoinKind::ALL {
        let expected = reference_where(kind, &left, &right, |key, _, _| key == other);
        assert_ne!(expected, reference(kind, &left, &right), "{kind}");
        for method in [JoinMethod::Merge, JoinMethod::Hash, JoinMethod::Partition] {
            let mut options = options(kind, method, 1 << 20);
            while let Err(Error { cause: Cause::JoinMemory { needed_bytes, .. }, .. }) =
                collect(&sides.0, &sides.1, &options)
            {
                options.memory_bytes = needed_bytes;
            }
            assert!(options.memory_bytes < 4 << 20, "{method}: {}", options.memory_bytes);
            assert!(check(&sides.0, &sides.1, &options, &expected, "one key"), "{method}");
        }
    }
}
