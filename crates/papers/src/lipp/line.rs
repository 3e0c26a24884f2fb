//! The linear model of a LIPP node.

use ogive::index::extend::Word;
use ogive_model::fmcd;

/// Bits of an f32 that a stored slope leaves out, beside the sign: 16 digits remain.
const DROPPED_BITS: u32 = 7;

/// A line that is 0 up to `base` and rises by `slope` for each unit of key.
///
/// Each step of the computation is monotone, so a greater key never has a lower slot, on any machine, whatever the
/// parameters. The slope has 16 digits, rounded down, and takes three bytes; what the rounding takes away is the last
/// of each 65,536 slots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Line<W> {
    pub(super) base: W,
    /// See [`Self::slope`].
    pub(super) slope_bits: u32,
}

impl<W: Word> Line<W> {
    pub(super) fn slope(&self) -> f64 {
        f64::from(f32::from_bits(self.slope_bits << DROPPED_BITS & (u32::MAX >> 1)))
    }

    /// The slot of a key among `slots`; 0 where there are none.
    pub(super) fn slot(&self, key: W, slots: u32) -> u32 {
        // The conversion rounds toward zero, and takes what is not a number to 0, and what is too great to the
        // greatest.
        ((key.distance(self.base) * self.slope()) as u32).min(slots.saturating_sub(1))
    }

    /// The line of FMCD; whatever rounding does, the first and the last of different keys lie in different slots if
    /// there are two.
    pub(super) fn fit(keys: &[W], slots: u32) -> Self {
        let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else { return Self::default() };
        let line = fmcd::fit(keys.len(), u64::from(slots), |i, j| keys[j].distance(keys[i]));
        let fitted = Self::through(first, line.slope, line.intercept);
        if fitted.slot(first, slots) < fitted.slot(last, slots) {
            return fitted;
        }
        Self::through(first, (f64::from(slots) - 0.5) / last.distance(first), 0.0)
    }

    /// The line of a slope that passes `first` at `height`.
    fn through(first: W, slope: f64, height: f64) -> Self {
        let nearest = slope as f32;
        if !(nearest.is_finite() && nearest > 0.0) {
            return Self { base: first, slope_bits: 0 };
        }
        let below = nearest.to_bits() - u32::from(f64::from(nearest) > slope);
        let line = Self { base: first, slope_bits: below >> DROPPED_BITS };
        if line.slope() <= 0.0 {
            return line;
        }
        let away = height / line.slope();
        // A float beyond the integers saturates.
        let steps = away.abs() as u128;
        let base = if away >= 0.0 {
            first.to_u128().saturating_sub(steps)
        } else {
            first.to_u128().saturating_add(steps).min(W::MAX.to_u128())
        };
        Self { base: W::from_u128(base), ..line }
    }
}
