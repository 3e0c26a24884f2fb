//! External indexes: an index file over data that stays where it is, either a sorted file of fixed-width records in a
//! foreign format, or a table that is also read from a storage other than the one it was tuned for.
//!
//! Both kinds scan the data once, write only the index file, and give it its name when it is complete and durable. Such
//! an index is opened like any table, by [`Table::open`] on its name; data and index lie in the same folder.

use super::scan_index::{DataSizes, ScanIndexBuilder, StoredLocations, write_index};
use crate::block::checksum::{self, CHECKSUM_BYTES};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, Storage, open_compared};
use crate::table::format::locations::{BlockLocations, LocationWriter};
use crate::table::format::meta::{DataSource, Section, TableMeta, difference};
use crate::table::format::options::{DEFAULT_BLOCK_BYTES, TableOptions, TableWriteOptions};
use crate::table::read::context::ReadContext;
use crate::table::read::reader::{Table, TableInner};
use crate::table::report::summary::TableReport;
use crate::table::write::index;
use crate::table::write::published_file::PublishedFile;
use crate::table::write::writer::check_block_bytes;
use crate::types::KeyType;
use std::sync::Arc;

/// Size of a read while data is scanned, in bytes.
const SCAN_READ_BYTES: u64 = 1 << 20;
/// Largest record of a foreign file in bytes: a record must fit a block.
const RECORD_BYTES_MAX: u64 = 1 << 20;

/// The layout of a foreign file: a header, then sorted fixed-width records, each a key and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordFile {
    /// Bytes before the first record.
    pub header_bytes: u64,
    /// Whether the first 8 bytes of the header are the number of records, in the byte order of the keys.
    pub counted: bool,
    /// Width of the keys, unsigned integers, in bytes: 8 or 16.
    pub key_bytes: u32,
    /// Width of the value after each key, in bytes.
    pub value_bytes: u32,
    /// Whether keys are little-endian rather than big-endian.
    pub little_endian: bool,
}

impl RecordFile {
    /// A file of the SOSD benchmark: the number of records, then 8-byte little-endian keys, with `value_bytes` after
    /// each key.
    #[must_use]
    pub fn sosd(value_bytes: u32) -> Self {
        Self { header_bytes: 8, counted: true, key_bytes: 8, value_bytes, little_endian: true }
    }

    pub(crate) fn record_bytes(self) -> u64 {
        u64::from(self.key_bytes) + u64::from(self.value_bytes)
    }

    pub(crate) fn key_type(self) -> Result<KeyType> {
        match self.key_bytes {
            8 => Ok(KeyType::U64),
            16 => Ok(KeyType::U128),
            other => Err(Error::input(format!(
                "keys of {other} bytes are not supported; a file of records has keys of 8 or 16 bytes"
            ))),
        }
    }

    /// Number of records in a complete file.
    pub(crate) fn count(self, file: &dyn ReadableFile) -> Result<u64> {
        let wrong = |detail: String| Error::not_records(file.path(), detail);
        let Some(bytes) = file.len().checked_sub(self.header_bytes) else {
            return Err(wrong(format!(
                "it has {} bytes, less than its header of {}; it may have been cut off",
                file.len(),
                self.header_bytes
            )));
        };
        let (records, rest) = (bytes / self.record_bytes(), bytes % self.record_bytes());
        if self.counted {
            let mut word = [0; 8];
            file.read(ReadRequest { offset: 0, buffer: &mut word, purpose: Purpose::Input })?;
            let stated = if self.little_endian { u64::from_le_bytes(word) } else { u64::from_be_bytes(word) };
            if stated != records || rest > 0 {
                return Err(wrong(format!(
                    "its header states {stated} records, but it holds {records} of {} bytes, with {rest} bytes left \
                     over; check the width of the records, or get the whole file",
                    self.record_bytes()
                )));
            }
        }
        match rest {
            0 => Ok(records),
            _ => Err(wrong(format!(
                "{rest} bytes follow its {records} records of {} bytes; check their width, or get the whole file",
                self.record_bytes()
            ))),
        }
    }
}

