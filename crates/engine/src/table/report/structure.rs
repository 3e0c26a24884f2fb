//! The structure of a table: its parts, the nodes of its index, and the route of a key, decoded for reports.
//!
//! Lookups search nodes in their stored form. Here nodes are decoded, page by page, so that a report can draw them and
//! repeat a search. Pages are read in long runs beside the cache, and checked as in a lookup.

use crate::error::Result;
use crate::io::{Purpose, ReadRequest};
use crate::table::block::key::KeyBound;
use crate::table::format::index_page::{IndexPageView, StoredNodes};
use crate::table::format::locations::BlockLocations;
use crate::table::format::meta::{DataSource, NodeKind};
use crate::table::read::context::ReadContext;
use crate::table::read::read_trace::TracedRead;
use crate::table::read::reader::{Table, TableInner};
use ogive_model::coded::{self, DecodedGroup, Separator};
use ogive_model::line::{self, LineNode};
use ogive_model::step::{self, StepPiece};
use serde::Serialize;
use std::ops::Range;

/// Size of the runs in which index pages are read, in bytes.
const READ_RUN_BYTES: u64 = 1 << 20;

/// A section of a file: offset and length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FilePart {
    /// Offset from the start of the file.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
}

/// The places of a table's parts, as its metadata state them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableStructure {
    /// The read that opens the table.
    pub opening: FilePart,
    /// The layers, bottom first; the last is the root.
    pub layers: Vec<LayerStructure>,
    /// The filter for absent keys.
    pub filter: Option<FilePart>,
    /// Whether lookups read the filter, given the memory that the table was opened with.
    pub filter_is_used: bool,
    /// Number of data blocks of a group that shares filter pages, and pages of each group.
    pub filter_group_blocks: u64,
    /// The name of the file that holds the records, if it is another one.
    pub data_file: Option<String>,
    /// Offset of the first block, and size of each, if all blocks but the first and the last have one size and follow
    /// each other.
    pub even_blocks: Option<FilePart>,
}

/// The kind of a layer's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// Plain separators: exact.
    Steps,
    /// Lines with a window: approximate.
    Lines,
    /// Coded separators: exact.
    Coded,
    /// Separators of byte strings: exact.
    Strings,
}

/// One layer of an index.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerStructure {
    /// Kind of the nodes.
    pub kind: LayerKind,
    /// The builder that made them, with its parameters.
    pub builder: String,
    /// Number of children that a coded separator stands for.
    pub granule: u64,
    /// Number of nodes.
    pub nodes: u64,
    /// Number of pages; 1 for the root.
    pub pages: u64,
    /// Size of a page in bytes; for the root its own size.
    pub page_bytes: u64,
    /// Offset of the first page; of the root, that of the tail.
    pub offset: u64,
    /// Number of children: blocks, or pages of the layer below.
    pub children: u64,
}

/// The decoded nodes of an index page, or of the root.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPageNodes {
    /// Number of the page within its layer.
    pub page: u64,
    /// First child that the next page leads to.
    pub end_child: u64,
    /// First key, as a u64, of the next page; `u64::MAX` in the last one, and for byte strings.
    pub end_separator: u64,
    /// The nodes.
    pub nodes: IndexNodes,
}

/// Decoded nodes of one kind.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexNodes {
    /// Plain separators.
    Steps(Vec<StepPiece>),
    /// Lines.
    Lines(Vec<LineNode>),
    /// Groups of coded separators.
    Coded(Vec<DecodedGroup>),
    /// First child and separator of each child, for byte strings: a key belongs to the last child whose separator is
    /// not greater.
    Strings(Vec<(u64, Vec<u8>)>),
}

/// The children of one level to which the index leads a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RouteStep {
    /// 0 for blocks, else the layer whose pages these are.
    pub level: usize,
    /// First child.
    pub first: u64,
    /// Last child.
    pub last: u64,
    /// Whether the node is exact.
    pub is_exact: bool,
}

