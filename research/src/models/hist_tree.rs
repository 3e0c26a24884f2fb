//! The compact hist-tree: bins of equal width over the keys, of which crowded ones are divided again; a radix table if
//! none is.

use crate::models::segment::{Proposal, nodes};
use ogive_model::FenceRun;
use ogive_model::line::LineNode;
use std::ops::Range;

/// Largest number of bins of a node.
pub const BINS_MAX: u64 = 1 << 24;

/// One flat line for each bin that holds the first keys of children; then its window is measured.
///
/// ```text
///   keys       |.       |.  : ::.|    .   |        |   .    |     a node of 4 bins: the second one has more than
///              |        |--------|        |        |              `children_max` children, and is a node of 4 bins
///                       | |.|:|::|
/// ```
///
/// The keys of a node have a common prefix; the next `log2(bins)` bits of a key are the number of its bin. A number of
/// bins that is no power of two is rounded down. With a `children_max` that no bin exceeds, this is a radix table.
///
/// A bin leads to the children whose first keys lie in it, and to the one before them. Bins without a first key have
/// no node: the one before covers them. Nothing limits the children of a bin whose keys are all equal.
///
/// Source: Crotty, "Hist-Tree: Those Who Ignore It Are Doomed to Learn" (CIDR 2021); Stoian et al., "Towards Practical
/// Learned Indexing" (AIDB 2021), who lay it over a spline.
///
/// ```
/// use ogive_model::{Fence, FenceRun};
/// use ogive_research::models::hist_tree;
/// let fences: Vec<Fence> = (1..1024).map(|i| Fence { low: 70 * i - 7, high: 70 * i }).collect();
/// let run = FenceRun::whole(&fences);
/// assert!((32..=64).contains(&hist_tree::lines(&run, 64, u64::MAX).len()));
/// assert!(hist_tree::lines(&run, 4, 16).len() >= 64);
/// ```
pub fn lines(run: &FenceRun<'_>, bins: u64, children_max: u64) -> Vec<LineNode> {
    let bits = bins.clamp(1, BINS_MAX).ilog2();
    let children = run.fences.len() + usize::from(run.at_end);
    let mut histogram = Histogram { run, bits, children_max, ends: Vec::new() };
    let (low, high) = (histogram.first_key(0), histogram.first_key(children.saturating_sub(1)));
    histogram.divide(0..children, low, u64::BITS - (high - low).leading_zeros());
    let flat = |end| Proposal { end, slope: 0.0, offset: 0.0 };
    nodes(run, histogram.ends.into_iter().map(flat), 1)
}

/// The bins of a run, as they are found.
struct Histogram<'a> {
    run: &'a FenceRun<'a>,
    /// Bits of a key that number the bins of a node.
    bits: u32,
    children_max: u64,
    /// The children after each bin.
    ends: Vec<usize>,
}

impl Histogram<'_> {
    /// The first key of a child.
    fn first_key(&self, child: usize) -> u64 {
        match child.checked_sub(1).and_then(|k| self.run.fences.get(k)) {
            Some(fence) => fence.start().unwrap_or(u64::MAX),
            None => self.run.line_start(),
        }
    }

    /// Divides these children, whose first keys lie at most `2^width_bits` above `low`.
    fn divide(&mut self, children: Range<usize>, low: u64, width_bits: u32) {
        let bin_bits = width_bits.saturating_sub(self.bits);
        let mut from = children.start;
        while from < children.end {
            let number = |child| (self.first_key(child) - low).checked_shr(bin_bits).unwrap_or(0);
            let bin = number(from);
            let end = from + partition_point(children.end - from, |after| number(from + after) <= bin);
            if (end - from) as u64 > self.children_max && bin_bits < width_bits && bin_bits > 0 {
                self.divide(from..end, low + (bin << bin_bits), bin_bits);
            } else {
                self.ends.push(end);
            }
            from = end;
        }
    }
}

/// The first index below `len` for which the predicate fails, or `len`; it holds up to there.
fn partition_point(len: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive_model::Fence;

    fn fences(keys: &[u64]) -> Vec<Fence> {
        keys.windows(2).map(|pair| Fence { low: pair[0], high: pair[1] }).collect()
    }

    fn starts(keys: &[u64], bins: u64, children_max: u64) -> Vec<u64> {
        let fences = fences(keys);
        lines(&FenceRun::whole(&fences), bins, children_max).iter().map(|node| node.start).collect()
    }

    #[test]
    fn a_radix_table_has_a_node_for_each_bin_with_a_first_key() {
        // 0 to 63 in bins of 16: none begins at 32 to 47.
        let keys = [0, 1, 5, 17, 18, 31, 50, 63];
        assert_eq!(starts(&keys, 4, u64::MAX), [0, 17, 50]);
        assert_eq!(starts(&keys, 7, u64::MAX), [0, 17, 50], "rounded down to 4");
        assert_eq!(starts(&keys, 1, u64::MAX), [0]);
        assert_eq!(starts(&keys, u64::MAX, u64::MAX), keys);
    }

    #[test]
    fn crowded_bins_are_divided_and_others_are_not() {
        let crowd: Vec<u64> = (0..64).collect();
        let keys: Vec<u64> = crowd.into_iter().chain([1 << 20, 2 << 20, 3 << 20, (4 << 20) - 1]).collect();
        let sizes: Vec<usize> = {
            let mut bounds = starts(&keys, 4, 4);
            bounds.push(u64::MAX);
            bounds.windows(2).map(|pair| keys.iter().filter(|key| (pair[0]..pair[1]).contains(key)).count()).collect()
        };
        assert!(sizes.iter().all(|&size| size <= 4), "{sizes:?}");
        // 16 bins of 4 neighbours, and the four bins of the root.
        assert_eq!(sizes.len(), 16 + 3, "{sizes:?}");
        assert_eq!(starts(&keys, 4, u64::MAX).len(), 4);
    }

    #[test]
    fn equal_keys_and_both_ends_of_the_range_end_the_division() {
        // Keys after the run, from 8 on, belong to the last child.
        assert_eq!(starts(&[7; 100], 4, 1), [7, 8]);
        assert_eq!(starts(&[u64::MAX; 100], 4, 1), [u64::MAX]);
        assert_eq!(starts(&[0, u64::MAX], 2, 1).len(), 2);
        assert_eq!(starts(&[], 2, 1).len(), 1);
    }
}
