//! The division of the memory for rows that lie apart.

use ogive::table::SortingWriter;

/// Parts of the memory, in bytes. Their sum, with two rounds, is 7/8 of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    /// The numbers of rows, in one order or the other.
    pub(crate) list: u64,
    /// Pages that are read in one round. The next round is under way while one is decoded.
    pub(crate) round: u64,
    /// Rows that are decoded at a time; a copy without others takes as much.
    pub(crate) decoded: u64,
    /// Rows that are brought into order; and as much for what is sorted on disk.
    pub(crate) gathered: u64,
}

impl Shares {
    /// The division of this memory. Half of it is left to the blocks of the index.
    pub(crate) fn of(memory_bytes: u64) -> Self {
        let all = memory_bytes / 2;
        Self { list: all / 8, round: all / 16, decoded: all / 16, gathered: all / 4 }
    }

    /// Memory of a sort with this share.
    pub(crate) fn of_sort(share: u64) -> u64 {
        share.max(SortingWriter::MEMORY_BYTES_MIN)
    }
}
