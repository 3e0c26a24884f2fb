//! The spread of outer keys over the blocks of the inner relation, which predicts the blocks that a planned scan reads.
//!
//! ```text
//! outer separators      a     b     c                 d
//! inner blocks        |--|--|--|--|--|--|--|--|--|--|--|--|
//!                      dense: all     sparse: a few, each with a gap behind it
//! ```
//!
//! Every two neighbouring separators of the outer relation enclose about the same number of its rows, but different
//! numbers of inner blocks. So the density of probes is known range by range, without reading data (Section 4.2 has one
//! density for all).

use super::device::Requests;
use crate::join::rows::plan::spread::{KeyInterval, Spread};
use crate::table::HistogramPoint;
use ogive_model::coded::common_prefix;

/// The predicted reads of a planned scan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PlannedReads {
    /// The requests.
    pub(super) requests: Requests,
    /// Blocks that hold a key of the outer relation.
    pub(super) touched_blocks: f64,
    /// Blocks read, including those in gaps.
    pub(super) read_blocks: f64,
    /// Fraction of the blocks in ranges that are read whole, by long requests.
    pub(super) range_share: f64,
}

/// The read rule of a planned scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReadRule {
    /// Size of a block in bytes.
    pub(super) block_bytes: u64,
    /// Largest gap that is read along, in bytes.
    pub(super) gap_bytes: u64,
    /// Longest request, in bytes.
    pub(super) batch_bytes: u64,
    /// Requests submitted at once.
    pub(super) at_once: u32,
}

/// The key histogram of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableHistogram<'a> {
    pub(super) points: &'a [HistogramPoint],
    pub(super) blocks: f64,
    pub(super) rows: f64,
}

/// The distribution of keys over blocks: a piecewise linear function through points of increasing key and block.
/// Between two points, keys count as numbers from the first byte in which these differ, so that a long shared prefix
/// hides nothing.
struct BlockCurve(Vec<HistogramPoint>);

impl BlockCurve {
    /// The ends, for which there are no separators, are extrapolated from the blocks beside them. `None` with fewer
    /// than two separators.
    fn of(histogram: &TableHistogram<'_>) -> Option<Self> {
        // The separator of the first block of text is the empty key, whatever its keys are.
        let unknown = histogram.points.iter().take_while(|(key, _)| key.is_empty()).count();
        let mut points = histogram.points[unknown..].to_vec();
        let ([first, second, ..], [.., before, last]) = (&points[..], &points[..]) else { return None };
        let start = (extrapolated(second, first, 0.0).min(first.0.clone()), 0.0);
        let end = (extrapolated(before, last, histogram.blocks).max(last.0.clone()), histogram.blocks);
        if first.1 > 0.0 {
            points.insert(0, start);
        }
        points.push(end);
        Some(Self(points))
    }

    /// The block of a key, as a fractional number.
    fn block_at(&self, key: &[u8]) -> f64 {
        let right = self.0.partition_point(|(known, _)| known.as_slice() < key);
        match (right.checked_sub(1).and_then(|left| self.0.get(left)), self.0.get(right)) {
            (Some(left), Some(right)) => {
                let shared = common_prefix(&left.0, &right.0);
                let [low, at, high] = [&left.0, key, &right.0].map(|key| position(key, shared));
                let share = (at - low) / (high - low).max(f64::MIN_POSITIVE);
                left.1 + (right.1 - left.1) * share.clamp(0.0, 1.0)
            }
            (None, Some(first)) => first.1,
            (last, None) => last.map_or(0.0, |last| last.1),
        }
    }
}

/// A key as a number, without its first `shared` bytes.
fn position(key: &[u8], shared: usize) -> f64 {
    let mut word = [0; 16];
    word.iter_mut().zip(key.iter().skip(shared)).for_each(|(to, from)| *to = *from);
    u128::from_be_bytes(word) as f64
}

/// The key at a block beyond the second of two points, on the line through both.
fn extrapolated(from: &HistogramPoint, to: &HistogramPoint, block: f64) -> Vec<u8> {
    let shared = common_prefix(&from.0, &to.0);
    let [start, end] = [from, to].map(|(key, _)| position(key, shared));
    let blocks = (to.1 - from.1).abs().max(f64::MIN_POSITIVE).copysign(to.1 - from.1);
    let at = end + (end - start) / blocks * (block - to.1);
    [&to.0[..shared], &(at.clamp(0.0, u128::MAX as f64) as u128).to_be_bytes()].concat()
}

impl Spread {
    /// A single density, if nothing better is known.
    pub(super) fn even(outer_rows: f64, inner_blocks: f64) -> Self {
        Self { intervals: vec![KeyInterval { outer_rows, inner_blocks }] }
    }

