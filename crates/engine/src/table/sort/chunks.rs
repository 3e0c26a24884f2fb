//! Temporary files of checksummed chunks: appended in order, read in any order.
//!
//! Each checksum also covers the file and the position of its chunk. Nothing is synced: the files are useless after a
//! crash. A chunk is an error unless it is what was written.

use crate::block::checksum::{CHECKSUM_BYTES, check, seal};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, Storage, WritableFile};
use std::fmt::Debug;
use std::sync::Arc;

/// The name of a temporary file. Dropping it removes the file.
pub(crate) trait TemporaryFile: Debug {
    /// The storage of the file.
    fn storage(&self) -> &dyn Storage;

    /// Its name.
    fn name(&self) -> &str;

    /// The number that all checksums of the file cover.
    fn identity(&self) -> u64;

    /// Makes a write. Owners that can be interrupted, or measure time, do so here.
    fn write<R>(&self, write: impl FnOnce() -> Result<R>) -> Result<R> {
        write()
    }

    /// Makes this number of reads of this many bytes in total.
    fn read<R>(&self, _requests: u64, _bytes: u64, read: impl FnOnce() -> Result<R>) -> Result<R> {
        read()
    }
}

/// The location of a chunk in its file, checksum included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkLocation {
    pub(crate) offset: u64,
    pub(crate) stored_bytes: u32,
}

impl ChunkLocation {
    /// Bytes of the chunk without its checksum.
    pub(crate) fn payload_bytes(self) -> usize {
        (self.stored_bytes as usize).saturating_sub(CHECKSUM_BYTES)
    }
}

/// Writes chunks.
#[derive(Debug)]
pub(crate) struct ChunkFileWriter<T> {
    // The file is closed before it is removed.
    writer: Box<dyn WritableFile>,
    name: T,
    offset: u64,
}

impl<T: TemporaryFile> ChunkFileWriter<T> {
    /// Buffer overhead of a chunk, in bytes.
    pub(crate) const OVERHEAD_BYTES: usize = CHECKSUM_BYTES;

    /// Creates the file.
    ///
    /// # Errors
    /// Errors of the storage, after which a file of this name is removed, even if another writer created it.
    pub(crate) fn create(name: T) -> Result<Self> {
        let writer = name.storage().create(name.name())?;
        Ok(Self::over(writer, name))
    }

    /// Writes to a file that was created under this name.
    pub(super) fn over(writer: Box<dyn WritableFile>, name: T) -> Self {
        Self { writer, name, offset: 0 }
    }

    /// Writes the content of `chunk`, and clears it. The buffer needs spare capacity of [`Self::OVERHEAD_BYTES`], or it
    /// is reallocated.
    ///
    /// # Errors
    /// Errors of the storage, of kind `StorageFull` if it is full, and of the owner.
    pub(crate) fn append(&mut self, chunk: &mut Vec<u8>) -> Result<ChunkLocation> {
        chunk.extend_from_slice(&[0; CHECKSUM_BYTES]);
        let location = self.append_sealed(chunk);
        chunk.clear();
        location
    }

    /// Writes a chunk whose last [`Self::OVERHEAD_BYTES`] are reserved for its checksum.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub(crate) fn append_sealed(&mut self, chunk: &mut [u8]) -> Result<ChunkLocation> {
        let location = ChunkLocation { offset: self.offset, stored_bytes: chunk.len() as u32 };
        seal(self.name.identity(), self.offset, chunk);
        self.name.write(|| self.writer.append(chunk))?;
        self.offset += chunk.len() as u64;
        Ok(location)
    }

    /// Completes the file, and closes it.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn close(mut self) -> Result<ClosedChunkFile<T>> {
        self.name.write(|| self.writer.flush())?;
        Ok(ClosedChunkFile { name: self.name, length: self.offset })
    }

    /// Completes the file for reading.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn finish(mut self) -> Result<Arc<ChunkFile<T>>> {
        self.name.write(|| self.writer.flush())?;
        let Self { mut writer, name, offset } = self;
        let found = ClosedChunkFile { name, length: offset }.open()?;
        if found.file.is_direct() {
            // Direct reads see only synced data.
            found.name.write(|| writer.sync())?;
        }
        Ok(found)
    }
}

/// A complete file that is not open: a sort may have more of them than can be open.
#[derive(Debug)]
pub(crate) struct ClosedChunkFile<T> {
    name: T,
    length: u64,
}

impl<T: TemporaryFile> ClosedChunkFile<T> {
    /// Length in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Opens the file for reading.
    ///
    /// # Errors
    /// Errors of the storage; [`Cause::Damaged`](crate::Cause::Damaged) if the file is not as long as what was written.
    pub(crate) fn open(self) -> Result<Arc<ChunkFile<T>>> {
        let Self { name, length } = self;
        let file = name.storage().open(name.name())?;
        if file.len() != length {
            let detail = format!("a temporary file has {} bytes instead of {length}", file.len());
            return Err(Error::damaged(file.path(), file.len().min(length), detail));
        }
        Ok(Arc::new(ChunkFile { file, name }))
    }
}

/// A completed file.
#[derive(Debug)]
pub(crate) struct ChunkFile<T> {
    // The file is closed before it is removed.
    file: Arc<dyn ReadableFile>,
    name: T,
}

impl<T: TemporaryFile> ChunkFile<T> {
    /// Reads the bytes from `offset` on into `stored`: whole chunks, to be verified by [`Self::check`].
    ///
    /// # Errors
    /// Those of the storage and of the owner.
    pub(crate) fn read(&self, offset: u64, stored: &mut [u8]) -> Result<()> {
        let bytes = stored.len() as u64;
        let request = ReadRequest { offset, buffer: stored, purpose: Purpose::Input };
        self.name.read(1, bytes, || self.file.read(request))
    }

    /// Reads many chunks into their buffers and verifies them; as many reads at once as the storage serves.
    ///
    /// # Errors
    /// As [`Self::read`]; [`Cause::Damaged`](crate::Cause::Damaged) for a chunk that is not what was written.
    pub(crate) fn read_chunks(&self, mut chunks: Vec<(u64, &mut [u8])>) -> Result<()> {
        let bytes = chunks.iter().map(|(_, buffer)| buffer.len() as u64).sum();
        let requests: Vec<_> = chunks
            .iter_mut()
            .map(|(offset, buffer)| ReadRequest { offset: *offset, buffer, purpose: Purpose::Input })
            .collect();
        self.name.read(requests.len() as u64, bytes, || self.file.read_many(requests))?;
        chunks.iter().try_for_each(|(offset, buffer)| self.check(*offset, buffer))
    }

    /// Verifies the checksum of a chunk read from `offset`.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) if it does not match.
    pub(crate) fn check(&self, offset: u64, chunk: &[u8]) -> Result<()> {
        if chunk.len() > CHECKSUM_BYTES && check(self.name.identity(), offset, chunk) {
            return Ok(());
        }
        Err(self.damaged(offset, "a chunk of a temporary file is not what was written"))
    }

    /// The error for damage at `offset`.
    pub(crate) fn damaged(&self, offset: u64, detail: &str) -> Error {
        Error::damaged(self.file.path(), offset, detail)
    }
}
