//! Value relocation: copies live values out of value files that are being collected, and values out of memtables.

use super::context::JobContext;
use crate::error::{Error, Result};
use crate::lsm::state::tables::value_files::VALUE_FILE_BYTES;
use crate::lsm::state::version::{FileKind, file_name};
use crate::vlog::{ValueFile, ValueFilePointer, ValueFileWriter};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longer values are moved chunk by chunk.
const STREAMED_VALUE_BYTES_MIN: u64 = 1 << 20;

/// Value files being collected, by number.
pub(crate) type CollectedFiles = BTreeMap<u64, Arc<ValueFile>>;

/// Values are buffered in 1/8 of the memory of a job.
const BUFFER_MEMORY_DIVISOR: u64 = 8;

/// Copies values to new value files.
///
/// An entry whose value moves keeps its sequence number, so readers see no change. Dropping it without [`Self::finish`]
/// removes all its files.
#[derive(Debug)]
pub(crate) struct Relocator<'a> {
    context: &'a JobContext<'a>,
    collected: &'a CollectedFiles,
    growing: Option<ValueFileWriter>,
    finished: Vec<Arc<ValueFile>>,
    pointer: Vec<u8>,
    /// Bytes of values read.
    pub(crate) read_bytes: u64,
    /// Bytes of values that memtables had.
    pub(crate) separated_bytes: u64,
    is_done: bool,
}

impl<'a> Relocator<'a> {
    pub(crate) fn new(context: &'a JobContext<'a>, collected: &'a CollectedFiles) -> Self {
        Self {
            context,
            collected,
            growing: None,
            finished: Vec::new(),
            pointer: Vec::new(),
            read_bytes: 0,
            separated_bytes: 0,
            is_done: false,
        }
    }

    /// Moves a value and returns its new pointer; `None` if it may stay.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) for an invalid pointer or a damaged value; errors of the storage.
    pub(crate) fn moved(&mut self, key: &[u8], pointer: &[u8]) -> Result<Option<&[u8]>> {
        if self.collected.is_empty() {
            return Ok(None);
        }
        let Some(pointer) = ValueFilePointer::decode(pointer) else {
            return Err(Error::damaged(self.context.storage.path(""), 0, "a value pointer is malformed"));
        };
        let Some(file) = self.collected.get(&pointer.file) else { return Ok(None) };
        let context = self.context;
        let writer = self.writer()?;
        let moved = if pointer.length > STREAMED_VALUE_BYTES_MIN {
            writer.append_stream(key, &mut file.stream(&pointer)?)?
        } else {
            writer.append(key, &context.rewritten(&file.get(&pointer, STREAMED_VALUE_BYTES_MIN)?))?
        };
        self.read_bytes += pointer.stored_bytes;
        self.appended(&moved).map(Some)
    }

    /// Writes the value of an entry of a memtable; returns the pointer to it.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn separated(&mut self, key: &[u8], value: &[u8]) -> Result<&[u8]> {
        let pointer = self.writer()?.append(key, value)?;
        self.separated_bytes += pointer.stored_bytes;
        self.appended(&pointer)
    }

    fn appended(&mut self, pointer: &ValueFilePointer) -> Result<&[u8]> {
        let most = self.context.memory_bytes / BUFFER_MEMORY_DIVISOR;
        if let Some(writer) = self.growing.as_mut().filter(|writer| writer.waiting_bytes() as u64 >= most) {
            writer.flush()?;
        }
        self.pointer.clear();
        pointer.encode(&mut self.pointer);
        Ok(&self.pointer)
    }

    /// The value file being written; a new one if there is none, or if it has reached its size.
    fn writer(&mut self) -> Result<&mut ValueFileWriter> {
        if self.growing.as_ref().is_some_and(|writer| writer.len_bytes() >= VALUE_FILE_BYTES) {
            self.end_file()?;
        }
        let context = self.context;
        let writer = match self.growing.take() {
            Some(growing) => growing,
            None => {
                let number = context.next_number()?;
                let compression = context.options.compression;
                let created = ValueFileWriter::create(context.storage, context.binding, number, compression);
                created.inspect_err(|_| context.discard([file_name(number, FileKind::Values)]))?
            }
        };
        Ok(self.growing.insert(writer))
    }

    fn end_file(&mut self) -> Result<()> {
        let Some(writer) = self.growing.take() else { return Ok(()) };
        let name = file_name(writer.number(), FileKind::Values);
        let finished = writer.finish().inspect_err(|_| self.context.discard([name]))?;
        self.finished.push(finished);
        Ok(())
    }

    /// Syncs and finishes the new files.
    pub(crate) fn finish(mut self) -> Result<Vec<Arc<ValueFile>>> {
        self.end_file()?;
        self.is_done = true;
        Ok(std::mem::take(&mut self.finished))
    }
}

impl Drop for Relocator<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let growing = self.growing.take().map(|writer| writer.number());
        let numbers = self.finished.iter().map(|file| file.number()).chain(growing);
        self.context.discard(numbers.map(|number| file_name(number, FileKind::Values)));
    }
}
