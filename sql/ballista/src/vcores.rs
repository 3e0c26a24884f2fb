//! Free vcores of executors, counted from the running tasks, and queries that recover from the loss of an executor.

use crate::recovery::RecoveringGraph;
use crate::watch::Watch;
use ballista_core::JobId;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::ExecutorHeartbeat;
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata};
use ballista_scheduler::cluster::memory::InMemoryClusterState;
use ballista_scheduler::cluster::{BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::state::task_manager::JobInfoCache;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::Mutex;

/// The state of a cluster, in which the vcores of an executor are free unless a running task has them, and queries are
/// [`RecoveringGraph`]s from their first task on.
///
/// Ballista 55 keeps a balance for each executor instead, and takes nothing back of tasks whose stage began anew since
/// another executor was lost: when they end, it does not find them any more. Those vcores stay occupied, and if they
/// were all, queries wait for ever.
pub(crate) struct CountedVcores {
    /// All else.
    state: Arc<dyn ClusterState>,
    /// All vcores of each executor. Held while tasks are bound, one call after the other.
    totals: Mutex<BTreeMap<String, u32>>,
    /// The running jobs whose graphs recover.
    recovering: Mutex<HashSet<JobId>>,
    /// Tells which executors have ended.
    watch: Watch,
}

impl CountedVcores {
    pub(crate) fn new(state: Arc<dyn ClusterState>) -> Self {
        Self { state, totals: Mutex::default(), recovering: Mutex::default(), watch: Watch::default() }
    }

    /// A heartbeat, or one of long ago if its executor has ended since: the search for dead ones finds it then.
    fn of_now(&self, heartbeat: ExecutorHeartbeat) -> ExecutorHeartbeat {
        match self.watch.has_ended(&heartbeat.executor_id) {
            true => ExecutorHeartbeat { timestamp: 0, ..heartbeat },
            false => heartbeat,
        }
    }

    /// Makes the graphs of all running jobs recover. No task has run of those that are new.
    async fn recover(&self, jobs: &HashMap<JobId, JobInfoCache>) {
        let mut recovering = self.recovering.lock().await;
        recovering.retain(|id| jobs.contains_key(id));
        for (id, job) in jobs {
            if recovering.insert(id.clone()) {
                let mut graph = job.execution_graph.write().await;
                let inner = graph.cloned();
                *graph = Box::new(RecoveringGraph::new(inner));
            }
        }
    }
}

/// The vcores that the tasks of jobs have, by executor.
async fn occupied(jobs: &HashMap<JobId, JobInfoCache>) -> HashMap<String, u32> {
    let mut occupied: HashMap<String, u32> = HashMap::new();
    for job in jobs.values() {
        let graph = job.execution_graph.read().await;
        for task in graph.running_tasks() {
            let vcores = graph.task_vcores(task.stage_id, task.task_id).unwrap_or(1);
            *occupied.entry(task.executor_id).or_default() += vcores;
        }
    }
    occupied
}

#[async_trait::async_trait]
impl ClusterState for CountedVcores {
    async fn init(&self) -> Result<()> {
        self.state.init().await
    }

    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        active_jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        let totals = self.totals.lock().await;
        self.recover(&active_jobs).await;
        let occupied = occupied(&active_jobs).await;
        // Ballista's own binding, over what is free now.
        let free = InMemoryClusterState::default();
        for (executor_id, &total_vcores) in &*totals {
            // An executor that is lost meanwhile gets no tasks.
            let Ok(metadata) = self.state.get_executor_metadata(executor_id).await else { continue };
            let available_vcores = total_vcores.saturating_sub(occupied.get(executor_id).copied().unwrap_or(0));
            let data = ExecutorData { executor_id: executor_id.clone(), total_vcores, available_vcores };
            free.register_executor(metadata, data).await?;
        }
        free.bind_schedulable_tasks(distribution, active_jobs, executors).await
    }

    /// Does nothing: tasks that have ended do not run.
    async fn unbind_tasks(&self, _: Vec<ExecutorSlot>) -> Result<()> {
        Ok(())
    }

    async fn register_executor(&self, metadata: ExecutorMetadata, spec: ExecutorData) -> Result<()> {
        let (executor_id, total_vcores) = (metadata.id.clone(), spec.available_vcores);
        self.state.register_executor(metadata.clone(), spec).await?;
        self.watch.begin(&metadata);
        self.totals.lock().await.insert(executor_id, total_vcores);
        Ok(())
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        self.state.save_executor_metadata(metadata).await
    }

    async fn get_executor_metadata(&self, executor_id: &str) -> Result<ExecutorMetadata> {
        self.state.get_executor_metadata(executor_id).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.state.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.state.save_executor_heartbeat(heartbeat).await
    }

    async fn remove_executor(&self, executor_id: &str) -> Result<()> {
        self.totals.lock().await.remove(executor_id);
        self.watch.end(executor_id);
        self.state.remove_executor(executor_id).await
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        let heartbeats = self.state.executor_heartbeats().into_iter();
        heartbeats.map(|(id, heartbeat)| (id, self.of_now(heartbeat))).collect()
    }

    fn get_executor_heartbeat(&self, executor_id: &str) -> Option<ExecutorHeartbeat> {
        self.state.get_executor_heartbeat(executor_id).map(|heartbeat| self.of_now(heartbeat))
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.state.cluster_state_events().await
    }
}
