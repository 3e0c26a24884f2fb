//! Batches: several writes that happen together or not at all.

use crate::arrow::frames;
use crate::convert::{encode_key, encode_value, iterated, pair_of};
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::key_range::{Bounds, KeyRange};
use crate::keyspace::Keyspace;
use crate::object::Object;
use crate::opened::{Opened, Typed};
use crate::store::Store;
use crate::times::time_of;
use ogive::lsm::PinnedTypes;
use ogive::types::{KeyType, RecordType};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A batch. See `ogive.Batch`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct Batch {
    batch: Native<Mutex<Option<ogive::Batch>>>,
    opened: Arc<Opened>,
    undecided: Mutex<Vec<Undecided>>,
}

/// The types of a first record, and the keyspace whose writes decide them.
type FirstTypes = (Arc<RecordType>, ogive::Keyspace);

/// A change with the types of its handle, and those of the first record.
type TypedChange<T> = (T, Arc<Typed>, Option<FirstTypes>);

/// What a batch does to a keyspace without types: they are decided when it is committed.
struct Undecided {
    handle: Py<Keyspace>,
    /// The keyspace itself: one that is dropped and made again under its name is another.
    keyspace: ogive::Keyspace,
    /// Those of its first record, once the batch has one.
    decided: Option<FirstTypes>,
    /// Removals before that record, whose keys have no bytes yet.
    removals: Vec<Removal>,
    /// Values that were expected before it.
    expected: Vec<Expected>,
}

/// The value that a key is expected to have; `None` for none.
struct Expected {
    key: Py<PyAny>,
    value: Option<Py<PyAny>>,
}

