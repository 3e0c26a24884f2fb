//! Access to a damaged table block by block, for repair: a block counts only if its checksum, its layout, the order of
//! its records and the chunks of its long values are intact.

use crate::block::compress::Compression;
use crate::error::{Cause, Error, Result};
use crate::io::Profile;
use crate::table::block::parts::StoredValue;
use crate::table::block::view::BlockView;
use crate::table::format::options::{TableTuningOptions, TableWriteOptions};
use crate::table::format::value::{ValuePointer, ValueReader};
use crate::table::read::context::ReadContext;
use crate::table::read::reader::{Table, TableInner};
use crate::table::write::writer::TableWriter;
use std::borrow::Cow;
use std::sync::Arc;

/// Most bits per key of the filter of a repaired table.
const FILTER_BITS_MAX: u32 = 16;

/// A block of a damaged table: checked, and its records in order.
#[derive(Debug)]
pub(crate) struct RescuedBlock {
    table: Arc<TableInner>,
    block: u64,
    bytes: Arc<[u8]>,
    /// Number of records.
    pub(crate) count: usize,
}

/// The value of a record of a damaged table.
#[derive(Debug)]
pub(crate) enum RescuedValue<'a> {
    Inline(Cow<'a, [u8]>),
    /// Stored outside the block, and not checked yet.
    Long(ValuePointer),
}

impl Table {
    /// Number of blocks.
    pub(crate) fn block_count(&self) -> u64 {
        self.inner.meta.blocks
    }

    /// Number of records of a block as the table states it; `None` if its counts are damaged.
    ///
    /// # Errors
    /// Storage errors.
    pub(crate) fn stated_records(&self, block: u64) -> Result<Option<u64>> {
        match self.inner.counts(&mut ReadContext::default()) {
            Ok(counts) => Ok(counts.before(block).zip(counts.before(block + 1)).and_then(|(a, b)| b.checked_sub(a))),
            Err(Error { cause: Cause::Damaged, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads and checks a block.
    ///
    /// # Errors
    /// [`Cause::Damaged`] if it is not as it was written; storage errors.
    pub(crate) fn rescue(&self, block: u64) -> Result<RescuedBlock> {
        let inner = &self.inner;
        let bytes = inner.child(0, block, &mut ReadContext::default())?;
        let view = inner.view(block, &bytes)?;
        let mut last: Option<Vec<u8>> = None;
        for record in 0..view.count() {
            let key = view.key(record).ok_or_else(|| inner.malformed(block))?.to_vec();
            let has_width = inner.meta.record_type.keys.width().is_none_or(|width| width == key.len());
            if view.value(record).is_none() || !has_width || last.as_ref().is_some_and(|last| *last > key) {
                return Err(inner.malformed(block));
            }
            last = Some(key);
        }
        let count = view.count();
        Ok(RescuedBlock { table: Arc::clone(inner), block, bytes, count })
    }

    /// Options for a table like this one.
    pub(crate) fn write_options(&self) -> TableWriteOptions {
        let meta = &self.inner.meta;
        let filter_bits = meta.filter.map(|filter| {
            // The filter of a small table has room for more.
            let bits = filter.section.bytes.saturating_mul(8) / meta.records.max(1);
            u32::try_from(bits).unwrap_or(u32::MAX).clamp(1, FILTER_BITS_MAX)
        });
        TableWriteOptions {
            value_width: meta.value_width.and_then(|width| u32::try_from(width).ok()),
            block_bytes: u32::try_from(meta.block_bytes).ok(),
            profile: Profile::named(&meta.tuned_for).unwrap_or_default(),
            compression: compression_of(&meta.compression),
            filter_bits_per_key: filter_bits,
            tuning: TableTuningOptions::default().expected_records(meta.records),
            properties: meta.properties.clone(),
            ..TableWriteOptions::default()
        }
        .record_type(meta.record_type.clone())
    }
}

/// The compression of a name; none if this program does not have it.
fn compression_of(name: &str) -> Compression {
    match name {
        #[cfg(feature = "lz4")]
        "lz4" => Compression::Lz4,
        #[cfg(feature = "zstd")]
        "zstd" => Compression::Zstd { level: 3 },
        _ => Compression::None,
    }
}

impl RescuedBlock {
    /// The key of a record, and its value.
    ///
    /// # Errors
    /// [`Cause::Damaged`], which [`Table::rescue`] has excluded.
    pub(crate) fn record(&self, record: usize) -> Result<(Vec<u8>, RescuedValue<'_>)> {
        let view: BlockView<'_> = self.table.view(self.block, &self.bytes)?;
        let found = view.key(record).zip(view.value(record));
        let (key, value) = found.ok_or_else(|| self.table.malformed(self.block))?;
        Ok((
            key.to_vec(),
            match value {
                StoredValue::Inline(value) => RescuedValue::Inline(value.into()),
                StoredValue::Short(value) => RescuedValue::Inline(value.to_vec().into()),
                StoredValue::Long(pointer) => RescuedValue::Long(pointer),
            },
        ))
    }

    /// Appends a record to a table, if its value is intact; returns whether it is.
    ///
    /// # Errors
    /// Those of the writer; storage errors.
    pub(crate) fn append_to(&self, writer: &mut TableWriter, key: &[u8], value: &RescuedValue<'_>) -> Result<bool> {
        let pointer = match value {
            RescuedValue::Inline(value) => return writer.append(key, value).map(|()| true),
            RescuedValue::Long(pointer) => *pointer,
        };
        // A value that turned out to be damaged halfway could not be taken back.
        if !self.is_intact(pointer)? {
            return Ok(false);
        }
        let mut reader = self.reader(pointer)?;
        writer.append_stream(key, &mut reader)?;
        Ok(true)
    }

    fn reader(&self, pointer: ValuePointer) -> Result<ValueReader> {
        ValueReader::new(self.table.files.data().clone(), self.table.files.data_id(), pointer)
    }

    fn is_intact(&self, pointer: ValuePointer) -> Result<bool> {
        let read = || {
            let mut reader = self.reader(pointer)?;
            while reader.next_chunk()?.is_some() {}
            Ok(())
        };
        match read() {
            Ok(()) => Ok(true),
            Err(Error { cause: Cause::Damaged, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
