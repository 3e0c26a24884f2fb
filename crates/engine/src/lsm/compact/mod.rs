//! Compaction: entries of many sources in, fewer tables out. Flushes of memtables are compactions with one source.
//!
//! [`run_job`] takes merged inputs, keeps what some reader may still see (`retain`), moves values out of value files that are to be
//! emptied (`relocate`), and writes tables (`output`). What to compact is chosen elsewhere (`version`).

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