impl Table {
    /// Bytes of the filter for absent keys; 0 if there is none.
    pub(crate) fn filter_bytes(&self) -> u64 {
        self.inner.meta.filter.map_or(0, |meta| meta.section.bytes)
    }

    /// The places of all parts.
    #[must_use]
    pub fn structure(&self) -> TableStructure {
        let inner = &*self.inner;
        let part = |read: TracedRead| FilePart { offset: read.offset, bytes: read.bytes };
        let filter = inner.meta.filter;
        TableStructure {
            opening: part(inner.files.opening()),
            layers: (0..inner.meta.layers.len()).map(|layer| inner.layer_structure(layer)).collect(),
            filter: filter.map(|meta| FilePart { offset: meta.section.offset, bytes: meta.section.bytes }),
            filter_is_used: inner.filter.asked().is_some(),
            filter_group_blocks: filter.map_or(0, |meta| u64::from(meta.layout.blocks_per_group())),
            data_file: match &inner.meta.source {
                DataSource::Own => None,
                DataSource::Table { name, .. } | DataSource::Foreign { name, .. } => Some(name.clone()),
            },
            even_blocks: match inner.locations {
                BlockLocations::Even { begin, block_bytes, .. } => Some(FilePart { offset: begin, bytes: block_bytes }),
                _ => None,
            },
        }
    }

    /// The decoded root; `None` without an index.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] for malformed nodes.
    pub fn root_nodes(&self) -> Result<Option<IndexPageNodes>> {
        let inner = &*self.inner;
        let Some(top) = inner.meta.layers.len().checked_sub(1) else { return Ok(None) };
        let (kind, granule) = inner.nodes_over(top);
        let children = inner.children(top);
        let count = usize::try_from(inner.meta.layers[top].nodes).unwrap_or(usize::MAX);
        let root = StoredNodes { kind, granule, payload: &inner.root, count, end_child: children, children };
        let nodes = decode(&root).ok_or_else(|| inner.damaged(inner.files.tail_offset(), "invalid index nodes"))?;
        Ok(Some(IndexPageNodes { page: 0, end_child: children, end_separator: u64::MAX, nodes }))
    }

    /// Visits the decoded pages `pages` of layer `layer`, in order; the bottom layer has number 1. The root is
    /// [`Self::root_nodes`].
    ///
    /// # Errors
    /// Storage errors, [`crate::Cause::Damaged`], and those of `visit`.
    pub fn visit_index_pages(
        &self,
        layer: usize,
        pages: Range<u64>,
        mut visit: impl FnMut(IndexPageNodes) -> Result<()>,
    ) -> Result<()> {
        let inner = &*self.inner;
        if layer == 0 || layer >= inner.meta.layers.len() {
            return Ok(());
        }
        let page_bytes = inner.meta.layers[layer - 1].page_bytes;
        let (kind, granule) = inner.nodes_over(layer - 1);
        let end = pages.end.min(inner.children(layer));
        let each = (READ_RUN_BYTES / page_bytes).max(1);
        let mut buffer = Vec::new();
        for first in (pages.start..end).step_by(each as usize) {
            let count = each.min(end - first);
            let offset = inner.section(layer, first)?.offset;
            buffer.resize((count * page_bytes) as usize, 0);
            inner.files.own().read(ReadRequest {
                offset,
                buffer: &mut buffer,
                purpose: Purpose::Layer(layer as u8),
            })?;
            for (page, bytes) in (first..).zip(buffer.chunks_exact(page_bytes as usize)) {
                let section = inner.section(layer, page)?;
                inner.check(layer, page, section, bytes)?;
                let view = IndexPageView::parse(kind, granule, inner.children(layer - 1), bytes);
                let decoded = view.and_then(|view| {
                    let IndexPageView { nodes, end_separator } = view;
                    Some(IndexPageNodes { page, end_child: nodes.end_child, end_separator, nodes: decode(&nodes)? })
                });
                visit(decoded.ok_or_else(|| inner.damaged(section.offset, "invalid index nodes"))?)?;
            }
        }
        Ok(())
    }

