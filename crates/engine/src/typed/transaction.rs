//! Transactions on typed keyspaces, multimaps and keyspaces with secondary indexes.

use super::data::{TypedData, TypedKey, TypedValue};
use super::guard::{TypedGuard, TypedRange, byte_bounds};
use super::indexed::{EntryChange, IndexedKeyspace, SecondaryIndex, SecondaryKeys, SecondaryRange};
use super::keyspace::{TypedKeyspace, encoded, prefix_bytes};
use super::multimap::{MultimapRange, MultimapValues, TypedMultimap};
use super::parts::{TypedParts, TypedPrefix};
use crate::error::{Error, Result};
use crate::lsm::{DbTransaction, DbTransactionRange};
use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};
use std::time::SystemTime;

/// A typed keyspace in a transaction: see [`DbTransaction::typed`].
#[derive(Debug)]
pub struct TypedTransaction<'t, K: ?Sized, V: ?Sized> {
    transaction: &'t DbTransaction,
    keyspace: TypedKeyspace<K, V>,
}

impl DbTransaction {
    /// A typed keyspace in this transaction.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let ages = db.keyspace("ages")?.typed::<str, u32>()?;
    /// let tx = db.begin();
    /// tx.typed(&ages).insert("ada", 36)?;
    /// assert_eq!(tx.typed(&ages).load("ada")?, Some(36));
    /// assert_eq!(ages.load("ada")?, None);
    /// tx.commit()?;
    /// assert_eq!(ages.load("ada")?, Some(36));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn typed<K: TypedKey + ?Sized, V: TypedValue + ?Sized>(
        &self,
        keyspace: &TypedKeyspace<K, V>,
    ) -> TypedTransaction<'_, K, V> {
        TypedTransaction { transaction: self, keyspace: keyspace.clone() }
    }

    /// Adds a value to those of a key of a multimap.
    ///
    /// # Errors
    /// As [`TypedMultimap::insert`] and [`Self::insert`].
    pub fn multimap_insert<'k, 'v, K: TypedParts + ?Sized, V: TypedParts + ?Sized>(
        &self,
        multimap: &TypedMultimap<K, V>,
        key: impl Borrow<K::PartArg<'k>>,
        value: impl Borrow<V::PartArg<'v>>,
    ) -> Result<()> {
        self.insert(multimap.checked()?, TypedMultimap::<K, V>::entry(key.borrow(), value.borrow())?, [])
    }

    /// Removes a value from those of a key of a multimap.
    ///
    /// # Errors
    /// As [`Self::multimap_insert`].
    pub fn multimap_remove<'k, 'v, K: TypedParts + ?Sized, V: TypedParts + ?Sized>(
        &self,
        multimap: &TypedMultimap<K, V>,
        key: impl Borrow<K::PartArg<'k>>,
        value: impl Borrow<V::PartArg<'v>>,
    ) -> Result<()> {
        self.remove(multimap.checked()?, TypedMultimap::<K, V>::entry(key.borrow(), value.borrow())?)
    }

    /// Removes all values of a key of a multimap, at a cost independent of their number.
    ///
    /// # Errors
    /// As [`Self::multimap_insert`].
    pub fn multimap_remove_all<'k, K: TypedParts + ?Sized, V: TypedParts + ?Sized>(
        &self,
        multimap: &TypedMultimap<K, V>,
        key: impl Borrow<K::PartArg<'k>>,
    ) -> Result<()> {
        let bounds = (Bound::Included(key.borrow()), Bound::Included(key.borrow()));
        self.remove_range(multimap.checked()?, TypedMultimap::<K, V>::bounds(&bounds)?)
    }

    /// Whether a key of a multimap has a value.
    ///
    /// # Errors
    /// As [`Self::contains_key`].
    pub fn multimap_contains<'k, 'v, K: TypedParts + ?Sized, V: TypedParts + ?Sized>(
        &self,
        multimap: &TypedMultimap<K, V>,
        key: impl Borrow<K::PartArg<'k>>,
        value: impl Borrow<V::PartArg<'v>>,
    ) -> Result<bool> {
        self.contains_key(multimap.checked()?, TypedMultimap::<K, V>::entry(key.borrow(), value.borrow())?)
    }

    /// The values of a key of a multimap in ascending order, from either end.
    #[must_use]
    pub fn multimap_get<'k, K: TypedParts + ?Sized, V: TypedParts + ?Sized>(
        &self,
        multimap: &TypedMultimap<K, V>,
        key: impl Borrow<K::PartArg<'k>>,
    ) -> MultimapValues<K, V, DbTransactionRange> {
        let key = key.borrow();
        MultimapValues::new(self.entries_of(multimap, (Bound::Included(key), Bound::Included(key))), key)
    }

    /// The entries of a multimap whose keys are in a range, from either end.
    #[must_use]
    pub fn multimap_range<'k, K: TypedParts + ?Sized, V: TypedParts + ?Sized>(
        &self,
        multimap: &TypedMultimap<K, V>,
        range: impl RangeBounds<K::PartArg<'k>>,
    ) -> MultimapRange<K, V, DbTransactionRange> {
        self.entries_of(multimap, (range.start_bound(), range.end_bound()))
    }

    fn entries_of<K: TypedParts + ?Sized, V: TypedParts + ?Sized>(
        &self,
        multimap: &TypedMultimap<K, V>,
        range: (Bound<&K::PartArg<'_>>, Bound<&K::PartArg<'_>>),
    ) -> MultimapRange<K, V, DbTransactionRange> {
        let bounds = TypedMultimap::<K, V>::bounds(&range);
        MultimapRange::new(bounds.map(|bounds| self.range(multimap.untyped(), bounds)))
    }

    /// The records with this value of a secondary index, ordered by key, from either end. The transaction has read the
    /// entries that were passed, and their records.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let users = db.keyspace("users")?.typed::<u64, String>()?;
    /// let users = users.with_index("by_email", |_, email| Some(email.clone()))?;
    /// let by_email = users.by::<str>("by_email")?;
    ///
    /// // Of two transactions that do this at the same time, one conflicts: an e-mail is there once.
    /// let tx = db.begin();
    /// assert!(tx.secondary_get(&by_email, "ann@example.com").next().is_none());
    /// tx.indexed_insert(&users, 7, "ann@example.com")?;
    /// assert_eq!(tx.secondary_get(&by_email, "ann@example.com").count(), 1);
    /// tx.commit()?;
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn secondary_get<'i, I, K, V>(
        &self,
        index: &SecondaryIndex<I, K, V>,
        indexed: impl Borrow<I::PartArg<'i>>,
    ) -> SecondaryRange<I, K, V, DbTransactionRange>
    where
        I: TypedParts + ?Sized,
        K: TypedKey + TypedParts + ?Sized,
        V: TypedValue + ?Sized,
    {
        self.secondary_of(index, (Bound::Included(indexed.borrow()), Bound::Included(indexed.borrow())))
    }

    /// The keys of the records with this value of a secondary index, in ascending order; the records are not read.
    #[must_use]
    pub fn secondary_keys<'i, I, K, V>(
        &self,
        index: &SecondaryIndex<I, K, V>,
        indexed: impl Borrow<I::PartArg<'i>>,
    ) -> SecondaryKeys<I, K, DbTransactionRange>
    where
        I: TypedParts + ?Sized,
        K: TypedKey + TypedParts + ?Sized,
        V: TypedValue + ?Sized,
    {
        let bounds = (Bound::Included(indexed.borrow()), Bound::Included(indexed.borrow()));
        SecondaryKeys::new(self.entries_of(index.entries(), bounds))
    }

    /// The records whose values of a secondary index are in a range, in the order of the index, as
    /// [`Self::secondary_get`] has them.
    #[must_use]
    pub fn secondary_range<'i, I, K, V>(
        &self,
        index: &SecondaryIndex<I, K, V>,
        range: impl RangeBounds<I::PartArg<'i>>,
    ) -> SecondaryRange<I, K, V, DbTransactionRange>
    where
        I: TypedParts + ?Sized,
        K: TypedKey + TypedParts + ?Sized,
        V: TypedValue + ?Sized,
    {
        self.secondary_of(index, (range.start_bound(), range.end_bound()))
    }

    fn secondary_of<I, K, V>(
        &self,
        index: &SecondaryIndex<I, K, V>,
        range: (Bound<&I::PartArg<'_>>, Bound<&I::PartArg<'_>>),
    ) -> SecondaryRange<I, K, V, DbTransactionRange>
    where
        I: TypedParts + ?Sized,
        K: TypedKey + TypedParts + ?Sized,
        V: TypedValue + ?Sized,
    {
        let entries = self.entries_of(index.entries(), range);
        SecondaryRange::new(entries, Box::new(self.reader()), index.records().clone())
    }

    /// The records of a keyspace with secondary indexes in a range of keys, from either end.
    #[must_use]
    pub fn indexed_range<'k, K: TypedKey + TypedParts + ?Sized, V: TypedValue + ?Sized>(
        &self,
        keyspace: &IndexedKeyspace<K, V>,
        range: impl RangeBounds<K::Arg<'k>>,
    ) -> TypedRange<K, V, DbTransactionRange> {
        self.typed(keyspace.records()).range(range)
    }

    /// Returns the value of a key of a keyspace with secondary indexes.
    ///
    /// # Errors
    /// As [`IndexedKeyspace::get`].
    pub fn indexed_get<'k, K: TypedKey + TypedParts + ?Sized, V: TypedValue + ?Sized>(
        &self,
        keyspace: &IndexedKeyspace<K, V>,
        key: impl Borrow<K::Arg<'k>>,
    ) -> Result<Option<TypedGuard<V>>> {
        self.typed(keyspace.records()).get(key)
    }

    /// Sets the value of a key of a keyspace with secondary indexes, and changes the indexes with it.
    ///
    /// # Errors
    /// As [`IndexedKeyspace::insert`] and [`Self::insert`].
    pub fn indexed_insert<'k, 'v, K: TypedKey + TypedParts + ?Sized, V: TypedValue + ?Sized>(
        &self,
        keyspace: &IndexedKeyspace<K, V>,
        key: impl Borrow<K::Arg<'k>>,
        value: impl Borrow<V::Arg<'v>>,
    ) -> Result<()> {
        let (key, value) = (K::encode(key.borrow())?, V::encode_value(value.borrow())?);
        self.change_indexed(keyspace, key.as_ref(), Some(value.as_ref()))
    }

    /// Removes a key of a keyspace with secondary indexes, if present, and its entries in them.
    ///
    /// # Errors
    /// As [`Self::indexed_insert`].
    pub fn indexed_remove<'k, K: TypedKey + TypedParts + ?Sized, V: TypedValue + ?Sized>(
        &self,
        keyspace: &IndexedKeyspace<K, V>,
        key: impl Borrow<K::Arg<'k>>,
    ) -> Result<()> {
        self.change_indexed(keyspace, K::encode(key.borrow())?.as_ref(), None)
    }

    /// Changes a record and the entries of its indexes; if one of them cannot be written, none is.
    fn change_indexed<K: TypedKey + TypedParts + ?Sized, V: TypedValue + ?Sized>(
        &self,
        keyspace: &IndexedKeyspace<K, V>,
        key: &[u8],
        new: Option<&[u8]>,
    ) -> Result<()> {
        let savepoint = self.savepoint();
        let change = || {
            let records = keyspace.records().checked()?;
            let old = self.get(records, key)?;
            let expires = new.map_or(Ok(None), |new| records.expiry_of_value(new))?;
            for EntryChange { entries, before, after } in keyspace.entry_changes(key, old.as_deref(), new)? {
                before.map_or(Ok(()), |before| self.remove(entries, before))?;
                match (after, expires) {
                    (None, _) => {}
                    (Some(after), None) => self.insert(entries, after, [])?,
                    (Some(after), Some(expires)) => self.insert_with(entries, after, [], expires)?,
                }
            }
            match (new, expires) {
                (None, _) => self.remove(records, key),
                (Some(new), None) => self.insert(records, key, new),
                (Some(new), Some(expires)) => self.insert_with(records, key, new, expires),
            }
        };
        change().inspect_err(|_| self.rollback_to(savepoint))
    }
}

