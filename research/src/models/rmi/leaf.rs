//! RMI leaf models: a line with its measured error.

use super::root::Root;
use ogive_model::Fence;
use std::ops::{Range, RangeInclusive};

/// A line over the children in the leaf's range of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LeafModel {
    /// The key at which the line has its offset; smaller keys count as this one.
    start: u64,
    /// The lowest child that the first key of the range may be in, doubled; plus one if it may also be in the next.
    first_and_gap: u64,
    slope: f32,
    offset: f32,
    /// Largest distance of the line's floor above the lowest needed child, and below the highest. Either may be
    /// negative; [`UNKNOWN`] bounds nothing.
    below: i32,
    above: i32,
}

/// The last children that a leaf has to lead to: the lowest and the highest that its last key may be in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LeafEnd {
    lowest: u64,
    highest: u64,
}

/// An error that does not fit: the window is then as long as the leaf.
const UNKNOWN: i32 = i32::MAX;

/// Fraction of a child by which a line is raised if rounding its offset would miss the child.
const NUDGE_RATIO: f32 = 1.0 / (1 << 20) as f32;

impl LeafModel {
    fn first(&self) -> u64 {
        self.first_and_gap / 2
    }

    /// The end of the previous leaf: its last key lies right before this leaf's first.
    pub(super) fn end_of_the_one_before(&self) -> LeafEnd {
        LeafEnd { lowest: self.first(), highest: self.first() + self.first_and_gap % 2 }
    }

    /// The line's floor above the first child. Monotone in `x`; never NaN.
    fn line(&self, x: u64) -> i64 {
        (f64::from(self.slope) * (x.saturating_sub(self.start) as f64) + f64::from(self.offset)).floor() as i64
    }

    /// The children that may hold `x`, within the leaf's range.
    pub(super) fn window(&self, x: u64, end: LeafEnd) -> RangeInclusive<u64> {
        let at_first = self.end_of_the_one_before();
        let line = self.line(x);
        let moved = |by: i64| (self.first() as i64).saturating_add(line.saturating_add(by)).max(0) as u64;
        let lowest = if self.below == UNKNOWN { 0 } else { moved(-i64::from(self.below)) };
        let highest = if self.above == UNKNOWN { u64::MAX } else { moved(i64::from(self.above)) };
        // The children needed for the first and last key of the range are known, so only the borders between them are
        // measured.
        let lowest = lowest.max(at_first.lowest).min(end.lowest.max(at_first.lowest));
        lowest..=highest.max(at_first.highest).min(end.highest.max(at_first.highest)).max(lowest)
    }
}

/// Trains one line for each leaf of a root; also returns the end of the last leaf.
pub(super) fn train(fences: &[Fence], root: &Root, leaves: usize) -> (Box<[LeafModel]>, LeafEnd) {
    let mut trained = vec![LeafModel::default(); leaves];
    let (mut lefts, mut rights) = (0..0, 0..0);
    // A border constrains two keys, the last that needs its left child and the first that needs its right one; each
    // belongs to the leaf that covers it.
    for (number, leaf) in trained.iter_mut().enumerate() {
        lefts = next_run(fences, lefts, |fence| root.leaf_of(fence.last_left()) <= number);
        rights = next_run(fences, rights, |fence| fence.low < u64::MAX && root.leaf_of(fence.first_right()) <= number);
        *leaf = fit(fences, &lefts, &rights);
    }
    (trained.into_boxed_slice(), LeafEnd { lowest: lefts.end as u64, highest: rights.end.max(lefts.end) as u64 })
}

/// The fences after a range that belong to the leaf.
fn next_run(fences: &[Fence], before: Range<usize>, belongs: impl Fn(&Fence) -> bool) -> Range<usize> {
    let more = fences.get(before.end..).unwrap_or(&[]).iter().take_while(|fence| belongs(fence)).count();
    before.end..before.end + more
}

/// The leaf that needs the left children of the fences `lefts`, and the right ones of `rights`.
fn fit(fences: &[Fence], lefts: &Range<usize>, rights: &Range<usize>) -> LeafModel {
    let first = lefts.start as u64;
    let gap = u64::from(rights.start > lefts.start);
    let flat = LeafModel { first_and_gap: 2 * first + gap, ..LeafModel::default() };
    let borders = LeafBorders {
        lefts: &fences[lefts.clone()],
        rights: &fences[rights.clone()],
        lefts_at: 0,
        rights_at: rights.start as i64 - first as i64,
    };
    let Some(start) = borders.start() else { return flat };
    let (slope, offset) = borders.regression(start);
    let line = LeafModel { start, slope: slope as f32, ..flat };
    // The lowest line that reaches every right child in time. Its floor is never too low, and minimally too high.
    let lowest = borders.lowest_offset(&line);
    let lowest = if lowest.is_finite() { lowest } else { offset };
    let exact = borders.measured(LeafModel { offset: lowest as f32, ..line });
    let nudged =
        borders.measured(LeafModel { offset: (lowest as f32) + NUDGE_RATIO * (lowest as f32).abs().max(1.0), ..line });
    if exact.width() <= nudged.width() { exact } else { nudged }
}

