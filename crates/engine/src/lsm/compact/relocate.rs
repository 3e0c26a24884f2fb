//! Value relocation: copies live values out of value files that are being collected.

use super::super::version::{FileKind, file_name};
use super::context::JobContext;
use crate::error::{Error, Result};
use crate::vlog::{ValueFile, ValueFilePointer, ValueFileWriter};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longer values are moved chunk by chunk.
const STREAMED_VALUE_BYTES_MIN: u64 = 1 << 20;
/// Size at which a new value file is begun, in bytes.
pub(crate) const VALUE_FILE_BYTES: u64 = 256 << 20;

/// Value files being collected, by number.
pub(crate) type CollectedFiles = BTreeMap<u64, Arc<ValueFile>>;

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
            is_done: false,
        }
    }

    /// Moves a value and returns its new pointer; `None` if it may stay.
    ///
    /// # Errors
    /// [`Error::Damaged`] for an invalid pointer or a damaged value; errors of the storage.
    pub(crate) fn moved(&mut self, key: &[u8], pointer: &[u8]) -> Result<Option<&[u8]>> {
        if self.collected.is_empty() {
            return Ok(None);
        }
        let Some(pointer) = ValueFilePointer::decode(pointer) else {
            return Err(Error::damaged(self.context.storage.path(""), 0, "a value pointer is malformed"));
        };
        let Some(file) = self.collected.get(&pointer.file) else { return Ok(None) };
        let moved = self.copy(key, file, &pointer)?;
        self.read_bytes += pointer.stored_bytes;
        self.pointer.clear();
        moved.encode(&mut self.pointer);
        Ok(Some(&self.pointer))
    }

    fn copy(&mut self, key: &[u8], file: &ValueFile, pointer: &ValueFilePointer) -> Result<ValueFilePointer> {
        if self.growing.as_ref().is_some_and(|writer| writer.len_bytes() >= VALUE_FILE_BYTES) {
            self.end_file()?;
        }
        let context = self.context;
        let writer = match &mut self.growing {
            Some(growing) => growing,
            None => {
                let number = context.next_number()?;
                let compression = context.options.compression;
                let created = ValueFileWriter::create(context.storage, context.binding, number, compression);
                self.growing.insert(created.inspect_err(|_| context.discard([file_name(number, FileKind::Values)]))?)
            }
        };
        if pointer.length > STREAMED_VALUE_BYTES_MIN {
            return writer.append_stream(key, &mut file.stream(pointer)?);
        }
        let value = file.get(pointer, STREAMED_VALUE_BYTES_MIN)?;
        writer.append(key, &value)
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
