//! Counts of a query in a cluster.

use super::engine::TaskCounts;
use super::link::Traffic;
use crate::json::quoted;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Bytes of the links of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LinkBytes {
    /// Between client and scheduler: the logical plan, and where the results are.
    pub(super) client: u64,
    /// From the scheduler to executors: their tasks.
    pub(super) tasks: u64,
    /// From executors to the scheduler: what became of the tasks.
    pub(super) statuses: u64,
    /// From executors to each other, and to the client.
    pub(super) results: u64,
}

impl LinkBytes {
    /// The bytes of the link of a client, of those by which executors reach the scheduler, of those by which it reaches
    /// them, and of those on which they offer results.
    pub(super) fn of(client: Traffic, up: Traffic, control: Traffic, results: Traffic) -> Self {
        Self {
            client: client.total(),
            tasks: control.requests + up.answers,
            statuses: control.answers + up.requests,
            results: results.total(),
        }
    }
}

/// What an executor read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExecutorCounts {
    pub(crate) tasks: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) parquet_bytes: u64,
}

/// What a query took, added up over all its tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueryCounts {
    pub(crate) stages: u64,
    pub(crate) tasks: u64,
    /// Partitions of all stages.
    pub(crate) partitions: u64,
    pub(crate) executors: Vec<ExecutorCounts>,
    /// Bytes and parts of results that later stages read.
    pub(crate) shuffled_bytes: u64,
    pub(crate) shuffled_parts: u64,
    /// Of the parts that were read: those from another executor.
    pub(crate) parts_remote: u64,
    pub(crate) result_bytes: u64,
    pub(crate) client_bytes: u64,
    pub(crate) task_bytes: u64,
    pub(crate) status_bytes: u64,
    /// Bytes between executors, with what the client fetches.
    pub(crate) fetched_bytes: u64,
}

impl QueryCounts {
    /// The counts of a query by its tasks and the bytes of the links. The last stage is the result.
    pub(super) fn of(executors: usize, tasks: &[TaskCounts], links: LinkBytes) -> Self {
        let last = tasks.iter().map(|task| task.stage).max();
        let sum = |wanted: &dyn Fn(&TaskCounts) -> u64| tasks.iter().map(wanted).sum::<u64>();
        let is_last = |task: &TaskCounts| u64::from(Some(task.stage) == last);
        let mut counts = Self {
            stages: tasks.iter().map(|task| task.stage).collect::<BTreeSet<_>>().len() as u64,
            tasks: tasks.len() as u64,
            partitions: sum(&|task| task.partitions as u64),
            executors: vec![ExecutorCounts::default(); executors],
            shuffled_bytes: sum(&|task| task.written_bytes * (1 - is_last(task))),
            shuffled_parts: sum(&|task| task.written_parts * (1 - is_last(task))),
            parts_remote: sum(&|task| task.parts_remote),
            result_bytes: sum(&|task| task.written_bytes * is_last(task)),
            client_bytes: links.client,
            task_bytes: links.tasks,
            status_bytes: links.statuses,
            fetched_bytes: links.results,
        };
        for task in tasks {
            if let Some(executor) = counts.executors.get_mut(task.executor) {
                executor.tasks += 1;
                executor.requests += task.requests;
                executor.bytes += task.bytes;
                executor.parquet_bytes += task.parquet_bytes;
            }
        }
        counts
    }

    /// A line of JSON.
    pub(super) fn json(&self, query: &str, keys: u64) -> String {
        let mut line = format!("{{\"experiment\":\"sql-cluster\",\"query\":{},\"keys\":{keys}", quoted(query));
        let fields = [
            ("stages", self.stages),
            ("tasks", self.tasks),
            ("partitions", self.partitions),
            ("shuffled_bytes", self.shuffled_bytes),
            ("shuffled_parts", self.shuffled_parts),
            ("parts_remote", self.parts_remote),
            ("result_bytes", self.result_bytes),
            ("client_bytes", self.client_bytes),
            ("task_bytes", self.task_bytes),
            ("status_bytes", self.status_bytes),
            ("fetched_bytes", self.fetched_bytes),
        ];
        for (name, value) in fields {
            _ = write!(line, ",\"{name}\":{value}");
        }
        let executors: Vec<String> = self.executors.iter().map(ExecutorCounts::json).collect();
        _ = write!(line, ",\"executors\":[{}]}}", executors.join(","));
        line
    }
}

impl ExecutorCounts {
    fn json(&self) -> String {
        let Self { tasks, requests, bytes, parquet_bytes } = self;
        format!(
            "{{\"tasks\":{tasks},\"read_requests\":{requests},\"read_bytes\":{bytes},\
             \"parquet_bytes\":{parquet_bytes}}}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_added_up_by_executor_and_the_last_stage_is_the_result() {
        let task = |executor, stage, requests, written_bytes| TaskCounts {
            executor,
            stage,
            partitions: 2,
            requests,
            bytes: requests * 100,
            written_bytes,
            written_parts: 4,
            ..TaskCounts::default()
        };
        let tasks = [task(0, 1, 3, 1_000), task(1, 1, 5, 2_000), task(1, 2, 0, 50)];
        let traffic = |requests, answers| Traffic { requests, answers };
        let links = LinkBytes::of(traffic(1, 2), traffic(10, 20), traffic(100, 200), traffic(1_000, 2_000));
        assert_eq!(links, LinkBytes { client: 3, tasks: 120, statuses: 210, results: 3_000 });
        let counts = QueryCounts::of(2, &tasks, links);
        assert_eq!((counts.stages, counts.tasks, counts.partitions), (2, 3, 6));
        assert_eq!((counts.shuffled_bytes, counts.shuffled_parts, counts.result_bytes), (3_000, 8, 50));
        let first = ExecutorCounts { tasks: 1, requests: 3, bytes: 300, parquet_bytes: 0 };
        let second = ExecutorCounts { tasks: 2, requests: 5, bytes: 500, parquet_bytes: 0 };
        assert_eq!(counts.executors, [first, second]);
        let json = counts.json("point", 7);
        assert!(
            json.starts_with("{\"experiment\":\"sql-cluster\",\"query\":\"point\",\"keys\":7,\"stages\":2,"),
            "{json}"
        );
        assert!(json.ends_with("{\"tasks\":2,\"read_requests\":5,\"read_bytes\":500,\"parquet_bytes\":0}]}"), "{json}");
    }
}
