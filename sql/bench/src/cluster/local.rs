//! A cluster within this process, all of whose connections pass through counting links.

use super::counts::{LinkBytes, QueryCounts};
use super::engine::{CountingEngine, TaskLog};
use super::link::{Link, Traffic};
use crate::error::failed;
use crate::measure::DataFiles;
use ballista_core::error::BallistaError;
use ballista_executor::execution_engine::DefaultExecutionEngine;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use clap::Parser;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::collect;
use datafusion::prelude::SessionContext;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use ogive_ballista::{ExecutorArguments, SchedulerArguments, executor_config, scheduler_config, session_config};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as BlockingListener};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Time for the executors to register.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for a query, on a machine that has other things to do.
const QUERY_TIMEOUT: Duration = Duration::from_secs(300);
/// Threads of the cluster.
const THREADS: usize = 4;

/// How many executors a cluster has, how many tasks they run at a time, and into how many parts scans are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClusterShape {
    pub(crate) executors: usize,
    pub(crate) vcores: usize,
}

impl ClusterShape {
    /// Partitions of a scan: one for each place of a task.
    pub(crate) fn partitions(self) -> usize {
        self.executors * self.vcores
    }
}

/// A scheduler and executors.
struct CountedCluster {
    runtime: Option<Runtime>,
    client: Link,
    executors: Vec<CountedExecutor>,
    log: TaskLog,
    _folder: tempfile::TempDir,
}

struct CountedExecutor {
    /// From the executor to the scheduler, from the scheduler to the executor, and from all to its results.
    up: Link,
    control: Link,
    results: Link,
    process: JoinHandle<std::result::Result<(), BallistaError>>,
}

/// The counts of a query over these files in a new cluster.
///
/// # Errors
/// A cluster that does not start, and a query that fails.
pub(crate) async fn count_query(shape: ClusterShape, data: &DataFiles, query: &str) -> Result<QueryCounts> {
    let cluster = CountedCluster::start(shape).await?;
    let config = session_config(&Arc::default()).with_target_partitions(shape.partitions());
    let context = ogive_ballista::connect_with(&cluster.client.address().to_string(), config).await?;
    data.register(&context).await?;
    cluster.count(&context, query).await
}

impl CountedCluster {
    async fn start(shape: ClusterShape) -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
        let folder = tempfile::Builder::new().prefix("ogive-counted-").tempdir()?;
        let (log, place) = (TaskLog::default(), folder.path().to_owned());
        let started = runtime.spawn({
            let log = log.clone();
            async move { start_processes(shape, &place, &log).await }
        });
        let started = started.await.map_err(|error| failed(format!("the cluster did not start: {error}")))?;
        // The runtime must not be dropped here, where another one runs.
        let mut cluster = match started {
            Ok((client, executors)) => Self { runtime: None, client, executors, log, _folder: folder },
            Err(error) => {
                runtime.shutdown_background();
                return Err(error);
            }
        };
        cluster.runtime = Some(runtime);
        Ok(cluster)
    }

    fn links(&self) -> [Vec<Traffic>; 4] {
        let of = |link: fn(&CountedExecutor) -> &Link| self.executors.iter().map(|it| link(it).traffic()).collect();
        [vec![self.client.traffic()], of(|it| &it.up), of(|it| &it.control), of(|it| &it.results)]
    }

    async fn count(&self, context: &SessionContext, query: &str) -> Result<QueryCounts> {
        let before = self.links();
        let run = async {
            let plan = context.sql(query).await?.create_physical_plan().await?;
            collect(plan, context.task_ctx()).await
        };
        let ran = tokio::time::timeout(QUERY_TIMEOUT, run).await;
        ran.map_err(|_| failed(format!("no answer within {} s", QUERY_TIMEOUT.as_secs())))??;
        let since = |now: &[Traffic], before: &[Traffic]| {
            now.iter().zip(before).fold(Traffic::default(), |sum, (now, before)| {
                let more = now.since(*before);
                Traffic { requests: sum.requests + more.requests, answers: sum.answers + more.answers }
            })
        };
        let now = self.links();
        let [client, up, control, results] = std::array::from_fn(|link| since(&now[link], &before[link]));
        let links = LinkBytes::of(client, up, control, results);
        Ok(QueryCounts::of(self.executors.len(), &self.log.tasks(), links))
    }
}

