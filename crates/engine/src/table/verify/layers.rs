//! The verification of index and filter pages: checksums, node order, and that pages follow each other without gaps.

use super::walk::{READ_RUN_BYTES, VerifyWalk};
use crate::block::checksum;
use crate::error::Result;
use crate::table::format::filter;
use crate::table::format::index_page::{
    ChildWindow, INDEX_PAGE_TRAILER_BYTES, IndexPageView, RouteTarget, StoredNodes,
};
use crate::table::format::meta::{NodeKind, Section};
use crate::table::read::reader::TableInner;
use ogive_model::{coded, line, step};

/// The range that a run of nodes leads to: its first child, and the first child after it if the nodes determine it.
struct NodeReach {
    first: u64,
    end: Option<u64>,
    /// Size of the nodes in bytes, if the nodes determine it.
    bytes: Option<usize>,
}

/// Checks the order of the nodes of a run; `None` if they are malformed.
fn reach(nodes: &StoredNodes<'_>) -> Option<NodeReach> {
    match nodes.kind {
        NodeKind::Step => {
            let first = step::decode(nodes.payload, nodes.count)?.first()?.first_child;
            Some(NodeReach { first, end: None, bytes: Some(nodes.count * step::PIECE_BYTES) })
        }
        NodeKind::Line => {
            let first = line::decode(nodes.payload, nodes.count)?.first()?.first_child;
            Some(NodeReach { first, end: None, bytes: Some(nodes.count * line::NODE_BYTES) })
        }
        NodeKind::Coded => {
            let (bytes, end) = coded::stored_len(nodes.payload, nodes.count)?;
            let first = coded::search(nodes.payload, nodes.count, 0)?;
            let mut last = None;
            for child in first..end {
                let separator = coded::separator_at(nodes.payload, nodes.count, child)?;
                // Separators of children that hold only repeats of one key are equal.
                if last.is_some_and(|last| separator < last) {
                    return None;
                }
                last = Some(separator);
            }
            Some(NodeReach { first, end: Some(end), bytes: Some(bytes) })
        }
        NodeKind::CodedStrings => {
            let first = coded::search_strings(nodes.payload, nodes.count, b"")?;
            Some(NodeReach { first, end: None, bytes: None })
        }
    }
}

