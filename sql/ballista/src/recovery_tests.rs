//! Tests of recovery: whichever executors are lost, at any time, no task reads an output twice or misses one. Tasks are
//! not run: their outputs are sets of the partitions that they read.

use crate::session::session_config;
use crate::vcores::CountedVcores;
use ballista_core::JobId;
use ballista_core::execution_plans::{ShuffleReaderExec, SortShuffleWriterExec};
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::job_status::Status as Job;
use ballista_core::serde::protobuf::task_status::Status;
use ballista_core::serde::protobuf::{
    FailedTask, FetchPartitionError, ShuffleWritePartition, SuccessfulTask, TaskStatus,
};
use ballista_core::serde::scheduler::{
    ExecutorData, ExecutorMetadata, ExecutorOperatingSystemSpecification, ExecutorSpecification, PartitionLocation,
};
use ballista_scheduler::cluster::memory::InMemoryClusterState;
use ballista_scheduler::cluster::{BoundTask, ClusterState};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::planner::DefaultDistributedPlanner;
use ballista_scheduler::state::execution_graph::StaticExecutionGraph;
use ballista_scheduler::state::task_manager::JobInfoCache;
use datafusion::arrow::array::UInt64Array;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use ogive_testkit::Random;
use std::collections::HashMap;
use std::sync::Arc;

/// Partitions of a table, and of an exchange of rows.
const PARTITIONS: usize = 4;
/// Vcores of an executor.
const VCORES: u32 = 2;
/// Jobs that are run for each query.
const JOBS: u64 = 150;
/// Executors that a job loses at most.
const LOSSES_MAX: usize = 3;
/// Queries of two to five stages, whose last one has one partition, or several.
const QUERIES: [&str; 5] = [
    "select k % 7, sum(v) from a group by k % 7",
    "select count(*) from a join b on a.k = b.k",
    "select a.v, b.v from a join b on a.k = b.k",
    "select c.s, count(*) from (select a.k, sum(b.v) s from a join b on a.k = b.k group by a.k) c group by c.s",
    "select a.v, c.n from a join (select v, count(*) n from b group by v) c on a.v = c.n order by 1",
];

fn config() -> SessionConfig {
    let config = session_config(&Arc::default()).with_target_partitions(PARTITIONS);
    assert!(!config.ballista_adaptive_query_planner_enabled());
    config
        .set_usize("datafusion.optimizer.hash_join_single_partition_threshold", 0)
        .set_usize("datafusion.optimizer.hash_join_single_partition_threshold_rows", 0)
}

/// The plan of a query over two tables.
async fn plan(query: &str) -> Arc<dyn ExecutionPlan> {
    let context = SessionContext::new_with_config(config());
    for name in ["a", "b"] {
        let column = |step: u64| Arc::new(UInt64Array::from_iter_values((0..8).map(|row| row * step))) as _;
        let batch = RecordBatch::try_from_iter([("k", column(1)), ("v", column(3))]).unwrap();
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]; PARTITIONS]).unwrap();
        context.register_table(name, Arc::new(table)).unwrap();
    }
    context.sql(query).await.unwrap().create_physical_plan().await.unwrap()
}

fn executor(id: &str) -> ExecutorMetadata {
    ExecutorMetadata {
        id: id.to_owned(),
        host: "127.0.0.1".into(),
        port: 0,
        grpc_port: 0,
        specification: ExecutorSpecification::default().with_vcores(VCORES),
        os_info: ExecutorOperatingSystemSpecification::default(),
    }
}

/// What a task has read.
struct Written {
    stage: usize,
    partitions: Vec<usize>,
    /// Whether each output is of all of these, and not of the partition of its own number.
    is_exchanged: bool,
}

/// A job, whose tasks end when the test says so.
struct Simulation {
    cluster: CountedVcores,
    jobs: Arc<HashMap<JobId, JobInfoCache>>,
    executors: Vec<ExecutorMetadata>,
    started: usize,
    running: Vec<BoundTask>,
    /// What tasks have read, by the number that their outputs have as file.
    written: Vec<Written>,
    /// All partitions of each stage.
    partitions: HashMap<usize, usize>,
}

