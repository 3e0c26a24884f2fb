//! Sessions of DataFusion over Ogive tables and over Parquet files: the only place that registers tables.

use crate::error::{engine, failed};
use crate::files::TableName;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::SortExpr;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext, ident};
use ogive::{Storage, Table, TableOptions};
use ogive_datafusion::{OgiveOptions, OgiveTable, configure, with_ogive};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The settings of DataFusion that are not its defaults, for Parquet: conditions are checked while pages are decoded,
/// cheap ones first.
pub const PARQUET_SETTINGS: [(&str, &str); 2] = [
    ("datafusion.execution.parquet.pushdown_filters", "true"),
    ("datafusion.execution.parquet.reorder_filters", "true"),
];

/// What a session may use.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Threads that work on a query; the number of cores, if not stated.
    pub partitions: Option<usize>,
    /// Memory of operators, in bytes; all that there is, if not stated.
    pub memory_bytes: Option<usize>,
    /// Folder of spilled rows; that of the system, if not stated.
    pub scratch: Option<PathBuf>,
}

/// A session of DataFusion with these settings.
///
/// # Errors
/// Settings that DataFusion does not know.
pub fn session(limits: &Limits, settings: &[(&str, &str)]) -> Result<SessionContext> {
    Ok(SessionContext::from(builder(limits, settings, SessionConfig::new())?.build()))
}

/// A session that knows Ogive, with its joins by key.
///
/// # Errors
/// Settings that DataFusion does not know.
pub fn session_with_ogive(limits: &Limits, settings: &[(&str, &str)]) -> Result<SessionContext> {
    let builder = builder(limits, settings, configure(SessionConfig::new()))?;
    Ok(SessionContext::from(with_ogive(builder, &OgiveOptions::default()).build()))
}

/// A session whose queries run in a cluster with this scheduler. Its executors limit their own memory.
///
/// # Errors
/// A scheduler that does not answer.
pub async fn session_of_cluster(address: &str, limits: &Limits) -> Result<SessionContext> {
    let mut config = ogive_ballista::session_config(&Arc::default());
    if let Some(partitions) = limits.partitions {
        config = config.with_target_partitions(partitions.max(1));
    }
    ogive_ballista::connect_with(address, config).await
}

fn builder(limits: &Limits, settings: &[(&str, &str)], mut config: SessionConfig) -> Result<SessionStateBuilder> {
    if let Some(partitions) = limits.partitions {
        config = config.with_target_partitions(partitions.max(1));
    }
    for (name, value) in settings {
        config.options_mut().set(name, value)?;
    }
    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(bytes) = limits.memory_bytes {
        runtime = runtime.with_memory_pool(Arc::new(FairSpillPool::new(bytes)));
    }
    if let Some(folder) = &limits.scratch {
        let mode = DiskManagerMode::Directories(vec![folder.clone()]);
        runtime = runtime.with_disk_manager_builder(DiskManagerBuilder::default().with_mode(mode));
    }
    let runtime = runtime.build_arc()?;
    Ok(SessionStateBuilder::new().with_default_features().with_config(config).with_runtime_env(runtime))
}

/// Adds the Ogive table of a name.
///
/// # Errors
/// A table that cannot be opened.
pub fn register_ogive(context: &SessionContext, storage: Arc<dyn Storage>, table: &TableName) -> Result<()> {
    let options = match storage.profile() {
        Some(profile) => TableOptions::default().profile(profile.clone()),
        None => TableOptions::default(),
    };
    let opened = Table::open((storage, &table.ogive()), &options).map_err(engine)?;
    context.register_table(table.name.as_str(), Arc::new(OgiveTable::new(opened).map_err(engine)?))?;
    Ok(())
}

/// Adds the Parquet file of a name, with its order.
///
/// # Errors
/// A file that cannot be opened.
pub async fn register_parquet(context: &SessionContext, folder: &Path, table: &TableName) -> Result<()> {
    let path = table.parquet(folder);
    let path = path.to_str().ok_or_else(|| failed(format!("{} is not UTF-8; rename it", path.display())))?;
    register_parquet_at(context, path, table).await
}

/// Adds the Parquet file at a path or URL, with its order.
///
/// # Errors
/// A file that cannot be opened.
pub async fn register_parquet_at(context: &SessionContext, path: &str, table: &TableName) -> Result<()> {
    let order: Vec<SortExpr> = table.key.iter().map(|column| ident(column.as_str()).sort(true, false)).collect();
    let order = if table.is_sorted { vec![order] } else { Vec::new() };
    let options = ParquetReadOptions::default().file_sort_order(order);
    context.register_parquet(table.name.as_str(), path, options).await
}
