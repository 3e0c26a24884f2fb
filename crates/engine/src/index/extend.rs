//! The seam for structures of other crates, as kinds of [`Index`](super::Index). It serves comparisons, as those of
//! `ogive-research`, so it is hidden, and may change with any version.
//!
//! A structure maps native keys of 8 or 16 bytes ([`Word`]) to payloads of one size, in pages of a
//! [`PageFile`](crate::page::PageFile). The page layer provides atomic commits and snapshots, so that a structure needs
//! no code for crashes, concurrent readers or durability. There are two ways to write one:
//!
//! * A [`Router`] is an inner structure: a sorted map from separators to leaves. [`LeafTree`] adds B+-tree leaves,
//!   cursors, and runs of equal keys.
//! * A [`Structure`] implements everything: nodes, leaves, cursors.
//!
//! Both keep all that changes in pages and in a *state*, a few bytes committed with the pages. A [`StructureFactory`]
//! gives the structure a name and a code, and a [`IndexKind`] registers it with the program:
//!
//! 1. Implement [`Router`] or [`Structure`] for `W: Word`. Read pages through [`Pages`](crate::page::Pages), change
//!    them through a [`Transaction`](crate::page::Transaction). Treat every byte read as untrusted: return
//!    [`Pages::damaged`](crate::page::Pages::damaged), never panic, never loop without end.
//! 2. Implement [`StructureFactory`], with a code from 128 to 255.
//! 3. Call [`IndexKind::register`] where the program starts, before it opens an index of this kind.
//!
//! ```
//! use ogive::index::extend::{BtreeRouter, LeafTree, Structure, StructureFactory, Tunable};
//! use ogive::index::{Index, IndexLayout, IndexOptions, IndexKind};
//! use ogive::io::MemoryStorage;
//! use std::sync::Arc;
//!
//! /// A B+-tree whose inner nodes a bulk load fills.
//! #[derive(Debug)]
//! struct FullBtree;
//!
//! impl StructureFactory for FullBtree {
//!     fn name(&self) -> &'static str {
//!         "full-btree"
//!     }
//!
//!     fn code(&self) -> u8 {
//!         128
//!     }
//!
//!     fn for_u64(&self, layout: IndexLayout, _: &[Tunable]) -> Arc<dyn Structure<u64>> {
//!         Arc::new(LeafTree::new(BtreeRouter { fill_percent: 100 }, layout))
//!     }
//!
//!     fn for_u128(&self, layout: IndexLayout, _: &[Tunable]) -> Arc<dyn Structure<u128>> {
//!         Arc::new(LeafTree::new(BtreeRouter { fill_percent: 100 }, layout))
//!     }
//! }
//!
//! const FULL_BTREE: IndexKind = IndexKind::new(&FullBtree);
//!
//! FULL_BTREE.register()?;
//! let storage = Arc::new(MemoryStorage::new());
//! let options = IndexOptions::default().kind("full-btree".parse().unwrap());
//! let index: Index<u64, u64> = Index::create((storage, "squares"), &options)?;
//! index.bulk_load((0..1000).map(|i| (i * i, i)))?;
//! assert_eq!(index.get(144)?, Some(12));
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! `ogive_testkit::index` has tests for structures and routers. The crate `ogive-research` uses this module for AULID,
//! AirIndex, FITing-tree, PGM, ALEX, LIPP and their hybrids.

pub use super::entries::word::Word;
pub use super::kinds::kind::{FactoryWord, IndexKind, StructureFactory, Tunable};
pub use super::tree::btree::BtreeRouter;
pub use super::tree::coded::CodedRouter;
pub use super::tree::layout::IndexLayout;
pub use super::tree::leaves::LeafTree;
pub use super::tree::router::{Gap, LeafVisit, PageVisit, Router, RouterBuilder};
pub use super::tree::structure::{
    Amount, Cursor, Entries, IndexLevelStatistics, IndexStatistics, IndexVisit, Rescued, RescuedEntries, Structure,
    Visitor,
};

/// Binary search over words stored at a fixed stride in a page.
pub mod packed {
    pub use super::super::entries::packed::{lower_bound, upper_bound, word_at};
}
