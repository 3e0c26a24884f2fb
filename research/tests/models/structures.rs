//! Tests of resident structures. Goal: every key, present or absent, is led to all children that may hold it, by
//! descent from the root and by a walk along the leaves. Method: comparison with sorted keys, on random input and on
//! key sets that break learned indexes.

use crate::common::{Random, fences_of, nasty_sets, needed, probes};
use ogive_model::Fence;
use ogive_research::models::pgm::Pgm;
use ogive_research::models::radix_spline::{self, RadixSpline};
use ogive_research::models::rmi::{self, Rmi, RootKind};
use ogive_research::models::{ForwardWalk, Locate, mean_window_children, sampled, tuning};
use proptest::prelude::*;

/// Calls `check` with structures of every kind and of several settings.
fn with_each(
    fences: &[Fence],
    mut check: impl FnMut(&str, &dyn Fn(u64) -> (u64, u64), &mut dyn FnMut(u64) -> (u64, u64)),
) {
    fn both<S: Locate>(
        name: &str,
        structure: &S,
        fences: &[Fence],
        check: &mut impl FnMut(&str, &dyn Fn(u64) -> (u64, u64), &mut dyn FnMut(u64) -> (u64, u64)),
    ) {
        assert_eq!(structure.children(), fences.len() as u64 + 1, "{name}");
        assert!(structure.leaves() >= 1 && structure.resident_bytes() >= 8, "{name}");
        let mut forward = ForwardWalk::default();
        let descend = |x| structure.window(x).into_inner();
        check(name, &descend, &mut |x| forward.window(structure, x).into_inner());
    }
    for error in [0, 1, 4, 100, u64::MAX] {
        both(&format!("pgm {error}"), &Pgm::build(fences, error, 1), fences, &mut check);
        for radix_bits in [0, 1, 7, 18] {
            let setting = radix_spline::RadixSplineSetting { error_children: error, radix_bits };
            both(&format!("{setting:?}"), &RadixSpline::build(fences, setting), fences, &mut check);
        }
    }
    for root in RootKind::ALL {
        for leaves in [0, 1, 3, 64, 5_000] {
            let setting = rmi::RmiSetting { root, leaves };
            both(&format!("{setting:?}"), &Rmi::build(fences, setting), fences, &mut check);
        }
    }
}

fn assert_each_leads_home(name: &str, fences: &[Fence]) {
    let mut keys = probes(fences);
    keys.sort_unstable();
    with_each(fences, |structure, descend, walk| {
        for &x in &keys {
            let (first, last) = descend(x);
            let (lowest, highest) = needed(fences, x);
            assert!(
                first <= lowest && highest <= last && last <= fences.len() as u64,
                "{name}, {structure}: key {x} needs {lowest}..={highest}, has {first}..={last}"
            );
            assert_eq!(walk(x), (first, last), "{name}, {structure}: key {x} by walking");
        }
        // A walk backwards starts again.
        for &x in keys.iter().rev().step_by(37) {
            assert_eq!(walk(x), descend(x), "{name}, {structure}: key {x} by walking back");
        }
    });
}

#[test]
fn every_structure_leads_home_on_nasty_sets() {
    for (name, keys) in nasty_sets(1_500) {
        for keys_per_block in [1, 3, 64] {
            assert_each_leads_home(name, &fences_of(&keys, keys_per_block));
        }
    }
}

#[test]
fn no_key_and_one_key_and_two_equal_ones_at_both_ends() {
    assert_each_leads_home("no fence", &[]);
    for key in [0, 1, 1 << 53, u64::MAX] {
        assert_each_leads_home("two equal keys", &[Fence { low: key, high: key }]);
        assert_each_leads_home("many equal keys", &[Fence { low: key, high: key }; 700]);
    }
    assert_each_leads_home("far apart", &[Fence { low: 0, high: u64::MAX }]);
    assert_each_leads_home("side by side", &[Fence { low: u64::MAX - 1, high: u64::MAX }]);
}

#[test]
fn keys_that_differ_only_beyond_53_bits_are_told_apart() {
    for base in [1 << 53, 1 << 60, (1 << 63) - 2_000, u64::MAX - 4_000] {
        let keys: Vec<u64> = (0..4_000).map(|i| base + i).collect();
        assert_each_leads_home("dense", &fences_of(&keys, 1));
        let fences = fences_of(&keys, 1);
        let spline = RadixSpline::build(&fences, radix_spline::RadixSplineSetting { error_children: 1, radix_bits: 4 });
        let rmi = Rmi::build(&fences, rmi::RmiSetting { root: RootKind::Linear, leaves: 8 });
        let pgm = Pgm::build(&fences, 1, 4);
        for widest in [
            mean_window_children(&spline, &fences),
            mean_window_children(&rmi, &fences),
            mean_window_children(&pgm, &fences),
        ] {
            assert!(widest < 4.0, "dense keys at {base}: {widest} children in a window");
        }
    }
}

