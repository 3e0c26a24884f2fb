//! The command `ogive-sql-bench`: TPC-H, random queries and measurements of SQL over Ogive tables.

use clap::{Parser, Subcommand};
use datafusion::error::DataFusionError;
use mimalloc::MiMalloc;
use ogive_sql_bench::{cluster, measure, model, random, tpch};
use std::io::{self, Write};
use std::process::ExitCode;

/// Look-ups and plans allocate much, on several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Runs TPC-H, random queries and measurements of SQL over Ogive tables, beside Parquet and DuckDB.
#[derive(Debug, Parser)]
#[command(name = "ogive-sql-bench", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the tables of TPC-H, run the 22 queries over Ogive tables and over Parquet, and compare the answers
    Tpch(tpch::TpchArguments),
    /// Write random tables, random queries and their answers, for compare.py
    Random(random::RandomArguments),
    /// Measure queries over a table of Ogive, over the same Parquet file, and in DuckDB
    Measure(measure::MeasureArguments),
    /// Count tasks, reads and bytes of links of the same queries in clusters of this machine
    Cluster(cluster::ClusterArguments),
    /// Count the same queries, and say by the counts what a large cluster over an object store would need
    Model(model::ModelArguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut output = io::stdout();
    let ran =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(DataFusionError::IoError).and_then(
            |runtime| {
                runtime.block_on(async {
                    match &arguments.command {
                        Command::Tpch(arguments) => tpch::run(arguments, &mut output).await,
                        Command::Random(arguments) => random::run(arguments, &mut output).await,
                        Command::Measure(arguments) => measure::run(arguments, &mut output).await,
                        Command::Cluster(arguments) => cluster::run(arguments, &mut output).await,
                        Command::Model(arguments) => model::run(arguments, &mut output).await,
                    }
                })
            },
        );
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        // A reader such as `head` may leave early.
        Err(DataFusionError::IoError(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(io::stderr(), "ogive-sql-bench: {}", error.strip_backtrace());
            ExitCode::FAILURE
        }
    }
}
