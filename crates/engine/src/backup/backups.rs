//! `Backups`: the public interface to a storage of backups.

use super::archive::{self, ArchiveRun};
use super::catalog::Catalog;
use super::create;
use super::moments::{ArchiveSummary, ArchivedMoment, Moment};
use super::record::BackupRecord;
use super::restore;
use super::until;
use crate::error::Result;
use crate::io::{LocalStorage, Place, Storage};
use crate::lsm::images::closed_image::in_new_folder;
use crate::lsm::{ChangePosition, Db, DbOptions, LOCK_NAME};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
    /// How long to wait for another backup.
    wait: Duration,
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
    /// The name of the [subscriber](Db::subscribe) to the changes of the store, if they are archived beside the backup:
    /// see [`Self::archive_logs`].
    pub archive: Option<String>,
}

impl BackupOptions {
    /// The usual name of the subscriber of an archive.
    pub const ARCHIVE: &str = "archive";

    /// Archives the changes of the store beside the backup, so that it can be restored as of any moment between this
    /// backup and the last run: [`Backups::archive`] goes on between backups. The store keeps its changes for a
    /// subscriber of this name until they are archived, up to
    /// [`kept_changes_bytes`](crate::lsm::DbWriteOptions::kept_changes_bytes); take [`Self::ARCHIVE`], or a name for
    /// each storage of backups if a store has several.
    #[must_use]
    pub fn archive_logs(self, subscriber: impl Into<String>) -> Self {
        Self { archive: Some(subscriber.into()), ..self }
    }

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
    /// What was archived, if that was asked for.
    pub archive: Option<ArchiveSummary>,
    /// The failure to archive, if any: the backup is complete all the same.
    pub archive_failure: Option<String>,
}

/// A store that was restored as of a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RestoredMoment {
    /// The backup that the changes were made to.
    pub backup: BackupInfo,
    /// The position behind the last change.
    pub position: ChangePosition,
    /// The end of the run of the archive with this position, if there is one.
    pub made_ms: Option<u64>,
    /// The unique indexes of the run before that were not made, since rows of this moment have the same values.
    pub indexes_left_out: Vec<String>,
}

/// The backups of a storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupList {
    /// The complete backups, oldest first.
    pub backups: Vec<BackupInfo>,
    /// The ends of the runs of the archive, oldest first; each can be restored if a backup is older.
    pub archived: Vec<ArchivedMoment>,
    /// Backups whose records cannot be read, and files of the archive.
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

