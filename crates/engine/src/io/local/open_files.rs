//! A budget of file handles: an idle file that is open for reading is closed to make room, and reopened at its next
//! read.
//!
//! ```text
//! reader of a file -> Slot: is its file open? --yes--> read
//!                                |no
//!                                v
//!                  Pool: is there room? --no--> close the file that was read the longest ago
//!                                |
//!                                v
//!                  open by name, check that it is the same file, read
//! ```
//!
//! A process that may have 1,024 files open can then read a store of 10,000 tables. A reader keeps reading the file
//! that it opened, whatever happens to the name:
//!
//! * A file is closed only while its name leads to it. Before this process removes a name or gives it to another file,
//!   readers of the current file get a permanent handle.
//! * A reopened file must have the same device, inode and creation time as before (where the file system has no
//!   creation time: the same length and modification time); otherwise another process has given the name away, and the
//!   read fails with [`Cause::FileReplaced`].
//! * Files being written stay open, and so do all files on systems without numbers that identify files.

use super::direct;
use crate::error::{Cause, Error, Result, is_too_many_open_files};
use crate::io::meter::telemetry::OpenFileTelemetry;
use arc_swap::ArcSwapOption;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockWriteGuard, TryLockError, TryLockResult, Weak,
};
use std::time::SystemTime;

/// Unless a limit is set, the engine's files take at most the process' soft limit divided by this.
const LIMIT_DIVISOR: usize = 2;

/// Smallest limit.
const LIMIT_FILES_MIN: usize = 8;

/// Number of files that may be open for reading, however many are open for writing.
const CACHED_FILES_MIN: usize = 4;

/// If the system has no handle left: number of files closed before a retry, and number of retries.
const CLOSE_BATCH_FILES: usize = 8;
const OPEN_ATTEMPTS_MAX: usize = 16;

/// The number of open files of a storage, and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenFiles {
    /// Limit at which files are closed.
    pub limit: usize,
    /// Files currently open.
    pub open: usize,
    /// Largest number of files open at the same time.
    pub open_max: usize,
    /// Number of files reopened after they were closed to make room.
    pub reopened: u64,
}

/// A budget of handles shared by several files.
#[derive(Debug)]
pub(in crate::io) struct HandlePool {
    /// `None`: a share of the process' limit.
    limit: Option<usize>,
    open: AtomicUsize,
    open_max: AtomicUsize,
    reopened: AtomicU64,
    telemetry: OpenFileTelemetry,
    /// Open files that may be closed, in the order of inspection.
    queue: Mutex<VecDeque<Weak<ReadHandle>>>,
}

/// Files open for reading, by device and inode.
static SLOTS: Mutex<BTreeMap<FileKey, Vec<Weak<ReadHandle>>>> = Mutex::new(BTreeMap::new());

/// All pools: the process has a single budget of handles.
static POOLS: Mutex<Vec<Weak<HandlePool>>> = Mutex::new(Vec::new());

