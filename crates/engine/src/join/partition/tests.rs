//! Goal: partitions of relations of any shape give the same rows in key order, within any memory limit, and leave no
//! file behind.

use super::*;
use crate::io::{MemoryStorage, Storage};
use crate::join::source::{KeyRange, Relation};
use crate::join::test_relations::{self, Row, assert_sorted_copy, caller, file, spill, spilled};
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn check(relations: [(&Arc<dyn Relation>, &[Row]); 2], memory_bytes: u64, files: usize, what: &str) {
    let storage = MemoryStorage::new();
    let spill = spill(&storage, memory_bytes);
    let part = memory_bytes / 4;
    let copies = sorted_copies(relations.map(|(relation, _)| relation), &spill, memory_bytes - part, part).unwrap();
    assert_eq!(spilled(&storage), files, "{what}: files");
    for (copy, (_, rows)) in copies.iter().zip(relations) {
        assert!(copy.facts().is_sorted);
        assert_sorted_copy(&**copy, rows, part, &spill, what);
    }
    drop(copies);
    assert_eq!(spill.task().budget.left_bytes(), memory_bytes, "{what}: memory is not given back");
    drop(spill);
    assert!(storage.list().unwrap().is_empty(), "{what}: files were left");
}

#[test]
fn what_exceeds_memory_is_scattered_and_what_fits_is_held() {
    for (what, key) in test_relations::key_sets() {
        let small = test_relations::rows(3000, 8, key);
        let large = test_relations::rows(80_000, 8, |i| key(i ^ 0xFFFF));
        let wide = test_relations::rows(40_000, 24, |i| key(i + 17));
        let [one, two, three] = [&small, &large, &wide].map(|rows| file(rows));
        check([(&one, &small), (&one, &small)], MIB, 0, what);
        check([(&one, &small), (&two, &large)], MIB, 1, what);
        check([(&three, &wide), (&two, &large)], MIB, 2, what);
        check([(&three, &wide), (&two, &large)], 12 * MIB, 0, what);
    }
}

#[test]
fn rows_of_any_length_are_scattered() {
    for distinct in [1, 100, 1_000_000] {
        let (left, right) = (test_relations::texts(40_000, distinct), test_relations::texts(30_000, distinct));
        check([(&caller(&left), &left), (&caller(&right), &right)], MIB, 2, "texts");
        check([(&caller(&left), &left), (&caller(&[]), &[])], MIB, 2, "texts beside nothing");
    }
}

#[test]
fn a_full_storage_and_an_interruption_leave_nothing() {
    let dense = file(&test_relations::rows(120_000, 8, |i| if i % 3 == 0 { 7 } else { crate::join::records::mix(i) }));
    let texts = caller(&test_relations::texts(20_000, 50));
    test_relations::assert_leaves_nothing(MIB, 10, |spill| {
        for copy in sorted_copies([&dense, &texts], spill, MIB / 2, MIB / 8)? {
            let memory = spill.task().budget.take(MIB / 4, "a scan")?;
            test_relations::collect(&mut *copy.scan(&KeyRange::all(), spill.task(), memory)?)?;
        }
        Ok(())
    });
}
