//! Sizes, key sets and counts shared by the experiments.

use anyhow::Result;
use ogive::Durability;
use ogive::block::Compression;
use ogive::lsm::DbOptions;

use super::subjects::Subject;
use crate::experiments::Context;
use crate::workload::{KeyForm, Records, Requests};

/// Default number of keys of a generated set.
const KEYS: u64 = 200_000;
/// Default number of lookups of a measurement.
const LOOKUPS: usize = 200_000;
/// Bytes of a value (Bourbon, Section 5).
const VALUE_BYTES: usize = 64;
/// Approximate bytes of a pointer to a separated value in a table.
const POINTER_BYTES: u64 = 16;
/// Minimum size of a level, in bytes.
const LEAST_LEVEL_BYTES: u64 = 128 << 10;

/// The proportions of a store.
struct Proportions {
    /// The first level holds 1/N of the data.
    level_divisor: u64,
    /// A table holds 1/N of the first level.
    table_divisor: u64,
    /// The share of the first level that a memtable holds.
    memtable_share: f64,
}

/// The paper's stores hold 64 million records of 16-byte keys and 16-byte pointers, over a first level of 10 MB, in
/// tables of 2 MB and memtables of 4 MB.
const PAPER: Proportions = Proportions { level_divisor: 200, table_divisor: 5, memtable_share: 0.4 };

/// Memory that holds all of `data_bytes`, and whatever else a store needs.
fn ample_bytes(data_bytes: u64) -> u64 {
    4 * data_bytes + (256 << 20)
}

/// The sets of experiments with one set: by generator.
pub(super) const SETS: [&str; 2] = ["lognormal", "uniform"];

/// The records of a set by name.
pub(super) fn records(context: &Context, spec: &str) -> Result<Records> {
    let set = context.open_of(spec, KEYS)?;
    let value_bytes = if context.payload_bytes == 0 { VALUE_BYTES } else { context.payload_bytes as usize };
    Ok(Records::of(&set, KeyForm::Bytes16, value_bytes)?)
}

/// Operations of a measurement.
pub(super) fn lookups(context: &Context) -> usize {
    context.lookups.unwrap_or(LOOKUPS)
}

/// The requested distributions, else `default`.
pub(super) fn requests(context: &Context, default: Requests) -> Requests {
    context.requests.first().cloned().unwrap_or(default)
}

/// Options with the paper's proportions: values in the value log by default, all data in memory, everything in one
/// thread.
pub(super) fn options(context: &Context, records: &Records, subject: &Subject) -> DbOptions {
    let inline = context.inline_values;
    let count = records.len() as u64;
    let keys_bytes = records.raw_bytes() - count * records.value_bytes() as u64;
    let table_bytes = if inline { records.raw_bytes() } else { keys_bytes + count * POINTER_BYTES };
    let level_bytes = (table_bytes / PAPER.level_divisor).max(LEAST_LEVEL_BYTES);
    DbOptions::default()
        .memory_bytes(ample_bytes(records.raw_bytes()))
        .writes(|writes| writes.memtable_bytes((level_bytes as f64 * PAPER.memtable_share) as u64))
        .durability(Durability::Buffered)
        .values(|values| values.separation_bytes(if inline { u64::MAX } else { 0 }))
        .compression(Compression::None)
        .levels(|levels| levels.table_bytes(level_bytes / PAPER.table_divisor).level_bytes(level_bytes))
        .learning(subject.learning())
        .threads(0)
}
