//! How much is read at once: from the profile of the storage, and from the memory that there is.

use super::fetch::ReadSizes;
use super::piece::BLOCK_OVERHEAD_BYTES;
use crate::error::{Error, Result};
use crate::io::Profile;
use crate::table::Table;

/// Pieces of the inner relation that are in memory at once: one is joined, one waits, one is read, and one is for what turns out to be
/// needed before that can be handed on.
pub(super) const PIECES: u64 = 4;
/// Batches of outer rows: one is joined, the other one looked up.
pub(super) const BATCHES: u64 = 2;
/// A piece, and a batch, take at most so much, in bytes: what a core's cache still holds when the joining thread comes to it.
const PIECE_BYTES_MAX: u64 = 1 << 20;
/// Reads in one piece; enough for the places of any storage many times over.
const REQUESTS_MAX: usize = 512;

/// Memory that a planned scan of a table can make use of, in bytes.
pub(crate) fn wanted_bytes(table: &Table) -> u64 {
    (PIECES + BATCHES + 2) * PIECE_BYTES_MAX.max(2 * table.block_bytes_max())
}

/// Sizes for a planned scan within so much memory.
///
/// # Errors
/// [`Error::InvalidArgument`] where the memory does not hold the largest block several times.
pub(super) fn read_sizes(table: &Table, profile: &Profile, memory_bytes: u64) -> Result<ReadSizes> {
    let each = (memory_bytes / (PIECES + BATCHES + 2)).min(PIECE_BYTES_MAX.max(2 * table.block_bytes_max()));
    let largest = table.block_bytes_max().max(1);
    // Blocks that are not used as they lie in the file are there twice, while they are unpacked.
    let copies = if table.dense_widths().is_some() { 1 } else { 2 };
    let in_memory = (largest * copies + BLOCK_OVERHEAD_BYTES).max(table.block_bytes());
    let piece_blocks = each / in_memory;
    if piece_blocks == 0 {
        return Err(Error::InvalidArgument(format!(
            "a join that reads blocks of {largest} bytes needs {} bytes for them, and has {memory_bytes}; raise its memory",
            in_memory * (PIECES + BATCHES + 2)
        )));
    }
    Ok(ReadSizes {
        batch_bytes: each,
        piece_blocks,
        piece_requests: REQUESTS_MAX,
        request_bytes: each,
        bridge_blocks: bridge_blocks(profile, table.block_bytes().max(1), piece_blocks),
    })
}

/// The longest gap, in blocks, that costs no more to read than a further request does.
fn bridge_blocks(profile: &Profile, block_bytes: u64, most: u64) -> u64 {
    let apart_us = 2.0 * profile.time_us(block_bytes);
    let is_cheaper = |gap: u64| profile.time_us((gap + 2).saturating_mul(block_bytes)) <= apart_us;
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if is_cheaper(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_bridged_for_as_long_as_it_takes_less_than_the_latency() {
        let profile = Profile::affine("x", 100.0, 1000.0, 4).unwrap();
        // 100 us at 1000 bytes each.
        assert_eq!(bridge_blocks(&profile, 1000, 1 << 20), 100);
        assert_eq!(bridge_blocks(&profile, 1000, 30), 30);
        assert_eq!(bridge_blocks(&profile, 200_000, 30), 0);
    }
}
