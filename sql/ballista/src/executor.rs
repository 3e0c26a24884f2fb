//! An executor of a cluster: it runs tasks of queries and reads the storage of their tables directly.

use crate::arguments::{SharedArguments, external_host, free_port, parse_bytes};
use crate::codec::{OgiveLogicalCodec, OgivePhysicalCodec};
use crate::guard::runtime;
use crate::plan_size::TASK_MESSAGE_BYTES_MAX;
use crate::process::external;
use crate::session::{SCHEDULER_PORT, session_config};
use crate::tables::OpenTables;
use ballista_core::error::{BallistaError, Result};
use ballista_core::ids::new_instance_id;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use clap::Parser;
use datafusion::prelude::SessionConfig;
use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// Time between attempts to reach the scheduler.
const CONNECT_PAUSE: Duration = Duration::from_millis(250);

const EXAMPLES: &str = "\
Examples:
  ogive-executor                                    for the scheduler on this machine
  ogive-executor --vcores 8 --memory-limit 16GiB --work-dir /scratch
  ogive-executor --scheduler-host scheduler.example --bind-host 0.0.0.0 --external-host node1.example \\
      --allow s3://bucket/tables

Every executor opens tables by the path or URL of the query, with the credentials of its own environment: paths must
lead to the same files on all machines. Every program that reaches the ports may run plans and read intermediate
results: there is no authentication and no encryption. Open them to trusted networks alone.";

/// Runs tasks of the queries of a cluster.
#[derive(Clone, Debug, Parser)]
#[command(name = "ogive-executor", version, about, after_help = EXAMPLES)]
pub struct ExecutorArguments {
    /// Name or address of the scheduler
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub scheduler_host: String,
    /// Port of the scheduler
    #[arg(long, value_name = "PORT", default_value_t = SCHEDULER_PORT)]
    pub scheduler_port: u16,
    /// Seconds to wait for a scheduler that does not answer yet
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub scheduler_connect_timeout_seconds: u16,
    /// Address to listen on; 0.0.0.0 is every one of this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind_host: IpAddr,
    /// Port from which others fetch results of tasks; 0 is a free one
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 50051)]
    pub bind_port: u16,
    /// Port on which the scheduler starts tasks; 0 is a free one
    #[arg(long, value_name = "PORT", default_value_t = 50052)]
    pub bind_grpc_port: u16,
    /// Name or address by which the others reach this executor [default: the address that it listens on, or that the
    /// scheduler sees]
    #[arg(long, value_name = "HOST")]
    pub external_host: Option<String>,
    /// Tasks, or partitions of one, that run at a time; 0 is one for each core
    #[arg(short = 'c', long, visible_alias = "concurrent-tasks", value_name = "N", default_value_t = 0)]
    pub vcores: usize,
    /// Memory of all queries together, shared out evenly among tasks at a time [default: 70 % of the machine's]
    #[arg(long, visible_alias = "memory-pool-size", value_name = "BYTES", value_parser = parse_bytes)]
    pub memory_limit: Option<u64>,
    /// Folder for intermediate results [default: a temporary one, which is removed at the end]
    #[arg(long, value_name = "FOLDER")]
    pub work_dir: Option<PathBuf>,
    /// Seconds between heartbeats to the scheduler
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub executor_heartbeat_interval_seconds: u64,
    /// What tables and messages share with the scheduler
    #[command(flatten)]
    pub shared: SharedArguments,
}

