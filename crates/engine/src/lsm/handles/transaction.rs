//! Transactions: reads at a snapshot and writes, committed together if no other write has met what was read.

use super::db::Db;
use super::keyspace::Keyspace;
use super::keyspace_index::KeyspaceIndex;
use super::lookups::own_entries::OwnEntries;
use super::own_writes::OwnWrites;
use super::pinned_types::PinnedTypes;
use super::snapshot::DbSnapshot;
use super::transaction_range::{DbTransactionRange, PassedKeys};
use crate::block::Slice;
use crate::block::cache::Reservation;
use crate::durability::Durability;
use crate::error::{Cause, Error, Result};
use crate::io::Timer;
use crate::io::local::sync::{Mutex, pause_randomly};
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::expiry::rule::ExpiryRule;
use crate::lsm::state::expiry::store_time::unix_ms_of;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::operations::{ReadCondition, half_open};
use crate::lsm::state::transactions::newer::{ConflictCheck, ConflictChecks};
use crate::lsm::state::transactions::open_transactions::{OpenTransaction, OpenTransactions};
use crate::lsm::state::transactions::read_set::ReadSet;
use crate::types::range_of_prefix;
use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// A transaction is run at most this number of times, and is begun again within this number of seconds.
const RUNS_MAX: u32 = 64;
const RUNS_S_MAX: f64 = 10.0;

/// Before a transaction is run again it waits for a random time up to this, in microseconds, which doubles each time:
/// about the time of a write, and not more than a request to an object store.
const WAIT_US: f64 = 20.0;
const WAIT_DOUBLINGS_MAX: u32 = 10;

/// The memory of a transaction is reserved in steps of this many bytes; less than one is not.
const RESERVED_STEP_BYTES: u64 = 64 << 10;

/// How far a [`DbTransaction`] is independent of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// It has the effect that it would have if no other transaction ran at the same time: it conflicts if anybody has
    /// written what it has read.
    #[default]
    Serializable,
    /// It reads at its snapshot, and conflicts only if anybody has written the keys that it writes. Two transactions
    /// may then each read what the other one writes (write skew).
    Snapshot,
}

/// A transaction: see [`Db::transaction`], which runs one again after a conflict, and [`Db::begin`].
///
/// It reads the store as it was when it began, with its own writes, and holds a [snapshot](DbSnapshot) until it ends.
/// [`Self::commit`] applies all its writes atomically, unless others have written since it began what it has read: keys
/// that were there and keys that were not, and ranges as far as they were iterated. Ingestions and range removals are
/// such writes, and so are drops and alterations of keyspaces that were read. Flushes and compactions are none. Nothing
/// is locked: others read and write meanwhile.
///
/// One that is dropped without a commit changes nothing.
#[derive(Debug)]
pub struct DbTransaction {
    shared: Arc<SharedTransaction>,
    snapshot: DbSnapshot,
    durability: Option<Durability>,
    /// Counts it among the open ones of the store.
    open: OpenTransaction,
    /// The time as of which it sees records that expire, once it was asked for.
    now_ms: OnceLock<u64>,
}

/// A transaction as its ranges share it.
#[derive(Debug)]
pub(super) struct SharedTransaction {
    db: Db,
    state: Mutex<TransactionState>,
}

#[derive(Debug)]
struct TransactionState {
    isolation: Isolation,
    reads: ReadSet,
    writes: OwnWrites,
    /// What the writes make of indexes that were looked at, by the keyspaces of their entries.
    entries: BTreeMap<KeyspaceId, Arc<OwnEntries>>,
    held: Option<Reservation>,
}

impl TransactionState {
    fn new(limit_bytes: u64) -> Self {
        let (isolation, writes, entries) = Default::default();
        Self { isolation, reads: ReadSet::new(limit_bytes), writes, entries, held: None }
    }

    /// Reserves the memory that it takes now.
    fn hold(&mut self, db: &Db) {
        let entries: u64 = self.entries.values().map(|entries| entries.bytes()).sum();
        let bytes = self.reads.bytes() + self.writes.bytes() + entries;
        let held = self.held.as_ref().map_or(0, Reservation::bytes);
        if bytes >= held + RESERVED_STEP_BYTES {
            self.held = Some(db.core().files.cache.reserve_scoped(bytes));
        }
    }
}

