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
//! A process that may have 1,024 files open can so read a store of 10,000 tables. A reader goes on to read the file that it was opened on,
//! whatever becomes of the name:
//!
//! * A file is closed only while its name leads to it. Before this process removes a name, or gives it to another file, whoever reads the
//!   file that has it gets a handle for good.
//! * A file that is opened again must have the device, the inode and the time of creation of the one before (where the file system tells no
//!   time of creation: the length and the time of modification); else the name was given away by another process, and the read is
//!   [`Error::FileReplaced`].
//! * Files that are being written stay open, and so does every file where the system has no numbers that tell files apart.

use super::direct;
use crate::error::{Error, Result, is_too_many_open_files};
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

/// Files of the engine take at most the process' soft limit divided by this, unless a limit was set.
const LIMIT_DIVISOR: usize = 2;

/// A limit is not smaller than this.
const LIMIT_FILES_MIN: usize = 8;

/// So many files may be open to be read, however many are open to be written.
const CACHED_FILES_MIN: usize = 4;

/// Where the system has no handle left, so many files are closed before it is asked again, and it is asked so often.
const CLOSE_BATCH_FILES: usize = 8;
const OPEN_ATTEMPTS_MAX: usize = 16;

/// How many files a storage has open, and may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenFiles {
    /// Files are closed while so many are open.
    pub limit: usize,
    /// Files that are open now.
    pub open: usize,
    /// Most files that were open at once.
    pub open_max: usize,
    /// How often a file was opened again after it had been closed to make room.
    pub reopened: u64,
}

/// A number of handles that files share.
#[derive(Debug)]
pub(super) struct HandlePool {
    /// `None`: a share of what the process may have.
    limit: Option<usize>,
    open: AtomicUsize,
    open_max: AtomicUsize,
    reopened: AtomicU64,
    /// Files that are open and may be closed; the next one to be looked at first.
    queue: Mutex<VecDeque<Weak<ReadHandle>>>,
}

/// Files that are read, by device and inode.
static SLOTS: Mutex<BTreeMap<FileKey, Vec<Weak<ReadHandle>>>> = Mutex::new(BTreeMap::new());

/// All pools there are: the process has one number of handles.
static POOLS: Mutex<Vec<Weak<HandlePool>>> = Mutex::new(Vec::new());

