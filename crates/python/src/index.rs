//! Indexes that are updated in place.

use crate::arrow::frames;
use crate::arrow::keys::Keys;
use crate::arrow::output::{RowBatch, RowReader};
use crate::convert::{decode_value, encode_key, encode_value};
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::gate::{Gate, Writing};
use crate::index_opening::{IndexOpening, Stated, place};
use crate::index_view::{View, Views, either, explain, sequence, stats};
use crate::key_range::KeyRange;
use crate::object::Object;
use crate::range::{Part, RecordIterator};
use crate::wait::{Task, interruptible_as};
use arc_swap::ArcSwapOption;
use ogive::index::extend::FactoryWord;
use ogive::index::{AnyIndex, IndexOptions, RawKey, WordIndex, WriteTransaction};
use ogive::join::JoinSource;
use ogive::page::PageOptions;
use ogive::types::RecordType;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Entries between two looks for signals.
const ENTRIES_AT_ONCE: usize = 8 << 10;

/// An index. See `ogive.Index`.
#[pyclass(module = "ogive._internal", frozen, subclass)]
pub(crate) struct Index {
    any: Native<ArcSwapOption<AnyIndex>>,
    path: PathBuf,
    opening: IndexOpening,
    stated: Stated,
    gate: Arc<Gate>,
    /// Held while a newer commit is opened, so that no thread replaces it by an older one.
    refreshing: Mutex<()>,
    views: Views,
}

/// An index as of one commit. See `ogive.IndexSnapshot`.
#[pyclass(module = "ogive._internal", frozen, subclass)]
pub(crate) struct IndexSnapshot {
    view: Native<View>,
}

/// A transaction. See `ogive.IndexTransaction`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct IndexTransaction {
    types: RecordType,
    open: Native<Mutex<Option<Begun>>>,
}

/// A transaction that is under way, and its index.
type Begun = (OpenTransaction, Arc<AnyIndex>);

enum OpenTransaction {
    Short(WriteTransaction<RawKey<u64>, Vec<u8>>, Writing),
    Long(WriteTransaction<RawKey<u128>, Vec<u8>>, Writing),
}

macro_rules! of_either {
    ($open:expr, $transaction:ident => $do:expr) => {
        match $open {
            OpenTransaction::Short($transaction, _) => $do,
            OpenTransaction::Long($transaction, _) => $do,
        }
    };
}

impl Index {
    /// An index at a path as an input of a join.
    pub(crate) fn source_of_path(path: &Path, memory: u64) -> ogive::Result<JoinSource> {
        let (storage, name) = place(path)?;
        let mut pages = PageOptions::default();
        pages.memory_bytes = memory;
        JoinSource::any_index(&AnyIndex::open_read_only(
            (&storage, &name),
            &IndexOptions::default().pages(pages.clone()),
        )?)
    }

    /// The index as an input of a join.
    pub(crate) fn source(&self, py: Python<'_>) -> PyResult<JoinSource> {
        let any = self.any()?;
        py.detach(|| JoinSource::any_index(&any)).or_raise()
    }

    fn any(&self) -> PyResult<Arc<AnyIndex>> {
        self.any.get()?.load_full().ok_or_else(|| {
            errors::new("Closed", &format!("the index {} was closed; open it again", self.path.display()))
        })
    }

    fn view(&self) -> PyResult<View> {
        View::of(&self.any()?).or_raise()
    }

    /// A view that is closed with the index.
    fn lasting_view(&self) -> PyResult<View> {
        Ok(self.views.keep(self.view()?))
    }

    /// Inserts many entries in a transaction of its own.
    fn load_all(
        &self,
        py: Python<'_>,
        any: &AnyIndex,
        (keys, values): (&Keys, &Keys),
        memory: u64,
        progress: Option<&Object<'_>>,
    ) -> PyResult<u64> {
        let _writing = Gate::enter(&self.gate, py)?;
        interruptible_as(py, Task::default(), progress, |task| {
            either!(any, index => load(index, any, keys, values, memory, task)).or_raise()
        })
    }

