//! Typed lookups through the indexes that a store keeps itself.

use super::data::{TypedKey, TypedValue};
use super::guard::TypedRange;
use super::keyspace::{TypedKeyspace, prefix_bytes};
use super::parts::{TypedParts, TypedPrefix};
use crate::error::{Error, Result};
use crate::lsm::{DbTransaction, DbTransactionIndexRange, KeyspaceIndex, KeyspaceIndexRange};
use crate::types::{Component, NullOrder, TupleType, Value};
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

/// An index that the store keeps, with indexed values of type `I`: see [`TypedKeyspace::index`].
pub struct TypedIndex<I: ?Sized, K: ?Sized, V: ?Sized> {
    index: KeyspaceIndex,
    data: PhantomData<fn(&I, &K, &V)>,
}

/// The bounds of a lookup, as values.
type ValueBounds = (Bound<Vec<Value>>, Bound<Vec<Value>>);

impl<K: TypedKey + ?Sized, V: TypedValue + ?Sized> TypedKeyspace<K, V> {
    /// The [index](crate::Db::create_index) of this name, whose values, or the first of them, are of type `I`:
    /// [`Desc`](super::Desc) where it is descending, `Option` where nulls are looked up.
    ///
    /// ```
    /// use ogive::Error;
    /// use ogive::typed::Desc;
    /// use ogive::types::IndexDefinition;
    ///
    /// ogive::row! {
    ///     struct Order { user: String, at: u64, total: f64 }
    /// }
    ///
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let orders = db.keyspace("orders")?.typed::<u64, Order>()?;
    /// for (number, at) in [(1, 500), (2, 700), (3, 600)] {
    ///     orders.insert(number, Order { user: "ann".into(), at, total: 9.5 })?;
    /// }
    /// db.create_index("by_user", orders.untyped(), &IndexDefinition::by("user, at desc")?)?;
    ///
    /// // Her newest orders come first.
    /// let by_user = orders.index::<(&str, Desc<u64>)>("by_user")?;
    /// let newest = by_user.prefix(("ann",)).next().transpose()?.expect("she has three");
    /// assert_eq!((newest.0.value()?, newest.1.value()?.at), (2, 700));
    /// let some = by_user.range(("ann", Desc(650))..).map(|record| record?.0.value()).collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(some, [3, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Db::index`](crate::Db::index); [`Cause::Input`](crate::Cause::Input) for an index of another keyspace, or
    /// of other values.
    pub fn index<I: TypedParts + ?Sized>(&self, name: &str) -> Result<TypedIndex<I, K, V>> {
        let index = self.untyped().index(name)?;
        check_components(&index, &I::components())?;
        Ok(TypedIndex { index: index.pinning(self.pinned()), data: PhantomData })
    }
}

/// Checks that the values of an index begin with these components.
fn check_components(index: &KeyspaceIndex, asked: &[Component]) -> Result<()> {
    let has = index.components()?;
    let fits = |(asked, has): (&Component, &Component)| {
        let (nulls, descending) = (asked.nulls, asked.descending);
        asked.key_type == has.key_type
            && descending == has.descending
            && (nulls == has.nulls || nulls == NullOrder::Never)
    };
    if asked.len() <= has.len() && asked.iter().zip(&has).all(fits) {
        return Ok(());
    }
    Err(Error::input(format!(
        "the index {:?} is by {}, of type {}; it was asked for values of type {}",
        index.name(),
        index.definition(),
        TupleType::new(&has)?,
        TupleType::new(asked)?
    )))
}

impl<I, K, V> TypedIndex<I, K, V>
where
    I: TypedParts + ?Sized,
    K: TypedKey + ?Sized,
    V: TypedValue + ?Sized,
{
    /// The index with values of any type.
    #[must_use]
    pub fn untyped(&self) -> &KeyspaceIndex {
        &self.index
    }

    /// The records with these values, as [`KeyspaceIndex::get`] has them.
    #[must_use]
    pub fn get<'i>(&self, values: impl Borrow<I::PartArg<'i>>) -> TypedRange<K, V, KeyspaceIndexRange> {
        TypedRange::new(values_of::<I>(values.borrow()).and_then(|values| self.index.get(&values)))
    }

    /// The records whose values are in a range, in the order of the index, from either end.
    #[must_use]
    pub fn range<'i>(&self, range: impl RangeBounds<I::PartArg<'i>>) -> TypedRange<K, V, KeyspaceIndexRange> {
        let found = bounds_of::<I>(&range).and_then(|(from, to)| self.index.range(slice(&from), slice(&to)));
        TypedRange::new(found)
    }

    /// The records whose values begin with `prefix`: for tuples with these components, as in `prefix(("ann",))`.
    #[must_use]
    pub fn prefix(&self, prefix: impl TypedPrefix<I>) -> TypedRange<K, V, KeyspaceIndexRange> {
        let found = prefix_of(&prefix).and_then(|(values, is_whole)| match is_whole {
            true => self.index.get(&values),
            false => self.index.prefix(&values),
        });
        TypedRange::new(found)
    }
}

