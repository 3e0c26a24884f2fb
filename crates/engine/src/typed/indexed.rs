//! Secondary indexes of keyspaces: multimaps from a value that a function derives from a record to the key of the
//! record, written in the same batch as the record.

use super::data::{TypedData, TypedKey, TypedValue, append_component, take_variable};
use super::guard::{TypedGuard, TypedRange, TypedRecord, wrong};
use super::keyspace::TypedKeyspace;
use super::multimap::{MultimapRange, TypedMultimap, TypedPart};
use super::parts::{TypedParts, TypedPrefix};
use crate::block::Slice;
use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::local::sync::{Mutex, MutexGuard};
use crate::lsm::{Batch, Db, DbRange, DbTransactionRange, Keyspace, PinnedTypes};
use crate::table::KEY_BYTES_MAX;
use crate::types::{Component, KeyType, range_of_prefix};
use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

/// In front of the number of an index, in the keyspace of notes: whose index it is. Numbers of keyspaces do not begin
/// so.
const OWNER: &[u8] = b"\xffowner";

/// Entries of an index that are built in one batch.
const BUILD_ENTRIES: u64 = 1000;

/// Indexes are checked for completeness and built one at a time.
static BUILDING: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);

/// While it is held, no index is built.
pub(super) fn building() -> MutexGuard<'static, ()> {
    BUILDING.lock()
}

