//! The options of AULID. Each part can be disabled, for the ablations of the paper.

/// Options of [`super::AulidRouter`]. The default is that of the paper, with the parameters of its Section 5.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct AulidOptions {
    /// Stores up to 64 separators that share a slot in packed arrays (Section 3.3.2).
    pub packed_arrays: bool,
    /// Stores more of them in a two-layer B+-tree node. Without this and [`Self::packed_arrays`], each conflict creates
    /// a mixed node, as in LIPP: the inner part of the paper's LIPP-B+.
    pub two_layer_nodes: bool,
    /// Continues in the next slots if a key is above the separator of its slot (Section 4.2.3). Without this option,
    /// the leaf of the slot is read first, needlessly.
    pub scan_forward: bool,
    /// Copies each DATA slot to the empty slots before it in a bulk load (Section 4.2.3), so that lookups in empty
    /// slots read no other block. Changes clear such copies, which costs writes: for read-only indexes.
    pub fulfill: bool,
    /// Maintains the statistics of mixed nodes (Section 4.4), which `adjust` needs.
    pub statistics: bool,
    /// Rebuilds nodes with too many deep leaves (Algorithm 2).
    pub adjust: bool,
    /// Least share of leaves in the third or a deeper layer for a rebuild.
    pub alpha: f64,
    /// Least growth of a node since it was built for a rebuild, as a factor.
    pub beta: f64,
    /// Slots per leaf of a bulk-loaded mixed node; `None` for the authors' choice: 2 for a million leaves or more, 6
    /// from 100,000, 11 below.
    pub slots_per_leaf: Option<u8>,
    /// Slots per leaf of a node that is rebuilt, or built from a full two-layer node; the authors' choice is 6.
    pub slots_per_leaf_rebuilt: u8,
}

impl Default for AulidOptions {
    fn default() -> Self {
        Self {
            packed_arrays: true,
            two_layer_nodes: true,
            scan_forward: true,
            fulfill: false,
            statistics: true,
            adjust: true,
            alpha: 0.05,
            beta: 1.2,
            slots_per_leaf: None,
            slots_per_leaf_rebuilt: 6,
        }
    }
}

impl AulidOptions {
    /// Slots per leaf for a bulk load of `leaves` leaves.
    pub(super) fn bulk_slots_per_leaf(&self, leaves: usize) -> u8 {
        let authors = match leaves {
            1_000_000.. => 2,
            100_000.. => 6,
            _ => 11,
        };
        self.slots_per_leaf.unwrap_or(authors)
    }
}