impl SharedTransaction {
    pub(super) fn checks(&self) -> ConflictChecks {
        self.db.core().checks()
    }

    /// Changes what was read, unless it does not matter.
    fn add_read(&self, add: impl FnOnce(&mut ReadSet)) {
        let mut state = self.state.lock();
        if state.isolation == Isolation::Serializable {
            add(&mut state.reads);
            state.hold(&self.db);
        }
    }

    /// Adds the keys from `start` up to `end` to what was read.
    pub(super) fn add_range(&self, tree: &Arc<KeyspaceTree>, start: &[u8], end: Option<&[u8]>) {
        self.add_read(|reads| reads.add_range(tree, start, end));
    }

    /// Adds a key to what was read.
    pub(super) fn add_point(&self, tree: &Arc<KeyspaceTree>, key: &[u8]) {
        self.add_read(|reads| reads.add_point(tree, key));
    }

    /// What the writes up to now make of an index.
    ///
    /// # Errors
    /// [`Cause::Input`] for a value that is no row.
    pub(super) fn own_entries(&self, index: &KeyspaceIndex) -> Result<Arc<OwnEntries>> {
        let (rows, resolved) = (index.keyspace().id(), index.resolved()?);
        let mut state = self.state.lock();
        let TransactionState { writes, entries, .. } = &mut *state;
        let own = entries.entry(index.entries().id).or_default();
        if !own.is_up_to(writes) {
            Arc::make_mut(own).add(writes, rows, &resolved)?;
        }
        let own = Arc::clone(own);
        state.hold(&self.db);
        Ok(own)
    }

