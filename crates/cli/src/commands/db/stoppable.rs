//! A storage wrapper for the folder of a store that ends long work after an interrupt.
//!
//! Reads of tables and values fail then, and so do copies of files. Manifests and logs are read and written as before,
//! so that the store closes cleanly.

use crate::interrupt::Interrupt;
use ogive::Result;
use ogive::io::{
    FileCopy, ListedFile, PendingReads, RangeRequest, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The folder of a store that can be interrupted.
#[derive(Debug)]
pub(super) struct Stoppable {
    inner: Arc<dyn Storage>,
    interrupt: Interrupt,
    /// Bytes that were read of tables and values.
    read_bytes: Arc<AtomicU64>,
}

impl Stoppable {
    pub(super) fn around(inner: Arc<dyn Storage>, interrupt: &Interrupt) -> Arc<dyn Storage> {
        Self::counting(inner, interrupt, &Arc::default())
    }

    /// Also counts the bytes that are read of tables and values.
    pub(super) fn counting(
        inner: Arc<dyn Storage>,
        interrupt: &Interrupt,
        read_bytes: &Arc<AtomicU64>,
    ) -> Arc<dyn Storage> {
        Arc::new(Self { inner, interrupt: interrupt.clone(), read_bytes: Arc::clone(read_bytes) })
    }

    /// An open file, whose reads end with an interrupt if it is data.
    fn reader(&self, name: &str, inner: Arc<dyn ReadableFile>) -> Arc<dyn ReadableFile> {
        match is_data(name) {
            true => Arc::new(StoppableReader {
                inner,
                interrupt: self.interrupt.clone(),
                read_bytes: Arc::clone(&self.read_bytes),
            }),
            false => inner,
        }
    }
}

/// Whether a file holds entries or values.
fn is_data(name: &str) -> bool {
    name.ends_with(".table") || name.ends_with(".values")
}

impl StorageWrapper for Stoppable {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(self.reader(name, self.inner.open(name)?))
    }

    fn open_listed(&self, listed: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        Ok(self.reader(&listed.name, self.inner.open_listed(listed)?))
    }

    fn open_known(&self, known: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        Ok(self.reader(&known.name, self.inner.open_known(known)?))
    }

    /// Those are parts of manifests and logs.
    fn read_listed(&self, files: &[ListedFile]) -> Vec<Result<Vec<u8>>> {
        self.inner.read_listed(files)
    }

    fn folder(&self) -> Option<&Path> {
        self.inner.folder()
    }

    fn export(&self, name: &str, target: &dyn Storage, new_name: &str) -> Result<()> {
        self.interrupt.engine_check()?;
        self.inner.export(name, target, new_name)
    }

    fn copy_within(&self, files: &[FileCopy], target: &dyn Storage) -> Vec<Result<bool>> {
        match self.interrupt.engine_check() {
            Ok(()) => self.inner.copy_within(files, target),
            Err(_) => files.iter().map(|_| self.interrupt.engine_check().map(|()| false)).collect(),
        }
    }
}

#[derive(Debug)]
struct StoppableReader {
    inner: Arc<dyn ReadableFile>,
    interrupt: Interrupt,
    read_bytes: Arc<AtomicU64>,
}

impl StoppableReader {
    /// Counts reads of these lengths, unless there was an interrupt.
    fn count(&self, lengths: impl Iterator<Item = usize>) -> Result<()> {
        self.interrupt.engine_check()?;
        self.read_bytes.fetch_add(lengths.map(|length| length as u64).sum(), Ordering::Relaxed);
        Ok(())
    }
}

