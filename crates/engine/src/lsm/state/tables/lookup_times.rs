//! Sampled counts and costs of the lookups of a table.

use crate::io::Timer;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// One lookup in this many is timed, and counts as this many: reading the clock twice costs about 50 ns, which must
/// not show.
const SAMPLED: u64 = 32;
/// Multiplier of the generator that chooses them: D. E. Knuth, "The Art of Computer Programming", volume 2, 3.3.4
/// (MMIX).
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

thread_local! {
    /// Chooses the lookups of this thread that are timed. A fixed step would fall in with the rhythm of levels.
    static CHOICE: Cell<u64> = const { Cell::new(1) };
}

/// The lookups of a table so far, estimated from a sample of one in 32.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TableLookups {
    /// Lookups without a model: those that found no entry, and those that found one.
    pub baseline: [LookupTotals; 2],
    /// Lookups by a model: those that found no entry, and those that found one.
    pub by_model: [LookupTotals; 2],
}

/// The number of lookups of one kind, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LookupTotals {
    /// Approximate number of lookups.
    pub count: u64,
    /// Their time in nanoseconds.
    pub nanoseconds: u64,
}

impl LookupTotals {
    /// Mean time of a lookup in nanoseconds, if there was any.
    #[must_use]
    pub fn mean_ns(self) -> Option<f64> {
        (self.count > 0).then(|| self.nanoseconds as f64 / self.count as f64)
    }

    /// Adds other lookups.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.nanoseconds += other.nanoseconds;
    }
}

impl TableLookups {
    /// Number of lookups that found an entry, or of those that did not.
    #[must_use]
    pub fn count(&self, is_positive: bool) -> u64 {
        self.baseline[usize::from(is_positive)].count + self.by_model[usize::from(is_positive)].count
    }

    /// The lookups without a model, and those by one.
    pub(in crate::lsm) fn paths(&self) -> [LookupTotals; 2] {
        [self.baseline, self.by_model].map(|[mut negative, positive]| {
            negative.add(positive);
            negative
        })
    }

    /// Adds the lookups of another table.
    pub(in crate::lsm) fn add(&mut self, other: &Self) {
        for is_positive in [0, 1] {
            self.baseline[is_positive].add(other.baseline[is_positive]);
            self.by_model[is_positive].add(other.by_model[is_positive]);
        }
    }
}

/// Lookups of one kind, counted by all threads.
#[derive(Debug, Default)]
struct SampledLookups {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl SampledLookups {
    fn totals(&self) -> LookupTotals {
        LookupTotals {
            count: self.count.load(Ordering::Relaxed),
            nanoseconds: self.nanoseconds.load(Ordering::Relaxed),
        }
    }
}

/// The sampled lookups of a table, in cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct LookupTimes {
    baseline: [SampledLookups; 2],
    by_model: [SampledLookups; 2],
}

/// A lookup that may be timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedLookup(Option<Timer>);

impl TimedLookup {
    /// Begins with a lookup.
    #[inline]
    pub(crate) fn begin() -> Self {
        let choice = CHOICE.get().wrapping_mul(MULTIPLIER).wrapping_add(1);
        CHOICE.set(choice);
        Self(if choice >> 32 & (SAMPLED - 1) == 0 { Some(Timer::start()) } else { None })
    }
}

impl LookupTimes {
    /// Ends a lookup.
    #[inline]
    pub(crate) fn end(&self, sample: TimedLookup, by_model: bool, is_positive: bool) {
        if let Some(timer) = sample.0 {
            self.note(timer, by_model, is_positive);
        }
    }

    #[cold]
    fn note(&self, timer: Timer, by_model: bool, is_positive: bool) {
        let sampled = &(if by_model { &self.by_model } else { &self.baseline })[usize::from(is_positive)];
        sampled.count.fetch_add(SAMPLED, Ordering::Relaxed);
        sampled.nanoseconds.fetch_add((timer.elapsed_us() * 1e3) as u64 * SAMPLED, Ordering::Relaxed);
    }

    /// The lookups so far.
    pub(crate) fn lookups(&self) -> TableLookups {
        let totals = |sampled: &[SampledLookups; 2]| [sampled[0].totals(), sampled[1].totals()];
        TableLookups { baseline: totals(&self.baseline), by_model: totals(&self.by_model) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_right_on_average_however_they_alternate() {
        let (one, other) = (LookupTimes::default(), LookupTimes::default());
        for _ in 0..200_000 {
            one.end(TimedLookup::begin(), false, false);
            other.end(TimedLookup::begin(), true, true);
        }
        let (one, other) = (one.lookups(), other.lookups());
        for counted in [one.baseline[0].count, other.by_model[1].count] {
            assert!((180_000..220_000).contains(&counted), "{counted} of 200,000");
        }
        assert_eq!((one.count(true), other.count(false)), (0, 0));
    }
}
