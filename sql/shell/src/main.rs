//! The command `ogive-sql`: SQL over Ogive tables, and over files that DataFusion reads, named by their paths.

use arrow_array::RecordBatch;
use clap::{Parser, ValueEnum};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::arrow::{csv, json};
use datafusion::catalog::DynamicFileCatalog;
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_session::SessionStore;
use ogive::TableOptions;
use ogive_datafusion::OgiveUrls;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  ogive-sql -c \"select * from 'users.ogive' where key in (1, 2, 3)\"
  ogive-sql -c \"select count(*) from 'users.ogive' where key between 10 and 20\" --format json
  ogive-sql -c \"select u.name, e.* from 'users.ogive' u join 'events.parquet' e on u.id = e.user_id\"
  ogive-sql report.sql                      the statements of a file, one after the other
  ogive-sql < report.sql                    of the standard input

A table is named by its path or URL in quotes. Those that end in .ogive are Ogive tables: conditions on the key are
look-ups and ranges, and rows come in the order of the key. .parquet, .csv and .json are read by DataFusion.";

/// Runs SQL over Ogive tables, Parquet, CSV and JSON files.
#[derive(Debug, Parser)]
#[command(name = "ogive-sql", version, about, after_help = EXAMPLES)]
struct Arguments {
    /// Statements to run, separated by semicolons
    #[arg(short, long, value_name = "SQL")]
    command: Vec<String>,
    /// Files of statements
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How rows are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Partitions of a scan: threads that work on a query [default: the number of cores]
    #[arg(long, value_name = "N")]
    partitions: Option<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Csv,
    Json,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ran = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(DataFusionError::IoError)
        .and_then(|runtime| runtime.block_on(run(&arguments)));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        // A reader such as `head` may leave early.
        Err(DataFusionError::IoError(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(io::stderr(), "ogive-sql: {}", error.strip_backtrace());
            ExitCode::FAILURE
        }
    }
}

/// A session in which quoted paths are tables.
fn session(partitions: Option<usize>) -> SessionContext {
    let mut config = SessionConfig::new().with_information_schema(true);
    if let Some(partitions) = partitions {
        config = config.with_target_partitions(partitions.max(1));
    }
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    let files = Arc::new(DynamicListTableFactory::new(SessionStore::new()));
    let urls = Arc::new(OgiveUrls::new(files.clone(), TableOptions::default()));
    let catalogs = Arc::new(DynamicFileCatalog::new(state.catalog_list().clone(), urls));
    let context = SessionContext::from(SessionStateBuilder::from(state).with_catalog_list(catalogs).build());
    files.session_store().with_state(context.state_weak_ref());
    context
}

async fn run(arguments: &Arguments) -> Result<()> {
    ogive_object_store::register();
    let mut statements = arguments.command.clone();
    for file in &arguments.files {
        let read = std::fs::read_to_string(file);
        statements.push(
            read.map_err(|error| DataFusionError::Execution(format!("cannot read {}: {error}", file.display())))?,
        );
    }
    if statements.is_empty() {
        if io::stdin().is_terminal() {
            return Err(DataFusionError::Execution(
                "there is nothing to run; give statements by -c, a file, or the standard input".to_owned(),
            ));
        }
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        statements.push(text);
    }
    let context = session(arguments.partitions);
    for text in statements {
        for statement in datafusion::sql::parser::DFParser::parse_sql(&text)? {
            let plan = context.state().statement_to_plan(statement).await?;
            let frame = context.execute_logical_plan(plan).await?;
            let schema = Arc::clone(frame.schema().inner());
            let mut batches = frame.collect().await?;
            if batches.is_empty() {
                batches.push(RecordBatch::new_empty(schema));
            }
            print(&batches, arguments.format)?;
        }
    }
    Ok(())
}

fn print(batches: &[RecordBatch], format: Format) -> Result<()> {
    if batches.iter().all(|batch| batch.num_columns() == 0) {
        return Ok(());
    }
    let mut output = io::stdout().lock();
    match format {
        Format::Table => writeln!(output, "{}", pretty_format_batches(batches)?)?,
        Format::Csv => {
            let mut writer = csv::WriterBuilder::new().with_header(true).build(output);
            batches.iter().try_for_each(|batch| writer.write(batch))?;
        }
        Format::Json => {
            let mut writer = json::LineDelimitedWriter::new(output);
            batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.finish()?;
        }
    }
    Ok(())
}
