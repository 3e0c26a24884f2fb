//! Recovery of queries after an executor is lost.

use ballista_core::JobId;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::job_status::Status as Job;
use ballista_core::serde::protobuf::task_status::Status as Task;
use ballista_core::serde::protobuf::{JobStatus, TaskStatus};
use ballista_core::serde::scheduler::{ExecutorMetadata, PartitionLocation};
use ballista_scheduler::scheduler_server::event::QueryStageSchedulerEvent;
use ballista_scheduler::scheduler_server::timestamp_millis;
use ballista_scheduler::state::execution_graph::{ExecutionGraph, ExecutionGraphBox, RunningTaskInfo};
use ballista_scheduler::state::execution_stage::{ExecutionStage, RunningStage, StageOutput};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What an adaptive plan says when it cannot go on.
const LOST: &str = "an executor was lost, and an adaptive plan cannot take back what it had read from it: run the \
    query again, or set ballista.planner.adaptive.enabled to false";

/// The stages of a query, of which no output of a task is read twice.
///
/// Where Ballista 55 runs a stage anew because its input was lost, it leaves the outputs of that stage's finished tasks
/// with the stages that read them, and with the query's result: the rows of those tasks would count twice. Here they
/// are taken back, before another task is started. Adaptive plans keep such outputs where nothing can take them back:
/// they fail.
#[derive(Debug)]
pub(crate) struct RecoveringGraph {
    /// Ballista's own.
    graph: ExecutionGraphBox,
    /// The places of results of tasks that do not count any more, among the graph's output locations, to which it
    /// appends alone.
    stale_results: BTreeSet<usize>,
    /// Whether the plan is adaptive, and has lost outputs: it fails when the next task tells its status, since only
    /// then can others be told.
    is_lost: bool,
}

impl RecoveringGraph {
    pub(crate) fn new(graph: ExecutionGraphBox) -> Self {
        Self { graph, stale_results: BTreeSet::new(), is_lost: false }
    }

    fn is_adaptive(&self) -> bool {
        use ballista_core::extension::SessionConfigExt;
        self.graph.session_config().ballista_adaptive_query_planner_enabled()
    }

    /// Whether an output is of a task that its stage still counts as finished. Between a stage's rollback and the
    /// first of its new tasks, which may have the number of an old one, there is always a call of this.
    fn is_valid(&self, location: &PartitionLocation) -> bool {
        let stage = self.graph.stages().get(&location.partition_id.stage_id);
        let task = stage.and_then(ExecutionStage::task_infos).and_then(|tasks| tasks.get(location.map_partition_id));
        task.is_some_and(
            |task| matches!(&task.task_status, Task::Successful(done) if done.executor_id == location.executor_meta.id),
        )
    }

    /// The executors that have outputs which stages would read, of tasks that do not count any more.
    fn executors_of_stale_outputs(&self) -> BTreeSet<String> {
        let inputs = self.graph.stages().values().filter_map(inputs);
        let locations = inputs.flat_map(HashMap::values).flat_map(|output| output.partition_locations.values());
        let stale = locations.flatten().filter(|location| !self.is_valid(location));
        stale.map(|location| location.executor_meta.id.clone()).collect()
    }

    /// Takes back outputs of tasks that do not count any more. All that those executors have of this query is taken
    /// for lost, the only way to reach their outputs. Returns the stages that run anew, and tasks to cancel.
    fn take_back_stale_outputs(&mut self) -> Result<(HashSet<usize>, Vec<RunningTaskInfo>)> {
        let (mut stages, mut tasks) = (HashSet::new(), Vec::new());
        loop {
            self.take_back_results();
            let executors = self.executors_of_stale_outputs();
            if executors.is_empty() {
                return Ok((stages, tasks));
            }
            for executor in executors {
                log::warn!("job {}: what executor {executor} has of it runs again", self.job_id());
                tasks.extend(self.graph.running_tasks().into_iter().filter(|task| task.executor_id == executor));
                let (reset, cancelled) = self.graph.reset_stages_on_lost_executor(&executor)?;
                stages.extend(reset);
                tasks.extend(cancelled);
            }
        }
    }

