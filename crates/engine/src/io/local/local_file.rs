//! A local file open for reading: one range, or many ranges of the page cache.

use super::open_files::{OpenFile, ReadHandle};
use super::positional::{AlignedBuffer, read_aligned, read_exactly, read_whole_blocks};
use crate::error::Result;
use crate::io::meter::telemetry::StorageTelemetry;
use crate::io::reads::read_ahead::{PendingReads, RangeRequest, ReadBuffer};
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Largest scratch buffer that a thread keeps for its next direct read.
const SCRATCH_BYTES_MAX: usize = 1 << 20;

thread_local! {
    static SCRATCH: RefCell<AlignedBuffer> = RefCell::default();
}

/// Lends the thread's scratch buffer.
pub(in crate::io) fn with_scratch<T>(work: impl FnOnce(&mut AlignedBuffer) -> T) -> T {
    SCRATCH.with_borrow_mut(|scratch| {
        let outcome = work(scratch);
        if scratch.capacity_bytes() > SCRATCH_BYTES_MAX {
            *scratch = AlignedBuffer::default();
        }
        outcome
    })
}

/// The handle of a file, shared with the reader threads.
#[derive(Debug)]
pub(in crate::io) struct LocalFile {
    pub(in crate::io) slot: Arc<ReadHandle>,
    pub(in crate::io) path: PathBuf,
    /// Set for the whole storage when a file falls back to the page cache.
    pub(in crate::io) refused_direct: Arc<AtomicBool>,
    pub(in crate::io) telemetry: Arc<StorageTelemetry>,
}

impl LocalFile {
    /// The alignment of offsets, lengths and addresses, if the file bypasses the page cache.
    pub(in crate::io) fn alignment(&self, open: &OpenFile) -> Option<usize> {
        open.alignment.filter(|_| self.slot.is_direct())
    }

    /// Switches to the page cache permanently.
    pub(in crate::io) fn stop_direct(&self, open: &OpenFile) -> io::Result<()> {
        self.refused_direct.store(true, Ordering::Relaxed);
        self.slot.stop_direct(open)
    }

    /// Counts the ranges that `read` fills, and reports it if it is slow.
    #[inline]
    pub(in crate::io) fn watched(&self, ranges: u64, bytes: u64, read: impl FnOnce() -> Result<()>) -> Result<()> {
        StorageTelemetry::timed(&self.path, bytes, read)?;
        self.telemetry.note_reads(ranges, bytes);
        Ok(())
    }