    /// From two key histograms: two neighbouring points of the outer one enclose a number of its rows in proportion to
    /// its blocks, spread evenly over the inner blocks between the same keys.
    pub(super) fn between(outer: &TableHistogram<'_>, inner: &TableHistogram<'_>) -> Self {
        let (Some(outer_curve), Some(inner_curve)) = (BlockCurve::of(outer), BlockCurve::of(inner)) else {
            return Self::even(outer.rows, inner.blocks);
        };
        let rows_a_block = outer.rows / outer.blocks.max(1.0);
        let interval = |pair: &[HistogramPoint]| KeyInterval {
            outer_rows: (pair[1].1 - pair[0].1).max(0.0) * rows_a_block,
            inner_blocks: (inner_curve.block_at(&pair[1].0) - inner_curve.block_at(&pair[0].0)).max(0.0),
        };
        Self { intervals: outer_curve.0.windows(2).map(interval).collect() }
    }

    /// Inner blocks within the key range of the outer relation.
    pub(super) fn inner_blocks(&self) -> f64 {
        self.intervals.iter().map(|interval| interval.inner_blocks).sum()
    }

    /// Inner blocks that hold at least one outer key.
    #[cfg(test)]
    pub(super) fn touched_blocks(&self) -> f64 {
        self.intervals.iter().map(|interval| interval.inner_blocks * interval.touched_share()).sum()
    }

    /// Number of windows that a forward-only search reads, each beginning at a block that holds a key and was not in
    /// the previous window.
    pub(super) fn windows(&self, window_blocks: f64) -> f64 {
        let windows = |interval: &KeyInterval| {
            let touched = interval.touched_share();
            if touched <= 0.0 {
                return 0.0;
            }
            // After a window, the next touched block is (1 - q) / q blocks away on average.
            let cycle = window_blocks.max(1.0) + (1.0 - touched) / touched;
            (interval.inner_blocks / cycle).min(interval.outer_rows)
        };
        self.intervals.iter().map(windows).sum()
    }

    /// The reads of a planned scan under this rule.
    pub(super) fn planned_reads(&self, rule: &ReadRule) -> PlannedReads {
        let mut found = PlannedReads::default();
        let mut long_blocks = 0.0;
        for interval in &self.intervals {
            let reads = interval.reads(rule);
            found.requests.count += reads.requests.count;
            found.requests.bytes += reads.requests.bytes;
            found.touched_blocks += reads.touched_blocks;
            found.read_blocks += reads.read_blocks;
            if reads.read_blocks >= 0.5 * interval.inner_blocks {
                long_blocks += interval.inner_blocks;
            }
        }
        // A request shared by two intervals was counted partially in both.
        if found.requests.count > 0.0 {
            found.requests.count = found.requests.count.max(1.0);
        }
        found.requests.at_once = rule.at_once;
        found.range_share = if self.inner_blocks() > 0.0 { long_blocks / self.inner_blocks() } else { 0.0 };
        found
    }
}

impl KeyInterval {
    /// The fraction of blocks that hold some key, if each key falls on any of them.
    fn touched_share(&self) -> f64 {
        if self.inner_blocks <= 0.0 {
            return 0.0;
        }
        if self.inner_blocks <= 1.0 {
            return if self.outer_rows > 0.0 { 1.0 } else { 0.0 };
        }
        1.0 - (1.0 - 1.0 / self.inner_blocks).powf(self.outer_rows)
    }

    /// Gaps between touched blocks are geometrically distributed; a gap of up to `gap_bytes` is read along.
    fn reads(&self, rule: &ReadRule) -> PlannedReads {
        let touched_share = self.touched_share();
        let touched_blocks = self.inner_blocks * touched_share;
        if touched_blocks <= 0.0 {
            return PlannedReads::default();
        }
        let absent = 1.0 - touched_share;
        let gap_blocks = (rule.gap_bytes / rule.block_bytes.max(1)) as f64;
        // No touched block within the gap after a touched one: a new request.
        let breaks = absent.powf(gap_blocks + 1.0);
        let along = gap_along(absent, gap_blocks);
        let read_blocks = (touched_blocks * (1.0 + along)).min(self.inner_blocks.max(touched_blocks));
        let bytes = read_blocks * rule.block_bytes as f64;
        let starts = touched_blocks * breaks;
        // Run lengths are exponentially distributed: this many runs exceed a request once, twice, ...
        let piece_blocks = (rule.batch_bytes.max(rule.block_bytes) / rule.block_bytes.max(1)) as f64;
        let pieces_a_run = piece_blocks * starts / read_blocks;
        let further = if pieces_a_run > 1e-9 { starts / pieces_a_run.exp_m1() } else { read_blocks / piece_blocks };
        let count = starts + further;
        let requests = Requests { count, bytes, at_once: rule.at_once, parts: 1 };
        PlannedReads { requests, touched_blocks, read_blocks, range_share: 0.0 }
    }
}

