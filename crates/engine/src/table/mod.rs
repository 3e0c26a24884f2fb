//! Immutable sorted tables: data blocks, an index tuned to the keys and to the storage, and an exact reader.
//!
//! [`TableWriter`] takes records in key order; it chooses where blocks end so that their separators code best
//! (`pending`), writes them (`block`), designs the index when all are there (`index`, with [`crate::tune`]), proves that it leads to
//! every block (`proof`), and ends the file
//! with a tail (`format`) that one read brings. [`SortingWriter`] takes records in any order, and [`beside`] makes an index
//! for data that stay where they are. [`Table`] opens it (`reader`), leads a key through the layers to its block
//! (`unit`, `search`), and offers the operations (`operations`, `range`). `verify` walks everything. The layout of the
//! file, byte by byte, is in `docs/format/table.md`.

mod access;
pub mod beside;
mod block;
mod borders;
mod columns;
mod counts;
mod cursor;
pub mod filter;
mod format;
mod index;
mod key;
mod locations;
#[cfg(test)]
mod measure_tests;
mod operations;
mod options;
mod outline;
mod output;
mod pass;
mod pending;
mod plain;
mod plan;
mod proof;
#[cfg(test)]
mod proof_tests;
mod quick;
mod range;
mod reader;
mod receipt;
mod report;
mod rewrite;
mod search;
mod sections;
mod separators;
pub mod sort;
mod sorting;
mod survey;
mod unit;
pub mod value;
mod verify;
#[cfg(test)]
mod version_tests;
mod versions;
mod wire;
mod writer;

pub(crate) use access::NodeRun;
pub use block::BLOCK_BYTES;
pub(crate) use cursor::TableCursor;
pub use format::{FORMAT_VERSION, opening_bytes};
pub use key::{KeyType, MAX_KEY_BYTES, encode_f64, encode_i64};
pub use operations::{Record, Traced, Version};
pub use options::{OpenOptions, WriteOptions};
pub(crate) use outline::OutlinePoint;
pub(crate) use output::Output as PublishedFile;
pub(crate) use pass::{PassedBlock, PassedRecords, PassedValue};
pub use range::Range;
pub use reader::Table;
pub use receipt::{ReadRecord, Receipt};
pub use report::{LayerSummary, ReadsPerGet, TableReport};
pub(crate) use separators::number_at;
pub use sorting::SortingWriter;
pub use verify::{Finding, VerifyReport};
#[expect(unused_imports, reason = "the store that uses them follows")]
pub(crate) use versions::{FoundVersion, SearchPath, SharedOptions, TableSteps};
pub use writer::TableWriter;
