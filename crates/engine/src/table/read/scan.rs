//! Scan blocks: locations and decoded views of data blocks for sequential readers, which check a block where it was
//! read.

use super::context::ReadContext;
use super::reader::{Table, TableInner};
use crate::block::checksum;
use crate::block::compress::{self, Compression};
use crate::error::{Error, Result};
use crate::io::{ReadableFile, spoiled};
use crate::table::block::coded::FrontKeys;
use crate::table::block::key::KeyBound;
use crate::table::block::parts::{ShortValue, StoredValue};
use crate::table::block::view::{BlockView, CODED_FLAG, Layout, trailer};
use crate::table::format::meta::DataSource;
use crate::table::format::value::ValuePointer;
use std::sync::Arc;

/// The content of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScanBlock<'a> {
    /// Consecutive fixed-width records, each a key and its value.
    Dense(&'a [u8]),
    Other(ScanRecords<'a>),
}

/// Records of any length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanRecords<'a> {
    view: BlockView<'a>,
    inner: &'a TableInner,
    block: u64,
}

/// A value as stored in a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScanValue<'a> {
    Here(&'a [u8]),
    /// Decoded from numbers.
    Short(ShortValue),
    /// Stored outside the block; [`Table::long_value`] reads it.
    Long(ValuePointer),
}

impl<'a> ScanRecords<'a> {
    pub(in crate::table) fn new(view: BlockView<'a>, inner: &'a TableInner, block: u64) -> Self {
        Self { view, inner, block }
    }

    pub(crate) fn count(&self) -> usize {
        self.view.count()
    }

    /// Appends the key of a record, and returns its value; `front` keeps what was decoded of this block.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) for a malformed record.
    pub(crate) fn push_key(&self, record: usize, front: &mut FrontKeys, keys: &mut Vec<u8>) -> Result<ScanValue<'a>> {
        let malformed = || self.inner.malformed(self.block);
        if self.view.is_front() {
            keys.extend_from_slice(self.view.front_key(record, front).ok_or_else(malformed)?);
        } else {
            self.view.key(record).ok_or_else(malformed)?.append_to(keys);
        }
        match self.view.value(record).ok_or_else(malformed)? {
            StoredValue::Inline(value) => Ok(ScanValue::Here(value)),
            StoredValue::Short(value) => Ok(ScanValue::Short(value)),
            StoredValue::Long(pointer) => Ok(ScanValue::Long(pointer)),
        }
    }

    /// Size of a record's key and of its value, unless that is stored outside the block.
    ///
    /// # Errors
    /// As [`Self::push_key`].
    pub(crate) fn record_bytes(&self, record: usize, front: &mut FrontKeys) -> Result<usize> {
        let malformed = || self.inner.malformed(self.block);
        let key_bytes = match self.view.is_front() {
            true => self.view.front_key(record, front).ok_or_else(malformed)?.len(),
            false => self.view.key(record).ok_or_else(malformed)?.len(),
        };
        Ok(key_bytes + self.view.value(record).ok_or_else(malformed)?.stored_bytes())
    }
}

impl Table {
    /// Number of data blocks.
    #[inline]
    pub(crate) fn blocks(&self) -> u64 {
        self.inner.meta.blocks
    }

    /// The target block size in bytes.
    pub(crate) fn usual_block_bytes(&self) -> u64 {
        self.inner.meta.block_bytes
    }

    /// Size of the largest block in bytes, before compression, or of its records where they are coded.
    pub(crate) fn largest_block_bytes(&self) -> u64 {
        let meta = &self.inner.meta;
        meta.largest_block_bytes.max(meta.block_bytes).max(meta.decoded_block_bytes)
    }

    /// Size of the largest block as it is read, in bytes, if blocks are not compressed.
    pub(crate) fn largest_stored_block_bytes(&self) -> u64 {
        self.inner.meta.largest_block_bytes.max(self.inner.meta.block_bytes)
    }