/// Locked for writing while a name is removed or replaced: no file is closed meanwhile.
static NAME_CHANGES: RwLock<()> = RwLock::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The guard of an uncontended lock.
fn tried<G>(attempt: TryLockResult<G>) -> Option<G> {
    match attempt {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl HandlePool {
    /// Creates a separate pool with a limit of at least [`LIMIT_FILES_MIN`].
    pub(in crate::io) fn new(limit: Option<usize>) -> Arc<Self> {
        let limit = limit.map(|limit| limit.max(LIMIT_FILES_MIN));
        let pool = Arc::new(Self {
            limit,
            open: AtomicUsize::new(0),
            open_max: AtomicUsize::new(0),
            reopened: AtomicU64::new(0),
            telemetry: OpenFileTelemetry::register(limit.unwrap_or_else(limit_of_process)),
            queue: Mutex::default(),
        });
        let mut pools = lock(&POOLS);
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(&pool));
        pool
    }

    /// The pool of all storages without a limit of their own.
    pub(in crate::io) fn shared() -> Arc<Self> {
        static SHARED: OnceLock<Arc<HandlePool>> = OnceLock::new();
        Arc::clone(SHARED.get_or_init(|| Self::new(None)))
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or_else(limit_of_process)
    }

    pub(in crate::io) fn counts(&self) -> OpenFiles {
        OpenFiles {
            limit: self.limit(),
            open: self.open.load(Ordering::Relaxed),
            open_max: self.open_max.load(Ordering::Relaxed),
            reopened: self.reopened.load(Ordering::Relaxed),
        }
    }

    /// Opens a file that counts as open while the ticket is held; closes others first if there is no room.
    pub(in crate::io) fn open<T>(
        self: &Arc<Self>,
        open: impl FnMut() -> io::Result<T>,
    ) -> io::Result<(T, HandleTicket)> {
        while self.open.load(Ordering::Relaxed) >= self.limit() && self.cached() > CACHED_FILES_MIN && self.close_one()
        {
        }
        // Counted before it is opened, so that threads that open files concurrently see each other.
        let ticket = HandleTicket::new(self);
        Ok((with_room(open)?, ticket))
    }

    fn cached(&self) -> usize {
        lock(&self.queue).len()
    }

    /// Closes the file that was not read for the longest time; `false` if none can be closed.
    fn close_one(&self) -> bool {
        loop {
            match self.try_close_one() {
                Some(is_closed) => return is_closed,
                // No lock of the pool is held here, and a thread that changes a name needs no handle, so it goes on.
                None => drop(NAME_CHANGES.read().unwrap_or_else(PoisonError::into_inner)),
            }
        }
    }

    /// Closes some idle files; `false` if there are none.
    pub(in crate::io) fn close_some(&self) -> bool {
        (0..CLOSE_BATCH_FILES).take_while(|_| self.close_one()).count() > 0
    }

    /// As [`Self::close_one`]; `None` if a name is being changed, so that nothing can be closed now.
    fn try_close_one(&self) -> Option<bool> {
        let mut queue = lock(&self.queue);
        // Files read since the last inspection are passed over once.
        for _ in 0..2 * queue.len() {
            let Some(weak) = queue.pop_front() else { break };
            let Some(slot) = weak.upgrade() else { continue };
            match slot.close() {
                CloseOutcome::Closed => return Some(true),
                CloseOutcome::Later => queue.push_back(weak),
                CloseOutcome::Blocked => {
                    queue.push_front(weak);
                    return None;
                }
                CloseOutcome::Never => {}
            }
        }
        Some(false)
    }

    fn enqueue(&self, slot: &Arc<ReadHandle>) {
        let mut queue = lock(&self.queue);
        if queue.len() > 2 * self.open.load(Ordering::Relaxed) + LIMIT_FILES_MIN {
            queue.retain(|slot| slot.strong_count() > 0);
        }
        queue.push_back(Arc::downgrade(slot));
    }
}

/// The process' soft limit for open files.
fn soft_limit() -> usize {
    #[cfg(unix)]
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let limit = None;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The share of the process' limit that all pools without a limit of their own have together.
fn limit_of_process() -> usize {
    (soft_limit() / LIMIT_DIVISOR).max(LIMIT_FILES_MIN)
}

/// Runs an operation that needs a handle; if the system has none left, closes idle files and retries. Must not be
/// called while files are kept from being closed.
pub(in crate::io) fn with_room<T>(work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    with_room_made_by(close_some, work)
}

/// As [`with_room`]; `close` closes idle files, and returns `false` if there are none.
pub(in crate::io) fn with_room_made_by<T>(
    close: impl Fn() -> bool,
    mut work: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    for _ in 1..OPEN_ATTEMPTS_MAX {
        match work() {
            Err(error) if is_too_many_open_files(&error) => {
                if !close() {
                    // Files being read by other threads become available soon.
                    std::thread::yield_now();
                }
            }
            outcome => return outcome,
        }
    }
    work()
}

/// Closes some idle files of any pool; `false` if there are none.
fn close_some() -> bool {
    let pools: Vec<_> = lock(&POOLS).iter().filter_map(Weak::upgrade).collect();
    pools.iter().filter(|pool| pool.close_some()).count() > 0
}

/// Counts a file as open until dropped.
#[derive(Debug)]
pub(in crate::io) struct HandleTicket(Arc<HandlePool>);

impl HandleTicket {
    fn new(pool: &Arc<HandlePool>) -> Self {
        let open = pool.open.fetch_add(1, Ordering::Relaxed) + 1;
        pool.open_max.fetch_max(open, Ordering::Relaxed);
        pool.telemetry.open.change(1.0);
        Self(Arc::clone(pool))
    }
}

impl Drop for HandleTicket {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        self.0.telemetry.open.change(-1.0);
    }
}

/// Device and inode.
pub(in crate::io) type FileKey = (u64, u64);

/// Device and inode of a file or folder, on systems that have them.
pub(in crate::io) fn key_of(metadata: &Metadata) -> Option<FileKey> {
    FileIdentity::of(metadata).map(|identity| identity.key)
}

/// Whether a path still leads to the file or folder of a key. A handle of it is open, so that no other has its key.
pub(in crate::io) fn leads_to(place: &Path, key: FileKey) -> bool {
    match fs::metadata(place) {
        Ok(found) => key_of(&found).is_none_or(|found| found == key),
        // Other errors say nothing about the file.
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// The identity of a file, to recognise another file under the same name.
#[derive(Clone, Copy, Debug)]
struct FileIdentity {
    key: FileKey,
    born: Option<SystemTime>,
    modified: Option<SystemTime>,
    length_bytes: u64,
}

impl FileIdentity {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self {
            key: (metadata.dev(), metadata.ino()),
            born: metadata.created().ok(),
            modified: metadata.modified().ok(),
            length_bytes: metadata.len(),
        })
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Option<Self> {
        None
    }

    /// Whether both identify the same file. The inodes of removed files are reused, so they are not sufficient.
    fn is(&self, other: &Self) -> bool {
        let is_same = match (self.born, other.born) {
            (Some(one), Some(other)) => one == other,
            _ => self.modified == other.modified && self.length_bytes == other.length_bytes,
        };
        self.key == other.key && is_same
    }
}

/// An open file.
#[derive(Debug)]
pub(in crate::io) struct OpenFile {
    pub(in crate::io) file: File,
    /// Alignment of offsets, lengths and addresses, if the file bypasses the page cache.
    pub(in crate::io) alignment: Option<usize>,
    _ticket: HandleTicket,
}

/// The access mode of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) enum OpenMode {
    /// For reading.
    Read,
    /// For reading and in-place writing.
    Update,
    /// As `Update`, for a file that must not exist yet.
    Create,
}

/// A file open for reading, whether it currently has a handle or not.
#[derive(Debug)]
pub(in crate::io) struct ReadHandle {
    pool: Arc<HandlePool>,
    path: PathBuf,
    /// The absolute path, independent of the working directory.
    place: PathBuf,
    identity: Option<FileIdentity>,
    /// Whether the file bypasses the page cache.
    direct: AtomicBool,
    handle: ArcSwapOption<OpenFile>,
    state: Mutex<HandleState>,
    /// Whether the file was read since the pool last inspected it.
    used: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
struct HandleState {
    /// Whether the file is open for writing, too.
    writes: bool,
    /// Whether the file stays open.
    stays: bool,
}

/// The outcome of an attempt to close a file.
enum CloseOutcome {
    Closed,
    /// It is in use.
    Later,
    /// Another thread changes a name.
    Blocked,
    /// It stays open permanently.
    Never,
}

impl ReadHandle {
    /// Whether the name still leads to the file.
    pub(in crate::io) fn is_in_place(&self) -> bool {
        let Some(identity) = self.identity else { return true };
        match fs::metadata(&self.place) {
            Ok(found) => {
                FileIdentity::of(&found).is_none_or(|found| identity.key == found.key && identity.born == found.born)
            }
            Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        }
    }

    /// Opens or creates a file; a writable one stays open until [`Self::finish_writes`].
    pub(in crate::io) fn open(
        pool: &Arc<HandlePool>,
        (path, place): (&Path, &Path),
        direct: bool,
        mode: OpenMode,
    ) -> io::Result<(Arc<Self>, Metadata)> {
        let ((file, alignment), ticket) = pool.open(|| match mode {
            OpenMode::Create => create_file(place, direct),
            _ => open_file(place, direct, mode == OpenMode::Update),
        })?;
        let writes = mode != OpenMode::Read;
        let metadata = file.metadata()?;
        check_file(&metadata)?;
        let identity = FileIdentity::of(&metadata);
        let stays = writes || identity.is_none();
        let slot = Arc::new(Self {
            pool: Arc::clone(pool),
            path: path.to_path_buf(),
            place: std::path::absolute(place).unwrap_or_else(|_| place.to_path_buf()),
            identity,
            direct: AtomicBool::new(alignment.is_some()),
            handle: ArcSwapOption::from_pointee(OpenFile { file, alignment, _ticket: ticket }),
            state: Mutex::new(HandleState { writes, stays }),
            used: AtomicBool::new(false),
        });
        if let Some(identity) = identity {
            lock(&SLOTS).entry(identity.key).or_default().push(Arc::downgrade(&slot));
        }
        if !stays {
            pool.enqueue(&slot);
        }
        Ok((slot, metadata))
    }

    /// Whether reads bypass the page cache.
    pub(in crate::io) fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// Switches to the page cache permanently: some file systems accept the flag when a file is opened and refuse it
    /// when the file is used.
    pub(in crate::io) fn stop_direct(&self, open: &OpenFile) -> io::Result<()> {
        direct::stop(&open.file)?;
        self.direct.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Runs an operation on the file, which is reopened first if necessary.
    ///
    /// # Errors
    /// The error of `work`, as a failed `action`; [`Cause::FileReplaced`]; [`Cause::Io`] if the file cannot be opened.
    #[inline]
    pub(in crate::io) fn with<T>(
        self: &Arc<Self>,
        action: &'static str,
        work: impl FnOnce(&OpenFile) -> io::Result<T>,
    ) -> Result<T> {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        let handle = self.handle.load();
        let done = match &*handle {
            Some(open) => work(open),
            None => {
                drop(handle);
                work(&*self.open_again()?)
            }
        };
        done.map_err(|source| Error::io(action, &self.path, source))
    }

    #[cold]
    fn open_again(self: &Arc<Self>) -> Result<Arc<OpenFile>> {
        let state = lock(&self.state);
        if let Some(open) = self.handle.load_full() {
            return Ok(open);
        }
        let open = self.open_by_name(*state)?;
        let stays = state.stays;
        drop(state);
        if !stays {
            self.pool.enqueue(self);
        }
        Ok(open)
    }

    /// Reopens the closed file; the caller holds the state.
    fn open_by_name(&self, state: HandleState) -> Result<Arc<OpenFile>> {
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::NotFound => self.replaced("its name is gone"),
            _ => Error::io("open", &self.path, source),
        };
        let open = || open_file(&self.place, self.is_direct(), state.writes);
        let ((file, alignment), ticket) = self.pool.open(open).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        check_file(&metadata).map_err(failed)?;
        let found = FileIdentity::of(&metadata);
        if !self.identity.zip(found).is_some_and(|(one, other)| one.is(&other)) {
            return Err(self.replaced("another file has its name"));
        }
        if alignment.is_none() {
            self.direct.store(false, Ordering::Relaxed);
        }
        let open = Arc::new(OpenFile { file, alignment, _ticket: ticket });
        self.handle.store(Some(Arc::clone(&open)));
        self.pool.reopened.fetch_add(1, Ordering::Relaxed);
        self.pool.telemetry.reopened.add(1);
        Ok(open)
    }

    fn replaced(&self, detail: &'static str) -> Error {
        Error::file_replaced(self.path.clone(), detail)
    }

    /// Allows the file to be closed, after its last write.
    pub(in crate::io) fn finish_writes(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        state.writes = false;
        if !std::mem::replace(&mut state.stays, self.identity.is_none()) || state.stays {
            return;
        }
        drop(state);
        self.pool.enqueue(self);
    }

    /// Keeps the file open permanently: its name will no longer lead to it.
    fn stay(&self) -> Result<()> {
        let mut state = lock(&self.state);
        if !state.stays && self.handle.load().is_none() {
            match self.open_by_name(*state) {
                // Its name was given away earlier, so nothing is lost.
                Ok(_) | Err(Error { cause: Cause::FileReplaced, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        state.stays = true;
        Ok(())
    }

    /// Whether the file is known to stay open.
    fn stays(&self) -> bool {
        tried(self.state.try_lock()).is_some_and(|state| state.stays)
    }

    /// Closes the file, unless it was read recently, its name leads elsewhere, or a name is being changed.
    fn close(&self) -> CloseOutcome {
        if self.used.swap(false, Ordering::Relaxed) {
            return CloseOutcome::Later;
        }
        let Some(mut state) = tried(self.state.try_lock()) else { return CloseOutcome::Later };
        if state.stays {
            return CloseOutcome::Never;
        }
        let Some(_calm) = tried(NAME_CHANGES.try_read()) else { return CloseOutcome::Blocked };
        let named = fs::metadata(&self.place).map(|metadata| FileIdentity::of(&metadata));
        match named {
            Ok(Some(named)) if self.identity.is_some_and(|identity| identity.is(&named)) => {
                self.handle.store(None);
                CloseOutcome::Closed
            }
            Err(error) if error.kind() != ErrorKind::NotFound => CloseOutcome::Later,
            _ => {
                state.stays = true;
                CloseOutcome::Never
            }
        }
    }
}

impl Drop for ReadHandle {
    fn drop(&mut self) {
        let Some(identity) = self.identity else { return };
        let mut slots = lock(&SLOTS);
        if let Some(same) = slots.get_mut(&identity.key) {
            same.retain(|slot| slot.strong_count() > 0);
            if same.is_empty() {
                slots.remove(&identity.key);
            }
        }
    }
}

fn open_file(path: &Path, direct: bool, writes: bool) -> io::Result<(File, Option<usize>)> {
    if direct && let Some((file, alignment)) = direct::open(path, writes)? {
        return Ok((file, Some(alignment)));
    }
    Ok((open_at_once(path, writes, 0)?, None))
}

/// Opens what is there without waiting, as a pipe would until it had a writer. Reads and writes of files are not
/// affected.
#[cfg(unix)]
pub(in crate::io) fn open_at_once(path: &Path, writes: bool, flags: i32) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let open = |flags: i32| OpenOptions::new().read(true).write(writes).custom_flags(flags).open(path);
    match open(flags | rustix::fs::OFlags::NONBLOCK.bits() as i32) {
        // Another process has a lease on the file, which it gives up when it is asked to.
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            check_file(&fs::metadata(path)?)?;
            open(flags)
        }
        opened => opened,
    }
}

#[cfg(not(unix))]
fn open_at_once(path: &Path, writes: bool, _: i32) -> io::Result<File> {
    OpenOptions::new().read(true).write(writes).open(path)
}

/// Refuses what has no content to read and write at an offset: folders, pipes, devices.
fn check_file(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::NotSeekable, "it is a pipe or a device, not a file")),
    }
}

/// Creates a file with one permanent handle; on failure no file is left.
fn create_file(path: &Path, direct: bool) -> io::Result<(File, Option<usize>)> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    if direct {
        // Not in one step: if the flag is refused, the file may have been created anyway.
        match direct::open(path, true) {
            Ok(Some((file, alignment))) => return Ok((file, Some(alignment))),
            Ok(None) => {}
            Err(error) => {
                drop(file);
                // The first error says more.
                _ = fs::remove_file(path);
                return Err(error);
            }
        }
    }
    Ok((file, None))
}

