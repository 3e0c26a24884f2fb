//! The seam for join methods of papers. Only `ogive-research` implements its traits, so it is hidden, and may change
//! with any version.
//!
//! There are two forms of registered methods:
//!
//! * A [`JoinProbeMethod`] looks the keys of the outer relation up in a table, by an index of its own over the blocks
//!   of that table. The engine reads the outer relation, starts the threads, and writes the output.
//! * A [`CopyMethod`] copies both relations to indexes that the engine then joins.
//!
//! Each is a constant. [`JoinMethod::probe`] or [`JoinMethod::copy`] makes a [`JoinMethod`] of it, and
//! [`JoinMethod::register`] makes that known to the program: its name can be parsed, and the planner lists it with its
//! predicted cost. The planner prefers the engine's own methods unless a registered one is clearly cheaper.
//!
//! [`JoinMethod`]: super::JoinMethod
//! [`JoinMethod::probe`]: super::JoinMethod::probe
//! [`JoinMethod::copy`]: super::JoinMethod::copy
//! [`JoinMethod::register`]: super::JoinMethod::register
//!
//! ```
//! use ogive::index::extend::Tunable;
//! use ogive::io::{MemoryStorage, Storage};
//! use ogive::join::extend::{BlockFinger, BlockIndex, InnerTable};
//! use ogive::join::extend::{JoinCostModel, JoinProbe, JoinProbeJob, JoinProbeMethod};
//! use ogive::join::{JoinCost, JoinKind, JoinOptions, JoinMethod, JoinOutput, JoinSide, JoinSource, join};
//! use ogive::KeyType;
//! use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
//! use std::sync::Arc;
//!
//! /// Counts partners: one lookup per outer row, in the blocks between two separators.
//! #[derive(Debug)]
//! struct Semi;
//!
//! impl JoinProbeMethod for Semi {
//!     fn name(&self) -> &'static str {
//!         "inlj:semi"
//!     }
//!
//!     fn cost(&self, model: &JoinCostModel<'_>, inner: JoinSide, _: u64) -> Result<JoinCost, String> {
//!         let (_, block_bytes) = model.blocks(inner)?;
//!         let (mut cost, outer) = (model.separators(inner)?, inner.other());
//!         cost += model.scan(outer);
//!         model.read(&mut cost, model.rows(outer), model.rows(outer) * block_bytes as f64);
//!         Ok(cost)
//!     }
//!
//!     fn prepare(&self, inner: InnerTable<'_>, _: u64, _: &[Tunable]) -> ogive::Result<Box<dyn JoinProbe>> {
//!         let (separators, memory) = inner.separators()?;
//!         Ok(Box::new(Separated { index: separators.into_index(), _memory: memory }))
//!     }
//! }
//!
//! #[derive(Debug)]
//! struct Separated {
//!     index: Arc<dyn BlockIndex>,
//!     _memory: ogive::join::extend::MemoryGrant,
//! }
//!
//! impl JoinProbe for Separated {
//!     fn run(&self, job: &mut JoinProbeJob<'_>) -> ogive::Result<()> {
//!         let (mut reader, mut finger) = (job.reader(), BlockFinger::default());
//!         while job.advance()? {
//!             let (outer, sink) = job.parts();
//!             let outer = outer.rows();
//!             for row in 0..outer.len() {
//!                 let window = self.index.look_up(outer.key(row), &mut finger)?;
//!                 reader.read(window.first..window.last + 1)?;
//!                 reader.decode(0)?;
//!                 let rows = reader.rows(0);
//!                 if (0..rows.len()).any(|inner| rows.key(inner) == outer.key(row)) {
//!                     sink.lefts(outer, row..row + 1)?;
//!                 }
//!             }
//!         }
//!         Ok(())
//!     }
//! }
//!
//! JoinMethod::probe(&Semi).register()?;
//! let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
//! let table = |name: &str, step: u64| -> ogive::Result<Table> {
//!     let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(0);
//!     let mut writer = TableWriter::create((storage.clone(), name), options)?;
//!     (0..1000).try_for_each(|i| writer.append(&(i * step).to_be_bytes(), b""))?;
//!     writer.finish()?;
//!     Table::open((storage.clone(), name), &TableOptions::default())
//! };
//! let (left, right) = (JoinSource::table(&table("left", 3)?), JoinSource::table(&table("right", 2)?));
//! let options = JoinOptions::default().kind(JoinKind::Semi).method("inlj:semi".parse()?).inner(JoinSide::Right);
//! let report = join(&left, &right, JoinOutput::caller(|_, _, _| Ok(())), &options)?;
//! assert_eq!(report.rows, 334);
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! `ogive-research` uses this module for the probe loops and the B-trees of its papers.

pub use super::methods::lookup::{
    BlockFinger, BlockIndex, BlockReader, BlockSeparators, BlockWindow, NumericSeparators, StringSeparators,
    key_prefix_of, upper_bound,
};
pub use super::methods::partition::ArrivingRows;
pub use super::rows::copy_method::{CopiedRelation, CopyJob, CopyMethod};
pub use super::rows::plan::facts::JoinCostModel;
pub use super::rows::probe_method::{InnerTable, JoinProbe, JoinProbeJob, JoinProbeMethod, JoinProbeSink};
pub use super::rows::relation::RelationFacts;
pub use super::rows::spill::SpillName;
pub use super::rows::stream::{RowSpan, RowStream, RowsView};
pub use super::rows::task::MemoryGrant;
