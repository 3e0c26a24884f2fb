//! What `ogive-bench run NAME` can run: one file for each experiment, and the list of them all.

mod airindex;
mod aulid;
mod bourbon;
mod disk;
mod generators;
mod indexes;
mod join;
mod progress;
mod registry;
mod resident;
mod store;

pub use registry::{Context, DEFAULT_COUNT, Experiment, MemoryGauge, Output, experiments};
pub use resident::Resident;
