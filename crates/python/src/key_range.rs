//! Ranges of keys.

use crate::convert::{encode_bound, encode_prefix};
use crate::errors;
use crate::object::Object;
use ogive::types::KeyType;
use pyo3::prelude::*;
use std::ops::Bound;

pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A range, as Python states it: `(start, stop, prefix)`.
#[derive(FromPyObject)]
pub(crate) struct KeyRange<'py>(
    pub(crate) Option<Object<'py>>,
    pub(crate) Option<Object<'py>>,
    pub(crate) Option<Object<'py>>,
);

impl KeyRange<'_> {
    /// The bytes that bound the range.
    pub(crate) fn bounds(&self, key_type: KeyType) -> PyResult<Bounds> {
        let Self(start, stop, prefix) = self;
        if let Some(prefix) = prefix {
            if start.is_some() || stop.is_some() {
                return Err(errors::new("InvalidArgument", "give a prefix, or start and stop"));
            }
            return Ok(key_type.prefix_range(&encode_prefix(key_type, prefix)?));
        }
        let bound = |key: &Option<Object<'_>>| key.as_ref().map(|key| encode_bound(key_type, key)).transpose();
        let (start, stop) = (bound(start)?, bound(stop)?);
        Ok((start.map_or(Bound::Unbounded, Bound::Included), stop.map_or(Bound::Unbounded, Bound::Excluded)))
    }
}
