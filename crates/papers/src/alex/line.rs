//! The linear model of an ALEX node.

use ogive::index::extend::Word;

/// Points that a line is fitted to, at most: more change the line by less than a slot.
const SAMPLE_POINTS: usize = 1024;

/// A line that is 0 up to `base` and rises by `slope` for each unit of key.
///
/// A key's place is computed by a subtraction of integers, a conversion and a product, each of them monotone; so a
/// greater key never has a lower place, on any machine, whatever the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Line<W> {
    pub(super) base: W,
    pub(super) slope: f32,
}

impl<W: Word> Line<W> {
    /// The place of a key among `places`; 0 where there are none.
    pub(super) fn place(&self, key: W, places: usize) -> usize {
        // The conversion rounds toward zero, and takes what is negative or not a number to 0, and what is too great to
        // the greatest.
        let place = (key.distance(self.base) * f64::from(self.slope)) as usize;
        place.min(places.saturating_sub(1))
    }

    /// The line of least squares from keys to `places` evenly spread places; keys ascend.
    pub(super) fn fit(keys: &[W], places: usize) -> Self {
        let Some(&first) = keys.first() else { return Self::default() };
        let stride = keys.len().div_ceil(SAMPLE_POINTS).max(1);
        let spread = places as f64 / keys.len() as f64;
        let points = || {
            let ranked = keys.iter().enumerate().skip(stride / 2).step_by(stride);
            ranked.map(|(rank, key)| (key.distance(first), (rank as f64 + 0.5) * spread))
        };
        let count = points().count() as f64;
        let (sum_x, sum_y) = points().fold((0.0, 0.0), |sums, point| (sums.0 + point.0, sums.1 + point.1));
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let (mut together, mut alone) = (0.0, 0.0);
        for (x, y) in points() {
            together += (x - mean_x) * (y - mean_y);
            alone += (x - mean_x) * (x - mean_x);
        }
        Self::through(first, together / alone, mean_y - together / alone * mean_x)
    }

    /// A line over the whole stretch from `low` to `high`.
    pub(super) fn across(low: W, high: W, places: usize) -> Self {
        Self { base: low, slope: (places as f64 / (high.distance(low) + 1.0)) as f32 }
    }

    /// The line of a slope that passes `first` at `height`.
    pub(super) fn through(first: W, slope: f64, height: f64) -> Self {
        let stored = slope as f32;
        if !(stored.is_normal() && stored > 0.0) {
            return Self { base: first, slope: 0.0 };
        }
        let away = height / f64::from(stored);
        // A float beyond the integers saturates.
        let steps = away.abs() as u128;
        let base = if away >= 0.0 {
            first.to_u128().saturating_sub(steps)
        } else {
            first.to_u128().saturating_add(steps).min(W::MAX.to_u128())
        };
        Self { base: W::from_u128(base), slope: stored }
    }
}
