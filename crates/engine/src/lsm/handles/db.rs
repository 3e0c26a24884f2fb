//! `Db`, the handle of an open store.

use super::keyspace::Keyspace;
use super::snapshot::DbSnapshot;
use crate::error::{Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{Place, Storage, Worker};
use crate::lsm::objects::StoreVersion;
use crate::lsm::open::folder::{NewFolder, remove_manifests};
use crate::lsm::open::recover;
use crate::lsm::state::core::{Core, DEFAULT_KEYSPACE};
use crate::lsm::state::counters::Activity;
use crate::lsm::state::entry::Sequence;
use crate::lsm::state::learning::LearningStats;
use crate::lsm::state::options::DbOptions;
use crate::lsm::write::batch::Batch;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A store: a crash-safe ordered map from byte strings to byte strings, in a folder of its own. It is cheap to clone,
/// can be used by many threads, and closes when the last handle is dropped.
///
/// `Db` dereferences to its default keyspace, whose methods read and write: see [`Keyspace`].
///
/// ```
/// use ogive::lsm::{Db, DbOptions};
/// # use std::sync::Arc;
/// # let storage = Arc::new(ogive::io::MemoryStorage::new());
///
/// // `Db::open("folder", &options)` keeps it in a folder.
/// let db = Db::open(storage, &DbOptions::default())?;
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

/// See [`Db::index_notes`].
const INDEX_NOTES: &str = "ogive.indexes";

/// Refuses the name of the keyspace with notes about secondary indexes: other records there would be taken for notes.
pub(in crate::lsm) fn check_name(name: &str) -> Result<()> {
    if name != INDEX_NOTES {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "the keyspace {name:?} is reserved for notes about secondary indexes; use another name"
    )))
}

/// An open store, closed when the last of its handles, keyspaces, snapshots and ranges is dropped.
#[derive(Debug)]
pub(in crate::lsm) struct Open {
    pub(in crate::lsm) core: Arc<Core>,
    /// The newest operation when it was opened.
    opened_at: Sequence,
    /// Background threads; they are stopped and joined before the store closes.
    workers: Mutex<Vec<Worker>>,
    is_closed: Mutex<bool>,
    /// The folder that was made for a store that this opening created.
    new_folder: Mutex<Option<NewFolder>>,
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
    /// Opens the store at a [place](Place): in a folder, given by its path or URL, or in a storage. If there is none
    /// and [`DbOptions::create`] is set, creates it, and the folder of a path. On a file system, a store is created
    /// only in a folder that is new or empty.
    ///
    /// ```no_run
    /// # use ogive::lsm::{Db, DbOptions};
    /// let db = Db::open("/var/lib/fruit", &DbOptions::default())?;
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has it open; [`Error::NotAStore`] if there is none and none may be created,
    /// or a folder contains other files and no store; [`Error::Damaged`] and [`Error::UnknownVersion`] for unreadable
    /// files; [`Error::InvalidArgument`] for invalid options; errors of [`Place::folder`] and of the storage.
    pub fn open(place: impl Into<Place>, options: &DbOptions) -> Result<Self> {
        let place = place.into();
        let is_path = place.path().is_some();
        let storage = options.storage(place)?;
        if is_path { Self::open_folder(storage, options) } else { Self::open_in(storage, options) }
    }

    /// Opens the store in the storage of a path, whose folder is made if it may be.
    fn open_folder(storage: Arc<dyn Storage>, options: &DbOptions) -> Result<Self> {
        let new = storage.folder().filter(|_| options.create).map(NewFolder::make).transpose()?;
        match (Self::open_in(storage, options), new) {
            (Ok(db), new) => {
                *db.default.open().new_folder.lock() = new.filter(NewFolder::had_no_store);
                Ok(db)
            }
            (Err(error), new) => {
                new.iter().for_each(NewFolder::remove);
                Err(error)
            }
        }
    }

