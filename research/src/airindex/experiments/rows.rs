//! Level inputs of data blocks without files, for tuning alone.

use anyhow::{Result, bail};
use ogive::io::Profile;
use ogive::table::opening_bytes;
use ogive::tune::{
    Design, DesignProblem, DesignRequest, DesignSearchOptions, LevelInput, TableSample, choose_block_size,
};
use ogive_model::Fence;
use ogive_model::coded::{Effort, EvenCuts, GROUP_CHILDREN_MAX, fit_flexible};

use super::keys::{BLOCK_TRAILER_BYTES, Keys};
use crate::output::Record;

/// Bytes of the opening read of a table in addition to the root: metadata and footer.
const BESIDE_ROOT_BYTES: u64 = 128;

/// Integer keys of one width, from which level inputs are made.
pub(super) struct IntegerRecords {
    sample: TableSample,
    record_bytes: u64,
}

/// A level input of data blocks.
pub(super) struct Blocks {
    pub(super) row: LevelInput,
    pub(super) keys_per_block: f64,
}

impl IntegerRecords {
    /// All integers of a set, each with a value of `payload_bytes`.
    pub(super) fn new(keys: Keys, payload_bytes: u32) -> Result<Self> {
        let Keys::Integers(keys) = keys else {
            bail!("this experiment works on integer keys; take a generated set or a .u64 file");
        };
        if keys.is_empty() {
            bail!("an empty key set has no blocks to index; take one with keys");
        }
        let record_bytes = 8 + u64::from(payload_bytes);
        let sample = TableSample {
            records: keys.len() as u64,
            runs: vec![keys],
            record_bytes: record_bytes as f64,
            block_overhead_bytes: BLOCK_TRAILER_BYTES,
        };
        Ok(Self { sample, record_bytes })
    }

    fn keys(&self) -> &[u64] {
        self.sample.runs.first().map_or(&[], Vec::as_slice)
    }

    /// Records per block of this size.
    fn capacity(&self, block_bytes: u32) -> usize {
        ((u64::from(block_bytes) - BLOCK_TRAILER_BYTES) / self.record_bytes).max(1) as usize
    }

    /// Full blocks of this size.
    pub(super) fn blocks(&self, block_bytes: u32) -> Blocks {
        let capacity = self.capacity(block_bytes);
        self.cut(block_bytes, (capacity..self.keys().len()).step_by(capacity))
    }

    /// Blocks of at most this size that end where their separators code best, as the writer ends them.
    fn blocks_by_separator(&self, block_bytes: u32) -> Blocks {
        let keys = self.keys();
        let cuts = EvenCuts { keys, capacity: self.capacity(block_bytes) };
        let (mut begin, mut begins) = (0, Vec::new());
        while begin < keys.len() {
            let group = fit_flexible(keys[begin], begin, &cuts, GROUP_CHILDREN_MAX, Effort::Full);
            begin = (group.begins.last().copied().unwrap_or(begin) + cuts.capacity).min(keys.len());
            begins.extend(group.begins);
            begins.push(begin);
        }
        begins.dedup();
        self.cut(block_bytes, begins.into_iter().filter(|&at| (1..keys.len()).contains(&at)))
    }

    /// Blocks that begin at these records, and at the first.
    fn cut(&self, block_bytes: u32, begins: impl Iterator<Item = usize>) -> Blocks {
        let keys = self.keys();
        let fences: Vec<Fence> = begins.map(|at| Fence { low: keys[at - 1], high: keys[at] }).collect();
        let keys_per_block = keys.len() as f64 / (fences.len() + 1) as f64;
        let row = LevelInput { first: keys[0], fences, child_bytes: u64::from(block_bytes), weights: None };
        Blocks { row, keys_per_block }
    }

    /// Blocks of the size that is fastest on storage of this profile.
    pub(super) fn best_blocks(&self, profile: &Profile, options: &DesignSearchOptions) -> Result<Blocks> {
        let choice = choose_block_size(&self.sample, &problem(profile, 1.0, options))?;
        Ok(match choice.ends_by_separator {
            true => self.blocks_by_separator(choice.block_size_bytes),
            false => self.blocks(choice.block_size_bytes),
        })
    }

    /// The tuned design with the tuned block size.
    pub(super) fn tuned(&self, profile: &Profile, options: &DesignSearchOptions) -> Result<(Blocks, Design)> {
        let blocks = self.best_blocks(profile, options)?;
        let design = blocks.design(&DesignRequest::Tuned, profile, options);
        Ok((blocks, design))
    }
}

impl Blocks {
    pub(super) fn block_bytes(&self) -> u64 {
        self.row.child_bytes
    }

    /// A design over these blocks.
    pub(super) fn design(&self, request: &DesignRequest, profile: &Profile, options: &DesignSearchOptions) -> Design {
        request.build(&self.row, &problem(profile, self.keys_per_block, options))
    }

    /// Modelled time of a cold lookup under a profile other than that of the design, in microseconds.
    pub(super) fn cost_us(&self, design: &Design, profile: &Profile, options: &DesignSearchOptions) -> f64 {
        design.cost_under(profile, &problem(profile, self.keys_per_block, options)).total_us
    }
}

fn opening_of(root_bytes: u64) -> u64 {
    opening_bytes(root_bytes + BESIDE_ROOT_BYTES)
}

/// The least mean latency of a cold lookup.
fn problem<'a>(profile: &'a Profile, keys_per_child: f64, options: &DesignSearchOptions) -> DesignProblem<'a> {
    DesignProblem { open_bytes: &opening_of, keys_per_child, options: options.clone(), ..DesignProblem::new(profile) }
}

/// Bytes read by a cold lookup: the root and the expected reads of all levels below it.
pub(super) fn read_bytes(design: &Design) -> f64 {
    let reads: f64 = design.reads.iter().map(|reads| reads.mean_bytes()).sum();
    design.root_bytes() as f64 + reads
}

/// Adds the size, the blocks and the layers of a design to a record.
pub(super) fn with_design(record: Record, blocks: &Blocks, design: &Design) -> Record {
    record
        .figure("index_bytes", design.index_bytes())
        .figure("block_size_bytes", blocks.block_bytes())
        .figure("layers", kinds(design))
}

/// The builders, bottom first, such as `coded(4096)/gstep(1024)`; `none` without layers.
pub(super) fn kinds(design: &Design) -> String {
    let kinds: Vec<String> = design.layers.iter().map(|layer| layer.builder.to_string()).collect();
    if kinds.is_empty() { "none".into() } else { kinds.join("/") }
}
