//! The keys of a run: bulk-loaded ones, and later inserts in their order.

use crate::random::Random;

/// Sorted keys to begin with, and keys to come.
#[derive(Debug, Clone)]
pub struct Population {
    loaded: Vec<u64>,
    coming: Vec<u64>,
}

impl Population {
    /// All keys are bulk-loaded. Keys ascend here and below.
    pub fn whole(keys: Vec<u64>) -> Self {
        Self { loaded: keys, coming: Vec::new() }
    }

    /// A random half is bulk-loaded, the rest comes in random order (AULID, Section 5.1.3). Of repeated keys only one
    /// is kept, so that what comes in is new.
    pub fn halves(keys: Vec<u64>, seed: u64) -> Self {
        Self::split(keys, 1, 2, seed)
    }

    /// As [`Self::halves`] for a random share of the keys, `loaded` in `of`.
    pub fn split(mut keys: Vec<u64>, loaded: u64, of: u64, seed: u64) -> Self {
        keys.dedup();
        let mut random = Random::new(seed, "halves");
        let mut left = keys.len() as u64;
        let mut wanted = (u128::from(left) * u128::from(loaded) / u128::from(of.max(1))) as u64;
        let (mut loaded, mut coming) = (Vec::with_capacity(wanted as usize), Vec::new());
        for key in keys {
            // Selection sampling: each part of that size is as likely as any other.
            if random.below(left) < wanted {
                loaded.push(key);
                wanted -= 1;
            } else {
                coming.push(key);
            }
            left -= 1;
        }
        shuffle(&mut coming, &mut random);
        Self { loaded, coming }
    }

    /// The lower half is bulk-loaded, the rest comes in ascending order.
    pub fn append(mut keys: Vec<u64>) -> Self {
        keys.dedup();
        let coming = keys.split_off(keys.len() / 2);
        Self { loaded: keys, coming }
    }

    /// The keys that are bulk-loaded, ascending.
    pub fn loaded(&self) -> &[u64] {
        &self.loaded
    }

    /// The keys that come in, in their order.
    pub fn coming(&self) -> &[u64] {
        &self.coming
    }

    /// The key at a place: bulk-loaded ones ascending, then the others as they come. 0 beyond the last.
    pub fn key(&self, place: u64) -> u64 {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let later = || self.coming.get(place.wrapping_sub(self.loaded.len()));
        self.loaded.get(place).or_else(later).copied().unwrap_or(0)
    }
}

/// Puts things into a random order (Fisher and Yates).
fn shuffle<T>(things: &mut [T], random: &mut Random) {
    for left in (1..things.len()).rev() {
        things.swap(left, random.below(left as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_hold_every_key_once_and_the_second_comes_in_no_order() {
        let population = Population::halves((0..10_001).chain([10_000]).collect(), 5);
        assert_eq!((population.loaded().len(), population.coming().len()), (5_000, 5_001));
        assert!(population.loaded().is_sorted() && !population.coming().is_sorted());
        let mut all = [population.loaded(), population.coming()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..10_001).collect::<Vec<_>>());
        let low = population.loaded().iter().filter(|key| **key < 5_000).count();
        assert!(low.abs_diff(2_500) < 200, "{low} of the lower half");
        assert_eq!(population.key(10_000), population.coming()[5_000]);
    }

    #[test]
    fn appended_keys_come_in_order_behind_the_loaded_ones() {
        let population = Population::append((0..101).collect());
        assert_eq!(population.loaded(), (0..50).collect::<Vec<_>>());
        assert_eq!(population.coming(), (50..101).collect::<Vec<_>>());
    }
}
