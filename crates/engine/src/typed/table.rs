//! Tables with types for their keys and values.

use super::data::{TypedData, TypedKey, TypedValue};
use super::guard::{TypedGuard, TypedRange, TypedRecord, byte_bounds, read};
use super::keyspace::prefix_bytes;
use super::parts::TypedPrefix;
use crate::error::{Error, Result};
use crate::io::Place;
use crate::table::{Table, TableRange, TableReport, TableWriteOptions, TableWriter};
use crate::types::RecordType;
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

/// A table with keys of type `K` and values of type `V`: see [`Table::typed`]. It is cheap to clone.
pub struct TypedTable<K: ?Sized, V: ?Sized> {
    table: Table,
    data: PhantomData<fn(&K, &V)>,
}

impl Table {
    /// The same table with keys and values of these types, which must be those that it states. Rows may lack fields
    /// that were added at the end of `V`.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::MemoryStorage::new());
    /// use ogive::typed::TypedTableWriter;
    /// use ogive::{Table, TableOptions, TableWriteOptions};
    ///
    /// let options = TableWriteOptions::default();
    /// let mut writer = TypedTableWriter::<i64, str>::create((storage.clone(), "years"), options)?;
    /// writer.append(-300, "Euclid")?;
    /// writer.append(1815, "Ada")?;
    /// writer.finish()?;
    ///
    /// let years = Table::open((storage, "years"), &TableOptions::default())?.typed::<i64, str>()?;
    /// let ada = years.get(1815)?.expect("it was written");
    /// assert_eq!((ada.value()?, years.rank(0)?), ("Ada", 1));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::WrongType`](crate::Cause::WrongType) if it states other types.
    pub fn typed<K: TypedKey + ?Sized, V: TypedValue + ?Sized>(&self) -> Result<TypedTable<K, V>> {
        let found = self.record_type();
        let asked = RecordType::new(K::key_type()?, V::value_type()?).named_as(found);
        if !asked.extends(found) {
            let path = self.path().to_owned();
            return Err(Error::wrong_table_type(path, &found.to_string(), &asked.to_string()));
        }
        Ok(TypedTable { table: self.clone(), data: PhantomData })
    }
}

impl<K: TypedKey + ?Sized, V: TypedValue + ?Sized> TypedTable<K, V> {
    /// The table without types.
    #[must_use]
    pub fn untyped(&self) -> &Table {
        &self.table
    }

    /// Returns the value of a key, or of its first record if there are several.
    ///
    /// # Errors
    /// As [`Table::get`].
    #[inline(always)]
    pub fn get<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<Option<TypedGuard<V, Vec<u8>>>> {
        TypedGuard::of_found(self.table.get(K::encode(key.borrow())?.as_ref()))
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
        match self.table.get(K::encode(key.borrow())?.as_ref())? {
            Some(bytes) => read::<V>(&bytes).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the values of all records of a key, in order.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn get_all<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<Vec<TypedGuard<V, Vec<u8>>>> {
        let values = self.table.get_all(K::encode(key.borrow())?.as_ref())?;
        Ok(values.into_iter().map(TypedGuard::new).collect())
    }

    /// Returns whether a key has a record.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn contains_key<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<bool> {
        self.table.contains_key(K::encode(key.borrow())?.as_ref())
    }

    /// The records in a range of keys, from either end.
    #[must_use]
    pub fn range<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> TypedRange<K, V, TableRange> {
        TypedRange::new(byte_bounds::<K>(&range).map(|bounds| self.table.range(bounds)))
    }

    /// The records whose keys begin with `prefix`: for tuples with these components, as in `prefix(("ann",))`.
    #[must_use]
    pub fn prefix(&self, prefix: impl TypedPrefix<K>) -> TypedRange<K, V, TableRange> {
        TypedRange::new(
            prefix_bytes(&prefix).map(|prefix| self.table.range(self.table.key_type().prefix_range(&prefix))),
        )
    }

    /// All records, from either end.
    #[must_use]
    pub fn iter(&self) -> TypedRange<K, V, TableRange> {
        self.range(..)
    }

    /// Returns the first record.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn first(&self) -> Result<Option<TypedRecord<K, V, Vec<u8>>>> {
        self.iter().next().transpose()
    }

    /// Returns the last record.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn last(&self) -> Result<Option<TypedRecord<K, V, Vec<u8>>>> {
        self.iter().next_back().transpose()
    }

    /// Returns the record at a position, counted from 0.
    ///
    /// # Errors
    /// As [`Table::nth`].
    pub fn nth(&self, position: u64) -> Result<Option<TypedRecord<K, V, Vec<u8>>>> {
        let found = self.table.nth(position)?;
        Ok(found.map(|(key, value)| (TypedGuard::new(key), TypedGuard::new(value))))
    }

    /// Returns the number of records with lesser keys, whether or not the key is present.
    ///
    /// # Errors
    /// As [`Table::rank`].
    pub fn rank<'k>(&self, key: impl Borrow<K::Arg<'k>>) -> Result<u64> {
        self.table.rank(K::encode(key.borrow())?.as_ref())
    }

    /// Returns the number of records in a range of keys.
    ///
    /// # Errors
    /// As [`Table::count`].
    pub fn count<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> Result<u64> {
        self.table.count(byte_bounds::<K>(&range)?)
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.table.len()
    }

    /// Whether there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

impl<K: ?Sized, V: ?Sized> Clone for TypedTable<K, V> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), data: PhantomData }
    }
}

impl<K: ?Sized, V: ?Sized> fmt::Debug for TypedTable<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedTable").field(&self.table.path()).finish()
    }
}

/// Writes a table with keys of type `K`, in ascending order, and values of type `V`.
pub struct TypedTableWriter<K: ?Sized, V: ?Sized> {
    writer: TableWriter,
    data: PhantomData<fn(&K, &V)>,
}

impl<K: TypedKey + ?Sized, V: TypedValue + ?Sized> TypedTableWriter<K, V> {
    /// Creates a table at a [place](Place). The types of the options are replaced; names of key columns are kept.
    ///
    /// # Errors
    /// As [`TableWriter::create`].
    pub fn create(place: impl Into<Place>, options: TableWriteOptions) -> Result<Self> {
        let stated = V::record_type::<K>()?;
        let types = match options.key_columns.clone() {
            columns if columns.is_empty() => stated,
            columns if stated.is_keys_only() => stated.key_columns(columns).keys_only(),
            columns => stated.key_columns(columns),
        };
        let options = options.record_type(types);
        Ok(Self { writer: TableWriter::create(place, options)?, data: PhantomData })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// As [`TableWriter::append`], and [`TypedData::encode`] for the key and the value.
    pub fn append<'k, 'v>(&mut self, key: impl Borrow<K::Arg<'k>>, value: impl Borrow<V::Arg<'v>>) -> Result<()> {
        self.writer.append(K::encode(key.borrow())?.as_ref(), V::encode_value(value.borrow())?.as_ref())
    }

    /// Completes the table under its name.
    ///
    /// # Errors
    /// As [`TableWriter::finish`].
    pub fn finish(self) -> Result<TableReport> {
        self.writer.finish()
    }
}

impl<K: ?Sized, V: ?Sized> fmt::Debug for TypedTableWriter<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedTableWriter").field(&self.writer.path()).finish()
    }
}
