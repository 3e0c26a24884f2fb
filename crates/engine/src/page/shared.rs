//! The state shared by all handles of a page file.

use super::header::Header;
use super::log_map::{LogMap, PageVersion, read_records};
use super::options::PageOptions;
use super::pages::{Page, PageNumber};
use super::pool::{IN_FILE, PagePool};
use super::readers::ReaderRegistration;
use super::records;
use super::space_map::{SpaceMap, stale};
use super::statistics::PageCounters;
use super::store::PageStore;
use super::telemetry::{self, PageTelemetry};
use super::writer_state::PageWriter;
use crate::error::{Error, Result};
use crate::io::local::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::io::{FileLock, Purpose, Storage, UpdatableFile};
use crate::log::Segment;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The last commit, and the snapshots of each commit.
#[derive(Debug)]
pub(super) struct CurrentCommit {
    pub(super) sequence: u64,
    pub(super) state: Arc<[u8]>,
    pub(super) page_count: u32,
    /// Number of snapshots of each commit.
    pub(super) readers: BTreeMap<u64, u64>,
}

/// The state shared by all handles of a page file.
#[derive(Debug)]
pub(super) struct PageFileShared {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) name: String,
    pub(super) options: PageOptions,
    pub(super) store: PageStore,
    /// The page file for writing; none if it is open read-only.
    pub(super) file: Option<Arc<dyn UpdatableFile>>,
    /// The header to assume, if the file is read as if it had another.
    pub(super) assumed: Option<Header>,
    pub(super) user_header: Vec<u8>,
    pub(super) first_page: PageNumber,
    pub(super) current: Mutex<CurrentCommit>,
    pub(super) log_map: RwLock<LogMap>,
    /// The space map; none if it is not in memory.
    pub(super) epochs: Option<RwLock<SpaceMap>>,
    pub(super) pool: PagePool,
    pub(super) counters: PageCounters,
    pub(super) telemetry: PageTelemetry,
    /// The writer's own state; absent while a transaction is running.
    pub(super) writer: Mutex<Option<Box<PageWriter>>>,
    pub(super) writer_is_back: Condvar,
    pub(super) poisoned: AtomicBool,
    pub(super) closed: AtomicBool,
    /// For a reader that could not register: the greatest epoch that its snapshot can have. Later epochs mean that the
    /// snapshot is lost.
    pub(super) known_epoch: Option<u32>,
    /// Excludes other writers, or checkpoints of another process's writer.
    pub(super) lock: Option<Box<dyn FileLock>>,
    pub(super) _registration: Option<ReaderRegistration>,
}

