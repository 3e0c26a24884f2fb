//! Local file system storage, through the page cache or by direct I/O.

use super::links;
use super::local_file::LocalFile;
use super::open_files::{
    FileKey, HandlePool, HandleTicket, OpenFiles, OpenMode, ReadHandle, keep_readers_of, key_of, leads_to, with_room,
};
use super::positional::write_exactly;
use super::stream::StreamWriter;
use super::update::LocalUpdater;
use crate::error::{Error, Result};
use crate::io::meter::telemetry::{StorageTelemetry, of_local_files};
use crate::io::reads::read_ahead::{PendingReads, RangeRequest};
use crate::io::reads::read_pool::ReadPool;
use crate::io::storage::file_names;
use crate::io::storage::request::ReadRequest;
use crate::io::storage::traits::{
    FileLock, FolderIdentity, ReadableFile, Storage, UpdatableFile, WritableFile, check_bounds, check_name,
    check_range, check_write, copy_file,
};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// A directory of the local file system.
///
/// Every file is read in one mode, which the constructor chooses: mixing the page cache and direct reads on one file is
/// not defined by the operating system. Direct reads see only synced data, so a file must be synced before it is
/// opened.
///
/// File handles are limited: a file open for reading is closed while other files are read, and reopened on demand, so
/// any number of files can be read at the same time. All storages of a process share half of the files that it may have
/// open (`ulimit -n`), unless a storage has a [limit of its own](Self::with_open_files). A reader keeps reading the
/// file that it opened, even if this process removes it or gives its name to another file; if another process does so
/// while the file is closed, the read fails with [`Cause::FileReplaced`](crate::Cause::FileReplaced).
#[derive(Clone, Debug)]
pub struct LocalStorage {
    /// As given, for messages.
    root: PathBuf,
    /// The resolved path, determined when the directory was first found: later changes of links or of the working
    /// directory have no effect.
    place: Arc<OnceLock<PathBuf>>,
    pub(in crate::io) pool: Arc<HandlePool>,
    direct: bool,
    direct_writes: bool,
    refused_direct: Arc<AtomicBool>,
    /// Shared by all files of the storage.
    readers: Arc<ReadPool>,
    telemetry: Arc<StorageTelemetry>,
    /// The locks that are held, some of which guard the folder.
    locks: Arc<Mutex<Vec<Weak<HeldLock>>>>,
}

