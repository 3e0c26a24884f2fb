//! The command line of `ogive-research`.

use std::path::PathBuf;

use crate::experiments::{DEFAULT_PROGRAM_TIMEOUT_S, Resident};
use crate::keys::spec::{parse_bytes, parse_count};
use crate::paper::Scale;
use crate::stores::StoresCommand;
use crate::workload::{Mix, Requests};
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the generated key sets and the experiments
    List,
    /// Print or describe a key set, write it to a SOSD file, or fetch a real one
    Keys(KeysArguments),
    /// Run an experiment
    Run(Box<RunArguments>),
    /// Run all experiments of papers, and judge what the papers say
    Paper(PaperArguments),
    /// Write a page of the results of runs, beside the figures of the papers
    Page(PageArguments),
    /// Write one picture of the results of runs as SVG
    Draw(DrawArguments),
    /// Compare stores: the same records, requests and memory for each, and a process of its own
    Stores {
        #[command(subcommand)]
        command: StoresCommand,
    },
}

/// An example of the sub-command `paper`.
const PAPER_EXAMPLE: &str = "Example:
  ogive-research paper airindex --scale small --folder results
      runs each figure and table of AirIndex in about half a minute, and writes results/airindex/page.html
      and page.md: what the paper says, our figures, and a verdict on each claim
  ogive-research paper all --scale medium --keys-folder KEYS --folder results --resume
      continues the long run of all papers after an interruption
  ogive-research paper disk-indexes --only disk/lookups --structure 'program:./my-index'
      measures an index of one's own in one step, beside those of the paper
  ogive-research paper diff results other-results
      says which figures of two machines or versions differ by more than the noise";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = PAPER_EXAMPLE)]