/// Builds an index over the sorted records of `data_name` in a new file `index_name` of the same folder. The data is
/// left untouched.
///
/// Of the options, those that concern the index are used: design, profile, objective and the like,
/// `filter_bits_per_key`, `replace`, `properties`, and `block_bytes` (rounded down to a multiple of the record width,
/// 4096 by default). The types of keys and values are those of `records`.
///
/// The data has no checksums of its own. The index stores its length, its modification time, and a checksum of each
/// block: opening fails if length or time have changed, and [`compare_records`] compares every byte.
///
/// ```
/// use ogive::io::MemoryStorage;
/// use ogive::table::external::{RecordFile, index_records};
/// use ogive::table::{TableOptions, Table, TableWriteOptions};
/// use std::sync::Arc;
///
/// let storage = Arc::new(MemoryStorage::new());
/// let sosd: Vec<u8> = [3_u64, 10, 20, 30].iter().flat_map(|word| word.to_le_bytes()).collect();
/// storage.put("keys.u64", sosd)?;
/// index_records(storage.clone(), "keys.u64", "keys.ogive", RecordFile::sosd(0), TableWriteOptions::default())?;
///
/// let table = Table::open((storage, "keys.ogive"), &TableOptions::default())?;
/// assert!(table.contains_key(&20_u64.to_be_bytes())?);
/// assert_eq!(table.rank(&25_u64.to_be_bytes())?, 2);
/// # Ok::<(), ogive::Error>(())
/// ```
///
/// # Errors
/// `Cause::NotRecords` if the file does not consist of complete records or has another number of them than it states;
/// `Cause::Unsorted` with the number of the first record out of order; `Cause::Changed` if the file changed
/// meanwhile; those of [`TableWriter::create`](crate::table::TableWriter::create); storage errors. On error no file is
/// left under the name.
pub fn index_records(
    storage: Arc<dyn Storage>,
    data_name: &str,
    index_name: &str,
    records: RecordFile,
    options: TableWriteOptions,
) -> Result<TableReport> {
    let key_type = records.key_type()?;
    let block_bytes = fitting_block_bytes(records, &options)?;
    let mut options = TableWriteOptions { key_type, ..options };
    index::check_design(&options)?;
    check_names(data_name, index_name)?;
    let data = open_compared(&*storage, data_name)?;
    let record_count = records.count(&*data)?;
    let locations = BlockLocations::foreign(records.header_bytes, block_bytes, data.len(), records.record_bytes())
        .ok_or_else(|| Error::input("records of zero bytes cannot be indexed"))?;
    let out = PublishedFile::create(storage.clone(), index_name, options.replace)?;
    let mut scan = ScanIndexBuilder::new(data.path(), key_type, options.filter_bits_per_key)?;
    let mut checksums = Vec::new();
    let mut largest_block_bytes = 0;
    walk(&*data, &locations, |section, bytes| {
        checksums.extend_from_slice(&checksum::checksum(out.file_id, section.offset, bytes).to_le_bytes());
        largest_block_bytes = largest_block_bytes.max(section.bytes);
        scan_records(&mut scan, records, bytes)?;
        scan.end_block()
    })?;
    // Data that changed during the scan does not match the length and time recorded here.
    let (file_bytes, modified_ns) = (data.len(), data.modified_ns().unwrap_or(0));
    let now = open_compared(&*storage, data_name)?;
    if let Some(detail) = difference(&*now, file_bytes, modified_ns) {
        return Err(Error::changed(now.path(), detail));
    }
    let source = DataSource::Foreign {
        name: data_name.to_owned(),
        header_bytes: records.header_bytes,
        file_bytes,
        modified_ns,
        little_endian: records.little_endian,
        checksums: Section::default(),
    };
    let data_bytes = file_bytes - records.header_bytes;
    debug_assert_eq!(scan.records, record_count, "blocks cover all records");
    let meta = TableMeta {
        value_width: Some(u64::from(records.value_bytes)),
        block_bytes,
        largest_block_bytes,
        decoded_block_bytes: 0,
        data_bytes: file_bytes,
        ..scan.meta(source, &mut options)
    };
    let sizes = DataSizes { span_bytes: data_bytes, stored_block_bytes: data_bytes };
    write_index(out, scan, meta, sizes, StoredLocations { checksums, ..StoredLocations::default() }, &options)
}

