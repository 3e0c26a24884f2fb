//! The options of LIPP.

/// Options of a [`Lipp`](super::Lipp) index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LippOptions {
    /// Slots for each key of a node of a million keys or more, of one of 100,000 or more, and of a smaller one.
    pub slots_a_key: [u8; 3],
    /// A node is built anew when it holds this many times the keys that it was built of...
    pub rebuild_growth: u8,
    /// ...and at least this many keys...
    pub rebuild_least: u32,
    /// ...and this part of the inserts since then, in percent, met an occupied slot.
    pub rebuild_conflict_percent: u8,
    /// Levels of nodes with models, at most; what is below is sorted.
    pub model_levels: u8,
}

impl Default for LippOptions {
    /// What the authors' code does; and six levels, one more than their figures need.
    fn default() -> Self {
        Self {
            slots_a_key: [2, 3, 6],
            rebuild_growth: 4,
            rebuild_least: 64,
            rebuild_conflict_percent: 10,
            model_levels: 6,
        }
    }
}

/// Slots of a node of two keys, as in the authors' code.
const SLOTS_OF_PAIR: usize = 8;

impl LippOptions {
    /// The same with every value where it makes sense.
    pub(super) fn sound(self) -> Self {
        Self {
            slots_a_key: self.slots_a_key.map(|slots| slots.clamp(1, 32)),
            rebuild_growth: self.rebuild_growth.max(2),
            rebuild_least: self.rebuild_least.max(4),
            rebuild_conflict_percent: self.rebuild_conflict_percent.min(100),
            model_levels: self.model_levels.min(16),
        }
    }

    /// Slots of a node of so many keys.
    pub(super) fn slots(&self, keys: usize) -> usize {
        let [many, some, few] = self.slots_a_key.map(usize::from);
        match keys {
            0..=2 => SLOTS_OF_PAIR,
            1_000_000.. => keys.saturating_mul(many),
            100_000.. => keys * some,
            _ => keys * few,
        }
    }
}