    /// The value of a key by the own writes, if it was written; else adds it to what was read.
    fn own_or_read(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Option<Slice>>> {
        keyspace.check_store(self.db.open())?;
        let own = self.state.lock().writes.get(keyspace.id(), key);
        if own.is_none() {
            self.add_read(|reads| reads.add_point(keyspace.tree(), key));
        }
        Ok(own)
    }

    /// The value of a key by the own writes, else by the snapshot of the transaction.
    fn get(&self, snapshot: &DbSnapshot, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Slice>> {
        match self.own_or_read(keyspace, key)? {
            Some(own) => Ok(own),
            None => snapshot.get(keyspace, key),
        }
    }
}

impl DbTransaction {
    fn new(db: &Db) -> Self {
        let state = Mutex::new(TransactionState::new(db.core().options.transaction_limit_bytes()));
        let (shared, snapshot) = (Arc::new(SharedTransaction { db: db.clone(), state }), db.snapshot());
        let contents = &db.core().contents;
        let open = OpenTransactions::begin(&contents.open_transactions, contents.time.passed_ms());
        Self { shared, snapshot, durability: None, open, now_ms: OnceLock::new() }
    }

    /// The time as of which it sees records that expire, its own included: that of its beginning. Its snapshot does not
    /// know it if no record of the store expired then.
    fn now_ms(&self) -> u64 {
        *self.now_ms.get_or_init(|| {
            let time = &self.shared.db.core().contents.time;
            let age_ms = || time.passed_ms().saturating_sub(self.open.begun_ms());
            self.snapshot.now_ms().unwrap_or_else(|| time.now_ms().saturating_sub(age_ms()))
        })
    }

    pub(super) fn shared(&self) -> &Arc<SharedTransaction> {
        &self.shared
    }

    pub(super) fn snapshot(&self) -> &DbSnapshot {
        &self.snapshot
    }

    /// Sets how far it is independent of others, for the reads from now on.
    pub fn isolation(&mut self, isolation: Isolation) -> &mut Self {
        self.shared.state.lock().isolation = isolation;
        self
    }

    /// Sets the durability of its commit, overriding [`DbOptions::durability`](crate::lsm::DbOptions::durability).
    pub fn durability(&mut self, durability: Durability) -> &mut Self {
        self.durability = Some(durability);
        self
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn get(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.shared.get(&self.snapshot, keyspace.as_ref(), key.as_ref())
    }

    /// Whether a key is present; its value is not read.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn contains_key(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> Result<bool> {
        let (keyspace, key) = (keyspace.as_ref(), key.as_ref());
        match self.shared.own_or_read(keyspace, key)? {
            Some(own) => Ok(own.is_some()),
            None => self.snapshot.contains_key(keyspace, key),
        }
    }

    /// Returns the values of many keys, in their order, as [`Keyspace::multi_get`] does.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn multi_get<K: AsRef<[u8]>>(
        &self,
        keyspace: impl AsRef<Keyspace>,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Slice>>> {
        let (keyspace, keys): (&Keyspace, Vec<K>) = (keyspace.as_ref(), keys.into_iter().collect());
        let own = keys.iter().map(|key| self.shared.own_or_read(keyspace, key.as_ref()));
        let own = own.collect::<Result<Vec<_>>>()?;
        let stored = keys.iter().zip(&own).filter(|(_, own)| own.is_none()).map(|(key, _)| key);
        let mut found = self.snapshot.multi_get(keyspace, stored)?.into_iter();
        Ok(own.into_iter().map(|own| own.unwrap_or_else(|| found.next().flatten())).collect())
    }

    /// Fails unless the key has this value, or is absent if that is `None`, with the writes up to now; and so does
    /// [`Self::commit`] if others write the key before, with [`Isolation::Snapshot`], too.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// db.insert("version", "7")?;
    /// let tx = db.begin();
    /// tx.expect(&db, "version", Some(b"7"))?;
    /// tx.insert(&db, "name", "new")?;
    /// assert_eq!(tx.expect(&db, "version", None).unwrap_err().cause, ogive::Cause::Conflict);
    /// db.insert("version", "8")?;
    /// assert_eq!(tx.commit().unwrap_err().cause, ogive::Cause::Conflict);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::Conflict`], which names the keyspace and the key; as [`Keyspace::get`].
    pub fn expect(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>, value: Option<&[u8]>) -> Result<()> {
        self.expect_equal(keyspace.as_ref(), key.as_ref(), |found| Ok(found == value))
    }

    /// As [`Self::expect`], but values are compared as these types have them, like
    /// [`PinnedTypes::compare_and_swap`] does.
    ///
    /// # Errors
    /// As there; [`Cause::Input`] for a value that is not of these types.
    pub fn expect_as(&self, types: &PinnedTypes, key: impl AsRef<[u8]>, value: Option<&[u8]>) -> Result<()> {
        self.expect_equal(types.keyspace(), key.as_ref(), |found| types.are_equal(found, value))
    }

    fn expect_equal(
        &self,
        keyspace: &Keyspace,
        key: &[u8],
        is_equal: impl FnOnce(Option<&[u8]>) -> Result<bool>,
    ) -> Result<()> {
        let found = self.get(keyspace, key)?;
        {
            let mut state = self.shared.state.lock();
            // Whatever the isolation, unless what was found is its own.
            if state.isolation == Isolation::Snapshot && state.writes.get(keyspace.id(), key).is_none() {
                state.reads.add_point(keyspace.tree(), key);
                state.hold(&self.shared.db);
            }
        }
        match is_equal(found.as_deref())? {
            true => Ok(()),
            false => Err(Error::other_value(keyspace.path(), keyspace.name(), key)),
        }
    }

    /// The records whose keys are within `bounds`, in key order, from either end, with the writes up to now. The
    /// transaction has read the keys that were passed, and all of `bounds` once the range has ended.
    #[must_use]
    pub fn range<K: AsRef<[u8]>>(
        &self,
        keyspace: impl AsRef<Keyspace>,
        bounds: impl RangeBounds<K>,
    ) -> DbTransactionRange {
        let keyspace = keyspace.as_ref();
        let (start, end) = half_open(&bounds);
        let own = {
            let writes = &self.shared.state.lock().writes;
            (writes.within(keyspace.id(), &start, end.as_deref()), writes.removed(keyspace.id()))
        };
        // A keyspace that is altered from now on has been read.
        self.shared.add_range(keyspace.tree(), &[], Some(&[]));
        let passed = PassedKeys::new(&self.shared, keyspace.tree(), (start, end));
        DbTransactionRange::new(self.snapshot.range(keyspace, bounds), own, passed)
    }

    /// The records whose keys begin with `prefix`, as [`Self::range`] has them.
    #[must_use]
    pub fn prefix(&self, keyspace: impl AsRef<Keyspace>, prefix: impl AsRef<[u8]>) -> DbTransactionRange {
        self.range(keyspace, range_of_prefix(prefix.as_ref().to_vec()))
    }

    /// Sets the value of a key. Others see it after the commit.
    ///
    /// # Errors
    /// As [`Batch::commit`](crate::lsm::Batch::commit) has them for one operation; [`Cause::Input`] if the writes take
    /// more than [`DbWriteOptions::transaction_bytes`](crate::lsm::DbWriteOptions::transaction_bytes): the earlier ones
    /// are still there.
    pub fn insert(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let (keyspace, key, value) = (keyspace.as_ref(), key.as_ref(), value.as_ref());
        if let Some(ExpiryRule::AtField(_)) = keyspace.expiry()
            && let Some(expires_ms) = keyspace.written().expires_ms(value)?
        {
            let times = (expires_ms, self.now_ms());
            return self
                .write(keyspace, |writes, keyspace, limit| writes.add_expiring(keyspace, (key, value), times, limit));
        }
        self.write(keyspace, |writes, keyspace, limit| writes.add(keyspace, key, Some(value), limit))
    }

    /// Sets the value of a key until a time, as [`Keyspace::insert_with`] does. The transaction sees it as of its
    /// beginning.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_with(
        &self,
        keyspace: impl AsRef<Keyspace>,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expires: SystemTime,
    ) -> Result<()> {
        let record = (key.as_ref(), value.as_ref());
        let times = (unix_ms_of(expires), self.now_ms());
        self.write(keyspace.as_ref(), |writes, keyspace, limit| writes.add_expiring(keyspace, record, times, limit))
    }

    /// Removes a key, if present.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref();
        self.write(keyspace.as_ref(), |writes, keyspace, limit| writes.add(keyspace, key, None, limit))
    }

