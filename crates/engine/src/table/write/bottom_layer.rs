//! The nodes of a table's bottom index layer, for joins that hold them in memory and look up many keys at once.

use crate::error::Result;
use crate::io::{Purpose, ReadRequest};
use crate::table::block::key::KeyBound;
use crate::table::format::index_page::{IndexPageView, StoredNodes};
use crate::table::format::meta::NodeKind;
use crate::table::read::context::ReadContext;
use crate::table::read::reader::Table;
use crate::table::read::scan::ScanRecords;
use ogive_model::line::{self, LineNode};
use ogive_model::step::{self, StepPiece};

/// Size of the runs in which bottom-layer pages are read, in bytes.
const READ_RUN_BYTES: u64 = 64 << 10;

/// A run of nodes that lead to blocks.
pub(crate) enum NodeRun<'a> {
    Steps(Vec<StepPiece>),
    Lines(Vec<LineNode>),
    /// Groups of coded separators in their stored form.
    Coded {
        payload: &'a [u8],
        groups: usize,
    },
    /// Groups of coded separators over byte strings.
    CodedStrings {
        payload: &'a [u8],
        groups: usize,
        /// First child after the run: the zeros that pad a page look like further separators.
        end_child: u64,
    },
}

/// The layer next to the data, as described by the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BottomLayer {
    /// Whether its nodes are exact: separators rather than lines.
    pub(crate) is_exact: bool,
    pub(crate) nodes: u64,
    /// Bytes to read for its nodes: 0 if they are the root, which an open table holds.
    pub(crate) read_bytes: u64,
    pub(crate) granule: u64,
}

impl Table {
    /// Block size in bytes, approximate if blocks differ in size.
    pub(crate) fn block_bytes(&self) -> u64 {
        self.inner.meta.block_bytes
    }

    /// The records of a checked and decompressed block that is not dense.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] for a malformed block.
    pub(crate) fn records_of<'a>(&'a self, block: u64, unpacked: &'a [u8]) -> Result<ScanRecords<'a>> {
        Ok(ScanRecords::new(self.inner.view(block, unpacked)?, &self.inner, block))
    }

    /// The range of blocks where the index looks for a key, and whether it is exact; reads uncached index pages.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub(crate) fn route_blocks(&self, key: &[u8]) -> Result<(u64, u64, bool)> {
        let last = self.inner.meta.blocks.saturating_sub(1);
        match self.inner.target(KeyBound { key, after: false }) {
            Some(target) => {
                let window = self.inner.route(&target, 0, &mut ReadContext::default())?;
                Ok((window.first, window.last, window.is_exact))
            }
            None => Ok((last, last, true)),
        }
    }

    /// The layer next to the data; `None` if there is no index.
    pub(crate) fn bottom_layer(&self) -> Option<BottomLayer> {
        let meta = &self.inner.meta;
        let layer = meta.layers.first()?;
        let is_root = meta.layers.len() == 1;
        Some(BottomLayer {
            is_exact: layer.kind != NodeKind::Line,
            nodes: layer.nodes,
            read_bytes: if is_root { 0 } else { layer.page_bytes.saturating_mul(layer.pages) },
            granule: layer.granule,
        })
    }

    /// Visits all nodes that lead to blocks, in order, reading those outside the root; returns the number of requests
    /// and bytes read.
    ///
    /// # Errors
    /// Storage errors and damage, including a `visit` that returns `None`.
    pub(crate) fn visit_bottom(&self, mut visit: impl FnMut(NodeRun<'_>) -> Option<()>) -> Result<(u64, u64)> {
        let inner = &*self.inner;
        let malformed = |offset: u64| inner.damaged(offset, "invalid index nodes");
        let Some(layer) = inner.meta.layers.first() else { return Ok((0, 0)) };
        let (kind, granule) = inner.nodes_over(0);
        let blocks = inner.meta.blocks;
        if inner.meta.layers.len() == 1 {
            let count = usize::try_from(layer.nodes).map_err(|_| malformed(inner.files.tail_offset()))?;
            let root = StoredNodes { kind, granule, payload: &inner.root, count, end_child: blocks, children: blocks };
            run_of(&root).and_then(visit).ok_or_else(|| malformed(inner.files.tail_offset()))?;
            return Ok((0, 0));
        }
        let each = (READ_RUN_BYTES / layer.page_bytes).max(1);
        let mut requests = 0;
        let mut buffer = Vec::new();
        for first in (0..layer.pages).step_by(each as usize) {
            let count = each.min(layer.pages - first);
            let offset = inner.section(1, first)?.offset;
            buffer.resize((count * layer.page_bytes) as usize, 0);
            inner.files.own().read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Layer(1) })?;
            requests += 1;
            for (number, bytes) in (first..).zip(buffer.chunks_exact(layer.page_bytes as usize)) {
                let section = inner.section(1, number)?;
                inner.check(1, number, section, bytes)?;
                IndexPageView::parse(kind, granule, blocks, bytes)
                    .and_then(|page| run_of(&page.nodes).and_then(&mut visit))
                    .ok_or_else(|| malformed(section.offset))?;
            }
        }
        Ok((requests, layer.page_bytes * layer.pages))
    }
}

fn run_of<'a>(nodes: &StoredNodes<'a>) -> Option<NodeRun<'a>> {
    let StoredNodes { payload, count: groups, end_child, .. } = *nodes;
    Some(match nodes.kind {
        NodeKind::Step => NodeRun::Steps(step::decode(payload, groups)?),
        NodeKind::Line => NodeRun::Lines(line::decode(payload, groups)?),
        NodeKind::Coded => NodeRun::Coded { payload, groups },
        NodeKind::CodedStrings => NodeRun::CodedStrings { payload, groups, end_child },
    })
}
