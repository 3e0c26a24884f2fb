//! What joins need of a table beneath its operations: blocks as they lie in the file, and the nodes that lead to them.

use super::block::{BlockView, Layout, Stored, trailer};
use super::format::{NodeKind, Section, Source};
use super::key::Probe;
use super::reader::{Reads, Table};
use super::unit::{Nodes, Unit};
use super::value::ValuePointer;
use crate::block::{checksum, compress};
use crate::error::Result;
use crate::io::{Purpose, ReadRequest};
use ogive_model::line::{self, LineNode};
use ogive_model::step::{self, StepPiece};
use std::ops::Range;
use std::sync::Arc;

/// Units of the bottom layer are read in stretches of at most so many bytes.
const STRETCH_BYTES: u64 = 64 << 10;

/// A run of nodes that lead to blocks.
pub(crate) enum NodeRun<'a> {
    Steps(Vec<StepPiece>),
    Lines(Vec<LineNode>),
    /// Groups of coded separators in their stored form.
    Coded {
        payload: &'a [u8],
        groups: usize,
    },
    /// The same of byte strings.
    CodedStrings {
        payload: &'a [u8],
        groups: usize,
    },
}

/// The nodes next to the data, as the metadata tell of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BottomLayer {
    /// Whether they are separators, which prove where a key lies.
    pub(crate) is_exact: bool,
    pub(crate) nodes: u64,
    /// Bytes that are to be read for them: 0 where they are the root, which an open table holds.
    pub(crate) read_bytes: u64,
    pub(crate) granule: u64,
}

/// Where the value of a row lies in an unpacked block.
#[derive(Clone, Debug)]
pub(crate) enum ValuePlace<'a> {
    Inline(&'a [u8]),
    Long(ValuePointer),
}

/// A key as an unpacked block holds it: its parts, one behind the other.
pub(crate) type KeyParts<'a> = (&'a [u8], &'a [u8]);

