//! Reading of data files for an index: the footer, its checksum, and the places of all pages.

use super::decode::codec_code;
use super::footer_fields::without_foreign_fields;
use super::page_header::{PageKind, Parsed, is_whole_structure, parse};
use super::pages::{ColumnPages, GroupPages, PAGES_MAX, Page};
use crate::error::{ParquetIndexError, Result};
use crate::schema::{FileSchema, malformed};
use bytes::{Buf, Bytes};
use ogive::io::{Purpose, ReadRequest, ReadableFile};
use parquet::basic::Encoding;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::{ChunkReader, Length};
use std::ops::Range;
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// Length and magic number at the end of a file.
const FOOTER_END_BYTES: u64 = 8;
/// What is read first of the end of a file.
const TAIL_BYTES: u64 = 64 << 10;
/// Size of a read while the headers of pages are walked.
const WALK_BYTES: u64 = 1 << 20;
/// Longest header of a page: those with long statistics.
const HEADER_BYTES_MAX: u64 = 16 << 20;
/// What is read of a page for its header, and how many headers at a time.
const HEADER_BYTES: u64 = 1024;
const HEADERS_AT_A_TIME: usize = 256;
/// Most bytes of the offset indexes of a file, which writers put next to each other.
const OFFSET_INDEXES_BYTES_MAX: u64 = 1 << 28;
const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED_MAGIC: &[u8] = b"PARE";

/// What a data file says of itself.
#[derive(Debug)]
pub(crate) struct Footer {
    pub(crate) metadata: ParquetMetaData,
    /// The checksum of the metadata and what follows it.
    pub(crate) checksum: u64,
}

/// A row group of a data file.
#[derive(Debug)]
pub(crate) struct FoundGroup {
    pub(crate) rows: u64,
    pub(crate) pages: GroupPages,
}

fn refused(file: &dyn ReadableFile, detail: impl Into<String>) -> ParquetIndexError {
    ParquetIndexError::Malformed { path: file.path().to_owned(), detail: detail.into() }
}

/// Bytes of a file.
pub(crate) fn read(file: &dyn ReadableFile, offset: u64, bytes: u64) -> Result<Vec<u8>> {
    let mut buffer = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
    file.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Input })?;
    Ok(buffer)
}

/// The bytes of a footer, with what follows them.
fn footer_bytes(file: &dyn ReadableFile) -> Result<Vec<u8>> {
    if file.len() < FOOTER_END_BYTES + MAGIC.len() as u64 {
        return Err(refused(file, format!("it has {} bytes, fewer than any Parquet file", file.len())));
    }
    let tail_bytes = TAIL_BYTES.min(file.len());
    let mut tail = read(file, file.len() - tail_bytes, tail_bytes)?;
    let end = tail.len() - FOOTER_END_BYTES as usize;
    let (length, magic) = tail[end..].split_at(4);
    match magic {
        MAGIC => {}
        ENCRYPTED_MAGIC => return Err(refused(file, "its footer is encrypted, which is not supported")),
        _ => return Err(refused(file, "it does not end in PAR1; it may be of another kind, or cut off")),
    }
    let stated = u64::from(u32::from_le_bytes([length[0], length[1], length[2], length[3]])) + FOOTER_END_BYTES;
    if stated > file.len() {
        return Err(refused(file, format!("its footer would have {stated} bytes, more than the file")));
    }
    if stated > tail_bytes {
        return read(file, file.len() - stated, stated);
    }
    Ok(tail.split_off(tail.len() - stated as usize))
}

