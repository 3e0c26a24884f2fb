//! The writer of a value file.

use super::chunk::{CHUNK_BYTES, ChunkEncoder, ChunkPart, KEY_BYTES_MAX};
use super::file::{Footer, HEADER, ValueFile, values_name};
use super::pointer::ValueFilePointer;
use crate::block::appender::{Appender, FLUSH_BYTES};
use crate::block::compress::{CODEC_STORED, Compression};
use crate::block::header::StoreBinding;
use crate::block::stream::{VALUE_BYTES_MAX, fill_chunk};
use crate::error::{Error, Result};
use crate::io::{Purpose, Storage};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

/// The writer of a growing value file. After a failed write or sync it accepts nothing more.
///
/// Values can be read through [`Self::file`] once they are [flushed](Self::flush).
#[derive(Debug)]
pub(crate) struct ValueFileWriter {
    storage: Arc<dyn Storage>,
    file: Arc<ValueFile>,
    appender: Appender,
    identity: u64,
    compression: Compression,
    /// A compressed chunk.
    packed: Vec<u8>,
    /// Number of complete records, and the total length of their values.
    records: u64,
    value_bytes: u64,
    /// Whether the name of the file is durable.
    is_named: bool,
}

impl ValueFileWriter {
    /// Creates value file `number`.
    pub(crate) fn create(
        storage: &Arc<dyn Storage>,
        binding: StoreBinding,
        number: u64,
        compression: Compression,
    ) -> Result<Self> {
        let file = storage.create_update(&values_name(number))?;
        let mut appender = Appender::new(Arc::clone(&file), Purpose::Value);
        let header = HEADER.encode(binding, number, [0, 0]);
        appender.buffer().extend_from_slice(&header);
        let reader = ValueFile::of(file, binding, number);
        Ok(Self::new(storage, reader, appender, compression))
    }

    /// Resumes an unfinished file after its first `end` bytes; the rest is cut off.
    ///
    /// # Errors
    /// `Cause::Damaged` if these bytes are not complete or abandoned records; errors of the storage.
    pub(crate) fn resume(
        storage: &Arc<dyn Storage>,
        binding: StoreBinding,
        number: u64,
        end: u64,
        compression: Compression,
    ) -> Result<Self> {
        let found = ValueFile::open(&**storage, binding, number)?;
        let scanned = found.scan_to(end)?;
        let file = storage.open_update(&values_name(number))?;
        file.set_len(end)?;
        let appender = Appender::resume(Arc::clone(&file), Purpose::Value, end)?;
        let reader = ValueFile::of(file, binding, number);
        let mut writer = Self::new(storage, reader, appender, compression);
        (writer.records, writer.value_bytes) = (scanned.records, scanned.value_bytes);
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

    /// The file, for reading.
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

    /// Sets the compression of values from now on.
    pub(crate) fn set_compression(&mut self, compression: Compression) {
        self.compression = compression;
    }

    /// Appends a value. The key is stored with it, so that the value can be identified without its pointer.
    ///
    /// # Errors
    /// `Cause::ValueTooLarge` and `Cause::KeyLength`, which leave the file unchanged; errors of the storage.
    pub(crate) fn append(&mut self, key: &[u8], value: &[u8]) -> Result<ValueFilePointer> {
        self.check(key, value.len() as u64)?;
        let offset = self.len_bytes();
        if value.len() <= CHUNK_BYTES {
            self.push(ChunkPart::Whole, key, value)?;
        } else {
            let last = (value.len() - 1) / CHUNK_BYTES;
            for (i, chunk) in value.chunks(CHUNK_BYTES).enumerate() {
                let part = if i == 0 {
                    ChunkPart::First
                } else if i < last {
                    ChunkPart::Middle
                } else {
                    ChunkPart::Last
                };
                self.push(part, key, chunk)?;
            }
        }
        Ok(self.appended(offset, value.len() as u64))
    }

    /// Appends the contents of a stream as a value, with at most two chunks in memory.
    ///
    /// # Errors
    /// `Cause::KeyLength`; `Cause::Io` if the source fails, and `Cause::ValueTooLarge` if it is too long: the
    /// file then contains unreferenced chunks, and accepts further values. Errors of the storage.
    pub(crate) fn append_stream(&mut self, key: &[u8], source: &mut dyn Read) -> Result<ValueFilePointer> {
        self.check(key, 0)?;
        let (offset, path) = (self.len_bytes(), self.path());
        let (mut chunk, mut next) = (Vec::new(), Vec::new());
        let (mut part, mut length) = (ChunkPart::First, 0);
        fill_chunk(source, &mut chunk, CHUNK_BYTES, &path)?;
        loop {
            length += chunk.len() as u64;
            if length > VALUE_BYTES_MAX {
                return Err(self.too_large(length));
            }
            fill_chunk(source, &mut next, CHUNK_BYTES, &path)?;
            if next.is_empty() {
                let last = if part == ChunkPart::First { ChunkPart::Whole } else { ChunkPart::Last };
                self.push(last, key, &chunk)?;
                return Ok(self.appended(offset, length));
            }
            self.push(part, key, &chunk)?;
            part = ChunkPart::Middle;
            std::mem::swap(&mut chunk, &mut next);
        }
    }

    /// Number of bytes that are not in the file yet.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.appender.waiting_bytes()
    }