/// Held for writing while a name is taken from a file: no file is closed meanwhile.
static NAME_CHANGES: RwLock<()> = RwLock::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The guard of a lock that nobody else holds.
fn tried<G>(attempt: TryLockResult<G>) -> Option<G> {
    match attempt {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl HandlePool {
    /// A pool of its own; at least [`LIMIT_FILES_MIN`].
    pub(super) fn new(limit: Option<usize>) -> Arc<Self> {
        let pool = Arc::new(Self {
            limit: limit.map(|limit| limit.max(LIMIT_FILES_MIN)),
            open: AtomicUsize::new(0),
            open_max: AtomicUsize::new(0),
            reopened: AtomicU64::new(0),
            queue: Mutex::default(),
        });
        let mut pools = lock(&POOLS);
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(&pool));
        pool
    }

    /// The pool of all storages that were given no limit.
    pub(super) fn shared() -> Arc<Self> {
        static SHARED: OnceLock<Arc<HandlePool>> = OnceLock::new();
        Arc::clone(SHARED.get_or_init(|| Self::new(None)))
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or_else(|| (soft_limit() / LIMIT_DIVISOR).max(LIMIT_FILES_MIN))
    }

    pub(super) fn counts(&self) -> OpenFiles {
        OpenFiles {
            limit: self.limit(),
            open: self.open.load(Ordering::Relaxed),
            open_max: self.open_max.load(Ordering::Relaxed),
            reopened: self.reopened.load(Ordering::Relaxed),
        }
    }

    /// Opens a file that counts for as long as the ticket is held; closes others first where there is no room.
    pub(super) fn open<T>(self: &Arc<Self>, open: impl FnMut() -> io::Result<T>) -> io::Result<(T, HandleTicket)> {
        while self.open.load(Ordering::Relaxed) >= self.limit() && self.cached() > CACHED_FILES_MIN && self.close_one()
        {
        }
        // Counted before it is opened, so that threads that open files at once see each other.
        let ticket = HandleTicket::new(self);
        Ok((with_room(open)?, ticket))
    }

    fn cached(&self) -> usize {
        lock(&self.queue).len()
    }

    /// Closes the file that has not been read for long; `false` where none can be closed.
    fn close_one(&self) -> bool {
        let mut queue = lock(&self.queue);
        // Each is passed over once where it has been read since it was last looked at.
        for _ in 0..2 * queue.len() {
            let Some(weak) = queue.pop_front() else { break };
            let Some(slot) = weak.upgrade() else { continue };
            match slot.close() {
                CloseOutcome::Closed => return true,
                CloseOutcome::Later => queue.push_back(weak),
                CloseOutcome::Never => {}
            }
        }
        false
    }

    fn enqueue(&self, slot: &Arc<ReadHandle>) {
        let mut queue = lock(&self.queue);
        if queue.len() > 2 * self.open.load(Ordering::Relaxed) + LIMIT_FILES_MIN {
            queue.retain(|slot| slot.strong_count() > 0);
        }
        queue.push_back(Arc::downgrade(slot));
    }
}

/// What the process may have open at once.
fn soft_limit() -> usize {
    #[cfg(unix)]
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let limit = None;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// Does what takes a handle; where the system has none left, closes files that nobody reads and tries again. Not for those who keep files
/// from being closed.
pub(super) fn with_room<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..OPEN_ATTEMPTS_MAX {
        match work() {
            Err(error) if is_too_many_open_files(&error) => {
                if !close_some() {
                    // Those that others read right now, or keep open for a moment, are given back soon.
                    drop(NAME_CHANGES.read());
                    std::thread::yield_now();
                }
            }
            outcome => return outcome,
        }
    }
    work()
}

/// Closes some files that nobody reads, of any pool; `false` where there are none.
fn close_some() -> bool {
    let pools: Vec<_> = lock(&POOLS).iter().filter_map(Weak::upgrade).collect();
    let closed = pools.iter().map(|pool| (0..CLOSE_BATCH_FILES).take_while(|_| pool.close_one()).count());
    closed.sum::<usize>() > 0
}

/// A file that counts as open.
#[derive(Debug)]
pub(super) struct HandleTicket(Arc<HandlePool>);

impl HandleTicket {
    fn new(pool: &Arc<HandlePool>) -> Self {
        let open = pool.open.fetch_add(1, Ordering::Relaxed) + 1;
        pool.open_max.fetch_max(open, Ordering::Relaxed);
        Self(Arc::clone(pool))
    }
}

impl Drop for HandleTicket {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Device and inode.
type FileKey = (u64, u64);

/// What tells a file from another that has its name later.
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

    /// Whether both are of one file. Inodes of removed files are given away again, so they say too little.
    fn is(&self, other: &Self) -> bool {
        let is_same = match (self.born, other.born) {
            (Some(one), Some(other)) => one == other,
            _ => self.modified == other.modified && self.length_bytes == other.length_bytes,
        };
        self.key == other.key && is_same
    }
}

/// A file that is open.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: File,
    /// What its offsets, lengths and addresses are multiples of, where it is reached past the page cache.
    pub(super) alignment: Option<usize>,
    _ticket: HandleTicket,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// To be read.
    Read,
    /// To be read, and written in place.
    Update,
    /// The same; it is not to be there yet.
    Create,
}

