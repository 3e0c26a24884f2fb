//! Plans of nodes for sorted keys, by cost: the fanout tree of the paper (Section 4.6.1).

use super::cost::{NodeFit, Planner};
use super::line::AlexLine;
use ogive::index::extend::Word;
use std::ops::Range;

/// Depth from which on only plain nodes are planned: models have divided badly at every depth above.
pub(super) const MODEL_DEPTH_MAX: u8 = 4;
/// A model node may leave at most 1/8 of its keys to a child that must be divided again; else the keys are divided by
/// count.
const CHILD_SHARE_DIVISOR: usize = 8;
/// Divisors of the number of keys that a model may exclude at each end, so that outliers do not take most slots.
const TRIM_DIVISORS: [usize; 5] = [usize::MAX, 4096, 512, 64, 16];

/// The plan of a node and its descendants.
#[derive(Clone, Debug)]
pub(super) enum NodePlan<W> {
    /// A data node of the entries of a range.
    Data { range: Range<usize>, fit: NodeFit<W> },
    /// A model node; each child with the end of its slots.
    Model { bits: u32, line: AlexLine<W>, runs: Vec<(u32, NodePlan<W>)> },
    /// A plain node; each child with its separator.
    Plain { children: Vec<(W, NodePlan<W>)> },
}

/// The fanout tree: costs of dividing keys into 2, 4, 8 ... parts of equal width.
struct FanoutTree {
    line_bits: u32,
    /// By level, the root of the fanout tree first: the cost of each part as one node.
    part_costs: Vec<Vec<f64>>,
    /// The start of each of the finest parts among the keys, and the end.
    bounds: Vec<usize>,
}

impl Planner {
    /// Plans the subtree for the keys of `range` at a depth.
    pub(super) fn plan<W: Word>(&self, keys: &[W], range: Range<usize>, depth: u8) -> NodePlan<W> {
        let pages = self.pages_for(range.len(), self.options.initial_percent);
        if pages <= usize::from(self.options.max_node_pages) {
            let fit = self.fit(&keys[range.clone()], pages);
            let misses = fit.cost - self.page_weight() * pages as f64;
            if misses <= range.len() as f64 {
                return NodePlan::Data { range, fit };
            }
        }
        self.plan_inner(keys, range, depth)
    }

    /// Plans a subtree with an inner node on top, for keys that do not fit a data node.
    pub(super) fn plan_inner<W: Word>(&self, keys: &[W], range: Range<usize>, depth: u8) -> NodePlan<W> {
        let plain_cost = self.plain_cost(range.len());
        let model =
            if depth < MODEL_DEPTH_MAX { self.plan_model(keys, range.clone(), depth, plain_cost) } else { None };
        model.unwrap_or_else(|| self.plan_plain(keys, range, depth))
    }

    /// Plans a model node, if it costs less than `limit`, and leaves no child too many keys.
    fn plan_model<W: Word>(&self, keys: &[W], range: Range<usize>, depth: u8, limit: f64) -> Option<NodePlan<W>> {
        let local = &keys[range.clone()];
        let line = self.best_line(local)?;
        let fanout = self.fanout(local, &line);
        let (bits, cost) = self.best_level(&fanout);
        if cost >= limit {
            return None;
        }
        // Scaling by a power of two is exact, so that coarser parts are unions of finer ones.
        let slope = line.slope / (1 << (fanout.line_bits - bits)) as f32;
        let line = AlexLine { slope, ..line };
        let mut parts = Vec::new();
        self.parts(&fanout, bits, 0, 0, &mut parts);
        let share = local.len() / CHILD_SHARE_DIVISOR;
        let too_large = |part: &(u32, Range<usize>)| part.1.len() > self.node_entries() && part.1.len() > share;
        if parts.len() < 2 || !slope.is_normal() || parts.iter().any(too_large) {
            return None;
        }
        let runs = parts
            .into_iter()
            .map(|(end, part)| (end, self.plan(keys, range.start + part.start..range.start + part.end, depth + 1)));
        Some(NodePlan::Model { bits, line, runs: runs.collect() })
    }

