//! Index nested loop joins: the outer relation is read whole, the inner one only where an index leads.
//!
//! A *planned scan* looks outer keys up in batches ahead of the join (`batch`, `run_planner`); another thread reads the
//! blocks they need, many at a time, bridging gaps that cost less than a request (`fetch`, `ahead`, `block_batch`,
//! `sizes`, `queue`); and both relations become row streams for the merge kernel (`sides`). For dense keys this is a
//! scan in long reads, for sparse keys a sequence of single-block probes.
//!
//! Indexes lead to blocks (`window`), not to rows: separators in memory (`separators`), or line segments
//! (`stored_lines`). They are loaded from the index stored in the table, or built by one scan of the data (`load`).
//!
//! An open index or store looks keys up itself (`open`). Methods of other crates have a loop of their own
//! (`probe_method`) over the blocks of the table (`inner_table`). `index_lookup` ties the parts together.
//!
//! A window is exact if it follows from checked separators, and approximate otherwise. Approximate windows are verified
//! against the blocks read: a wrong one costs reads, never rows.

mod ahead;
mod batch;
mod blocks;
mod index_lookup;
mod open;
mod planned;
mod probe_job;
mod queue;
mod run_planner;
mod search;
mod separators;
mod sides;
mod sizes;
mod stored_lines;
mod table_prober;
#[cfg(test)]
mod tests;
mod window;

pub use blocks::inner_table::BlockReader;
pub(crate) use index_lookup::IndexLookup;
pub use search::upper_bound;
pub use separators::{BlockSeparators, NumericSeparators, StringSeparators};
pub(in crate::join) use sizes::batch_shape;
pub use window::{BlockFinger, BlockIndex, BlockWindow, key_prefix_of};