impl VerifyWalk<'_> {
    /// Checks all pages of the layers below the root, and the root.
    pub(super) fn layers(&mut self) -> Result<()> {
        let layers = self.inner.meta.layers.len();
        for layer in 1..layers {
            self.layer(layer)?;
        }
        if layers > 0 {
            self.root(layers - 1);
        }
        Ok(())
    }

    fn root(&mut self, level: usize) {
        let nodes = self.inner.root_nodes(level);
        let tail_offset = self.inner.files.tail_offset();
        let Some(reach) = reach(&nodes) else {
            return self.report.add(tail_offset, "the nodes of the root are malformed or out of order");
        };
        let is_whole = reach.first == 0
            && reach.end.is_none_or(|end| self.fits(level, end))
            && reach.bytes.is_none_or(|bytes| bytes == nodes.payload.len());
        if !is_whole || nodes.payload.len() as u64 != self.inner.meta.layers[level].page_bytes {
            self.report.add(tail_offset, "the root does not lead to exactly the existing children");
        }
    }

    /// Whether coded nodes that lead to `end` granules lead to no more children than there are.
    fn fits(&self, level: usize, end: u64) -> bool {
        let granule = self.inner.meta.layers[level].granule;
        end > 0 && (end - 1).checked_mul(granule).is_some_and(|last| last < self.inner.children(level))
    }

    fn layer(&mut self, layer: usize) -> Result<()> {
        let (pages, page_bytes) = (self.inner.children(layer), self.inner.meta.layers[layer - 1].page_bytes);
        let mut nodes = 0;
        // The child and the separator at which the next page should begin.
        let mut expected: Option<(u64, u64)> = Some((0, 0));
        let each = (READ_RUN_BYTES / page_bytes).max(1);
        for first in (0..pages).step_by(each as usize) {
            let count = each.min(pages - first);
            let offset = self.inner.section(layer, first)?.offset;
            let pages = self.read(Section { offset, bytes: count * page_bytes })?;
            for (number, bytes) in (first..).zip(pages.chunks_exact(page_bytes as usize)) {
                self.report.units += 1;
                expected = self.page(layer, number, bytes, expected, &mut nodes)?;
            }
            self.advance(count * page_bytes);
        }
        if expected.is_some() && nodes != self.inner.meta.layers[layer - 1].nodes {
            let detail = format!("layer {layer} has {nodes} nodes, but the metadata state another number");
            self.report.add(self.inner.meta.layers[layer - 1].offset, detail);
        }
        Ok(())
    }

    /// Checks one page; returns the expected beginning of the next, if known.
    fn page(
        &mut self,
        layer: usize,
        number: u64,
        bytes: &[u8],
        expected: Option<(u64, u64)>,
        node_count: &mut u64,
    ) -> Result<Option<(u64, u64)>> {
        let inner = self.inner;
        let section = inner.section(layer, number)?;
        if self.absorb(inner.check(layer, number, section, bytes))?.is_none() {
            return Ok(None);
        }
        let (kind, granule) = inner.nodes_over(layer - 1);
        let children = inner.children(layer - 1);
        let page = IndexPageView::parse(kind, granule, children, bytes);
        let Some((page, reach)) = page.and_then(|page| Some((page, reach(&page.nodes)?))) else {
            let detail = format!("the nodes of index page {number} of layer {layer} are malformed or out of order");
            self.report.add(section.offset, detail);
            return Ok(None);
        };
        *node_count += page.nodes.count as u64;
        let is_last = number + 1 == inner.children(layer);
        let is_numeric = kind != NodeKind::CodedStrings;
        let first = if kind == NodeKind::Coded { reach.first.saturating_mul(granule) } else { reach.first };
        let follows = expected.is_none_or(|(child, separator)| {
            first == child && (number == 0 || !is_numeric || page.nodes.start() == Some(separator))
        });
        let rest = reach.bytes.and_then(|used| bytes.get(used..bytes.len() - INDEX_PAGE_TRAILER_BYTES));
        let end_is_right = match reach.end {
            Some(end) if is_last => self.fits(layer - 1, end),
            Some(end) => end.saturating_mul(granule) == page.nodes.end_child,
            None => !is_last || page.nodes.end_child == children,
        };
        let sound = follows
            && end_is_right
            && rest.is_none_or(|rest| rest.iter().all(|&byte| byte == 0))
            && (!is_last || page.end_separator == u64::MAX);
        if !sound {
            let detail = format!("index page {number} of layer {layer} does not begin and end where its neighbours do");
            self.report.add(section.offset, detail);
        }
        Ok(Some((page.nodes.end_child, page.end_separator)))
    }

    /// Checks all pages of the filter, and that their number is what the blocks need.
    pub(super) fn filter_pages(&mut self) -> Result<()> {
        let Some(meta) = self.inner.meta.filter else { return Ok(()) };
        if meta.section.bytes != meta.layout.filter_bytes(self.inner.meta.blocks) {
            self.report.add(meta.section.offset, "the filter does not have the size that its blocks need");
        }
        let mut offset = meta.section.offset;
        let end = offset + meta.section.bytes;
        while offset < end {
            let bytes = self.read(Section { offset, bytes: READ_RUN_BYTES.min(end - offset) })?;
            for page in bytes.chunks(filter::FILTER_PAGE_BYTES) {
                self.report.units += 1;
                if !checksum::check(self.inner.files.id(), offset, page) {
                    self.report.add(offset, "the checksum of a filter page does not match");
                }
                offset += page.len() as u64;
            }
            self.advance(bytes.len() as u64);
        }
        Ok(())
    }
}

impl TableInner {
    /// The nodes of the root, which lead to the children of `level`.
    fn root_nodes(&self, level: usize) -> StoredNodes<'_> {
        let (kind, granule) = self.nodes_over(level);
        let (count, children) = (self.meta.layers[level].nodes as usize, self.children(level));
        StoredNodes { kind, granule, payload: &self.root, count, end_child: children, children }
    }

    /// Routes a target through the root.
    pub(super) fn route_in_root(&self, level: usize, target: &RouteTarget<'_>) -> Option<ChildWindow> {
        self.root_nodes(level).search(target)
    }
}
