//! Immutable sorted tables: data blocks, an index tuned to the keys and to the storage, and an exact reader.
//!
//! [`TableWriter`] takes records in key order. It chooses block ends where their separators compress best (`pending`),
//! writes the blocks (`block`), designs the index after the last block (`index`, with [`crate::tune`]), checks that it
//! leads to every block (`index_check`), and ends the file with a tail (`format`) that a single read brings.
//! [`SortingWriter`] takes records in any order, and [`external`] builds indexes over existing data. [`Table`] opens
//! the file (`reader`), routes a key through the layers to its block (`index_page`, `search`), and offers the
//! operations (`operations`, `range`). `verify` checks every byte. The file layout is specified in
//! `docs/format/table.md`.

mod block;
mod borders;
mod bottom_layer;
mod coded;
#[cfg(test)]
mod coded_tests;
mod coding;
mod column_search;
mod columns;
mod compare;
mod counts;
mod cursor;
pub(crate) mod deferred;
pub mod external;
pub mod filter;
mod format;
mod histogram;
mod index;
mod index_check;
#[cfg(test)]
mod index_check_tests;
mod index_page;
mod key;
mod key_code;
mod locations;
mod lookup_sample;
#[cfg(test)]
mod measure_tests;
mod operations;
mod options;
mod pending;
mod plan;
mod published_file;
mod range;
mod read_trace;
mod reader;
mod report;
mod rescue;
mod rewrite;
mod rows_ahead;
mod scan;
mod scan_index;
mod search;
mod sections;
mod separators;
pub mod sort;
mod sorting;
mod stated_objective;
mod structure;
#[cfg(test)]
mod structure_tests;
pub mod value;
mod verify;
#[cfg(test)]
mod version_tests;
pub(crate) mod versions;
mod warm;
mod wire;
mod writer;

pub(crate) use crate::block::key_prefix_at;
pub use block::{BLOCK_BYTES, dense_value_width};
pub(crate) use bottom_layer::NodeRun;
pub(crate) use coded::FrontKeys;
pub use compare::{BuiltDesigns, COMPARED_BLOCK_BYTES, COMPARED_DESIGNS, compare_designs};
pub(crate) use cursor::{TableCursor, TablePlace};
pub(crate) use format::opening_bytes_of_file;
pub use format::{FORMAT_VERSION, opening_bytes};
pub(crate) use histogram::HistogramPoint;
pub use key::KEY_BYTES_MAX;
pub use lookup_sample::{LookupSample, SAMPLED_KEY_BYTES_MAX};
pub use operations::{Record, RecordVersion, Traced};
pub use options::{TableCache, TableOptions, TableWriteOptions};
pub(crate) use published_file::PublishedFile;
pub use range::TableRange;
pub use read_trace::{ReadTrace, TracedRead};
pub use reader::Table;
pub use report::{LayerSummary, ReadsPerGet, TableReport};
pub(crate) use scan::{ScanBlock, ScanRecords, ScanValue};
pub(crate) use separators::parts as separator_parts;
pub use sorting::SortingWriter;
pub use stated_objective::StatedObjective;
pub use structure::{FilePart, IndexNodes, IndexPageNodes, LayerKind, LayerStructure, RouteStep, TableStructure};
pub use verify::{Finding, TableVerifyReport};
pub(crate) use versions::{SearchPath, SharedOptions};
pub use writer::TableWriter;