    fn open_in(storage: Arc<dyn Storage>, options: &DbOptions) -> Result<Self> {
        Self::start(recover::open(storage, options, false)?)
    }

    /// Opens a store read-only, as it is now; later changes by other processes are not seen. Nothing is written and no
    /// lock is taken. If the store has more files than may be [open at once](DbOptions::open_files), some are closed at
    /// any time; reading one that another process has removed since fails with [`Error::FileReplaced`].
    ///
    /// # Errors
    /// As [`Self::open`]; an error of kind `NotFound` if another process removes files during the opening: try
    /// again.
    pub fn open_read_only(place: impl Into<Place>, options: &DbOptions) -> Result<Self> {
        Self::start(recover::open(options.storage(place)?, options, true)?)
    }

    /// Opens a named version of a store on an object store, read-only.
    ///
    /// # Errors
    /// [`Error::VersionGone`] if the store's writer has removed files of the version, a grace period after it replaced
    /// them; [`Error::Unsupported`] on other storages; as [`Self::open_read_only`].
    pub fn open_version(place: impl Into<Place>, options: &DbOptions, version: StoreVersion) -> Result<Self> {
        Self::start(recover::open_version(&options.storage(place)?, options, version)?)
    }

    /// The version that a reader of a store on an object store has open. `None` for a store that is open for writing,
    /// which has no version between two commits, and on other storages.
    #[must_use]
    pub fn version(&self) -> Option<StoreVersion> {
        self.core().version
    }

    /// Lets a reader of a store on an object store go on with the newest version; returns whether there was one.
    /// Keyspaces, snapshots and ranges of this handle keep the version before. Open tables and cached blocks are kept.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::objects());
    /// use ogive::lsm::{Db, DbOptions};
    ///
    /// let db = Db::open(storage.clone(), &DbOptions::default())?;
    /// db.insert("apple", "green")?;
    /// let mut reader = Db::open_read_only(storage, &DbOptions::default())?;
    /// db.insert("apple", "red")?;
    /// assert_eq!(reader.get("apple")?.as_deref(), Some(&b"green"[..]));
    /// assert!(reader.refresh()?);
    /// assert_eq!(reader.get("apple")?.as_deref(), Some(&b"red"[..]));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a store that is open for writing, and on other storages; as
    /// [`Self::open_read_only`]. After an error the handle has the version it had.
    pub fn refresh(&mut self) -> Result<bool> {
        let Some(core) = recover::open_newer(self.core())? else { return Ok(false) };
        *self = Self::start(core)?;
        Ok(true)
    }

    /// As [`Self::open`], but without background work; the caller runs it.
    #[cfg(test)]
    pub(in crate::lsm) fn open_idle(storage: Arc<dyn Storage>, options: &DbOptions) -> Result<Self> {
        Self::start_with(recover::open(storage, options, false)?, 0)
    }

    fn start(core: Core) -> Result<Self> {
        let threads = if core.read_only { 0 } else { core.options.threads };
        Self::start_with(core, threads)
    }

    fn start_with(core: Core, threads: usize) -> Result<Self> {
        if threads > 0 && core.options.fast_paths.prefetch {
            let mut shared = core.shared.lock();
            shared.unread_filters = shared.tables.keys().copied().collect();
        }
        let core = Arc::new(core);
        let open = Open {
            core: Arc::clone(&core),
            opened_at: core.visible(),
            workers: Mutex::default(),
            is_closed: Mutex::default(),
            new_folder: Mutex::default(),
        };
        for number in 0..threads {
            let core = Arc::clone(&core);
            let path = core.path();
            let worker = Worker::spawn("ogive-db", &path, move || core.work(number))?;
            open.workers.lock().push(worker);
        }
        // The store is open. If work that is due fails, the store is closed to writes, and they report the cause.
        core.work_after_write();
        Self::of(Arc::new(open))
    }