/// Reads the footer of a file, and the offset index if there is one.
///
/// # Errors
/// [`ParquetIndexError::Malformed`]; storage errors.
pub(crate) fn read_footer(file: &Arc<dyn ReadableFile>) -> Result<Footer> {
    let bytes = footer_bytes(&**file)?;
    let checksum = XxHash3_64::oneshot(&bytes);
    let stated = &bytes[..bytes.len() - FOOTER_END_BYTES as usize];
    let cleaned = is_whole_structure(stated).then(|| without_foreign_fields(stated)).flatten();
    let Some(cleaned) = cleaned else { return Err(refused(&**file, "its footer is damaged")) };
    let decoded = || ParquetMetaDataReader::decode_metadata(&cleaned).map_err(|error| malformed(file.path(), &error));
    let metadata = decoded()?;
    let Some(held) = offset_indexes(file, &metadata)? else { return Ok(Footer { metadata, checksum }) };
    let mut reader = ParquetMetaDataReader::new_with_metadata(metadata)
        .with_column_index_policy(PageIndexPolicy::Skip)
        .with_offset_index_policy(PageIndexPolicy::Optional);
    // An offset index that cannot be read is as good as none: the headers of the pages are walked.
    let indexed = reader.read_page_indexes(&held).and_then(|()| reader.finish());
    let metadata = match indexed {
        Ok(metadata) => metadata,
        Err(_) => decoded()?,
    };
    Ok(Footer { metadata, checksum })
}

/// The bytes of the offset indexes of all columns; `None` if there are none, or if one contradicts itself.
fn offset_indexes(file: &Arc<dyn ReadableFile>, metadata: &ParquetMetaData) -> Result<Option<Held>> {
    let mut ranges = Vec::new();
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let (Some(offset), Some(bytes)) = (column.offset_index_offset(), column.offset_index_length()) else {
            continue;
        };
        let range = u64::try_from(offset).ok().zip(u64::try_from(bytes).ok());
        let range = range.and_then(|(offset, bytes)| Some(offset..offset.checked_add(bytes)?));
        let Some(range) = range.filter(|range| range.end <= file.len()) else { return Ok(None) };
        ranges.push(range);
    }
    let (start, end) = (ranges.iter().map(|range| range.start).min(), ranges.iter().map(|range| range.end).max());
    let Some((start, end)) = start.zip(end) else { return Ok(None) };
    if end - start > OFFSET_INDEXES_BYTES_MAX {
        return Ok(None);
    }
    let bytes = Bytes::from(read(&**file, start, end - start)?);
    let is_sound =
        |range: &Range<u64>| is_whole_structure(&bytes[(range.start - start) as usize..(range.end - start) as usize]);
    let is_sound = ranges.iter().all(is_sound);
    Ok(is_sound.then_some(Held { file_bytes: file.len(), start, bytes }))
}

/// Compares the checksum of a footer with what was recorded.
///
/// # Errors
/// As [`read_footer`].
pub(crate) fn footer_checksum(file: &dyn ReadableFile) -> Result<u64> {
    Ok(XxHash3_64::oneshot(&footer_bytes(file)?))
}

/// The row groups of a file that have rows, with the places of their pages.
///
/// # Errors
/// [`ParquetIndexError::Malformed`]; storage errors.
pub(crate) fn find_groups(
    file: &Arc<dyn ReadableFile>,
    footer: &Footer,
    schema: &FileSchema,
) -> Result<Vec<FoundGroup>> {
    let offset_index = footer.metadata.offset_index();
    let mut groups = Vec::new();
    for (number, group) in footer.metadata.row_groups().iter().enumerate() {
        let rows = u64::try_from(group.num_rows())
            .map_err(|_| refused(&**file, format!("row group {number} has {} rows", group.num_rows())))?;
        if rows == 0 {
            continue;
        }
        let of_group = offset_index.and_then(|index| index.get(number));
        let mut columns = Vec::with_capacity(group.num_columns());
        for leaf in 0..schema.leaf_count().min(group.num_columns()) {
            let locations = of_group.and_then(|columns| columns.get(leaf)).map(|column| &column.page_locations[..]);
            columns.push(find_pages(file, group, leaf, schema.repeats(leaf), locations.unwrap_or_default())?);
        }
        if columns.len() != schema.leaf_count() {
            return Err(refused(&**file, format!("row group {number} lacks columns of the schema")));
        }
        groups.push(FoundGroup { rows, pages: GroupPages { columns } });
    }
    Ok(groups)
}