    /// The place of a block in the file that holds the records.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] if there is no such block, or its stored place is invalid.
    pub fn block_part(&self, block: u64) -> Result<FilePart> {
        let section = self.inner.section(0, block)?;
        Ok(FilePart { offset: section.offset, bytes: section.bytes })
    }

    /// The number of records before a block; reads the counts at first use.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub fn records_before(&self, block: u64) -> Result<u64> {
        let counts = self.inner.counts(&mut ReadContext::default())?;
        counts.before(block).ok_or_else(|| self.inner.damaged(self.inner.files.tail_offset(), "invalid record counts"))
    }

    /// The first and the last key of a block, which is read.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub fn block_keys(&self, block: u64) -> Result<(Vec<u8>, Vec<u8>)> {
        let bytes = self.inner.child(0, block, &mut ReadContext::default())?;
        let view = self.inner.view(block, &bytes)?;
        let ends = view.count().checked_sub(1).and_then(|last| Some((view.key(0)?, view.key(last)?)));
        let (first, last) = ends.ok_or_else(|| self.inner.malformed(block))?;
        Ok((first.to_vec(), last.to_vec()))
    }

    /// The children to which the index leads a key: pages of each layer below the root, from the top, then blocks.
    /// Reads the pages.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub fn route(&self, key: &[u8]) -> Result<Vec<RouteStep>> {
        let inner = &*self.inner;
        let Some(target) = inner.target(KeyBound { key, after: false }).filter(|_| inner.meta.blocks > 0) else {
            return Ok(Vec::new());
        };
        let step = |level: usize| {
            let window = inner.route(&target, level, &mut ReadContext::default())?;
            Ok(RouteStep { level, first: window.first, last: window.last, is_exact: window.is_exact })
        };
        (0..inner.meta.layers.len().max(1)).rev().map(step).collect()
    }
}

impl TableInner {
    fn layer_structure(&self, layer: usize) -> LayerStructure {
        let meta = &self.meta.layers[layer];
        let is_root = layer + 1 == self.meta.layers.len();
        LayerStructure {
            kind: match meta.kind {
                NodeKind::Step => LayerKind::Steps,
                NodeKind::Line => LayerKind::Lines,
                NodeKind::Coded => LayerKind::Coded,
                NodeKind::CodedStrings => LayerKind::Strings,
            },
            builder: meta.builder.clone(),
            granule: meta.granule,
            nodes: meta.nodes,
            pages: meta.pages,
            page_bytes: meta.page_bytes,
            offset: if is_root { self.files.tail_offset() } else { meta.offset },
            children: self.children(layer),
        }
    }
}

fn decode(stored: &StoredNodes<'_>) -> Option<IndexNodes> {
    let StoredNodes { payload, count, .. } = *stored;
    Some(match stored.kind {
        NodeKind::Step => IndexNodes::Steps(step::decode(payload, count)?),
        NodeKind::Line => IndexNodes::Lines(line::decode(payload, count)?),
        NodeKind::Coded => {
            let mut groups = Vec::new();
            coded::visit_groups(payload, count, |group| groups.push(group))?;
            IndexNodes::Coded(groups)
        }
        NodeKind::CodedStrings => {
            let mut separators = Vec::new();
            coded::visit_separators(payload, count, |child, separator| {
                // After the last group of a page there are zeros, which look like further separators.
                if child < stored.end_child {
                    separators.push((child, separator_bytes(separator)));
                }
            })?;
            IndexNodes::Strings(separators)
        }
    })
}

/// The least key that a separator leads right. One of a window pads keys with zeros, so its own do not count.
fn separator_bytes(separator: Separator<'_>) -> Vec<u8> {
    match separator {
        Separator::Whole(bytes) => bytes.to_vec(),
        Separator::Window { prefix, word } => {
            let word = word.to_be_bytes();
            let length = word.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            [prefix, &word[..length]].concat()
        }
    }
}
