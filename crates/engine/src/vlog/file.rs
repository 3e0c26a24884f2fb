//! Reading a value file.

use super::chunk::{CHUNK_BYTES, Head, Part, STORED_BYTES_MAX, STORED_BYTES_MIN};
use super::place::ValuePlace;
use super::stream::ValueStream;
use crate::block::Slice;
use crate::block::checksum;
use crate::block::compress::CODEC_STORED;
use crate::block::header::{HeaderKind, StoreBinding};
use crate::block::stream::VALUE_BYTES_MAX;
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, Storage};
use std::sync::Arc;

pub(super) const HEADER: HeaderKind = HeaderKind { magic: b"OGIVEVAL", version: 2 };

/// First bytes of the footer; no chunk begins so.
const FOOTER_MAGIC: &[u8; 8] = b"\xffOGIVEVF";

/// `magic | records: u64 | bytes of values: u64 | zero: u32 | checksum: u32`.
pub(super) const FOOTER_BYTES: usize = 32;

/// The name of a value file.
pub(crate) fn values_name(number: u64) -> String {
    format!("{number:06}.values")
}

/// What the end of a finished file says. As its checksum is bound to its place, it proves the length of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) records: u64,
    pub(super) value_bytes: u64,
}

impl Footer {
    pub(super) fn encode(self, identity: u64, offset: u64) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        bytes[..8].copy_from_slice(FOOTER_MAGIC);
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

/// A file of values, growing or finished, read by many threads.
#[derive(Debug)]
pub(crate) struct ValueFile {
    pub(super) file: Arc<dyn ReadableFile>,
    pub(super) identity: u64,
    bond: StoreBinding,
    number: u64,
    /// Where the first record begins.
    pub(super) start: u64,
}

impl ValueFile {
    /// Opens a file, finished or not.
    ///
    /// # Errors
    /// [`Error::Damaged`] where it does not begin as file `number` of `bond`; [`Error::UnknownVersion`]; whatever the storage reports.
    pub(crate) fn open(storage: &dyn Storage, bond: StoreBinding, number: u64) -> Result<Self> {
        Self::open_checked(storage, number, |found| found == bond)
    }

    /// As [`Self::open`], of whichever opening of a store wrote it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_of_store(storage: &dyn Storage, store: u64, number: u64) -> Result<Self> {
        Self::open_checked(storage, number, |found| found.store == store)
    }

    /// The store and the opening that a file says it is of, whichever number it says; `None` where it does not begin with a sound header.
    ///
    /// # Errors
    /// [`Error::UnknownVersion`]; whatever the storage reports.
    pub(crate) fn bond_of(storage: &dyn Storage, number: u64) -> Result<Option<StoreBinding>> {
        let header = HEADER.read(&*storage.open(&values_name(number))?)?;
        Ok(header.map(|header| header.bond))
    }

    /// Whether there is a sound value file of that name which is another: no crash leaves that.
    ///
    /// # Errors
    /// [`Error::UnknownVersion`]; whatever the storage reports.
    pub(crate) fn is_anothers(storage: &dyn Storage, bond: StoreBinding, number: u64) -> Result<bool> {
        let name = values_name(number);
        if !storage.exists(&name)? {
            return Ok(false);
        }
        let header = HEADER.read(&*storage.open(&name)?)?;
        Ok(header.is_some_and(|header| header.bond != bond || header.number != number))
    }

    fn open_checked(storage: &dyn Storage, number: u64, is_ours: impl FnOnce(StoreBinding) -> bool) -> Result<Self> {
        let file = storage.open(&values_name(number))?;
        match HEADER.read(&*file)? {
            Some(header) if header.number == number && is_ours(header.bond) => {
                Ok(Self::of(file, header.bond, number, header.length as u64))
            }
            _ => Err(Error::damaged(file.path(), 0, "this is not the value file that belongs here")),
        }
    }

    pub(super) fn of(file: Arc<dyn ReadableFile>, bond: StoreBinding, number: u64, start: u64) -> Self {
        Self { file, identity: bond.identity(number), bond, number, start }
    }

    /// The store, and the opening of it, that wrote the file.
    pub(crate) fn bond(&self) -> StoreBinding {
        self.bond
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Length of the file, in bytes; while it grows, of what was written out.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.file.len()
    }

    /// Whether the file was finished and has the length that it had then: one read.
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

