//! Declarations of indexes: they are recorded in the manifest, with the keyspace of their entries, before any entry is
//! written; from then on all writes keep them.

use crate::error::{Cause, Error, Result};
use crate::lsm::core::shared::StateChange;
use crate::lsm::core::store::Core;
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::version::{INDEX_PREFIX, IndexRecord, ManifestEdit, StatedTypes};
use crate::types::IndexDefinition;
use std::sync::Arc;

/// The longest name of an index in bytes: that of its keyspace has at most 255.
const NAME_BYTES_MAX: usize = 200;

impl Core {
    /// The index of this name, with the keyspace that it is of.
    pub(in crate::lsm) fn index_named(&self, name: &str) -> Option<(Arc<KeyspaceTree>, KeptIndex)> {
        self.all_indexes().into_iter().find(|(_, index)| index.name() == name)
    }

    /// All indexes by the names of their keyspaces and their own, with these keyspaces.
    pub(in crate::lsm) fn all_indexes(&self) -> Vec<(Arc<KeyspaceTree>, KeptIndex)> {
        let shared = self.contents.lock();
        let of_tree = |tree: &Arc<KeyspaceTree>| {
            let indexes = tree.indexes.get();
            indexes.iter().map(|index| (Arc::clone(tree), index.clone())).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = shared.trees.values().flat_map(of_tree).collect();
        all.sort_by(|one, other| (&one.0.name, one.1.name()).cmp(&(&other.0.name, other.1.name())));
        all
    }

    /// Records an index that is not complete, unless there is one of the same definition already.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a name that is taken or none, and for a definition that does not fit
    /// the records; as for any write.
    pub(super) fn declare_index(
        &self,
        tree: &Arc<KeyspaceTree>,
        name: &str,
        definition: &IndexDefinition,
    ) -> Result<KeptIndex> {
        check_name(name)?;
        let mut writer = self.writer_alone();
        self.check_writable()?;
        self.check_place()?;
        if tree.is_dropped() {
            return Err(self.gone(tree));
        }
        definition.resolve(&tree.types.get().types)?;
        if let Some((owner, found)) = self.index_named(name) {
            if Arc::ptr_eq(&owner, tree) && found.record.definition == *definition {
                return Ok(found);
            }
            return Err(Error::input(format!(
                "there is an index {name:?} already, of the keyspace {:?} by {}; drop it first",
                owner.name, found.record.definition
            )));
        }
        self.sync_writes(&mut writer)?;
        let mut shared = self.contents.lock();
        if let Some(error) = self.refusal(&shared) {
            return Err(error);
        }
        let keyspace_name = format!("{INDEX_PREFIX}{name}");
        // A repair without the manifest may have left the entries of an index that it did not know.
        if let Some(left) = shared.tree_named(&keyspace_name).cloned() {
            self.drop_trees(&mut writer, &mut shared, &[left])?;
        }
        let id = shared.state.next_keyspace;
        let record = Arc::new(IndexRecord {
            owner: tree.id,
            definition: definition.clone(),
            is_complete: false,
            is_repaired: false,
        });
        let edit = ManifestEdit {
            keyspaces_created: vec![(id, keyspace_name.clone())],
            next_keyspace: Some(id + 1),
            indexes: vec![(id, Arc::clone(&record))],
            ..ManifestEdit::default()
        };
        let (named, view) = ((id, keyspace_name), shared.empty_view.clone());
        let entries = Arc::new(KeyspaceTree::new(named, self.path().into(), StatedTypes::default(), view));
        self.apply(&mut shared, StateChange { edit, ..StateChange::default() })?;
        shared.trees.insert(id, Arc::clone(&entries));
        let index = KeptIndex::new(record, entries);
        let mut indexes = tree.indexes.get().to_vec();
        indexes.push(index.clone());
        tree.indexes.set(indexes);
        Ok(index)
    }

    /// Records that an index is complete. The entries are durable before the edit is.
    pub(super) fn complete_index(&self, tree: &Arc<KeyspaceTree>, id: KeyspaceId) -> Result<()> {
        let mut writer = self.writer_alone();
        self.check_writable()?;
        if let Err(error) = writer.sync() {
            writer.abandon();
            self.fail(&mut self.contents.lock(), &error);
            return Err(error);
        }
        let mut indexes = tree.indexes.get().to_vec();
        let Some(index) = indexes.iter_mut().find(|index| index.entries.id == id) else {
            return Err(Error::input("the index was dropped while it was built"));
        };
        let record = Arc::new(IndexRecord { is_complete: true, is_repaired: false, ..(*index.record).clone() });
        let mut shared = self.contents.lock();
        if let Some(error) = self.refusal(&shared) {
            return Err(error);
        }
        let edit = ManifestEdit { indexes: vec![(id, Arc::clone(&record))], ..ManifestEdit::default() };
        self.apply(&mut shared, StateChange { edit, ..StateChange::default() })?;
        (index.record, index.complete_from) = (record, self.visible());
        tree.indexes.set(indexes);
        Ok(())
    }

    /// Drops an index; returns `false` if there is none of this name.
    ///
    /// # Errors
    /// As for any write.
    pub(in crate::lsm) fn drop_index(&self, name: &str) -> Result<bool> {
        let mut writer = self.writer_alone();
        self.check_place()?;
        let Some((tree, index)) = self.index_named(name) else { return Ok(false) };
        // The edit is durable at once, so all earlier writes must be durable, too.
        self.sync_writes(&mut writer)?;
        let mut shared = self.contents.lock();
        if let Some(error) = self.refusal(&shared) {
            return Err(error);
        }
        self.drop_trees(&mut writer, &mut shared, &[Arc::clone(&index.entries)])?;
        let others = tree.indexes.get().iter().filter(|other| other.entries.id != index.entries.id).cloned().collect();
        tree.indexes.set(others);
        Ok(true)
    }

    /// A conflict about the entry of an index as one about its row: the keyspaces of entries are no matter of users.
    #[cold]
    pub(in crate::lsm) fn naming_row(&self, error: Error) -> Error {
        let Some(name) = error.name().strip_prefix(INDEX_PREFIX).filter(|_| error.cause == Cause::Conflict) else {
            return error;
        };
        let Some((tree, index)) = self.index_named(name) else { return error };
        let resolved = index.resolved(&tree).ok();
        let key = error.key().and_then(|entry| resolved.as_ref()?.key_of(entry));
        match key.filter(|key| !key.is_empty()) {
            Some(key) => Error::conflict_of_key(self.path(), &tree.name, key),
            None => {
                let detail = format!("its index {name:?} was written since the transaction began");
                Error::conflict(self.path(), &tree.name, detail)
            }
        }
    }

    /// The error of an index that is not complete, or not there.
    pub(in crate::lsm) fn no_index(&self, name: &str, is_there: bool) -> Error {
        let path = self.path();
        let path = path.display();
        match is_there {
            true => Error::input(format!("{path}: the index {name:?} was not built to its end; create it again")),
            false => Error::input(format!("{path} has no index {name:?}")),
        }
    }
}

fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::input(format!(
        "{name:?} is no name of an index: it has 1 to {NAME_BYTES_MAX} bytes of letters, digits, '_', '-' and '.'"
    )))
}
