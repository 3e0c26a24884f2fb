//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use ogive_bench::experiments::Resident;
use ogive_bench::keys::spec::parse_count;
use ogive_bench::workload::{Mix, Requests};

/// Makes sorted key sets, and runs the experiments of the papers.
#[derive(Debug, Parser)]
#[command(name = "ogive-bench", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print one JSON object a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the key sets that can be made and the experiments that can be run
    List,
    /// Print a key set, one key a line, or write it to a SOSD file, or describe it
    Keys(KeysArguments),
    /// Run an experiment
    Run(Box<RunArguments>),
}

#[derive(Debug, Args)]
pub(crate) struct KeysArguments {
    /// A generated set, NAME[:COUNT][:seed=S][:OPTION=VALUE]..., or a file: SOSD (.u64, _uint64) or sorted lines of text
    pub(crate) spec: String,
    /// Write the keys to this file: a count, then the keys, 8 bytes each, little-endian (SOSD)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print the number of keys, of different ones, the most frequent one's records, and the ends
    #[arg(long)]
    pub(crate) stats: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Its name, from `ogive-bench list`; all that start with it if it ends in a slash
    pub(crate) experiment: String,
    /// Key sets, by name or path [default: those of the experiment]
    #[arg(long, num_args = 1.., value_name = "SPEC")]
    pub(crate) keys: Vec<String>,
    /// Number of keys of generated sets whose names give none [default: 10M, or fewer where the experiment takes long]
    #[arg(short, long = "n", value_parser = count, value_name = "COUNT")]
    pub(crate) number: Option<u64>,
    /// First seed of generated sets whose names give none
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of seeds to take the median over
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// Storage profiles, by name or JSON file [default: those of the experiment]
    #[arg(long = "profile", num_args = 1.., value_name = "PROFILE")]
    pub(crate) profiles: Vec<String>,
    /// Index designs: tuned, btree, pgm:64, radix-spline, rmi, coded, none, layers=2,builder=gband,lambda=4096 [default: those of the experiment]
    #[arg(long = "design", num_args = 1.., value_name = "DESIGN")]
    pub(crate) designs: Vec<String>,
    /// Structures of an index: ogive, aulid, btree, fiting, pgm, alex, lipp, fiting-btree, ... [default: those of the experiment]
    #[arg(long = "structure", num_args = 1.., value_name = "NAME")]
    pub(crate) structures: Vec<String>,
    /// Bytes of inner nodes that stay in memory, upper levels first: a number, or all [default: those of the experiment]
    #[arg(long = "resident", num_args = 1.., value_name = "BYTES")]
    pub(crate) resident: Vec<Resident>,
    /// Whether to look at indexes after a bulk load, after growth, or both: bulk, grown [default: both]
    #[arg(long = "phase", num_args = 1.., value_name = "NAME", value_parser = ["bulk", "grown"])]
    pub(crate) phases: Vec<String>,
    /// Workloads of an index: w1 to w6, append [default: those of the experiment]
    #[arg(long = "workload", num_args = 1.., value_name = "NAME")]
    pub(crate) workloads: Vec<Mix>,
    /// Which keys are asked for: uniform, zipf:0.99, latest, hotspot:0.01,0.9, exponential, sequential or a .u32 trace [default: those of the experiment]
    #[arg(long = "requests", num_args = 1.., value_name = "NAME")]
    pub(crate) requests: Vec<Requests>,
    /// Look-ups, or operations, for each measurement [default: the experiment's own number]
    #[arg(long, value_parser = count, value_name = "COUNT")]
    pub(crate) lookups: Option<u64>,
    /// Bytes of each value; values are made from the keys [default: 0; of a store 64]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "BYTES")]
    pub(crate) payload: u32,
    /// When a store learns: never, offline, always, cost-benefit, inline, coded [default: those of the experiment]
    #[arg(long = "learning", num_args = 1.., value_name = "NAME")]
    pub(crate) learning: Vec<String>,
    /// Writes among a hundred operations on a store [default: those of the experiment]
    #[arg(long = "writes", num_args = 1.., value_name = "PERCENT", value_parser = clap::value_parser!(u64).range(..=100))]
    pub(crate) writes: Vec<u64>,
    /// Keep the values of a store in its tables, where the paper separates them
    #[arg(long)]
    pub(crate) inline: bool,
    /// Choose the size of data blocks from all keys instead of a sample
    #[arg(long)]
    pub(crate) exact: bool,
    /// Folder on the device to measure on [default: the system's folder of temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) device: Option<PathBuf>,
    /// Leave out what is measured on the device
    #[arg(long, conflicts_with = "device")]
    pub(crate) modelled_only: bool,
    /// Run the long version of an experiment that has one
    #[arg(long)]
    pub(crate) full: bool,
}

fn count(text: &str) -> Result<u64, String> {
    parse_count(text).ok_or_else(|| "a count is a number such as 1000, 10k or 10M".into())
}
