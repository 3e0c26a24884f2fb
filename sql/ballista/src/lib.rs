//! Ogive tables in [Apache Ballista](https://datafusion.apache.org/ballista), which runs queries of DataFusion on
//! several machines.
//!
//! [`connect`] gives a session whose queries a cluster runs; `'users.ogive'` in a query is the table at this path, and
//! every partition of its scan is a range of keys and a separate task. Executors open the table and read its storage
//! directly. The cluster consists of an `ogive-scheduler` and several `ogive-executor`s, binaries of this crate: those
//! of Ballista do not know Ogive's scans.
//!
//! * [`OgiveLogicalCodec`], [`OgivePhysicalCodec`]: plans as messages, for other schedulers and executors.
//! * [`OpenTables`]: the tables that a process has open, [`Allowed`]: the paths and URLs that it may open.
//! * [`standalone`]: a cluster within a process, for tests.
//! * [`demo`]: a cluster of three processes, which loses one.

mod allowed;
mod arguments;
mod cluster;
mod codec;
#[cfg(test)]
mod codec_tests;
mod constants;
mod demo;
mod error;
mod exchange;
mod executor;
mod guard;
mod join_codec;
mod logging;
mod message;
mod plan_size;
mod process;
mod recovery;
#[cfg(test)]
mod recovery_tests;
mod scheduler;
mod session;
mod storage_option;
mod tables;
mod task_error;
mod vcores;
mod watch;
mod write;
mod write_codec;

pub use allowed::Allowed;
pub use arguments::{Policy, SharedArguments};
pub use cluster::{ClusterOptions, LocalCluster};
pub use codec::{OgiveLogicalCodec, OgivePhysicalCodec};
pub use demo::{DemoOptions, demo};
pub use error::PlanError;
pub use executor::{ExecutorArguments, executor_config, run_executor};
pub use process::run_process;
pub use scheduler::{SchedulerArguments, run_scheduler, scheduler_config};
pub use session::{SCHEDULER_PORT, connect, connect_with, has_executors, session_config, session_state, standalone};
pub use storage_option::StorageOption;
pub use tables::{OPEN_TABLES_MAX, OpenTables};
pub use task_error::{error_of_job, is_layer, is_lost_connection, plain_message};
pub use write::finish_clearing;
