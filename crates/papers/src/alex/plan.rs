//! The plan of nodes for sorted keys, by cost: the fanout tree of the paper (Section 4.6.1).

use super::cost::{Fit, Rules};
use super::line::Line;
use ogive::index::extend::Word;
use std::ops::Range;

/// Depth at which nothing but plain nodes is made: models that divided badly so often will do no better.
pub(super) const MODEL_DEPTH: u8 = 4;
/// Part of its keys that a model node may leave to one child that must be divided again; what divides worse is divided
/// by count.
const WORST_SHARE: usize = 8;
/// Parts of the keys, one in so many, that a model may leave beyond each of its ends: outliers would else take all of
/// its slots.
const TRIMMED: [usize; 5] = [usize::MAX, 4096, 512, 64, 16];

/// A node to be made.
#[derive(Clone, Debug)]
pub(super) enum Plan<W> {
    /// A data node of the entries of a range.
    Data { range: Range<usize>, fit: Fit<W> },
    /// A model node; each child with the slot behind its last.
    Model { bits: u32, line: Line<W>, runs: Vec<(u32, Plan<W>)> },
    /// A plain node; each child with the least key that it may have.
    Plain { children: Vec<(W, Plan<W>)> },
}

/// Costs of all ways to divide keys into 2, 4, 8 ... parts of equal width.
struct Fanout {
    line_bits: u32,
    /// By level, the root of the fanout tree first: the cost of each part as one node.
    alone: Vec<Vec<f64>>,
    /// Where each of the finest parts begins among the keys; and the end.
    bounds: Vec<usize>,
}

impl Rules {
    /// The tree for the keys of `range`, at `depth` below the root.
    pub(super) fn plan<W: Word>(&self, keys: &[W], range: Range<usize>, depth: u8) -> Plan<W> {
        let pages = self.pages_for(range.len(), self.options.initial_percent);
        if pages <= usize::from(self.options.max_node_pages) {
            let fit = self.fit(&keys[range.clone()], pages);
            let misses = fit.cost - self.page_weight() * pages as f64;
            if misses <= range.len() as f64 {
                return Plan::Data { range, fit };
            }
        }
        self.plan_inner(keys, range, depth)
    }

    /// The same with an inner node at the top, for keys that are too many or too crooked for a data node.
    pub(super) fn plan_inner<W: Word>(&self, keys: &[W], range: Range<usize>, depth: u8) -> Plan<W> {
        let plain_cost = self.plain_cost(range.len());
        let model = if depth < MODEL_DEPTH { self.plan_model(keys, range.clone(), depth, plain_cost) } else { None };
        model.unwrap_or_else(|| self.plan_plain(keys, range, depth))
    }

    /// A model node, where that costs less than `limit` and leaves no child too much.
    fn plan_model<W: Word>(&self, keys: &[W], range: Range<usize>, depth: u8, limit: f64) -> Option<Plan<W>> {
        let local = &keys[range.clone()];
        let line = self.best_line(local)?;
        let fanout = self.fanout(local, &line);
        let (bits, cost) = self.best_level(&fanout);
        if cost >= limit {
            return None;
        }
        // A power of two changes no digit of a normal number: the coarser parts are unions of the finer ones.
        let slope = line.slope / (1 << (fanout.line_bits - bits)) as f32;
        let line = Line { slope, ..line };
        let mut parts = Vec::new();
        self.parts(&fanout, bits, 0, 0, &mut parts);
        let worst = local.len() / WORST_SHARE;
        let too_large = |part: &(u32, Range<usize>)| part.1.len() > self.node_entries() && part.1.len() > worst;
        if parts.len() < 2 || !slope.is_normal() || parts.iter().any(too_large) {
            return None;
        }
        let runs = parts
            .into_iter()
            .map(|(end, part)| (end, self.plan(keys, range.start + part.start..range.start + part.end, depth + 1)));
        Some(Plan::Model { bits, line, runs: runs.collect() })
    }

