//! Python objects of any type.

use pyo3::PyAny;

pub(crate) type Object<'py> = pyo3::Bound<'py, PyAny>;
