//! Orders in which keys are inserted.

use crate::Random;

/// Keys in random order.
pub fn shuffled(mut keys: Vec<u64>, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    (1..keys.len()).rev().for_each(|i| keys.swap(i, random.below(i as u64 + 1) as usize));
    keys
}
