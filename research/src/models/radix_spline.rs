//! RadixSpline: a spline within an error corridor, and a radix table from the leading bits of a key to its knots.

use crate::models::locate::{Locate, last_between, last_from, mean_window_children};
use crate::models::tuning::EvaluatedSetting;
use ogive_model::{Fence, FenceRun};
use std::ops::RangeInclusive;

mod corridor;
mod lines;

pub use lines::lines;

/// Largest number of radix bits.
pub const RADIX_BITS_MAX: u32 = 28;

/// The parameters of a RadixSpline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadixSplineSetting {
    /// Largest distance of the spline from the first key of a child, in children.
    pub error_children: u64,
    /// Number of key bits, after the common prefix, that index the radix table, which has 4 bytes for each value.
    pub radix_bits: u32,
}

/// The point where two segments of the spline meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Knot {
    x: u64,
    child: u64,
}

/// A spline over the children, with a radix table over its knots.
///
/// ```text
///   child                    .--o      knots are first keys of children; between two of them the spline is a
///     |         .-o------'''           straight line, which passes no other child's first key at a distance of
///     |  o---'''                       more than the error
///     +--+--------+-------------+-- x
///   table: 00 01 10 11 -> first knot with these bits
/// ```
///
/// The spline is built greedily in one pass; a second pass measures, with the arithmetic of lookups, its largest errors
/// above and below.
///
/// Source: Kipf et al., "RadixSpline: a single-pass learned index" (aiDM 2020). There the bound is the requested error
/// and holds for the real line; here it is measured, for absent keys too.
///
/// ```
/// use ogive_model::Fence;
/// use ogive_research::models::{Locate, radix_spline::{RadixSpline, RadixSplineSetting}};
/// let keys: Vec<u64> = (0..100_000).map(|i| i * i).collect();
/// let fences: Vec<Fence> = keys.windows(2).map(|pair| Fence { low: pair[0], high: pair[1] }).collect();
/// let spline = RadixSpline::build(&fences, RadixSplineSetting { error_children: 32, radix_bits: 10 });
/// let window = spline.window(keys[77_777]);
/// assert!(window.contains(&77_777) && window.end() - window.start() < 80);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RadixSpline {
    knots: Box<[Knot]>,
    /// For each value of the bits, the first knot with at least that value; and a last entry, the number of knots.
    table: Box<[u32]>,
    shift: u32,
    children: u64,
    /// Number of children by which the line's floor may lie above the needed child, and below it.
    below: i64,
    above: i64,
}

impl RadixSpline {
    /// Builds the structure for the children between the `fences`.
    pub fn build(fences: &[Fence], setting: RadixSplineSetting) -> Self {
        let points = corridor::points(&FenceRun::whole(fences));
        let knots = corridor::greedy(points, setting.error_children);
        let knots: Box<[Knot]> = knots.into_iter().map(|(x, child)| Knot { x, child }).collect();
        let (table, shift) = radix_table(&knots, setting.radix_bits);
        let mut spline = Self { knots, table, shift, children: fences.len() as u64 + 1, below: 0, above: 0 };
        spline.measure(fences);
        spline
    }

    /// Number of knots of the spline.
    pub fn knots(&self) -> usize {
        self.knots.len()
    }

    /// Number of knots that a descent searches, on average over the knots.
    pub fn mean_knots_searched(&self) -> f64 {
        let squares: f64 = self.table.windows(2).map(|pair| f64::from(pair[1] - pair[0]).powi(2)).sum();
        squares / self.knots.len().max(1) as f64 + 1.0
    }

    fn measure(&mut self, fences: &[Fence]) {
        let (mut below, mut above) = (0, 0);
        let (mut right_leaf, mut left_leaf) = (0, 0);
        // The line never decreases, so between two of these keys its error is at most that at one of them.
        for (k, fence) in fences.iter().enumerate() {
            if fence.low < u64::MAX {
                right_leaf = self.leaf_from(right_leaf, fence.first_right());
                above = above.max(k as i64 + 1 - self.line(right_leaf, fence.first_right()));
            }
            left_leaf = self.leaf_from(left_leaf, fence.last_left());
            below = below.max(self.line(left_leaf, fence.last_left()) - k as i64);
        }
        (self.below, self.above) = (below, above);
    }

    /// The child that the segment from a knot to the next predicts for `x`, rounded down.
    fn line(&self, leaf: usize, x: u64) -> i64 {
        let Some(from) = self.knots.get(leaf) else { return 0 };
        let child = from.child as i64;
        let Some(to) = self.knots.get(leaf + 1) else { return child };
        let slope = (to.child - from.child) as f64 / (to.x - from.x) as f64;
        // Rounding must not carry the line beyond the knot where the next one begins.
        child + (((x.saturating_sub(from.x)) as f64 * slope) as i64).min((to.child - from.child) as i64)
    }

