//! The engine of an executor that counts what its tasks read and exchange.

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::serde::protobuf::{RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport};
use ballista_executor::execution_engine::{ExecutionEngine, QueryStageExecutor};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What a task did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskCounts {
    pub(super) executor: usize,
    pub(super) stage: usize,
    /// Partitions of the stage that are part of the task.
    pub(super) partitions: usize,
    /// Requests to the storage for Ogive tables, and their bytes.
    pub(super) requests: u64,
    pub(super) bytes: u64,
    /// Bytes of Parquet files.
    pub(super) parquet_bytes: u64,
    /// Parts of the results of other tasks that are read from this machine, and from others.
    pub(super) parts_local: u64,
    pub(super) parts_remote: u64,
    /// Bytes and parts of the results that are written for others.
    pub(super) written_bytes: u64,
    pub(super) written_parts: u64,
}

impl TaskCounts {
    /// Adds the metrics of all operators.
    fn add_metrics(&mut self, operators: &[MetricsSet]) {
        let sum = |name: &str| {
            let values = operators.iter().filter_map(|operator| operator.sum_by_name(name));
            values.map(|value| value.as_usize() as u64).sum::<u64>()
        };
        self.requests += sum("storage_requests");
        self.bytes += sum("storage_bytes");
        self.parquet_bytes += sum("bytes_scanned");
        self.parts_local += sum("local_partitions");
        self.parts_remote += sum("remote_partitions");
    }

    fn add_written(&mut self, parts: &[ShuffleWritePartition]) {
        self.written_bytes += parts.iter().map(|part| part.num_bytes).sum::<u64>();
        self.written_parts += parts.len() as u64;
    }
}

/// The tasks of all executors that have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskLog {
    tasks: Arc<Mutex<Vec<TaskCounts>>>,
}

impl TaskLog {
    fn add(&self, task: TaskCounts) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    pub(super) fn tasks(&self) -> Vec<TaskCounts> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An engine that runs tasks by another, and logs them.
pub(super) struct CountingEngine<E> {
    pub(super) inner: E,
    pub(super) executor: usize,
    pub(super) log: TaskLog,
}

impl<E: ExecutionEngine> ExecutionEngine for CountingEngine<E> {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let counts = TaskCounts {
            executor: self.executor,
            stage: stage_id,
            partitions: partitions.len(),
            ..TaskCounts::default()
        };
        let inner =
            self.inner.create_query_stage_exec(job_id, stage_id, task_id, partitions, plan, work_dir, config)?;
        Ok(Arc::new(CountedTask { inner, counts, log: self.log.clone() }))
    }
}

#[derive(Debug)]
struct CountedTask {
    inner: Arc<dyn QueryStageExecutor>,
    counts: TaskCounts,
    log: TaskLog,
}

impl fmt::Display for CountedTask {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}

#[async_trait]
impl QueryStageExecutor for CountedTask {
    async fn execute_query_stage(
        &self,
        task_id: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        let written = self.inner.execute_query_stage(task_id, context).await?;
        let mut counts = self.counts.clone();
        counts.add_metrics(&self.inner.collect_plan_metrics());
        counts.add_written(&written);
        self.log.add(counts);
        Ok(written)
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.inner.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.inner.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.inner.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.inner.collect_column_stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};

    #[test]
    fn the_metrics_of_all_operators_and_partitions_are_added_up() {
        let (scan, reader) = (ExecutionPlanMetricsSet::new(), ExecutionPlanMetricsSet::new());
        for partition in 0..2 {
            MetricBuilder::new(&scan).counter("storage_requests", partition).add(3);
            MetricBuilder::new(&scan).counter("storage_bytes", partition).add(4096);
        }
        MetricBuilder::new(&reader).counter("remote_partitions", 0).add(5);
        let mut counts = TaskCounts::default();
        counts.add_metrics(&[scan.clone_inner(), reader.clone_inner()]);
        let part = |num_bytes| ShuffleWritePartition { num_bytes, ..ShuffleWritePartition::default() };
        counts.add_written(&[part(10), part(20)]);
        let wanted = TaskCounts {
            requests: 6,
            bytes: 8192,
            parts_remote: 5,
            written_bytes: 30,
            written_parts: 2,
            ..TaskCounts::default()
        };
        assert_eq!(counts, wanted);
    }
}
