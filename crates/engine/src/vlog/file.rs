//! Value files: opening them, and reading values by pointer.

use super::chunk::{CHUNK_BYTES, ChunkHead, ChunkPart, STORED_BYTES_MAX, STORED_BYTES_MIN};
use super::pointer::ValueFilePointer;
use super::stream::ValueStream;
use crate::block::Slice;
use crate::block::checksum;
use crate::block::compress::{CODEC_STORED, CodecError};
use crate::block::header::{HEADER_BYTES, HeaderKind, StoreBinding};
use crate::block::stream::VALUE_BYTES_MAX;
use crate::error::{Cause, Error, Result};
use crate::file_format::{VALUE_FILE_FOOTER_MAGIC, VALUE_FILE_MAGIC};
use crate::io::{PendingReads, Purpose, RangeRequest, ReadRequest, ReadableFile, Storage, spoiled};
use std::sync::Arc;

/// Offset of the first chunk.
pub(super) const VALUES_START: u64 = HEADER_BYTES as u64;

pub(super) const HEADER: HeaderKind =
    HeaderKind { magic: &VALUE_FILE_MAGIC, development_magic: b"OGIVEVAL", version: 1 };

/// `magic | records: u64 | bytes of values: u64 | zero: u32 | checksum: u32`.
pub(super) const FOOTER_BYTES: usize = 32;

/// The name of a value file.
pub(crate) fn values_name(number: u64) -> String {
    format!("{number:06}.values")
}

/// The footer of a finished file. Its checksum is bound to its offset, so it proves the length of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) records: u64,
    pub(super) value_bytes: u64,
}

impl Footer {
    pub(super) fn encode(self, identity: u64, offset: u64) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        bytes[..8].copy_from_slice(&VALUE_FILE_FOOTER_MAGIC);
        bytes[8..16].copy_from_slice(&self.records.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.value_bytes.to_le_bytes());
        checksum::seal(identity, offset, &mut bytes);
        bytes
    }

    fn decode(identity: u64, offset: u64, bytes: &[u8; FOOTER_BYTES]) -> Option<Self> {
        let word = |at: usize| bytes.get(at..)?.first_chunk::<8>().map(|word| u64::from_le_bytes(*word));
        let footer = Self { records: word(8)?, value_bytes: word(16)? };
        (*bytes == footer.encode(identity, offset)).then_some(footer)
    }
}

/// An open value file, growing or finished, which many threads can read.
#[derive(Debug)]
pub(crate) struct ValueFile {
    pub(super) file: Arc<dyn ReadableFile>,
    pub(super) identity: u64,
    binding: StoreBinding,
    number: u64,
}

impl ValueFile {
    /// Opens a file, finished or not.
    ///
    /// # Errors
    /// [`Cause::Damaged`] if it does not begin as file `number` of `binding`; [`Cause::Version`]; errors of the
    /// storage.
    pub(crate) fn open(storage: &dyn Storage, binding: StoreBinding, number: u64) -> Result<Self> {
        Self::open_checked(storage, number, |found| found == binding)
    }