    /// Marks the outputs of the last stage that do not count any more.
    fn take_back_results(&mut self) {
        let locations = self.graph.output_locations();
        let stale = locations.iter().enumerate().filter(|(_, location)| !self.is_valid(location));
        let stale: Vec<usize> = stale.map(|(place, _)| place).collect();
        self.stale_results.extend(stale);
    }

    /// Leaves outputs that do not count out of the status of a query that is done.
    fn correct_status(&mut self) {
        if self.stale_results.is_empty() {
            return;
        }
        let mut status = self.graph.status().clone();
        if let Some(Job::Successful(done)) = &mut status.status
            && done.partition_location.len() == self.graph.output_locations().len()
        {
            done.partition_location = self.without_stale(std::mem::take(&mut done.partition_location));
            self.graph.update_status(status);
        }
    }

    /// What belongs to the graph's output locations, without that of stale results.
    fn without_stale<T>(&self, outputs: Vec<T>) -> Vec<T> {
        let outputs = outputs.into_iter().enumerate().filter(|(place, _)| !self.stale_results.contains(place));
        outputs.map(|(_, output)| output).collect()
    }

    /// Whether tasks that run or have ended on an executor are lost with it.
    fn has_tasks_on(&self, executor: &str) -> bool {
        let tasks = self.graph.stages().values().filter_map(ExecutionStage::task_infos).flatten();
        tasks.into_iter().any(|task| match &task.task_status {
            Task::Running(task) => task.executor_id == executor,
            Task::Successful(task) => task.executor_id == executor,
            Task::Failed(_) => false,
        })
    }

    /// Fails the query.
    fn fail(&mut self) -> Vec<QueryStageSchedulerEvent> {
        let tasks = self.graph.abort_running(LOST.to_owned());
        let queued_at = match &self.graph.status().status {
            Some(Job::Failed(failed)) => failed.queued_at,
            _ => 0,
        };
        let failed = QueryStageSchedulerEvent::JobRunningFailed {
            job_id: self.job_id().clone(),
            fail_message: LOST.to_owned(),
            queued_at,
            failed_at: timestamp_millis(),
        };
        vec![QueryStageSchedulerEvent::CancelTasks(tasks), failed]
    }
}

/// The outputs that a stage is going to read, or reads.
fn inputs(stage: &ExecutionStage) -> Option<&HashMap<usize, StageOutput>> {
    match stage {
        ExecutionStage::UnResolved(stage) => Some(&stage.inputs),
        ExecutionStage::Resolved(stage) => Some(&stage.inputs),
        ExecutionStage::Running(stage) => Some(&stage.inputs),
        ExecutionStage::Successful(_) | ExecutionStage::Failed(_) => None,
    }
}

/// Whether a task says that it could not read the output of another.
fn could_not_fetch(status: &TaskStatus) -> bool {
    matches!(&status.status, Some(Task::Failed(task))
        if matches!(task.failed_reason, Some(FailedReason::FetchPartitionError(_))))
}

impl ExecutionGraph for RecoveringGraph {
    fn update_task_status(
        &mut self,
        executor: &ExecutorMetadata,
        statuses: Vec<TaskStatus>,
        max_task_failures: usize,
        max_stage_failures: usize,
    ) -> Result<Vec<QueryStageSchedulerEvent>> {
        let is_output_lost = statuses.iter().any(could_not_fetch);
        if self.is_lost || is_output_lost && self.is_adaptive() {
            self.is_lost = false;
            return Ok(self.fail());
        }
        let mut events = self.graph.update_task_status(executor, statuses, max_task_failures, max_stage_failures)?;
        // Nothing else of a status has a stage begin anew, and to look at all outputs takes long in a large query.
        if is_output_lost {
            let (_, tasks) = self.take_back_stale_outputs()?;
            if !tasks.is_empty() {
                events.push(QueryStageSchedulerEvent::CancelTasks(tasks));
            }
        }
        self.correct_status();
        Ok(events)
    }

