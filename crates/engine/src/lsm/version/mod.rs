//! The durable state of a store: its tables by keyspace and level, its value files and its logs; and the choice of
//! compactions. All of it is pure data, except for the manifest file.
//!
//! A `ManifestState` is changed by `ManifestEdit`s only; the manifest contains a state and the edits since
//! (`manifest`). The next compaction is a pure function of a state and of the running jobs (`pick`).

mod edit;
mod file_names;
mod job;
mod levels;
mod manifest;
mod pick;
mod span;
mod state;
mod table;
mod targets;

#[cfg(test)]
mod pick_tests;
#[cfg(test)]
mod tests;

pub(crate) use edit::ManifestEdit;
pub(crate) use file_names::{FileKind, file_name, final_name, largest_number, parse_file_name};
pub(crate) use job::{CompactionJob, JobReason, OutputCuts};
pub(crate) use levels::{KeyspaceLevels, LEVELS};
pub(crate) use manifest::{ClosedLengths, Manifest, RecoveredManifest, recover, remove_leftovers};
pub(crate) use pick::{PickLimits, Picker, RangeStep};
pub(crate) use span::KeyBounds;
pub(crate) use state::ManifestState;
pub(crate) use table::TableFileMeta;
