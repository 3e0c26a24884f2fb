//! Iterators over records. Records are read some at a time, without the interpreter's lock.

use crate::convert::{decode_key, decode_value};
use crate::errors::OrRaise;
use crate::fork::Native;
use crate::json;
use ogive::lsm::KeyspaceIndexRange;
use ogive::types::RecordType;
use ogive::{DbRange, Slice};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Records that are read at a time: few at first, since many ranges are left early.
const RECORDS_AT_FIRST: usize = 16;
const RECORDS_AT_ONCE: usize = 1024;
/// Fewer records are read at a time if they are long, in bytes.
const BYTES_AT_ONCE: usize = 1 << 20;

/// The part of a record that an iterator yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Items,
    Keys,
    Values,
}

impl<'py> FromPyObject<'_, 'py> for Part {
    type Error = PyErr;

    fn extract(name: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match &*name.extract::<PyBackedStr>()? {
            "items" => Ok(Self::Items),
            "keys" => Ok(Self::Keys),
            "values" => Ok(Self::Values),
            other => Err(PyValueError::new_err(format!("{other:?} is not a part of a record"))),
        }
    }
}

/// Records, as the engine yields them.
type Records = Box<dyn Iterator<Item = ogive::Result<(Vec<u8>, Vec<u8>)>> + Send>;

struct State {
    records: Option<Records>,
    ahead: VecDeque<(Vec<u8>, Vec<u8>)>,
    at_once: usize,
    at_once_max: usize,
    failure: Option<ogive::Error>,
}

impl State {
    /// Reads the next records. A failure is kept until the records before it were given.
    fn fill(&mut self) {
        let Some(records) = &mut self.records else { return };
        let mut bytes = 0;
        while self.ahead.len() < self.at_once && bytes < BYTES_AT_ONCE {
            match records.next() {
                Some(Ok(record)) => {
                    bytes += record.0.len() + record.1.len();
                    self.ahead.push_back(record);
                }
                Some(Err(error)) => {
                    self.failure = Some(error);
                    self.records = None;
                    return;
                }
                None => {
                    self.records = None;
                    return;
                }
            }
        }
        self.at_once = (self.at_once * 2).min(self.at_once_max);
    }

    fn next(&mut self) -> ogive::Result<Option<(Vec<u8>, Vec<u8>)>> {
        if self.ahead.is_empty() {
            self.fill();
        }
        match self.ahead.pop_front() {
            Some(record) => Ok(Some(record)),
            None => self.failure.take().map_or(Ok(None), Err),
        }
    }
}

/// An iterator over the records of a range.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct RecordIterator {
    state: Native<Mutex<State>>,
    types: Arc<RecordType>,
    part: Part,
    is_json: bool,
}

impl RecordIterator {
    pub(crate) fn new(records: Option<Records>, types: Arc<RecordType>, part: Part) -> Self {
        let (ahead, at_once, at_once_max) = (VecDeque::new(), RECORDS_AT_FIRST, RECORDS_AT_ONCE);
        let state = State { records, ahead, at_once, at_once_max, failure: None };
        Self { state: Native::new(Mutex::new(state)), types, part, is_json: false }
    }

    /// The same, with values that JSON says.
    pub(crate) fn with_json(self, is_json: bool) -> Self {
        Self { is_json, ..self }
    }

    pub(crate) fn of_range(range: DbRange, types: Arc<RecordType>, reverse: bool, part: Part) -> Self {
        let records: Records = match (part, reverse) {
            // The values are not read.
            (Part::Keys, false) => Box::new(range.keys().map(|key| Ok((key?.to_vec(), Vec::new())))),
            (Part::Keys, true) => Box::new(range.keys().rev().map(|key| Ok((key?.to_vec(), Vec::new())))),
            (_, false) => Box::new(range.map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())))),
            (_, true) => Box::new(range.rev().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())))),
        };
        Self::new(Some(records), types, part)
    }

    /// The records of a range of a transaction, one at a time: what is read ahead may conflict with writes of others,
    /// though the program has not seen it.
    pub(crate) fn of_transaction(
        range: impl DoubleEndedIterator<Item = ogive::Result<(Slice, Slice)>> + Send + 'static,
        types: Arc<RecordType>,
        reverse: bool,
        part: Part,
    ) -> Self {
        let owned = |(key, value): (Slice, Slice)| (key.to_vec(), value.to_vec());
        let records: Records = match reverse {
            false => Box::new(range.map(move |record| record.map(owned))),
            true => Box::new(range.rev().map(move |record| record.map(owned))),
        };
        let state = State { records: Some(records), ahead: VecDeque::new(), at_once: 1, at_once_max: 1, failure: None };
        Self { state: Native::new(Mutex::new(state)), types, part, is_json: false }
    }

    pub(crate) fn of_index(found: KeyspaceIndexRange, types: Arc<RecordType>, reverse: bool) -> Self {
        let owned = |record: ogive::Result<(Slice, Slice)>| record.map(|(key, value)| (key.to_vec(), value.to_vec()));
        let records: Records = if reverse { Box::new(found.rev().map(owned)) } else { Box::new(found.map(owned)) };
        Self::new(Some(records), types, Part::Items)
    }

    pub(crate) fn empty() -> Self {
        Self::new(None, Arc::default(), Part::Items)
    }
}

#[pymethods]
impl RecordIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let state = self.state.get()?;
        // What was read ahead is taken at once; others wait without the interpreter's lock.
        let ahead = state.try_lock().ok().and_then(|mut state| state.ahead.pop_front());
        let next = || state.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((key, value)) = ahead.map_or_else(|| py.detach(next).or_raise(), |record| Ok(Some(record)))? else {
            return Ok(None);
        };
        let key = || decode_key(py, self.types.keys, &key);
        let value = || {
            let value = decode_value(py, &self.types.values, &value)?;
            if self.is_json { json::value_of(&value) } else { Ok(value) }
        };
        Ok(Some(match self.part {
            Part::Keys => key()?,
            Part::Values => value()?,
            Part::Items => (key()?, value()?).into_pyobject(py)?.into_any(),
        }))
    }
}
