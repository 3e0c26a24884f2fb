//! Keyspaces: typed keys and values.

use crate::arrow::keys::Keys;
use crate::arrow::output::{RowBatch, RowReader};
use crate::arrow::rows::{self, Batches};
use crate::convert::{decode_key, decode_value, encode_key, encode_value, with_key};
use crate::errors::{self, OrRaise};
use crate::json;
use crate::key_range::KeyRange;
use crate::object::Object;
use crate::opened::{Current, Opened, Typed};
use crate::range::{Part, RecordIterator};
use crate::store::Store;
use crate::store::index_lookup::{IndexLookup, StatedRange, StatedValues};
use crate::store::options::compression;
use crate::times::time_of;
use crate::types;
use crate::wait::{abandonable, without_lock};
use arc_swap::ArcSwap;
use ogive::Slice;
use ogive::TableWriteOptions;
use ogive::types::{Alteration, Field, KeyType, RecordType, ValueType};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A keyspace of a store. See `ogive.Keyspace`.
#[pyclass(module = "ogive._internal", frozen, subclass)]
pub(crate) struct Keyspace {
    opened: Arc<Opened>,
    name: String,
    /// Whether values are whatever JSON can say, stored as its text.
    is_json: bool,
    stated: StatedParts,
    /// Number of fields of rows as the handle saw them first: tuples of as many go on when others add fields.
    fields: OnceLock<usize>,
    /// As it was at the last use.
    typed: ArcSwap<Typed>,
}

impl Keyspace {
    /// A keyspace as a snapshot has it.
    pub(crate) fn of_snapshot(opened: &Arc<Opened>, typed: Typed, is_json: bool) -> Self {
        let name = typed.keyspace().map_or_else(|_| String::new(), |keyspace| keyspace.name().to_owned());
        let (stated, fields) = (StatedParts::default(), OnceLock::new());
        Self { opened: opened.clone(), name, is_json, stated, fields, typed: ArcSwap::from_pointee(typed) }
    }

    /// The keyspace of the store's version of now, with its types of now.
    pub(crate) fn typed(&self) -> PyResult<Arc<Typed>> {
        let typed = self.typed.load_full();
        if typed.generation == self.opened.generation()? {
            if typed.is_current()? {
                return Ok(typed);
            }
            return Ok(self.keep(self.stated.typed(typed.keyspace()?.clone(), typed.generation)?));
        }
        let current = self.opened.current()?;
        Ok(self.keep(self.typed_of(&current.db, current.generation)?))
    }

    fn keep(&self, typed: Typed) -> Arc<Typed> {
        let typed = Arc::new(typed);
        self.note_fields(&typed);
        self.typed.store(typed.clone());
        typed
    }

    fn note_fields(&self, typed: &Typed) {
        if !typed.is_undecided
            && let ValueType::Row(row) = &typed.types.values
        {
            self.fields.get_or_init(|| row.fields().len());
        }
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

    /// The keyspace in another version of its store; a reader goes on with the types that it stated.
    fn typed_of(&self, db: &ogive::Db, generation: u64) -> PyResult<Typed> {
        let keyspace = without_lock(|| self.opened.keyspace_of(db, &self.name))?;
        match self.typed.load().renewed(&keyspace, generation)? {
            Some(typed) => Ok(typed),
            None => self.stated.typed(keyspace, generation),
        }
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

    /// A value as it is encoded by types: JSON is text, and a tuple has nulls for the fields that were added since.
    pub(crate) fn stored<'a, 'py>(&self, value: &'a Object<'py>, typed: &Typed) -> PyResult<Cow<'a, Object<'py>>> {
        if self.is_json {
            return Ok(Cow::Owned(json::text_of(value)?));
        }
        let (ValueType::Row(row), Ok(tuple)) = (&typed.types.values, value.cast::<PyTuple>()) else {
            return Ok(Cow::Borrowed(value));
        };
        let (known, all) = (self.fields.get().copied().unwrap_or(usize::MAX), row.fields().len());
        // A named tuple says which fields it has.
        if tuple.len() != known || known >= all || tuple.hasattr("_fields")? {
            return Ok(Cow::Borrowed(value));
        }
        let nulls = std::iter::repeat_n(value.py().None().into_bound(value.py()), all - known);
        Ok(Cow::Owned(PyTuple::new(value.py(), tuple.iter().chain(nulls).collect::<Vec<_>>())?.into_any()))
    }

    /// The value of bytes.
    pub(crate) fn loaded<'py>(&self, py: Python<'py>, types: &RecordType, value: &[u8]) -> PyResult<Object<'py>> {
        let value = decode_value(py, &types.values, value)?;
        if self.is_json { json::value_of(&value) } else { Ok(value) }
    }