impl BackupFinding {
    /// That of a file of the archive, with what is wrong.
    fn of_archive((file, detail): (String, String)) -> Self {
        Self { file, backups: Vec::new(), detail }
    }
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
        Ok(Self { storage, folder, wait: Duration::ZERO })
    }

    /// Sets how long a backup or a run of the archive waits for another one that is made there, before it fails with
    /// [`Cause::Locked`](crate::Cause::Locked); by default not at all. Where there are no locks, as on object stores,
    /// there is no wait.
    #[must_use]
    pub fn wait_for_lock(self, at_most: Duration) -> Self {
        Self { wait: at_most, ..self }
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
        let Some(folder) = &self.folder else { return self.back_up(source, options, progress) };
        let missing = LocalStorage::missing_folders(folder);
        LocalStorage::create_folder(folder)?;
        let outcome = self.back_up(source, options, progress);
        if outcome.is_err() && !missing.is_empty() {
            // The error that led here is more useful than a failure to clean up.
            _ = self.storage.remove(LOCK_NAME);
            LocalStorage::remove_empty_folders(&missing);
        }
        outcome
    }

    fn back_up(
        &self,
        source: &Arc<dyn Storage>,
        options: &BackupOptions,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<BackupSummary> {
        // Changes are kept from before the backup on.
        let begin = |name| ArchiveRun::begin(&self.storage, source, name, true);
        let run = options.archive.as_deref().map(begin).transpose()?;
        let mut summary = create::create(&self.storage, source, options, self.wait, progress)?;
        if let Some(run) = run {
            match run.run(self.wait) {
                Ok(archived) => summary.archive = Some(archived),
                Err(error) => summary.archive_failure = Some(error.message()),
            }
        }
        if !summary.removed.is_empty()
            && let Err(error) = archive::expire(&self.storage)
        {
            summary.removal_failure.get_or_insert(error.message());
        }
        Ok(summary)
    }

    /// Archives the changes of a store since the last run, beside its backups, of which one
    /// [began](BackupOptions::archive_logs) the archive under this name. It takes as long as the changes take to be
    /// read and written, so that it can run each minute. The store may be open in any process; its changes are kept
    /// until they are archived.
    ///
    /// ```
    /// use ogive::backup::{BackupOptions, Backups, Moment};
    /// use ogive::{Db, DbOptions, MemoryStorage, Storage};
    /// # use std::sync::Arc;
    ///
    /// let store: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    /// let db = Db::open(Arc::clone(&store), &DbOptions::default())?;
    /// let backups = Backups::at(Arc::new(MemoryStorage::new()))?;
    /// let options = BackupOptions::default().archive_logs(BackupOptions::ARCHIVE);
    /// backups.create(&store, &options, &mut |_, _| ())?;
    ///
    /// db.insert("apple", "red")?;
    /// let before = backups.archive(&store, BackupOptions::ARCHIVE)?.moment;
    /// db.remove_range::<&str>(..)?;
    /// backups.archive(&store, BackupOptions::ARCHIVE)?;
    ///
    /// let restored: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    /// backups.restore_until(Moment::Position(before.position), &restored, &mut |_, _| ())?;
    /// let restored = Db::open(restored, &DbOptions::default())?;
    /// assert_eq!(restored.get("apple")?.as_deref(), Some(&b"red"[..]));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if no archive of this store was begun here under this name;
    /// [`Cause::ChangesGone`](crate::Cause::ChangesGone) if the store has forgotten changes since, so that a backup
    /// must begin it anew;
    /// [`Cause::Locked`](crate::Cause::Locked) while another backup or run is made there;
    /// [`Cause::ValueTooLarge`](crate::Cause::ValueTooLarge) for a value above 1 GiB with its row; errors of the
    /// storages. What was archived before stays.
    pub fn archive(&self, source: impl Into<Place>, subscriber: &str) -> Result<ArchiveSummary> {
        let source = source.into().folder()?;
        ArchiveRun::begin(&self.storage, &source, subscriber, false)?.run(self.wait)
    }

    /// Restores the store as of a moment, as a store of its own, to a [place](Place): to a new or empty folder, or a
    /// storage without a store. It has each batch up to that moment as a whole, and nothing of later ones; types and
    /// options of keyspaces, and indexes, are those of the end of the last run of the archive that it has all of.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a moment that is not archived, and if a part of the archive on the way
    /// to it is missing or damaged: the message has the last moment that can be restored, or for one before the archive
    /// the first. As [`Self::restore`].
    pub fn restore_until(
        &self,
        until: Moment,
        target: impl Into<Place>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<RestoredMoment> {
        in_new_folder(target.into(), |target| until::restore_until(&self.storage, until, target, progress))
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
        let mut damaged: Vec<BackupFinding> = damaged.collect();
        let mut archived = Vec::new();
        for (number, info) in archive::segments(&*self.storage)? {
            match info {
                Ok(info) => archived.push(archive::moment(&info)),
                Err(error) => damaged.push(BackupFinding::of_archive(archive::finding(number, &error))),
            }
        }
        Ok(BackupList { backups: catalog.records.values().map(BackupInfo::of).collect(), archived, damaged })
    }

    /// Reads all files of all backups and of the archive, and compares them with the records; returns all differences.
    /// Files whose contents are in no record, since they were [trusted](BackupOptions::trust), are verified as those of
    /// a store.
    ///
    /// # Errors
    /// Errors of the storage, such as a failed read.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<BackupFinding>> {
        let mut findings = restore::verify(&self.storage, progress)?;
        findings.extend(archive::verify(&self.storage)?.into_iter().map(BackupFinding::of_archive));
        Ok(findings)
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