/// The bytes of an expected value.
struct EncodedExpected {
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl Expected {
    /// The bytes by `types`; without any, by those that a first record would decide.
    fn encode(
        &self,
        handle: &Bound<'_, Keyspace>,
        typed: &Typed,
        types: Option<&RecordType>,
    ) -> PyResult<EncodedExpected> {
        let (key, value) = (self.key.bind(handle.py()), self.value.as_ref().map(|value| value.bind(handle.py())));
        let value = value.map(|value| handle.get().stored(value, typed)).transpose()?;
        let decided;
        let types = match types {
            Some(types) => types,
            None => {
                decided = handle.get().types_of_expected(key, value.as_deref())?;
                &decided
            }
        };
        let value = value.map(|value| encode_value(&types.values, &value)).transpose()?;
        Ok(EncodedExpected { key: handle.get().checked_key(encode_key(types.keys, key)?)?, value })
    }
}

impl EncodedExpected {
    /// Values are compared as the types of a keyspace have them, or else by their bytes.
    fn add_to(self, batch: &mut ogive::Batch, keyspace: &ogive::Keyspace, types: Option<&PinnedTypes>) {
        let Self { key, value } = self;
        _ = match types {
            Some(types) => batch.expect_as(types, key, value.as_deref()),
            None => batch.expect(keyspace, key, value.as_deref()),
        };
    }
}

/// A record that is to be put.
struct Encoded {
    typed: Arc<Typed>,
    /// Of a keyspace without types: those that it gets.
    decides: Option<Arc<RecordType>>,
    key: Vec<u8>,
    value: Vec<u8>,
    /// When it expires, in milliseconds since the start of 1970.
    expires_ms: Option<u64>,
}

impl Encoded {
    fn add_to(&self, batch: &mut ogive::Batch, keyspace: &ogive::Keyspace) {
        _ = match self.expires_ms {
            Some(expires_ms) => batch.insert_with(keyspace, &self.key, &self.value, time_of(expires_ms)),
            None => batch.insert(keyspace, &self.key, &self.value),
        };
    }
}

/// A removal of a key or of a range.
enum Removal {
    Key(Py<PyAny>),
    Range([Option<Py<PyAny>>; 3]),
}

/// A removal of the bytes of a key, or of a range of them.
enum EncodedRemoval {
    Key(Vec<u8>),
    Range(Bounds),
}

impl Removal {
    fn encode(&self, py: Python<'_>, keys: KeyType) -> PyResult<EncodedRemoval> {
        match self {
            Self::Key(key) => encode_key(keys, key.bind(py)).map(EncodedRemoval::Key),
            Self::Range(range) => {
                let [start, stop, prefix] = range.each_ref().map(|key| key.as_ref().map(|key| key.bind(py).clone()));
                KeyRange(start, stop, prefix).bounds(keys).map(EncodedRemoval::Range)
            }
        }
    }
}

impl EncodedRemoval {
    fn add_to(self, batch: &mut ogive::Batch, keyspace: &ogive::Keyspace) {
        _ = match self {
            Self::Key(key) => batch.remove(keyspace, key),
            Self::Range(bounds) => batch.remove_range(keyspace, bounds),
        };
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
    /// Looks at, or changes, what the batch does to a keyspace that had no types when it was used first.
    fn with_undecided<R>(
        &self,
        keyspace: &ogive::Keyspace,
        work: impl FnOnce(&mut Undecided) -> PyResult<R>,
    ) -> PyResult<Option<R>> {
        let mut undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        undecided.iter_mut().find(|known| known.keyspace == *keyspace).map(work).transpose()
    }

    /// The types that the first record of a keyspace without types has in this batch; `None` for another keyspace.
    fn decided(&self, typed: &Typed) -> PyResult<Option<Option<Arc<RecordType>>>> {
        self.with_undecided(typed.keyspace()?, |known| Ok(known.decided.as_ref().map(|(types, _)| types.clone())))
    }

    /// Notes a keyspace without types.
    fn note_undecided(&self, handle: &Bound<'_, Keyspace>, keyspace: &ogive::Keyspace) {
        let mut undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        if !undecided.iter().any(|known| known.keyspace == *keyspace) {
            let (handle, keyspace) = (handle.clone().unbind(), keyspace.clone());
            let (removals, expected) = Default::default();
            undecided.push(Undecided { handle, keyspace, decided: None, removals, expected });
        }
    }

    /// The bytes of a record. The first one of a keyspace without types has the types of all of this batch: it is one
    /// that the batch has already, or the first of those that come with this one.
    fn encoded(
        &self,
        handle: &Bound<'_, Keyspace>,
        key: &Object<'_>,
        value: &Object<'_>,
        first: Option<&Encoded>,
    ) -> PyResult<Encoded> {
        let typed = handle.get().typed()?;
        let value = handle.get().stored(value, &typed)?;
        let decides = match (self.decided(&typed)?, first.and_then(|first| first.decides.clone())) {
            (Some(Some(types)), _) | (Some(None), Some(types)) => Some(types),
            (None, Some(types)) if typed.is_undecided => Some(types),
            (None, _) if !typed.is_undecided => None,
            // Another handle has decided them since the batch noted a removal.
            _ if !typed.is_undecided => Some(typed.types.clone()),
            _ => Some(handle.get().types_of_record(key, &value)?),
        };
        let types = decides.as_ref().unwrap_or(&typed.types);
        let key = handle.get().checked_key(encode_key(types.keys, key)?)?;
        let value = encode_value(&types.values, &value)?;
        Ok(Encoded { typed, decides, key, value, expires_ms: None })
    }

    /// Adds a record; removals and expected values before the first one of a keyspace without types have bytes from
    /// then on.
    fn add(&self, handle: &Bound<'_, Keyspace>, record: &Encoded) -> PyResult<()> {
        let Encoded { typed, decides, .. } = record;
        let keyspace = typed.keyspace()?;
        let Some(types) = decides else {
            return self.with(|batch| {
                record.add_to(batch, keyspace);
                typed.pin_in(batch)
            })?;
        };
        self.note_undecided(handle, keyspace);
        let deciding = keyspace.deciding(types).or_raise()?;
        // Keys are encoded without the lock, since they may be objects of any class.
        let take =
            |known: &mut Undecided| Ok((std::mem::take(&mut known.removals), std::mem::take(&mut known.expected)));
        let (kept, awaited) = self.with_undecided(keyspace, take)?.unwrap_or_default();
        let encode = || -> PyResult<_> {
            let removals = kept.iter().map(|removal| removal.encode(handle.py(), types.keys));
            let expected = awaited.iter().map(|expected| expected.encode(handle, typed, Some(types)));
            Ok((removals.collect::<PyResult<Vec<_>>>()?, expected.collect::<PyResult<Vec<_>>>()?))
        };
        let encoded = encode();
        self.with_undecided(keyspace, |known| {
            match &encoded {
                Ok(_) => _ = known.decided.get_or_insert_with(|| (types.clone(), deciding.clone())),
                Err(_) => {
                    known.removals.splice(..0, kept).for_each(drop);
                    known.expected.splice(..0, awaited).for_each(drop);
                }
            }
            Ok(())
        })?;
        let (removals, expected) = encoded?;
        self.with(|batch| {
            expected.into_iter().for_each(|expected| expected.add_to(batch, &deciding, None));
            removals.into_iter().for_each(|removal| removal.add_to(batch, &deciding));
            record.add_to(batch, &deciding);
        })
    }

    /// Keeps a change until the batch has a first record of a keyspace without types; else returns it, with the types
    /// of the handle, and those of that record.
    fn kept_until_decided<T>(
        &self,
        handle: &Bound<'_, Keyspace>,
        change: T,
        kept: impl FnOnce(&mut Undecided) -> &mut Vec<T>,
    ) -> PyResult<Option<TypedChange<T>>> {
        self.with(|_| ())?;
        handle.get().check_store(&self.opened)?;
        let typed = handle.get().typed()?;
        let keyspace = typed.keyspace()?;
        if typed.is_undecided {
            self.note_undecided(handle, keyspace);
        }
        let mut change = Some(change);
        let decided = self.with_undecided(keyspace, |known| {
            let decided = known.decided.clone();
            if decided.is_none() {
                kept(known).extend(change.take());
            }
            Ok(decided)
        })?;
        Ok(change.map(|change| (change, typed, decided.flatten())))
    }

    /// Adds an expected value, by the types of the keyspace or of its first record in this batch; without any, it is
    /// kept.
    fn add_expected(&self, handle: &Bound<'_, Keyspace>, expected: Expected) -> PyResult<()> {
        match self.kept_until_decided(handle, expected, |known| &mut known.expected)? {
            None => Ok(()),
            Some((expected, typed, Some((types, deciding)))) => {
                let expected = expected.encode(handle, &typed, Some(&types))?;
                self.with(|batch| expected.add_to(batch, &deciding, None))
            }
            Some((expected, typed, None)) => {
                let (expected, pinned) = (expected.encode(handle, &typed, Some(&typed.types))?, typed.pinned()?);
                let keyspace = typed.keyspace()?;
                self.with(|batch| expected.add_to(batch, keyspace, pinned))
            }
        }
    }

    /// Adds a removal, by the types of the keyspace or of its first record in this batch; without any, it is kept.
    fn add_removal(&self, handle: &Bound<'_, Keyspace>, removal: Removal) -> PyResult<()> {
        let kept = self.kept_until_decided(handle, removal, |known| &mut known.removals)?;
        let Some((removal, typed, decided)) = kept else { return Ok(()) };
        let (types, keyspace, pins) = match decided {
            Some((types, deciding)) => (types, deciding, false),
            None => (typed.types.clone(), typed.keyspace()?.clone(), true),
        };
        let removal = removal.encode(handle.py(), types.keys)?;
        self.with(|batch| {
            removal.add_to(batch, &keyspace);
            if pins { typed.pin_in(batch) } else { Ok(()) }
        })?
    }
}

impl Batch {
    /// Puts records, all or none: the first error leaves the batch as it was.
    fn put_encoded<'py>(
        &self,
        handle: &Bound<'py, Keyspace>,
        records: impl Iterator<Item = PyResult<(Object<'py>, Object<'py>)>>,
        (are_rows, expires_ms): (bool, Option<u64>),
    ) -> PyResult<()> {
        self.with(|_| ())?;
        handle.get().check_store(&self.opened)?;
        let mut encoded: Vec<Encoded> = Vec::new();
        for record in records {
            let (key, value) = record?;
            let one = self.encoded(handle, &key, &value, encoded.first());
            let one = match are_rows {
                true => one.map_err(|error| errors::in_row(handle.py(), error, encoded.len()))?,
                false => one?,
            };
            encoded.push(Encoded { expires_ms, ..one });
        }
        encoded.iter().try_for_each(|record| self.add(handle, record))
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

    /// Puts a record, until a time in milliseconds since the start of 1970 if one is given.
    #[pyo3(signature = (keyspace, key, value, expires_ms=None))]
    fn put(
        &self,
        keyspace: &Bound<'_, Keyspace>,
        key: &Object<'_>,
        value: &Object<'_>,
        expires_ms: Option<u64>,
    ) -> PyResult<()> {
        self.put_encoded(keyspace, std::iter::once(Ok((key.clone(), value.clone()))), (false, expires_ms))
    }

    /// Lets the commit raise a conflict unless a key has a value then, or is absent if that is `None`.
    #[pyo3(signature = (keyspace, key, value))]
    fn expect(&self, keyspace: &Bound<'_, Keyspace>, key: &Object<'_>, value: Option<Object<'_>>) -> PyResult<()> {
        self.add_expected(keyspace, Expected { key: key.clone().unbind(), value: value.map(Bound::unbind) })
    }

    /// Puts pairs of keys and values: all of them, or none if one is refused.
    fn put_all(&self, keyspace: &Bound<'_, Keyspace>, records: &Object<'_>) -> PyResult<()> {
        self.put_encoded(keyspace, iterated(records)?.map(|record| pair_of(&record?)), (true, None))
    }

    /// Puts the rows of a frame, whose columns have the names that a scan gives them.
    fn put_frame(&self, keyspace: &Bound<'_, Keyspace>, frame: &Object<'_>) -> PyResult<()> {
        self.with(|_| ())?;
        let of = keyspace.get();
        of.check_store(&self.opened)?;
        let typed = of.typed()?;
        let decides = match self.decided(&typed)? {
            Some(Some(types)) => Some(types),
            Some(None) if !typed.is_undecided => Some(typed.types.clone()),
            None if !typed.is_undecided => None,
            _ => {
                let message = format!(
                    "the keyspace {:?} has no types yet, by whose names the columns of a frame are found; state them: \
                     key=, value=",
                    of.name()
                );
                return Err(errors::new("WrongType", &message));
            }
        };
        let types = decides.as_ref().unwrap_or(&typed.types);
        let (keys, values) = frames::records(frame, types)?;
        let mut encoded = Vec::with_capacity(keys.len());
        for (key, value) in keys.iter().zip(values.iter()) {
            of.check_json(frame.py(), types, value)?;
            let (typed, decides) = (typed.clone(), decides.clone());
            let (key, value, expires_ms) = (of.checked_key(key.to_vec())?, value.to_vec(), None);
            encoded.push(Encoded { typed, decides, key, value, expires_ms });
        }
        encoded.iter().try_for_each(|record| self.add(keyspace, record))
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
        let undecided = std::mem::take(&mut *self.undecided.lock().unwrap_or_else(PoisonError::into_inner));
        for known in undecided.iter().filter(|known| known.decided.is_none()) {
            let Undecided { handle, keyspace, removals, expected, .. } = known;
            let (handle, typed) = (handle.bind(py), handle.get().typed()?);
            // Another handle may have written what was to be removed, or is expected.
            let is_decided = !typed.is_undecided && typed.keyspace()? == keyspace;
            let (types, pinned) = if is_decided { (Some(&*typed.types), typed.pinned()?) } else { (None, None) };
            for expected in expected {
                expected.encode(handle, &typed, types)?.add_to(&mut batch, keyspace, pinned);
            }
            if is_decided {
                typed.pin_in(&mut batch)?;
                for removal in removals {
                    removal.encode(py, typed.types.keys)?.add_to(&mut batch, keyspace);
                }
            }
        }
        py.detach(|| batch.commit()).map_err(|error| self.opened.raised(error))
    }

    /// Drops the writes.
    fn abandon(&self) -> PyResult<()> {
        self.take().map(drop)
    }

    fn __len__(&self) -> PyResult<usize> {
        let added = self.with(|batch| batch.len() as usize)?;
        let undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = undecided.iter().filter(|known| known.decided.is_none()).map(|known| known.removals.len());
        Ok(added + kept.sum::<usize>())
    }
}
