//! Tests of approximate nodes. Goal: every key, present or absent, is led to all children that may hold it. Method:
//! windows are compared with the meaning of a fence, on random input and on key sets that break learned indexes. The
//! builders are those of the crate under test: `ogive-research` runs the same tests with its own.

use crate::common::{assert_leads_home, fences_of, nasty_sets};
use crate::{BUILDERS, Build, REGRESSIONS};
use ogive_model::line::LineNode;
use ogive_model::{Fence, FenceRun};
use proptest::prelude::*;

fn build_in_parts(build: Build, fences: &[Fence], parts: usize, argument: u64) -> Vec<LineNode> {
    FenceRun::split(fences, parts).iter().flat_map(|run| build(run, argument)).collect()
}

#[test]
fn every_hint_leads_home_on_nasty_sets() {
    for (name, keys) in nasty_sets(3000) {
        for keys_per_block in [1, 2, 7, 64] {
            let fences = fences_of(&keys, keys_per_block);
            for &(builder, build) in BUILDERS {
                for argument in [0, 1, 2, 3, 8, 100, 5000] {
                    for parts in [1, 3] {
                        let nodes = build_in_parts(build, &fences, parts, argument);
                        assert_leads_home(&format!("{name}, {builder} {argument}"), &nodes, &fences);
                    }
                }
            }
        }
    }
}

/// Sorted keys with runs of equal keys and steps of every size.
fn rows() -> impl Strategy<Value = Vec<Fence>> {
    let step = prop_oneof![Just(0u64), 1..4u64, 1..1000u64, 1..1u64 << 40, 1..1u64 << 60];
    (any::<bool>(), prop::collection::vec(step, 0..200), 1..4usize).prop_map(|(at_top, steps, keys_per_block)| {
        let mut keys: Vec<u64> = steps
            .iter()
            .scan(0u64, |key, step| {
                *key = key.saturating_add(*step);
                Some(*key)
            })
            .collect();
        if at_top {
            keys.iter_mut().for_each(|key| *key = u64::MAX - *key);
            keys.reverse();
        }
        fences_of(&keys, keys_per_block)
    })
}

proptest! {
    #[test]
    fn every_hint_leads_home_on_random_rows(fences in rows(), argument in 0..20u64, parts in 1..4usize) {
        for &(builder, build) in BUILDERS {
            assert_leads_home(builder, &build_in_parts(build, &fences, parts, argument), &fences);
        }
    }
}

#[test]
fn regressions_keep_their_error() {
    for (name, mut keys) in nasty_sets(3000) {
        keys.dedup();
        let fences = fences_of(&keys, 3);
        for &(builder, build) in REGRESSIONS {
            for error in [1, 4, 32] {
                let nodes = build(&FenceRun::whole(&fences), error);
                let longest = nodes.iter().map(|node| u64::from(node.window)).max();
                let bound = 2 * error + 3;
                // A long window is stored as one that is at most 1/32 longer.
                assert!(longest <= Some(bound + bound / 32), "{name}, {builder} {error}: {longest:?}");
            }
        }
    }
}
