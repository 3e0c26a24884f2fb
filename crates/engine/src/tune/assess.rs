//! The assessment before a search: what a new design could gain at most.

use super::complexity::{BLOCK_BYTES_MIN, step_complexity_us};
use super::problem::DesignProblem;
use crate::io::Profile;
use serde::Serialize;

/// The largest possible gain of a new search, for a table of `size_bytes` whose index now costs `current_us` per
/// lookup.
///
/// Source: AirIndex, Section 6, pre-search assessment. The gain is a loose upper bound: no index is built for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DesignAssessment {
    /// Modelled cost of a lookup with the present index, in microseconds.
    pub current_us: f64,
    /// Step index complexity of the data, in microseconds.
    pub step_complexity_us: f64,
    /// A cost that no design is below, in microseconds.
    pub least_us: f64,
}

impl DesignAssessment {
    /// Whether an ideal step index would be faster than the present one by more than `fraction` of its cost.
    pub fn worth_tuning(&self, fraction: f64) -> bool {
        self.step_complexity_us < self.current_us * (1.0 - fraction)
    }

    /// The share of the present cost that no search can exceed as a gain.
    pub fn gain_max(&self) -> f64 {
        if self.current_us > 0.0 { (1.0 - self.least_us / self.current_us).max(0.0) } else { 0.0 }
    }
}

/// Estimates, without access to the keys, whether tuning again could pay off after the data or the storage has changed.
pub fn assess(size_bytes: u64, step_bytes: f64, profile: &Profile, current_us: f64) -> DesignAssessment {
    let step_complexity_us = step_complexity_us(size_bytes, step_bytes, profile);
    DesignAssessment { current_us, step_complexity_us, least_us: profile.time_us(0) }
}

/// As [`assess`], by a problem's objective and cache hits. A table is opened before its data are read, so both the
/// least cost and that of an ideal step index include an opening and one block; with a cache, which may have that
/// block, an opening only.
pub fn assess_for(size_bytes: u64, current_us: f64, problem: &DesignProblem<'_>) -> DesignAssessment {
    let block_us = match problem.caching.memory_bytes {
        None => problem.single_read_us(0, BLOCK_BYTES_MIN),
        Some(_) => 0.0,
    };
    // Keys that the filter denies read no block: no index is worse than the least of any.
    let least_us = (problem.least_opening_us() + block_us).min(current_us);
    // Where opening is free, the root may be as large as it likes, and the read below it as short.
    let is_free = problem.open_us(size_bytes) <= problem.least_opening_us();
    let step_complexity_us = if is_free { least_us } else { problem.stacked_us(0, size_bytes, 1).max(least_us) };
    DesignAssessment { current_us, step_complexity_us, least_us }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_index_is_not_worth_tuning_again() -> crate::Result<()> {
        let nvme = Profile::named("nvme")?;
        let ideal_us = step_complexity_us(1 << 30, 13.0, &nvme);
        assert!(!assess(1 << 30, 13.0, &nvme, ideal_us * 1.05).worth_tuning(0.1));
        assert!(assess(1 << 30, 13.0, &nvme, ideal_us * 2.0).worth_tuning(0.1));
        Ok(())
    }
}
