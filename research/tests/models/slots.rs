//! Tests of FMCD lines. Goal: the lines are total and monotone on any keys, and as good as their definition requires.
//! Method: key sets that break learned indexes, and a search of all conflict degrees on random input.

use crate::common::{Random, nasty_sets};
use ogive_research::models::fmcd::{self, SlotLine};
use proptest::prelude::*;

fn fit(keys: &[u64], slots: u64) -> SlotLine {
    fmcd::fit(keys.len(), slots, |i, j| (keys[j] - keys[i]) as f64)
}

fn degree(keys: &[u64], slots: u64, line: SlotLine) -> usize {
    fmcd::conflict_degree(keys.len(), slots, line, |i| (keys[i] - keys[0]) as f64)
}

#[test]
fn lines_are_monotone_and_part_the_ends_on_nasty_sets() {
    for (name, keys) in nasty_sets(3000) {
        for slots in [0, 1, 2, 3, 7, keys.len() as u64, 11 * keys.len() as u64, 1 << 40] {
            let line = fit(&keys, slots);
            assert!(line.is_monotone(), "{name}, {slots} slots: {line:?}");
            let slot = |key: u64| line.slot((key - keys[0]) as f64, slots);
            assert!(keys.windows(2).all(|pair| slot(pair[0]) <= slot(pair[1])), "{name}, {slots} slots");
            if slots >= 2 && keys.len() >= 2 && keys[0] < keys[keys.len() - 1] {
                assert!(slot(keys[0]) < slot(keys[keys.len() - 1]), "{name}, {slots} slots: {line:?}");
                assert!(degree(&keys, slots, line) < keys.len(), "{name}");
            }
        }
    }
}

#[test]
fn the_first_and_the_last_key_of_sixteen_bytes_lie_apart() {
    let runs = [[0, 1], [u128::MAX - 1, u128::MAX], [0, u128::MAX], [1 << 64, (1 << 64) + 1]];
    for keys in runs {
        let line = fmcd::fit(2, 12, |i, j| (keys[j] - keys[i]) as f64);
        assert_eq!((line.slot(0.0, 12), line.slot((keys[1] - keys[0]) as f64, 12)), (0, 11));
    }
}

#[test]
fn evenly_spaced_keys_have_a_slot_each_but_for_two_at_either_end() {
    for step in [1, 3, 1000, 1 << 40] {
        let keys: Vec<u64> = (0..2000).map(|i| (1 << 50) + i * step).collect();
        for slots in [4000, 6000, 22_000] {
            let line = fit(&keys, slots);
            assert!(degree(&keys, slots, line) <= 2, "step {step}, {slots} slots");
            let slot = |i: usize| line.slot((keys[i] - keys[0]) as f64, slots);
            assert!((1..1997).all(|i| slot(i) < slot(i + 1)), "step {step}, {slots} slots");
        }
    }
}

#[test]
fn parameters_that_make_no_sense_lead_to_some_slot() {
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, -0.0, 1e300, 0.5];
    for slope in values {
        for intercept in values {
            for distance in [0.0, 1.0, u64::MAX as f64, u128::MAX as f64] {
                let line = SlotLine { slope, intercept };
                assert!(line.slot(distance, 17) < 17);
                assert_eq!(line.slot(distance, 0), 0);
            }
        }
    }
    assert!(!SlotLine { slope: f64::NAN, intercept: 0.0 }.is_monotone());
    assert!(!SlotLine { slope: -1.0, intercept: 0.0 }.is_monotone());
}

/// The least degree that the definition allows, by trying all; `None` beyond a third of the keys.
fn least_degree(keys: &[u64], slots: u64) -> Option<usize> {
    (1..=keys.len() / 3).find(|&degree| {
        let middle = (keys[keys.len() - 1 - degree] - keys[degree]) as f64;
        let span = middle / (slots - 2).max(1) as f64 + 1e-6;
        (0..keys.len() - degree).all(|i| (keys[i + degree] - keys[i]) as f64 >= span)
    })
}

proptest! {
    #[test]
    fn the_conflict_degree_is_the_least_that_the_definition_allows(
        steps in prop::collection::vec(prop_oneof![1..4u64, 1..1000u64, 1..1_000_000u64], 6..120),
        slots_per_key in 1..12u64,
    ) {
        let keys: Vec<u64> = steps.iter().scan(0, |key, step| { *key += step; Some(*key) }).collect();
        let slots = (keys.len() as u64 * slots_per_key).max(3);
        if let Some(least) = least_degree(&keys, slots) {
            // A slot takes at most half a span on either side of `least + 1` keys, and the outermost slots the keys
            // beyond the middle.
            let degree = degree(&keys, slots, fit(&keys, slots));
            prop_assert!(degree <= least + 1, "{degree} keys in one slot, where {least} are enough");
        }
    }
}

#[test]
fn fewer_keys_conflict_the_more_slots_there_are() {
    let mut random = Random(5);
    let mut keys: Vec<u64> = (0..20_000).map(|_| random.below(1 << 60)).collect();
    keys.sort_unstable();
    keys.dedup();
    let degrees = [1, 2, 6, 11].map(|slots_per_key| {
        let slots = slots_per_key * keys.len() as u64;
        degree(&keys, slots, fit(&keys, slots))
    });
    assert!(degrees.is_sorted_by(|fewer, more| fewer >= more), "{degrees:?}");
    assert!(degrees[0] <= 10 && degrees[3] <= 6, "{degrees:?}");
}
