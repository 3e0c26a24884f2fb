//! Goal: the rows of a join's output match the documentation of `JoinOutput`, so that readers can decode them: dense
//! where keys and values have one width each, length-prefixed otherwise; and an output can be an input of another join.
//! Method: every combination of fixed and varying keys and values, kind, sort of relation and method; each output is
//! decoded by a reader written from the documentation alone, and read back as a source.

use crate::support::{Joined, Row, Shape, check, collect, options, reference, table, unsorted};
use crate::{methods, some_methods};
use ogive::io::{MemoryStorage, Storage};
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinSource, RecordShape, explain, join};
use ogive::table::{Table, TableOptions};
use ogive::types::RecordType;
use ogive::{Cause, Error, KeyType};
use ogive_testkit::joined_values;
use std::sync::Arc;

const MEMORY_BYTES: u64 = 4 << 20;

/// One side: what is said of its widths, and its rows.
#[derive(Clone, Copy, Debug)]
struct Form {
    key_type: KeyType,
    /// Width of all values, where they have one.
    value: Option<usize>,
}

impl Form {
    fn rows(self, keys: &[u64], seed: u64) -> Vec<Row> {
        let key = |key: u64| match self.key_type {
            KeyType::U64 => key.to_be_bytes().to_vec(),
            KeyType::U128 => u128::from(key).to_be_bytes().to_vec(),
            // Some are empty, and all of them rise.
            _ => (0..key).map(|at| b'a' + (at % 3) as u8).collect(),
        };
        let value = |at: usize| match self.value {
            Some(width) => (0..width).map(|byte| (seed as usize + at + byte) as u8).collect(),
            None => vec![b'a' + (at % 26) as u8; (at * 37 + seed as usize) % 150],
        };
        keys.iter().enumerate().map(|(at, &number)| (key(number), value(at))).collect()
    }

    fn shape(self) -> Shape {
        Shape {
            key_type: self.key_type,
            value_width: self.value.map(|width| width as u32),
            design: "coded",
            block_bytes: 512,
            coding: true,
        }
    }
}

/// Whether rows have the dense form: the documentation of `JoinOutput`.
fn is_dense(kind: JoinKind, left: Form, right: Form) -> bool {
    left.key_type.width().is_some() && left.value.is_some() && (!kind.pairs() || right.value.is_some())
}

/// Takes a record of a joined table apart.
fn decoded(kind: JoinKind, out: &Table, (key, value): Row) -> Joined {
    let (left, right) = joined_values(kind, out.record_type(), &value);
    (key, left, right)
}

