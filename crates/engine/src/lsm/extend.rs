//! The seam for learning policies of papers, for the tables of a [`Db`](super::Db). Only `ogive-research` implements
//! its traits, so it is hidden, and may change with any version. A program extends a store by `ogive::Storage` alone.
//!
//! By default, a store searches its tables by their exact separators. A *learning policy* can search them by models
//! instead:
//!
//! * A [`LearningPolicy`] has a name, and begins a [`Learner`] for each open store. A [`Learning`] makes it an option
//!   of the store; a [registered](Learning::register) one is also found by name.
//! * A [`Learner`] follows the tables of the store as they come and go. It gives tables a [`TableGuide`], at any time,
//!   and levels a [`LevelGuide`]. Learning runs as background work of the store, one [`LearningTask`] at a time.
//! * A guide predicts the place of a key; the engine reads the blocks and decides. A lookup from a start that is not
//!   [exact](LookupStart::is_exact) and finds no entry is repeated without it, unless the blocks prove that there is
//!   none: a wrong prediction costs time, and never an answer.
//! * A [`ModelWriter`] learns while a table is written. Its model is stored in the table, and is ignored by every store
//!   without this policy.
//!
//! Nothing of it is stored but these models: a store may be opened with any policy, or none. Since the engine reads and
//! decides, search hints within a block, the property of a table that has a model, and sampled times of lookups are
//! parts of the engine.
//!
//! ```
//! use ogive::lsm::extend::{GuidedStart, Learner, LearningPolicy, LookupStart, SearchHint, TableFile, TableGuide};
//! use ogive::lsm::{Db, DbOptions, Learning};
//! use std::sync::Arc;
//!
//! /// Searches each block from its middle.
//! #[derive(Debug)]
//! struct Middle;
//!
//! impl LearningPolicy for Middle {
//!     fn name(&self) -> &'static str {
//!         "middle"
//!     }
//!
//!     fn start(&self, _memory_bytes: u64) -> Arc<dyn Learner> {
//!         Arc::new(Self)
//!     }
//! }
//!
//! impl Learner for Middle {
//!     fn open_table(&self, table: &TableFile, _stored: Option<&[u8]>) {
//!         table.set_guide(Some(Arc::new(Self)));
//!     }
//! }
//!
//! impl TableGuide for Middle {
//!     fn start(&self, table: &TableFile, key: &[u8], _: Option<(u64, u64)>) -> ogive::Result<GuidedStart> {
//!         let start = table.find_block(key).map(|start| LookupStart { hint: SearchHint::Share(0.5), ..start });
//!         Ok(GuidedStart { start, by_model: false })
//!     }
//! }
//!
//! let storage = Arc::new(ogive::io::MemoryStorage::new());
//! let db = Db::open(storage, &DbOptions::default().learning(Learning::new(Middle)))?;
//! db.insert("apple", "red")?;
//! db.flush()?;
//! assert_eq!(db.get("apple")?.as_deref(), Some(&b"red"[..]));
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! `ogive-research` uses this module for Bourbon, and [`LookupStep`] for breakdowns of lookups.

pub use super::state::tables::learner::{
    GuidedStart, Learner, LearningPolicy, LearningStats, LearningTask, LevelGuide, ModelSize, ModelWriter,
    PositionWindow, TableGuide,
};
pub use super::state::tables::learning::Learning;
pub use super::state::tables::level::LevelTables;
pub use super::state::tables::lookup_times::{LookupTotals, TableLookups};
pub use super::state::tables::table_file::TableFile;
pub use crate::block::cache::Reservation;
pub use crate::block::varint::{put_varint, take_varint};
pub use crate::table::read::lookup::{LookupStart, LookupStep, SearchHint};
