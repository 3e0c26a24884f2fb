//! Rows from pages: decoding of ranges of rows of a row group from the bytes that were fetched of it.

use super::fetched::{FetchedFile, Part, Wanted};
use super::int96::{NoTimestamp, converted};
use super::pages::{ColumnPages, GroupPages};
use super::walk::GroupWalk;
use crate::error::{ParquetIndexError, Remedy, Result};
use crate::schema::{FileSchema, malformed};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelectionPolicy};
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A row group of a data file, with what is needed to read it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupSource<'a> {
    pub(crate) path: &'a Path,
    /// The number of the file.
    pub(crate) file: usize,
    pub(crate) schema: &'a FileSchema,
    /// The number of its first row in the file.
    pub(crate) first_row: u64,
    pub(crate) rows: u64,
    pub(crate) pages: &'a GroupPages,
}

/// The code of a compression, as Parquet defines it.
pub(crate) fn codec_code(compression: Compression) -> u8 {
    match compression {
        Compression::UNCOMPRESSED => 0,
        Compression::SNAPPY => 1,
        Compression::GZIP(_) => 2,
        Compression::LZO => 3,
        Compression::BROTLI(_) => 4,
        Compression::LZ4 => 5,
        Compression::ZSTD(_) => 6,
        Compression::LZ4_RAW => 7,
    }
}

/// The compression of a code. Its level matters to writers only.
fn codec(code: u8) -> Option<Compression> {
    Some(match code {
        0 => Compression::UNCOMPRESSED,
        1 => Compression::SNAPPY,
        2 => Compression::GZIP(GzipLevel::default()),
        3 => Compression::LZO,
        4 => Compression::BROTLI(BrotliLevel::default()),
        5 => Compression::LZ4,
        6 => Compression::ZSTD(ZstdLevel::default()),
        7 => Compression::LZ4_RAW,
        _ => return None,
    })
}

/// The row of a group at a place among those of ranges.
pub(crate) fn row_at(ranges: &[Range<u64>], place: u64) -> u64 {
    let mut left = place;
    for range in ranges {
        let length = range.end - range.start;
        if left < length {
            return range.start + left;
        }
        left -= length;
    }
    ranges.last().map_or(0, |range| range.end)
}

/// Rows of an array, without what its lists have for other rows.
fn taken(array: &ArrayRef, rows: Range<usize>) -> Result<ArrayRef, ArrowError> {
    let rows = UInt64Array::from_iter_values(rows.start as u64..rows.end as u64);
    arrow_select::take::take(array, &rows, None)
}