    /// Division by count: the fewest children, as equal as can be.
    fn plan_plain<W: Word>(&self, keys: &[W], range: Range<usize>, depth: u8) -> Plan<W> {
        let most = self.plain_children();
        let node = self.plain_node_entries();
        let mut entries = node;
        while entries * most < range.len() {
            entries *= most;
        }
        let count = range.len().div_ceil(entries).clamp(2, most).min(range.len().max(1));
        let bound = |index: usize| range.start + range.len() * index / count;
        let children = (0..count).map(|index| {
            let part = bound(index)..bound(index + 1);
            (keys[part.start], self.plan(keys, part, depth + 1))
        });
        Plan::Plain { children: children.collect() }
    }

    /// Children of a plain node that is made as a whole, which leaves room for as many splits as a page of entries.
    fn plain_children(&self) -> usize {
        (self.shape.plain_entries() * usize::from(self.options.max_percent) / 100).max(2)
    }

    /// Entries of a data node under a plain one: half of the most, so that it may grow.
    fn plain_node_entries(&self) -> usize {
        (self.node_entries() / 2).max(1)
    }

    /// What [`Self::plan_plain`] costs, about: a page for each level and look-up, and misses and pages as they usually
    /// come out.
    fn plain_cost(&self, entries: usize) -> f64 {
        let (mut levels, mut reach) = (1.0, self.plain_node_entries() * self.plain_children());
        while reach < entries {
            reach = reach.saturating_mul(self.plain_children());
            levels += 1.0;
        }
        levels * entries as f64 + self.usual_cost(entries)
    }

    /// What entries in data nodes cost where nothing is known of them: a miss in ten, and the pages.
    fn usual_cost(&self, entries: usize) -> f64 {
        const USUAL_MISSES: f64 = 0.1;
        let pages = self.pages_for(entries, self.options.initial_percent) as f64;
        USUAL_MISSES * entries as f64 + self.page_weight() * pages
    }

    /// The finest division that is looked at, as a power of two: parts of about a quarter of a page.
    fn finest_bits(&self, entries: usize) -> u32 {
        let wanted = (entries * 4).div_ceil(self.page_entries()).max(2);
        let in_a_page = (self.shape.model_slots() as u32).ilog2();
        wanted.next_power_of_two().ilog2().max(in_a_page).clamp(1, u32::from(self.options.max_fanout_bits))
    }

    /// The line that divides keys best, over [`Self::finest_bits`], of those that leave some keys beyond its ends;
    /// `None` if none divides them.
    fn best_line<W: Word>(&self, keys: &[W]) -> Option<Line<W>> {
        let bits = self.finest_bits(keys.len());
        let candidates = TRIMMED.iter().map(|trimmed| {
            let left = keys.len() / trimmed;
            let line = Line::across(keys[left], keys[keys.len() - 1 - left], 1 << bits);
            (self.crowding(keys, &line, 1 << bits), line)
        });
        let best = candidates.min_by(|one, other| one.0.total_cmp(&other.0));
        best.map(|(_, line)| line).filter(|line| line.slope.is_normal())
    }

    /// How unevenly a line divides: blocks that look-ups take beyond the data node's first, from a node's entries in
    /// one part on.
    fn crowding<W: Word>(&self, keys: &[W], line: &Line<W>, places: usize) -> f64 {
        let mut total = 0.0;
        let mut start = 0;
        while start < keys.len() {
            let place = line.place(keys[start], places);
            let count = run_length(&keys[start..], |&key| line.place(key, places) == place);
            if count > self.node_entries() {
                total += count as f64 * (1.0 + (count as f64 / self.node_entries() as f64).log2());
            }
            start += count;
        }
        total
    }

