//! `Backups`: the public interface to a storage of backups.

use super::catalog::Catalog;
use super::create;
use super::record::BackupRecord;
use super::restore;
use crate::error::Result;
use crate::io::{LocalStorage, Place, Storage};
use crate::lsm::images::closed_image::in_new_folder;
use crate::lsm::{Db, DbOptions, LOCK_NAME};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The backups of one store, in a folder or another storage.
///
/// A backup is made of a store that may be open in this process or another: no lock is taken there and nothing is
/// written. It has everything that was durable before the call, and nothing that depends on anything missing. Files
/// that an earlier backup has are not copied again.
///
/// ```
/// use ogive::backup::{BackupOptions, Backups};
/// use ogive::{Db, DbOptions, MemoryStorage, Storage};
/// # use std::sync::Arc;
///
/// // `LocalStorage::new("folder")` is a folder.
/// let store: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
/// let db = Db::open(Arc::clone(&store), &DbOptions::default())?;
/// db.insert("apple", "red")?;
///
/// let backups = Backups::at(Arc::new(MemoryStorage::new()))?;
/// let made = backups.create(&store, &BackupOptions::default().keep(7), &mut |_, _| ())?;
/// db.remove("apple")?;
///
/// let restored: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
/// backups.restore(Some(made.backup.number), &restored, &mut |_, _| ())?;
/// let restored = Db::open(restored, &DbOptions::default())?;
/// assert_eq!(restored.get("apple")?.as_deref(), Some(&b"red"[..]));
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Backups {
    storage: Arc<dyn Storage>,
    /// A folder to be created by the first backup.
    folder: Option<PathBuf>,
}

/// Options of a backup.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BackupOptions {
    /// The number of backups that remain: older ones are removed afterwards. `None` removes none.
    pub keep: Option<usize>,
    /// Whether the files of the store and of the backup are trusted, and the new ones not read. Damage of the store is
    /// then in the backup, too: the record says so, and the files are verified when the backup is restored.
    pub trust: bool,
}

impl BackupOptions {
    /// Sets the number of backups that remain, at least 1.
    #[must_use]
    pub fn keep(self, keep: usize) -> Self {
        Self { keep: Some(keep.max(1)), ..self }
    }

    /// Sets whether new files are left unread.
    #[must_use]
    pub fn trust(self, trust: bool) -> Self {
        Self { trust, ..self }
    }
}

/// A complete backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupInfo {
    /// Its number: greater than those of all earlier ones.
    pub number: u64,
    /// When it was begun, in milliseconds since the start of 1970, by the clock of the machine that made it.
    pub made_ms: u64,
    /// Identity of the store.
    pub store: u64,
    /// Number of its files.
    pub files: u64,
    /// Length of these files.
    pub bytes: u64,
    /// Number of those that were never verified: see [`BackupOptions::trust`].
    pub unread_files: u64,
}

impl BackupInfo {
    pub(super) fn of(record: &BackupRecord) -> Self {
        Self {
            number: record.number,
            made_ms: record.made_ms,
            store: record.store,
            files: record.files.len() as u64,
            bytes: record.bytes(),
            unread_files: record.files.iter().filter(|file| !file.is_verified).count() as u64,
        }
    }
}

/// The outcome of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupSummary {
    /// The backup.
    pub backup: BackupInfo,
    /// Number of files that were copied; the others are shared with earlier backups.
    pub copied_files: u64,
    /// Length of these files.
    pub copied_bytes: u64,
    /// Numbers of the backups that were removed.
    pub removed: Vec<u64>,
    /// The failure to remove surplus backups, if any: the new one is complete all the same.
    pub removal_failure: Option<String>,
    /// Numbers of backups with damaged records. While there are any, nothing is removed.
    pub damaged: Vec<u64>,
}

/// The backups of a storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupList {
    /// The complete backups, oldest first.
    pub backups: Vec<BackupInfo>,
    /// Backups whose records cannot be read.
    pub damaged: Vec<BackupFinding>,
}

/// A damaged file of backups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupFinding {
    /// Name of the file.
    pub file: String,
    /// The backups that need it.
    pub backups: Vec<u64>,
    /// Description of the damage.
    pub detail: String,
}

