//! The files of an open table: its own, and the one with the blocks.

use super::read_trace::TracedRead;
use crate::io::{ReadableFile, Storage};
use std::sync::Arc;

/// The files of an open table.
#[derive(Debug)]
pub(in crate::table) struct TableFiles {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) own: Arc<dyn ReadableFile>,
    pub(super) id: u64,
    pub(super) data: Arc<dyn ReadableFile>,
    pub(super) data_id: u64,
    pub(super) opening: TracedRead,
    pub(super) tail_offset: u64,
}

impl TableFiles {
    pub(in crate::table) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The file of the table.
    pub(in crate::table) fn own(&self) -> &Arc<dyn ReadableFile> {
        &self.own
    }

    /// The random identity of the file.
    pub(in crate::table) fn id(&self) -> u64 {
        self.id
    }

    /// The file that has the blocks: that of the table, unless this is an external index.
    pub(in crate::table) fn data(&self) -> &Arc<dyn ReadableFile> {
        &self.data
    }

    /// The identity that checksums of blocks cover.
    pub(in crate::table) fn data_id(&self) -> u64 {
        self.data_id
    }

    /// The file with the children of a level.
    pub(in crate::table) fn of_level(&self, level: usize) -> &Arc<dyn ReadableFile> {
        if level == 0 { &self.data } else { &self.own }
    }

    /// The read that opened the table.
    pub(in crate::table) fn opening(&self) -> TracedRead {
        self.opening
    }

    /// Where the tail begins in the file of the table.
    pub(in crate::table) fn tail_offset(&self) -> u64 {
        self.tail_offset
    }
}
