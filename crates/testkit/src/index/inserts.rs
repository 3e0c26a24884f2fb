//! Insert orders on which the authors' learned trees grew deep or ran out of memory.

use crate::{Random, key_sets};

/// Keys in the order in which they are inserted, under a name.
pub type Inserts = Vec<(String, Vec<u64>)>;

/// Keys in random order.
pub fn shuffled(mut keys: Vec<u64>, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    (1..keys.len()).rev().for_each(|i| keys.swap(i, random.below(i as u64 + 1) as usize));
    keys
}

/// The key sets that are hardest on lines, upwards, downwards and in random order.
pub fn hard_inserts() -> Inserts {
    const HARD: [&str; 5] =
        ["log_uniform", "greedy_poison", "thousand_clusters", "dense_at_2_63", "staircase_of_width_65"];
    let sets = key_sets::nasty(4000).into_iter().filter(|(name, _)| HARD.contains(name));
    let orders = sets.flat_map(|(name, upwards)| {
        let downwards = upwards.iter().rev().copied().collect();
        let shuffled = shuffled(upwards.clone(), 5);
        [
            (format!("{name}, upwards"), upwards),
            (format!("{name}, downwards"), downwards),
            (format!("{name}, shuffled"), shuffled),
        ]
    });
    orders.collect()
}

/// Keys of which each halves the gap beside a fixed one: whatever a line divides, all that comes lies in one part of
/// it.
pub fn closing_inserts() -> Inserts {
    let points = (0..60_u64).map(|i| (i << 58) | (1 << 57));
    let outwards: Vec<u64> = points.flat_map(|point| (0..56).map(move |bit| point + (1 << bit))).collect();
    let inwards = outwards.chunks(56).flat_map(|part| part.iter().rev().copied()).collect();
    vec![("outwards".into(), outwards), ("inwards".into(), inwards)]
}