/// Builds a second index for the table `table_name` in a new file `index_name` of the same folder, for example for a
/// storage with another profile to which both files are then copied. The table is left untouched.
///
/// Of the options, those that concern the index are used: design, profile, objective and the like,
/// `filter_bits_per_key` (the table's own filter is not copied), `replace`, and `properties`, which are added to the
/// table's. Keys, records and blocks are those of the table.
///
/// ```
/// use ogive::io::{MemoryStorage, Profile};
/// use ogive::table::external::index_table;
/// use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
/// use std::sync::Arc;
///
/// let storage = Arc::new(MemoryStorage::new());
/// let mut writer = TableWriter::create((storage.clone(), "fruit"), TableWriteOptions::default())?;
/// writer.append(b"apple", b"red")?;
/// writer.finish()?;
///
/// let options = TableWriteOptions::default().profile(Profile::named("s3")?);
/// index_table(storage.clone(), "fruit", "fruit.s3", options)?;
/// let table = Table::open((storage, "fruit.s3"), &TableOptions::default())?;
/// assert_eq!(table.get(b"apple")?, Some(b"red".to_vec()));
/// # Ok::<(), ogive::Error>(())
/// ```
///
/// # Errors
/// `Cause::Damaged` if a block is damaged or out of order; `Cause::Input` if the table is itself an
/// external index; those of [`Table::open`] and [`TableWriter::create`](crate::table::TableWriter::create). On error no
/// file is left under the name.
pub fn index_table(
    storage: Arc<dyn Storage>,
    table_name: &str,
    index_name: &str,
    options: TableWriteOptions,
) -> Result<TableReport> {
    check_names(table_name, index_name)?;
    let profile = options.profile.clone();
    let open = TableOptions { memory_bytes: 2 * SCAN_READ_BYTES, profile, ..TableOptions::default() };
    let table = Table::open_for_walk(storage.clone(), table_name, &open)?;
    let inner = &*table.inner;
    let source = match &inner.meta.source {
        DataSource::Own => DataSource::Table { name: table_name.to_owned(), file_id: inner.files.id() },
        DataSource::Table { name, .. } | DataSource::Foreign { name, .. } => {
            return Err(Error::input(format!(
                "{table_name} is itself an external index of {name}; build the new index for {name}"
            )));
        }
    };
    let mut options = options.record_type(inner.meta.record_type.clone());
    index::check_design(&options)?;
    let out = PublishedFile::create(storage, index_name, options.replace)?;
    let mut scan = ScanIndexBuilder::new(inner.files.data().path(), options.key_type, options.filter_bits_per_key)?;
    let mut locations = LocationWriter::new(inner.meta.block_bytes);
    scan_table(inner, &mut scan, &mut locations)?;
    let mut properties = inner.meta.properties.clone();
    properties.retain(|(name, _)| options.properties.iter().all(|(new, _)| new != name));
    options.properties.splice(0..0, properties);
    let (stored, groups) = locations.encode();
    let meta = TableMeta {
        value_width: inner.meta.value_width,
        versioned: inner.meta.versioned,
        compression: inner.meta.compression.clone(),
        block_bytes: inner.meta.block_bytes,
        largest_block_bytes: inner.meta.largest_block_bytes,
        decoded_block_bytes: inner.meta.decoded_block_bytes,
        data_bytes: inner.meta.data_bytes,
        ..scan.meta(source, &mut options)
    };
    let sizes = DataSizes { span_bytes: inner.meta.data_bytes, stored_block_bytes: locations.stored_bytes() };
    write_index(out, scan, meta, sizes, StoredLocations { stored, groups, ..StoredLocations::default() }, &options)
}

/// The checksums of the blocks of a foreign file, read and checked; `None` if blocks carry their own checksums.
pub(in crate::table) fn block_checksums(
    inner: &TableInner,
    read: impl FnOnce(Section) -> Result<Vec<u8>>,
) -> Result<Option<Vec<u32>>> {
    let DataSource::Foreign { checksums: section, .. } = inner.meta.source else { return Ok(None) };
    let expected = inner.meta.blocks.checked_add(1).and_then(|count| count.checked_mul(CHECKSUM_BYTES as u64));
    if expected != Some(section.bytes)
        || section.offset.checked_add(section.bytes).is_none_or(|end| end > inner.files.own().len())
    {
        return Err(inner.damaged(section.offset, "the number of data checksums is not the number of blocks"));
    }
    let bytes = read(section)?;
    if !checksum::check(inner.files.id(), section.offset, &bytes) {
        return Err(inner.damaged(section.offset, "the checksum of the data checksums does not match"));
    }
    let words = bytes.chunks_exact(CHECKSUM_BYTES).filter_map(|word| word.try_into().ok()).map(u32::from_le_bytes);
    Ok(Some(words.take(inner.meta.blocks as usize).collect()))
}

