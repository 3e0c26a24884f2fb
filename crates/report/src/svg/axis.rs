//! Axes: scale, unit and range.

use super::ticks;
use crate::format;

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances for equal differences.
    #[default]
    Linear,
    /// Equal distances for equal ratios; values that are not positive are left out.
    Log,
}

/// The unit of an axis, which says how numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Plain counts and ratios.
    #[default]
    Count,
    /// Bytes, in powers of 1024.
    Bytes,
    /// Microseconds.
    Micros,
}

impl Unit {
    /// A number in this unit.
    #[must_use]
    pub fn show(self, number: f64) -> String {
        match self {
            Self::Count => format::count(number),
            Self::Bytes => format::bytes(number),
            Self::Micros => format::time_us(number),
        }
    }

    /// Bytes are counted in powers of two.
    fn log_base(self) -> f64 {
        if self == Self::Bytes { 4.0 } else { 10.0 }
    }

    fn base(self) -> f64 {
        if self == Self::Bytes { 1024.0 } else { 10.0 }
    }
}

/// An axis of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Label, with the quantity.
    pub label: String,
    /// Scale.
    pub scale: Scale,
    /// Unit of the numbers.
    pub unit: Unit,
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub fn linear(label: &str, unit: Unit) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear, unit }
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: &str, unit: Unit) -> Self {
        Self { label: label.to_owned(), scale: Scale::Log, unit }
    }

    /// Whether a value has a place on the axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }
}

/// An axis with a range and a length in pixels.
#[derive(Debug)]
pub(super) struct PlacedAxis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Pixel of `low` and of `high`.
    from: f64,
    to: f64,
    pub(super) ticks: Vec<f64>,
}

impl PlacedAxis {
    /// Places an axis so that it holds all `values`; a linear one begins at 0 where `from_zero`.
    pub(super) fn over(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        from_zero: bool,
        (from, to): (f64, f64),
        most_ticks: usize,
    ) -> Self {
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut low, mut high) = values
            .filter(|value| axis.shows(*value))
            .fold(start, |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        match axis.scale {
            Scale::Linear => {
                if from_zero {
                    low = low.min(0.0);
                }
                if low == high {
                    high = low + low.abs().max(1.0);
                }
            }
            // Whole powers of the base, so that there are ticks at both ends.
            Scale::Log => {
                let base = axis.unit.log_base();
                low = base.powf((low.log(base) + 1e-9).floor());
                high = base.powf((high.log(base) - 1e-9).ceil()).max(low * base);
            }
        }
        let ticks = match axis.scale {
            Scale::Linear => ticks::linear(low, high, most_ticks, axis.unit.base()),
            Scale::Log => ticks::log(low, high, most_ticks, axis.unit.log_base()),
        };
        // The axis ends at a tick, and nothing stands above it.
        if let (Scale::Linear, [.., before, last]) = (axis.scale, ticks.as_slice())
            && high > *last
        {
            high = high.max(last + (last - before) * 0.25);
        }
        Self { scale: axis.scale, low, high, from, to, ticks }
    }

    /// The pixel of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }
}
