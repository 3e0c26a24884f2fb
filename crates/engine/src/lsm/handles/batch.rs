//! Write batches: operations that become visible and durable together.

use super::db::Db;
use super::keyspace::Keyspace;
use super::pinned_types::PinnedTypes;
use crate::durability::Durability;
use crate::error::{Cause, Error, Result};
use crate::lsm::state::entry::{Action, ValueKind};
use crate::lsm::state::expiry::store_time::unix_ms_of;
use crate::lsm::state::operations::{Operations, ReadCondition};
use crate::lsm::state::transactions::read_set::ReadSet;
use std::ops::RangeBounds;
use std::time::SystemTime;

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
    expected: Vec<ExpectedValue>,
}

/// The value that a key must have for a batch to be committed, or none.
#[derive(Debug)]
struct ExpectedValue {
    keyspace: Keyspace,
    /// The types by which values are compared, instead of by their bytes.
    types: Option<PinnedTypes>,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl Batch {
    pub(in crate::lsm) fn new(db: Db) -> Self {
        Self { db, operations: Operations::default(), durability: None, pinned: Vec::new(), expected: Vec::new() }
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
            self.operations.push(keyspace.written(), Action::Put(ValueKind::Value), key.as_ref(), value.as_ref());
        }
        self
    }

    /// Sets the value of a key until a time, as [`Keyspace::insert_with`] does.
    pub fn insert_with(
        &mut self,
        keyspace: impl AsRef<Keyspace>,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expires: SystemTime,
    ) -> &mut Self {
        let keyspace = keyspace.as_ref();
        if self.takes(keyspace) {
            let expires_ms = Some(unix_ms_of(expires));
            self.operations.push_value(keyspace.written(), key.as_ref(), value.as_ref(), expires_ms);
        }
        self
    }

    /// Sets the value of a key that expires at a time, in milliseconds since the start of 1970, if there is one,
    /// whatever the rule of its keyspace.
    pub(crate) fn insert_until(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8], expires_ms: Option<u64>) {
        if self.takes(keyspace) {
            self.operations.push_value(keyspace.written(), key, value, expires_ms);
        }
    }

    /// Removes a key.
    pub fn remove(&mut self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> &mut Self {
        let keyspace = keyspace.as_ref();
        if self.takes(keyspace) {
            self.operations.push(keyspace.written(), Action::Put(ValueKind::Remove), key.as_ref(), &[]);
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
            self.operations.push_range(keyspace.written(), &range);
        }
        self
    }

    /// Lets [`Self::commit`] fail with [`Cause::Conflict`] unless the key has this value then, or is absent if that is
    /// `None`.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// db.insert("version", "7")?;
    /// let upgrade = || {
    ///     let mut batch = db.batch();
    ///     batch.expect(&db, "version", Some(b"7")).insert(&db, "version", "8").insert(&db, "name", "new");
    ///     batch.commit()
    /// };
    /// upgrade()?;
    /// assert_eq!(upgrade().unwrap_err().cause, ogive::Cause::Conflict);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    pub fn expect(&mut self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>, value: Option<&[u8]>) -> &mut Self {
        let keyspace = keyspace.as_ref();
        if self.takes(keyspace) {
            let (key, value) = (key.as_ref().to_vec(), value.map(<[u8]>::to_vec));
            self.expected.push(ExpectedValue { keyspace: keyspace.clone(), types: None, key, value });
        }
        self
    }

    /// As [`Self::expect`], but values are compared as these types have them, like
    /// [`PinnedTypes::compare_and_swap`] does.
    pub fn expect_as(&mut self, types: &PinnedTypes, key: impl AsRef<[u8]>, value: Option<&[u8]>) -> &mut Self {
        self.pin(types).expect(types.keyspace(), key, value);
        if let Some(expected) = self.expected.last_mut() {
            expected.types = Some(types.clone());
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
    pub(crate) fn commit_if(mut self, condition: impl FnMut() -> Result<bool>) -> Result<bool> {
        self.operations.take_error()?;
        self.pinned.iter().try_for_each(PinnedTypes::check)?;
        self.db.core().commit_if(condition, self.operations, self.durability)
    }

    /// Applies all operations atomically.
    ///
    /// # Errors
    /// `Cause::KeyLength` and `Cause::ValueTooLarge` for keys and values that are too long;
    /// `Cause::KeyspaceDropped`; `Cause::ReadOnly`; `Cause::Conflict` if a key has another value than
    /// [expected](Self::expect); errors of the storage. After an error nothing has changed, with one exception: after
    /// an error of the storage, the whole batch may be found when the store is opened again.
    pub fn commit(mut self) -> Result<()> {
        self.operations.take_error()?;
        self.pinned.iter().try_for_each(PinnedTypes::check)?;
        if !self.expected.is_empty() {
            return self.commit_expecting();
        }
        self.db.core().commit(self.operations, self.durability)
    }

    /// Commits as a transaction that has read the expected values; again if one of them was written meanwhile.
    fn commit_expecting(&self) -> Result<()> {
        let core = self.db.core();
        loop {
            let (snapshot, mut reads) = (self.db.snapshot(), ReadSet::new(core.options.transaction_limit_bytes()));
            for ExpectedValue { keyspace, types, key, value } in &self.expected {
                reads.add_point(keyspace.tree(), key);
                let found = snapshot.get(keyspace, key)?;
                let is_expected = match types {
                    Some(types) => types.are_equal(found.as_deref(), value.as_deref())?,
                    None => found.as_deref() == value.as_deref(),
                };
                if !is_expected {
                    return Err(Error::other_value(core.path(), keyspace.name(), key));
                }
            }
            let mut operations = self.operations.again();
            operations.set_condition(ReadCondition { reads, after: snapshot.sequence() });
            match core.commit(operations, self.durability) {
                Err(Error { cause: Cause::Conflict, .. }) => {}
                outcome => return outcome,
            }
        }
    }
}
