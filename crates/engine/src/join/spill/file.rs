//! Chunks of a spill file: appended in order, read in any order.

use super::claim::SpillName;
use crate::block::checksum::{CHECKSUM_BYTES, check, identity, seal};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, WritableFile};
use crate::join::task::TimedPhase;
use std::sync::Arc;

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
pub(crate) struct ChunkWriter {
    // The file is closed before it is removed.
    writer: Box<dyn WritableFile>,
    name: SpillName,
    identity: u64,
    offset: u64,
}

impl ChunkWriter {
    /// Buffer overhead of a chunk, in bytes.
    pub(crate) const OVERHEAD_BYTES: usize = CHECKSUM_BYTES;

    pub(super) fn create(name: SpillName) -> Result<Self> {
        let writer = name.spill.storage.create(name.as_str())?;
        let identity = identity(name.owner, name.number);
        Ok(Self { writer, name, identity, offset: 0 })
    }

    /// Writes the content of `chunk`, and clears it. The buffer needs spare capacity of [`Self::OVERHEAD_BYTES`], or it
    /// is reallocated.
    ///
    /// # Errors
    /// Errors of the storage, of kind `StorageFull` if it is full; [`Error::Interrupted`].
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
        let task = &self.name.spill.task;
        task.check()?;
        let location = ChunkLocation { offset: self.offset, stored_bytes: chunk.len() as u32 };
        seal(self.identity, self.offset, chunk);
        task.timed(TimedPhase::Writing, || self.writer.append(chunk))?;
        self.offset += chunk.len() as u64;
        Ok(location)
    }

    /// Completes the file for reading.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn finish(self) -> Result<Arc<SpillFile>> {
        let Self { mut writer, name, identity, offset } = self;
        name.spill.task.timed(TimedPhase::Writing, || writer.flush())?;
        let file = name.spill.storage.open(name.as_str())?;
        if file.is_direct() {
            // Direct reads see only synced data.
            name.spill.task.timed(TimedPhase::Writing, || writer.sync())?;
        }
        if file.len() != offset {
            let detail = format!("a spill file has {} bytes instead of {offset}", file.len());
            return Err(Error::damaged(file.path(), file.len().min(offset), detail));
        }
        drop(writer);
        Ok(Arc::new(SpillFile { file, name, identity }))
    }
}

/// A completed spill file.
#[derive(Debug)]
pub(crate) struct SpillFile {
    // The file is closed before it is removed.
    file: Arc<dyn ReadableFile>,
    name: SpillName,
    identity: u64,
}

impl SpillFile {
    /// Reads the bytes from `offset` on into `stored`: whole chunks, to be verified by [`Self::check`].
    ///
    /// # Errors
    /// Those of the storage; [`Error::Interrupted`].
    pub(crate) fn read(&self, offset: u64, stored: &mut [u8]) -> Result<()> {
        let task = &self.name.spill.task;
        task.check()?;
        task.count_reads(1, stored.len() as u64);
        let request = ReadRequest { offset, buffer: stored, purpose: Purpose::Input };
        task.timed(TimedPhase::Reading, || self.file.read(request))
    }

    /// Reads many chunks into their buffers and verifies them; as many reads at once as the storage serves.
    ///
    /// # Errors
    /// Those of the storage; [`Error::Damaged`] for a chunk that is not what was written; [`Error::Interrupted`].
    pub(crate) fn read_chunks(&self, mut chunks: Vec<(u64, &mut [u8])>) -> Result<()> {
        let task = &self.name.spill.task;
        task.check()?;
        task.count_reads(chunks.len() as u64, chunks.iter().map(|(_, buffer)| buffer.len() as u64).sum());
        let requests = chunks
            .iter_mut()
            .map(|(offset, buffer)| ReadRequest { offset: *offset, buffer, purpose: Purpose::Input })
            .collect();
        task.timed(TimedPhase::Reading, || self.file.read_many(requests))?;
        chunks.iter().try_for_each(|(offset, buffer)| self.check(*offset, buffer))
    }

    /// Verifies the checksum of a chunk read from `offset`.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it does not match.
    pub(crate) fn check(&self, offset: u64, chunk: &[u8]) -> Result<()> {
        if chunk.len() > CHECKSUM_BYTES && check(self.identity, offset, chunk) {
            return Ok(());
        }
        Err(Error::damaged(self.file.path(), offset, "a chunk of a spill file is not what was written"))
    }
}
