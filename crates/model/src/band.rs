//! Bands: lines with a window, as long as a window allows, or as narrow as a group allows.

use crate::FenceRun;
use crate::corridor::{Corner, Hull, product};
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
    /// Upper hull of the corners that the window must reach up to.
    floors: Hull,
    /// Lower hull of the corners that the window must reach down to.
    ceilings: Hull,
}

impl Narrowest {
    /// The node of the children `part.from..end` of the run; `None` if its window is too long to be stored.
    fn line(&mut self, run: &FenceRun<'_>, part: Part, end: usize) -> Option<LineNode> {
        let span = part.span(run, end);
        self.floors.clear();
        self.ceilings.clear();
        for (k, fence) in span.fences.iter().enumerate() {
            let y = k as i64;
            self.ceilings.push(Corner { x: fence.last_left().saturating_sub(span.start), y }, -1);
            if span.needs_right(fence) {
                self.floors.push(Corner { x: fence.first_right().saturating_sub(span.start), y: y + 1 }, 1);
            }
        }
        let slope = self.least_width_slope() as f32;
        let exact = f64::from(slope);
        let above = |hull: &Hull, sign: f64| {
            hull.kept().iter().map(|p| sign * (exact * p.x as f64 - p.y as f64)).fold(f64::NEG_INFINITY, f64::max)
        };
        let offset = 1.0 - above(&self.ceilings, 1.0).max(0.0);
        let hint = (above(&self.floors, -1.0) - offset + 1.0).ceil().clamp(1.0, MAX_WINDOW as f64) as u64;
        fit(&span, run.first_child + part.from as u64, slope, offset - offset_step(hint) / 2.0, hint, MAX_WINDOW).ok()
    }

    /// The slope, not negative, at which the corners of both chains fit between the closest parallel lines.
    ///
    /// The width is a convex function of the slope; its minimum lies where the highest floor corner (which moves left as
    /// the slope rises) and the lowest ceiling corner (which moves right) pass each other.
    fn least_width_slope(&self) -> f64 {
        let (floors, ceilings) = (self.floors.kept(), self.ceilings.kept());
        let (mut right, mut left) = (floors.len(), 0);
        let mut best = (0, 1);
        while let (Some(floor), Some(ceiling)) = (right.checked_sub(1).and_then(|i| floors.get(i)), ceilings.get(left))
        {
            if ceiling.x >= floor.x {
                break;
            }
            let before =
                right.checked_sub(2).and_then(|i| floors.get(i)).map(|p| (floor.y - p.y, floor.x.saturating_sub(p.x)));
            let behind = ceilings.get(left + 1).map(|p| (p.y - ceiling.y, p.x.saturating_sub(ceiling.x)));
            let floor_first = match (before, behind) {
                (Some(floor), Some(ceiling)) => product(floor.0, ceiling.1) <= product(ceiling.0, floor.1),
                (one, _) => one.is_some(),
            };
            let Some(edge) = (if floor_first { before } else { behind }) else { break };
            best = edge;
            if floor_first {
                right -= 1;
            } else {
                left += 1;
            }
        }
        best.0 as f64 / best.1 as f64
    }
}
