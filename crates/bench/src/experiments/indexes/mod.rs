//! Parts shared by the experiments on updatable indexes: creation, workloads, observation, and cost model.

mod inserts;
mod loaded;
mod memory;
mod observed;
mod programs;
mod run;
mod sets;
mod store;
mod subjects;
mod touches;

pub(super) use inserts::InsertWatch;
pub(super) use loaded::{LOOKUPS_A_SCAN, Loaded, load_and_count, present};
pub(super) use memory::{LOAD_BUDGET_BYTES, RunMemory, pages};
pub(super) use programs::{ProgramSubject, operations_of, programs, with_size};
pub(crate) use programs::{is_program, takes_programs};
pub(super) use run::{IndexWorkload, WorkloadOutcome, run_in_memory, run_on_device, run_plan};
pub(super) use sets::{GENERATED, distinct, each_population, growing};
pub(super) use store::{IndexStore, payload};
pub(super) use subjects::{IndexSubject, subjects, subjects_beside_programs};
pub(super) use touches::Touches;
