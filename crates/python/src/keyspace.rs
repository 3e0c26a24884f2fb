//! Keyspaces: typed keys and values.

use crate::arrow_out::{RowBatch, RowReader};
use crate::convert::{decode_value, encode_key, encode_value, with_key};
use crate::errors::{self, OrRaise};
use crate::key_range::KeyRange;
use crate::keys::Keys;
use crate::opened::{Opened, Typed};
use crate::range::{Part, RecordIterator};
use crate::rows::{self, Batches};
use crate::store::Store;
use crate::types;
use arc_swap::ArcSwap;
use ogive::types::{RecordType, ValueType};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) type Object<'py> = pyo3::Bound<'py, PyAny>;

/// A keyspace of a store. See `ogive.Keyspace`.
#[pyclass(module = "ogive._internal", frozen, subclass)]
pub(crate) struct Keyspace {
    opened: Arc<Opened>,
    name: String,
    typed: ArcSwap<Typed>,
    /// Held while the first record decides the types.
    deciding: Mutex<()>,
}

impl Keyspace {
    /// The keyspace of the store's version of now.
    pub(crate) fn typed(&self) -> PyResult<Arc<Typed>> {
        let typed = self.typed.load_full();
        let generation = self.opened.generation()?;
        if typed.generation == generation {
            return Ok(typed);
        }
        let newer = Arc::new(self.typed_of(&*self.opened.db()?, generation)?);
        self.typed.store(newer.clone());
        Ok(newer)
    }

    /// The store.
    pub(crate) fn db(&self) -> PyResult<Arc<ogive::Db>> {
        self.opened.db()
    }

    /// The keyspace in another version of its store.
    pub(crate) fn typed_of(&self, db: &ogive::Db, generation: u64) -> PyResult<Typed> {
        Typed::new(db.keyspace(&self.name).or_raise()?, generation).or_raise()
    }

    /// The types of a record to be written: those of the keyspace, or, while it has none, those of the record, which
    /// are not stored yet.
    pub(crate) fn types_for(&self, key: &Object<'_>, value: &Object<'_>) -> PyResult<Arc<RecordType>> {
        let typed = self.typed()?;
        match typed.is_undecided {
            true => Ok(Arc::new(record_type_of(key, value)?)),
            false => Ok(typed.types.clone()),
        }
    }

    /// The keyspace for a record of these types: the first one decides and stores them.
    pub(crate) fn typed_as(&self, stated: &RecordType) -> PyResult<Arc<Typed>> {
        let typed = self.typed()?;
        if !typed.is_undecided {
            return Self::checked(typed, stated);
        }
        let _deciding = self.deciding.lock().unwrap_or_else(PoisonError::into_inner);
        let typed = self.typed()?;
        if !typed.is_undecided {
            return Self::checked(typed, stated);
        }
        let db = self.opened.db()?;
        if !stated.is_bytes() {
            db.keyspace_of(&self.name, stated).or_raise()?;
        }
        let decided = Typed::new(db.keyspace(&self.name).or_raise()?, typed.generation).or_raise()?;
        let decided = Arc::new(Typed { is_undecided: false, ..decided });
        self.typed.store(decided.clone());
        Ok(decided)
    }

    /// Another thread may have decided the types meanwhile.
    fn checked(typed: Arc<Typed>, stated: &RecordType) -> PyResult<Arc<Typed>> {
        match (typed.types.keys, &typed.types.values) == (stated.keys, &stated.values) {
            true => Ok(typed),
            false => {
                let message = format!("the records of this keyspace are of type {}, not {stated}", typed.types);
                Err(errors::new("WrongType", &message))
            }
        }
    }

    /// The bytes of a record to be written, and the keyspace that takes it.
    fn encoded(&self, key: &Object<'_>, value: &Object<'_>) -> PyResult<(Vec<u8>, Vec<u8>, Arc<Typed>)> {
        let types = self.types_for(key, value)?;
        let (key, value) = (encode_key(types.keys, key)?, encode_value(&types.values, value)?);
        Ok((key, value, self.typed_as(&types)?))
    }

    /// What `look` finds for a key; nothing while the types are undecided, since there is no record then.
    fn find<R: Send>(
        &self,
        py: Python<'_>,
        key: &Object<'_>,
        look: impl FnOnce(&ogive::Keyspace, &[u8]) -> ogive::Result<R> + Send,
    ) -> PyResult<Option<(Arc<Typed>, R)>> {
        let typed = self.typed()?;
        if typed.is_undecided {
            return Ok(None);
        }
        let keyspace = typed.keyspace()?;
        let found = with_key(typed.types.keys, key, |key| py.detach(|| look(keyspace, key)).or_raise())?;
        Ok(Some((typed, found)))
    }

    fn range_of(&self, range: &KeyRange<'_>) -> PyResult<Option<(Arc<Typed>, ogive::DbRange)>> {
        let typed = self.typed()?;
        if typed.is_undecided {
            return Ok(None);
        }
        let range = typed.keyspace()?.range(range.bounds(typed.types.keys)?);
        Ok(Some((typed, range)))
    }
}

/// The types of a first record.
fn record_type_of(key: &Object<'_>, value: &Object<'_>) -> PyResult<RecordType> {
    let scalar = |of: &Object<'_>| types::type_of(of)?.ok_or_else(|| types::undecidable(of));
    let (keys, values) = (scalar(key)?, scalar(value)?);
    if matches!(values, ogive::KeyType::Tuple(_)) {
        return Err(types::undecidable(value));
    }
    Ok(RecordType::new(keys, ValueType::Scalar(values)))
}