/// A file that is read, open or not.
#[derive(Debug)]
pub(super) struct ReadHandle {
    pool: Arc<HandlePool>,
    path: PathBuf,
    /// The path, whatever the working directory is later.
    place: PathBuf,
    identity: Option<FileIdentity>,
    /// Whether it is to be reached past the page cache.
    direct: AtomicBool,
    handle: ArcSwapOption<OpenFile>,
    state: Mutex<HandleState>,
    /// Whether it was read since the pool last looked at it.
    used: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
struct HandleState {
    /// Whether it is open for writing, too.
    writes: bool,
    /// Whether it stays open.
    stays: bool,
}

/// What became of a file that was to be closed.
enum CloseOutcome {
    Closed,
    /// Somebody needs it now.
    Later,
    /// It stays open for good.
    Never,
}

impl ReadHandle {
    /// Opens a file, or makes it; one that is to be written stays open until [`Self::finish_writes`].
    pub(super) fn open(
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
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
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

    /// Whether reads reach the device.
    pub(super) fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// Goes on through the page cache, for good: some file systems accept the flag when a file is opened and refuse it when
    /// it is used.
    pub(super) fn stop_direct(&self, open: &OpenFile) -> io::Result<()> {
        direct::stop(&open.file)?;
        self.direct.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Does something with the file, which is opened first where it is not open.
    ///
    /// # Errors
    /// What `work` returns, as a failed `action`; [`Error::FileReplaced`]; [`Error::Io`] where it cannot be opened.
    #[inline]
    pub(super) fn with<T>(
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

    /// Opens the file, which is closed; the caller holds the state.
    fn open_by_name(&self, state: HandleState) -> Result<Arc<OpenFile>> {
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::NotFound => self.replaced("its name is gone"),
            _ => Error::io("open", &self.path, source),
        };
        let open = || open_file(&self.place, self.is_direct(), state.writes);
        let ((file, alignment), ticket) = self.pool.open(open).map_err(failed)?;
        let found = FileIdentity::of(&file.metadata().map_err(failed)?);
        if !self.identity.zip(found).is_some_and(|(one, other)| one.is(&other)) {
            return Err(self.replaced("another file has its name"));
        }
        if alignment.is_none() {
            self.direct.store(false, Ordering::Relaxed);
        }
        let open = Arc::new(OpenFile { file, alignment, _ticket: ticket });
        self.handle.store(Some(Arc::clone(&open)));
        self.pool.reopened.fetch_add(1, Ordering::Relaxed);
        Ok(open)
    }

    fn replaced(&self, detail: &'static str) -> Error {
        Error::FileReplaced { path: self.path.clone(), detail }
    }

    /// Lets the file be closed, which is written no more.
    pub(super) fn finish_writes(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        state.writes = false;
        if !std::mem::replace(&mut state.stays, self.identity.is_none()) || state.stays {
            return;
        }
        drop(state);
        self.pool.enqueue(self);
    }

    /// Keeps the file open from now on: its name will lead to it no more.
    fn stay(&self) -> Result<()> {
        let mut state = lock(&self.state);
        if !state.stays && self.handle.load().is_none() {
            match self.open_by_name(*state) {
                // Its name was given away before: this is no loss.
                Ok(_) | Err(Error::FileReplaced { .. }) => {}
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

    /// Closes the file, unless it was read lately or its name leads elsewhere.
    fn close(&self) -> CloseOutcome {
        if self.used.swap(false, Ordering::Relaxed) {
            return CloseOutcome::Later;
        }
        let Some(mut state) = tried(self.state.try_lock()) else { return CloseOutcome::Later };
        if state.stays {
            return CloseOutcome::Never;
        }
        let Some(_calm) = tried(NAME_CHANGES.try_read()) else { return CloseOutcome::Later };
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
    Ok((OpenOptions::new().read(true).write(writes).open(path)?, None))
}

/// Makes a file, with one handle that lasts; where that fails there is none.
fn create_file(path: &Path, direct: bool) -> io::Result<(File, Option<usize>)> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    if direct {
        // Not at once: where the flag is refused, the file may have been made all the same.
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

/// Keeps files open that are read and whose names these paths are; until the guard is dropped no other file is closed. To be called before
/// a name is removed, or given to another file.
///
/// # Errors
/// [`Error::Io`] where a file that is read is closed and cannot be opened.
pub(super) fn keep_readers_of(paths: &[&Path]) -> Result<RwLockWriteGuard<'static, ()>> {
    loop {
        // Opening them may take room, so it is done before others are kept from making any.
        readers_of(paths).iter().try_for_each(|slot| slot.stay())?;
        let guard = NAME_CHANGES.write().unwrap_or_else(PoisonError::into_inner);
        if readers_of(paths).iter().all(|slot| slot.stays()) {
            return Ok(guard);
        }
        drop(guard);
        std::thread::yield_now();
    }
}

/// Whoever reads the files of these names. What cannot be looked at is told by what is done with it next.
fn readers_of(paths: &[&Path]) -> Vec<Arc<ReadHandle>> {
    if lock(&SLOTS).is_empty() {
        return Vec::new();
    }
    let found = paths.iter().filter_map(|path| FileIdentity::of(&fs::metadata(path).ok()?));
    let keys: Vec<FileKey> = found.map(|identity| identity.key).collect();
    let slots = lock(&SLOTS);
    keys.iter().filter_map(|key| slots.get(key)).flatten().filter_map(Weak::upgrade).collect()
}