    fn fanout<W: Word>(&self, keys: &[W], line: &Line<W>) -> Fanout {
        let bits = self.finest_bits(keys.len());
        let parts = 1_usize << bits;
        let mut bounds = Vec::with_capacity(parts + 1);
        let mut start = 0;
        bounds.push(0);
        for part in 1..parts {
            start += run_length(&keys[start..], |&key| line.place(key, parts) < part);
            bounds.push(start);
        }
        bounds.push(keys.len());
        let level = |level: u32| {
            let width = parts >> level;
            let part = |part: usize| self.part_cost(&keys[bounds[part * width]..bounds[(part + 1) * width]]);
            (0..1_usize << level).map(part).collect()
        };
        let alone = (0..=bits).map(level).collect();
        Fanout { line_bits: bits, alone, bounds }
    }

    /// A part as one node: a data node, or, where it is too large, another inner level over some.
    fn part_cost<W: Word>(&self, keys: &[W]) -> f64 {
        let pages = self.pages_for(keys.len(), self.options.initial_percent);
        if pages > usize::from(self.options.max_node_pages) {
            return keys.len() as f64 + self.usual_cost(keys.len()) + self.page_weight();
        }
        self.fit(keys, pages).cost
    }

    /// The fan-out that costs least, as a power of two, and what it costs.
    fn best_level(&self, fanout: &Fanout) -> (u32, f64) {
        let entries = fanout.bounds.last().copied().unwrap_or(0) as f64;
        let costs = (1..=fanout.line_bits).map(|bits| {
            let slots = self.page_weight() * f64::from(self.shape.model_pages(1 << bits));
            (bits, entries + slots + merged(fanout, bits).first().copied().unwrap_or(0.0))
        });
        costs.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((1, f64::INFINITY))
    }

    /// The parts that become children, each with the slot behind its last.
    fn parts(&self, fanout: &Fanout, bits: u32, level: u32, part: usize, found: &mut Vec<(u32, Range<usize>)>) {
        let width = (1_usize << fanout.line_bits) >> level;
        let range = fanout.bounds[part * width]..fanout.bounds[(part + 1) * width];
        let alone = fanout.alone[level as usize][part];
        // The root divides, or there would be no inner node.
        if level == bits || level > 0 && alone <= divided(fanout, bits, level, part) {
            let end = (part as u32 + 1) << (bits - level);
            found.push((end, range));
        } else {
            self.parts(fanout, bits, level + 1, part * 2, found);
            self.parts(fanout, bits, level + 1, part * 2 + 1, found);
        }
    }
}

/// Costs of the parts of the root's level, when those of level `bits` may be merged with their siblings; the root
/// itself is divided.
fn merged(fanout: &Fanout, bits: u32) -> Vec<f64> {
    let mut costs = fanout.alone[bits as usize].clone();
    for level in (0..bits).rev() {
        let alone = &fanout.alone[level as usize];
        let pairs = costs.chunks_exact(2).zip(alone);
        costs = pairs
            .map(|(pair, &alone)| if level == 0 { pair[0] + pair[1] } else { alone.min(pair[0] + pair[1]) })
            .collect();
    }
    costs
}

/// What a part costs when it is divided as well as can be, down to level `bits`.
fn divided(fanout: &Fanout, bits: u32, level: u32, part: usize) -> f64 {
    if level == bits {
        return f64::INFINITY;
    }
    let half = |part: usize| fanout.alone[level as usize + 1][part].min(divided(fanout, bits, level + 1, part));
    half(part * 2) + half(part * 2 + 1)
}

/// How many of the first keys satisfy `holds`, which does so for a first stretch of them: steps that double, then
/// binary search.
fn run_length<W>(keys: &[W], holds: impl Fn(&W) -> bool) -> usize {
    let mut step = 1;
    while step < keys.len() && holds(&keys[step]) {
        step *= 2;
    }
    let start = step / 2;
    let end = keys.len().min(step + 1);
    start.min(end) + keys.get(start..end).unwrap_or_default().partition_point(holds)
}
