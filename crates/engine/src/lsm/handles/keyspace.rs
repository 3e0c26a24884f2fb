//! Keyspaces: named, independent key spaces of a store, with their read and write methods.

use super::open::Open;
use super::range::DbRange;
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::io::FastPaths;
use crate::lsm::core::store::Core;
use crate::lsm::read::batch_get;
use crate::lsm::read::value_wave::BatchLimits;
use crate::lsm::state::delivered::DeliveredHead;
use crate::lsm::state::entry::{Action, KeyspaceId, ValueKind};
use crate::lsm::state::expiry::rule::ExpiryRule;
use crate::lsm::state::expiry::store_time::{ReadPoint, system_time_of, unix_ms_of};
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::operations::{Operations, check_key};
use crate::lsm::state::tables::level::LevelTables;
use crate::lsm::state::tables::value_files::ValueFiles;
use crate::lsm::state::value_forms::HandleTypes;
use crate::lsm::state::version::KeyspaceOptions;
use crate::lsm::state::view::{CopyValue, FoundValue, ShareValue};
use crate::lsm::state::written_keyspace::WrittenKeyspace;
use crate::table::LookupSample;
use crate::table::read::lookup::LookupStep;
use crate::types::{RecordType, range_of_prefix};
use crate::vlog::{ValueFilePointer, ValueStream};
use std::borrow::Cow;
use std::io::Read;
use std::ops::{Bound, RangeBounds};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A named, independent map from keys to values within a store. It is cheap to clone, and can be used by many threads.
/// One [`Batch`](crate::lsm::Batch) may change several keyspaces. A [`Db`](crate::lsm::Db) acts as its keyspace
/// `default`.
///
/// Keys are byte strings of at most 64 KiB in bytewise order; encode integers as big-endian. Values have at most 1 GiB.
#[derive(Clone, Debug)]
pub struct Keyspace {
    open: Arc<Open>,
    /// The keyspace, with what writes of this handle state.
    written: WrittenKeyspace,
}

/// Handles are equal if they are of one keyspace: one that was dropped and made again is another.
impl PartialEq for Keyspace {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Keyspace {}

/// The outcome of a conditional write, such as [`Keyspace::compare_and_swap`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the write may not have been made"]
pub enum Swap<V = Slice> {
    /// The write was made.
    Done,
    /// Nothing was written: the key has this value, or none.
    Mismatch(Option<V>),
}

impl<V> Swap<V> {
    /// Whether the write was made.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// The current value of the key, with another type.
    pub(crate) fn map<W>(self, with: impl FnOnce(V) -> W) -> Swap<W> {
        match self {
            Self::Done => Swap::Done,
            Self::Mismatch(current) => Swap::Mismatch(current.map(with)),
        }
    }
}

impl AsRef<Keyspace> for Keyspace {
    fn as_ref(&self) -> &Keyspace {
        self
    }
}

impl Keyspace {
    pub(in crate::lsm) fn new(open: Arc<Open>, tree: Arc<KeyspaceTree>) -> Self {
        Self { open, written: WrittenKeyspace::new(tree) }
    }

    /// The same keyspace of the same store, with what writes are to state.
    pub(super) fn with(&self, written: WrittenKeyspace) -> Self {
        Self { open: Arc::clone(&self.open), written }
    }

    /// The keyspace, with what writes of this handle state.
    #[inline]
    pub(in crate::lsm) fn written(&self) -> &WrittenKeyspace {
        &self.written
    }

    pub(in crate::lsm) fn open(&self) -> &Arc<Open> {
        &self.open
    }

    pub(in crate::lsm) fn id(&self) -> KeyspaceId {
        self.written.id()
    }

    /// Its number, which no other keyspace of the store ever has.
    pub(crate) fn number(&self) -> u32 {
        self.id()
    }

    pub(in crate::lsm) fn tree(&self) -> &Arc<KeyspaceTree> {
        self.written.tree()
    }

    pub(in crate::lsm) fn core(&self) -> &Core {
        &self.open.core
    }

