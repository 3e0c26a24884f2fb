//! Joins by the methods of this crate, and joins through indexes of this crate. Goal: a join gives the rows of a plain
//! reference, whatever the method is and whatever the inner index is made of. Method: the engine's tests of joins, with
//! the methods registered here in place of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "a store needs a folder; rates ask the system for the time")]
#![allow(clippy::disallowed_macros, clippy::print_stdout, reason = "the rates are printed")]
#![allow(dead_code, unreachable_pub, reason = "the engine's tests of joins use the other helpers")]

#[path = "../../crates/engine/tests/join/suite/mod.rs"]
mod suite;
#[path = "../../crates/engine/tests/join/support/mod.rs"]
mod support;

use ogive::index::extend::Tunable;
use ogive::io::FastPaths;
use ogive::join::{JoinKind, JoinMethod};
use ogive_research::joins::{self, BTREE, METHODS, PGM, ProbeOptions};
use ogive_research::{ALEX, AULID, KINDS, register};
use support::{DENSE, Shape, check, collect, index, numbered, options, pairs, reference, table};

const MEMORY_BYTES: u64 = 16 << 20;
const SIZE: u64 = 300;

/// The methods under test.
fn methods() -> Vec<JoinMethod> {
    register();
    METHODS.to_vec()
}

/// The methods of long tests.
fn some_methods() -> Vec<JoinMethod> {
    register();
    vec![BTREE, PGM]
}

/// The optimisations of a draw from nine.
fn drawn_tunables(draw: u64) -> Vec<Tunable> {
    let switches = [None, Some(true), Some(false)];
    let [leaf_iterator, forward_window] = [draw % 3, draw / 3 % 3].map(|at| switches[at as usize]);
    ProbeOptions { leaf_iterator, forward_window }.tunables()
}

#[test]
fn names_lead_to_the_methods_of_this_crate() {
    register();
    for method in METHODS {
        assert_eq!(method.to_string().parse::<JoinMethod>().unwrap(), method);
    }
    assert_eq!("inlj:pgm:7".parse::<JoinMethod>().unwrap(), PGM.with_number(7));
    let names: Vec<String> = JoinMethod::all().iter().map(JoinMethod::to_string).collect();
    let expected = [
        "auto",
        "merge",
        "hash",
        "inlj",
        "inlj:btree",
        "inlj:btree-iter",
        "inlj:pgm:128",
        "inlj:pgm-sampled",
        "inlj:radix-spline",
        "inlj:rmi",
        "inlj:index",
        "partition",
        "partition:btree",
    ];
    assert_eq!(names, expected);
    for wrong in ["inlj:pgm", "inlj:pgm:0", "inlj:pgm:-1", "inlj:btree:3"] {
        assert!(matches!(wrong.parse::<JoinMethod>(), Err(ogive::Error { cause: ogive::Cause::Input, .. })), "{wrong}");
    }
}

#[test]
fn indexes_of_every_kind_are_joined_as_they_are() {
    register();
    let mut probed = 0;
    for (what, left, right) in pairs(SIZE) {
        let (left_rows, right_rows) = (numbered(&left, 1), numbered(&right, 2));
        let is_distinct = right.is_sorted_by(|a, b| a < b);
        let outer = table(&left_rows, DENSE);
        for kind in KINDS.into_iter().filter(|kind| is_distinct || kind.allows_duplicates()) {
            let inner = index(&right_rows, kind, !is_distinct);
            for (join, _) in JoinKind::ALL {
                let expected = reference(join, &left_rows, &right_rows);
                // Every method for one kind with repeated keys and one without; probes for all.
                let is_full = [ALEX, AULID].contains(&kind);
                let all = JoinMethod::all().into_iter().filter(|method| *method != JoinMethod::Auto);
                for method in all.filter(|&method| is_full || method == JoinMethod::InljIndex) {
                    let asked = options(join, method, MEMORY_BYTES);
                    let ran = check(&outer, &inner, &asked, &expected, &format!("{what}, {kind}"));
                    probed += u64::from(ran && method == JoinMethod::InljIndex);
                }
            }
        }
    }
    assert!(probed > 0);
}

#[test]
fn the_two_optimisations_of_the_paper_change_no_row() {
    let keys: Vec<u64> = (0..2000).map(|key| key * key).collect();
    let (left, right) = (numbered(&keys[..].iter().copied().step_by(3).collect::<Vec<_>>(), 1), numbered(&keys, 2));
    let (one, other) = (table(&left, DENSE), table(&right, DENSE));
    let expected = reference(JoinKind::Inner, &left, &right);
    for method in methods() {
        for (leaf_iterator, forward_window) in [(false, false), (false, true), (true, false), (true, true)] {
            let probes = ProbeOptions { leaf_iterator: Some(leaf_iterator), forward_window: Some(forward_window) };
            let with = options(JoinKind::Inner, method, MEMORY_BYTES).tunables(probes.tunables());
            check(&one, &other, &with, &expected, &format!("leaf iterator {leaf_iterator}, window {forward_window}"));
        }
    }
}

#[test]
fn tunables_of_other_methods_are_refused() {
    let rows = numbered(&[1, 2, 3], 1);
    let (one, other) = (table(&rows, DENSE), table(&rows, DENSE));
    for method in some_methods() {
        let asked = options(JoinKind::Inner, method, MEMORY_BYTES).tunables(vec![(9, 1)]);
        assert!(matches!(collect(&one, &other, &asked), Err(ogive::Error { cause: ogive::Cause::Input, .. })));
    }
}

#[test]
fn without_separators_an_index_is_built_from_the_data() {
    register();
    let (few, all): (Vec<u64>, Vec<u64>) = ((0..40_000).step_by(400).collect(), (0..40_000).collect());
    // Coded, a lookup of each key would read half of the blocks.
    let shape = Shape { coding: false, ..DENSE };
    let (left, right) = (table(&numbered(&few, 1), shape), table(&numbered(&all, 1), shape));
    let bytes_read = |fast_paths: FastPaths| {
        let asked = options(JoinKind::Inner, joins::BTREE, 4 << 20).fast_paths(fast_paths);
        let (rows, report) = collect(&left, &right, &asked).unwrap();
        assert_eq!(rows.len(), 100);
        report.bytes_read
    };
    let (stored, gathered) =
        (bytes_read(FastPaths::ALL), bytes_read(FastPaths { separators: false, ..FastPaths::ALL }));
    assert!(gathered > 2 * stored, "{stored} and {gathered} bytes");
}

#[test]
fn explanations_list_the_methods_with_their_costs() {
    let rows = numbered(&(0..3000).collect::<Vec<_>>(), 1);
    let (one, other) = (table(&rows, DENSE), table(&rows, DENSE));
    for method in methods() {
        let explanation = ogive::join::explain(&one, &other, &options(JoinKind::Inner, method, MEMORY_BYTES)).unwrap();
        assert_eq!(explanation.method, method.to_string());
        let names: Vec<&str> = explanation.alternatives.iter().map(|other| other.method.as_str()).collect();
        for known in JoinMethod::all().into_iter().filter(|method| *method != JoinMethod::Auto) {
            assert!(names.contains(&known.to_string().as_str()), "{known} is not in {names:?}");
        }
        let own = explanation.alternatives.iter().find(|other| other.method == explanation.method).unwrap();
        assert_eq!(own.predicted, Some(explanation.predicted));
    }
}
