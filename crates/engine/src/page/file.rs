//! The page file: creation, opening, snapshots and transactions.

use super::header::{self, Header, OtherSlot, USER_BYTES_MAX};
use super::log_chain::FoundSegment;
use super::options::PageOptions;
use super::pool::PagePool;
use super::readers::ReaderRegistration;
use super::recovery::recover::Recovery;
use super::shared::{CurrentCommit, PageFileShared};
use super::snapshot::{PageSnapshot, SnapshotView};
use super::space::PageSpace;
use super::space_map;
use super::statistics::{PageCounters, PageStatistics};
use super::store::PageStore;
use super::telemetry::PageTelemetry;
use super::transaction::Transaction;
use super::writer_state::PageWriter;
use crate::error::{Error, Result};
use crate::io::local::sync::{Condvar, Mutex, RwLock};
use crate::io::{FileLock, ReadableFile, Storage, UpdatableFile, is_of_no_file, random_u64};
use crate::log::{SegmentId, segment_name, segment_numbers};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most retries of a reader when a checkpoint interferes.
const READ_ATTEMPTS_MAX: u32 = 20;

/// A file of pages of one size. Cheap to clone; clones share the file. A final checkpoint runs when the last clone,
/// snapshot and transaction are dropped.
#[derive(Clone, Debug)]
pub struct PageFile {
    pub(super) shared: Arc<PageFileShared>,
}

pub(super) fn lock_name(name: &str) -> String {
    format!("{name}.lock")
}

/// Whether a path is that of a segment of the log.
pub(super) fn is_of_log(path: &Path, name: &str) -> bool {
    let found = path.file_name().map(|found| found.to_string_lossy());
    found.is_some_and(|found| found.starts_with(&format!("{name}.log-")))
}

/// The name of a file that is not complete yet.
fn new_name(name: &str) -> String {
    format!("{name}.new")
}

impl PageFile {
    /// Creates a file. `header` holds up to 1,024 bytes of the user's own, returned unchanged whenever the file is
    /// opened.
    ///
    /// # Errors
    /// `Cause::Io` of kind `AlreadyExists`; `Cause::Locked`; `Cause::Input` for an unsupported page
    /// size.
    pub fn create(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions, header: &[u8]) -> Result<Self> {
        options.check()?;
        if header.len() > USER_BYTES_MAX {
            let detail = format!("a header of {} bytes is too long; it may have {USER_BYTES_MAX}", header.len());
            return Err(Error::input(detail));
        }
        storage.check_only_name(name)?;
        let taken = || Error::io("create", storage.path(name), ErrorKind::AlreadyExists.into());
        // Before the lock as well, whose file would stay beside a file of another format.
        if storage.exists(name)? {
            return Err(taken());
        }
        // A folder that takes no lock file takes no other one.
        let lock = storage.lock(&lock_name(name)).map_err(|error| match error.into_io_error() {
            Ok(source) => Error::io("create", storage.path(name), source),
            Err(error) => error,
        })?;
        if storage.exists(name)? {
            return Err(taken());
        }
        for number in segment_numbers(&**storage, name)? {
            // The log of a deleted file.
            storage.remove(&segment_name(name, number))?;
        }
        let written = write_new(&**storage, name, options, header);
        if let Err(error) = written {
            // Nothing stays behind, unless the file has its name already. The error that led here is more useful than
            // a failure to clean up.
            _ = storage.remove(&new_name(name));
            if !storage.exists(name).unwrap_or(true) {
                _ = storage.remove(&lock_name(name));
            }
            return Err(error);
        }
        Self::open_locked(storage, name, options, lock)
    }

    /// Opens a file for reading and writing, and recovers it if its last writer did not close it.
    ///
    /// # Errors
    /// `Cause::Locked` while the file is open for writing, in this process or another; `Cause::OtherNames` for a
    /// symbolic link, and if several hard links lead to the file; `Cause::NotAnIndex`; `Cause::Version`;
    /// [`Cause::Io`](crate::Cause::Io), [`Cause::Damaged`](crate::Cause::Damaged).
    pub fn open(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions) -> Result<Self> {
        if !storage.exists(name)? {
            return Err(Error::io("open", storage.path(name), ErrorKind::NotFound.into()));
        }
        storage.check_only_name(name)?;
        // First, so that a file of another format gets no lock file beside it.
        Header::read(&*storage.open(name)?)?;
        let lock = storage.lock(&lock_name(name))?;
        Self::open_locked(storage, name, options, lock)
    }

