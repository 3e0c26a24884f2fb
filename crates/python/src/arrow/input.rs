//! Arrow data from Python: arrays, and streams of rows.

use super::columns::Columns;
use crate::errors;
use crate::object::Object;
use arrow_array::{ArrayRef, RecordBatchReader};
use arrow_schema::FieldRef;
use ogive::types::KeyType;
use pyo3::exceptions::{PyException, PyNotImplementedError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};

/// Record batches of a file or of Python.
pub(crate) type BatchReader = Box<dyn RecordBatchReader + Send>;

/// Whether an object has Arrow data.
pub(crate) fn is_arrow(object: &Object<'_>) -> PyResult<bool> {
    Ok(object.hasattr("__arrow_c_array__")? || object.hasattr("__arrow_c_stream__")?)
}

/// The type of the integers of 128 bits of polars, which are no Arrow data that others can read; `None` for others.
pub(crate) fn long_of_polars(object: &Object<'_>) -> PyResult<Option<KeyType>> {
    Ok(match name_of_type(object, "polars")?.as_deref() {
        Some("Int128") => Some(KeyType::I128),
        Some("UInt128") => Some(KeyType::U128),
        _ => None,
    })
}

/// Whether this is an array of Python objects, or one that is taken as such. Objects of polars have their addresses as
/// Arrow data, and those of pandas what pyarrow makes of them, without the zones of times of a day; sparse arrays have
/// none, and those of periods are integers.
pub(crate) fn is_of_objects(object: &Object<'_>) -> PyResult<bool> {
    let of_pandas = name_of_type(object, "pandas")?;
    let is_of_pandas =
        of_pandas.is_some_and(|name| &*name == "object" || name.starts_with("Sparse[") || name.starts_with("period["));
    Ok(is_of_pandas || matches!(name_of_type(object, "polars")?.as_deref(), Some("Object" | "Null")))
}

/// Whether this is a column of nulls of polars, whose Arrow data others refuse to read.
pub(crate) fn is_null_of_polars(object: &Object<'_>) -> PyResult<bool> {
    Ok(name_of_type(object, "polars")?.as_deref() == Some("Null"))
}

/// Whether this is an array of pandas.
pub(crate) fn is_of_pandas(object: &Object<'_>) -> PyResult<bool> {
    Ok(name_of_type(object, "pandas")?.is_some())
}

/// The name of the type of the values of an array of a library.
fn name_of_type(object: &Object<'_>, library: &str) -> PyResult<Option<PyBackedStr>> {
    let module = object.get_type().module()?.extract::<PyBackedStr>()?;
    if module.split('.').next() != Some(library) || !object.hasattr("dtype")? {
        return Ok(None);
    }
    object.getattr("dtype")?.str()?.extract().map(Some)
}

/// The field and the parts of an array, or of a stream of arrays.
pub(crate) fn arrays(object: &Object<'_>) -> PyResult<(FieldRef, Vec<ArrayRef>)> {
    let read = || -> PyResult<_> { Ok(object.extract::<AnyArray>()?.into_chunked_array()?.into_inner()) };
    let (chunks, field) = read().map_err(|error| refused(object.py(), error, "give a list of its values"))?;
    Ok((field, chunks))
}

/// The rows of a frame, a table, or a stream of them.
pub(crate) fn rows(object: &Object<'_>) -> PyResult<BatchReader> {
    if let Ok(columns) = object.cast::<Columns>() {
        return columns.get().rows(object.py());
    }
    let read = || object.extract::<AnyRecordBatch>()?.into_reader();
    let advice = "rename, convert or leave out the columns that are in the way";
    read().map_err(|error| refused(object.py(), error, advice))
}

/// The exception of Arrow data that cannot be read. What its library raised for another reason stays.
fn refused(py: Python<'_>, error: PyErr, advice: &str) -> PyErr {
    let is_of_data = error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyOverflowError>(py)
        || error.is_instance_of::<PyNotImplementedError>(py)
        || error.get_type(py).is(py.get_type::<PyException>());
    if !is_of_data || errors::is_own(py, &error) {
        return error;
    }
    let raised = errors::new("WrongType", &format!("this Arrow data cannot be read: {error}; {advice}"));
    raised.set_cause(py, Some(error));
    raised
}
