//! A keyspace as the target of writes, with the types that these writes state.

use super::entry::KeyspaceId;
use super::keyspace_tree::KeyspaceTree;
use crate::error::{Error, Result};
use crate::types::RecordType;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The types that the writes of a keyspace's handle state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct Statement {
    pub(in crate::lsm) types: Arc<RecordType>,
    /// Whether types that were decided before stay.
    pub(in crate::lsm) yields: bool,
}

/// A keyspace, with what writes to it state.
#[derive(Clone, Debug)]
pub(in crate::lsm) struct WrittenKeyspace {
    tree: Arc<KeyspaceTree>,
    statement: Option<Arc<Statement>>,
}

/// Both are of one keyspace: one that was dropped and made again is another.
impl PartialEq for WrittenKeyspace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tree, &other.tree)
    }
}

impl Eq for WrittenKeyspace {}

impl WrittenKeyspace {
    pub(in crate::lsm) fn new(tree: Arc<KeyspaceTree>) -> Self {
        Self { tree, statement: None }
    }

    /// The same keyspace, whose writes state this.
    pub(in crate::lsm) fn with(self, statement: Option<Arc<Statement>>) -> Self {
        Self { statement, ..self }
    }

    /// The same keyspace, whose writes state types; with `yields`, those that were decided before stay.
    pub(in crate::lsm) fn stating(&self, types: &Arc<RecordType>, yields: bool) -> Self {
        self.clone().with(Some(Arc::new(Statement { types: Arc::clone(types), yields })))
    }

    pub(in crate::lsm) fn tree(&self) -> &Arc<KeyspaceTree> {
        &self.tree
    }

    pub(in crate::lsm) fn id(&self) -> KeyspaceId {
        self.tree.id
    }

    pub(in crate::lsm) fn name(&self) -> &str {
        &self.tree.name
    }

    /// The folder of the store, for error messages.
    pub(in crate::lsm) fn path(&self) -> PathBuf {
        self.tree.folder.to_path_buf()
    }

    /// What its writes state, if anything.
    #[inline]
    pub(in crate::lsm) fn statement(&self) -> Option<&Statement> {
        self.statement.as_deref()
    }

    /// Refuses a value where keys are all that is stated, by the keyspace or by writes of this handle: no query would
    /// show it.
    #[inline]
    pub(in crate::lsm) fn check_value_bytes(&self, bytes: u64) -> Result<()> {
        let tree = self.tree();
        let keys_only = match self.statement() {
            Some(stated) if !stated.yields || tree.generation() == 0 => stated.types.is_keys_only(),
            _ => tree.keys_only.load(Ordering::Acquire),
        };
        if bytes == 0 || !keys_only { Ok(()) } else { Err(tree.keys_only_error()) }
    }
}

/// The error of types that do not fit, with the number of handles that keep them from being replaced.
pub(in crate::lsm) fn wrong(
    keyspace: &WrittenKeyspace,
    found: &RecordType,
    asked: &RecordType,
    handles: usize,
) -> Error {
    let (path, name) = (keyspace.path(), keyspace.name().to_owned());
    let shown = |types: &RecordType| match asked.moves_key_columns(found) {
        true => format!("{types} with keys by {}", types.key_names()),
        false => types.to_string(),
    };
    Error::wrong_record_type(path, name, [&shown(found), &shown(asked)], handles)
}