    fn open_locked(
        storage: &Arc<dyn Storage>,
        name: &str,
        options: &PageOptions,
        lock: Box<dyn FileLock>,
    ) -> Result<Self> {
        let file = storage.open_update(name)?;
        let (header, other_slot) = Header::read(&*file)?;
        let one_slot = other_slot == OtherSlot::Invalid;
        let store = store(Arc::<dyn UpdatableFile>::clone(&file), &header);
        let (epochs, places) = space_map::load(&store, &header)?;
        let space = PageSpace::of_checkpoint(&epochs, &header);
        let numbers = segment_numbers(&**storage, name)?;
        let live = numbers.iter().copied().filter(|&number| number >= header.first_segment);
        let mut found = Vec::new();
        let mut files = Vec::new();
        for number in live {
            let file = storage.open_update(&segment_name(name, number))?;
            found.push(FoundSegment { number, file: Arc::<dyn UpdatableFile>::clone(&file) });
            files.push(file);
        }
        let mut recovery = Recovery::new(&header, &*store.file, Some(space), Some(epochs));
        recovery.replay_all(&header, one_slot, &found, u64::MAX)?;
        recovery.check_length()?;
        // State visible from now on must not be lost.
        for file in &files {
            file.sync()?;
        }
        if !files.is_empty() {
            storage.sync_directory()?;
        }
        let next_segment = numbers.last().map_or(0, |&last| last.saturating_add(1)).max(header.first_segment);
        let mut writer = PageWriter {
            file: Arc::clone(&file),
            space: recovery.space.take().unwrap_or_default(),
            places,
            epoch: recovery.epoch.wrapping_add(1),
            segment: None,
            sealed: std::mem::take(&mut recovery.sealed),
            next_segment,
            waiting_commits: 0,
            waiting_bytes: 0,
            nonce: random_u64().max(1),
            header: header.clone(),
        };
        if other_slot != OtherSlot::Same {
            // Before old segments are removed, to which an older slot may lead.
            writer.mirror_header()?;
        }
        let opened = OpenedPageFile { storage, name, options, header, store, recovery, is_assumed: false };
        let shared = opened.share(Some((file, writer)), Some(lock), None);
        super::checkpoint::remove_segments(&shared, shared.first_segment())?;
        let opened = Self { shared };
        opened.with_writer(|writer, shared| writer.cut(shared))?;
        Ok(opened)
    }

    /// Opens a file read-only at its last commit, concurrently with a writer in this process or another. The writer
    /// preserves the pages that this handle may read while it is open. To see later commits, open the file again.
    ///
    /// # Errors
    /// As for [`Self::open`], but for the lock.
    pub fn open_read_only(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions) -> Result<Self> {
        storage.check_only_name(name)?;
        // First, so that a file of another format gets no registration beside it.
        Header::read(&*storage.open(name)?)?;
        let mut attempt = 0;
        loop {
            // A reader of commit 0 blocks all checkpoints, except one already running.
            let guard = ReaderRegistration::new(storage, name, 0)?;
            let (header, other_slot) = Header::read(&*storage.open(name)?)?;
            let opened = Self::read_log(storage, name, options, &header, other_slot == OtherSlot::Invalid)
                .and_then(|opened| opened.recovery.check_length().map(|()| opened));
            let unchanged = Header::read(&*storage.open(name)?)?.0 == header;
            attempt += 1;
            match opened {
                Ok(opened) if unchanged => {
                    let registration = ReaderRegistration::new(storage, name, opened.recovery.sequence)?;
                    drop(guard);
                    return Ok(Self { shared: opened.share(None, None, registration) });
                }
                Err(error) if unchanged && attempt >= 3 => return Err(error),
                Err(error) if attempt >= READ_ATTEMPTS_MAX => return Err(error),
                _ => {}
            }
        }
    }

