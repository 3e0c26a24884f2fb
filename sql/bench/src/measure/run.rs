//! A run of the measurements: rounds over all kinds of queries and all engines.

use super::case::{Case, cases};
use super::data::{RATIOS, UserIds, events, prepare, stream, users};
use super::duckdb::DuckDb;
use super::judge::wrong_answers;
use super::report::{MeasureError, Measured, ReportWriter, RunFacts};
use super::subject::{Subject, Subjects, Taken};
use crate::error::{failed, file};
use crate::files::{PARQUET_GROUP_ROWS, PARQUET_PAGE_ROWS, TableName};
use crate::session::{Limits, PARQUET_SETTINGS};
use clap::Args;
use datafusion::error::Result;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `measure`.
#[derive(Args, Debug)]
pub struct MeasureArguments {
    /// Users, as in 20K or 10M; there are about 1.2 events for each
    #[arg(long, default_value = "10M", value_parser = rows)]
    rows: u64,
    /// Folder of the files, which are written unless they are there
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// Seed of the data set
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rounds that are counted, after one that is not
    #[arg(long, value_name = "N", default_value_t = 7)]
    rounds: u64,
    /// Kinds of queries: those whose names contain one of these
    #[arg(long, value_name = "TEXT", value_delimiter = ';')]
    only: Vec<String>,
    /// Limits of memory of joins, in MiB
    #[arg(long, value_name = "MIB", value_delimiter = ',', default_value = "2000,1000,300")]
    memory: Vec<usize>,
    /// Partitions of a scan, and threads of DuckDB [default: the number of cores]
    #[arg(long, value_name = "N")]
    partitions: Option<usize>,
    /// A Python with the package duckdb, which is measured, too
    #[arg(long, value_name = "PYTHON")]
    duckdb: Option<PathBuf>,
    /// A scheduler whose cluster is measured, too; its executors must find the folder at the same path
    #[arg(long, value_name = "HOST:PORT")]
    cluster: Option<String>,
    /// Another setting of DataFusion, for its own sessions and ours, as in datafusion.execution.batch_size=4096
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Seconds after which a query of DataFusion is given up
    #[arg(long, value_name = "S", default_value_t = 900)]
    timeout: u64,
    /// File for lines of JSON, one for each kind of query and engine
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn rows(text: &str) -> std::result::Result<u64, String> {
    let (digits, unit) = match text.to_ascii_uppercase() {
        text if text.ends_with('K') => (text.trim_end_matches('K').to_owned(), 1_000),
        text if text.ends_with('M') => (text.trim_end_matches('M').to_owned(), 1_000_000),
        text => (text, 1),
    };
    let rows = digits.parse::<u64>().ok().and_then(|rows| rows.checked_mul(unit)).filter(|&rows| rows > 0);
    rows.ok_or_else(|| format!("{text:?} is no number of rows; write it as 20K or 10M"))
}

fn setting(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Measures, prints a table, and fails if an answer of ours is not that of DuckDB, or two engines differ without it.
///
/// # Errors
/// Files that cannot be written or read, and wrong answers. A query that fails is a result, and so is a wrong answer of
/// others.
pub async fn run(arguments: &MeasureArguments, output: &mut dyn Write) -> Result<()> {
    let ids = UserIds::new(arguments.rows, arguments.seed);
    prepare(&arguments.folder, &ids)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let partitions = arguments.partitions.unwrap_or(cores);
    let mut settings: Vec<(String, String)> =
        PARQUET_SETTINGS.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    settings.extend(arguments.settings.iter().cloned());
    let duckdb = match &arguments.duckdb {
        Some(python) => Some(DuckDb::start(python, &arguments.folder, partitions, &duckdb_tables())?),
        None => None,
    };
    introduce(arguments, &settings, partitions, duckdb.as_ref(), output)?;
    let scratch = arguments.folder.join("scratch");
    std::fs::create_dir_all(&scratch).map_err(file("create", &scratch))?;
    let limits = Limits { partitions: Some(partitions), memory_bytes: None, scratch: Some(scratch) };
    let timeout = Duration::from_secs(arguments.timeout);
    let folder = std::path::absolute(&arguments.folder).map_err(file("find", &arguments.folder))?;
    let mut subjects = Subjects::new(&folder, limits, settings, timeout, duckdb, arguments.cluster.clone());
    let json: Option<Box<dyn Write>> = match &arguments.json {
        Some(path) => Some(Box::new(File::create(path).map_err(file("create", path))?)),
        None => None,
    };
    let limits_bytes: Vec<usize> = arguments.memory.iter().map(|mib| mib << 20).collect();
    let is_wanted =
        |case: &Case| arguments.only.is_empty() || arguments.only.iter().any(|text| case.name.contains(text.as_str()));
    let cases: Vec<Case> = cases(&limits_bytes).into_iter().filter(is_wanted).collect();
    let mut report = ReportWriter { output, json, run: RunFacts { keys: arguments.rows } };
    report.head(&subjects.all())?;
    let mut failures = Vec::new();
    for case in &cases {
        failures.extend(measure(case, arguments.rounds, &ids, &mut subjects, &mut report).await?);
    }
    report.foot()?;
    if failures.is_empty() { Ok(()) } else { Err(failed(failures.join("\n"))) }
}

/// Tables with the keys of their order, for DuckDB.
fn duckdb_tables() -> Vec<String> {
    let named = |table: TableName| {
        let key = if table.is_sorted { table.key.join(",") } else { String::new() };
        format!("{}:{key}", table.name)
    };
    [users(), events()].into_iter().chain(RATIOS.map(stream)).map(named).collect()
}

/// States what is measured.
fn introduce(
    arguments: &MeasureArguments,
    settings: &[(String, String)],
    partitions: usize,
    duckdb: Option<&DuckDb>,
    output: &mut dyn Write,
) -> Result<()> {
    writeln!(
        output,
        "{} users, seed {}, {partitions} partitions, files in the page cache",
        arguments.rows, arguments.seed
    )?;
    for table in [users(), events()] {
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let ogive = bytes(&arguments.folder.join(table.ogive()));
        let parquet = bytes(&table.parquet(&arguments.folder));
        writeln!(output, "{}: {ogive} bytes as Ogive, {parquet} as Parquet", table.name)?;
    }
    writeln!(
        output,
        "Parquet: sorted, uncompressed, Bloom filters of the key, statistics of pages of {PARQUET_PAGE_ROWS} rows, row \
         groups of {PARQUET_GROUP_ROWS} rows"
    )?;
    let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    writeln!(output, "DataFusion {}: {}", datafusion::DATAFUSION_VERSION, settings.join(", "))?;
    if let Some(duckdb) = duckdb {
        writeln!(output, "DuckDB {}: sorted, with a unique index of users", duckdb.version)?;
    }
    Ok(writeln!(output)?)
}

/// Measures one kind of query; returns the wrong answers by which the run fails.
async fn measure(
    case: &Case,
    rounds: u64,
    ids: &UserIds,
    subjects: &mut Subjects,
    report: &mut ReportWriter<'_>,
) -> Result<Vec<String>> {
    let all = subjects.all();
    let mut measured: Vec<Measured> = all.iter().map(|&subject| Measured::new(subject)).collect();
    let mut answers: Vec<(Subject, Taken)> = Vec::new();
    let mut failures = Vec::new();
    for round in 0..=rounds {
        let queries = case.round(round, ids);
        for turn in 0..all.len() {
            let of = &mut measured[(turn + round as usize) % all.len()];
            if of.error.is_some() {
                continue;
            }
            match subjects.run(of.subject, case.memory_bytes, &queries, round == 0).await {
                Ok(taken) if round == 0 => {
                    of.warm(&taken, queries.len());
                    answers.push((of.subject, taken));
                }
                Ok(taken) => of.add(&taken, queries.len()),
                Err(error) => of.error = Some(MeasureError::Failed(error.strip_backtrace())),
            }
        }
        if round == 0 {
            for wrong in wrong_answers(&queries, &answers) {
                failures.extend(wrong.is_failure.then(|| wrong.message.clone()));
                if let Some(of) = measured.iter_mut().find(|of| of.subject == wrong.subject) {
                    of.error = Some(MeasureError::Wrong(wrong.message));
                }
            }
        }
    }
    let rows = answers.first().map(|(_, taken)| taken.answers.iter().map(Vec::len).sum());
    report.case(&case.name, case.memory_bytes, rows, &measured)?;
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_units() {
        assert_eq!(rows("20k"), Ok(20_000));
        assert_eq!(rows("10M"), Ok(10_000_000));
        assert_eq!(rows("17"), Ok(17));
        assert!(rows("0").is_err() && rows("M").is_err() && rows("1G").is_err());
    }
}
