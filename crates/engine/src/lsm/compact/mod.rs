//! Compaction: merges the entries of many sources into fewer tables. A flush of a memtable is a compaction with one
//! source.
//!
//! `run_job` takes merged inputs, keeps what some reader may still see (`retain`), moves live values out of value files
//! that are being collected (`relocate`), and writes tables (`output`). The choice of jobs is made in `version`.

mod below;
mod context;
mod output;
mod relocate;
mod retain;
mod run;
mod split;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod world;

pub(crate) use below::Below;
pub(crate) use context::JobContext;
pub(crate) use relocate::{Collected, VALUE_FILE_BYTES};
pub(crate) use run::{CompactJob, Outcome, Part, flush, run_job};
pub(crate) use split::run_split;