    /// Refuses a value that is no JSON, where values are JSON.
    pub(crate) fn check_json(&self, py: Python<'_>, types: &RecordType, value: &[u8]) -> PyResult<()> {
        if self.is_json { json::check(&decode_value(py, &types.values, value)?) } else { Ok(()) }
    }

    /// The types of a first record, whose value is text if it is JSON.
    pub(crate) fn types_of_record(&self, key: &Object<'_>, value: &Object<'_>) -> PyResult<Arc<RecordType>> {
        self.stated.of_record(key, value).map(Arc::new)
    }

    /// The types by which a record without types is looked for, whose value is `None` if it is to be absent.
    pub(crate) fn types_of_expected(&self, key: &Object<'_>, value: Option<&Object<'_>>) -> PyResult<Arc<RecordType>> {
        match value {
            Some(value) => self.types_of_record(key, value),
            None => Ok(Arc::new(RecordType::new(self.stated.key_type(key)?, ValueType::default()))),
        }
    }

    /// Writes a record. The first one decides the types of the keyspace, in one step with its write.
    fn write<R: Send>(
        &self,
        py: Python<'_>,
        (key, value): (&Object<'_>, &Object<'_>),
        write: impl FnOnce(&ogive::Keyspace, &[u8], &[u8]) -> ogive::Result<R> + Send,
    ) -> PyResult<R> {
        let typed = self.typed()?;
        let value = self.stored(value, &typed)?;
        let types = match typed.is_undecided {
            true => self.types_of_record(key, &value)?,
            false => typed.types.clone(),
        };
        let (key, value) = (encode_key(types.keys, key)?, encode_value(&types.values, &value)?);
        let keyspace = typed.keyspace()?;
        let deciding = typed.is_undecided.then(|| keyspace.deciding(&types)).transpose().or_raise()?;
        let written = py.detach(|| write(deciding.as_ref().unwrap_or(keyspace), &key, &value));
        written.map_err(|error| self.opened.raised(error))
    }

    /// Refuses a key that is too long, before it is in a batch.
    pub(crate) fn checked_key(&self, key: Vec<u8>) -> PyResult<Vec<u8>> {
        if key.len() <= TableWriteOptions::KEY_BYTES_MAX {
            return Ok(key);
        }
        let (path, length) = (self.opened.path.clone(), key.len() as u64);
        let detail = format!("keys have at most {} bytes", TableWriteOptions::KEY_BYTES_MAX);
        Err(errors::of(ogive::Error::key_length(path, length, detail)))
    }

    /// The records of keys while the types are undecided, of which there are none.
    pub(crate) fn none_found(&self, py: Python<'_>, keys: &Object<'_>) -> PyResult<RowBatch> {
        rows::none_found(py, self.stated.keys, keys)
    }

    /// The value that `look` finds for a key.
    fn find_value<'py>(
        &self,
        py: Python<'py>,
        key: &Object<'py>,
        look: impl FnOnce(&ogive::Keyspace, &[u8]) -> ogive::Result<Option<Slice>> + Send,
    ) -> PyResult<Option<Object<'py>>> {
        let Some((typed, Some(value))) = self.find(py, key, look)? else { return Ok(None) };
        self.loaded(py, &typed.types, &value).map(Some)
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
        let range = typed.range(range.bounds(typed.types.keys)?)?;
        Ok(Some((typed, range)))
    }
}

