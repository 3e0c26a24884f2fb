//! The durable state of a store: its tables by keyspace and level, its value files and its logs. All of it is pure
//! data, except for the manifest file.
//!
//! A `ManifestState` is changed by `ManifestEdit`s only; the manifest contains a state and the edits since
//! (`manifest`).

mod edit;
mod file_names;
mod index_record;
mod kept_changes;
mod kept_names;
mod keyspace_options;
mod levels;
mod manifest;
mod narrow;
mod object_names;
mod span;
mod state;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use edit::{ManifestEdit, StatedTypes};
pub(crate) use file_names::{
    FileKind, LOCK_NAME, file_name, final_name, ingestion_sort_name, largest_number, parse_file_name,
};
pub(crate) use index_record::{INDEX_PREFIX, IndexRecord, index_name};
pub(crate) use kept_changes::KeptChanges;
pub(in crate::lsm) use kept_changes::{DroppedKeyspace, KeptLogs, KeptTable};
pub(in crate::lsm) use kept_names::{
    NEW_SUFFIX, RECORD_NAME, is_kept_file, is_name_of_changes, is_subscriber_name, kept_name, subscriber_file,
    subscriber_of,
};
pub use keyspace_options::KeyspaceOptions;
pub(in crate::lsm::state) use keyspace_options::check_block_bytes;
pub(crate) use levels::{KeyspaceLevels, LEVELS};
pub use manifest::{ALTERED_FORMAT, EXPIRING_FORMAT, INDEXED_FORMAT, OPTIONS_FORMAT, STORE_FORMAT, set_newest_format};
pub(crate) use manifest::{
    ClosedLengths, Manifest, ReadManifest, RecoveredManifest, manifest_numbers, manifest_store, newest_format, recover,
    recover_at, recover_manifest, recover_on, recover_with_true_version, remove_leftovers, stated_anchor,
};
pub(in crate::lsm) use object_names::{
    ChainId, is_chain, is_manifest_part, is_name_of_store, is_object_of_store, parse_part_name,
};
pub(crate) use span::{KeyBounds, KeySpan, SpanEnd};
pub(crate) use state::{KeyspaceState, ManifestState};
pub(crate) use table::{TableFileMeta, is_object_name};
