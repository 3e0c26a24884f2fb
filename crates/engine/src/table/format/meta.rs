//! The tail of a table file: root, block locations, metadata, footer. Specified in `docs/format/table.md`.
//!
//! The tail is what the opening read fetches. Its size follows from the length of the file: the writer pads the file
//! with zeros until `length mod 512` is the class of the tail's size. There are 16 classes for each doubling.

use super::filter::FilterLayout;
use super::wire::{MetadataDecoder, MetadataEncoder};
use crate::block::checksum;
use crate::error::{Cause, Error, Result};
use crate::file_format::{TABLE_MAGIC, check_not_of_development};
use crate::io::ReadableFile;
use crate::types::{KeyType, RecordType, ValueType};
use std::path::Path;

/// The format version.
pub const FORMAT_VERSION: u32 = 1;
/// Magic, version, file id, lengths of tail and metadata, checksum.
pub(in crate::table) const FOOTER_BYTES: usize = 8 + 4 + 8 + 4 + 4 + 4;
/// Number of size classes: the length of the file modulo this is the class of its tail.
const TAIL_CLASSES: u64 = 512;
const CLASSES_PER_DOUBLING: u64 = 16;
/// Typical metadata size of a table with one layer, for cost estimates before it is written.
pub(in crate::table) const TYPICAL_METADATA_BYTES: u64 = 96;

/// Size of the opening read of a class in bytes.
fn class_bytes(class: u64) -> u64 {
    let doubling = class / CLASSES_PER_DOUBLING;
    // 256 B for class 0; the largest classes saturate, which no file reaches.
    u64::try_from((u128::from(CLASSES_PER_DOUBLING + class % CLASSES_PER_DOUBLING)) << (doubling + 4))
        .unwrap_or(u64::MAX)
}

/// The smallest class whose opening read holds a tail of `tail_bytes`.
fn class_of(tail_bytes: u64) -> u64 {
    let (mut low, mut high) = (0, TAIL_CLASSES - 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if class_bytes(middle) < tail_bytes {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Size of the opening read of a table whose tail has `tail_bytes`: larger by at most a sixteenth.
#[must_use]
pub fn opening_bytes(tail_bytes: u64) -> u64 {
    class_bytes(class_of(tail_bytes))
}

/// Size of the opening read of a file, from its length alone.
pub(crate) fn opening_bytes_of_file(file_bytes: u64) -> u64 {
    class_bytes(file_bytes % TAIL_CLASSES).min(file_bytes)
}

/// Size of the opening read of a table with these sizes of root and locations.
pub(in crate::table) fn opening_with(root_bytes: u64, location_bytes: u64) -> u64 {
    opening_bytes(root_bytes + location_bytes + TYPICAL_METADATA_BYTES + FOOTER_BYTES as u64)
}

/// Padding before a tail of `tail_bytes` in a file of `written` bytes, so that the file's length encodes the class.
pub(in crate::table) fn padding(written: u64, tail_bytes: u64) -> u64 {
    let class = class_of(tail_bytes);
    let least = (written + tail_bytes).max(class_bytes(class));
    least + (class + TAIL_CLASSES - least % TAIL_CLASSES) % TAIL_CLASSES - written - tail_bytes
}

/// A section of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::table) struct Section {
    pub(in crate::table) offset: u64,
    pub(in crate::table) bytes: u64,
}

impl Section {
    /// Offset of the first byte after it.
    pub(in crate::table) fn end(self) -> u64 {
        self.offset + self.bytes
    }
}

/// The location of the data blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::table) enum DataSource {
    /// In this file.
    Own,
    /// In another Ogive table of the same folder.
    Table { name: String, file_id: u64 },
    /// In a foreign file of fixed-width records.
    Foreign {
        name: String,
        header_bytes: u64,
        file_bytes: u64,
        /// Nanoseconds since 1970; 0 if the storage does not provide it.
        modified_ns: u64,
        little_endian: bool,
        /// The checksum of each block, u32 little-endian, bound to the id of the index file and the block's offset in
        /// the data file; followed by a checksum of the section.
        checksums: Section,
    },
}

/// The kind of a layer's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) enum NodeKind {
    Step,
    Line,
    Coded,
    CodedStrings,
}

