//! Band nodes: lines with an error window, either as long as a given window allows or as narrow as a given group
//! allows.

use crate::FenceRun;
use crate::greedy::{LineConstraint, Part, greedy_nodes};
use crate::line::{LineNode, OFFSET_WINDOWS, WINDOW_CHILDREN_MAX, fit, offset_step, storable_window};

/// Greedy band: as many fences per node as a window of `window_children` (1 to [`MAX_WINDOW`]) allows.
///
/// ```text
///   fences   o  o  o  o       o      o      o           one line for the first four, another for the rest
/// ```
///
/// A line must lead to both children of a fence for every key in the gap between them, so a window of 1 cannot bridge a
/// gap with room for an absent key: it gives one node for each run of dense keys. A node covers at least one fence.
///
/// Whether a line exists is decided exactly, in integers; then slope and offset are rounded to their stored form and
/// measured again, and a node that is invalidated by the rounding is split there.
///
/// Source: AirIndex, Appendix A.1 (GBand). Takes O(n) time.
///
/// ```
/// use ogive_model::{Fence, FenceRun, band};
/// // Blocks of ten keys that are 7 apart: one line.
/// let fences: Vec<Fence> = (1..1000).map(|i| Fence { low: 70 * i - 7, high: 70 * i }).collect();
/// let nodes = band::greedy(&FenceRun::whole(&fences), 2);
/// assert_eq!((nodes.len(), nodes[0].window), (1, 2));
/// ```
pub fn greedy(run: &FenceRun<'_>, window_children: u64) -> Vec<LineNode> {
    let window = window_children.clamp(1, WINDOW_CHILDREN_MAX);
    let storable = (1..=window).rev().find(|&shorter| storable_window(shorter) <= window);
    greedy_nodes(run, LineConstraint::Window(storable.unwrap_or(1)))
}

/// Equal band: groups of `children_per_node` children, each with the line of least window.
///
/// If equal keys cross the border of a group, the group ends after them. A group for which no line has a window within
/// [`MAX_WINDOW`] is halved.
///
/// Source: AirIndex, Appendix A.1 (EBand). Takes O(n) time.
///
/// ```
/// use ogive_model::{Fence, FenceRun, band};
/// let fences: Vec<Fence> = (1..1000).map(|i| Fence { low: i * i * 90 - 1, high: i * i * 90 }).collect();
/// let nodes = band::equal(&FenceRun::whole(&fences), 100);
/// assert_eq!(nodes.len(), 10);
/// assert!(nodes[9].window < 10);
/// ```
pub fn equal(run: &FenceRun<'_>, children_per_node: u64) -> Vec<LineNode> {
    let length = usize::try_from(children_per_node.max(1)).unwrap_or(usize::MAX);
    let mut nodes = Vec::with_capacity(run.fences.len() / length + 1);
    let mut narrowest = NarrowestLine::default();
    let mut next = Part::first(run);
    while let Some(part) = next {
        let mut end = run.border_from(part.from.saturating_add(length));
        let node = loop {
            match narrowest.line(run, part, end) {
                Some(node) => break node,
                None => end = part.halve(run, end),
            }
        };
        nodes.push(node);
        next = part.after(run, end);
    }
    nodes
}

/// The line of least width between two chains of corners.
#[derive(Debug, Default)]
struct NarrowestLine {
    /// Distances from the start at which child `k` must still be in the window; always the case for the last.
    lefts: Vec<f64>,
    /// Distances at which child `k + 1` must already be in the window; fewer, if the next node covers the last ones.
    rights: Vec<f64>,
}

/// A lower bound of the window, linear in the slope.
#[derive(Clone, Copy, Debug)]
struct WidthBound {
    base: f64,
    gradient: f64,
}

impl WidthBound {
    /// From the two corners, each a distance and a rise, that touch the parallel lines around all.
    fn between(left: (f64, f64), right: (f64, f64)) -> Self {
        WidthBound { base: right.1 - left.1, gradient: left.0 - right.0 }
    }

    fn at(self, slope: f64) -> f64 {
        self.base + self.gradient * slope
    }

    fn meets(self, other: WidthBound) -> f64 {
        (self.base - other.base) / (other.gradient - self.gradient)
    }
}

