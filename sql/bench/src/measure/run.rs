//! A run of the measurements: rounds over all kinds of queries and all engines.

use super::case::{Case, cases};
use super::data::{RATIOS, UserIds, events, prepare, stream, users};
use super::duckdb::DuckDb;
use super::files::MeasuredData;
use super::judge::wrong_answers;
use super::report::{MeasureError, Measured, ReportWriter, RunFacts};
use super::storage::Files;
use super::subject::{Subject, Subjects, Taken};
use crate::error::{engine, failed, file};
use crate::files::{PARQUET_GROUP_ROWS, PARQUET_PAGE_ROWS, TableName};
use crate::session::{Limits, PARQUET_SETTINGS};
use clap::{Args, ValueEnum};
use datafusion::error::Result;
use ogive::Profile;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;

/// Arguments of `measure`.
#[derive(Args, Debug)]
pub struct MeasureArguments {
    /// The data set
    #[command(flatten)]
    data: MeasuredData,
    /// Where the files lie; times of the object store are modelled, and its requests counted
    #[arg(long, value_enum, default_value_t = StorageKind::Local)]
    storage: StorageKind,
    /// Profile of the object store: a name or a file
    #[arg(long, value_name = "PROFILE", default_value = "s3")]
    profile: String,
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

/// Where files lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StorageKind {
    /// The local disk
    Local,
    /// An object store that is emulated on the local disk, below the folder `objects`
    ObjectStore,
}

impl MeasureArguments {
    /// Refuses engines that cannot read from the emulated object store.
    fn check(&self) -> Result<()> {
        if self.storage == StorageKind::ObjectStore && (self.duckdb.is_some() || self.cluster.is_some()) {
            return Err(failed("the object store is emulated in this process alone; leave --duckdb and --cluster out"));
        }
        Ok(())
    }

    /// The profile that Ogive tables are tuned for.
    fn profile(&self) -> Result<Profile> {
        match self.storage {
            StorageKind::Local => Ok(Profile::default()),
            StorageKind::ObjectStore => Profile::by_name_or_file(&self.profile).map_err(engine),
        }
    }

    /// The folder of the data files.
    fn data_folder(&self) -> Result<PathBuf> {
        match self.storage {
            StorageKind::Local => self.data.absolute_folder(),
            StorageKind::ObjectStore => self.data.objects_folder(),
        }
    }

    fn settings(&self) -> Vec<(String, String)> {
        let own = PARQUET_SETTINGS.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        own.chain(self.settings.iter().cloned()).collect()
    }

    /// The kinds of queries that are measured.
    fn cases(&self) -> Vec<Case> {
        let limits_bytes: Vec<usize> = self.memory.iter().map(|mib| mib << 20).collect();
        let is_wanted =
            |case: &Case| self.only.is_empty() || self.only.iter().any(|text| case.name.contains(text.as_str()));
        cases(&limits_bytes).into_iter().filter(is_wanted).collect()
    }

    /// Where results are written as lines of JSON.
    fn json(&self) -> Result<Option<Box<dyn Write>>> {
        match &self.json {
            Some(path) => Ok(Some(Box::new(File::create(path).map_err(file("create", path))?))),
            None => Ok(None),
        }
    }
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
    arguments.check()?;
    let ids = arguments.data.ids();
    let (profile, folder) = (arguments.profile()?, arguments.data_folder()?);
    prepare(&profile, &folder, &ids)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let partitions = arguments.partitions.unwrap_or(cores);
    let settings = arguments.settings();
    let duckdb = match &arguments.duckdb {
        Some(python) => Some(DuckDb::start(python, &folder, partitions, &duckdb_tables())?),
        None => None,
    };
    introduce(arguments, &settings, partitions, duckdb.as_ref(), output)?;
    let scratch = folder.join("scratch");
    std::fs::create_dir_all(&scratch).map_err(file("create", &scratch))?;
    let limits = Limits { partitions: Some(partitions), memory_bytes: None, scratch: Some(scratch) };
    let timeout = Duration::from_secs(arguments.timeout);
    let (files, profile) = match arguments.storage {
        StorageKind::Local => (Files::local(&folder), "local".to_owned()),
        StorageKind::ObjectStore => (Files::emulated(&folder, profile.clone())?, profile.name().to_owned()),
    };
    let run = RunFacts { keys: arguments.data.rows, profile, is_emulated: files.is_emulated() };
    let mut subjects = Subjects::new(files, limits, settings, timeout, duckdb, arguments.cluster.clone());
    let cases = arguments.cases();
    let mut report = ReportWriter { output, json: arguments.json()?, run };
    report.head(&subjects.all())?;
    let mut failures = Vec::new();
    for case in &cases {
        read_all(&folder)?;
        failures.extend(measure(case, arguments.rounds, &ids, &mut subjects, &mut report).await?);
    }
    report.foot()?;
    if failures.is_empty() { Ok(()) } else { Err(failed(failures.join("\n"))) }
}

/// Reads all files once, so that they are in the page cache: a kernel may drop what was not read for a minute, even
/// where memory is plenty.
fn read_all(folder: &Path) -> Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    for entry in std::fs::read_dir(folder).map_err(file("list", folder))? {
        let path = entry.map_err(file("list", folder))?.path();
        if path.is_file() {
            let mut opened = File::open(&path).map_err(file("open", &path))?;
            while opened.read(&mut buffer).map_err(file("read", &path))? > 0 {}
        }
    }
    Ok(())
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
    let (folder, profile) = (arguments.data_folder()?, arguments.profile()?);
    let place = match arguments.storage {
        StorageKind::Local => "files in the page cache".to_owned(),
        StorageKind::ObjectStore => format!(
            "an emulated object store: T(0) {:.1} ms, T(1 MB) {:.1} ms, {} requests at once ({})",
            profile.time_us(0) / 1e3,
            profile.time_us(1_000_000) / 1e3,
            profile.parallel(),
            profile.name()
        ),
    };
    writeln!(output, "{} users, seed {}, {partitions} partitions, {place}", arguments.data.rows, arguments.data.seed)?;
    for table in [users(), events()] {
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let ogive = bytes(&folder.join(table.ogive()));
        let parquet = bytes(&table.parquet(&folder));
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