impl LocalStorage {
    /// Creates a storage of the files in the directory `root`, read through the page cache. Nothing is accessed before
    /// the first use.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let root = if root.as_os_str().is_empty() { PathBuf::from(".") } else { root };
        Self {
            root,
            place: Arc::default(),
            pool: HandlePool::shared(),
            direct: false,
            direct_writes: false,
            refused_direct: Arc::default(),
            readers: Arc::default(),
            telemetry: of_local_files(),
            locks: Arc::default(),
        }
    }

    /// Creates a storage of the files in the directory `root`, read by direct I/O (O_DIRECT). If the system or the file
    /// system refuses that, reads go through the page cache, and [`LocalStorage::refused_direct`] returns true.
    pub fn direct(root: impl Into<PathBuf>) -> Self {
        Self { direct: true, ..Self::new(root) }
    }

    /// Writes new files by direct I/O, too, in large blocks: for large files that are written sequentially, whose final
    /// sync would otherwise have to write everything. Not suited for small files that are synced often.
    #[must_use]
    pub fn with_direct_writes(self) -> Self {
        Self { direct_writes: true, ..self }
    }

    /// Limits the number of open files to about `limit`, at least 8: files open for reading are closed to stay below
    /// it, files being written are not.
    #[must_use]
    pub fn with_open_files(self, limit: usize) -> Self {
        Self { pool: HandlePool::new(Some(limit)), ..self }
    }

    /// The number of open files of all storages that share the limit.
    #[must_use]
    #[doc(hidden)]
    pub fn open_files(&self) -> OpenFiles {
        self.pool.counts()
    }

    /// Creates the directory `path` and its missing parents, durably.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io): no permission, no space, or a file in its place.
    pub fn create_folder(path: &Path) -> Result<()> {
        if path.as_os_str().is_empty() || path.is_dir() {
            return Ok(());
        }
        let parent = path.parent().unwrap_or(Path::new(""));
        Self::create_folder(parent)?;
        match fs::create_dir(path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists || !path.is_dir() => {
                Err(Error::io("create the folder", path, error))
            }
            _ => Self::new(parent).sync_directory(),
        }
    }

    /// The directories that [`Self::create_folder`] would create for `path`, outermost first.
    pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
        let mut missing: Vec<PathBuf> = path
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned)
            .collect();
        missing.reverse();
        missing
    }

    /// Removes the directory `path` with all that is in it; it may be absent.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io): no permission.
    pub(crate) fn remove_folder(path: &Path) -> Result<()> {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
            _ => Ok(()),
        }
    }

    /// Removes the empty directories among nested ones, given outermost first.
    pub(crate) fn remove_empty_folders(folders: &[PathBuf]) {
        for folder in folders.iter().rev() {
            // Directories that are not empty stay.
            _ = fs::remove_dir(folder);
        }
    }

    /// The names of all entries of the directory `path`, sorted, including directories, which [`Storage::list`] omits.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io): no such directory, or no permission.
    pub fn names(path: &Path) -> Result<Vec<String>> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let failed = |source| Error::io("list", path, source);
        let entries = fs::read_dir(path).map_err(failed)?;
        let mut names: Vec<String> = entries
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()).map_err(failed))
            .collect::<Result<_>>()?;
        names.sort();
        Ok(names)
    }

    /// Splits a file's path into its directory and its name, for use with a storage. A symbolic link is followed, even
    /// if its target does not exist, so that locks, logs and temporary files lie next to the file itself, whatever path
    /// leads to it.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if `path`, or the target of its link, does not end in a file name.
    pub fn split_path(path: &Path) -> Result<(PathBuf, String)> {
        Self::split_link(&links::follow(path)?)
    }

    /// As [`Self::split_path`], without following a link.
    ///
    /// # Errors
    /// As [`Self::split_path`].
    pub fn split_link(path: &Path) -> Result<(PathBuf, String)> {
        let name = path.file_name().and_then(file_names::encode).ok_or_else(|| {
            Error::input(format!("{} does not name a file; give a path that ends in a name", path.display()))
        })?;
        Ok((path.parent().map(Path::to_path_buf).unwrap_or_default(), name))
    }

    /// Whether direct reads were requested but some file had to be read through the page cache.
    pub fn refused_direct(&self) -> bool {
        self.refused_direct.load(Ordering::Relaxed)
    }

    /// The path of a name for messages, and the path to use.
    fn full_path(&self, name: &str) -> Result<(PathBuf, PathBuf)> {
        check_name(name)?;
        let name = file_names::decode(name);
        Ok((self.root.join(&name), self.place().join(&name)))
    }

    /// The resolved directory; determined once it exists.
    fn place(&self) -> &Path {
        if self.place.get().is_none()
            && let Ok(place) = self.root.canonicalize()
        {
            return self.place.get_or_init(|| place);
        }
        self.place.get().unwrap_or(&self.root)
    }

    /// The path of a name for messages, and the path to use, for a change of names.
    ///
    /// # Errors
    /// [`Cause::Gone`](crate::Cause::Gone) if a lock that guards the folder is not in place.
    fn changed_path(&self, name: &str) -> Result<(PathBuf, PathBuf)> {
        let held: Vec<Arc<HeldLock>> = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|lock| lock.strong_count() > 0);
            locks.iter().filter_map(Weak::upgrade).collect()
        };
        match held.iter().find(|lock| lock.guards_folder.load(Ordering::Acquire) && !lock.is_in_place()) {
            Some(lock) => Err(Error::gone(lock.path.clone())),
            None => self.full_path(name),
        }
    }

    fn open_file(&self, name: &str, mode: OpenMode) -> Result<LocalReader> {
        let (path, place) = match mode {
            OpenMode::Create => self.changed_path(name)?,
            OpenMode::Read | OpenMode::Update => self.full_path(name)?,
        };
        let action = if mode == OpenMode::Create { "create" } else { "open" };
        let opened = ReadHandle::open(&self.pool, (&path, &place), self.direct, mode);
        let (slot, metadata) = opened.map_err(|source| Error::io(action, &path, source))?;
        if self.direct && !slot.is_direct() {
            self.refused_direct.store(true, Ordering::Relaxed);
        }
        let modified_ns = metadata
            .modified()
            .ok()
            .and_then(|modified| modified.duration_since(std::time::UNIX_EPOCH).ok())
            .and_then(|since| u64::try_from(since.as_nanos()).ok());
        let length_bytes = AtomicU64::new(metadata.len());
        let (refused_direct, telemetry) = (Arc::clone(&self.refused_direct), Arc::clone(&self.telemetry));
        let file = Arc::new(LocalFile { slot, path, refused_direct, telemetry });
        Ok(LocalReader { file, length_bytes, modified_ns, readers: Arc::clone(&self.readers) })
    }
}

