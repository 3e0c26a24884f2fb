//! A store that is open, as its keyspaces, snapshots and batches share it.

use crate::convert::decode_key;
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::key_range::Bounds;
use arc_swap::ArcSwap;
use ogive::io::locate_folder;
use ogive::lsm::{PinnedTypes, StoreVersion};
use ogive::types::RecordType;
use ogive::{Cause, Db, DbOptions, DbRange, DbSnapshot, Error};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An open store. A reader that goes on to a newer version has another handle from then on, and another generation.
#[derive(Debug)]
pub(crate) struct Opened {
    current: Native<ArcSwap<Current>>,
    /// Held while a newer version is opened, so that no thread replaces it by an older one.
    refreshing: Mutex<()>,
    pub(crate) path: PathBuf,
    options: DbOptions,
    pub(crate) is_read_only: bool,
    is_closed: AtomicBool,
}

/// The version of a store that handles are of.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) db: Arc<Db>,
    pub(crate) generation: u64,
}

impl Opened {
    /// Opens a store; for reading alone, in a version if one is named.
    pub(crate) fn open(
        path: PathBuf,
        options: DbOptions,
        is_read_only: bool,
        version: Option<StoreVersion>,
    ) -> ogive::Result<Self> {
        let db = match version {
            Some(version) => Db::open_version(&locate_folder(&path)?, &options, version)?,
            None if is_read_only => Db::open_read_only(&path, &options)?,
            None => Db::open(&path, &options)?,
        };
        let current = Current { db: Arc::new(db), generation: 0 };
        Ok(Self {
            current: Native::new(ArcSwap::from_pointee(current)),
            refreshing: Mutex::default(),
            path,
            options,
            is_read_only,
            is_closed: AtomicBool::new(false),
        })
    }

    /// The store, in the version that handles are of.
    ///
    /// # Errors
    /// `ForkedError` in a child; `Closed`.
    pub(crate) fn current(&self) -> PyResult<Arc<Current>> {
        let current = self.current.get()?.load_full();
        self.check_open()?;
        Ok(current)
    }

    /// A keyspace of a version of the store, which is created if it is absent; not by a reader.
    ///
    /// # Errors
    /// `NoKeyspace`.
    pub(crate) fn keyspace_of(&self, db: &Db, name: &str) -> PyResult<ogive::Keyspace> {
        if self.is_read_only && !db.keyspaces().iter().any(|known| known == name) {
            return Err(no_keyspace(&self.path.display(), db, name));
        }
        db.keyspace(name).or_raise()
    }

    /// The store.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub(crate) fn db(&self) -> PyResult<Arc<Db>> {
        Ok(self.current()?.db.clone())
    }

    /// The exception of a call. That of a conflict, and of a row that a unique index refuses, has keyspace and keys.
    pub(crate) fn raised(&self, error: Error) -> PyErr {
        match (error.cause, self.db()) {
            (Cause::Conflict | Cause::NotUnique, Ok(db)) => Python::attach(|py| with_keys(py, &db, error)),
            _ => errors::of(error),
        }
    }

    fn check_open(&self) -> PyResult<()> {
        match self.is_closed.load(Ordering::Acquire) {
            true => Err(errors::of(Error::closed(self.path.clone()))),
            false => Ok(()),
        }
    }

    /// Closes the store, if it is open.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let current = self.current.get()?;
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let closed = py.detach(|| {
            // A version that is being opened is closed, too.
            let _refreshing = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
            current.load_full().db.close()
        });
        if closed.is_err() {
            // It still has its lock, such as on a full disk: the next call tries again.
            self.is_closed.store(false, Ordering::Release);
        }
        closed.or_raise()
    }

    /// The number of the version that handles are of.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub(crate) fn generation(&self) -> PyResult<u64> {
        let generation = self.current.get()?.load().generation;
        self.check_open()?;
        Ok(generation)
    }

    /// Goes on with the newest version: of a reader in a folder by opening it again.
    pub(crate) fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let current = self.current.get()?;
        self.check_open()?;
        py.detach(|| {
            // One after the other: a version that is opened later is not older.
            let _refreshing = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
            self.check_open()?;
            let before = current.load_full();
            let Some(db) = self.newer(&before.db).or_raise()? else { return Ok(false) };
            current.store(Arc::new(Current { db: Arc::new(db), generation: before.generation + 1 }));
            Ok(true)
        })
    }

    /// The newest version, if it may be newer than one.
    ///
    /// # Errors
    /// `Gone` if another store is there now.
    fn newer(&self, before: &Db) -> ogive::Result<Option<Db>> {
        let mut db = before.clone();
        if db.version().is_some() {
            if !db.refresh()? {
                return Ok(None);
            }
        } else if self.is_read_only {
            db = Db::open_read_only(&self.path, &self.options)?;
        } else {
            // One that is open for writing has what there is.
            return Ok(None);
        }
        match db.identity() == before.identity() {
            true => Ok(Some(db)),
            false => Err(Error::gone(self.path.clone())),
        }
    }
}

fn with_keys(py: Python<'_>, db: &Db, error: Error) -> PyErr {
    let (name, index) = (error.name().to_owned(), error.index().map(str::to_owned));
    let keys = [error.key(), error.other_key()].map(|key| key.map(<[u8]>::to_vec));
    let is_there = db.keyspaces().contains(&name);
    let keyspace = is_there.then(|| py.detach(|| db.keyspace(&name)).ok()).flatten();
    let types = keyspace.map(|keyspace| keyspace.record_type());
    let [key, other] = keys.map(|key| types.as_ref().zip(key).and_then(|(of, key)| decode_key(py, of.keys, &key).ok()));
    let raised = errors::of(error);
    let set = |value: &Bound<'_, PyAny>| {
        value.setattr("keyspace", name)?;
        value.setattr("key", key)?;
        if let Some(index) = index {
            value.setattr("index", index)?;
            value.setattr("other_key", other)?;
        }
        Ok(())
    };
    set(raised.value(py)).err().unwrap_or(raised)
}

