//! The manifest: a file with a full state of the store, and the edits since.
//!
//! A manifest is written under a temporary name, synced, renamed, and its folder synced, so one with its final name is
//! complete. Edits are appended to it. Everything that an edit depends on is durable before the edit, and superseded
//! files are removed only once the edit is durable. A new manifest is written at each opening. A clean close writes one
//! that is *closed*: it states the length of each log and value file, and nothing may follow it, so from then on no
//! missing byte goes unnoticed. The layout is in `docs/format/manifest.md`.

mod read;
mod record;
mod write;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod tests;

pub(crate) use read::{
    ReadManifest, RecoveredManifest, manifest_numbers, manifest_store, recover, recover_at, recover_manifest,
    recover_on, recover_with_true_version, remove_leftovers, stated_anchor,
};
pub use record::{ALTERED_FORMAT, EXPIRING_FORMAT, INDEXED_FORMAT, OPTIONS_FORMAT, STORE_FORMAT, set_newest_format};
pub(crate) use record::{ClosedLengths, newest_format};
pub(crate) use write::Manifest;
