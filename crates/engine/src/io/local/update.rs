//! Local files that are written in place, through the page cache or by direct I/O.

use super::folder::LocalReader;
use super::local_file::with_scratch;
use super::open_files::OpenFile;
use super::positional::{AlignedBuffer, ReadAt, write_exactly};
use crate::error::{Error, Result};
use crate::io::reads::read_ahead::{PendingReads, RangeRequest};
use crate::io::storage::request::{Purpose, ReadRequest};
use crate::io::storage::traits::{ReadableFile, UpdatableFile};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Largest aligned write; a longer range takes several.
const WRITE_BYTES_MAX: usize = 1 << 20;

/// A [`LocalReader`] that can also be written. Direct writes are whole blocks: where a range begins or ends inside one,
/// the rest of the block is read first and written back.
#[derive(Debug)]
pub(in crate::io) struct LocalUpdater {
    reader: LocalReader,
    poisoned: AtomicBool,
    /// Whether writing has ended.
    writes_finished: AtomicBool,
    /// Locked while a partial block is read and written back, so that no other write to the block intervenes.
    edges: Mutex<()>,
}

impl LocalUpdater {
    pub(in crate::io) fn new(reader: LocalReader) -> Self {
        Self {
            reader,
            poisoned: AtomicBool::new(false),
            writes_finished: AtomicBool::new(false),
            edges: Mutex::new(()),
        }
    }

    /// The file.
    pub(in crate::io) fn reader(&self) -> &LocalReader {
        &self.reader
    }

    /// Runs `work` unless an earlier write or sync failed. A failed sync may have dropped the dirty pages and would
    /// succeed if retried, so the first failure is final.
    fn guarded(&self, action: &'static str, work: impl FnOnce(&OpenFile) -> io::Result<()>) -> Result<()> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::poisoned(self.reader.file.path.clone()));
        }
        if self.writes_finished.load(Ordering::Acquire) {
            let path = self.reader.file.path.display();
            return Err(Error::input(format!("writing to {path} has ended; open it again to write to it")));
        }
        let outcome = self.reader.file.slot.with(action, work);
        if outcome.is_err() {
            self.poisoned.store(true, Ordering::Release);
        }
        outcome
    }

    fn write(&self, open: &OpenFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let Some(alignment) = self.reader.file.alignment(open) else { return write_exactly(&open.file, bytes, offset) };
        let _edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
        match with_scratch(|scratch| write_aligned(&open.file, scratch, bytes, offset, alignment)) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                self.reader.file.stop_direct(open)?;
                write_exactly(&open.file, bytes, offset)
            }
            outcome => outcome,
        }
    }
}

/// Writes `bytes` at `offset` in whole blocks.
fn write_aligned(
    file: &File,
    scratch: &mut AlignedBuffer,
    bytes: &[u8],
    offset: u64,
    alignment: usize,
) -> io::Result<()> {
    let mask = alignment as u64 - 1;
    let mut done = 0;
    while done < bytes.len() {
        let from = offset + done as u64;
        let skip = (from & mask) as usize;
        let take = (bytes.len() - done).min(WRITE_BYTES_MAX - skip);
        let length = (skip + take).next_multiple_of(alignment);
        let (start, blocks) = (from - skip as u64, scratch.slice(length, alignment));
        if skip > 0 {
            read_block(file, &mut blocks[..alignment], start)?;
        }
        // The first block was already read if it is also the last.
        if skip + take < length && (skip == 0 || length > alignment) {
            let last = length - alignment;
            read_block(file, &mut blocks[last..], start + last as u64)?;
        }
        blocks[skip..skip + take].copy_from_slice(&bytes[done..done + take]);
        write_exactly(file, blocks, start)?;
        done += take;
    }
    Ok(())
}

/// Reads one block; any part past the end of the file is zeros.
fn read_block(file: &File, block: &mut [u8], offset: u64) -> io::Result<()> {
    block.fill(0);
    loop {
        match file.read_at_once(block, offset) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl ReadableFile for LocalUpdater {
    fn len(&self) -> u64 {
        self.reader.len()
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.reader.read(request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.reader.read_many(requests)
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        self.reader.start_reads(ranges)
    }

    fn modified_ns(&self) -> Option<u64> {
        self.reader.modified_ns()
    }

    fn is_direct(&self) -> bool {
        self.reader.is_direct()
    }

    fn is_in_place(&self) -> bool {
        self.reader.is_in_place()
    }

    fn path(&self) -> &Path {
        self.reader.path()
    }
}

impl UpdatableFile for LocalUpdater {
    fn write_at(&self, offset: u64, bytes: &[u8], _purpose: Purpose) -> Result<()> {
        self.guarded("write", |open| self.write(open, offset, bytes))?;
        self.reader.file.telemetry.note_written(bytes.len() as u64);
        self.reader.length_bytes.fetch_max(offset + bytes.len() as u64, Ordering::AcqRel);
        Ok(())
    }

    fn set_len(&self, length_bytes: u64) -> Result<()> {
        self.guarded("cut", |open| open.file.set_len(length_bytes))?;
        self.reader.length_bytes.store(length_bytes, Ordering::Release);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.guarded("sync", |open| open.file.sync_data())
    }

    fn finish_writes(&self) {
        self.writes_finished.store(true, Ordering::Release);
        // A file that may not be durable stays open: a failed sync of another handle would not be reported.
        if !self.poisoned.load(Ordering::Acquire) {
            self.reader.file.slot.finish_writes();
        }
    }
}
