//! Batches: several writes that happen together or not at all.

use crate::convert::{encode_key, encode_value};
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::key_range::KeyRange;
use crate::keyspace::{Keyspace, Object};
use crate::store::Store;
use ogive::types::RecordType;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex, PoisonError};

/// A batch. See `ogive.Batch`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct Batch {
    batch: Native<Mutex<Option<ogive::Batch>>>,
    /// The types of keyspaces that have no records yet: they are decided when the batch is committed.
    undecided: Mutex<Vec<(Py<Keyspace>, Arc<RecordType>)>>,
}

impl Batch {
    fn with<R>(&self, work: impl FnOnce(&mut ogive::Batch) -> R) -> PyResult<R> {
        match &mut *self.batch.get()?.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(batch) => Ok(work(batch)),
            None => Err(closed()),
        }
    }

    fn take(&self) -> PyResult<Option<ogive::Batch>> {
        Ok(self.batch.get()?.lock().unwrap_or_else(PoisonError::into_inner).take())
    }
}

impl Batch {
    /// The types of a record of a keyspace without any: those of its first record in this batch.
    fn types_for(
        &self,
        keyspace: &Bound<'_, Keyspace>,
        key: &Object<'_>,
        value: &Object<'_>,
    ) -> PyResult<Arc<RecordType>> {
        let mut undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, types)) = undecided.iter().find(|(known, _)| known.get().name() == keyspace.get().name()) {
            return Ok(types.clone());
        }
        let types = keyspace.get().types_for(key, value)?;
        undecided.push((keyspace.clone().unbind(), types.clone()));
        Ok(types)
    }
}

fn closed() -> PyErr {
    errors::new("Closed", "the batch was committed or dropped; make another one")
}

/// A key and its value: a tuple of two, or whatever else has two elements.
fn pair<'py>(record: &Object<'py>) -> PyResult<(Object<'py>, Object<'py>)> {
    if record.is_instance_of::<PyTuple>() {
        return record.extract();
    }
    let parts = record.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    <[Object<'py>; 2]>::try_from(parts).map(|[key, value]| (key, value)).map_err(|parts| {
        let message = format!("a record is a key and its value, not {} elements", parts.len());
        errors::new("InvalidArgument", &message)
    })
}

#[pymethods]
impl Batch {
    #[new]
    fn new(store: &Store) -> PyResult<Self> {
        let batch = Native::new(Mutex::new(Some(store.opened().db()?.batch())));
        Ok(Self { batch, undecided: Mutex::default() })
    }

    fn put(&self, keyspace: &Bound<'_, Keyspace>, key: &Object<'_>, value: &Object<'_>) -> PyResult<()> {
        self.with(|_| ())?;
        let typed = keyspace.get().typed()?;
        let value = keyspace.get().stored(value)?;
        let types = match typed.is_undecided {
            true => self.types_for(keyspace, key, &value)?,
            false => typed.types.clone(),
        };
        let (key, value) = (encode_key(types.keys, key)?, encode_value(&types.values, &value)?);
        let keyspace = typed.keyspace()?;
        self.with(|batch| _ = batch.insert(keyspace, key, value))
    }

    /// Puts pairs of keys and values.
    fn put_all(&self, keyspace: &Bound<'_, Keyspace>, records: &Object<'_>) -> PyResult<()> {
        for record in records.try_iter()? {
            let (key, value) = pair(&record?)?;
            self.put(keyspace, &key, &value)?;
        }
        Ok(())
    }

    fn remove(&self, keyspace: &Keyspace, key: &Object<'_>) -> PyResult<()> {
        let typed = keyspace.typed()?;
        if typed.is_undecided {
            return self.with(|_| ());
        }
        let key = encode_key(typed.types.keys, key)?;
        let keyspace = typed.keyspace()?;
        self.with(|batch| _ = batch.remove(keyspace, key))
    }

    fn remove_range(&self, keyspace: &Keyspace, range: KeyRange<'_>) -> PyResult<()> {
        let typed = keyspace.typed()?;
        if typed.is_undecided {
            return self.with(|_| ());
        }
        let bounds = range.bounds(typed.types.keys)?;
        let keyspace = typed.keyspace()?;
        self.with(|batch| _ = batch.remove_range(keyspace, bounds))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let batch = self.take()?.ok_or_else(closed)?;
        // Types are written to the store, and so no lock is held meanwhile.
        let undecided = std::mem::take(&mut *self.undecided.lock().unwrap_or_else(PoisonError::into_inner));
        for (keyspace, types) in undecided {
            keyspace.get().typed_as(&types)?;
        }
        py.detach(|| batch.commit()).or_raise()
    }

    /// Drops the writes.
    fn abandon(&self) -> PyResult<()> {
        self.take().map(drop)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.with(|batch| batch.len() as usize)
    }
}
