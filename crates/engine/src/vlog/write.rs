//! Writing a value file.

use super::chunk::{CHUNK_BYTES, Frame, KEY_BYTES_MAX, Part};
use super::file::{Footer, HEADER, ValueFile, values_name};
use super::place::ValuePlace;
use crate::block::appender::{Appender, FLUSH_BYTES};
use crate::block::compress::{CODEC_STORED, Compression};
use crate::block::header::StoreBinding;
use crate::block::stream::{VALUE_BYTES_MAX, fill_chunk};
use crate::error::{Error, Result};
use crate::io::{Purpose, Storage};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

/// A value file that grows. After a failed write or sync it takes nothing more.
///
/// Values can be read through [`Self::file`] as soon as they are [written out](Self::flush).
#[derive(Debug)]
pub(crate) struct ValueWriter {
    storage: Arc<dyn Storage>,
    file: Arc<ValueFile>,
    appender: Appender,
    identity: u64,
    compression: Compression,
    /// A chunk that was packed.
    packed: Vec<u8>,
    /// Whole records, and the lengths of their values.
    records: u64,
    value_bytes: u64,
    /// Whether the file is durable under its name.
    is_named: bool,
}

impl ValueWriter {
    /// Begins value file `number`.
    pub(crate) fn create(
        storage: &Arc<dyn Storage>,
        bond: StoreBinding,
        number: u64,
        compression: Compression,
    ) -> Result<Self> {
        let file = storage.create_update(&values_name(number))?;
        let mut appender = Appender::new(Arc::clone(&file), Purpose::Value);
        let header = HEADER.encode(bond, number, [0, 0]);
        appender.buffer().extend_from_slice(&header);
        let reader = ValueFile::of(file, bond, number, header.len() as u64);
        Ok(Self::new(storage, reader, appender, compression))
    }

    /// Goes on with a file that was not finished, behind its first `end` bytes; what follows them is cut off.
    ///
    /// # Errors
    /// [`Error::Damaged`] where these are not whole records, given up ones among them; whatever the storage reports.
    pub(crate) fn resume(
        storage: &Arc<dyn Storage>,
        bond: StoreBinding,
        number: u64,
        end: u64,
        compression: Compression,
    ) -> Result<Self> {
        let found = ValueFile::open(&**storage, bond, number)?;
        let walked = found.walk_to(end)?;
        let file = storage.open_update(&values_name(number))?;
        file.set_len(end)?;
        let appender = Appender::resume(Arc::clone(&file), Purpose::Value, end)?;
        let reader = ValueFile::of(file, bond, number, found.start);
        let mut writer = Self::new(storage, reader, appender, compression);
        (writer.records, writer.value_bytes) = (walked.records, walked.value_bytes);
        Ok(writer)
    }

    fn new(storage: &Arc<dyn Storage>, file: ValueFile, appender: Appender, compression: Compression) -> Self {
        Self {
            storage: Arc::clone(storage),
            identity: file.identity,
            file: Arc::new(file),
            appender,
            compression,
            packed: Vec::new(),
            records: 0,
            value_bytes: 0,
            is_named: false,
        }
    }

    /// The file, to be read.
    pub(crate) fn file(&self) -> Arc<ValueFile> {
        Arc::clone(&self.file)
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.file.number()
    }

