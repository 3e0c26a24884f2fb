//! A sequential writer for new files that bypasses the page cache.

use super::folder::LocalReader;
use super::positional::{AlignedBuffer, write_exactly};
use super::update::LocalUpdater;
use crate::error::{Error, Result};
use crate::io::storage::request::Purpose;
use crate::io::storage::traits::{ReadableFile, UpdatableFile};
use crate::io::storage::traits::{WritableFile, check_write};
use std::io::ErrorKind;
use std::path::Path;

/// Size of the staging buffer: large enough that the device's latency is a small share.
const STAGED_BYTES: usize = 1 << 20;

/// A new file that writes to the device in large blocks as it goes, so that a sync at the end is short. Consecutive
/// writes are staged; others pass through [`LocalUpdater`].
#[derive(Debug)]
pub(in crate::io) struct StreamWriter {
    updater: LocalUpdater,
    /// Alignment of writes; 1 through the page cache.
    alignment: usize,
    staged: AlignedBuffer,
    /// Offset of the staged bytes in the file, a multiple of the alignment, and their number.
    staged_at: u64,
    staged_bytes: usize,
    poisoned: bool,
}

impl StreamWriter {
    /// Writes to a new file.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io) if it cannot be accessed.
    pub(in crate::io) fn new(file: LocalReader) -> Result<Self> {
        let alignment = file.file.slot.with("write", |open| Ok(file.file.alignment(open).unwrap_or(1)))?;
        let updater = LocalUpdater::new(file);
        Ok(Self {
            updater,
            alignment,
            staged: AlignedBuffer::default(),
            staged_at: 0,
            staged_bytes: 0,
            poisoned: false,
        })
    }

    /// Runs `work` unless an earlier call failed: the first failure is final.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.poisoned {
            return Err(Error::poisoned(self.path()));
        }
        let outcome = work(self);
        self.poisoned |= outcome.is_err();
        outcome
    }

    /// The staging buffer.
    fn stage(&mut self) -> &mut [u8] {
        let alignment = self.alignment;
        self.staged.slice(STAGED_BYTES, alignment)
    }

    fn push(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let begin = self.staged_bytes;
            let taken = bytes.len().min(STAGED_BYTES - begin);
            self.stage()[begin..begin + taken].copy_from_slice(&bytes[..taken]);
            self.staged_bytes += taken;
            bytes = &bytes[taken..];
            if self.staged_bytes == STAGED_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes the staged bytes, a multiple of the alignment.
    fn flush(&mut self) -> Result<()> {
        let (at, length) = (self.staged_at, self.staged_bytes);
        let alignment = self.alignment;
        let staged = &self.staged.slice(STAGED_BYTES, alignment)[..length];
        let reader = self.updater.reader();
        reader.file.slot.with("write", |open| match write_exactly(&open.file, staged, at) {
            Err(error) if error.kind() == ErrorKind::InvalidInput && reader.file.alignment(open).is_some() => {
                reader.file.stop_direct(open)?;
                write_exactly(&open.file, staged, at)
            }
            outcome => outcome,
        })?;
        reader.file.telemetry.note_written(length as u64);
        reader.length_bytes.fetch_max(at + length as u64, std::sync::atomic::Ordering::AcqRel);
        self.staged_at += length as u64;
        self.staged_bytes = 0;
        Ok(())
    }

    /// Writes all staged bytes: whole blocks, and a partial one, which stays staged so that the next flush begins at a
    /// block.
    fn flush_all(&mut self) -> Result<()> {
        let part = self.staged_bytes % self.alignment;
        let whole = self.staged_bytes - part;
        let tail = self.stage()[whole..whole + part].to_vec();
        self.staged_bytes = whole;
        self.flush()?;
        if part > 0 {
            self.updater.write_at(self.staged_at, &tail, Purpose::Data)?;
            self.stage()[..part].copy_from_slice(&tail);
            self.staged_bytes = part;
        }
        Ok(())
    }
}

impl WritableFile for StreamWriter {
    fn len(&self) -> u64 {
        self.staged_at + self.staged_bytes as u64
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        check_write(self.path(), self.len(), offset)?;
        self.guarded(|writer| {
            if offset == writer.len() {
                return writer.push(bytes);
            }
            writer.flush_all()?;
            let end = writer.len();
            let inside = bytes.len().min((end - offset) as usize);
            writer.updater.write_at(offset, &bytes[..inside], Purpose::Data)?;
            // The partial block that stays staged may have changed.
            let staged = writer.staged_at.max(offset);
            if staged < offset + inside as u64 {
                let (at, from) = ((staged - writer.staged_at) as usize, (staged - offset) as usize);
                writer.stage()[at..at + inside - from].copy_from_slice(&bytes[from..inside]);
            }
            writer.push(&bytes[inside..])
        })
    }

    fn flush(&mut self) -> Result<()> {
        self.guarded(|writer| {
            writer.flush_all()?;
            // Whole blocks were written; the file ends with its bytes.
            writer.updater.set_len(writer.len())
        })
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.guarded(|writer| writer.updater.sync())
    }

    fn path(&self) -> &Path {
        self.updater.path()
    }
}
