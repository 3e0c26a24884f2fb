//! Batches: several writes that happen together or not at all.

use crate::convert::{encode_key, encode_value, iterated, pair_of};
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::frames;
use crate::key_range::KeyRange;
use crate::keyspace::{Keyspace, Object};
use crate::opened::{Opened, Typed};
use crate::store::Store;
use ogive::types::RecordType;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A batch. See `ogive.Batch`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct Batch {
    batch: Native<Mutex<Option<ogive::Batch>>>,
    opened: Arc<Opened>,
    undecided: Mutex<Vec<Undecided>>,
}

/// What a batch does to a keyspace without types: they are decided when it is committed.
struct Undecided {
    keyspace: Py<Keyspace>,
    /// Those of its first record in this batch.
    types: Option<Arc<RecordType>>,
    /// Removals before that record, whose keys have no bytes yet.
    removals: Vec<Removal>,
}

/// A removal of a key or of a range.
enum Removal {
    Key(Py<PyAny>),
    Range([Option<Py<PyAny>>; 3]),
}

impl Removal {
    /// Adds it to a batch, by the types that were decided since.
    fn add_to(&self, py: Python<'_>, batch: &mut ogive::Batch, typed: &Typed, types: &RecordType) -> PyResult<()> {
        let keyspace = typed.keyspace()?;
        typed.pin_in(batch)?;
        match self {
            Self::Key(key) => _ = batch.remove(keyspace, encode_key(types.keys, key.bind(py))?),
            Self::Range(range) => {
                let [start, stop, prefix] = range.each_ref().map(|key| key.as_ref().map(|key| key.bind(py).clone()));
                batch.remove_range(keyspace, KeyRange(start, stop, prefix).bounds(types.keys)?);
            }
        }
        Ok(())
    }
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
    /// Changes what the batch does to a keyspace without types.
    fn with_undecided<R>(
        &self,
        keyspace: &Bound<'_, Keyspace>,
        change: impl FnOnce(&mut Undecided) -> PyResult<R>,
    ) -> PyResult<R> {
        let mut undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        let name = keyspace.get().name();
        let place = undecided.iter().position(|known| known.keyspace.get().name() == name);
        let place = place.unwrap_or_else(|| {
            undecided.push(Undecided { keyspace: keyspace.clone().unbind(), types: None, removals: Vec::new() });
            undecided.len() - 1
        });
        change(&mut undecided[place])
    }

    /// The types of a record of a keyspace without any: those of its first record in this batch.
    fn types_for(
        &self,
        keyspace: &Bound<'_, Keyspace>,
        key: &Object<'_>,
        value: &Object<'_>,
    ) -> PyResult<Arc<RecordType>> {
        self.with_undecided(keyspace, |known| match &known.types {
            Some(types) => Ok(types.clone()),
            None => keyspace.get().types_for(key, value),
        })
    }

    /// Keeps the types of a first record, and adds the removals before it.
    fn decide(&self, keyspace: &Bound<'_, Keyspace>, typed: &Typed, types: &Arc<RecordType>) -> PyResult<()> {
        let removals = self.with_undecided(keyspace, |known| {
            known.types = Some(types.clone());
            Ok(std::mem::take(&mut known.removals))
        })?;
        for removal in removals {
            self.with(|batch| removal.add_to(keyspace.py(), batch, typed, types))??;
        }
        Ok(())
    }

    /// Adds a removal, by the types of the keyspace or of its first record in this batch; without any, it is kept.
    fn add_removal(&self, keyspace: &Bound<'_, Keyspace>, removal: Removal) -> PyResult<()> {
        self.with(|_| ())?;
        keyspace.get().check_store(&self.opened)?;
        let typed = keyspace.get().typed()?;
        if !typed.is_undecided && !self.has_undecided(keyspace) {
            return self.with(|batch| removal.add_to(keyspace.py(), batch, &typed, &typed.types))?;
        }
        let types = self.with_undecided(keyspace, |known| Ok(known.types.clone()))?;
        match types {
            Some(types) => self.with(|batch| removal.add_to(keyspace.py(), batch, &typed, &types))?,
            None => self.with_undecided(keyspace, |known| {
                known.removals.push(removal);
                Ok(())
            }),
        }
    }

    fn has_undecided(&self, keyspace: &Bound<'_, Keyspace>) -> bool {
        let undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        undecided.iter().any(|known| known.keyspace.get().name() == keyspace.get().name())
    }
}

