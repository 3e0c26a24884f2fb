//! Goal: records that are longer than the parts of a join's memory are joined within the memory that an error names.
//! Method: tables and unsorted records with one long value on either side are joined by every method with little
//! memory, then with what the error says, and rows are held against the reference.

use crate::support::{Row, Shape, check, collect, numbered, options, reference, table, unsorted};
use ogive::join::{JoinKind, JoinMethod};
use ogive::{Cause, Error, KeyType};

const VALUE_BYTES: usize = 3 << 20;
const MEMORY_BYTES: u64 = 1 << 20;
/// Joins after the first one: one part of a join may fail after another one was given what it takes. Where the longest
/// record of each side is known, there is one.
const RETRIES_MAX: u32 = 3;
/// Bytes of the other records, at most.
const SHORT_BYTES: u64 = 100;

#[test]
fn an_error_about_a_long_record_names_memory_that_suffices() {
    let keys: Vec<u64> = (0..300).collect();
    let short = numbered(&keys, 1);
    let mut long: Vec<Row> = numbered(&keys, 2);
    long[200].1 = vec![7; VALUE_BYTES];
    let shape = Shape { key_type: KeyType::U64, value_width: None, design: "coded", block_bytes: 4096, coding: false };
    let form = |number: usize, rows: &[Row]| match number {
        0 => table(rows, shape),
        _ => unsorted(rows, KeyType::U64, None),
    };
    for (of_long, of_short, is_known) in [(0, 0, false), (1, 0, false), (0, 1, false), (0, 0, true), (1, 0, true)] {
        let (mut long_side, mut short_side) = (form(of_long, &long), form(of_short, &short));
        if is_known {
            long_side = long_side.with_longest_record(VALUE_BYTES as u64 + SHORT_BYTES);
            short_side = short_side.with_longest_record(SHORT_BYTES);
        }
        let retries_max = if is_known { 1 } else { RETRIES_MAX };
        for (left, right, rows) in
            [(&long_side, &short_side, [&long, &short]), (&short_side, &long_side, [&short, &long])]
        {
            for method in crate::methods().into_iter().chain([JoinMethod::Auto]) {
                let kind = if method == JoinMethod::Hash { JoinKind::Full } else { JoinKind::Inner };
                let expected = reference(kind, rows[0], rows[1]);
                let what = format!("forms {of_long} and {of_short}, known: {is_known}");
                let mut memory_bytes = MEMORY_BYTES;
                for retry in 0.. {
                    match collect(left, right, &options(kind, method, memory_bytes)) {
                        Ok(_) => break,
                        Err(Error { cause: Cause::JoinMemory { needed_bytes, .. }, .. }) if retry < retries_max => {
                            assert!(needed_bytes > memory_bytes && needed_bytes < 100 * VALUE_BYTES as u64, "{what}");
                            memory_bytes = needed_bytes;
                        }
                        // Not every method takes every side.
                        Err(Error { cause: Cause::Input, .. }) => break,
                        Err(error) => panic!("{what} by {method} in {memory_bytes} bytes: {error}"),
                    }
                }
                check(left, right, &options(kind, method, memory_bytes), &expected, &what);
            }
        }
    }
}
