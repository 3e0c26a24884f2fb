//! The linear model of a LIPP node.

use crate::models::fmcd;
use ogive::index::extend::Word;

/// Number of low bits of an f32 that a stored slope drops, in addition to the sign: 16 digits remain.
const DROPPED_BITS: u32 = 7;

/// A line that is 0 up to `base`, and rises by `slope` per unit of key.
///
/// Each step of the computation is monotone. Therefore a greater key never has a smaller slot, on any machine and for
/// any parameters. The slope has 16 digits, rounded down, and takes three bytes; the rounding loses one of 65,536
/// slots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LippLine<W> {
    pub(super) base: W,
    /// See [`Self::slope`].
    pub(super) slope_bits: u32,
}

impl<W: Word> LippLine<W> {
    pub(super) fn slope(&self) -> f64 {
        f64::from(f32::from_bits(self.slope_bits << DROPPED_BITS & (u32::MAX >> 1)))
    }

    /// The slot of a key among `slots`; 0 if there are none.
    pub(super) fn slot(&self, key: W, slots: u32) -> u32 {
        // The conversion rounds toward zero, maps NaN to 0, and saturates.
        ((key.distance(self.base) * self.slope()) as u32).min(slots.saturating_sub(1))
    }

    /// The line of FMCD, adjusted so that rounding never maps the first and the last of different keys to the same
    /// slot, unless there is only one.
    pub(super) fn fit(keys: &[W], slots: u32) -> Self {
        let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else { return Self::default() };
        let line = fmcd::fit(keys.len(), u64::from(slots), |i, j| keys[j].distance(keys[i]));
        let fitted = Self::through(first, line.slope, line.intercept);
        if fitted.slot(first, slots) < fitted.slot(last, slots) {
            return fitted;
        }
        Self::through(first, (f64::from(slots) - 0.5) / last.distance(first), 0.0)
    }

    /// The line with a slope and the value `height` at `first`.
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
        let distance = height / line.slope();
        // A float beyond the integers saturates.
        let steps = distance.abs() as u128;
        let base = if distance >= 0.0 {
            first.to_u128().saturating_sub(steps)
        } else {
            first.to_u128().saturating_add(steps).min(W::MAX.to_u128())
        };
        Self { base: W::from_u128(base), ..line }
    }
}
