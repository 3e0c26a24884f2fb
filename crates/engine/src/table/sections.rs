//! The sections that table and index files have in common behind blocks and layers: counts, filter, tail.

use super::counts;
use super::filter::{FilterBuilder, hash_key};
use super::format::{self, FilterMeta, Meta, Section};
use super::output::Output;
use crate::block::checksum;
use crate::error::Result;

/// A filter that grows block by block, if there is to be one.
#[derive(Debug)]
pub(super) struct FilterUnits {
    builder: Option<FilterBuilder>,
    units: Vec<Vec<u8>>,
}

impl FilterUnits {
    /// # Errors
    /// [`crate::Error::InvalidArgument`] for an impossible number of bits.
    pub(super) fn new(bits_per_key: Option<u32>) -> Result<Self> {
        Ok(Self { builder: bits_per_key.map(FilterBuilder::new).transpose()?, units: Vec::new() })
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.units.iter().map(|unit| unit.capacity() as u64).sum()
    }

    /// Takes a key of the present block.
    pub(super) fn add(&mut self, key: &[u8]) {
        if let Some(builder) = &mut self.builder {
            builder.add(hash_key(key));
        }
    }

    pub(super) fn end_block(&mut self) -> Result<()> {
        let Self { builder: Some(builder), units } = self else { return Ok(()) };
        builder.end_block(&mut |unit| keep(units, unit))
    }

    pub(super) fn write(&mut self, out: &mut Output) -> Result<Option<FilterMeta>> {
        let (Some(builder), units) = (self.builder.take(), &mut self.units) else { return Ok(None) };
        let Some(layout) = builder.finish(&mut |unit| keep(units, unit))? else { return Ok(None) };
        let offset = out.offset();
        for mut unit in std::mem::take(units) {
            checksum::seal(out.file_id, out.offset(), &mut unit);
            out.put(&unit)?;
        }
        let section = Section { offset, bytes: out.offset() - offset };
        Ok(Some(FilterMeta { section, layout }))
    }
}

fn keep(units: &mut Vec<Vec<u8>>, unit: &[u8]) -> Result<()> {
    units.push(unit.to_vec());
    Ok(())
}

/// Writes the records of each block; nothing where one number says it all.
pub(super) fn write_counts(out: &mut Output, counts: &[u32]) -> Result<Section> {
    let offset = out.offset();
    if counts.is_empty() || counts::even_count(counts).is_some() {
        return Ok(Section { offset, bytes: 0 });
    }
    let bytes = counts::encode(out.file_id, offset, counts);
    out.put(&bytes)?;
    Ok(Section { offset, bytes: bytes.len() as u64 })
}

/// Writes the tail so that the file's length tells its size.
pub(super) fn write_tail(out: &mut Output, root: &[u8], locations: &[u8], meta: &Meta) -> Result<()> {
    let tail_bytes = format::tail_bytes(root, locations, meta);
    out.zeros(format::padding(out.offset(), tail_bytes))?;
    let tail = format::encode_tail(out.file_id, out.offset(), root, locations, meta);
    out.put(&tail)
}
