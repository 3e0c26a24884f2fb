//! A keyspace as a handle uses it: the types that its writes state, and those in which it reads and writes values.

use super::entry::KeyspaceId;
use super::keyspace_tree::KeyspaceTree;
use super::value_forms::HandleTypes;
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::types::RecordType;
use std::borrow::Cow;
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
    /// The form in which values were first written with the statement.
    stated_form: Option<u64>,
    /// The types of values for the handle, whatever those of the keyspace are now; `None` for those of now.
    types: Option<Arc<HandleTypes>>,
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
        Self { tree, statement: None, stated_form: None, types: None }
    }

    /// The same keyspace, whose writes state this.
    pub(in crate::lsm) fn with(self, statement: Option<Arc<Statement>>) -> Self {
        Self { statement, ..self }
    }

    /// The same keyspace, whose writes state types; with `yields`, those that were decided before stay.
    pub(in crate::lsm) fn stating(&self, types: &Arc<RecordType>, yields: bool) -> Self {
        self.clone().with(Some(Arc::new(Statement { types: Arc::clone(types), yields })))
    }

    /// The same keyspace, whose values are read and written by these types.
    pub(in crate::lsm) fn of_types(self, types: Option<Arc<HandleTypes>>) -> Self {
        Self { types, ..self }
    }

    /// The types of values for the handle, if they are not those of now.
    #[inline]
    pub(in crate::lsm) fn types(&self) -> Option<&Arc<HandleTypes>> {
        self.types.as_ref()
    }

    /// The form of the values that the handle writes: that of its types, even if the keyspace is altered before they
    /// are committed.
    #[inline]
    pub(in crate::lsm) fn form(&self) -> u64 {
        self.types.as_ref().map_or_else(|| self.tree.form(), |types| types.form)
    }

    /// A stored value as the handle reads it.
    ///
    /// # Errors
    /// [`Cause::WrongType`](crate::Cause::WrongType) if it has no such types any more;
    /// [`Cause::Input`](crate::Cause::Input) for bytes that are no value of the keyspace's types.
    #[inline]
    pub(in crate::lsm) fn delivered<'a>(&self, stored: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        self.tree.delivered(self.types.as_deref(), stored)
    }

    /// As [`Self::delivered`], sharing what is not converted.
    ///
    /// # Errors
    /// As [`Self::delivered`].
    #[inline]
    pub(in crate::lsm) fn delivered_slice(&self, stored: Slice) -> Result<Slice> {
        if self.tree.is_delivered_unchanged(self.types.as_deref()) {
            return Ok(stored);
        }
        let converted = match self.delivered(&stored)? {
            Cow::Borrowed(value) => Err(stored.len() - value.len()),
            Cow::Owned(value) => Ok(Slice::from(value)),
        };
        Ok(converted.unwrap_or_else(|skip| stored.without_first(skip)))
    }

    /// Checks that the handle can go on reading: one atomic load if no types were stated since it was made.
    ///
    /// # Errors
    /// [`Cause::WrongType`](crate::Cause::WrongType).
    #[inline]
    pub(in crate::lsm) fn check_types(&self) -> Result<()> {
        match &self.types {
            Some(types) if types.generation != self.tree.generation() => {
                self.tree.check_alike(&self.tree.types.get(), &types.types)
            }
            _ => Ok(()),
        }
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

    /// The same keyspace, whose statement holds while values are written in the form in which they are now.
    pub(super) fn in_form_of_now(self) -> Self {
        let form = self.form();
        Self { stated_form: Some(form), ..self }
    }

    /// Whether values of another form were written since the first of those with which types are stated.
    pub(in crate::lsm) fn has_another_form(&self) -> bool {
        self.stated_form.is_some_and(|form| form != self.tree.form())
    }

    /// What its writes state, if anything.
    #[inline]
    pub(in crate::lsm) fn statement(&self) -> Option<&Statement> {
        self.statement.as_deref()
    }

    /// The time at which a value that is written now expires by the rule of the keyspace, if it does.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a value without the time by which it should expire.
    pub(in crate::lsm) fn expires_ms(&self, value: &[u8]) -> Result<Option<u64>> {
        let tree = self.tree();
        let Some(rule) = tree.expiry_rule() else { return Ok(None) };
        let now_ms = tree.view.get().time.now_ms();
        match &self.types {
            Some(types) => rule.expires_ms(now_ms, &types.types.values, value),
            None => rule.expires_ms(now_ms, &tree.types.get().types.values, value),
        }
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
    wrong_types(keyspace.tree(), found, asked, handles)
}

/// As [`wrong`], of a keyspace that no handle has.
pub(super) fn wrong_types(tree: &KeyspaceTree, found: &RecordType, asked: &RecordType, handles: usize) -> Error {
    let (path, name) = (tree.folder.to_path_buf(), tree.name.clone());
    let shown = |types: &RecordType| match asked.moves_key_columns(found) {
        true => format!("{types} with keys by {}", types.key_names()),
        false => types.to_string(),
    };
    Error::wrong_record_type(path, name, [&shown(found), &shown(asked)], handles)
}
