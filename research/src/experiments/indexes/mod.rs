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

pub(crate) use inserts::InsertWatch;
pub(crate) use loaded::{LOOKUPS_A_SCAN, Loaded, load_and_count, present};
pub(crate) use memory::{LOAD_MEMORY_BYTES, RunMemory, pages};
pub(crate) use programs::{ProgramSubject, operations_of, programs, with_size};
pub(crate) use programs::{is_program, takes_programs};
pub(crate) use run::{IndexWorkload, WorkloadOutcome, run_in_memory, run_on_device, run_plan};
pub(crate) use sets::{GENERATED, distinct, each_population, growing};
pub(crate) use store::{IndexStore, payload};
pub(crate) use subjects::{IndexSubject, subjects, subjects_beside_programs};
pub(crate) use touches::Touches;
