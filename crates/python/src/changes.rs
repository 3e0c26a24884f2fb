//! Changes of a store, as its followers get them.

use crate::convert::{decode_key, decode_value};
use crate::errors::OrRaise;
use crate::fork::Native;
use crate::opened::Opened;
use crate::range::{Part, RecordIterator};
use ogive::types::RecordType;
use ogive::{Change, DbChanges};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A change: its kind, its keyspace, and a key and a value, or what the kind has in their places.
type Shown<'py> = (&'static str, String, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// An iterator over the batches of changes behind a position. It goes on when more was written.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct ChangeIterator {
    opened: Arc<Opened>,
    changes: Native<Mutex<DbChanges>>,
}

impl ChangeIterator {
    pub(crate) fn new(opened: &Arc<Opened>, changes: DbChanges) -> Self {
        Self { opened: opened.clone(), changes: Native::new(Mutex::new(changes)) }
    }

    /// The types of a keyspace; those of bytes if it is not there any more.
    fn types(&self, py: Python<'_>, name: &str) -> PyResult<Arc<RecordType>> {
        let is_there = |db: &ogive::Db| db.keyspaces().iter().any(|known| known == name);
        if self.opened.is_read_only && !is_there(&*self.opened.db()?) {
            // It may be newer than what the reader has.
            self.opened.refresh(py)?;
        }
        let db = self.opened.db()?;
        match is_there(&db) {
            true => Ok(db.keyspace(name).or_raise()?.record_type()),
            false => Ok(Arc::default()),
        }
    }

    fn shown<'py>(&self, py: Python<'py>, change: Change, types: &Arc<RecordType>) -> PyResult<Shown<'py>> {
        let none = || py.None().into_bound(py);
        // The end of a range need not be a whole key.
        let bound = |key: &[u8]| decode_key(py, types.keys, key).unwrap_or_else(|_| PyBytes::new(py, key).into_any());
        Ok(match change {
            Change::Insert { keyspace, key, value, .. } => {
                let value = decode_value(py, &types.values, &value)?;
                ("put", keyspace.to_string(), decode_key(py, types.keys, &key)?, value)
            }
            Change::Remove { keyspace, key } => {
                ("remove", keyspace.to_string(), decode_key(py, types.keys, &key)?, none())
            }
            Change::RemoveRange { keyspace, start, end } => {
                ("remove_range", keyspace.to_string(), bound(&start), end.map_or_else(none, |end| bound(&end)))
            }
            Change::Ingest { keyspace, tables } => {
                let records = RecordIterator::new(Some(tables.records()), types.clone(), Part::Items);
                ("ingest", keyspace.to_string(), none(), Bound::new(py, records)?.into_any())
            }
            Change::DropKeyspace { keyspace } => ("drop", keyspace.to_string(), none(), none()),
            other => ("unknown", format!("{other:?}"), none(), none()),
        })
    }
}

fn keyspace_of(change: &Change) -> &str {
    match change {
        Change::Insert { keyspace, .. }
        | Change::Remove { keyspace, .. }
        | Change::RemoveRange { keyspace, .. }
        | Change::Ingest { keyspace, .. }
        | Change::DropKeyspace { keyspace } => keyspace,
        _ => "",
    }
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
        let (mut types, mut shown) = (HashMap::new(), Vec::with_capacity(batch.changes.len()));
        for change in batch.changes {
            let name = keyspace_of(&change).to_owned();
            let known = match types.get(&name) {
                Some(known) => Arc::clone(known),
                None => self.types(py, &name)?,
            };
            shown.push(self.shown(py, change, &known)?);
            types.insert(name, known);
        }
        Ok(Some((batch.position.to_string(), shown)))
    }
}