impl Keyspace {
    /// The name of a keyspace that is noted as a secondary index of this one, if there is any.
    pub(super) fn index_of_it(&self) -> Result<Option<String>> {
        let db = self.store()?;
        let Some(notes) = db.found_index_notes() else { return Ok(None) };
        for name in db.keyspaces() {
            let entries = db.keyspace(&name)?.number().to_be_bytes();
            let owner = notes.get([OWNER, &entries].concat())?;
            let both = [self.number().to_be_bytes(), entries].concat();
            let is_noted = owner.is_some_and(|owner| *owner == self.number().to_be_bytes());
            if is_noted || notes.prefix(both).keys().next().transpose()?.is_some() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

/// The entry of a record, by the bytes of its key and its value; `None` if the index leaves the record out.
type EntryOf = dyn Fn(&[u8], &[u8]) -> Result<Option<Vec<u8>>> + Send + Sync;

#[derive(Clone)]
struct DeclaredIndex {
    name: String,
    pinned: PinnedTypes,
    components: Vec<Component>,
    entry_of: Arc<EntryOf>,
}

impl DeclaredIndex {
    /// The entry of a record; `None` if the index leaves the record out.
    ///
    /// # Errors
    /// [`Cause::KeyLength`] for an entry that is too long, which takes the indexed value and the key.
    fn entry(&self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        let entry = (self.entry_of)(key, value)?;
        match entry.as_ref().map_or(0, Vec::len) {
            length if length > KEY_BYTES_MAX => {
                let entries = self.pinned.keyspace();
                let detail = format!(
                    "an entry of the index {:?} consists of what it indexes and the key, here of {} bytes; entries \
                     have at most {KEY_BYTES_MAX} bytes",
                    self.name,
                    key.len()
                );
                Err(Error::key_length(entries.path(), length as u64, detail))
            }
            _ => Ok(entry),
        }
    }
}

/// The change of one index with a record: the entry that it loses, and the one that it gets.
pub(super) struct EntryChange<'a> {
    pub(super) entries: &'a Keyspace,
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

/// A typed keyspace with secondary indexes: see [`TypedKeyspace::with_index`]. It is cheap to clone.
///
/// Each write reads the old records, and commits the records and the entries of the indexes together if no other write
/// came in between; else it starts again. Threads may thus write through any handles that declare the same indexes.
/// Writes that bypass them, by [`Keyspace`] or [`TypedKeyspace`], leave the indexes as they were; [`Self::rebuild`]
/// repairs that.
pub struct IndexedKeyspace<K: ?Sized, V: ?Sized> {
    records: TypedKeyspace<K, V>,
    db: Db,
    indexes: Vec<DeclaredIndex>,
}

impl<K: TypedKey + TypedParts + ?Sized, V: TypedValue + ?Sized> TypedKeyspace<K, V> {
    /// The same keyspace with a secondary index, which contains the records for which `index` returns something.
    ///
    /// The function is of this program alone, so only it keeps the index; one that every write keeps, and that can be
    /// unique, is made by [`Db::create_index`]. The index is the keyspace `KEYSPACE.NAME`. It is built if records are
    /// there already; no other thread may write them in the meantime. If `index` changes, give it another name, or call
    /// [`IndexedKeyspace::rebuild`].
    ///
    /// Only writes through the returned handle, and through others that declare the same indexes, keep the index in
    /// step. Those through [`TypedKeyspace::insert`] and its other methods, a [`Keyspace`], a batch of either, or the
    /// command (`ogive db put`, `import`, `ingest`, `delete`) bypass it: it then lacks new records, and finds records
    /// by old values. Call [`IndexedKeyspace::rebuild`] after such writes. Entries expire with their records if these
    /// are written through it; for records that were there before, make an index by [`Db::create_index`].
    ///
    /// ```
    /// ogive::row! {
    ///     struct Order { item: String, amount: u32 }
    /// }
    ///
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let orders = db.keyspace("orders")?.typed::<u64, Order>()?;
    /// let orders = orders.with_index("by_item", |_, order| Some(order.item.clone()))?;
    /// orders.insert(1, Order { item: "fig".into(), amount: 3 })?;
    /// orders.insert(2, Order { item: "lime".into(), amount: 1 })?;
    /// orders.insert(2, Order { item: "fig".into(), amount: 1 })?;
    ///
    /// let by_item = orders.by::<str>("by_item")?;
    /// let keys: Vec<u64> = by_item.keys("fig").map(|key| key?.value()).collect::<Result<_, _>>()?;
    /// assert_eq!(keys, [1, 2]);
    /// for record in by_item.get("fig") {
    ///     let (key, order) = record?;
    ///     println!("{} of order {}", order.value()?.amount, key.value()?);
    /// }
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::WrongType`] if the index exists with other types; [`Cause::Input`] if the keyspace of
    /// its name is reserved, has records of its own, or is the index of another keyspace; as
    /// [`IndexedKeyspace::insert`].
    pub fn with_index<I: TypedParts>(
        self,
        name: &str,
        index: impl Fn(&K::Read<'_>, &V::Read<'_>) -> Option<I> + Send + Sync + 'static,
    ) -> Result<IndexedKeyspace<K, V>> {
        let db = self.untyped().store()?;
        IndexedKeyspace { records: self, db, indexes: Vec::new() }.with_index(name, index)
    }
}

impl<K: TypedKey + TypedParts + ?Sized, V: TypedValue + ?Sized> IndexedKeyspace<K, V> {
    /// As [`TypedKeyspace::with_index`], for another index.
    ///
    /// # Errors
    /// [`Cause::Input`] if there is an index of this name already; as [`TypedKeyspace::with_index`].
    pub fn with_index<I: TypedParts>(
        mut self,
        name: &str,
        index: impl Fn(&K::Read<'_>, &V::Read<'_>) -> Option<I> + Send + Sync + 'static,
    ) -> Result<Self> {
        if self.indexes.iter().any(|declared| declared.name == name) {
            return Err(Error::input(format!("{:?} has two indexes named {name:?}", self.records.name())));
        }
        let multimap = self.db.multimap::<I, K>(&format!("{}.{name}", self.records.name()))?;
        let entry_of = move |key: &[u8], value: &[u8]| {
            let key = K::decode(key).ok_or_else(|| wrong::<K>(key.len()))?;
            let value = V::decode(value).ok_or_else(|| wrong::<V>(value.len()))?;
            let Some(indexed) = index(&key, &value) else { return Ok(None) };
            let mut entry = Vec::new();
            indexed.append_to(&mut entry)?;
            Ok(Some(entry))
        };
        let declared = DeclaredIndex {
            name: name.to_owned(),
            pinned: multimap.pinned().clone(),
            components: I::components(),
            entry_of: Arc::new(move |key, value| {
                let Some(mut entry) = entry_of(key, value)? else { return Ok(None) };
                append_component(key, !is_escaped::<K>(), false, &mut entry);
                Ok(Some(entry))
            }),
        };
        self.complete(&declared, false)?;
        self.indexes.push(declared);
        Ok(self)
    }

    /// Builds all declared indexes anew: removes their entries, reads all records, and writes an entry for each that
    /// the index contains. No other thread may write the records in the meantime, and readers find an incomplete index
    /// until it is done. If it is interrupted, the next [`TypedKeyspace::with_index`] builds the index again.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn rebuild(&self) -> Result<()> {
        self.indexes.iter().try_for_each(|index| self.complete(index, true))
    }

    /// Builds an index, if it is not noted as complete or `anew` is set.
    fn complete(&self, index: &DeclaredIndex, anew: bool) -> Result<()> {
        let _building = BUILDING.lock();
        let entries = index.pinned.keyspace();
        // Numbers of keyspaces are not reused, so the note does not outlive either of the two, and an index of other
        // types is of another generation.
        let both = [self.records.untyped().number(), entries.number()].map(u32::to_be_bytes).concat();
        let noted = [&both[..], &index.pinned.generation().to_be_bytes()].concat();
        let complete = self.db.index_notes()?;
        if !anew && complete.contains_key(&noted)? {
            return Ok(());
        }
        self.own(index, &complete, &both)?;
        complete.remove_range(range_of_prefix(both))?;
        entries.remove_range::<&[u8]>(..)?;
        let mut batch = self.db.batch();
        for record in self.records.iter() {
            let (key, value) = record?;
            if let Some(entry) = index.entry(key.bytes(), value.bytes())? {
                batch.insert(entries, entry, []);
            }
            if batch.len() >= BUILD_ENTRIES {
                std::mem::replace(&mut batch, self.db.batch()).commit()?;
            }
        }
        batch.insert(&complete, noted, []);
        batch.commit()
    }

    /// Notes that the keyspace of an index belongs to these records, before it is emptied and built.
    ///
    /// # Errors
    /// [`Cause::Input`] if it has records that no index wrote, or is the index of another keyspace.
    fn own(&self, index: &DeclaredIndex, complete: &Keyspace, both: &[u8]) -> Result<()> {
        let (entries, owner) = (index.pinned.keyspace(), self.records.untyped().number().to_be_bytes());
        let note = [OWNER, &entries.number().to_be_bytes()].concat();
        let refused = |is: &str| {
            let name = entries.name();
            Err(Error::input(format!("the keyspace {name:?} {is}; give the index another name")))
        };
        match complete.get(&note)? {
            Some(noted) if *noted == owner => return Ok(()),
            Some(noted) if self.has_keyspace(&noted)? => return refused("is the index of another keyspace"),
            // The records that it was the index of were dropped.
            Some(_) => {}
            // Completeness was noted before owners were.
            None if complete.prefix(both).keys().next().transpose()?.is_some() => {}
            None if !entries.is_empty()? => return refused("has records that are not those of an index"),
            None => {}
        }
        complete.insert(note, owner)
    }

    /// Whether the store has a keyspace of this number.
    fn has_keyspace(&self, number: &[u8]) -> Result<bool> {
        for name in self.db.keyspaces() {
            if self.db.keyspace(&name)?.number().to_be_bytes() == *number {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A secondary index by its name. Its type is that of what the index was declared to return; `str` and `String` are
    /// the same here.
    ///
    /// # Errors
    /// [`Cause::Input`] if there is none of this name, or if it is of another type.
    pub fn by<I: TypedParts + ?Sized>(&self, name: &str) -> Result<SecondaryIndex<I, K, V>> {
        let Some(declared) = self.indexes.iter().find(|declared| declared.name == name) else {
            return Err(Error::input(format!("{:?} has no index named {name:?}", self.records.name())));
        };
        if declared.components != I::components() {
            let found = declared.pinned.types().keys;
            return Err(Error::input(format!(
                "the keys of the index {name:?} are {found}; they do not begin with {}",
                std::any::type_name::<I>()
            )));
        }
        let entries = TypedMultimap::of(declared.pinned.clone());
        Ok(SecondaryIndex { entries, records: self.records.clone(), db: self.db.clone() })
    }

    /// Sets the value of a key, and changes the indexes with it.
    ///
    /// # Errors
    /// As [`TypedKeyspace::insert`] and [`TypedKeyspace::get`].
    pub fn insert<'k, 'v>(&self, key: impl Borrow<K::Arg<'k>>, value: impl Borrow<V::Arg<'v>>) -> Result<()> {
        self.batch().insert(key, value).commit_changes()
    }

    /// Sets the value of a key until a time, as [`Keyspace::insert_with`] does, and the entries of the indexes with it.
    ///
    /// # Errors
    /// As [`Self::insert`] and [`Keyspace::insert_with`].
    pub fn insert_with<'k, 'v>(
        &self,
        key: impl Borrow<K::Arg<'k>>,
        value: impl Borrow<V::Arg<'v>>,
        expires: SystemTime,
    ) -> Result<()> {
        self.batch().insert_with(key, value, expires).commit_changes()
    }

    /// Removes a key, if present, and its entries in the indexes.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<()> {
        self.batch().remove(key).commit_changes()
    }

    /// A batch of changes that are applied together with those of the indexes.
    #[must_use]
    pub fn batch(&self) -> IndexedBatch<'_, K, V> {
        IndexedBatch { keyspace: self, changes: BTreeMap::new(), refused: None }
    }

    /// The records, whose writes bypass the indexes.
    pub(super) fn records(&self) -> &TypedKeyspace<K, V> {
        &self.records
    }

    /// The changes of the indexes when the value of a key becomes another one, or none.
    pub(super) fn entry_changes(
        &self,
        key: &[u8],
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Vec<EntryChange<'_>>> {
        let mut changes = Vec::new();
        for index in &self.indexes {
            let entry = |value: &[u8]| index.entry(key, value).transpose();
            let before = match old.and_then(entry) {
                // An entry that is too long is in no index: the record bypassed this one.
                Some(Err(Error { cause: Cause::KeyLength { .. }, .. })) => None,
                before => before.transpose()?,
            };
            let after = new.and_then(entry).transpose()?;
            // An entry expires with its record.
            if before != after || self.records.untyped().may_expire() {
                changes.push(EntryChange { entries: index.pinned.keyspace(), before, after });
            }
        }
        Ok(changes)
    }

    /// As [`TypedKeyspace::get`].
    ///
    /// # Errors
    /// As [`TypedKeyspace::get`].
    pub fn get<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<Option<TypedGuard<V>>> {
        self.records.get(key)
    }

    /// As [`TypedKeyspace::load`].
    ///
    /// # Errors
    /// As [`TypedKeyspace::load`].
    pub fn load<'k, R>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<Option<R>>
    where
        V: for<'a> TypedData<Read<'a> = R>,
    {
        self.records.load(key)
    }

    /// As [`TypedKeyspace::contains_key`].
    ///
    /// # Errors
    /// As [`TypedKeyspace::contains_key`].
    pub fn contains_key<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<bool> {
        self.records.contains_key(key)
    }

    /// As [`TypedKeyspace::range`].
    #[must_use]
    pub fn range<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> TypedRange<K, V> {
        self.records.range(range)
    }

    /// As [`TypedKeyspace::prefix`].
    #[must_use]
    pub fn prefix(&self, prefix: impl TypedPrefix<K>) -> TypedRange<K, V> {
        self.records.prefix(prefix)
    }

    /// All records, from either end.
    #[must_use]
    pub fn iter(&self) -> TypedRange<K, V> {
        self.records.iter()
    }
}

/// Whether a key has other bytes as a component of a tuple than by itself.
fn is_escaped<K: TypedKey + TypedParts + ?Sized>() -> bool {
    matches!(K::key_type(), Ok(KeyType::Text | KeyType::Bytes))
}

/// The key of the records at the end of an entry.
fn main_key<K: TypedKey + TypedParts + ?Sized>(mut end: &[u8]) -> Option<Cow<'_, [u8]>> {
    if is_escaped::<K>() { take_variable(&mut end, false) } else { Some(Cow::Borrowed(end)) }
}

impl<K: ?Sized, V: ?Sized> Clone for IndexedKeyspace<K, V> {
    fn clone(&self) -> Self {
        Self { records: self.records.clone(), db: self.db.clone(), indexes: self.indexes.clone() }
    }
}

impl<K: ?Sized, V: ?Sized> fmt::Debug for IndexedKeyspace<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.indexes.iter().map(|index| &index.name);
        write!(f, "{:?} with ", self.records)?;
        f.debug_list().entries(names).finish()
    }
}

/// A value, and the time at which it expires, if it was given.
type NewValue = (Vec<u8>, Option<SystemTime>);

/// Changes of records that are applied together, with those of the indexes: see [`IndexedKeyspace::batch`]. Of two
/// changes of the same key, the later one wins.
pub struct IndexedBatch<'a, K: ?Sized, V: ?Sized> {
    keyspace: &'a IndexedKeyspace<K, V>,
    /// The new value of each key; `None` removes it.
    changes: BTreeMap<Vec<u8>, Option<NewValue>>,
    refused: Option<Error>,
}

impl<K: TypedKey + TypedParts + ?Sized, V: TypedValue + ?Sized> IndexedBatch<'_, K, V> {
    /// Sets the value of a key. Errors are reported by [`Self::commit`].
    pub fn insert<'k, 'v>(&mut self, key: impl Borrow<K::Arg<'k>>, value: impl Borrow<V::Arg<'v>>) -> &mut Self {
        match (K::encode(key.borrow()), V::encode_value(value.borrow())) {
            (Ok(key), Ok(value)) => {
                _ = self.changes.insert(key.as_ref().to_vec(), Some((value.as_ref().to_vec(), None)));
            }
            (Err(error), _) | (_, Err(error)) => _ = self.refused.get_or_insert(error),
        }
        self
    }

    /// Sets the value of a key until a time, and the entries of the indexes with it.
    pub fn insert_with<'k, 'v>(
        &mut self,
        key: impl Borrow<K::Arg<'k>>,
        value: impl Borrow<V::Arg<'v>>,
        expires: SystemTime,
    ) -> &mut Self {
        match (K::encode(key.borrow()), V::encode_value(value.borrow())) {
            (Ok(key), Ok(value)) => {
                _ = self.changes.insert(key.as_ref().to_vec(), Some((value.as_ref().to_vec(), Some(expires))));
            }
            (Err(error), _) | (_, Err(error)) => _ = self.refused.get_or_insert(error),
        }
        self
    }

    /// Removes a key.
    pub fn remove<'k>(&mut self, key: impl Borrow<K::Arg<'k>>) -> &mut Self {
        match K::encode(key.borrow()) {
            Ok(key) => _ = self.changes.insert(key.as_ref().to_vec(), None),
            Err(error) => _ = self.refused.get_or_insert(error),
        }
        self
    }

    /// Applies all changes atomically.
    ///
    /// # Errors
    /// As [`Batch::commit`], and [`TypedGuard::value`] for old records.
    pub fn commit(mut self) -> Result<()> {
        self.commit_changes()
    }

    fn commit_changes(&mut self) -> Result<()> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        loop {
            let mut batch = self.keyspace.db.batch();
            let mut seen = Vec::with_capacity(self.changes.len());
            for (key, new) in &self.changes {
                seen.push((key, self.change(&mut batch, key, new.as_ref())?));
            }
            let records = self.keyspace.records.untyped();
            let is_unchanged = || {
                for (key, old) in &seen {
                    if records.get(key)? != *old {
                        return Ok(false);
                    }
                }
                Ok(true)
            };
            if batch.commit_if(is_unchanged)? {
                return Ok(());
            }
        }
    }

    /// Adds the change of one key to a batch; returns its old value.
    fn change(&self, batch: &mut Batch, key: &[u8], new: Option<&NewValue>) -> Result<Option<Slice>> {
        let records = self.keyspace.records.checked()?;
        let old = records.get(key)?;
        let value = new.map(|(value, _)| &value[..]);
        let expires = match new {
            Some((value, None)) => records.expiry_of_value(value)?,
            Some((_, expires)) => *expires,
            None => None,
        };
        for EntryChange { entries, before, after } in self.keyspace.entry_changes(key, old.as_deref(), value)? {
            if let Some(before) = before {
                batch.remove(entries, before);
            }
            match (after, expires) {
                (None, _) => {}
                (Some(after), None) => _ = batch.insert(entries, after, []),
                (Some(after), Some(expires)) => _ = batch.insert_with(entries, after, [], expires),
            }
        }
        match (value, expires) {
            (None, _) => batch.remove(records, key),
            (Some(value), None) => batch.insert(records, key, value),
            (Some(value), Some(expires)) => batch.insert_with(records, key, value, expires),
        };
        Ok(old)
    }
}

impl<K: ?Sized, V: ?Sized> fmt::Debug for IndexedBatch<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} changes of {:?}", self.changes.len(), self.keyspace)
    }
}

/// A secondary index of a keyspace: see [`IndexedKeyspace::by`].
pub struct SecondaryIndex<I: ?Sized, K: ?Sized, V: ?Sized> {
    entries: TypedMultimap<I, K>,
    records: TypedKeyspace<K, V>,
    db: Db,
}

impl<I, K, V> SecondaryIndex<I, K, V>
where
    I: TypedParts + ?Sized,
    K: TypedKey + TypedParts + ?Sized,
    V: TypedValue + ?Sized,
{
    /// The records with this value of the index, ordered by key, all as of the same time.
    #[must_use]
    pub fn get<'i>(&self, indexed: impl Borrow<I::PartArg<'i>>) -> SecondaryRange<I, K, V> {
        self.range_of((Bound::Included(indexed.borrow()), Bound::Included(indexed.borrow())))
    }

    /// The keys of the records with this value of the index, in ascending order.
    #[must_use]
    pub fn keys<'i>(&self, indexed: impl Borrow<I::PartArg<'i>>) -> SecondaryKeys<I, K> {
        let bounds = (Bound::Included(indexed.borrow()), Bound::Included(indexed.borrow()));
        SecondaryKeys::new(self.entries.range_of(bounds, None))
    }

    /// The records whose values of the index are in a range, in the order of the index, from either end.
    #[must_use]
    pub fn range<'i>(&self, range: impl RangeBounds<I::PartArg<'i>>) -> SecondaryRange<I, K, V> {
        self.range_of((range.start_bound(), range.end_bound()))
    }

    fn range_of(&self, range: (Bound<&I::PartArg<'_>>, Bound<&I::PartArg<'_>>)) -> SecondaryRange<I, K, V> {
        let snapshot = self.db.snapshot();
        let entries = self.entries.range_of(range, Some(&snapshot));
        let read = move |keyspace: &Keyspace, key: &[u8]| snapshot.get(keyspace, key);
        SecondaryRange::new(entries, Box::new(read), self.records.clone())
    }

    pub(super) fn entries(&self) -> &TypedMultimap<I, K> {
        &self.entries
    }

    pub(super) fn records(&self) -> &TypedKeyspace<K, V> {
        &self.records
    }
}

impl<I: ?Sized, K: ?Sized, V: ?Sized> fmt::Debug for SecondaryIndex<I, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.entries, self.records)
    }
}

/// Keys of records in the order of a secondary index, from either end; the records are not read.
#[derive(Debug)]
pub struct SecondaryKeys<I: ?Sized, K: ?Sized, R = DbRange>(MultimapRange<I, K, R>);

impl<I: ?Sized, K: ?Sized, R> SecondaryKeys<I, K, R> {
    pub(super) fn new(entries: MultimapRange<I, K, R>) -> Self {
        Self(entries)
    }
}

macro_rules! moved_ends {
    ($($range:ty),+) => {$(
        impl<I: TypedParts + ?Sized, K: TypedKey + TypedParts + ?Sized> SecondaryKeys<I, K, $range> {
            /// Moves the front to the first key in the range whose value of the index is at or behind this one, as
            /// [`DbRange::seek`] does.
            ///
            /// # Errors
            /// [`Cause::Input`] if the value cannot be encoded; the range is where it was.
            pub fn seek<'i>(&mut self, indexed: impl Borrow<I::PartArg<'i>>) -> Result<()> {
                self.0.seek(indexed)
            }

            /// Moves the back to the last key in the range whose value of the index is at or before this one, likewise.
            ///
            /// # Errors
            /// As [`Self::seek`].
            pub fn seek_for_prev<'i>(&mut self, indexed: impl Borrow<I::PartArg<'i>>) -> Result<()> {
                self.0.seek_for_prev(indexed)
            }
        }

        impl<I, K, V> SecondaryRange<I, K, V, $range>
        where
            I: TypedParts + ?Sized,
            K: TypedKey + TypedParts + ?Sized,
            V: TypedValue + ?Sized,
        {
            /// Moves the front to the first record in the range whose value of the index is at or behind this one, as
            /// [`DbRange::seek`] does.
            ///
            /// # Errors
            /// [`Cause::Input`] if the value cannot be encoded; the range is where it was.
            pub fn seek<'i>(&mut self, indexed: impl Borrow<I::PartArg<'i>>) -> Result<()> {
                self.entries.seek(indexed)
            }

            /// Moves the back to the last record in the range whose value is at or before this one, likewise.
            ///
            /// # Errors
            /// As [`Self::seek`].
            pub fn seek_for_prev<'i>(&mut self, indexed: impl Borrow<I::PartArg<'i>>) -> Result<()> {
                self.entries.seek_for_prev(indexed)
            }
        }
    )+};
}
moved_ends!(DbRange, DbTransactionRange);

fn key_of<I: ?Sized, K: TypedKey + TypedParts + ?Sized>(
    entry: Result<(TypedPart<I>, TypedPart<K>)>,
) -> Result<TypedGuard<K>> {
    let (_, key) = entry?;
    let key = main_key::<K>(key.bytes()).ok_or_else(|| wrong::<K>(key.bytes().len()))?;
    Ok(TypedGuard::new((&*key).into()))
}

impl<I: TypedParts + ?Sized, K: TypedKey + TypedParts + ?Sized, R> Iterator for SecondaryKeys<I, K, R>
where
    R: Iterator<Item = Result<(Slice, Slice)>>,
{
    type Item = Result<TypedGuard<K>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(key_of)
    }
}

impl<I: TypedParts + ?Sized, K: TypedKey + TypedParts + ?Sized, R> DoubleEndedIterator for SecondaryKeys<I, K, R>
where
    R: DoubleEndedIterator<Item = Result<(Slice, Slice)>>,
{
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(key_of)
    }
}

/// What reads the record of a key, as of the time of the entries.
type ReadRecord = dyn Fn(&Keyspace, &[u8]) -> Result<Option<Slice>> + Send + Sync;

/// Records in the order of a secondary index, from either end.
pub struct SecondaryRange<I: ?Sized, K: ?Sized, V: ?Sized, R = DbRange> {
    entries: MultimapRange<I, K, R>,
    read: Box<ReadRecord>,
    records: TypedKeyspace<K, V>,
}

impl<I, K, V, R> SecondaryRange<I, K, V, R>
where
    I: TypedParts + ?Sized,
    K: TypedKey + TypedParts + ?Sized,
    V: TypedValue + ?Sized,
{
    pub(super) fn new(entries: MultimapRange<I, K, R>, read: Box<ReadRecord>, records: TypedKeyspace<K, V>) -> Self {
        Self { entries, read, records }
    }

    fn record(&self, entry: Result<(TypedPart<I>, TypedPart<K>)>) -> Result<TypedRecord<K, V>> {
        let key = key_of(entry)?;
        let value = (self.read)(self.records.untyped(), key.bytes());
        let value = value?.ok_or_else(|| {
            Error::input(format!(
                "an index of the keyspace {:?} leads to a key that it does not have: writes bypassed the index",
                self.records.name()
            ))
            .advise(Advice::Use(Call::RebuildIndexes))
        })?;
        Ok((key, TypedGuard::new(value)))
    }
}

impl<I, K, V, R> Iterator for SecondaryRange<I, K, V, R>
where
    I: TypedParts + ?Sized,
    K: TypedKey + TypedParts + ?Sized,
    V: TypedValue + ?Sized,
    R: Iterator<Item = Result<(Slice, Slice)>>,
{
    type Item = Result<TypedRecord<K, V>>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next()?;
        Some(self.record(entry))
    }
}

impl<I, K, V, R> DoubleEndedIterator for SecondaryRange<I, K, V, R>
where
    I: TypedParts + ?Sized,
    K: TypedKey + TypedParts + ?Sized,
    V: TypedValue + ?Sized,
    R: DoubleEndedIterator<Item = Result<(Slice, Slice)>>,
{
    fn next_back(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next_back()?;
        Some(self.record(entry))
    }
}

impl<I: ?Sized, K: ?Sized, V: ?Sized, R: fmt::Debug> fmt::Debug for SecondaryRange<I, K, V, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.entries, self.records)
    }
}
