//! Multimaps: keyspaces with several values per key.

use super::guard::{ByteBounds, wrong};
use super::parts::TypedParts;
use crate::block::Slice;
use crate::error::Result;
use crate::lsm::{Batch, Db, DbRange, DbSnapshot, DbTransactionRange, Keyspace, MoveEnds, PinnedTypes};
use crate::types::{KeyType, RecordType, TupleType, end_of_prefix};
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

/// A keyspace with a set of values for each key, in ascending order of both: see [`Db::multimap`]. It is cheap to
/// clone.
///
/// Keys and values are the components of one tuple, which is the key in the keyspace; its values are empty.
pub struct TypedMultimap<K: ?Sized, V: ?Sized> {
    pinned: PinnedTypes,
    data: PhantomData<fn(&K, &V)>,
}

/// The key or the value of an entry of a multimap, in the bytes that were read.
pub struct TypedPart<T: ?Sized> {
    entry: Slice,
    start: usize,
    end: usize,
    data: PhantomData<fn(&T)>,
}

impl<T: TypedParts + ?Sized> TypedPart<T> {
    pub(super) fn new(entry: Slice, start: usize, end: usize) -> Self {
        Self { entry, start, end, data: PhantomData }
    }

    /// Its bytes within a tuple.
    pub(super) fn bytes(&self) -> &[u8] {
        self.entry.get(self.start..self.end).unwrap_or_default()
    }

    /// The key or value, read as a component of a tuple.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the bytes are not of this type, which an untyped
    /// handle may have written.
    pub fn value(&self) -> Result<T::Part<'_>> {
        let mut bytes = self.bytes();
        let part = T::take(&mut bytes).filter(|_| bytes.is_empty());
        part.ok_or_else(|| wrong::<T>(self.end - self.start))
    }
}

impl<T: TypedParts + ?Sized> fmt::Debug for TypedPart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes().escape_ascii())
    }
}

impl Db {
    /// Returns the multimap with this name, creating it if necessary.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let tags = db.multimap::<u64, str>("tags")?;
    /// tags.insert(7, "sweet")?;
    /// tags.insert(7, "fruit")?;
    /// let mut found = tags.get(7);
    /// assert_eq!(found.next().transpose()?.expect("there are two").value()?, "fruit");
    /// assert_eq!(found.count(), 1);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Keyspace::typed`].
    pub fn multimap<K: TypedParts + ?Sized, V: TypedParts + ?Sized>(&self, name: &str) -> Result<TypedMultimap<K, V>> {
        let components = [K::components(), V::components()].concat();
        let keys = TupleType::new(&components).map(KeyType::Tuple)?;
        Ok(TypedMultimap::of(self.keyspace(name)?.state(RecordType::new(keys, KeyType::Bytes).keys_only())?))
    }
}

impl<K: TypedParts + ?Sized, V: TypedParts + ?Sized> TypedMultimap<K, V> {
    /// The multimap in a keyspace that states its type.
    pub(super) fn of(pinned: PinnedTypes) -> Self {
        Self { pinned, data: PhantomData }
    }

    /// The keyspace without types.
    #[must_use]
    pub fn untyped(&self) -> &Keyspace {
        self.pinned.keyspace()
    }

    pub(super) fn pinned(&self) -> &PinnedTypes {
        &self.pinned
    }

    pub(super) fn checked(&self) -> Result<&Keyspace> {
        self.pinned.check()?;
        Ok(self.pinned.keyspace())
    }

    /// Adds a value to those of a key.
    ///
    /// # Errors
    /// As [`Keyspace::insert`], and [`TypedData::encode`](super::TypedData::encode) for the key and the value.
    pub fn insert<'k, 'v>(&self, key: impl Borrow<K::PartArg<'k>>, value: impl Borrow<V::PartArg<'v>>) -> Result<()> {
        self.checked()?.insert(Self::entry(key.borrow(), value.borrow())?, [])
    }

