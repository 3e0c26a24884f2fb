//! Median, minimum and maximum of repeated measurements.

/// Median and extremes of some measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The middle one, or the mean of the middle two.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`; not a number throughout if there are none.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            return Self { median: f64::NAN, min: f64::NAN, max: f64::NAN };
        };
        let upper = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[upper] } else { (sorted[upper - 1] + sorted[upper]) / 2.0 };
        Self { median, min: *min, max: *max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        assert_eq!(Spread::of(&[9.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 9.0 });
        assert_eq!(Spread::of(&[4.0, 1.0, 9.0, 2.0]), Spread { median: 3.0, min: 1.0, max: 9.0 });
        assert!(Spread::of(&[]).median.is_nan());
    }
}
