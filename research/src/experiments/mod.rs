//! The registry of the experiments of `ogive-research run NAME`, those of no paper, and what experiments share.
//!
//! Each paper has its own in a folder `experiments`. `indexes` is what experiments on updatable indexes share, `store`
//! has those on stores.

pub(crate) mod device;
mod failures;
mod generators;
pub(crate) mod indexes;
pub(crate) mod progress;
mod registry;
mod resident;
mod store;

pub(crate) use failures::{caught, each_set, or_report};
pub(crate) use indexes::{is_program, takes_programs};
pub use registry::{Context, DEFAULT_COUNT, DEFAULT_PROGRAM_TIMEOUT_S, Experiment, MemoryGauge, Output, experiments};
pub use resident::Resident;
