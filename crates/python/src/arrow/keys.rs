//! Many keys at once: lists, Arrow arrays, and arrays of NumPy.

use super::input::{arrays, is_arrow, is_of_objects, long_of_polars};
use super::{frames, numpy};
use crate::convert::{encode_key, encode_value, iterated};
use crate::errors;
use crate::types;
use arrow_array::ArrayRef;
use ogive::types::{KeyType, ValueType};
use ogive_arrow::{
    RecordError, append_frequent_key, check_field, key_of_row, key_type_of, key_type_of_field, unpacked, value_of_row,
};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Keys of a list that are taken between two looks for signals.
const KEYS_BETWEEN_SIGNALS: usize = 64 << 10;

/// The bytes of a row of an array.
type OfRow = fn(&ArrayRef, KeyType, usize) -> Result<Vec<u8>, RecordError>;

/// The bytes of many keys, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    /// The keys of an Arrow array or stream of arrays, of an array of NumPy, or of an iterable of Python objects: those
    /// that are exactly of the type, whichever of them they come in.
    pub(crate) fn of(py: Python<'_>, key_type: KeyType, keys: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of_encoded(py, key_type, keys, &|key| encode_key(key_type, key))
    }

    /// As [`Self::of`], with the bytes that `encode` makes of each Python object.
    pub(crate) fn of_encoded(
        py: Python<'_>,
        key_type: KeyType,
        keys: &Bound<'_, PyAny>,
        encode: &dyn Fn(&Bound<'_, PyAny>) -> PyResult<Vec<u8>>,
    ) -> PyResult<Self> {
        if keys.is_instance_of::<PyString>() {
            return Err(errors::new("WrongType", "give a list of keys; for one key, use get"));
        }
        Self::taken(py, key_type, keys, encode, key_of_row)
    }

    /// The bytes of many values, given as keys are, or, if they have fields, as Python objects or a frame.
    pub(crate) fn of_values(py: Python<'_>, value_type: &ValueType, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        match value_type {
            ValueType::Scalar(scalar) => {
                Self::taken(py, *scalar, values, &|value| encode_value(value_type, value), value_of_row)
            }
            ValueType::Row(_) if is_arrow(values)? && !is_of_objects(values)? => frames::values(values, value_type),
            ValueType::Row(_) => Self::encoded(values, |value| encode_value(value_type, value)),
        }
    }

    fn taken(
        py: Python<'_>,
        key_type: KeyType,
        objects: &Bound<'_, PyAny>,
        encode: &dyn Fn(&Bound<'_, PyAny>) -> PyResult<Vec<u8>>,
        of_row: OfRow,
    ) -> PyResult<Self> {
        let mut found = Self::default();
        if let Some(array) = numpy::array(objects)? {
            py.detach(|| found.append(key_type, array, of_row))?;
            return Ok(found);
        }
        if is_arrow(objects)? && !is_of_objects(objects)? && long_of_polars(objects)?.is_none() {
            let (field, chunks) = arrays(objects)?;
            check_field(&field, key_type).map_err(errors::of_record)?;
            for array in chunks {
                py.detach(|| found.append(key_type, array, of_row))?;
            }
            return Ok(found);
        }
        for (number, object) in iterated(objects)?.enumerate() {
            if number % KEYS_BETWEEN_SIGNALS == 0 {
                py.check_signals()?;
            }
            found.push(&encode(&object?).map_err(|error| errors::in_row(py, error, number))?);
        }
        Ok(found)
    }

    /// The bytes that `encode` makes of each object.
    pub(crate) fn encoded(
        objects: &Bound<'_, PyAny>,
        encode: impl Fn(&Bound<'_, PyAny>) -> PyResult<Vec<u8>>,
    ) -> PyResult<Self> {
        let mut found = Self::default();
        for (number, object) in iterated(objects)?.enumerate() {
            let encoded = encode(&object?).map_err(|error| errors::in_row(objects.py(), error, number))?;
            found.push(&encoded);
        }
        Ok(found)
    }

    /// Adds a key.
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    fn append(&mut self, key_type: KeyType, array: ArrayRef, of_row: OfRow) -> PyResult<()> {
        let array = unpacked(array).map_err(super::errors::arrow_error)?;
        self.ends.reserve(array.len());
        let before = self.len();
        let refused = |error: RecordError| errors::of_record(error.after(before));
        for row in 0..array.len() {
            if !append_frequent_key(&array, key_type, row, &mut self.bytes) {
                self.bytes.extend_from_slice(&of_row(&array, key_type, row).map_err(refused)?);
            }
            self.ends.push(self.bytes.len());
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|place| self.get(place))
    }

    pub(crate) fn get(&self, place: usize) -> &[u8] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.bytes[start..self.ends[place]]
    }

    /// The places of the keys in ascending order.
    pub(crate) fn order(&self) -> Vec<usize> {
        // Most keys differ in the first bytes, which are compared without going to memory.
        let first_bytes = |place: usize| {
            let key = self.get(place);
            let mut bytes = [0; 8];
            let count = key.len().min(bytes.len());
            bytes[..count].copy_from_slice(&key[..count]);
            (u64::from_be_bytes(bytes), place)
        };
        let mut order: Vec<(u64, usize)> = (0..self.len()).map(first_bytes).collect();
        order.sort_unstable_by(|one, other| one.0.cmp(&other.0).then_with(|| self.get(one.1).cmp(self.get(other.1))));
        order.into_iter().map(|(_, place)| place).collect()
    }
}

/// The type of many keys: that of their array, or of the first one.
pub(crate) fn type_of_keys(keys: &Bound<'_, PyAny>) -> PyResult<KeyType> {
    let of_array = |data_type: &arrow_schema::DataType| {
        let unknown = || errors::new("WrongType", &format!("no key is of type {data_type}; state it: key_type="));
        key_type_of(data_type, false).ok_or_else(unknown)
    };
    if let Some(array) = numpy::array(keys)? {
        return of_array(arrow_array::Array::data_type(&array));
    }
    if let Some(long) = long_of_polars(keys)? {
        return Ok(long);
    }
    if is_arrow(keys)? && !is_of_objects(keys)? {
        let (field, _) = arrays(keys)?;
        return key_type_of_field(&field).map_or_else(|| of_array(field.data_type()), Ok);
    }
    let first = if keys.is_instance_of::<PyString>() { None } else { iterated(keys)?.next() };
    let Some(first) = first.transpose()? else {
        return Err(errors::new("InvalidArgument", "give a list of keys, which is not empty"));
    };
    types::type_of(&first)?.ok_or_else(|| types::mismatch(&first, &"any type of keys"))
}
