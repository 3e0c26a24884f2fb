//! Transactions of stores: reads at a snapshot and writes, committed together unless others have written what was read.

use crate::arrow::keys::Keys;
use crate::arrow::output::{RowBatch, RowReader};
use crate::arrow::rows::{self, Batches};
use crate::convert::{encode_key, encode_value};
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::key_range::KeyRange;
use crate::keyspace::Keyspace;
use crate::object::Object;
use crate::opened::{Opened, Typed};
use crate::range::{Part, RecordIterator};
use crate::store::Store;
use crate::store::index_lookup::{IndexLookup, StatedRange, StatedValues};
use crate::times::time_of;
use arc_swap::ArcSwapOption;
use ogive::types::RecordType;
use ogive::{Db, DbTransaction, Isolation};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A transaction. See `ogive.Transaction`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct Transaction {
    /// Without a lock, as of a snapshot.
    open: Native<ArcSwapOption<DbTransaction>>,
    opened: Arc<Opened>,
    db: Arc<Db>,
    generation: u64,
    /// Keyspaces without types, whose first records are in this transaction.
    decided: Mutex<Vec<Decided>>,
}

/// A keyspace without types that has its first record in a transaction.
#[derive(Clone)]
struct Decided {
    keyspace: ogive::Keyspace,
    types: Arc<RecordType>,
    /// The keyspace whose writes decide these types.
    deciding: ogive::Keyspace,
    /// The number of writes before the record.
    savepoint: usize,
}

/// A keyspace as a transaction uses it; `types` are `None` before its first record.
struct Used {
    typed: Arc<Typed>,
    keyspace: ogive::Keyspace,
    types: Option<Arc<RecordType>>,
}

fn closed() -> PyErr {
    errors::new("Closed", "the transaction was committed or dropped; begin another one")
}

impl Transaction {
    fn open(&self) -> PyResult<Arc<DbTransaction>> {
        self.open.get()?.load_full().ok_or_else(closed)
    }

    fn used(&self, keyspace: &Keyspace) -> PyResult<Used> {
        keyspace.check_store(&self.opened)?;
        let typed = keyspace.typed_as_of(&self.db, self.generation)?;
        let of = typed.keyspace()?.clone();
        let decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        let decided = decided.iter().find(|decided| decided.keyspace == of).cloned();
        Ok(match decided {
            Some(Decided { types, deciding, .. }) => Used { typed, keyspace: deciding, types: Some(types) },
            None => {
                let types = (!typed.is_undecided).then(|| typed.types.clone());
                Used { typed, keyspace: of, types }
            }
        })
    }

    /// Looks into a keyspace; gives `None` if it has no record.
    fn read<R>(
        &self,
        py: Python<'_>,
        keyspace: &Keyspace,
        look: impl FnOnce(&DbTransaction, &ogive::Keyspace, &Arc<RecordType>) -> PyResult<R>,
    ) -> PyResult<Option<R>> {
        let (open, used) = (self.open()?, self.used(keyspace)?);
        let Some(types) = &used.types else {
            // Its first record, by another handle, is a write to what was read.
            py.detach(|| open.range::<&[u8]>(&used.keyspace, ..).next().transpose()).or_raise()?;
            return Ok(None);
        };
        look(&open, &used.keyspace, types).map(Some)
    }
}

#[pymethods]
impl Transaction {
    #[new]
    fn begin(py: Python<'_>, store: &Store, isolation: &str) -> PyResult<Self> {
        let isolation = match isolation {
            "serializable" => Isolation::Serializable,
            "snapshot" => Isolation::Snapshot,
            other => {
                let message = format!("{other:?} is not an isolation; give \"serializable\" or \"snapshot\"");
                return Err(errors::new("InvalidArgument", &message));
            }
        };
        let opened = store.opened().clone();
        let current = opened.current()?;
        let (db, generation) = (current.db.clone(), current.generation);
        let mut open = py.detach(|| db.begin());
        open.isolation(isolation);
        let open = Native::new(ArcSwapOption::from_pointee(open));
        Ok(Self { open, opened, db, generation, decided: Mutex::default() })
    }

