//! Joins with rows in the order of a key.
//!
//! A rule of the logical optimiser marks joins that have such rows on a side ([`KeyJoinNode`]). When their inputs are
//! planned, the cheapest method is chosen: a lookup of the other side's keys in batches ([`LookUpJoinExec`]), a merge
//! of two ordered sides, or DataFusion's hash join with the smaller side in memory.

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
