//! Counts of leaves by layer, on which Adjust relies.

use super::reader::DEPTH_MAX;
use std::ops::{AddAssign, SubAssign};

/// The number of leaves by the layer of their separator, or a change of these numbers. Layer `d` consists of the DATA
/// slots of mixed nodes of depth `d`, and of the arrays and two-layer nodes under slots of depth `d - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layers([i64; DEPTH_MAX + 1]);

impl Default for Layers {
    fn default() -> Self {
        Self([0; DEPTH_MAX + 1])
    }
}

impl Layers {
    /// A number of leaves in one layer.
    pub(super) fn of(layer: usize, leaves: i64) -> Self {
        let mut layers = Self::default();
        layers.0[layer.min(DEPTH_MAX)] = leaves;
        layers
    }

    pub(super) fn total(&self) -> i64 {
        self.0.iter().sum()
    }

    /// The number of leaves in the third or a deeper layer, counted from a mixed node of depth `depth`.
    pub(super) fn deep(&self, depth: usize) -> i64 {
        self.0.iter().skip(depth + 2).sum()
    }

    /// The numbers by layer, the first one first.
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
