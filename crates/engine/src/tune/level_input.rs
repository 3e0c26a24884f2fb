//! The level input: the children that an index layer is built over.

use ogive_model::Fence;

/// The input of an index layer: neighbouring children, which are data blocks or pages of the layer below.
///
/// ```text
///   child 0 | fences[0] | child 1 | fences[1] | ... | child n-1
/// ```
///
/// Complexities count n children: n children have n - 1 fences, and there is at least one child.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelInput {
    /// Smallest key of the first child, as a u64.
    pub first: u64,
    /// Borders between neighbours, in order.
    pub fences: Vec<Fence>,
    /// Stored size of a child, which is also the size of its read.
    pub child_bytes: u64,
    /// Relative frequency of lookups for each child; `None` if all are equal.
    pub weights: Option<Vec<f64>>,
}

impl LevelInput {
    /// Number of children; never 0.
    pub fn children(&self) -> u64 {
        self.fences.len() as u64 + 1
    }

    /// Stored size of all children.
    pub fn size_bytes(&self) -> u64 {
        self.children().saturating_mul(self.child_bytes)
    }

    /// Weights the children by a sample of looked-up keys; an empty sample leaves them equal.
    pub fn weigh_by(&mut self, keys: &[u64]) {
        if keys.is_empty() {
            self.weights = None;
            return;
        }
        let mut weights = vec![0.0; self.fences.len() + 1];
        for &key in keys {
            weights[self.child_of(key)] += 1.0;
        }
        self.weights = Some(weights);
    }

    /// The child that key `x` belongs to: where its run of equal keys begins.
    pub fn child_of(&self, x: u64) -> usize {
        self.fences.partition_point(|fence| fence.low < x && fence.high <= x)
    }

    /// The weights as shares of 1, summed from the left: share of lookups that end before child i, for i in 0..=n.
    pub(super) fn shares(&self) -> LookupShares {
        let Some(weights) = self.weights.as_deref().filter(|weights| weights.len() == self.fences.len() + 1) else {
            return LookupShares::Equal(1.0 / self.children() as f64);
        };
        let mut sum = 0.0;
        let mut before = Vec::with_capacity(weights.len() + 1);
        before.push(0.0);
        for weight in weights {
            // A negative, NaN or infinite weight is ignored.
            sum += if weight.is_finite() { weight.max(0.0) } else { 0.0 };
            before.push(sum);
        }
        if sum > 0.0 && sum.is_finite() {
            before.iter_mut().for_each(|share| *share /= sum);
            LookupShares::Before(before)
        } else {
            LookupShares::Equal(1.0 / self.children() as f64)
        }
    }

    /// A part with its own first key, and fences `from..to`, hence children `from..=to`.
    pub(super) fn sample(&self, from: usize, to: usize) -> LevelInput {
        LevelInput {
            first: self.starts(from),
            fences: self.fences[from..to].to_vec(),
            child_bytes: self.child_bytes,
            weights: self.weights.as_ref().map(|weights| weights[from..=to].to_vec()),
        }
    }

    /// A coarse view: each child of the result is `factor` children of this input.
    pub(super) fn coarse(&self, factor: usize) -> LevelInput {
        let factor = factor.max(1);
        let fences = self.fences.iter().skip(factor - 1).step_by(factor).copied().collect();
        let weights =
            self.weights.as_ref().map(|weights| weights.chunks(factor).map(|part| part.iter().sum()).collect());
        LevelInput { first: self.first, fences, child_bytes: self.child_bytes * factor as u64, weights }
    }

    /// [`Self::coarse`] without a copy if the factor is 1.
    pub(super) fn into_coarse(self, factor: usize) -> LevelInput {
        if factor <= 1 { self } else { self.coarse(factor) }
    }

    /// Smallest key of child `child`.
    pub(super) fn starts(&self, child: usize) -> u64 {
        if child == 0 { self.first } else { self.fences[child - 1].high }
    }

    /// Largest known key of child `child` (the last child's end is unknown, so its start is used).
    pub(super) fn ends(&self, child: usize) -> u64 {
        self.fences.get(child).map_or_else(|| self.starts(child), |fence| fence.low)
    }
}

/// Shares of lookups by child.
#[derive(Clone, Debug)]
pub(super) enum LookupShares {
    /// Every child has this share.
    Equal(f64),
    /// Share of all children before child i.
    Before(Vec<f64>),
}

impl LookupShares {
    /// Share of the lookups that end in children `from..to`.
    pub(super) fn between(&self, from: u64, to: u64) -> f64 {
        match self {
            Self::Equal(share) => to.saturating_sub(from) as f64 * share,
            Self::Before(before) => {
                let at = |child: u64| before[(child as usize).min(before.len() - 1)];
                (at(to) - at(from)).max(0.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> LevelInput {
        let fences = [(9, 20), (30, 30), (30, 40)].map(|(low, high)| Fence { low, high }).to_vec();
        LevelInput { first: 3, fences, child_bytes: 10, weights: None }
    }

    #[test]
    fn a_run_over_a_border_is_at_home_where_it_begins() {
        let homes = [0, 9, 10, 19, 20, 29, 30, 31, 39, 40, 99].map(|x| row().child_of(x));
        assert_eq!(homes, [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_sample_of_keys_weighs_the_children() {
        let mut row = row();
        row.weigh_by(&[5, 40, 41, 42]);
        assert_eq!(row.weights, Some(vec![1.0, 0.0, 0.0, 3.0]));
        assert_eq!(row.shares().between(0, 1), 0.25);
        assert_eq!(row.shares().between(1, 4), 0.75);
        row.weigh_by(&[]);
        assert_eq!(row.shares().between(1, 3), 0.5);
    }

    #[test]
    fn weights_that_say_nothing_count_as_equal() {
        for weights in [vec![0.0; 4], vec![f64::NAN, 0.0, -1.0, 0.0], vec![1.0]] {
            let row = LevelInput { weights: Some(weights), ..row() };
            assert_eq!(row.shares().between(0, 2), 0.5);
        }
    }

    #[test]
    fn a_coarse_row_keeps_every_nth_border() {
        let coarse = LevelInput { weights: Some(vec![1.0, 2.0, 3.0, 4.0]), ..row() }.coarse(2);
        assert_eq!(coarse.fences, [Fence { low: 30, high: 30 }]);
        assert_eq!((coarse.child_bytes, coarse.weights), (20, Some(vec![3.0, 7.0])));
    }
}