    /// Length of the file so far, in bytes.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.appender.position()
    }

    /// Appends a value. The key stands beside it, so that the value can be told when its place is lost.
    ///
    /// # Errors
    /// [`Error::ValueTooLarge`] and [`Error::KeyLength`], which leave the file as it was; whatever the storage reports.
    pub(crate) fn append(&mut self, key: &[u8], value: &[u8]) -> Result<ValuePlace> {
        self.check(key, value.len() as u64)?;
        let offset = self.len_bytes();
        if value.len() <= CHUNK_BYTES {
            self.push(Part::Whole, key, value)?;
        } else {
            let last = (value.len() - 1) / CHUNK_BYTES;
            for (i, chunk) in value.chunks(CHUNK_BYTES).enumerate() {
                let part = if i == 0 {
                    Part::First
                } else if i < last {
                    Part::Middle
                } else {
                    Part::Last
                };
                self.push(part, key, chunk)?;
            }
        }
        Ok(self.appended(offset, value.len() as u64))
    }

    /// Appends all that a source gives as a value, of which never more than two chunks are in memory.
    ///
    /// # Errors
    /// [`Error::KeyLength`]; [`Error::Io`] when the source fails, and [`Error::ValueTooLarge`] when it gives too much: then the file
    /// holds chunks that no place leads to, and takes other values. Whatever the storage reports.
    pub(crate) fn append_stream(&mut self, key: &[u8], source: &mut dyn Read) -> Result<ValuePlace> {
        self.check(key, 0)?;
        let (offset, path) = (self.len_bytes(), self.path());
        let (mut chunk, mut next) = (Vec::new(), Vec::new());
        let (mut part, mut length) = (Part::First, 0);
        fill_chunk(source, &mut chunk, CHUNK_BYTES, &path)?;
        loop {
            length += chunk.len() as u64;
            if length > VALUE_BYTES_MAX {
                return Err(self.too_large(length));
            }
            fill_chunk(source, &mut next, CHUNK_BYTES, &path)?;
            if next.is_empty() {
                let last = if part == Part::First { Part::Whole } else { Part::Last };
                self.push(last, key, &chunk)?;
                return Ok(self.appended(offset, length));
            }
            self.push(part, key, &chunk)?;
            part = Part::Middle;
            std::mem::swap(&mut chunk, &mut next);
        }
    }

    /// Writes out what waits: from now on it can be read. A crash of the machine may still lose it.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.appender.flush()
    }

    /// Makes all values so far durable, and the first time the name of the file.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.appender.flush()?;
        self.appender.sync()?;
        self.name()
    }

    /// Ends the file, durably: its footer proves its length and how many values it has.
    pub(crate) fn finish(mut self) -> Result<Arc<ValueFile>> {
        let footer = Footer { records: self.records, value_bytes: self.value_bytes };
        let encoded = footer.encode(self.identity, self.len_bytes());
        self.appender.buffer().extend_from_slice(&encoded);
        self.appender.finish()?;
        self.name()?;
        self.appender.file().finish_writes();
        Ok(self.file)
    }

    /// What [`Self::finish`] adds to the length, in bytes.
    #[cfg(test)]
    pub(crate) const FINISH_BYTES: u64 = super::file::FOOTER_BYTES as u64;

    fn name(&mut self) -> Result<()> {
        if !self.is_named {
            self.storage.sync_directory()?;
            self.is_named = true;
        }
        Ok(())
    }

    fn push(&mut self, part: Part, key: &[u8], value: &[u8]) -> Result<()> {
        let key = if part.begins() { key } else { &[] };
        let frame = Frame { identity: self.identity, offset: self.len_bytes(), part, key };
        match self.compression.compress(value, &mut self.packed) {
            Some(codec) => frame.encode(self.appender.buffer(), codec, value.len(), &self.packed),
            None => frame.encode(self.appender.buffer(), CODEC_STORED, value.len(), value),
        }
        if self.appender.waiting_bytes() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn appended(&mut self, offset: u64, length: u64) -> ValuePlace {
        self.records += 1;
        self.value_bytes += length;
        ValuePlace { file: self.number(), offset, stored_bytes: self.len_bytes() - offset, length }
    }

    fn check(&self, key: &[u8], length: u64) -> Result<()> {
        if key.len() > KEY_BYTES_MAX {
            let detail = format!("a key beside a value has at most {KEY_BYTES_MAX} bytes");
            return Err(Error::KeyLength { path: self.path(), length: key.len() as u64, detail });
        }
        if length > VALUE_BYTES_MAX { Err(self.too_large(length)) } else { Ok(()) }
    }

    fn too_large(&self, length: u64) -> Error {
        Error::ValueTooLarge { path: self.path(), length, limit: VALUE_BYTES_MAX }
    }

    fn path(&self) -> PathBuf {
        self.appender.file().path().to_path_buf()
    }
}
