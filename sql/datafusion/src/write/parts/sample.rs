//! Samples of the keys of rows, and the ranges that they are cut into.

use super::encoder::KeyEncoder;
use crate::relation::key_names;
use crate::unary::unary_plan;
use arrow_array::RecordBatch;
use arrow_array::builder::{BinaryBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt, stream};
use ogive::types::RecordType;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// Keys of a sample of a partition: 16 partitions are then cut at 16,384 keys, and the parts differ by a few per cent.
const SAMPLED_KEYS: usize = 1024;
/// Bytes of a sampled key that are kept: a cut may be the beginning of a key.
const SAMPLED_BYTES: usize = 1024;

/// The columns of a sample: keys, and how many rows each stands for.
pub(super) static SAMPLE: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = [Field::new("key", DataType::Binary, false), Field::new("rows", DataType::UInt64, false)];
    Arc::new(Schema::new(fields.to_vec()))
});

/// Returns keys of some of the rows of each partition, at equal distances, and how many rows each stands for.
#[derive(Clone, Debug)]
pub struct SampleKeysExec {
    input: Arc<dyn ExecutionPlan>,
    types: RecordType,
    encoder: KeyEncoder,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SampleKeysExec {
    /// Samples the keys of rows, which are records of these types.
    ///
    /// # Errors
    /// Columns that are not there, or of types that no key has.
    pub fn try_new(input: Arc<dyn ExecutionPlan>, types: RecordType) -> Result<Self> {
        let encoder = KeyEncoder::new(&input.schema(), &types)?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(SAMPLE.clone()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Ok(Self { input, types, encoder, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() })
    }

    /// The types of the records.
    #[must_use]
    pub fn types(&self) -> &RecordType {
        &self.types
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Self::try_new(input, self.types.clone())
    }
}

impl DisplayAs for SampleKeysExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SampleKeysExec: key=[{}]", key_names(&self.types).join(", "))
    }
}

impl ExecutionPlan for SampleKeysExec {
    unary_plan!("SampleKeysExec");

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut rows = self.input.execute(partition, context)?;
        let (encoder, measured) = (self.encoder.clone(), BaselineMetrics::new(&self.metrics, partition));
        let sampled = stream::once(async move {
            let mut sample = Sample::default();
            while let Some(batch) = rows.next().await {
                encoder.visit(&batch?, |key| sample.add(key))?;
            }
            let batch = sample.finish()?;
            measured.record_output(batch.num_rows());
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(SAMPLE.clone(), sampled)))
    }
}

/// Every `stride`-th key. A task that is run again finds the same.
#[derive(Debug)]
struct Sample {
    keys: Vec<Vec<u8>>,
    stride: u64,
    seen: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self { keys: Vec::new(), stride: 1, seen: 0 }
    }
}

impl Sample {
    fn add(&mut self, key: &[u8]) {
        if self.seen.is_multiple_of(self.stride) {
            if self.keys.len() == 2 * SAMPLED_KEYS {
                let mut number = 0;
                self.keys.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.keys.push(key[..key.len().min(SAMPLED_BYTES)].to_vec());
            }
        }
        self.seen += 1;
    }

    fn finish(self) -> Result<RecordBatch> {
        let (mut keys, mut rows) = (BinaryBuilder::new(), UInt64Builder::new());
        for key in &self.keys {
            keys.append_value(key);
            rows.append_value(self.stride);
        }
        Ok(RecordBatch::try_new(SAMPLE.clone(), vec![Arc::new(keys.finish()), Arc::new(rows.finish())])?)
    }
}

/// The keys at which ranges of about equal numbers of rows begin, without the first range, of samples of all
/// partitions.
///
/// # Errors
/// Batches that are no samples.
pub fn cuts_of(samples: &[RecordBatch], ranges: usize) -> Result<Vec<Vec<u8>>> {
    let mut keys: Vec<(&[u8], u64)> = Vec::new();
    for batch in samples {
        if batch.schema().fields() != SAMPLE.fields() {
            return internal_err!("a sample of keys has other columns");
        }
        let rows = batch.column(1).as_primitive::<UInt64Type>().values();
        keys.extend(batch.column(0).as_binary::<i32>().iter().flatten().zip(rows.iter().copied()));
    }
    keys.sort_unstable();
    let all: u64 = keys.iter().map(|(_, rows)| rows).sum();
    let (mut cuts, mut before) = (Vec::new(), 0_u64);
    for (key, rows) in keys {
        let due = u128::from(all) * (cuts.len() as u128 + 1) / ranges.max(1) as u128;
        if cuts.len() + 1 < ranges && u128::from(before) >= due && due > 0 {
            cuts.push(key.to_vec());
        }
        before += rows;
    }
    // Of rows with one key, which no cut divides, several ranges are due at once.
    cuts.dedup();
    Ok(cuts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(keys: impl Iterator<Item = u64>) -> RecordBatch {
        let mut sample = Sample::default();
        keys.for_each(|key| sample.add(&key.to_be_bytes()));
        sample.finish().unwrap()
    }

    #[test]
    fn ranges_of_samples_have_about_equal_numbers_of_rows() {
        // Partitions of very different sizes, of keys that overlap.
        let parts: [Vec<u64>; 3] =
            [(0..100_000).collect(), (50_000..50_100).collect(), (0..700_000).map(|key| key / 7).rev().collect()];
        let samples = parts.each_ref().map(|part| sample(part.iter().copied()));
        for batch in &samples {
            assert!(batch.num_rows() <= 2 * SAMPLED_KEYS);
        }
        for ranges in [1, 2, 7, 16] {
            let cuts = cuts_of(&samples, ranges).unwrap();
            assert_eq!(cuts.len(), ranges - 1);
            assert!(cuts.is_sorted());
            let mut rows = vec![0_u64; ranges];
            for key in parts.iter().flatten() {
                rows[cuts.partition_point(|cut| cut[..] <= key.to_be_bytes()[..])] += 1;
            }
            let equal = 800_100.0 / ranges as f64;
            for count in &rows {
                assert!((*count as f64 - equal).abs() < equal * 0.05, "{ranges} ranges: {rows:?}");
            }
        }
    }

    #[test]
    fn rows_of_one_key_are_one_range() {
        assert_eq!(cuts_of(&[], 8).unwrap(), Vec::<Vec<u8>>::new());
        let cuts = cuts_of(&[sample(std::iter::repeat_n(7, 5_000))], 8).unwrap();
        assert_eq!(cuts, [7_u64.to_be_bytes()]);
    }
}