impl<K: TypedKey + ?Sized, V: TypedValue + ?Sized> TypedTransaction<'_, K, V> {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// As [`DbTransaction::get`].
    pub fn get<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<Option<TypedGuard<V>>> {
        TypedGuard::of_found(self.transaction.get(self.keyspace.untyped(), K::encode(key.borrow())?))
    }

    /// Returns the values of many keys, in their order, as [`DbTransaction::multi_get`] does.
    ///
    /// # Errors
    /// As [`DbTransaction::get`].
    pub fn multi_get<'k, Q>(&self, keys: impl IntoIterator<Item = Q>) -> Result<Vec<Option<TypedGuard<V>>>>
    where
        Q: Borrow<K::Arg<'k>>,
    {
        let keys: Vec<Vec<u8>> = encoded::<K, Q>(keys)?;
        let found = self.transaction.multi_get(self.keyspace.untyped(), keys)?;
        found.into_iter().map(|found| TypedGuard::of_found(Ok(found))).collect()
    }

    /// Returns the value of a key, for values that borrow nothing.
    ///
    /// # Errors
    /// As [`Self::get`] and [`TypedGuard::value`].
    pub fn load<'k, R>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<Option<R>>
    where
        V: for<'a> TypedData<Read<'a> = R>,
    {
        self.get(key)?.map(|value| value.value()).transpose()
    }

    /// Whether a key is present.
    ///
    /// # Errors
    /// As [`DbTransaction::get`].
    pub fn contains_key<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<bool> {
        self.transaction.contains_key(self.keyspace.checked()?, K::encode(key.borrow())?)
    }

    /// The records in a range of keys, as [`DbTransaction::range`] has them.
    #[must_use]
    pub fn range<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> TypedRange<K, V, DbTransactionRange> {
        let bounds = byte_bounds::<K>(&range);
        TypedRange::new(bounds.map(|bounds| self.transaction.range(self.keyspace.untyped(), bounds)))
    }

    /// The records whose keys begin with `prefix`.
    #[must_use]
    pub fn prefix(&self, prefix: impl TypedPrefix<K>) -> TypedRange<K, V, DbTransactionRange> {
        let prefix = prefix_bytes(&prefix);
        TypedRange::new(prefix.map(|prefix| self.transaction.prefix(self.keyspace.untyped(), prefix)))
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// As [`TypedKeyspace::insert`] and [`DbTransaction::insert`].
    pub fn insert<'k, 'v>(&self, key: impl Borrow<K::Arg<'k>>, value: impl Borrow<V::Arg<'v>>) -> Result<()> {
        let (key, value) = (K::encode(key.borrow())?, V::encode_value(value.borrow())?);
        self.transaction.insert(self.keyspace.checked()?, key, value)
    }

    /// Sets the value of a key until a time, as [`DbTransaction::insert_with`] does.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_with<'k, 'v>(
        &self,
        key: impl Borrow<K::Arg<'k>>,
        value: impl Borrow<V::Arg<'v>>,
        expires: SystemTime,
    ) -> Result<()> {
        let (key, value) = (K::encode(key.borrow())?, V::encode_value(value.borrow())?);
        self.transaction.insert_with(self.keyspace.checked()?, key, value, expires)
    }

    /// Removes a key, if present.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<()> {
        self.transaction.remove(self.keyspace.checked()?, K::encode(key.borrow())?)
    }

    /// Removes all keys in a range, as [`DbTransaction::remove_range`] does.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove_range<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> Result<()> {
        self.transaction.remove_range(self.keyspace.checked()?, byte_bounds::<K>(&range)?)
    }
}

