//! Which structure, and what it is told.

/// The structures that an index can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Kind {
    /// B+-tree leaves under coded inner nodes: our own.
    #[default]
    Ogive,
    /// AULID (Lan et al.): B+-tree leaves under mixed nodes, packed arrays and two-layer B+-tree nodes.
    Aulid,
    /// The B+-tree.
    Btree,
    /// FITing-tree: segments with delta buffers.
    Fiting,
    /// PGM with the logarithmic method.
    Pgm,
    /// ALEX: gapped data nodes.
    Alex,
    /// LIPP: exact positions, no last-mile search.
    Lipp,
    /// FITing-tree over B+-tree leaves.
    FitingBtree,
    /// PGM over B+-tree leaves.
    PgmBtree,
    /// ALEX over B+-tree leaves.
    AlexBtree,
    /// LIPP over B+-tree leaves: the LIPP-B+ of the AULID paper.
    LippBtree,
}

/// What every structure of an index is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLayout {
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// How full a bulk load makes leaves, in percent.
    pub fill_percent: u8,
    /// Whether a key may stand for several entries.
    pub duplicates: bool,
}

impl Default for IndexLayout {
    /// The fill of the AULID paper's B+-tree.
    fn default() -> Self {
        Self { payload_bytes: 8, fill_percent: 80, duplicates: false }
    }
}
