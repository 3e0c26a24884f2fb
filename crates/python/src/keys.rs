//! Many keys at once: lists, Arrow arrays, and arrays of NumPy.

use crate::convert::encode_key;
use crate::errors;
use crate::numpy;
use arrow_array::ArrayRef;
use ogive::types::KeyType;
use ogive_arrow::{append_frequent_key, key_of_row, unpacked};
use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3_arrow::input::AnyArray;

/// Keys of a list that are taken between two looks for signals.
const KEYS_BETWEEN_SIGNALS: usize = 64 << 10;

/// The bytes of many keys, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    /// The keys of an Arrow array or stream of arrays, of an array of NumPy, or of an iterable of Python objects.
    pub(crate) fn of(py: Python<'_>, key_type: KeyType, keys: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut found = Self::default();
        if let Some(array) = numpy::array(keys)? {
            py.detach(|| found.append(key_type, array))?;
            return Ok(found);
        }
        if keys.hasattr("__arrow_c_array__")? || keys.hasattr("__arrow_c_stream__")? {
            for array in keys.extract::<AnyArray>()?.into_chunked_array()?.chunks() {
                let array = array.clone();
                py.detach(|| found.append(key_type, array))?;
            }
            return Ok(found);
        }
        if keys.is_instance_of::<PyString>() {
            return Err(errors::new("WrongType", "give a list of keys; for one key, use get"));
        }
        for (number, key) in keys.try_iter()?.enumerate() {
            if number % KEYS_BETWEEN_SIGNALS == 0 {
                py.check_signals()?;
            }
            found.bytes.extend_from_slice(&encode_key(key_type, &key?)?);
            found.ends.push(found.bytes.len());
        }
        Ok(found)
    }

    /// The bytes that `encode` makes of each object.
    pub(crate) fn encoded(
        objects: &Bound<'_, PyAny>,
        encode: impl Fn(&Bound<'_, PyAny>) -> PyResult<Vec<u8>>,
    ) -> PyResult<Self> {
        let mut found = Self::default();
        for object in objects.try_iter()? {
            found.bytes.extend_from_slice(&encode(&object?)?);
            found.ends.push(found.bytes.len());
        }
        Ok(found)
    }

    fn append(&mut self, key_type: KeyType, array: ArrayRef) -> PyResult<()> {
        let array = unpacked(array).map_err(crate::rows::arrow_error)?;
        self.ends.reserve(array.len());
        for row in 0..array.len() {
            if !append_frequent_key(&array, key_type, row, &mut self.bytes) {
                self.bytes.extend_from_slice(&key_of_row(&array, key_type, row).map_err(errors::of_record)?);
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