    /// A handle of an open store.
    pub(in crate::lsm) fn of(open: Arc<Open>) -> Result<Self> {
        let tree = open.core.shared.lock().trees.get(&DEFAULT_KEYSPACE).cloned();
        let path = open.core.path();
        let tree = tree.ok_or_else(|| Error::damaged(path, 0, "the default keyspace is missing"))?;
        Ok(Self { default: Keyspace::new(open, tree) })
    }

    /// Returns the keyspace with this name, creating it if necessary. [`Keyspace::declare`] states its types, and
    /// [`Keyspace::stating`] does so with its writes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that is empty or longer than 255 bytes, and for `ogive.indexes`; as
    /// [`Batch::commit`].
    pub fn keyspace(&self, name: &str) -> Result<Keyspace> {
        check_name(name)?;
        self.keyspace_of_any_name(name)
    }

    /// The keyspace in which typed keyspaces note which of their secondary indexes are complete.
    pub(crate) fn index_notes(&self) -> Result<Keyspace> {
        self.keyspace_of_any_name(INDEX_NOTES)
    }

    fn keyspace_of_any_name(&self, name: &str) -> Result<Keyspace> {
        let tree = self.core().keyspace(name)?;
        Ok(Keyspace::new(Arc::clone(self.default.open()), tree))
    }

    /// The identity of the store, drawn when it was created: one that is made later at the same place has another.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.core().shared.lock().state.owner
    }

    /// Whether the path that the store was opened by still leads to it: its folder is the same one, was not removed or
    /// renamed, and has this store. `true` for stores that are not in a folder of the local file system.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn is_in_place(&self) -> Result<bool> {
        self.core().is_in_place()
    }

    /// The names of all keyspaces, except the one that has notes about secondary indexes.
    #[must_use]
    pub fn keyspaces(&self) -> Vec<String> {
        let shared = self.core().shared.lock();
        shared.trees.values().map(|tree| tree.name.clone()).filter(|name| name != INDEX_NOTES).collect()
    }

    /// Drops a keyspace and all its records; returns `false` if there is none with this name. Its handles fail from
    /// then on with [`Error::KeyspaceDropped`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for the default keyspace and for `ogive.indexes`, which cannot be dropped; as
    /// [`Batch::commit`].
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        self.core().drop_keyspace(name)
    }

    /// Creates an empty batch.
    #[must_use]
    pub fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }

    /// Takes a snapshot of the store.
    #[must_use]
    pub fn snapshot(&self) -> DbSnapshot {
        DbSnapshot::new(self.clone())
    }

    /// Syncs all writes to storage, including those made with weaker durability.
    ///
    /// # Errors
    /// [`Error::StoreReadOnly`]; errors of the storage.
    pub fn persist(&self) -> Result<()> {
        self.core().persist()
    }

    /// Flushes all memtables to tables, and waits for completion.
    ///
    /// # Errors
    /// [`Error::StoreReadOnly`]; errors of the storage.
    pub fn flush(&self) -> Result<()> {
        self.core().flush()
    }

    /// Compacts all keyspaces, so that each key is stored once, without removed entries and old versions that no
    /// snapshot needs; waits for completion.
    ///
    /// # Errors
    /// [`Error::StoreReadOnly`]; errors of the storage.
    pub fn compact(&self) -> Result<()> {
        self.core().compact()
    }

    /// Learns models of all current tables or levels now.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] without a [learning policy](DbOptions::learning); errors of the storage, and
    /// damage.
    pub fn learn(&self) -> Result<()> {
        self.core().learn()
    }

    /// Statistics of learned models and their use.
    #[must_use]
    pub fn learning_stats(&self) -> LearningStats {
        self.core().learning_stats()
    }

    /// Reopens the store for writes after a failure whose cause is gone, such as a full disk.
    ///
    /// # Errors
    /// The failure that persists; the store stays read-only then.
    pub fn resume(&self) -> Result<()> {
        self.core().resume()
    }

    /// Activity counters since the store was opened.
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.core().counters.activity()
    }

    /// Closes the store for all its handles: syncs all writes, those with weaker durability too, stops the background
    /// threads and releases the lock, so that it can be opened again or its folder be moved. All other handles,
    /// keyspaces, snapshots and ranges may live on, but fail with [`Error::StoreClosed`]. Closing a closed store does
    /// nothing.
    ///
    /// Dropping the last handle closes the store as well, but reports no errors.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::Error;
    /// use ogive::lsm::{Db, DbOptions};
    ///
    /// let db = Db::open(storage.clone(), &DbOptions::default())?;
    /// let orders = db.keyspace("orders")?;
    /// orders.insert("1", "paid")?;
    /// db.close()?;
    /// assert!(matches!(orders.get("1"), Err(Error::StoreClosed { .. })));
    ///
    /// let db = Db::open(storage, &DbOptions::default())?;
    /// assert_eq!(db.keyspace("orders")?.get("1")?.as_deref(), Some(&b"paid"[..]));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::StoreReadOnly`] after an earlier failure, and errors of the storage while writes are synced: the store
    /// is then still open, and [`Self::resume`] may help. Errors of the storage after that: all writes are durable, and
    /// the store is closed; the next opening takes longer. [`Error::Gone`] if this handle has written to a store on an
    /// object store that was removed: the store is closed, and these writes are lost.
    pub fn close(&self) -> Result<()> {
        self.default.open().close()
    }

    /// Takes back the creation of a store: closes one that this opening created and that has no record, and removes it
    /// with the folders that were made for it. Returns `false` for any other store, which stays open: one that was
    /// there before, has records, or is not in a folder.
    ///
    /// # Errors
    /// Errors of the storage; the store is closed.
    pub fn take_back(&self) -> Result<bool> {
        self.default.open().take_back()
    }
}

