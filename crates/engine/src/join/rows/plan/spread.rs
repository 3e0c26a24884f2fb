//! The spread of the keys of one relation over the blocks of the other one.

/// An interval of keys in which both sides are assumed to be evenly spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::join) struct KeyInterval {
    /// Rows of the outer relation.
    pub(in crate::join) outer_rows: f64,
    /// Blocks of the inner relation.
    pub(in crate::join) inner_blocks: f64,
}

/// All key intervals, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::join) struct Spread {
    pub(in crate::join) intervals: Vec<KeyInterval>,
}