    /// Writes in a transaction of its own.
    fn write<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&AnyIndex) -> ogive::Result<R> + Send) -> PyResult<R> {
        let any = self.any()?;
        let _writing = Gate::enter(&self.gate, py)?;
        py.detach(|| work(&any)).or_raise()
    }
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (path, key, value, opening))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        key: Option<&Object<'_>>,
        value: Option<&Object<'_>>,
        opening: IndexOpening,
    ) -> PyResult<Self> {
        let stated = Stated::new(key, value)?;
        let any = py.detach(|| opening.open(&path, &stated))?;
        Ok(Self {
            any: Native::new(ArcSwapOption::from_pointee(any)),
            path,
            opening,
            stated,
            gate: Arc::default(),
            refreshing: Mutex::default(),
            views: Views::default(),
        })
    }

    #[getter]
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    #[getter]
    fn types(&self) -> PyResult<(String, String)> {
        let any = self.any()?;
        Ok((any.record_type().keys.to_string(), any.record_type().values.to_string()))
    }

    /// Refuses what another opening states, if the index has something else.
    #[pyo3(name = "_check")]
    fn check(&self, key: Option<&Object<'_>>, value: Option<&Object<'_>>, opening: IndexOpening) -> PyResult<()> {
        opening.check(&self.path, &Stated::new(key, value)?, &*self.any()?)
    }

    /// Whether the path still leads to the index.
    #[pyo3(name = "_is_in_place")]
    fn is_in_place(&self, py: Python<'_>) -> PyResult<bool> {
        let any = self.any()?;
        Ok(py.detach(|| either!(&*any, index => index.is_in_place())))
    }

    /// Whether a key may have several entries.
    #[getter]
    fn duplicates(&self) -> PyResult<bool> {
        let any = self.any()?;
        Ok(either!(&*any, index => index.layout()).duplicates)
    }

    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Object<'py>,
        default: Option<Object<'py>>,
    ) -> PyResult<Option<Object<'py>>> {
        Ok(self.view()?.get(py, key)?.or(default))
    }

    /// The values of all entries of a key.
    fn get_all<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Vec<Object<'py>>> {
        self.view()?.get_all(py, key)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Object<'py>> {
        self.view()?.get(py, key)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __contains__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<bool> {
        self.view()?.contains(py, key)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.view()?.len(py)
    }

    fn __setitem__(&self, py: Python<'_>, key: &Object<'_>, value: &Object<'_>) -> PyResult<()> {
        let any = self.any()?;
        let types = any.record_type();
        let word = AnyIndex::word_of(&encode_key(types.keys, key)?);
        let payload = any.encode_value(&encode_value(&types.values, value)?).or_raise()?;
        self.write(py, |any| {
            either!(any, index => {
                let mut transaction = index.write()?;
                transaction.insert(AnyIndex::raw(word), payload)?;
                transaction.commit()
            })
        })
    }

    fn __delitem__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<()> {
        let word = AnyIndex::word_of(&encode_key(self.any()?.record_type().keys, key)?);
        let removed = self.write(py, |any| {
            either!(any, index => {
                let mut transaction = index.write()?;
                let removed = transaction.remove_all(AnyIndex::raw(word))?;
                transaction.commit()?;
                Ok(removed > 0)
            })
        })?;
        if removed { Ok(()) } else { Err(PyKeyError::new_err(key.clone().unbind())) }
    }

    #[pyo3(name = "_multi_get")]
    fn multi_get(&self, py: Python<'_>, keys: &Object<'_>) -> PyResult<RowBatch> {
        self.view()?.multi_get(py, keys)
    }

    #[pyo3(name = "_iterate")]
    fn range(&self, range: KeyRange<'_>, reverse: bool, part: Part) -> PyResult<RecordIterator> {
        self.lasting_view()?.range(&range, reverse, part)
    }

    #[pyo3(name = "_scan")]
    fn scan(&self, range: KeyRange<'_>) -> PyResult<RowReader> {
        self.lasting_view()?.scan(&range)
    }

    /// Inserts many entries, in any order, all or nothing; the number by which entries grew.
    #[pyo3(name = "_load", signature = (keys, values, memory, progress=None))]
    fn load(
        &self,
        py: Python<'_>,
        keys: &Object<'_>,
        values: &Object<'_>,
        memory: u64,
        progress: Option<&Object<'_>>,
    ) -> PyResult<u64> {
        let any = self.any()?;
        let types = any.record_type();
        let keys = Keys::of(py, types.keys, keys)?;
        let values = Keys::of_values(py, &types.values, values)?;
        if keys.len() != values.len() {
            let message = format!("there are {} keys and {} values; give as many", keys.len(), values.len());
            return Err(errors::new("InvalidArgument", &message));
        }
        self.load_all(py, &any, (&keys, &values), memory, progress)
    }

    /// As `_load`, of the rows of a frame.
    #[pyo3(name = "_load_frame", signature = (frame, memory, progress=None))]
    fn load_frame(
        &self,
        py: Python<'_>,
        frame: &Object<'_>,
        memory: u64,
        progress: Option<&Object<'_>>,
    ) -> PyResult<u64> {
        let any = self.any()?;
        let (keys, values) = frames::records(frame, any.record_type())?;
        self.load_all(py, &any, (&keys, &values), memory, progress)
    }

    #[pyo3(name = "_begin")]
    fn transaction(&self, py: Python<'_>) -> PyResult<IndexTransaction> {
        let any = self.any()?;
        let writing = Gate::enter(&self.gate, py)?;
        let open = py.detach(|| {
            Ok(match &*any {
                AnyIndex::Short(index) => OpenTransaction::Short(index.write()?, writing),
                AnyIndex::Long(index) => OpenTransaction::Long(index.write()?, writing),
            })
        });
        let types = any.record_type().clone();
        Ok(IndexTransaction { open: Native::new(Mutex::new(Some((open.or_raise()?, any)))), types })
    }

    /// Goes on with the last commit, of an index that was opened read-only.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.any()?;
        if !self.opening.read_only {
            return Ok(false);
        }
        let current = self.any.get()?;
        py.detach(|| {
            // One after the other: a commit that is opened later is not older. An index that was closed stays so.
            let _refreshing = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
            let before = self.any()?;
            let newer = self.opening.open(&self.path, &self.stated)?;
            let is_newer = sequence(&before) != sequence(&newer);
            current.store(Some(Arc::new(newer)));
            Ok(is_newer)
        })
    }

    #[pyo3(name = "_stats")]
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        let any = self.any()?;
        py.detach(|| stats(&any)).or_raise().map(|stats| stats.to_string())
    }

    /// The nodes on the path to a key, as JSON.
    #[pyo3(name = "_explain")]
    fn explain(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<String> {
        let any = self.any()?;
        let word = AnyIndex::word_of(&encode_key(any.record_type().keys, key)?);
        py.detach(|| explain(&any, word)).or_raise().map(|visits| visits.to_string())
    }

    /// Writes everything to the file, and closes it.
    #[pyo3(name = "_close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(any) = self.any.get()?.load_full() else { return Ok(()) };
        let _writing = Gate::enter(&self.gate, py)?;
        let current = self.any.get()?;
        py.detach(|| {
            let _refreshing = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
            current.store(None);
        });
        self.views.close();
        if self.opening.read_only {
            return Ok(());
        }
        py.detach(|| either!(&*any, index => index.clone().close())).or_raise()
    }
}

