//! Goal: a join under a condition gives the rows that SQL gives for a further condition in `ON`, by every method and in
//! every kind; full joins are offered only by methods that read both sides whole. Method: pairs of relations with and
//! without repeats, and conditions on the key, on both values and on one of them, compared with nested loops; memory,
//! threads, order and output are drawn. One key with more bytes than memory on both sides is joined in every kind.

use crate::support::{
    DENSE, Draws, Joined, Row, check, collect, file, index, numbered, options, pairs, reference_where, table, unsorted,
};
use crate::{drawn_tunables, methods};
use ogive::index::IndexKind;
use ogive::join::{JoinKind, JoinMethod, JoinSide, JoinSource, explain};
use ogive::{Cause, Error, KeyType};
use std::collections::HashMap;
use std::sync::Arc;

const SIZE: u64 = 300;

/// A condition on key, left and right value.
type Condition = fn(&[u8], &[u8], &[u8]) -> bool;

fn conditions() -> [(&'static str, Condition); 5] {
    fn sum(bytes: &[u8]) -> u64 {
        bytes.iter().map(|&byte| u64::from(byte)).sum()
    }
    [
        ("a third of the pairs", |_, left, right| (sum(left) + sum(right)).is_multiple_of(3)),
        ("left values", |_, left, _| sum(left).is_multiple_of(2)),
        ("right values", |_, _, right| sum(right).is_multiple_of(2)),
        ("keys", |key, _, _| !sum(key).is_multiple_of(3)),
        ("never", |_, _, _| false),
    ]
}

fn check_all(
    draws: &mut Draws,
    forms: &[(&str, JoinSource, JoinSource)],
    (left, right): (&[Row], &[Row]),
    what: &str,
    done: &mut HashMap<(String, JoinKind), u64>,
) {
    let (name, condition) = draws.any(&conditions());
    draws.condition = Some(Arc::new(move |pair| Ok(condition(pair.key, pair.left, pair.right))));
    for (kind, _) in JoinKind::ALL {
        let expected = reference_where(kind, left, right, condition);
        for (form, one, other) in forms {
            for method in methods() {
                let ran = draws.check((one, other), (kind, method), &expected, &format!("{what}, {form}, {name}"));
                *done.entry((method.to_string(), kind)).or_default() += u64::from(ran);
            }
        }
    }
}

#[test]
fn pairs_that_fail_a_condition_are_no_matches() {
    let (mut draws, mut done) = (Draws::new(env!("CARGO_CRATE_NAME"), drawn_tunables), HashMap::new());
    for (what, left, right) in pairs(SIZE).into_iter().chain(pairs(SIZE / 3)) {
        let (left, right) = (numbered(&left, 1), numbered(&right, 2));
        let forms = [
            ("tables", draws.table(&left, DENSE), draws.table(&right, DENSE)),
            ("unsorted", unsorted(&left, KeyType::U64, Some(8)), unsorted(&right, KeyType::U64, None)),
            ("a table and a file", draws.table(&left, DENSE), file(&right, false)),
            ("an index", index(&left, IndexKind::BTREE, true), index(&right, IndexKind::OGIVE, true)),
        ];
        check_all(&mut draws, &forms, (&left, &right), what, &mut done);
    }
    for method in methods() {
        let ran = |kind: JoinKind| done.get(&(method.to_string(), kind)).copied().unwrap_or(0) > 0;
        assert!(ran(JoinKind::Inner), "{method}");
        if matches!(method, JoinMethod::Merge | JoinMethod::Hash | JoinMethod::Partition) {
            assert!(JoinKind::ALL.iter().all(|(kind, _)| ran(*kind)), "{method}: {done:?}");
        }
        if matches!(method, JoinMethod::Inlj | JoinMethod::InljIndex) {
            let kinds = JoinKind::ALL.iter().filter(|(kind, _)| *kind != JoinKind::Full);
            assert!(kinds.clone().all(|(kind, _)| ran(*kind)) && !ran(JoinKind::Full), "{method}: {done:?}");
        }
    }
}

#[test]
fn a_key_with_more_bytes_than_memory_on_both_sides_is_joined_under_a_condition() {
    let rows = |count: usize, seed: usize| -> Vec<Row> {
        let mut rows: Vec<Row> =
            (0..count).map(|at| (vec![7; 8], [&(at * 31 + seed).to_be_bytes()[..], &[1; 3000]].concat())).collect();
        rows.push((vec![8; 8], vec![0; 10]));
        rows
    };
    let (left, right) = (rows(420, 1), rows(400, 2));
    let condition: Condition = |_, left, right| left[7].wrapping_add(right[7]) % 64 == 0;
    let sides = (unsorted(&left, KeyType::U64, None), unsorted(&right, KeyType::U64, None));
    for (kind, _) in JoinKind::ALL {
        let expected = reference_where(kind, &left, &right, condition);
        for method in [JoinMethod::Merge, JoinMethod::Hash, JoinMethod::Partition] {
            let mut options =
                options(kind, method, 1 << 20).condition(move |pair| Ok(condition(pair.key, pair.left, pair.right)));
            // A hash join divides its memory further.
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

#[test]
fn the_error_of_a_condition_ends_the_join() {
    let rows = numbered(&(0..20_000).collect::<Vec<_>>(), 1);
    let sides = (table(&rows, DENSE), table(&rows, DENSE));
    for method in [JoinMethod::Merge, JoinMethod::Hash, JoinMethod::Inlj] {
        let options = options(JoinKind::Left, method, 4 << 20).condition(|pair| match pair.key {
            [.., 3, 0] => Err(Error::input("no row")),
            _ => Ok(true),
        });
        let refused = collect(&sides.0, &sides.1, &options).unwrap_err();
        assert!(
            matches!(&refused, error @ Error { cause: Cause::Input, .. } if error.detail() == "no row"),
            "{method}: {refused}"
        );
    }
}

#[test]
fn methods_that_cannot_give_the_rows_are_not_offered() {
    let rows = numbered(&(0..2000).collect::<Vec<_>>(), 1);
    let sides = (table(&rows, DENSE), index(&rows, IndexKind::OGIVE, false));
    let full = options(JoinKind::Full, JoinMethod::Auto, 16 << 20);
    let semi = options(JoinKind::Semi, JoinMethod::Auto, 16 << 20).inner(JoinSide::Left).condition(|_| Ok(true));
    for (sides, options, method, reason) in [
        ((&sides.0, &sides.0), &full, JoinMethod::Inlj, "reads both of them whole"),
        ((&sides.0, &sides.1), &full, JoinMethod::InljIndex, "reads both of them whole"),
        ((&sides.1, &sides.0), &semi, JoinMethod::InljIndex, "cannot apply a condition"),
    ] {
        let explanation = explain(sides.0, sides.1, options).unwrap();
        let known = explanation.alternatives.iter().find(|known| known.method == method.to_string()).unwrap();
        assert!(known.refused.as_ref().is_some_and(|refused| refused.contains(reason)), "{known:?}");
        let refused = collect(sides.0, sides.1, &options.clone().method(method)).unwrap_err();
        assert!(
            matches!(&refused, error @ Error { cause: Cause::Input, .. } if error.detail().contains(reason)),
            "{refused}"
        );
        let rows: Vec<Joined> = collect(sides.0, sides.1, options).unwrap().0;
        assert_eq!(rows.len(), 2000);
    }
}
