//! An output file that is published atomically when it is complete: written under a temporary name that is renamed, or
//! uploaded as an object, which appears as a whole.

use crate::error::{Cause, Error, Result, Setting};
use crate::io::{BehindOptions, FileLock, Storage, WritableFile, WriteBehind, random_u64, remove_if_present};
use crate::table::format::options::TableOptions;
use crate::table::read::reader::read_tail;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Size of a write in bytes.
const WRITE_BYTES: usize = 1 << 20;
/// Smallest size of a write in bytes.
const WRITE_BYTES_MIN: usize = 64 << 10;
/// Size of the padding appended at a time.
const ZEROS_BYTES: u64 = 4 << 10;
/// Spare capacity of a buffer: a single append is usually one block.
const SPARE_BYTES: usize = 64 << 10;
/// Suffix of the names of unpublished files.
const TEMPORARY_SUFFIX: &str = ".ogive-tmp";

/// A file that gets its name by [`Self::publish`] and is removed if it is dropped before.
#[derive(Debug)]
pub(crate) struct PublishedFile {
    storage: Arc<dyn Storage>,
    name: String,
    /// `None` in an object store, where a file appears when it is complete.
    temporary: Option<TemporaryName>,
    /// Whether a file of the final name is replaced.
    replaces: bool,
    /// `None` while a worker has the file, or after the worker failed.
    file: Option<Box<dyn WritableFile>>,
    behind: Option<WriteBehind>,
    pub(in crate::table) file_id: u64,
    /// Allocated at the first append.
    buffer: Vec<u8>,
    /// Size of a write.
    buffer_bytes: usize,
    /// Spare capacity beyond that.
    spare_bytes: usize,
    written: u64,
    published: bool,
    poisoned: bool,
}

/// The name of a file before it is published.
#[derive(Debug)]
struct TemporaryName {
    name: String,
    /// Shows other writers of the final name that this file is not a leftover.
    _lock: Box<dyn FileLock>,
}

impl PublishedFile {
    /// Creates a file that will be named `name`; removes leftovers of killed writers of that name.
    ///
    /// # Errors
    /// [`Cause::Io`] of kind `AlreadyExists` if the name is taken and `replace` is off; [`Cause::NotATable`] if it
    /// belongs to a file that is not an Ogive table; storage errors.
    pub(crate) fn create(storage: Arc<dyn Storage>, name: &str, replace: bool) -> Result<Self> {
        check_replaced(&*storage, name, replace)?;
        Self::create_checked(storage, name, replace)
    }

    /// Creates a file of a foreign format, which replaces any file if `replace` is set.
    ///
    /// # Errors
    /// [`Cause::Io`] of kind `AlreadyExists` if the name is taken and `replace` is off; storage errors.
    pub(crate) fn create_plain(storage: Arc<dyn Storage>, name: &str, replace: bool) -> Result<Self> {
        if !replace && storage.exists(name)? {
            return Err(Error::io("create", storage.path(name), ErrorKind::AlreadyExists.into()));
        }
        Self::create_checked(storage, name, replace)
    }

    fn create_checked(storage: Arc<dyn Storage>, name: &str, replace: bool) -> Result<Self> {
        let file_id = random_u64();
        let (file, temporary) = if storage.is_object_store() {
            (if replace { storage.create_replacing(name)? } else { storage.create(name)? }, None)
        } else {
            remove_leftovers(&*storage, name)?;
            let temporary = format!("{name}.{file_id:016x}{TEMPORARY_SUFFIX}");
            let file = storage.create(&temporary)?;
            let lock = storage.lock(&temporary)?;
            (file, Some(TemporaryName { name: temporary, _lock: lock }))
        };
        Ok(Self {
            name: name.to_owned(),
            storage,
            temporary,
            replaces: replace,
            file: Some(file),
            behind: None,
            file_id,
            buffer: Vec::new(),
            buffer_bytes: WRITE_BYTES,
            spare_bytes: SPARE_BYTES,
            written: 0,
            published: false,
            poisoned: false,
        })
    }

