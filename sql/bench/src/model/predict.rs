//! Predictions: the needs of a query in the cluster of the model.

use super::count::{CountedQuery, Counts, Scaling};
use super::formula::{Machines, Reads};

/// The cluster and its tables.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) machines: Machines,
    /// Bytes of the table of users.
    pub(super) bytes: f64,
    /// Bytes of one of the files that it consists of.
    pub(super) table_bytes: f64,
}

impl Target {
    pub(super) fn tables(&self) -> f64 {
        (self.bytes / self.table_bytes).ceil()
    }

    /// Rows of the model for each counted one.
    pub(super) fn factor(&self, counts: &Counts) -> f64 {
        self.bytes / counts.row_bytes / counts.rows as f64
    }
}

/// What a query would need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Prediction {
    pub(super) stages: f64,
    pub(super) tasks: f64,
    pub(super) reads: Reads,
    pub(super) storage_s: f64,
    /// Bytes that change executors, and their parts: places where a task looks for its rows.
    pub(super) exchanged_bytes: f64,
    pub(super) exchange_s: f64,
    pub(super) exchanged_parts: f64,
    /// Bytes of all tasks and of what is answered, on the link of the scheduler.
    pub(super) task_bytes: f64,
    pub(super) status_bytes: f64,
    pub(super) scheduler_s: f64,
}

impl Prediction {
    /// The mean size of a task in bytes.
    pub(super) fn bytes_of_task(&self) -> f64 {
        self.task_bytes / self.tasks.max(1.0)
    }

    /// Seconds of the links, which are used one after the other.
    pub(super) fn links_s(&self) -> f64 {
        self.storage_s + self.exchange_s + self.scheduler_s
    }
}

/// Scales the counts of a query; `point` is that of one key.
pub(super) fn predict(query: &CountedQuery, point: &CountedQuery, counts: &Counts, target: &Target) -> Prediction {
    let machines = &target.machines;
    let (executors, partitions) = (machines.executors, machines.partitions());
    let factor = target.factor(counts);
    let reads = match query.scaling {
        Scaling::Point => query.reads(),
        Scaling::Keys(keys) => point.reads().times(keys),
        Scaling::Rows => query.reads().times(factor),
    };
    // A few keys are one task; rows are spread over all partitions.
    let at_once = query.objects.at_once();
    let (rows_factor, storage_s) = match query.scaling {
        Scaling::Rows => (factor, machines.storage_s(reads, executors, at_once * machines.vcores)),
        _ => (1.0, machines.storage_s(reads, 1.0, at_once)),
    };
    let exchanged = query.growth(|counts| counts.shuffled_bytes).with_rows(rows_factor);
    let exchanged_bytes = exchanged.at(executors, partitions);
    let tasks = query.growth(|counts| counts.tasks).at(executors, partitions).ceil();
    let names = tasks * target.tables() * counts.table_bytes_in_task;
    let task_bytes = query.growth(|counts| counts.task_bytes).at(executors, partitions) + names;
    let status_bytes = query.growth(|counts| counts.status_bytes).at(executors, partitions);
    Prediction {
        stages: query.last().stages as f64,
        tasks,
        reads,
        storage_s,
        exchanged_bytes,
        exchange_s: machines.exchange_s(exchanged_bytes),
        exchanged_parts: query.growth(|counts| counts.shuffled_parts).at(executors, partitions),
        task_bytes,
        status_bytes,
        scheduler_s: machines.scheduler_s(task_bytes + status_bytes),
    }
}

/// What breaks before the rows do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    pub(super) tables: f64,
    /// Seconds until a process has opened all tables, one after the other.
    pub(super) opening_s: f64,
    /// Bytes that this reads.
    pub(super) opening_bytes: f64,
    /// Requests of the planner for a scan, and their time one after the other.
    pub(super) planning_requests: f64,
    pub(super) planning_s: f64,
    /// Tables at which a task is larger than a message may be.
    pub(super) tables_max: f64,
    /// Memory of all open tables of an executor.
    pub(super) tables_memory_bytes: f64,
}

/// Most bytes of a message between scheduler and executors, by default.
pub(super) const MESSAGE_BYTES_MAX: f64 = (16 << 20) as f64;
/// Memory of an open table in an executor, by default.
const TABLE_MEMORY_BYTES: f64 = (64 << 20) as f64;

