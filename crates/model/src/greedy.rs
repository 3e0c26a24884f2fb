//! Greedy segmentation: each node covers as many children as some line allows.

use crate::corridor::{Corner, Corridor};
use crate::line::{LineNode, Span, WINDOW_CHILDREN_MAX, fit, offset_range, offset_step};
use crate::{Fence, FenceRun};

/// Heights are counted in fractions of a child, so that "strictly below the next child" is one fraction less.
const CHILD_PARTS: i64 = 1 << 20;

/// The constraint on a line at each fence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LineConstraint {
    /// Both sides of each gap lie within a window of this many children.
    Window(u64),
    /// At the first key of each child the line is at most this many children away from it.
    Error(u64),
}

impl LineConstraint {
    /// The approximate window that results from the constraint.
    fn window_hint(self) -> u64 {
        match self {
            LineConstraint::Window(window) => window,
            LineConstraint::Error(error) => error.saturating_mul(2).saturating_add(2).min(WINDOW_CHILDREN_MAX),
        }
    }

    fn max_window(self) -> u64 {
        match self {
            LineConstraint::Window(window) => window,
            LineConstraint::Error(_) => WINDOW_CHILDREN_MAX,
        }
    }
}

/// The start of a node within its run.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The node's first child, counted from the run's first.
    pub from: usize,
    /// Smallest key of the node.
    pub start: u64,
}

impl Part {
    /// The start of the first node, if the run has children.
    pub fn first(run: &FenceRun<'_>) -> Option<Self> {
        (run.children() > 0).then_some(Part { from: 0, start: run.line_start() })
    }

    /// The span of a node that owns the children up to `end`, exclusive.
    pub(crate) fn span<'a>(&self, run: &FenceRun<'a>, end: usize) -> Span<'a> {
        let fences = run.fences.get(self.from..end.min(run.fences.len())).unwrap_or(&[]);
        let next_start = if end > run.fences.len() { None } else { fences.last().and_then(|fence| fence.start()) };
        Span { start: self.start, fences, next_start }
    }

    /// The node of a line over the children up to `end`; `Err` if the line leads to fewer of them within the largest
    /// window, with the number of fences for which it fits.
    ///
    /// # Errors
    /// As stated.
    pub fn fit(
        &self,
        run: &FenceRun<'_>,
        end: usize,
        (slope, offset): (f32, f64),
        window_hint: u64,
    ) -> Result<LineNode, usize> {
        let span = self.span(run, end);
        fit(&span, self.first_child(run), slope, offset, window_hint, WINDOW_CHILDREN_MAX)
    }

    /// The part after a node that owns the children up to `end`.
    pub fn after(&self, run: &FenceRun<'_>, end: usize) -> Option<Self> {
        let more = (end as u64) < run.children();
        let start = run.fences.get(end.checked_sub(1)?)?.start()?;
        more.then_some(Part { from: end, start })
    }

    /// Distance from the part's start to the child after border `end`, if a node may begin there.
    pub fn distance_after(&self, run: &FenceRun<'_>, end: usize) -> Option<f64> {
        let start = run.fences.get(end.checked_sub(1)?)?.start()?;
        Some(start.saturating_sub(self.start) as f64)
    }

    /// Number of the first child of the node.
    pub fn first_child(&self, run: &FenceRun<'_>) -> u64 {
        run.first_child + self.from as u64
    }

    /// A shorter end: about half of the children, at least those up to the first border.
    pub fn halve(&self, run: &FenceRun<'_>, end: usize) -> usize {
        let shorter = run.border_before(self.from, self.from + (end - self.from) / 2);
        shorter.unwrap_or_else(|| run.border_from(self.from + 1))
    }

    /// A flat line over the children up to the first border: one fence, or a run of equal keys, which belong to its
    /// first child.
    pub fn shortest(&self, run: &FenceRun<'_>) -> (LineNode, usize) {
        let end = run.border_from(self.from + 1);
        let span = self.span(run, end);
        let gap = u16::from(span.fences.iter().any(|fence| span.needs_right(fence)));
        let drop = (0.5 / offset_step(1 + u64::from(gap))) as u16 - 1;
        (LineNode { start: self.start, first_child: self.first_child(run), slope: 0.0, window: 1 + gap, drop }, end)
    }
}