    fn reset_stages_on_lost_executor(&mut self, executor_id: &str) -> Result<(HashSet<usize>, Vec<RunningTaskInfo>)> {
        if self.is_adaptive() {
            self.is_lost |= self.has_tasks_on(executor_id);
            let (stages, mut tasks) = self.graph.reset_stages_on_lost_executor(executor_id)?;
            if self.is_lost {
                tasks.extend(self.graph.running_tasks());
            }
            return Ok((stages, tasks));
        }
        let (mut stages, mut tasks) = self.graph.reset_stages_on_lost_executor(executor_id)?;
        let (more_stages, more_tasks) = self.take_back_stale_outputs()?;
        stages.extend(more_stages);
        tasks.extend(more_tasks);
        Ok((stages, tasks))
    }

    fn output_locations(&self) -> Vec<PartitionLocation> {
        self.without_stale(self.graph.output_locations())
    }

    fn succeed_job(&mut self) -> Result<()> {
        self.graph.succeed_job()?;
        self.correct_status();
        Ok(())
    }

    fn cloned(&self) -> ExecutionGraphBox {
        Box::new(Self { graph: self.graph.cloned(), stale_results: self.stale_results.clone(), is_lost: self.is_lost })
    }

    // All else is Ballista's.

    fn job_id(&self) -> &JobId {
        self.graph.job_id()
    }

    fn job_name(&self) -> &str {
        self.graph.job_name()
    }

    fn session_id(&self) -> &str {
        self.graph.session_id()
    }

    fn scheduler_id(&self) -> Option<&str> {
        self.graph.scheduler_id()
    }

    fn session_config(&self) -> Arc<SessionConfig> {
        self.graph.session_config()
    }

    fn status(&self) -> &JobStatus {
        self.graph.status()
    }

    fn logical_plan(&self) -> Option<&str> {
        self.graph.logical_plan()
    }

    fn physical_plan(&self) -> Arc<dyn ExecutionPlan> {
        self.graph.physical_plan()
    }

    fn start_time(&self) -> u64 {
        self.graph.start_time()
    }

    fn end_time(&self) -> u64 {
        self.graph.end_time()
    }

    fn completed_stages(&self) -> usize {
        self.graph.completed_stages()
    }

    fn is_successful(&self) -> bool {
        self.graph.is_successful()
    }

    fn revive(&mut self) -> bool {
        self.graph.revive()
    }

    fn running_stages(&self) -> Vec<usize> {
        self.graph.running_stages()
    }

    fn running_tasks(&self) -> Vec<RunningTaskInfo> {
        self.graph.running_tasks()
    }

    fn available_tasks(&self) -> usize {
        self.graph.available_tasks()
    }

    fn fetch_running_stage(&mut self, black_list: &[usize]) -> Option<&mut RunningStage> {
        self.graph.fetch_running_stage(black_list)
    }

    fn update_status(&mut self, status: JobStatus) {
        self.graph.update_status(status);
    }

    fn resolve_stage(&mut self, stage_id: usize) -> Result<bool> {
        self.graph.resolve_stage(stage_id)
    }

    fn succeed_stage(&mut self, stage_id: usize) -> bool {
        self.graph.succeed_stage(stage_id)
    }

    fn fail_stage(&mut self, stage_id: usize, err_msg: String) -> bool {
        self.graph.fail_stage(stage_id, err_msg)
    }

    fn rollback_running_stage(
        &mut self,
        stage_id: usize,
        failure_reasons: HashSet<String>,
    ) -> Result<Vec<RunningTaskInfo>> {
        self.graph.rollback_running_stage(stage_id, failure_reasons)
    }

    fn rollback_resolved_stage(&mut self, stage_id: usize) -> Result<bool> {
        self.graph.rollback_resolved_stage(stage_id)
    }

    fn rerun_successful_stage(&mut self, stage_id: usize) -> bool {
        self.graph.rerun_successful_stage(stage_id)
    }

    fn fail_job(&mut self, error: String) {
        self.graph.fail_job(error);
    }

    fn abort_running(&mut self, error: String) -> Vec<RunningTaskInfo> {
        self.graph.abort_running(error)
    }

    fn stages(&self) -> &HashMap<usize, ExecutionStage> {
        self.graph.stages()
    }

    fn stage_count(&self) -> usize {
        self.graph.stage_count()
    }
}
