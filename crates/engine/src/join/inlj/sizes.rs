//! The read sizes of a planned scan: derived from the storage profile and the available memory.

use super::fetch::ReadSizes;
use super::piece::{BLOCK_OVERHEAD_BYTES, PIECE_OVERHEAD_BYTES};
use crate::error::Result;
use crate::join::plan::{ReadShape, worthwhile_gap_bytes};
use crate::join::task::{Share, Task};
use crate::table::Table;

/// Pieces of the inner relation that are in memory at once: one is joined, one waits, one is read, and one is for what turns out to be
/// needed before that can be handed on.
pub(super) const PIECES: u64 = 4;
/// Batches of outer rows: one is joined, the other one looked up.
pub(super) const BATCHES: u64 = 2;
/// Parts of the memory for the scan of the outer relation, and one for rows that are laid out.
pub(super) const SCAN_PARTS: u64 = 2;
/// All parts.
const PARTS: u64 = PIECES + BATCHES + SCAN_PARTS + 1;
/// Pieces, and batches, which must be long enough to need whole pieces, take at most so much, in bytes: 8 MiB, which the fastest reads of known devices take, and what stands beside the blocks.
const PIECE_BYTES_MAX: u64 = 9 << 20;
/// Pieces take at least so much where memory allows it, in bytes: where reads are answered at once, handing a piece over takes longer than
/// reading a short one (measured: a join of 36 MB in blocks of 4 KiB).
const PIECE_BYTES_MIN: u64 = 1 << 20;
/// Reads in one piece; enough for the places of any storage many times over.
const REQUESTS_MAX: usize = 512;

/// Memory of the part for the scan of the outer relation, of all that a planned scan has.
pub(super) fn scan_bytes(memory_bytes: u64) -> u64 {
    memory_bytes / PARTS * SCAN_PARTS
}

/// Memory that a planned scan of a table can make use of, in bytes.
pub(crate) fn wanted_bytes(table: &Table) -> u64 {
    PARTS * PIECE_BYTES_MAX.max(2 * table.largest_block_bytes())
}

/// Sizes for a planned scan within so much memory.
///
/// # Errors
/// [`Error::JoinMemoryShort`](crate::Error::JoinMemoryShort) where the memory does not hold the largest block several times.
pub(super) fn read_sizes(table: &Table, task: &Task, memory: &Share) -> Result<ReadSizes> {
    let (profile, memory_bytes) = (&task.profile, memory.bytes());
    let largest = table.largest_block_bytes().max(1);
    let part = (memory_bytes / PARTS).min(PIECE_BYTES_MAX.max(2 * largest));
    // Blocks that are not used as they lie in the file may be there twice, packed and unpacked.
    let copies = if table.dense_widths().is_some() { 1 } else { 2 };
    let in_memory = largest * copies + BLOCK_OVERHEAD_BYTES;
    let room = part.saturating_sub(PIECE_OVERHEAD_BYTES) / in_memory;
    if room == 0 {
        let (path, needed) = (table.path().display(), PARTS * (in_memory + PIECE_OVERHEAD_BYTES));
        let what = format!(
            "reading blocks of {largest} bytes of {path} takes {needed} bytes, and this join has {memory_bytes} for it"
        );
        return Err(memory.short((needed, memory_bytes), what));
    }
    if !task.fast_paths.prefetch {
        let (piece_blocks, piece_requests, bridge_blocks) = (1, 1, 0);
        let request_bytes = largest;
        let (batch_bytes, laid_out_bytes) = (part, part);
        return Ok(ReadSizes {
            batch_bytes,
            piece_blocks,
            piece_requests,
            request_bytes,
            bridge_blocks,
            laid_out_bytes,
        });
    }
    let shape = ReadShape::sequential(profile, (room * largest).max(1));
    let block_bytes = table.block_bytes().clamp(1, largest);
    let piece_blocks = (shape.batch_bytes().max(PIECE_BYTES_MIN) / block_bytes).clamp(1, room);
    Ok(ReadSizes {
        batch_bytes: part,
        piece_blocks,
        piece_requests: REQUESTS_MAX,
        request_bytes: shape.request_bytes,
        bridge_blocks: worthwhile_gap_bytes(profile, block_bytes) / block_bytes,
        laid_out_bytes: part,
    })
}
