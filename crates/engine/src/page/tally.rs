//! What a transaction did, by phase: the breakdown that the evaluations print.

use std::collections::BTreeMap;

/// What a write operation is busy with, as the papers split it (AULID, Figures 13 to 15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Finding where an entry belongs.
    #[default]
    Search,
    /// Putting the entry there.
    Insert,
    /// Structure modification: splits, merges, new nodes, rebuilding.
    Structure,
    /// Statistics that guide structure modifications.
    Statistics,
}

/// Work of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTally {
    /// Distinct pages asked for in the operations of this phase, cached or not.
    pub pages_read: u64,
    /// Pages changed.
    pub pages_changed: u64,
    /// Time, in nanoseconds; 0 unless the transaction is timed.
    pub time_ns: u64,
}

/// What a transaction did since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Work by phase.
    pub phases: BTreeMap<Phase, PhaseTally>,
    /// Structure modifications by name, such as "leaf split".
    pub structure_modifications: BTreeMap<&'static str, u64>,
}
