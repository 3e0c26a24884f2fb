//! Columns of Python: arrays of NumPy, Arrow data, and lists, whose types are those of their values.

use crate::arrow_in::{arrays, is_arrow, is_null_of_polars, is_of_objects, long_of_polars};
use crate::convert::{encode_value, iterated};
use crate::errors::{self, OrRaise};
use crate::keyspace::Object;
use crate::rows::arrow_error;
use crate::{numpy, types};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field as ArrowField};
use ogive::types::{ColumnPlace, Field, KeyType, RecordType, RowType, ValueType};
use ogive_arrow::RecordBatchBuilder;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The field and the array of a column.
pub(crate) fn column(name: &str, column: &Object<'_>) -> PyResult<(ArrowField, ArrayRef)> {
    if let Some(array) = numpy::array(column)? {
        return Ok((ArrowField::new(name, array.data_type().clone(), array.null_count() > 0), array));
    }
    if is_null_of_polars(column)? {
        let nulls = arrow_array::new_null_array(&DataType::Null, column.len()?);
        return Ok((ArrowField::new(name, DataType::Null, true), nulls));
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
    let values = iterated(column)?.collect::<PyResult<Vec<_>>>()?;
    let key_type = long.map_or_else(|| type_of(name, &values), Ok)?;
    let rows = ValueType::Row(RowType::new(vec![Field::new(name, key_type).nullable()]).or_raise()?);
    let types = RecordType::new(KeyType::Bytes, rows);
    let mut builder =
        RecordBatchBuilder::with_columns(&types, false, |column| matches!(column.place, ColumnPlace::Value(_)));
    for value in &values {
        let row = encode_value(&types.values, &PyTuple::new(column.py(), [value])?.into_any())?;
        builder.append(&[], Some(&row)).or_raise()?;
    }
    let batch = builder.finish().or_raise()?;
    let array = batch.column(0).clone();
    // The value of a row has the name of the column, unless that is the name of a key.
    Ok((batch.schema().field(0).clone().with_name(name).with_nullable(array.null_count() > 0), array))
}

/// The type of values: that of the first, and of floats if some of them are integers.
fn type_of(name: &str, values: &[Object<'_>]) -> PyResult<KeyType> {
    let mut found = None;
    for value in values.iter().filter(|value| !value.is_none()) {
        let this = types::type_of(value)?.ok_or_else(|| types::undecidable(value))?;
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
