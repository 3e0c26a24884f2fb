//! The command line: the commands on stores of `ogive-research`, and those of this program.

use clap::{Args, Subcommand};
use ogive_research::keys::spec::parse_count;
use ogive_research::stores::StoresCommand;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Stores(StoresCommand),
    /// Compare transfers between two accounts, each a transaction that reads both
    Transfers(TransfersArguments),
    /// Compare stores on an object store in memory, with 40 ms and 90 MB/s a request and 64 at once
    #[cfg(feature = "slatedb")]
    Objects(ObjectsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct TransfersArguments {
    /// Systems: ogive, rocksdb, lmdb, redb, fjall, sqlite [default: all that were compiled in]
    #[arg(long = "system", num_args = 1.., value_name = "NAME")]
    pub(crate) systems: Vec<String>,
    /// Number of accounts
    #[arg(short = 'n', long = "n", default_value = "1M", value_parser = count, value_name = "COUNT")]
    pub(crate) accounts: u64,
    /// Numbers of threads
    #[arg(long, num_args = 1.., default_values_t = [1, 8], value_name = "COUNT")]
    pub(crate) threads: Vec<u64>,
    /// Skew of the accounts, by Zipf's law, besides uniform ones
    #[arg(long, default_value_t = 0.99)]
    pub(crate) skew: f64,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// Rounds over all systems, in turn: a figure is the median
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// Memory of each system, caches and memtables together, in MiB
    #[arg(long, default_value_t = 1024, value_name = "MIB")]
    pub(crate) memory: u64,
    /// Bytes of each memtable, of systems that have them, in MiB
    #[arg(long, default_value_t = 64, value_name = "MIB")]
    pub(crate) memtable: u64,
    /// Seed of accounts and amounts
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
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
