//! The registry of experiments, and their common options.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use ogive::io::{Profile, seed_random};
use tempfile::TempDir;

use super::{Resident, generators, store};
use crate::airindex::experiments as airindex;
use crate::aulid::experiments as aulid;
use crate::bourbon::experiments as bourbon;
use crate::disk_indexes::experiments as disk;
use crate::joins::experiments as join;
use crate::keys::{KeySet, open_with};
use crate::output::Reporter;
use crate::workload::{Mix, Requests};

/// Options of all experiments.
#[derive(Debug, Clone)]
pub struct Context {
    /// Key sets by name or path; empty for those of the experiment.
    pub key_sets: Vec<String>,
    /// Number of keys of generated sets without a count.
    pub count: u64,
    /// The same if it was given. Long experiments have a smaller default.
    pub asked_count: Option<u64>,
    /// First seed.
    pub seed: u64,
    /// Number of seeds; generated sets differ by seed, and figures are medians.
    pub seeds: u64,
    /// Storage profiles by name or file; empty for those of the experiment.
    pub profiles: Vec<String>,
    /// Index designs, as in `ogive build --design`; empty for those of the experiment.
    pub designs: Vec<String>,
    /// Structures of an index, by name or as `program:COMMAND`; empty for those of the experiment.
    pub structures: Vec<String>,
    /// Seconds that a program has for each of its answers.
    pub program_timeout_s: u64,
    /// Bytes of inner nodes that stay in memory; empty for those of the experiment.
    pub resident: Vec<Resident>,
    /// `bulk` or `grown`; empty for both.
    pub phases: Vec<String>,
    /// Workloads of an index; empty for those of the experiment.
    pub workloads: Vec<Mix>,
    /// Request distributions; empty for those of the experiment.
    pub requests: Vec<Requests>,
    /// Lookups or operations per measurement; `None` for the number of the experiment.
    pub lookups: Option<usize>,
    /// Bytes of each value, which are made from the key.
    pub payload_bytes: u32,
    /// Learning policies of a store, by name; empty for those of the experiment.
    pub learning: Vec<String>,
    /// Writes per 100 operations; empty for those of the experiment.
    pub write_percents: Vec<u64>,
    /// Methods of joining, by name; empty for those of the experiment.
    pub methods: Vec<String>,
    /// Sizes of inner relations over those of outer ones; empty for those of the experiment.
    pub ratios: Vec<u64>,
    /// Limits of a join's memory in bytes; empty for those of the experiment.
    pub memory_limits: Vec<u64>,
    /// Whether a store keeps values in its tables where the paper separates them.
    pub inline_values: bool,
    /// Whether the size of data blocks is chosen from all keys instead of a sample.
    pub exact: bool,
    /// Folder on the device to measure; `None` for the system's temporary folder.
    pub device: Option<PathBuf>,
    /// Whether to skip measurements on the device.
    pub modelled_only: bool,
    /// Whether to run the long version of an experiment that has one.
    pub full: bool,
    /// The memory gauge, if the program has one.
    pub memory: Option<MemoryGauge>,
}

/// A counting allocator, for experiments.
#[derive(Debug, Clone, Copy)]
pub struct MemoryGauge {
    /// Starts a measurement and returns the bytes that are allocated now.
    pub start: fn() -> u64,
    /// Peak of allocated bytes since the start.
    pub peak_bytes: fn() -> u64,
}

/// Default number of keys of generated sets.
pub const DEFAULT_COUNT: u64 = 10_000_000;

/// Default seconds that a program has for each of its answers: enough for the build of a large index.
pub const DEFAULT_PROGRAM_TIMEOUT_S: u64 = 600;

impl Default for Context {
    /// One seed of ten million keys without values; defaults of the experiment for everything else.
    fn default() -> Self {
        Self {
            key_sets: Vec::new(),
            count: DEFAULT_COUNT,
            asked_count: None,
            seed: 1,
            seeds: 1,
            profiles: Vec::new(),
            designs: Vec::new(),
            structures: Vec::new(),
            program_timeout_s: DEFAULT_PROGRAM_TIMEOUT_S,
            resident: Vec::new(),
            phases: Vec::new(),
            workloads: Vec::new(),
            requests: Vec::new(),
            lookups: None,
            payload_bytes: 0,
            learning: Vec::new(),
            write_percents: Vec::new(),
            methods: Vec::new(),
            ratios: Vec::new(),
            memory_limits: Vec::new(),
            inline_values: false,
            exact: false,
            device: None,
            modelled_only: false,
            full: false,
            memory: None,
        }
    }
}

impl Context {
    /// The requested key sets, else `default`.
    pub fn specs(&self, default: &[&str]) -> Vec<String> {
        if self.key_sets.is_empty() { default.iter().map(ToString::to_string).collect() } else { self.key_sets.clone() }
    }