impl Simulation {
    async fn new(plan: Arc<dyn ExecutionPlan>) -> Self {
        let id = JobId::from("job");
        let mut planner = DefaultDistributedPlanner::new();
        let graph = StaticExecutionGraph::new("s", &id, "", "session", plan, 0, Arc::new(config()), &mut planner, None)
            .unwrap();
        let jobs = Arc::new(HashMap::from([(id, JobInfoCache::new(Box::new(graph)))]));
        let cluster = CountedVcores::new(Arc::new(InMemoryClusterState::default()));
        let mut simulation = Self {
            cluster,
            jobs,
            executors: Vec::new(),
            started: 0,
            running: Vec::new(),
            written: Vec::new(),
            partitions: HashMap::new(),
        };
        for _ in 0..3 {
            simulation.start_executor().await;
        }
        simulation
    }

    fn job(&self) -> &JobInfoCache {
        &self.jobs[&JobId::from("job")]
    }

    async fn start_executor(&mut self) {
        let id = format!("executor-{}", self.started);
        self.started += 1;
        let metadata = executor(&id);
        let data = ExecutorData { executor_id: id, total_vcores: VCORES, available_vcores: VCORES };
        self.cluster.register_executor(metadata.clone(), data).await.unwrap();
        self.executors.push(metadata);
    }

