//! Join methods of "Evaluating Learned Indexes for External-Memory Joins" (Chesetti and Pandey, 2024), for comparison
//! with the engine's own.
//!
//! | method | name | what it does |
//! |---|---|---|
//! | [`BTREE`] | `inlj:btree` | probes a B-tree, descending from the root for each key |
//! | [`BTREE_CURSOR`] | `inlj:btree-iter` | probes a B-tree through a forward-only cursor |
//! | [`PGM`] | `inlj:pgm:EPS` | probes a PGM-index with an error bound in keys |
//! | [`SAMPLED_PGM`] | `inlj:pgm-sampled` | probes a PGM-index over every 128th key |
//! | [`RADIX_SPLINE`] | `inlj:radix-spline` | probes a RadixSpline |
//! | [`RMI`] | `inlj:rmi` | probes a recursive model index |
//! | [`PARTITION_BTREE`] | `partition:btree` | builds a B-tree over each relation by inserts in order of arrival |
//!
//! The *probe loop* is the paper's: key by key, one window in memory (`probe`, with `buffer` and `last_mile`), with a
//! switch for each of its two optimisations ([`ProbeOptions`]). Indexes lead to blocks, not to rows: a B-tree over the
//! separators of a table (`btree`), and learned structures trained on the borders between blocks (`learned`). `trees`
//! is the B-tree join of unsorted relations.
//!
//! ```
//! use ogive::io::MemoryStorage;
//! use ogive::join::{JoinOptions, JoinOutput, JoinSource, join};
//! use ogive::KeyType;
//! use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
//! use std::sync::Arc;
//!
//! ogive_research::register();
//! let storage = Arc::new(MemoryStorage::new());
//! let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(0);
//! let mut writer = TableWriter::create((storage.clone(), "t"), options)?;
//! (0..1000_u64).try_for_each(|i| writer.append(&i.to_be_bytes(), b""))?;
//! writer.finish()?;
//! let table = JoinSource::table(&Table::open((storage, "t"), &TableOptions::default())?);
//! let options = JoinOptions::default().method("inlj:pgm:64".parse()?);
//! assert_eq!(join(&table, &table, JoinOutput::caller(|_, _, _| Ok(())), &options)?.rows, 1000);
//! # Ok::<(), ogive::Error>(())
//! ```

mod btree;
mod buffer;
mod cost;
mod last_mile;
mod learned;
mod methods;
mod options;
mod probe;
#[cfg(test)]
mod tests;
mod trees;

pub use methods::{BTREE, BTREE_CURSOR, METHODS, PARTITION_BTREE, PGM, RADIX_SPLINE, RMI, SAMPLED_PGM};
pub use options::ProbeOptions;