    /// Removes all keys in a range, those included that others write before the commit, at a cost independent of their
    /// number. They are not read by that.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// db.insert("cart 1", "fig")?;
    /// let tx = db.begin();
    /// tx.remove_range(&db, "cart ".."cart!")?;
    /// tx.insert(&db, "cart 2", "lime")?;
    /// assert_eq!((tx.get(&db, "cart 1")?, tx.prefix(&db, "cart ").count()), (None, 1));
    /// tx.commit()?;
    /// assert_eq!((db.get("cart 1")?, db.iter().count()), (None, 1));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove_range<K: AsRef<[u8]>>(
        &self,
        keyspace: impl AsRef<Keyspace>,
        range: impl RangeBounds<K>,
    ) -> Result<()> {
        self.write(keyspace.as_ref(), |writes, keyspace, limit| writes.add_removal(keyspace, &range, limit))
    }

    fn write(&self, keyspace: &Keyspace, add: impl FnOnce(&mut OwnWrites, &Keyspace, u64) -> Result<()>) -> Result<()> {
        let db = &self.shared.db;
        keyspace.check_store(db.open())?;
        let mut state = self.shared.state.lock();
        add(&mut state.writes, keyspace, db.core().options.transaction_limit_bytes())?;
        state.hold(db);
        Ok(())
    }

    /// The number of writes up to now, to which [`Self::rollback_to`] goes back.
    #[must_use]
    pub fn savepoint(&self) -> usize {
        self.shared.state.lock().writes.len()
    }

    /// Reads keys as it does, as long as anybody needs it.
    pub(crate) fn reader(&self) -> impl Fn(&Keyspace, &[u8]) -> Result<Option<Slice>> + Send + Sync + use<> {
        let (shared, snapshot) = (Arc::clone(&self.shared), self.snapshot.clone());
        move |keyspace, key| shared.get(&snapshot, keyspace, key)
    }

    /// Undoes the writes since a savepoint. What was read since stays read.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let tx = db.begin();
    /// tx.insert(&db, "apple", "red")?;
    /// let savepoint = tx.savepoint();
    /// tx.insert(&db, "apple", "green")?;
    /// tx.rollback_to(savepoint);
    /// tx.commit()?;
    /// assert_eq!(db.get("apple")?.as_deref(), Some(&b"red"[..]));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    pub fn rollback_to(&self, savepoint: usize) {
        let mut state = self.shared.state.lock();
        state.writes.truncate(savepoint);
        state.entries.clear();
    }

    /// Applies all writes atomically, unless others have written what was read since the transaction began. A
    /// transaction without writes never conflicts, and one that has read nothing is committed as a batch is.
    ///
    /// # Errors
    /// [`Cause::Conflict`], which names the keyspace, and the key if it is about one: begin again; as
    /// [`Batch::commit`](crate::lsm::Batch::commit). After a conflict nothing has changed.
    pub fn commit(self) -> Result<()> {
        let core = self.shared.db.core();
        let left = TransactionState::new(0);
        let state = std::mem::replace(&mut *self.shared.state.lock(), left);
        let mut reads = state.reads;
        if state.isolation == Isolation::Snapshot && core.checks().has(ConflictCheck::OwnWrites) {
            state.writes.add_to(&mut reads);
        }
        let mut operations = state.writes.into_operations()?;
        operations.set_condition(ReadCondition { reads, after: self.snapshot.sequence() });
        core.commit(operations, self.durability)
    }
}

