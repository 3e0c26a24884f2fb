//! Compaction: merges the entries of many sources into fewer tables. A flush of a memtable is a compaction with one
//! source.
//!
//! `run_job` takes merged inputs, keeps what some reader may still see (`retain`), moves live values out of value files
//! that are being collected (`relocate`), and writes tables (`output`). The next job is a pure function of the state of
//! the store and of the running jobs (`pick`), by the sizes of its levels (`targets`).

pub(super) mod background;
mod context;
mod expired;
mod form;
mod job_options;
mod levels_below;
mod output;
mod pick;
#[cfg(test)]
mod pick_tests;
mod relocate;
mod retain;
mod run;
mod scrub;
mod small_tables;
mod subcompactions;
mod targets;
#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;
pub(super) mod tombstone_cleanup;

pub(crate) use context::JobContext;
pub(crate) use form::TableForm;
pub(crate) use levels_below::LevelsBelow;
pub(crate) use output::table_options;
pub(crate) use pick::{PickLimits, Picker, RangeStep};
pub(crate) use relocate::CollectedFiles;
pub(crate) use run::{JobOutput, JobRange, MergeJob, flush, run_job};
pub(crate) use subcompactions::run_subcompactions;
