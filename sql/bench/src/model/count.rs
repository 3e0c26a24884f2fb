//! The counts that the model scales.

use super::formula::{Growth, Point, Reads, line};
use crate::cluster::{ClusterShape, QueryCounts, count_query};
use crate::emulated::StoreCounts;
use crate::error::failed;
use crate::measure::{Case, DataFiles, ObjectQueries, cases};
use datafusion::error::Result;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Clusters that are counted: two numbers of partitions with each of two numbers of executors.
pub(super) const SHAPES: [ClusterShape; 4] = [
    ClusterShape { executors: 1, vcores: 4 },
    ClusterShape { executors: 1, vcores: 16 },
    ClusterShape { executors: 2, vcores: 4 },
    ClusterShape { executors: 2, vcores: 16 },
];
/// Partitions of the scans whose planning is counted.
const PLANNED_PARTITIONS: [usize; 2] = [4, 16];
/// Numbers of tables that the users are cut into.
const PIECES: [u64; 2] = [4, 16];
/// The keys of the list of `in 1,000 keys`.
const LISTED_KEYS: f64 = 1_000.0;

/// How the reads of a query grow with the rows of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scaling {
    /// Not at all: a key is in one block.
    Point,
    /// As this number of keys, each of which is in a block of its own in a large table.
    Keys(f64),
    /// With the rows.
    Rows,
}

/// A query of the model.
struct ModelledQuery {
    name: &'static str,
    /// The kind of `measure` whose reads are counted, and the one whose tasks and links are: in a small table, a range
    /// of 1 % and a short stream are a single task, and in a large one as many as a scan of all rows.
    reads_of: &'static str,
    tasks_of: &'static str,
    scaling: Scaling,
}

const fn modelled(
    name: &'static str,
    reads_of: &'static str,
    tasks_of: &'static str,
    scaling: Scaling,
) -> ModelledQuery {
    ModelledQuery { name, reads_of, tasks_of, scaling }
}

const QUERIES: [ModelledQuery; 7] = [
    modelled("point query", "point", "point", Scaling::Point),
    modelled("IN of 1,000 keys", "in 1,000 keys", "in 1,000 keys", Scaling::Keys(LISTED_KEYS)),
    modelled("sum of a range of 1 %", "sum of 1 % of rows", "sum of all rows", Scaling::Rows),
    modelled("sum of all rows", "sum of all rows", "sum of all rows", Scaling::Rows),
    modelled("join of two tables by their keys", "join, both sorted", "join, both sorted", Scaling::Rows),
    modelled("join with a table in another order", "join 1:1", "join 1:1", Scaling::Rows),
    modelled("look-up join, 1 row for 1,000", "join 1:1000", "sum of all rows", Scaling::Rows),
];

/// The counts of a query.
pub(super) struct CountedQuery {
    pub(super) name: &'static str,
    pub(super) scaling: Scaling,
    /// Requests to the emulated object store, of scans of one partition.
    pub(super) objects: StoreCounts,
    /// Counts in clusters of [`SHAPES`].
    pub(super) clusters: [QueryCounts; 4],
}

impl CountedQuery {
    pub(super) fn reads(&self) -> Reads {
        Reads { requests: self.objects.requests() as f64, bytes: self.objects.bytes as f64 }
    }

    /// How a count grows with executors and partitions.
    pub(super) fn growth(&self, count: impl Fn(&QueryCounts) -> u64) -> Growth {
        let point = |number: usize| Point {
            executors: SHAPES[number].executors as f64,
            partitions: SHAPES[number].partitions() as f64,
            value: count(&self.clusters[number]) as f64,
        };
        Growth::through([point(0), point(1)], [point(2), point(3)])
    }

    /// The counts in the largest cluster.
    pub(super) fn last(&self) -> &QueryCounts {
        &self.clusters[3]
    }
}

/// All counts.
pub(super) struct Counts {
    pub(super) rows: u64,
    /// Bytes of a row of `users`, tuned for the object store.
    pub(super) row_bytes: f64,
    /// Requests that open a table, and those that plan a scan of all rows: at the beginning, and for each partition.
    pub(super) opening: StoreCounts,
    pub(super) planning: (f64, f64),
    /// Bytes of a task for each table that the scanned relation consists of.
    pub(super) table_bytes_in_task: f64,
    pub(super) queries: Vec<CountedQuery>,
}

impl Counts {
    /// Counts everything, and says what it does.
    pub(super) async fn take(data: &DataFiles, objects: &mut ObjectQueries, progress: &mut dyn Write) -> Result<Self> {
        let all = cases(&[]);
        let mut queries = Vec::new();
        let mut clusters = BTreeMap::new();
        for ModelledQuery { name, reads_of, tasks_of, scaling } in QUERIES {
            say(progress, name)?;
            if !clusters.contains_key(tasks_of) {
                clusters.insert(tasks_of, in_clusters(data, find(&all, tasks_of)?).await?);
            }
            let objects = objects.run(&data.query(find(&all, reads_of)?)?, 1).await?;
            let clusters = clusters.get(tasks_of).cloned().unwrap_or_default();
            queries.push(CountedQuery { name, scaling, objects, clusters });
        }
        say(progress, "planning and opening")?;
        let all_rows = data.query(find(&all, "sum of all rows")?)?;
        let plan = |store: &StoreCounts| store.requests() as f64;
        let few = objects.plan(&all_rows, PLANNED_PARTITIONS[0]).await?;
        let many = objects.plan(&all_rows, PLANNED_PARTITIONS[1]).await?;
        let [few_partitions, many_partitions] = PLANNED_PARTITIONS.map(|partitions| partitions as f64);
        Ok(Self {
            rows: data.users(),
            row_bytes: objects.users_bytes()? as f64 / data.users() as f64,
            opening: objects.open()?,
            planning: line((few_partitions, plan(&few)), (many_partitions, plan(&many))),
            table_bytes_in_task: bytes_of_table(data, &all_rows).await?,
            queries,
        })
    }
}

fn say(progress: &mut dyn Write, what: &str) -> io::Result<()> {
    writeln!(progress, "counting: {what}")?;
    progress.flush()
}

fn find<'a>(cases: &'a [Case], kind: &str) -> Result<&'a Case> {
    cases.iter().find(|case| case.name == kind).ok_or_else(|| failed(format!("there is no kind of query '{kind}'")))
}

async fn in_clusters(data: &DataFiles, case: &Case) -> Result<[QueryCounts; 4]> {
    let query = data.query(case)?;
    let mut clusters: [QueryCounts; 4] = Default::default();
    for (shape, counts) in SHAPES.into_iter().zip(&mut clusters) {
        *counts = count_query(shape, data, &query).await?;
    }
    Ok(clusters)
}

/// Bytes that a task grows by with each table: the query is run over the users in fewer and in more tables.
async fn bytes_of_table(data: &DataFiles, query: &str) -> Result<f64> {
    let mut in_task = [0.0; 2];
    for (pieces, bytes) in PIECES.into_iter().zip(&mut in_task) {
        let counts = count_query(SHAPES[2], &data.in_pieces(pieces)?, query).await?;
        *bytes = counts.task_bytes as f64 / counts.tasks.max(1) as f64;
    }
    let [few, many] = PIECES.map(|pieces| pieces as f64);
    Ok(line((few, in_task[0]), (many, in_task[1])).1.max(0.0))
}
