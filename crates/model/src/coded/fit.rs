//! The fit of a coded group: its line, its shift, and its number of children.
//!
//! A *pass* places separators along one line with one shift and chooses, for each child, the residual nearest to zero
//! that lies in its gap. This gives the narrowest range of residuals for the line and shift, because the first child
//! has residual 0: any range must contain 0, the largest forced rise and the deepest forced fall. Passes over a few
//! lines and over decreasing shifts are compared at every prefix, by bits per child; the best prefix becomes the group.
//! A lower shift costs one bit per child and can reach further; once a pass hits every gap, lower shifts can only cost
//! more. At last, the line of the best prefix is tilted both ways, as long as that gains.

use super::group::{GROUP_CHILDREN_MAX, GroupHeader};
use crate::Fence;

/// Bits by which a group costs more than its residuals when prefixes are compared: those of its header, less what the
/// next group gains by starting anew, with a separator anywhere and without a residual. Of 50 to 340 bits, about this
/// number gave the smallest layers on real keys; the 128 of the header gave 1 to 3 % more.
const GROUP_BITS: f64 = 96.0;

/// A pass is abandoned once a child costs this many times the best found; a longer group cannot win then.
/// Half as much again takes twice the time, and gains less than a hundredth.
const GIVE_UP_RATIO: f64 = 1.25;

/// No pass is abandoned before this many children: short prefixes consist mostly of the header.
const UNIMPROVED_CHILDREN_MAX: u32 = 48;

/// Number of gaps whose widest determines the first shift tried; starting too low would lose bits.
const SAMPLED_GAPS: usize = 32;

/// First tilt of a line, as 1/N of the range of its residuals at its last child.
const TILT_DIVISOR: i128 = 4;

/// The effort for a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// One line per group: for estimates, in about a third of the time with about a tenth more bytes.
    Quick,
    /// A line through the child at each of several distances.
    Full,
}

impl Effort {
    fn horizons(self) -> &'static [usize] {
        match self {
            Self::Quick => &[64],
            Self::Full => &[16, 32, 64, 128, 255],
        }
    }

    /// Lines tried beside that of the best prefix: twelve save 3 to 8 % on real keys, twenty hardly more.
    fn tilts(self) -> usize {
        match self {
            Self::Quick => 0,
            Self::Full => 12,
        }
    }
}

/// Records that are still to be cut into children: the writer's view of its buffer.
///
/// Records are numbered from 0; a child that begins at record `begin` ends where the next begins. Answers need not be
/// the same each time: how many records a coded block holds may depend on where its search began.
pub trait Cuts {
    /// The earliest and the latest record at which the child that begins at `begin` may end. `None` if the buffered
    /// records do not extend past its end.
    fn ends(&self, begin: usize) -> Option<(usize, usize)>;

    /// Key of a record as a u64.
    fn key_as_u64(&self, record: usize) -> u64;

    /// The approximate end of `children` children that begin at `begin`, if the buffered records extend that far.
    fn ahead(&self, begin: usize, children: usize) -> Option<usize>;
}

/// Children of up to `capacity` records of one size, which may end up to a sixteenth early: the simple case of
/// [`Cuts`].
#[derive(Clone, Copy, Debug)]
pub struct EvenCuts<'a> {
    /// Sorted u64 keys of the records.
    pub keys: &'a [u64],
    /// Largest number of records in a child.
    pub capacity: usize,
}

impl Cuts for EvenCuts<'_> {
    fn ends(&self, begin: usize) -> Option<(usize, usize)> {
        let last = begin + self.capacity;
        (last < self.keys.len()).then(|| (last - self.capacity / 16, last))
    }

    fn key_as_u64(&self, record: usize) -> u64 {
        self.keys[record]
    }

    fn ahead(&self, begin: usize, children: usize) -> Option<usize> {
        let end = begin + children * (self.capacity - self.capacity / 36);
        (end < self.keys.len()).then_some(end)
    }
}

/// A group whose children were cut at its separators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlexibleGroup {
    /// The header.
    pub header: GroupHeader,
    /// Residuals of children 1 to count - 1.
    pub residuals: Vec<u64>,
    /// First records of children 1 to count - 1; the end of the last child is left to the next group.
    pub begins: Vec<usize>,
}

/// The range of a tie's separator is the single value just above the tied key; `None` above `u64::MAX`.
fn gap(low: u64, high: u64) -> Option<(u64, u64)> {
    if low < high { Some((low, high)) } else { Some((low, low.checked_add(1)?)) }
}

