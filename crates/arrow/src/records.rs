//! Rows of record batches as records: some columns are the key, and others the fields of the value.

use crate::key_types::{is_period, is_uuid, key_type_of_field, type_name};
use crate::values::{append_frequent_key, is_null, unpacked, value_of};
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field as ArrowField, Schema};
use ogive::types::{
    ColumnPlace, Component, Field, KeyColumn, KeyType, NullOrder, RecordColumn, RecordType, RowBuilder, RowType,
    TupleType, Value, ValueType,
};
use ogive::{Error, Result};
use std::fmt;

/// The reason why rows are no records.
#[derive(Debug)]
pub enum RecordError {
    /// Columns that are not there, or that cannot be those of the key.
    Columns(String),
    /// A column of a type that is not stored.
    Type(String),
    /// A value that is not of its type, or a null where there can be none.
    Value {
        /// What has it: `column 'a'`, `the key`, or `the value`.
        what: String,
        /// Its row, counted from 0.
        row: usize,
        /// Why it is none, as `is null`.
        reason: String,
    },
    /// An error of the engine.
    Engine(Error),
}

impl fmt::Display for RecordError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Columns(message) | Self::Type(message) => formatter.write_str(message),
            Self::Value { what, row, reason } => write!(formatter, "{what} in row {row} {reason}"),
            Self::Engine(error) => error.fmt(formatter),
        }
    }
}

impl RecordError {
    /// The same error, of rows before which there are others: rows are counted over all batches and chunks.
    #[must_use]
    pub fn after(self, rows: usize) -> Self {
        match self {
            Self::Value { what, row, reason } => Self::Value { what, row: row + rows, reason },
            error => error,
        }
    }

    /// The same error, with the name of the column that has the value.
    fn in_column(self, name: String) -> Self {
        match self {
            Self::Value { row, reason, .. } => Self::Value { what: name, row, reason },
            error => error,
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
    /// The columns of the key and of the value; `None` for one that is not there, whose values are null.
    key: Vec<Option<usize>>,
    values: Vec<Option<usize>>,
    types: RecordType,
    null_keys: NullKeys,
}

/// What becomes of rows whose keys have a null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NullKeys {
    /// They are records if the type of the keys has nulls, and errors otherwise.
    #[default]
    Typed,
    /// They are left out.
    LeftOut,
    /// They are the only records.
    Only,
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
        let some = |columns: Vec<usize>| columns.into_iter().map(Some).collect();
        Ok(Self { key: some(key), values: some(values), types, null_keys: NullKeys::Typed })
    }

    /// The records of these types of rows of a schema, whose columns have the names of
    /// [`RecordType::columns`]. Values are converted where that is exact; a column that is not there is null.
    ///
    /// # Errors
    /// [`RecordError::Columns`] for columns that records of these types do not have, have twice, or cannot be without.
    pub fn of_types(schema: &Schema, types: &RecordType) -> Result<Self, RecordError> {
        Self::by_names(schema, types, types.columns())
    }

    /// The values of these types of rows of a schema, as the values of records without keys; as [`Self::of_types`].
    ///
    /// # Errors
    /// As [`Self::of_types`].
    pub fn of_values(schema: &Schema, values: &ValueType) -> Result<Self, RecordError> {
        let field = |(index, field): (usize, &Field)| RecordColumn {
            name: field.name.clone(),
            key_type: field.key_type,
            nullable: field.nullable,
            place: ColumnPlace::Value(index),
        };
        let columns = values.fields().iter().enumerate().map(field).collect();
        Self::by_names(schema, &RecordType::new(KeyType::Bytes, values.clone()), columns)
    }

