//! The index-from-scan builder: collects borders, counts and filter from a scan of existing blocks, and writes the
//! index file.

use crate::block::checksum::{self, CHECKSUM_BYTES};
use crate::block::compress::Compression;
use crate::error::{Error, Result};
use crate::table::format::counts::even_count;
use crate::table::format::meta::{DataSource, Section, TableMeta};
use crate::table::format::options::TableWriteOptions;
use crate::table::report::summary::TableReport;
use crate::table::write::borders::Borders;
use crate::table::write::index::{self, IndexInput};
use crate::table::write::published_file::PublishedFile;
use crate::table::write::sections::{FilterWriter, write_counts, write_tail};
use crate::types::KeyType;
use std::path::{Path, PathBuf};

/// Collects borders, counts and filter of existing blocks, key by key.
#[derive(Debug)]
pub(in crate::table) struct ScanIndexBuilder {
    path: PathBuf,
    borders: Borders,
    counts: Vec<u32>,
    filter: FilterWriter,
    pub(in crate::table) records: u64,
    distinct: bool,
    /// First key of the current block, and its records so far.
    first: Vec<u8>,
    in_block: u32,
    last: Vec<u8>,
}

/// Sizes of the data, for cost estimates.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct DataSizes {
    /// From the first block to the end of the last: the size of the data read without an index.
    pub(in crate::table) span_bytes: u64,
    /// Size of all blocks, without gaps between them.
    pub(in crate::table) stored_block_bytes: u64,
}

/// Block locations, and checksums of foreign blocks.
#[derive(Debug, Default)]
pub(in crate::table) struct StoredLocations {
    /// As [`crate::table::format::locations::LocationWriter::encode`] returns it.
    pub(in crate::table) stored: Vec<u8>,
    pub(in crate::table) groups: u64,
    /// Four bytes for each block of a foreign file.
    pub(in crate::table) checksums: Vec<u8>,
}

impl ScanIndexBuilder {
    /// A builder for keys of this type in the file at `path`.
    pub(in crate::table) fn new(path: &Path, key_type: KeyType, filter_bits_per_key: Option<u32>) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            borders: Borders::new(key_type.is_numeric()),
            counts: Vec::new(),
            filter: FilterWriter::new(filter_bits_per_key)?,
            records: 0,
            distinct: true,
            first: Vec::new(),
            in_block: 0,
            last: Vec::new(),
        })
    }

    /// Adds the next key of the current block.
    ///
    /// # Errors
    /// [`Cause::Unsorted`](crate::Cause::Unsorted) for a key less than the last one.
    pub(in crate::table) fn push(&mut self, key: &[u8]) -> Result<()> {
        if self.records > 0 {
            match key.cmp(&self.last) {
                std::cmp::Ordering::Less => {
                    return Err(Error::unsorted(self.path.clone(), self.records));
                }
                order => self.distinct &= order.is_gt(),
            }
        }
        if self.in_block == 0 {
            self.first.clear();
            self.first.extend_from_slice(key);
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.filter.add(key);
        self.records += 1;
        self.in_block += 1;
        Ok(())
    }

    /// Ends the current block, which has at least one record.
    pub(in crate::table) fn end_block(&mut self) -> Result<()> {
        self.borders.push(&self.first, &self.last);
        self.counts.push(self.in_block);
        self.in_block = 0;
        self.filter.end_block()
    }

    /// The metadata of the scanned data; the properties are moved out of the options.
    pub(in crate::table) fn meta(&self, source: DataSource, options: &mut TableWriteOptions) -> TableMeta {
        TableMeta {
            record_type: options.types(),
            value_width: None,
            versioned: false,
            distinct: self.distinct,
            compression: Compression::None.name().to_owned(),
            records: self.records,
            blocks: self.counts.len() as u64,
            block_bytes: 0,
            largest_block_bytes: 0,
            decoded_block_bytes: 0,
            data_bytes: 0,
            source,
            layers: Vec::new(),
            location_bytes: 0,
            location_groups: 0,
            counts: Section::default(),
            per_block: even_count(&self.counts).unwrap_or(0),
            filter: None,
            mean_read_bytes: 0.0,
            max_read_bytes: 0,
            tuned_for: options.profile.name().to_owned(),
            properties: std::mem::take(&mut options.properties),
        }
    }
}

/// Designs the index, writes the remaining sections, and publishes the file.
pub(in crate::table) fn write_index(
    mut out: PublishedFile,
    mut scan: ScanIndexBuilder,
    mut meta: TableMeta,
    sizes: DataSizes,
    located: StoredLocations,
    options: &TableWriteOptions,
) -> Result<TableReport> {
    let (bottom, check) = scan.borders.finish();
    let input = IndexInput {
        bottom,
        data_bytes: sizes.span_bytes,
        stored_block_bytes: sizes.stored_block_bytes,
        blocks: meta.blocks,
        records: meta.records,
        location_bytes: located.stored.len() as u64,
        largest_block_bytes: meta.largest_block_bytes,
    };
    let built = index::build(input, options);
    if let Some(detail) = check.defect().map(str::to_owned).or_else(|| built.defect(meta.blocks, check.digest())) {
        return Err(Error::bug(out.path(), detail));
    }
    let index = built.write(&mut out)?;
    index.add_objective(&mut meta.properties, options, located.stored.len() as u64);
    (meta.layers, meta.mean_read_bytes, meta.max_read_bytes) =
        (index.layers.clone(), index.mean_read_bytes, index.max_read_bytes);
    (meta.location_bytes, meta.location_groups) = (located.stored.len() as u64, located.groups);
    meta.counts = write_counts(&mut out, &scan.counts)?;
    meta.filter = scan.filter.write(&mut out)?;
    if let DataSource::Foreign { checksums, .. } = &mut meta.source {
        *checksums = write_checksums(&mut out, located.checksums)?;
    }
    index.add_compared(&mut meta, &located.stored);
    write_tail(&mut out, &index.root, &located.stored, &meta)?;
    out.publish()?;
    Ok(TableReport::new(&meta, out.offset()))
}

/// Writes the checksums of the blocks, followed by a checksum of the section.
fn write_checksums(out: &mut PublishedFile, mut checksums: Vec<u8>) -> Result<Section> {
    let offset = out.offset();
    checksums.extend_from_slice(&[0; CHECKSUM_BYTES]);
    checksum::seal(out.file_id, offset, &mut checksums);
    out.put(&checksums)?;
    Ok(Section { offset, bytes: checksums.len() as u64 })
}
