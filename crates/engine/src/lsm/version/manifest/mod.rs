//! The file that says what a store consists of: a whole state, and the edits since.
//!
//! A manifest is written under another name, synced, renamed, and its folder synced: one that has its name is whole. Edits are appended
//! to it. What an edit depends on is durable before it, and what it makes superfluous is removed only when it is durable itself. A new
//! manifest is written at each open. At a clean close one is written that is *closed*: it states how long each log and value file is,
//! and nothing may follow, so that from then on no missing byte goes unnoticed. The layout is in `docs/format/manifest.md`.

mod frame;
mod read;
mod write;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod tests;

pub(crate) use frame::ClosedLengths;
pub(crate) use read::{Recovered, recover, remove_leftovers};
pub(crate) use write::Manifest;
