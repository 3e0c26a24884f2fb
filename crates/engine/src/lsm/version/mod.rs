//! The durable state of a store: its tables by keyspace and level, its value files and its logs; and the choice of
//! compactions. All of it is pure data, except for the manifest file.
//!
//! A `ManifestState` is changed by `ManifestEdit`s only; the manifest contains a state and the edits since
//! (`manifest`). The next compaction is a pure function of a state and of the running jobs (`pick`).
#![expect(unused_imports, reason = "the store that uses them follows")]

mod edit;
mod job;
mod levels;
mod manifest;
mod names;
mod pick;
mod span;
mod state;
mod table;
mod targets;

#[cfg(test)]
mod pick_tests;
#[cfg(test)]
mod tests;

pub(crate) use edit::Edit;
pub(crate) use job::{Job, OutputCuts, Reason};
pub(crate) use levels::{LEVELS, Levels};
pub(crate) use manifest::{ClosedLengths, Manifest, Recovered, recover, remove_leftovers};
pub(crate) use names::{FileKind, file_name, final_name, largest_number, parse_file_name};
pub(crate) use pick::{Limits, Picker, RangeStep};
pub(crate) use span::{KeyBounds, Span};
pub(crate) use state::{Inconsistent, KeyspaceState, State, ValueFileMeta};
pub(crate) use table::TableMeta;
pub(crate) use targets::Targets;
