//! `Db`, the handle of an open store.

use super::batch::Batch;
use super::core::{Core, DEFAULT_KEYSPACE};
use super::counters::Activity;
use super::folder::NewFolder;
use super::keyspace::Keyspace;
use super::learn::LearningStats;
use super::options::DbOptions;
use super::recover;
use super::snapshot::DbSnapshot;
use crate::error::{Error, Result};
use crate::io::{Storage, Worker};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// A store: a crash-safe ordered map from byte strings to byte strings, in a folder of its own. Cheap to clone; used by many threads
/// at once; closed when the last handle is dropped.
///
/// It is itself the keyspace `default`: see [`Keyspace`] for reading and writing.
///
/// ```
/// use ogive::lsm::{Db, DbOptions};
/// # use std::sync::Arc;
/// # let storage = Arc::new(ogive::io::MemoryStorage::new());
///
/// // `Db::open("folder", &options)` keeps it in a folder.
/// let db = Db::open_in(storage, &DbOptions::default())?;
/// db.insert("apple", "red")?;
/// db.insert("banana", "yellow")?;
/// let before = db.snapshot();
/// db.remove("apple")?;
/// assert_eq!(db.get("apple")?, None);
/// assert_eq!(before.get(&db, "apple")?.as_deref(), Some(&b"red"[..]));
/// for record in db.iter() {
///     let (key, value) = record?;
///     println!("{} {}", key.escape_ascii(), value.escape_ascii());
/// }
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Db {
    default: Keyspace,
}

/// A store that is open: closed when the last of its handles, keyspaces, snapshots and ranges is dropped.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) core: Arc<Core>,
    /// They end when they are told to, and are joined before the store is closed.
    workers: Vec<Worker>,
    is_closed: bool,
}

impl Deref for Db {
    type Target = Keyspace;

    fn deref(&self) -> &Keyspace {
        &self.default
    }
}

impl AsRef<Keyspace> for Db {
    fn as_ref(&self) -> &Keyspace {
        &self.default
    }
}

