//! The command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ogive_bench::keys::spec::parse_count;
use ogive_bench::workload::{KeyForm, Requests};

use crate::protocol::Order;
use crate::workloads::Workload;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the systems that were compiled in, with their settings, and the workloads
    List,
    /// Run workloads on systems
    Run(Box<RunArguments>),
    /// Compare stores on an object store in memory, with 40 ms and 90 MB/s a request and 64 at once
    #[cfg(feature = "slatedb")]
    Objects(ObjectsArguments),
    /// Serve one system: what `run` starts
    #[command(hide = true)]
    Worker {
        /// What to work on
        setup: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Systems, of `ogive-rivals list` [default: all]
    #[arg(long = "system", num_args = 1.., value_name = "NAME")]
    pub(crate) systems: Vec<String>,
    /// Workloads, of `ogive-rivals list` [default: all]
    #[arg(long = "workload", num_args = 1.., value_name = "NAME")]
    pub(crate) workloads: Vec<Workload>,
    /// Key set: a generated one by name, or a file, SOSD or sorted lines of text
    #[arg(long, default_value = "uniform", value_name = "SPEC")]
    pub(crate) keys: String,
    /// Number of keys of a generated set whose name gives none
    #[arg(short, long = "n", default_value = "1M", value_parser = count, value_name = "COUNT")]
    pub(crate) number: u64,
    /// Seed of the generated set, of the order of loading, and of all requests
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How integers become keys: bytes8, bytes16, hex, hex100
    #[arg(long, default_value_t = KeyForm::default(), value_name = "FORM")]
    pub(crate) key_form: KeyForm,
    /// Bytes of each value
    #[arg(long, default_value_t = 64, value_name = "BYTES")]
    pub(crate) value: usize,
    /// Memory of each system, caches and memtables together, in MiB
    #[arg(long, default_value_t = 2048, value_name = "MIB")]
    pub(crate) budget: u64,
    /// Bytes of each memtable, of systems that have them, in MiB
    #[arg(long, default_value_t = 64, value_name = "MIB")]
    pub(crate) memtable: u64,
    /// Compress blocks with LZ4, in systems that can: ogive and rocksdb
    #[arg(long)]
    pub(crate) lz4: bool,
    /// Order in which the store that is read from is loaded: random, sequential
    #[arg(long, default_value_t = Order::Random, value_name = "ORDER")]
    pub(crate) order: Order,
    /// Which keys are asked for: uniform, sequential, zipf:0.99, latest, hotspot:0.2,0.8, exponential or a .u32 trace
    /// [default: those of the workload]
    #[arg(long = "requests", num_args = 1.., value_name = "NAME")]
    pub(crate) requests: Vec<Requests>,
    /// Operations of each measurement
    #[arg(long, default_value = "1M", value_parser = count, value_name = "COUNT")]
    pub(crate) operations: u64,
    /// Operations of each measurement with nothing in memory
    #[arg(long, default_value = "20k", value_parser = count, value_name = "COUNT")]
    pub(crate) cold_operations: u64,
    /// Commits of the synced load, by eight threads together
    #[arg(long, default_value = "16k", value_parser = count, value_name = "COUNT")]
    pub(crate) synced_commits: u64,
    /// Rounds over all systems, in turn: a figure is the median
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// Rounds of loads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) load_rounds: u64,
    /// Folder for the stores [default: the system's folder of temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

#[cfg(feature = "slatedb")]
#[derive(Debug, Args)]
pub(crate) struct ObjectsArguments {
    /// Number of records, with uniform keys of 16 bytes
    #[arg(short, long = "n", default_value = "1M", value_parser = count, value_name = "COUNT")]
    pub(crate) number: u64,
    /// Bytes of each value
    #[arg(long, default_value_t = 64, value_name = "BYTES")]
    pub(crate) value: usize,
    /// Gets of each measurement; of the longer operations, a tenth
    #[arg(long, default_value = "200", value_parser = count, value_name = "COUNT")]
    pub(crate) operations: u64,
    /// Seed of keys, order and requests
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

fn count(text: &str) -> Result<u64, String> {
    parse_count(text).ok_or_else(|| "a count is a number such as 1000, 10k or 10M".into())
}
