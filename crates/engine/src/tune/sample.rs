//! The sample of the records that block sizes are chosen from.

/// Number of runs that blocks are cut and coded from on trial, if the sample is partial.
#[cfg(feature = "tune")]
const TRIAL_RUNS_MAX: usize = 4;

/// A sample of the data before blocks are cut: runs of neighbouring records, evenly spaced.
///
/// A sample that holds all records in one run is exact.
#[derive(Clone, Debug, Default)]
pub struct TableSample {
    /// Sorted u64 keys of neighbouring records, for each run.
    pub runs: Vec<Vec<u64>>,
    /// Number of records in the whole input.
    pub records: u64,
    /// Mean stored size of a record in bytes.
    pub record_bytes: f64,
    /// Size of a block without records in bytes.
    pub block_overhead_bytes: u64,
}

impl TableSample {
    /// Number of runs in the sample of a large input.
    pub const RUNS: usize = 8;
    /// Number of records in a run: at 16 bytes a record and 4 KiB a block, four of the largest groups of coded
    /// separators. An input of no more records than all runs together is better sampled completely.
    pub const RUN_RECORDS: usize = 1 << 18;

    /// Whether the sample holds all records, in one run.
    #[cfg(feature = "tune")]
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.runs.as_slice(), [all] if all.len() as u64 == self.records)
    }

    /// A few runs that represent the sample.
    #[cfg(feature = "tune")]
    pub(super) fn trial(&self) -> Vec<&[u64]> {
        match self.runs.as_slice() {
            [all] => {
                let apart = (all.len() / TRIAL_RUNS_MAX).max(1);
                all.chunks(apart).map(|part| &part[..part.len().min(Self::RUN_RECORDS)]).collect()
            }
            many => many.iter().step_by(many.len().div_ceil(TRIAL_RUNS_MAX).max(1)).map(Vec::as_slice).collect(),
        }
    }
}
