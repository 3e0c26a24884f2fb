//! # Ogive
//!
//! A storage engine that learns the cumulative curve of its keys and uses it to turn a key into the fewest bytes read
//! from wherever the data lives. It fits itself to three things: the keys, the storage (a [`Profile`](io::Profile)),
//! and the memory it may use.
//!
//! One half is the immutable sorted [`Table`](table::Table): one file, opened by one read, with an index whose
//! layers are searched for by [`tune`]. A look-up in an open table is one read for each layer below the root, and one
//! of data.
//!
//! ```
//! use ogive::io::{MemoryStorage, Profile};
//! use ogive::table::{KeyType, OpenOptions, ReadTrace, Table, TableWriter, WriteOptions};
//! use std::sync::Arc;
//!
//! // `LocalStorage::new(folder)` keeps tables as files.
//! let storage = Arc::new(MemoryStorage::new());
//! let options = WriteOptions {
//!     key_type: KeyType::U64,
//!     value_width: Some(8),
//!     profile: Profile::named("s3")?,
//!     ..WriteOptions::default()
//! };
//! let mut writer = TableWriter::create(storage.clone(), "squares", options)?;
//! for i in 0..10_000_u64 {
//!     // Keys are byte strings that order as they are meant to: integers are big-endian.
//!     writer.append(&(i * i).to_be_bytes(), &i.to_le_bytes())?;
//! }
//! let report = writer.finish()?;
//! println!("{} bytes of index for {} blocks", report.index_bytes, report.blocks);
//!
//! let table = Table::open(storage, "squares", &OpenOptions::default())?;
//! let mut trace = ReadTrace::new();
//! let value = table.traced(&mut trace).get(&144_u64.to_be_bytes())?;
//! assert_eq!(value, Some(12_u64.to_le_bytes().to_vec()));
//! println!("{} reads, {} bytes", trace.reads.len(), trace.bytes());
//!
//! assert_eq!(table.rank(&1000_u64.to_be_bytes())?, 32);
//! for record in table.range(100_u64.to_be_bytes()..200_u64.to_be_bytes()) {
//!     let (key, _) = record?;
//!     assert!(key.as_slice() >= &100_u64.to_be_bytes()[..]);
//! }
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! The other half is the updatable [`Index`](index::Index): fixed-width keys and payloads in a file that is changed in
//! place, survives crashes, and is read by many beside one writer.
//!
//! ```
//! use ogive::index::{Index, IndexOptions, Kind};
//! use ogive::io::{MemoryStorage, Storage};
//! use std::sync::Arc;
//!
//! let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
//! let options = IndexOptions { kind: Kind::BTREE, ..IndexOptions::default() };
//! let index: Index<u64, u64> = Index::create(&storage, "ages", &options)?;
//! let mut transaction = index.write()?;
//! transaction.insert(1815, 36)?;
//! transaction.commit()?;
//! assert_eq!(index.get(1815)?, Some(36));
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`io`] | the one seam to the outside: storages, meters, a modelled clock, profiles T(n) |
//! | [`mod@block`] | checksums that know their place, compression, the block cache |
//! | [`tune`] | the search for the fastest index design |
//! | [`table`] | the table's format, its writers, its reader |
//! | [`page`] | pages that survive crashes |
//! | [`index`] | ordered indexes that are updated in place |
//! | [`lsm`] | the store: crash-safe, log-structured, with values apart from keys |
//! | [`check`] | verifying and repairing stores |
//! | [`join`](mod@join) | joins larger than memory, planned by cost |
//!
//! Features: `lz4` (on unless turned off) and `zstd` compress blocks.

pub mod block;
pub mod check;
mod durability;
mod error;
pub mod index;
pub mod io;
pub mod join;
mod log;
pub mod lsm;
pub mod page;
pub mod table;
pub mod tune;
mod vlog;

pub use durability::Durability;
pub use error::{Error, Result};

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