impl Drop for CountedCluster {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn start_processes(shape: ClusterShape, folder: &Path, log: &TaskLog) -> Result<(Link, Vec<CountedExecutor>)> {
    let scheduler = start_scheduler(shape.executors).await?;
    let client = Link::open(local(0), scheduler).await?;
    let mut executors = Vec::new();
    for number in 0..shape.executors {
        let engine = CountingEngine {
            // Connections to other executors are not kept, which they are by default: the pool is not public.
            inner: DefaultExecutionEngine::new(),
            executor: number,
            log: log.clone(),
        };
        let work_dir = folder.join(format!("executor-{number}"));
        std::fs::create_dir_all(&work_dir)?;
        executors.push(start_executor(number, shape.vcores, scheduler, engine, &work_dir).await?);
    }
    wait(scheduler, &mut executors).await?;
    Ok((client, executors))
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

async fn start_scheduler(executors: usize) -> Result<SocketAddr> {
    let executors = executors.to_string();
    let arguments = ["ogive-scheduler", "--min-ready-executors", &executors];
    let arguments = SchedulerArguments::try_parse_from(arguments).map_err(external)?;
    let tables = arguments.shared.tables().map_err(external)?;
    let listener = TcpListener::bind(local(0)).await?;
    let address = listener.local_addr()?;
    let arguments = SchedulerArguments { bind_port: address.port(), ..arguments };
    let config = scheduler_config(&arguments, &tables);
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(ballista)?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config));
    let scheduler = scheduler.await.map_err(ballista)?;
    tokio::spawn(start_grpc_service_with_listener(listener, scheduler));
    Ok(address)
}

/// Starts an executor that listens on the loopback, and that the others know by another address of it: that of a link.
async fn start_executor(
    number: usize,
    vcores: usize,
    scheduler: SocketAddr,
    engine: CountingEngine<DefaultExecutionEngine>,
    work_dir: &Path,
) -> Result<CountedExecutor> {
    let up = Link::open(local(0), scheduler).await?;
    let host = IpAddr::from([127, 0, 0, 2 + u8::try_from(number).map_err(external)?]);
    let (port, grpc_port) = (free_port()?, free_port()?);
    let link = async |port| {
        let opened = Link::open(SocketAddr::new(host, port), local(port)).await;
        opened.map_err(|error| failed(format!("cannot listen on {host}, which Linux has: {error}")))
    };
    let (results, control) = (link(port).await?, link(grpc_port).await?);
    let numbers = [up.address().port(), port, grpc_port].map(|port| port.to_string());
    let (host, vcores) = (host.to_string(), vcores.to_string());
    let arguments = [
        "ogive-executor",
        "--scheduler-port",
        &numbers[0],
        "--bind-port",
        &numbers[1],
        "--bind-grpc-port",
        &numbers[2],
        "--external-host",
        &host,
        "--vcores",
        &vcores,
    ];
    let arguments = ExecutorArguments::try_parse_from(arguments).map_err(external)?;
    let tables = arguments.shared.tables().map_err(external)?;
    let config = ExecutorProcessConfig {
        override_execution_engine: Some(Arc::new(engine)),
        ..executor_config(&arguments, &tables, work_dir)
    };
    let process = tokio::spawn(start_executor_process(Arc::new(config)));
    Ok(CountedExecutor { up, control, results, process })
}

/// A port that is free now.
fn free_port() -> Result<u16> {
    Ok(BlockingListener::bind(local(0))?.local_addr()?.port())
}

/// Waits until the scheduler knows its executors.
async fn wait(scheduler: SocketAddr, executors: &mut [CountedExecutor]) -> Result<()> {
    let deadline = Instant::now() + START_TIMEOUT;
    while Instant::now() < deadline {
        if is_ready(scheduler).await.unwrap_or(false) {
            return Ok(());
        }
        if let Some(executor) = executors.iter_mut().find(|executor| executor.process.is_finished()) {
            return Err(failed(format!("an executor ended: {:?}", (&mut executor.process).await)));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(failed(format!("the executors did not register within {START_TIMEOUT:?}")))
}

async fn is_ready(scheduler: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(scheduler).await?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: scheduler\r\nConnection: close\r\n\r\n").await?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await?;
    Ok(answer.ends_with(b" 200"))
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn ballista(error: BallistaError) -> DataFusionError {
    failed(format!("the scheduler did not start: {error}"))
}
