//! Random tables and queries on disk, with our answers, for a comparison with DuckDB by `compare.py`.

use super::{DataSet, Size, answer_of, random_query};
use crate::answer::Answer;
use crate::error::{failed, file};
use crate::files::FilesWriter;
use crate::json::quoted;
use crate::session::{Limits, register_ogive, session_of_cluster, session_with_ogive};
use clap::Args;
use datafusion::error::Result;
use ogive::{LocalStorage, Storage};
use ogive_testkit::Random;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Arguments of `random`.
#[derive(Args, Debug)]
pub struct RandomArguments {
    /// Folder of the data sets; each is a folder of its own
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// Seed of the first data set; the others follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Data sets
    #[arg(long, value_name = "N", default_value_t = 100)]
    data_sets: u64,
    /// Queries of each data set
    #[arg(long, value_name = "N", default_value_t = 100)]
    queries: u64,
    /// Run the queries in the cluster with this scheduler
    #[arg(long, value_name = "HOST:PORT")]
    cluster: Option<String>,
}

/// Writes data sets, queries and answers.
///
/// # Errors
/// Failed writes, and queries that DataFusion does not run.
pub async fn run(arguments: &RandomArguments, output: &mut dyn Write) -> Result<()> {
    let folder = std::path::absolute(&arguments.folder).map_err(file("find", &arguments.folder))?;
    for seed in arguments.seed..arguments.seed + arguments.data_sets {
        let folder = folder.join(format!("seed-{seed}"));
        std::fs::create_dir_all(&folder).map_err(file("create", &folder))?;
        write_set(seed, arguments, &folder).await?;
    }
    let (sets, queries) = (arguments.data_sets, arguments.data_sets * arguments.queries);
    let folder = arguments.folder.display();
    Ok(writeln!(output, "{queries} queries of {sets} data sets are in {folder}; compare them by compare.py {folder}")?)
}

async fn write_set(seed: u64, arguments: &RandomArguments, folder: &Path) -> Result<()> {
    let mut draw = Random::new(seed);
    let size = *draw.pick(&[Size::Small, Size::Small, Size::Large]);
    let set = DataSet::new(&mut draw, size)?;
    let limits = Limits { partitions: Some(*draw.pick(&[1, 2, 3, 16])), ..Limits::default() };
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder));
    let context = match &arguments.cluster {
        Some(address) => session_of_cluster(address, &limits).await?,
        None => session_with_ogive(&limits, &[])?,
    };
    for table in &set.tables {
        let mut writer = FilesWriter::create(folder, &table.table, &table.rows.schema())?;
        writer.write(&table.rows)?;
        writer.finish()?;
        register_ogive(&context, storage.clone(), &table.table)?;
    }
    let path = folder.join("queries.jsonl");
    let mut lines = BufWriter::new(File::create(&path).map_err(file("create", &path))?);
    for _ in 0..arguments.queries {
        let query = random_query(&mut draw, &set)?;
        let answer = answer_of(&context, &query).await;
        let answer = answer.map_err(|error| failed(format!("seed {seed}: {query}: {}", error.strip_backtrace())))?;
        writeln!(lines, "{}", line(&query, &answer))?;
    }
    Ok(lines.flush()?)
}

fn line(query: &str, answer: &Answer) -> String {
    let cell = |cell: &Option<String>| cell.as_deref().map_or_else(|| "null".to_owned(), quoted);
    let row = |row: &Vec<Option<String>>| format!("[{}]", row.iter().map(cell).collect::<Vec<_>>().join(","));
    let types: Vec<String> = answer.types.iter().map(|of| quoted(&of.name())).collect();
    let rows: Vec<String> = answer.rows.iter().map(row).collect();
    format!("{{\"sql\":{},\"types\":[{}],\"rows\":[{}]}}", quoted(query), types.join(","), rows.join(","))
}
