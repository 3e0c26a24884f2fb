//! Goal: the empty key is a key like any other, in every method, kind and form of relation: it has partners, repeats,
//! and is distinguished from "none yet". The same holds for keys that cannot occur in a relation of numbers. Method:
//! small relations with the empty key alone, with others, once and in runs longer than a block, with values and
//! without, each joined with each and compared with the plain reference.

use crate::methods;
use crate::support::{DENSE, Row, Shape, check, numbered, options, reference, store, table, unsorted};
use ogive::KeyType;
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinSide, JoinSource};

const MEMORY_BYTES: u64 = 4 << 20;
const TEXTS: Shape = Shape { key_type: KeyType::Bytes, value_width: None, ..DENSE };

/// Rows of these keys, with values that tell them apart unless all are to be empty.
fn rows(keys: &[&str], times: usize, has_values: bool, seed: usize) -> Vec<Row> {
    let value = |at: usize| if has_values { format!("{seed}-{at}").into_bytes() } else { Vec::new() };
    let keys = keys.iter().flat_map(|key| std::iter::repeat_n(key, times)).enumerate();
    keys.map(|(at, key)| (key.as_bytes().to_vec(), value(at))).collect()
}

/// Sets of rows that have the empty key in every way: never, alone, alone in a run over several blocks, and ahead of
/// others.
fn sets(seed: usize) -> Vec<Vec<Row>> {
    let mut long = rows(&[""], 70, true, seed);
    long.extend(rows(&["a", "b", "c", "d"], 30, true, seed + 1));
    vec![
        rows(&["a"], 1, true, seed),
        rows(&[""], 1, true, seed),
        rows(&[""], 1, false, seed),
        rows(&[""], 90, true, seed),
        rows(&["", "\0", "\0\0", "a", "b"], 2, false, seed),
        long,
    ]
}

fn with(kind: JoinKind, method: JoinMethod, inner: Option<JoinSide>) -> JoinOptions {
    options(kind, method, MEMORY_BYTES).inner(inner)
}

/// The sides that may be looked up in, where the method looks up in one.
fn inners(method: JoinMethod) -> &'static [Option<JoinSide>] {
    match method.to_string().starts_with("inlj") {
        true => &[Some(JoinSide::Left), Some(JoinSide::Right)],
        false => &[None],
    }
}

/// Joins by every method and kind, each side as the inner one; returns how many joins there were.
fn check_all(forms: &[(&str, JoinSource, JoinSource)], left: &[Row], right: &[Row], what: &str) -> usize {
    let mut done = 0;
    for (kind, _) in JoinKind::ALL {
        let expected = reference(kind, left, right);
        for (form, one, other) in forms {
            for method in methods() {
                for inner in inners(method) {
                    let what = format!("{what}, {form}, {inner:?} as the inner one");
                    done += usize::from(check(one, other, &with(kind, method, *inner), &expected, &what));
                }
            }
        }
    }
    done
}

#[test]
fn the_empty_key_has_its_partners_by_every_method() {
    let mut done = 0;
    for (i, left) in sets(1).iter().enumerate() {
        for (j, right) in sets(7).iter().enumerate() {
            let forms = [
                ("tables", table(left, TEXTS), table(right, TEXTS)),
                ("shuffled", unsorted(left, KeyType::Bytes, None), unsorted(right, KeyType::Bytes, None)),
            ];
            done += check_all(&forms, left, right, &format!("sets {i} and {j}"));
        }
    }
    assert!(done > 160 * methods().len(), "{done}");
}

#[test]
fn the_empty_key_of_a_store_and_of_every_design_has_its_partners() {
    let designs = ["tuned", "coded", "none"];
    let left = rows(&["", "a", "b"], 1, true, 1);
    let folder = tempfile::tempdir().unwrap();
    let kept = store(folder.path(), &left);
    for (right, design) in sets(3).iter().zip(designs.into_iter().cycle()) {
        let shape = Shape { design, ..TEXTS };
        let forms = [
            ("a store and a table", kept.clone(), table(right, shape)),
            ("a store and shuffled rows", kept.clone(), unsorted(right, KeyType::Bytes, None)),
        ];
        check_all(&forms, &left, right, design);
        let forms = [("a table and a store", table(right, shape), kept.clone())];
        check_all(&forms, right, &left, design);
    }
}

/// The key 0 is to numbers what the empty key is to strings; and a string may be no number at all.
#[test]
fn zero_and_keys_that_are_no_numbers_are_told_apart_from_none() {
    let shape = Shape { key_type: KeyType::U64, value_width: Some(8), ..TEXTS };
    let strange = |seed: usize| {
        let mut rows =
            rows(&["", "a", "\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\0\0", "zz"], 2, true, seed);
        rows.sort();
        rows
    };
    for keys in [&[0_u64][..], &[0; 90], &[0, 0, 1, 1 << 40, u64::MAX], &[u64::MAX; 80]] {
        let (left, right) = (numbered(keys, 1), numbered(&[0, 0, 1, u64::MAX], 2));
        let forms = [
            ("tables", table(&left, shape), table(&right, shape)),
            ("shuffled", unsorted(&left, KeyType::U64, Some(8)), unsorted(&right, KeyType::U64, Some(8))),
        ];
        check_all(&forms, &left, &right, "numbers");
        let bytes = strange(3);
        let forms = [
            ("strings with numbers", table(&bytes, TEXTS), table(&left, shape)),
            ("shuffled strings with numbers", unsorted(&bytes, KeyType::Bytes, None), table(&left, shape)),
        ];
        check_all(&forms, &bytes, &left, "strings on the left");
        let forms = [
            ("numbers with strings", table(&left, shape), table(&bytes, TEXTS)),
            ("numbers with shuffled strings", table(&left, shape), unsorted(&bytes, KeyType::Bytes, None)),
        ];
        check_all(&forms, &left, &bytes, "strings on the right");
    }
}

#[test]
fn threads_keep_the_empty_key() {
    let keys: Vec<String> = std::iter::once(String::new()).chain((0..4000).map(|at| format!("key{at:06}"))).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let (left, right) = (rows(&keys, 2, true, 1), rows(&keys[..3000], 1, true, 2));
    let (one, other) = (table(&left, TEXTS), table(&right, TEXTS));
    for (kind, _) in JoinKind::ALL {
        let expected = reference(kind, &left, &right);
        for method in methods() {
            for inner in [JoinSide::Left, JoinSide::Right] {
                let with = options(kind, method, 16 << 20).threads(3).inner(inner);
                check(&one, &other, &with, &expected, &format!("{inner:?} as the inner one"));
            }
        }
    }
}
