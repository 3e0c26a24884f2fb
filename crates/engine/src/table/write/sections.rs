//! The sections after blocks and layers, which table and index files have in common: counts, filter, tail.

use super::published_file::PublishedFile;
use crate::block::checksum;
use crate::error::Result;
use crate::table::format::counts;
use crate::table::format::filter::{FilterBuilder, hash_key};
use crate::table::format::meta as format;
use crate::table::format::meta::{FilterMeta, Section, TableMeta};

/// Builds the filter block by block, if there is to be one.
#[derive(Debug)]
pub(in crate::table) struct FilterWriter {
    builder: Option<FilterBuilder>,
    pages: Vec<Vec<u8>>,
}

impl FilterWriter {
    /// # Errors
    /// [`crate::Cause::Input`] for an invalid number of bits.
    pub(in crate::table) fn new(bits_per_key: Option<u32>) -> Result<Self> {
        Ok(Self { builder: bits_per_key.map(FilterBuilder::new).transpose()?, pages: Vec::new() })
    }

    /// Memory use in bytes.
    pub(in crate::table) fn memory_bytes(&self) -> u64 {
        self.pages.iter().map(|page| page.capacity() as u64).sum()
    }

    /// Adds a key of the current block.
    pub(in crate::table) fn add(&mut self, key: &[u8]) {
        if let Some(builder) = &mut self.builder {
            builder.add(hash_key(key));
        }
    }

    pub(in crate::table) fn end_block(&mut self) -> Result<()> {
        let Self { builder: Some(builder), pages } = self else { return Ok(()) };
        builder.end_block(&mut |page| keep(pages, page))
    }

    pub(in crate::table) fn write(&mut self, out: &mut PublishedFile) -> Result<Option<FilterMeta>> {
        let (Some(builder), pages) = (self.builder.take(), &mut self.pages) else { return Ok(None) };
        let Some(layout) = builder.finish(&mut |page| keep(pages, page))? else { return Ok(None) };
        let offset = out.offset();
        for mut page in std::mem::take(pages) {
            checksum::seal(out.file_id, out.offset(), &mut page);
            out.put(&page)?;
        }
        let section = Section { offset, bytes: out.offset() - offset };
        Ok(Some(FilterMeta { section, layout }))
    }
}

fn keep(pages: &mut Vec<Vec<u8>>, page: &[u8]) -> Result<()> {
    pages.push(page.to_vec());
    Ok(())
}

/// Writes the record counts of the blocks; nothing if all blocks have the same count.
pub(in crate::table) fn write_counts(out: &mut PublishedFile, counts: &[u32]) -> Result<Section> {
    let offset = out.offset();
    if counts.is_empty() || counts::even_count(counts).is_some() {
        return Ok(Section { offset, bytes: 0 });
    }
    let bytes = counts::encode(out.file_id, offset, counts);
    out.put(&bytes)?;
    Ok(Section { offset, bytes: bytes.len() as u64 })
}

/// Writes the tail, with padding so that the file's length encodes its size.
pub(in crate::table) fn write_tail(
    out: &mut PublishedFile,
    root: &[u8],
    locations: &[u8],
    meta: &TableMeta,
) -> Result<()> {
    let tail_bytes = format::tail_bytes(root, locations, meta);
    out.zeros(format::padding(out.offset(), tail_bytes))?;
    let tail = format::encode_tail(out.file_id, out.offset(), root, locations, meta);
    out.put(&tail)
}
