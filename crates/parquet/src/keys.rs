//! Keys: the columns that they come from, their type, and the bytes of the key of each row.

use crate::error::{ParquetIndexError, Result};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Field;
use ogive::KeyType;
use ogive::types::{Component, NullOrder, TupleType, Value};
use ogive_arrow::{append_frequent_key, key_type_of, key_type_of_field, unpacked, value_of};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A column of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyColumn {
    pub(crate) name: String,
    pub(crate) key_type: KeyType,
}

impl KeyColumn {
    /// The column of a field.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotIndexable`] if its values have no order.
    pub(crate) fn of(path: &Path, field: &Field, is_uuid: bool) -> Result<Self> {
        let name = field.name().clone();
        let known = if is_uuid { key_type_of(field.data_type(), true) } else { key_type_of_field(field) };
        let Some(key_type) = known else {
            let detail = format!("column '{name}' is of type {}, which no key has; choose another", field.data_type());
            return Err(ParquetIndexError::NotIndexable { path: path.to_owned(), detail });
        };
        Ok(Self { name, key_type })
    }
}

/// The key type of columns, some of which have nulls. A single column without nulls is a key of its own, and all else
/// a tuple.
pub(crate) fn key_type(columns: &[KeyColumn], nulls: &[NullOrder]) -> Result<KeyType> {
    if let ([column], [NullOrder::Never]) = (columns, nulls) {
        return Ok(column.key_type);
    }
    let component =
        |(column, nulls): (&KeyColumn, &NullOrder)| Component { nulls: *nulls, ..Component::new(column.key_type) };
    let components: Vec<Component> = columns.iter().zip(nulls).map(component).collect();
    Ok(KeyType::Tuple(TupleType::new(&components)?))
}

/// The keys of the rows of a batch.
#[derive(Debug)]
pub(crate) struct RowKeys {
    path: PathBuf,
    columns: Vec<ArrayRef>,
    types: Vec<KeyColumn>,
    key_type: KeyType,
}

impl RowKeys {
    /// The keys of `batch`, which has all columns of the key.
    ///
    /// # Errors
    /// [`ParquetIndexError::NoColumn`].
    pub(crate) fn new(path: &Path, batch: &RecordBatch, columns: &[KeyColumn], key_type: KeyType) -> Result<Self> {
        let found = columns.iter().map(|column| {
            batch.column_by_name(&column.name).map(Arc::clone).ok_or_else(|| ParquetIndexError::NoColumn {
                path: path.to_owned(),
                column: column.name.clone(),
                known: batch.schema().fields().iter().map(|it| it.name().as_str()).collect::<Vec<_>>().join(", "),
            })
        });
        let found = found.map(|array| array.and_then(|array| plain(path, array))).collect::<Result<Vec<_>>>()?;
        Ok(Self { path: path.to_owned(), columns: found, types: columns.to_vec(), key_type })
    }

    /// The bytes of the key of a row.
    ///
    /// # Errors
    /// [`ogive::Cause::Input`] for a value that is not of the type, such as a time of day past midnight.
    pub(crate) fn key(&self, row: usize) -> Result<Vec<u8>> {
        let is_tuple = matches!(self.key_type, KeyType::Tuple(_));
        if let (false, [array], [column]) = (is_tuple, &self.columns[..], &self.types[..]) {
            let mut key = Vec::new();
            if append_frequent_key(array, column.key_type, row, &mut key) {
                return Ok(key);
            }
            return Ok(self.key_type.encode(&self.value(array, column, NullOrder::Never, row)?)?);
        }
        let nulls = match &self.key_type {
            KeyType::Tuple(tuple) => tuple.components().map(|component| component.nulls).collect(),
            _ => Vec::new(),
        };
        let columns = self.columns.iter().zip(&self.types).zip(nulls);
        let values = columns.map(|((array, column), nulls)| self.value(array, column, nulls, row));
        Ok(self.key_type.encode(&Value::Tuple(values.collect::<Result<_>>()?))?)
    }

    /// The value of a row; a null only where the row has none, and the key may have none.
    fn value(&self, array: &ArrayRef, column: &KeyColumn, nulls: NullOrder, row: usize) -> Result<Value> {
        let KeyColumn { name, key_type } = column;
        let detail = match value_of(array, *key_type, row) {
            Value::Null if !array.is_null(row) => {
                format!("a value of column '{name}' of its key is not of type {key_type}; choose another key")
            }
            Value::Null if nulls == NullOrder::Never => format!(
                "column '{name}' of its key has a null, and the keys of the index have none; build the index again"
            ),
            value => return Ok(value),
        };
        Err(ParquetIndexError::NotIndexable { path: self.path.clone(), detail })
    }

    /// The first row of a sorted batch whose key is not below `key`, or is above it if `after`.
    pub(crate) fn partition(&self, rows: usize, key: &[u8], after: bool) -> Result<usize> {
        let (mut low, mut high) = (0, rows);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.key(middle)?;
            if found.as_slice() < key || after && found == key { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}

/// An array without its dictionary.
fn plain(path: &Path, array: ArrayRef) -> Result<ArrayRef> {
    unpacked(array).map_err(|error| ParquetIndexError::Malformed {
        path: path.to_owned(),
        detail: format!("a dictionary cannot be unpacked: {error}"),
    })
}
