//! A fence: the border between two neighbouring children.

/// What lies around the border between child `i` and child `i + 1`, in coordinates.
///
/// ```text
///   ... child i ...  low |   gap   | high  ... child i + 1 ...
/// ```
///
/// `low` is the largest coordinate in or before child `i`, `high` the smallest in child `i + 1`, so `low <= high`. Any
/// separator `s` with `low < s <= high` routes every present key rightly: `x < s` goes left, `x >= s` goes right.
/// Where `low == high` (a run of equal keys crosses the border) no separator exists, and coordinate `low` is at home on the left,
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
    /// Largest coordinate at or before the end of the left child.
    pub low: u64,
    /// Smallest coordinate in the right child.
    pub high: u64,
}

impl Fence {
    /// Whether some separator exists.
    pub fn separates(self) -> bool {
        self.low < self.high
    }

    /// The first coordinate for which a hint must reach the right child, so that an absent key is proved absent by what
    /// was read. Saturates at `u64::MAX`, where nothing lies beyond.
    pub fn first_right(self) -> u64 {
        self.low.saturating_add(1)
    }

    /// The last coordinate for which a hint must reach the left child.
    pub fn last_left(self) -> u64 {
        if self.separates() { self.high - 1 } else { self.low }
    }

    /// The first coordinate that a node which begins at the right child may claim for itself: smaller ones are the
    /// business of the node before, which must reach both sides of the gap. `None` where no coordinate lies beyond.
    pub fn start(self) -> Option<u64> {
        if self.separates() { Some(self.high) } else { self.low.checked_add(1) }
    }
}