impl NodeKind {
    fn from_code(code: u64) -> Option<Self> {
        [Self::Step, Self::Line, Self::Coded, Self::CodedStrings].into_iter().find(|&kind| kind as u64 == code)
    }
}

/// One layer as described by the file.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::table) struct LayerMeta {
    pub(in crate::table) kind: NodeKind,
    /// Children for each separator of coded steps; 1 otherwise.
    pub(in crate::table) granule: u64,
    pub(in crate::table) nodes: u64,
    /// Name of the builder, for display.
    pub(in crate::table) builder: String,
    /// Size and number of pages; for the root its own size and 1.
    pub(in crate::table) page_bytes: u64,
    pub(in crate::table) pages: u64,
    /// Offset of the first page; 0 for the root.
    pub(in crate::table) offset: u64,
    /// Mean and largest size of a lookup's read from this layer, in bytes.
    pub(in crate::table) mean_read_bytes: f64,
    pub(in crate::table) max_read_bytes: u64,
}

/// The filter for absent keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) struct FilterMeta {
    pub(in crate::table) section: Section,
    pub(in crate::table) layout: FilterLayout,
}

/// The metadata in the tail: everything but root and locations.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::table) struct TableMeta {
    pub(in crate::table) record_type: RecordType,
    /// Width of the value of dense records; `None` for records of any length.
    pub(in crate::table) value_width: Option<u64>,
    pub(in crate::table) versioned: bool,
    pub(in crate::table) distinct: bool,
    pub(in crate::table) compression: String,
    pub(in crate::table) records: u64,
    pub(in crate::table) blocks: u64,
    pub(in crate::table) block_bytes: u64,
    /// Size of the largest block before compression, in bytes.
    pub(in crate::table) largest_block_bytes: u64,
    /// Size of the records of the largest coded block, in bytes; 0 if no block is coded.
    pub(in crate::table) decoded_block_bytes: u64,
    /// End of the last block.
    pub(in crate::table) data_bytes: u64,
    pub(in crate::table) source: DataSource,
    /// Bottom first; the last is the root, which is stored in the tail.
    pub(in crate::table) layers: Vec<LayerMeta>,
    /// Stored bytes and groups of the location index in the tail; 0 if blocks have one size and are consecutive.
    pub(in crate::table) location_bytes: u64,
    pub(in crate::table) location_groups: u64,
    /// Cumulative counts; empty if all blocks but the last have the same number of records, `per_block`.
    pub(in crate::table) counts: Section,
    pub(in crate::table) per_block: u64,
    pub(in crate::table) filter: Option<FilterMeta>,
    /// Mean and largest size of a lookup's data read, in bytes.
    pub(in crate::table) mean_read_bytes: f64,
    pub(in crate::table) max_read_bytes: u64,
    /// Name of the storage profile that the index was tuned for.
    pub(in crate::table) tuned_for: String,
    pub(in crate::table) properties: Vec<(String, Vec<u8>)>,
}

fn thousandths(value: f64) -> u64 {
    (value * 1000.0).round() as u64
}

/// A mean size in its stored precision.
pub(in crate::table) fn storable_mean(bytes: f64) -> f64 {
    thousandths(bytes) as f64 / 1000.0
}

fn put_section(encoder: &mut MetadataEncoder, section: Section) {
    encoder.int(section.offset).int(section.bytes);
}

fn take_section(decoder: &mut MetadataDecoder<'_>) -> Option<Section> {
    Some(Section { offset: decoder.int()?, bytes: decoder.int()? })
}

impl DataSource {
    fn encode(&self, encoder: &mut MetadataEncoder) {
        match self {
            Self::Own => _ = encoder.int(0),
            Self::Table { name, file_id } => _ = encoder.int(1).bytes(name.as_bytes()).int(*file_id),
            Self::Foreign { name, header_bytes, file_bytes, modified_ns, little_endian, checksums } => {
                encoder.int(2).bytes(name.as_bytes()).int(*header_bytes).int(*file_bytes).int(*modified_ns);
                encoder.int(u64::from(*little_endian));
                put_section(encoder, *checksums);
            }
        }
    }

