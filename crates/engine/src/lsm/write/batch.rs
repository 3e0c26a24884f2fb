//! Write batches: operations that become visible and durable together.

use crate::block::stream::VALUE_BYTES_MAX;
use crate::durability::Durability;
use crate::error::{Error, Result};
use crate::lsm::handles::db::Db;
use crate::lsm::handles::keyspace::Keyspace;
use crate::lsm::open::pinned_types::{PinnedTypes, wrong};
use crate::lsm::state::entry::{Action, GROUP_HEAD_BYTES, ValueKind, encode_operation};
use crate::lsm::state::view::KeyspaceTree;
use crate::table::KEY_BYTES_MAX;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// A write batch: operations on any keyspaces of one store that are applied atomically. Of two operations on the same
/// key, the later one wins.
///
/// ```
/// # use ogive::lsm::{Db, DbOptions};
/// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
/// let db = Db::open(storage, &DbOptions::default())?;
/// let people = db.keyspace("people")?;
/// let mut batch = db.batch();
/// batch.insert(&people, "ada", "1815");
/// batch.insert(&db, "people counted", "1");
/// batch.commit()?;
/// assert_eq!(people.get("ada")?.as_deref(), Some(&b"1815"[..]));
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Debug)]
pub struct Batch {
    db: Db,
    operations: Operations,
    durability: Option<Durability>,
    /// The types of typed keyspaces that it changes.
    pinned: Vec<PinnedTypes>,
}

/// Typical length of what an encoded operation has besides key and value: its code, and three short varints.
const OPERATION_HEAD_BYTES: usize = 6;

/// Encoded operations, with space for a group header in front if there are any.
#[derive(Debug, Default)]
pub(in crate::lsm) struct Operations {
    pub(in crate::lsm) bytes: Vec<u8>,
    pub(in crate::lsm) count: u64,
    /// Length of the longest value, if there is one.
    pub(in crate::lsm) longest_value_bytes: Option<u64>,
    /// The keyspaces that the operations change.
    pub(in crate::lsm) keyspaces: Vec<Arc<KeyspaceTree>>,
    /// Behind a pointer, because each write moves its operations several times.
    exceptions: Option<Box<Exceptions>>,
}

/// What few batches have beside their operations.
#[derive(Debug, Default)]
struct Exceptions {
    /// The handles that state types with the operations, one for each keyspace.
    stating: Vec<Keyspace>,
    /// The error of the first operation that was refused, and how many were.
    error: Option<Error>,
    refused: u64,
}

impl Operations {
    /// The handles that state types with the operations, one for each keyspace.
    pub(in crate::lsm) fn stating(&self) -> &[Keyspace] {
        self.exceptions.as_ref().map_or(&[], |exceptions| &exceptions.stating)
    }

    /// Number of operations that were refused.
    fn refused(&self) -> u64 {
        self.exceptions.as_ref().map_or(0, |exceptions| exceptions.refused)
    }

    /// Adds an operation; a key or value that is too long is recorded as an error.
    pub(in crate::lsm) fn push(&mut self, keyspace: &Keyspace, action: Action, key: &[u8], value: &[u8]) {
        self.push_checked(keyspace, check_key(keyspace, key), action, key, value);
    }

    /// As [`Self::push`], for a key that was checked already.
    fn push_checked(&mut self, keyspace: &Keyspace, checked: Result<()>, action: Action, key: &[u8], value: &[u8]) {
        let checked = checked.and_then(|()| match value.len() as u64 {
            length if length > VALUE_BYTES_MAX => {
                Err(Error::ValueTooLarge { path: keyspace.path(), length, limit: VALUE_BYTES_MAX })
            }
            length if action == Action::Put(ValueKind::Value) => {
                self.longest_value_bytes = self.longest_value_bytes.max(Some(length));
                keyspace.check_value_bytes(length)
            }
            _ => Ok(()),
        });
        let checked = match keyspace.statement() {
            Some(_) => checked.and_then(|()| self.note_statement(keyspace)),
            None => checked,
        };
        match checked {
            Ok(()) => {
                if self.keyspaces.last().is_none_or(|tree| tree.id != keyspace.id()) {
                    self.note(keyspace);
                }
                if self.bytes.is_empty() {
                    // One operation is all that most batches have.
                    self.bytes.reserve_exact(GROUP_HEAD_BYTES + OPERATION_HEAD_BYTES + key.len() + value.len());
                    self.bytes.resize(GROUP_HEAD_BYTES, 0);
                }
                encode_operation(&mut self.bytes, action, keyspace.id(), key, value);
                self.count += 1;
            }
            Err(error) => self.refuse(error),
        }
    }

    /// Keeps the first error of operations that are refused.
    #[cold]
    fn refuse(&mut self, error: Error) {
        let exceptions = self.exceptions.get_or_insert_default();
        exceptions.refused += 1;
        exceptions.error.get_or_insert(error);
    }

    fn note(&mut self, keyspace: &Keyspace) {
        if self.keyspaces.iter().all(|tree| tree.id != keyspace.id()) {
            self.keyspaces.push(Arc::clone(keyspace.tree()));
        }
    }

