//! The spread of T(n): the distribution of the time of a read, as some quantiles of it.

/// The quantiles that are known of each distribution.
pub(in crate::io) const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Tolerance of shares: they are sums of floats, and 0.5 + 0.5 may fall short of 1.
const SHARE_TOLERANCE: f64 = 1e-9;

/// The distribution of a time: its [`QUANTILES`] in microseconds, linear in between.
///
/// Below the median it is the median: a profile knows no faster reads. Beyond the last quantile it is that quantile.
///
/// Source: AirIndex, Section 3.2, which names T(n) as a distribution as future work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeSpread([f64; QUANTILES.len()]);

impl TimeSpread {
    /// The distribution with these quantiles, which do not fall.
    pub(in crate::io) fn new(quantiles_us: [f64; QUANTILES.len()]) -> Self {
        Self(quantiles_us)
    }

    /// A time that is always the same.
    pub(crate) fn fixed(time_us: f64) -> Self {
        Self([time_us; QUANTILES.len()])
    }

    /// The sum of two times that are long together.
    pub(crate) fn plus(self, other: Self) -> Self {
        let mut sums = self.0;
        sums.iter_mut().zip(other.0).for_each(|(sum, time_us)| *sum += time_us);
        Self(sums)
    }

    /// The distribution this far from one to another.
    pub(in crate::io) fn mixed(from: Self, to: Self, share: f64) -> Self {
        let mut times = from.0;
        times.iter_mut().zip(to.0).for_each(|(time_us, to_us)| *time_us += (to_us - *time_us) * share);
        Self(times)
    }

    /// A quantile, in microseconds.
    pub(crate) fn at(self, quantile: f64) -> f64 {
        let right = QUANTILES.iter().position(|&known| known >= quantile).unwrap_or(QUANTILES.len() - 1);
        let left = right.saturating_sub(1);
        if left == right || quantile >= QUANTILES[right] {
            return self.0[right];
        }
        let share = (quantile - QUANTILES[left]) / (QUANTILES[right] - QUANTILES[left]);
        self.0[left] + (self.0[right] - self.0[left]) * share
    }

    /// The share of the times that are at most `time_us`; without `ends`, that are less.
    fn share_within(self, time_us: f64, ends: bool) -> f64 {
        let times = &self.0;
        let last = times.len() - 1;
        if time_us < times[0] || (time_us <= times[0] && !ends) {
            return 0.0;
        }
        if time_us > times[last] || (time_us >= times[last] && ends) {
            return 1.0;
        }
        // The segment that holds the time, and does not begin there if its end does not count.
        let is_left = |&left: &usize| if ends { times[left + 1] > time_us } else { times[left + 1] >= time_us };
        let left = (0..last).find(is_left).unwrap_or(last - 1);
        let share = (time_us - times[left]) / (times[left + 1] - times[left]);
        QUANTILES[left] + (QUANTILES[left + 1] - QUANTILES[left]) * share
    }
}

/// A quantile of a mixture of times, each with its share of the cases, in microseconds. Exact: the distribution is
/// linear between the known quantiles of all parts. 0 without parts.
pub(crate) fn quantile_of_mixture(parts: &[(TimeSpread, f64)], quantile: f64) -> f64 {
    let parts = || parts.iter().filter(|(_, share)| *share > 0.0);
    let mut borders: Vec<f64> = parts().flat_map(|(spread, _)| spread.0).collect();
    borders.sort_by(f64::total_cmp);
    borders.dedup();
    let within = |time_us: f64, ends: bool| -> f64 {
        parts().map(|(spread, share)| spread.share_within(time_us, ends) * share).sum()
    };
    let wanted = quantile - SHARE_TOLERANCE;
    let right = borders.partition_point(|&border| within(border, true) < wanted);
    let Some(&end) = borders.get(right).or(borders.last()) else { return 0.0 };
    let Some(&begin) = right.checked_sub(1).and_then(|left| borders.get(left)) else { return end };
    let (before, after) = (within(begin, true), within(end, false));
    // From `after` on, the share jumps at the border.
    if after < wanted || after <= before { end } else { begin + (end - begin) * (wanted - before) / (after - before) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread() -> TimeSpread {
        TimeSpread::new([100.0, 180.0, 450.0, 450.0])
    }

    #[test]
    fn quantiles_are_linear_between_known_ones_and_flat_outside() {
        for (quantile, time_us) in
            [(0.0, 100.0), (0.5, 100.0), (0.7, 140.0), (0.9, 180.0), (0.96, 360.0), (0.99, 450.0), (1.0, 450.0)]
        {
            assert!((spread().at(quantile) - time_us).abs() < 1e-9, "{quantile}: {}", spread().at(quantile));
        }
        assert_eq!(TimeSpread::fixed(3.0).at(0.77), 3.0);
        assert_eq!(spread().plus(TimeSpread::fixed(1.0)).at(0.9), 181.0);
    }

    #[test]
    fn the_quantile_of_a_mixture_is_that_of_all_cases_in_order() {
        let parts = [(spread(), 0.3), (TimeSpread::fixed(170.0), 0.6), (spread().plus(spread()), 0.1)];
        let cases = 200_000;
        let mut times: Vec<(f64, f64)> = Vec::new();
        for (spread, share) in parts {
            times.extend((0..cases).map(|case| (spread.at((f64::from(case) + 0.5) / f64::from(cases)), share)));
        }
        times.sort_by(|one, other| one.0.total_cmp(&other.0));
        for quantile in [0.01, 0.1, 0.2, 0.5, 0.8, 0.85, 0.9, 0.95, 0.99, 0.999, 0.9999] {
            let mut sum = 0.0;
            let reached = times.iter().find(|(_, share)| {
                sum += share / f64::from(cases);
                sum >= quantile - 1e-7
            });
            let (expected, found) = (reached.unwrap().0, quantile_of_mixture(&parts, quantile));
            assert!((found - expected).abs() <= 0.05, "{quantile}: {found}, by enumeration {expected}");
        }
        assert_eq!(quantile_of_mixture(&[], 0.5), 0.0);
        let fixed = [(TimeSpread::fixed(1.0), 0.5), (TimeSpread::fixed(7.0), 0.5), (TimeSpread::fixed(9.0), 0.0)];
        assert_eq!([0.5, 0.51, 1.0].map(|quantile| quantile_of_mixture(&fixed, quantile)), [1.0, 7.0, 7.0]);
    }
}