    fn decode(decoder: &mut MetadataDecoder<'_>) -> Option<Self> {
        match decoder.int()? {
            0 => Some(Self::Own),
            1 => Some(Self::Table { name: decoder.text()?, file_id: decoder.int()? }),
            2 => Some(Self::Foreign {
                name: decoder.text()?,
                header_bytes: decoder.int()?,
                file_bytes: decoder.int()?,
                modified_ns: decoder.int()?,
                little_endian: decoder.int()? == 1,
                checksums: take_section(decoder)?,
            }),
            _ => None,
        }
    }
}

/// Describes how a data file differs from the indexed one; `None` if length and time are the same.
pub(in crate::table) fn difference(data: &dyn ReadableFile, file_bytes: u64, modified_ns: u64) -> Option<String> {
    if data.len() != file_bytes {
        return Some(format!("it has {} bytes, and had {file_bytes}", data.len()));
    }
    let modified = data.modified_ns().is_some_and(|now| modified_ns != 0 && now != modified_ns);
    modified.then(|| "it was modified later".to_owned())
}

impl LayerMeta {
    fn encode(&self, encoder: &mut MetadataEncoder) {
        encoder.int(self.kind as u64).int(self.granule).int(self.nodes).bytes(self.builder.as_bytes());
        encoder.int(self.page_bytes).int(self.pages).int(self.offset);
        encoder.int(thousandths(self.mean_read_bytes)).int(self.max_read_bytes);
    }

    fn decode(decoder: &mut MetadataDecoder<'_>) -> Option<Self> {
        Some(Self {
            kind: NodeKind::from_code(decoder.int()?)?,
            granule: decoder.int().filter(|&granule| granule > 0)?,
            nodes: decoder.int()?,
            builder: decoder.text()?,
            page_bytes: decoder.int()?,
            pages: decoder.int()?,
            offset: decoder.int()?,
            mean_read_bytes: decoder.int()? as f64 / 1000.0,
            max_read_bytes: decoder.int()?,
        })
    }
}

impl TableMeta {
    /// Whether the type of the values and names are stated; else values are bytes.
    fn has_types(&self) -> bool {
        !self.record_type.values.is_bytes() || !self.record_type.key_columns.is_empty()
    }

    pub(in crate::table) fn encode(&self) -> Vec<u8> {
        let mut encoder = MetadataEncoder::default();
        let flags = [self.versioned, self.distinct, self.has_types(), self.decoded_block_bytes > 0];
        let flags = (0..).zip(flags).map(|(bit, is_set)| u64::from(is_set) << bit).sum();
        self.record_type.keys.codes().into_iter().for_each(|code| _ = encoder.int(code));
        encoder.int(self.value_width.map_or(0, |width| width + 1)).int(flags);
        if self.has_types() {
            encoder.bytes(&self.record_type.values.code()).bytes(&self.record_type.columns_code());
        }
        if self.decoded_block_bytes > 0 {
            encoder.int(self.decoded_block_bytes);
        }
        encoder.bytes(self.compression.as_bytes()).int(self.records).int(self.blocks).int(self.block_bytes);
        encoder.int(self.largest_block_bytes).int(self.data_bytes);
        self.source.encode(&mut encoder);
        encoder.int(self.layers.len() as u64);
        self.layers.iter().for_each(|layer| layer.encode(&mut encoder));
        encoder.int(self.location_bytes).int(self.location_groups);
        put_section(&mut encoder, self.counts);
        encoder.int(self.per_block);
        match self.filter {
            None => _ = encoder.int(0),
            Some(filter) => {
                encoder
                    .int(u64::from(filter.layout.blocks_per_group()))
                    .int(u64::from(filter.layout.pages_per_group()));
                put_section(&mut encoder, filter.section);
            }
        }
        encoder.int(thousandths(self.mean_read_bytes)).int(self.max_read_bytes).bytes(self.tuned_for.as_bytes());
        encoder.int(self.properties.len() as u64);
        for (name, value) in &self.properties {
            encoder.bytes(name.as_bytes()).bytes(value);
        }
        encoder.0
    }