/// An integer that can be added to.
pub trait TypedInteger: Copy + Default {
    /// The sum, unless it exceeds the type.
    fn plus(self, other: Self) -> Option<Self>;
}

macro_rules! integers {
    ($($integer:ty),+) => {$(
        impl TypedInteger for $integer {
            fn plus(self, other: Self) -> Option<Self> {
                self.checked_add(other)
            }
        }
    )+};
}
integers!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);

impl<K: TypedKey + ?Sized, V: TypedValue + ?Sized> TypedKeyspace<K, V> {
    /// Atomically replaces the value of a key by what `change` makes of it, or removes it if that is `None`; returns
    /// the value before. For numbers and rows; [`Keyspace::update`](crate::Keyspace::update) takes any bytes.
    ///
    /// # Errors
    /// As [`Keyspace::update`](crate::Keyspace::update), [`Self::insert`] and [`Self::load`].
    pub fn update<'k, R>(
        &self,
        key: impl Borrow<K::Arg<'k>>,
        mut change: impl FnMut(Option<R>) -> Option<R>,
    ) -> Result<Option<R>>
    where
        V: for<'a> TypedData<Read<'a> = R, Arg<'a> = R>,
    {
        let key = key.borrow();
        self.untyped().store()?.transaction(|transaction| {
            let keyspace = transaction.typed(self);
            let found = keyspace.get(key)?;
            let load = || found.as_ref().map(TypedGuard::value).transpose();
            match change(load()?) {
                Some(after) => keyspace.insert(key, after)?,
                None => keyspace.remove(key)?,
            }
            load()
        })
    }

    /// Atomically adds to an integer, and returns the value before; a key that is absent counts as 0.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let visits = db.keyspace("visits")?.typed::<str, u64>()?;
    /// assert_eq!(visits.fetch_add("home", 1)?, 0);
    /// assert_eq!(visits.fetch_add("home", 5)?, 1);
    /// assert_eq!(visits.load("home")?, Some(6));
    /// assert!(visits.fetch_add("home", u64::MAX).is_err());
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the sum exceeds the type; as [`Self::update`].
    pub fn fetch_add<'k, R: TypedInteger>(&self, key: impl Borrow<K::Arg<'k>>, amount: R) -> Result<R>
    where
        V: for<'a> TypedData<Read<'a> = R, Arg<'a> = R>,
    {
        let key = key.borrow();
        self.untyped().store()?.transaction(|transaction| {
            let keyspace = transaction.typed(self);
            let before = keyspace.load(key)?.unwrap_or_default();
            let Some(sum) = before.plus(amount) else {
                let name = self.name();
                return Err(Error::input(format!("the sum exceeds the integers of the keyspace {name:?}")));
            };
            keyspace.insert(key, sum)?;
            Ok(before)
        })
    }
}