    /// An estimate of the number of records, and the bytes of tables and memtables. Each version of a record counts,
    /// and so do removals that are not compacted away yet.
    #[must_use]
    pub fn estimate(&self) -> (u64, u64) {
        let view = self.tree().view.get();
        let levels = view.levels.numbered().flat_map(|(_, level)| level.tables());
        let tables = view.levels.newest.iter().chain(levels).map(|file| (file.meta.records, file.meta.bytes));
        let memtables = view.sealed.iter().chain([&view.active]);
        let memtables = memtables.map(|memtable| (memtable.len() as u64, memtable.memory_bytes()));
        tables.chain(memtables).fold((0, 0), |(rows, bytes), (more, longer)| (rows + more, bytes + longer))
    }

    /// Keys, ascending, that cut the records into at most `parts` parts of about equal size, each at the first key of a
    /// table; fewer if there are fewer tables.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// let db = ogive::lsm::Db::open(storage, &ogive::lsm::DbOptions::default())?;
    /// db.insert("apple", "green")?;
    /// assert!(db.split_keys(4).is_empty());
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn split_keys(&self, parts: usize) -> Vec<Vec<u8>> {
        let view = self.tree().view.get();
        let records = |level: &LevelTables| level.tables().iter().map(|table| table.meta.records).sum::<u64>();
        let largest = view.levels.numbered().map(|(_, level)| level).max_by_key(|level| records(level));
        let Some((tables, records)) = largest.map(|level| (level.tables(), records(level).max(1))) else {
            return Vec::new();
        };
        let (mut before, mut part, mut keys) = (0, 0, Vec::new());
        for table in tables {
            let reached = before as u128 * parts as u128 / u128::from(records);
            if reached > part {
                keys.push(table.meta.smallest.clone());
                part = reached;
            }
            before += table.meta.records;
        }
        keys
    }

    /// The folder of the store, for error messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.core().path()
    }

