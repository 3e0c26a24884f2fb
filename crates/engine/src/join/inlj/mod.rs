//! Index nested loop joins: the outer relation is read whole, of the inner one what an index names.
//!
//! There are two ways. The *probe loop* (`probe`, with `buffer` and `last_mile`) is the paper's: key by key, one window in memory, with a switch
//! for each of its two optimisations (Chesetti and Pandey, Sections 4.1 and 5.3). The *planned scan* is ours: outer keys are looked up
//! in batches ahead of the join (`batch`, `stretches`), the blocks that they need are read many at a time by another thread, with gaps
//! between them where a gap costs less than a request (`fetch`, `piece`, `sizes`, `queue`), and both relations become row streams for the
//! kernel that merges (`sides`). Where keys are dense, that is a scan in long reads; where they are sparse, probes of single blocks.
//!
//! Indexes lead to blocks (`window`), not to rows: separators in memory (`separators`), a B-tree over them (`btree`), learned structures
//! trained on the borders between blocks (`learned`). They are made of what the table has on file, or by one pass (`load`).
//!
//! An index that is open finds keys by itself (`open`); `lookup` puts all of it together.
//!
//! What an index says is a proof, where it follows from separators that are checked, or a hint, which is checked against what was read:
//! a wrong one costs reads, and no row.

mod batch;
mod btree;
mod buffer;
mod decoded;
mod fetch;
mod last_mile;
mod learned;
mod load;
mod lookup;
mod open;
mod piece;
mod planned;
mod probe;
mod queue;
mod search;
mod separators;
mod sides;
mod sizes;
mod stretches;
#[cfg(test)]
mod tests;
mod window;

pub(crate) use lookup::Lookup;
