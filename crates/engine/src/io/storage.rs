//! The storage traits: a flat directory of named files.

use crate::error::{Error, Result};
use std::fmt::Debug;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a read is for, so that meters and traces can tell reads apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Purpose {
    /// The one read that opens a file.
    Open,
    /// Part of an index layer; 1 is the layer next to the data.
    Layer(u8),
    /// Data blocks.
    Data,
    /// Chunks of a long value.
    Value,
    /// Cumulative record counts, for rank and position.
    Counts,
    /// A filter for absent keys.
    Filter,
    /// A walk over everything, such as `verify`.
    Walk,
    /// Input that is being imported, or runs of an external sort.
    Input,
    /// A page of the inner structure of an index; 0 is the root.
    Inner(u8),
    /// A page that holds entries of an index.
    Leaf,
    /// Records of a page log.
    Log,
}

/// One range of a file to be read: `buffer` is filled from `offset`.
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// First byte, from the start of the file.
    pub offset: u64,
    /// Where the bytes go; its length is the length of the range.
    pub buffer: &'a mut [u8],
    /// What the range is for.
    pub purpose: Purpose,
}

/// A flat directory of named files: the only way in which the engine touches the outside.
///
/// Names are plain file names without separators. All methods may be called from many threads. A file becomes durable
/// under its name only after [`WritableFile::sync`] *and* [`Storage::sync_directory`].
pub trait Storage: Debug + Send + Sync {
    /// Opens an existing file for reading.
    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>>;

    /// Creates a new, empty file for writing; an existing one is an error of kind `AlreadyExists`.
    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>>;

    /// Opens an existing file for reading and for writing in place, in one mode (buffered or direct) for both.
    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>>;

    /// Creates a new, empty file as [`Self::open_update`] opens it; an existing one is an error of kind `AlreadyExists`.
    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>>;

    /// Gives a file another name, replacing what had it, atomically.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<()>;

    /// Whether a file of this name exists.
    fn exists(&self, name: &str) -> Result<bool>;

    /// The names of all files, sorted.
    fn list(&self) -> Result<Vec<String>>;

    /// Makes creations, renames and removals durable.
    fn sync_directory(&self) -> Result<()>;

    /// Takes an exclusive lock, creating the lock file if needed; held until the returned guard is dropped.
    ///
    /// # Errors
    /// [`crate::Error::Locked`] when somebody, in this process or another, holds it.
    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>>;

    /// The full path of a name, for messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Refuses a file that other names lead to as well: a symbolic link, or one of several hard links. For files whose lock and
    /// log are found by their name, so that under another name they would have others. Only a file system has such names.
    ///
    /// # Errors
    /// [`Error::OtherNames`].
    fn check_only_name(&self, name: &str) -> Result<()> {
        check_name(name)
    }

    /// The folder of the local file system that holds the files as they are, if there is one: files can be linked there.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// Puts a file, which must never change again, into another storage too: as a link where both are folders of one file system, else
    /// as a copy, which is synced. The name becomes durable with the other's [`Self::sync_directory`].
    ///
    /// # Errors
    /// An error of kind `AlreadyExists` where the new name is taken; whatever the storages report.
    fn export(&self, name: &str, target: &dyn Storage, new_name: &str) -> Result<()> {
        copy_file(&*self.open(name)?, target, new_name)
    }
}

/// Removes a file that somebody else may remove at the same time.
pub(crate) fn remove_if_present(storage: &dyn Storage, name: &str) -> Result<()> {
    match storage.remove(name) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// Copies a file into a storage and syncs it; nothing is left where that fails.
pub(super) fn copy_file(source: &dyn ReadableFile, target: &dyn Storage, new_name: &str) -> Result<()> {
    let mut file = target.create(new_name)?;
    let mut copy = || {
        let mut buffer = Vec::new();
        let mut offset = 0;
        while offset < source.len() {
            buffer.resize((source.len() - offset).min(COPY_BYTES) as usize, 0);
            source.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Walk })?;
            file.append(&buffer)?;
            offset += buffer.len() as u64;
        }
        file.sync()
    };
    let outcome = copy();
    if outcome.is_err() {
        drop(file);
        // What cannot be removed either is told of by the first error.
        _ = target.remove(new_name);
    }
    outcome
}

