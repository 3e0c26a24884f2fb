//! Changes of a store, as its followers get them.

use crate::convert::{decode_key, decode_value};
use crate::errors::OrRaise;
use crate::fork::Native;
use crate::range::{Part, RecordIterator};
use ogive::types::RecordType;
use ogive::{Change, DbChanges};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// A change: its kind, its keyspace, a key and a value, or what the kind has in their places, and the time at which a
/// record expires, in seconds since the start of 1970.
type Shown<'py> = (&'static str, String, Bound<'py, PyAny>, Bound<'py, PyAny>, Option<f64>);

/// An iterator over the batches of changes behind a position. It goes on when more was written.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct ChangeIterator {
    changes: Native<Mutex<DbChanges>>,
}

impl ChangeIterator {
    pub(crate) fn new(changes: DbChanges) -> Self {
        Self { changes: Native::new(Mutex::new(changes)) }
    }
}

/// A change as it is passed to Python, of a keyspace of these types.
fn shown_change<'py>(py: Python<'py>, change: &Change, types: &Arc<RecordType>) -> PyResult<Shown<'py>> {
    let none = || py.None().into_bound(py);
    // The end of a range need not be a whole key.
    let bound = |key: &[u8]| decode_key(py, types.keys, key).unwrap_or_else(|_| PyBytes::new(py, key).into_any());
    Ok(match change {
        Change::Insert { keyspace, key, value, expires } => {
            let value = decode_value(py, &types.values, value)?;
            let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let expires = expires.map(|time| since(time).as_secs_f64());
            ("put", keyspace.to_string(), decode_key(py, types.keys, key)?, value, expires)
        }
        Change::Remove { keyspace, key } => {
            ("remove", keyspace.to_string(), decode_key(py, types.keys, key)?, none(), None)
        }
        Change::RemoveRange { keyspace, start, end } => {
            let end = end.as_deref().map_or_else(none, bound);
            ("remove_range", keyspace.to_string(), bound(start), end, None)
        }
        Change::Ingest { keyspace, tables } => {
            let records = RecordIterator::new(Some(tables.records()), types.clone(), Part::Items);
            ("ingest", keyspace.to_string(), none(), Bound::new(py, records)?.into_any(), None)
        }
        Change::DropKeyspace { keyspace } => ("drop", keyspace.to_string(), none(), none(), None),
        other => ("unknown", format!("{other:?}"), none(), none(), None),
    })
}

#[pymethods]
impl ChangeIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(String, Vec<Shown<'py>>)>> {
        let changes = self.changes.get()?;
        let next = || changes.lock().unwrap_or_else(PoisonError::into_inner).next().transpose();
        let Some(batch) = py.detach(next).or_raise()? else { return Ok(None) };
        let mut shown = Vec::with_capacity(batch.changes.len());
        for change in &batch.changes {
            let types = batch.types(change.keyspace()).cloned().unwrap_or_default();
            shown.push(shown_change(py, change, &types)?);
        }
        Ok(Some((batch.position.to_string(), shown)))
    }
}
