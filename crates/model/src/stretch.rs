//! Greedy segmentation: each node as long as some line allows.

use crate::corridor::{Corner, Corridor};
use crate::line::{LineNode, MAX_WINDOW, Span, fit, offset_step};
use crate::{Fence, FenceRun};

/// Heights are counted in parts of a child, so that "strictly below the next child" is one part less.
const PARTS: i64 = 1 << 20;

/// What a line must respect at each fence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Both sides of each gap lie within a window of so many children.
    Window(u64),
    /// At the first coordinate of each child the line is at most so many children away from it.
    Error(u64),
}

impl Rule {
    /// The window that the rule leads to, or nearly so.
    fn window_hint(self) -> u64 {
        match self {
            Rule::Window(window) => window,
            Rule::Error(error) => error.saturating_mul(2).saturating_add(2).min(MAX_WINDOW),
        }
    }

    fn max_window(self) -> u64 {
        match self {
            Rule::Window(window) => window,
            Rule::Error(_) => MAX_WINDOW,
        }
    }
}

/// Where a node begins within its run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The node's first child, counted from the run's first.
    pub(crate) from: usize,
    pub(crate) start: u64,
}

impl Part {
    pub(crate) fn first(run: &FenceRun<'_>) -> Option<Self> {
        (run.children() > 0).then_some(Part { from: 0, start: run.start })
    }

    /// What a node answers for that owns the children up to, and without, `end`.
    pub(crate) fn span<'a>(&self, run: &FenceRun<'a>, end: usize) -> Span<'a> {
        let fences = run.fences.get(self.from..end.min(run.fences.len())).unwrap_or(&[]);
        let next_start = if end > run.fences.len() { None } else { fences.last().and_then(|fence| fence.start()) };
        Span { start: self.start, fences, next_start }
    }

    /// The part behind a node that owns the children up to `end`.
    pub(crate) fn after(&self, run: &FenceRun<'_>, end: usize) -> Option<Self> {
        let more = (end as u64) < run.children();
        let start = run.fences.get(end.checked_sub(1)?)?.start()?;
        more.then_some(Part { from: end, start })
    }

    /// A shorter end: about half of the children, at least those up to the first border.
    pub(crate) fn halve(&self, run: &FenceRun<'_>, end: usize) -> usize {
        let shorter = run.border_before(self.from, self.from + (end - self.from) / 2);
        shorter.unwrap_or_else(|| run.border_from(self.from + 1))
    }
}

/// Cuts a run greedily into nodes that each respect the rule.
pub(crate) fn stretch(run: &FenceRun<'_>, rule: Rule) -> Vec<LineNode> {
    let mut nodes = Vec::new();
    let mut builder = Stretch { run, rule, corridor: Corridor::default(), pending: None };
    let mut next = Part::first(run);
    // A corridor may be so thin that no stored line stays within it for long. Asking for a line each time that the node
    // has doubled keeps the work that is thrown away in proportion to what is kept.
    let mut patience = 64;
    while let Some(part) = next {
        let (node, end) = builder.longest(part, patience);
        nodes.push(node);
        patience = (2 * (end - part.from)).max(64);
        next = part.after(run, end);
    }
    nodes
}

struct Stretch<'a> {
    run: &'a FenceRun<'a>,
    rule: Rule,
    corridor: Corridor,
    /// A corner that binds only if the node goes on beyond it, with the start of a node that begins there.
    pending: Option<(u64, Corner)>,
}

impl Stretch<'_> {
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
            match self.settle(part, border) {
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
        best.unwrap_or_else(|| self.shortest(part))
    }

    fn begin(&mut self) {
        self.corridor.clear();
        self.pending = None;
        match self.rule {
            // Lower offsets cannot be stored; higher ones fall to the first ceiling.
            Rule::Window(window) => {
                self.corridor.push_floor(Corner { x: 0, y: (1 - window as i64) * PARTS });
            }
            Rule::Error(error) => {
                self.push_point(Corner { x: 0, y: 0 }, error);
            }
        }
    }

    /// Adds what child `k` of the run asks for if the node is to own it; `false` if no line is left.
    fn take(&mut self, part: Part, k: usize) -> bool {
        let Some(fence) = self.run.fences.get(k) else { return self.take_pending() };
        let start = fence.start();
        let height = (k - part.from) as i64 * PARTS;
        if let Some((at, corner)) = &mut self.pending
            && start == Some(*at)
        {
            corner.y += PARTS;
            return true;
        }
        if !self.take_pending() {
            return false;
        }
        match self.rule {
            Rule::Window(window) => self.take_window(part, fence, height, window as i64),
            Rule::Error(_) => {
                self.pending = start.map(|at| (at, Corner { x: at.saturating_sub(part.start), y: height + PARTS }));
                true
            }
        }
    }

    fn take_window(&mut self, part: Part, fence: &Fence, height: i64, window: i64) -> bool {
        let ceiling = Corner { x: fence.last_left().saturating_sub(part.start), y: height + PARTS - 1 };
        let x = fence.first_right().saturating_sub(part.start);
        let floor = Corner { x, y: height + (2 - window) * PARTS };
        let start = fence.start();
        if start.is_none_or(|start| start == fence.first_right()) {
            self.pending = start.map(|start| (start, floor));
            return self.corridor.push_ceiling(ceiling);
        }
        self.corridor.push_floor(floor) && self.corridor.push_ceiling(ceiling)
    }

    fn take_pending(&mut self) -> bool {
        match (self.pending.take(), self.rule) {
            (None, _) => true,
            (Some((_, corner)), Rule::Window(_)) => self.corridor.push_floor(corner),
            (Some((_, corner)), Rule::Error(error)) => self.push_point(corner, error),
        }
    }

    fn push_point(&mut self, at: Corner, error: u64) -> bool {
        let slack = error.min(MAX_WINDOW) as i64 * PARTS;
        self.corridor.push_floor(Corner { y: at.y - slack, ..at })
            && self.corridor.push_ceiling(Corner { y: at.y + slack, ..at })
    }

    /// A node for the children up to `end` from the middle of the corridor; else the longest of the shorter ones tried.
    fn settle(&self, part: Part, end: usize) -> Result<LineNode, Option<(LineNode, usize)>> {
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
        let first_child = self.run.first_child + part.from as u64;
        let (hint, max_window) = (self.rule.window_hint(), self.rule.max_window());
        fit(&part.span(self.run, end), first_child, slope, offset, hint, max_window)
    }

    /// Lines with stored parameters in and near the middle of the corridor, best first.
    fn lines(&self) -> impl Iterator<Item = (f32, f64)> {
        let parts = PARTS as f64;
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

    /// A flat line over the children up to the first border.
    fn shortest(&self, part: Part) -> (LineNode, usize) {
        let end = self.run.border_from(part.from + 1);
        let flat = LineNode {
            start: part.start,
            first_child: self.run.first_child + part.from as u64,
            slope: 0.0,
            window: 2,
            drop: (MAX_WINDOW / 2 - 1) as u16,
        };
        (self.fit(part, end, 0.0, 0.5).unwrap_or(flat), end)
    }
}