    fn by_names(schema: &Schema, types: &RecordType, columns: Vec<RecordColumn>) -> Result<Self, RecordError> {
        let known = || columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
        let is_other = |name: &str| columns.iter().all(|column| column.name != name) && !is_place_of_pandas(name);
        if let Some(field) = schema.fields().iter().find(|field| is_other(field.name())) {
            let message = format!("the records have no column '{}'; they have: {}", field.name(), known());
            return Err(RecordError::Columns(message));
        }
        let mut places = [Vec::new(), Vec::new()];
        for column in &columns {
            let mut found = schema.fields().iter().enumerate().filter(|(_, field)| *field.name() == column.name);
            let position = match found.next() {
                Some((position, field)) => {
                    check_field(field, column.key_type)?;
                    Some(position)
                }
                None => None,
            };
            if found.next().is_some() {
                let message = format!("there are several columns '{}'; rename them", column.name);
                return Err(RecordError::Columns(message));
            }
            if position.is_none() && !column.nullable {
                let message = format!("there is no column '{}'; the records have: {}", column.name, known());
                return Err(RecordError::Columns(message));
            }
            let (of, place) = match column.place {
                ColumnPlace::Key(place) => (0, place),
                ColumnPlace::Value(place) => (1, place),
            };
            places[of].push((place, position));
        }
        let [key, values] = places.map(|mut places| {
            places.sort_unstable_by_key(|(place, _)| *place);
            places.into_iter().map(|(_, position)| position).collect()
        });
        Ok(Self { key, values, types: types.clone(), null_keys: NullKeys::Typed })
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

    /// The same rows without those whose keys have a null.
    #[must_use]
    pub fn without_null_keys(self) -> Self {
        Self { null_keys: NullKeys::LeftOut, ..self }
    }

    /// Those of these rows whose keys have a null, with keys of a type that has nulls.
    ///
    /// # Errors
    /// [`RecordError::Engine`] for keys of a type that has none with nulls.
    pub fn only_null_keys(mut self) -> Result<Self, RecordError> {
        self.types.keys = self.types.keys.with_nulls()?;
        Ok(Self { null_keys: NullKeys::Only, ..self })
    }

    /// Passes the key and the value of each row of a batch to `visit`.
    ///
    /// # Errors
    /// [`RecordError::Type`] for a value that is not of its type, or a null where there can be none; errors of `visit`.
    pub fn visit(
        &self,
        batch: &RecordBatch,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<(), RecordError> {
        let array = |column: &Option<usize>| match *column {
            Some(column) => {
                unpacked(batch.column(column).clone()).map_err(|error| RecordError::Type(error.to_string()))
            }
            None => Ok(new_null_array(&DataType::Null, batch.num_rows())),
        };
        let arrays = |columns: &[Option<usize>]| columns.iter().map(array).collect::<Result<Vec<ArrayRef>, _>>();
        let (keys, values) = (arrays(&self.key)?, arrays(&self.values)?);
        let mut builder = match &self.types.values {
            ValueType::Row(row_type) => Some(RowBuilder::new(row_type.clone())),
            ValueType::Scalar(_) => None,
        };
        let (mut key, mut value, mut field) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..batch.num_rows() {
            let has_null = self.null_keys != NullKeys::Typed && keys.iter().any(|array| is_null(array, row));
            if has_null == (self.null_keys == NullKeys::LeftOut) && self.null_keys != NullKeys::Typed {
                continue;
            }
            key.clear();
            value.clear();
            self.push_key(&keys, row, &mut key)?;
            match (&mut builder, &self.types.values, &values[..]) {
                (Some(builder), ValueType::Row(row_type), _) => {
                    for (array, of) in values.iter().zip(row_type.fields()) {
                        push_field(builder, array, of, row, &mut field)?;
                    }
                    builder.finish(&mut value)?;
                }
                (_, ValueType::Scalar(of), [array]) => value.extend(value_of_row(array, *of, row)?),
                _ => {}
            }
            visit(&key, &value)?;
        }
        Ok(())
    }

    fn push_key(&self, arrays: &[ArrayRef], row: usize, key: &mut Vec<u8>) -> Result<(), RecordError> {
        let name = |column: usize| match self.types.key_columns.get(column) {
            Some(column) => format!("column '{}' of the key", column.name),
            None => "the key".to_owned(),
        };
        if let KeyType::Tuple(tuple) = self.types.keys {
            let mut values = Vec::with_capacity(arrays.len());
            for (column, (array, part)) in arrays.iter().zip(tuple.components()).enumerate() {
                match (value_of(array, part.key_type, row), is_null(array, row)) {
                    (Value::Null, false) => return Err(inexact(&name(column), array, &part.key_type, row)),
                    (Value::Null, true) if part.nulls == NullOrder::Never => return Err(null_key(&name(column), row)),
                    (value, _) => values.push(value),
                }
            }
            key.extend(self.types.keys.encode(&Value::Tuple(values)).map_err(|error| misfit(&error, "the key", row))?);
            return Ok(());
        }
        match arrays {
            [array] if is_null(array, row) => Err(null_key(&name(0), row)),
            [array] => {
                if !append_frequent_key(array, self.types.keys, row, key) {
                    let found = key_of_row(array, self.types.keys, row);
                    key.extend(found.map_err(|error| error.in_column(name(0)))?);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a field whose values are none of a type, although Arrow has them in the form that those have: periods of
/// pandas are no integers, and UUIDs no bytes.
///
/// # Errors
/// [`RecordError::Type`].
pub fn check_field(field: &ArrowField, key_type: KeyType) -> Result<(), RecordError> {
    if is_period(field) {
        return Err(not_stored(field));
    }
    let of = only_component(key_type).map_or(key_type, |component| component.key_type);
    if is_uuid(field) && of != KeyType::Uuid {
        return Err(RecordError::Type(format!(
            "{} has UUIDs, which are no values of type {of}; state the type uuid, or give their bytes",
            named(field)
        )));
    }
    Ok(())
}

/// A column by its name, which arrays alone do not have.
fn named(field: &ArrowField) -> String {
    if field.name().is_empty() { "the array".to_owned() } else { format!("column '{}'", field.name()) }
}

/// Whether a column is one of those in which pandas tells the places of rows.
fn is_place_of_pandas(name: &str) -> bool {
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    level.is_some_and(|level| level.bytes().all(|byte| byte.is_ascii_digit()))
}

fn null_key(name: &str, row: usize) -> RecordError {
    let reason = "is null; a key cannot be null: leave such rows out, or choose a key of other columns";
    RecordError::Value { what: name.to_owned(), row, reason: reason.to_owned() }
}

fn misfit(error: &Error, name: &str, row: usize) -> RecordError {
    let reason = format!("is not of its type, or out of its range: {}", error.message());
    RecordError::Value { what: name.to_owned(), row, reason }
}

/// The key of a row of an array, whose values are converted where that is exact. A tuple of one component, which may be
/// null, is the key of a value of that component.
///
/// # Errors
/// [`RecordError::Type`] for a null, and for a value that is not exactly one of the type.
pub fn key_of_row(array: &ArrayRef, key_type: KeyType, row: usize) -> Result<Vec<u8>, RecordError> {
    if let Some(component) = only_component(key_type) {
        let value = value_of(array, component.key_type, row);
        let is_null = is_null(array, row) && component.nulls != NullOrder::Never;
        return match value {
            Value::Null if !is_null => key_of_row(array, component.key_type, row),
            value => key_type.encode(&Value::Tuple(vec![value])).map_err(|_| inexact("the key", array, &key_type, row)),
        };
    }
    if is_null(array, row) {
        return Err(null_key("the key", row));
    }
    key_type.encode(&value_of(array, key_type, row)).map_err(|_| inexact("the key", array, &key_type, row))
}

/// The bytes of the value of a row of an array, for values that are not rows; it is converted where that is exact.
///
/// # Errors
/// [`RecordError::Type`] for a null, and for a value that is not exactly one of the type.
pub fn value_of_row(array: &ArrayRef, key_type: KeyType, row: usize) -> Result<Vec<u8>, RecordError> {
    if is_null(array, row) {
        let reason = format!("is null, which a value of type {key_type} cannot be");
        return Err(RecordError::Value { what: "the value".to_owned(), row, reason });
    }
    // Not as a key, which has neither a negative zero nor the sign of a NaN.
    let value = value_of(array, key_type, row);
    ValueType::Scalar(key_type).encode(&value).map_err(|_| inexact("the value", array, &key_type, row))
}

/// The component of a tuple of one.
fn only_component(key_type: KeyType) -> Option<Component> {
    let KeyType::Tuple(tuple) = key_type else { return None };
    let mut components = tuple.components();
    let first = components.next()?;
    components.next().is_none().then_some(first)
}

fn inexact(what: &str, array: &ArrayRef, wanted: &dyn fmt::Display, row: usize) -> RecordError {
    let of = array.data_type();
    let reason = format!("is {of}, and not exactly a value of type {wanted}, or out of its range; convert it first");
    RecordError::Value { what: what.to_owned(), row, reason }
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
    if matches!(value, Value::Null) && !is_null(array, row) {
        return Err(inexact(&format!("column '{}'", field.name), array, &field.key_type, row));
    }
    builder.push(&value).map_err(|error| misfit(&error, &format!("column '{}'", field.name), row))
}

fn not_stored(field: &ArrowField) -> RecordError {
    let (name, of) = (named(field), type_name(field));
    if *field.data_type() == DataType::Null {
        return RecordError::Type(format!(
            "{name} is null in every row, which decides no type; convert it to the type that its values would have, as \
             by cast(null as bigint) in SQL, or leave it out"
        ));
    }
    RecordError::Type(format!("{name} is of type {of}, which Ogive does not store; leave it out"))
}

/// The types of records of these columns.
fn record_type(schema: &Schema, key: &[usize], values: &[usize], are_chosen: bool) -> Result<RecordType, RecordError> {
    let scalar = |column: usize| {
        let field = schema.field(column);
        key_type_of_field(field).ok_or_else(|| not_stored(field))
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
                true => assert!(made.unwrap_err().to_string().contains("'name' of the key in row 1 is null")),
                false => assert_eq!(builder.finish().unwrap().columns(), batch().columns()),
            }
        }
    }

    #[test]
    fn columns_are_found_by_the_names_of_records() {
        let types = RecordType::new(
            "(u8, i16?)".parse::<KeyType>().unwrap(),
            "{name: text?, at: date?}".parse::<ValueType>().unwrap(),
        );
        let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        let first: ArrayRef = Arc::new(Int64Array::from(vec![7, 255]));
        let records = |columns: Vec<(&str, ArrayRef)>| {
            let batch = RecordBatch::try_from_iter(columns).unwrap();
            let mut found = Vec::new();
            RecordEncoder::of_types(&batch.schema(), &types)?.visit(&batch, |key, value| {
                found.push((types.keys.display(key), types.values.display(value)));
                Ok(())
            })?;
            Ok::<_, RecordError>(found)
        };
        let shown = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let by_name = vec![("name", names.clone()), ("__index_level_0__", first.clone()), ("key1", first.clone())];
        assert_eq!(records(by_name).unwrap(), [shown("7,", "a,"), shown("255,", ",")]);
        let beyond: ArrayRef = Arc::new(Int64Array::from(vec![1, 256]));
        let none: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        for (columns, message) in [
            (vec![("key1", beyond)], "row 1"),
            (vec![("key1", none)], "in row 1 is null"),
            (
                vec![("key1", first.clone()), ("other", names.clone())],
                "no column 'other'; they have: key1, key2, name, at",
            ),
            (vec![("name", names.clone())], "no column 'key1'"),
            (vec![("key1", first.clone()), ("key2", names)], "row 0"),
        ] {
            let error = records(columns).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
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
