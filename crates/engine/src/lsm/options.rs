//! The options of a store.

use crate::block::compress::Compression;
use crate::error::{Error, Result};
use crate::io::{FastPaths, LocalStorage, Profile, available_threads};
use crate::table::BLOCK_BYTES;
use std::path::Path;

/// When a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the device: it survives a loss of power. Writes that wait at the same time share one sync.
    #[default]
    Synced,
    /// When the operating system has it: it survives the end of the process. It is on the device no later than the next synced
    /// write, and at the latest after [`group_bytes`](DbOptions::group_bytes) more of log.
    Grouped,
    /// When the operating system has it; it reaches the device with the memtable's flush, or a later synced write.
    Buffered,
}

/// Which tables get models, and when (Bourbon, Sections 4.3 to 4.5 and 5.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Learning {
    /// LevelDB's way: full keys of all blocks, and restart points in them. The baseline.
    Never,
    /// What is there when learning is asked for is learned, and nothing later.
    Offline,
    /// Each table is learned once it has lived for as long as learning takes.
    Always,
    /// Each table is learned if the look-ups that it will serve pay for it, by the statistics of tables before it.
    CostBenefit,
    /// The model is fitted while the table is written.
    Inline,
    /// The exact separators of the table alone; no model.
    #[default]
    Coded,
}

impl Learning {
    /// All of them, the paper's first.
    pub const ALL: [Self; 6] = [Self::Never, Self::Offline, Self::Always, Self::CostBenefit, Self::Inline, Self::Coded];

    /// Its name in commands and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Offline => "offline",
            Self::Always => "always",
            Self::CostBenefit => "cost-benefit",
            Self::Inline => "inline",
            Self::Coded => "coded",
        }
    }

    /// The one of a name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the names that there are.
    pub fn named(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|learning| learning.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.map(Self::name).to_vec();
            Error::InvalidArgument(format!("no way of learning is called {name:?}; there are {}", names.join(", ")))
        })
    }
}

/// What a look-up by a model reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelReads {
    /// The table's exact separators choose the block, and the model narrows the search within it: one block for each key.
    #[default]
    Block,
    /// As in the paper: the model alone chooses, so that two blocks are read where its window crosses a border.
    Window,
}

/// How a store is opened. `DbOptions::default()` is right for most.
#[derive(Clone, Debug)]
pub struct DbOptions {
    /// Whether a store is made where there is none.
    pub create: bool,
    /// Most memory that the store takes: memtables, cached blocks, indexes, filters and models together, in bytes. Half of it at most is
    /// for what open tables cannot do without, some ten bytes a block: where that is too little, [`Error::MemoryShort`] says how much
    /// suffices.
    pub memory_bytes: u64,
    /// A memtable of this size is written out, in bytes; at most a quarter of the memory, half of which memtables may take in all.
    pub memtable_bytes: u64,
    /// When a write counts as done, unless it says otherwise itself.
    pub durability: Durability,
    /// With [`Durability::Grouped`], so much of log may be lost by a loss of power, in bytes.
    pub group_bytes: u64,
    /// Values of this length and above go to the value log, in bytes: 0 separates all of them (WiscKey), `u64::MAX` none below 1 MiB
    /// (a plain log-structured store).
    pub separation_threshold: u64,
    /// How blocks of tables and chunks of values are compressed.
    pub compression: Compression,
    /// Bits a key of the filters for absent keys; `None` for no filter.
    pub filter_bits_per_key: Option<u32>,
    /// Size of the tables of all levels but the first, in bytes.
    pub table_bytes: u64,
    /// Size that the first level below the newest tables has at most, in bytes.
    pub level_bytes: u64,
    /// How many times as large as a level the one below it is.
    pub level_factor: u32,
    /// Size of data blocks, in bytes.
    pub block_bytes: u32,
    /// Values are moved out of value files, those first of which most is dead, while more of the value log than this is dead; between 0 and 1.
    pub dead_share: f64,
    /// Which tables get models.
    pub learning: Learning,
    /// Whether models are made of whole levels rather than of tables; never of level 0.
    pub level_models: bool,
    /// What a look-up by a model reads.
    pub model_reads: ModelReads,
    /// Error of the models' lines, in records: smaller ones take more lines, larger ones longer searches (Section 5.8).
    pub model_error: u64,
    /// Threads for flushes, compaction and learning; 0: they happen inside the calls that make them due.
    pub threads: usize,
    /// The storage that the store lies on: decides what is read ahead.
    pub profile: Profile,
    /// Most files that a store in a folder has open at once, about, at least 8: of more, those are closed that were not read for long. `None`: the
    /// stores and tables of a process share half of the files that it may have open (`ulimit -n`). A storage that the caller gives has a
    /// limit [of its own](crate::io::LocalStorage::with_open_files).
    pub open_files: Option<usize>,
    /// For tests and for measuring: which fast paths the store takes, all but that of writing behind, which it has not. Answers are the same.
    pub fast_paths: FastPaths,
}

