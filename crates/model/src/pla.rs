//! Optimal piecewise linear approximation (PLA), as in the PGM-index.

use crate::FenceRun;
use crate::corridor::{Corner, Corridor};
use crate::line::LineNode;
use crate::stretch::{Rule, stretch};

/// Lines that miss the first coordinate of each child by at most `error_children`, as few as possible; then the window of
/// each is measured, about `2 * error_children + 2`.
///
/// Source: PGM-index (Ferragina and Vinciguerra, VLDB 2020), Section 2.1. The order of time is O(n).
///
/// ```
/// use ogive_model::{Fence, FenceRun, pla};
/// let fences: Vec<Fence> = (1..1000).map(|i| Fence { low: 70 * i - 7, high: 70 * i }).collect();
/// assert_eq!(pla::optimal(&FenceRun::whole(&fences), 1).len(), 1);
/// ```
pub fn optimal(run: &FenceRun<'_>, error_children: u64) -> Vec<LineNode> {
    stretch(run, Rule::Error(error_children))
}

/// The least number of lines that miss none of the positions by more than `error`: a measure of how hard keys are.
///
/// Keys come sorted with rising positions; of equal keys only the first counts.
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
    /// How many points it serves.
    pub points: usize,
    /// Positions for each unit of distance; finite and not negative.
    pub slope: f64,
    /// Position at distance 0.
    pub offset: f64,
}

/// As many points from the first on as one line can serve with no position missed by more than `error`; the middle line of
/// those that can. Point `k` stands at distance `distances[k]` from the first (so that the first distance is 0, and none is
/// less than the one before) and has position `k`.
///
/// The line is exact in the reals: whoever stores its parameters must measure what rounding does to it.
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
        // Of the two corners the first one alone changes the lines that remain, if the second finds none: harmless, as
        // they still serve the points before.
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
