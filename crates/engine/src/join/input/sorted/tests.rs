//! Goal: sorted copies of relations of any shape give the same rows in key order, within any memory limit, and leave no
//! file behind.

use super::*;
use crate::io::{MemoryStorage, Storage};
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::test_relations::{self, InputRow, assert_sorted_copy, caller, file, spill, spilled};
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn check(relation: &Arc<dyn Relation>, rows: &[InputRow], memory_bytes: u64, spills: bool, what: &str) {
    let storage = MemoryStorage::new();
    let spill = spill(&storage, memory_bytes);
    let mut progress = SortProgress::new(spill.task(), rows.len() as u64);
    let part = memory_bytes / 4;
    let copy = sorted_copy(relation, &spill, memory_bytes - part, part, &mut progress).unwrap();
    assert_eq!(spilled(&storage) > 0, spills, "{what}: files");
    assert!(copy.facts().is_sorted);
    assert_sorted_copy(&*copy, rows, part, &spill, what);
    drop(copy);
    assert_eq!(spill.task().budget.left_bytes(), memory_bytes, "{what}: memory is not given back");
    drop(spill);
    assert!(storage.list().unwrap().is_empty(), "{what}: files were left");
}

#[test]
fn rows_of_one_width_are_sorted_in_memory_or_in_runs() {
    for (what, key) in test_relations::key_sets() {
        for (count, value_bytes, spills) in
            [(0, 8, false), (1, 8, false), (3000, 8, false), (90_000, 8, true), (60_000, 16, true)]
        {
            let rows = test_relations::rows(count, value_bytes, key);
            check(&file(&rows), &rows, MIB, spills, &format!("{count} {what}"));
        }
    }
}

#[test]
fn more_runs_than_are_merged_at_one_time_take_several_passes() {
    let rows = test_relations::rows(1_500_000, 0, crate::join::input::records::mix);
    check(&file(&rows), &rows, MIB, true, "many runs");
}

#[test]
fn rows_of_other_widths_and_any_lengths_are_sorted() {
    let rows = test_relations::rows(100_000, 3, crate::join::input::records::mix);
    check(&file(&rows), &rows, MIB, true, "11 bytes");
    for count in [0, 100, 40_000] {
        let rows = test_relations::texts(count, 5000);
        check(&caller(&rows), &rows, MIB, count > 100, "texts");
    }
}

#[test]
fn a_full_storage_and_an_interruption_leave_nothing() {
    let dense = test_relations::rows(120_000, 8, crate::join::input::records::mix);
    let texts = test_relations::texts(20_000, 5000);
    for relation in [file(&dense), caller(&texts)] {
        test_relations::assert_leaves_nothing(MIB, 10, |spill| {
            let mut progress = SortProgress::new(spill.task(), 100_000);
            let copy = sorted_copy(&relation, spill, MIB / 2, MIB / 8, &mut progress)?;
            let memory = spill.task().budget.take(MIB / 8, "a scan")?;
            test_relations::collect(&mut *copy.scan(&KeyRange::all(), spill.task(), memory)?)?;
            Ok(())
        });
    }
}
