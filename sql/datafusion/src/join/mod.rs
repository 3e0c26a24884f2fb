//! Joins with rows in the order of a key.
//!
//! A rule of the logical optimiser marks joins that have such rows on a side ([`KeyJoinNode`]). When their inputs are
//! planned, the cheapest way is taken: keys of the other side are looked up in batches ([`LookUpJoinExec`]), two sides
//! in order are merged, or the side in memory is the smaller one, as in DataFusion's own hash join.

mod choice;
mod column_keys;
mod fence;
mod fenced_merges;
mod fenced_unions;
mod keyed_side;
mod look_up;
mod node;
mod planner;
mod rule;

pub use fence::{FenceExec, Hidden};
pub(crate) use fenced_merges::FenceMerges;
pub(crate) use fenced_unions::{FencePlanner, with_fenced_unions};
pub use look_up::LookUpJoinExec;
pub use node::KeyJoinNode;
pub use planner::KeyJoinPlanner;
pub use rule::MarkKeyJoins;