/// The best prefix of a pass.
struct BestPrefix {
    cost: f64,
    header: GroupHeader,
    lowest: i128,
    highest: i128,
}

/// A line and a shift being tried.
struct FitPass {
    header: GroupHeader,
    lowest: i128,
    highest: i128,
}

impl FitPass {
    fn new(header: GroupHeader, shift: u32) -> Self {
        Self { header: GroupHeader { shift, ..header }, lowest: 0, highest: 0 }
    }

    /// The residual nearest to zero that places the separator of child `j` in `(low, high]`, if there is one.
    fn residual(&self, j: u32, low: u64, high: u64) -> Option<i128> {
        let line = i128::from(self.header.start) + i128::from(self.header.rise(j));
        let least = ((i128::from(low) - line) >> self.header.shift) + 1;
        let most = (i128::from(high) - line) >> self.header.shift;
        (least <= most).then(|| 0.clamp(least, most))
    }

    fn separator(&self, j: u32, residual: i128) -> u64 {
        let line = i128::from(self.header.start) + i128::from(self.header.rise(j));
        (line + (residual << self.header.shift)) as u64
    }

    /// Adds the residual of the next child; `true` if the range of residuals grew.
    fn take(&mut self, residual: i128) -> bool {
        let grew = residual < self.lowest || residual > self.highest;
        self.lowest = self.lowest.min(residual);
        self.highest = self.highest.max(residual);
        grew
    }
}

/// Width and stored bias of residuals in `lowest..=highest`; `None` if 64 bits are not enough.
fn width_and_bias(lowest: i128, highest: i128) -> Option<(u32, u32)> {
    let range = highest - lowest;
    let mut width = 128 - range.leading_zeros();
    loop {
        let unit = width.saturating_sub(8);
        let bias = (-lowest + (1 << unit) - 1) >> unit;
        let top = highest + (bias << unit);
        if width <= 64 && bias <= 255 && top < 1_i128 << width {
            return Some((width, bias as u32));
        }
        if width >= 64 {
            return None;
        }
        width += 1;
    }
}

/// Runs passes over lines and shifts; `lay` runs one pass and reports each child to the chooser.
fn search(
    start: u64,
    slopes: impl Iterator<Item = (u64, u64)>,
    top_shift: u32,
    tilts: usize,
    mut lay: impl FnMut(&mut FitPass, &mut PrefixChooser),
) -> BestPrefix {
    let lone = GroupHeader { start, count: 1, ..GroupHeader::default() };
    let mut chooser = PrefixChooser {
        best: BestPrefix { cost: f64::INFINITY, header: lone, lowest: 0, highest: 0 },
        width: 0,
        missed: false,
    };
    let mut try_line = |chooser: &mut PrefixChooser, rise: u64, children: u64, top_shift: u32| {
        let line = lone.with_slope(rise, children);
        for shift in (0..=top_shift).rev() {
            let mut pass = FitPass::new(line, shift);
            chooser.width = 0;
            chooser.missed = false;
            lay(&mut pass, chooser);
            if !chooser.missed {
                break;
            }
        }
    };
    for (rise, children) in slopes {
        try_line(&mut chooser, rise, children, top_shift);
    }
    let mut tilt = ((chooser.best.highest - chooser.best.lowest) << chooser.best.header.shift) / TILT_DIVISOR;
    let mut has_failed = false;
    for _ in 0..tilts {
        let BestPrefix { header, cost, .. } = chooser.best;
        if tilt == 0 || header.count < 3 {
            break;
        }
        let rise = i128::from(header.rise(header.count - 1)) + tilt;
        let rise = rise.clamp(0, i128::from(u64::MAX)) as u64;
        try_line(&mut chooser, rise, u64::from(header.count - 1), (header.shift + 1).min(top_shift));
        if chooser.best.cost < cost {
            has_failed = false;
        } else {
            // The other way, then less.
            tilt = if has_failed { -tilt / 2 } else { -tilt };
            has_failed = !has_failed;
        }
    }
    chooser.best
}

/// Compares prefixes of passes by bits per unit of weight (children, or records).
struct PrefixChooser {
    best: BestPrefix,
    width: u32,
    /// Whether the pass met a gap that its shift cannot hit.
    missed: bool,
}

