//! Conversions between Python objects and the bytes of keys and values.

use crate::arrow::numpy;
use crate::errors::{self, OrRaise};
use crate::times;
use crate::types::mismatch;
use ogive::types::{Field, KeyType, TimeUnit, Value, ValueType};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyAnyMethods, PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyIterator, PyMemoryView, PyString, PyTuple,
};

/// An integer of a decimal of more digits is of no type.
const INTEGER_DIGITS_MAX: i64 = 39;
/// Days from 0001-01-01, which is day 1, to 1970-01-01.
pub(crate) const EPOCH_ORDINAL: i64 = 719_163;

/// Classes and objects of Python's library that conversions need.
pub(crate) struct Library {
    pub(crate) datetime: Py<PyAny>,
    pub(crate) date: Py<PyAny>,
    pub(crate) time: Py<PyAny>,
    timedelta: Py<PyAny>,
    pub(crate) epoch: Py<PyAny>,
    pub(crate) utc: Py<PyAny>,
    uuid: Py<PyAny>,
    pub(crate) decimal: Py<PyAny>,
}

pub(crate) fn library(py: Python<'_>) -> PyResult<&Library> {
    static LIBRARY: PyOnceLock<Library> = PyOnceLock::new();
    LIBRARY.get_or_try_init(py, || {
        let module = py.import("datetime")?;
        let class = |name: &str| module.getattr(name).map(Bound::unbind);
        let datetime = module.getattr("datetime")?;
        Ok(Library {
            epoch: datetime.call1((1970, 1, 1))?.unbind(),
            utc: module.getattr("timezone")?.getattr("utc")?.unbind(),
            datetime: datetime.unbind(),
            date: class("date")?,
            time: class("time")?,
            timedelta: class("timedelta")?,
            uuid: py.import("uuid")?.getattr("UUID")?.unbind(),
            decimal: py.import("decimal")?.getattr("Decimal")?.unbind(),
        })
    })
}

/// Units of a second.
pub(crate) fn per_second(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The bytes of a bytes-like object; `None` of text, and of scalars of NumPy, whose bytes are not what they stand for.
fn with_bytes<R>(value: &Bound<'_, PyAny>, take: impl FnOnce(&[u8]) -> R) -> PyResult<Option<R>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(take(bytes.as_bytes())));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(Some(take(&bytes.to_vec())));
    }
    if !value.is_instance_of::<PyMemoryView>() {
        return Ok(None);
    }
    let bytes = value.call_method0("tobytes")?;
    Ok(bytes.cast::<PyBytes>().ok().map(|bytes| take(bytes.as_bytes())))
}

/// Passes the key of a Python object on: where the object has its bytes, without a copy of them.
pub(crate) fn with_key<R>(
    key_type: KeyType,
    value: &Bound<'_, PyAny>,
    take: impl FnOnce(&[u8]) -> PyResult<R>,
) -> PyResult<R> {
    match (key_type, value.cast::<PyString>(), value.cast::<PyBytes>()) {
        (KeyType::Text, Ok(text), _) => take(text_of(text)?.as_bytes()),
        (KeyType::Bytes, _, Ok(bytes)) => take(bytes.as_bytes()),
        _ => take(&encode_key(key_type, value)?),
    }
}

/// The characters of text, of which some have no bytes: halves of pairs.
fn text_of<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    text.to_str().map_err(|_| mismatch(text, &KeyType::Text))
}

/// The key of a Python object, which is exactly a value of the type.
pub(crate) fn encode_key(key_type: KeyType, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match frequent(key_type, value)? {
        Some(key) => Ok(key),
        None => key_type.encode(&to_value(key_type, value)?).map_err(|_| mismatch(value, &key_type)),
    }
}

/// The bytes of a value that is not a row: those of a key, but with the signs of zeros and NaNs.
fn encode_scalar(key_type: KeyType, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match frequent(key_type, value)? {
        Some(bytes) => Ok(bytes),
        None => ValueType::Scalar(key_type).encode(&to_value(key_type, value)?).map_err(|_| mismatch(value, &key_type)),
    }
}

