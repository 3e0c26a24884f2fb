//! Lookups replayed on a design: the reads of each key, through a cache of a given size.

use super::design::Design;
use super::design_request::DesignRequest;
use super::layer::{DesignLayer, LayerNodes};
use super::level_input::LevelInput;
use super::problem::{DesignCaching, DesignObjective, DesignProblem};
use crate::block::cache::ENTRY_OVERHEAD_BYTES;
use crate::io::{TimeSpread, quantile_of_mixture};
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

/// Windows of more children than this count as never cached: no reader keeps all of one until it is needed again.
const CACHED_CHILDREN_MAX: u64 = 1 << 12;

/// The reads of replayed lookups, after opening.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LookupReplay {
    /// Share of the reads that the cache answers, by level: first the data, then the layers below the root, bottom
    /// first. As in [`DesignCaching::hit_rates`].
    pub hit_rates: Vec<f64>,
    /// Mean number of reads of a lookup.
    pub requests: f64,
    /// Mean number of bytes that a lookup reads.
    pub bytes: f64,
    /// The sizes in bytes of the reads of each lookup, in the order of the keys; none of those that the cache answers.
    pub reads_bytes: Vec<Vec<u64>>,
}

/// Replays lookups of `keys` on a design over `row`, in their order, through a cache of `cache_bytes` that drops the
/// least recently used block or page. As in the cache of a table, each takes 256 bytes more than its size.
///
/// The keys are looked up twice, and the second time counts: the cache is then filled by the same lookups. It keeps
/// blocks and pages one by one, and a read brings what is missing of a window, as readers of tables do. Keys that a
/// sample repeats too seldom are therefore never hits: take a sample of several times the blocks in the cache.
///
/// This is the what-if analysis for known lookups that AirIndex, Section 6, names as future work.
pub fn replay(design: &Design, row: &LevelInput, keys: &[u64], cache_bytes: u64) -> LookupReplay {
    let levels = levels(design, row);
    let mut cache = LruCache { room_bytes: cache_bytes, ..LruCache::default() };
    let mut hits = vec![0_u64; levels.len().max(1)];
    let mut replay = LookupReplay::default();
    for round in 0..2 {
        for &key in keys {
            let mut reads = Vec::new();
            for (depth, (input, layer)) in levels.iter().enumerate().rev() {
                let window = layer.window_of(key, input);
                let missing = cache.fetch(depth, window, input.child_bytes);
                hits[depth] += u64::from(round == 1 && missing == 0);
                if missing > 0 {
                    reads.push(missing * input.child_bytes);
                }
            }
            if levels.is_empty() {
                reads.push(design.data_bytes);
            }
            if round == 1 {
                replay.reads_bytes.push(reads);
            }
        }
    }
    let count = keys.len().max(1) as f64;
    replay.hit_rates = hits.into_iter().map(|hits| hits as f64 / count).collect();
    replay.requests = replay.reads_bytes.iter().map(Vec::len).sum::<usize>() as f64 / count;
    replay.bytes = replay.reads_bytes.iter().flatten().map(|&bytes| bytes as f64).sum::<f64>() / count;
    replay
}

/// The design of a request for looked-up `keys`, and the hit rates that it has in a cache of the problem's memory
/// beside its root.
///
/// Hit rates depend on the design, and the best design on hit rates. So a tuned design is searched without hits, its
/// hit rates are measured, and a second search is made by them; the better of the two designs is kept.
pub(crate) fn design_for_lookups(
    request: &DesignRequest,
    row: &LevelInput,
    problem: &DesignProblem<'_>,
    keys: &[u64],
) -> (Design, DesignCaching) {
    let first = request.build(row, problem);
    let Some(memory_bytes) = problem.caching.memory_bytes.filter(|_| !keys.is_empty()) else {
        return (first, problem.caching.clone());
    };
    let cached = |design: Design| {
        let found = replay(&design, row, keys, memory_bytes.saturating_sub(design.root_bytes()));
        let problem = DesignProblem {
            caching: DesignCaching { hit_rates: found.hit_rates, ..problem.caching.clone() },
            compared: None,
            ..problem.clone()
        };
        let design = design.repriced(row, &problem);
        let score = problem.score(design.objective_us(&problem), design.root_bytes());
        (design, problem, score)
    };
    let mut best = cached(first);
    if *request == DesignRequest::Tuned {
        let second = cached(request.build(row, &best.1));
        if second.2 < best.2 {
            best = second;
        }
    }
    (best.0, best.1.caching)
}

/// The layers of a design, each with the input that it leads to: data blocks, then pages of the layer below.
fn levels<'a>(design: &'a Design, row: &LevelInput) -> Vec<(LevelInput, &'a DesignLayer)> {
    let mut levels: Vec<(LevelInput, &DesignLayer)> = Vec::new();
    for layer in &design.layers {
        let input = match levels.last() {
            None => LevelInput { weights: None, ..row.clone() },
            Some((below, lower)) => lower.row_above(&below.shares()),
        };
        levels.push((input, layer));
    }
    levels
}

