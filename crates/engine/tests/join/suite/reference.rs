//! Goal: every method gives the rows of a plain reference, for every kind of join, sort of relation and type of key.
//! Method: generated keys of both sides that overlap in every way, including repeats and the adversarial key sets of
//! the testkit, in tables of small blocks, indexes, stores and files; rows are compared as multisets, and their order
//! by the keys alone. Memory, threads, layouts, direct or cached reads and the form of the output are drawn for each
//! join.

use crate::support::{
    DENSE, Draws, Row, Shape, check, collect, file, index, numbered, options, pairs, reference, store, table, texts,
    unsorted, wide,
};
use crate::{drawn_tunables, methods, some_methods};
use ogive::KeyType;
use ogive::index::IndexKind;
use ogive::join::{JoinKind, JoinMethod, JoinSide, JoinSource};
use ogive_testkit::key_sets::nasty;
use std::collections::BTreeMap;

const MEMORY_BYTES: u64 = 16 << 20;
const SIZE: u64 = 1500;

/// Both relations, each in every form that the method can take, must give what the reference gives.
fn check_all(
    draws: &mut Draws,
    forms: &[(&str, JoinSource, JoinSource)],
    rows: (&[Row], &[Row]),
    what: &str,
    done: &mut BTreeMap<String, u64>,
) {
    for (kind, _) in JoinKind::ALL {
        let expected = reference(kind, rows.0, rows.1);
        for (form, left, right) in forms {
            for method in methods() {
                let ran = draws.check((left, right), (kind, method), &expected, &format!("{what}, {form}"));
                *done.entry(method.to_string()).or_default() += u64::from(ran);
            }
        }
    }
}

fn draws() -> Draws {
    Draws::new(env!("CARGO_CRATE_NAME"), drawn_tunables)
}

#[test]
fn every_method_joins_records_of_one_width() {
    let (mut draws, mut done) = (draws(), BTreeMap::new());
    for (what, left, right) in pairs(SIZE) {
        let (left, right) = (numbered(&left, 1), numbered(&right, 2));
        let forms = [
            ("tables", draws.table(&left, DENSE), draws.table(&right, DENSE)),
            ("unsorted", unsorted(&left, KeyType::U64, Some(8)), unsorted(&right, KeyType::U64, Some(8))),
            ("files", file(&left, false), file(&right, true)),
            ("a table and a file", draws.table(&left, DENSE), file(&right, false)),
        ];
        check_all(&mut draws, &forms, (&left, &right), what, &mut done);
    }
    let idle: Vec<_> = done.iter().filter(|(method, times)| **times == 0 && *method != "inlj:index").collect();
    assert!(idle.is_empty(), "{idle:?}");
}