/// Compares every block of the file that `table` indexes with its checksum in the index. `progress` receives the number
/// of bytes compared so far and in total. Blocks that carry their own checksums are not compared.
///
/// # Errors
/// `Cause::Changed` with the first block that differs from the indexed data; `Cause::Damaged` if the index is
/// damaged; storage errors.
pub fn compare_records(table: &Table, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let inner = &*table.inner;
    let read = |section| inner.whole(section, Purpose::Walk, &mut ReadContext::default());
    let Some(checksums) = block_checksums(inner, read)? else { return Ok(()) };
    let mut block = 0;
    walk(&**inner.files.data(), &inner.locations, |section, bytes| {
        let sum = checksum::checksum(inner.files.id(), section.offset, bytes);
        if checksums.get(block) != Some(&sum) {
            let detail = format!("block {block}, at byte {}, has changed since it was indexed", section.offset);
            return Err(Error::changed(inner.files.data().path(), detail));
        }
        block += 1;
        progress(section.offset + section.bytes, inner.meta.data_bytes);
        Ok(())
    })
}

fn check_names(data_name: &str, index_name: &str) -> Result<()> {
    match data_name == index_name {
        true => Err(Error::input(format!("the index of {data_name} cannot have the same name; choose another"))),
        false => Ok(()),
    }
}

/// Block size in bytes: as many whole records as the options allow, at least one.
fn fitting_block_bytes(records: RecordFile, options: &TableWriteOptions) -> Result<u64> {
    let most = options.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES);
    check_block_bytes(most)?;
    let record = records.record_bytes();
    if record > RECORD_BYTES_MAX {
        return Err(Error::input(format!(
            "records of {record} bytes are too large; the limit is {RECORD_BYTES_MAX} bytes"
        )));
    }
    Ok((u64::from(most) / record).max(1) * record)
}

/// Reads consecutive blocks, many at a time, and passes each with its location to a callback.
fn walk(
    data: &dyn ReadableFile,
    locations: &BlockLocations,
    mut visit: impl FnMut(Section, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut buffer = Vec::new();
    let mut next = 0;
    while let Some(first) = locations.of(next) {
        let mut sections = vec![first];
        let mut end = first.offset + first.bytes;
        while let Some(section) = locations.of(next + sections.len() as u64) {
            if section.offset + section.bytes - first.offset > SCAN_READ_BYTES {
                break;
            }
            end = section.offset + section.bytes;
            sections.push(section);
        }
        buffer.resize((end - first.offset) as usize, 0);
        data.read(ReadRequest { offset: first.offset, buffer: &mut buffer, purpose: Purpose::Input })?;
        for section in &sections {
            let at = (section.offset - first.offset) as usize;
            visit(*section, &buffer[at..at + section.bytes as usize])?;
        }
        next += sections.len() as u64;
    }
    Ok(())
}

fn scan_records(scan: &mut ScanIndexBuilder, records: RecordFile, bytes: &[u8]) -> Result<()> {
    let width = records.key_bytes as usize;
    let mut key = [0; 16];
    for record in bytes.chunks_exact(records.record_bytes() as usize) {
        let key = &mut key[..width];
        key.copy_from_slice(&record[..width]);
        if records.little_endian {
            key.reverse();
        }
        scan.push(key)?;
    }
    Ok(())
}

fn scan_table(inner: &TableInner, scan: &mut ScanIndexBuilder, locations: &mut LocationWriter) -> Result<()> {
    let at_a_time = (SCAN_READ_BYTES / inner.meta.block_bytes.max(1)).max(1);
    let (mut first, mut key) = (0, Vec::new());
    while first < inner.meta.blocks {
        let last = (first + at_a_time).min(inner.meta.blocks) - 1;
        let mut reads = ReadContext::default();
        for (block, bytes) in (first..).zip(inner.row(0, first, last, &mut reads)?) {
            let view = inner.view(block, &bytes)?;
            for record in 0..view.count() {
                view.key(record).ok_or_else(|| inner.malformed(block))?.copy_to(&mut key);
                scan.push(&key).map_err(|_| {
                    Error::damaged(
                        inner.files.data().path(),
                        inner.offset_of(block),
                        format!("record {record} of block {block} is out of order"),
                    )
                })?;
            }
            scan.end_block()?;
            let section = inner.section(0, block)?;
            locations.push(section.offset, section.bytes as usize);
        }
        first = last + 1;
    }
    if scan.records == inner.meta.records {
        return Ok(());
    }
    let detail = format!("it holds {} records, but states {}", scan.records, inner.meta.records);
    Err(inner.damaged(inner.files.tail_offset(), detail))
}
