//! A run of all queries at any scale, compared with DuckDB's answers.

use super::{QUERIES, TABLES, TpchQuery, write_files};
use crate::answer::Answer;
use crate::error::{failed, file};
use crate::session::{
    Limits, PARQUET_SETTINGS, register_ogive, register_parquet, session, session_of_cluster, session_with_ogive,
};
use clap::Args;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use ogive::{LocalStorage, Storage};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The scale factor of the answers that are part of the program.
pub const ANSWERED_SCALE: f64 = 0.01;

/// Arguments of `tpch`.
#[derive(Args, Debug)]
pub struct TpchArguments {
    /// Scale factor: 1 is a gigabyte of text
    #[arg(long, default_value_t = ANSWERED_SCALE)]
    scale: f64,
    /// Folder of the tables, which are written unless they are there
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// Folder of DuckDB's answers, made by answers.py [default: those at scale 0.01]
    #[arg(long, value_name = "DIR")]
    answers: Option<PathBuf>,
    /// Write the tables, and stop
    #[arg(long)]
    write_only: bool,
    /// Partitions of a scan [default: the number of cores]
    #[arg(long, value_name = "N")]
    partitions: Option<usize>,
    /// Run the queries over Ogive tables in the cluster with this scheduler
    #[arg(long, value_name = "HOST:PORT")]
    cluster: Option<String>,
}

/// A session over the Ogive tables of a storage.
///
/// # Errors
/// Tables that cannot be opened.
pub fn ogive_session(storage: &Arc<dyn Storage>, limits: &Limits) -> Result<SessionContext> {
    let context = session_with_ogive(limits, &[])?;
    register_tables(&context, storage)?;
    Ok(context)
}

/// Adds the Ogive tables of a storage to a session.
///
/// # Errors
/// Tables that cannot be opened.
pub fn register_tables(context: &SessionContext, storage: &Arc<dyn Storage>) -> Result<()> {
    TABLES.iter().try_for_each(|table| register_ogive(context, storage.clone(), &table.table()))
}

/// A session over the Parquet files of a folder.
///
/// # Errors
/// Files that cannot be opened.
pub async fn parquet_session(folder: &Path, limits: &Limits) -> Result<SessionContext> {
    let context = session(limits, &PARQUET_SETTINGS)?;
    for table in &TABLES {
        register_parquet(&context, folder, &table.table()).await?;
    }
    Ok(context)
}

/// Runs all queries, prints the time of each, and fails if an answer differs.
///
/// # Errors
/// Those of DataFusion, files that cannot be read, and different answers.
pub async fn run(arguments: &TpchArguments, output: &mut dyn Write) -> Result<()> {
    let folder = &arguments.folder;
    let marker = folder.join(format!("scale-{}", arguments.scale));
    if !marker.exists() {
        write_files(folder, arguments.scale)?;
        std::fs::write(&marker, "").map_err(file("write", &marker))?;
    }
    if arguments.write_only {
        return Ok(());
    }
    let limits = Limits { partitions: arguments.partitions, ..Limits::default() };
    let folder = &std::path::absolute(folder).map_err(file("find", folder))?;
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder));
    let mut contexts = vec![("Ogive", ogive_session(&storage, &limits)?)];
    match &arguments.cluster {
        Some(address) => {
            let context = session_of_cluster(address, &limits).await?;
            register_tables(&context, &storage)?;
            contexts.push(("cluster", context));
        }
        None => contexts.push(("Parquet", parquet_session(folder, &limits).await?)),
    }
    writeln!(output, "query {:>9} {:>9}  rows", format!("{} s", contexts[0].0), format!("{} s", contexts[1].0))?;
    let mut different = Vec::new();
    for query in &QUERIES {
        let answer = answer_of(query, arguments)?;
        write!(output, "{:5}", query.number)?;
        let mut rows = 0;
        for (name, context) in &contexts {
            let started = Instant::now();
            let ours = query.run(context).await?;
            write!(output, " {:9.3}", started.elapsed().as_secs_f64())?;
            rows = ours.rows.len();
            if let Some(difference) = ours.difference(&answer) {
                different.push(format!("query {} over {name}: {difference}", query.number));
            }
        }
        writeln!(output, "  {rows}")?;
    }
    match different[..] {
        [] => Ok(writeln!(output, "All answers are those of DuckDB.")?),
        _ => Err(failed(different.join("\n"))),
    }
}

fn answer_of(query: &TpchQuery, arguments: &TpchArguments) -> Result<Answer> {
    let Some(folder) = &arguments.answers else {
        if arguments.scale.to_bits() != ANSWERED_SCALE.to_bits() {
            return Err(failed(format!(
                "there are answers for scale {ANSWERED_SCALE} alone; make those for scale {} with answers.py, and name \
                 their folder by --answers",
                arguments.scale
            )));
        }
        return Answer::parse(query.answer);
    };
    let path = folder.join(format!("q{:02}.csv", query.number));
    Answer::parse(&std::fs::read_to_string(&path).map_err(file("read", &path))?)
}
