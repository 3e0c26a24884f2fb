//! Columns of Python: arrays of NumPy, Arrow data, and lists, whose types are stated or those of their values.

use super::errors::arrow_error;
use super::input::{BatchReader, arrays, is_arrow, is_null_of_polars, is_of_objects, is_of_pandas, long_of_polars};
use super::numpy;
use crate::convert::{is_missing, iterated, value_or_null};
use crate::errors::{self, OrRaise};
use crate::object::Object;
use crate::types;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};
use ogive::types::{ColumnPlace, Field, KeyType, RecordColumn, RecordType, RowType, Value, ValueType};
use ogive_arrow::RecordBatchBuilder;
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use pyo3_arrow::PyRecordBatchReader;
use std::sync::Arc;

/// Columns with names, as Arrow data: those of a mapping, or of a frame whose own Arrow data are not all that it has.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct Columns(Vec<(String, Py<PyAny>)>);

#[pymethods]
impl Columns {
    #[new]
    fn new(columns: Vec<(String, Py<PyAny>)>) -> Self {
        Self(columns)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(&self, py: Python<'py>, requested_schema: Option<Object<'py>>) -> PyResult<Object<'py>> {
        let reader = Bound::new(py, PyRecordBatchReader::new(self.rows(py)?))?;
        reader.call_method1("__arrow_c_stream__", (requested_schema,))
    }
}

impl Columns {
    /// The rows, with objects by the types of their values.
    pub(crate) fn rows(&self, py: Python<'_>) -> PyResult<BatchReader> {
        batch(self.0.iter().map(|(name, of)| column(name, of.bind(py), None)))
    }

    /// The rows, with objects by the types of the columns of records. What is no column of these has no values.
    pub(crate) fn rows_of(&self, py: Python<'_>, columns: &[RecordColumn]) -> PyResult<BatchReader> {
        batch(self.0.iter().map(|(name, of)| {
            let of = of.bind(py);
            match columns.iter().find(|column| column.name == *name) {
                Some(known) => column(name, of, Some(known.key_type)),
                None => nulls(name, of.len()?),
            }
        }))
    }
}

fn batch(columns: impl Iterator<Item = PyResult<(ArrowField, ArrayRef)>>) -> PyResult<BatchReader> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.collect::<PyResult<Vec<_>>>()?.into_iter().unzip();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(arrow_error)?;
    Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

fn nulls(name: &str, count: usize) -> PyResult<(ArrowField, ArrayRef)> {
    let nulls = arrow_array::new_null_array(&DataType::Null, count);
    Ok((ArrowField::new(name, DataType::Null, true), nulls))
}

/// The field and the array of a column; of objects by their type, if it is known.
fn column(name: &str, column: &Object<'_>, known: Option<KeyType>) -> PyResult<(ArrowField, ArrayRef)> {
    if let Some(array) = numpy::array(column)? {
        return Ok((ArrowField::new(name, array.data_type().clone(), array.null_count() > 0), array));
    }
    if is_null_of_polars(column)? {
        return nulls(name, column.len()?);
    }
    let long = long_of_polars(column)?;
    if long.is_none() && is_arrow(column)? && !is_of_objects(column)? {
        let (field, chunks) = arrays(column)?;
        let field = field.as_ref().clone().with_name(name);
        let parts: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
        let array = match parts.is_empty() {
            true => arrow_array::new_empty_array(field.data_type()),
            false => arrow_select::concat::concat(&parts).map_err(arrow_error)?,
        };
        return Ok((field, array));
    }
    let (key_type, values) = objects(name, column, long.or(known))?;
    let rows = ValueType::Row(RowType::new(vec![Field::new(name, key_type).nullable()]).or_raise()?);
    let types = RecordType::new(KeyType::Bytes, rows);
    let mut builder =
        RecordBatchBuilder::with_columns(&types, false, |column| matches!(column.place, ColumnPlace::Value(_)));
    for value in &values {
        let wrong = || types::mismatch(value, &format!("{key_type}, that of the column '{name}'"));
        let found = value_or_null(key_type, value);
        let found = found.map_err(|error| if errors::is_own(column.py(), &error) { wrong() } else { error })?;
        let row = types.values.encode(&Value::Tuple(vec![found])).map_err(|_| wrong())?;
        builder.append(&[], Some(&row)).or_raise()?;
    }
    let batch = builder.finish().or_raise()?;
    let array = batch.column(0).clone();
    // The value of a row has the name of the column, unless that is the name of a key.
    Ok((batch.schema().field(0).clone().with_name(name).with_nullable(array.null_count() > 0), array))
}

/// The error of a column of objects whose type no table takes without a word, if any.
fn undecidable(name: &str, value: &Object<'_>) -> PyErr {
    let message = format!(
        "column '{name}' has values of type {}, which do not say what type the column is; give it one, as \
         pyarrow.array(values, pyarrow.decimal128(10, 2)) has it, or convert them",
        types::class_name(value)
    );
    errors::new("WrongType", &message)
}

/// The objects of a column, and their type: the one that is known, or that of their values. Among objects of pandas NaN
/// says what is missing, unless they are floats.
fn objects<'py>(name: &str, column: &Object<'py>, known: Option<KeyType>) -> PyResult<(KeyType, Vec<Object<'py>>)> {
    let mut values = iterated(column)?.collect::<PyResult<Vec<_>>>()?;
    if !is_of_pandas(column)? {
        return Ok((known.map_or_else(|| type_of(name, &values), Ok)?, values));
    }
    let is_nan = |value: &Object<'_>| value.cast::<PyFloat>().is_ok_and(|value| value.value().is_nan());
    let others = || values.iter().filter(|value| !is_nan(value)).cloned().collect::<Vec<_>>();
    let key_type = match known {
        Some(known) => known,
        None => type_of(name, &values).or_else(|error| type_of(name, &others()).map_err(|_| error))?,
    };
    if !matches!(key_type, KeyType::F32 | KeyType::F64) {
        let none = column.py().None().into_bound(column.py());
        values.iter_mut().filter(|value| is_nan(value)).for_each(|value| *value = none.clone());
    }
    Ok((key_type, values))
}

/// The type of values: that of the first, and of floats if some of them are integers.
fn type_of(name: &str, values: &[Object<'_>]) -> PyResult<KeyType> {
    let mut found = None;
    for value in values.iter().filter(|value| !value.is_none() && !is_missing(value)) {
        let this = types::type_of(value)?.ok_or_else(|| undecidable(name, value))?;
        match (found, this) {
            (None | Some(KeyType::I64), KeyType::F64) | (None, _) => found = Some(this),
            (Some(KeyType::F64), KeyType::I64) => {}
            (Some(found), _) if found == this => {}
            (Some(found), _) => return Err(types::mismatch(value, &found)),
        }
    }
    found.ok_or_else(|| {
        let message = format!("the column '{name}' has no values that say what it is; give an array with a type");
        errors::new("InvalidArgument", &message)
    })
}