impl Storage for LocalStorage {
    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(self.open_file(name, OpenMode::Read)?))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(LocalUpdater::new(self.open_file(name, OpenMode::Update)?)))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(LocalUpdater::new(self.open_file(name, OpenMode::Create)?)))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        if self.direct_writes {
            let direct = Self { direct: true, ..self.clone() };
            return Ok(Box::new(StreamWriter::new(direct.open_file(name, OpenMode::Create)?)?));
        }
        let (path, place) = self.changed_path(name)?;
        let (file, ticket) = self
            .pool
            .open(|| OpenOptions::new().write(true).create_new(true).open(&place))
            .map_err(|source| Error::io("create", &path, source))?;
        Ok(Box::new(LocalWriter {
            file,
            length_bytes: 0,
            poisoned: false,
            path,
            telemetry: Arc::clone(&self.telemetry),
            _ticket: Some(ticket),
        }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (path, source) = self.changed_path(from)?;
        let (_, target) = self.full_path(to)?;
        let _calm = keep_readers_of(&[&source, &target])?;
        fs::rename(source, target).map_err(|error| Error::io("rename", path, error))
    }

    fn rename_new(&self, from: &str, to: &str) -> Result<()> {
        let (_, source) = self.changed_path(from)?;
        let (path, target) = self.full_path(to)?;
        let _calm = keep_readers_of(&[&source, &target])?;
        match links::rename_new(&source, &target) {
            Some(renamed) => renamed.map_err(|error| Error::io("create", path, error)),
            // The file system cannot do it in one step.
            None if target.try_exists().map_err(|error| Error::io("look for", &path, error))? => {
                Err(Error::io("create", path, io::ErrorKind::AlreadyExists.into()))
            }
            None => fs::rename(source, target).map_err(|error| Error::io("rename", path, error)),
        }
    }

    fn remove(&self, name: &str) -> Result<()> {
        let (path, place) = self.changed_path(name)?;
        let _calm = keep_readers_of(&[&place])?;
        fs::remove_file(place).map_err(|source| Error::io("remove", path, source))
    }

    fn exists(&self, name: &str) -> Result<bool> {
        let (path, place) = self.full_path(name)?;
        place.try_exists().map_err(|source| Error::io("look for", path, source))
    }

    fn list(&self) -> Result<Vec<String>> {
        let failed = |source| Error::io("list", &self.root, source);
        let mut names = Vec::new();
        for entry in with_room(|| fs::read_dir(self.place())).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = match entry.file_type() {
                // Some file systems list no types, and the file was removed before it was asked for its own.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                kind => kind.map_err(failed)?,
            };
            // Directories do not belong to the storage.
            if let (Some(name), false) = (file_names::encode(&entry.file_name()), kind.is_dir()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn sync_directory(&self) -> Result<()> {
        // On other systems a directory cannot be opened as a file, and its entries are durable with the files
        // themselves.
        #[cfg(unix)]
        with_room(|| File::open(self.place()))
            .and_then(|directory| directory.sync_all())
            .map_err(|source| Error::io("sync the directory", &self.root, source))?;
        Ok(())
    }

    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>> {
        let (path, place) = self.full_path(name)?;
        let failed = |source| Error::io("lock", &path, source);
        let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&place);
        let (file, ticket) = self.pool.open(open).map_err(failed)?;
        // The lock belongs to this open file (flock), not to the process: a second open in the same process conflicts,
        // and closing another descriptor of the file releases nothing.
        let key = file.metadata().ok().and_then(|metadata| key_of(&metadata));
        match file.try_lock() {
            Ok(()) => {
                let held = HeldLock::new(path, place, key);
                self.locks.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&held));
                Ok(Box::new(LocalLock { held, file, _ticket: ticket }))
            }
            Err(TryLockError::WouldBlock) if HeldLock::is_held_here(&place, key) => Err(Error::locked(path, true)),
            Err(TryLockError::WouldBlock) => Err(match stated_holder(&file) {
                Some(process) => Error::locked_by(path, process),
                None => Error::locked(path, false),
            }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(file_names::decode(name))
    }

    fn folder(&self) -> Option<&Path> {
        Some(self.place())
    }

    fn folder_identity(&self) -> Option<FolderIdentity> {
        let found = fs::metadata(self.place()).ok()?;
        let (device, number) = key_of(&found)?;
        Some(FolderIdentity { device, number, created: found.created().ok() })
    }

    fn check_only_name(&self, name: &str) -> Result<()> {
        let (path, place) = self.full_path(name)?;
        links::check_only_name(&path, &place)
    }

    fn export(&self, name: &str, target: &dyn Storage, new_name: &str) -> Result<()> {
        if let Some(folder) = target.folder() {
            let (_, source) = self.full_path(name)?;
            check_name(new_name)?;
            match fs::hard_link(source, folder.join(file_names::decode(new_name))) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(Error::io("link", folder.join(new_name), error));
                }
                // Another file system, or one without links: copying reports any other problem.
                Err(_) => {}
            }
        }
        copy_file(&*self.open(name)?, target, new_name)
    }
}

