//! The definition of a shape.

use super::check::{Answers, Effort, check_table, doing};
use super::choices::Choices;
use super::rows::Rows;
use super::values::Values;
use super::{draw, join, store};
use ogive::KeyType;
use ogive::block::compress::Compression;
use ogive::io::{FastPaths, MemoryStorage, Meter, Storage};
use ogive::join::{JoinKind, JoinMethod};
use ogive::table::{SortingWriter, Table, TableOptions, TableReport, TableWriteOptions, TableWriter};
use std::fmt;
use std::sync::Arc;

/// The suffixes of keys, after their shared prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// A number in ten decimal digits.
    Counting,
    /// Sixteen random hexadecimal digits.
    Hexadecimal,
    /// The empty string, `a`, `aa`, `aaa` and so on.
    Nested,
    /// Paths of a few words.
    Paths,
    /// A number in ten digits, each some times.
    Repeats,
    /// Zero bytes, 0xff and some others, of any length.
    Binary,
    /// Eight digits, followed by random bytes.
    Tails(usize),
    /// Numbers that follow each other.
    Dense,
    /// Numbers at distances that vary.
    Jittered,
    /// Numbers from anywhere.
    Hashed,
    /// Runs of dense numbers, far apart.
    Clusters,
    /// Numbers, each some times.
    RepeatedNumbers,
}

/// The layout of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableForm {
    /// The index that is asked for.
    pub design: &'static str,
    /// Size of blocks; `None` for what the tuner takes.
    pub block_bytes: Option<u32>,
    /// Whether the width of values is stated, so that records of keys of one width lie densely.
    pub states_value_width: bool,
    /// Whether blocks may be coded.
    pub coded: bool,
    /// Whether blocks are compressed.
    pub compressed: bool,
    /// Whether there is a filter.
    pub filtered: bool,
}

/// The path of rows through a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreForm {
    /// Memory of the store that writes.
    pub memory_bytes: u64,
    /// Memory of the store when it is opened again.
    pub reopened_bytes: u64,
    /// Size of a memtable.
    pub memtable_bytes: u64,
    /// Size of tables.
    pub table_bytes: u64,
    /// Size of the first level.
    pub level_bytes: u64,
    /// Size ratio of the next level.
    pub level_factor: u32,
    /// Values of this length go to value files.
    pub separation_threshold: u64,
    /// The name of the learning policy.
    pub learning: &'static str,
    /// Threads of the store.
    pub threads: usize,
    /// One row in this many is ingested; 0 for none.
    pub ingested_one_in: usize,
    /// Whether rows come in the order of their keys.
    pub sorted: bool,
    /// Number of earlier versions of all keys, each under a snapshot that is kept.
    pub earlier_versions: u64,
    /// Whether the store is compacted before it is read.
    pub compacted: bool,
    /// Whether a checkpoint is made and read.
    pub checkpointed: bool,
}

/// The kind of a relation of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// A table.
    Table,
    /// Rows in any order.
    Unsorted,
    /// A snapshot of a store.
    Store,
}

/// The path of rows through a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinForm {
    /// Memory of the join.
    pub memory_bytes: u64,
    /// Its method.
    pub method: JoinMethod,
    /// Its kind.
    pub kind: JoinKind,
    /// Its threads.
    pub threads: usize,
    /// The kinds of the left and the right relation.
    pub relations: (Relation, Relation),
    /// The right relation has one key in this many of the left one.
    pub right_one_in: usize,
}

/// The writer of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the writer of sorted rows.
    Sorted,
    /// By the writer of rows in any order, with this memory for the sort.
    Unsorted {
        /// The memory.
        sort_bytes: u64,
    },
    /// Through a store.
    Store(StoreForm),
    /// By a join, whose output is a table.
    Join(JoinForm),
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The declared key type.
    pub key_type: KeyType,
    /// The suffixes of the keys.
    pub ends: Ends,
    /// Bytes that keys share; none for numbers.
    pub prefix_bytes: usize,
    /// Number of such prefixes.
    pub prefixes: usize,
    /// Number of rows; fewer if there are fewer distinct suffixes.
    pub rows: usize,
    /// Their values.
    pub values: Values,
    /// The seed of random suffixes and values.
    pub seed: u64,
    /// How tables are laid out.
    pub table: TableForm,
    /// The writer of the rows.
    pub way: Way,
    /// Which fast paths are taken.
    pub fast_paths: FastPaths,
}