    /// Writes buffered values, which can then be read. A crash of the machine may still lose them.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.appender.flush()
    }

    /// Syncs all values, and the first time also the name of the file.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.appender.flush()?;
        self.appender.sync()?;
        self.name()
    }

    /// Finishes the file durably, with a footer that proves its length and its number of values.
    pub(crate) fn finish(mut self) -> Result<Arc<ValueFile>> {
        let footer = Footer { records: self.records, value_bytes: self.value_bytes };
        let encoded = footer.encode(self.identity, self.len_bytes());
        self.appender.buffer().extend_from_slice(&encoded);
        self.appender.finish()?;
        self.name()?;
        self.appender.file().finish_writes();
        Ok(self.file)
    }

    /// Bytes that [`Self::finish`] adds.
    #[cfg(test)]
    pub(crate) const FINISH_BYTES: u64 = super::file::FOOTER_BYTES as u64;

    fn name(&mut self) -> Result<()> {
        if !self.is_named {
            self.storage.sync_directory()?;
            self.is_named = true;
        }
        Ok(())
    }

    fn push(&mut self, part: ChunkPart, key: &[u8], value: &[u8]) -> Result<()> {
        let key = if part.begins() { key } else { &[] };
        let frame = ChunkEncoder { identity: self.identity, offset: self.len_bytes(), part, key };
        match self.compression.compress(value, &mut self.packed) {
            Some(codec) => frame.encode(self.appender.buffer(), codec, value.len(), &self.packed),
            None => frame.encode(self.appender.buffer(), CODEC_STORED, value.len(), value),
        }
        if self.appender.waiting_bytes() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn appended(&mut self, offset: u64, length: u64) -> ValueFilePointer {
        self.records += 1;
        self.value_bytes += length;
        ValueFilePointer { file: self.number(), offset, stored_bytes: self.len_bytes() - offset, length }
    }

    fn check(&self, key: &[u8], length: u64) -> Result<()> {
        if key.len() > KEY_BYTES_MAX {
            let detail = format!("the key of a value record has at most {KEY_BYTES_MAX} bytes");
            return Err(Error::key_length(self.path(), key.len() as u64, detail));
        }
        if length > VALUE_BYTES_MAX { Err(self.too_large(length)) } else { Ok(()) }
    }

    fn too_large(&self, length: u64) -> Error {
        Error::value_too_large(self.path(), length, VALUE_BYTES_MAX)
    }

    fn path(&self) -> PathBuf {
        self.appender.file().path().to_path_buf()
    }
}