/// Splits a run greedily into nodes that each satisfy the constraint.
pub(crate) fn greedy_nodes(run: &FenceRun<'_>, rule: LineConstraint) -> Vec<LineNode> {
    let mut nodes = Vec::new();
    let mut builder = GreedyBuilder { run, rule, corridor: Corridor::default(), pending: None };
    let mut next = Part::first(run);
    // A corridor may be so thin that no stored line stays within it for long. Fitting a line each time the node has
    // doubled keeps wasted work proportional to useful work.
    let mut patience = 64;
    while let Some(part) = next {
        let (node, end) = builder.longest(part, patience);
        nodes.push(node);
        patience = (2 * (end - part.from)).max(64);
        next = part.after(run, end);
    }
    nodes
}

/// Corners that bind if the node continues, with the start of the node that would begin there.
#[derive(Clone, Copy, Debug)]
struct PendingCorners {
    start: Option<u64>,
    ceiling: Option<Corner>,
    floor: Option<Corner>,
}

struct GreedyBuilder<'a> {
    run: &'a FenceRun<'a>,
    rule: LineConstraint,
    corridor: Corridor,
    /// Constraints of the last fence that apply only if the node continues past it.
    pending: Option<PendingCorners>,
}

impl GreedyBuilder<'_> {
    /// The longest node that begins at `part`, and the child with which the next one begins.
    fn longest(&mut self, part: Part, patience: usize) -> (LineNode, usize) {
        let children = self.run.fences.len() + usize::from(self.run.at_end);
        self.begin();
        let mut best = None;
        let (mut end, mut stop) = (part.from, part.from.saturating_add(patience));
        loop {
            let mut possible = true;
            let goal = self.run.border_from(stop.min(children));
            while possible && end < goal {
                possible = self.take(part, end);
                end += usize::from(possible);
            }
            let Some(border) = self.run.border_before(part.from, end) else { break };
            match self.resolve(part, border) {
                Ok(node) => best = Some((node, border)),
                Err(shorter) => {
                    let kept = best.map_or(part.from, |(_, end)| end);
                    best = shorter.filter(|&(_, end)| end > kept).or(best);
                    break;
                }
            }
            if !possible || end == children {
                break;
            }
            stop = end.saturating_add(end - part.from);
        }
        best.unwrap_or_else(|| part.shortest(self.run))
    }

    fn begin(&mut self) {
        self.corridor.clear();
        self.pending = None;
        match self.rule {
            LineConstraint::Window(window) => {
                // Other offsets cannot be stored.
                self.corridor.push_floor(Corner { x: 0, y: (1 - offset_range(window) as i64) * CHILD_PARTS });
                self.corridor.push_ceiling(Corner { x: 0, y: CHILD_PARTS - 1 });
            }
            LineConstraint::Error(error) => {
                self.push_point(Corner { x: 0, y: 0 }, error);
            }
        }
    }

    /// Adds the constraints of child `k` of the run for a node that owns it; `false` if no line is left.
    fn take(&mut self, part: Part, k: usize) -> bool {
        let Some(fence) = self.run.fences.get(k) else { return self.take_pending() };
        let height = (k - part.from) as i64 * CHILD_PARTS;
        let start = fence.start();
        if let Some(pending) = &mut self.pending
            && pending.start == start
        {
            // A run of equal keys belongs to its first child, and the next key lies after its last.
            pending.floor = pending.floor.map(|corner| Corner { y: corner.y + CHILD_PARTS, ..corner });
            let ceiling = pending.ceiling.take();
            return self.push_ceiling(ceiling);
        }
        if !self.take_pending() {
            return false;
        }
        match self.rule {
            LineConstraint::Window(window) => self.take_window(part, fence, height, window as i64),
            LineConstraint::Error(_) => {
                let point = start.map(|at| Corner { x: at.saturating_sub(part.start), y: height + CHILD_PARTS });
                self.pending = Some(PendingCorners { start, ceiling: None, floor: point });
                true
            }
        }
    }

    fn take_window(&mut self, part: Part, fence: &Fence, height: i64, window: i64) -> bool {
        let start = fence.start();
        let right = fence.first_right();
        let ceiling = Corner { x: fence.last_left().saturating_sub(part.start), y: height + CHILD_PARTS - 1 };
        let floor = Corner { x: right.saturating_sub(part.start), y: height + (2 - window) * CHILD_PARTS };
        let ends_at_gap = start.is_some_and(|start| right < start);
        // Without a start, there is nothing after the fence to which a node could extend.
        let pending_floor = (start == Some(right)).then_some(floor);
        self.pending = Some(PendingCorners { start, ceiling: Some(ceiling), floor: pending_floor });
        !ends_at_gap || self.corridor.push_floor(floor)
    }

    fn push_ceiling(&mut self, ceiling: Option<Corner>) -> bool {
        ceiling.is_none_or(|corner| self.corridor.push_ceiling(corner))
    }

    fn take_pending(&mut self) -> bool {
        let Some(pending) = self.pending.take() else { return true };
        match (pending.floor, self.rule) {
            (Some(point), LineConstraint::Error(error)) => self.push_point(point, error),
            (floor, _) => {
                self.push_ceiling(pending.ceiling) && floor.is_none_or(|corner| self.corridor.push_floor(corner))
            }
        }
    }

    fn push_point(&mut self, at: Corner, error: u64) -> bool {
        let slack = error.min(WINDOW_CHILDREN_MAX) as i64 * CHILD_PARTS;
        self.corridor.push_floor(Corner { y: at.y - slack, ..at })
            && self.corridor.push_ceiling(Corner { y: at.y + slack, ..at })
    }

    /// A node for the children up to `end` from the middle of the corridor; else the longest of the shorter ones tried.
    fn resolve(&self, part: Part, end: usize) -> Result<LineNode, Option<(LineNode, usize)>> {
        let mut longest: Option<(LineNode, usize)> = None;
        for (slope, offset) in self.lines() {
            let mut end_tried = end;
            loop {
                match self.fit(part, end_tried, slope, offset) {
                    Ok(node) if end_tried == end => return Ok(node),
                    Ok(node) => {
                        longest = longest.filter(|&(_, end)| end >= end_tried).or(Some((node, end_tried)));
                        break;
                    }
                    Err(fences) => match self.run.border_before(part.from, part.from + fences) {
                        Some(shorter) if shorter < end_tried => end_tried = shorter,
                        _ => break,
                    },
                }
            }
        }
        Err(longest)
    }

    fn fit(&self, part: Part, end: usize, slope: f32, offset: f64) -> Result<LineNode, usize> {
        let (hint, max_window) = (self.rule.window_hint(), self.rule.max_window());
        fit(&part.span(self.run, end), part.first_child(self.run), slope, offset, hint, max_window)
    }

    /// Lines with stored parameters in and near the middle of the corridor, best first.
    fn lines(&self) -> impl Iterator<Item = (f32, f64)> {
        let parts = CHILD_PARTS as f64;
        let middle = self.corridor.middle_slope();
        let (least, greatest) = self.corridor.offsets(middle);
        let step = offset_step(self.rule.window_hint());
        let steps = ((parts - (least + greatest) / 2.0) / (parts * step)).round();
        let corridor = &self.corridor;
        let at_steps = move |steps: f64| {
            let offset = 1.0 - step * steps;
            let (least, greatest) = corridor.slopes(offset * parts);
            let greatest = if greatest.is_finite() { greatest.max(least) } else { least };
            (((least + greatest) / 2.0 / parts) as f32, offset)
        };
        let [best, lower, higher] = [steps, steps + 1.0, steps - 1.0];
        let nudged = move |nudge: fn(f32) -> f32| {
            let (slope, offset) = at_steps(best);
            (nudge(slope).max(0.0), offset)
        };
        (0..5).map(move |attempt| match attempt {
            0 => at_steps(best),
            1 => nudged(f32::next_up),
            2 => nudged(f32::next_down),
            3 => at_steps(lower),
            _ => at_steps(higher),
        })
    }
}
