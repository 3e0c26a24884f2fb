//! Goal: hash joins give the rows of a plain reference at every memory limit, and leave no file behind.

use super::*;
use crate::io::{MemoryStorage, Meter, Storage};
use crate::join::input::records::mix;
use crate::join::rows::options::{JoinKind, JoinOptions};
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::spill::Spill;
use crate::join::rows::task::Task;
use crate::join::test_relations::{self, InputRow, Kept, caller, file, reference_where};
use std::sync::Arc;

const MIB: u64 = 1 << 20;

/// The condition of joins that have one: about half of all pairs pass.
fn passes(left: &[u8], right: &[u8]) -> bool {
    left.first().copied().unwrap_or(0) < right.last().copied().unwrap_or(128)
}

fn check(relations: [(&Arc<dyn Relation>, &[InputRow]); 2], memory_bytes: u64, what: &str) {
    let [(left, left_rows), (right, right_rows)] = relations;
    for (kind, name) in JoinKind::ALL {
        for (any_order, has_condition) in [(true, true), (false, false)] {
            let mut expected =
                reference_where(kind, left_rows, right_rows, |left, right| !has_condition || passes(left, right));
            expected.sort();
            let storage = MemoryStorage::new();
            let mut options = JoinOptions { kind, memory_bytes, ..JoinOptions::default() };
            if has_condition {
                options = options.condition(|pair| Ok(passes(pair.left, pair.right)));
            }
            let spill = Spill::open(&Task::new(&options).unwrap(), Arc::new(storage.clone()), "join").unwrap();
            let join =
                HashJoin { left, right, task: spill.task(), spill: &spill, condition: options.condition.as_ref() };
            let (mut sink, mut done) = (Kept::default(), 0);
            join.run(&KeyRange::all(), memory_bytes, any_order, &mut sink, &mut |rows| done += rows).unwrap();
            let what = format!("{what}, {name}, any order: {any_order}");
            let mut found = sink.0;
            assert!(any_order || found.is_sorted_by(|a, b| a.0 <= b.0), "{what}: out of order");
            found.sort();
            assert_eq!(found.len(), expected.len(), "{what}");
            assert!(found == expected, "{what}: other rows");
            assert_eq!(spill.task().budget.left_bytes(), memory_bytes, "{what}: memory is not given back");
            drop(spill);
            assert!(storage.list().unwrap().is_empty(), "{what}: files were left");
        }
    }
}

#[test]
fn rows_that_fit_memory_and_rows_that_do_not_are_joined() {
    for (what, key) in test_relations::key_sets() {
        // Half of the keys have partners; a key that has half of all rows has few on one side.
        let (count, few) =
            if ["all equal", "one heavy", "few", "ends"].contains(&what) { (3000, 20) } else { (40_000, 25_000) };
        let left = test_relations::rows(count, 8, |i| key(i / 2));
        let right = test_relations::rows(few, 16, |i| if i % 2 == 0 { key(i) } else { mix(i) });
        check([(&file(&left), &left), (&file(&right), &right)], 16 * MIB, what);
        check([(&file(&left), &left), (&file(&right), &right)], MIB, what);
        check([(&file(&right), &right), (&file(&left), &left)], MIB, what);
    }
}

#[test]
fn a_key_with_more_rows_than_memory_is_sorted_and_merged() {
    let heavy = test_relations::rows(120_000, 8, |i| if i % 10 == 0 { mix(i) } else { 7 });
    let few = test_relations::rows(5000, 8, |i| if i < 2 { 7 } else { mix(i * 10) });
    check([(&file(&heavy), &heavy), (&file(&few), &few)], MIB, "heavy left");
    check([(&file(&few), &few), (&file(&heavy), &heavy)], MIB, "heavy right");
}

#[test]
fn a_key_with_more_rows_than_memory_on_both_sides_is_joined() {
    let left = test_relations::rows(150, 1000, |i| if i % 10 == 0 { mix(i) } else { 7 });
    let right = test_relations::rows(180, 900, |i| if i % 10 == 0 { mix(i) } else { 7 });
    check([(&file(&left), &left), (&file(&right), &right)], MIB, "heavy on both sides");
    check([(&caller(&left), &left), (&caller(&right), &right)], MIB, "heavy on both sides, of any length");
}

#[test]
fn rows_of_any_length_are_joined() {
    for distinct in [300, 100_000] {
        let (left, right) = (test_relations::texts(20_000, distinct), test_relations::texts(3000, distinct));
        for memory_bytes in [MIB, 16 * MIB] {
            check([(&caller(&left), &left), (&caller(&right), &right)], memory_bytes, "texts");
            check([(&caller(&right), &right), (&caller(&left), &left)], memory_bytes, "texts");
        }
        check([(&caller(&left), &left), (&caller(&[]), &[])], MIB, "texts beside nothing");
        check([(&caller(&[]), &[]), (&caller(&left), &left)], MIB, "nothing beside texts");
    }
}

#[test]
fn a_full_storage_and_an_interruption_leave_nothing() {
    let left = file(&test_relations::rows(60_000, 8, mix));
    let right = file(&test_relations::rows(60_000, 8, |i| if i % 3 == 0 { mix(1) } else { mix(2 * i) }));
    test_relations::assert_leaves_nothing(MIB, 10, |spill| {
        let join = HashJoin { left: &left, right: &right, task: spill.task(), spill, condition: None };
        join.run(&KeyRange::all(), MIB, false, &mut Kept::default(), &mut |_| ())
    });
}

#[test]
fn rows_larger_than_was_stated_go_to_memory_if_they_fit() {
    let (left, right) = (test_relations::texts(20_000, 5000), test_relations::texts(10_000, 5000));
    for (memory_bytes, fits) in [(16 * MIB, true), (MIB, false)] {
        let spilled = Meter::new(Arc::new(MemoryStorage::new()));
        let options = JoinOptions { memory_bytes, ..JoinOptions::default() };
        let spill = Spill::open(&Task::new(&options).unwrap(), Arc::new(spilled.clone()), "join").unwrap();
        let (left, right) = (caller(&left), caller(&right));
        let join = HashJoin { left: &left, right: &right, task: spill.task(), spill: &spill, condition: None };
        join.run(&KeyRange::all(), memory_bytes, true, &mut Kept::default(), &mut |_| ()).unwrap();
        assert_eq!(spilled.snapshot().writes.bytes == 0, fits, "{memory_bytes} bytes of memory");
    }
}