impl Db {
    /// Opens the store in a folder of the local file system; makes both if they are not there and `create` is set. A store is made in a folder
    /// that is new or empty, never among other files.
    ///
    /// ```no_run
    /// # use ogive::lsm::{Db, DbOptions};
    /// let db = Db::open("/var/lib/fruit", &DbOptions::default())?;
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::open_in`]; [`Error::NotAStore`] where the folder holds other things and no store, `create` or not.
    pub fn open(folder: impl AsRef<Path>, options: &DbOptions) -> Result<Self> {
        let folder = folder.as_ref();
        let new = options.create.then(|| NewFolder::make(folder)).transpose()?;
        let opened = Self::open_in(Arc::new(options.storage(folder)), options);
        if let (Err(_), Some(new)) = (&opened, &new) {
            new.remove();
        }
        opened
    }

    /// Opens the store in a storage; makes one if there is none and `create` is set.
    ///
    /// # Errors
    /// [`Error::Locked`] while another process has it open; [`Error::NotAStore`]; [`Error::Damaged`] and [`Error::UnknownVersion`] for
    /// what cannot be read; [`Error::InvalidArgument`] for impossible options; whatever the storage reports.
    pub fn open_in(storage: Arc<dyn Storage>, options: &DbOptions) -> Result<Self> {
        Self::start(recover::open(storage, options, false)?)
    }

    /// Opens a store only to read it: as it is now, whatever happens to it later. Nothing is written, and no lock is taken. A store of more
    /// files than may be [open at once](DbOptions::open_files) has some of them closed at any time; where another process
    /// removes such a file, reads of it are [`Error::FileReplaced`].
    ///
    /// # Errors
    /// As [`Self::open_in`]; an error of kind `NotFound` when another process removes files while they are opened: try again.
    pub fn open_read_only(folder: impl AsRef<Path>, options: &DbOptions) -> Result<Self> {
        Self::open_read_only_in(Arc::new(options.storage(folder.as_ref())), options)
    }

    /// As [`Self::open_read_only`], in a storage.
    ///
    /// # Errors
    /// As [`Self::open_read_only`].
    pub fn open_read_only_in(storage: Arc<dyn Storage>, options: &DbOptions) -> Result<Self> {
        Self::start(recover::open(storage, options, true)?)
    }

    /// As [`Self::open_in`], but background work is left to whoever calls it.
    #[cfg(test)]
    pub(super) fn open_idle(storage: Arc<dyn Storage>, options: &DbOptions) -> Result<Self> {
        Self::start_with(recover::open(storage, options, false)?, 0)
    }

    fn start(core: Core) -> Result<Self> {
        let threads = if core.read_only { 0 } else { core.options.threads };
        Self::start_with(core, threads)
    }

    fn start_with(core: Core, threads: usize) -> Result<Self> {
        let core = Arc::new(core);
        let mut open = Open { core: Arc::clone(&core), workers: Vec::new(), is_closed: false };
        for number in 0..threads {
            let core = Arc::clone(&core);
            let path = core.path();
            open.workers.push(Worker::spawn("ogive-db", &path, move || core.work(number))?);
        }
        // The store is open: what fails of the work that is due closes it to writes, and they say so.
        core.work_after_write();
        let tree = core.shared.lock().trees.get(&DEFAULT_KEYSPACE).cloned();
        let path = core.path();
        let tree = tree.ok_or_else(|| Error::damaged(path, 0, "the default keyspace is missing"))?;
        Ok(Self { default: Keyspace::new(Arc::new(open), tree) })
    }

    /// The keyspace of a name; it is made if it is not there.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that is empty or longer than 255 bytes; as [`Batch::commit`].
    pub fn keyspace(&self, name: &str) -> Result<Keyspace> {
        let tree = self.core().keyspace(name)?;
        Ok(Keyspace::new(Arc::clone(self.default.open()), tree))
    }

    /// The names of all keyspaces.
    #[must_use]
    pub fn keyspaces(&self) -> Vec<String> {
        self.core().shared.lock().trees.values().map(|tree| tree.name.clone()).collect()
    }

    /// Drops a keyspace with all that is in it; `false` where there is none of that name. Its handles refuse from then on.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for the default keyspace, which stays; as [`Batch::commit`].
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        self.core().drop_keyspace(name)
    }

    /// An empty batch.
    #[must_use]
    pub fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }

    /// The store as it is now.
    #[must_use]
    pub fn snapshot(&self) -> DbSnapshot {
        DbSnapshot::new(self.clone())
    }

    /// Makes all that was written durable, whatever its durability.
    ///
    /// # Errors
    /// [`Error::StoreReadOnly`]; whatever the storage reports.
    pub fn persist(&self) -> Result<()> {
        self.core().persist()
    }

    /// Writes the memtables out as tables, and waits for it.
    ///
    /// # Errors
    /// [`Error::StoreReadOnly`]; whatever the storage reports.
    pub fn flush(&self) -> Result<()> {
        self.core().flush()
    }

    /// Merges all tables of all keyspaces, so that each key lies in one place, and removed ones and old versions in none; waits for it.
    ///
    /// # Errors
    /// [`Error::StoreReadOnly`]; whatever the storage reports.
    pub fn compact(&self) -> Result<()> {
        self.core().compact()
    }

    /// Learns models of all tables that are there (or of all levels, as the options say), whatever the policy.
    ///
    /// # Errors
    /// Whatever the storage reports, and damage.
    pub fn learn(&self) -> Result<()> {
        self.core().learn()
    }

    /// What was learned, and what look-ups made of it.
    #[must_use]
    pub fn learning_stats(&self) -> LearningStats {
        self.core().learning_stats()
    }

    /// Takes writes again after a failure, such as a full disk, whose cause is gone.
    ///
    /// # Errors
    /// What still fails; the store stays read-only then.
    pub fn resume(&self) -> Result<()> {
        self.core().resume()
    }

    /// What the store has done since it was opened.
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.core().counters.activity()
    }

    /// Closes the store, and tells what went wrong with it, which dropping the last handle does not.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] while other handles, keyspaces, snapshots or ranges are there; whatever the storage reports. What was
    /// acknowledged as durable is.
    pub fn close(self) -> Result<()> {
        let open = Arc::clone(self.default.open());
        let path = self.core().path();
        drop(self);
        match Arc::try_unwrap(open) {
            Ok(mut open) => open.close(),
            Err(_) => Err(Error::InvalidArgument(format!(
                "{} is still used by other handles; drop them first",
                path.display()
            ))),
        }
    }
}

impl Open {
    fn close(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_closed, true) {
            return Ok(());
        }
        self.core.stop();
        self.workers.clear();
        self.core.close()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // Who wants to know calls `close`; all that was acknowledged is found again either way.
        _ = self.close();
    }
}