impl Default for DbOptions {
    fn default() -> Self {
        Self {
            create: true,
            memory_bytes: 256 << 20,
            memtable_bytes: 64 << 20,
            durability: Durability::Synced,
            group_bytes: 1 << 20,
            separation_threshold: 1 << 10,
            compression: Compression::default(),
            filter_bits_per_key: Some(10),
            table_bytes: 64 << 20,
            level_bytes: 256 << 20,
            level_factor: 10,
            block_bytes: 4096,
            dead_share: 0.2,
            learning: Learning::default(),
            level_models: false,
            model_reads: ModelReads::default(),
            model_error: 8,
            threads: available_threads().clamp(1, 4),
            profile: Profile::default(),
            open_files: None,
            fast_paths: FastPaths::ALL,
        }
    }
}

/// Longer values go to the value log, whatever the threshold: those in tables are read, and groups held, as a whole.
pub(crate) const INLINE_BYTES_MAX: u64 = 1 << 20;

/// What gives a store its memory.
pub(super) const MEMORY_OPTION: &str = "`DbOptions::memory_bytes`";

/// With less memory than this a store does not work, in bytes.
const MEMORY_BYTES_MIN: u64 = 1 << 20;

/// The part of the memory that open tables may keep: memtables may take the other half.
const TABLES_MEMORY_DIVISOR: u64 = 2;

/// Separators are resident as long as they take no more than this on average, in bytes: those of most keys take one to three.
const SEPARATOR_BYTES_MAX: u64 = 16;
/// The root of an index may take so much in any case, if the memory is not small, and never more, in bytes.
const ROOT_BYTES_DEFAULT: u64 = 64 << 10;
const ROOT_BYTES_MAX: u64 = 8 << 20;
/// It takes no more than this part of the memory, unless that is hardly anything, in bytes.
const ROOT_MEMORY_DIVISOR: u64 = 64;
const ROOT_BYTES_MIN: u64 = 16 << 10;

/// What a walk over a store states as its memory, in bytes. It holds one table at a time, and no memtable of this size.
const SCAN_MEMORY_BYTES: u64 = 1 << 40;

/// The part of the memory that a flush or a part of a compaction takes.
const JOB_MEMORY_DIVISOR: u64 = 16;
/// And within which bounds, in bytes: less makes separators longer, more is of no use.
const JOB_BYTES_RANGE: std::ops::RangeInclusive<u64> = 1 << 20..=24 << 20;

impl DbOptions {
    /// The folder of a store, with as many files open as the options say.
    #[must_use]
    pub fn storage(&self, folder: &Path) -> LocalStorage {
        let storage = LocalStorage::new(folder);
        self.open_files.map_or(storage.clone(), |limit| storage.with_open_files(limit))
    }

    /// A memtable of this size is written out, in bytes.
    pub(super) fn memtable_limit_bytes(&self) -> u64 {
        self.memtable_bytes.min(self.memory_bytes / 4).max(1)
    }

