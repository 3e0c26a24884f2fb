//! An output file under a temporary name that is published atomically when it is complete.

use super::options::OpenOptions;
use super::reader::read_tail;
use crate::error::{Error, Result};
use crate::io::{BehindOptions, FileLock, Storage, WritableFile, WriteBehind, random_u64, remove_if_present};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Written at a time.
const WRITE_BYTES: usize = 1 << 20;
/// And at least.
const WRITE_BYTES_MIN: usize = 64 << 10;
/// Zeros put at a time.
const ZEROS_BYTES: u64 = 4 << 10;
/// A buffer has so much room behind what it is written at: what is put at once is mostly a block.
const SPARE_BYTES: usize = 64 << 10;
/// Ending of the names of files that are being written.
const TEMPORARY_SUFFIX: &str = ".ogive-tmp";

/// A file that gets its name by [`Self::publish`], and is removed when it is dropped before.
#[derive(Debug)]
pub(crate) struct PublishedFile {
    storage: Arc<dyn Storage>,
    name: String,
    temporary: String,
    /// `None` as long as a worker has it, or when that has failed.
    file: Option<Box<dyn WritableFile>>,
    behind: Option<WriteBehind>,
    /// Tells other writers of the name that this file is no leftover.
    _lock: Box<dyn FileLock>,
    pub(super) file_id: u64,
    /// Made when something is put in.
    buffer: Vec<u8>,
    /// Written at a time.
    buffer_bytes: usize,
    /// Room behind that.
    spare_bytes: usize,
    written: u64,
    published: bool,
    poisoned: bool,
}

impl PublishedFile {
    /// Begins a file that is to be named `name`; what killed writers of that name left is removed.
    ///
    /// # Errors
    /// [`Error::Io`] of kind `AlreadyExists` when the name is taken and `replace` is off; [`Error::NotATable`] when it is
    /// taken by a file that is no Ogive table; whatever the storage reports.
    pub(crate) fn create(storage: Arc<dyn Storage>, name: &str, replace: bool) -> Result<Self> {
        check_replaced(&*storage, name, replace)?;
        Self::create_checked(storage, name)
    }

    /// Begins a file of another kind than ours, which replaces any file where `replace` is set.
    ///
    /// # Errors
    /// [`Error::Io`] of kind `AlreadyExists` when the name is taken and `replace` is off; whatever the storage reports.
    pub(crate) fn create_plain(storage: Arc<dyn Storage>, name: &str, replace: bool) -> Result<Self> {
        if !replace && storage.exists(name)? {
            return Err(Error::io("create", storage.path(name), ErrorKind::AlreadyExists.into()));
        }
        Self::create_checked(storage, name)
    }

    fn create_checked(storage: Arc<dyn Storage>, name: &str) -> Result<Self> {
        remove_leftovers(&*storage, name)?;
        let file_id = random_u64();
        let temporary = format!("{name}.{file_id:016x}{TEMPORARY_SUFFIX}");
        let file = storage.create(&temporary)?;
        let lock = storage.lock(&temporary)?;
        Ok(Self {
            name: name.to_owned(),
            storage,
            temporary,
            file: Some(file),
            behind: None,
            _lock: lock,
            file_id,
            buffer: Vec::new(),
            buffer_bytes: WRITE_BYTES,
            spare_bytes: SPARE_BYTES,
            written: 0,
            published: false,
            poisoned: false,
        })
    }

