//! Counters of the reads of a scan, for `EXPLAIN ANALYZE`.

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use ogive::table::ReadTrace;

/// Counters of the reads of one partition. Reads that the block cache answers are not counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScanMetrics {
    requests: Count,
    bytes: Count,
    blocks: Count,
    keys: Count,
}

/// Unit of the blocks that are counted.
const BLOCK_BYTES: u64 = 4096;

impl ScanMetrics {
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            requests: counter("storage_requests"),
            bytes: counter("storage_bytes"),
            blocks: counter("blocks_fetched"),
            keys: counter("keys_looked_up"),
        }
    }

    /// Adds the reads of an operation, from the one numbered `from` on.
    pub(crate) fn add_reads(&self, trace: &ReadTrace, from: usize) {
        let reads = ReadTrace { reads: trace.reads.get(from..).unwrap_or_default().to_vec() };
        self.requests.add(reads.reads.len());
        self.bytes.add(reads.bytes() as usize);
        self.blocks.add(reads.blocks(BLOCK_BYTES) as usize);
    }

    /// Adds requests that were counted elsewhere.
    pub(crate) fn add_requests(&self, requests: usize, bytes: u64) {
        self.requests.add(requests);
        self.bytes.add(bytes as usize);
    }

    /// Adds keys that were looked up.
    pub(crate) fn add_keys(&self, keys: usize) {
        self.keys.add(keys);
    }
}