impl Backups {
    /// The backups at a [place](Place): in a folder, which the first backup creates, or in a storage. Nothing is
    /// accessed yet.
    ///
    /// # Errors
    /// As [`Place::folder`].
    pub fn at(place: impl Into<Place>) -> Result<Self> {
        let place = place.into();
        let is_path = place.path().is_some();
        let storage = place.folder()?;
        let folder = storage.folder().filter(|_| is_path).map(Path::to_owned);
        Ok(Self { storage, folder })
    }

    /// Makes a backup of the store at `source`, which may be open in any process. New files are verified after they
    /// were copied, unless they are [trusted](BackupOptions::trust). Within an object store, tables and value files are
    /// copied by a request each, and are read once. `progress` receives the bytes processed so far, and the total.
    ///
    /// Writes that are not durable yet may be missing in the backup; [`Db::persist`] makes them durable. What a killed
    /// backup has left is removed.
    ///
    /// # Errors
    /// [`Cause::NotAStore`](crate::Cause::NotAStore) if there is no store;
    /// [`Cause::Input`](crate::Cause::Input) if the storage contains other files or backups of
    /// another store; [`Cause::Locked`](crate::Cause::Locked) while another backup is made into it (in an object store,
    /// which has no locks, make one at a time); [`Cause::Damaged`](crate::Cause::Damaged) with the path of a damaged
    /// file; an error of kind `ResourceBusy` if the writer of the store removes files too fast; errors of the storages.
    /// In each case, earlier backups are as they were.
    pub fn create(
        &self,
        source: impl Into<Place>,
        options: &BackupOptions,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<BackupSummary> {
        let source = &source.into().folder()?;
        let Some(folder) = &self.folder else { return create::create(&self.storage, source, options, progress) };
        let missing = LocalStorage::missing_folders(folder);
        LocalStorage::create_folder(folder)?;
        let outcome = create::create(&self.storage, source, options, progress);
        if outcome.is_err() && !missing.is_empty() {
            // The error that led here is more useful than a failure to clean up.
            _ = self.storage.remove(LOCK_NAME);
            LocalStorage::remove_empty_folders(&missing);
        }
        outcome
    }

    /// Lists the backups, without reading more than their records.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn list(&self) -> Result<BackupList> {
        let catalog = Catalog::read(&*self.storage)?;
        let damaged = catalog.damaged.iter().map(|(&number, error)| BackupFinding {
            file: BackupRecord::name_of(number),
            backups: vec![number],
            detail: error.message(),
        });
        Ok(BackupList { backups: catalog.records.values().map(BackupInfo::of).collect(), damaged: damaged.collect() })
    }

    /// Reads all files of all backups, and compares them with the records; returns all differences. Files whose
    /// contents are in no record, since they were [trusted](BackupOptions::trust), are verified as those of a store.
    ///
    /// # Errors
    /// Errors of the storage, such as a failed read.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<BackupFinding>> {
        restore::verify(&self.storage, progress)
    }

    /// Restores a backup, by default the newest, as a store of its own, to a [place](Place): to a new or empty folder,
    /// or a storage without a store. Each file is compared with its checksum, or verified before if it has none.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if there is no such backup; an error of kind
    /// `AlreadyExists` if the target contains a store; [`Cause::Damaged`](crate::Cause::Damaged) with the path of a
    /// damaged file of the backup, which is never passed over in favour of an older backup; errors of the storages.
    /// After an error, the partial store is removed.
    pub fn restore(
        &self,
        number: Option<u64>,
        target: impl Into<Place>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<BackupInfo> {
        in_new_folder(target.into(), |target| restore::restore(&self.storage, number, target, progress))
    }

    /// Opens a backup, by default the newest, without restoring it, for reading only.
    ///
    /// # Errors
    /// As [`Self::restore`] and [`Db::open_read_only`].
    pub fn open(&self, number: Option<u64>, options: &DbOptions) -> Result<Db> {
        let record = Catalog::read(&*self.storage)?.into_record(&*self.storage, number)?;
        Db::open_read_only(record.image(&self.storage)?.files, options)
    }
}
