//! Types of keys and values, as Python states them: `str`, `int`, `(str, int)`, or the engine's names, as in
//! `"timestamp(ms)"`.

use crate::arrow::numpy;
use crate::errors::{self, OrRaise};
use ogive::types::{Component, KeyType, NullOrder, TimeUnit, TupleType, ValueType};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple, PyType,
};

/// The name of the type of values that are JSON.
pub(crate) const JSON: &str = "json";
/// The type of an integer is the narrowest of these that has it.
const INT: KeyType = KeyType::I64;

/// A type, and whether its values may be `None`: those of a type in a list of one may, as in `{"price": [float]}`.
fn nullable<'py>(stated: Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, bool)> {
    match stated.cast::<PyList>() {
        Ok(list) if list.len() == 1 => Ok((list.get_item(0)?, true)),
        _ => Ok((stated, false)),
    }
}

/// The type of a field that may be `None` in any case.
pub(crate) fn field_type(stated: Bound<'_, PyAny>) -> PyResult<KeyType> {
    key_type(&nullable(stated)?.0)
}

fn component(stated: Bound<'_, PyAny>) -> PyResult<Component> {
    let (stated, may_be_null) = nullable(stated)?;
    // As in SQL, and in the names of types.
    let nulls = if may_be_null { NullOrder::Last } else { NullOrder::Never };
    Ok(Component { nulls, ..Component::new(key_type(&stated)?) })
}

/// The name of a type, which is not that of JSON: it is one of the values of keyspaces, which are told apart before.
fn named<'a>(name: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    match name.to_str() {
        Ok(JSON) => {
            let message = "only all values of a store or a keyspace can be \"json\", as in ogive.open(path, \
                           value=\"json\"); elsewhere state value=str, and give the text that json.dumps makes of each";
            Err(errors::new("InvalidArgument", message))
        }
        Ok(name) => Ok(name),
        Err(_) => Err(not_a_type(name)),
    }
}

/// The key type of a Python type, the name of one, or a tuple of them.
pub(crate) fn key_type(stated: &Bound<'_, PyAny>) -> PyResult<KeyType> {
    if let Ok(name) = stated.cast::<PyString>() {
        return named(name)?.parse::<KeyType>().or_raise();
    }
    if let Ok(parts) = stated.cast::<PyTuple>() {
        let parts = parts.iter().map(component).collect::<PyResult<Vec<_>>>()?;
        return Ok(KeyType::Tuple(TupleType::new(&parts).or_raise()?));
    }
    let class = stated.cast::<PyType>().map_err(|_| not_a_type(stated))?;
    let (module, name) = (class.module()?.extract::<PyBackedStr>()?, class.qualname()?.extract::<PyBackedStr>()?);
    Ok(match (&*module, &*name) {
        ("builtins", "bool") => KeyType::Bool,
        ("builtins", "int") => INT,
        ("builtins", "float") => KeyType::F64,
        ("builtins", "str") => KeyType::Text,
        ("builtins", "bytes") => KeyType::Bytes,
        ("uuid", "UUID") => KeyType::Uuid,
        ("datetime", "datetime") => KeyType::Timestamp(TimeUnit::Microsecond),
        ("datetime", "date") => KeyType::Date,
        ("datetime", "time") => KeyType::Time(TimeUnit::Microsecond),
        _ => return Err(not_a_type(stated)),
    })
}

fn not_a_type(stated: &Bound<'_, PyAny>) -> PyErr {
    let shown = stated.repr().and_then(|shown| shown.extract::<String>()).unwrap_or_else(|_| "this".to_owned());
    let message = format!(
        "{shown} is not a type of keys or values; use int, float, str, bytes, bool, uuid.UUID, datetime.datetime, \
         datetime.date, datetime.time, a tuple of these, or a name such as \"u64\" or \"decimal(10,2)\""
    );
    errors::new("WrongType", &message)
}

fn not_a_name(name: &Bound<'_, PyAny>) -> PyErr {
    mismatch(name, &"the name of a field: give text")
}

/// The type of values: as of keys, or a mapping of fields.
pub(crate) fn value_type(stated: &Bound<'_, PyAny>) -> PyResult<ValueType> {
    if let Ok(name) = stated.cast::<PyString>() {
        return named(name)?.parse::<ValueType>().or_raise();
    }
    if let Ok(fields) = stated.cast::<PyDict>() {
        let mut described = Vec::new();
        for (name, field_type) in fields.iter() {
            let (field_type, may_be_null) = nullable(field_type)?;
            let field = ogive::types::Field::new(
                name.extract::<String>().map_err(|_| not_a_name(&name))?,
                key_type(&field_type)?,
            );
            described.push(if may_be_null { field.nullable() } else { field });
        }
        return Ok(ValueType::Row(ogive::types::RowType::new(described).or_raise()?));
    }
    Ok(ValueType::Scalar(key_type(stated)?))
}

/// The type of a value, for stores whose types are not stated: `None` for what no key is.
pub(crate) fn type_of(value: &Bound<'_, PyAny>) -> PyResult<Option<KeyType>> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Some(KeyType::Bool));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Some(KeyType::Text));
    }
    let is_bytes = value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyMemoryView>();
    if is_bytes {
        return Ok(Some(KeyType::Bytes));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(INT));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(KeyType::F64));
    }
    if let Ok(parts) = value.cast::<PyTuple>() {
        let mut types = Vec::new();
        for part in parts.iter() {
            match type_of(&part)? {
                Some(part) => types.push(Component::new(part)),
                None => return Ok(None),
            }
        }
        return Ok(Some(KeyType::Tuple(TupleType::new(&types).or_raise()?)));
    }
    Ok(match numpy::kind(value) {
        Some('i' | 'u') => Some(INT),
        Some('f') => Some(KeyType::F64),
        Some('b') => Some(KeyType::Bool),
        _ => key_type(value.get_type().as_any()).ok(),
    })
}

/// Characters of a value that an error shows.
const SHOWN_CHARS: usize = 60;

/// The error of a value that is not of a type.
pub(crate) fn mismatch(value: &Bound<'_, PyAny>, wanted: &dyn std::fmt::Display) -> PyErr {
    let mut shown = value.repr().and_then(|shown| shown.extract::<String>()).unwrap_or_else(|_| "a value".to_owned());
    if let Some((end, _)) = shown.char_indices().nth(SHOWN_CHARS) {
        shown.truncate(end);
        shown.push_str("...");
    }
    let class = class_name(value);
    errors::new("WrongType", &format!("{shown}, a value of type {class}, is not of type {wanted}, or out of its range"))
}

/// The error of a value whose type no store takes without a word, if any.
pub(crate) fn undecidable(value: &Bound<'_, PyAny>) -> PyErr {
    let message = format!(
        "values of type {} do not decide the types of a store or table; state the types, as in \
         key=\"decimal(10,2)\", value={{\"name\": str}} or value=\"json\", or convert them",
        class_name(value)
    );
    errors::new("WrongType", &message)
}

pub(crate) fn class_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().and_then(|name| name.extract()).unwrap_or_else(|_| "object".to_owned())
}
