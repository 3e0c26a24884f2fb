//! The experiments of `ogive-bench run NAME`, one file each, and their registry.

mod airindex;
mod aulid;
mod bourbon;
mod caught;
mod device;
mod disk;
mod generators;
mod indexes;
mod join;
mod progress;
mod registry;
mod resident;
mod store;

pub(crate) use caught::caught;
pub(crate) use indexes::{is_program, takes_programs};
pub use registry::{Context, DEFAULT_COUNT, DEFAULT_PROGRAM_TIMEOUT_S, Experiment, MemoryGauge, Output, experiments};
pub use resident::Resident;
