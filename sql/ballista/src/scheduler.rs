//! The scheduler of a cluster: it plans queries and assigns their tasks to executors.

use crate::arguments::{SharedArguments, external_host};
use crate::codec::{OgiveLogicalCodec, OgivePhysicalCodec};
use crate::plan_size::TASK_MESSAGE_BYTES_MAX;
use crate::process::{external, terminated};
use crate::session::{SCHEDULER_PORT, session_config, session_state};
use crate::tables::OpenTables;
use crate::vcores::CountedVcores;
use ballista_core::error::{BallistaError, Result};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use clap::Parser;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

const EXAMPLES: &str = "\
Examples:
  ogive-scheduler                                   for clients and executors on this machine
  ogive-scheduler --allow /data --allow s3://bucket/tables
  ogive-scheduler --bind-host 0.0.0.0 --external-host scheduler.example --allow s3://bucket/tables

Clients connect by `ogive sql --cluster HOST:PORT`, executors by `ogive-executor --scheduler-host HOST`. Every program
that reaches the port may run queries: there is no authentication and no encryption. Open it only to trusted
networks.";

/// The least timeout of executors that have the usual interval between heartbeats: it may miss two.
const EXECUTOR_TIMEOUT_S_MIN: u64 = 30;

/// Plans the queries of a cluster, and hands their tasks to executors.
#[derive(Clone, Debug, Parser)]
#[command(name = "ogive-scheduler", version, about, after_help = EXAMPLES)]
pub struct SchedulerArguments {
    /// Address to listen on; 0.0.0.0 is every one of this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind_host: IpAddr,
    /// Port to listen on; 0 is a free one, which is printed
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = SCHEDULER_PORT)]
    pub bind_port: u16,
    /// Name or address by which executors reach this scheduler [default: the address that it listens on]
    #[arg(long, value_name = "HOST")]
    pub external_host: Option<String>,
    /// Seconds without a heartbeat after which an executor is considered dead, and its tasks run elsewhere; at least
    /// three times what executors have as --executor-heartbeat-interval-seconds, which is 10 unless given
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub executor_timeout_seconds: u64,
    /// Seconds between searches for dead executors, which finds those at once whose process has ended
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    pub expire_dead_executor_interval_seconds: u64,
    /// Failures of a task after which the query fails
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub task_max_failures: usize,
    /// Executors that `http://HOST:PORT/readyz` waits for
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub min_ready_executors: usize,
    /// What tables and messages share with executors
    #[command(flatten)]
    pub shared: SharedArguments,
}

/// The configuration of a scheduler that knows tables and scans of ours. Programs may change it further, such as by the
/// overrides for TLS of [`SchedulerConfig`].
#[must_use]
pub fn scheduler_config(arguments: &SchedulerArguments, tables: &Arc<OpenTables>) -> SchedulerConfig {
    let (producer, allowed) = (tables.clone(), tables.allowed().clone());
    let mut config = SchedulerConfig {
        bind_host: arguments.bind_host.to_string(),
        bind_port: arguments.bind_port,
        scheduling_policy: arguments.shared.task_scheduling_policy.into(),
        // Executors read storage at the same time: tasks belong on all of them.
        task_distribution: TaskDistributionPolicy::RoundRobin,
        executor_timeout_seconds: arguments.executor_timeout_seconds,
        no_executors_grace_period_seconds: arguments.executor_timeout_seconds,
        expire_dead_executor_interval_seconds: arguments.expire_dead_executor_interval_seconds,
        task_max_failures: arguments.task_max_failures,
        min_ready_executors: arguments.min_ready_executors,
        // To executors that tasks are sent to, and to those that ask for them.
        grpc_client_max_message_size: TASK_MESSAGE_BYTES_MAX,
        grpc_server_max_encoding_message_size: TASK_MESSAGE_BYTES_MAX,
        override_logical_codec: Some(Arc::new(OgiveLogicalCodec::new(tables.clone()))),
        override_physical_codec: Some(Arc::new(OgivePhysicalCodec::new(tables.clone()))),
        override_config_producer: Some(Arc::new(move || session_config(&producer))),
        override_session_builder: Some(Arc::new(move |config: SessionConfig| session_state(config, &allowed))),
        ..SchedulerConfig::default()
    };
    if let Some(host) = external_host(arguments.external_host.as_ref(), arguments.bind_host) {
        config.external_host = host;
    }
    config
}

/// Runs a scheduler until the process is told to end (by `SIGTERM`, or Ctrl-C), and prints its address when it listens.
///
/// # Errors
/// For a prefix or an address that cannot be used; those of Ballista.
pub async fn run_scheduler(arguments: SchedulerArguments) -> Result<()> {
    arguments.shared.begin_process();
    let tables = arguments.shared.tables().map_err(external)?;
    let address = SocketAddr::new(arguments.bind_host, arguments.bind_port);
    let listener = TcpListener::bind(address).await.map_err(|error| {
        BallistaError::Configuration(format!("cannot listen on {address}: {error}; give another --bind-port"))
    })?;
    let address = listener.local_addr()?;
    let arguments = SchedulerArguments { bind_port: address.port(), ..arguments };
    let config = scheduler_config(&arguments, &tables);
    config.validate()?;
    if arguments.executor_timeout_seconds < EXECUTOR_TIMEOUT_S_MIN {
        log::warn!(
            "--executor-timeout-seconds {} gives up healthy executors, unless they have a shorter \
             --executor-heartbeat-interval-seconds than 10",
            arguments.executor_timeout_seconds
        );
    }
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let cluster = BallistaCluster::new(Arc::new(CountedVcores::new(cluster.cluster_state())), cluster.job_state());
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
    // A parent that does not read is no reason to end.
    _ = writeln!(std::io::stdout(), "ogive-scheduler listens on {address}");
    tokio::select! {
        ended = start_grpc_service_with_listener(listener, scheduler) => ended,
        told = terminated() => Ok(told?),
    }
}