impl NarrowestLine {
    /// The node of the children `part.from..end` of the run; `None` if its window is too long to be stored.
    fn line(&mut self, run: &FenceRun<'_>, part: Part, end: usize) -> Option<LineNode> {
        let span = part.span(run, end);
        let distance = |x: u64| x.saturating_sub(span.start) as f64;
        self.lefts.clear();
        let before_last = span.fences.split_last().map_or(&[][..], |(_, before)| before);
        self.lefts.extend(before_last.iter().map(|fence| distance(fence.last_left())));
        let needed = span.fences_with_right();
        self.rights.clear();
        self.rights.extend(span.fences[..needed].iter().map(|fence| distance(fence.first_right())));
        let (slope, offset, width) = self.least_width();
        let hint = (width as u64 + 1).min(WINDOW_CHILDREN_MAX);
        let offset = 1.0 - offset - offset_step(hint) / 2.0;
        fit(&span, part.first_child(run), slope as f32, offset, hint, WINDOW_CHILDREN_MAX).ok()
    }

    /// The non-negative slope with the closest parallel lines around all corners; the height of the lower line above
    /// the first child's floor at the start; and the distance of the lines.
    ///
    /// The distance is a convex, piecewise linear function of the slope, and each piece is a lower bound everywhere. Of
    /// the known pieces, the last descending and the last ascending one intersect at the next slope to evaluate, until
    /// the distance there equals their bound: cutting planes (Kelley, 1960). A few passes in memory order suffice.
    fn least_width(&self) -> (f64, f64, f64) {
        let (Some(&first_right), Some(&last_right)) = (self.rights.first(), self.rights.last()) else {
            return (0.0, 0.0, 0.0);
        };
        let (Some(&first_left), Some(&last_left)) = (self.lefts.first(), self.lefts.last()) else {
            // One fence: the line need only reach the second child after it.
            return if first_right > 0.0 { (1.5 / first_right, 0.0, 0.0) } else { (0.0, 0.0, 1.0) };
        };
        let mut falling = WidthBound::between((first_left, 0.0), (last_right, self.rights.len() as f64));
        let mut rising = WidthBound::between((last_left, self.lefts.len() as f64 - 1.0), (first_right, 1.0));
        let mut best = (0.0, 0.0, falling.at(0.0));
        for _ in 0..BISECTION_STEPS_MAX {
            let slope = falling.meets(rising);
            if !slope.is_finite() || slope < 0.0 {
                break;
            }
            let (cut, height) = self.cut(slope);
            let width = cut.at(slope);
            if width < best.2 {
                best = (slope, height, width);
            }
            if width <= falling.at(slope) + 1e-9 {
                break;
            }
            if cut.gradient < 0.0 {
                falling = cut;
            } else {
                rising = cut;
            }
        }
        best
    }

    /// The greatest lower bound at this slope, and the height of its lower line above the first child's floor at the
    /// start.
    fn cut(&self, slope: f64) -> (WidthBound, f64) {
        let left = highest(&self.lefts, |x, rise| x * slope - rise);
        let right = highest(&self.rights, |x, rise| rise - x * slope);
        let (left, right) = ((self.lefts[left], left as f64), (self.rights[right], right as f64 + 1.0));
        let height = left.0 * slope - left.1;
        let width = WidthBound::between(left, right);
        // A line far below the first child at its start can be stored only with a long window.
        let windows = OFFSET_WINDOWS as f64;
        let depth = WidthBound { base: -left.1 / windows, gradient: left.0 / windows };
        (if depth.at(slope) > width.at(slope) { depth } else { width }, height)
    }
}

/// Limit for the number of passes; about six are usual.
const BISECTION_STEPS_MAX: usize = 40;

/// The index of the corner with the greatest height.
fn highest(distances: &[f64], height: impl Fn(f64, f64) -> f64) -> usize {
    const LANES: usize = 4;
    let mut greatest = [f64::NEG_INFINITY; LANES];
    let mut rises: [f64; LANES] = std::array::from_fn(|lane| lane as f64);
    let chunks = distances.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for lane in 0..LANES {
            let at = height(chunk[lane], rises[lane]);
            greatest[lane] = if at > greatest[lane] { at } else { greatest[lane] };
            rises[lane] += LANES as f64;
        }
    }
    let whole = distances.len() - rest.len();
    let of_rest = rest.iter().enumerate().map(|(i, &x)| height(x, (whole + i) as f64));
    let top = greatest.into_iter().chain(of_rest).fold(f64::NEG_INFINITY, f64::max);
    distances.iter().enumerate().position(|(i, &x)| height(x, i as f64) >= top).unwrap_or(0)
}