/// The records of keys, as an Arrow table.
fn found(py: Python<'_>, typed: &Typed, keys: &Keys) -> PyResult<RowBatch> {
    let keyspace = typed.keyspace()?;
    rows::found(py, &typed.types, keys, |keys| keyspace.multi_get(keys))
}

#[pymethods]
impl Keyspace {
    /// Opens a keyspace, which is created if it is absent; with types, if any are stated.
    #[new]
    #[pyo3(signature = (store, name, key=None, value=None))]
    fn open(
        py: Python<'_>,
        store: &Store,
        name: String,
        key: Option<&Object<'_>>,
        value: Option<&Object<'_>>,
    ) -> PyResult<Self> {
        let opened = store.opened().clone();
        let (db, generation) = (opened.db()?, opened.generation()?);
        let stated = types::record_type(key, value)?;
        let typed = py.detach(|| {
            let keyspace = match &stated {
                Some(stated) => db.keyspace_of(&name, stated)?,
                None => db.keyspace(&name)?,
            };
            let typed = Typed::new(keyspace, generation)?;
            Ok(Typed { is_undecided: typed.is_undecided && stated.is_none(), ..typed })
        });
        Ok(Self { opened, name, typed: ArcSwap::from_pointee(typed.or_raise()?), deciding: Mutex::new(()) })
    }

    #[getter]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The types of keys and values, as the engine names them.
    #[getter]
    fn types(&self) -> PyResult<(String, String)> {
        let types = &self.typed()?.types;
        Ok((types.keys.to_string(), types.values.to_string()))
    }

    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Object<'py>,
        default: Option<Object<'py>>,
    ) -> PyResult<Option<Object<'py>>> {
        match self.find(py, key, |keyspace, key| keyspace.get(key))? {
            Some((typed, Some(value))) => decode_value(py, &typed.types.values, &value).map(Some),
            _ => Ok(default),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Object<'py>> {
        match self.find(py, key, |keyspace, key| keyspace.get(key))? {
            Some((typed, Some(value))) => decode_value(py, &typed.types.values, &value),
            _ => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<bool> {
        Ok(self.find(py, key, |keyspace, key| keyspace.contains_key(key))?.is_some_and(|(_, found)| found))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Object<'_>, value: &Object<'_>) -> PyResult<()> {
        let (key, value, typed) = self.encoded(key, value)?;
        let keyspace = typed.keyspace()?;
        py.detach(|| keyspace.insert(key, value)).or_raise()
    }

    /// Removes a key; `KeyError` if it is absent.
    fn __delitem__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<()> {
        let removed = self.find(py, key, |keyspace, key| {
            // Of two that remove a key at the same time, one does.
            while let Some(value) = keyspace.get(key)? {
                if keyspace.remove_if(key, &value)?.is_ok() {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        match removed {
            Some((_, true)) => Ok(()),
            _ => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// Removes a key, whether it is there or not.
    fn discard(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<()> {
        self.find(py, key, |keyspace, key| keyspace.remove(key)).map(drop)
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn remove_range<'py>(
        &self,
        py: Python<'py>,
        start: Option<Object<'py>>,
        stop: Option<Object<'py>>,
    ) -> PyResult<()> {
        let typed = self.typed()?;
        if typed.is_undecided {
            return Ok(());
        }
        let (keyspace, bounds) = (typed.keyspace()?, KeyRange(start, stop, None).bounds(typed.types.keys)?);
        py.detach(|| keyspace.remove_range(bounds)).or_raise()
    }

    /// Inserts if the key is absent; returns whether it did.
    fn insert_if_absent(&self, py: Python<'_>, key: &Object<'_>, value: &Object<'_>) -> PyResult<bool> {
        let (key, value, typed) = self.encoded(key, value)?;
        let keyspace = typed.keyspace()?;
        py.detach(|| keyspace.insert_if_absent(key, value).map(|inserted| inserted.is_ok())).or_raise()
    }

    #[pyo3(name = "_multi_get")]
    fn multi_get(&self, py: Python<'_>, keys: &Object<'_>) -> PyResult<RowBatch> {
        let typed = self.typed()?;
        if typed.is_undecided {
            return rows::none_found(py, keys);
        }
        let keys = Keys::of(py, typed.types.keys, keys)?;
        found(py, &typed, &keys)
    }

    #[pyo3(name = "_iterate")]
    fn range(&self, range: KeyRange<'_>, reverse: bool, part: Part) -> PyResult<RecordIterator> {
        Ok(match self.range_of(&range)? {
            Some((typed, range)) => RecordIterator::of_range(range, typed.types.clone(), reverse, part),
            None => RecordIterator::empty(),
        })
    }

    /// The records of a range, as a stream of record batches.
    #[pyo3(name = "_scan")]
    fn scan(&self, range: KeyRange<'_>) -> PyResult<RowReader> {
        let (types, range) = match self.range_of(&range)? {
            Some((typed, range)) => (typed.types.clone(), Some(range)),
            None => (self.typed()?.types.clone(), None),
        };
        Ok(Batches::reader(&types, range.into_iter().flatten()))
    }

    #[pyo3(signature = (start=None, stop=None, prefix=None))]
    fn count<'py>(
        &self,
        py: Python<'py>,
        start: Option<Object<'py>>,
        stop: Option<Object<'py>>,
        prefix: Option<Object<'py>>,
    ) -> PyResult<u64> {
        let Some((_, range)) = self.range_of(&KeyRange(start, stop, prefix))? else { return Ok(0) };
        py.detach(|| range.keys().try_fold(0_u64, |count, key| key.map(|_| count + 1))).or_raise()
    }
}