    #[pyo3(signature = (keyspace, key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        keyspace: &Keyspace,
        key: &Object<'py>,
        default: Option<Object<'py>>,
    ) -> PyResult<Option<Object<'py>>> {
        let found = self.read(py, keyspace, |open, of, types| {
            let key = encode_key(types.keys, key)?;
            let found = py.detach(|| open.get(of, &key)).or_raise()?;
            found.map(|value| keyspace.loaded(py, types, &value)).transpose()
        })?;
        Ok(found.flatten().or(default))
    }

    fn contains(&self, py: Python<'_>, keyspace: &Keyspace, key: &Object<'_>) -> PyResult<bool> {
        let found = self.read(py, keyspace, |open, of, types| {
            let key = encode_key(types.keys, key)?;
            py.detach(|| open.contains_key(of, &key)).or_raise()
        })?;
        Ok(found.unwrap_or(false))
    }

    fn multi_get(&self, py: Python<'_>, keyspace: &Keyspace, keys: &Object<'_>) -> PyResult<RowBatch> {
        let found = self.read(py, keyspace, |open, of, types| {
            let keys = Keys::of(py, types.keys, keys)?;
            rows::found(py, types, &keys, |keys| open.multi_get(of, keys))
        })?;
        found.map_or_else(|| keyspace.none_found(py, keys), Ok)
    }

    fn range(
        &self,
        py: Python<'_>,
        keyspace: &Keyspace,
        range: KeyRange<'_>,
        reverse: bool,
        part: Part,
    ) -> PyResult<RecordIterator> {
        let found = self.read(py, keyspace, |open, of, types| {
            let range = open.range(of, range.bounds(types.keys)?);
            Ok(RecordIterator::of_transaction(range, types.clone(), reverse, part).with_json(keyspace.is_json()))
        })?;
        Ok(found.unwrap_or_else(RecordIterator::empty))
    }

    /// The records that an index leads to, as [`Keyspace`] has them.
    fn find(
        &self,
        keyspace: &Keyspace,
        name: &str,
        values: StatedValues<'_>,
        range: StatedRange<'_>,
        reverse: bool,
    ) -> PyResult<RecordIterator> {
        let (open, used) = (self.open()?, self.used(keyspace)?);
        let lookup = IndexLookup::new((&self.db, &used.keyspace), name, values, range)?;
        let found = lookup.within(&open).map_err(|error| self.opened.raised(error))?;
        let found = RecordIterator::of_transaction(found, lookup.types(), reverse, Part::Items);
        Ok(found.with_json(keyspace.is_json()))
    }

    /// Raises a conflict unless a key has a value, or is absent if that is `None`.
    #[pyo3(signature = (keyspace, key, value))]
    fn expect(&self, py: Python<'_>, keyspace: &Keyspace, key: &Object<'_>, value: Option<Object<'_>>) -> PyResult<()> {
        let (open, used) = (self.open()?, self.used(keyspace)?);
        let value = value.as_ref().map(|value| keyspace.stored(value, &used.typed)).transpose()?;
        let types = match &used.types {
            Some(types) => types.clone(),
            None => {
                // Its first record, by another handle, may be that of the key.
                self.read(py, keyspace, |_, _, _| Ok(()))?;
                keyspace.types_of_expected(key, value.as_deref())?
            }
        };
        let key = encode_key(types.keys, key)?;
        let value = value.map(|value| encode_value(&types.values, &value)).transpose()?;
        let pinned = used.typed.pinned()?;
        let expected = py.detach(|| match pinned {
            Some(pinned) => open.expect_as(pinned, &key, value.as_deref()),
            None => open.expect(&used.keyspace, &key, value.as_deref()),
        });
        expected.map_err(|error| self.opened.raised(error))
    }

    fn scan(&self, py: Python<'_>, keyspace: &Keyspace, range: KeyRange<'_>) -> PyResult<RowReader> {
        let found = self.read(py, keyspace, |open, of, types| {
            Ok(Batches::reader(types, open.range(of, range.bounds(types.keys)?)))
        })?;
        let empty = || -> PyResult<RowReader> {
            let records = std::iter::empty::<ogive::Result<(Vec<u8>, Vec<u8>)>>();
            Ok(Batches::reader(&keyspace.typed()?.types, records))
        };
        found.map_or_else(empty, Ok)
    }

    /// Number of records.
    fn count(&self, py: Python<'_>, keyspace: &Keyspace) -> PyResult<usize> {
        let counted = self.read(py, keyspace, |open, of, _| {
            let count = || open.range::<&[u8]>(of, ..).try_fold(0, |count, record| record.map(|_| count + 1));
            py.detach(count).or_raise()
        })?;
        Ok(counted.unwrap_or(0))
    }

    /// Sets the value of a key, until a time in milliseconds since the start of 1970 if one is given. The first record
    /// of a keyspace without types decides them, once it is committed.
    #[pyo3(signature = (keyspace, key, value, expires_ms=None))]
    fn put(
        &self,
        py: Python<'_>,
        keyspace: &Keyspace,
        key: &Object<'_>,
        value: &Object<'_>,
        expires_ms: Option<u64>,
    ) -> PyResult<()> {
        let (open, used) = (self.open()?, self.used(keyspace)?);
        let value = keyspace.stored(value, &used.typed)?;
        let (types, decided) = match used.types {
            Some(types) => (types, None),
            None => {
                let types = keyspace.types_of_record(key, &value)?;
                let deciding = used.keyspace.deciding(&types).or_raise()?;
                let savepoint = open.savepoint();
                let decided = Decided { keyspace: used.keyspace.clone(), types: types.clone(), deciding, savepoint };
                (types, Some(decided))
            }
        };
        let (key, value) = (encode_key(types.keys, key)?, encode_value(&types.values, &value)?);
        let of = decided.as_ref().map_or(&used.keyspace, |decided| &decided.deciding);
        py.detach(|| match expires_ms {
            Some(expires_ms) => open.insert_with(of, &key, &value, time_of(expires_ms)),
            None => open.insert(of, &key, &value),
        })
        .or_raise()?;
        self.decided.lock().unwrap_or_else(PoisonError::into_inner).extend(decided);
        Ok(())
    }

    /// Removes a key, whether it is there or not.
    fn remove(&self, py: Python<'_>, keyspace: &Keyspace, key: &Object<'_>) -> PyResult<()> {
        self.read(py, keyspace, |open, of, types| {
            let key = encode_key(types.keys, key)?;
            py.detach(|| open.remove(of, &key)).or_raise()
        })
        .map(drop)
    }

    fn remove_range(&self, py: Python<'_>, keyspace: &Keyspace, range: KeyRange<'_>) -> PyResult<()> {
        self.read(py, keyspace, |open, of, types| {
            let bounds = range.bounds(types.keys)?;
            py.detach(|| open.remove_range(of, bounds)).or_raise()
        })
        .map(drop)
    }

    #[getter]
    fn is_open(&self) -> PyResult<bool> {
        Ok(self.open.get()?.load().is_some())
    }

    fn savepoint(&self) -> PyResult<usize> {
        Ok(self.open()?.savepoint())
    }

    fn rollback_to(&self, py: Python<'_>, savepoint: usize) -> PyResult<()> {
        let open = self.open()?;
        py.detach(|| open.rollback_to(savepoint));
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        decided.retain(|decided| decided.savepoint < savepoint);
        Ok(())
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get()?;
        let taken = open.swap(None).ok_or_else(closed)?;
        match Arc::try_unwrap(taken) {
            Ok(transaction) => py.detach(|| transaction.commit()).map_err(|error| self.opened.raised(error)),
            Err(shared) => {
                open.store(Some(shared));
                Err(errors::new("InvalidArgument", "another thread uses the transaction; commit it afterwards"))
            }
        }
    }

    /// Drops the writes.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get()?.swap(None);
        py.detach(|| drop(open));
        Ok(())
    }
}
