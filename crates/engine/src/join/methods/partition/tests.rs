//! Goal: partitions of relations of any shape give the same rows in key order, within any memory limit, and leave no
//! file behind.

use super::*;
use crate::io::{MemoryStorage, Storage};
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::spill::Spill;
use crate::join::test_relations::{self, InputRow, assert_sorted_copy, caller, file, spill, spilled};
use proptest::prelude::*;
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn check(relations: [(&Arc<dyn Relation>, &[InputRow]); 2], memory_bytes: u64, files: usize, what: &str) {
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
    let dense =
        file(&test_relations::rows(120_000, 8, |i| if i % 3 == 0 { 7 } else { crate::join::input::records::mix(i) }));
    let texts = caller(&test_relations::texts(20_000, 50));
    test_relations::assert_leaves_nothing(MIB, 10, |spill| {
        for copy in sorted_copies([&dense, &texts], spill, MIB / 2, MIB / 8)? {
            let memory = spill.task().budget.take(MIB / 4, "a scan")?;
            test_relations::collect(&mut *copy.scan(&KeyRange::all(), spill.task(), memory)?)?;
        }
        Ok(())
    });
}

/// The rows from `from` on within a range, sorted, as a stream that may skip to `from` gives them.
fn rows_from(copy: &dyn Relation, range: &KeyRange, from: &[u8], spill: &Spill) -> Vec<InputRow> {
    let memory = spill.task().budget.take(MIB / 8, "a scan").unwrap();
    let mut stream = copy.scan(range, spill.task(), memory).unwrap();
    let mut found = Vec::new();
    while stream.advance(Some(from)).unwrap() {
        let rows = stream.rows();
        let all = (0..rows.len()).map(|row| (rows.key(row).to_vec(), rows.value(row).to_vec()));
        found.extend(all.filter(|(key, _)| key.as_slice() >= from));
    }
    assert!(found.is_sorted_by(|a: &InputRow, b| a.0 <= b.0), "out of order");
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Few distinct keys make buckets that exceed memory, which are merged.
    #[test]
    fn rows_of_one_width_and_of_any_length_come_alike(
        distinct in prop_oneof![1_u64..4, 4_u64..50_000],
        seed: u64,
        bounds in proptest::collection::vec(proptest::option::of(0.0..1.2_f64), 2),
        from in 0.0..1.2_f64,
    ) {
        let rows = test_relations::rows(70_000, 8, |i| crate::join::input::records::mix(i ^ seed) % distinct);
        let key = |share: f64| ((share * distinct as f64) as u64).to_be_bytes().to_vec();
        let range = KeyRange { from: bounds[0].map(key), to: bounds[1].map(key) };
        let from = key(from);
        let storage = MemoryStorage::new();
        let spill = spill(&storage, MIB);
        let relations = [file(&rows), caller(&rows)];
        let copies = sorted_copies([&relations[0], &relations[1]], &spill, MIB / 2, MIB / 4).unwrap();
        prop_assert_eq!(spilled(&storage), 2);
        let mut expected = rows;
        expected.retain(|(key, _)| range.holds(key) && *key >= from);
        expected.sort();
        for copy in &copies {
            prop_assert!(rows_from(&**copy, &range, &from, &spill) == expected, "{range:?} from {from:?}");
        }
    }
}
