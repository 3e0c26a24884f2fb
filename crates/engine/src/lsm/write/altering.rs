//! Alterations: the type of the values of a keyspace with records changes, in one step and without rewriting them; and
//! so do the options that a keyspace has of its own.
//!
//! ```text
//! writer's lock: may each value be one of the new type? --> edit of the manifest --> visible to handles
//! ```
//!
//! Values keep the [form](crate::lsm::state::value_forms) in which they were written, and are converted when they are
//! read. A type that only gains fields at its end needs no new form: rows state how many fields they have.

use crate::error::Result;
use crate::lsm::core::shared::StateChange;
use crate::lsm::core::store::Core;
use crate::lsm::core::writer::SeparationRules;
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::version::{KeyspaceOptions, ManifestEdit, StatedTypes};
use crate::lsm::state::written_keyspace::WrittenKeyspace;
use crate::types::{Alteration, RecordType};
use std::sync::Arc;

impl Core {
    /// See [`Keyspace::set_options`](crate::lsm::Keyspace::set_options).
    pub(in crate::lsm) fn set_keyspace_options(&self, tree: &KeyspaceTree, options: &KeyspaceOptions) -> Result<()> {
        self.change_keyspace_options(tree, |_| options.clone())
    }

    /// Replaces the options of a keyspace by what `change` makes of them.
    pub(super) fn change_keyspace_options(
        &self,
        tree: &KeyspaceTree,
        change: impl FnOnce(KeyspaceOptions) -> KeyspaceOptions,
    ) -> Result<()> {
        let mut writer = self.writer_alone();
        self.check_writable()?;
        let before = self.keyspace_options(tree.id);
        let options = change(before.clone());
        options.check()?;
        if options.expiry != before.expiry {
            self.check_expiry_rule(tree, options.expiry.as_ref())?;
        }
        self.check_place()?;
        let mut shared = self.contents.lock();
        if let Some(error) = self.refusal(&shared) {
            return Err(error);
        }
        if tree.is_dropped() {
            return Err(self.gone(tree));
        }
        if before == options {
            return Ok(());
        }
        let times = options.expiry.is_some().then(|| self.contents.time.to_record());
        let edit = ManifestEdit { options: vec![(tree.id, options.clone())], times, ..ManifestEdit::default() };
        self.apply(&mut shared, StateChange { edit, ..StateChange::default() })?;
        tree.set_expiry_rule(options.expiry);
        writer.separation = SeparationRules::new(&self.options, &shared.state);
        Ok(())
    }

    /// The options that a keyspace has of its own.
    pub(in crate::lsm) fn keyspace_options(&self, id: KeyspaceId) -> KeyspaceOptions {
        let shared = self.contents.lock();
        shared.state.keyspaces.get(&id).map(|keyspace| keyspace.options.clone()).unwrap_or_default()
    }

    /// See [`Keyspace::alter`](crate::lsm::Keyspace::alter).
    pub(in crate::lsm) fn alter_types(
        &self,
        keyspace: &WrittenKeyspace,
        alteration: &Alteration,
    ) -> Result<Arc<RecordType>> {
        let tree = keyspace.tree();
        let _writer = self.writer_alone();
        self.check_writable()?;
        let found = tree.types.get();
        let types = alteration.of(&found.types)?;
        if types == *found.types {
            return Ok(Arc::clone(&found.types));
        }
        tree.check_indexes_fit(&types)?;
        self.check_place()?;
        let mut shared = self.contents.lock();
        if let Some(error) = self.refusal(&shared) {
            return Err(error);
        }
        if tree.is_dropped() {
            return Err(self.gone(tree));
        }
        let generation = found.generation + 1;
        let forms = match types.values.extends(&found.types.values) {
            true => found.forms.clone(),
            false => found.forms.altered(&found.types.values, generation),
        };
        let types = Arc::new(types);
        let stated = StatedTypes { generation, types: Arc::clone(&types), forms };
        let edit = ManifestEdit { types: vec![(tree.id, stated.clone())], ..ManifestEdit::default() };
        self.apply(&mut shared, StateChange { edit, ..StateChange::default() })?;
        tree.set_types(stated);
        Ok(types)
    }
}