    /// Decodes metadata; `None` for anything that [`Self::encode`] cannot have written.
    pub(in crate::table) fn decode(bytes: &[u8]) -> Option<Self> {
        let decoder = &mut MetadataDecoder(bytes);
        let mut record_type = RecordType::new(KeyType::from_codes(|| decoder.int())?, ValueType::default());
        let value_width = decoder.int()?.checked_sub(1);
        let flags = decoder.int()?;
        if flags & 4 != 0 {
            record_type.values = ValueType::from_code(decoder.bytes()?)?;
            record_type.key_columns = RecordType::columns_of_code(decoder.bytes()?)?;
            record_type.check().ok()?;
        }
        let decoded_block_bytes = if flags & 8 != 0 { decoder.int()? } else { 0 };
        let mut meta = Self {
            record_type,
            value_width,
            versioned: flags & 1 != 0,
            distinct: flags & 2 != 0,
            compression: decoder.text()?,
            records: decoder.int()?,
            blocks: decoder.int()?,
            block_bytes: decoder.int()?,
            largest_block_bytes: decoder.int()?,
            decoded_block_bytes,
            data_bytes: decoder.int()?,
            source: DataSource::decode(decoder)?,
            layers: Vec::new(),
            location_bytes: 0,
            location_groups: 0,
            counts: Section::default(),
            per_block: 0,
            filter: None,
            mean_read_bytes: 0.0,
            max_read_bytes: 0,
            tuned_for: String::new(),
            properties: Vec::new(),
        };
        for _ in 0..decoder.int()? {
            meta.layers.push(LayerMeta::decode(decoder)?);
        }
        (meta.location_bytes, meta.location_groups) = (decoder.int()?, decoder.int()?);
        meta.counts = take_section(decoder)?;
        meta.per_block = decoder.int()?;
        meta.filter = match decoder.int()? {
            0 => None,
            blocks => {
                let layout = FilterLayout::new(u32::try_from(blocks).ok()?, decoder.small()?)?;
                Some(FilterMeta { layout, section: take_section(decoder)? })
            }
        };
        (meta.mean_read_bytes, meta.max_read_bytes) = (decoder.int()? as f64 / 1000.0, decoder.int()?);
        meta.tuned_for = decoder.text()?;
        for _ in 0..decoder.int()? {
            meta.properties.push((decoder.text()?, decoder.bytes()?.to_vec()));
        }
        decoder.0.is_empty().then_some(meta)
    }
}

/// The tail of a file, read and checked.
#[derive(Debug)]
pub(in crate::table) struct TableTail {
    pub(in crate::table) file_id: u64,
    pub(in crate::table) meta: TableMeta,
    pub(in crate::table) root: Vec<u8>,
    pub(in crate::table) locations: Vec<u8>,
    /// Offset of the tail in the file.
    pub(in crate::table) offset: u64,
}

/// Size of the stored tail in bytes.
pub(in crate::table) fn tail_bytes(root: &[u8], locations: &[u8], meta: &TableMeta) -> u64 {
    (root.len() + locations.len() + meta.encode().len() + FOOTER_BYTES) as u64
}

/// The stored tail, to be written at `offset`.
pub(in crate::table) fn encode_tail(
    file_id: u64,
    offset: u64,
    root: &[u8],
    locations: &[u8],
    meta: &TableMeta,
) -> Vec<u8> {
    let meta = meta.encode();
    let total = root.len() + locations.len() + meta.len() + FOOTER_BYTES;
    let mut tail = Vec::with_capacity(total);
    tail.extend_from_slice(root);
    tail.extend_from_slice(locations);
    tail.extend_from_slice(&meta);
    tail.extend_from_slice(&TABLE_MAGIC);
    tail.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    tail.extend_from_slice(&file_id.to_le_bytes());
    tail.extend_from_slice(&(total as u32).to_le_bytes());
    tail.extend_from_slice(&(meta.len() as u32).to_le_bytes());
    tail.extend_from_slice(&[0; 4]);
    checksum::seal(file_id, offset, &mut tail);
    tail
}

