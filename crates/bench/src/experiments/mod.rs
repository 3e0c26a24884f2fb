//! The experiments of `ogive-bench run NAME`, one file each, and their registry.

mod airindex;
mod aulid;
mod bourbon;
mod device;
mod disk;
mod failures;
mod generators;
mod indexes;
mod join;
mod progress;
mod registry;
mod resident;
mod store;

pub(crate) use failures::caught;
use failures::{each_set, or_report};
pub(crate) use indexes::{is_program, takes_programs};
pub use registry::{Context, DEFAULT_COUNT, DEFAULT_PROGRAM_TIMEOUT_S, Experiment, MemoryGauge, Output, experiments};
pub use resident::Resident;
