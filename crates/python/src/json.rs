//! Values that are whatever JSON can say: text in the store, objects in Python.

use crate::errors;
use crate::keyspace::Object;
use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict};

static ENCODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static CHECK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static DECODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The text of a value.
///
/// # Errors
/// `WrongType` for what JSON cannot say.
pub(crate) fn text_of<'py>(value: &Object<'py>) -> PyResult<Object<'py>> {
    let py = value.py();
    let encoder = || -> PyResult<Py<PyAny>> {
        let options = PyDict::new(py);
        options.set_item("ensure_ascii", false)?;
        options.set_item("separators", (",", ":"))?;
        options.set_item("allow_nan", false)?;
        let encoder = py.import("json")?.getattr("JSONEncoder")?.call((), Some(&options))?;
        Ok(encoder.getattr("encode")?.unbind())
    };
    let encoded = ENCODE.get_or_try_init(py, encoder)?.bind(py).call1((value,));
    encoded.map_err(|error| refused(py, "the value cannot be written as JSON", error))
}

/// The exception of a value that is no JSON. What is not about the value stays.
fn refused(py: Python<'_>, what: &str, error: PyErr) -> PyErr {
    let is_of_value = error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyRecursionError>(py);
    if !is_of_value {
        return error;
    }
    let raised = errors::new("WrongType", &format!("{what}: {}", error.value(py)));
    raised.set_cause(py, Some(error));
    raised
}

/// Refuses a text that is not JSON; `NaN` and infinities are not, though Python reads them.
///
/// # Errors
/// `WrongType`.
pub(crate) fn check<'py>(text: &Object<'py>) -> PyResult<()> {
    let py = text.py();
    let decoder = || -> PyResult<Py<PyAny>> {
        let refuse = PyCFunction::new_closure(py, None, None, |words, _| -> PyResult<()> {
            Err(PyValueError::new_err(format!("{} is not in JSON", words.get_item(0)?)))
        })?;
        let options = PyDict::new(py);
        options.set_item("parse_constant", refuse)?;
        Ok(py.import("json")?.getattr("JSONDecoder")?.call((), Some(&options))?.getattr("decode")?.unbind())
    };
    let decoded = CHECK.get_or_try_init(py, decoder)?.bind(py).call1((text,));
    decoded.map(drop).map_err(|error| refused(py, "a value is no JSON, though value=\"json\" says so", error))
}

/// The value of a text.
///
/// # Errors
/// `WrongType` for text that is not JSON.
pub(crate) fn value_of<'py>(text: &Object<'py>) -> PyResult<Object<'py>> {
    let py = text.py();
    let loads = || -> PyResult<Py<PyAny>> { Ok(py.import("json")?.getattr("loads")?.unbind()) };
    let decoded = DECODE.get_or_try_init(py, loads)?.bind(py).call1((text,));
    decoded.map_err(|error| refused(py, "a value is no JSON, though value=\"json\" says so", error))
}
