//! The cheapest way to join.

use crate::relation::Relation;
use ogive::Profile;

/// Time to look a key up in blocks that are in memory, in microseconds (`multi_get` of sorted keys, 10 million records
/// of 100 bytes).
const LOOK_UP_US: f64 = 1.5;
/// Time to read a row in order, and to put it into a hash table or merge it, in microseconds.
const ROW_US: f64 = 0.15;
/// Long reads of a scan that are under way at once.
const READS_IN_FLIGHT: u32 = 4;
/// Bytes of a block that a lookup reads.
const BLOCK_BYTES: u64 = 4096;

/// Estimated time in microseconds to look distinct keys up, at any places.
pub(super) fn look_up_us(relation: &dyn Relation, keys: u64, profile: &Profile) -> f64 {
    let blocks = (relation.bytes() / BLOCK_BYTES).max(1) as f64;
    // The expected number of different blocks that the keys are in.
    let touched = blocks * (1.0 - (1.0 - 1.0 / blocks).powf(keys as f64));
    keys as f64 * LOOK_UP_US + touched * profile.time_us(BLOCK_BYTES) / f64::from(profile.parallel())
}

/// Estimated time in microseconds to read all rows in order, on some threads.
pub(super) fn scan_us(relation: &dyn Relation, threads: usize, profile: &Profile) -> f64 {
    relation.rows().rows as f64 * ROW_US / threads.max(1) as f64
        + profile.time_us(relation.bytes()) / f64::from(profile.parallel().min(READS_IN_FLIGHT))
}