    /// Keeps what a handle states; types other than those of an earlier operation are an error.
    #[cold]
    fn note_statement(&mut self, keyspace: &Keyspace) -> Result<()> {
        let stating = &mut self.exceptions.get_or_insert_default().stating;
        let known = stating.iter().find(|known| *known == keyspace);
        match (known.and_then(Keyspace::statement), keyspace.statement()) {
            (None, _) => stating.push(keyspace.clone()),
            (Some(known), Some(stated)) if known.types != stated.types => {
                return Err(wrong(keyspace, &known.types, &stated.types, 0));
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a range removal.
    pub(in crate::lsm) fn push_range<K: AsRef<[u8]>>(&mut self, keyspace: &Keyspace, range: &impl RangeBounds<K>) {
        let ends = [range.start_bound(), range.end_bound()];
        let checked = ends.into_iter().try_for_each(|end| match end {
            Bound::Included(key) | Bound::Excluded(key) => check_key(keyspace, key.as_ref()),
            Bound::Unbounded => Ok(()),
        });
        let (start, end) = half_open(range);
        if end.as_ref().is_none_or(|end| start < *end) || checked.is_err() {
            self.push_checked(keyspace, checked, Action::RemoveRange, &start, &end.unwrap_or_default());
        }
    }

    /// Size of the operations in bytes.
    pub(in crate::lsm) fn byte_len(&self) -> usize {
        self.bytes.len().saturating_sub(GROUP_HEAD_BYTES)
    }

    /// Returns the first error, if any.
    pub(in crate::lsm) fn take_error(&mut self) -> Result<()> {
        self.exceptions.as_mut().and_then(|exceptions| exceptions.error.take()).map_or(Ok(()), Err)
    }
}

/// Checks the length of a key.
pub(in crate::lsm) fn check_key(keyspace: &Keyspace, key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        let detail = format!("keys have at most {KEY_BYTES_MAX} bytes");
        return Err(Error::KeyLength { path: keyspace.path(), length: key.len() as u64, detail });
    }
    Ok(())
}

/// A key range as its first key, and the first key behind it if the range has an end.
fn half_open<K: AsRef<[u8]>>(range: &impl RangeBounds<K>) -> (Vec<u8>, Option<Vec<u8>>) {
    let behind = |key: &[u8]| [key, &[0]].concat();
    let start = match range.start_bound() {
        Bound::Unbounded => Vec::new(),
        Bound::Included(key) => key.as_ref().to_vec(),
        Bound::Excluded(key) => behind(key.as_ref()),
    };
    let end = match range.end_bound() {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(behind(key.as_ref())),
        Bound::Excluded(key) => Some(key.as_ref().to_vec()),
    };
    (start, end)
}

impl Batch {
    pub(in crate::lsm) fn new(db: Db) -> Self {
        Self { db, operations: Operations::default(), durability: None, pinned: Vec::new() }
    }

    /// Whether a keyspace belongs to the same store; if not, the commit will fail.
    fn takes(&mut self, keyspace: &Keyspace) -> bool {
        let checked = keyspace.check_store(self.db.open());
        let is_ours = checked.is_ok();
        if let Err(error) = checked {
            self.operations.refuse(error);
        }
        is_ours
    }

    /// Keeps the types of a keyspace that it changes until it is committed, and checks them then.
    pub fn pin(&mut self, types: &PinnedTypes) -> &mut Self {
        let is_same = |pinned: &PinnedTypes| {
            pinned.keyspace().id() == types.keyspace().id() && pinned.generation() == types.generation()
        };
        if !self.pinned.iter().any(is_same) {
            self.pinned.push(types.clone());
        }
        self
    }

    /// Records an error for [`Self::commit`] to report.
    pub(crate) fn refuse(&mut self, error: Error) -> &mut Self {
        self.operations.refuse(error);
        self
    }

    /// Sets the value of a key. Errors are reported by [`Self::commit`].
    pub fn insert(
        &mut self,
        keyspace: impl AsRef<Keyspace>,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> &mut Self {
        let keyspace = keyspace.as_ref();
        if self.takes(keyspace) {
            self.operations.push(keyspace, Action::Put(ValueKind::Value), key.as_ref(), value.as_ref());
        }
        self
    }

    /// Removes a key.
    pub fn remove(&mut self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> &mut Self {
        let keyspace = keyspace.as_ref();
        if self.takes(keyspace) {
            self.operations.push(keyspace, Action::Put(ValueKind::Remove), key.as_ref(), &[]);
        }
        self
    }

    /// Removes all keys in a range.
    pub fn remove_range<K: AsRef<[u8]>>(
        &mut self,
        keyspace: impl AsRef<Keyspace>,
        range: impl RangeBounds<K>,
    ) -> &mut Self {
        let keyspace = keyspace.as_ref();
        if self.takes(keyspace) {
            self.operations.push_range(keyspace, &range);
        }
        self
    }

    /// Sets the durability of this batch, overriding [`DbOptions::durability`](crate::lsm::DbOptions::durability).
    pub fn durability(&mut self, durability: Durability) -> &mut Self {
        self.durability = Some(durability);
        self
    }

    /// Number of operations, those included that were refused: [`Self::commit`] has their error.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.operations.count + self.operations.refused()
    }

    /// Whether there are no operations, not even refused ones, so that there is nothing to commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of the operations in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.operations.byte_len()
    }

    /// As [`Self::commit`], if `condition` holds, with no write in between; returns whether it did.
    pub(crate) fn commit_if(mut self, condition: impl FnOnce() -> Result<bool>) -> Result<bool> {
        self.operations.take_error()?;
        self.pinned.iter().try_for_each(PinnedTypes::check)?;
        self.db.core().commit_if(condition, self.operations, self.durability)
    }

    /// Applies all operations atomically.
    ///
    /// # Errors
    /// [`Error::KeyLength`] and [`Error::ValueTooLarge`] for keys and values that are too long;
    /// [`Error::KeyspaceDropped`]; [`Error::StoreReadOnly`]; errors of the storage. After an error nothing has changed,
    /// with one exception: after an error of the storage, the whole batch may be found when the store is opened again.
    pub fn commit(mut self) -> Result<()> {
        self.operations.take_error()?;
        self.pinned.iter().try_for_each(PinnedTypes::check)?;
        self.db.core().commit(self.operations, self.durability)
    }
}
