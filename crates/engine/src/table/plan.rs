//! The block plan of a new table: block size, and whether block ends follow separators.

use super::index::opening_with;
use super::options::TableWriteOptions;
use crate::tune::{BlockSizeChoice, DesignRequest, Problem, Sample, choose_block_size};

/// Default block size in bytes, if there is no basis for a choice.
pub(super) const DEFAULT_BLOCK_BYTES: u32 = 4096;
/// Assumed ratio of all records to those seen, if the number of records is unknown: the best block size depends on it
/// by a square root at most.
const UNKNOWN_INPUT_FACTOR: u64 = 16;

/// The block plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPlan {
    pub(super) block_bytes: u32,
    pub(super) ends_by_separator: bool,
}

impl BlockPlan {
    /// The plan that the options determine; `None` if records must be seen first.
    pub(super) fn given(options: &TableWriteOptions) -> Option<Self> {
        let strings = !options.key_type.is_numeric();
        let tuned = options.design == DesignRequest::Tuned;
        let fixed = |block_bytes: u32, ends_by_separator: bool| Self { block_bytes, ends_by_separator };
        match options.block_bytes {
            Some(size) => Some(fixed(size, strings || tuned || options.design == DesignRequest::Coded)),
            None if strings || !tuned => {
                Some(fixed(DEFAULT_BLOCK_BYTES, strings || options.design == DesignRequest::Coded))
            }
            None => {
                let sample = options.sample.as_ref()?;
                Some(Self::from_sample(sample, options))
            }
        }
    }

    fn from_sample(sample: &Sample, options: &TableWriteOptions) -> Self {
        let open_bytes = |root: u64| opening_with(root, 0);
        let problem = Problem {
            objective: options.objective,
            resident_bytes: options.resident_bytes,
            caching: options.caching.clone(),
            open_bytes: &open_bytes,
            options: options.search.clone(),
            ..Problem::new(&options.profile)
        };
        match choose_block_size(sample, &problem) {
            Ok(BlockSizeChoice { block_size_bytes, ends_by_separator, .. }) => {
                Self { block_bytes: block_size_bytes, ends_by_separator }
            }
            // The sample is empty: nothing will be written, or nothing was sampled.
            Err(_) => Self { block_bytes: DEFAULT_BLOCK_BYTES, ends_by_separator: true },
        }
    }

    /// Chooses a plan from the first records of a stream; `all` says that there are no others.
    pub(super) fn from_beginning(
        keys_as_u64: &[u64],
        record_bytes: f64,
        block_overhead_bytes: usize,
        all: bool,
        options: &TableWriteOptions,
    ) -> Self {
        let seen = keys_as_u64.len() as u64;
        let whole = all && keys_as_u64.len() <= Sample::RUNS * Sample::RUN_RECORDS;
        let runs = match whole {
            true => vec![keys_as_u64.to_vec()],
            false => {
                let apart = keys_as_u64.len() / Sample::RUNS;
                let run = |i: usize| keys_as_u64[i * apart..][..Sample::RUN_RECORDS.min(apart)].to_vec();
                (0..Sample::RUNS).map(run).collect()
            }
        };
        let records =
            if all { seen } else { options.expected_records.unwrap_or(seen * UNKNOWN_INPUT_FACTOR).max(seen) };
        let sample = Sample { runs, records, record_bytes, block_overhead_bytes: block_overhead_bytes as u64 };
        Self::from_sample(&sample, options)
    }
}
