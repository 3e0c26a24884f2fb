//! The options of ALEX.

/// Options of an [`Alex`](super::Alex) index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlexOptions {
    /// How full a bulk load makes data nodes, in percent (the paper's d_0).
    pub initial_percent: u8,
    /// How full a data node's page is when it is written, at most, in percent: beyond, the node takes more pages (the
    /// paper's d_u).
    pub max_percent: u8,
    /// How full an expansion makes a data node, in percent; one that deletes leave less than half as full is contracted
    /// (the paper's d_l).
    pub min_percent: u8,
    /// Pages of a data node, at most. The paper's 16 MB suit memory. On disk a node is written anew as a whole when it
    /// expands, which must not cost more than a page for some twenty inserts; and beyond some pages even a good line
    /// misses the page, at a block each.
    pub max_node_pages: u16,
    /// Children of an inner node with a model, at most, as a power of two.
    pub max_fanout_bits: u8,
    /// Look-ups that each must save a block for the file to grow by a page: what trades blocks for bytes.
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
    /// The same with every value where it makes sense: 10 to 100 percent, ascending; 1 to 4,096 pages; 2 to 2^24
    /// children.
    pub(super) fn sound(self) -> Self {
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
