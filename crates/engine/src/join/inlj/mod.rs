//! Index nested loop joins: the outer relation is read whole, the inner one only where an index leads.
//!
//! There are two forms. The *probe loop* (`probe`, with `buffer` and `last_mile`) is the paper's: key by key, one
//! window in memory, with a switch for each of its two optimisations (Chesetti and Pandey, Sections 4.1 and 5.3). The
//! *planned scan* is our own: outer keys are looked up in batches ahead of the join (`batch`, `run_planner`); another
//! thread reads the blocks they need, many at a time, bridging gaps that cost less than a request (`fetch`,
//! `block_batch`, `sizes`, `queue`); and both relations become row streams for the merge kernel (`sides`). For dense
//! keys this is a scan in long reads, for sparse keys a sequence of single-block probes.
//!
//! Indexes lead to blocks (`window`), not to rows: separators in memory (`separators`), a B-tree over them (`btree`),
//! and learned structures trained on the borders between blocks (`learned`). They are built from the index stored in
//! the table, or from one scan of the data (`load`).
//!
//! An open index or store looks keys up itself (`open`). `lookup` ties the parts together.
//!
//! A window is exact if it follows from checked separators, and approximate otherwise. Approximate windows are verified
//! against the blocks read: a wrong one costs reads, never rows.

mod batch;
mod block_batch;
mod btree;
mod buffer;
mod decoded;
mod fetch;
mod last_mile;
mod learned;
mod load;
mod lookup;
mod open;
mod planned;
mod probe;
mod queue;
mod run_planner;
mod search;
mod separators;
mod sides;
mod sizes;
#[cfg(test)]
mod tests;
mod window;

pub(crate) use lookup::IndexLookup;
