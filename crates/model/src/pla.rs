//! Optimal piecewise linear approximation (PLA), as in the PGM-index.

use crate::FenceRun;
use crate::corridor::{Corner, Corridor};
use crate::greedy::{LineConstraint, greedy_nodes};
use crate::line::LineNode;

/// As few lines as possible with an error of at most `error_children` at the first key of each child; then the window
/// of each is measured, about `2 * error_children + 2`.
///
/// Source: PGM-index (Ferragina and Vinciguerra, VLDB 2020), Section 2.1. Takes O(n) time.
///
/// ```
/// use ogive_model::{Fence, FenceRun, pla};
/// let fences: Vec<Fence> = (1..1000).map(|i| Fence { low: 70 * i - 7, high: 70 * i }).collect();
/// assert_eq!(pla::optimal(&FenceRun::whole(&fences), 1).len(), 1);
/// ```
pub fn optimal(run: &FenceRun<'_>, error_children: u64) -> Vec<LineNode> {
    greedy_nodes(run, LineConstraint::Error(error_children))
}

/// The least number of lines with an error of at most `error` at all positions: a measure of how hard keys are.
///
/// Keys must be sorted, with ascending positions; of equal keys only the first counts.
///
/// ```
/// use ogive_model::pla;
/// let steps = (0..1000u64).map(|i| (i / 10 * 1_000_000 + i % 10, i));
/// assert_eq!(pla::segments(steps.clone(), 16), 1);
/// assert!(pla::segments(steps, 1) > 50);
/// ```
pub fn segments(points: impl IntoIterator<Item = (u64, u64)>, error: u64) -> u64 {
    const FARTHEST: u64 = 1 << 60;
    let slack = error.min(FARTHEST) as i64;
    let mut corridor = Corridor::default();
    let mut origin: Option<(u64, u64)> = None;
    let mut count = 0;
    let mut last_key = None;
    for (key, position) in points {
        if last_key.replace(key) == Some(key) {
            continue;
        }
        if let Some((first_key, first_position)) = origin {
            let y = position.saturating_sub(first_position).min(FARTHEST) as i64;
            let x = key.saturating_sub(first_key);
            if corridor.push_floor(Corner { x, y: y - slack }) && corridor.push_ceiling(Corner { x, y: y + slack }) {
                continue;
            }
        }
        count += 1;
        origin = Some((key, position));
        corridor.clear();
        corridor.push_floor(Corner { x: 0, y: -slack });
        corridor.push_ceiling(Corner { x: 0, y: slack });
    }
    count
}

/// The longest line from a first point on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Longest {
    /// Number of points it fits.
    pub points: usize,
    /// Positions per unit of distance; finite and not negative.
    pub slope: f64,
    /// Position at distance 0.
    pub offset: f64,
}

/// Fits as many points from the first on as one line can within an error of `error`; returns the middle one of the
/// possible lines. Point `k` is at distance `distances[k]` from the first (so the first distance is 0, and distances do
/// not decrease) and has position `k`.
///
/// The line is exact in real numbers: callers that store its parameters must measure the effect of rounding.
///
/// ```
/// use ogive_model::pla;
/// let distances: Vec<u64> = (0..50).map(|i| 20 * i).chain((0..50).map(|i| 1_000 + i)).collect();
/// let (tight, loose) = (pla::longest(distances.iter().copied(), 1), pla::longest(distances.iter().copied(), 25));
/// assert!((51..60).contains(&tight.points) && loose.points == 100);
/// ```
pub fn longest(distances: impl IntoIterator<Item = u64>, error: u64) -> Longest {
    const FARTHEST: u64 = 1 << 60;
    let slack = error.min(FARTHEST) as i64;
    let mut corridor = Corridor::default();
    let mut points = 0;
    for x in distances {
        let y = points as i64;
        // If the second corner leaves no line, the first one alone changed the set of lines: harmless, as those still
        // fit the points before.
        if !corridor.push_floor(Corner { x, y: y - slack }) || !corridor.push_ceiling(Corner { x, y: y + slack }) {
            break;
        }
        points += 1;
    }
    let slope = corridor.middle_slope();
    let (least, greatest) = corridor.offsets(slope);
    let offset = if least.is_finite() && greatest.is_finite() { (least + greatest) / 2.0 } else { 0.0 };
    Longest { points, slope, offset }
}
