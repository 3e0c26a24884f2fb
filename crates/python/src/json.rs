//! Values that are whatever JSON can say: text in the store, objects in Python.

use crate::keyspace::Object;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

static ENCODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static DECODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The text of a value.
///
/// # Errors
/// `TypeError` and `ValueError` of Python's module `json` for what JSON cannot say.
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
    ENCODE.get_or_try_init(py, encoder)?.bind(py).call1((value,))
}

/// The value of a text.
///
/// # Errors
/// `ValueError` of Python's module `json` for text that is not JSON.
pub(crate) fn value_of<'py>(text: &Object<'py>) -> PyResult<Object<'py>> {
    let py = text.py();
    let loads = || -> PyResult<Py<PyAny>> { Ok(py.import("json")?.getattr("loads")?.unbind()) };
    DECODE.get_or_try_init(py, loads)?.bind(py).call1((text,))
}
