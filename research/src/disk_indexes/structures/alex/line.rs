//! The linear model of an ALEX node.

use ogive::index::extend::Word;

/// Most points for fitting a line: more change it by less than a slot.
const SAMPLE_POINTS_MAX: usize = 1024;

/// A line that is 0 up to `base`, and rises by `slope` per unit of key.
///
/// Prediction is an integer subtraction, a conversion and a product, all monotone. Therefore a greater key never has a
/// smaller slot, on any machine and for any parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AlexLine<W> {
    pub(super) base: W,
    pub(super) slope: f32,
}

impl<W: Word> AlexLine<W> {
    /// The predicted slot of a key among `slots`; 0 if there are none.
    pub(super) fn slot(&self, key: W, slots: usize) -> usize {
        // The conversion rounds toward zero, maps negative values and NaN to 0, and saturates.
        let slot = (key.distance(self.base) * f64::from(self.slope)) as usize;
        slot.min(slots.saturating_sub(1))
    }

    /// The least-squares line from ascending keys to evenly spread slots.
    pub(super) fn fit(keys: &[W], slots: usize) -> Self {
        let Some(&first) = keys.first() else { return Self::default() };
        let stride = keys.len().div_ceil(SAMPLE_POINTS_MAX).max(1);
        let spread = slots as f64 / keys.len() as f64;
        let points = || {
            let ranked = keys.iter().enumerate().skip(stride / 2).step_by(stride);
            ranked.map(|(rank, key)| (key.distance(first), (rank as f64 + 0.5) * spread))
        };
        let count = points().count() as f64;
        let (sum_x, sum_y) = points().fold((0.0, 0.0), |sums, point| (sums.0 + point.0, sums.1 + point.1));
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let (mut covariance, mut variance) = (0.0, 0.0);
        for (x, y) in points() {
            covariance += (x - mean_x) * (y - mean_y);
            variance += (x - mean_x) * (x - mean_x);
        }
        Self::through(first, covariance / variance, mean_y - covariance / variance * mean_x)
    }

    /// A line that spreads the range from `low` to `high` over all slots.
    pub(super) fn across(low: W, high: W, slots: usize) -> Self {
        Self { base: low, slope: (slots as f64 / (high.distance(low) + 1.0)) as f32 }
    }

    /// The line with a slope and the value `height` at `first`.
    pub(super) fn through(first: W, slope: f64, height: f64) -> Self {
        let stored = slope as f32;
        if !(stored.is_normal() && stored > 0.0) {
            return Self { base: first, slope: 0.0 };
        }
        let distance = height / f64::from(stored);
        // A float beyond the integers saturates.
        let steps = distance.abs() as u128;
        let base = if distance >= 0.0 {
            first.to_u128().saturating_sub(steps)
        } else {
            first.to_u128().saturating_add(steps).min(W::MAX.to_u128())
        };
        Self { base: W::from_u128(base), slope: stored }
    }
}