    fn start(&self) -> impl Fn(usize) -> u64 {
        |leaf| self.knots.get(leaf).map_or(u64::MAX, |knot| knot.x)
    }
}

/// The radix table, and the number of bits by which a distance from the first knot is shifted to index it.
fn radix_table(knots: &[Knot], radix_bits: u32) -> (Box<[u32]>, u32) {
    let (Some(first), Some(last)) = (knots.first(), knots.last()) else { return (Box::default(), 0) };
    // Entries are 32 bits wide; with more knots there is no table, and the search covers all of them.
    if u32::try_from(knots.len()).is_err() {
        return (Box::default(), 0);
    }
    let distance_bits = u64::BITS - (last.x - first.x).leading_zeros();
    let shift = distance_bits.saturating_sub(radix_bits.min(RADIX_BITS_MAX));
    let value_of = |x: u64| (x - first.x).checked_shr(shift).unwrap_or(0) as usize;
    let values = value_of(last.x) + 1;
    let mut table = Vec::with_capacity(values + 1);
    for (number, knot) in knots.iter().enumerate() {
        let value = value_of(knot.x);
        while table.len() <= value {
            table.push(number as u32);
        }
    }
    table.resize(values + 1, knots.len() as u32);
    (table.into_boxed_slice(), shift)
}

impl Locate for RadixSpline {
    fn children(&self) -> u64 {
        self.children
    }

    fn leaves(&self) -> usize {
        self.knots.len()
    }

    fn leaf_of(&self, x: u64) -> usize {
        let Some(first) = self.knots.first() else { return 0 };
        let value = x.saturating_sub(first.x).checked_shr(self.shift).unwrap_or(0);
        let value = usize::try_from(value).unwrap_or(usize::MAX);
        let (low, high) = match (self.table.get(value), self.table.get(value.saturating_add(1))) {
            (Some(&low), Some(&high)) => (low as usize, high as usize),
            // After the last knot.
            (..) if !self.table.is_empty() => return self.knots.len() - 1,
            (..) => (0, self.knots.len()),
        };
        // The knot before the first with these bits covers keys left of that.
        last_between(low.saturating_sub(1), high, x, self.start())
    }

    fn leaf_from(&self, leaf: usize, x: u64) -> usize {
        last_from(self.knots.len(), leaf, x, self.start())
    }

    fn window_in(&self, leaf: usize, x: u64) -> RangeInclusive<u64> {
        let line = self.line(leaf, x);
        let cut = |child: i64| (child.max(0) as u64).min(self.children - 1);
        cut(line - self.below)..=cut(line + self.above)
    }

    fn resident_bytes(&self) -> u64 {
        (size_of::<Self>() + size_of_val(&*self.knots) + size_of_val(&*self.table)) as u64
    }
}

/// Tries errors (powers of two up to `most_error_children`) and radix bits, for [`crate::models::tuning::pareto`].
///
/// The search width of a setting is the number of children in its window plus a term for the knots that a descent has
/// to search beyond the first few, so that tables that are too small are not favoured.
///
/// Source: the same, Section 3 (both parameters trade size for time); Marcus et al., "Benchmarking Learned Indexes"
/// (VLDB 2020), who use the Pareto-optimal ones.
pub fn try_settings(fences: &[Fence], most_error_children: u64) -> Vec<EvaluatedSetting<RadixSplineSetting>> {
    let mut tried = Vec::new();
    let errors = std::iter::successors(Some(1_u64), |error| error.checked_mul(2));
    for error_children in errors.take_while(|&error| error <= most_error_children.max(1)) {
        let spline = RadixSpline::build(fences, RadixSplineSetting { error_children, radix_bits: 0 });
        let window = mean_window_children(&spline, fences);
        for radix_bits in (0..=most_useful_bits(spline.knots())).step_by(2) {
            let (table, shift) = radix_table(&spline.knots, radix_bits);
            let with = RadixSpline { knots: spline.knots.clone(), table, shift, ..spline };
            tried.push(EvaluatedSetting {
                setting: RadixSplineSetting { error_children, radix_bits },
                resident_bytes: with.resident_bytes(),
                search_width: window + (with.mean_knots_searched().log2() / KNOT_STEPS_A_CHILD).max(0.0),
            });
        }
    }
    tried
}

/// Steps of a binary search in memory that cost as much as one more child in a window: a child is read from storage, at
/// tens of microseconds versus a few nanoseconds per step.
const KNOT_STEPS_A_CHILD: f64 = 4096.0;

/// Number of bits beyond which a table has more than four entries per knot.
fn most_useful_bits(knots: usize) -> u32 {
    (usize::BITS - knots.leading_zeros() + 2).min(RADIX_BITS_MAX)
}