impl DbTransaction {
    /// The records with these values of an index, as [`Self::index_get`] has them.
    #[must_use]
    pub fn typed_index_get<'i, I, K, V>(
        &self,
        index: &TypedIndex<I, K, V>,
        values: impl Borrow<I::PartArg<'i>>,
    ) -> TypedRange<K, V, DbTransactionIndexRange>
    where
        I: TypedParts + ?Sized,
        K: TypedKey + ?Sized,
        V: TypedValue + ?Sized,
    {
        TypedRange::new(values_of::<I>(values.borrow()).and_then(|values| self.index_get(&index.index, &values)))
    }

    /// The records whose values of an index are in a range, as [`Self::index_get`] has them.
    #[must_use]
    pub fn typed_index_range<'i, I, K, V>(
        &self,
        index: &TypedIndex<I, K, V>,
        range: impl RangeBounds<I::PartArg<'i>>,
    ) -> TypedRange<K, V, DbTransactionIndexRange>
    where
        I: TypedParts + ?Sized,
        K: TypedKey + ?Sized,
        V: TypedValue + ?Sized,
    {
        let found = bounds_of::<I>(&range);
        TypedRange::new(found.and_then(|(from, to)| self.index_range(&index.index, slice(&from), slice(&to))))
    }

    /// The records whose values of an index begin with `prefix`, as [`Self::index_get`] has them.
    #[must_use]
    pub fn typed_index_prefix<I, K, V>(
        &self,
        index: &TypedIndex<I, K, V>,
        prefix: impl TypedPrefix<I>,
    ) -> TypedRange<K, V, DbTransactionIndexRange>
    where
        I: TypedParts + ?Sized,
        K: TypedKey + ?Sized,
        V: TypedValue + ?Sized,
    {
        let found = prefix_of(&prefix).and_then(|(values, is_whole)| match is_whole {
            true => self.index_get(&index.index, &values),
            false => self.index_prefix(&index.index, &values),
        });
        TypedRange::new(found)
    }
}

/// The first values of an index that have these bytes, as components of type `I`.
fn decoded<I: TypedParts + ?Sized>(bytes: &[u8]) -> Result<Vec<Value>> {
    let no_values = || Error::input(format!("{} bytes are no indexed values", bytes.len()));
    TupleType::new(&I::components())?.decode_first(bytes).ok_or_else(no_values)
}

fn values_of<I: TypedParts + ?Sized>(values: &I::PartArg<'_>) -> Result<Vec<Value>> {
    let mut bytes = Vec::new();
    I::append(values, &mut bytes)?;
    decoded::<I>(&bytes)
}

fn bounds_of<'i, I: TypedParts + ?Sized>(range: &impl RangeBounds<I::PartArg<'i>>) -> Result<ValueBounds> {
    let values = |bound: Bound<&I::PartArg<'i>>| {
        Ok(match bound {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(values) => Bound::Included(values_of::<I>(values)?),
            Bound::Excluded(values) => Bound::Excluded(values_of::<I>(values)?),
        })
    };
    Ok((values(range.start_bound())?, values(range.end_bound())?))
}

fn slice(bound: &Bound<Vec<Value>>) -> Bound<&[Value]> {
    bound.as_ref().map(Vec::as_slice)
}

/// The values of a prefix, and whether they are whole ones; else the last is the beginning of a text or of bytes.
fn prefix_of<I: TypedParts + ?Sized>(prefix: &impl TypedPrefix<I>) -> Result<(Vec<Value>, bool)> {
    let bytes = prefix_bytes(prefix)?;
    match &I::components()[..] {
        [only] => Ok((vec![only.key_type.decode(&bytes)?], false)),
        _ => Ok((decoded::<I>(&bytes)?, true)),
    }
}

impl<I: ?Sized, K: ?Sized, V: ?Sized> Clone for TypedIndex<I, K, V> {
    fn clone(&self) -> Self {
        Self { index: self.index.clone(), data: PhantomData }
    }
}

impl<I: ?Sized, K: ?Sized, V: ?Sized> fmt::Debug for TypedIndex<I, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index.fmt(f)
    }
}