/// The bytes of an object of the most frequent types, without a detour by [`Value`].
fn frequent(key_type: KeyType, value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    Ok(match key_type {
        KeyType::Text => {
            let text = value.cast::<PyString>().map_err(|_| mismatch(value, &key_type))?;
            Some(text_of(text)?.as_bytes().to_vec())
        }
        KeyType::Bytes => Some(with_bytes(value, <[u8]>::to_vec)?.ok_or_else(|| mismatch(value, &key_type))?),
        KeyType::I64 if is_int(value) => {
            let number = value.extract::<i64>().map_err(|_| mismatch(value, &key_type))?;
            Some(ogive::encode_i64(number).to_vec())
        }
        KeyType::U64 if is_int(value) => {
            let number = value.extract::<u64>().map_err(|_| mismatch(value, &key_type))?;
            Some(number.to_be_bytes().to_vec())
        }
        _ => None,
    })
}

/// The least key that is not below a bound: of tuples, the first components are enough.
pub(crate) fn encode_bound(key_type: KeyType, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match first_components(key_type, value)? {
        Some(components) => {
            let bound = key_type.encode_prefix(&components).map_err(|_| mismatch(value, &key_type))?;
            Ok(in_full_width(key_type, bound))
        }
        None => encode_key(key_type, value),
    }
}

/// A bound of as many bytes as all keys have, if those have a fixed width: the same keys are above it, and tables ask
/// no less of a bound.
fn in_full_width(key_type: KeyType, mut bound: Vec<u8>) -> Vec<u8> {
    bound.resize(key_type.width().unwrap_or(0).max(bound.len()), 0);
    bound
}

/// The bytes with which all keys of a prefix begin: text, bytes, or the first components of a tuple.
pub(crate) fn encode_prefix(key_type: KeyType, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match (key_type, first_components(key_type, value)?) {
        (_, Some(components)) => key_type.encode_prefix(&components).map_err(|_| mismatch(value, &key_type)),
        (KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_) | KeyType::Tuple(_), None) => {
            with_bytes_or_key(key_type, value)
        }
        _ => Err(mismatch(value, &"a prefix: only text, bytes and tuples have prefixes; give start and stop")),
    }
}

fn with_bytes_or_key(key_type: KeyType, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match key_type {
        KeyType::Tuple(_) | KeyType::Text => encode_key(key_type, value),
        _ => with_bytes(value, <[u8]>::to_vec)?.ok_or_else(|| mismatch(value, &key_type)),
    }
}

