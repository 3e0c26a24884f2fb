//! The command `cluster`.

use super::counts::{ExecutorCounts, QueryCounts};
use super::local::{ClusterShape, count_query};
use crate::error::{failed, file};
use crate::measure::{MeasuredData, cases};
use clap::Args;
use datafusion::error::Result;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// Arguments of `cluster`.
#[derive(Args, Debug)]
pub struct ClusterArguments {
    /// The data set, as that of `measure`
    #[command(flatten)]
    data: MeasuredData,
    /// Executors of each cluster
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2")]
    executors: Vec<usize>,
    /// Partitions that an executor works on at a time; scans are cut into as many as there are places
    #[arg(long, value_name = "N", default_value_t = 2)]
    vcores: usize,
    /// Kinds of queries: those whose names contain one of these
    #[arg(long, value_name = "TEXT", value_delimiter = ';')]
    only: Vec<String>,
    /// File for lines of JSON, one for each kind of query and cluster
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Counts one query of each kind in clusters of each size.
///
/// # Errors
/// Files that cannot be written or read; queries that failed, after all others.
pub async fn run(arguments: &ClusterArguments, output: &mut dyn Write) -> Result<()> {
    let data = arguments.data.prepare()?;
    writeln!(
        output,
        "{} users; executors with {} vcores each, in one process, linked by TCP; caches empty before each query\n",
        data.users(),
        arguments.vcores
    )?;
    let mut json = match &arguments.json {
        Some(path) => Some(File::create(path).map_err(file("create", path))?),
        None => None,
    };
    head(output)?;
    let mut failures = Vec::new();
    let is_wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|text| name.contains(text));
    for case in cases(&[]).into_iter().filter(|case| is_wanted(&case.name)) {
        let query = data.query(&case)?;
        for &executors in &arguments.executors {
            let shape = ClusterShape { executors, vcores: arguments.vcores };
            let counts = match count_query(shape, &data, &query).await {
                Ok(counts) => counts,
                Err(error) => {
                    failures.push(format!("{}, {executors} executors: {}", case.name, error.strip_backtrace()));
                    continue;
                }
            };
            line(output, &case.name, &counts)?;
            if let Some(json) = &mut json {
                writeln!(json, "{}", counts.json(&case.name, data.users()))?;
            }
        }
    }
    foot(output)?;
    if failures.is_empty() { Ok(()) } else { Err(failed(failures.join("\n"))) }
}

const COLUMNS: [&str; 9] =
    ["exec", "stages", "tasks", "parts", "to tasks B", "statuses B", "shuffled B", "fetched B", "client B"];

fn head(output: &mut dyn Write) -> io::Result<()> {
    write!(output, "{:28}", "query")?;
    for column in COLUMNS {
        write!(output, " {column:>10}")?;
    }
    writeln!(output, "  tasks:requests/bytes(+Parquet) of each executor")
}

fn line(output: &mut dyn Write, query: &str, counts: &QueryCounts) -> io::Result<()> {
    write!(output, "{query:28}")?;
    let numbers = [
        counts.executors.len() as u64,
        counts.stages,
        counts.tasks,
        counts.partitions,
        counts.task_bytes,
        counts.status_bytes,
        counts.shuffled_bytes,
        counts.fetched_bytes,
        counts.client_bytes,
    ];
    for number in numbers {
        write!(output, " {number:>10}")?;
    }
    let executor = |it: &ExecutorCounts| {
        let parquet = if it.parquet_bytes > 0 { format!("(+{})", it.parquet_bytes) } else { String::new() };
        format!("{}:{}/{}{parquet}", it.tasks, it.requests, it.bytes)
    };
    let executors: Vec<String> = counts.executors.iter().map(executor).collect();
    writeln!(output, "  {}", executors.join("  "))?;
    output.flush()
}

fn foot(output: &mut dyn Write) -> io::Result<()> {
    writeln!(
        output,
        "\nOf one query. parts: partitions of all stages, each in a task. to tasks: bytes from the scheduler to \
         executors. statuses: bytes back. shuffled: bytes that tasks write for later stages. fetched: bytes on the \
         links of the executors' results, those of the client among them. client: bytes between client and \
         scheduler. requests and bytes: of Ogive tables, by tasks; opening a table is not among them."
    )
}
