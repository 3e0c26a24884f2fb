//! Insert orders on which the papers' implementations of learned trees grew deep or ran out of memory.

use ogive_testkit::index::shuffled;
use ogive_testkit::key_sets;

/// Named sequences of keys, in insertion order.
pub(crate) type Inserts = Vec<(String, Vec<u64>)>;

/// The key sets that linear models fit worst, in ascending, descending and random order.
pub(crate) fn hard_inserts() -> Inserts {
    const HARD: [&str; 5] =
        ["log_uniform", "greedy_poison", "thousand_clusters", "dense_at_2_63", "staircase_of_width_65"];
    let sets = key_sets::nasty(4000).into_iter().filter(|(name, _)| HARD.contains(name));
    let orders = sets.flat_map(|(name, ascending)| {
        let descending = ascending.iter().rev().copied().collect();
        let shuffled = shuffled(ascending.clone(), 5);
        [
            (format!("{name}, ascending"), ascending),
            (format!("{name}, descending"), descending),
            (format!("{name}, shuffled"), shuffled),
        ]
    });
    orders.collect()
}

/// Keys that each halve the distance to a fixed one: however a linear model divides its range, all further keys fall
/// into one part.
pub(crate) fn closing_inserts() -> Inserts {
    let points = (0..60_u64).map(|i| (i << 58) | (1 << 57));
    let outwards: Vec<u64> = points.flat_map(|point| (0..56).map(move |bit| point + (1 << bit))).collect();
    let inwards = outwards.chunks(56).flat_map(|part| part.iter().rev().copied()).collect();
    vec![("outwards".into(), outwards), ("inwards".into(), inwards)]
}
