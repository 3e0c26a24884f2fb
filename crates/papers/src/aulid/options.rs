//! The options of AULID: each part can be switched off, for the ablations of the paper.

/// The choices of [`super::AulidRouter`]. The default is the paper's, with the parameters of its Section 5.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct AulidOptions {
    /// Keep separators that share a slot in packed arrays of 4 to 64 (Section 3.3.2).
    pub packed_arrays: bool,
    /// Keep more of them in a two-layer B+-tree node. With this and [`Self::packed_arrays`] off, each conflict makes a
    /// new mixed node, as in LIPP: the inner part of the paper's LIPP-B+.
    pub two_layer_nodes: bool,
    /// Look for a key beyond the separator of its slot in the slots after it (Section 4.2.3). Without, the leaf of the
    /// slot is fetched first, without result.
    pub scan_forward: bool,
    /// Let a bulk load copy each DATA slot to the empty slots before it (Section 4.2.3): an empty slot then never sends
    /// a look-up to another block. Changes clear such copies, which costs writes: for indexes that are only read.
    pub fulfill: bool,
    /// Keep the statistics of mixed nodes (Section 4.4). Without them nothing is adjusted.
    pub statistics: bool,
    /// Rebuild nodes whose leaves have come to lie too deep (Algorithm 2).
    pub adjust: bool,
    /// The share of leaves in the third or a deeper layer from which on a node is rebuilt.
    pub alpha: f64,
    /// By how much a node must have grown since it was built, to be rebuilt.
    pub beta: f64,
    /// Slots of a mixed node for each leaf under it, when it is bulk-loaded; `None` for the authors' choice: 2 with a
    /// million leaves or more, 6 from 100,000, 11 below.
    pub slots_per_leaf: Option<u8>,
    /// The same when a node is rebuilt or made of a full two-layer node; the authors' choice is 6.
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
    /// Slots for each of `leaves` leaves of a bulk load.
    pub(super) fn bulk_slots_per_leaf(&self, leaves: usize) -> u8 {
        let authors = match leaves {
            1_000_000.. => 2,
            100_000.. => 6,
            _ => 11,
        };
        self.slots_per_leaf.unwrap_or(authors)
    }
}
