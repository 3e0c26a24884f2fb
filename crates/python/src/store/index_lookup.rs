//! Lookups through the indexes that a store keeps, as Python states them.

use crate::convert::value_or_null;
use crate::errors::{self, OrRaise};
use crate::object::Object;
use crate::wait::without_lock;
use ogive::lsm::{DbTransactionIndexRange, KeyspaceIndex, KeyspaceIndexRange};
use ogive::types::{RecordType, Value};
use ogive::{Db, DbTransaction, Keyspace};
use pyo3::prelude::*;
use std::ops::Bound;
use std::sync::Arc;

/// The first values, and whether the last of them is the beginning of a text.
pub(crate) type StatedValues<'py> = (Vec<Object<'py>>, bool);
/// The first values at which a range starts, and those before which it stops.
pub(crate) type StatedRange<'py> = (Option<Vec<Object<'py>>>, Option<Vec<Object<'py>>>);

/// A lookup.
pub(crate) struct IndexLookup {
    index: KeyspaceIndex,
    asked: Asked,
}

enum Asked {
    Values(Vec<Value>),
    Prefix(Vec<Value>),
    Range(Option<Vec<Value>>, Option<Vec<Value>>),
}

impl Asked {
    /// The bounds of a range.
    fn bounds<'a>(start: Option<&'a [Value]>, stop: Option<&'a [Value]>) -> [Bound<&'a [Value]>; 2] {
        [start.map_or(Bound::Unbounded, Bound::Included), stop.map_or(Bound::Unbounded, Bound::Excluded)]
    }
}

impl IndexLookup {
    /// A lookup through the index `name` of a keyspace.
    pub(crate) fn new(
        (db, keyspace): (&Db, &Keyspace),
        name: &str,
        (values, is_prefix): StatedValues<'_>,
        (start, stop): StatedRange<'_>,
    ) -> PyResult<Self> {
        let index = without_lock(|| db.index(name)).or_raise()?;
        if index.keyspace() != keyspace {
            let message = format!("the index {name:?} is of the keyspace {:?}", index.keyspace().name());
            return Err(errors::new("InvalidArgument", &message));
        }
        let types = index.value_types().or_raise()?;
        let values_of = |objects: Vec<Object<'_>>| -> PyResult<Vec<Value>> {
            if objects.len() > types.len() {
                let message = format!("the index {name:?} has {} values, not {}", types.len(), objects.len());
                return Err(errors::new("InvalidArgument", &message));
            }
            types.iter().zip(&objects).map(|(key_type, object)| value_or_null(*key_type, object)).collect()
        };
        let asked = match (start, stop) {
            (None, None) if is_prefix => Asked::Prefix(values_of(values)?),
            (None, None) => Asked::Values(values_of(values)?),
            (start, stop) => Asked::Range(start.map(values_of).transpose()?, stop.map(values_of).transpose()?),
        };
        Ok(Self { index, asked })
    }

    /// The types of the records.
    pub(crate) fn types(&self) -> Arc<RecordType> {
        self.index.keyspace().record_type()
    }

    /// The records as of now.
    pub(crate) fn records(&self) -> ogive::Result<KeyspaceIndexRange> {
        match &self.asked {
            Asked::Values(values) => self.index.get(values),
            Asked::Prefix(values) => self.index.prefix(values),
            Asked::Range(start, stop) => {
                let [start, stop] = Asked::bounds(start.as_deref(), stop.as_deref());
                self.index.range(start, stop)
            }
        }
    }

    /// The records as a transaction sees them.
    pub(crate) fn within(&self, transaction: &DbTransaction) -> ogive::Result<DbTransactionIndexRange> {
        match &self.asked {
            Asked::Values(values) => transaction.index_get(&self.index, values),
            Asked::Prefix(values) => transaction.index_prefix(&self.index, values),
            Asked::Range(start, stop) => {
                let [start, stop] = Asked::bounds(start.as_deref(), stop.as_deref());
                transaction.index_range(&self.index, start, stop)
            }
        }
    }
}
