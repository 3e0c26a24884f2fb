//! The hint: a line through the keys with a window that was measured.

use crate::Fence;
use std::ops::RangeInclusive;

/// Most children that a window may reach on one side of its prediction (12 bits in the stored form).
pub const MAX_REACH: u64 = (1 << 12) - 1;

/// A line from coordinates to children, and how far from its prediction the right child may lie.
///
/// The prediction is `first_child + floor(slope * (x - start))`, computed in f64 after the subtraction in integers, and
/// clamped to the children of the node; multiplication and floor are exact IEEE operations, so every machine predicts
/// the same child. The window is measured with this very arithmetic ([`crate::line::certify`]), so it holds for the
/// slope as stored.
///
/// Source: AirIndex, Section 4.1 (band nodes); here over children rather than bytes, so that any prediction within the
/// right child is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineNode {
    /// Smallest coordinate of the node.
    pub start: u64,
    /// Number of the first child that the node leads to.
    pub first_child: u64,
    /// Children for each unit of coordinate; finite and not negative.
    pub slope: f32,
    /// How many children below its prediction the window begins.
    pub reach_below: u16,
    /// How many children above its prediction the window ends.
    pub reach_above: u16,
}

impl LineNode {
    /// The predicted child for coordinate `x >= start`, at most `last_child`.
    pub fn predict(&self, x: u64, last_child: u64) -> u64 {
        let offset = f64::from(self.slope) * (x.saturating_sub(self.start) as f64);
        // The cast saturates: NaN (zero times infinity cannot occur: the slope is finite) and negatives give 0.
        self.first_child.saturating_add(offset as u64).min(last_child)
    }

    /// The children that may hold coordinate `x`, within `first_child..=last_child`, where `last_child` is the first
    /// child of the next node (keys of the gap between two nodes belong to the former, which must reach both sides).
    pub fn window(&self, x: u64, last_child: u64) -> RangeInclusive<u64> {
        let predicted = self.predict(x, last_child);
        let below = predicted.saturating_sub(u64::from(self.reach_below)).max(self.first_child);
        below..=predicted.saturating_add(u64::from(self.reach_above)).min(last_child)
    }
}

/// Measures, with the arithmetic of the look-up, how far below and above its prediction a line must reach so that
/// its window holds every child that a coordinate may need.
///
/// `fences[k]` lies between child `first_child + k` and the next; the last of them borders the next node's first child.
pub fn certify(start: u64, first_child: u64, slope: f32, fences: &[Fence]) -> (u64, u64) {
    let node = LineNode { start, first_child, slope, reach_below: 0, reach_above: 0 };
    let last_child = first_child + fences.len() as u64;
    let (mut below, mut above) = (0, 0);
    for (k, fence) in fences.iter().enumerate() {
        let left = first_child + k as u64;
        above = above.max((left + 1).saturating_sub(node.predict(fence.first_right(), last_child)));
        if fence.last_left() >= start {
            below = below.max(node.predict(fence.last_left(), last_child).saturating_sub(left));
        }
    }
    (below, above)
}