    /// The value at a place. One read, unless it has more than 64 KiB; no copy, unless it has more or is packed.
    ///
    /// # Errors
    /// [`Error::ValueTooLarge`] for more than `limit_bytes`, before anything is allocated; [`Error::Damaged`] where the value is not
    /// there or not what it was.
    pub(crate) fn get(&self, place: &ValuePlace, limit_bytes: u64) -> Result<Slice> {
        self.check_place(place)?;
        self.check_limit(place, limit_bytes)?;
        if place.length > CHUNK_BYTES as u64 {
            return Ok(self.stream(place)?.read_to_vec(limit_bytes)?.into());
        }
        let mut record = Vec::new();
        let head = self.read_whole(place, &mut record)?;
        if head.codec == CODEC_STORED {
            return Slice::of_buffer(&Arc::new(record), head.value).ok_or_else(|| self.not_whole(place.offset));
        }
        let mut value = Vec::new();
        head.unpack(&record, &mut value).map_err(|error| self.malformed(place.offset, &error))?;
        Ok(value.into())
    }

    /// As [`Self::get`], into a buffer, which is cleared first; after an error it holds nothing of use.
    pub(crate) fn get_into(&self, place: &ValuePlace, limit_bytes: u64, value: &mut Vec<u8>) -> Result<()> {
        value.clear();
        self.check_place(place)?;
        self.check_limit(place, limit_bytes)?;
        if place.length > CHUNK_BYTES as u64 {
            let mut stream = self.stream(place)?;
            while let Some(chunk) = stream.next_chunk()? {
                value.extend_from_slice(chunk);
            }
            return Ok(());
        }
        let head = self.read_whole(place, value)?;
        if head.codec == CODEC_STORED {
            value.truncate(head.value.end);
            value.drain(..head.value.start);
            return Ok(());
        }
        let record = std::mem::take(value);
        head.unpack(&record, value).map_err(|error| self.malformed(place.offset, &error))
    }

    /// The value at a place as a stream; nothing is read yet, unless the value is empty.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the file ends before the place does, or the place makes no sense.
    pub(crate) fn stream(&self, place: &ValuePlace) -> Result<ValueStream> {
        self.check_place(place)?;
        if place.length == 0 {
            // No chunk of it will be asked for.
            self.read_whole(place, &mut Vec::new())?;
        }
        Ok(ValueStream::new(Arc::clone(&self.file), self.identity, *place))
    }

    /// Whether the value at a place is there and is what was written. An error says that it cannot be read.
    pub(crate) fn is_whole(&self, place: &ValuePlace) -> Result<bool> {
        let read = || {
            let mut stream = self.stream(place)?;
            while stream.next_chunk()?.is_some() {}
            Ok(())
        };
        match read() {
            Ok(()) => Ok(true),
            Err(Error::Damaged { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads a record of one chunk and checks it.
    fn read_whole(&self, place: &ValuePlace, record: &mut Vec<u8>) -> Result<Head> {
        record.resize(place.stored_bytes as usize, 0);
        self.file.read(ReadRequest { offset: place.offset, buffer: record, purpose: Purpose::Value })?;
        Head::checked(self.identity, place.offset, record)
            .filter(|head| head.part == Part::Whole && head.chunk_bytes() == record.len())
            .filter(|head| head.length as u64 == place.length)
            .ok_or_else(|| self.not_whole(place.offset))
    }

    /// Holds what a place says against the file and the format.
    fn check_place(&self, place: &ValuePlace) -> Result<()> {
        let chunks = place.length.div_ceil(CHUNK_BYTES as u64).max(1);
        let most = chunks.saturating_mul(STORED_BYTES_MAX as u64);
        let least = chunks.saturating_mul(STORED_BYTES_MIN as u64);
        let makes_sense = place.file == self.number
            && place.length <= VALUE_BYTES_MAX
            && place.offset >= self.start
            && (least..=most).contains(&place.stored_bytes);
        if makes_sense && place.end().is_some_and(|end| end <= self.len_bytes()) {
            return Ok(());
        }
        let detail = format!(
            "a value of {} bytes, stored as {} of file {}, is said to lie here in file {} of {} bytes",
            place.length,
            place.stored_bytes,
            place.file,
            self.number,
            self.len_bytes()
        );
        Err(Error::damaged(self.file.path(), place.offset, detail))
    }

    fn check_limit(&self, place: &ValuePlace, limit: u64) -> Result<()> {
        if place.length <= limit {
            return Ok(());
        }
        Err(Error::ValueTooLarge { path: self.file.path().into(), length: place.length, limit })
    }

    fn not_whole(&self, offset: u64) -> Error {
        Error::damaged(self.file.path(), offset, "the value that was written here is not whole")
    }

    fn malformed(&self, offset: u64, error: &dyn std::fmt::Display) -> Error {
        Error::damaged(self.file.path(), offset, error.to_string())
    }
}
