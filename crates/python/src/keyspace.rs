//! Keyspaces: typed keys and values.

use crate::arrow_out::{RowBatch, RowReader};
use crate::convert::{decode_key, decode_value, encode_key, encode_value, with_key};
use crate::errors::{self, OrRaise};
use crate::json;
use crate::key_range::KeyRange;
use crate::keys::Keys;
use crate::opened::{Current, Opened, Typed};
use crate::range::{Part, RecordIterator};
use crate::rows::{self, Batches};
use crate::store::Store;
use crate::types;
use arc_swap::ArcSwap;
use ogive::Slice;
use ogive::table::KEY_BYTES_MAX;
use ogive::types::{KeyType, RecordType, ValueType};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::borrow::Cow;
use std::sync::Arc;

pub(crate) type Object<'py> = pyo3::Bound<'py, PyAny>;

/// A keyspace of a store. See `ogive.Keyspace`.
#[pyclass(module = "ogive._internal", frozen, subclass)]
pub(crate) struct Keyspace {
    opened: Arc<Opened>,
    name: String,
    /// Whether values are whatever JSON can say, stored as its text.
    is_json: bool,
    /// As it was at the last use.
    typed: ArcSwap<Typed>,
}

impl Keyspace {
    /// A keyspace as a snapshot has it.
    pub(crate) fn of_snapshot(opened: &Arc<Opened>, typed: Typed, is_json: bool) -> Self {
        let name = typed.keyspace().map_or_else(|_| String::new(), |keyspace| keyspace.name().to_owned());
        Self { opened: opened.clone(), name, is_json, typed: ArcSwap::from_pointee(typed) }
    }

    /// The keyspace of the store's version of now, with its types of now.
    pub(crate) fn typed(&self) -> PyResult<Arc<Typed>> {
        let typed = self.typed.load_full();
        if typed.generation == self.opened.generation()? {
            if typed.is_current()? {
                return Ok(typed);
            }
            return Ok(self.keep(Typed::new(typed.keyspace()?.clone(), typed.generation).or_raise()?));
        }
        let current = self.opened.current()?;
        Ok(self.keep(self.typed_of(&current.db, current.generation)?))
    }

    fn keep(&self, typed: Typed) -> Arc<Typed> {
        let typed = Arc::new(typed);
        self.typed.store(typed.clone());
        typed
    }

    /// The types of values that were read by a handle that may be of older types.
    fn renewed(&self, typed: Arc<Typed>) -> PyResult<Arc<Typed>> {
        if typed.is_current()? { Ok(typed) } else { self.typed() }
    }

    /// The keyspace in the version of its store that a snapshot has.
    pub(crate) fn typed_as_of(&self, db: &ogive::Db, generation: u64) -> PyResult<Arc<Typed>> {
        let is_of_now = self.opened.generation()? == generation;
        let typed = self.typed.load_full();
        match typed.generation == generation {
            true if typed.is_current()? => Ok(typed),
            true if is_of_now => self.typed(),
            _ => self.typed_of(db, generation).map(Arc::new),
        }
    }

    /// The store's version of now, and the keyspace in it.
    pub(crate) fn current(&self) -> PyResult<(Arc<Current>, Arc<Typed>)> {
        let current = self.opened.current()?;
        let typed = self.typed_as_of(&current.db, current.generation)?;
        Ok((current, typed))
    }

    /// The keyspace in another version of its store.
    pub(crate) fn typed_of(&self, db: &ogive::Db, generation: u64) -> PyResult<Typed> {
        Typed::new(db.keyspace(&self.name).or_raise()?, generation).or_raise()
    }

    /// Refuses a keyspace of another store than this one.
    pub(crate) fn check_store(&self, opened: &Arc<Opened>) -> PyResult<()> {
        if Arc::ptr_eq(&self.opened, opened) {
            return Ok(());
        }
        let message = format!("the keyspace {:?} belongs to another store, {}", self.name, self.opened.path.display());
        Err(errors::new("InvalidArgument", &message))
    }