    /// Plans a plain node, which divides by count into the fewest, equal children.
    fn plan_plain<W: Word>(&self, keys: &[W], range: Range<usize>, depth: u8) -> NodePlan<W> {
        let children_max = self.plain_children();
        let node = self.plain_node_entries();
        let mut entries = node;
        while entries * children_max < range.len() {
            entries *= children_max;
        }
        let count = range.len().div_ceil(entries).clamp(2, children_max).min(range.len().max(1));
        let bound = |index: usize| range.start + range.len() * index / count;
        let children = (0..count).map(|index| {
            let part = bound(index)..bound(index + 1);
            (keys[part.start], self.plan(keys, part, depth + 1))
        });
        NodePlan::Plain { children: children.collect() }
    }

    /// Most children of a newly planned plain node, which leaves room for splits.
    fn plain_children(&self) -> usize {
        (self.shape.plain_entries() * usize::from(self.options.max_percent) / 100).max(2)
    }

    /// Number of entries of a data node under a plain one: half of the maximum, so that it can grow.
    fn plain_node_entries(&self) -> usize {
        (self.node_entries() / 2).max(1)
    }

    /// The estimated cost of [`Self::plan_plain`]: a page per level and lookup, and the typical cost of data nodes.
    fn plain_cost(&self, entries: usize) -> f64 {
        let (mut levels, mut capacity) = (1.0, self.plain_node_entries() * self.plain_children());
        while capacity < entries {
            capacity = capacity.saturating_mul(self.plain_children());
            levels += 1.0;
        }
        levels * entries as f64 + self.typical_cost(entries)
    }

    /// The typical cost of entries in data nodes: one miss per ten lookups, and the pages.
    fn typical_cost(&self, entries: usize) -> f64 {
        const TYPICAL_MISSES: f64 = 0.1;
        let pages = self.pages_for(entries, self.options.initial_percent) as f64;
        TYPICAL_MISSES * entries as f64 + self.page_weight() * pages
    }

    /// Log2 of the number of parts of the finest division: parts of about 1/4 page.
    fn finest_bits(&self, entries: usize) -> u32 {
        let wanted = (entries * 4).div_ceil(self.page_entries()).max(2);
        let one_page = (self.shape.model_slots() as u32).ilog2();
        wanted.next_power_of_two().ilog2().max(one_page).clamp(1, u32::from(self.options.max_fanout_bits))
    }

    /// The line that divides keys best at [`Self::finest_bits`], among several that exclude some keys at the ends;
    /// `None` if none divides them.
    fn best_line<W: Word>(&self, keys: &[W]) -> Option<AlexLine<W>> {
        let bits = self.finest_bits(keys.len());
        let candidates = TRIM_DIVISORS.iter().map(|divisor| {
            let trimmed = keys.len() / divisor;
            let line = AlexLine::across(keys[trimmed], keys[keys.len() - 1 - trimmed], 1 << bits);
            (self.crowding(keys, &line, 1 << bits), line)
        });
        let best = candidates.min_by(|one, other| one.0.total_cmp(&other.0));
        best.map(|(_, line)| line).filter(|line| line.slope.is_normal())
    }

    /// The skew of a division: the number of extra blocks that lookups read because parts exceed a data node.
    fn crowding<W: Word>(&self, keys: &[W], line: &AlexLine<W>, slots: usize) -> f64 {
        let mut total = 0.0;
        let mut start = 0;
        while start < keys.len() {
            let slot = line.slot(keys[start], slots);
            let count = run_length(&keys[start..], |&key| line.slot(key, slots) == slot);
            if count > self.node_entries() {
                total += count as f64 * (1.0 + (count as f64 / self.node_entries() as f64).log2());
            }
            start += count;
        }
        total
    }