    /// Reads the log to determine the last commit, without changing anything. Does not check that the page file has
    /// room for all pages.
    pub(super) fn read_log<'a>(
        storage: &'a Arc<dyn Storage>,
        name: &'a str,
        options: &'a PageOptions,
        header: &Header,
        one_slot: bool,
    ) -> Result<OpenedPageFile<'a>> {
        let found = live_segments(&**storage, name, header)?;
        let store = store(storage.open(name)?, header);
        let fits = u64::from(header.page_count) <= options.memory_bytes / 8;
        let epochs = fits.then(|| space_map::load(&store, header)).transpose()?;
        let mut recovery = Recovery::new(header, &*store.file, None, epochs.map(|(epochs, _)| epochs));
        recovery.replay_all(header, one_slot, &found, u64::MAX)?;
        Ok(OpenedPageFile { storage, name, options, header: header.clone(), store, recovery, is_assumed: false })
    }

    /// The user header passed to [`Self::create`].
    pub fn header(&self) -> &[u8] {
        &self.shared.user_header
    }

    /// The options with which the file was opened; the page size is that of the file.
    pub fn options(&self) -> &PageOptions {
        &self.shared.options
    }

    /// The storage of the file, and its name there.
    pub(crate) fn place(&self) -> (&Arc<dyn Storage>, &str) {
        (&self.shared.storage, &self.shared.name)
    }

    /// Takes a snapshot of the last commit.
    ///
    /// # Errors
    /// None at present; a handle that follows a writer in another process may have to read its log.
    pub fn snapshot(&self) -> Result<PageSnapshot> {
        Ok(PageSnapshot { view: Arc::new(SnapshotView::new(Arc::clone(&self.shared))) })
    }

    /// Begins a transaction, waiting for a running one to end.
    ///
    /// # Errors
    /// `Cause::Poisoned` after a failed write or sync; `Cause::LogFull`; `Cause::Input` if the file is
    /// open read-only.
    pub fn begin(&self) -> Result<Transaction> {
        let mut writer = self.take_writer()?;
        let limit = self.shared.options.log_limit_bytes;
        let mut outcome = Ok(());
        if writer.log_bytes() > limit {
            outcome = self.shared.poison_on_error(writer.checkpoint(&self.shared, true));
        }
        if outcome.is_ok() && writer.log_bytes() > limit {
            outcome = Err(self.log_full(writer.log_bytes()));
        }
        if let Err(error) = outcome {
            self.shared.give_writer_back(writer);
            return Err(error);
        }
        Ok(Transaction::new(Arc::clone(&self.shared), writer))
    }

    /// The error for a log that exceeds its limit right after a checkpoint, because an old commit is being read.
    fn log_full(&self, log_bytes: u64) -> Error {
        let shared = &self.shared;
        let here = shared.current().readers.keys().next().copied();
        let elsewhere = super::readers::oldest(&*shared.storage, &shared.name).ok().flatten();
        let reader = match (here, elsewhere) {
            (Some(here), elsewhere) if elsewhere.is_none_or(|elsewhere| here <= elsewhere) => {
                format!("a snapshot of commit {here}, which this process holds,")
            }
            (_, Some(elsewhere)) => format!("another process, which reads commit {elsewhere},"),
            _ => "a snapshot that has gone meanwhile".to_owned(),
        };
        let limit = shared.options.log_limit_bytes;
        Error::log_full(shared.store.path.clone(), log_bytes, limit, &reader)
    }

    /// Makes a checkpoint: copies all pages not delayed by a snapshot to the page file, and truncates the log. Waits
    /// for a running transaction.
    ///
    /// # Errors
    /// As for [`Self::begin`], except [`Cause::LogFull`](crate::Cause::LogFull).
    pub fn checkpoint(&self) -> Result<()> {
        self.with_writer(|writer, shared| writer.checkpoint(shared, true))
    }

    /// Syncs all commits to storage, including those made with weaker durability. Waits for a running transaction.
    ///
    /// # Errors
    /// As for [`Self::checkpoint`].
    pub fn sync(&self) -> Result<()> {
        self.with_writer(|writer, _| writer.sync())
    }

    /// Makes a final checkpoint, as dropping the file does, and reports its outcome. Afterwards, other clones and
    /// transactions fail.
    ///
    /// # Errors
    /// As for [`Self::checkpoint`].
    pub fn close(self) -> Result<()> {
        if self.shared.file.is_none() {
            return Ok(());
        }
        let outcome = self.checkpoint();
        self.shared.closed.store(true, Ordering::Release);
        self.shared.poisoned.store(true, Ordering::Release);
        outcome
    }

    /// Whether the name still leads to the file that is open: it was not removed, renamed or replaced.
    pub fn is_in_place(&self) -> bool {
        self.shared.is_in_place()
    }

    /// Returns counters of the file.
    pub fn statistics(&self) -> PageStatistics {
        let (shared, counters) = (&self.shared, &self.shared.counters);
        let get = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        PageStatistics {
            page_bytes: shared.store.page_bytes as u64,
            pages: get(&counters.page_count),
            free_pages: get(&counters.free_pages),
            map_pages: get(&counters.map_pages),
            file_bytes: shared.store.file.len(),
            log_bytes: get(&counters.log_bytes),
            sequence: shared.current().sequence,
            checkpointed: get(&counters.checkpointed),
            commits: get(&counters.commits),
            checkpoints: get(&counters.checkpoints),
            log_bytes_written: get(&counters.log_bytes_written),
            images_logged: get(&counters.images_logged),
            changes_logged: get(&counters.changes_logged),
            pages_written: get(&counters.pages_written),
            log_map_bytes: shared.log_map().held_bytes(),
        }
    }

    pub(super) fn with_writer<T>(&self, work: impl FnOnce(&mut PageWriter, &PageFileShared) -> Result<T>) -> Result<T> {
        let mut writer = self.take_writer()?;
        let outcome = self.shared.poison_on_error(work(&mut writer, &self.shared));
        self.shared.give_writer_back(writer);
        outcome
    }

    /// Waits for the writer and takes it.
    fn take_writer(&self) -> Result<Box<PageWriter>> {
        if self.shared.file.is_none() {
            let path = self.shared.store.path.display();
            return Err(Error::input(format!("{path} is open read-only; open it for writing")));
        }
        let mut slot = self.shared.writer.lock();
        loop {
            self.shared.check_poison()?;
            match slot.take() {
                Some(writer) => return Ok(writer),
                None => slot = self.shared.writer_is_back.wait(&self.shared.writer, slot),
            }
        }
    }
}

