//! Rows of record batches as records: some columns are the key, and others the fields of the value.

use crate::key_types::key_type_of_field;
use crate::values::{append_frequent_key, unpacked, value_of};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;
use ogive::types::{
    Component, Field, KeyColumn, KeyType, NullOrder, RecordType, RowBuilder, RowType, TupleType, Value, ValueType,
};
use ogive::{Error, Result};
use std::fmt;

/// The reason why rows are no records.
#[derive(Debug)]
pub enum RecordError {
    /// Columns that are not there, or that cannot be those of the key; a null in a key.
    Columns(String),
    /// A column or a value of a type that is not stored.
    Type(String),
    /// An error of the engine.
    Engine(Error),
}

impl fmt::Display for RecordError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Columns(message) | Self::Type(message) => formatter.write_str(message),
            Self::Engine(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Error> for RecordError {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

/// Makes records of the rows of record batches of one schema.
#[derive(Clone, Debug)]
pub struct RecordEncoder {
    key: Vec<usize>,
    values: Vec<usize>,
    types: RecordType,
}

impl RecordEncoder {
    /// The records of rows of a schema: the named columns are the key, and all others, or those that are named, the
    /// fields of the value. If they are named, the columns of the key come first; else they keep their places.
    ///
    /// # Errors
    /// [`RecordError::Columns`] and [`RecordError::Type`].
    pub fn new(schema: &Schema, key: &[String], columns: Option<&[String]>) -> Result<Self, RecordError> {
        let known = || schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
        let position = |name: &String| {
            if schema.fields().iter().filter(|field| field.name() == name).count() > 1 {
                return Err(RecordError::Columns(format!("there are several columns '{name}'; rename them")));
            }
            let absent = |_| RecordError::Columns(format!("there is no column '{name}'; there are: {}", known()));
            schema.index_of(name).map_err(absent)
        };
        let key = key.iter().map(position).collect::<Result<Vec<_>, _>>()?;
        let values: Vec<usize> = match columns {
            Some(columns) => columns.iter().map(position).collect::<Result<_, _>>()?,
            None => (0..schema.fields().len()).filter(|column| !key.contains(column)).collect(),
        };
        if let Some(both) = values.iter().find(|column| key.contains(column)) {
            let name = schema.field(*both).name();
            let message = format!("column '{name}' is of the key, and cannot be of the value");
            return Err(RecordError::Columns(message));
        }
        let types = record_type(schema, &key, &values, columns.is_some())?;
        Ok(Self { key, values, types })
    }

    /// The types of the records.
    #[must_use]
    pub fn types(&self) -> &RecordType {
        &self.types
    }

    /// The same rows, as records of a type that these types can be read as.
    #[must_use]
    pub fn with_key_type(mut self, keys: KeyType) -> Self {
        self.types.keys = keys;
        self
    }

    /// Passes the key and the value of each row of a batch to `visit`.
    ///
    /// # Errors
    /// [`RecordError::Columns`] for a null in a key, [`RecordError::Type`] for a value that is not of its type; errors
    /// of `visit`.
    pub fn visit(
        &self,
        batch: &RecordBatch,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<(), RecordError> {
        let arrays = |columns: &[usize]| {
            let array = |&column: &usize| {
                unpacked(batch.column(column).clone()).map_err(|error| RecordError::Type(error.to_string()))
            };
            columns.iter().map(array).collect::<Result<Vec<ArrayRef>, _>>()
        };
        let (keys, values) = (arrays(&self.key)?, arrays(&self.values)?);
        let mut builder = match &self.types.values {
            ValueType::Row(row_type) => Some(RowBuilder::new(row_type.clone())),
            ValueType::Scalar(_) => None,
        };
        let (mut key, mut value, mut field) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..batch.num_rows() {
            key.clear();
            value.clear();
            self.push_key(&keys, row, &mut key)?;
            if let Some(builder) = &mut builder {
                for (array, of) in values.iter().zip(self.types.values.fields()) {
                    push_field(builder, array, of, row, &mut field)?;
                }
                builder.finish(&mut value)?;
            }
            visit(&key, &value)?;
        }
        Ok(())
    }

    fn push_key(&self, arrays: &[ArrayRef], row: usize, key: &mut Vec<u8>) -> Result<(), RecordError> {
        if let Some((_, column)) = arrays.iter().zip(&self.types.key_columns).find(|(array, _)| array.is_null(row)) {
            let name = &column.name;
            let message = format!(
                "column '{name}' of the key is null in row {row}; a key cannot be null: leave such rows out, or choose \
                 a key of other columns"
            );
            return Err(RecordError::Columns(message));
        }
        if let KeyType::Tuple(tuple) = self.types.keys {
            let parts = arrays.iter().zip(tuple.components());
            let values = parts.map(|(array, part)| value_of(array, part.key_type, row));
            key.extend(self.types.keys.encode(&Value::Tuple(values.collect()))?);
        } else if let [array] = arrays
            && !append_frequent_key(array, self.types.keys, row, key)
        {
            key.extend(key_of_row(array, self.types.keys, row)?);
        }
        Ok(())
    }
}

/// The key of a row of an array, whose values are converted where that is exact. A tuple of one component, which may be
/// null, is the key of a value of that component.
///
/// # Errors
/// [`RecordError::Columns`] for a null, [`RecordError::Type`] for a value that is not exactly one of the type.
pub fn key_of_row(array: &ArrayRef, key_type: KeyType, row: usize) -> Result<Vec<u8>, RecordError> {
    if let Some(component) = only_component(key_type) {
        let value = value_of(array, component.key_type, row);
        let is_null = array.is_null(row) && component.nulls != NullOrder::Never;
        return match value {
            Value::Null if !is_null => key_of_row(array, component.key_type, row),
            value => key_type.encode(&Value::Tuple(vec![value])).map_err(|_| inexact(array, &key_type, row)),
        };
    }
    if array.is_null(row) {
        let message = format!("the key of row {row} is null; a key cannot be null, leave such rows out");
        return Err(RecordError::Columns(message));
    }
    key_type.encode(&value_of(array, key_type, row)).map_err(|_| inexact(array, &key_type, row))
}

/// The bytes of the value of a row of an array, for values that are not rows; it is converted where that is exact.
///
/// # Errors
/// [`RecordError::Columns`] for a null, [`RecordError::Type`] for a value that is not exactly one of the type.
pub fn value_of_row(array: &ArrayRef, key_type: KeyType, row: usize) -> Result<Vec<u8>, RecordError> {
    if array.is_null(row) {
        let message = format!("the value of row {row} is null, which a value of type {key_type} cannot be");
        return Err(RecordError::Columns(message));
    }
    // Not as a key, which has neither a negative zero nor the sign of a NaN.
    let value = value_of(array, key_type, row);
    ValueType::Scalar(key_type).encode(&value).map_err(|_| inexact(array, &key_type, row))
}

/// The component of a tuple of one.
fn only_component(key_type: KeyType) -> Option<Component> {
    let KeyType::Tuple(tuple) = key_type else { return None };
    let mut components = tuple.components();
    let first = components.next()?;
    components.next().is_none().then_some(first)
}

fn inexact(array: &ArrayRef, wanted: &dyn fmt::Display, row: usize) -> RecordError {
    let of = array.data_type();
    RecordError::Type(format!(
        "row {row} of an array of type {of} is not exactly a value of type {wanted}, or out of its range; convert it \
         first"
    ))
}

fn push_field(
    builder: &mut RowBuilder,
    array: &ArrayRef,
    field: &Field,
    row: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), RecordError> {
    bytes.clear();
    if append_frequent_key(array, field.key_type, row, bytes) {
        return Ok(builder.push_bytes(Some(bytes))?);
    }
    let value = value_of(array, field.key_type, row);
    if matches!(value, Value::Null) && !array.is_null(row) {
        let message = format!("the value of column '{}' in row {row} is not of type {}", field.name, field.key_type);
        return Err(RecordError::Type(message));
    }
    Ok(builder.push(&value)?)
}

/// The types of records of these columns.
fn record_type(schema: &Schema, key: &[usize], values: &[usize], are_chosen: bool) -> Result<RecordType, RecordError> {
    let scalar = |column: usize| {
        let field = schema.field(column);
        key_type_of_field(field).ok_or_else(|| {
            let (name, of) = (field.name(), field.data_type());
            RecordError::Type(format!("column '{name}' is of type {of}, which Ogive does not store; leave it out"))
        })
    };
    let keys = match key {
        [column] => scalar(*column)?,
        columns => {
            let part = |&column: &usize| scalar(column).map(Component::new);
            KeyType::Tuple(TupleType::new(&columns.iter().map(part).collect::<Result<Vec<_>, _>>()?)?)
        }
    };
    let field = |&column: &usize| {
        let of = Field::new(schema.field(column).name(), scalar(column)?);
        Ok(if schema.field(column).is_nullable() { of.nullable() } else { of })
    };
    let fields = values.iter().map(field).collect::<Result<Vec<Field>, RecordError>>()?;
    let is_keys_only = fields.is_empty();
    let values = match is_keys_only {
        true => ValueType::default(),
        false => ValueType::Row(RowType::new(fields)?),
    };
    let column = |(index, &column): (usize, &usize)| KeyColumn {
        name: schema.field(column).name().clone(),
        position: u16::try_from(if are_chosen { index } else { column }).unwrap_or(u16::MAX),
    };
    let types = RecordType::new(keys, values).key_columns(key.iter().enumerate().map(column).collect());
    Ok(if is_keys_only { types.keys_only() } else { types })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordBatchBuilder;
    use arrow_array::{Int64Array, StringArray};
    use std::sync::Arc;

    fn batch() -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![3, -1, 7]));
        let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]));
        let codes: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
        RecordBatch::try_from_iter([("number", numbers), ("name", names), ("code", codes)]).unwrap()
    }

    #[test]
    fn records_are_read_as_the_rows_they_were_made_of() {
        for key in [&["number"][..], &["code", "number"], &["number", "name"], &["name"]] {
            let key: Vec<String> = key.iter().map(|name| (*name).to_owned()).collect();
            let encoder = RecordEncoder::new(&batch().schema(), &key, None).unwrap();
            let mut builder = RecordBatchBuilder::new(encoder.types());
            let made = encoder.visit(&batch(), |key, value| builder.append(key, Some(value)));
            match key.contains(&"name".to_owned()) {
                true => assert!(made.unwrap_err().to_string().contains("'name' of the key is null in row 1")),
                false => assert_eq!(builder.finish().unwrap().columns(), batch().columns()),
            }
        }
    }

    #[test]
    fn columns_that_are_missing_or_double_are_errors() {
        let of = |key: &str, columns: Option<&[String]>| {
            RecordEncoder::new(&batch().schema(), &[key.to_owned()], columns).unwrap_err().to_string()
        };
        assert_eq!(of("none", None), "there is no column 'none'; there are: number, name, code");
        assert!(of("code", Some(&["code".to_owned()])).contains("is of the key"));
    }
}