impl Db {
    /// Begins a transaction, which is committed at most once: [`Self::transaction`] runs one again after a conflict.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::{Cause, ErrorKind};
    ///
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let tx = db.begin();
    /// if tx.get(&db, "door")?.is_none() {
    ///     tx.insert(&db, "door", "mine")?;
    /// }
    /// db.insert("door", "yours")?;
    /// let conflict = tx.commit().unwrap_err();
    /// assert_eq!((conflict.cause, conflict.kind()), (Cause::Conflict, ErrorKind::Busy));
    /// assert!(conflict.to_string().contains("door"));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn begin(&self) -> DbTransaction {
        DbTransaction::new(self)
    }

    /// Runs a transaction and commits it; after a conflict, runs `work` again in another one, at most 64 times or 10
    /// seconds in all, with random pauses. An error of `work` ends it, and nothing is committed.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::{Db, Error};
    ///
    /// # let db = Db::open(storage, &ogive::DbOptions::default())?;
    /// let accounts = db.keyspace("accounts")?.typed::<str, u64>()?;
    /// accounts.insert("ada", 100)?;
    /// let moved = db.transaction(|tx| {
    ///     let accounts = tx.typed(&accounts);
    ///     let from = accounts.load("ada")?.unwrap_or(0);
    ///     let to = accounts.load("bob")?.unwrap_or(0);
    ///     if from < 30 {
    ///         return Ok(false);
    ///     }
    ///     accounts.insert("ada", from - 30)?;
    ///     accounts.insert("bob", to + 30)?;
    ///     Ok::<_, Error>(true)
    /// })?;
    /// assert!(moved);
    /// assert_eq!((accounts.load("ada")?, accounts.load("bob")?), (Some(70), Some(30)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `work`; as [`DbTransaction::commit`], with the last conflict.
    pub fn transaction<T, E: From<Error>>(
        &self,
        mut work: impl FnMut(&mut DbTransaction) -> Result<T, E>,
    ) -> Result<T, E> {
        let timer = Timer::start();
        let mut runs = 0;
        loop {
            let mut transaction = self.begin();
            let done = work(&mut transaction)?;
            runs += 1;
            match transaction.commit() {
                Ok(()) => return Ok(done),
                Err(Error { cause: Cause::Conflict, .. }) if runs < RUNS_MAX && timer.elapsed_s() < RUNS_S_MAX => {
                    pause(runs);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Waits before a transaction is run again, after this number of runs.
fn pause(runs: u32) {
    let most_us = WAIT_US * f64::from(1 << runs.min(WAIT_DOUBLINGS_MAX));
    pause_randomly(most_us);
}

impl Keyspace {
    /// Atomically replaces the value of a key by what `change` makes of it, or removes it if that is `None`; returns
    /// the value before. `change` gets the value, or `None` if the key is absent, and is called again if another write
    /// came in between.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// db.update("log", |old| Some([old.unwrap_or_default(), b"x"].concat()))?;
    /// let before = db.update("log", |old| Some([old.unwrap_or_default(), b"y"].concat()))?;
    /// assert_eq!(before.as_deref(), Some(&b"x"[..]));
    /// assert_eq!(db.get("log")?.as_deref(), Some(&b"xy"[..]));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::get`], [`Self::insert`] and [`Db::transaction`].
    pub fn update(
        &self,
        key: impl AsRef<[u8]>,
        mut change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Slice>> {
        let key = key.as_ref();
        self.store()?.transaction(|transaction| {
            let before = transaction.get(self, key)?;
            match change(before.as_deref()) {
                Some(after) => transaction.insert(self, key, after)?,
                None => transaction.remove(self, key)?,
            }
            Ok(before)
        })
    }
}