pub(super) struct PaperArguments {
    #[command(subcommand)]
    pub(super) command: Option<PaperCommand>,
    /// airindex, aulid, disk-indexes, bourbon, joins, or all
    #[arg(required = true, value_name = "PAPER")]
    pub(super) papers: Vec<String>,
    /// Size of the run: minutes, hours or days
    #[arg(long, value_enum, default_value_t = Scale::Small)]
    pub(super) scale: Scale,
    /// Folder of the results and pages; each paper has its own folder in it
    #[arg(long, value_name = "FOLDER", default_value = "paper-results")]
    pub(super) folder: PathBuf,
    /// Keep the steps that ended with the same settings, in this paper or in another that has them, and run the others
    #[arg(long)]
    pub(super) resume: bool,
    /// Run only the steps of these experiments, from `paper list`, and keep the others as they are; with --resume, also
    /// keep those that ended
    #[arg(long, num_args = 1.., value_name = "EXPERIMENT")]
    pub(super) only: Vec<String>,
    /// Measure a structure of indexes of one's own, or program:COMMAND, beside those that a step names
    #[arg(long = "structure", num_args = 1.., value_name = "NAME")]
    pub(super) structures: Vec<String>,
    /// Folder of real keys, such as covid_a.u64, to use beside generated sets
    #[arg(long, value_name = "FOLDER")]
    pub(super) keys_folder: Option<PathBuf>,
    /// Folder on a device to measure [default: modelled times only]
    #[arg(long, value_name = "FOLDER")]
    pub(super) device: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum PaperCommand {
    /// List the papers with their figures and tables
    List,
    /// Compare two results; exits with 1 if figures differ by more than the noise
    Diff {
        /// Folder of the results, or a file of them
        first: PathBuf,
        /// The results to compare with
        second: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(super) struct PageArguments {
    /// What `ogive-research --json run` printed: a file, or a folder of files that end in .json or .jsonl
    pub(super) runs: PathBuf,
    /// Page to write (HTML)
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Replace the page if it exists
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, Args)]
pub(super) struct DrawArguments {
    /// What `ogive-research --json run` printed: a file, or a folder of files that end in .json or .jsonl
    pub(super) runs: PathBuf,
    /// Name of the picture, such as airindex-designs-1; a wrong one is answered by the names there are
    #[arg(long, value_name = "NAME")]
    pub(super) picture: String,
    /// File to write (SVG)
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct KeysArguments {
    #[command(subcommand)]
    pub(super) command: Option<KeysCommand>,
    /// Generated set, NAME[:COUNT][:seed=S][:OPTION=VALUE]..., or a file: SOSD (.u64, _uint64) or sorted lines of text
    #[arg(required = true)]
    pub(super) spec: Option<String>,
    /// Write the keys to a SOSD file: a count, then the keys, 8 bytes each, little-endian
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    pub(super) force: bool,
    /// Print the number of keys and of distinct keys, the longest repeat, and the first and last key
    #[arg(long)]
    pub(super) stats: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// Download the data of a real key set, make its SOSD file, and check it; needs curl, and gzip or zstd
    Fetch(FetchArguments),
}

#[derive(Debug, Args)]
pub(super) struct FetchArguments {
    /// Name of the set, from `ogive-research list`
    pub(super) name: String,
    /// Folder of the file
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
    /// Address of a copy of the data, to which the names of its files are appended [default: the source]
    #[arg(long, value_name = "URL")]
    pub(super) from: Option<String>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(super) force: bool,
}

/// Options are those of all experiments.
const RUN_NOTE: &str = "An experiment ignores options that have no meaning for it.";

#[derive(Debug, Args)]
#[command(after_help = RUN_NOTE)]
pub(super) struct RunArguments {
    /// Name of the experiment, from `ogive-research list`, or a prefix that ends in a slash, to run several
    pub(super) experiment: String,
    /// Key sets, by name or path [default: by experiment]
    #[arg(long, num_args = 1.., value_name = "SPEC")]
    pub(super) keys: Vec<String>,
    /// Number of keys of generated sets without a count [default: 10M, or fewer for long experiments]
    #[arg(short, long = "n", value_parser = count, value_name = "COUNT")]
    pub(super) number: Option<u64>,
    /// First seed of generated sets without a seed
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Number of seeds, in experiments that repeat over them: figures are medians. Joins take one seed, and this number
    /// of rounds, of which the fastest counts
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seeds: u64,
    /// Storage profiles, by name or JSON file [default: by experiment]
    #[arg(long = "profile", num_args = 1.., value_name = "PROFILE")]
    pub(super) profiles: Vec<String>,
    /// Index designs: tuned, btree, pgm:64, radix-spline, plex:2048, rmi, data-calculator, coded, none,
    /// layers=2,builder=gband,lambda=4096
    /// [default: by experiment]
    #[arg(long = "design", num_args = 1.., value_name = "DESIGN")]
    pub(super) designs: Vec<String>,
    /// Structures of indexes: ogive, airindex, aulid, btree, fiting, pgm, alex, lipp, ..., or program:COMMAND for a
    /// program that speaks the protocol of docs/programs.md [default: by experiment]
    #[arg(long = "structure", num_args = 1.., value_name = "NAME")]
    pub(super) structures: Vec<String>,
    /// Seconds that a program has for each of its answers
    #[arg(long, default_value_t = DEFAULT_PROGRAM_TIMEOUT_S, value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) program_timeout: u64,
    /// Bytes of inner nodes kept in memory, upper levels first: a number, or all [default: by experiment]
    #[arg(long = "resident", num_args = 1.., value_name = "BYTES")]
    pub(super) resident: Vec<Resident>,
    /// State of indexes: after a bulk load (bulk), after growth (grown) [default: both]
    #[arg(long = "phase", num_args = 1.., value_name = "NAME", value_parser = ["bulk", "grown"])]
    pub(super) phases: Vec<String>,
    /// Workloads of indexes: w1 to w6, append [default: by experiment]
    #[arg(long = "workload", num_args = 1.., value_name = "NAME")]
    pub(super) workloads: Vec<Mix>,
    /// Request distributions: uniform, zipf:0.99, latest, hotspot:0.01,0.9, exponential, sequential or a .u32 trace
    /// [default: by experiment]
    #[arg(long = "requests", num_args = 1.., value_name = "NAME")]
    pub(super) requests: Vec<Requests>,
    /// Lookups or operations per measurement [default: by experiment]
    #[arg(long, value_parser = count, value_name = "COUNT")]
    pub(super) lookups: Option<u64>,
    /// Bytes per value, derived from the keys [default: 0, or 64 for a store]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "BYTES")]
    pub(super) payload: u32,
    /// Learning policies of a store: never, offline, always, cost-benefit, inline, coded [default: by experiment]
    #[arg(long = "learning", num_args = 1.., value_name = "NAME")]
    pub(super) learning: Vec<String>,
    /// Writes per 100 operations on a store [default: by experiment]
    #[arg(long = "writes", num_args = 1.., value_name = "PERCENT",
        value_parser = clap::value_parser!(u64).range(..=100))]
    pub(super) writes: Vec<u64>,
    /// Join methods: auto, merge, hash, inlj, inlj:btree, inlj:pgm:128, partition, ... [default: by experiment]
    #[arg(long = "method", num_args = 1.., value_name = "NAME")]
    pub(super) methods: Vec<String>,
    /// Ratios of the inner relation of a join to the outer one, by size [default: by experiment]
    #[arg(long = "ratio", num_args = 1.., value_name = "RATIO", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) ratios: Vec<u64>,
    /// Memory limits of a join, in bytes [default: by experiment]
    #[arg(long = "memory", num_args = 1.., value_name = "BYTES", value_parser = join_memory)]
    pub(super) memory_limits: Vec<u64>,
    /// Keep the values of a store in its tables instead of in value files
    #[arg(long)]
    pub(super) inline: bool,
    /// Choose the block size from all keys instead of a sample
    #[arg(long)]
    pub(super) exact: bool,
    /// Folder on the device to measure [default: the system's temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub(super) device: Option<PathBuf>,
    /// Skip measurements on the device
    #[arg(long, conflicts_with = "device")]
    pub(super) modelled_only: bool,
    /// Run the long version, if the experiment has one
    #[arg(long)]
    pub(super) full: bool,
    /// Also write a page of the results (HTML)
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Replace the page if it exists
    #[arg(long, requires = "html")]
    pub(super) force: bool,
}

/// A memory limit of a join.
fn join_memory(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).ok_or("give bytes, such as 1048576, 16MiB or 1GiB")?;
    let least = ogive::join::JoinOptions::MEMORY_BYTES_MIN;
    if bytes < least { Err(format!("a join takes at least {least} bytes")) } else { Ok(bytes) }
}

fn count(text: &str) -> Result<u64, String> {
    parse_count(text).ok_or_else(|| "a count is a number such as 1000, 10k or 10M".into())
}