    /// Fills `buffer` from `offset`.
    pub(in crate::io) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.slot.with("read", |open| {
            let Some(alignment) = self.alignment(open) else { return read_exactly(&open.file, buffer, offset) };
            match with_scratch(|scratch| read_aligned(&open.file, scratch, buffer, offset, alignment)) {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    self.stop_direct(open)?;
                    read_exactly(&open.file, buffer, offset)
                }
                outcome => outcome,
            }
        })
    }

    /// Reads a range into a buffer that the caller can pass to another thread.
    pub(in crate::io) fn read_owned(
        &self,
        offset: u64,
        length: usize,
        mut buffer: AlignedBuffer,
    ) -> Result<ReadBuffer> {
        self.slot.with("read", |open| {
            if let Some(alignment) = self.alignment(open) {
                match read_whole_blocks(&open.file, &mut buffer, offset, length, alignment) {
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.stop_direct(open)?,
                    outcome => return outcome.map(|range| ReadBuffer::of_aligned(buffer, range)),
                }
            }
            let mut bytes = buffer.into_bytes();
            bytes.resize(length, 0);
            read_exactly(&open.file, &mut bytes, offset)?;
            Ok(bytes.into())
        })
    }

    /// Fills several ranges through the page cache: those in memory at once. For the others the kernel is asked to read
    /// all of them before the first is waited for.
    pub(in crate::io) fn read_cached(&self, ranges: Vec<(u64, &mut [u8])>) -> Result<()> {
        self.slot.with("read", |open| {
            let mut missing = Vec::new();
            for (offset, buffer) in ranges {
                let done = page_cache::read_resident(&open.file, buffer, offset);
                if done < buffer.len() {
                    missing.push((offset + done as u64, &mut buffer[done..]));
                }
            }
            if missing.len() > 1 {
                missing.iter().for_each(|(offset, buffer)| page_cache::fetch(&open.file, *offset, buffer.len()));
            }
            missing.iter_mut().try_for_each(|(offset, buffer)| read_exactly(&open.file, buffer, *offset))
        })
    }

    /// As [`Self::read_cached`], but waits for nothing: what is not in memory is read by [`CachedReads::wait`].
    pub(in crate::io) fn start_cached(self: &Arc<Self>, ranges: &[RangeRequest]) -> Result<CachedReads> {
        let (mut buffers, mut missing) = (Vec::with_capacity(ranges.len()), Vec::new());
        self.slot.with("read", |open| {
            for (index, range) in ranges.iter().enumerate() {
                let mut buffer = vec![0; range.bytes];
                let done = page_cache::read_resident(&open.file, &mut buffer, range.offset);
                if done < buffer.len() {
                    page_cache::fetch(&open.file, range.offset + done as u64, buffer.len() - done);
                    missing.push(MissingRange { index, done, offset: range.offset + done as u64 });
                }
                buffers.push(buffer);
            }
            Ok(())
        })?;
        Ok(CachedReads { file: Arc::clone(self), buffers, missing })
    }
}

/// The part of a range that was not in memory.
#[derive(Debug)]
struct MissingRange {
    index: usize,
    done: usize,
    offset: u64,
}

/// Reads through the page cache, in progress.
#[derive(Debug)]
pub(in crate::io) struct CachedReads {
    file: Arc<LocalFile>,
    buffers: Vec<Vec<u8>>,
    missing: Vec<MissingRange>,
}

impl PendingReads for CachedReads {
    fn wait(mut self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        if !self.missing.is_empty() {
            let Self { file, buffers, missing } = &mut *self;
            file.slot.with("read", |open| {
                missing.iter().try_for_each(|range| {
                    read_exactly(&open.file, &mut buffers[range.index][range.done..], range.offset)
                })
            })?;
        }
        Ok(self.buffers.into_iter().map(ReadBuffer::from).collect())
    }
}

/// The page cache of Linux: resident pages can be told from others, and others requested.
#[cfg(target_os = "linux")]
mod page_cache {
    use super::File;
    use rustix::fs::Advice;
    use rustix::io::ReadWriteFlags;
    use std::io::IoSliceMut;
    use std::num::NonZero;

    /// The kernel limits what one request fetches to the read-ahead of the device, often this much.
    const FETCH_BYTES: usize = 128 << 10;

    /// Copies the beginning of a range that is in memory; returns its length. Any error is left to the read that
    /// follows.
    pub(super) fn read_resident(file: &File, buffer: &mut [u8], offset: u64) -> usize {
        let whole = buffer.len();
        rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT)
            .map_or(0, |done| done.min(whole))
    }

    /// Lets the kernel read a range, without waiting for it.
    pub(super) fn fetch(file: &File, offset: u64, length: usize) {
        for start in (0..length).step_by(FETCH_BYTES) {
            let part = NonZero::new(FETCH_BYTES.min(length - start) as u64);
            // Only advice: without it the reads are slower.
            _ = rustix::fs::fadvise(file, offset + start as u64, part, Advice::WillNeed);
        }
    }
}

/// On other systems each range is read in turn.
#[cfg(not(target_os = "linux"))]
mod page_cache {
    use super::File;

    /// Nothing is known to be in memory.
    pub(super) fn read_resident(_file: &File, _buffer: &mut [u8], _offset: u64) -> usize {
        0
    }

    /// Nothing is requested ahead.
    pub(super) fn fetch(_file: &File, _offset: u64, _length: usize) {}
}