/// Keeps files with these paths open that are being read; no other file is closed until the guard is dropped. Must be
/// called before a name is removed or given to another file.
///
/// # Errors
/// [`Cause::Io`] if a closed file cannot be reopened.
pub(in crate::io) fn keep_readers_of(paths: &[&Path]) -> Result<RwLockWriteGuard<'static, ()>> {
    loop {
        // Opening them may require room, so it is done before closing is blocked.
        readers_of(paths).iter().try_for_each(|slot| slot.stay())?;
        let guard = NAME_CHANGES.write().unwrap_or_else(PoisonError::into_inner);
        if readers_of(paths).iter().all(|slot| slot.stays()) {
            return Ok(guard);
        }
        drop(guard);
        std::thread::yield_now();
    }
}

/// The readers of these paths. A path that cannot be inspected fails in the caller's next operation on it.
fn readers_of(paths: &[&Path]) -> Vec<Arc<ReadHandle>> {
    if lock(&SLOTS).is_empty() {
        return Vec::new();
    }
    let found = paths.iter().filter_map(|path| FileIdentity::of(&fs::metadata(path).ok()?));
    let keys: Vec<FileKey> = found.map(|identity| identity.key).collect();
    let slots = lock(&SLOTS);
    keys.iter().filter_map(|key| slots.get(key)).flatten().filter_map(Weak::upgrade).collect()
}
