//! The options of ALEX.

/// Options of an [`Alex`](super::Alex) index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlexOptions {
    /// Fill of data nodes after a bulk load, in percent (the paper's d_0).
    pub initial_percent: u8,
    /// Greatest fill of a page when a data node is written, in percent (the paper's d_u).
    pub max_percent: u8,
    /// Fill of a data node after an expansion, in percent (the paper's d_l). A node below half of it is contracted.
    pub min_percent: u8,
    /// Most pages of a data node. The paper's 16 MB suit memory. On disk, an expansion rewrites the whole node, which
    /// should cost at most a page per twenty inserts; and in large nodes even a good line often predicts a wrong page,
    /// which costs a block.
    pub max_node_pages: u16,
    /// Log2 of the most children of an inner node with a model.
    pub max_fanout_bits: u8,
    /// Weight of file size against reads: the file grows by a page only if that many lookups each save a block.
    pub page_weight: u8,
}

impl Default for AlexOptions {
    fn default() -> Self {
        Self {
            initial_percent: 70,
            max_percent: 80,
            min_percent: 60,
            max_node_pages: 16,
            max_fanout_bits: 20,
            page_weight: 24,
        }
    }
}

impl AlexOptions {
    /// The options with all values clamped to valid ranges: 10 to 100 percent, ascending; 1 to 4,096 pages; 2 to 2^24
    /// children.
    pub(super) fn clamped(self) -> Self {
        let max_percent = self.max_percent.clamp(20, 100);
        let initial_percent = self.initial_percent.clamp(15, max_percent);
        Self {
            initial_percent,
            max_percent,
            min_percent: self.min_percent.clamp(10, initial_percent),
            max_node_pages: self.max_node_pages.clamp(1, 4096),
            max_fanout_bits: self.max_fanout_bits.clamp(1, 24),
            page_weight: self.page_weight,
        }
    }
}