/// The values of a tuple that has fewer components than the keys.
fn first_components(key_type: KeyType, value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Value>>> {
    let (KeyType::Tuple(tuple), Ok(parts)) = (key_type, value.cast::<PyTuple>()) else { return Ok(None) };
    if parts.len() >= tuple.components().len() {
        return Ok(None);
    }
    let part =
        |(part, component): (Bound<'_, PyAny>, ogive::types::Component)| value_or_null(component.key_type, &part);
    parts.iter().zip(tuple.components()).map(part).collect::<PyResult<_>>().map(Some)
}

/// Whether this is an integer, of Python or of NumPy, but no truth value, and no span of time.
fn is_int(value: &Bound<'_, PyAny>) -> bool {
    if value.is_instance_of::<PyInt>() {
        return !value.is_instance_of::<PyBool>();
    }
    value.hasattr("__index__").unwrap_or(false) && numpy::kind(value).is_none_or(|kind| matches!(kind, 'i' | 'u'))
}

fn is_bool(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyBool>() || numpy::kind(value) == Some('b')
}

/// As [`to_value`], with a null for `None` and for what other libraries have in its place, as their arrays have it.
pub(crate) fn value_or_null(key_type: KeyType, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    to_value(key_type, value).or_else(|error| if is_missing(value) { Ok(Value::Null) } else { Err(error) })
}

/// Whether an object is `pandas.NA`, or not-a-time of pandas or NumPy.
pub(crate) fn is_missing(value: &Bound<'_, PyAny>) -> bool {
    let name = value.get_type().name().and_then(|name| name.extract::<String>()).unwrap_or_default();
    match &*name {
        "NAType" | "NaTType" => true,
        "datetime64" => value.ne(value).unwrap_or(false),
        _ => false,
    }
}

/// The value of an object that is exactly one of the type; its range is not checked.
fn to_value(key_type: KeyType, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let wrong = || mismatch(value, &key_type);
    if let KeyType::Tuple(tuple) = key_type {
        let parts = value.cast::<PyTuple>().map_err(|_| wrong())?;
        if parts.len() != tuple.components().len() {
            return Err(wrong());
        }
        let part =
            |(part, component): (Bound<'_, PyAny>, ogive::types::Component)| value_or_null(component.key_type, &part);
        return Ok(Value::Tuple(parts.iter().zip(tuple.components()).map(part).collect::<PyResult<_>>()?));
    }
    Ok(match key_type {
        KeyType::Bool if is_bool(value) => Value::Bool(value.is_truthy()?),
        KeyType::F32 | KeyType::F64 => Value::Float(float(value, key_type)?.ok_or_else(wrong)?),
        KeyType::Text => Value::Text(value.extract().map_err(|_| wrong())?),
        KeyType::Bytes | KeyType::FixedBytes(_) => Value::Bytes(with_bytes(value, <[u8]>::to_vec)?.ok_or_else(wrong)?),
        KeyType::Uuid if value.is_instance(library(value.py())?.uuid.bind(value.py()))? => {
            Value::Bytes(value.getattr("bytes")?.extract()?)
        }
        KeyType::Uuid => Value::Bytes(with_bytes(value, <[u8]>::to_vec)?.ok_or_else(wrong)?),
        KeyType::Date if !is_int(value) => Value::Signed(times::days(value).ok_or_else(wrong)?),
        KeyType::Timestamp(unit) if !is_int(value) => {
            Value::Signed(times::timestamp(value).and_then(|time| time.in_units(unit)).ok_or_else(wrong)?)
        }
        KeyType::Time(unit) if !is_int(value) => {
            let units = times::time_of_day(value).and_then(|time| time.in_units(unit)).ok_or_else(wrong)?;
            Value::Unsigned(u128::try_from(units).map_err(|_| wrong())?)
        }
        KeyType::Decimal { scale, .. } => Value::Signed(decimal(value, scale).ok_or_else(wrong)?),
        KeyType::Bool => return Err(wrong()),
        _ => integer(value, key_type)?.ok_or_else(wrong)?,
    })
}

/// The integer that an object is: an integer, or a decimal of the same number, but no float.
fn integer(value: &Bound<'_, PyAny>, key_type: KeyType) -> PyResult<Option<Value>> {
    let number = if is_int(value) {
        value.clone()
    } else if value.is_instance(library(value.py())?.decimal.bind(value.py()))? {
        // Not of a number without end, and not of one that fills the memory.
        let is_short = value.call_method0("is_finite")?.is_truthy()?
            && value.call_method0("adjusted")?.extract::<i64>()? < INTEGER_DIGITS_MAX;
        if !is_short {
            return Ok(None);
        }
        let whole = value.call_method0("__int__")?;
        if !value.eq(&whole)? {
            return Ok(None);
        }
        whole
    } else {
        return Ok(None);
    };
    let is_unsigned =
        matches!(key_type, KeyType::U8 | KeyType::U16 | KeyType::U32 | KeyType::U64 | KeyType::U128 | KeyType::Time(_));
    Ok(match is_unsigned {
        true => number.extract::<u128>().ok().map(Value::Unsigned),
        false => number.extract::<i128>().ok().map(Value::Signed),
    })
}

/// The float of the same number as an object; `None` if there is none.
fn float(value: &Bound<'_, PyAny>, key_type: KeyType) -> PyResult<Option<f64>> {
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Some(number.value()));
    }
    if !matches!(numpy::kind(value), None | Some('i' | 'u' | 'f')) || value.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    let Ok(number) = value.extract::<f64>() else { return Ok(None) };
    // NumPy rounds its integers before it compares them with a float.
    let value = if is_int(value) { &value.call_method0("__index__")? } else { value };
    // An integer or a decimal that no float is would come back as another number.
    let kept = if key_type == KeyType::F32 { f64::from(number as f32) } else { number };
    Ok((number.is_nan() || value.eq(kept)?).then_some(number))
}

/// Units of a decimal, exactly; of an integer, too, but of no float.
fn decimal(value: &Bound<'_, PyAny>, scale: u8) -> Option<i128> {
    let py = value.py();
    if is_int(value) {
        return value.extract::<i128>().ok()?.checked_mul(10_i128.checked_pow(scale.into())?);
    }
    let library = library(py).ok()?;
    if !value.is_instance(library.decimal.bind(py)).ok()? {
        return None;
    }
    let (sign, mut digits, exponent) = value.call_method0("as_tuple").ok()?.extract::<(u8, Vec<u8>, i64)>().ok()?;
    // Zeros at the end say nothing, but may be more than an integer has.
    let kept = digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
    let exponent = exponent.checked_add(i64::try_from(digits.len() - kept).ok()?)?;
    digits.truncate(kept);
    let number =
        digits.iter().try_fold(0_i128, |number, digit| number.checked_mul(10)?.checked_add((*digit).into()))?;
    if number == 0 {
        return Some(0);
    }
    let shift = exponent.checked_add(scale.into())?;
    let number = match u32::try_from(shift) {
        Ok(shift) => number.checked_mul(10_i128.checked_pow(shift)?)?,
        Err(_) => {
            let divisor = 10_i128.checked_pow(u32::try_from(shift.checked_neg()?).ok()?)?;
            (number % divisor == 0).then_some(number / divisor)?
        }
    };
    Some(if sign == 1 { -number } else { number })
}

/// The Python object of a key.
pub(crate) fn decode_key<'py>(py: Python<'py>, key_type: KeyType, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match key_type {
        KeyType::Bytes | KeyType::FixedBytes(_) => Ok(PyBytes::new(py, bytes).into_any()),
        _ => object_of(py, key_type, &key_type.decode(bytes).or_raise()?),
    }
}