impl PrefixChooser {
    /// Evaluates the prefix of `count` children; `false` if the pass should end.
    fn weigh(&mut self, pass: &FitPass, grew: bool, count: u32, weight: f64) -> bool {
        if grew {
            match width_and_bias(pass.lowest, pass.highest) {
                Some((width, _)) => self.width = width,
                None => return false,
            }
        }
        let cost = (GROUP_BITS + f64::from(count - 1) * f64::from(self.width)) / weight;
        if cost < self.best.cost {
            self.best = BestPrefix {
                cost,
                header: GroupHeader { count, ..pass.header },
                lowest: pass.lowest,
                highest: pass.highest,
            };
        }
        count < UNIMPROVED_CHILDREN_MAX || cost < GIVE_UP_RATIO * self.best.cost
    }
}

impl BestPrefix {
    /// The header with its final width and bias, and the function that encodes a residual.
    fn seal(self) -> (GroupHeader, impl Fn(i128) -> u64) {
        // A range that needed more than 64 bits was never evaluated, so the width exists.
        let (width, bias) = width_and_bias(self.lowest, self.highest).unwrap_or((0, 0));
        let header = GroupHeader { width, bias, ..self.header };
        let units = i128::from(header.bias_units());
        (header, move |residual| (residual + units) as u64)
    }
}

/// The largest shift worth trying: separators are spaced by about `spacing`, and no gap is wider than a few of them.
fn top_shift(widest_gap: u64) -> u32 {
    (64 - widest_gap.leading_zeros()).min(63)
}

/// Codes the longest worthwhile group of children with given borders: child 0 begins with separator `start`, and
/// `fences[j - 1]` lies before child `j`. Returns the header and the residuals of children 1 to count - 1.
///
/// Children after a fence that no key can cross (a tie at `u64::MAX`) are never part of a group.
pub fn fit_fences(start: u64, fences: &[Fence], stride: usize, effort: Effort) -> (GroupHeader, Vec<u64>) {
    let stride = stride.max(1);
    let children = (fences.len() / stride).min(GROUP_CHILDREN_MAX - 1);
    let border = |j: usize| fences[j * stride - 1];
    let slopes = effort.horizons().iter().scan(0, |last, &horizon| {
        let horizon = horizon.min(children);
        (horizon > *last).then(|| {
            *last = horizon;
            (border(horizon).high.saturating_sub(start), horizon as u64)
        })
    });
    let widest = (1..=children.min(SAMPLED_GAPS)).map(|j| border(j).high - border(j).low).max().unwrap_or(0);
    let best = search(start, slopes, top_shift(widest), effort.tilts(), |pass, chooser| {
        for j in 1..=children {
            let fence = border(j);
            let Some((low, high)) = gap(fence.low, fence.high) else { return };
            let Some(residual) = pass.residual(j as u32, low, high) else {
                chooser.missed = true;
                return;
            };
            let grew = pass.take(residual);
            if !chooser.weigh(pass, grew, j as u32 + 1, j as f64 + 1.0) {
                return;
            }
        }
    });
    let replay = FitPass::new(best.header, best.header.shift);
    let (header, store) = best.seal();
    let residuals = (1..header.count)
        .filter_map(|j| {
            let fence = border(j as usize);
            let (low, high) = gap(fence.low, fence.high)?;
            replay.residual(j, low, high).map(&store)
        })
        .collect();
    (header, residuals)
}

/// Codes the longest worthwhile group of children that are still to be cut; child 0 begins at record `begin` with
/// separator `start`. Groups are compared by bits per record, so that full children win.
pub fn fit_flexible(start: u64, begin: usize, cuts: &impl Cuts, most: usize, effort: Effort) -> FlexibleGroup {
    let most = most.clamp(1, GROUP_CHILDREN_MAX);
    let slopes = effort.horizons().iter().scan(0, |last, &horizon| {
        let horizon = horizon.min(most - 1);
        if horizon <= *last {
            return None;
        }
        *last = horizon;
        let record = cuts.ahead(begin, horizon)?;
        Some((cuts.key_as_u64(record).saturating_sub(start), horizon as u64))
    });
    let ends = std::iter::successors(cuts.ends(begin), |&(_, last)| cuts.ends(last));
    let gaps = ends.take(SAMPLED_GAPS).map(|(first, last)| cuts.key_as_u64(last) - cuts.key_as_u64(first - 1));
    let widest = gaps.max().unwrap_or(0);
    let best = search(start, slopes, top_shift(widest), effort.tilts(), |pass, chooser| {
        let missed = walk(pass, begin, cuts, most, |pass, count, grew, end| {
            chooser.weigh(pass, grew, count, (end - begin) as f64)
        });
        chooser.missed |= missed;
    });
    let replay = FitPass::new(best.header, best.header.shift);
    let range = best.lowest..=best.highest;
    let (header, store) = best.seal();
    let mut group = FlexibleGroup { header, residuals: Vec::new(), begins: Vec::new() };
    let mut at = begin;
    for j in 1..header.count {
        // Cuts that answer differently from before may lead beyond what the header can hold: the group ends there.
        let laid = lay_one(&replay, j, at, cuts).filter(|(residual, _)| range.contains(residual));
        let Some((residual, next)) = laid else { break };
        group.residuals.push(store(residual));
        group.begins.push(next);
        at = next;
    }
    group.header.count = group.begins.len() as u32 + 1;
    group
}

