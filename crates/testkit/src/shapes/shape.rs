//! The definition of a shape.

use super::values::Values;
use ogive::KeyType;
use ogive::io::FastPaths;
use ogive::join::{JoinKind, JoinMethod};
use std::fmt;

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
    pub separation_bytes: u64,
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

/// The failure of a shape.
#[derive(Clone, Debug)]
pub struct ShapeFailure {
    pub(super) shape: Box<Shape>,
    pub(super) detail: String,
}

impl fmt::Display for ShapeFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n{:?}", self.detail, self.shape)
    }
}

impl std::error::Error for ShapeFailure {}