/// The unit of the first timestamps that a type is or has.
fn unit_of(of: &DataType) -> Option<TimeUnit> {
    match of {
        DataType::Timestamp(unit, _) => Some(*unit),
        DataType::Struct(fields) => fields.iter().find_map(|field| unit_of(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => unit_of(field.data_type()),
        _ => None,
    }
}

impl GroupSource<'_> {
    /// Adds the ranges of the file that the columns need for ascending ranges of rows.
    pub(crate) fn want(&self, columns: &[usize], ranges: &[Range<u64>], wanted: &mut Vec<Wanted>) {
        if ranges.is_empty() {
            return;
        }
        for leaf in columns.iter().flat_map(|&column| self.schema.leaves(column)) {
            let Some(pages) = self.pages.columns.get(leaf) else { continue };
            let mut want = |offset, bytes, part| wanted.push(Wanted { file: self.file, offset, bytes, part });
            if self.is_whole(leaf) {
                want(pages.start, pages.end - pages.start, Part::Chunk(leaf));
                continue;
            }
            if pages.refers_to_dictionary(ranges) {
                want(pages.start, pages.dictionary_bytes, Part::Dictionary(leaf));
            }
            let mut next = 0;
            for range in ranges {
                let of_range = pages.pages_of(range);
                for number in of_range.start.max(next)..of_range.end {
                    let page = pages.pages[number];
                    want(page.offset, page.bytes, Part::Page(leaf, number));
                }
                next = of_range.end.max(next);
            }
        }
    }

    /// The pages of the columns that ascending rows touch.
    pub(crate) fn walk(&self, columns: &[usize], pages: Arc<GroupPages>) -> GroupWalk {
        let leaves = columns.iter().flat_map(|&column| self.schema.leaves(column));
        let known = leaves.filter(|&leaf| leaf < pages.columns.len()).map(|leaf| (leaf, self.is_whole(leaf)));
        GroupWalk::new(self.file, known.collect(), pages)
    }

    /// Whether the column of a leaf is read as a whole: it, or another leaf of the column.
    fn is_whole(&self, leaf: usize) -> bool {
        let column = self.schema.descriptor().get_column_root_idx(leaf);
        self.schema.leaves(column).any(|leaf| self.pages.columns.get(leaf).is_none_or(ColumnPages::is_whole))
    }

    /// The rows of ascending ranges, with the columns in their given order.
    ///
    /// # Errors
    /// [`ParquetIndexError::Malformed`](crate::ParquetIndexError::Malformed).
    pub(crate) fn decode(
        &self,
        columns: &[usize],
        ranges: &[Range<u64>],
        fetched: &FetchedFile,
    ) -> Result<RecordBatch> {
        let rows: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let of_parts = |whole: bool| -> Vec<usize> {
            let is_of_part = |column: &&usize| self.schema.leaves(**column).any(|leaf| self.is_whole(leaf)) == whole;
            columns.iter().filter(is_of_part).copied().collect()
        };
        let failed = |error: ParquetError| malformed(self.path, &error);
        let mut found: Vec<(usize, ArrayRef)> = Vec::new();
        for (part, whole) in [(of_parts(false), false), (of_parts(true), true)] {
            if part.is_empty() || rows == 0 {
                continue;
            }
            let batch = caught(self.path, || self.read(&part, whole, ranges, fetched).map_err(failed))?;
            let mut in_order = part.clone();
            in_order.sort_unstable();
            in_order.dedup();
            if batch.num_rows() as u64 != rows || batch.num_columns() != in_order.len() {
                let detail = format!("{} rows were read where {rows} were indexed", batch.num_rows());
                return Err(malformed(self.path, &detail));
            }
            for (column, array) in in_order.into_iter().zip(batch.columns()) {
                found.push((column, self.converted(column, array, ranges)?));
            }
        }
        let schema = self.projected(columns);
        if rows == 0 {
            return Ok(RecordBatch::new_empty(schema));
        }
        let arrays = columns.iter().filter_map(|column| found.iter().find(|(known, _)| known == column));
        let arrays = arrays.map(|(_, array)| array.clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|error| malformed(self.path, &error))
    }

    /// A column as its type is here, from the form in which it was read.
    fn converted(&self, column: usize, array: &ArrayRef, ranges: &[Range<u64>]) -> Result<ArrayRef> {
        let Some(field) = self.schema.arrow.fields().get(column) else { return Ok(array.clone()) };
        match converted(array, field.data_type()) {
            Ok(array) => Ok(array),
            Err(NoTimestamp::Arrow(error)) => Err(malformed(self.path, &error)),
            Err(NoTimestamp::Unfit(..)) => Err(self.unfit(field, array, ranges)),
        }
    }

    /// The error of the first value that the type of its column cannot hold.
    fn unfit(&self, field: &Field, array: &ArrayRef, ranges: &[Range<u64>]) -> ParquetIndexError {
        let (column, to) = (field.name(), field.data_type());
        let (mut sound, mut end) = (0, array.len());
        while end - sound > 1 {
            let middle = sound + (end - sound) / 2;
            let is_sound = taken(array, sound..middle).is_ok_and(|part| converted(&part, to).is_ok());
            if is_sound { sound = middle } else { end = middle }
        }
        let (value, holding) = match taken(array, sound..end).map(|part| converted(&part, to)) {
            Ok(Err(NoTimestamp::Unfit(value, holding))) => (value, holding),
            _ => (String::new(), None),
        };
        // The advice must do as it is: without it, nulls would be refused.
        let null = if field.is_nullable() { "?" } else { "" };
        let of_column = || (column.clone(), format!("timestamp(ns){null}"));
        let (detail, remedy) = match (unit_of(to), holding) {
            (Some(TimeUnit::Nanosecond), Some(_)) => {
                let (column, column_type) = of_column();
                let remedy = Remedy::Microseconds { column, column_type };
                ("which is outside the years 1677 to 2262 of timestamp(ns)", Some(remedy))
            }
            (Some(TimeUnit::Microsecond), Some(_)) => {
                let (column, column_type) = of_column();
                ("which no timestamp(us) is", Some(Remedy::Nanoseconds { column, column_type }))
            }
            (Some(TimeUnit::Nanosecond | TimeUnit::Microsecond), None) => {
                ("which neither timestamp(us) nor timestamp(ns) holds; correct it, or leave the column out", None)
            }
            _ => ("which the type of the column in this index cannot hold; build the index again", None),
        };
        ParquetIndexError::NoTimestamp {
            path: self.path.to_owned(),
            row: self.first_row + row_at(ranges, sound as u64) + 1,
            column: column.clone(),
            value,
            detail: detail.to_owned(),
            remedy: remedy.map(Box::new),
        }
    }

    fn projected(&self, columns: &[usize]) -> SchemaRef {
        let fields = columns.iter().filter_map(|&column| self.schema.arrow.fields().get(column).cloned());
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Reads columns that are all read by their pages, or all as a whole, in the order of the file.
    fn read(
        &self,
        columns: &[usize],
        whole: bool,
        ranges: &[Range<u64>],
        fetched: &FetchedFile,
    ) -> Result<RecordBatch, ParquetError> {
        let (group, locations) = self.metadata(ranges)?;
        let metadata = self.schema.reader_metadata(group, (!whole).then_some(locations))?;
        let mask = ProjectionMask::roots(&self.schema.descriptor(), columns.iter().copied());
        let total = usize::try_from(self.rows).map_err(|error| ParquetError::General(error.to_string()))?;
        let selection = ranges.iter().map(|range| range.start as usize..range.end as usize);
        let rows: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(fetched.clone(), metadata)
            .with_projection(mask)
            .with_batch_size(rows.clamp(1, 1 << 20) as usize)
            // By a mask, pages between those of the rows would be read as well, which are not fetched.
            .with_row_selection_policy(RowSelectionPolicy::Selectors)
            .with_row_selection(RowSelection::from_consecutive_ranges(selection, total))
            .build()?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let batches = reader.collect::<Result<Vec<_>, ArrowError>>()?;
        Ok(arrow_select::concat::concat_batches(&schema, &batches)?)
    }

    /// Metadata of the row group, as a footer and an offset index would have it, without dictionaries that the pages of
    /// these rows do not refer to.
    fn metadata(&self, ranges: &[Range<u64>]) -> Result<(RowGroupMetaData, Vec<OffsetIndexMetaData>), ParquetError> {
        let descriptor = self.schema.descriptor();
        let mut columns = Vec::new();
        let mut locations = Vec::new();
        for (leaf, pages) in self.pages.columns.iter().enumerate().take(descriptor.num_columns()) {
            let codec = codec(pages.codec)
                .ok_or_else(|| ParquetError::General(format!("compression {} is unknown", pages.codec)))?;
            let first = pages.start + pages.dictionary_bytes;
            let has_dictionary = pages.refers_to_dictionary(ranges);
            let chunk = ColumnChunkMetaData::builder(descriptor.column(leaf))
                .set_compression(codec)
                .set_num_values(self.rows.cast_signed())
                .set_data_page_offset(first.cast_signed())
                .set_dictionary_page_offset(has_dictionary.then_some(pages.start.cast_signed()))
                .set_total_compressed_size((pages.end - pages.start).cast_signed())
                .build()?;
            columns.push(chunk);
            let of_page = |page: &super::pages::Page| PageLocation {
                offset: page.offset.cast_signed(),
                compressed_page_size: page.bytes as i32,
                first_row_index: page.first_row.cast_signed(),
            };
            let page_locations = pages.pages.iter().map(of_page).collect();
            locations.push(OffsetIndexMetaData { page_locations, unencoded_byte_array_data_bytes: None });
        }
        let group = RowGroupMetaData::builder(descriptor)
            .set_num_rows(self.rows.cast_signed())
            .set_column_metadata(columns)
            .build()?;
        Ok((group, locations))
    }
}

/// Runs a reader of the crate `parquet`, which panics on some damaged pages.
pub(crate) fn caught<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let detail = format!("its pages contradict themselves ({})", text.unwrap_or("the decoder gave up"));
        Err(ParquetIndexError::Malformed { path: path.to_owned(), detail })
    })
}
