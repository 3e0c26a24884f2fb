//! Sampled sequences: every n-th key stands for the keys up to the next sample.

use ogive_model::Fence;
use std::ops::RangeInclusive;

/// The fences between groups of `every` keys, the last possibly shorter: a sequence whose children are groups.
///
/// An index built from it is the paper's index over every 128th key: a small error in groups is a window of some
/// hundred keys, for a hundredth of the work. Unlike in the paper, a group's fence includes the key before the sample,
/// so that absent keys, and runs of equal keys across the border, are routed correctly.
///
/// Keys must be sorted.
///
/// Source: Chesetti and Pandey, "Evaluating Learned Indexes for External-Memory Joins" (2024), Section 6.6.
///
/// ```
/// use ogive_model::Fence;
/// use ogive_research::models::sampled;
/// assert_eq!(sampled::fences([1, 3, 3, 3, 9], 2), [Fence { low: 3, high: 3 }, Fence { low: 3, high: 9 }]);
/// ```
pub fn fences(keys: impl IntoIterator<Item = u64>, every: usize) -> Vec<Fence> {
    let every = every.max(1);
    let mut fences = Vec::new();
    let (mut before, mut in_group) = (0, 0);
    for key in keys {
        if in_group == every {
            fences.push(Fence { low: before, high: key });
            in_group = 0;
        }
        before = key;
        in_group += 1;
    }
    fences
}

/// The positions of the keys in a window of groups of `every` keys, of `count` keys in all; `None` if there are none.
///
/// ```
/// use ogive_research::models::sampled::positions;
/// assert_eq!(positions(&(1..=2), 128, 300), Some(128..=299));
/// assert_eq!(positions(&(0..=0), 128, 0), None);
/// ```
pub fn positions(groups: &RangeInclusive<u64>, every: u64, count: u64) -> Option<RangeInclusive<u64>> {
    let last = count.checked_sub(1)?;
    let every = every.max(1);
    let first = groups.start().saturating_mul(every).min(last);
    Some(first..=groups.end().saturating_add(1).saturating_mul(every).saturating_sub(1).min(last))
}