    /// Hands tasks out, and looks at what they are told to read.
    async fn bind(&mut self) {
        let policy = TaskDistributionPolicy::RoundRobin;
        let tasks = self.cluster.bind_schedulable_tasks(policy, self.jobs.clone(), None).await.unwrap();
        for (executor, task) in tasks {
            let stage = task.key.stage_id;
            let inputs = task.plan.children()[0].properties().output_partitioning().partition_count();
            self.partitions.insert(stage, inputs);
            task.plan
                .apply(|node| {
                    if let Some(reader) = node.downcast_ref::<ShuffleReaderExec>() {
                        for (number, outputs) in reader.partition.iter().enumerate() {
                            self.check(number, outputs);
                        }
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
                .unwrap();
            self.running.push((executor, task));
        }
    }

    /// The outputs in a partition are of each partition that it is made of, once.
    fn check(&self, partition: usize, outputs: &[PartitionLocation]) {
        let written = |output: &PartitionLocation| &self.written[output.file_id.unwrap() as usize];
        let stage = outputs[0].partition_id.stage_id;
        let mut read: Vec<usize> = Vec::new();
        for output in outputs {
            let of = written(output);
            assert_eq!(of.stage, stage);
            read.extend(of.partitions.iter().filter(|&&of_task| of.is_exchanged || of_task == partition));
        }
        read.sort_unstable();
        let expected =
            if written(&outputs[0]).is_exchanged { (0..self.partitions[&stage]).collect() } else { vec![partition] };
        assert_eq!(read, expected, "outputs of stage {stage}");
    }

    fn is_there(&self, output: &PartitionLocation) -> bool {
        self.executors.iter().any(|executor| executor.id == output.executor_meta.id)
    }

    /// Ends a task: well, or since it could not read what another wrote.
    async fn end(&mut self, at: usize, is_fetch_failed: bool) {
        let (executor_id, task) = self.running.swap_remove(at);
        let mut read = Vec::new();
        task.plan
            .apply(|node| {
                if let Some(reader) = node.downcast_ref::<ShuffleReaderExec>() {
                    read.extend(reader.partition.iter().flatten().cloned());
                }
                Ok(TreeNodeRecursion::Continue)
            })
            .unwrap();
        let lost = read.iter().find(|output| !self.is_there(output));
        let missing = lost.or(read.first().filter(|_| is_fetch_failed));
        let status = match missing {
            Some(location) => Status::Failed(FailedTask {
                error: "cannot be read".into(),
                retryable: false,
                count_to_failures: false,
                failed_reason: Some(FailedReason::FetchPartitionError(FetchPartitionError {
                    executor_id: location.executor_meta.id.clone(),
                    map_stage_id: location.partition_id.stage_id as u32,
                    map_partition_id: location.map_partition_id as u32,
                })),
            }),
            _ => {
                let file = self.written.len() as u64;
                let writer = task.plan.downcast_ref::<SortShuffleWriterExec>();
                self.written.push(Written {
                    stage: task.key.stage_id,
                    partitions: task.global_input_partition_ids.clone(),
                    is_exchanged: writer.is_some(),
                });
                let outputs: Vec<usize> = match writer {
                    Some(writer) => (0..writer.shuffle_output_partitioning().partition_count()).collect(),
                    None => task.global_input_partition_ids.clone(),
                };
                let partitions = outputs.into_iter().map(|partition| ShuffleWritePartition {
                    partition_id: partition as u64,
                    file_id: Some(file),
                    ..ShuffleWritePartition::default()
                });
                Status::Successful(SuccessfulTask {
                    executor_id: executor_id.clone(),
                    partitions: partitions.collect(),
                    ..SuccessfulTask::default()
                })
            }
        };
        let status = TaskStatus {
            task_id: task.key.task_id as u32,
            job_id: "job".into(),
            stage_id: task.key.stage_id as u32,
            stage_attempt_num: task.stage_attempt_num as u32,
            status: Some(status),
            ..TaskStatus::default()
        };
        let mut graph = self.job().execution_graph.write().await;
        graph.update_task_status(&executor(&executor_id), vec![status], 100, 100).unwrap();
    }

    /// Loses an executor. Some of its tasks seem to run on: what they say comes later.
    async fn lose(&mut self, at: usize, random: &mut Random) {
        let executor = self.executors.swap_remove(at);
        self.cluster.remove_executor(&executor.id).await.unwrap();
        self.running.retain(|(id, _)| *id != executor.id || random.one_in(2));
        self.job().execution_graph.write().await.reset_stages_on_lost_executor(&executor.id).unwrap();
        self.start_executor().await;
    }

    /// The outputs of the whole query, if it is done.
    async fn result(&self) -> Option<Vec<PartitionLocation>> {
        let graph = self.job().execution_graph.read().await;
        match &graph.status().status {
            Some(Job::Successful(job)) => {
                Some(job.partition_location.iter().map(|location| location.clone().try_into().unwrap()).collect())
            }
            Some(Job::Failed(job)) => panic!("{}", job.error),
            _ => None,
        }
    }
}

#[tokio::test]
async fn outputs_of_tasks_are_read_once_whatever_executors_are_lost() {
    let (mut losses, mut stages) = (0, 0);
    for query in QUERIES {
        let plan = plan(query).await;
        for seed in 0..JOBS {
            let mut random = Random::new(seed);
            let mut job = Simulation::new(plan.clone()).await;
            let mut left = random.below(LOSSES_MAX as u64 + 1) as usize;
            let found = loop {
                job.bind().await;
                if let Some(found) = job.result().await {
                    break found;
                }
                if left > 0 && random.one_in(6) {
                    let at = random.below(job.executors.len() as u64) as usize;
                    job.lose(at, &mut random).await;
                    (left, losses) = (left - 1, losses + 1);
                } else {
                    assert!(!job.running.is_empty(), "{query}, seed {seed}: nothing runs");
                    let at = random.below(job.running.len() as u64) as usize;
                    let is_fetch_failed = left > 0 && random.one_in(8);
                    left -= usize::from(is_fetch_failed);
                    job.end(at, is_fetch_failed).await;
                }
            };
            assert!(found.iter().all(|output| job.is_there(output)), "{query}, seed {seed}");
            let partitions = job.partitions[&found[0].partition_id.stage_id];
            for partition in 0..partitions {
                let outputs = found.iter().filter(|output| output.partition_id.partition_id == partition);
                job.check(partition, &outputs.cloned().collect::<Vec<_>>());
            }
            stages = stages.max(job.partitions.len());
        }
    }
    assert!(losses > 300 && stages >= 4, "{losses} losses, {stages} stages");
}
