//! Keys that are equal as those of dictionaries are: 1, 1.0, `True` and `Decimal(1)` are one, text and bytes are not.

use crate::convert::{decode_key, encode_key, library};
use crate::errors::OrRaise;
use ogive::types::{Component, KeyType, NullOrder};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyTuple};

/// The key of a type that equals an object, as the type has it; `None` if there is none.
///
/// # Errors
/// `TypeError` for an object without a hash, which is no key of any dictionary.
#[pyfunction]
pub(crate) fn equal_key<'py>(key_type: &str, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    key.hash()?;
    equal(key_type.parse().or_raise()?, key)
}

fn equal<'py>(key_type: KeyType, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = key.py();
    if let KeyType::Tuple(tuple) = key_type {
        let Ok(parts) = key.cast::<PyTuple>() else { return Ok(None) };
        if parts.len() != tuple.components().len() {
            return Ok(None);
        }
        let part = |(part, component): (Bound<'py, PyAny>, Component)| match part.is_none() {
            true => Ok((component.nulls != NullOrder::Never).then_some(part)),
            false => equal(component.key_type, &part),
        };
        let parts = parts.iter().zip(tuple.components()).map(part).collect::<PyResult<Option<Vec<_>>>>()?;
        return parts.map(|parts| Ok(PyTuple::new(py, parts)?.into_any())).transpose();
    }
    for candidate in candidates(key)? {
        let Ok(encoded) = encode_key(key_type, &candidate) else { continue };
        // Python has no object for some times.
        let Ok(native) = decode_key(py, key_type, &encoded) else { continue };
        if native.eq(key)? && native.hash()? == key.hash()? {
            return Ok(Some(native));
        }
    }
    Ok(None)
}

/// An object, and the objects of other classes that may equal it: numbers of one value do.
fn candidates<'py>(key: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = key.py();
    let mut all = vec![key.clone()];
    let number = if key.is_instance_of::<PyComplex>() { key.getattr("real")? } else { key.clone() };
    if !number.hasattr("__float__")? {
        return Ok(all);
    }
    let classes = [py.get_type::<PyInt>(), py.get_type::<PyBool>(), py.get_type::<PyFloat>()];
    // Of a number without end, or too large, there is no integer or no float.
    all.extend(classes.iter().filter_map(|class| class.call1((&number,)).ok()));
    if let Some(float) = all.last().filter(|last| last.is_instance_of::<PyFloat>()) {
        all.push(library(py)?.decimal.bind(py).call1((float,))?);
    }
    Ok(all)
}
