//! Keyspaces with types for their keys and values.

use super::data::{TypedData, TypedKey, TypedValue};
use super::guard::{TypedGuard, TypedRange, byte_bounds, read};
use super::parts::TypedPrefix;
use crate::error::Result;
use crate::lsm::{Batch, DbSnapshot, Keyspace, PinnedTypes, Swap};
use crate::types::RecordType;
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::time::SystemTime;

/// A keyspace with keys of type `K` and values of type `V`: see [`Keyspace::typed`]. It is cheap to clone.
pub struct TypedKeyspace<K: ?Sized, V: ?Sized> {
    pinned: PinnedTypes,
    data: PhantomData<fn(&K, &V)>,
}

impl Keyspace {
    /// The same keyspace with keys and values of these types, which it states from now on, as [`Self::declare`] does:
    /// one without records and other typed handles takes any types, and one with rows those with fields added at their
    /// end.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let ages = db.keyspace("ages")?.typed::<str, u32>()?;
    /// ages.insert("ada", 36)?;
    /// assert_eq!(ages.load("ada")?, Some(36));
    /// for record in ages.range("a".."b") {
    ///     let (name, age) = record?;
    ///     println!("{} is {}", name.value()?, age.value()?);
    /// }
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::declare`].
    pub fn typed<K: TypedKey + ?Sized, V: TypedValue + ?Sized>(&self) -> Result<TypedKeyspace<K, V>> {
        let pinned = self.state(V::record_type::<K>()?)?;
        Ok(TypedKeyspace { pinned, data: PhantomData })
    }

    /// Declares types, and keeps the names of key columns.
    pub(super) fn state(&self, types: RecordType) -> Result<PinnedTypes> {
        let found = self.record_type();
        // Stores of older versions do not say that their keys are alone.
        let may_be_older = types.is_keys_only() && types.keys == found.keys && found.values.is_bytes();
        let is_older = may_be_older && !found.is_keys_only() && !self.is_undecided()?;
        self.declare(&self.named(if is_older { types.with_values() } else { types })?)
    }

    /// These types as those of this keyspace, as [`RecordType::named_as`] makes them; but one without records takes
    /// values, even if its keys were alone.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn named(&self, types: RecordType) -> Result<RecordType> {
        let found = self.record_type();
        let named = types.clone().named_as(&found);
        let is_alone = named.is_keys_only() && !types.is_keys_only();
        Ok(if is_alone && self.is_empty()? { types.named_as(&found.as_ref().clone().with_values()) } else { named })
    }
}

impl<K: TypedKey + ?Sized, V: TypedValue + ?Sized> TypedKeyspace<K, V> {
    /// The keyspace with values of bytes, those of its types when it was opened.
    #[must_use]
    pub fn untyped(&self) -> &Keyspace {
        self.pinned.keyspace()
    }

    /// Its types, in the generation in which it was opened.
    #[must_use]
    pub fn pinned(&self) -> &PinnedTypes {
        &self.pinned
    }

    /// The keyspace for a write: its types are still these, or extend them.
    #[inline]
    pub(super) fn checked(&self) -> Result<&Keyspace> {
        self.pinned.check()?;
        Ok(self.pinned.keyspace())
    }

    /// The name of the keyspace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.untyped().name()
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// As [`Keyspace::insert`], and [`TypedData::encode`] for the key and the value.
    pub fn insert<'k, 'v>(&self, key: impl Borrow<K::Arg<'k>>, value: impl Borrow<V::Arg<'v>>) -> Result<()> {
        self.checked()?.insert(K::encode(key.borrow())?, V::encode_value(value.borrow())?)
    }

    /// Sets the value of a key until a time, as [`Keyspace::insert_with`] does.
    ///
    /// # Errors
    /// As [`Self::insert`] and [`Keyspace::insert_with`].
    pub fn insert_with<'k, 'v>(
        &self,
        key: impl Borrow<K::Arg<'k>>,
        value: impl Borrow<V::Arg<'v>>,
        expires: SystemTime,
    ) -> Result<()> {
        self.checked()?.insert_with(K::encode(key.borrow())?, V::encode_value(value.borrow())?, expires)
    }

    /// Removes a key, if present.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<()> {
        self.checked()?.remove(K::encode(key.borrow())?)
    }

    /// Removes all keys in a range, at a cost independent of their number.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove_range<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> Result<()> {
        self.checked()?.remove_range(byte_bounds::<K>(&range)?)
    }

    /// Returns the value of a key, in the bytes that were read.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    #[inline(always)]
    pub fn get<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<Option<TypedGuard<V>>> {
        TypedGuard::of_found(self.untyped().get(K::encode(key.borrow())?))
    }

    /// Returns the values of many keys, in their order, as [`Keyspace::multi_get`] does.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn multi_get<'k, Q>(&self, keys: impl IntoIterator<Item = Q>) -> Result<Vec<Option<TypedGuard<V>>>>
    where
        Q: Borrow<K::Arg<'k>>,
    {
        let keys: Vec<Vec<u8>> = encoded::<K, Q>(keys)?;
        let found = self.untyped().multi_get(keys)?;
        found.into_iter().map(|found| TypedGuard::of_found(Ok(found))).collect()
    }

    /// Returns the value of a key, for values that borrow nothing: numbers, rows, `String`.
    ///
    /// # Errors
    /// As [`Self::get`] and [`TypedGuard::value`].
    #[inline(always)]
    pub fn load<'k, R>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<Option<R>>
    where
        V: for<'a> TypedData<Read<'a> = R>,
    {
        match self.untyped().get(K::encode(key.borrow())?)? {
            Some(bytes) => read::<V>(&bytes).map(Some),
            None => Ok(None),
        }
    }

    /// Whether a key is present; its value is not read.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn contains_key<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<bool> {
        self.checked()?.contains_key(K::encode(key.borrow())?)
    }

    /// The records in a range of keys, from either end.
    #[must_use]
    pub fn range<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> TypedRange<K, V> {
        TypedRange::new(byte_bounds::<K>(&range).map(|bounds| self.pinned.adapt_range(self.untyped().range(bounds))))
    }

    /// The records whose keys begin with `prefix`: for tuples with these components, as in `prefix(("ann",))`.
    #[must_use]
    pub fn prefix(&self, prefix: impl TypedPrefix<K>) -> TypedRange<K, V> {
        TypedRange::new(prefix_bytes(&prefix).map(|prefix| self.pinned.adapt_range(self.untyped().prefix(prefix))))
    }

    /// All records, from either end.
    #[must_use]
    pub fn iter(&self) -> TypedRange<K, V> {
        self.range(..)
    }

    /// Atomically sets the value of a key to `new` (`None` removes it) if its value is `expected` (`None` if it is
    /// absent). Values are compared as this type has them, not their bytes: a row that was written before a field was
    /// added equals the one that [`Self::load`] returns, and a NaN equals a NaN. 0 and -0 differ.
    ///
    /// # Errors
    /// As [`Self::insert`] and [`Self::get`].
    pub fn compare_and_swap<'k>(
        &self,
        key: impl Borrow<K::Arg<'k>>,
        expected: Option<&V::Arg<'_>>,
        new: Option<&V::Arg<'_>>,
    ) -> Result<Swap<TypedGuard<V>>> {
        let key = K::encode(key.borrow())?;
        let (expected, new) = (expected.map(V::encode_value).transpose()?, new.map(V::encode_value).transpose()?);
        let (expected, new) = (expected.as_ref().map(AsRef::as_ref), new.as_ref().map(AsRef::as_ref));
        Ok(self.pinned.compare_and_swap(key, expected, new)?.map(TypedGuard::new))
    }
}

/// The bytes of keys.
pub(super) fn encoded<'k, K: TypedKey + ?Sized, Q: Borrow<K::Arg<'k>>>(
    keys: impl IntoIterator<Item = Q>,
) -> Result<Vec<Vec<u8>>> {
    keys.into_iter().map(|key| Ok(K::encode(key.borrow())?.as_ref().to_vec())).collect()
}

pub(super) fn prefix_bytes<K: ?Sized>(prefix: &impl TypedPrefix<K>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    prefix.append_prefix(&mut bytes)?;
    Ok(bytes)
}

impl<K: ?Sized, V: ?Sized> Clone for TypedKeyspace<K, V> {
    fn clone(&self) -> Self {
        Self { pinned: self.pinned.clone(), data: PhantomData }
    }
}

impl<K: ?Sized, V: ?Sized> fmt::Debug for TypedKeyspace<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedKeyspace").field(&self.pinned.keyspace().name()).finish()
    }
}

impl Batch {
    /// Sets the value of a key of a typed keyspace. Errors are reported by [`Self::commit`].
    pub fn typed_insert<'k, 'v, K: TypedKey + ?Sized, V: TypedValue + ?Sized>(
        &mut self,
        keyspace: &TypedKeyspace<K, V>,
        key: impl Borrow<K::Arg<'k>>,
        value: impl Borrow<V::Arg<'v>>,
    ) -> &mut Self {
        match (K::encode(key.borrow()), V::encode_value(value.borrow())) {
            (Ok(key), Ok(value)) => self.pin(&keyspace.pinned).insert(keyspace.untyped(), key, value),
            (Err(error), _) | (_, Err(error)) => self.refuse(error),
        }
    }

    /// Sets the value of a key of a typed keyspace until a time. Errors are reported by [`Self::commit`].
    pub fn typed_insert_with<'k, 'v, K: TypedKey + ?Sized, V: TypedValue + ?Sized>(
        &mut self,
        keyspace: &TypedKeyspace<K, V>,
        key: impl Borrow<K::Arg<'k>>,
        value: impl Borrow<V::Arg<'v>>,
        expires: SystemTime,
    ) -> &mut Self {
        match (K::encode(key.borrow()), V::encode_value(value.borrow())) {
            (Ok(key), Ok(value)) => self.pin(&keyspace.pinned).insert_with(keyspace.untyped(), key, value, expires),
            (Err(error), _) | (_, Err(error)) => self.refuse(error),
        }
    }

    /// Lets [`Self::commit`] fail with [`Cause::Conflict`](crate::Cause::Conflict) unless the key of a typed keyspace
    /// has this value then, or is absent if that is `None`. Values are compared as by
    /// [`TypedKeyspace::compare_and_swap`].
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let stock = db.keyspace("stock")?.typed::<str, u32>()?;
    /// stock.insert("fig", 3)?;
    /// let mut batch = db.batch();
    /// batch.typed_expect(&stock, "fig", Some(&3)).typed_insert(&stock, "fig", 2);
    /// batch.commit()?;
    /// assert_eq!(stock.load("fig")?, Some(2));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    pub fn typed_expect<'k, K: TypedKey + ?Sized, V: TypedValue + ?Sized>(
        &mut self,
        keyspace: &TypedKeyspace<K, V>,
        key: impl Borrow<K::Arg<'k>>,
        value: Option<&V::Arg<'_>>,
    ) -> &mut Self {
        match (K::encode(key.borrow()), value.map(V::encode_value).transpose()) {
            (Ok(key), Ok(value)) => self.expect_as(&keyspace.pinned, key, value.as_ref().map(AsRef::as_ref)),
            (Err(error), _) | (_, Err(error)) => self.refuse(error),
        }
    }

    /// Removes a key of a typed keyspace.
    pub fn typed_remove<'k, K: TypedKey + ?Sized, V: TypedValue + ?Sized>(
        &mut self,
        keyspace: &TypedKeyspace<K, V>,
        key: impl Borrow<K::Arg<'k>>,
    ) -> &mut Self {
        match K::encode(key.borrow()) {
            Ok(key) => self.pin(&keyspace.pinned).remove(keyspace.untyped(), key),
            Err(error) => self.refuse(error),
        }
    }
}

/// A typed keyspace as of a snapshot: see [`DbSnapshot::typed`].
#[derive(Debug)]
pub struct TypedSnapshot<K: ?Sized, V: ?Sized> {
    snapshot: DbSnapshot,
    keyspace: TypedKeyspace<K, V>,
}

impl DbSnapshot {
    /// A typed keyspace as of this snapshot.
    #[must_use]
    pub fn typed<K: TypedKey + ?Sized, V: TypedValue + ?Sized>(
        &self,
        keyspace: &TypedKeyspace<K, V>,
    ) -> TypedSnapshot<K, V> {
        TypedSnapshot { snapshot: self.clone(), keyspace: keyspace.clone() }
    }
}

impl<K: TypedKey + ?Sized, V: TypedValue + ?Sized> TypedSnapshot<K, V> {
    /// Returns the value of a key, in the bytes that were read.
    ///
    /// # Errors
    /// As [`DbSnapshot::get`].
    pub fn get<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<Option<TypedGuard<V>>> {
        let found = self.snapshot.get(self.keyspace.untyped(), K::encode(key.borrow())?);
        TypedGuard::of_found(found)
    }

    /// Returns the values of many keys, in their order, as [`DbSnapshot::multi_get`] does.
    ///
    /// # Errors
    /// As [`DbSnapshot::get`].
    pub fn multi_get<'k, Q>(&self, keys: impl IntoIterator<Item = Q>) -> Result<Vec<Option<TypedGuard<V>>>>
    where
        Q: Borrow<K::Arg<'k>>,
    {
        let keys: Vec<Vec<u8>> = encoded::<K, Q>(keys)?;
        let found = self.snapshot.multi_get(self.keyspace.untyped(), keys)?;
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
    /// As [`DbSnapshot::get`].
    pub fn contains_key<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<bool> {
        self.snapshot.contains_key(self.keyspace.checked()?, K::encode(key.borrow())?)
    }

    /// The records in a range of keys, from either end.
    #[must_use]
    pub fn range<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> TypedRange<K, V> {
        let bounds = byte_bounds::<K>(&range);
        let range = |bounds| self.snapshot.range(self.keyspace.untyped(), bounds);
        TypedRange::new(bounds.map(|bounds| self.keyspace.pinned.adapt_range(range(bounds))))
    }

    /// The records whose keys begin with `prefix`.
    #[must_use]
    pub fn prefix(&self, prefix: impl TypedPrefix<K>) -> TypedRange<K, V> {
        let prefix = prefix_bytes(&prefix);
        let range = |prefix: Vec<u8>| self.snapshot.prefix(self.keyspace.untyped(), prefix);
        TypedRange::new(prefix.map(|prefix| self.keyspace.pinned.adapt_range(range(prefix))))
    }

    /// All records, from either end.
    #[must_use]
    pub fn iter(&self) -> TypedRange<K, V> {
        self.range(..)
    }
}
