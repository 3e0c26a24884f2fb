//! A hash that maps numbers to pseudo-random numbers.

use ogive_testkit::Random;

/// A number that looks random; the same for the same `word`.
pub(crate) fn mixed(word: u64) -> u64 {
    Random::new(word).next_u64()
}
