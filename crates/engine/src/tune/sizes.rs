//! Stored sizes of nodes, index pages and roots.

/// Size of the header of an index page, and of the root.
pub const INDEX_PAGE_HEADER_BYTES: u64 = 24;

/// Stored size of a step piece: separator u64, first child u40.
pub const STEP_PIECE_BYTES: u64 = 13;
/// Stored size of a line node: start u64, slope f32, first child u40, two reaches of 12 bits.
pub const LINE_NODE_BYTES: u64 = 20;

/// Size of a root of `nodes` nodes of `node_bytes` each, including the header of a run of nodes.
pub(super) fn root_blob_bytes(nodes: u64, node_bytes: u64) -> u64 {
    INDEX_PAGE_HEADER_BYTES + nodes * node_bytes
}
