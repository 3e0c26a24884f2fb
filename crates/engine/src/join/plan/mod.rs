//! The planner: what is known of both relations, what each method would take, and the choice.
//!
//! Costs follow the affine and the PDAM model (Chesetti and Pandey, Sections 3 and 4.2) with the real profile T(n) and P in place of
//! their constants, the very sizes of requests that the methods make, and measured rates for what a core does.

mod cached;
mod choose;
mod cost;
mod device;
mod explanation;
mod facts;
mod gather;
mod rates;
mod shape;
mod sorted;
mod spread;
mod unsorted;

pub use cached::cached_profile;
pub use cost::Cost;
pub use explanation::{Actual, Alternative, Explanation, ReadPlan, RelationSummary};
pub(super) use gather::{Plan, plan};
pub(super) use shape::ReadShape;
pub(super) use spread::worthwhile_gap_bytes;