/// The footer at the end of `read`, if its format version is known.
pub(in crate::table) fn check_footer<'a>(path: &Path, read: &'a [u8]) -> Result<&'a [u8]> {
    let not_ours = |detail: &str| Error::not_a_table(path, detail);
    let Some(footer) = read.len().checked_sub(FOOTER_BYTES).map(|at| &read[at..]) else {
        return Err(not_ours("it is too short; it may have been cut off"));
    };
    check_not_of_development(path, footer)?;
    if footer[..8] != TABLE_MAGIC {
        return Err(not_ours(
            "its last bytes are not those of a table; it may have been cut off, or be of another kind",
        ));
    }
    let version = u32::from_le_bytes([footer[8], footer[9], footer[10], footer[11]]);
    if version == 0 || version > FORMAT_VERSION {
        return Err(Error::version(path, version, FORMAT_VERSION));
    }
    Ok(footer)
}

/// Decodes the bytes of the opening read, which end at the end of a file of `file_bytes`.
pub(in crate::table) fn decode_tail(path: &Path, file_bytes: u64, read: &[u8]) -> Result<TableTail> {
    let footer = match check_footer(path, read) {
        Err(Error { cause: Cause::Version { .. }, .. }) if is_of_known_version(file_bytes, read) => {
            let offset = file_bytes - FOOTER_BYTES as u64 + 8;
            return Err(Error::damaged(path, offset, "the format version in its footer is damaged"));
        }
        footer => footer?,
    };
    let word = |at: usize| u32::from_le_bytes([footer[at], footer[at + 1], footer[at + 2], footer[at + 3]]);
    let damaged = |detail: &str| Error::damaged(path, file_bytes - FOOTER_BYTES as u64, detail);
    let file_id = u64::from(word(12)) | u64::from(word(16)) << 32;
    let (total, meta_bytes) = (word(20) as usize, word(24) as usize);
    let tail = read.len().checked_sub(total).map(|at| &read[at..]);
    let Some(tail) = tail.filter(|_| total >= FOOTER_BYTES) else {
        return Err(damaged("its footer states a tail longer than its opening read; its length does not fit"));
    };
    let offset = file_bytes - total as u64;
    if !checksum::check(file_id, offset, tail) {
        return Err(damaged("the checksum of its tail does not match"));
    }
    let meta_at =
        (total - FOOTER_BYTES).checked_sub(meta_bytes).ok_or_else(|| damaged("the metadata length is invalid"))?;
    let meta = TableMeta::decode(&tail[meta_at..total - FOOTER_BYTES]).ok_or_else(|| damaged("invalid metadata"))?;
    let root_bytes = (meta_at as u64).checked_sub(meta.location_bytes);
    let root_bytes = root_bytes.ok_or_else(|| damaged("a location index larger than its tail"))? as usize;
    let (root, locations) = (tail[..root_bytes].to_vec(), tail[root_bytes..meta_at].to_vec());
    Ok(TableTail { file_id, meta, root, locations, offset })
}

/// Whether the checksum of a tail matches with a known version in place of the one that its footer states: that is
/// damaged then, and no newer one.
fn is_of_known_version(file_bytes: u64, read: &[u8]) -> bool {
    let Some(at) = read.len().checked_sub(FOOTER_BYTES) else { return false };
    let word = |offset: usize| read[at + offset..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let file_id = u64::from(word(12)) | u64::from(word(16)) << 32;
    let total = word(20) as usize;
    let Some(tail) = read.len().checked_sub(total).filter(|_| total >= FOOTER_BYTES) else { return false };
    let mut tail = read[tail..].to_vec();
    (1..=FORMAT_VERSION).any(|version| {
        tail[total - FOOTER_BYTES + 8..][..4].copy_from_slice(&version.to_le_bytes());
        checksum::check(file_id, file_bytes - total as u64, &tail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_file_tells_how_much_to_read() {
        assert_eq!((class_bytes(0), class_bytes(1), class_bytes(16), class_bytes(17)), (256, 272, 512, 544));
        for tail in (1..3000).chain([1 << 20, (1 << 24) + 1, 1 << 33]) {
            for written in [0, 511, 4096, 123_457] {
                let file = written + padding(written, tail) + tail;
                let read = opening_bytes_of_file(file);
                assert!(read >= tail && read <= file, "tail {tail} behind {written}");
                assert_eq!(read, opening_bytes(tail));
                assert!(read <= tail.max(256) + tail / 16 + 16);
            }
        }
    }
}