/// The error of a keyspace that is not there.
pub(crate) fn no_keyspace(place: &dyn std::fmt::Display, db: &Db, name: &str) -> PyErr {
    let known = db.keyspaces().join(", ");
    errors::new("NoKeyspace", &format!("{place} has no keyspace {name:?}; there are: {known}"))
}

/// A keyspace with its types, of one version of a store. Types are undecided while it has no records and none were
/// stated: the first record decides, of whichever handle, and so an undecided one is looked at again before each use.
#[derive(Debug)]
pub(crate) struct Typed {
    handle: Native<TypedHandle>,
    pub(crate) types: Arc<RecordType>,
    pub(crate) is_undecided: bool,
    pub(crate) generation: u64,
}

#[derive(Debug)]
struct TypedHandle {
    keyspace: ogive::Keyspace,
    /// Keeps the types from being replaced; `None` while they are undecided, and of a snapshot, whose records do so.
    pinned: Option<PinnedTypes>,
    /// Whether its types stay, whatever is stated: those of a snapshot, and those that a reader stated.
    is_fixed: bool,
}

impl Typed {
    /// A keyspace as it is.
    pub(crate) fn new(keyspace: ogive::Keyspace, generation: u64) -> ogive::Result<Self> {
        if keyspace.is_undecided()? {
            let types = Arc::default();
            let handle = TypedHandle { keyspace, pinned: None, is_fixed: false };
            return Ok(Self { handle: Native::new(handle), types, is_undecided: true, generation });
        }
        Ok(Self::of_pinned(keyspace.pin_types(), generation, false))
    }

    /// A keyspace whose types are decided; `is_fixed` if a reader stated them.
    pub(crate) fn of_pinned(pinned: PinnedTypes, generation: u64, is_fixed: bool) -> Self {
        let (keyspace, types) = (pinned.keyspace().clone(), pinned.types().clone());
        let handle = TypedHandle { keyspace, pinned: Some(pinned), is_fixed };
        Self { handle: Native::new(handle), types, is_undecided: false, generation }
    }

    /// A keyspace as a snapshot has it, which may have been dropped since.
    pub(crate) fn of_snapshot(
        keyspace: ogive::Keyspace,
        snapshot: &DbSnapshot,
        generation: u64,
    ) -> ogive::Result<Self> {
        let types = keyspace.record_type();
        let keyspace = keyspace.reading_as(&types);
        let mut keys = snapshot.range::<&[u8]>(&keyspace, ..).keys();
        let is_undecided = types.is_bytes() && keys.next().transpose()?.is_none();
        drop(keys);
        let handle = TypedHandle { keyspace, pinned: None, is_fixed: true };
        Ok(Self { handle: Native::new(handle), types, is_undecided, generation })
    }

    /// Whether the types of the keyspace are still these.
    pub(crate) fn is_current(&self) -> PyResult<bool> {
        let handle = self.handle.get()?;
        Ok(handle.is_fixed || handle.pinned.as_ref().is_some_and(PinnedTypes::is_current))
    }

    /// The keyspace in another version of its store, with the types that a reader stated; `None` if it stated none.
    pub(crate) fn renewed(&self, keyspace: &ogive::Keyspace, generation: u64) -> PyResult<Option<Self>> {
        match self.handle.get()? {
            TypedHandle { pinned: Some(pinned), is_fixed: true, .. } => {
                Ok(Some(Self::of_pinned(pinned.renewed(keyspace).or_raise()?, generation, true)))
            }
            _ => Ok(None),
        }
    }

    /// What keeps the types from being replaced, unless they are undecided, or those of a snapshot.
    pub(crate) fn pinned(&self) -> PyResult<Option<&PinnedTypes>> {
        Ok(self.handle.get()?.pinned.as_ref())
    }

    /// Keeps these types until a batch is committed, which changes the keyspace by their bytes.
    pub(crate) fn pin_in(&self, batch: &mut ogive::Batch) -> PyResult<()> {
        if let Some(pinned) = &self.handle.get()?.pinned {
            batch.pin(pinned);
        }
        Ok(())
    }

    /// A range whose values are of these types.
    pub(crate) fn range(&self, bounds: Bounds) -> PyResult<DbRange> {
        self.adapt_range(self.keyspace()?.range(bounds))
    }

    /// A range of the keyspace whose values are of these types.
    pub(crate) fn adapt_range(&self, range: DbRange) -> PyResult<DbRange> {
        Ok(match &self.handle.get()?.pinned {
            Some(pinned) => pinned.adapt_range(range),
            None => range,
        })
    }

    /// The values of many keys, of these types.
    pub(crate) fn multi_get(&self, keys: Vec<&[u8]>) -> ogive::Result<Vec<Option<ogive::Slice>>> {
        let Ok(TypedHandle { keyspace, .. }) = self.handle.get() else { return Ok(vec![None; keys.len()]) };
        keyspace.multi_get(keys)
    }

    /// The keyspace.
    ///
    /// # Errors
    /// `ForkedError` in a child.
    pub(crate) fn keyspace(&self) -> PyResult<&ogive::Keyspace> {
        Ok(&self.handle.get()?.keyspace)
    }
}
