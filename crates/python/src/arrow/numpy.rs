//! Scalars of NumPy, and one-dimensional arrays as Arrow arrays. NumPy need not be there: its objects say what they
//! are.

use crate::errors;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, Date32Array, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer, MutableBuffer, ScalarBuffer};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// The kind of an array, which is no scalar.
const ARRAY: char = '[';

/// The kind of a scalar of NumPy: `'i'` for integers, `'u'` for those without a sign, `'f'` for floats, `'b'` for truth
/// values, `'M'` for dates and moments, `'m'` for spans of time, or another, as for arrays; `None` for other objects.
pub(crate) fn kind(object: &Bound<'_, PyAny>) -> Option<char> {
    let module = object.get_type().module().ok()?.extract::<PyBackedStr>().ok()?;
    if &*module != "numpy" {
        return None;
    }
    let kind = object.getattr("dtype").ok()?.getattr("kind").ok()?.extract::<char>().ok()?;
    let is_scalar = object.getattr("ndim").ok()?.extract::<usize>().ok()? == 0;
    Some(if is_scalar { kind } else { ARRAY })
}

/// The Arrow array of an array of numbers, truth values or times; `None` for other arrays, and for what is no array.
///
/// Not-a-time becomes a null.
pub(crate) fn array(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    // Not by `Display`, which calls `str()`, and that drops what a signal handler raises.
    let module = object.get_type().module()?.extract::<PyBackedStr>()?;
    if !module.starts_with("numpy") || !object.hasattr("dtype")? {
        return Ok(None);
    }
    if object.hasattr("mask")? {
        return Err(errors::new("WrongType", "masked arrays are not taken; give a pyarrow array with nulls"));
    }
    if !object.getattr("dtype")?.hasattr("str")?
        || object.getattr("dtype")?.getattr("kind")?.extract::<String>()? == "T"
    {
        return Ok(None);
    }
    if object.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(errors::new("WrongType", "give an array of one dimension"));
    }
    let native = object.call_method1("astype", (object.getattr("dtype")?.call_method1("newbyteorder", ("=",))?,))?;
    let name = native.getattr("dtype")?.getattr("str")?.extract::<PyBackedStr>()?;
    let bytes = || -> PyResult<Buffer> {
        let bytes = native.call_method0("tobytes")?;
        let bytes = bytes.cast::<PyBytes>()?.as_bytes();
        // Aligned for any type.
        let mut buffer = MutableBuffer::new(bytes.len());
        buffer.extend_from_slice(bytes);
        Ok(buffer.into())
    };
    let name = name.trim_start_matches(['<', '>', '|', '=']);
    Ok(Some(match name {
        "i1" => primitive::<Int8Type>(bytes()?),
        "i2" => primitive::<Int16Type>(bytes()?),
        "i4" => primitive::<Int32Type>(bytes()?),
        "i8" => primitive::<Int64Type>(bytes()?),
        "u1" => primitive::<UInt8Type>(bytes()?),
        "u2" => primitive::<UInt16Type>(bytes()?),
        "u4" => primitive::<UInt32Type>(bytes()?),
        "u8" => primitive::<UInt64Type>(bytes()?),
        "f2" => primitive::<Float16Type>(bytes()?),
        "f4" => primitive::<Float32Type>(bytes()?),
        "f8" => primitive::<Float64Type>(bytes()?),
        "b1" => Arc::new(BooleanArray::from_iter(bytes()?.iter().map(|&byte| Some(byte != 0)))),
        "M8[s]" => time::<TimestampSecondType>(bytes()?),
        "M8[ms]" => time::<TimestampMillisecondType>(bytes()?),
        "M8[us]" => time::<TimestampMicrosecondType>(bytes()?),
        "M8[ns]" => time::<TimestampNanosecondType>(bytes()?),
        "M8[D]" => days(bytes()?)?,
        _ => return Ok(None),
    }))
}

fn scalars<T: ArrowNativeType>(bytes: Buffer) -> ScalarBuffer<T> {
    let length = bytes.len() / size_of::<T>();
    ScalarBuffer::new(bytes, 0, length)
}

fn primitive<T: ArrowPrimitiveType>(bytes: Buffer) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(scalars(bytes), None))
}

/// Times, of which the least integer is none.
fn time<T: ArrowPrimitiveType<Native = i64>>(bytes: Buffer) -> ArrayRef {
    let times = PrimitiveArray::<T>::new(scalars(bytes), None);
    if times.values().iter().all(|&time| time != i64::MIN) {
        return Arc::new(times);
    }
    Arc::new(PrimitiveArray::<T>::from_iter(times.values().iter().map(|&time| (time != i64::MIN).then_some(time))))
}

fn days(bytes: Buffer) -> PyResult<ArrayRef> {
    let day = |day: i64| match day {
        i64::MIN => Ok(None),
        day => i32::try_from(day)
            .map(Some)
            .map_err(|_| errors::new("WrongType", &format!("the date {day} days after 1970 is out of range"))),
    };
    let days = scalars::<i64>(bytes).iter().map(|&it| day(it)).collect::<PyResult<Date32Array>>()?;
    Ok(Arc::new(days))
}
