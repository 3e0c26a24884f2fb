//! What a store consists of: its tables by keyspace and level, its value files, its logs. All of it is pure data, but for the
//! manifest that keeps it.
//!
//! A [`State`] is changed by an [`Edit`] and never otherwise; the manifest holds a state and the edits since (`manifest`). What to
//! compact next is a pure function of a state and of the jobs under way ([`pick()`]).
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