/// The error of a time before the year 1 or after 9999.
fn beyond_python(key_type: KeyType, value: &Value) -> PyErr {
    let shown = key_type.encode(value).map_or_else(|error| error.to_string(), |bytes| key_type.display(&bytes));
    let message = format!("{shown} is a {key_type} that Python has no object for; read it as Arrow data");
    errors::new("InvalidArgument", &message)
}

/// The Python object of a value.
pub(crate) fn object_of<'py>(py: Python<'py>, key_type: KeyType, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match (key_type, value) {
        (_, Value::Null) => py.None().into_bound(py),
        (KeyType::Tuple(tuple), Value::Tuple(values)) => {
            let parts = tuple.components().zip(values).map(|(part, value)| object_of(py, part.key_type, value));
            PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        (KeyType::Date, Value::Signed(days)) => {
            let date = library(py)?.date.bind(py);
            let found = date.call_method1("fromordinal", (*days + i128::from(EPOCH_ORDINAL),));
            found.map_err(|_| beyond_python(key_type, value))?
        }
        // Python has no nanoseconds.
        (KeyType::Timestamp(TimeUnit::Nanosecond), Value::Signed(time)) => time.into_pyobject(py)?.into_any(),
        (KeyType::Time(TimeUnit::Nanosecond), Value::Unsigned(time)) => time.into_pyobject(py)?.into_any(),
        (KeyType::Timestamp(unit), Value::Signed(time)) => {
            let library = library(py)?;
            let microseconds = time * (1_000_000 / per_second(unit));
            let since = library.timedelta.bind(py).call1((0, 0, microseconds));
            since.and_then(|since| library.epoch.bind(py).add(since)).map_err(|_| beyond_python(key_type, value))?
        }
        (KeyType::Time(unit), Value::Unsigned(time)) => {
            let microseconds = *time as i128 * (1_000_000 / per_second(unit));
            let (seconds, rest) = (microseconds / 1_000_000, microseconds % 1_000_000);
            library(py)?.time.bind(py).call1((seconds / 3600, seconds / 60 % 60, seconds % 60, rest))?
        }
        (KeyType::Uuid, Value::Bytes(bytes)) => {
            let named = PyDict::new(py);
            named.set_item("bytes", PyBytes::new(py, bytes))?;
            library(py)?.uuid.bind(py).call((), Some(&named))?
        }
        (KeyType::Decimal { scale, .. }, Value::Signed(number)) => {
            // Arithmetic of decimals would round to the precision of the context.
            library(py)?.decimal.bind(py).call1((format!("{number}E-{scale}"),))?
        }
        (_, Value::Bool(value)) => PyBool::new(py, *value).to_owned().into_any(),
        (_, Value::Unsigned(number)) => number.into_pyobject(py)?.into_any(),
        (_, Value::Signed(number)) => number.into_pyobject(py)?.into_any(),
        (_, Value::Float(number)) => number.into_pyobject(py)?.into_any(),
        (_, Value::Text(text)) => PyString::new(py, text).into_any(),
        (_, Value::Bytes(bytes)) => PyBytes::new(py, bytes).into_any(),
        _ => py.None().into_bound(py),
    })
}