    /// The final path of the file, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.storage.path(&self.name)
    }

    /// Offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Sets the approximate write size, before the first write.
    pub(crate) fn limit_buffer(&mut self, bytes: usize) {
        self.buffer_bytes = bytes.clamp(WRITE_BYTES_MIN, WRITE_BYTES);
        if self.offset() == 0 {
            self.buffer = Vec::new();
        }
    }

    /// Capacity of a buffer in bytes.
    pub(crate) fn buffer_capacity(&self) -> usize {
        self.buffer_bytes + self.spare_bytes
    }

    /// Sets the exact write size and the spare capacity, before the first write.
    pub(crate) fn set_buffer(&mut self, bytes: usize, spare_bytes: usize) {
        if self.offset() == 0 {
            (self.buffer_bytes, self.spare_bytes, self.buffer) = (bytes.max(1), spare_bytes, Vec::new());
        }
    }

    fn make_buffer(&mut self) {
        if self.buffer.capacity() == 0 {
            self.buffer = Vec::with_capacity(self.buffer_capacity());
        }
    }

    /// Moves writing to a worker with at most this number of buffers, which syncs every `sync_every_bytes`. If the
    /// system cannot start a thread, writes stay on this one. Objects are uploaded in parts while more is written, and
    /// their sync is their end, so they need no worker.
    pub(crate) fn write_behind(&mut self, buffers: usize, sync_every_bytes: u64) {
        if self.temporary.is_none() {
            return;
        }
        let options = BehindOptions { buffer_bytes: self.buffer_capacity(), buffers, sync_every_bytes };
        if let Some(file) = self.file.take() {
            match WriteBehind::start(file, options) {
                Ok(behind) => self.behind = Some(behind),
                Err(file) => self.file = Some(file),
            }
        }
    }

    /// Time spent waiting for the worker, in microseconds.
    pub(crate) fn waited_us(&self) -> f64 {
        self.behind.as_ref().map_or(0.0, WriteBehind::waited_us)
    }

    /// Rejects all further writes: the content of the file is invalid.
    pub(crate) fn poison(&mut self) {
        self.poisoned = true;
    }

    fn check_poison(&self) -> Result<()> {
        if self.poisoned { Err(Error::poisoned(self.storage.path(&self.name))) } else { Ok(()) }
    }

    pub(crate) fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.check_poison()?;
        self.make_buffer();
        while !bytes.is_empty() {
            let room = self.buffer.capacity().saturating_sub(self.buffer.len()).max(1);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.buffer.extend_from_slice(now);
            if self.buffer.len() >= self.buffer_bytes {
                self.flush()?;
            }
            bytes = later;
        }
        Ok(())
    }

    /// Lets `fill` append to the buffer, and returns its result.
    pub(crate) fn put_with<T>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> T) -> Result<T> {
        self.check_poison()?;
        self.make_buffer();
        let filled = fill(&mut self.buffer);
        if self.buffer.len() >= self.buffer_bytes {
            self.flush()?;
        }
        Ok(filled)
    }

    pub(crate) fn zeros(&mut self, count: u64) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let part = left.min(ZEROS_BYTES);
            self.put(&vec![0; part as usize])?;
            left -= part;
        }
        Ok(())
    }

    /// Pads with zeros to the next multiple of `alignment` bytes.
    pub(crate) fn align(&mut self, alignment: u64) -> Result<()> {
        self.zeros((alignment - self.offset() % alignment) % alignment)
    }

    fn flush(&mut self) -> Result<()> {
        self.check_poison()?;
        let bytes = self.buffer.len() as u64;
        let written = match (&mut self.behind, &mut self.file) {
            (Some(behind), _) => behind.append(std::mem::take(&mut self.buffer)).map(|empty| self.buffer = empty),
            (None, Some(file)) => file.append(&self.buffer),
            (None, None) => Err(Error::poisoned(self.storage.path(&self.name))),
        };
        self.poisoned = written.is_err();
        written?;
        self.written += bytes;
        self.buffer.clear();
        Ok(())
    }

    /// Syncs everything that was written.
    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        if let Some(behind) = self.behind.take() {
            self.file = Some(behind.finish()?);
        }
        match &mut self.file {
            Some(file) => file.sync(),
            None => Err(Error::poisoned(self.storage.path(&self.name))),
        }
    }

    /// Opens the file as written so far under its temporary name; nothing may be appended after that. `None` for an
    /// object, which cannot be read before it is published.
    pub(in crate::table) fn reopen(&mut self) -> Result<Option<crate::table::Table>> {
        if self.temporary.is_none() {
            return Ok(None);
        }
        self.sync()?;
        let Some(temporary) = &self.temporary else { return Ok(None) };
        crate::table::Table::open((self.storage.clone(), &temporary.name), &TableOptions::default()).map(Some)
    }

    /// Syncs the file, renames it to its final name, and syncs the directory. An object is published by its sync.
    ///
    /// # Errors
    /// [`Cause::Io`] of kind `AlreadyExists` if another writer took the name, and this one does not replace; storage
    /// errors. Before the rename there is no file under the name; after it, the complete file.
    pub(crate) fn publish(&mut self) -> Result<()> {
        self.sync()?;
        if let Some(temporary) = &self.temporary {
            // Another writer may have removed the file as a leftover before it was locked; the lock then created an
            // empty one.
            match self.storage.open(&temporary.name) {
                Ok(found) if found.len() != self.written => {
                    return Err(Error::locked(self.storage.path(&self.name), false));
                }
                // Some storages show a file only when it is complete.
                Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => {}
                found => _ = found?,
            }
            match self.replaces {
                true => self.storage.rename(&temporary.name, &self.name)?,
                // Another writer may have published a file of this name meanwhile.
                false => self.storage.rename_new(&temporary.name, &self.name)?,
            }
        }
        self.published = true;
        self.storage.sync_directory()
    }
}

impl Drop for PublishedFile {
    fn drop(&mut self) {
        // Writing must have ended before the file is removed; an upload is aborted here.
        (self.behind, self.file) = (None, None);
        if let (Some(temporary), false) = (&self.temporary, self.published) {
            // A destructor cannot report errors; a leftover is removed by the next writer of the name.
            _ = self.storage.remove(&temporary.name);
        }
    }
}

/// Rejects overwriting: anything without `replace`, and in any case a file that is not a table.
fn check_replaced(storage: &dyn Storage, name: &str, replace: bool) -> Result<()> {
    if !storage.exists(name)? {
        return Ok(());
    }
    if !replace {
        return Err(Error::io("create", storage.path(name), ErrorKind::AlreadyExists.into()));
    }
    match read_tail(storage, name, TableOptions::default().memory_bytes, Setting::TableMemory) {
        // A damaged table, one of a newer version, or one too large to open here is still a table. One of a
        // development version has records that only that version can save.
        Ok(_) | Err(Error { cause: Cause::Damaged | Cause::Version { found: 1.., .. } | Cause::Memory { .. }, .. }) => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Removes leftovers of killed writers of this table.
fn remove_leftovers(storage: &dyn Storage, name: &str) -> Result<()> {
    for file in storage.list()? {
        let id = file
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('.'))
            .and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX));
        if id.is_some_and(|id| id.len() == 16 && id.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            match storage.lock(&file) {
                Ok(_lock) => remove_if_present(storage, &file)?,
                // Its writer is still running.
                Err(Error { cause: Cause::Locked { .. }, .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