#[test]
fn every_method_joins_byte_strings_and_wide_numbers() {
    let text = Shape { key_type: KeyType::Text, value_width: None, ..DENSE };
    let long = Shape { key_type: KeyType::U128, value_width: Some(0), ..DENSE };
    let (mut draws, mut done) = (draws(), BTreeMap::new());
    for (what, left, right) in pairs(SIZE / 3) {
        let (rows, others) = (texts(&left, 1), texts(&right, 2));
        let (rows, others) = (sorted(rows), sorted(others));
        let forms = [
            ("texts", draws.table(&rows, text), draws.table(&others, text)),
            ("shuffled texts", unsorted(&rows, KeyType::Text, None), draws.table(&others, text)),
        ];
        check_all(&mut draws, &forms, (&rows, &others), what, &mut done);
        let (rows, others) = (wide(&left), wide(&right));
        let forms = [
            ("wide", draws.table(&rows, long), draws.table(&others, long)),
            ("shuffled wide", draws.table(&rows, long), unsorted(&others, KeyType::U128, Some(0))),
        ];
        check_all(&mut draws, &forms, (&rows, &others), what, &mut done);
    }
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

#[test]
fn indexes_and_stores_are_joined_as_they_are() {
    let (mut draws, mut done) = (draws(), BTreeMap::new());
    for (what, left, right) in pairs(SIZE / 2) {
        let (left_rows, right_rows) = (numbered(&left, 1), numbered(&right, 2));
        let is_distinct = |keys: &[u64]| keys.is_sorted_by(|a, b| a < b);
        let mut forms = Vec::new();
        for kind in [IndexKind::OGIVE, IndexKind::BTREE] {
            forms.push(("an index", draws.table(&left_rows, DENSE), index(&right_rows, kind, true)));
        }
        forms.push((
            "two indexes",
            index(&left_rows, IndexKind::BTREE, true),
            index(&right_rows, IndexKind::OGIVE, true),
        ));
        if is_distinct(&right) {
            forms.push(("unique", draws.table(&left_rows, DENSE), index(&right_rows, IndexKind::OGIVE, false)));
            let folder = tempfile::tempdir().unwrap();
            forms.push(("a store", draws.table(&left_rows, DENSE), store(folder.path(), &right_rows)));
            check_all(&mut draws, &forms, (&left_rows, &right_rows), what, &mut done);
        } else {
            check_all(&mut draws, &forms, (&left_rows, &right_rows), what, &mut done);
        }
    }
    assert!(!methods().contains(&JoinMethod::InljIndex) || done["inlj:index"] > 0, "{done:?}");
}

#[test]
fn key_sets_that_have_broken_learned_indexes_are_joined_with_parts_of_themselves() {
    let designs = ["coded", "layers=3,builder=pla,error=2", "btree", "layers=1,builder=gband,lambda=1024", "none"];
    let (mut draws, mut done) = (draws(), BTreeMap::new());
    for (name, keys) in nasty(1200) {
        let some: Vec<u64> = keys
            .iter()
            .copied()
            .enumerate()
            .filter(|(at, _)| at % 7 == 3 || at % 11 == 0)
            .map(|(_, key)| key)
            .collect();
        let near: Vec<u64> = some.iter().map(|key| key.saturating_add(1)).collect();
        let all = numbered(&keys, 1);
        let shape = Shape { design: draws.any(&designs), ..DENSE };
        for (which, part) in [("a part", some), ("neighbours", near)] {
            let part = numbered(&part, 2);
            // A key that hundreds of rows have on both sides gives many rows: those are joined elsewhere.
            if name == "all_equal" && which == "a part" {
                continue;
            }
            let forms = [
                ("sorted", draws.table(&part, shape), draws.table(&all, shape)),
                ("unsorted", unsorted(&part, KeyType::U64, Some(8)), unsorted(&all, KeyType::U64, Some(8))),
            ];
            check_all(&mut draws, &forms, (&part, &all), &format!("{name}, {which}"), &mut done);
        }
    }
}

#[test]
fn either_side_may_be_looked_up_in_and_order_may_be_given_up() {
    let (left, right) =
        (numbered(&(0..3000).step_by(3).collect::<Vec<_>>(), 1), numbered(&(0..900).collect::<Vec<_>>(), 2));
    let (one, other) = (table(&left, DENSE), table(&right, DENSE));
    let loose = (unsorted(&left, KeyType::U64, Some(8)), unsorted(&right, KeyType::U64, Some(8)));
    for (kind, _) in JoinKind::ALL {
        let expected = reference(kind, &left, &right);
        for method in methods() {
            for inner in [JoinSide::Left, JoinSide::Right] {
                let with = options(kind, method, MEMORY_BYTES).inner(inner);
                check(&one, &other, &with, &expected, &format!("{inner:?} as the inner one"));
            }
            let with = options(kind, method, MEMORY_BYTES).any_order(true);
            check(&loose.0, &loose.1, &with, &expected, "in any order");
        }
    }
}

#[test]
fn threads_give_the_rows_of_one_thread() {
    for (what, left, right) in pairs(6 * SIZE) {
        let (left, right) = (numbered(&left, 1), numbered(&right, 2));
        let forms = [
            ("tables", table(&left, DENSE), table(&right, DENSE)),
            ("unsorted", unsorted(&left, KeyType::U64, Some(8)), unsorted(&right, KeyType::U64, Some(8))),
        ];
        for kind in [JoinKind::Inner, JoinKind::Left] {
            let expected = reference(kind, &left, &right);
            for (form, left, right) in &forms {
                for method in some_methods() {
                    for (threads, any_order) in [(2, false), (4, true)] {
                        let with = options(kind, method, 4 * MEMORY_BYTES).threads(threads).any_order(any_order);
                        check(left, right, &with, &expected, &format!("{what}, {form}"));
                    }
                }
            }
        }
    }
}

#[test]
fn little_memory_changes_no_row() {
    let keys: Vec<u64> = (0..60_000).map(|key| key * 7 % 60_000).collect();
    let (mut left, mut right) = (keys.clone(), keys.into_iter().filter(|key| key % 3 > 0).collect::<Vec<_>>());
    left.sort_unstable();
    right.sort_unstable();
    let (left, right) = (numbered(&left, 1), numbered(&right, 2));
    let forms = [
        ("tables", table(&left, DENSE), table(&right, DENSE)),
        ("unsorted", unsorted(&left, KeyType::U64, Some(8)), unsorted(&right, KeyType::U64, Some(8))),
    ];
    for kind in [JoinKind::Inner, JoinKind::Anti] {
        let expected = reference(kind, &left, &right);
        for (form, left, right) in &forms {
            for method in methods() {
                check(left, right, &options(kind, method, 1 << 20), &expected, &format!("within 1 MiB, {form}"));
            }
        }
    }
}

#[test]
fn values_that_lie_apart_from_their_keys_are_joined_too() {
    let shape = Shape { key_type: KeyType::Bytes, value_width: None, block_bytes: 4096, ..DENSE };
    let value = |at: u64, length: usize| vec![at as u8; if at.is_multiple_of(5) { length } else { 10 }];
    let rows = |keys: std::ops::Range<u64>, length| -> Vec<Row> {
        keys.map(|at| (format!("key{:05}", at / 2).into_bytes(), value(at, length))).collect()
    };
    let (left, right) = (rows(0..60, 200_000), rows(20..80, 100_000));
    let (one, other) = (table(&left, shape), table(&right, shape));
    for (kind, _) in JoinKind::ALL {
        let expected = reference(kind, &left, &right);
        for method in methods() {
            check(&one, &other, &options(kind, method, 32 << 20), &expected, "long values");
        }
    }
}

#[test]
fn the_planner_takes_a_method_that_gives_the_same_rows() {
    for (what, left, right) in pairs(SIZE) {
        let (left, right) = (numbered(&left, 1), numbered(&right, 2));
        let forms = [
            ("tables", table(&left, DENSE), table(&right, DENSE)),
            ("unsorted", unsorted(&left, KeyType::U64, Some(8)), unsorted(&right, KeyType::U64, Some(8))),
            ("an index", table(&left, DENSE), index(&right, IndexKind::OGIVE, true)),
        ];
        for (kind, _) in JoinKind::ALL {
            let expected = reference(kind, &left, &right);
            for (form, left, right) in &forms {
                let asked = options(kind, JoinMethod::Auto, MEMORY_BYTES);
                assert!(check(left, right, &asked, &expected, &format!("{what}, {form}")), "auto always can");
                let (_, report) = collect(left, right, &asked).unwrap();
                let explanation = report.explanation.unwrap();
                assert_eq!((explanation.method, explanation.actual.unwrap().rows), (report.method, report.rows));
            }
        }
    }
}