/// Joins to a table; `None` where the method cannot join these.
fn joined(left: &JoinSource, right: &JoinSource, options: &JoinOptions, what: &str) -> Option<Table> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    match join(left, right, JoinOutput::table(storage.clone(), "out", JoinOutput::options()), options) {
        Ok(_) => Some(Table::open((storage, "out"), &TableOptions::default()).unwrap()),
        Err(error @ Error { cause: Cause::Input, .. })
            if error.detail().contains("cannot join these") || error.detail().contains("no way to be") =>
        {
            None
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

/// The documented layout for values of one width without keys of one width.
fn told(rows: &[Row], form: Form) -> JoinSource {
    unsorted(rows, form.key_type, form.value)
}

fn forms(key_type: KeyType) -> impl Iterator<Item = Form> {
    [Some(8), Some(0), Some(5), None].into_iter().map(move |value| Form { key_type, value })
}

#[test]
fn rows_of_every_output_are_what_the_documentation_says() {
    let (left_keys, right_keys) = ([0, 0, 1, 2, 2, 5, 7, 9], [0, 2, 2, 3, 7, 7, 200]);
    let mut done = 0;
    for key_type in [KeyType::U64, KeyType::U128, KeyType::Bytes, KeyType::Text] {
        for (left, right) in forms(key_type).flat_map(|left| forms(key_type).map(move |right| (left, right))) {
            let (ours, theirs) = (left.rows(&left_keys, 1), right.rows(&right_keys, 2));
            let sides = [
                (table(&ours, left.shape()), table(&theirs, right.shape())),
                (told(&ours, left), told(&theirs, right)),
            ];
            for (kind, _) in JoinKind::ALL {
                let expected = reference(kind, &ours, &theirs);
                // How rows come about is the method's; what they look like is the same for all types of key.
                let few = [JoinMethod::Merge, JoinMethod::Hash, JoinMethod::Partition];
                let is_all = |unsorted: bool| matches!(key_type, KeyType::U64 | KeyType::Bytes) && !unsorted;
                let tried = sides.iter().zip([false, true]).flat_map(|(side, unsorted)| {
                    methods()
                        .into_iter()
                        .filter(move |method| is_all(unsorted) || few.contains(method))
                        .map(move |method| (side, method))
                });
                for ((one, other), method) in tried {
                    let what = format!("{left:?} and {right:?}: {kind} by {method}");
                    let Some(out) = joined(one, other, &options(kind, method, MEMORY_BYTES), &what) else { continue };
                    assert_eq!(out.value_width().is_some(), is_dense(kind, left, right), "{what}");
                    let rows = out.iter().map(|row| decoded(kind, &out, row.unwrap()));
                    let mut rows: Vec<Joined> = rows.collect();
                    rows.sort();
                    assert_eq!(rows, expected, "{what}");
                    done += 1;
                }
            }
        }
    }
    assert!(done > 100 * methods().len(), "{done}");
}

/// An output is a relation: joined with nothing, it gives all of its rows as they are.
#[test]
fn an_output_is_a_source_like_any_other() {
    let (left_keys, right_keys) = ([0, 0, 1, 2, 2, 5, 7, 9], [0, 2, 2, 3, 7, 7, 200]);
    for key_type in [KeyType::U64, KeyType::Bytes] {
        for (left, right) in forms(key_type).flat_map(|left| forms(key_type).map(move |right| (left, right))) {
            let (ours, theirs) = (left.rows(&left_keys, 1), right.rows(&right_keys, 2));
            let (one, other) = (table(&ours, left.shape()), told(&theirs, right));
            for (kind, _) in JoinKind::ALL {
                let what = format!("{left:?} and {right:?}: {kind}");
                let out = joined(&one, &other, &options(kind, JoinMethod::Auto, MEMORY_BYTES), &what).unwrap();
                let rows: Vec<Row> = out.iter().map(|row| row.unwrap()).collect();
                for method in some_methods() {
                    let again = options(JoinKind::Left, method, MEMORY_BYTES);
                    let expected = reference(JoinKind::Left, &rows, &theirs);
                    let source = JoinSource::table(&out).with_types(RecordType::new(out.key_type(), KeyType::Bytes));
                    let is_done = check(&source, &other, &again, &expected, &what);
                    assert!(is_done || method.to_string().starts_with("inlj"), "{what}");
                }
            }
        }
    }
}

/// The widths that a caller states are checked, in the form with lengths, too.
#[test]
fn values_of_another_width_than_was_stated_are_refused() {
    for key_type in [KeyType::U64, KeyType::Bytes] {
        let shape = RecordShape { name: "rows".into(), key_type, value_bytes: Some(3), rows: 1, bytes: 12 };
        let lying = JoinSource::unsorted(shape, || Box::new(std::iter::once(Ok((vec![1; 8], vec![0; 4])))));
        let rows: Vec<Row> = vec![(vec![1; 8], vec![9; 8])];
        let honest = unsorted(&rows, key_type, Some(8));
        let refused = collect(&lying, &honest, &options(JoinKind::Inner, JoinMethod::Merge, MEMORY_BYTES));
        assert!(matches!(refused, Err(Error { cause: Cause::Input, .. })));
    }
}

/// Blocks that take much memory.
const WIDE: Shape =
    Shape { key_type: KeyType::Bytes, value_width: None, design: "tuned", block_bytes: 1 << 20, coding: true };

/// A merge sorts one side and reads long blocks of the other: other methods have enough of less memory.
#[test]
fn auto_joins_within_any_memory_that_some_method_has_enough_of() {
    let key = |at: u32| format!("{:0>400}{at:08}", "").into_bytes();
    let left: Vec<Row> = (0..10_000).map(|at| (key(at * 3), vec![at as u8; 8])).collect();
    let right: Vec<Row> = (0..10_000).map(|at| (key(at * 2), vec![at as u8; 4])).collect();
    let (one, other) = (unsorted(&left, KeyType::Bytes, None), table(&right, WIDE));
    let mut rescued = 0;
    for memory_bytes in (1..=24).map(|steps: u64| steps << 21) {
        for kind in [JoinKind::Inner, JoinKind::Anti] {
            let asked = |method| options(kind, method, memory_bytes);
            let fits = |method| collect(&one, &other, &asked(method)).is_ok();
            let merges = fits(JoinMethod::Merge);
            if !merges && !fits(JoinMethod::Hash) && !fits(JoinMethod::Partition) {
                continue;
            }
            let expected = reference(kind, &left, &right);
            assert!(check(&one, &other, &asked(JoinMethod::Auto), &expected, "long keys"), "{kind} {memory_bytes}");
            rescued += u32::from(!merges);
        }
    }
    assert!(rescued > 0, "no memory is too little for merging alone");
}

#[test]
fn auto_merges_where_lookups_do_not_fit_memory() {
    let key = |at: u32| format!("{:0>100}{at:08}", "").into_bytes();
    let left: Vec<Row> = (0..20_000).map(|at| (key(at * 3), vec![at as u8; 1000])).collect();
    let right: Vec<Row> = (0..100).map(|at| (key(at * 600), vec![at as u8; 4])).collect();
    let (one, other) = (table(&left, WIDE), table(&right, Shape { block_bytes: 4096, ..WIDE }));
    let asked = |method| options(JoinKind::Inner, method, 8 << 20);
    let looked_up = collect(&one, &other, &asked(JoinMethod::Inlj));
    assert!(matches!(looked_up, Err(Error { cause: Cause::JoinMemory { .. }, .. })), "{looked_up:?}");
    let expected = reference(JoinKind::Inner, &left, &right);
    assert!(check(&one, &other, &asked(JoinMethod::Auto), &expected, "blocks of a mebibyte"));
    let (_, report) = collect(&one, &other, &asked(JoinMethod::Auto)).unwrap();
    assert_eq!(report.method, "merge");
    assert!(!report.explanation.unwrap().is_asked_for);
}

/// A file that is not complete can be written anew.
#[test]
fn auto_begins_a_file_again_where_a_long_row_comes_late() {
    let storage = Arc::new(MemoryStorage::new());
    let shape = Shape { key_type: KeyType::U64, value_width: None, design: "tuned", block_bytes: 4096, coding: true };
    let key = |at: u64| (at * 3).to_be_bytes().to_vec();
    let mut rescued = 0;
    for long_bytes in [12_000, 18_000, 40_000, 100_000] {
        let bytes = |at: u64| if at > 1000 && at.is_multiple_of(100) { long_bytes } else { 40 };
        let left: Vec<Row> = (0..2000).map(|at| (key(at), vec![at as u8; bytes(at)])).collect();
        let right: Vec<Row> = (0..3000).map(|at| (key(at * 2), vec![at as u8; 10])).collect();
        let sources = [table(&left, shape), unsorted(&left, KeyType::U64, None)];
        let other = unsorted(&right, KeyType::U64, None);
        let kinds = [JoinKind::Semi, JoinKind::Anti, JoinKind::Left];
        let memories = [1 << 20, 3 << 19, 2 << 20, 3 << 20];
        let cases = sources.iter().flat_map(|one| kinds.map(|kind| (one, kind)));
        for ((one, kind), memory_bytes) in cases.flat_map(|case| memories.map(|memory_bytes| (case, memory_bytes))) {
            let run = |method, name: &str| {
                let line = |key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>, out: &mut Vec<u8>| {
                    out.extend([key, left.unwrap_or(b"-"), right.unwrap_or(b"-")].concat());
                    Ok(())
                };
                let output = JoinOutput::lines(storage.clone(), name, true, line);
                join(one, &other, output, &options(kind, method, memory_bytes))
            };
            let fits: Vec<JoinMethod> = [JoinMethod::Merge, JoinMethod::Hash, JoinMethod::Partition]
                .into_iter()
                .filter(|method| run(*method, "one").is_ok())
                .collect();
            let chosen = explain(one, &other, &options(kind, JoinMethod::Auto, memory_bytes)).unwrap().method;
            rescued += u32::from(!fits.is_empty() && fits.iter().all(|method| method.to_string() != chosen));
            let auto = run(JoinMethod::Auto, "auto");
            assert!(auto.is_ok() || fits.is_empty(), "{kind} {memory_bytes} {long_bytes}: {fits:?} {auto:?}");
            if !fits.is_empty() {
                let [auto, one] = ["auto", "one"].map(|name| storage.content(name).unwrap().len());
                assert_eq!(auto, one, "{kind} {memory_bytes} {long_bytes}");
            }
        }
    }
    assert!(rescued > 0, "the chosen method always fits");
}
