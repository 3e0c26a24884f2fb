//! Joins through indexes of this crate. Goal: a join gives the rows of a plain reference, whatever the inner index is
//! made of. Method: generated keys and the nasty sets of the test kit, by every method.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "a store needs a folder")]
#![allow(dead_code, unreachable_pub, reason = "the engine's tests of joins use the other helpers")]

#[path = "../../engine/tests/join_support/mod.rs"]
mod join_support;

use join_support::{DENSE, check, index, methods, numbered, options, pairs, reference, table};
use ogive::join::{JoinKind, Method};
use ogive_papers::{ALEX, AULID, KINDS, register};

const MEMORY_BYTES: u64 = 16 << 20;
const SIZE: u64 = 300;

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
                for method in methods().filter(|&method| [ALEX, AULID].contains(&kind) || method == Method::InljIndex) {
                    let asked = options(join, method, MEMORY_BYTES);
                    let ran = check(&outer, &inner, &asked, &expected, &format!("{what}, {kind}"));
                    probed += u64::from(ran && method == Method::InljIndex);
                }
            }
        }
    }
    assert!(probed > 0);
}