/// A file open for reading. Its length does not change while it is open, unless it is an [`UpdatableFile`].
pub trait ReadableFile: Debug + Send + Sync {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills the request's buffer; a range that passes the end of the file is an error of kind `UnexpectedEof`.
    fn read(&self, request: ReadRequest<'_>) -> Result<()>;

    /// Fills many ranges, as many at a time as the storage serves at once; on an error some may have been filled.
    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        requests.into_iter().try_for_each(|request| self.read(request))
    }

    /// When the file was last modified as it was opened, in nanoseconds since 1970 began; `None` where the storage does not
    /// tell.
    fn modified_ns(&self) -> Option<u64> {
        None
    }

    /// Whether reads reach the device rather than a cache of the operating system.
    fn is_direct(&self) -> bool {
        false
    }

    /// The full path, for messages.
    fn path(&self) -> &Path;
}

/// A file open for writing. After a failed write or sync it refuses everything with [`crate::Error::Poisoned`].
pub trait WritableFile: Debug + Send {
    /// Bytes written so far, by appending or past the end.
    fn len(&self) -> u64;

    /// Whether nothing was written yet.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes `bytes` at the end.
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_at(self.len(), bytes)
    }

    /// Writes `bytes` at `offset`, which must not lie past the end.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Lets whoever opens the file from now on read everything written so far; it need not be durable. Nothing is to be done where writes are not
    /// collected.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    /// Makes everything written so far durable.
    fn sync(&mut self) -> Result<()>;

    /// The full path, for messages.
    fn path(&self) -> &Path;
}

/// A file open for reading and for writing in place, by many threads at once. After a failed write or sync it refuses every
/// further one with [`crate::Error::Poisoned`], and goes on being read.
///
/// What is written is seen by every later read through the same file; two writes at once must not overlap. Where the storage
/// writes whole blocks of a device, zeros may follow the end when the file is opened again, up to the end of the block.
pub trait UpdatableFile: ReadableFile {
    /// Writes `bytes` at `offset`; a gap behind the old end is filled with zeros. `purpose` tells meters what is written.
    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()>;

    /// Cuts the file off at a length, or lets it grow to it with zeros.
    fn set_len(&self, length_bytes: u64) -> Result<()>;

    /// Makes everything written so far durable.
    fn sync(&self) -> Result<()>;

    /// Ends writing, after a sync: from now on the file is only read, and need not stay open for it. Nothing is to be done where files
    /// cost nothing while they are open.
    fn finish_writes(&self) {}
}

/// A lock that is released when the guard is dropped.
pub trait FileLock: Debug + Send + Sync {}

/// Refuses a name that is not a plain file name, for every implementation of [`Storage`].
///
/// # Errors
/// [`Error::InvalidArgument`] when `name` is empty, `.`, `..`, or holds a separator or a zero byte.
pub fn check_name(name: &str) -> Result<()> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\\', '\0']) {
        return Err(Error::InvalidArgument(format!(
            "{name:?} is not a plain file name; give one without separators, other than \".\" and \"..\""
        )));
    }
    Ok(())
}

/// Refuses a read that passes the end of a file of `length_bytes`, for every implementation of [`ReadableFile`].
///
/// # Errors
/// [`Error::Io`] of kind `UnexpectedEof`.
pub fn check_range(path: &Path, length_bytes: u64, request: &ReadRequest<'_>) -> Result<()> {
    match request.offset.checked_add(request.buffer.len() as u64) {
        Some(end) if end <= length_bytes => Ok(()),
        _ => Err(Error::io("read", path, ErrorKind::UnexpectedEof.into())),
    }
}

/// Refuses a write that would leave a gap behind the end of a file of `length_bytes`, for every implementation of
/// [`WritableFile`].
///
/// # Errors
/// [`Error::InvalidArgument`] when `offset` lies past the end.
pub fn check_write(path: &Path, length_bytes: u64, offset: u64) -> Result<()> {
    if offset <= length_bytes {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "cannot write at byte {offset} of {}: it has {length_bytes} bytes; write at most at its end",
        path.display()
    )))
}