impl Open {
    fn close(&self) -> Result<()> {
        // Another caller waits here until the store is closed.
        let mut is_closed = self.is_closed.lock();
        if *is_closed {
            return Ok(());
        }
        let persisted = if self.core.read_only { Ok(()) } else { self.core.persist() };
        if !matches!(persisted, Ok(()) | Err(Error::Gone { .. })) {
            return persisted;
        }
        self.core.refuse_uses();
        *is_closed = true;
        let finished = self.finish();
        self.core.end_reads();
        self.explain_gone(persisted.and(finished))
    }

    /// The outcome of a closing. A store whose folder is gone can be closed: what was acknowledged is in that folder,
    /// wherever it is. Of an object store that is gone, so is what this handle wrote.
    fn explain_gone(&self, outcome: Result<()>) -> Result<()> {
        let is_lost = self.core.objects.is_some() && self.core.visible() > self.opened_at;
        match outcome {
            Err(Error::Gone { .. }) if !is_lost => Ok(()),
            outcome => outcome,
        }
    }

    fn take_back(&self) -> Result<bool> {
        let mut is_closed = self.is_closed.lock();
        if *is_closed || self.core.visible.load(Ordering::Acquire) > 0 {
            return Ok(false);
        }
        let Some(folder) = self.new_folder.lock().take() else { return Ok(false) };
        self.core.refuse_uses();
        *is_closed = true;
        // A write that is under way ends first.
        drop(self.core.writer_alone());
        if self.core.visible.load(Ordering::Acquire) > 0 {
            let finished = self.finish();
            self.core.end_reads();
            return self.explain_gone(finished).map(|()| false);
        }
        self.core.stop();
        self.workers.lock().clear();
        // Under the lock: what is left then is no store.
        let removed = remove_manifests(&*self.core.storage);
        self.core.end_reads();
        folder.remove();
        removed.map(|()| true)
    }

    /// Stops the background threads, and records that everything is in its files.
    fn finish(&self) -> Result<()> {
        self.core.stop();
        self.workers.lock().clear();
        self.core.close()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // Callers that want the error call `close`; acknowledged writes are recovered either way.
        if !*self.is_closed.lock() {
            _ = self.finish();
        }
    }
}
