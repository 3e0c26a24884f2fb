//! What the experiments with indexes that are updated in place share: how one is made, driven, watched and priced.

mod memory;
mod observed;
mod run;
mod sets;
mod store;
mod subjects;
mod touches;

pub(super) use memory::{LOAD_BUDGET_BYTES, pages, pool_bytes};
pub(super) use observed::Written;
pub(super) use run::{Outcome, Plan, run};
pub(super) use sets::{GENERATED, distinct, growing};
pub(super) use store::Store;
pub(super) use subjects::{Subject, or_report, subjects};
pub(super) use touches::Touches;
