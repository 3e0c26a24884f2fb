//! RMI root models: monotone functions from a key to a leaf number.

use super::least_squares::PowerSums;
use ogive_model::{Fence, FenceRun};

/// A kind of root model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// The regression line.
    Linear,
    /// A monotone regression cubic with coefficients of one sign: bent one way only, up or down.
    Cubic,
    /// The first bits in which keys differ.
    Radix,
}

impl RootKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Linear, Self::Cubic, Self::Radix];

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Cubic => "cubic",
            Self::Radix => "radix",
        }
    }
}

/// A root over the keys `first..=last`; others go to the first or the last leaf, or near them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Root {
    first: u64,
    last: u64,
    leaves: usize,
    model: RootModel,
}

/// The formula of a root. A distance is computed in integers; every later step is a product or a sum of non-negative
/// numbers, so that each is monotone even after rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RootModel {
    /// `offset + slope * (x - first)`.
    Linear { slope: f64, offset: f64 },
    /// `offset + ((c u + b) u + a) u` with `u = scale * (x - first)`; or, if the keys thin out towards the end, `offset
    /// - ((c u + b) u + a) u` with `u = scale * (last - x)`.
    Cubic { coefficients: [f64; 3], offset: f64, scale: f64, from_the_end: bool },
    /// `(x - first) >> shift`.
    Radix { shift: u32 },
}

/// Limit for the number of training points; of more, every n-th is used.
const TRAINING_POINTS_MAX: usize = 1 << 16;

impl Root {
    /// Trains a root of a given kind that spreads the children between the `fences` over the leaves.
    pub(super) fn train(fences: &[Fence], kind: RootKind, leaves: usize) -> Self {
        Self::train_on(&FenceRun::whole(fences), kind, leaves)
    }

    pub(super) fn train_on(run: &FenceRun<'_>, kind: RootKind, leaves: usize) -> Self {
        let first = run.line_start();
        let last = run.fences.last().map_or(first, |fence| fence.high.max(first));
        let scale = if last > first { 1.0 / (last - first) as f64 } else { 0.0 };
        let mut root = Self { first, last, leaves, model: RootModel::Linear { slope: 0.0, offset: 0.0 } };
        let per_child = leaves as f64 / run.children().max(1) as f64;
        let stride = run.fences.len().div_ceil(TRAINING_POINTS_MAX).max(1);
        let points = (0..run.fences.len()).step_by(stride);
        let points = points.map(|k| (run.fences[k].high.max(first), (k + 1) as f64 * per_child));
        root.model = match kind {
            RootKind::Linear => {
                let line = moments(points, |x| (x - first) as f64 * scale).fit(1);
                RootModel::Linear { slope: line.coefficients[0] * scale, offset: line.offset }
            }
            RootKind::Cubic => {
                let up = moments(points.clone(), |x| (x - first) as f64 * scale).fit(3);
                let down = moments(points.map(|(x, y)| (x, -y)), |x| last.saturating_sub(x) as f64 * scale).fit(3);
                let (best, from_the_end) = if down.squares < up.squares { (down, true) } else { (up, false) };
                let offset = if from_the_end { -best.offset } else { best.offset };
                RootModel::Cubic { coefficients: best.coefficients, offset, scale, from_the_end }
            }
            RootKind::Radix => {
                let bits = u64::BITS - (last - first).leading_zeros();
                RootModel::Radix { shift: bits.saturating_sub(leaves.ilog2()) }
            }
        };
        root
    }

    pub(super) fn kind(&self) -> RootKind {
        match self.model {
            RootModel::Linear { .. } => RootKind::Linear,
            RootModel::Cubic { .. } => RootKind::Cubic,
            RootModel::Radix { .. } => RootKind::Radix,
        }
    }

    /// The leaf that covers `x`, monotone in `x`.
    pub(super) fn leaf_of(&self, x: u64) -> usize {
        let from_first = x.saturating_sub(self.first);
        let leaf = match self.model {
            // A cast from f64 saturates, and maps NaN to 0.
            RootModel::Linear { slope, offset } => (slope * (from_first as f64) + offset) as usize,
            RootModel::Cubic { coefficients, offset, scale, from_the_end: false } => {
                (offset + cubic(coefficients, from_first as f64 * scale)) as usize
            }
            RootModel::Cubic { coefficients, offset, scale, from_the_end: true } => {
                (offset - cubic(coefficients, self.last.saturating_sub(x) as f64 * scale)) as usize
            }
            RootModel::Radix { shift } => from_first.checked_shr(shift).unwrap_or(0) as usize,
        };
        leaf.min(self.leaves - 1)
    }
}

fn cubic([a, b, c]: [f64; 3], u: f64) -> f64 {
    ((c * u + b) * u + a) * u
}

fn moments(points: impl Iterator<Item = (u64, f64)>, scaled: impl Fn(u64) -> f64) -> PowerSums {
    let mut moments = PowerSums::default();
    points.for_each(|(x, y)| moments.push(scaled(x), y));
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_root_rises_over_the_whole_range_of_keys() {
        let shapes: [fn(u64) -> u64; 4] = [
            |i| i * i * i,
            |i| u64::MAX - (5_000 - i) * (5_000 - i),
            |i| (1 << 63) + i * 3,
            |i| if i < 2_500 { i } else { u64::MAX - 5_000 + i },
        ];
        for shape in shapes {
            let keys: Vec<u64> = (0..5_000).map(shape).collect();
            let fences: Vec<Fence> = keys.windows(2).map(|pair| Fence { low: pair[0], high: pair[1] }).collect();
            for kind in RootKind::ALL {
                for leaves in [1, 7, 64, 4096] {
                    let root = Root::train(&fences, kind, leaves);
                    let mut probes: Vec<u64> = (0..4_000).map(|i| i * (u64::MAX / 4_000)).collect();
                    probes.extend(keys.iter().flat_map(|&key| [key.saturating_sub(1), key, key.saturating_add(1)]));
                    probes.sort_unstable();
                    let leaves_hit: Vec<usize> = probes.iter().map(|&x| root.leaf_of(x)).collect();
                    assert!(leaves_hit.is_sorted() && leaves_hit.iter().all(|&leaf| leaf < leaves), "{root:?}");
                }
            }
        }
    }

    #[test]
    fn a_cubic_spreads_bent_keys_better_than_a_line() {
        // The share of keys below x grows with the cube of x, or its complement shrinks with that of the distance from
        // the end.
        let bent: Vec<u64> = (1..10_000).map(|i| ((i as f64 / 1e4).cbrt() * 1e15) as u64).collect();
        let mirrored: Vec<u64> = bent.iter().rev().map(|key| 1_000_000_000_000_000 - key).collect();
        for keys in [bent, mirrored] {
            let fences: Vec<Fence> = keys.windows(2).map(|pair| Fence { low: pair[0], high: pair[1] }).collect();
            let fullest = |kind| {
                let root = Root::train(&fences, kind, 100);
                let mut counts = [0; 100];
                keys.iter().for_each(|&key| counts[root.leaf_of(key)] += 1);
                counts.into_iter().max().unwrap_or(0)
            };
            let (cubic, linear) = (fullest(RootKind::Cubic), fullest(RootKind::Linear));
            assert!(cubic < 110 && linear > 500, "{cubic}, {linear}");
        }
    }
}