/// Mean number of untouched blocks read along after a touched one: the sum of j (1 - q)^j q for j from 1 to `most`.
fn gap_along(absent: f64, most: f64) -> f64 {
    let touched = 1.0 - absent;
    if absent <= 0.0 || most < 1.0 || touched <= 0.0 {
        return 0.0;
    }
    let power = absent.powf(most);
    absent * (1.0 - power) / touched - most * power * absent
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: ReadRule = ReadRule { block_bytes: 4096, gap_bytes: 3 * 4096, batch_bytes: 1 << 20, at_once: 16 };

    /// Draws keys, marks blocks, and merges as the rule says.
    fn drawn(interval: KeyInterval, rule: &ReadRule) -> (f64, f64) {
        let blocks = interval.inner_blocks as usize;
        let mut state = 7_u64;
        let mut touched = vec![false; blocks];
        for _ in 0..interval.outer_rows as usize {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            touched[((u128::from(state) * blocks as u128) >> 64) as usize] = true;
        }
        let (gap, piece) =
            ((rule.gap_bytes / rule.block_bytes) as usize, (rule.batch_bytes / rule.block_bytes) as usize);
        let (mut requests, mut read, mut start, mut last) = (0, 0, None, 0);
        for block in (0..blocks).filter(|&block| touched[block]) {
            match start {
                Some(first) if block - last - 1 <= gap && block - first < piece => read += block - last,
                _ => {
                    requests += 1;
                    read += 1;
                    start = Some(block);
                }
            }
            last = block;
        }
        (f64::from(requests), read as f64)
    }

    #[test]
    fn what_is_predicted_is_what_a_draw_finds() {
        for ratio in [1.0, 10.0, 100.0, 300.0, 1000.0, 10_000.0] {
            let interval = KeyInterval { outer_rows: 10_000_000.0 / ratio, inner_blocks: 39_216.0 };
            let spread = Spread { intervals: vec![interval] };
            let found = spread.planned_reads(&RULE);
            let (requests, read) = drawn(interval, &RULE);
            let close = |found: f64, drawn: f64| (found - drawn).abs() <= 0.06 * drawn + 2.0;
            assert!(close(found.requests.count, requests), "{ratio}: {} {requests}", found.requests.count);
            assert!(close(found.read_blocks, read), "{ratio}: {} {read}", found.read_blocks);
        }
    }

    /// Points of a table whose keys are those of `key` at each block.
    fn histogram(blocks: u64, key: impl Fn(u64) -> u64) -> Vec<HistogramPoint> {
        (0..blocks).map(|block| (key(block).to_be_bytes().to_vec(), block as f64)).collect()
    }

    #[test]
    fn separators_tell_dense_intervals_from_sparse_ones() {
        // Half of the outer keys lie in a hundredth of the inner blocks.
        let inner = histogram(1000, |block| block * 1_000_000);
        let outer = histogram(10, |block| if block < 5 { block * 2_000_000 } else { (block - 4) * 150_000_000 });
        let of = |points, blocks, rows| TableHistogram { points, blocks, rows };
        let spread = Spread::between(&of(&outer, 10.0, 2000.0), &of(&inner, 1000.0, 255_000.0));
        let even = Spread::even(2000.0, 1000.0);
        assert!(spread.touched_blocks() < 0.8 * even.touched_blocks(), "{spread:?}");
        let rows: f64 = spread.intervals.iter().map(|interval| interval.outer_rows).sum();
        assert!((rows - 2000.0).abs() < 1.0, "{spread:?}");
    }

    #[test]
    fn keys_outside_of_the_inner_range_ask_for_nothing() {
        let inner = histogram(100, |block| (1 << 40) + block * 1_000_000);
        let of = |points, blocks| TableHistogram { points, blocks, rows: 25_500.0 };
        let below = histogram(100, |block| block * 1_000_000);
        assert!(Spread::between(&of(&below, 100.0), &of(&inner, 100.0)).touched_blocks() < 1e-6);
        let within = Spread::between(&of(&inner, 100.0), &of(&inner, 100.0));
        assert!((within.inner_blocks() - 100.0).abs() < 1e-6 && within.touched_blocks() > 99.0);
    }

    #[test]
    fn nothing_asks_for_nothing() {
        assert!(Spread::even(0.0, 5.0).planned_reads(&RULE).requests.count == 0.0);
        assert!(Spread::even(5.0, 0.0).planned_reads(&RULE).read_blocks == 0.0);
        assert!(Spread::even(0.0, 5.0).windows(1.0) == 0.0);
    }

    #[test]
    fn windows_are_as_many_as_a_forward_search_reads() {
        let blocks = 10_000.0;
        assert!((Spread::even(1e7, blocks).windows(1.0) - blocks).abs() < 1.0);
        assert!((Spread::even(1e7, blocks).windows(2.0) - blocks / 2.0).abs() < 1.0);
        assert!((Spread::even(100.0, blocks).windows(2.0) - 100.0).abs() < 5.0);
    }
}
