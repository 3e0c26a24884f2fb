//! How often a table was asked for a key.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// One look-up of so many is counted, and counts as so many.
const SAMPLED: u64 = 16;
/// Multiplier of the generator that chooses them: D. E. Knuth, "The Art of Computer Programming", volume 2, 3.3.4 (MMIX).
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// Look-ups of a table, counted from a sample so that counting does not show. They lie in a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Lookups {
    positive: AtomicU64,
    negative: AtomicU64,
}

thread_local! {
    /// Chooses which look-ups of this thread are counted. A fixed step would fall in with the rhythm of levels.
    static CHOICE: Cell<u64> = const { Cell::new(1) };
}

impl Lookups {
    /// Notes a look-up that found an entry, or none.
    #[inline]
    pub(crate) fn note(&self, is_positive: bool) {
        let choice = CHOICE.get().wrapping_mul(MULTIPLIER).wrapping_add(1);
        CHOICE.set(choice);
        if choice >> 32 & (SAMPLED - 1) == 0 {
            self.count(is_positive);
        }
    }

    #[cold]
    fn count(&self, is_positive: bool) {
        let counter = if is_positive { &self.positive } else { &self.negative };
        counter.fetch_add(SAMPLED, Ordering::Relaxed);
    }

    /// About how many look-ups found an entry.
    pub(crate) fn positive(&self) -> u64 {
        self.positive.load(Ordering::Relaxed)
    }

    /// About how many look-ups found none.
    pub(crate) fn negative(&self) -> u64 {
        self.negative.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_right_on_average_however_they_alternate() {
        let (one, other) = (Lookups::default(), Lookups::default());
        for _ in 0..100_000 {
            one.note(false);
            other.note(true);
        }
        for counted in [one.negative(), other.positive()] {
            assert!((90_000..110_000).contains(&counted), "{counted} of 100,000");
        }
        assert_eq!((one.positive(), other.negative()), (0, 0));
    }
}