/// The borders that constrain a leaf, in children above its first.
struct LeafBorders<'a> {
    lefts: &'a [Fence],
    rights: &'a [Fence],
    lefts_at: i64,
    rights_at: i64,
}

impl LeafBorders<'_> {
    /// The last keys that need a left child, each with the child.
    fn lefts(&self) -> impl Iterator<Item = (u64, i64)> {
        (self.lefts_at..).zip(self.lefts).map(|(child, fence)| (fence.last_left(), child))
    }

    /// The first keys that need a right child, each with the child.
    fn rights(&self) -> impl Iterator<Item = (u64, i64)> {
        (self.rights_at + 1..).zip(self.rights).map(|(child, fence)| (fence.first_right(), child))
    }

    fn start(&self) -> Option<u64> {
        let first = self.lefts().next().map(|(x, _)| x);
        self.rights().next().map(|(x, _)| x).into_iter().chain(first).min()
    }

    /// Non-negative slope, and offset, of the regression line through the borders, at both sides of each gap.
    fn regression(&self, start: u64) -> (f64, f64) {
        let (mut count, mut mean_x, mut mean_y, mut spread, mut product) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let lefts = self.lefts().map(|(x, child)| (x, child + 1));
        for (x, border) in lefts.chain(self.rights()) {
            let (x, y) = (x.saturating_sub(start) as f64, border as f64);
            count += 1.0;
            let from_mean = x - mean_x;
            mean_x += from_mean / count;
            mean_y += (y - mean_y) / count;
            spread += from_mean * (x - mean_x);
            product += from_mean * (y - mean_y);
        }
        let slope = if spread > 0.0 { (product / spread).max(0.0) } else { 0.0 };
        (slope, mean_y - slope * mean_x)
    }

    fn lowest_offset(&self, line: &LeafModel) -> f64 {
        let rise = |x: u64| f64::from(line.slope) * (x.saturating_sub(line.start) as f64);
        self.rights().map(|(x, child)| child as f64 - rise(x)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The leaf with its measured errors.
    fn measured(&self, leaf: LeafModel) -> LeafModel {
        let below = self.lefts().map(|(x, child)| leaf.line(x).saturating_sub(child)).max();
        let above = self.rights().map(|(x, child)| child.saturating_sub(leaf.line(x))).max();
        let stored = |error: Option<i64>, other: Option<i64>| {
            i32::try_from(error.unwrap_or_else(|| other.unwrap_or(0).saturating_neg())).unwrap_or(UNKNOWN)
        };
        LeafModel { below: stored(below, above), above: stored(above, below), ..leaf }
    }
}

impl LeafModel {
    fn width(&self) -> i64 {
        i64::from(self.below) + i64::from(self.above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_does_not_fit_makes_the_window_as_long_as_the_leaf() {
        let end = LeafEnd { lowest: 1 << 40, highest: (1 << 40) + 1 };
        let leaf = LeafModel { start: 5, first_and_gap: 2 * 7 + 1, slope: 1.0, ..LeafModel::default() };
        let unknown = LeafModel { below: UNKNOWN, above: UNKNOWN, ..leaf };
        assert_eq!(unknown.window(9, end), 7..=(1 << 40) + 1);
        assert_eq!(LeafModel { below: UNKNOWN, ..leaf }.window(105, end), 7..=107);
        assert_eq!(LeafModel { above: UNKNOWN, ..leaf }.window(105, end), 107..=(1 << 40) + 1);
    }

    #[test]
    fn windows_stay_within_the_leaf_however_steep_its_line_is() {
        let end = LeafEnd { lowest: 9, highest: 10 };
        let steep =
            LeafModel { start: 0, first_and_gap: 2 * 7 + 1, slope: f32::MAX, offset: f32::MIN, ..LeafModel::default() };
        for x in [0, 1, 1 << 63, u64::MAX] {
            let window = steep.window(x, end);
            assert!(*window.start() >= 7 && *window.end() <= 10 && !window.is_empty(), "{x}: {window:?}");
        }
    }

    #[test]
    fn a_leaf_without_borders_leads_to_the_children_that_its_keys_lie_between() {
        let fences = [Fence { low: 10, high: 20 }, Fence { low: 30, high: 31 }];
        let (inside_a_gap, inside_a_child) = (fit(&fences, &(0..0), &(1..1)), fit(&fences, &(1..1), &(1..1)));
        assert_eq!(inside_a_gap.window(15, LeafEnd { lowest: 0, highest: 1 }), 0..=1);
        assert_eq!(inside_a_child.window(25, LeafEnd { lowest: 1, highest: 1 }), 1..=1);
    }
}
