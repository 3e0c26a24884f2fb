//! Sampled costs of table lookups.

use crate::io::Timer;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// One look-up of so many is timed, and counts as so many: reading the clock twice costs some 50 ns, which must not
/// show.
const SAMPLED: u64 = 32;
/// Multiplier of the generator that chooses them: D. E. Knuth, "The Art of Computer Programming", volume 2, 3.3.4
/// (MMIX).
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

thread_local! {
    /// Chooses which look-ups of this thread are timed. A fixed step would fall in with the rhythm of levels.
    static CHOICE: Cell<u64> = const { Cell::new(1) };
}

/// Look-ups of one kind: how many, and how long they took.
#[derive(Debug, Default)]
struct Kind {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

/// Look-ups of a table: on the baseline path and by its model, those that found nothing and those that found an entry.
/// They lie in cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Times {
    baseline: [Kind; 2],
    model: [Kind; 2],
}

/// Look-ups of one kind, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// About how many look-ups there were.
    pub(crate) count: u64,
    /// How long the timed ones took in all, as if all had been timed.
    pub(crate) nanoseconds: u64,
}

impl Totals {
    /// Mean time of a look-up in nanoseconds, if there was any.
    pub(crate) fn mean_ns(self) -> Option<f64> {
        (self.count > 0).then(|| self.nanoseconds as f64 / self.count as f64)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.nanoseconds += other.nanoseconds;
    }
}

/// A look-up that may be timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample(Option<Timer>);

impl Sample {
    /// Begins with a look-up.
    #[inline]
    pub(crate) fn begin() -> Self {
        let choice = CHOICE.get().wrapping_mul(MULTIPLIER).wrapping_add(1);
        CHOICE.set(choice);
        Self(if choice >> 32 & (SAMPLED - 1) == 0 { Some(Timer::start()) } else { None })
    }
}

impl Times {
    /// Ends a look-up.
    #[inline]
    pub(crate) fn end(&self, sample: Sample, by_model: bool, is_positive: bool) {
        if let Some(timer) = sample.0 {
            self.note(timer, by_model, is_positive);
        }
    }

    #[cold]
    fn note(&self, timer: Timer, by_model: bool, is_positive: bool) {
        let kind = &self.kinds(by_model)[usize::from(is_positive)];
        kind.count.fetch_add(SAMPLED, Ordering::Relaxed);
        kind.nanoseconds.fetch_add((timer.elapsed_us() * 1e3) as u64 * SAMPLED, Ordering::Relaxed);
    }

    fn kinds(&self, by_model: bool) -> &[Kind; 2] {
        if by_model { &self.model } else { &self.baseline }
    }

    /// Look-ups on one path, positive or negative.
    pub(crate) fn totals(&self, by_model: bool, is_positive: bool) -> Totals {
        let kind = &self.kinds(by_model)[usize::from(is_positive)];
        Totals { count: kind.count.load(Ordering::Relaxed), nanoseconds: kind.nanoseconds.load(Ordering::Relaxed) }
    }

    #[cfg(test)]
    pub(super) fn set_baseline(&self, positive: Totals) {
        self.baseline[1].count.store(positive.count, Ordering::Relaxed);
        self.baseline[1].nanoseconds.store(positive.nanoseconds, Ordering::Relaxed);
    }

    /// About how many look-ups there were, of both paths.
    pub(crate) fn count(&self, is_positive: bool) -> u64 {
        self.totals(false, is_positive).count + self.totals(true, is_positive).count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_right_on_average_however_they_alternate() {
        let (one, other) = (Times::default(), Times::default());
        for _ in 0..200_000 {
            one.end(Sample::begin(), false, false);
            other.end(Sample::begin(), true, true);
        }
        for counted in [one.totals(false, false).count, other.totals(true, true).count] {
            assert!((180_000..220_000).contains(&counted), "{counted} of 200,000");
        }
        assert_eq!((one.count(true), other.count(false)), (0, 0));
    }
}
