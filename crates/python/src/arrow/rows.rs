//! Records as Arrow tables and streams.

use super::input::is_arrow;
use super::keys::{Keys, type_of_keys};
use super::output::{RowBatch, RowReader};
use crate::convert::iterated;
use crate::errors::OrRaise;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use ogive::types::{KeyType, RecordType};
use ogive_arrow::{BATCH_BYTES_MAX, RecordBatchBuilder};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// Rows and bytes of a batch of a stream.
const STREAM_ROWS: usize = 64 << 10;
const STREAM_BYTES: usize = 16 << 20;

/// Keys that are looked up at a time, between two looks for signals. More of them are taken in their order, so that
/// keys near each other share reads.
const KEYS_AT_ONCE: usize = 64 << 10;

/// The table of the keys that were asked for, with their values; null for those that are absent.
pub(crate) fn found<V: AsRef<[u8]>>(
    py: Python<'_>,
    record_type: &RecordType,
    keys: &Keys,
    look_up: impl Fn(Vec<&[u8]>) -> ogive::Result<Vec<Option<V>>> + Sync + Send,
) -> PyResult<RowBatch> {
    // Of keys alone, empty values and nulls tell the keys that are there from those that are not.
    let mut builder = RecordBatchBuilder::with_columns(&record_type.clone().with_values(), true, |_| true);
    let schema = builder.schema().clone();
    let mut batches = Vec::new();
    let mut append = |key: &[u8], value: Option<&[u8]>| {
        builder.append(key, value)?;
        if builder.bytes() >= BATCH_BYTES_MAX {
            batches.push(builder.finish()?);
        }
        Ok(())
    };
    if keys.len() <= KEYS_AT_ONCE {
        let all = || {
            let values = look_up(keys.iter().collect())?;
            keys.iter().zip(values).try_for_each(|(key, value)| append(key, value.as_ref().map(AsRef::as_ref)))
        };
        py.detach(all).or_raise()?;
    } else {
        let (order, mut found) = (py.detach(|| keys.order()), Values::of(keys.len()));
        for part in order.chunks(KEYS_AT_ONCE) {
            py.check_signals()?;
            py.detach(|| {
                let values = look_up(part.iter().map(|&place| keys.get(place)).collect())?;
                part.iter().zip(values).for_each(|(&place, value)| found.set(place, value.as_ref().map(AsRef::as_ref)));
                Ok(())
            })
            .or_raise()?;
        }
        py.check_signals()?;
        py.detach(|| keys.iter().enumerate().try_for_each(|(place, key)| append(key, found.get(place)))).or_raise()?;
    }
    if !builder.is_empty() {
        batches.push(builder.finish().or_raise()?);
    }
    Ok(RowBatch::new(batches, schema))
}

/// The table of keys that were asked for of records whose types are not decided, of which there are none.
pub(crate) fn none_found(py: Python<'_>, stated: Option<KeyType>, keys: &Bound<'_, PyAny>) -> PyResult<RowBatch> {
    let is_array = keys.hasattr("dtype")? || is_arrow(keys)?;
    // Not an iterator, whose first key would be gone.
    let keys = match is_array || keys.is_instance_of::<PyString>() {
        true => keys.clone(),
        false => PyList::new(py, iterated(keys)?.collect::<PyResult<Vec<_>>>()?)?.into_any(),
    };
    let key_type = match (stated, keys.len()) {
        (Some(stated), _) => stated,
        (None, Ok(0)) => KeyType::Bytes,
        (None, _) => type_of_keys(&keys)?,
    };
    let types = RecordType::new(key_type, KeyType::Bytes);
    found(py, &types, &Keys::of(py, key_type, &keys)?, |keys| Ok(vec![None::<Vec<u8>>; keys.len()]))
}

/// Values of many keys, in one buffer: what the engine returns may keep whole blocks in memory.
struct Values {
    bytes: Vec<u8>,
    places: Vec<Option<(usize, usize)>>,
}

impl Values {
    fn of(count: usize) -> Self {
        Self { bytes: Vec::new(), places: vec![None; count] }
    }

    fn set(&mut self, place: usize, value: Option<&[u8]>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.places[place] = value.map(|value| (start, value.len()));
    }

    fn get(&self, place: usize) -> Option<&[u8]> {
        self.places[place].map(|(start, length)| &self.bytes[start..start + length])
    }
}

/// A stream of record batches of records.
pub(crate) struct Batches<I> {
    records: I,
    builder: RecordBatchBuilder,
    is_done: bool,
}

impl<I, B> Batches<I>
where
    I: Iterator<Item = ogive::Result<(B, B)>>,
    B: AsRef<[u8]>,
{
    pub(crate) fn new(builder: RecordBatchBuilder, records: I) -> Self {
        Self { records, builder, is_done: false }
    }
}

impl<I, B> Batches<I>
where
    I: Iterator<Item = ogive::Result<(B, B)>> + Send + 'static,
    B: AsRef<[u8]> + 'static,
{
    pub(crate) fn reader(record_type: &RecordType, records: I) -> RowReader {
        RowReader::new(Box::new(Self::new(RecordBatchBuilder::new(record_type), records)))
    }
}

impl<I, B> Iterator for Batches<I>
where
    I: Iterator<Item = ogive::Result<(B, B)>>,
    B: AsRef<[u8]>,
{
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_done && self.builder.len() < STREAM_ROWS && self.builder.bytes() < STREAM_BYTES {
            let appended = match self.records.next() {
                Some(Ok((key, value))) => self.builder.append(key.as_ref(), Some(value.as_ref())),
                Some(Err(error)) => Err(error),
                None => {
                    self.is_done = true;
                    Ok(())
                }
            };
            if let Err(error) = appended {
                self.is_done = true;
                // Rows before the error are not given after it.
                drop(self.builder.finish());
                return Some(Err(ArrowError::ExternalError(Box::new(error))));
            }
        }
        (!self.builder.is_empty())
            .then(|| self.builder.finish().map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl<I, B> RecordBatchReader for Batches<I>
where
    I: Iterator<Item = ogive::Result<(B, B)>>,
    B: AsRef<[u8]>,
{
    fn schema(&self) -> SchemaRef {
        self.builder.schema().clone()
    }
}