impl PageFileShared {
    fn first_segment(&self) -> u32 {
        let writer = self.writer.lock();
        writer.as_ref().map_or(0, |writer| writer.header.first_segment)
    }
}

/// The segments after the last checkpoint, open for reading.
pub(super) fn live_segments(storage: &dyn Storage, name: &str, header: &Header) -> Result<Vec<FoundSegment>> {
    let mut found = Vec::new();
    for number in segment_numbers(storage, name)?.into_iter().filter(|&number| number >= header.first_segment) {
        match storage.open(&segment_name(name, number)) {
            // Like a missing one.
            Err(error) if is_of_no_file(storage, &error) => {}
            file => found.push(FoundSegment { number, file: file? }),
        }
    }
    Ok(found)
}

/// Writes a file without pages under a temporary name, and renames it.
fn write_new(storage: &dyn Storage, name: &str, options: &PageOptions, user: &[u8]) -> Result<()> {
    let temporary = new_name(name);
    if storage.exists(&temporary)? {
        storage.remove(&temporary)?;
    }
    let file = storage.create_update(&temporary)?;
    let first = Header {
        page_bytes: options.page_bytes,
        file_id: random_u64(),
        turn: 0,
        sequence: 0,
        epoch: 0,
        first_segment: 1,
        last_segment: SegmentId::default(),
        page_count: header::first_page(options.page_bytes),
        directory: (0, 0),
        state: Vec::new(),
        user: user.to_vec(),
    };
    first.write_slot(&*file)?;
    Header { turn: 1, ..first }.write_slot(&*file)?;
    // A file of large pages has a whole number of them.
    file.set_len((header::first_page(options.page_bytes) as usize * options.page_bytes) as u64)?;
    file.sync()?;
    drop(file);
    storage.rename(&temporary, name)?;
    storage.sync_directory()
}

pub(super) fn store(file: Arc<dyn ReadableFile>, header: &Header) -> PageStore {
    let path = file.path().to_path_buf();
    PageStore { file, file_id: header.file_id, page_bytes: header.page_bytes, path }
}

/// The state of a file that is being opened.
pub(super) struct OpenedPageFile<'a> {
    pub(super) storage: &'a Arc<dyn Storage>,
    pub(super) name: &'a str,
    pub(super) options: &'a PageOptions,
    pub(super) header: Header,
    pub(super) store: PageStore,
    pub(super) recovery: Recovery,
    /// Whether the header differs from that in the file.
    pub(super) is_assumed: bool,
}

impl OpenedPageFile<'_> {
    pub(super) fn share(
        self,
        writing: Option<(Arc<dyn UpdatableFile>, PageWriter)>,
        lock: Option<Box<dyn FileLock>>,
        registration: Option<ReaderRegistration>,
    ) -> Arc<PageFileShared> {
        let (header, recovery) = (self.header, self.recovery);
        let assumed = self.is_assumed.then(|| header.clone());
        let options = PageOptions { page_bytes: header.page_bytes, ..self.options.clone() };
        let (file, writer) = writing.unzip();
        let current = CurrentCommit {
            sequence: recovery.sequence,
            state: recovery.state.into(),
            page_count: recovery.page_count,
            readers: BTreeMap::new(),
        };
        let telemetry = PageTelemetry::register(&self.store.path);
        lock.iter().for_each(|lock| lock.guard_folder());
        let shared = PageFileShared {
            storage: Arc::clone(self.storage),
            name: self.name.to_owned(),
            pool: PagePool::new(&options, header.page_bytes),
            options,
            store: self.store,
            file,
            assumed,
            user_header: header.user,
            first_page: header::first_page(header.page_bytes),
            current: Mutex::new(current),
            log_map: RwLock::new(recovery.log_map),
            epochs: recovery.epochs.map(RwLock::new),
            telemetry,
            counters: PageCounters::default(),
            writer: Mutex::new(None),
            writer_is_back: Condvar::default(),
            poisoned: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            known_epoch: registration.is_none().then_some(recovery.epoch).filter(|_| lock.is_none()),
            lock,
            _registration: registration,
        };
        let shared = Arc::new(shared);
        shared.counters.page_count.store(u64::from(recovery.page_count), Ordering::Relaxed);
        shared.counters.checkpointed.store(header.sequence, Ordering::Relaxed);
        if let Some(writer) = writer {
            shared.give_writer_back(Box::new(writer));
        }
        shared
    }
}