/// Block size from which reading a block per lookup takes minutes.
const LARGE_BLOCK_BYTES: u64 = 64 << 10;
/// Number of blocks for which a cache within the memory keeps some.
const CACHED_BLOCKS: u64 = 64;

impl Shape {
    /// The shape of a seed, small or large.
    pub fn of_seed(seed: u64) -> Self {
        let mut choices = Choices::of_seed(seed);
        let most_bytes = match choices.below(16) {
            0..8 => 128 << 10,
            8..14 => 3 << 20,
            _ => 40 << 20,
        };
        draw::shape(&mut choices, most_bytes)
    }

    /// Decodes a shape from bytes, with a limit on the bytes of rows.
    pub fn of_bytes(bytes: &[u8], most_bytes: u64) -> Self {
        draw::shape(&mut Choices::of_bytes(bytes), most_bytes)
    }

    /// Writes the rows as the shape says, and holds all answers against the sorted rows.
    ///
    /// # Errors
    /// The wrong answer, or the failure.
    pub fn check(&self, effort: Effort) -> Result<(), ShapeFailure> {
        let fail = |detail: String| ShapeFailure { shape: Box::new(self.clone()), detail };
        let rows = Rows::new(self);
        let effort = match self.table.design {
            // Without an index, each lookup reads the whole table.
            "none" => effort.where_each_reads(rows.bytes()),
            _ if self.reads_blocks_anew() => effort.where_each_reads(self.block_bytes()),
            _ => effort,
        };
        let checked = match &self.way {
            Way::Sorted => self.check_sorted(&rows, effort),
            Way::Unsorted { sort_bytes } => self.check_unsorted(&rows, *sort_bytes, effort),
            Way::Store(form) => store::check(self, form, &rows, effort),
            Way::Join(form) => join::check(self, form, &rows, effort),
        };
        checked.map_err(fail)
    }

    /// Writes the rows as a table to a storage, unsorted if the shape says so and else sorted, and holds all answers
    /// against the sorted rows. Sorts spill to memory.
    ///
    /// # Errors
    /// The wrong answer, or the failure.
    pub fn check_in(&self, storage: &Arc<dyn Storage>, effort: Effort) -> Result<(), ShapeFailure> {
        let rows = Rows::new(self);
        let effort =
            effort.where_each_reads(if self.table.design == "none" { rows.bytes() } else { self.block_bytes() });
        let checked = match &self.way {
            Way::Unsorted { sort_bytes } => self.write_unsorted(&rows, *sort_bytes, storage),
            _ => self.write_sorted(&rows, storage).map(|(table, _)| table),
        };
        let checked = checked.and_then(|table| check_table(&table, &Answers::of(&rows), effort));
        checked.map_err(|detail| ShapeFailure { shape: Box::new(self.clone()), detail })
    }

    /// Size of a block.
    fn block_bytes(&self) -> u64 {
        u64::from(self.table.block_bytes.unwrap_or(4096))
    }

    /// Whether a store has so little memory, or is opened again with so little, that its cache, in shards, holds no
    /// large block.
    fn reads_blocks_anew(&self) -> bool {
        let Way::Store(form) = &self.way else { return false };
        let memory_bytes = form.memory_bytes.min(form.reopened_bytes);
        self.block_bytes() >= LARGE_BLOCK_BYTES && memory_bytes < CACHED_BLOCKS * self.block_bytes()
    }

