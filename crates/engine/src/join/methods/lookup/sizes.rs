//! The read sizes of a planned scan: derived from the storage profile and the available memory.

use super::blocks::block_batch::{BATCH_OVERHEAD_BYTES, BLOCK_OVERHEAD_BYTES};
use super::blocks::fetch::PlannedReadSizes;
use crate::error::Result;
use crate::io::Profile;
use crate::join::input::block_run::first_bytes;
use crate::join::input::read_shape::{ReadShape, StreamShape, worthwhile_gap_bytes};
use crate::join::rows::task::{MemoryGrant, Task};
use crate::table::Table;

/// Batches of inner blocks in memory at once: one being joined, one waiting, one being read, and one for blocks that
/// turn out to be needed before that one can be handed over.
pub(super) const BLOCK_BATCHES: u64 = 4;
/// Batches of outer rows: one being joined, one being looked up.
pub(super) const OUTER_BATCHES: u64 = 2;
/// Memory parts for the scan of the outer relation; one more is for decoded rows.
pub(super) const OUTER_SCAN_PARTS: u64 = 2;
/// Total number of memory parts.
const MEMORY_PARTS: u64 = BLOCK_BATCHES + OUTER_BATCHES + OUTER_SCAN_PARTS + 1;
/// Largest batch, of blocks or of outer rows (which must be long enough to need a whole block batch), in bytes: 8 MiB,
/// the longest read that known devices profit from, plus overhead.
const BATCH_BYTES_MAX: u64 = 9 << 20;
/// Smallest block batch on a measured device if memory allows, in bytes: with fast reads, handing over a short batch
/// takes longer than reading it (measured: a join of 36 MB in blocks of 4 KiB).
const BATCH_BYTES_MIN: u64 = 1 << 20;
/// Most block batches in flight ahead of the current one.
const BATCHES_AHEAD_MAX: u64 = 4;
/// Batches of half the size may take this multiple of the time per byte: two of them overlap.
const HALF_BATCH_RATIO_MAX: f64 = 1.25;
/// Most read requests per block batch; far more than any storage serves at once.
const REQUESTS_MAX: usize = 512;

/// The memory for the scan of the outer relation, out of that of a planned scan.
pub(super) fn scan_bytes(memory_bytes: u64) -> u64 {
    memory_bytes / MEMORY_PARTS * OUTER_SCAN_PARTS
}

/// Most memory that a planned scan of a table can use, in bytes.
pub(crate) fn wanted_bytes(table: &Table) -> u64 {
    MEMORY_PARTS * BATCH_BYTES_MAX.max(2 * table.largest_block_bytes())
}

