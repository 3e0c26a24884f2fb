//! Conformance tests of AULID's inner nodes, with each optional part enabled and disabled.

use super::{AulidOptions, AulidRouter};
use ogive::index::extend::{Router, Word};
use ogive_testkit::index::{router_agrees_with_a_map, router_survives_damage, router_takes_nasty_sets};

fn with<W: Word>(options: AulidOptions) -> Box<dyn Fn() -> Box<dyn Router<W>>> {
    Box::new(move || Box::new(AulidRouter::new(options)))
}

/// Few slots, so that small sets fill arrays and two-layer nodes, and create deep layers.
fn crowded() -> AulidOptions {
    AulidOptions { slots_per_leaf: Some(1), slots_per_leaf_rebuilt: 1, ..AulidOptions::default() }
}

/// Each part disabled alone, and some together.
fn ablations() -> [AulidOptions; 8] {
    let all = crowded();
    [
        AulidOptions { packed_arrays: false, ..all },
        AulidOptions { two_layer_nodes: false, ..all },
        AulidOptions { packed_arrays: false, two_layer_nodes: false, ..all },
        AulidOptions { scan_forward: false, ..all },
        AulidOptions { fulfill: true, ..all },
        AulidOptions { statistics: false, ..all },
        AulidOptions { adjust: false, ..all },
        AulidOptions { alpha: 0.0, beta: 1.0, ..all },
    ]
}

#[test]
fn agrees_with_a_map() {
    router_agrees_with_a_map(&*with::<u64>(AulidOptions::default()));
    router_agrees_with_a_map(&*with::<u64>(crowded()));
    router_agrees_with_a_map(&*with::<u128>(crowded()));
}

#[test]
fn agrees_with_a_map_with_each_part_disabled() {
    ablations().into_iter().for_each(|options| router_agrees_with_a_map(&*with::<u64>(options)));
}

#[test]
fn takes_nasty_key_sets_in_any_order() {
    router_takes_nasty_sets(&*with::<u64>(AulidOptions::default()));
    router_takes_nasty_sets(&*with::<u64>(crowded()));
    router_takes_nasty_sets(&*with::<u128>(crowded()));
}

#[test]
fn takes_nasty_key_sets_with_each_part_disabled() {
    ablations().into_iter().for_each(|options| router_takes_nasty_sets(&*with::<u64>(options)));
}

#[test]
fn survives_damaged_pages() {
    router_survives_damage(&*with::<u64>(crowded()));
}

#[test]
fn survives_damaged_pages_of_wide_keys() {
    router_survives_damage(&*with::<u128>(crowded()));
}

#[test]
fn survives_damaged_copies_of_slots() {
    router_survives_damage(&*with::<u64>(AulidOptions { fulfill: true, ..crowded() }));
}

/// As an index over leaves, with and without repeated keys.
mod over_leaves {
    use super::crowded;
    use crate::aulid::structures::AulidRouter;
    use ogive::index::extend::LeafTree;
    use ogive_testkit::structure_tests;

    structure_tests!(
        keys_of_8_bytes,
        u64,
        |layout| Box::new(LeafTree::new(AulidRouter::new(crowded()), layout)),
        duplicates
    );
    structure_tests!(
        keys_of_16_bytes,
        u128,
        |layout| Box::new(LeafTree::new(AulidRouter::new(crowded()), layout)),
        duplicates
    );
}
