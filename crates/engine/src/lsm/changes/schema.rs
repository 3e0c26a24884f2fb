//! The keyspaces of a store, as those who archive its changes need them.

use crate::error::Result;
use crate::io::Storage;
use crate::lsm::open::newest_state::{attempts, changed, newest};
use crate::lsm::state::entry::Sequence;
use crate::lsm::state::keyspace_tree::{INDEX_NOTES, is_of_store};
use crate::lsm::state::version::{KeptChanges, ManifestEdit, ManifestState};
use std::sync::Arc;

/// Attempts to read a manifest before its writer replaces it, at least.
const TRIES_MIN: u32 = 8;

/// The keyspaces that a store has now, with their types, options and indexes, and those that were dropped behind a
/// change, with their types then: as an edit that creates them all.
///
/// # Errors
/// Damage, and errors of the storage.
pub(crate) fn schema(source: &Arc<dyn Storage>, after: Sequence) -> Result<ManifestEdit> {
    for _ in attempts(TRIES_MIN) {
        if let Some(state) = newest(source)? {
            if source.is_object_store() {
                return Ok(of_state(&state, &state.kept, after));
            }
            return Ok(of_state(&state, &KeptChanges::read(&**source, state.owner)?, after));
        }
    }
    Err(changed(&**source))
}

fn of_state(state: &ManifestState, kept: &KeptChanges, after: Sequence) -> ManifestEdit {
    let there = state.keyspaces.iter().filter(|(_, keyspace)| keyspace.name != INDEX_NOTES);
    let mut edit = ManifestEdit { options: state.options(), ..ManifestEdit::default() };
    for (&id, keyspace) in there {
        edit.keyspaces_created.push((id, keyspace.name.clone()));
        if keyspace.types.generation > 0 {
            edit.types.push((id, keyspace.types.clone()));
        }
    }
    edit.indexes = state.indexes().map(|(id, index)| (id, Arc::clone(index))).collect();
    for dropped in kept.dropped.range(after + 1..).flat_map(|(_, dropped)| dropped) {
        if is_of_store(&dropped.name) || state.keyspaces.contains_key(&dropped.id) {
            continue;
        }
        edit.keyspaces_created.push((dropped.id, dropped.name.clone()));
        edit.keyspaces_dropped.push(dropped.id);
        if dropped.types.generation > 0 {
            edit.types.push((dropped.id, dropped.types.clone()));
        }
    }
    edit
}