#[test]
fn equal_keys_lead_to_where_their_run_begins() {
    let keys: Vec<u64> = (0..4_000)
        .map(|i| {
            if i < 995 {
                i
            } else if i < 3_005 {
                5_000
            } else {
                7_000 + i
            }
        })
        .collect();
    let fences = fences_of(&keys, 10);
    with_each(&fences, |structure, descend, _| {
        let (first, last) = descend(5_000);
        assert!(first <= 99 && 99 <= last, "{structure}: {first}..={last}");
        let (first, last) = descend(5_001);
        assert!(first <= 300 && 300 <= last, "{structure}: {first}..={last}");
    });
}

/// Sorted keys with runs of equal keys and steps of every size.
fn rows() -> impl Strategy<Value = (Vec<u64>, usize)> {
    let step = prop_oneof![Just(0u64), 1..4u64, 1..1000u64, 1..1u64 << 40, 1..1u64 << 60];
    (any::<bool>(), prop::collection::vec(step, 1..200), 1..4usize).prop_map(|(at_top, steps, keys_per_block)| {
        let rising = steps.iter().scan(0u64, |key, step| {
            *key = key.saturating_add(*step);
            Some(*key)
        });
        let mut keys: Vec<u64> = rising.map(|key| if at_top { u64::MAX - key } else { key }).collect();
        keys.sort_unstable();
        (keys, keys_per_block)
    })
}

proptest! {
    #[test]
    fn every_structure_leads_home_on_random_rows((keys, keys_per_block) in rows()) {
        assert_each_leads_home("random", &fences_of(&keys, keys_per_block));
    }

    #[test]
    fn the_first_of_equal_keys_is_in_the_window_of_samples((keys, every) in rows(), error in 0..4u64) {
        let fences = sampled::fences(keys.iter().copied(), every);
        prop_assert_eq!(&fences, &fences_of(&keys, every));
        let pgm = Pgm::build(&fences, error, 4);
        for &key in &keys {
            for x in [key.saturating_sub(1), key, key.saturating_add(1)] {
                let first = keys.partition_point(|&other| other < x).min(keys.len() - 1) as u64;
                let window = sampled::positions(&pgm.window(x), every as u64, keys.len() as u64);
                prop_assert!(window.is_some_and(|window| window.contains(&first)));
            }
        }
    }
}

#[test]
fn an_error_asked_for_is_nearly_the_error_had() {
    let mut random = Random(11);
    let mut key = 0;
    let keys: Vec<u64> = (0..50_000)
        .map(|_| {
            key += 1 + random.below(1_000);
            key
        })
        .collect();
    let fences = fences_of(&keys, 1);
    for error in [1, 8, 64] {
        let spline =
            RadixSpline::build(&fences, radix_spline::RadixSplineSetting { error_children: error, radix_bits: 12 });
        let pgm = Pgm::build(&fences, error, 4);
        for (name, width) in
            [("spline", mean_window_children(&spline, &fences)), ("pgm", mean_window_children(&pgm, &fences))]
        {
            assert!(width <= 2.0 * error as f64 + 3.0, "{name} {error}: {width}");
        }
        assert!(pgm.leaves() <= spline.leaves(), "optimal lines are no more than a spline's");
    }
}

#[test]
fn exact_separators_of_dense_blocks_are_found_in_one_child() {
    let fences: Vec<Fence> = (1..10_000_u64).map(|i| Fence { low: 200 * i - 1, high: 200 * i }).collect();
    let rmi = Rmi::build(&fences, rmi::RmiSetting { root: RootKind::Linear, leaves: 16 });
    assert_eq!(mean_window_children(&rmi, &fences), 1.0);
}

#[test]
fn a_grid_offers_smaller_and_narrower_structures_and_a_budget_is_kept() {
    let mut random = Random(5);
    let mut log_uniform = || {
        let top = 1_u64 << (20 + random.below(40));
        top + random.below(top)
    };
    let mut keys: Vec<u64> = (0..100_000).map(|_| log_uniform()).collect();
    keys.sort_unstable();
    let fences = fences_of(&keys, 20);
    let rmis = tuning::pareto(rmi::try_settings(&fences, 1 << 12));
    let splines = tuning::pareto(radix_spline::try_settings(&fences, 64));
    assert!(rmis.len() > 4 && splines.len() > 4, "{rmis:?} {splines:?}");
    let falls = |sizes: &[(u64, f64)]| sizes.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1);
    let sizes = |bytes, width| (bytes, width);
    assert!(falls(&rmis.iter().map(|tried| sizes(tried.resident_bytes, tried.search_width)).collect::<Vec<_>>()));
    assert!(falls(&splines.iter().map(|tried| sizes(tried.resident_bytes, tried.search_width)).collect::<Vec<_>>()));
    for budget_bytes in [4_000, 40_000] {
        let rmi = tuning::within(&rmis, budget_bytes).map(|tried| Rmi::build(&fences, tried.setting));
        let spline = tuning::within(&splines, budget_bytes).map(|tried| RadixSpline::build(&fences, tried.setting));
        assert!(rmi.is_some_and(|rmi| rmi.resident_bytes() <= budget_bytes));
        assert!(spline.is_some_and(|spline| spline.resident_bytes() <= budget_bytes));
    }
    let dear_memory = tuning::cheapest(&rmis, |bytes, width| bytes as f64 * 1e6 + width);
    let free_memory = tuning::cheapest(&rmis, |_, width| width);
    assert_eq!((dear_memory, free_memory), (rmis.first(), rmis.last()));
}