impl PageFileShared {
    pub(super) fn current(&self) -> MutexGuard<'_, CurrentCommit> {
        self.current.lock()
    }

    pub(super) fn log_map(&self) -> RwLockReadGuard<'_, LogMap> {
        self.log_map.read()
    }

    pub(super) fn log_map_mut(&self) -> RwLockWriteGuard<'_, LogMap> {
        self.log_map.write()
    }

    /// Changes the space map; does nothing where it is not in memory.
    pub(super) fn with_epochs<T: Default>(&self, work: impl FnOnce(&mut SpaceMap) -> T) -> T {
        let epochs = self.epochs.as_ref();
        epochs.map_or_else(T::default, |epochs| work(&mut epochs.write()))
    }

    pub(super) fn check_poison(&self) -> Result<()> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::poisoned(&self.store.path));
        }
        Ok(())
    }

    /// Whether the name still leads to the file that is open.
    pub(super) fn is_in_place(&self) -> bool {
        self.lock.as_ref().is_none_or(|lock| lock.is_in_place()) && self.store.file.is_in_place()
    }

    /// Fails if the name leads elsewhere: what is written would be lost.
    pub(super) fn check_place(&self) -> Result<()> {
        match self.is_in_place() {
            true => Ok(()),
            false => Err(Error::gone(&self.store.path)),
        }
    }

    /// Poisons the file unless `outcome` is a success.
    pub(super) fn poison_on_error<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome
            && !self.poisoned.swap(true, Ordering::AcqRel)
        {
            telemetry::report_failure(&self.store.path, error);
        }
        outcome
    }

    /// Reads a page as of commit `sequence`. A snapshot of that commit, or of an older one, must exist.
    pub(super) fn read_committed(&self, page: PageNumber, sequence: u64, purpose: Purpose) -> Result<Page> {
        let version = self.log_map().newest(page, sequence).unwrap_or(IN_FILE);
        if let Some(found) = self.pool.get(page, version) {
            return Ok(found);
        }
        let (version, found) = match self.read_log(page, sequence)? {
            Some(found) => found,
            None => (IN_FILE, self.read_file(page, purpose)?),
        };
        self.pool.insert(page, version, purpose, &found);
        Ok(found)
    }

    /// Reads a page from the log, with the commit that wrote it; `None` if the page file has the current version.
    pub(super) fn read_log(&self, page: PageNumber, sequence: u64) -> Result<Option<(u64, Page)>> {
        let map = self.log_map();
        if map.newest(page, sequence).is_none() {
            return Ok(None);
        }
        let records = map.records(page, sequence);
        drop(map);
        let records = records.ok_or_else(|| self.store.damaged(page, "the log changes it but has no image of it"))?;
        let version = records.last().map_or(0, |(_, version)| version.sequence);
        Ok(Some((version, self.materialise(page, &records)?)))
    }

    /// Builds a page from an image and its deltas.
    pub(super) fn materialise(&self, number: PageNumber, records: &[(Arc<Segment>, PageVersion)]) -> Result<Page> {
        self.assemble(number, records, &read_records(records)?)
    }

    /// Builds a page from records with these bodies.
    pub(super) fn assemble(
        &self,
        number: PageNumber,
        records: &[(Arc<Segment>, PageVersion)],
        bodies: &[Arc<[u8]>],
    ) -> Result<Page> {
        let mut page = None;
        for ((segment, version), body) in records.iter().zip(bodies) {
            let invalid_record = || {
                let detail = format!("a record of page {number} is invalid");
                Error::damaged(segment.file.path(), version.place.position, detail)
            };
            if version.is_image {
                page = Some(records::image(body, self.store.page_bytes).ok_or_else(invalid_record)?);
                continue;
            }
            let (_, changes) = records::page_of(body).ok_or_else(invalid_record)?;
            let target = page.as_mut().ok_or_else(invalid_record)?;
            records::apply(target.payload_mut(), changes).ok_or_else(invalid_record)?;
        }
        page.ok_or_else(|| self.store.damaged(number, "the log has no image of it"))
    }

    /// A page from the page file.
    pub(super) fn read_file(&self, number: PageNumber, purpose: Purpose) -> Result<Page> {
        let (page, epoch) = self.store.read(number, purpose)?;
        self.check_epoch(number, epoch)?;
        Ok(page)
    }

    pub(super) fn check_epoch(&self, number: PageNumber, epoch: u32) -> Result<()> {
        if self.known_epoch.is_some_and(|known| epoch > known) {
            return Err(Error::snapshot_gone(&self.store.path));
        }
        let Some(epochs) = &self.epochs else {
            return Ok(());
        };
        let expected = epochs.read().get(number);
        if expected != super::space_map::epoch_byte(epoch) {
            return Err(stale(&self.store, number));
        }
        Ok(())
    }
}

impl Drop for PageFileShared {
    fn drop(&mut self) {
        let Some(mut writer) = self.writer.get_mut().take() else {
            return;
        };
        if !self.closed.load(Ordering::Acquire) && !self.poisoned.load(Ordering::Acquire) {
            // No caller is left to report to; the log has everything that was promised.
            let _ = writer.checkpoint(self, true);
        }
    }
}
