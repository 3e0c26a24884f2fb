//! A fence: the border between two neighbouring children.

/// The border between child `i` and child `i + 1`, given by the u64 keys around it.
///
/// ```text
///   ... child i ...  low |   gap   | high  ... child i + 1 ...
/// ```
///
/// `low` is the largest key in or before child `i`, `high` the smallest in child `i + 1`, so `low <= high`. Any
/// separator `s` with `low < s <= high` routes every present key correctly: `x < s` goes left, `x >= s` goes right. If
/// `low == high` (a run of equal keys crosses the border), no separator exists, and key `low` belongs to the left,
/// where its run begins.
///
/// ```
/// use ogive_model::Fence;
/// let fence = Fence { low: 10, high: 20 };
/// assert!(fence.separates());
/// assert_eq!(fence.first_right(), 11); // an absent 11 may lie on either side: both must be reachable
/// assert_eq!(fence.last_left(), 19);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Largest key at or before the end of the left child.
    pub low: u64,
    /// Smallest key in the right child.
    pub high: u64,
}

impl Fence {
    /// Whether a separator exists.
    pub fn separates(self) -> bool {
        self.low < self.high
    }

    /// The first key for which an approximate node must reach the right child, so that the data read proves an absent
    /// key absent. Saturates at `u64::MAX`, after which there is nothing.
    pub fn first_right(self) -> u64 {
        self.low.saturating_add(1)
    }

    /// The last key for which an approximate node must reach the left child.
    pub fn last_left(self) -> u64 {
        if self.separates() { self.high - 1 } else { self.low }
    }

    /// The first key of a node that begins at the right child: smaller ones belong to the previous node, which must
    /// reach both sides of the gap. `None` if no key lies beyond.
    pub fn start(self) -> Option<u64> {
        if self.separates() { Some(self.high) } else { self.low.checked_add(1) }
    }
}