    /// Removes a value from those of a key, if present.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove<'k, 'v>(&self, key: impl Borrow<K::PartArg<'k>>, value: impl Borrow<V::PartArg<'v>>) -> Result<()> {
        self.checked()?.remove(Self::entry(key.borrow(), value.borrow())?)
    }

    /// Removes all values of a key, at a cost independent of their number.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn remove_all<'k>(&self, key: impl Borrow<K::PartArg<'k>>) -> Result<()> {
        let bounds = Self::bounds(&(Bound::Included(key.borrow()), Bound::Included(key.borrow())))?;
        self.checked()?.remove_range(bounds)
    }

    /// Whether a key has a value.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn contains<'k, 'v>(
        &self,
        key: impl Borrow<K::PartArg<'k>>,
        value: impl Borrow<V::PartArg<'v>>,
    ) -> Result<bool> {
        self.checked()?.contains_key(Self::entry(key.borrow(), value.borrow())?)
    }

    /// The values of a key in ascending order, from either end.
    #[must_use]
    pub fn get<'k>(&self, key: impl Borrow<K::PartArg<'k>>) -> MultimapValues<K, V> {
        let key = key.borrow();
        MultimapValues::new(self.range_of((Bound::Included(key), Bound::Included(key)), None), key)
    }

    /// The entries whose keys are in a range, from either end.
    #[must_use]
    pub fn range<'k>(&self, range: impl RangeBounds<K::PartArg<'k>>) -> MultimapRange<K, V> {
        self.range_of((range.start_bound(), range.end_bound()), None)
    }

    /// All entries, from either end.
    #[must_use]
    pub fn iter(&self) -> MultimapRange<K, V> {
        self.range(..)
    }

    pub(super) fn range_of(
        &self,
        range: (Bound<&K::PartArg<'_>>, Bound<&K::PartArg<'_>>),
        at: Option<&DbSnapshot>,
    ) -> MultimapRange<K, V> {
        let entries = |bounds| match at {
            Some(snapshot) => self.pinned.adapt_range(snapshot.range(self.untyped(), bounds)),
            None => self.pinned.adapt_range(self.untyped().range(bounds)),
        };
        MultimapRange::new(Self::bounds(&range).map(entries))
    }

    pub(super) fn entry(key: &K::PartArg<'_>, value: &V::PartArg<'_>) -> Result<Vec<u8>> {
        let mut entry = Vec::new();
        K::append(key, &mut entry)?;
        V::append(value, &mut entry)?;
        Ok(entry)
    }

    /// The entries whose keys are within bounds. No key is the beginning of another one.
    pub(super) fn bounds(range: &(Bound<&K::PartArg<'_>>, Bound<&K::PartArg<'_>>)) -> Result<ByteBounds> {
        let bytes = part_bytes::<K>;
        let behind = |bytes: Vec<u8>| end_of_prefix(&bytes);
        let start = match range.0 {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(key) => Bound::Included(bytes(key)?),
            // If nothing is behind a key, the range is empty; `end` excludes everything then.
            Bound::Excluded(key) => match behind(bytes(key)?) {
                Some(start) => Bound::Included(start),
                None => return Ok((Bound::Unbounded, Bound::Excluded(Vec::new()))),
            },
        };
        let end = match range.1 {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(key) => behind(bytes(key)?).map_or(Bound::Unbounded, Bound::Excluded),
            Bound::Excluded(key) => Bound::Excluded(bytes(key)?),
        };
        Ok((start, end))
    }
}

impl<K: ?Sized, V: ?Sized> Clone for TypedMultimap<K, V> {
    fn clone(&self) -> Self {
        Self { pinned: self.pinned.clone(), data: PhantomData }
    }
}

impl<K: ?Sized, V: ?Sized> fmt::Debug for TypedMultimap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedMultimap").field(&self.pinned.keyspace().name()).finish()
    }
}

impl Batch {
    /// Adds a value to those of a key of a multimap. Errors are reported by [`Self::commit`].
    pub fn multimap_insert<'k, 'v, K: TypedParts + ?Sized, V: TypedParts + ?Sized>(
        &mut self,
        multimap: &TypedMultimap<K, V>,
        key: impl Borrow<K::PartArg<'k>>,
        value: impl Borrow<V::PartArg<'v>>,
    ) -> &mut Self {
        match TypedMultimap::<K, V>::entry(key.borrow(), value.borrow()) {
            Ok(entry) => self.pin(&multimap.pinned).insert(multimap.untyped(), entry, []),
            Err(error) => self.refuse(error),
        }
    }

    /// Removes a value from those of a key of a multimap.
    pub fn multimap_remove<'k, 'v, K: TypedParts + ?Sized, V: TypedParts + ?Sized>(
        &mut self,
        multimap: &TypedMultimap<K, V>,
        key: impl Borrow<K::PartArg<'k>>,
        value: impl Borrow<V::PartArg<'v>>,
    ) -> &mut Self {
        match TypedMultimap::<K, V>::entry(key.borrow(), value.borrow()) {
            Ok(entry) => self.pin(&multimap.pinned).remove(multimap.untyped(), entry),
            Err(error) => self.refuse(error),
        }
    }
}

/// The entries of a range of a multimap: keys and values, in ascending order of both.
pub struct MultimapRange<K: ?Sized, V: ?Sized, R = DbRange> {
    /// `None` after the error of a bound.
    entries: Option<Result<R>>,
    data: PhantomData<fn(&K, &V)>,
}

impl<K: TypedParts + ?Sized, V: TypedParts + ?Sized, R> MultimapRange<K, V, R> {
    pub(super) fn new(entries: Result<R>) -> Self {
        Self { entries: Some(entries), data: PhantomData }
    }

    fn step(
        &mut self,
        next: impl FnOnce(&mut R) -> Option<Result<(Slice, Slice)>>,
    ) -> Option<Result<(TypedPart<K>, TypedPart<V>)>> {
        let entries = match self.entries.as_mut()? {
            Ok(entries) => entries,
            Err(_) => return self.entries.take()?.err().map(Err),
        };
        Some(next(entries)?.and_then(|(entry, _)| {
            let mut rest = &*entry;
            K::take(&mut rest).ok_or_else(|| wrong::<K>(entry.len()))?;
            let (start, end) = (entry.len() - rest.len(), entry.len());
            Ok((TypedPart::new(entry.clone(), 0, start), TypedPart::new(entry, start, end)))
        }))
    }
}

