//! `Db`, the handle of an open store.

use super::batch::Batch;
use super::keyspace::Keyspace;
use super::open::Open;
use super::snapshot::DbSnapshot;
use crate::error::{Error, Result};
use crate::io::{Place, Storage};
use crate::lsm::core::shared::DEFAULT_KEYSPACE;
use crate::lsm::core::store::Core;
use crate::lsm::objects::StoreVersion;
use crate::lsm::open::few_keys::{ManifestSummary, NamedKeys};
use crate::lsm::open::folder::NewFolder;
use crate::lsm::open::recover;
use crate::lsm::state::counters::Activity;
use crate::lsm::state::keyspace_tree::INDEX_NOTES;
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::learner::LearningStats;
use crate::lsm::state::version::INDEX_PREFIX;
use std::ops::Deref;
use std::sync::Arc;

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

/// Refuses the name of the keyspace with notes about secondary indexes: other records there would be taken for notes;
/// and those of the entries of indexes, which the store keeps.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.starts_with(INDEX_PREFIX) {
        return Err(Error::input(format!(
            "the keyspace {name:?} is reserved for the entries of an index, which the store keeps; use another name"
        )));
    }
    if name != INDEX_NOTES {
        return Ok(());
    }
    Err(Error::input(format!("the keyspace {name:?} is reserved for notes about secondary indexes; use another name")))
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
    /// [`Cause::Locked`](crate::Cause::Locked) if another process has it open;
    /// [`Cause::NotAStore`](crate::Cause::NotAStore) if there is none and none may be created, or a folder contains
    /// other files and no store; [`Cause::Damaged`](crate::Cause::Damaged) and
    /// [`Cause::Version`](crate::Cause::Version) for unreadable files; [`Cause::Input`](crate::Cause::Input) for
    /// invalid options; errors of [`Place::folder`] and of the storage.
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
                db.default.open().note_new_folder(new.filter(NewFolder::had_no_store));
                Ok(db)
            }
            (Err(error), new) => {
                new.iter().for_each(NewFolder::remove);
                Err(error)
            }
        }
    }

    fn open_in(storage: Arc<dyn Storage>, options: &DbOptions) -> Result<Self> {
        Self::start(recover::open(storage, options, false, None)?)
    }

    /// Opens a store read-only, as it is now; later changes by other processes are not seen. Nothing is written and no
    /// lock is taken. If the store has more files than may be [open at once](DbOptions::open_files), some are closed at
    /// any time; reading one that another process has removed since fails with
    /// [`Cause::FileReplaced`](crate::Cause::FileReplaced).
    ///
    /// # Errors
    /// As [`Self::open`]; an error of kind `ResourceBusy` if another process removes files faster than they are read:
    /// try again.
    pub fn open_read_only(place: impl Into<Place>, options: &DbOptions) -> Result<Self> {
        Self::start(recover::open(options.storage(place)?, options, true, None)?)
    }

    /// As [`Self::open_read_only`], for lookups of few keys: opens only the tables that may hold them, and of their
    /// filters reads only what these lookups need. `choose` names the keys, each with its keyspace, by what the
    /// manifest says; with `None`, all tables are opened.
    ///
    /// Lookups of other keys may not find them, and scans and statistics show a part of the store, until
    /// [`Self::refresh`] opens all of it.
    ///
    /// # Errors
    /// As [`Self::open_read_only`].
    #[doc(hidden)]
    pub fn open_for_keys(
        place: impl Into<Place>,
        options: &DbOptions,
        choose: &dyn Fn(ManifestSummary<'_>) -> Option<NamedKeys>,
    ) -> Result<Self> {
        Self::start(recover::open(options.storage(place)?, options, true, Some(choose))?)
    }

    /// Opens a named version of a store on an object store, read-only.
    ///
    /// # Errors
    /// [`Cause::VersionGone`](crate::Cause::VersionGone) if the store's writer has removed files of the version, a
    /// grace period after it replaced them; [`Cause::Unsupported`](crate::Cause::Unsupported) on other storages; as
    /// [`Self::open_read_only`].
    pub fn open_version(place: impl Into<Place>, options: &DbOptions, version: StoreVersion) -> Result<Self> {
        Self::start(recover::open_version(&options.storage(place)?, options, version)?)
    }

    /// The version that a reader of a store on an object store has open. `None` for a store that is open for writing,
    /// which has no version between two commits, and on other storages.
    #[must_use]
    pub fn version(&self) -> Option<StoreVersion> {
        self.core().contents.version
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
    /// [`Cause::Unsupported`](crate::Cause::Unsupported) for a store that is open for writing, and on other storages;
    /// as [`Self::open_read_only`]. After an error the handle has the version it had.
    pub fn refresh(&mut self) -> Result<bool> {
        let Some(core) = recover::open_newer(self.core())? else { return Ok(false) };
        *self = Self::start(core)?;
        Ok(true)
    }

    /// As [`Self::open`], but without background work; the caller runs it.
    #[cfg(test)]
    pub(super) fn open_idle(storage: Arc<dyn Storage>, options: &DbOptions) -> Result<Self> {
        Self::start_with(recover::open(storage, options, false, None)?, 0)
    }

    fn start(core: Core) -> Result<Self> {
        let threads = if core.access.is_read_only() { 0 } else { core.options.threads };
        Self::start_with(core, threads)
    }

    fn start_with(core: Core, threads: usize) -> Result<Self> {
        if threads > 0 && core.options.fast_paths.prefetch {
            let mut shared = core.contents.lock();
            shared.unread_filters = shared.tables.keys().copied().collect();
        }
        Self::of(Arc::new(Open::start(Arc::new(core), threads)?))
    }

    /// A handle of an open store.
    pub(in crate::lsm) fn of(open: Arc<Open>) -> Result<Self> {
        let tree = open.core.contents.lock().trees.get(&DEFAULT_KEYSPACE).cloned();
        let path = open.core.path();
        let tree = tree.ok_or_else(|| Error::damaged(path, 0, "the default keyspace is missing"))?;
        Ok(Self { default: Keyspace::new(open, tree) })
    }

    /// Returns the keyspace with this name, creating it if necessary. [`Keyspace::declare`] states its types, and
    /// [`Keyspace::stating`] does so with its writes.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a name that is empty or longer than 255 bytes, for `ogive.indexes`,
    /// and for names that begin with `ogive.index.`; as [`Batch::commit`].
    pub fn keyspace(&self, name: &str) -> Result<Keyspace> {
        check_name(name)?;
        self.keyspace_of_any_name(name)
    }

    /// The keyspace in which typed keyspaces note which of their secondary indexes are complete.
    pub(crate) fn index_notes(&self) -> Result<Keyspace> {
        self.keyspace_of_any_name(INDEX_NOTES)
    }

    /// As [`Self::index_notes`], if there are any.
    pub(crate) fn found_index_notes(&self) -> Option<Keyspace> {
        let tree = self.core().contents.lock().tree_named(INDEX_NOTES).cloned()?;
        Some(Keyspace::new(Arc::clone(self.default.open()), tree))
    }

    fn keyspace_of_any_name(&self, name: &str) -> Result<Keyspace> {
        let tree = self.core().keyspace(name)?;
        Ok(Keyspace::new(Arc::clone(self.default.open()), tree))
    }

    /// The identity of the store, drawn when it was created: one that is made later at the same place has another.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.core().contents.lock().state.owner
    }

    /// Whether the path that the store was opened by still leads to it: its folder is the same one, was not removed or
    /// renamed, and has this store. `true` for stores that are not in a folder of the local file system.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn is_in_place(&self) -> Result<bool> {
        self.core().is_in_place()
    }

    /// The names of all keyspaces, except those that the store keeps for itself: notes about secondary indexes, and
    /// entries of indexes.
    #[must_use]
    pub fn keyspaces(&self) -> Vec<String> {
        let shared = self.core().contents.lock();
        shared.trees.values().map(|tree| tree.name.clone()).filter(|name| check_name(name).is_ok()).collect()
    }

    /// Drops a keyspace, all its records and its indexes; returns `false` if there is none with this name. Its handles
    /// fail from then on with [`Cause::KeyspaceDropped`](crate::Cause::KeyspaceDropped).
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for the default keyspace, for `ogive.indexes`, and for the entries of an
    /// index ([`Self::drop_index`]), which cannot be dropped;
    /// as [`Batch::commit`].
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

    /// Compares the clock with the time of the store, by which records expire. While it is further ahead, or behind,
    /// than [`DbExpiryOptions::clock_ahead_max`](crate::lsm::DbExpiryOptions::clock_ahead_max), writes of records that
    /// expire are refused with this error, but reads are not: behind a clock that is ahead, they return records that
    /// have expired since.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input), with both times.
    pub fn check_clock(&self) -> Result<()> {
        self.core().check_clock()
    }

    /// The time by which records expire, in milliseconds since the start of 1970: see [`Keyspace::insert_with`].
    #[doc(hidden)]
    #[must_use]
    pub fn time_ms(&self) -> u64 {
        self.core().contents.time.now_ms()
    }

    /// Syncs all writes to storage, including those made with weaker durability.
    ///
    /// # Errors
    /// [`Cause::ReadOnly`](crate::Cause::ReadOnly); errors of the storage.
    pub fn persist(&self) -> Result<()> {
        self.core().persist()
    }

    /// Flushes all memtables to tables, and waits for completion.
    ///
    /// # Errors
    /// [`Cause::ReadOnly`](crate::Cause::ReadOnly); errors of the storage.
    pub fn flush(&self) -> Result<()> {
        self.core().flush()
    }

    /// Compacts all keyspaces, so that each key is stored once, without removed entries and old versions that no
    /// snapshot needs; waits for completion.
    ///
    /// # Errors
    /// [`Cause::ReadOnly`](crate::Cause::ReadOnly); errors of the storage.
    pub fn compact(&self) -> Result<()> {
        self.core().compact()
    }

    /// Learns models of all current tables or levels now.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) without a [learning policy](DbOptions::learning); errors of the storage,
    /// and damage.
    pub fn learn(&self) -> Result<()> {
        self.core().learn()
    }

    /// Statistics of learned models and their use.
    #[must_use]
    pub fn learning_stats(&self) -> LearningStats {
        self.core().learning_stats()
    }

    /// Reopens the store for writes after a failure whose cause is gone, such as a full disk. On an object store, a
    /// write whose request failed takes place now if it has arrived.
    ///
    /// # Errors
    /// The failure that persists; the store stays read-only then.
    pub fn resume(&self) -> Result<()> {
        self.core().resume()
    }

    /// Activity counters since the store was opened.
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.core().telemetry.counters.activity()
    }

    /// Closes the store for all its handles: syncs all writes, those with weaker durability too, stops the background
    /// threads and releases the lock, so that it can be opened again or its folder be moved. All other handles,
    /// keyspaces, snapshots and ranges may live on, but fail with [`Cause::Closed`](crate::Cause::Closed). Closing a
    /// closed store does nothing.
    ///
    /// Dropping the last handle closes the store as well, but reports no errors.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::{Cause, Error};
    /// use ogive::lsm::{Db, DbOptions};
    ///
    /// let db = Db::open(storage.clone(), &DbOptions::default())?;
    /// let orders = db.keyspace("orders")?;
    /// orders.insert("1", "paid")?;
    /// db.close()?;
    /// assert!(matches!(orders.get("1"), Err(Error { cause: Cause::Closed, .. })));
    ///
    /// let db = Db::open(storage, &DbOptions::default())?;
    /// assert_eq!(db.keyspace("orders")?.get("1")?.as_deref(), Some(&b"paid"[..]));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::ReadOnly`](crate::Cause::ReadOnly) after an earlier failure, and errors of the storage while writes are
    /// synced: the store is then still open, and [`Self::resume`] may help. Errors of the storage after that: all
    /// writes are durable, and the store is closed; the next opening takes longer. [`Cause::Gone`](crate::Cause::Gone)
    /// if this handle has written to a store on an object store that was removed: the store is closed, and these writes
    /// are lost.
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

impl Keyspace {
    /// The store that it belongs to.
    pub(crate) fn store(&self) -> Result<Db> {
        Db::of(Arc::clone(self.open()))
    }
}