/// The pages of a column in a row group: from the offset index if it is sound, else from the headers of the pages.
fn find_pages(
    file: &Arc<dyn ReadableFile>,
    group: &RowGroupMetaData,
    leaf: usize,
    repeats: bool,
    locations: &[PageLocation],
) -> Result<ColumnPages> {
    let column = group.column(leaf);
    let rows = group.num_rows().cast_unsigned();
    if column.file_path().is_some() {
        let detail = format!("column '{}' lies in another file, which is not supported", column.column_path());
        return Err(refused(&**file, detail));
    }
    let (start, end) = chunk_range(&**file, column)?;
    let codec = codec_code(column.compression());
    if let Some(mut found) = indexed_pages(locations, codec, start, end, rows) {
        found.dictionary_pages = dictionary_pages(&**file, column, &found)?;
        return Ok(found);
    }
    let lacks_head = column.dictionary_page_offset().is_none();
    let walked = walk(&**file, start..end, lacks_head, rows, repeats)?.map(|walked| ColumnPages { codec, ..walked });
    Ok(walked.unwrap_or(ColumnPages { codec, start, dictionary_bytes: 0, dictionary_pages: 0, end, pages: Vec::new() }))
}

/// The number of first pages that may refer to the dictionary: by statistics, else by the headers of the pages.
fn dictionary_pages(file: &dyn ReadableFile, column: &ColumnChunkMetaData, found: &ColumnPages) -> Result<usize> {
    let all = found.pages.len();
    if found.dictionary_bytes == 0 {
        return Ok(0);
    }
    if let Some(mask) = column.page_encoding_stats_mask() {
        let (old, new) = (Encoding::PLAIN_DICTIONARY, Encoding::RLE_DICTIONARY);
        if mask.is_only(old) || mask.is_only(new) {
            return Ok(all);
        }
        if !mask.is_set(new) && !mask.is_set(old) {
            return Ok(0);
        }
    }
    let sizes = found.pages.iter().map(|page| page.bytes.min(HEADER_BYTES) as usize);
    let mut starts: Vec<Vec<u8>> = sizes.map(|bytes| vec![0; bytes]).collect();
    for (pages, starts) in found.pages.chunks(HEADERS_AT_A_TIME).zip(starts.chunks_mut(HEADERS_AT_A_TIME)) {
        let requests = pages.iter().zip(starts);
        let requests =
            requests.map(|(page, buffer)| ReadRequest { offset: page.offset, buffer, purpose: Purpose::Input });
        file.read_many(requests.collect())?;
    }
    // A header that is longer is not read on: its page may refer to the dictionary.
    let may_refer = |start: &Vec<u8>| !matches!(parse(start), Parsed::Header(header) if !header.uses_dictionary);
    Ok(starts.iter().rposition(may_refer).map_or(0, |last| last + 1))
}

/// Offsets of the start and the end of a column in a row group.
fn chunk_range(file: &dyn ReadableFile, column: &ColumnChunkMetaData) -> Result<(u64, u64)> {
    let offsets = [column.dictionary_page_offset(), Some(column.data_page_offset())];
    // Some writers state 0 for no dictionary.
    let start = offsets.into_iter().flatten().filter(|&offset| offset > 0).min().and_then(|it| u64::try_from(it).ok());
    let bytes = u64::try_from(column.compressed_size()).ok();
    match (start, bytes) {
        (Some(start), Some(bytes)) if start.checked_add(bytes).is_some_and(|end| end <= file.len()) => {
            Ok((start, start + bytes))
        }
        _ => Err(refused(file, format!("column '{}' lies outside the file", column.column_path()))),
    }
}

/// The pages that an offset index states; `None` if there is none, or if it contradicts itself.
fn indexed_pages(locations: &[PageLocation], codec: u8, start: u64, end: u64, rows: u64) -> Option<ColumnPages> {
    let first = locations.first()?;
    if first.first_row_index != 0 || locations.len() > PAGES_MAX {
        return None;
    }
    let mut pages: Vec<Page> = Vec::with_capacity(locations.len());
    for location in locations {
        let offset = u64::try_from(location.offset).ok()?;
        let bytes = u64::try_from(location.compressed_page_size).ok().filter(|&bytes| bytes > 0)?;
        let first_row = u64::try_from(location.first_row_index).ok().filter(|&row| row < rows)?;
        if offset.checked_add(bytes)? > end {
            return None;
        }
        if let Some(last) = pages.last_mut() {
            if offset < last.offset + last.bytes || first_row < last.first_row {
                return None;
            }
            // A page without rows is passed over.
            if first_row == last.first_row {
                return None;
            }
        }
        pages.push(Page { offset, bytes, first_row });
    }
    let dictionary_bytes = pages.first()?.offset.checked_sub(start)?;
    let end = pages.last().map(|page| page.offset + page.bytes)?;
    Some(ColumnPages { codec, start, dictionary_bytes, dictionary_pages: 0, end, pages })
}

