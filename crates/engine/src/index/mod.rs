//! Ordered indexes that are updated in place on disk.
//!
//! An [`Index`] maps keys of fixed width to payloads of fixed size. It survives crashes, and serves many readers
//! concurrently with one writer.
//!
//! ```
//! use ogive::index::{Index, IndexOptions, IndexKind};
//! use ogive::io::MemoryStorage;
//! use std::sync::Arc;
//!
//! // `LocalStorage::new(folder)` keeps indexes as files.
//! let storage = Arc::new(MemoryStorage::new());
//! let options = IndexOptions::default().kind(IndexKind::BTREE);
//! let index: Index<u64, u32> = Index::create((storage, "squares"), &options)?;
//! index.bulk_load((0..10_000).map(|i| (u64::from(i) * u64::from(i), i)))?;
//!
//! let mut transaction = index.write()?;
//! transaction.insert(7, 0)?;
//! transaction.remove(9)?;
//! // Until the commit, other readers see the old entries.
//! assert_eq!(index.get(9)?, Some(3));
//! transaction.commit()?;
//! assert_eq!(index.get(9)?, None);
//!
//! let reader = index.reader()?; // sees one commit
//! let keys: Result<Vec<u64>, _> = reader.range(5..20).map(|entry| entry.map(|(key, _)| key)).collect();
//! assert_eq!(keys?, [7, 16]);
//! assert_eq!(reader.iter().next_back().transpose()?, Some((9999 * 9999, 9999)));
//! println!("{:?}", reader.explain(16)?);
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! Keys are integers and byte arrays of up to 16 bytes ([`Key`]); payloads have one size ([`Payload`]). For byte
//! strings of varying length, use a [`Table`](crate::table::Table). `duplicates` in [`IndexOptions`] allows repeated
//! keys; `get_all` then returns all entries of a key.
//!
//! The structure of an index is its [`IndexKind`]: [`IndexKind::OGIVE`], the default, or [`IndexKind::BTREE`], its
//! baseline. Its nodes are pages of a [`PageFile`](crate::page::PageFile), which makes commits atomic. Other crates add
//! structures through [`extend`].
//!
//! Handles (readers, transactions, bulk loads, verification) are in `handle`, structures in `tree`, the registry of
//! kinds in `kinds`, keys and payloads as bytes in `entries`.

mod entries;
pub mod extend;
mod handle;
mod kinds;
mod options;
#[cfg(test)]
mod test_documents;
mod tree;

pub use crate::page::PageStatistics;
pub use entries::key::{Key, RawKey};
pub use entries::payload::Payload;
pub(crate) use entries::values::ValueForm;
pub use handle::loader::SortingLoader;
pub use handle::open::Index;
pub use handle::range::{IndexRange, TransactionRange};
pub use handle::reader::IndexReader;
pub(crate) use handle::rescue::{RescuedIndex, WordRescue};
pub use handle::verify::IndexVerifyReport;
pub use handle::write::WriteTransaction;
pub use kinds::kind::IndexKind;
pub use options::IndexOptions;
pub use tree::structure::{IndexLevelStatistics, IndexStatistics, IndexVisit};

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use {
    entries::word::Word,
    kinds::any::{AnyIndex, WordIndex},
    tree::layout::IndexLayout,
};