/// Loads entries: without a sort if they are in order and the index is empty.
fn load<W: FactoryWord>(
    index: &WordIndex<W>,
    any: &AnyIndex,
    keys: &Keys,
    values: &Keys,
    memory: u64,
    task: &Task,
) -> ogive::Result<u64> {
    let total = keys.len() as u64;
    let entries = || keys.iter().zip(values.iter());
    let entry =
        |(key, value): (&[u8], &[u8])| Ok((AnyIndex::raw::<W>(AnyIndex::word_of(key)), any.encode_value(value)?));
    let is_sorted = keys.iter().zip(keys.iter().skip(1)).all(|(one, next)| one < next);
    if is_sorted && index.is_empty()? {
        return index.try_bulk_load(entries().map(entry), &mut |done| {
            task.report(done, total);
            task.check()
        });
    }
    let mut loader = index.sorting_loader(memory)?;
    for (number, found) in entries().enumerate() {
        let (key, payload) = entry(found)?;
        loader.append(key, payload)?;
        if number % ENTRIES_AT_ONCE == 0 {
            task.report(number as u64 / 2, total);
            task.check()?;
        }
    }
    loader.finish_observed(&mut |done, all| {
        task.report(total / 2 + (done as f64 / (2 * all.max(1)) as f64 * total as f64) as u64, total);
        task.check()
    })
}

impl IndexTransaction {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut OpenTransaction, &AnyIndex) -> ogive::Result<R> + Send,
    ) -> PyResult<R> {
        let open = self.open.get()?;
        let done = py
            .detach(|| open.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(|(open, any)| work(open, any)));
        done.ok_or_else(ended)?.or_raise()
    }

    fn take(&self, py: Python<'_>) -> PyResult<Option<OpenTransaction>> {
        let open = self.open.get()?;
        let taken = py.detach(|| open.lock().unwrap_or_else(PoisonError::into_inner).take());
        Ok(taken.map(|(open, _)| open))
    }

    fn word(&self, key: &Object<'_>) -> PyResult<u128> {
        Ok(AnyIndex::word_of(&encode_key(self.types.keys, key)?))
    }

    /// Removes all entries of a key; returns whether there was one.
    fn remove(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<bool> {
        let word = self.word(key)?;
        self.with(py, |open, _| of_either!(open, transaction => Ok(transaction.remove_all(AnyIndex::raw(word))? > 0)))
    }
}

fn ended() -> PyErr {
    errors::new("Closed", "the transaction was committed or dropped; begin another one")
}

