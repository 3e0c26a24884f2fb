//! Snapshots: a store as it was at one moment.

use crate::arrow::keys::Keys;
use crate::arrow::output::{RowBatch, RowReader};
use crate::arrow::rows::{self, Batches};
use crate::convert::encode_key;
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::join_input::of_snapshot;
use crate::key_range::KeyRange;
use crate::keyspace::Keyspace;
use crate::object::Object;
use crate::opened::{Opened, Typed, no_keyspace};
use crate::range::{Part, RecordIterator};
use crate::store::Store;
use arc_swap::ArcSwapOption;
use ogive::join::JoinSource;
use ogive::{Db, DbSnapshot};
use pyo3::prelude::*;
use std::sync::Arc;

/// What a snapshot keeps.
#[derive(Debug)]
struct Kept {
    snapshot: DbSnapshot,
    opened: Arc<Opened>,
    /// The version of the store, which a reader may have left since.
    db: Arc<Db>,
    generation: u64,
}

/// A snapshot. See `ogive.Snapshot`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct Snapshot {
    /// Without a lock: who has one while he waits for the interpreter's would keep out who has that and closes.
    kept: Native<ArcSwapOption<Kept>>,
}

fn closed() -> PyErr {
    errors::new("Closed", "the snapshot was closed; take another one")
}

impl Snapshot {
    fn kept(&self) -> PyResult<Arc<Kept>> {
        self.kept.get()?.load_full().ok_or_else(closed)
    }

    /// Looks into the snapshot of a keyspace; gives `None` if it had no record.
    fn with<R>(
        &self,
        keyspace: &Keyspace,
        look: impl FnOnce(&DbSnapshot, &ogive::Keyspace, &Typed) -> PyResult<R>,
    ) -> PyResult<Option<R>> {
        let kept = self.kept()?;
        let typed = keyspace.typed_as_of(&kept.db, kept.generation)?;
        if typed.is_undecided {
            return Ok(None);
        }
        look(&kept.snapshot, typed.keyspace()?, &typed).map(Some)
    }
}

impl Snapshot {
    /// The records of a keyspace as an input of a join.
    pub(crate) fn source(&self, keyspace: &Keyspace) -> PyResult<JoinSource> {
        let found = self.with(keyspace, |snapshot, keyspace, _| Ok(of_snapshot(snapshot, keyspace)))?;
        found.ok_or_else(|| errors::new("InvalidArgument", "the keyspace has no records, and no types yet"))
    }
}

#[pymethods]
impl Snapshot {
    #[new]
    fn new(store: &Store) -> PyResult<Self> {
        let opened = store.opened().clone();
        let current = opened.current()?;
        let (db, generation) = (current.db.clone(), current.generation);
        let kept = Kept { snapshot: db.snapshot(), opened, db, generation };
        Ok(Self { kept: Native::new(ArcSwapOption::from_pointee(kept)) })
    }

    /// A keyspace of the store, or one that was dropped since; its values are JSON if so stated.
    fn keyspace(&self, py: Python<'_>, name: &str, is_json: bool) -> PyResult<Keyspace> {
        let kept = self.kept()?;
        kept.opened.current()?;
        let found = kept.snapshot.keyspace(name).ok_or_else(|| no_keyspace(&"the snapshot", &kept.db, name))?;
        let typed = py.detach(|| Typed::of_snapshot(found, &kept.snapshot, kept.generation)).or_raise()?;
        Ok(Keyspace::of_snapshot(&kept.opened, typed, is_json))
    }

    /// Number of records.
    fn count(&self, py: Python<'_>, keyspace: &Keyspace) -> PyResult<usize> {
        let counted = self.with(keyspace, |snapshot, keyspace, _| {
            let count =
                || snapshot.range::<&[u8]>(keyspace, ..).keys().try_fold(0, |count, key| key.map(|_| count + 1));
            py.detach(count).or_raise()
        })?;
        Ok(counted.unwrap_or(0))
    }

    #[pyo3(signature = (keyspace, key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        keyspace: &Keyspace,
        key: &Object<'py>,
        default: Option<Object<'py>>,
    ) -> PyResult<Option<Object<'py>>> {
        let found = self.with(keyspace, |snapshot, of, typed| {
            let key = encode_key(typed.types.keys, key)?;
            let found = py.detach(|| snapshot.get(of, &key)).or_raise()?;
            found.map(|value| keyspace.loaded(py, &typed.types, &value)).transpose()
        })?;
        Ok(found.flatten().or(default))
    }

    fn contains(&self, py: Python<'_>, keyspace: &Keyspace, key: &Object<'_>) -> PyResult<bool> {
        let found = self.with(keyspace, |snapshot, keyspace, typed| {
            let key = encode_key(typed.types.keys, key)?;
            py.detach(|| snapshot.contains_key(keyspace, &key)).or_raise()
        })?;
        Ok(found.unwrap_or(false))
    }

    fn multi_get(&self, py: Python<'_>, keyspace: &Keyspace, keys: &Object<'_>) -> PyResult<RowBatch> {
        let found = self.with(keyspace, |snapshot, keyspace, typed| {
            let keys = Keys::of(py, typed.types.keys, keys)?;
            rows::found(py, &typed.types, &keys, |keys| snapshot.multi_get(keyspace, keys))
        })?;
        found.map_or_else(
            || {
                let typed = keyspace.typed()?;
                if typed.is_undecided {
                    return keyspace.none_found(py, keys);
                }
                let keys = Keys::of(py, typed.types.keys, keys)?;
                rows::found(py, &typed.types, &keys, |keys| Ok(vec![None::<Vec<u8>>; keys.len()]))
            },
            Ok,
        )
    }

    fn range(&self, keyspace: &Keyspace, range: KeyRange<'_>, reverse: bool, part: Part) -> PyResult<RecordIterator> {
        let found = self.with(keyspace, |snapshot, of, typed| {
            let range = typed.adapt_range(snapshot.range(of, range.bounds(typed.types.keys)?))?;
            Ok(RecordIterator::of_range(range, typed.types.clone(), reverse, part).with_json(keyspace.is_json()))
        })?;
        Ok(found.unwrap_or_else(RecordIterator::empty))
    }

    fn scan(&self, keyspace: &Keyspace, range: KeyRange<'_>) -> PyResult<RowReader> {
        let found = self.with(keyspace, |snapshot, keyspace, typed| {
            let range = typed.adapt_range(snapshot.range(keyspace, range.bounds(typed.types.keys)?))?;
            Ok(Batches::reader(&typed.types, range))
        })?;
        let empty = || -> PyResult<RowReader> {
            let records = std::iter::empty::<ogive::Result<(Vec<u8>, Vec<u8>)>>();
            Ok(Batches::reader(&keyspace.typed()?.types, records))
        };
        found.map_or_else(empty, Ok)
    }

    /// The version of the store, if it has names for them.
    #[getter]
    fn version(&self) -> PyResult<Option<String>> {
        Ok(self.kept.get()?.load().as_ref().and_then(|kept| kept.db.version()).map(|version| version.to_string()))
    }

    /// Lets the store forget the versions that only the snapshot needs.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let kept = self.kept.get()?.swap(None);
        py.detach(|| drop(kept));
        Ok(())
    }
}