/// What a handle states: the type of keys, that of values, both, or none. The first record decides the rest.
#[derive(Clone, Debug, Default)]
struct StatedParts {
    keys: Option<KeyType>,
    values: Option<ValueType>,
}

impl StatedParts {
    /// JSON is text, whatever the keys are.
    fn new(key: Option<&Object<'_>>, value: Option<&Object<'_>>, is_json: bool) -> PyResult<Self> {
        let values = match is_json {
            true => Some(ValueType::Scalar(KeyType::Text)),
            false => value.map(types::value_type).transpose()?,
        };
        Ok(Self { keys: key.map(types::key_type).transpose()?, values })
    }

    /// The types, if both are stated.
    fn whole(&self) -> Option<RecordType> {
        Some(RecordType::new(self.keys?, self.values.clone()?))
    }

    /// Keys of a keyspace with the stated values, if these are its rows with fields added.
    fn added_to(&self, found: &RecordType) -> Option<RecordType> {
        let values = self.values.as_ref().filter(|_| self.keys.is_none())?;
        let adds =
            matches!(found.values, ValueType::Row(_)) && *values != found.values && values.extends(&found.values);
        adds.then(|| RecordType::new(found.keys, values.clone()))
    }

    /// The type of the key of a first record.
    fn key_type(&self, key: &Object<'_>) -> PyResult<KeyType> {
        self.keys.map_or_else(|| scalar_type(key), Ok)
    }

    /// The types of a first record.
    fn of_record(&self, key: &Object<'_>, value: &Object<'_>) -> PyResult<RecordType> {
        let keys = self.key_type(key)?;
        let values = match &self.values {
            Some(values) => values.clone(),
            None => match scalar_type(value)? {
                KeyType::Tuple(_) => return Err(types::undecidable(value)),
                values => ValueType::Scalar(values),
            },
        };
        Ok(RecordType::new(keys, values))
    }

    /// A keyspace as it is, whose types are those that were stated, as far as they are decided.
    fn typed(&self, keyspace: ogive::Keyspace, generation: u64) -> PyResult<Typed> {
        let mut typed = without_lock(|| Typed::new(keyspace, generation)).or_raise()?;
        if typed.is_undecided {
            let types = RecordType::new(self.keys.unwrap_or_default(), self.values.clone().unwrap_or_default());
            typed.types = Arc::new(types);
            return Ok(typed);
        }
        let (keys, values) = (typed.types.keys, &typed.types.values);
        let is_other = self.keys.is_some_and(|stated| stated != keys)
            || self.values.as_ref().is_some_and(|stated| !values.is_alike(stated));
        if is_other {
            let asked = (self.keys.map(|keys| keys.to_string()), self.values.as_ref().map(ToString::to_string));
            let (name, found) = (typed.keyspace()?.name(), &typed.types);
            let message = match asked {
                (Some(keys), Some(values)) => format!("the keyspace {name:?} is {found}, not {keys} -> {values}"),
                (Some(keys), None) => format!("the keyspace {name:?} is {found}; its keys are not {keys}"),
                (None, values) => {
                    format!("the keyspace {name:?} is {found}; its values are not {}", values.unwrap_or_default())
                }
            };
            // Types that are stated as a whole replace those of a keyspace without records.
            let is_empty = without_lock(|| typed.keyspace().is_ok_and(|keyspace| keyspace.is_empty().unwrap_or(false)));
            let advice = match is_empty {
                true => "it has no records: state both key= and value= to replace its types",
                false => "open it with its own types, or use another keyspace",
            };
            return Err(errors::new("WrongType", &format!("{message}; {advice}")));
        }
        Ok(typed)
    }
}

/// The type that an object decides.
fn scalar_type(of: &Object<'_>) -> PyResult<KeyType> {
    types::type_of(of)?.ok_or_else(|| types::undecidable(of))
}