    /// How many memtable_sets may wait to be written out, within the half of the memory that memtables may take.
    pub(super) fn sealed_max(&self) -> usize {
        (self.memory_bytes / 2 / self.memtable_limit_bytes()).saturating_sub(1).clamp(1, 4) as usize
    }

    /// Most bytes that all tables together may keep in memory for as long as they are open: their separators, and where their blocks lie.
    pub(crate) fn tables_limit_bytes(&self) -> u64 {
        self.memory_bytes / TABLES_MEMORY_DIVISOR
    }

    /// The least memory in which open tables may keep so many bytes.
    pub(super) fn memory_for_tables(&self, reserved_bytes: u64) -> u64 {
        reserved_bytes.saturating_mul(TABLES_MEMORY_DIVISOR).max(MEMORY_BYTES_MIN)
    }

    /// Most bytes that the root of a table's index takes; what is more goes to layers below it.
    pub(crate) fn root_limit_bytes(&self) -> u64 {
        let blocks = self.table_bytes.max(self.memtable_limit_bytes()) / u64::from(self.block_bytes.max(1));
        let common = blocks.saturating_mul(SEPARATOR_BYTES_MAX).clamp(ROOT_BYTES_DEFAULT, ROOT_BYTES_MAX);
        common.min((self.memory_bytes / ROOT_MEMORY_DIVISOR).max(ROOT_BYTES_MIN))
    }

    /// The options with so much memory that any table can be opened: for walks over a store that is not to be opened itself.
    pub(crate) fn for_verification() -> Self {
        Self { memory_bytes: SCAN_MEMORY_BYTES, ..Self::default() }
    }

    /// About how much memory a flush takes, or a part of a compaction, in bytes.
    pub(crate) fn job_bytes(&self) -> u64 {
        (self.memory_bytes / JOB_MEMORY_DIVISOR).clamp(*JOB_BYTES_RANGE.start(), *JOB_BYTES_RANGE.end())
    }

    /// Batches join a group up to this size, in bytes: what one write call takes well, and no batch waits long for others.
    pub(super) fn group_bytes_max(&self) -> usize {
        (self.memory_bytes / 32).clamp(32 << 10, 1 << 20) as usize
    }

    /// The first batch that waits takes others along up to this size, in bytes: none, where they are written one by one.
    pub(super) fn joined_bytes_max(&self) -> usize {
        if self.fast_paths.batches { self.group_bytes_max() } else { 0 }
    }

    /// What the buffers of a log and a value file take, in bytes.
    pub(super) fn buffer_bytes(&self) -> u64 {
        3 * self.group_bytes_max() as u64
    }

    /// Refuses what makes no sense, for a store in the folder `path`.
    pub(super) fn check(&self, path: &Path) -> Result<()> {
        let refuse = |detail: String| Err(Error::InvalidArgument(detail));
        if self.memory_bytes < MEMORY_BYTES_MIN {
            return Err(Error::MemoryShort {
                path: path.to_owned(),
                needed_bytes: MEMORY_BYTES_MIN,
                given_bytes: self.memory_bytes,
                option: MEMORY_OPTION,
            });
        }
        if self.memtable_bytes == 0 || self.table_bytes == 0 || self.level_bytes == 0 || self.level_factor < 2 {
            return refuse(
                "sizes of memtables, tables and levels are not 0, and a level is at least twice the one above".into(),
            );
        }
        if !BLOCK_BYTES.contains(&self.block_bytes) || !self.block_bytes.is_power_of_two() {
            let (least, most) = (BLOCK_BYTES.start(), BLOCK_BYTES.end());
            return refuse(format!(
                "blocks have a power of two of bytes from {least} to {most}, not {}",
                self.block_bytes
            ));
        }
        if self.filter_bits_per_key.is_some_and(|bits| !(1..=32).contains(&bits)) {
            return refuse("a filter has 1 to 32 bits a key".into());
        }
        if !(self.dead_share > 0.0 && self.dead_share < 1.0) {
            return refuse(format!("the share of dead values is between 0 and 1, not {}", self.dead_share));
        }
        Ok(())
    }
}