    /// The requested profiles, else `default`.
    pub(crate) fn profiles_or(&self, default: &[&str]) -> anyhow::Result<Vec<Profile>> {
        let open = |name: &str| Ok(Profile::by_name_or_file(name)?);
        match self.profiles.as_slice() {
            [] => default.iter().map(|name| open(name)).collect(),
            asked => asked.iter().map(|name| open(name)).collect(),
        }
    }

    /// A folder of its own on the device to measure, which is removed with it.
    pub(crate) fn device_folder(&self) -> anyhow::Result<TempDir> {
        let device = self.device.clone().unwrap_or_else(std::env::temp_dir);
        tempfile::tempdir_in(&device).with_context(|| format!("no folder can be made under {}", device.display()))
    }

    /// A key set for one of the seeds. A seed in its name takes precedence.
    ///
    /// # Errors
    /// As for [`crate::keys::open`].
    pub fn open(&self, spec: &str, seed: u64) -> crate::Result<KeySet> {
        open_with(spec, self.count, Some(seed))
    }

    /// As [`Self::open`], with `own` keys by default.
    ///
    /// # Errors
    /// As for [`crate::keys::open`].
    pub fn open_of(&self, spec: &str, own: u64) -> crate::Result<KeySet> {
        open_with(spec, self.asked_count.unwrap_or(own), Some(self.seed))
    }

    /// The seeds in turn.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..self.seeds).map(move |index| first.wrapping_add(index))
    }
}

/// The printer of experiments.
pub type Output<'a> = Reporter<&'a mut dyn Write>;

/// An experiment.
#[derive(Debug)]
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// Its purpose, in one line.
    pub about: &'static str,
    pub(crate) run: fn(&Context, &mut Output<'_>) -> anyhow::Result<()>,
}

impl Experiment {
    /// Runs it and prints its records. They repeat, but for times: identities of files, on which it depends what leaves
    /// a full cache, are drawn by the seed.
    ///
    /// # Errors
    /// Those of the experiment. Failures of single measurements are records.
    pub fn measure(&self, context: &Context, output: &mut Output<'_>) -> anyhow::Result<()> {
        seed_random(Some(context.seed));
        let outcome = (self.run)(context, output);
        seed_random(None);
        outcome
    }

    /// Names of the experiments on indexes that take programs as structures. The others look into the pages of
    /// structures.
    pub const WITH_PROGRAMS: [&str; 8] = [
        disk::LOOKUPS.name,
        disk::HYBRIDS.name,
        disk::BLOCK_SIZE.name,
        aulid::THROUGHPUT.name,
        aulid::UNCACHED.name,
        aulid::REQUESTS.name,
        aulid::LIPP_BTREE.name,
        aulid::BULK_LOAD.name,
    ];
}

const EXPERIMENTS: &[Experiment] = &[
    generators::GENERATORS,
    airindex::DESIGNS,
    airindex::KNOBS,
    airindex::SPECTRUM,
    airindex::MISMATCH,
    airindex::BUILD,
    airindex::WARM,
    airindex::SKEW,
    airindex::RETUNE,
    airindex::TOP_K,
    airindex::BREAKDOWN,
    airindex::BUILDERS,
    airindex::UPDATES,
    airindex::COMPLEXITY,
    airindex::EMULATED,
    aulid::BLOCKS,
    aulid::THROUGHPUT,
    aulid::UNCACHED,
    aulid::REQUESTS,
    aulid::BULK_LOAD,
    aulid::TAIL,
    aulid::SCALING,
    aulid::LIPP_BTREE,
    aulid::READ_OPTIMISATIONS,
    aulid::ABLATION,
    aulid::SLOTS,
    aulid::INSERT,
    aulid::ADJUST,
    aulid::ENDURANCE,
    bourbon::TABLE1,
    bourbon::FIG2,
    bourbon::FIG3,
    bourbon::FIG4,
    bourbon::FIG5,
    bourbon::FIG8,
    bourbon::FIG9,
    bourbon::FIG10,
    bourbon::FIG11,
    bourbon::FIG12,
    bourbon::FIG13,
    bourbon::FIG14,
    bourbon::FIG15,
    bourbon::FIG16,
    bourbon::FIG17,
    bourbon::TABLE2,
    bourbon::TABLE3,
    bourbon::VARIANTS,
    bourbon::IN_BLOCK,
    bourbon::FIND_TABLE,
    disk::PROFILING,
    disk::LOOKUPS,
    disk::HYBRIDS,
    disk::STORAGE,
    store::SOAK,
    store::TYPED,
    store::CODING,
    store::READS,
    store::BATCHES,
    store::SCANS,
    disk::BLOCK_SIZE,
    disk::BUFFER,
    join::FIG3,
    join::FIG4,
    join::FIG5,
    join::FIG6,
    join::FIG7,
    join::TABLE2,
    join::STRINGS,
    join::AUTO,
    join::MERGE,
    join::CODED,
    join::COLD,
    join::PARTITION,
];

/// Every experiment. Registers the kinds of index that they compare.
pub fn experiments() -> &'static [Experiment] {
    crate::register();
    EXPERIMENTS
}
