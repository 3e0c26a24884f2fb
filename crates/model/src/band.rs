//! Bands: lines with a window, as long as a window allows, or as narrow as a group allows.

use crate::FenceRun;
use crate::line::{LineNode, MAX_WINDOW, fit, offset_step};
use crate::stretch::{Part, Rule, stretch};

/// Greedy band: as many fences a node as a window of `window_children` (1 to [`MAX_WINDOW`]) allows.
///
/// ```text
///   fences   o  o  o  o       o      o      o           one line for the first four, another for the rest
/// ```
///
/// A line must lead to both children of a fence from every coordinate in the gap between them, so the least window is 2
/// wherever a gap has room for an absent key, and 1 only where keys are dense. A node covers at least one fence,
/// whatever window that takes (never more than 2).
///
/// Whether a line exists is decided exactly, in integers; then slope and offset are rounded to their stored form and
/// measured again, and a node that the rounding broke is cut where it broke.
///
/// Source: AirIndex, Appendix A.1 (GBand). The order of time is O(n).
///
/// ```
/// use ogive_model::{Fence, FenceRun, band};
/// // Blocks of ten keys that are 7 apart: one line.
/// let fences: Vec<Fence> = (1..1000).map(|i| Fence { low: 70 * i - 7, high: 70 * i }).collect();
/// let nodes = band::greedy(&FenceRun::whole(&fences), 2);
/// assert_eq!((nodes.len(), nodes[0].window), (1, 2));
/// ```
pub fn greedy(run: &FenceRun<'_>, window_children: u64) -> Vec<LineNode> {
    stretch(run, Rule::Window(window_children.clamp(1, MAX_WINDOW)))
}

/// Equal band: groups of `children_per_node` children, and for each the line whose window is least.
///
/// Where equal keys cross the border of a group, it ends behind their run. A group that no line serves within [`MAX_WINDOW`]
/// is halved.
///
/// Source: AirIndex, Appendix A.1 (EBand). The order of time is O(n).
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
    let mut narrowest = Narrowest::default();
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
struct Narrowest {
    /// Distances from the start at which child `k` must still be in the window.
    lefts: Vec<f64>,
    /// Distances at which child `k + 1` must already be; fewer, if the next node answers for the last ones.
    rights: Vec<f64>,
}

/// The width of the window along a slope is `right.rise - right.x * slope + left.x * slope - left.rise` for the two corners
/// that touch it there, and at least that for every other slope.
#[derive(Clone, Copy, Debug)]
struct Contact {
    left: (f64, f64),
    right: (f64, f64),
}

impl Contact {
    fn width(&self, slope: f64) -> f64 {
        (self.right.1 - self.right.0 * slope) + (self.left.0 * slope - self.left.1)
    }

    /// Whether the width falls as the slope rises.
    fn falls(&self) -> bool {
        self.left.0 < self.right.0
    }

    /// The slope at which two such bounds, one falling and one rising, are equal.
    fn meets(&self, other: &Contact) -> f64 {
        let run = (self.right.0 - self.left.0) - (other.right.0 - other.left.0);
        ((self.right.1 - self.left.1) - (other.right.1 - other.left.1)) / run
    }
}

impl Narrowest {
    /// The node of the children `part.from..end` of the run; `None` if its window is too long to be stored.
    fn line(&mut self, run: &FenceRun<'_>, part: Part, end: usize) -> Option<LineNode> {
        let span = part.span(run, end);
        let distance = |x: u64| x.saturating_sub(span.start) as f64;
        self.lefts.clear();
        self.lefts.extend(span.fences.iter().map(|fence| distance(fence.last_left())));
        let needed = span.fences.iter().rposition(|fence| span.needs_right(fence)).map_or(0, |last| last + 1);
        self.rights.clear();
        self.rights.extend(span.fences[..needed].iter().map(|fence| distance(fence.first_right())));
        let (slope, offset, width) = self.least_width();
        let hint = (width + 1.0).ceil().clamp(1.0, MAX_WINDOW as f64) as u64;
        let offset = 1.0 - offset - offset_step(hint) / 2.0;
        fit(&span, run.first_child + part.from as u64, slope as f32, offset, hint, MAX_WINDOW).ok()
    }

    /// The slope, not negative, with the closest parallel lines around all corners; how far the lower line lies above
    /// the first child's floor at the start; and their distance.
    ///
    /// The width is a convex function of the slope, made of pieces that are each a lower bound of it everywhere. The two
    /// pieces that are known best, one that falls and one that rises, meet at the next slope to look at, until the width
    /// there is no more than they say: cutting planes (Kelley, 1960). Few passes are needed, which read memory in order.
    fn least_width(&self) -> (f64, f64, f64) {
        let (&[first_left, .., last_left], &[first_right, .., last_right]) = (&self.lefts[..], &self.rights[..]) else {
            return (0.0, 0.0, self.rights.len() as f64);
        };
        let corner = |x: f64, rise: usize| (x, rise as f64);
        let mut falling = Contact { left: corner(first_left, 0), right: corner(last_right, self.rights.len()) };
        let mut rising = Contact { left: corner(last_left, self.lefts.len() - 1), right: corner(first_right, 1) };
        let mut best = (0.0, falling.left.1, falling.width(0.0));
        for _ in 0..MOST_CUTS {
            let slope = falling.meets(&rising).max(0.0);
            let contact = self.contact(slope);
            let width = contact.width(slope);
            if width < best.2 {
                best = (slope, contact.left.0 * slope - contact.left.1, width);
            }
            if !slope.is_finite() || width <= falling.width(slope) + 1e-9 {
                break;
            }
            if contact.falls() {
                falling = contact;
            } else {
                rising = contact;
            }
        }
        best
    }

    fn contact(&self, slope: f64) -> Contact {
        let left = highest(&self.lefts, |x, rise| x * slope - rise);
        let right = highest(&self.rights, |x, rise| rise - x * slope);
        Contact { left: (self.lefts[left], left as f64), right: (self.rights[right], right as f64 + 1.0) }
    }
}

/// Passes after which a line is narrow enough; six or so are usual.
const MOST_CUTS: usize = 40;

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
