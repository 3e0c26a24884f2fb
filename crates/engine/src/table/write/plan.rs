//! The block plan of a new table: block size, and whether block ends follow separators.

use super::coding::{EXPANSION_MAX, saves};
use crate::table::block::coded::{CODED_HEAD_BYTES, SPAN_BYTES};
#[cfg(feature = "tune")]
use crate::table::format::meta::opening_with;
use crate::table::format::options::{DEFAULT_BLOCK_BYTES, TableWriteOptions};
#[cfg(feature = "tune")]
use crate::tune::{DesignProblem, choose_block_ends, choose_block_size};
use crate::tune::{DesignRequest, TableSample};
use ogive_model::column::{COLUMN_HEAD_BYTES, ColumnGroup, ColumnSize, GROUP_NUMBERS};

/// Assumed ratio of all records to those seen, if the number of records is unknown: the best block size depends on it
/// by a square root at most.
const UNKNOWN_INPUT_FACTOR: u64 = 16;

/// Groups of keys of each run that are coded on trial.
const TRIAL_GROUPS_MAX: usize = 1024;
/// Bytes of the place of a group's residuals in blocks of up to 64 KiB.
const TRIAL_START_BYTES: usize = 2;

/// The block plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) struct BlockPlan {
    pub(in crate::table) block_bytes: u32,
    pub(in crate::table) ends_by_separator: bool,
}

impl BlockPlan {
    /// The plan that the options determine; `None` if records must be seen first.
    pub(in crate::table) fn given(options: &TableWriteOptions) -> Option<Self> {
        let fixed = |ends_by_separator: bool| Self {
            block_bytes: options.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES),
            ends_by_separator,
        };
        match options.design {
            _ if !options.key_type.is_numeric() => Some(fixed(true)),
            DesignRequest::Tuned => Some(Self::from_sample(options.tuning.sample.as_ref()?, options)),
            _ => Some(fixed(options.design == DesignRequest::Coded)),
        }
    }

    #[cfg(not(feature = "tune"))]
    fn from_sample(_: &TableSample, options: &TableWriteOptions) -> Self {
        Self { block_bytes: options.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES), ends_by_separator: true }
    }

    #[cfg(feature = "tune")]
    fn from_sample(sample: &TableSample, options: &TableWriteOptions) -> Self {
        let open_bytes = |root: u64| opening_with(root, 0);
        let problem = DesignProblem {
            objective: options.tuning.objective,
            resident_bytes: options.tuning.resident_bytes,
            caching: options.tuning.caching.clone(),
            open_bytes: &open_bytes,
            options: options.tuning.search.clone(),
            ..DesignProblem::new(&options.profile)
        };
        let coded = options.coding.then(|| as_coded(sample, options)).flatten();
        let sample = coded.as_ref().unwrap_or(sample);
        let plan = |block_bytes, ends_by_separator| Self { block_bytes, ends_by_separator };
        let chosen = match options.block_bytes {
            Some(size) => choose_block_ends(sample, size, &problem).map(|by_separator| plan(size, by_separator)),
            None => choose_block_size(sample, &problem)
                .map(|chosen| plan(chosen.block_size_bytes, chosen.ends_by_separator)),
        };
        // If the sample is empty, nothing will be written, or nothing was sampled.
        chosen.unwrap_or(plan(options.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES), true))
    }

    /// Chooses a plan from the first records of a stream; `all` says that there are no others.
    pub(in crate::table) fn from_beginning(
        keys_as_u64: &[u64],
        record_bytes: f64,
        block_overhead_bytes: usize,
        all: bool,
        options: &TableWriteOptions,
    ) -> Self {
        let seen = keys_as_u64.len() as u64;
        let whole = all && keys_as_u64.len() <= TableSample::RUNS * TableSample::RUN_RECORDS;
        let runs = match whole {
            true => vec![keys_as_u64.to_vec()],
            false => {
                let apart = keys_as_u64.len() / TableSample::RUNS;
                let run = |i: usize| keys_as_u64[i * apart..][..TableSample::RUN_RECORDS.min(apart)].to_vec();
                (0..TableSample::RUNS).map(run).collect()
            }
        };
        let records =
            if all { seen } else { options.tuning.expected_records.unwrap_or(seen * UNKNOWN_INPUT_FACTOR).max(seen) };
        let sample = TableSample { runs, records, record_bytes, block_overhead_bytes: block_overhead_bytes as u64 };
        Self::from_sample(&sample, options)
    }
}

