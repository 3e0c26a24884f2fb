//! Goal: a join by the engine's methods stays within its memory limit. Method: `join_memory_tests`, and cases that
//! only the engine's methods promise: keys with more rows than memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "relations larger than memory need a real folder")]

#[path = "join/memory/mod.rs"]
mod join_memory_tests;

use join_memory_tests::{Folder, Keys, check, check_forms, one_at_a_time, reference, within};
use ogive::join::{JoinKind, JoinMethod, JoinOutput, join};

/// The methods under test.
fn methods() -> Vec<JoinMethod> {
    JoinMethod::all()
}

/// The methods of long tests.
fn some_methods() -> Vec<JoinMethod> {
    vec![JoinMethod::Merge, JoinMethod::Inlj, JoinMethod::Hash]
}

#[test]
fn a_key_with_more_rows_than_memory_on_one_side_is_joined_within_it() {
    let _guard = one_at_a_time();
    let (many, few) = (Keys { distinct: 1, apart: 1, repeats: 200_000 }, Keys { distinct: 1, apart: 1, repeats: 3 });
    let ours = |method: JoinMethod| !method.to_string().contains("inlj:");
    check_forms(many, few, &[JoinKind::Inner], 2 << 20, &ours);
    check_forms(few, many, &[JoinKind::Left, JoinKind::Full], 2 << 20, &ours);
}

#[test]
fn a_key_with_more_rows_than_memory_on_both_sides_is_joined_within_it() {
    let _guard = one_at_a_time();
    let ours = |method: JoinMethod| {
        matches!(method, JoinMethod::Merge | JoinMethod::Hash | JoinMethod::Partition | JoinMethod::Auto)
    };
    // Neither side's rows of the one key fit.
    let wide = Keys { distinct: 1, apart: 1, repeats: 100_000 };
    check_forms(wide, wide, &[JoinKind::Semi, JoinKind::Anti], 1 << 20, &ours);
}

#[test]
fn a_limit_that_is_too_low_is_refused_with_the_lowest_one() {
    let _guard = one_at_a_time();
    let folder = Folder::new();
    let table = folder.table("t", Keys { distinct: 10, apart: 1, repeats: 1 });
    let output = JoinOutput::caller(|_, _, _| Ok(()));
    let error = join(&table, &table, output, &within(JoinKind::Inner, JoinMethod::Auto, 1000)).unwrap_err();
    assert!(error.to_string().contains("1048576"), "{error}");
}

/// Bytes of this process that were in memory at most.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) << 10
}

#[test]
#[ignore = "long: 6 minutes"]
fn twenty_million_rows_on_both_sides_are_joined_within_300_mib() {
    let _guard = one_at_a_time();
    let keys = Keys { distinct: 20_000_000, apart: 3, repeats: 1 };
    let others = Keys { distinct: 20_000_000, apart: 2, repeats: 1 };
    let folder = Folder::new();
    let sorted = (folder.table("left", keys), folder.table("right", others));
    let shuffled = (folder.shuffled("left.bin", keys), folder.shuffled("right.bin", others));
    let expected = reference(JoinKind::Inner, keys, others);
    let memory_bytes = 300 << 20;
    for method in [JoinMethod::Auto, JoinMethod::Merge, JoinMethod::Inlj, JoinMethod::Hash, JoinMethod::Partition] {
        let options = within(JoinKind::Inner, method, memory_bytes);
        check(&folder, (&sorted.0, &sorted.1), &options, expected);
        check(&folder, (&shuffled.0, &shuffled.1), &options, expected);
        assert!(resident_bytes() <= memory_bytes + (64 << 20), "{method}: {} resident", resident_bytes());
    }
}

#[test]
#[ignore = "long: 2 minutes"]
fn a_million_rows_of_one_key_are_joined_within_16_mib() {
    let _guard = one_at_a_time();
    let key = |repeats| Keys { distinct: 1, apart: 1, repeats };
    let (million, three, thousands) = (key(1_000_000), key(3), key(4_000));
    let ours = |method: JoinMethod| {
        matches!(
            method,
            JoinMethod::Merge | JoinMethod::Inlj | JoinMethod::Hash | JoinMethod::Partition | JoinMethod::Auto
        )
    };
    check_forms(million, three, &[JoinKind::Inner, JoinKind::Left], 16 << 20, &ours);
    check_forms(three, million, &[JoinKind::Inner, JoinKind::Left], 16 << 20, &ours);
    check_forms(thousands, thousands, &[JoinKind::Inner], 16 << 20, &ours);
    check_forms(million, million, &[JoinKind::Semi, JoinKind::Anti], 16 << 20, &ours);
}
