//! Keys and values as they were read, and ranges of them.

use super::data::TypedData;
use super::row::TypedRow;
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::lsm::{DbRange, DbTransactionIndexRange, DbTransactionRange, KeyspaceIndexRange};
use crate::table::TableRange;
use crate::types::{Row, Value};
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

/// A key or value of type `T` in the bytes that were read, which are shared with the cache if they are long.
#[repr(transparent)]
pub struct TypedGuard<T: ?Sized, B = Slice> {
    bytes: B,
    data: PhantomData<fn(&T)>,
}

impl<T: TypedData + ?Sized, B: AsRef<[u8]>> TypedGuard<T, B> {
    #[inline]
    pub(super) fn new(bytes: B) -> Self {
        Self { bytes, data: PhantomData }
    }

    /// The guard of what was found, if anything: one match, which the compiler merges with those of the caller.
    #[inline(always)]
    pub(super) fn of_found(found: Result<Option<B>>) -> Result<Option<Self>> {
        match found {
            Ok(Some(bytes)) => Ok(Some(Self::new(bytes))),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The key or value. Text and bytes are borrowed from the guard.
    ///
    /// # Errors
    /// `Cause::Input` if the bytes are not of this type, which an untyped handle may have written.
    #[inline]
    pub fn value(&self) -> Result<T::Read<'_>> {
        read::<T>(self.bytes())
    }

    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Its bytes, without copying.
    pub fn into_bytes(self) -> B {
        self.bytes
    }
}

impl<T: TypedRow, B: AsRef<[u8]>> TypedGuard<T, B> {
    /// The row, whose fields are read one by one, without copying.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn row(&self) -> Result<Row<'_>> {
        Row::new(T::row_type()?, self.bytes())
    }
}

/// The value of bytes that were read.
#[inline]
pub(super) fn read<T: TypedData + ?Sized>(bytes: &[u8]) -> Result<T::Read<'_>> {
    match T::decode(bytes) {
        Some(value) => Ok(value),
        None => Err(wrong::<T>(bytes.len())),
    }
}

#[cold]
pub(super) fn wrong<T: ?Sized>(length: usize) -> Error {
    let name = std::any::type_name::<T>();
    Error::input(format!("{length} bytes that were read are no {name}; they were written without a type"))
}

impl<T: ?Sized, B: Clone> Clone for TypedGuard<T, B> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), data: PhantomData }
    }
}

impl<T: TypedData + ?Sized, B: AsRef<[u8]>> fmt::Debug for TypedGuard<T, B>
where
    for<'a> T::Read<'a>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match T::decode(self.bytes()) {
            Some(value) => value.fmt(f),
            None => write!(f, "\"{}\"", self.bytes().escape_ascii()),
        }
    }
}

/// The records of a range of keys, in key order, from either end.
pub struct TypedRange<K: ?Sized, V: ?Sized, R = DbRange> {
    records: Option<R>,
    /// An error to report instead of records.
    refused: Option<Error>,
    data: PhantomData<fn(&K, &V)>,
}

impl<K: TypedData + ?Sized, V: TypedData + ?Sized, R> TypedRange<K, V, R> {
    pub(super) fn new(records: Result<R>) -> Self {
        let (records, refused) = match records {
            Ok(records) => (Some(records), None),
            Err(error) => (None, Some(error)),
        };
        Self { records, refused, data: PhantomData }
    }
}

impl<K: TypedData + ?Sized, V: TypedData + ?Sized> TypedRange<K, V> {
    /// The keys only; values are not read.
    pub fn keys(self) -> impl DoubleEndedIterator<Item = Result<TypedGuard<K>>> {
        let refused = self.refused.map(Err);
        let keys = self.records.into_iter().flat_map(DbRange::keys);
        refused.into_iter().chain(keys.map(|key| key.map(TypedGuard::new)))
    }
}