impl Table {
    /// Number of blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.inner.meta.blocks
    }

    /// Size of a block in bytes, where all have one; else about that.
    pub(crate) fn block_bytes(&self) -> u64 {
        self.inner.meta.block_bytes
    }

    /// Size of the largest block in bytes, unpacked.
    pub(crate) fn block_bytes_max(&self) -> u64 {
        self.inner.meta.largest_block_bytes.max(self.inner.meta.block_bytes)
    }

    /// Where a block lies in the data file.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn block_place(&self, block: u64) -> Result<Range<u64>> {
        let section = self.inner.section(0, block)?;
        Ok(section.offset..section.end())
    }

    /// Reads ranges of the data file.
    ///
    /// # Errors
    /// What the storage reports.
    pub(crate) fn read_data(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.inner.data.read_many(requests)
    }

    /// Widths of key and value, where rows may lie densely in blocks.
    pub(crate) fn dense_widths(&self) -> Option<(usize, usize)> {
        match self.inner.layout {
            Layout::Dense { key, value } if !self.inner.meta.tagged => Some((key, value)),
            _ => None,
        }
    }

    /// Checks a block that was read, and says how many rows lie densely at its beginning; `None` where it must be unpacked.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn check_dense(&self, block: u64, place: &Range<u64>, bytes: &mut [u8]) -> Result<Option<usize>> {
        let inner = &*self.inner;
        let Some((key, value)) = self.dense_widths() else { return Ok(None) };
        if let Source::Foreign { little_endian, .. } = inner.meta.source {
            if little_endian {
                bytes.chunks_exact_mut(key + value).for_each(|record| record[..key].reverse());
            }
            return Ok(Some(bytes.len() / (key + value)));
        }
        match trailer(bytes) {
            Some((compress::CODEC_STORED, 0, count)) if checksum::check(inner.data_file_id, place.start, bytes) => {
                inner.view(block, bytes)?;
                Ok(Some(count))
            }
            _ => Ok(None),
        }
    }

    /// Checks and unpacks a block that was read.
    ///
    /// # Errors
    /// Damage; [`crate::Error::Changed`].
    pub(crate) fn unpack_block(&self, block: u64, place: &Range<u64>, bytes: &[u8]) -> Result<Arc<[u8]>> {
        let section = Section { offset: place.start, bytes: place.end - place.start };
        let unpacked = self.inner.check(0, block, section, bytes)?;
        self.inner.view(block, &unpacked)?;
        Ok(unpacked)
    }

    /// Shows the rows of an unpacked block.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn visit_rows(
        &self,
        block: u64,
        unpacked: &[u8],
        mut visit: impl FnMut(KeyParts<'_>, ValuePlace<'_>),
    ) -> Result<()> {
        let view = self.inner.view(block, unpacked)?;
        for row in 0..view.count() {
            let stored = view.key(row).zip(view.value(row));
            let (key, value) = stored.ok_or_else(|| self.inner.malformed(block))?;
            let value = match value {
                Stored::Inline(value) => ValuePlace::Inline(value),
                Stored::Long(pointer) => ValuePlace::Long(pointer),
            };
            visit(key.parts(), value);
        }
        Ok(())
    }

    /// First and last key of an unpacked block; `None` where it has no rows.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn edge_keys(&self, block: u64, unpacked: &[u8]) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let view: BlockView<'_> = self.inner.view(block, unpacked)?;
        let Some(last) = view.count().checked_sub(1) else { return Ok(None) };
        let edges = view.key(0).zip(view.key(last)).ok_or_else(|| self.inner.malformed(block))?;
        Ok(Some((edges.0.to_vec(), edges.1.to_vec())))
    }

    /// A value that lies outside its block.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub(crate) fn value_at(&self, pointer: ValuePointer) -> Result<Vec<u8>> {
        self.inner.long_value(pointer)
    }

    /// The blocks where the index looks for a key, and whether that is proved; reads units of layers that no cache has.
    ///
    /// # Errors
    /// What the storage reports, and damage.
    pub(crate) fn route_blocks(&self, key: &[u8]) -> Result<(u64, u64, bool)> {
        let last = self.inner.meta.blocks.saturating_sub(1);
        match self.inner.target(Probe { key, behind: false }) {
            Some(target) => {
                let window = self.inner.route(&target, 0, &mut Reads::default())?;
                Ok((window.first, window.last, window.proof))
            }
            None => Ok((last, last, true)),
        }
    }

    /// The layer next to the data; `None` where there is no index.
    pub(crate) fn bottom_layer(&self) -> Option<BottomLayer> {
        let meta = &self.inner.meta;
        let layer = meta.layers.first()?;
        let is_root = meta.layers.len() == 1;
        Some(BottomLayer {
            is_exact: layer.kind != NodeKind::Line,
            nodes: layer.nodes,
            read_bytes: if is_root { 0 } else { layer.unit_bytes.saturating_mul(layer.units) },
            granule: layer.granule,
        })
    }

    /// Shows all nodes that lead to blocks, in order, reading those that are not the root; returns requests and bytes of that.
    ///
    /// # Errors
    /// What the storage reports, and damage, which is also where `visit` says `None`.
    pub(crate) fn visit_bottom(&self, mut visit: impl FnMut(NodeRun<'_>) -> Option<()>) -> Result<(u64, u64)> {
        let inner = &*self.inner;
        let malformed = |offset: u64| inner.damaged(offset, "index nodes that make no sense");
        let Some(layer) = inner.meta.layers.first() else { return Ok((0, 0)) };
        let (kind, granule) = inner.nodes_over(0);
        let blocks = inner.meta.blocks;
        if inner.meta.layers.len() == 1 {
            let count = usize::try_from(layer.nodes).map_err(|_| malformed(inner.tail_offset))?;
            let root = Nodes { kind, granule, payload: &inner.root, count, end_child: blocks, children: blocks };
            run_of(&root).and_then(visit).ok_or_else(|| malformed(inner.tail_offset))?;
            return Ok((0, 0));
        }
        let each = (STRETCH_BYTES / layer.unit_bytes).max(1);
        let mut requests = 0;
        let mut buffer = Vec::new();
        for first in (0..layer.units).step_by(each as usize) {
            let count = each.min(layer.units - first);
            let offset = inner.section(1, first)?.offset;
            buffer.resize((count * layer.unit_bytes) as usize, 0);
            inner.file.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Layer(1) })?;
            requests += 1;
            for (number, bytes) in (first..).zip(buffer.chunks_exact(layer.unit_bytes as usize)) {
                let section = inner.section(1, number)?;
                inner.check(1, number, section, bytes)?;
                Unit::parse(kind, granule, blocks, bytes)
                    .and_then(|unit| run_of(&unit.nodes).and_then(&mut visit))
                    .ok_or_else(|| malformed(section.offset))?;
            }
        }
        Ok((requests, layer.unit_bytes * layer.units))
    }
}

fn run_of<'a>(nodes: &Nodes<'a>) -> Option<NodeRun<'a>> {
    let Nodes { payload, count: groups, .. } = *nodes;
    Some(match nodes.kind {
        NodeKind::Step => NodeRun::Steps(step::decode(payload, groups)?),
        NodeKind::Line => NodeRun::Lines(line::decode(payload, groups)?),
        NodeKind::Coded => NodeRun::Coded { payload, groups },
        NodeKind::CodedStrings => NodeRun::CodedStrings { payload, groups },
    })
}