/// The locks that this process holds, to tell them from those of others.
static HELD_HERE: Mutex<Vec<Weak<HeldLock>>> = Mutex::new(Vec::new());

/// The file of a lock that is held.
#[derive(Debug)]
struct HeldLock {
    /// For messages.
    path: PathBuf,
    place: PathBuf,
    /// `None` where files have no numbers.
    key: Option<FileKey>,
    guards_folder: AtomicBool,
    /// A child that was forked since has a copy of this, but not the lock.
    process: u32,
}

impl HeldLock {
    fn new(path: PathBuf, place: PathBuf, key: Option<FileKey>) -> Arc<Self> {
        // Some file systems say one thing of a path and another of an open file.
        let key = key.filter(|&key| leads_to(&place, key));
        let lock =
            Arc::new(Self { path, place, key, guards_folder: AtomicBool::new(false), process: std::process::id() });
        let mut held = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|lock| lock.strong_count() > 0);
        held.push(Arc::downgrade(&lock));
        lock
    }

    fn is_in_place(&self) -> bool {
        self.key.is_none_or(|key| leads_to(&self.place, key))
    }

    fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Whether this process holds the lock of a file, by whatever path.
    fn is_held_here(place: &Path, key: Option<FileKey>) -> bool {
        let held = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |lock: &Arc<Self>| match (lock.key, key) {
            (Some(held), Some(key)) => held == key,
            _ => lock.place == place,
        };
        held.iter().filter_map(Weak::upgrade).any(|lock| lock.is_of_this_process() && is_it(&lock))
    }
}

/// The longest number of a process in a lock file, in bytes.
const HOLDER_BYTES_MAX: usize = 10;

/// The process that the file of a store's lock names as its holder; `None` if it names none, or cannot be read now.
fn stated_holder(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(HOLDER_BYTES_MAX as u64).read_to_string(&mut text).ok()?;
    text.parse().ok()
}

/// A lock held while the file is open.
#[derive(Debug)]
struct LocalLock {
    held: Arc<HeldLock>,
    file: File,
    _ticket: HandleTicket,
}

impl Drop for LocalLock {
    /// Gives up the lock, which closing the file does not while a forked child has it open, too.
    fn drop(&mut self) {
        if self.held.is_of_this_process() {
            _ = self.file.unlock();
        }
    }
}

impl FileLock for LocalLock {
    fn is_in_place(&self) -> bool {
        self.held.is_in_place()
    }

