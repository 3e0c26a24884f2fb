//! # Indexes beside Parquet files
//!
//! An index leads from a key to the rows of Parquet files, which stay as they are. It is an Ogive table that holds what
//! is needed to read the pages of a row without the footer of its file, so that a lookup with the index open takes one
//! round of reads where the files are sorted by the key, and two where they are not. Rows come as Arrow record batches.
//!
//! ```
//! use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
//! use ogive::table::TableOptions;
//! use ogive::{MemoryStorage, Storage};
//! use ogive_parquet::{BuildOptions, FolderMap, ParquetIndex};
//! use std::sync::Arc;
//!
//! let ids: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..1_000));
//! let batch = RecordBatch::try_from_iter([("user_id", ids)])?;
//! let mut file = Vec::new();
//! let mut writer = parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), None)?;
//! writer.write(&batch)?;
//! writer.close()?;
//!
//! let memory = Arc::new(MemoryStorage::new());
//! memory.put("events.parquet", file)?;
//! let storage: Arc<dyn Storage> = memory;
//! let folder = Arc::new(FolderMap::flat(storage.clone())); // or PathFolder::new(path)
//! let options = BuildOptions::new("events.parquet", &["user_id"]);
//! ParquetIndex::build(storage.clone(), "events.idx", folder.clone(), options)?;
//!
//! let index = ParquetIndex::open(storage, "events.idx", folder, &TableOptions::default())?;
//! let key = index.key_type().parse("42")?;
//! assert_eq!(index.get(&key, None)?.num_rows(), 1);
//! assert_eq!(index.rank(&key)?, 42);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `build`, `update`, `verify`, `accept` | making an index, making it anew for the files of now, and checking it |
//! | `index`, `scan`, `position` | lookups, ranks, counts; rows in key order, and by position |
//! | `scattered` | rows of files that are not sorted: read in the order of the files, brought into key order |
//! | `catalog`, `pages`, `router` | what is stored: files, places of pages, separators of sorted files |
//! | `footer`, `page_header` | reading of files for an index |
//! | `footer_fields`, `hint` | what other crates could not take |
//! | `place` | the index that is replaced, held meanwhile |
//! | `int96` | the conversion of old timestamps |
//! | `fetched`, `decode`, `data` | rounds of reads, and rows from the pages that they bring |
//! | `folder`, `source`, `table_log`, `stated` | where data files lie, which are indexed, and what their paths state |
//! | `structure` | what an index is made of, for reports |
//!
//! The stored form is described in `docs/format/parquet.md`, what lookups read in `docs/parquet.md`.

mod accept;
mod build;
mod bytes_io;
mod catalog;
mod common;
mod data;
mod error;
mod file;
mod folder;
mod hint;
mod index;
mod keys;
mod open_data;
mod place;
mod position;
mod router;
mod rows;
mod scan;
mod scattered;
mod schema;
mod source;
mod stated;
mod structure;
mod table_log;
mod trace;
mod update;
mod verify;

pub use build::{BuildOptions, BuildReport};
pub use catalog::check_catalog;
pub use common::wider;
pub use data::SCHEMA_COLUMN;
#[doc(hidden)]
pub use error::error_samples;
pub use error::{ParquetIndexError, ParquetVoice, Remedy, Result};
pub use folder::{Folder, FolderMap, PathFolder};
pub use index::ParquetIndex;
pub use rows::{ParquetRows, RowsOptions};
pub use scan::{KeyBounds, ParquetScan};
pub use source::{FolderFiles, StatedColumns, check_table_log};
pub use structure::{IndexStructure, IndexedFile, IndexedRun};
pub use trace::{Trace, TracedRequest};
pub use verify::VerifyReport;

/// The example of the book's recipe is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/recipes/parquet.md")]
struct RecipePage;