/// The residual of child `j`, and the record where it begins, if the previous child begins at `at`.
fn lay_one(pass: &FitPass, j: u32, at: usize, cuts: &impl Cuts) -> Option<(i128, usize)> {
    let (first, last) = cuts.ends(at)?;
    let (low, high) = gap(cuts.key_as_u64(first - 1), cuts.key_as_u64(last))?;
    let residual = pass.residual(j, low, high)?;
    Some((residual, cut(cuts, pass.separator(j, residual), first, last)))
}

/// The first record of `first..=last` whose key is at least `separator`; `last` if the separator of a tie lies above.
fn cut(cuts: &impl Cuts, separator: u64, first: usize, last: usize) -> usize {
    let (mut low, mut high) = (first, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if cuts.key_as_u64(middle) < separator {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Runs one pass over records; `true` if a gap could not be hit (rather than the records or the limits ending the
/// pass).
fn walk(
    pass: &mut FitPass,
    begin: usize,
    cuts: &impl Cuts,
    most: usize,
    mut weigh: impl FnMut(&FitPass, u32, bool, usize) -> bool,
) -> bool {
    let mut at = begin;
    for j in 1..most as u32 {
        if cuts.ends(at).is_none() {
            return false;
        }
        let Some((residual, next)) = lay_one(pass, j, at, cuts) else { return true };
        at = next;
        let grew = pass.take(residual);
        if !weigh(pass, j + 1, grew, at) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Cuts that answer differently each time.
    struct WaveringCuts {
        keys: Vec<u64>,
        calls: Cell<usize>,
    }

    impl Cuts for WaveringCuts {
        fn ends(&self, begin: usize) -> Option<(usize, usize)> {
            self.calls.set(self.calls.get() + 1);
            let last = begin + 40 + self.calls.get() * 7 % 11;
            (last < self.keys.len()).then_some((last - 4, last))
        }

        fn key_as_u64(&self, record: usize) -> u64 {
            self.keys[record]
        }

        fn ahead(&self, begin: usize, children: usize) -> Option<usize> {
            let end = begin + children * 43;
            (end < self.keys.len()).then_some(end)
        }
    }

    #[test]
    fn groups_lead_to_their_children_even_if_cuts_waver() {
        let mut seed = 7_u64;
        let mut key = 0_u64;
        let keys = (0..60_000).map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            key += 1 + (seed >> (24 + seed % 39));
            key
        });
        let cuts = WaveringCuts { keys: keys.collect(), calls: Cell::new(0) };
        let (mut begin, mut start, mut children) = (0, 0, 0);
        while cuts.ends(begin).is_some() {
            let group = fit_flexible(start, begin, &cuts, GROUP_CHILDREN_MAX, Effort::Full);
            let FlexibleGroup { header, residuals, begins } = &group;
            assert_eq!((residuals.len(), begins.len()), (header.count as usize - 1, header.count as usize - 1));
            for (j, (&residual, &next)) in (1..).zip(residuals.iter().zip(begins)) {
                assert!(u128::from(residual) < 1 << header.width, "child {j} of the group at {begin}");
                let separator = header.separator(j, residual);
                assert!(cuts.keys[next - 1] < separator && separator <= cuts.keys[next], "child {j} at {next}");
            }
            children += header.count;
            begin = begins.last().copied().unwrap_or(begin) + 40;
            start = cuts.keys[begin.min(cuts.keys.len() - 1)];
        }
        assert!(children > 1_000, "{children}");
    }
}
