//! The catalog of a storage of backups: the records, the other files, and whether another backup is running.

use super::record::{BackupRecord, stored_name};
use super::segment::is_segment;
use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::{FileLock, ListedFile, Purpose, Storage, read_whole, remove_if_present, unix_time_ms};
use crate::lsm::LOCK_NAME;
use crate::lsm::open::lock::take_lock;
use crate::lsm::state::version::parse_file_name;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Suffix of a record that is being written.
const NEW_SUFFIX: &str = ".new";

/// Suffix of the marks of running backups, where there are no locks.
const BEGUN_SUFFIX: &str = ".begun";

/// Records that are looked for one by one, at most, before leftovers are removed. With more, these stay.
const UNLISTED_RECORDS_MAX: u64 = 1000;

/// A mark older than this was left by a killed backup.
const BEGUN_MS_MAX: u64 = 24 * 3600 * 1000;

/// A folder that new file systems contain.
const LOST_AND_FOUND: &str = "lost+found";

/// The contents of a storage of backups.
#[derive(Debug)]
pub(super) struct Catalog {
    /// All files by name, as they were listed.
    files: BTreeMap<String, ListedFile>,
    /// The records by number.
    pub(super) records: BTreeMap<u64, BackupRecord>,
    /// The errors of records that cannot be read.
    pub(super) damaged: BTreeMap<u64, Error>,
}

/// The kind of a file among backups, with the number of the backup that wrote it.
enum StoredKind {
    Record,
    Data,
    /// A record being written.
    NewRecord,
    /// The mark of a running backup.
    Begun,
}

fn parse(name: &str) -> Option<(u64, StoredKind)> {
    if let Some(number) = BackupRecord::number_in(name) {
        return Some((number, StoredKind::Record));
    }
    if let Some(number) = name.strip_suffix(NEW_SUFFIX).and_then(BackupRecord::number_in) {
        return Some((number, StoredKind::NewRecord));
    }
    if let Some(number) = name.strip_suffix(BEGUN_SUFFIX).and_then(|number| number.parse().ok()) {
        return (begun_name(number) == name).then_some((number, StoredKind::Begun));
    }
    let (number, file) = name.split_once('-')?;
    let number = number.parse().ok()?;
    (parse_file_name(file).is_some() && stored_name(number, file) == name).then_some((number, StoredKind::Data))
}

fn begun_name(number: u64) -> String {
    format!("{number:06}{BEGUN_SUFFIX}")
}

/// The folder of a storage, for messages.
pub(super) fn folder(storage: &dyn Storage) -> PathBuf {
    storage.path("x").parent().map(Into::into).unwrap_or_default()
}

/// Locks out other backups into a storage that has locks, and waits for one so long.
pub(super) fn lock(storage: &dyn Storage, wait: Duration) -> Result<Option<Box<dyn FileLock>>> {
    if storage.is_object_store() { Ok(None) } else { take_lock(storage, wait).map(Some) }
}

impl Catalog {
    /// Reads all records.
    ///
    /// # Errors
    /// Errors of the storage, but no damage; [`Cause::Version`] for records of a development version, beside
    /// which no others are to be.
    pub(super) fn read(storage: &dyn Storage) -> Result<Self> {
        let listed = storage.list_files()?.files;
        let (mut records, mut damaged) = (BTreeMap::new(), BTreeMap::new());
        for file in &listed {
            let Some(number) = BackupRecord::number_in(&file.name) else { continue };
            let bytes = read_whole(&*storage.open_listed(file)?, Purpose::Walk)?;
            match BackupRecord::decode(&bytes, number, &storage.path(&file.name)) {
                Ok(record) => _ = records.insert(number, record),
                Err(development @ Error { cause: Cause::Version { found: 0, .. }, .. }) => return Err(development),
                Err(error) => _ = damaged.insert(number, error),
            }
        }
        let files = listed.into_iter().map(|file| (file.name.clone(), file)).collect();
        Ok(Self { files, records, damaged })
    }

