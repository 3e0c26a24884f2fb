//! JSON values: text in the store, objects in Python.

use crate::errors;
use crate::object::Object;
use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyList, PyString, PyTuple};
use std::collections::HashSet;

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
    let encode = ENCODE.get_or_try_init(py, encoder)?.bind(py);
    let encoded = encode.call1((value,)).map_err(|error| refused(py, "the value cannot be written as JSON", error))?;
    refuse_repeated_names(value, encode)?;
    Ok(encoded)
}

/// Refuses a value with a dict, at any depth, of which two keys have one name in JSON, such as `1` and `"1"`: the text
/// would say both, and only one would be read again. A value that was encoded has no cycles.
///
/// # Errors
/// `WrongType`.
fn refuse_repeated_names<'py>(value: &Object<'py>, encode: &Object<'py>) -> PyResult<()> {
    let py = value.py();
    let mut rest = vec![value.clone()];
    while let Some(next) = rest.pop() {
        if let Ok(list) = next.cast::<PyList>() {
            rest.extend(list.iter());
        } else if let Ok(tuple) = next.cast::<PyTuple>() {
            rest.extend(tuple.iter());
        } else if let Ok(dict) = next.cast::<PyDict>() {
            rest.extend(dict.values().iter());
            let keys = dict.keys();
            // Texts differ if they are different keys.
            if keys.iter().all(|key| key.is_exact_instance_of::<PyString>()) {
                continue;
            }
            let mut names = HashSet::new();
            for key in keys.iter() {
                let alone = PyDict::new(py);
                alone.set_item(key, py.None())?;
                let written: String = encode.call1((alone,))?.extract()?;
                let name = written.trim_start_matches('{').trim_end_matches(":null}").to_owned();
                if names.contains(&name) {
                    let message = format!(
                        "the value cannot be written as JSON: two keys of a dict have the name {name} there; make keys \
                         text that differs"
                    );
                    return Err(errors::new("WrongType", &message));
                }
                names.insert(name);
            }
        }
    }
    Ok(())
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
