//! Opening a store for lookups of few keys: with the tables that may hold them, and nothing of the others.

use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::version::ManifestState;
use crate::types::RecordType;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the manifest of a store says of its keyspaces, before any of its tables is opened.
#[derive(Clone, Copy, Debug)]
pub struct ManifestSummary<'s>(&'s ManifestState);

impl<'s> ManifestSummary<'s> {
    /// The names of all keyspaces.
    pub fn keyspaces(&self) -> impl Iterator<Item = &'s str> {
        self.0.keyspaces.values().map(|keyspace| &*keyspace.name)
    }

    /// The types of a keyspace; `None` if there is none of this name.
    #[must_use]
    pub fn record_type(&self, keyspace: &str) -> Option<Arc<RecordType>> {
        let keyspace = self.0.keyspaces.get(&self.0.keyspace_named(keyspace)?)?;
        Some(Arc::clone(&keyspace.types.types))
    }

    /// Whether a keyspace has tables.
    #[must_use]
    pub fn has_tables(&self, keyspace: &str) -> bool {
        let levels = self.0.keyspace_named(keyspace).and_then(|id| self.0.levels(id));
        levels.is_some_and(|levels| levels.iter().next().is_some())
    }
}

/// Keys, each with the name of its keyspace.
pub type NamedKeys = Vec<(String, Vec<u8>)>;

/// Chooses keys by what the manifest says; `None` for all.
pub(in crate::lsm) type ChooseKeys<'c> = &'c dyn Fn(ManifestSummary<'_>) -> Option<NamedKeys>;

/// Leaves the tables that may hold the chosen keys. Returns those of them that are asked last for each of their keys,
/// which need no filter: a wrong answer of it, or none, costs one read of a block, and the right one a read of its own.
/// `None` if all keys may be looked up.
pub(super) fn keep_chosen(state: &mut ManifestState, choose: ChooseKeys<'_>) -> Option<BTreeSet<u64>> {
    let named = choose(ManifestSummary(state))?;
    let id = |name: &str| state.keyspace_named(name);
    let keys: Vec<(KeyspaceId, Vec<u8>)> =
        named.into_iter().filter_map(|(name, key)| Some((id(&name)?, key))).collect();
    Some(state.keep_tables_of(&keys))
}