impl<K: TypedParts + ?Sized, V: TypedParts + ?Sized, R> Iterator for MultimapRange<K, V, R>
where
    R: Iterator<Item = Result<(Slice, Slice)>>,
{
    type Item = Result<(TypedPart<K>, TypedPart<V>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(R::next)
    }
}

impl<K: TypedParts + ?Sized, V: TypedParts + ?Sized, R> DoubleEndedIterator for MultimapRange<K, V, R>
where
    R: DoubleEndedIterator<Item = Result<(Slice, Slice)>>,
{
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(R::next_back)
    }
}

impl<K: ?Sized, V: ?Sized, R: fmt::Debug> fmt::Debug for MultimapRange<K, V, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MultimapRange").field(&self.entries).finish()
    }
}

/// The bytes of a key or a value in an entry.
fn part_bytes<T: TypedParts + ?Sized>(part: &T::PartArg<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    T::append(part, &mut bytes).map(|()| bytes)
}

/// The values of a key of a multimap, in ascending order, from either end.
#[derive(Debug)]
pub struct MultimapValues<K: ?Sized, V: ?Sized, R = DbRange> {
    entries: MultimapRange<K, V, R>,
    key: Vec<u8>,
}

impl<K: TypedParts + ?Sized, V: TypedParts + ?Sized, R> MultimapValues<K, V, R> {
    pub(super) fn new(entries: MultimapRange<K, V, R>, key: &K::PartArg<'_>) -> Self {
        // The entries report the error of a key that has no bytes.
        Self { entries, key: part_bytes::<K>(key).unwrap_or_default() }
    }
}

macro_rules! moved_ends {
    ($($range:ty),+) => {$(
        impl<K: TypedParts + ?Sized, V: TypedParts + ?Sized> MultimapRange<K, V, $range> {
            fn moved(&mut self, to: impl FnOnce(&mut $range)) -> Result<()> {
                if let Some(Ok(entries)) = &mut self.entries {
                    to(entries);
                }
                Ok(())
            }

            /// Moves the front to the first entry in the range whose key is at or behind `key`, as [`DbRange::seek`]
            /// does.
            ///
            /// # Errors
            /// [`Cause::Input`](crate::Cause::Input) if the key cannot be encoded; the range is where it was.
            pub fn seek<'k>(&mut self, key: impl Borrow<K::PartArg<'k>>) -> Result<()> {
                let start = part_bytes::<K>(key.borrow())?;
                self.moved(|entries| entries.move_front(&start))
            }

            /// Moves the back to the last entry in the range whose key is at or before `key`, likewise.
            ///
            /// # Errors
            /// As [`Self::seek`].
            pub fn seek_for_prev<'k>(&mut self, key: impl Borrow<K::PartArg<'k>>) -> Result<()> {
                let start = part_bytes::<K>(key.borrow())?;
                self.moved(|entries| entries.move_back(end_of_prefix(&start).as_deref()))
            }
        }

        impl<K: TypedParts + ?Sized, V: TypedParts + ?Sized> MultimapValues<K, V, $range> {
            /// Moves the front to the first value at or behind `value`, as [`DbRange::seek`] does.
            ///
            /// # Errors
            /// [`Cause::Input`](crate::Cause::Input) if the value cannot be encoded; the values are where they were.
            pub fn seek<'v>(&mut self, value: impl Borrow<V::PartArg<'v>>) -> Result<()> {
                let start = [&self.key[..], &part_bytes::<V>(value.borrow())?].concat();
                self.entries.moved(|entries| entries.move_front(&start))
            }

            /// Moves the back to the last value at or before `value`, likewise.
            ///
            /// # Errors
            /// As [`Self::seek`].
            pub fn seek_for_prev<'v>(&mut self, value: impl Borrow<V::PartArg<'v>>) -> Result<()> {
                let start = [&self.key[..], &part_bytes::<V>(value.borrow())?].concat();
                self.entries.moved(|entries| entries.move_back(end_of_prefix(&start).as_deref()))
            }
        }
    )+};
}
moved_ends!(DbRange, DbTransactionRange);

impl<K: TypedParts + ?Sized, V: TypedParts + ?Sized, R> Iterator for MultimapValues<K, V, R>
where
    R: Iterator<Item = Result<(Slice, Slice)>>,
{
    type Item = Result<TypedPart<V>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next().map(|entry| entry.map(|(_, value)| value))
    }
}

impl<K: TypedParts + ?Sized, V: TypedParts + ?Sized, R> DoubleEndedIterator for MultimapValues<K, V, R>
where
    R: DoubleEndedIterator<Item = Result<(Slice, Slice)>>,
{
    fn next_back(&mut self) -> Option<Self::Item> {
        self.entries.next_back().map(|entry| entry.map(|(_, value)| value))
    }
}