impl ReaderWrapper for StoppableReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.count([request.buffer.len()].into_iter())?;
        self.inner.read(request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.count(requests.iter().map(|request| request.buffer.len()))?;
        self.inner.read_many(requests)
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        self.count(ranges.iter().map(|range| range.bytes))?;
        self.inner.start_reads(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use ogive::backup::{BackupOptions, Backups};
    use ogive::io::LocalStorage;
    use ogive::lsm::{Db, DbOptions};

    fn filled(folder: &Path) -> DbOptions {
        let options = DbOptions::default()
            .threads(2)
            .writes(|writes| writes.memtable_bytes(16 << 10))
            .levels(|levels| levels.table_bytes(8 << 10));
        let db = Db::open(folder, &options).unwrap();
        for round in 0..3_u32 {
            for key in 0..2000_u32 {
                db.insert(key.to_be_bytes(), round.to_be_bytes()).unwrap();
            }
            db.flush().unwrap();
        }
        // The log alone holds these: they are to be flushed first.
        (0..50_u32).for_each(|key| db.insert(key.to_be_bytes(), b"newest").unwrap());
        db.close().unwrap();
        options
    }

    fn entries(folder: &Path) -> usize {
        let db = Db::open(folder, &DbOptions::default()).unwrap();
        db.iter().try_fold(0, |count, entry| entry.map(|_| count + 1)).unwrap()
    }

    #[test]
    fn an_interrupted_compaction_says_what_stays_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let options = filled(folder.path());
        let interrupt = Interrupt::watch();
        let db = Db::open(Stoppable::around(options.storage(folder.path()).unwrap(), &interrupt), &options).unwrap();
        // There is something to flush, whatever the threads of the store have done so far.
        db.insert(7_u32.to_be_bytes(), b"newer").unwrap();
        interrupt.ask();
        let failure =
            super::super::compact::compact(db, folder.path(), &AtomicU64::new(0), &interrupt, Db::compact).unwrap_err();
        assert!(failure.to_string().contains("interrupted; the compactions finished so far are kept"), "{failure}");
        assert_eq!(entries(folder.path()), 2000);
    }

    #[test]
    fn an_interrupted_checkpoint_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let options = filled(&folder.path().join("store"));
        let interrupt = Interrupt::watch();
        let storage = Stoppable::around(options.storage(folder.path().join("store")).unwrap(), &interrupt);
        let db = Db::open(storage, &options).unwrap();
        interrupt.ask();
        let error = db.checkpoint(folder.path().join("new/copy")).unwrap_err();
        // A compaction in the background may have been interrupted first.
        assert!(interrupt.interrupted(&error).is_some(), "{error}");
        assert!(!folder.path().join("new").exists());
    }

    #[test]
    fn an_interrupted_backup_or_restore_leaves_the_earlier_backups_and_no_store() {
        let folder = tempfile::tempdir().unwrap();
        let options = filled(&folder.path().join("store"));
        let interrupt = Interrupt::watch();
        let source = Stoppable::around(options.storage(folder.path().join("store")).unwrap(), &interrupt);
        let backups = Backups::at(folder.path().join("backups")).unwrap();
        backups.create(&source, &BackupOptions::default(), &mut |_, _| ()).unwrap();
        let names = LocalStorage::names(&folder.path().join("backups")).unwrap();
        // There are tables to copy.
        let db = Db::open(folder.path().join("store"), &options).unwrap();
        db.insert(7_u32.to_be_bytes(), b"newer").unwrap();
        db.compact().unwrap();
        db.close().unwrap();
        let new = Backups::at(folder.path().join("deep/new")).unwrap();
        let stoppable = Stoppable::around(Arc::new(LocalStorage::new(folder.path().join("backups"))), &interrupt);
        interrupt.ask();
        for backups in [&backups, &new] {
            let error = backups.create(&source, &BackupOptions::default(), &mut |_, _| ()).unwrap_err();
            assert!(interrupt.interrupted(&error).is_some(), "{error}");
        }
        assert_eq!(LocalStorage::names(&folder.path().join("backups")).unwrap(), names);
        assert!(!folder.path().join("deep").exists());
        let restored = Backups::at(stoppable).unwrap().restore(None, folder.path().join("again"), &mut |_, _| ());
        assert!(interrupt.interrupted(&restored.unwrap_err()).is_some());
        assert!(!folder.path().join("again").exists());
    }

    #[test]
    fn an_interrupted_repair_leaves_the_store_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let options = filled(folder.path());
        let names = LocalStorage::names(folder.path()).unwrap();
        for manifest in names.iter().filter(|name| name.ends_with(".manifest")) {
            LocalStorage::new(folder.path()).remove(manifest).unwrap();
        }
        let interrupt = Interrupt::watch();
        interrupt.ask();
        let storage = Stoppable::around(options.storage(folder.path()).unwrap(), &interrupt);
        let failure = super::super::repair::repair(&storage).unwrap_err();
        assert!(
            matches!(failure, Failure::Partial { .. }) && failure.to_string().contains("the next repair"),
            "{failure}"
        );
        let storage: Arc<dyn Storage> = options.storage(folder.path()).unwrap();
        super::super::repair::repair(&storage).unwrap();
        assert_eq!(entries(folder.path()), 2000);
    }
}