    /// Refuses a storage that contains other files and no backups.
    ///
    /// # Errors
    /// [`Cause::Input`].
    pub(super) fn check_purpose(&self, storage: &dyn Storage) -> Result<()> {
        let is_of_backups = |name: &String| parse(name).is_some() || is_segment(name);
        let is_ours = |name: &&String| is_of_backups(name) || *name == LOCK_NAME || *name == LOST_AND_FOUND;
        if self.files.keys().any(is_of_backups) {
            return Ok(());
        }
        match self.files.keys().find(|name| !is_ours(name)) {
            None => Ok(()),
            Some(other) => Err(Error::input(format!(
                "{} contains {other:?} and no backups; make backups into a new or empty folder",
                folder(storage).display()
            ))),
        }
    }

    /// Refuses backups of another store.
    ///
    /// # Errors
    /// [`Cause::Input`].
    pub(super) fn check_store(&self, storage: &dyn Storage, store: u64) -> Result<()> {
        match self.records.values().find(|record| record.store != store) {
            None => Ok(()),
            Some(_) => Err(Error::input(format!(
                "{} contains backups of another store; each store needs a folder of its own for its backups",
                folder(storage).display()
            ))),
        }
    }

    /// Whether there is a file of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// The length of a file in bytes, if the listing states it.
    pub(super) fn listed_bytes(&self, name: &str) -> Option<u64> {
        self.files.get(name)?.length_bytes
    }

    /// A number that no file has.
    pub(super) fn next_number(&self) -> u64 {
        self.files.keys().filter_map(|name| parse(name)).map(|(number, _)| number).max().unwrap_or(0) + 1
    }

    /// A backup, or the newest one.
    ///
    /// # Errors
    /// [`Cause::Input`] if there is none; the error of its record.
    pub(super) fn into_record(mut self, storage: &dyn Storage, number: Option<u64>) -> Result<BackupRecord> {
        let numbers = || self.records.keys().chain(self.damaged.keys());
        let folder = folder(storage);
        let Some(number) = number.or_else(|| numbers().max().copied()) else {
            return Err(Error::input(format!("{} contains no backups; check the path", folder.display())));
        };
        if let Some(error) = self.damaged.remove(&number) {
            return Err(error);
        }
        self.records.remove(&number).ok_or_else(|| {
            Error::input(format!("{} contains no backup {number}", folder.display()))
                .advise(Advice::Use(Call::ListBackups))
        })
    }

    /// Forgets the mark of the caller's own backup.
    pub(super) fn forget_mark(&mut self, own: u64) {
        self.files.remove(&begun_name(own));
    }

