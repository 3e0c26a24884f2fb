//! Counts of leaves by layer, which guide Adjust.

use super::view::DEEPEST;
use std::ops::{AddAssign, SubAssign};

/// Leaves by the layer that holds their separator, or a change of these numbers. Layer `d` are the DATA slots of mixed
/// nodes of depth `d`, and the arrays and two-layer nodes under slots of depth `d - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layers([i64; DEEPEST + 1]);

impl Default for Layers {
    fn default() -> Self {
        Self([0; DEEPEST + 1])
    }
}

impl Layers {
    /// So many leaves in one layer.
    pub(super) fn of(layer: usize, leaves: i64) -> Self {
        let mut layers = Self::default();
        layers.0[layer.min(DEEPEST)] = leaves;
        layers
    }

    pub(super) fn total(&self) -> i64 {
        self.0.iter().sum()
    }

    /// Leaves in the third or a deeper layer, as seen from a mixed node of depth `depth`.
    pub(super) fn deep(&self, depth: usize) -> i64 {
        self.0.iter().skip(depth + 2).sum()
    }

    /// By layer, the first one first.
    pub(super) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.0.iter().copied()
    }
}

impl AddAssign for Layers {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl SubAssign for Layers {
    fn sub_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine -= theirs);
    }
}
