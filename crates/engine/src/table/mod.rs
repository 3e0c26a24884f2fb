//! Immutable sorted tables: data blocks, an index tuned to the keys and to the storage, and an exact reader.
//!
//! [`TableWriter`] takes records in key order. It chooses block ends where their separators compress best, writes the
//! blocks, designs the index after the last block (with [`crate::tune`]), checks that it leads to every block, and ends
//! the file with a tail that a single read brings (`write`, `format`, `block`). [`SortingWriter`] takes records in any
//! order (`sort`), and [`external`] builds indexes over existing data. [`Table`] opens the file, routes a key through
//! the layers to its block, and offers the operations (`read`). `verify` checks every byte, `report` describes files.
//! The file layout is specified in `docs/format/table.md`.

mod block;
pub mod external;
pub(crate) mod format;
pub(crate) mod read;
mod report;
pub mod sort;
mod verify;
mod write;

pub(crate) use crate::block::key_prefix_at;
pub(crate) use block::coded::FrontKeys;
pub(crate) use block::key::KEY_BYTES_MAX;
pub(crate) use format::histogram::HistogramPoint;
pub(crate) use format::meta::opening_bytes_of_file;
pub use format::options::{TableCache, TableOptions, TableTuningOptions, TableWriteOptions};
pub use format::stated_objective::StatedObjective;
pub use format::value::ValueReader;
#[doc(hidden)]
pub use format::{filter, value};
pub(crate) use read::cursor::{TableCursor, TablePlace};
pub(crate) use read::lookup::SearchPath;
pub use read::operations::{Record, Traced};
pub use read::range::TableRange;
pub use read::read_trace::{ReadTrace, TracedRead};
pub(crate) use read::reader::SharedOptions;
pub use read::reader::Table;
pub(crate) use read::scan::{ScanBlock, ScanRecords, ScanValue};
pub(crate) use read::separators::parts as separator_parts;
pub use report::lookup_sample::LookupSample;
pub use report::summary::{LayerSummary, ReadsPerGet, TableReport};
pub use sort::sorting::SortingWriter;
pub(crate) use verify::WalkStep;
pub use verify::{Finding, TableVerifyReport};
pub(crate) use write::bottom_layer::NodeRun;
pub(crate) use write::published_file::PublishedFile;
pub use write::writer::TableWriter;

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use {
    block::view::{BLOCK_BYTES, dense_value_width},
    format::meta::{FORMAT_VERSION, opening_bytes},
    read::operations::RecordVersion,
    report::compare::{BuiltDesigns, COMPARED_BLOCK_BYTES, COMPARED_DESIGNS, compare_designs},
    report::structure::{FilePart, IndexNodes, IndexPageNodes, LayerKind, LayerStructure, RouteStep, TableStructure},
};