impl DesignLayer {
    /// The children that a lookup of `x` reads through this layer, over `input`.
    fn window_of(&self, x: u64, input: &LevelInput) -> RangeInclusive<u64> {
        let last = input.children() - 1;
        match &self.nodes {
            LayerNodes::Step(pieces) => {
                let at = pieces.partition_point(|piece| piece.separator <= x).saturating_sub(1);
                let end = pieces.get(at + 1).map_or(last, |next| next.first_child.saturating_sub(1));
                pieces.get(at).map_or(0, |piece| piece.first_child)..=end
            }
            LayerNodes::Line(nodes) => {
                let at = nodes.partition_point(|node| node.start <= x).saturating_sub(1);
                let end = nodes.get(at + 1).map_or(last, |next| next.first_child);
                nodes.get(at).map_or(0..=last, |node| node.window(x, end))
            }
            LayerNodes::Coded { granule, .. } => {
                let first = input.child_of(x) as u64 / granule * granule;
                first..=(first + granule - 1).min(last)
            }
        }
    }
}

/// The children that a cache holds, and when each was last used.
#[derive(Debug, Default)]
struct LruCache {
    room_bytes: u64,
    held_bytes: u64,
    uses: u64,
    last_use: HashMap<(usize, u64), u64>,
    by_use: BTreeMap<u64, ((usize, u64), u64)>,
}

impl LruCache {
    /// Looks for the children of a window, and takes in those that are missing; gives their number.
    fn fetch(&mut self, depth: usize, window: RangeInclusive<u64>, child_bytes: u64) -> u64 {
        let children = window.end() - window.start() + 1;
        let held_bytes = child_bytes.saturating_add(ENTRY_OVERHEAD_BYTES);
        if children > CACHED_CHILDREN_MAX || children.saturating_mul(held_bytes) > self.room_bytes {
            return children;
        }
        let mut missing = 0;
        for child in window {
            self.uses += 1;
            let name = (depth, child);
            match self.last_use.insert(name, self.uses) {
                Some(before) => _ = self.by_use.remove(&before),
                None => {
                    self.held_bytes += held_bytes;
                    missing += 1;
                }
            }
            self.by_use.insert(self.uses, (name, held_bytes));
        }
        while self.held_bytes > self.room_bytes
            && let Some((_, (name, bytes))) = self.by_use.pop_first()
        {
            self.last_use.remove(&name);
            self.held_bytes -= bytes;
        }
        missing
    }
}

impl LookupReplay {
    /// The objective's value of the replayed lookups in microseconds, by enumeration: their mean, or a quantile of the
    /// whole lookup. The share of them that the problem states begins with an opening read of `opening_bytes`, and
    /// reads that the cache answers take the time that it states. The reads of one lookup count as slow together. 0
    /// without lookups.
    pub fn objective_us(&self, opening_bytes: u64, problem: &DesignProblem<'_>) -> f64 {
        let DesignCaching { opening_hit_rate, cache_us, .. } = problem.caching;
        let opened = opening_hit_rate.clamp(0.0, 1.0);
        let opening = problem.profile.spread_of(opening_bytes);
        let count = self.reads_bytes.len().max(1) as f64;
        let mut parts: Vec<(TimeSpread, f64)> = Vec::new();
        for reads in &self.reads_bytes {
            let hits = self.hit_rates.len().saturating_sub(reads.len()) as f64;
            let read = reads.iter().map(|&bytes| problem.profile.spread_of(bytes));
            let read = read.fold(TimeSpread::fixed(hits * cache_us), TimeSpread::plus);
            parts.push((read.plus(TimeSpread::fixed(cache_us)), opened / count));
            parts.push((read.plus(opening), (1.0 - opened) / count));
        }
        match problem.objective {
            DesignObjective::Quantile(quantile) => quantile_of_mixture(&parts, quantile),
            // T(n) is the median of the spread.
            _ => parts.iter().map(|(time, share)| time.at(0.0) * share).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_child_is_dropped() {
        let mut cache = LruCache { room_bytes: 3 * (10 + ENTRY_OVERHEAD_BYTES), ..LruCache::default() };
        let mut fetch = |depth, window: RangeInclusive<u64>, bytes| cache.fetch(depth, window, bytes);
        assert_eq!([fetch(0, 0..=2, 10), fetch(0, 0..=1, 10), fetch(1, 0..=0, 10)], [3, 0, 1]);
        // Child 2 went for the page, and child 0, now the oldest, goes for child 2.
        assert_eq!([fetch(0, 2..=2, 10), fetch(0, 1..=1, 10), fetch(0, 0..=0, 10)], [1, 0, 1]);
        assert_eq!([fetch(0, 0..=5, 10), fetch(0, 0..=0, 10)], [6, 0]);
    }
}