    /// The full path that the file will have, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.storage.path(&self.name)
    }

    /// Offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Writes about so much at a time, if nothing was written yet.
    pub(crate) fn limit_buffer(&mut self, bytes: usize) {
        self.buffer_bytes = bytes.clamp(WRITE_BYTES_MIN, WRITE_BYTES);
        if self.offset() == 0 {
            self.buffer = Vec::new();
        }
    }

    /// Bytes of one buffer.
    pub(crate) fn buffer_capacity(&self) -> usize {
        self.buffer_bytes + self.spare_bytes
    }

    /// Writes exactly so much at a time or up to `spare_bytes` more, if nothing was written yet.
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

    /// Leaves writing to a worker, with at most so many buffers; it syncs every so many bytes. Where the system gives no further thread, this
    /// one goes on to write.
    pub(crate) fn write_behind(&mut self, buffers: usize, sync_every_bytes: u64) {
        let options = BehindOptions { buffer_bytes: self.buffer_capacity(), buffers, sync_every_bytes };
        if let Some(file) = self.file.take() {
            match WriteBehind::start(file, options) {
                Ok(behind) => self.behind = Some(behind),
                Err(file) => self.file = Some(file),
            }
        }
    }

    /// How long writing has waited for the worker, in microseconds.
    pub(crate) fn waited_us(&self) -> f64 {
        self.behind.as_ref().map_or(0.0, WriteBehind::waited_us)
    }

    /// Refuses everything from now on: the file holds what does not belong there.
    pub(crate) fn poison(&mut self) {
        self.poisoned = true;
    }

    fn check_poison(&self) -> Result<()> {
        if self.poisoned { Err(Error::Poisoned { path: self.storage.path(&self.name) }) } else { Ok(()) }
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

    /// Lets `fill` append to what is to be written; returns what it returns.
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

    /// Zeros up to the next multiple of `page` bytes.
    pub(crate) fn align(&mut self, page: u64) -> Result<()> {
        self.zeros((page - self.offset() % page) % page)
    }

    fn flush(&mut self) -> Result<()> {
        self.check_poison()?;
        let bytes = self.buffer.len() as u64;
        let written = match (&mut self.behind, &mut self.file) {
            (Some(behind), _) => behind.append(std::mem::take(&mut self.buffer)).map(|empty| self.buffer = empty),
            (None, Some(file)) => file.append(&self.buffer),
            (None, None) => Err(Error::Poisoned { path: self.storage.path(&self.name) }),
        };
        self.poisoned = written.is_err();
        written?;
        self.written += bytes;
        self.buffer.clear();
        Ok(())
    }

    /// Makes everything durable that was written.
    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        if let Some(behind) = self.behind.take() {
            self.file = Some(behind.finish()?);
        }
        match &mut self.file {
            Some(file) => file.sync(),
            None => Err(Error::Poisoned { path: self.storage.path(&self.name) }),
        }
    }

    /// Opens what was written so far under its temporary name; nothing may be put behind it then.
    pub(super) fn reopen(&mut self) -> Result<super::Table> {
        self.sync()?;
        super::Table::open(self.storage.clone(), &self.temporary, &OpenOptions::default())
    }

    /// Makes the file durable and gives it its name, durably.
    ///
    /// # Errors
    /// Whatever the storage reports. Until the rename nothing stands under the name; after it the whole file does.
    pub(crate) fn publish(&mut self) -> Result<()> {
        self.sync()?;
        // Another writer may have taken the file for a leftover before it was locked; the lock has then made an empty one.
        match self.storage.open(&self.temporary) {
            Ok(found) if found.len() != self.written => {
                return Err(Error::Locked { path: self.storage.path(&self.name) });
            }
            // Storage may show a file only when it is complete.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            found => _ = found?,
        }
        self.storage.rename(&self.temporary, &self.name)?;
        self.published = true;
        self.storage.sync_directory()
    }
}

impl Drop for PublishedFile {
    fn drop(&mut self) {
        // Nobody writes any more when the file is removed.
        (self.behind, self.file) = (None, None);
        if !self.published {
            // There is nobody to report to; a leftover is removed by the next writer of the name.
            _ = self.storage.remove(&self.temporary);
        }
    }
}

/// Refuses to overwrite: anything without `replace`, and what is no table in any case.
fn check_replaced(storage: &dyn Storage, name: &str, replace: bool) -> Result<()> {
    if !storage.exists(name)? {
        return Ok(());
    }
    if !replace {
        return Err(Error::io("create", storage.path(name), ErrorKind::AlreadyExists.into()));
    }
    match read_tail(storage, name, OpenOptions::default().budget_bytes, "") {
        // A damaged table, one of a newer version, or one of which much would have to be read, is a table all the same.
        Ok(_) | Err(Error::Damaged { .. } | Error::UnknownVersion { .. } | Error::MemoryShort { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes what writers of this table left behind when they were killed.
fn remove_leftovers(storage: &dyn Storage, name: &str) -> Result<()> {
    for file in storage.list()? {
        let id = file
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('.'))
            .and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX));
        if id.is_some_and(|id| id.len() == 16 && id.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            match storage.lock(&file) {
                Ok(_lock) => remove_if_present(storage, &file)?,
                // Its writer is alive.
                Err(Error::Locked { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
