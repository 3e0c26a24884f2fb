//! A store that is open, as its keyspaces, snapshots and batches share it.

use crate::errors::{self, OrRaise};
use crate::fork::Native;
use arc_swap::ArcSwap;
use ogive::io::locate_folder;
use ogive::lsm::StoreVersion;
use ogive::types::RecordType;
use ogive::{Db, DbOptions};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An open store. A reader that goes on to a newer version has another handle from then on, and another generation.
#[derive(Debug)]
pub(crate) struct Opened {
    db: Native<ArcSwap<Db>>,
    generation: AtomicU64,
    pub(crate) path: PathBuf,
    options: DbOptions,
    pub(crate) is_read_only: bool,
    is_closed: AtomicBool,
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
            Some(version) => Db::open_version_in(&locate_folder(&path)?, &options, version)?,
            None if is_read_only => Db::open_read_only(&path, &options)?,
            None => Db::open(&path, &options)?,
        };
        let db = Native::new(ArcSwap::from_pointee(db));
        Ok(Self { db, generation: AtomicU64::new(0), path, options, is_read_only, is_closed: AtomicBool::new(false) })
    }

    /// The store.
    ///
    /// # Errors
    /// `ForkedError` in a child; `Closed`.
    pub(crate) fn db(&self) -> PyResult<Arc<Db>> {
        let db = self.db.get()?.load_full();
        if self.is_closed.load(Ordering::Acquire) {
            return Err(errors::of(ogive::Error::StoreClosed { path: self.path.clone() }));
        }
        Ok(db)
    }

    /// Closes the store, if it is open.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let db = self.db.get()?.load_full();
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        py.detach(|| db.close()).or_raise()
    }

    /// The number of the version that handles are of.
    pub(crate) fn generation(&self) -> PyResult<u64> {
        self.db.get()?;
        Ok(self.generation.load(Ordering::Acquire))
    }

    /// Goes on with the newest version: of a reader in a folder by opening it again.
    pub(crate) fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.db()?;
        let current = self.db.get()?;
        py.detach(|| {
            let mut db = Db::clone(&current.load());
            if db.version().is_some() {
                if !db.refresh()? {
                    return Ok(false);
                }
            } else if self.is_read_only {
                db = Db::open_read_only(&self.path, &self.options)?;
            } else {
                // One that is open for writing has what there is.
                return Ok(false);
            }
            current.store(Arc::new(db));
            self.generation.fetch_add(1, Ordering::AcqRel);
            Ok(true)
        })
        .or_raise()
    }
}

/// A keyspace with its types, of one generation of a store. Types are undecided while it has no records and none
/// were stated: the first record decides.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) keyspace: Native<ogive::Keyspace>,
    pub(crate) types: Arc<RecordType>,
    pub(crate) is_undecided: bool,
    pub(crate) generation: u64,
}

impl Typed {
    /// A keyspace as it is.
    pub(crate) fn new(keyspace: ogive::Keyspace, generation: u64) -> ogive::Result<Self> {
        let types = keyspace.record_type();
        let is_undecided = types.is_bytes() && keyspace.iter().keys().next().transpose()?.is_none();
        Ok(Self { keyspace: Native::new(keyspace), types, is_undecided, generation })
    }

    /// The keyspace.
    ///
    /// # Errors
    /// `ForkedError` in a child.
    pub(crate) fn keyspace(&self) -> PyResult<&ogive::Keyspace> {
        self.keyspace.get()
    }
}