/// The first or the last record.
fn end_of(keyspace: &ogive::Keyspace, last: bool) -> ogive::Result<Option<(Slice, Slice)>> {
    let mut records = keyspace.iter();
    if last { records.next_back() } else { records.next() }.transpose()
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
        let stated = StatedParts::new(key, value, is_json)?;
        let typed = py.detach(|| {
            let keyspace = opened.keyspace_of(&current.db, &name)?;
            match stated.whole().or_else(|| stated.added_to(&keyspace.record_type())) {
                Some(whole) => {
                    let pinned = keyspace.named(whole).and_then(|types| keyspace.declare(&types)).or_raise()?;
                    Ok(Typed::of_pinned(pinned, current.generation, opened.is_read_only))
                }
                None => stated.typed(keyspace, current.generation),
            }
        });
        let (typed, fields) = (ArcSwap::from_pointee(typed?), OnceLock::new());
        let made = Self { opened, name, is_json, stated, fields, typed };
        made.note_fields(&made.typed.load());
        Ok(made)
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

    /// Sets the value of a key until a time, in milliseconds since the start of 1970.
    #[pyo3(name = "_insert_with")]
    fn insert_with(&self, py: Python<'_>, key: &Object<'_>, value: &Object<'_>, expires_ms: u64) -> PyResult<()> {
        let expires = time_of(expires_ms);
        self.write(py, (key, value), |keyspace, key, value| keyspace.insert_with(key, value, expires))
    }

    /// Lets records expire this number of milliseconds after they are written, or at the time in a field, or not at
    /// all.
    #[pyo3(name = "_expire")]
    fn expire(&self, py: Python<'_>, after_ms: Option<u64>, field: Option<String>) -> PyResult<()> {
        let typed = self.typed()?;
        let keyspace = typed.keyspace()?;
        py.detach(|| match &field {
            Some(field) => keyspace.expire_at_field(field),
            None => keyspace.expire_after(after_ms.map(Duration::from_millis)),
        })
        .or_raise()
    }

    /// Alters the fields of values: adds some, lets some be null, and gives some a type that holds their values.
    #[pyo3(name = "_alter")]
    fn alter(
        &self,
        py: Python<'_>,
        add: Vec<(String, Object<'_>)>,
        nullable: Vec<String>,
        widen: Vec<(String, Object<'_>)>,
    ) -> PyResult<()> {
        let mut alteration = Alteration::new();
        for (name, stated) in add {
            alteration = alteration.add_field(Field::new(name, types::field_type(stated)?).nullable());
        }
        for name in nullable {
            alteration = alteration.allow_null(name);
        }
        for (name, stated) in widen {
            alteration = alteration.widen(name, types::key_type(&stated)?);
        }
        let typed = self.typed()?;
        let keyspace = typed.keyspace()?;
        py.detach(|| keyspace.alter(&alteration)).or_raise().map(drop)
    }

    /// The options that the keyspace has of its own, as JSON.
    #[getter(_own_options)]
    fn options(&self) -> PyResult<String> {
        let options = self.typed()?.keyspace()?.options();
        serde_json::to_string(&options).map_err(|error| errors::new("OgiveError", &error.to_string()))
    }

    /// Sets some options of the keyspace, by name; `None` is for that of the store.
    #[pyo3(name = "_set_own_options")]
    fn set_options(&self, py: Python<'_>, stated: Vec<(String, Object<'_>)>) -> PyResult<()> {
        let typed = self.typed()?;
        let keyspace = typed.keyspace()?;
        let mut options = keyspace.options();
        for (name, value) in stated {
            options = match name.as_str() {
                "compression" => options.compression(value.extract::<Option<String>>()?.map(compression).transpose()?),
                "filter_bits_per_key" => options.filter_bits_per_key(value.extract::<Option<u32>>()?),
                "separation_bytes" => options.separation_bytes(value.extract::<Option<u64>>()?),
                _ => options.block_bytes(value.extract::<Option<u32>>()?),
            };
        }
        py.detach(|| keyspace.set_options(&options)).or_raise()
    }

    /// The types that the handle states, as its opening takes them.
    #[getter(_stated)]
    fn stated_types(&self) -> (Option<String>, Option<String>) {
        let values = match self.is_json {
            true => Some(types::JSON.to_owned()),
            false => self.stated.values.as_ref().map(ToString::to_string),
        };
        (self.stated.keys.map(|keys| keys.to_string()), values)
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
        Ok(self.find_value(py, key, |keyspace, key| keyspace.get(key))?.or(default))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Object<'py>> {
        let found = self.find_value(py, key, |keyspace, key| keyspace.get(key))?;
        found.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __contains__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<bool> {
        Ok(self.find(py, key, |keyspace, key| keyspace.contains_key(key))?.is_some_and(|(_, found)| found))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Object<'_>, value: &Object<'_>) -> PyResult<()> {
        self.write(py, (key, value), |keyspace, key, value| keyspace.insert(key, value))
    }

    /// Removes a key; `KeyError` if it is absent.
    fn __delitem__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<()> {
        match self.find(py, key, |keyspace, key| keyspace.remove_present(key))? {
            Some((_, true)) => Ok(()),
            _ => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// Removes a key and returns its value; `default` if it is absent.
    #[pyo3(name = "_take")]
    fn take<'py>(&self, py: Python<'py>, key: &Object<'py>, default: Object<'py>) -> PyResult<Object<'py>> {
        loop {
            let Some((typed, Some(value))) = self.find(py, key, |keyspace, key| keyspace.get(key))? else {
                return Ok(default);
            };
            // Made before it is removed: a value that Python has no object for stays.
            let object = self.loaded(py, &typed.types, &value)?;
            let removed = self.find(py, key, |keyspace, key| keyspace.remove_if(key, &value))?;
            if removed.is_some_and(|(_, removed)| removed.is_done()) {
                return Ok(object);
            }
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
        loop {
            let Some((key, value)) = py.detach(|| end_of(keyspace, last)).or_raise()? else { return Ok(None) };
            // Made before it is removed, as in `take`.
            let object = self.loaded(py, &typed.types, &value)?;
            let record = (decode_key(py, typed.types.keys, &key)?, object);
            if py.detach(|| keyspace.remove_if(&key, &value)).or_raise()?.is_done() {
                return Ok(Some(record));
            }
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

    /// Merges the tables of a range.
    #[pyo3(signature = (start=None, stop=None))]
    fn compact_range<'py>(
        &self,
        py: Python<'py>,
        start: Option<Object<'py>>,
        stop: Option<Object<'py>>,
    ) -> PyResult<()> {
        let typed = self.typed()?;
        let (keyspace, bounds) = (typed.keyspace()?.clone(), KeyRange(start, stop, None).bounds(typed.types.keys)?);
        abandonable(py, move || keyspace.compact_range(bounds))
    }

    /// Inserts if the key is absent; returns whether it did.
    fn insert_if_absent(&self, py: Python<'_>, key: &Object<'_>, value: &Object<'_>) -> PyResult<bool> {
        self.write(py, (key, value), |keyspace, key, value| keyspace.insert_new(key, value))
    }

    #[pyo3(name = "_multi_get")]
    fn multi_get(&self, py: Python<'_>, keys: &Object<'_>) -> PyResult<RowBatch> {
        let typed = self.typed()?;
        if typed.is_undecided {
            return self.none_found(py, keys);
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

    /// The records that an index of the keyspace leads to: with these first values, with the last of them as the
    /// beginning of a text, or from `start` up to `stop`.
    #[pyo3(name = "_find")]
    fn find_by_index(
        &self,
        name: &str,
        values: StatedValues<'_>,
        range: StatedRange<'_>,
        reverse: bool,
    ) -> PyResult<RecordIterator> {
        let (current, typed) = self.current()?;
        let lookup = IndexLookup::new((&current.db, typed.keyspace()?), name, values, range)?;
        let found = lookup.records().or_raise()?;
        Ok(RecordIterator::of_index(found, lookup.types(), reverse).with_json(self.is_json))
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