    /// About how many bytes its rows take.
    pub fn bytes(&self) -> u64 {
        let end_bytes = match self.ends {
            Ends::Nested => self.rows * 3 / 4,
            Ends::Tails(bytes) => 8 + bytes,
            Ends::Paths => 24,
            _ => 10,
        };
        (self.rows * (self.prefix_bytes + end_bytes + self.values.mean_bytes())) as u64
    }

    /// The options of a table of this shape.
    pub(super) fn write_options(&self) -> Result<TableWriteOptions, String> {
        let width = self.values.width().filter(|_| self.table.states_value_width);
        Ok(TableWriteOptions::default()
            .key_type(self.key_type)
            .value_width(width.map(|width| width as u32))
            .block_bytes(self.table.block_bytes)
            .design(self.table.design.parse().map_err(|error: ogive::Error| error.to_string())?)
            .compression(if self.table.compressed { Compression::Lz4 } else { Compression::None })
            .coding(self.table.coded)
            .filter_bits_per_key(self.table.filtered.then_some(10)))
    }

    /// The options to open a table of this shape.
    pub(super) fn open_options(&self) -> TableOptions {
        TableOptions::default().fast_paths(self.fast_paths)
    }

    fn check_sorted(&self, rows: &Rows, effort: Effort) -> Result<(), String> {
        let meter = Meter::new(Arc::new(MemoryStorage::new()));
        let storage: Arc<dyn Storage> = Arc::new(meter.clone());
        let (table, report) = self.write_sorted(rows, &storage)?;
        check_table(&table, &Answers::of(rows), effort)?;
        // A writer whose index could not be proved writes the table once more: then answers are right, and a mistake is
        // there.
        let (written, file_bytes) = (meter.snapshot().writes.bytes, report.file_bytes);
        if written > file_bytes + file_bytes / 2 + (1 << 16) {
            return Err(format!("{written} bytes were written for a file of {file_bytes}: it was written twice"));
        }
        Ok(())
    }

    fn write_sorted(&self, rows: &Rows, storage: &Arc<dyn Storage>) -> Result<(Table, TableReport), String> {
        let write = || {
            let options = self.write_options().map_err(ogive::Error::InvalidArgument)?;
            let mut writer = TableWriter::create((Arc::clone(storage), "t"), options)?;
            let mut value = Vec::new();
            for row in 0..rows.len() {
                rows.value(row, &mut value);
                writer.append(rows.key(row), &value)?;
            }
            let report = writer.finish()?;
            Ok::<_, ogive::Error>((Table::open((Arc::clone(storage), "t"), &self.open_options())?, report))
        };
        doing("written sorted", write())
    }

    fn check_unsorted(&self, rows: &Rows, sort_bytes: u64, effort: Effort) -> Result<(), String> {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let table = self.write_unsorted(rows, sort_bytes, &storage)?;
        check_table(&table, &Answers::of(rows), effort)
    }

    fn write_unsorted(&self, rows: &Rows, sort_bytes: u64, storage: &Arc<dyn Storage>) -> Result<Table, String> {
        let scratch: Arc<dyn Storage> =
            if storage.is_object_store() { Arc::new(MemoryStorage::new()) } else { Arc::clone(storage) };
        let write = || {
            let options = self.write_options().map_err(ogive::Error::InvalidArgument)?;
            let target = Arc::clone(storage);
            let mut writer = SortingWriter::create_with_scratch((target, "t"), options, sort_bytes, scratch)?;
            let mut value = Vec::new();
            for row in rows.shuffled() {
                rows.value(row, &mut value);
                writer.append(rows.key(row), &value)?;
            }
            writer.finish()?;
            Table::open((Arc::clone(storage), "t"), &self.open_options())
        };
        doing("written unsorted", write())
    }
}

/// The failure of a shape.
#[derive(Clone, Debug)]
pub struct ShapeFailure {
    shape: Box<Shape>,
    detail: String,
}

impl fmt::Display for ShapeFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n{:?}", self.detail, self.shape)
    }
}

impl std::error::Error for ShapeFailure {}