    fn guard_folder(&self) {
        self.held.guards_folder.store(true, Ordering::Release);
        let holder = std::process::id().to_string();
        // It serves a message alone: without room for it the lock is as good.
        _ = self.file.set_len(0).and_then(|()| write_exactly(&self.file, holder.as_bytes(), 0));
    }
}

#[derive(Debug)]
pub(in crate::io) struct LocalReader {
    pub(in crate::io) file: Arc<LocalFile>,
    pub(in crate::io) length_bytes: AtomicU64,
    modified_ns: Option<u64>,
    readers: Arc<ReadPool>,
}

impl ReadableFile for LocalReader {
    fn len(&self) -> u64 {
        self.length_bytes.load(Ordering::Acquire)
    }

    fn modified_ns(&self) -> Option<u64> {
        self.modified_ns
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check_range(&self.file.path, self.len(), &request)?;
        self.file.watched(1, request.buffer.len() as u64, || self.file.read(request.offset, request.buffer))
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        requests.iter().try_for_each(|request| check_range(&self.file.path, self.len(), request))?;
        let bytes = requests.iter().map(|request| request.buffer.len() as u64).sum();
        self.file.watched(requests.len() as u64, bytes, || {
            if self.is_direct() {
                return self.readers.read(&self.file, requests);
            }
            self.file.read_cached(requests.into_iter().map(|request| (request.offset, request.buffer)).collect())
        })
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        ranges.iter().try_for_each(|range| check_bounds(&self.file.path, self.len(), range.offset, range.bytes))?;
        let pending: Box<dyn PendingReads> = match self.is_direct() {
            true => Box::new(self.readers.start(&self.file, ranges)),
            false => Box::new(self.file.start_cached(ranges)?),
        };
        let bytes = ranges.iter().map(|range| range.bytes as u64).sum();
        self.file.telemetry.note_reads(ranges.len() as u64, bytes);
        Ok(StorageTelemetry::watch(&self.file.path, bytes, pending))
    }

    fn is_direct(&self) -> bool {
        self.file.slot.is_direct()
    }

    fn is_in_place(&self) -> bool {
        self.file.slot.is_in_place()
    }

    fn path(&self) -> &Path {
        &self.file.path
    }
}

#[derive(Debug)]
struct LocalWriter {
    file: File,
    length_bytes: u64,
    poisoned: bool,
    path: PathBuf,
    telemetry: Arc<StorageTelemetry>,
    _ticket: Option<HandleTicket>,
}

impl LocalWriter {
    /// Runs `work` on the file unless an earlier call failed. A failed sync may have dropped the dirty pages and would
    /// succeed if retried, so the first failure is final.
    fn guarded(&mut self, action: &'static str, work: impl FnOnce(&File) -> io::Result<()>) -> Result<()> {
        if self.poisoned {
            return Err(Error::poisoned(self.path.clone()));
        }
        work(&self.file).map_err(|source| {
            self.poisoned = true;
            Error::io(action, &self.path, source)
        })
    }
}

impl WritableFile for LocalWriter {
    fn len(&self) -> u64 {
        self.length_bytes
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        check_write(&self.path, self.length_bytes, offset)?;
        self.guarded("write", |file| write_exactly(file, bytes, offset))?;
        self.length_bytes = self.length_bytes.max(offset + bytes.len() as u64);
        self.telemetry.note_written(bytes.len() as u64);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.guarded("sync", File::sync_all)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::error::Cause;

    /// Regression: a sync that fails once and then succeeds; a write that fails for lack of space and leaves a partial
    /// tail on which later writes build.
    #[test]
    fn a_writer_that_failed_takes_nothing_more() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (path, telemetry) = ("/dev/full".into(), of_local_files());
        let mut writer = LocalWriter { file, length_bytes: 0, poisoned: false, path, telemetry, _ticket: None };
        assert!(matches!(writer.append(b"x"), Err(Error { cause: Cause::Io(io::ErrorKind::StorageFull), .. })));
        assert!(matches!(writer.append(b"x"), Err(Error { cause: Cause::Poisoned, .. })));
        assert!(matches!(writer.write_at(0, b"x"), Err(Error { cause: Cause::Poisoned, .. })));
        assert!(matches!(writer.sync(), Err(Error { cause: Cause::Poisoned, .. })));
        assert_eq!(writer.len(), 0);
    }
}