/// The sample with the size that its records have if their keys are coded; `None` if that saves too little.
///
/// Keys of each run are coded in blocks of the default size, as the writer does it. Values count in full.
fn as_coded(sample: &TableSample, options: &TableWriteOptions) -> Option<TableSample> {
    let key_bytes = options.key_type.width().filter(|_| options.key_type.is_numeric())? as f64;
    let beside_key = (sample.record_bytes - key_bytes).max(0.0);
    let (mut bytes, mut keys) = (0, 0);
    for run in &sample.runs {
        let mut size = ColumnSize::new(0);
        for group in run.chunks_exact(GROUP_NUMBERS).take(TRIAL_GROUPS_MAX) {
            size.push(&ColumnGroup::fit(group));
            keys += GROUP_NUMBERS;
            let block = (size.groups() * GROUP_NUMBERS) as f64 * beside_key + column_bytes(&size) as f64;
            if block >= f64::from(DEFAULT_BLOCK_BYTES) {
                bytes += column_bytes(&size);
                size = ColumnSize::new(0);
            }
        }
        bytes += column_bytes(&size);
    }
    let record_bytes = beside_key + bytes as f64 / keys as f64;
    let record_bytes = record_bytes.max(sample.record_bytes / EXPANSION_MAX as f64);
    // In thousandths of a byte.
    let scaled = |bytes: f64| (bytes * 1000.0) as usize;
    let is_coded = keys > 0 && saves(scaled(record_bytes), scaled(sample.record_bytes));
    let head = CODED_HEAD_BYTES + SPAN_BYTES + COLUMN_HEAD_BYTES;
    let block_overhead_bytes = sample.block_overhead_bytes + head as u64;
    is_coded.then(|| TableSample { record_bytes, block_overhead_bytes, ..sample.clone() })
}

/// Bytes of a column of whole groups, without its head.
fn column_bytes(size: &ColumnSize) -> usize {
    size.bytes(GROUP_NUMBERS, TRIAL_START_BYTES) - COLUMN_HEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryStorage;
    use crate::table::{Table, TableOptions, TableWriter};
    use crate::types::KeyType;
    use std::sync::Arc;

    #[test]
    fn the_plan_counts_the_bytes_that_records_take_in_the_file() {
        let mixed = |i: u64| (i ^ (i >> 7)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let smooth: Vec<u64> = (0..100_000).map(|i| 1_000_000 + i * 37 + mixed(i) % 37).collect();
        let mut random: Vec<u64> = (0..100_000).map(mixed).collect();
        random.sort_unstable();
        random.dedup();
        for (keys, width) in [(&smooth, 0_u32), (&smooth, 8), (&smooth, 100), (&random, 0), (&random, 8)] {
            let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(width).block_bytes(4096);
            let (storage, value) = (Arc::new(MemoryStorage::new()), |key: u64| mixed(key).to_le_bytes().repeat(13));
            let mut writer = TableWriter::create((storage.clone(), "t"), options.clone()).unwrap();
            for &key in keys {
                writer.append(&key.to_be_bytes(), &value(key)[..width as usize]).unwrap();
            }
            writer.finish().unwrap();
            let written = Table::open((storage, "t"), &TableOptions::default()).unwrap().explain();
            let sample = TableSample {
                runs: vec![keys.clone()],
                records: keys.len() as u64,
                record_bytes: f64::from(8 + width),
                block_overhead_bytes: 8,
            };
            let counted = as_coded(&sample, &options).unwrap_or(sample);
            let blocks = written.blocks as f64;
            let expected =
                (written.data_bytes as f64 - blocks * counted.block_overhead_bytes as f64) / keys.len() as f64;
            let ratio = counted.record_bytes / expected;
            // Blocks end a little early where that makes separators shorter.
            assert!((0.9..1.05).contains(&ratio), "{} counted, {expected} written, {width}", counted.record_bytes);
        }
    }
}