/// The pages of a column by their headers; `None` if they do not tell where rows begin. Where the place of a dictionary
/// is not stated, its header may lie beyond the stated end: old versions of parquet-mr did not count it.
fn walk(
    file: &dyn ReadableFile,
    stated: Range<u64>,
    may_lack_head: bool,
    rows: u64,
    repeats: bool,
) -> Result<Option<ColumnPages>> {
    let (start, mut end) = (stated.start, stated.end);
    let mut window = Window { file, start: 0, bytes: Vec::new(), end };
    let (mut offset, mut first_row, mut dictionary_bytes) = (start, 0_u64, 0);
    let mut dictionary_pages = 0;
    let mut pages: Vec<Page> = Vec::new();
    while offset < end && first_row < rows {
        let header = window.header(offset)?;
        let bytes = header.header_bytes + header.body_bytes;
        if bytes > end - offset {
            return Err(refused(file, format!("a page at byte {offset} ends outside its column")));
        }
        match header.kind {
            PageKind::Dictionary if pages.is_empty() => {
                dictionary_bytes = offset + bytes - start;
                if may_lack_head {
                    end = stated.end.saturating_add(header.header_bytes).min(file.len());
                    window.end = end;
                }
            }
            PageKind::Data => {
                let of_page = match header.rows {
                    Some(rows) => rows,
                    None if !repeats => header.values,
                    None => return Ok(None),
                };
                if of_page > 0 {
                    pages.push(Page { offset, bytes, first_row });
                    dictionary_pages = if header.uses_dictionary { pages.len() } else { dictionary_pages };
                }
                first_row = first_row.saturating_add(of_page);
            }
            _ => {}
        }
        offset += bytes;
    }
    let begins_there = pages.first().is_some_and(|page| page.offset == start + dictionary_bytes);
    let is_sound = first_row == rows && begins_there && pages.len() <= PAGES_MAX;
    let dictionary_pages = if dictionary_bytes > 0 { dictionary_pages } else { 0 };
    Ok(is_sound.then_some(ColumnPages { codec: 0, start, dictionary_bytes, dictionary_pages, end: offset, pages }))
}

/// A window of a file for the headers of its pages.
struct Window<'a> {
    file: &'a dyn ReadableFile,
    start: u64,
    bytes: Vec<u8>,
    /// End of the column.
    end: u64,
}

impl Window<'_> {
    fn header(&mut self, offset: u64) -> Result<super::page_header::PageHeader> {
        let mut wanted = 0;
        loop {
            let held = offset.checked_sub(self.start).and_then(|at| self.bytes.get(usize::try_from(at).ok()?..));
            let held = held.unwrap_or_default();
            match parse(held) {
                Parsed::Header(header) => return Ok(header),
                Parsed::Short if (held.len() as u64) < (self.end - offset).min(HEADER_BYTES_MAX) => {}
                _ => return Err(refused(self.file, format!("the header of a page at byte {offset} is not one"))),
            }
            wanted = (wanted * 4).max(WALK_BYTES).min(self.end - offset);
            self.bytes = read(self.file, offset, wanted)?;
            self.start = offset;
        }
    }
}

/// A part of a data file, for the crate `parquet`.
struct Held {
    file_bytes: u64,
    start: u64,
    bytes: Bytes,
}

impl Length for Held {
    fn len(&self) -> u64 {
        self.file_bytes
    }
}

impl ChunkReader for Held {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let length = (self.start + self.bytes.len() as u64).saturating_sub(start);
        Ok(self.get_bytes(start, length as usize)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let at = start.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let range = at.and_then(|at| Some(at..at.checked_add(length)?)).filter(|range| range.end <= self.bytes.len());
        range
            .map(|range| self.bytes.slice(range))
            .ok_or_else(|| ParquetError::EOF(format!("{length} bytes at byte {start} are not of the offset indexes")))
    }
}