pub(super) fn limits(counts: &Counts, target: &Target) -> Limits {
    let (profile, tables) = (&target.machines.profile, target.tables());
    let (start, per_partition) = counts.planning;
    let planning_requests = start + per_partition * target.machines.partitions();
    Limits {
        tables,
        opening_s: tables * counts.opening.profile_us / 1e6,
        opening_bytes: tables * counts.opening.bytes as f64,
        planning_requests,
        planning_s: planning_requests * profile.time_us(0) / 1e6,
        tables_max: MESSAGE_BYTES_MAX / counts.table_bytes_in_task.max(1.0),
        tables_memory_bytes: tables * TABLE_MEMORY_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::QueryCounts;
    use crate::emulated::StoreCounts;
    use ogive::Profile;

    /// A query with 2 tasks an executor, 1,000 bytes a task, and 10 parts for each pair of executor and partition.
    fn query(scaling: Scaling, requests: u64, bytes: u64) -> CountedQuery {
        let objects = StoreCounts { gets: requests, bytes, served_us: 8.0, busy_us: 1.0, ..StoreCounts::default() };
        let clusters = super::super::count::SHAPES.map(|shape| QueryCounts {
            stages: 2,
            tasks: 2 * shape.executors as u64,
            task_bytes: 2_000 * shape.executors as u64,
            status_bytes: 100 * shape.partitions() as u64,
            shuffled_bytes: 5_000,
            shuffled_parts: 10 * (shape.executors * shape.partitions()) as u64,
            ..QueryCounts::default()
        });
        CountedQuery { name: "q", scaling, objects, clusters }
    }

    fn counts() -> Counts {
        let opening = StoreCounts { gets: 1, bytes: 1_000, profile_us: 50_000.0, ..StoreCounts::default() };
        Counts {
            rows: 1_000,
            row_bytes: 20.0,
            opening,
            planning: (3.0, 2.0),
            table_bytes_in_task: 200.0,
            queries: Vec::new(),
        }
    }

    /// 10 executors of 4 vcores, 1 GB/s; 2 MB in 4 tables: 100 times the counted rows.
    fn target() -> Target {
        let profile = Profile::affine("slow", 10_000.0, 100.0, 8).unwrap();
        let machines = Machines { executors: 10.0, vcores: 4.0, gbit_per_s: 8.0, profile };
        Target { machines, bytes: 2e6, table_bytes: 5e5 }
    }

    #[test]
    fn reads_grow_with_rows_with_keys_or_not_at_all() {
        let (counts, target, point) = (counts(), target(), query(Scaling::Point, 2, 300));
        let reads = |query: &CountedQuery| predict(query, &point, &counts, &target).reads;
        assert_eq!(reads(&point), Reads { requests: 2.0, bytes: 300.0 });
        assert_eq!(reads(&query(Scaling::Keys(50.0), 7, 7)), Reads { requests: 100.0, bytes: 15_000.0 });
        assert_eq!(reads(&query(Scaling::Rows, 7, 900)), Reads { requests: 700.0, bytes: 90_000.0 });
    }

    #[test]
    fn tasks_messages_and_exchanges_grow_with_the_cluster() {
        let (counts, target, point) = (counts(), target(), query(Scaling::Point, 2, 300));
        let found = predict(&query(Scaling::Rows, 7, 900), &point, &counts, &target);
        // 20 tasks of 1,000 bytes, and 200 bytes for each of 4 tables.
        assert_eq!((found.stages, found.tasks, found.task_bytes), (2.0, 20.0, 20.0 * 1_800.0));
        assert_eq!((found.bytes_of_task(), found.status_bytes), (1_800.0, 4_000.0));
        assert_eq!((found.exchanged_bytes, found.exchanged_parts), (500_000.0, 4_000.0));
        // Nine tenths leave by ten links of 1 GB/s.
        assert!((found.exchange_s - 4.5e-5).abs() < 1e-12, "{found:?}");
        assert!((found.scheduler_s - 4e-5).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn limits_are_those_of_tables_partitions_and_messages() {
        let found = limits(&counts(), &target());
        assert_eq!((found.tables, found.opening_bytes), (4.0, 4_000.0));
        assert!((found.opening_s - 0.2).abs() < 1e-12, "{found:?}");
        // Three requests, and two for each of 40 partitions, of 10 ms each.
        assert_eq!(found.planning_requests, 83.0);
        assert!((found.planning_s - 0.83).abs() < 1e-12, "{found:?}");
        assert_eq!(found.tables_max, 83_886.08);
    }
}
