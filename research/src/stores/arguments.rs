//! The command line of the commands on stores.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::protocol::LoadOrder;
use super::workloads::StoreWorkload;
use crate::keys::spec::parse_count;
use crate::workload::{KeyForm, Requests};

/// Commands on stores: a part of the command line of a program that has a [`StoreBench`](super::StoreBench).
#[derive(Debug, Subcommand)]
pub enum StoresCommand {
    /// List the systems with their settings, and the workloads
    List,
    /// Run workloads on systems, each in a process of its own
    Run(Box<StoreRunArguments>),
    /// Serve one system: what `run` starts
    #[command(hide = true)]
    Worker {
        /// What to work on
        setup: String,
    },
}

/// Options of [`StoresCommand::Run`].
#[derive(Debug, Args)]
pub struct StoreRunArguments {
    /// Systems, of `list` [default: all]
    #[arg(long = "system", num_args = 1.., value_name = "NAME")]
    pub(super) systems: Vec<String>,
    /// Workloads, of `list`, or writes:PERCENT, scans:PERCENT [default: all of the list]
    #[arg(long = "workload", num_args = 1.., value_name = "NAME")]
    pub(super) workloads: Vec<StoreWorkload>,
    /// Key set: a generated one by name, or a file, SOSD or sorted lines of text
    #[arg(long, default_value = "uniform", value_name = "SPEC")]
    pub(super) keys: String,
    /// Number of keys of a generated set whose name gives none
    #[arg(short, long = "n", default_value = "1M", value_parser = count, value_name = "COUNT")]
    pub(super) number: u64,
    /// Seed of the generated set, of the order of loading, and of all requests
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// How integers become keys: bytes8, bytes16, hex, hex100
    #[arg(long, default_value_t = KeyForm::default(), value_name = "FORM")]
    pub(super) key_form: KeyForm,
    /// Bytes of each value
    #[arg(long, default_value_t = 64, value_name = "BYTES")]
    pub(super) value: usize,
    /// Memory of each system, caches and memtables together, in MiB
    #[arg(long, default_value_t = 2048, value_name = "MIB")]
    pub(super) memory: u64,
    /// Bytes of each memtable, of systems that have them, in MiB
    #[arg(long, default_value_t = 64, value_name = "MIB")]
    pub(super) memtable: u64,
    /// Compress blocks with LZ4, in systems that can: ogive and rocksdb
    #[arg(long)]
    pub(super) lz4: bool,
    /// Order in which the store that is read from is loaded: random, sequential
    #[arg(long, default_value_t = LoadOrder::Random, value_name = "ORDER")]
    pub(super) order: LoadOrder,
    /// Which keys are asked for: uniform, sequential, zipf:0.99, latest, hotspot:0.2,0.8, exponential,
    /// shifting:zipf:0.99,100000 (other popular keys every 100,000 requests) or a .u32 trace [default: those of the
    /// workload]
    #[arg(long = "requests", num_args = 1.., value_name = "NAME")]
    pub(super) requests: Vec<Requests>,
    /// Operations of each measurement
    #[arg(long, default_value = "1M", value_parser = count, value_name = "COUNT")]
    pub(super) operations: u64,
    /// Operations of each measurement with nothing in memory
    #[arg(long, default_value = "20k", value_parser = count, value_name = "COUNT")]
    pub(super) cold_operations: u64,
    /// Commits of the synced load, by eight threads together
    #[arg(long, default_value = "16k", value_parser = count, value_name = "COUNT")]
    pub(super) synced_commits: u64,
    /// Rounds over all systems, in turn: a figure is the median
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) rounds: u64,
    /// Rounds of loads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) load_rounds: u64,
    /// Folder for the stores [default: the system's folder of temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(super) folder: Option<PathBuf>,
}

fn count(text: &str) -> Result<u64, String> {
    parse_count(text).ok_or_else(|| "a count is a number such as 1000, 10k or 10M".into())
}