    /// As [`Self::open`], for a file of any opening of a store.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_of_store(storage: &dyn Storage, store: u64, number: u64) -> Result<Self> {
        Self::open_checked(storage, number, |found| found.store == store)
    }

    /// The store and the opening stated by a file's header, regardless of its number; `None` without a valid header.
    ///
    /// # Errors
    /// [`Cause::Version`]; errors of the storage.
    pub(crate) fn binding_of(storage: &dyn Storage, number: u64) -> Result<Option<StoreBinding>> {
        let header = HEADER.read(&*storage.open(&values_name(number))?)?;
        Ok(header.map(|header| header.binding))
    }

    /// Whether there is a valid value file of this name with another identity, which no crash leaves.
    ///
    /// # Errors
    /// [`Cause::Version`]; errors of the storage.
    pub(crate) fn has_other_identity(storage: &dyn Storage, binding: StoreBinding, number: u64) -> Result<bool> {
        let name = values_name(number);
        if !storage.exists(&name)? {
            return Ok(false);
        }
        let header = HEADER.read(&*storage.open(&name)?)?;
        Ok(header.is_some_and(|header| header.binding != binding || header.number != number))
    }

    fn open_checked(storage: &dyn Storage, number: u64, is_ours: impl FnOnce(StoreBinding) -> bool) -> Result<Self> {
        let file = storage.open(&values_name(number))?;
        match HEADER.read(&*file)? {
            Some(header) if header.number == number && is_ours(header.binding) => {
                Ok(Self::of(file, header.binding, number))
            }
            _ => Err(spoiled(&*file, 0, "this is another value file, or its header is damaged")),
        }
    }

    /// A finished file of a known identity, which is not read now: the checksums of its values prove that it is the
    /// right one.
    pub(crate) fn known(file: Arc<dyn ReadableFile>, binding: StoreBinding, number: u64) -> Self {
        Self::of(file, binding, number)
    }

    pub(super) fn of(file: Arc<dyn ReadableFile>, binding: StoreBinding, number: u64) -> Self {
        Self { file, identity: binding.identity(number), binding, number }
    }

    /// The store and the opening that wrote the file.
    pub(crate) fn binding(&self) -> StoreBinding {
        self.binding
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Length of the file in bytes; while it grows, of the written part.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.file.len()
    }

    /// Whether the file was finished and still has its full length, by one read.
    pub(crate) fn is_finished(&self) -> Result<bool> {
        Ok(self.footer()?.is_some())
    }

    /// The footer, if there is one at the end.
    pub(super) fn footer(&self) -> Result<Option<Footer>> {
        let Some(offset) = self.len_bytes().checked_sub(FOOTER_BYTES as u64) else { return Ok(None) };
        let mut bytes = [0; FOOTER_BYTES];
        self.file.read(ReadRequest { offset, buffer: &mut bytes, purpose: Purpose::Open })?;
        Ok(Footer::decode(self.identity, offset, &bytes))
    }

    /// Reads a value: with one read if it has at most 64 KiB, and without a copy if it is not compressed either.
    ///
    /// # Errors
    /// [`Cause::ValueTooLarge`] for more than `limit_bytes`, before anything is allocated; [`Cause::Damaged`] if the
    /// value is missing or damaged.
    pub(crate) fn get(&self, pointer: &ValueFilePointer, limit_bytes: u64) -> Result<Slice> {
        self.check_pointer(pointer)?;
        self.check_limit(pointer, limit_bytes)?;
        if pointer.length > CHUNK_BYTES as u64 {
            return Ok(self.stream(pointer)?.read_to_vec(limit_bytes)?.into());
        }
        let mut record = Vec::new();
        let head = self.read_whole(pointer, &mut record)?;
        self.unpack(pointer, &head, record)
    }

    fn unpack(&self, pointer: &ValueFilePointer, head: &ChunkHead, record: Vec<u8>) -> Result<Slice> {
        if head.codec == CODEC_STORED {
            let value = head.value.clone();
            return Slice::of_buffer(&Arc::new(record), value).ok_or_else(|| self.damaged_value(pointer.offset));
        }
        let mut value = Vec::new();
        head.unpack(&record, &mut value).map_err(|error| self.malformed(pointer.offset, &error))?;
        Ok(value.into())
    }

    /// The read of a value that takes one read; `None` for a longer one.
    ///
    /// # Errors
    /// As [`Self::get`], before anything is allocated.
    pub(crate) fn range_of(&self, pointer: &ValueFilePointer, limit_bytes: u64) -> Result<Option<RangeRequest>> {
        self.check_pointer(pointer)?;
        self.check_limit(pointer, limit_bytes)?;
        let range =
            RangeRequest { offset: pointer.offset, bytes: pointer.stored_bytes as usize, purpose: Purpose::Value };
        Ok((pointer.length <= CHUNK_BYTES as u64).then_some(range))
    }

    /// Starts to read ranges of [`Self::range_of`].
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        self.file.start_reads(ranges)
    }

    /// The value in the bytes of a range of [`Self::range_of`].
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) fn value_in(&self, pointer: &ValueFilePointer, record: &[u8]) -> Result<Slice> {
        let head = self.checked_head(pointer, record)?;
        self.unpack(pointer, &head, record.to_vec())
    }

    /// As [`Self::get`], into a buffer whose contents are replaced; after an error they are unspecified.
    pub(crate) fn get_into(&self, pointer: &ValueFilePointer, limit_bytes: u64, value: &mut Vec<u8>) -> Result<()> {
        value.clear();
        self.check_pointer(pointer)?;
        self.check_limit(pointer, limit_bytes)?;
        if pointer.length > CHUNK_BYTES as u64 {
            let mut stream = self.stream(pointer)?;
            while let Some(chunk) = stream.next_chunk()? {
                value.extend_from_slice(chunk);
            }
            return Ok(());
        }
        let head = self.read_whole(pointer, value)?;
        if head.codec == CODEC_STORED {
            value.truncate(head.value.end);
            value.drain(..head.value.start);
            return Ok(());
        }
        let record = std::mem::take(value);
        head.unpack(&record, value).map_err(|error| self.malformed(pointer.offset, &error))
    }

    /// Returns a value as a stream; nothing is read yet, unless the value is empty.
    ///
    /// # Errors
    /// [`Cause::Damaged`] if the pointer is invalid, or beyond the end of the file.
    pub(crate) fn stream(&self, pointer: &ValueFilePointer) -> Result<ValueStream> {
        self.check_pointer(pointer)?;
        if pointer.length == 0 {
            // A stream of it would read no chunk.
            self.read_whole(pointer, &mut Vec::new())?;
        }
        Ok(ValueStream::new(Arc::clone(&self.file), self.identity, *pointer))
    }

    /// Whether a value is intact. An error means that it cannot be read.
    pub(crate) fn is_intact(&self, pointer: &ValueFilePointer) -> Result<bool> {
        let read = || {
            let mut stream = self.stream(pointer)?;
            while stream.next_chunk()?.is_some() {}
            Ok(())
        };
        match read() {
            Ok(()) => Ok(true),
            Err(Error { cause: Cause::Damaged, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads and verifies a record of one chunk.
    fn read_whole(&self, pointer: &ValueFilePointer, record: &mut Vec<u8>) -> Result<ChunkHead> {
        record.resize(pointer.stored_bytes as usize, 0);
        self.file.read(ReadRequest { offset: pointer.offset, buffer: record, purpose: Purpose::Value })?;
        self.checked_head(pointer, record)
    }

    /// Verifies a record of one chunk.
    fn checked_head(&self, pointer: &ValueFilePointer, record: &[u8]) -> Result<ChunkHead> {
        ChunkHead::checked(self.identity, pointer.offset, record)
            .filter(|head| head.part == ChunkPart::Whole && head.chunk_bytes() == record.len())
            .filter(|head| head.length as u64 == pointer.length)
            .ok_or_else(|| self.damaged_value(pointer.offset))
    }

    /// Checks a pointer against the file and the format.
    fn check_pointer(&self, pointer: &ValueFilePointer) -> Result<()> {
        let chunks = pointer.length.div_ceil(CHUNK_BYTES as u64).max(1);
        let most = chunks.saturating_mul(STORED_BYTES_MAX as u64);
        let least = chunks.saturating_mul(STORED_BYTES_MIN as u64);
        let is_valid = pointer.file == self.number
            && pointer.length <= VALUE_BYTES_MAX
            && pointer.offset >= VALUES_START
            && (least..=most).contains(&pointer.stored_bytes);
        if is_valid && pointer.end().is_some_and(|end| end <= self.len_bytes()) {
            return Ok(());
        }
        let detail = format!(
            "a pointer states a value of {} bytes, stored as {} bytes of file {}, here in file {} of {} bytes",
            pointer.length,
            pointer.stored_bytes,
            pointer.file,
            self.number,
            self.len_bytes()
        );
        Err(Error::damaged(self.file.path(), pointer.offset, detail))
    }

    fn check_limit(&self, pointer: &ValueFilePointer, limit: u64) -> Result<()> {
        if pointer.length <= limit {
            return Ok(());
        }
        Err(Error::value_too_large(self.file.path(), pointer.length, limit))
    }

    fn damaged_value(&self, offset: u64) -> Error {
        spoiled(&*self.file, offset, "the value is missing or damaged")
    }

    fn malformed(&self, offset: u64, error: &CodecError) -> Error {
        error.in_file(self.file.path(), || spoiled(&*self.file, offset, error.to_string()))
    }
}