/// Read sizes of a planned scan within its memory.
///
/// # Errors
/// [`Cause::JoinMemory`](crate::Cause::JoinMemory) if the memory does not hold several of the largest blocks.
pub(super) fn read_sizes(table: &Table, task: &Task, memory: &MemoryGrant) -> Result<PlannedReadSizes> {
    let (profile, memory_bytes) = (&task.profile, memory.bytes());
    let largest = table.largest_block_bytes().max(1);
    let part = (memory_bytes / MEMORY_PARTS).min(BATCH_BYTES_MAX.max(2 * largest));
    // Blocks that must be unpacked may be in memory twice.
    let copies = if table.dense_widths().is_some() { 1 } else { 2 };
    let in_memory = largest * copies + BLOCK_OVERHEAD_BYTES;
    let room = part.saturating_sub(BATCH_OVERHEAD_BYTES) / in_memory;
    if room == 0 {
        let (path, needed) = (table.path().display(), MEMORY_PARTS * (in_memory + BATCH_OVERHEAD_BYTES));
        let what = format!(
            "reading blocks of {largest} bytes of {path} takes {needed} bytes, and this join has {memory_bytes} for it"
        );
        return Err(memory.short((needed, memory_bytes), what));
    }
    if !task.fast_paths.prefetch {
        let (blocks_per_batch, requests_per_batch, bridge_blocks) = (1, 1, 0);
        let request_bytes = largest;
        let (batch_bytes, laid_out_bytes) = (part, part);
        return Ok(PlannedReadSizes {
            batch_bytes,
            first_batch_bytes: first_bytes(profile, 1, part),
            blocks_per_batch,
            requests_per_batch,
            request_bytes,
            bridge_blocks,
            laid_out_bytes,
            batches_ahead: 0,
        });
    }
    let block_bytes = table.block_bytes().clamp(1, largest);
    let run = batch_shape(profile, (room * largest).max(1), block_bytes).run;
    let blocks_per_batch = (run.batch_bytes().max(least_batch_bytes(profile)) / block_bytes).clamp(1, room);
    let further = batches_ahead(room, blocks_per_batch);
    Ok(PlannedReadSizes {
        batch_bytes: part,
        first_batch_bytes: first_bytes(profile, run.at_once, part),
        blocks_per_batch,
        requests_per_batch: REQUESTS_MAX,
        request_bytes: run.request_bytes,
        bridge_blocks: worthwhile_gap_bytes(profile, block_bytes) / block_bytes,
        laid_out_bytes: part,
        batches_ahead: if task.reads_ahead(table.is_direct()) { further as usize } else { 0 },
    })
}

fn least_batch_bytes(profile: &Profile) -> u64 {
    if profile.peak_mb_per_s().is_some() { BATCH_BYTES_MIN } else { 1 }
}

/// Batches of `batch` units that are in flight ahead of the current one, if one part of the memory holds `part` units.
fn batches_ahead(part: u64, batch: u64) -> u64 {
    (BLOCK_BATCHES * part / batch.max(1)).saturating_sub(BLOCK_BATCHES).min(BATCHES_AHEAD_MAX)
}

/// The requests of one block batch, if one part of the memory has `part_bytes`, and the batches in flight. Several are
/// in flight in all parts together, where that takes less time for a byte, or hardly more.
pub(in crate::join) fn batch_shape(profile: &Profile, part_bytes: u64, block_bytes: u64) -> StreamShape {
    let in_flight = |run: ReadShape| {
        let batch_bytes = run.batch_bytes().max(least_batch_bytes(profile)).min(part_bytes);
        StreamShape { run, in_flight: 1 + batches_ahead(part_bytes, batch_bytes) as u32 }
    };
    if profile.peak_mb_per_s().is_some() {
        let run = StreamShape::within(profile, part_bytes * (BLOCK_BATCHES - 1), block_bytes).run;
        return in_flight(run);
    }
    let [whole, half] =
        [part_bytes, (part_bytes / 2).max(1)].map(|bytes| in_flight(ReadShape::sequential(profile, bytes)));
    if half.us_per_byte(profile) <= whole.us_per_byte(profile) * HALF_BATCH_RATIO_MAX { half } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_in_flight_fill_the_device_as_far_as_memory_goes() {
        const REQUEST_BYTES: u64 = 64 << 10;
        for name in Profile::names() {
            let profile = Profile::named(name).unwrap();
            for part_bytes in [256_u64 << 10, 1 << 20, 8 << 20] {
                let StreamShape { run, in_flight } = batch_shape(&profile, part_bytes, 4096);
                // Twice what one part holds: the other parts wait to be joined.
                let wanted_bytes = (2 * part_bytes).min(u64::from(profile.parallel()) * REQUEST_BYTES);
                let bytes = run.batch_bytes() * u64::from(in_flight);
                assert!(bytes >= wanted_bytes, "{name} {part_bytes}: {run:?} {in_flight}");
                let all_bytes = run.batch_bytes() * u64::from(in_flight + 3);
                assert!(all_bytes <= BLOCK_BATCHES * part_bytes, "{name} {part_bytes}: {run:?} {in_flight}");
            }
        }
    }
}
