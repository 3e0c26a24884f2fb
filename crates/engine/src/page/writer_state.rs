//! The state private to the single writer of a page file.

use super::header::Header;
use super::space::PageSpace;
use super::space_map::MapLocations;
use crate::io::UpdatableFile;
use crate::log::{SegmentId, SegmentWriter};
use std::sync::Arc;

/// A closed segment whose pages are not all in the page file yet.
#[derive(Clone, Debug)]
pub(super) struct SealedSegment {
    pub(super) id: SegmentId,
    pub(super) bytes: u64,
    /// The last commit in it.
    pub(super) sequence: u64,
    /// The state after that commit.
    pub(super) state: Arc<[u8]>,
}

/// The writer's own state. Its holder is the single writer.
#[derive(Debug)]
pub(super) struct PageWriter {
    pub(super) file: Arc<dyn UpdatableFile>,
    pub(super) space: PageSpace,
    /// The locations of the stored space map.
    pub(super) places: MapLocations,
    /// The header last written.
    pub(super) header: Header,
    /// The epoch of pages that are written directly now.
    pub(super) epoch: u32,
    /// The growing segment; none before the first commit after an open or a checkpoint.
    pub(super) segment: Option<SegmentWriter>,
    /// Segments before it, oldest first.
    pub(super) sealed: Vec<SealedSegment>,
    pub(super) next_segment: u32,
    /// Commits and bytes since the last sync of the log.
    pub(super) waiting_commits: u32,
    pub(super) waiting_bytes: u64,
    /// Random number of this opening: distinguishes its segments from those of a copy of the file.
    pub(super) nonce: u64,
}