/// The bytes of a value: a scalar, or a mapping or tuple of fields.
pub(crate) fn encode_value(value_type: &ValueType, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let row_type = match value_type {
        ValueType::Scalar(key_type) => return encode_scalar(*key_type, value),
        ValueType::Row(row_type) => row_type,
    };
    let fields = row_type.fields();
    let none = value.py().None().into_bound(value.py());
    let mut parts = Vec::with_capacity(fields.len());
    // A named tuple says which of its values is which field.
    let named = match value.is_instance_of::<PyTuple>() && value.hasattr("_fields")? {
        true => value.call_method0("_asdict")?,
        false => value.clone(),
    };
    if let Ok(named) = named.cast::<PyDict>() {
        let mut found = 0;
        for field in fields {
            let part = named.get_item(&field.name)?;
            found += usize::from(part.is_some());
            parts.push(part.unwrap_or_else(|| none.clone()));
        }
        if found < named.len() {
            return Err(other_fields(named, value_type)?);
        }
    } else {
        let given = value.cast::<PyTuple>().map_err(|_| mismatch(value, value_type))?;
        if given.len() != fields.len() {
            return Err(mismatch(value, value_type));
        }
        parts.extend(given.iter());
    }
    let of_field = |(part, field): (&Bound<'_, PyAny>, &Field)| {
        let found = value_or_null(field.key_type, part);
        found.map_err(|error| errors::in_place(part.py(), error, &format!("field '{}'", field.name)))
    };
    let values = parts.iter().zip(fields).map(of_field).collect::<PyResult<Vec<Value>>>()?;
    value_type.encode(&Value::Tuple(values.clone())).map_err(|error| {
        let is_wrong = |(value, field): (&Value, &Field)| match value {
            Value::Null => !field.nullable,
            value => field.key_type.encode(value).is_err(),
        };
        match values.iter().zip(fields).position(is_wrong) {
            Some(place) => mismatch(&parts[place], &format!("{{{}}}", fields[place])),
            None => errors::of(error),
        }
    })
}

/// The error of a mapping that has more than the fields.
fn other_fields(named: &Bound<'_, PyDict>, value_type: &ValueType) -> PyResult<PyErr> {
    let names: Vec<&str> = value_type.fields().iter().map(|field| field.name.as_str()).collect();
    let is_other = |name: &Bound<'_, PyAny>| !name.extract::<String>().is_ok_and(|name| names.contains(&name.as_str()));
    let message = match named.keys().iter().find(is_other) {
        Some(name) => format!("there is no field {}; the values are of type {value_type}", name.repr()?),
        None => format!("the value is not of type {value_type}"),
    };
    Ok(errors::new("WrongType", &message))
}

/// What is iterated over.
pub(crate) fn iterated<'py>(objects: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    objects.try_iter().map_err(|error| match error.is_instance_of::<PyTypeError>(objects.py()) {
        true => mismatch(objects, &"a list, or whatever else is iterated over"),
        false => error,
    })
}

/// A key and its value: a tuple of two, or whatever else has two elements.
#[pyfunction]
pub(crate) fn pair_of<'py>(record: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    if let Ok(pair) = record.cast::<PyTuple>()
        && pair.len() == 2
    {
        return Ok((pair.get_item(0)?, pair.get_item(1)?));
    }
    let parts = iterated(record)?.collect::<PyResult<Vec<_>>>()?;
    <[Bound<'py, PyAny>; 2]>::try_from(parts).map(|[key, value]| (key, value)).map_err(|parts| {
        let message = format!("a record is a key and its value, not {} elements", parts.len());
        errors::new("InvalidArgument", &message)
    })
}

/// The Python object of a value: a scalar, or a dictionary of fields.
pub(crate) fn decode_value<'py>(py: Python<'py>, value_type: &ValueType, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let row_type = match value_type {
        ValueType::Scalar(key_type) => return decode_key(py, *key_type, bytes),
        ValueType::Row(row_type) => row_type,
    };
    let row = value_type.row(bytes).or_raise()?;
    let fields = PyDict::new(py);
    for (index, field) in row_type.fields().iter().enumerate() {
        fields.set_item(&field.name, object_of(py, field.key_type, &row.value(index).or_raise()?)?)?;
    }
    Ok(fields.into_any())
}