/// The configuration of an executor that knows tables and scans of ours, and writes intermediate results to `work_dir`.
/// Programs may change it further, such as by the overrides for TLS of [`ExecutorProcessConfig`].
#[must_use]
pub fn executor_config(
    arguments: &ExecutorArguments,
    tables: &Arc<OpenTables>,
    work_dir: &Path,
) -> ExecutorProcessConfig {
    let (producer, allowed) = (tables.clone(), tables.allowed().clone());
    let work_dir = work_dir.display().to_string();
    let spill_dir = work_dir.clone();
    ExecutorProcessConfig {
        executor_id: new_instance_id(),
        bind_host: arguments.bind_host.to_string(),
        external_host: external_host(arguments.external_host.as_ref(), arguments.bind_host),
        port: arguments.bind_port,
        grpc_port: arguments.bind_grpc_port,
        scheduler_host: arguments.scheduler_host.clone(),
        scheduler_port: arguments.scheduler_port,
        // Another value waits without end in Ballista 55.
        scheduler_connect_timeout_seconds: 0,
        vcores: arguments.vcores,
        memory_pool_size: arguments.memory_limit,
        work_dir: Some(work_dir),
        executor_heartbeat_interval_seconds: arguments.executor_heartbeat_interval_seconds,
        grpc_max_decoding_message_size: TASK_MESSAGE_BYTES_MAX,
        task_scheduling_policy: arguments.shared.task_scheduling_policy.into(),
        override_logical_codec: Some(Arc::new(OgiveLogicalCodec::new(tables.clone()))),
        override_physical_codec: Some(Arc::new(OgivePhysicalCodec::new(tables.clone()))),
        override_config_producer: Some(Arc::new(move || session_config(&producer))),
        override_runtime_producer: Some(Arc::new(move |_: &SessionConfig| runtime(&allowed, Some(&spill_dir)))),
        ..ExecutorProcessConfig::default()
    }
}

/// Runs an executor until the process is told to end (by `SIGTERM`, Ctrl-C, or the scheduler).
///
/// # Errors
/// For a prefix, address or folder that cannot be used, and a scheduler that does not answer; those of Ballista.
pub async fn run_executor(mut arguments: ExecutorArguments) -> Result<()> {
    arguments.shared.begin_process();
    let tables = arguments.shared.tables().map_err(external)?;
    let free = |port, option| {
        free_port(arguments.bind_host, port).map_err(|error| {
            let host = arguments.bind_host;
            BallistaError::Configuration(format!("cannot listen on {host}:{port}: {error}; give another {option}"))
        })
    };
    arguments.bind_port = free(arguments.bind_port, "--bind-port")?;
    arguments.bind_grpc_port = free(arguments.bind_grpc_port, "--bind-grpc-port")?;
    let (work_dir, _temporary) = match &arguments.work_dir {
        Some(work_dir) => {
            fs::create_dir_all(work_dir).map_err(|error| {
                let message = format!("cannot make {}: {error}; give another --work-dir", work_dir.display());
                BallistaError::Configuration(message)
            })?;
            (work_dir.clone(), None)
        }
        None => {
            let folder = tempfile::Builder::new().prefix("ogive-executor-").tempdir()?;
            (folder.path().to_owned(), Some(folder))
        }
    };
    wait_for_scheduler(&arguments).await?;
    let config = executor_config(&arguments, &tables, &work_dir);
    // A parent that does not read is no reason to end.
    _ = writeln!(std::io::stdout(), "ogive-executor listens on {}:{}", arguments.bind_host, arguments.bind_port);
    start_executor_process(Arc::new(config)).await?;
    // The scheduler says so to those whose heartbeats it misses.
    log::warn!("the executor ends: it was told to, by a signal or by its scheduler");
    Ok(())
}

/// Waits until the scheduler can be reached.
async fn wait_for_scheduler(arguments: &ExecutorArguments) -> Result<()> {
    let ExecutorArguments { scheduler_host: host, scheduler_port: port, .. } = arguments;
    let limit = Duration::from_secs(arguments.scheduler_connect_timeout_seconds.into());
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(CONNECT_PAUSE);
        let detail = match tokio::time::timeout(left, TcpStream::connect((host.as_str(), *port))).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it did not answer".to_owned(),
        };
        if Instant::now() + CONNECT_PAUSE > deadline {
            return Err(BallistaError::Configuration(format!(
                "no scheduler answers at {host}:{port} within {limit:?}: {detail}; start `ogive-scheduler`, or give \
                 --scheduler-host and --scheduler-port"
            )));
        }
        tokio::time::sleep(CONNECT_PAUSE).await;
    }
}