    /// Whether values are whatever JSON can say.
    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// A value as it is encoded: JSON is text.
    pub(crate) fn stored<'a, 'py>(&self, value: &'a Object<'py>) -> PyResult<Cow<'a, Object<'py>>> {
        Ok(if self.is_json { Cow::Owned(json::text_of(value)?) } else { Cow::Borrowed(value) })
    }

    /// The value of bytes.
    pub(crate) fn loaded<'py>(&self, py: Python<'py>, types: &RecordType, value: &[u8]) -> PyResult<Object<'py>> {
        let value = decode_value(py, &types.values, value)?;
        if self.is_json { json::value_of(&value) } else { Ok(value) }
    }

    /// Refuses a value that is no JSON, where values are JSON.
    pub(crate) fn check_json(&self, py: Python<'_>, types: &RecordType, value: &[u8]) -> PyResult<()> {
        if self.is_json { self.loaded(py, types, value).map(drop) } else { Ok(()) }
    }

    /// The types of a record to be written: those of the keyspace, or, while it has none, those of the record, which
    /// are not stored yet. A value of JSON is its text.
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
        match typed.keyspace()?.declare(stated) {
            Ok(pinned) => Ok(self.keep(Typed::of_pinned(pinned, typed.generation))),
            Err(ogive::Error::WrongRecordType { .. }) => Self::checked(self.typed()?, stated),
            Err(error) => Err(errors::of(error)),
        }
    }

    /// Another thread may have decided the types meanwhile, or added a field.
    pub(crate) fn checked(typed: Arc<Typed>, stated: &RecordType) -> PyResult<Arc<Typed>> {
        match typed.types.extends(stated) {
            true => Ok(typed),
            false => {
                let message = format!("the records of this keyspace are of type {}, not {stated}", typed.types);
                Err(errors::new("WrongType", &message))
            }
        }
    }

    /// The bytes of a record to be written, and the keyspace that takes it.
    fn encoded(&self, key: &Object<'_>, value: &Object<'_>) -> PyResult<(Vec<u8>, Vec<u8>, Arc<Typed>)> {
        let value = self.stored(value)?;
        let types = self.types_for(key, &value)?;
        let (key, value) = (self.checked_key(encode_key(types.keys, key)?)?, encode_value(&types.values, &value)?);
        Ok((key, value, self.typed_as(&types)?))
    }

    /// Refuses a key that is too long, before it decides any types.
    pub(crate) fn checked_key(&self, key: Vec<u8>) -> PyResult<Vec<u8>> {
        if key.len() <= KEY_BYTES_MAX {
            return Ok(key);
        }
        let (path, length) = (self.opened.path.clone(), key.len() as u64);
        let detail = format!("keys have at most {KEY_BYTES_MAX} bytes");
        Err(errors::of(ogive::Error::KeyLength { path, length, detail }))
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
        Ok(Some((self.renewed(typed)?, found)))
    }

    fn range_of(&self, range: &KeyRange<'_>) -> PyResult<Option<(Arc<Typed>, ogive::DbRange)>> {
        let typed = self.typed()?;
        if typed.is_undecided {
            return Ok(None);
        }
        let range = typed.range(range.bounds(typed.types.keys)?)?;
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

/// Removes a key and returns its value: of several threads that remove it at the same time, to one of them.
fn take(keyspace: &ogive::Keyspace, key: &[u8]) -> ogive::Result<Option<Slice>> {
    let mut found = keyspace.get(key)?;
    while let Some(value) = found {
        match keyspace.remove_if(key, &value)? {
            Ok(()) => return Ok(Some(value)),
            Err(mismatch) => found = mismatch.current,
        }
    }
    Ok(None)
}

/// Removes the first or the last record, and returns it.
fn take_end(keyspace: &ogive::Keyspace, last: bool) -> ogive::Result<Option<(Slice, Slice)>> {
    loop {
        let mut records = keyspace.iter();
        let record = if last { records.next_back() } else { records.next() };
        let Some((key, value)) = record.transpose()? else { return Ok(None) };
        if keyspace.remove_if(&key, &value)?.is_ok() {
            return Ok(Some((key, value)));
        }
    }
}

/// The types that a handle states; JSON is text, whatever the keys are.
fn stated_types(key: Option<&Object<'_>>, value: Option<&Object<'_>>, is_json: bool) -> PyResult<Option<RecordType>> {
    match (key, is_json) {
        (None, true) => Ok(None),
        (Some(key), true) => Ok(Some(RecordType::new(types::key_type(key)?, ValueType::Scalar(KeyType::Text)))),
        _ => types::record_type(key, value),
    }
}

/// The records of keys, as an Arrow table.
fn found(py: Python<'_>, typed: &Typed, keys: &Keys) -> PyResult<RowBatch> {
    typed.keyspace()?;
    rows::found(py, &typed.types, keys, |keys| typed.multi_get(keys))
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
        let current = opened.current()?;
        let is_json = value.is_some_and(|value| value.cast::<PyString>().is_ok_and(|name| name == types::JSON));
        let stated = stated_types(key, value, is_json)?;
        let typed = py.detach(|| {
            let keyspace = current.db.keyspace(&name)?;
            match &stated {
                Some(stated) => Ok(Typed::of_pinned(keyspace.declare(stated)?, current.generation)),
                None => Typed::new(keyspace, current.generation),
            }
        });
        let typed = typed.or_raise()?;
        if is_json && !typed.is_undecided && typed.types.values != ValueType::Scalar(KeyType::Text) {
            let message = format!("the records of the keyspace {name:?} are of type {}, not JSON", typed.types);
            return Err(errors::new("WrongType", &message));
        }
        Ok(Self { opened, name, is_json, typed: ArcSwap::from_pointee(typed) })
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

    #[getter(_is_json)]
    fn says_json(&self) -> bool {
        self.is_json
    }

    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Object<'py>,
        default: Option<Object<'py>>,
    ) -> PyResult<Option<Object<'py>>> {
        match self.find(py, key, |keyspace, key| keyspace.get(key))? {
            Some((typed, Some(value))) => self.loaded(py, &typed.types, &value).map(Some),
            _ => Ok(default),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Object<'py>> {
        match self.find(py, key, |keyspace, key| keyspace.get(key))? {
            Some((typed, Some(value))) => self.loaded(py, &typed.types, &value),
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
        match self.find(py, key, take)? {
            Some((_, Some(_))) => Ok(()),
            _ => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// Removes a key and returns its value; `default` if it is absent.
    #[pyo3(name = "_take")]
    fn take<'py>(&self, py: Python<'py>, key: &Object<'py>, default: Object<'py>) -> PyResult<Object<'py>> {
        match self.find(py, key, take)? {
            Some((typed, Some(value))) => self.loaded(py, &typed.types, &value),
            _ => Ok(default),
        }
    }

    /// Removes the first or the last record and returns it.
    #[pyo3(name = "_take_end")]
    fn take_end<'py>(&self, py: Python<'py>, last: bool) -> PyResult<Option<(Object<'py>, Object<'py>)>> {
        let typed = self.typed()?;
        if typed.is_undecided {
            return Ok(None);
        }
        let keyspace = typed.keyspace()?;
        let Some((key, value)) = py.detach(|| take_end(keyspace, last)).or_raise()? else { return Ok(None) };
        let typed = self.renewed(typed)?;
        Ok(Some((decode_key(py, typed.types.keys, &key)?, self.loaded(py, &typed.types, &value)?)))
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
            Some((typed, range)) => {
                RecordIterator::of_range(range, typed.types.clone(), reverse, part).with_json(self.is_json)
            }
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