    /// The name of the keyspace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.written.name()
    }

    /// The options that this keyspace has other than those of the store.
    #[must_use]
    pub fn options(&self) -> KeyspaceOptions {
        self.core().keyspace_options(self.id())
    }

    /// Replaces the options of this keyspace, on the open store. They are recorded: every program that opens the store
    /// has them, and checkpoints, backups and repaired stores do. Values and tables that are written from now on have
    /// them; what is there stays as it is, until a compaction writes it anew. A value that was written before stays
    /// where it is, beside its key or in the value log.
    ///
    /// The first call gives the store the format [`OPTIONS_FORMAT`](crate::lsm::OPTIONS_FORMAT), which older programs
    /// refuse.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let photos = db.keyspace("photos")?;
    /// photos.set_options(&photos.options().separation_bytes(256).block_bytes(16 << 10))?;
    /// assert_eq!(db.keyspace("photos")?.options().separation_bytes, Some(256));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for options that no table can have; as
    /// [`Batch::commit`](crate::lsm::Batch::commit).
    pub fn set_options(&self, options: &KeyspaceOptions) -> Result<()> {
        self.core().set_keyspace_options(self.tree(), options)
    }

    /// Whether there is no record. Reads keys alone, so that no value is too long for it.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// let db = ogive::lsm::Db::open(storage, &ogive::lsm::DbOptions::default())?;
    /// assert!(db.is_empty()?);
    /// db.insert("apple", "green")?;
    /// assert!(!db.is_empty()?);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub fn is_empty(&self) -> Result<bool> {
        self.core().is_empty_at(self.tree(), ReadPoint::NEWEST)
    }

    /// Refuses a keyspace of another store.
    pub(super) fn check_store(&self, open: &Arc<Open>) -> Result<()> {
        if Arc::ptr_eq(&self.open, open) {
            return Ok(());
        }
        let detail = format!("the keyspace {:?} belongs to another store, {}", self.name(), self.path().display());
        Err(Error::input(detail))
    }

    pub(super) fn check_alive(&self) -> Result<()> {
        if self.tree().is_dropped() {
            return Err(self.core().gone(self.tree()));
        }
        Ok(())
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// As [`Batch::commit`](crate::lsm::Batch::commit).
    pub fn insert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let mut operations = Operations::default();
        operations.push(self.written(), Action::Put(ValueKind::Value), key.as_ref(), value.as_ref());
        self.write(operations)
    }

    /// As [`Self::insert`], of a record that expires: from that time on it is as if it were removed, for all readers
    /// that begin later. Snapshots and transactions see it as of their beginning. A time that has passed is allowed,
    /// and makes the record absent at once. Compactions drop it [an hour](crate::lsm::DbExpiryOptions::grace) after it
    /// expired.
    ///
    /// The time that counts is that of the machine, but it never goes back, and is not taken for right if it is
    /// [far ahead](crate::lsm::DbExpiryOptions::clock_ahead_max). With the first such record, the store gets the format
    /// [`EXPIRING_FORMAT`](crate::lsm::EXPIRING_FORMAT), which older programs refuse.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use std::time::{Duration, SystemTime};
    ///
    /// let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// db.insert_with("session 7", "ada", SystemTime::now() + Duration::from_secs(3600))?;
    /// db.insert_with("session 8", "bob", SystemTime::now() - Duration::from_secs(1))?;
    /// assert_eq!(db.get("session 7")?.as_deref(), Some(&b"ada"[..]));
    /// assert_eq!(db.get("session 8")?, None);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::insert`]; [`Cause::Input`](crate::Cause::Input), with both times, while the clock is too far ahead.
    pub fn insert_with(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, expires: SystemTime) -> Result<()> {
        let mut operations = Operations::default();
        operations.push_value(self.written(), key.as_ref(), value.as_ref(), Some(unix_ms_of(expires)));
        self.write(operations)
    }

    /// Lets records expire so long after they are written, from now on; with `None`, none expires that is written
    /// without [a time of its own](Self::insert_with). It is recorded, and holds for all who write, but not for tables
    /// that are ingested, nor for the records that are there.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::lsm::ExpiryRule;
    /// use std::time::Duration;
    ///
    /// let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let sessions = db.keyspace("sessions")?;
    /// sessions.expire_after(Some(Duration::from_secs(30 * 60)))?;
    /// sessions.insert("7", "ada")?;
    /// assert_eq!(sessions.expiry(), Some(ExpiryRule::After(Duration::from_secs(30 * 60))));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::insert_with`].
    pub fn expire_after(&self, after: Option<Duration>) -> Result<()> {
        self.core().set_expiry_rule(self.tree(), after.map(ExpiryRule::After))
    }

    /// As [`Self::expire_after`], but records expire at the time in a field of their rows, a timestamp in UTC. A row
    /// with a null there does not expire.
    ///
    /// # Errors
    /// As [`Self::insert_with`]; [`Cause::Input`](crate::Cause::Input) if the rows have no such timestamp.
    pub fn expire_at_field(&self, field: &str) -> Result<()> {
        self.core().set_expiry_rule(self.tree(), Some(ExpiryRule::AtField(field.to_owned())))
    }

    /// The time at which a value that is written now expires by the rule of the keyspace, if it does.
    pub(crate) fn expiry_of_value(&self, value: &[u8]) -> Result<Option<SystemTime>> {
        Ok(if self.tree().has_expiry_rule() { self.written().expires_ms(value)?.map(system_time_of) } else { None })
    }

    /// Whether the store may have records that expire.
    pub(crate) fn may_expire(&self) -> bool {
        self.core().contents.time.is_used()
    }

    /// The rule by which records expire that are written without a time of their own, if there is one.
    #[must_use]
    pub fn expiry(&self) -> Option<ExpiryRule> {
        self.tree().expiry_rule()
    }

    /// As [`Self::insert`], of a key that is absent, as the caller knows: in a keyspace with indexes, no row is read
    /// that it might replace. If there was one, its entries stay behind. Lookups pass over them, and
    /// [`Db::verify`](crate::Db::verify) finds them; after that, the index is dropped and created again.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let mut operations = Operations::default();
        operations.push(self.written(), Action::Put(ValueKind::Value), key.as_ref(), value.as_ref());
        if operations.have_indexes() {
            operations.trust_absence();
        }
        self.write(operations)
    }

    /// Sets the value of a key to the contents of a stream, which are never in memory as a whole. Other writes wait in
    /// the meantime, so the stream itself must not write to the same store.
    ///
    /// # Errors
    /// As [`Self::insert`]; errors of the stream.
    pub fn insert_stream(&self, key: impl AsRef<[u8]>, value: &mut dyn Read) -> Result<()> {
        check_key(self.written(), key.as_ref())?;
        self.written.check_value_bytes(1)?;
        self.core().commit_stream(self.written(), key.as_ref(), value, None)
    }

    /// Removes a key, if present.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<()> {
        let mut operations = Operations::default();
        operations.push(self.written(), Action::Put(ValueKind::Remove), key.as_ref(), &[]);
        self.write(operations)
    }

    /// Removes all keys in a range, at a cost independent of their number.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove_range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<()> {
        let mut operations = Operations::default();
        operations.push_range(self.written(), &range);
        self.write(operations)
    }

    /// As [`Db::compact`](crate::Db::compact), for the tables of this keyspace that have keys of a range, and those
    /// that overlap them: the rest of the store is left as it is. Entries in memory are flushed before.
    ///
    /// # Errors
    /// As [`Db::compact`](crate::Db::compact).
    pub fn compact_range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<()> {
        let bound = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        let (start, end) = (bound(range.start_bound()), bound(range.end_bound()));
        self.core().flush()?;
        self.core().compact_range(self.id(), (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice)))
    }

    fn write(&self, mut operations: Operations) -> Result<()> {
        operations.take_error()?;
        self.core().commit(operations, None)
    }

    /// Atomically sets the value of a key to `new` (`None` removes it) if its value is `expected` (`None` if it is
    /// absent). [`Self::insert_if_absent`], [`Self::replace_if`] and [`Self::remove_if`] take anything that has bytes.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::lsm::Swap;
    ///
    /// let db = ogive::lsm::Db::open(storage, &ogive::lsm::DbOptions::default())?;
    /// assert!(db.compare_and_swap("lock", None, Some(b"mine"))?.is_done());
    /// match db.compare_and_swap("lock", None, Some(b"yours"))? {
    ///     Swap::Mismatch(Some(current)) => assert_eq!(&*current, b"mine"),
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::insert`] and [`Self::get`].
    pub fn compare_and_swap(&self, key: impl AsRef<[u8]>, expected: Option<&[u8]>, new: Option<&[u8]>) -> Result<Swap> {
        self.swap_if(key.as_ref(), new, |current| {
            let is_expected = current.as_deref() == expected;
            Ok((current, is_expected))
        })
    }

    /// Atomically sets the value of a key to `new`, or removes it, if `is_expected` says so of its current value, which
    /// it returns as a mismatch has it.
    pub(super) fn swap_if(
        &self,
        key: &[u8],
        new: Option<&[u8]>,
        is_expected: impl Fn(Option<Slice>) -> Result<(Option<Slice>, bool)>,
    ) -> Result<Swap> {
        let mut found = None;
        let condition = || {
            let (current, is_expected) = is_expected(self.get(key)?)?;
            found = Some(current);
            Ok(is_expected)
        };
        match self.set_if(key, new, condition)? {
            true => Ok(Swap::Done),
            false => Ok(Swap::Mismatch(found.flatten())),
        }
    }

    /// Atomically sets the value of a key to `new`, or removes it, if `condition` holds; returns whether it did.
    fn set_if(&self, key: &[u8], new: Option<&[u8]>, condition: impl FnMut() -> Result<bool>) -> Result<bool> {
        let mut operations = Operations::default();
        let kind = if new.is_some() { ValueKind::Value } else { ValueKind::Remove };
        operations.push(self.written(), Action::Put(kind), key, new.unwrap_or_default());
        operations.take_error()?;
        self.core().commit_if(condition, operations, None)
    }

    /// Atomically sets the value of a key that is absent; returns whether it was. As [`Self::insert_if_absent`], but
    /// without the current value, which is not read and so never too long.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// let db = ogive::lsm::Db::open(storage, &ogive::lsm::DbOptions::default())?;
    /// assert!(db.insert_new("lock", "mine")?);
    /// assert!(!db.insert_new("lock", "yours")?);
    /// assert!(db.remove_present("lock")?);
    /// assert!(!db.remove_present("lock")?);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::insert`] and [`Self::contains_key`].
    pub fn insert_new(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        self.set_if(key, Some(value.as_ref()), || Ok(!self.contains_key(key)?))
    }

    /// Atomically removes a key; returns whether it was present. Its value is not read.
    ///
    /// # Errors
    /// As [`Self::insert`] and [`Self::contains_key`].
    pub fn remove_present(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        self.set_if(key, None, || self.contains_key(key))
    }

    /// Atomically sets the value of a key that is absent.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// let db = ogive::lsm::Db::open(storage, &ogive::lsm::DbOptions::default())?;
    /// assert!(db.insert_if_absent("lock", b"mine")?.is_done());
    /// assert!(!db.insert_if_absent("lock", b"yours")?.is_done());
    /// assert!(db.replace_if("lock", "mine", 7_u64.to_be_bytes())?.is_done());
    /// assert!(db.remove_if("lock", 7_u64.to_be_bytes())?.is_done());
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::compare_and_swap`].
    pub fn insert_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Swap> {
        self.compare_and_swap(key, None, Some(value.as_ref()))
    }

    /// Atomically sets the value of a key to `new` if its value is `expected`.
    ///
    /// # Errors
    /// As [`Self::compare_and_swap`].
    pub fn replace_if(&self, key: impl AsRef<[u8]>, expected: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Result<Swap> {
        self.compare_and_swap(key, Some(expected.as_ref()), Some(new.as_ref()))
    }

    /// Atomically removes a key if its value is `expected`.
    ///
    /// # Errors
    /// As [`Self::compare_and_swap`].
    pub fn remove_if(&self, key: impl AsRef<[u8]>, expected: impl AsRef<[u8]>) -> Result<Swap> {
        self.compare_and_swap(key, Some(expected.as_ref()), None)
    }

    /// A sample of the keys that are looked up in this keyspace from now on, by all its handles and snapshots, until
    /// the store is closed. Without a call, nothing is sampled; later calls return the same sample, whatever its size.
    #[must_use]
    pub fn sample_lookups(&self, keys: usize) -> LookupSample {
        self.tree().lookup_sample.get_or_init(|| LookupSample::new(keys)).clone()
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// `Cause::ValueTooLarge` for a value larger than the memory limit: read it with [`Self::get_stream`];
    /// [`Cause::KeyspaceDropped`](crate::Cause::KeyspaceDropped); errors of the storage, and damage.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.find(key.as_ref(), ReadPoint::NEWEST, |_| {}, |found, values| self.value(found, values))
    }

    /// As [`Self::get`]; calls `ended` at the end of each step, to measure where the time of lookups goes.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_observed(&self, key: impl AsRef<[u8]>, ended: &dyn Fn(LookupStep)) -> Result<Option<Slice>> {
        let value = self.find(key.as_ref(), ReadPoint::NEWEST, ended, |found, values| self.value(found, values))?;
        ended(LookupStep::ReadValue);
        Ok(value)
    }

    /// Copies the value of a key into `value`, replacing its contents; returns `false` and clears `value` if the key is
    /// absent. Reusing the buffer avoids allocations.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_into(&self, key: impl AsRef<[u8]>, value: &mut Vec<u8>) -> Result<bool> {
        self.core().telemetry.gets.add(1);
        self.note_lookup(key.as_ref());
        value.clear();
        let limit_bytes = self.core().options.memory_bytes;
        self.check_alive()?;
        loop {
            let view = self.tree().view.peek();
            match view.find(key.as_ref(), ReadPoint::NEWEST.up_to(self.core().visible()), CopyValue(value))? {
                Some((ValueKind::Pointer, ())) if !self.tree().has_current(&view) => value.clear(),
                Some((ValueKind::Pointer, ())) => {
                    let pointer = std::mem::take(value);
                    view.values.get_into(&pointer, limit_bytes, value, &|| self.path())?;
                    return self.deliver_into(value).map(|()| true);
                }
                Some(_) => return self.deliver_into(value).map(|()| true),
                None => {
                    value.clear();
                    self.written.check_types()?;
                    return self.check_alive().map(|()| false);
                }
            }
        }
    }

    /// Makes a stored value one that this handle reads.
    fn deliver_into(&self, value: &mut Vec<u8>) -> Result<()> {
        let delivered = match self.written.delivered(value)? {
            Cow::Borrowed(delivered) => Err(value.len() - delivered.len()),
            Cow::Owned(delivered) => Ok(delivered),
        };
        match delivered {
            Ok(delivered) => *value = delivered,
            Err(skip) => drop(value.drain(..skip)),
        }
        Ok(())
    }

    /// Returns the value of a key as a stream, whatever its length.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_stream(&self, key: impl AsRef<[u8]>) -> Result<Option<Box<dyn Read + Send>>> {
        self.find(
            key.as_ref(),
            ReadPoint::NEWEST,
            |_| {},
            |found, values| match found {
                (ValueKind::Pointer, pointer) => {
                    let stream: ValueStream = values.stream(&pointer, &|| self.path())?;
                    let bytes = ValueFilePointer::decode(&pointer).map_or(0, |pointer| pointer.length);
                    self.delivered_stream(stream, bytes)
                }
                (_, value) => {
                    let value = self.written.delivered_slice(value)?;
                    Ok(Box::new(std::io::Cursor::new(value)) as Box<dyn Read + Send>)
                }
            },
        )
    }

    /// A stored value of this length as a stream that this handle reads.
    fn delivered_stream(&self, mut stored: ValueStream, bytes: u64) -> Result<Box<dyn Read + Send>> {
        let types = self.written.types().map(|types| &**types);
        if self.tree().is_delivered_unchanged(types) {
            return Ok(Box::new(stored));
        }
        let mut first = Vec::new();
        let read = Read::by_ref(&mut stored).take(self.tree().head_bytes_max() as u64).read_to_end(&mut first);
        read.map_err(|error| Error::io("read", self.path(), error))?;
        let DeliveredHead { head, rest } = self.tree().delivered_head(types, &first, bytes)?;
        let first = std::io::Cursor::new(first.split_off(rest.at.min(first.len())));
        Ok(Box::new(std::io::Cursor::new(head).chain(first.chain(stored).take(rest.bytes as u64))))
    }

    /// Whether a key is present; its value is not read.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.contains_at(key.as_ref(), ReadPoint::NEWEST)
    }

    /// Returns the values of many keys, in their order and all as of the same time. The blocks and values that are not
    /// in memory are read side by side, in waves that take at most a sixteenth of the memory of the store.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<Slice>>> {
        self.multi_get_at(&keys.into_iter().collect::<Vec<K>>(), ReadPoint::NEWEST, u64::MAX)
    }

    /// The values of the first of several keys, as [`Self::multi_get`] returns them: as many as take `room_bytes`
    /// together, with the blocks that they share, and that of one key in any case. Values in value files are read only
    /// where there is room for them.
    ///
    /// # Errors
    /// As [`Self::get`].
    #[doc(hidden)]
    pub fn multi_get_within<K: AsRef<[u8]>>(&self, keys: &[K], room_bytes: u64) -> Result<Vec<Option<Slice>>> {
        self.multi_get_at(keys, ReadPoint::NEWEST, room_bytes)
    }

    pub(super) fn multi_get_at<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        point: ReadPoint,
        room_bytes: u64,
    ) -> Result<Vec<Option<Slice>>> {
        self.check_alive()?;
        let (view, point) = self.core().view_at(self.tree(), point);
        let FastPaths { batches, prefetch, .. } = self.core().options.fast_paths;
        let keys_max = match room_bytes {
            u64::MAX => keys.len(),
            // A value that is not in a value file may keep a block of its own.
            _ if batches && prefetch => usize::try_from(room_bytes / view.block_bytes()).unwrap_or(usize::MAX).max(1),
            _ => 1,
        };
        let keys = keys.get(..keys_max).unwrap_or(keys);
        self.core().telemetry.batched_gets.add(keys.len() as u64);
        keys.iter().for_each(|key| self.note_lookup(key.as_ref()));
        // In key order, blocks read for one key serve the next.
        let mut order: Vec<usize> = (0..keys.len()).collect();
        if batches {
            order.sort_by(|&one, &other| keys[one].as_ref().cmp(keys[other].as_ref()));
        }
        let values = if batches && prefetch {
            let limits = BatchLimits { memory_bytes: self.core().options.memory_bytes, path: &|| self.path() };
            let found = batch_get::multi_get(&view, point, keys, &order, room_bytes, &limits)?;
            let deliver = |value: Option<Slice>| value.map(|value| self.written.delivered_slice(value)).transpose();
            found.into_iter().map(deliver).collect::<Result<_>>()?
        } else {
            let (mut values, point) = (vec![None; keys.len()], point.fixed(&view.time));
            for index in order {
                if let Some(found) = view.find(keys[index].as_ref(), point, ShareValue(|_| {}))? {
                    values[index] = Some(self.value(found, &view.values)?);
                }
            }
            values
        };
        self.check_alive()?;
        self.written.check_types()?;
        Ok(values)
    }

    /// The records whose keys are within `bounds`, in key order, from either end.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// let db = ogive::lsm::Db::open(storage, &ogive::lsm::DbOptions::default())?;
    /// for (key, value) in [("a", "1"), ("b", "2"), ("c", "3")] {
    ///     db.insert(key, value)?;
    /// }
    /// let (key, value) = db.range("b"..).rev().next().expect("there are two")?;
    /// assert_eq!((&*key, &*value), (&b"c"[..], &b"3"[..]));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn range<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> DbRange {
        self.range_at(bounds, ReadPoint::NEWEST)
    }

    /// The records whose keys begin with `prefix`.
    #[must_use]
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> DbRange {
        self.prefix_at(prefix.as_ref(), ReadPoint::NEWEST)
    }

    /// All records.
    #[must_use]
    pub fn iter(&self) -> DbRange {
        self.range::<&[u8]>(..)
    }

    pub(super) fn get_at(&self, key: &[u8], point: ReadPoint) -> Result<Option<Slice>> {
        self.find(key, point, |_| {}, |found, values| self.value(found, values))
    }

    pub(super) fn contains_at(&self, key: &[u8], point: ReadPoint) -> Result<bool> {
        Ok(self.find(key, point, |_| {}, |_, _| Ok(()))?.is_some())
    }

    pub(super) fn range_at<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>, point: ReadPoint) -> DbRange {
        let own = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        DbRange::new(self.clone(), (own(bounds.start_bound()), own(bounds.end_bound())), point)
    }

    pub(super) fn prefix_at(&self, prefix: &[u8], point: ReadPoint) -> DbRange {
        DbRange::new(self.clone(), range_of_prefix(prefix.to_vec()), point)
    }

    /// Adds a lookup to the sample, if there is one.
    #[inline]
    pub(super) fn note_lookup(&self, key: &[u8]) {
        if let Some(sample) = self.tree().lookup_sample.get() {
            sample.note(key);
        }
    }

    /// Finds the record of a key at a point, and converts it by `read`.
    fn find<T>(
        &self,
        key: &[u8],
        point: ReadPoint,
        ended: impl Fn(LookupStep) + Copy,
        read: impl FnOnce(FoundValue, &ValueFiles) -> Result<T>,
    ) -> Result<Option<T>> {
        self.core().telemetry.gets.add(1);
        self.note_lookup(key.as_ref());
        self.check_alive()?;
        loop {
            // The view is taken first: it may lack later operations, but must not miss any visible one.
            let view = self.tree().view.peek();
            let found = view.find(key, point.up_to(self.core().visible()), ShareValue(ended))?;
            if matches!(found, Some((ValueKind::Pointer, _))) && !self.tree().has_current(&view) {
                continue;
            }
            if found.is_none() {
                // The view of a keyspace that was dropped, or of a store that was closed, is empty.
                self.check_alive()?;
            }
            let read = found.map(|found| read(found, &view.values)).transpose()?;
            self.written.check_types()?;
            return Ok(read);
        }
    }

    /// The value of an entry, as this handle reads it.
    pub(in crate::lsm) fn value(&self, found: FoundValue, values: &ValueFiles) -> Result<Slice> {
        let stored = match found {
            (ValueKind::Pointer, pointer) => values.get(&pointer, self.core().options.memory_bytes, &|| self.path())?,
            (_, value) => value,
        };
        self.written.delivered_slice(stored)
    }

    /// The same keyspace, whose values are read by these types, from now on and whatever they become: an error is
    /// [`Cause::WrongType`](crate::Cause::WrongType), once they cannot be shown so.
    #[doc(hidden)]
    #[must_use]
    pub fn reading_as(&self, types: &Arc<RecordType>) -> Self {
        self.of_types(types, self.tree().types.peek().generation_of(types))
    }

    /// The same keyspace, whose values are read and written by types that it had in this generation, or 0.
    pub(super) fn of_types(&self, types: &Arc<RecordType>, generation: u64) -> Self {
        let form = self.tree().types.peek().forms.current;
        let types = HandleTypes { types: Arc::clone(types), generation, form };
        self.with(self.written().clone().of_types(Some(Arc::new(types))))
    }

    /// The same keyspace in another view, read by the types by which `handle` reads.
    pub(super) fn read_as(self, handle: &Self) -> Self {
        let types = handle.written.types().cloned();
        let written = self.written.clone().of_types(types);
        self.with(written)
    }
}