    /// Removes what killed backups have left. While a record is damaged, or another backup than `own` may be running,
    /// nothing is removed.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(super) fn remove_leftovers(&mut self, storage: &dyn Storage, own: u64) -> Result<()> {
        self.forget_mark(own);
        if !self.damaged.is_empty() || self.has_other_backup(storage, own)? {
            return Ok(());
        }
        let used: BTreeSet<String> = self
            .records
            .values()
            .flat_map(|record| &record.files)
            .map(super::record::BackupFile::stored_name)
            .collect();
        let is_leftover = |name: &&String| match parse(name) {
            Some((_, StoredKind::Record)) | None => false,
            Some((_, StoredKind::Data)) => !used.contains(*name),
            Some((_, StoredKind::NewRecord | StoredKind::Begun)) => true,
        };
        let leftovers: Vec<String> = self.files.keys().filter(is_leftover).cloned().collect();
        if self.has_unlisted_record(storage, &leftovers, own)? {
            return Ok(());
        }
        for name in leftovers {
            remove_if_present(storage, &name)?;
            self.files.remove(&name);
        }
        Ok(())
    }

    /// Whether an object store has a record that its listing left out, and that may use one of these files: those of a
    /// backup are used by it and by later ones.
    fn has_unlisted_record(&self, storage: &dyn Storage, leftovers: &[String], own: u64) -> Result<bool> {
        let numbers = leftovers.iter().filter_map(|name| parse(name)).map(|(number, _)| number);
        let Some(first) = numbers.min().filter(|_| storage.is_object_store()) else { return Ok(false) };
        let last = self.records.last_key_value().map_or(own, |(&newest, _)| newest.max(own));
        if last.saturating_sub(first) > UNLISTED_RECORDS_MAX {
            return Ok(true);
        }
        for number in (first..=last).filter(|number| !self.records.contains_key(number)) {
            if storage.find_file(&BackupRecord::name_of(number))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether another backup than `own` may be running where there are no locks.
    fn has_other_backup(&self, storage: &dyn Storage, own: u64) -> Result<bool> {
        let now_ms = unix_time_ms();
        for name in self.files.keys() {
            let Some((number, StoredKind::Begun)) = parse(name) else { continue };
            if number == own {
                continue;
            }
            let bytes = match storage.open(name) {
                Ok(file) => read_whole(&*file, Purpose::Walk)?,
                // It has ended since the names were listed, and its record is not among them.
                Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => return Ok(true),
                Err(error) => return Err(error),
            };
            let begun_ms = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            if now_ms.saturating_sub(begun_ms) < BEGUN_MS_MAX {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes the oldest backups, so that `keep` remain, and their files; returns their numbers. While a record is
    /// damaged, or another backup than `own` may be running, nothing is removed.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(super) fn keep_newest(&mut self, storage: &dyn Storage, keep: usize, own: u64) -> Result<Vec<u64>> {
        let surplus = self.records.len().saturating_sub(keep.max(1));
        if surplus == 0 || !self.damaged.is_empty() || self.has_other_backup(storage, own)? {
            return Ok(Vec::new());
        }
        let removed: Vec<u64> = self.records.keys().take(surplus).copied().collect();
        for number in &removed {
            storage.remove(&BackupRecord::name_of(*number))?;
        }
        // No file is removed while a record may come back.
        storage.sync_directory()?;
        // Another backup may have begun, and have found the records.
        *self = Self::read(storage)?;
        self.remove_leftovers(storage, own)?;
        Ok(removed)
    }
}

/// The mark of a running backup in a storage without locks; removed when it is dropped.
#[derive(Debug)]
pub(super) struct RunningMark {
    storage: Arc<dyn Storage>,
    name: String,
}

impl RunningMark {
    /// Claims a number; `None` in a storage with locks.
    ///
    /// # Errors
    /// An error of kind `AlreadyExists` if another backup has just claimed it.
    pub(super) fn set(storage: &Arc<dyn Storage>, number: u64) -> Result<Option<Self>> {
        if !storage.is_object_store() {
            return Ok(None);
        }
        let name = begun_name(number);
        match storage.put_if_absent(&name, &unix_time_ms().to_le_bytes()) {
            Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }) => {
                let detail = "another backup has begun at the same moment; try again when it is done";
                let source = std::io::Error::new(ErrorKind::AlreadyExists, detail);
                return Err(Error::io("begin a backup as", storage.path(&name), source));
            }
            outcome => outcome?,
        }
        Ok(Some(Self { storage: Arc::clone(storage), name }))
    }
}

impl Drop for RunningMark {
    fn drop(&mut self) {
        // A mark that stays only delays the removal of leftovers, by a day.
        _ = remove_if_present(&*self.storage, &self.name);
    }
}

/// Writes a record under its name, durably and as a whole.
///
/// # Errors
/// Errors of the storage: the record may have its name then.
pub(super) fn publish(storage: &dyn Storage, record: &BackupRecord) -> Result<()> {
    let (name, bytes) = (BackupRecord::name_of(record.number), record.encode());
    if storage.is_object_store() {
        return storage.put_if_absent(&name, &bytes);
    }
    let new_name = format!("{name}{NEW_SUFFIX}");
    let mut file = storage.create(&new_name)?;
    let written = file.append(&bytes).and_then(|()| file.sync());
    drop(file);
    if let Err(error) = written.and_then(|()| storage.rename(&new_name, &name)) {
        _ = remove_if_present(storage, &new_name);
        return Err(error);
    }
    storage.sync_directory()
}