macro_rules! moved_ends {
    ($($range:ty),+) => {$(
        impl<K: TypedData + ?Sized, V: TypedData + ?Sized> TypedRange<K, V, $range> {
            /// Moves the front to the first record at or behind `key` that is in the range, as [`DbRange::seek`] does.
            ///
            /// # Errors
            /// [`Cause::Input`](crate::Cause::Input) if the key cannot be encoded; the range is where it was.
            pub fn seek<'k>(&mut self, key: impl Borrow<K::Arg<'k>>) -> Result<()> {
                let key = K::encode(key.borrow())?;
                self.records.iter_mut().for_each(|records| records.seek(&key));
                Ok(())
            }

            /// Moves the back to the last record at or before `key` that is in the range, likewise.
            ///
            /// # Errors
            /// As [`Self::seek`].
            pub fn seek_for_prev<'k>(&mut self, key: impl Borrow<K::Arg<'k>>) -> Result<()> {
                let key = K::encode(key.borrow())?;
                self.records.iter_mut().for_each(|records| records.seek_for_prev(&key));
                Ok(())
            }
        }
    )+};
}
moved_ends!(DbRange, DbTransactionRange, TableRange);

macro_rules! moved_ends_of_indexes {
    ($($range:ty),+) => {$(
        impl<K: TypedData + ?Sized, V: TypedData + ?Sized> TypedRange<K, V, $range> {
            /// Moves the front to the first record in the range whose values of the index are at or behind these, as
            /// [`KeyspaceIndexRange::seek`] does.
            ///
            /// # Errors
            /// [`Cause::Input`](crate::Cause::Input) for values of other types; the range is where it was.
            pub fn seek(&mut self, values: &[Value]) -> Result<()> {
                self.records.as_mut().map_or(Ok(()), |records| records.seek(values))
            }

            /// Moves the back to the last record in the range whose values are at or before these, likewise.
            ///
            /// # Errors
            /// As [`Self::seek`].
            pub fn seek_for_prev(&mut self, values: &[Value]) -> Result<()> {
                self.records.as_mut().map_or(Ok(()), |records| records.seek_for_prev(values))
            }
        }
    )+};
}
moved_ends_of_indexes!(KeyspaceIndexRange, DbTransactionIndexRange);

/// A record of a typed range: the guards of its key and its value.
pub type TypedRecord<K, V, B = Slice> = (TypedGuard<K, B>, TypedGuard<V, B>);

fn record<K: TypedData + ?Sized, V: TypedData + ?Sized, B: AsRef<[u8]>>(
    record: Result<(B, B)>,
) -> Result<TypedRecord<K, V, B>> {
    record.map(|(key, value)| (TypedGuard::new(key), TypedGuard::new(value)))
}

impl<K, V, B, R> Iterator for TypedRange<K, V, R>
where
    K: TypedData + ?Sized,
    V: TypedData + ?Sized,
    B: AsRef<[u8]>,
    R: Iterator<Item = Result<(B, B)>>,
{
    type Item = Result<TypedRecord<K, V, B>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.refused.take() {
            Some(error) => Some(Err(error)),
            None => self.records.as_mut()?.next().map(record),
        }
    }
}

impl<K, V, B, R> DoubleEndedIterator for TypedRange<K, V, R>
where
    K: TypedData + ?Sized,
    V: TypedData + ?Sized,
    B: AsRef<[u8]>,
    R: DoubleEndedIterator<Item = Result<(B, B)>>,
{
    fn next_back(&mut self) -> Option<Self::Item> {
        match self.refused.take() {
            Some(error) => Some(Err(error)),
            None => self.records.as_mut()?.next_back().map(record),
        }
    }
}

impl<K: ?Sized, V: ?Sized, R: fmt::Debug> fmt::Debug for TypedRange<K, V, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedRange").field(&self.records).finish()
    }
}

/// The bytes of the bounds of a range.
pub(super) type ByteBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

pub(super) fn byte_bounds<'k, K: TypedData + ?Sized>(range: &impl RangeBounds<K::Arg<'k>>) -> Result<ByteBounds> {
    let bytes = |bound: Bound<&K::Arg<'k>>| {
        Ok(match bound {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(key) => Bound::Included(K::encode(key)?.as_ref().to_vec()),
            Bound::Excluded(key) => Bound::Excluded(K::encode(key)?.as_ref().to_vec()),
        })
    };
    Ok((bytes(range.start_bound())?, bytes(range.end_bound())?))
}