fn closed() -> PyErr {
    errors::new("Closed", "the batch was committed or dropped; make another one")
}

#[pymethods]
impl Batch {
    #[new]
    fn new(store: &Store) -> PyResult<Self> {
        let opened = store.opened().clone();
        let batch = Native::new(Mutex::new(Some(opened.db()?.batch())));
        Ok(Self { batch, opened, undecided: Mutex::default() })
    }

    fn put(&self, keyspace: &Bound<'_, Keyspace>, key: &Object<'_>, value: &Object<'_>) -> PyResult<()> {
        self.with(|_| ())?;
        keyspace.get().check_store(&self.opened)?;
        let typed = keyspace.get().typed()?;
        let value = keyspace.get().stored(value)?;
        let is_undecided = typed.is_undecided || self.has_undecided(keyspace);
        let types = match is_undecided {
            true => self.types_for(keyspace, key, &value)?,
            false => typed.types.clone(),
        };
        let key = keyspace.get().checked_key(encode_key(types.keys, key)?)?;
        let value = encode_value(&types.values, &value)?;
        if is_undecided {
            self.decide(keyspace, &typed, &types)?;
        }
        let keyspace = typed.keyspace()?;
        self.with(|batch| {
            batch.insert(keyspace, key, value);
            typed.pin_in(batch)
        })?
    }

    /// Puts pairs of keys and values.
    fn put_all(&self, keyspace: &Bound<'_, Keyspace>, records: &Object<'_>) -> PyResult<()> {
        for record in iterated(records)? {
            let (key, value) = pair_of(&record?)?;
            self.put(keyspace, &key, &value)?;
        }
        Ok(())
    }

    /// Puts the rows of a frame, whose columns have the names that a scan gives them.
    fn put_frame(&self, keyspace: &Bound<'_, Keyspace>, frame: &Object<'_>) -> PyResult<()> {
        self.with(|_| ())?;
        let of = keyspace.get();
        of.check_store(&self.opened)?;
        let typed = of.typed()?;
        let types = match typed.is_undecided || self.has_undecided(keyspace) {
            true => self.with_undecided(keyspace, |known| Ok(known.types.clone()))?,
            false => Some(typed.types.clone()),
        };
        let types = types.ok_or_else(|| {
            let message = format!(
                "the keyspace {:?} has no types yet, by whose names the columns of a frame are found; state them: \
                 key=, value=",
                of.name()
            );
            errors::new("WrongType", &message)
        })?;
        let (keys, values) = frames::records(frame, &types)?;
        let keyspace = typed.keyspace()?;
        for (key, value) in keys.iter().zip(values.iter()) {
            of.check_json(frame.py(), &types, value)?;
            let key = of.checked_key(key.to_vec())?;
            self.with(|batch| _ = batch.insert(keyspace, key, value))?;
        }
        self.with(|batch| typed.pin_in(batch))?
    }

    fn remove(&self, keyspace: &Bound<'_, Keyspace>, key: &Object<'_>) -> PyResult<()> {
        self.add_removal(keyspace, Removal::Key(key.clone().unbind()))
    }

    fn remove_range(&self, keyspace: &Bound<'_, Keyspace>, range: KeyRange<'_>) -> PyResult<()> {
        let KeyRange(start, stop, prefix) = range;
        self.add_removal(keyspace, Removal::Range([start, stop, prefix].map(|key| key.map(Bound::unbind))))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let mut batch = self.take()?.ok_or_else(closed)?;
        // Types are written to the store, and so no lock is held meanwhile.
        let undecided = std::mem::take(&mut *self.undecided.lock().unwrap_or_else(PoisonError::into_inner));
        for Undecided { keyspace, types, removals } in &undecided {
            let typed = keyspace.get().typed()?;
            match types {
                Some(types) if !typed.is_undecided => _ = Keyspace::checked(typed, types)?,
                // Another handle may have written what was to be removed.
                None if !typed.is_undecided => {
                    removals.iter().try_for_each(|removal| removal.add_to(py, &mut batch, &typed, &typed.types))?;
                }
                _ => {}
            }
        }
        for (keyspace, types) in undecided.iter().filter_map(|known| Some((&known.keyspace, known.types.as_ref()?))) {
            keyspace.get().typed_as(types)?;
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