    /// Estimated bytes of all records in memory: those of blocks as long as the largest one, or as many as are stored
    /// if that is more.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        let meta = &self.inner.meta;
        let unpacked_bytes = if self.is_compressed() { meta.largest_block_bytes.max(meta.block_bytes) } else { 0 };
        meta.blocks.saturating_mul(meta.decoded_block_bytes.max(unpacked_bytes)).max(meta.data_bytes)
    }

    /// Whether blocks may be compressed.
    pub(crate) fn is_compressed(&self) -> bool {
        self.inner.meta.compression != Compression::None.name()
    }

    /// Whether blocks may be coded.
    pub(crate) fn is_coded(&self) -> bool {
        self.inner.meta.decoded_block_bytes > 0
    }

    /// The file that holds the blocks.
    pub(crate) fn data_file(&self) -> &Arc<dyn ReadableFile> {
        self.inner.files.data()
    }

    /// Offset and length of a block in the file that holds it.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) if the location is unknown.
    pub(crate) fn block_place(&self, block: u64) -> Result<(u64, u64)> {
        let section = self.inner.section(0, block)?;
        Ok((section.offset, section.bytes))
    }

    /// Block and index of the first record whose key is not less than `key`; the number of blocks if there is none.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub(crate) fn seek(&self, key: &[u8]) -> Result<(u64, usize)> {
        let position = self.inner.lower_bound(KeyBound { key, after: false }, &mut ReadContext::default())?;
        Ok((position.block, position.index))
    }

    /// Widths of key and value, if records are dense and not versioned.
    #[inline]
    pub(crate) fn dense_widths(&self) -> Option<(usize, usize)> {
        match self.inner.layout {
            Layout::Dense { key, value } if !self.is_versioned() => Some((key, value)),
            _ => None,
        }
    }

    /// Checks a block that was read from `offset`, and converts the keys of a foreign file to bytewise order. Must be
    /// called once, before [`Self::open_block`].
    ///
    /// # Errors
    /// `Cause::Damaged`; `Cause::Changed` if another table has replaced the one that this index is for.
    pub(crate) fn check_block(&self, block: u64, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let inner = &*self.inner;
        if let DataSource::Foreign { little_endian, .. } = inner.meta.source {
            if little_endian {
                self.turn_keys(bytes);
            }
            return Ok(());
        }
        if checksum::check(inner.files.data_id(), offset, bytes) {
            return Ok(());
        }
        inner.check_identity()?;
        let detail = format!("the checksum of block {block} does not match");
        Err(spoiled(&**inner.files.data(), offset, detail))
    }

    /// Decodes a checked block; a compressed one is decompressed into `unpacked`.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) for a malformed block.
    pub(crate) fn open_block<'a>(
        &'a self,
        block: u64,
        offset: u64,
        bytes: &'a [u8],
        unpacked: &'a mut Vec<u8>,
    ) -> Result<ScanBlock<'a>> {
        let inner = &*self.inner;
        if let (DataSource::Foreign { .. }, Layout::Dense { key, value }) = (&inner.meta.source, inner.layout) {
            let whole = bytes.len() - bytes.len() % (key + value).max(1);
            return Ok(ScanBlock::Dense(&bytes[..whole]));
        }
        let damaged = |detail: String| Error::damaged(inner.files.data().path(), offset, detail);
        let (codec, form, count) = trailer(bytes).ok_or_else(|| damaged(format!("block {block} is too short")))?;
        let mut body = None;
        if codec != compress::CODEC_STORED {
            body = Some(inner.unpack(block, offset, bytes, codec)?);
        }
        if let (Some(widths), CODED_FLAG) = (self.dense_widths(), form) {
            let raw = body.as_deref().unwrap_or(bytes);
            let view = inner.view(block, raw)?;
            let coded = view.coded().ok_or_else(|| inner.malformed(block))?;
            unpacked.clear();
            coded.append_dense(raw, 0..coded.count(), widths, unpacked).ok_or_else(|| inner.malformed(block))?;
            return Ok(ScanBlock::Dense(unpacked));
        }
        let raw: &'a [u8] = match body {
            Some(body) => {
                *unpacked = body;
                unpacked
            }
            None => bytes,
        };
        if let (Some((key, value)), 0) = (self.dense_widths(), form) {
            let records = count.checked_mul(key + value).and_then(|bytes| raw.get(..bytes));
            let impossible = || damaged(format!("block {block} has an invalid number of records"));
            return Ok(ScanBlock::Dense(records.ok_or_else(impossible)?));
        }
        Ok(ScanBlock::Other(ScanRecords { view: inner.view(block, raw)?, inner, block }))
    }

    /// Reverses the bytes of the keys of dense records.
    fn turn_keys(&self, bytes: &mut [u8]) {
        let Layout::Dense { key, value } = self.inner.layout else { return };
        let records = bytes.chunks_exact_mut((key + value).max(1));
        if key == 8 {
            let firsts = records.filter_map(|record| record.first_chunk_mut::<8>());
            firsts.for_each(|key| *key = u64::from_le_bytes(*key).to_be_bytes());
        } else {
            records.for_each(|record| record[..key].reverse());
        }
    }

    /// Reads a value that is stored outside the blocks.
    ///
    /// # Errors
    /// `Cause::ValueTooLarge` if it is longer than `limit_bytes`; storage errors and damage.
    pub(crate) fn long_value(&self, pointer: ValuePointer, limit_bytes: u64) -> Result<Vec<u8>> {
        let inner = &*self.inner;
        inner.value_stream(pointer)?.read_to_vec(limit_bytes)
    }
}
