//! The options of LIPP.

/// Options of a [`Lipp`](super::Lipp) index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LippOptions {
    /// Slots per key in nodes of a million keys or more, of 100,000 or more, and of fewer.
    pub slots_per_key: [u8; 3],
    /// A node is rebuilt when it has this many times the keys that it was built with...
    pub rebuild_growth: u8,
    /// ...and at least this many keys...
    pub rebuild_keys_min: u32,
    /// ...and this percentage of the inserts since then hit an occupied slot.
    pub rebuild_conflict_percent: u8,
    /// Most levels of nodes with models; nodes below are sorted.
    pub model_levels: u8,
}

impl Default for LippOptions {
    /// The values of the authors' code, and six levels, one more than their results need.
    fn default() -> Self {
        Self {
            slots_per_key: [2, 3, 6],
            rebuild_growth: 4,
            rebuild_keys_min: 64,
            rebuild_conflict_percent: 10,
            model_levels: 6,
        }
    }
}

/// Number of slots of a node of two keys, as in the authors' code.
const PAIR_SLOTS: usize = 8;

impl LippOptions {
    /// The options with all values clamped to valid ranges.
    pub(super) fn clamped(self) -> Self {
        Self {
            slots_per_key: self.slots_per_key.map(|slots| slots.clamp(1, 32)),
            rebuild_growth: self.rebuild_growth.max(2),
            rebuild_keys_min: self.rebuild_keys_min.max(4),
            rebuild_conflict_percent: self.rebuild_conflict_percent.min(100),
            model_levels: self.model_levels.min(16),
        }
    }

    /// The number of slots of a node of `keys` keys.
    pub(super) fn slots(&self, keys: usize) -> usize {
        let [many, some, few] = self.slots_per_key.map(usize::from);
        match keys {
            0..=2 => PAIR_SLOTS,
            1_000_000.. => keys.saturating_mul(many),
            100_000.. => keys * some,
            _ => keys * few,
        }
    }
}
