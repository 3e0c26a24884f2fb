//! The options and the form with which a job of an open store writes the tables of a keyspace.

use super::context::JobContext;
use super::form::TableForm;
use crate::error::{Cause, Error, Result};
use crate::lsm::core::store::Core;
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::table_file::{KeyspaceStatement, TableFile, TableOrigin};
use std::sync::Arc;

impl Core {
    /// The statement of a keyspace for its tables.
    pub(super) fn statement(&self, id: KeyspaceId) -> KeyspaceStatement {
        let shared = self.contents.lock();
        let options = shared.state.keyspaces.get(&id).map(|keyspace| keyspace.options.clone()).unwrap_or_default();
        let statement = |tree: &Arc<KeyspaceTree>| KeyspaceStatement::new(&tree.name, &tree.types.peek(), &options);
        shared.trees.get(&id).map(statement).unwrap_or_default()
    }

    /// The context of a job, with the options that hold for its keyspace.
    pub(super) fn context<'a>(
        &'a self,
        options: &'a DbOptions,
        form: TableForm,
        origin: TableOrigin,
        statement: &'a KeyspaceStatement,
    ) -> JobContext<'a> {
        JobContext {
            storage: &self.files.storage,
            binding: self.files.binding,
            options,
            form,
            learner: self.background.learner.as_deref(),
            numbers: self,
            origin,
            statement,
            stop: self.background.stop_flag(),
            memory_bytes: self.options.job_bytes(),
        }
    }

    /// Runs a job in the usual form of tables and, as long as its output does not fit the memory of open tables, again
    /// in the next coarser one. A job that fails for this reason has changed nothing.
    pub(super) fn in_form_that_fits<'a, T, I: Iterator<Item = &'a Arc<TableFile>>>(
        options: &DbOptions,
        inputs: impl Fn() -> I,
        run: impl Fn(TableForm) -> Result<T>,
    ) -> Result<T> {
        let mut form = TableForm::usual(options);
        loop {
            let outcome = run(form);
            let coarser = match &outcome {
                Err(Error { cause: Cause::Memory { .. }, .. }) => form.coarser(options, inputs()),
                _ => None,
            };
            match coarser {
                Some(coarser) => form = coarser,
                None => return outcome,
            }
        }
    }
}