#[pymethods]
impl IndexTransaction {
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Object<'py>,
        default: Option<Object<'py>>,
    ) -> PyResult<Option<Object<'py>>> {
        let word = self.word(key)?;
        let found = self.with(py, |open, any| {
            let payload = of_either!(open, transaction => transaction.get(AnyIndex::raw(word)))?;
            payload.map(|payload| any.decode_value(&payload).map(Cow::into_owned)).transpose()
        })?;
        found.map_or(Ok(default), |value| decode_value(py, &self.types.values, &value).map(Some))
    }

    fn __contains__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<bool> {
        let word = self.word(key)?;
        self.with(py, |open, _| of_either!(open, transaction => transaction.contains_key(AnyIndex::raw(word))))
    }

    /// Removes the first or the last entry of a key, and returns its value; `None` if there is none.
    #[pyo3(name = "_pop")]
    fn pop<'py>(&self, py: Python<'py>, key: &Object<'py>, last: bool) -> PyResult<Option<Object<'py>>> {
        let word = self.word(key)?;
        let found = self.with(py, |open, any| {
            let taken = of_either!(open, transaction => {
                let key = AnyIndex::raw(word);
                let mut values = transaction.get_all(key)?;
                let taken = if last || values.is_empty() { values.pop() } else { Some(values.remove(0)) };
                // Of entries with equal keys, the index itself removes any.
                if taken.is_some() {
                    transaction.remove_all(key)?;
                }
                for value in values {
                    transaction.insert(key, value)?;
                }
                taken
            });
            taken.map(|payload| any.decode_value(&payload).map(Cow::into_owned)).transpose()
        })?;
        found.map(|value| decode_value(py, &self.types.values, &value)).transpose()
    }

    fn __setitem__(&self, py: Python<'_>, key: &Object<'_>, value: &Object<'_>) -> PyResult<()> {
        let word = self.word(key)?;
        let value = encode_value(&self.types.values, value)?;
        self.with(py, |open, any| {
            let payload = any.encode_value(&value)?;
            of_either!(open, transaction => transaction.insert(AnyIndex::raw(word), payload))
        })
        .map(drop)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<()> {
        match self.remove(py, key)? {
            true => Ok(()),
            false => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// Removes all entries of a key, if there are any.
    fn discard(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<()> {
        self.remove(py, key).map(drop)
    }

    /// Removes all entries.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |open, _| {
            of_either!(open, transaction => {
                while let Some((key, _)) = transaction.first()? {
                    transaction.remove_all(key)?;
                }
                Ok(())
            })
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let entries = self.with(py, |open, _| Ok(of_either!(open, transaction => transaction.len())))?;
        usize::try_from(entries).map_err(|error| errors::new("OgiveError", &error.to_string()))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.take(py)?.ok_or_else(ended)?;
        py.detach(|| match open {
            OpenTransaction::Short(transaction, _writing) => transaction.commit(),
            OpenTransaction::Long(transaction, _writing) => transaction.commit(),
        })
        .or_raise()
    }

    /// Drops the changes.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.take(py)?;
        py.detach(|| drop(open));
        Ok(())
    }
}

impl IndexSnapshot {
    fn view(&self) -> PyResult<&View> {
        self.view.get()
    }
}

#[pymethods]
impl IndexSnapshot {
    #[new]
    fn new(index: &Index) -> PyResult<Self> {
        Ok(Self { view: Native::new(index.lasting_view()?) })
    }

    /// The types of keys and values, as the engine names them.
    #[getter]
    fn types(&self) -> PyResult<(String, String)> {
        self.view()?.types()
    }

    /// Whether a key may have several entries.
    #[getter]
    fn duplicates(&self) -> PyResult<bool> {
        self.view()?.duplicates()
    }

    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Object<'py>,
        default: Option<Object<'py>>,
    ) -> PyResult<Option<Object<'py>>> {
        Ok(self.view()?.get(py, key)?.or(default))
    }

    /// The values of all entries of a key.
    fn get_all<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Vec<Object<'py>>> {
        self.view()?.get_all(py, key)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Object<'py>> {
        self.view()?.get(py, key)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __contains__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<bool> {
        self.view()?.contains(py, key)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.view()?.len(py)
    }

    #[pyo3(name = "_multi_get")]
    fn multi_get(&self, py: Python<'_>, keys: &Object<'_>) -> PyResult<RowBatch> {
        self.view()?.multi_get(py, keys)
    }

    #[pyo3(name = "_iterate")]
    fn range(&self, range: KeyRange<'_>, reverse: bool, part: Part) -> PyResult<RecordIterator> {
        self.view()?.range(&range, reverse, part)
    }

    #[pyo3(name = "_scan")]
    fn scan(&self, range: KeyRange<'_>) -> PyResult<RowReader> {
        self.view()?.scan(&range)
    }

    /// Lets the index use the pages that only the snapshot needs.
    fn close(&self) -> PyResult<()> {
        self.view()?.close();
        Ok(())
    }
}