    fn fanout<W: Word>(&self, keys: &[W], line: &AlexLine<W>) -> FanoutTree {
        let bits = self.finest_bits(keys.len());
        let parts = 1_usize << bits;
        let mut bounds = Vec::with_capacity(parts + 1);
        let mut start = 0;
        bounds.push(0);
        for part in 1..parts {
            start += run_length(&keys[start..], |&key| line.slot(key, parts) < part);
            bounds.push(start);
        }
        bounds.push(keys.len());
        let level = |level: u32| {
            let width = parts >> level;
            let part = |part: usize| self.part_cost(&keys[bounds[part * width]..bounds[(part + 1) * width]]);
            (0..1_usize << level).map(part).collect()
        };
        let part_costs = (0..=bits).map(level).collect();
        FanoutTree { line_bits: bits, part_costs, bounds }
    }

    /// The cost of a part as one node: a data node, or an inner node over several if it is too large.
    fn part_cost<W: Word>(&self, keys: &[W]) -> f64 {
        let pages = self.pages_for(keys.len(), self.options.initial_percent);
        if pages > usize::from(self.options.max_node_pages) {
            return keys.len() as f64 + self.typical_cost(keys.len()) + self.page_weight();
        }
        self.fit(keys, pages).cost
    }

    /// Log2 of the cheapest fan-out, and its cost.
    fn best_level(&self, fanout: &FanoutTree) -> (u32, f64) {
        let entries = fanout.bounds.last().copied().unwrap_or(0) as f64;
        let costs = (1..=fanout.line_bits).map(|bits| {
            let slots = self.page_weight() * f64::from(self.shape.model_pages(1 << bits));
            (bits, entries + slots + merged(fanout, bits).first().copied().unwrap_or(0.0))
        });
        costs.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((1, f64::INFINITY))
    }

    /// The parts that become children, each with the end of its slots.
    fn parts(&self, fanout: &FanoutTree, bits: u32, level: u32, part: usize, found: &mut Vec<(u32, Range<usize>)>) {
        let width = (1_usize << fanout.line_bits) >> level;
        let range = fanout.bounds[part * width]..fanout.bounds[(part + 1) * width];
        let alone = fanout.part_costs[level as usize][part];
        // The root always divides: it is the inner node.
        if level == bits || level > 0 && alone <= divided(fanout, bits, level, part) {
            let end = (part as u32 + 1) << (bits - level);
            found.push((end, range));
        } else {
            self.parts(fanout, bits, level + 1, part * 2, found);
            self.parts(fanout, bits, level + 1, part * 2 + 1, found);
        }
    }
}

/// The costs at the root, if parts of level `bits` may be merged with their siblings, and the root is divided.
fn merged(fanout: &FanoutTree, bits: u32) -> Vec<f64> {
    let mut costs = fanout.part_costs[bits as usize].clone();
    for level in (0..bits).rev() {
        let alone = &fanout.part_costs[level as usize];
        let pairs = costs.chunks_exact(2).zip(alone);
        costs = pairs
            .map(|(pair, &alone)| if level == 0 { pair[0] + pair[1] } else { alone.min(pair[0] + pair[1]) })
            .collect();
    }
    costs
}

/// The least cost of a part that is divided, down to level `bits`.
fn divided(fanout: &FanoutTree, bits: u32, level: u32, part: usize) -> f64 {
    if level == bits {
        return f64::INFINITY;
    }
    let half = |part: usize| fanout.part_costs[level as usize + 1][part].min(divided(fanout, bits, level + 1, part));
    half(part * 2) + half(part * 2 + 1)
}

/// The number of leading keys that satisfy `holds`, by exponential search.
fn run_length<W>(keys: &[W], holds: impl Fn(&W) -> bool) -> usize {
    let mut step = 1;
    while step < keys.len() && holds(&keys[step]) {
        step *= 2;
    }
    let start = step / 2;
    let end = keys.len().min(step + 1);
    start.min(end) + keys.get(start..end).unwrap_or_default().partition_point(holds)
}
