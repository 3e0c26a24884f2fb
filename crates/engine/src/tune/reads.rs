//! Exact distributions of read sizes.

use crate::io::{Profile, quantile_of_mixture};
use std::collections::BTreeMap;

/// Windows up to this many children are counted in an array, longer ones in a tree; windows of line nodes are shorter.
const DENSE_WINDOWS: usize = 8192;

/// Number of children that lookups read, as weights by window length.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowCounts {
    dense: Vec<f64>,
    far: BTreeMap<u64, f64>,
}

impl WindowCounts {
    /// Counts `weight` of the lookups as reading `children` neighbouring children.
    pub(super) fn add(&mut self, children: u64, weight: f64) {
        if weight <= 0.0 {
            return;
        }
        if children < DENSE_WINDOWS as u64 {
            let index = children as usize;
            if index >= self.dense.len() {
                self.dense.resize(index + 1, 0.0);
            }
            self.dense[index] += weight;
        } else {
            *self.far.entry(children).or_default() += weight;
        }
    }

    /// Adds the counts of another part of the input, scaled by `mass`.
    pub(super) fn merge(&mut self, other: &Self, mass: f64) {
        for (children, weight) in other.iter() {
            self.add(children, weight * mass);
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u64, f64)> {
        let dense = self.dense.iter().enumerate().filter(|&(_, &weight)| weight > 0.0);
        dense.map(|(children, &weight)| (children as u64, weight)).chain(self.far.iter().map(|(&c, &w)| (c, w)))
    }

    /// The sizes of the reads, with `child_bytes` per child.
    pub(super) fn sizes(&self, child_bytes: u64) -> ReadSizes {
        let total: f64 = self.iter().map(|(_, weight)| weight).sum();
        let shares = self.iter().map(|(children, weight)| (children.saturating_mul(child_bytes), weight / total));
        ReadSizes { shares: shares.collect() }
    }
}

/// The read sizes of one layer in bytes, ascending, each with its share of the lookups.
///
/// The shares are exact, not rounded into buckets, because T need not be affine: E\[T(n)\] is not T(E\[n\]). Source:
/// AirIndex, Equation 6.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadSizes {
    shares: Vec<(u64, f64)>,
}

impl ReadSizes {
    /// Reads of a single size.
    pub fn constant(bytes: u64) -> Self {
        Self { shares: vec![(bytes, 1.0)] }
    }

    /// Each size in bytes with its share of the lookups; the shares add up to 1.
    pub fn shares(&self) -> &[(u64, f64)] {
        &self.shares
    }

    /// Mean size in bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.shares.iter().map(|&(bytes, share)| bytes as f64 * share).sum()
    }

    /// Largest size in bytes.
    pub fn max_bytes(&self) -> u64 {
        self.shares.last().map_or(0, |&(bytes, _)| bytes)
    }

    /// Expected time of a read in microseconds.
    pub fn expected_us(&self, profile: &Profile) -> f64 {
        self.shares.iter().map(|&(bytes, share)| profile.time_us(bytes) * share).sum()
    }

    /// The time that a share `quantile` of the reads does not exceed, in microseconds: sizes differ, and so does the
    /// time of one size, if the profile knows its spread.
    pub fn quantile_us(&self, quantile: f64, profile: &Profile) -> f64 {
        if !profile.has_spread() {
            return profile.time_us(self.quantile_bytes(quantile));
        }
        let part = |&(bytes, share): &(u64, f64)| (profile.spread_of(bytes), share);
        quantile_of_mixture(&self.shares.iter().map(part).collect::<Vec<_>>(), quantile)
    }

    /// The size that a share `quantile` of the reads does not exceed, in bytes.
    pub fn quantile_bytes(&self, quantile: f64) -> u64 {
        let mut sum = 0.0;
        for &(bytes, share) in &self.shares {
            sum += share;
            // With some tolerance: shares are sums of floats, and 0.5 + 0.5 may fall short of a quantile of 1.
            if sum >= quantile - 1e-9 {
                return bytes;
            }
        }
        self.max_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ProfilePoint;

    fn sizes() -> ReadSizes {
        let mut windows = WindowCounts::default();
        windows.add(1, 3.0);
        windows.add(20_000, 0.5);
        let mut more = WindowCounts::default();
        more.add(20_000, 0.5);
        more.add(2, 0.0);
        windows.merge(&more, 1.0);
        windows.sizes(10)
    }

    #[test]
    fn shares_are_merged_and_add_up() {
        assert_eq!(sizes().shares(), [(10, 0.75), (200_000, 0.25)]);
        assert_eq!((sizes().mean_bytes(), sizes().max_bytes()), (50_007.5, 200_000));
    }

    #[test]
    fn the_expected_time_is_not_the_time_of_the_expected_size() -> crate::Result<()> {
        // A step at 100,000 bytes: only exact shares show that three reads in four stay below it.
        let point = |size_bytes, time_us| ProfilePoint { size_bytes, time_us };
        let cliff = Profile::from_points(
            "cliff",
            vec![point(1, 10.0), point(40_000, 10.0), point(40_001, 1000.0), point(1 << 30, 1000.0)],
            1,
        )?;
        let expected_us = sizes().expected_us(&cliff);
        assert!((expected_us - 257.5).abs() < 1e-6, "{expected_us}");
        assert!((cliff.time_us(50_007) - 1000.0).abs() < 1e-6);
        Ok(())
    }

    #[test]
    fn quantiles_are_the_least_size_that_suffices() {
        let found = [0.0, 0.5, 0.75, 0.76, 1.0].map(|q| sizes().quantile_bytes(q));
        assert_eq!(found, [10, 10, 10, 200_000, 200_000]);
    }
}
