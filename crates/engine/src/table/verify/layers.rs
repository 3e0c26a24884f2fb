//! The verification of index and filter pages: checksums, node order, and that pages follow each other without gaps.

use super::super::filter;
use super::super::format::{NodeKind, Section};
use super::super::reader::Inner;
use super::super::unit::{Nodes, Target, UNIT_TRAILER_BYTES, Unit, Window};
use super::walk::{STRETCH_BYTES, Walk};
use crate::block::checksum;
use crate::error::Result;
use ogive_model::{coded, line, step};

/// What a run of nodes leads to: its first child, and the first child behind it where the nodes themselves tell.
struct Reach {
    first: u64,
    end: Option<u64>,
    /// Bytes that the nodes take, where that is told.
    bytes: Option<usize>,
}

/// Checks the order of the nodes of a run; `None` where they are malformed.
fn reach(nodes: &Nodes<'_>) -> Option<Reach> {
    match nodes.kind {
        NodeKind::Step => {
            let first = step::decode(nodes.payload, nodes.count)?.first()?.first_child;
            Some(Reach { first, end: None, bytes: Some(nodes.count * step::PIECE_BYTES) })
        }
        NodeKind::Line => {
            let first = line::decode(nodes.payload, nodes.count)?.first()?.first_child;
            Some(Reach { first, end: None, bytes: Some(nodes.count * line::NODE_BYTES) })
        }
        NodeKind::Coded => {
            let (bytes, end) = coded::stored_len(nodes.payload, nodes.count)?;
            let first = coded::search(nodes.payload, nodes.count, 0)?;
            let mut last = None;
            for child in first..end {
                let separator = coded::separator_at(nodes.payload, nodes.count, child)?;
                // Separators of children that hold nothing but repeats of one key are equal.
                if last.is_some_and(|last| separator < last) {
                    return None;
                }
                last = Some(separator);
            }
            Some(Reach { first, end: Some(end), bytes: Some(bytes) })
        }
        NodeKind::CodedStrings => {
            let first = coded::search_strings(nodes.payload, nodes.count, b"")?;
            Some(Reach { first, end: None, bytes: None })
        }
    }
}

impl Walk<'_> {
    /// All units of the layers below the root, and the root.
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
        let tail_offset = self.inner.tail_offset;
        let Some(reach) = reach(&nodes) else {
            return self.report.add(tail_offset, "the nodes of the root are malformed, or out of order");
        };
        let is_whole = reach.first == 0
            && reach.end.is_none_or(|end| self.fits(level, end))
            && reach.bytes.is_none_or(|bytes| bytes == nodes.payload.len());
        if !is_whole || nodes.payload.len() as u64 != self.inner.meta.layers[level].unit_bytes {
            self.report.add(tail_offset, "the root does not lead to just the children that there are");
        }
    }

    /// Whether coded nodes that lead to `end` granules lead to no more children than there are.
    fn fits(&self, level: usize, end: u64) -> bool {
        let granule = self.inner.meta.layers[level].granule;
        end > 0 && (end - 1).checked_mul(granule).is_some_and(|last| last < self.inner.children(level))
    }

    fn layer(&mut self, layer: usize) -> Result<()> {
        let (units, unit_bytes) = (self.inner.children(layer), self.inner.meta.layers[layer - 1].unit_bytes);
        let mut nodes = 0;
        // The child and the separator at which the next unit should begin.
        let mut expected: Option<(u64, u64)> = Some((0, 0));
        let each = (STRETCH_BYTES / unit_bytes).max(1);
        for first in (0..units).step_by(each as usize) {
            let count = each.min(units - first);
            let offset = self.inner.section(layer, first)?.offset;
            let stretch = self.read(Section { offset, bytes: count * unit_bytes })?;
            for (number, bytes) in (first..).zip(stretch.chunks_exact(unit_bytes as usize)) {
                self.report.units += 1;
                expected = self.unit(layer, number, bytes, expected, &mut nodes)?;
            }
            self.advance(count * unit_bytes);
        }
        if expected.is_some() && nodes != self.inner.meta.layers[layer - 1].nodes {
            let detail = format!("layer {layer} has {nodes} nodes, and its metadata tell of another number");
            self.report.add(self.inner.meta.layers[layer - 1].offset, detail);
        }
        Ok(())
    }

    /// One unit; returns where the next should begin, if that is known.
    fn unit(
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
        let unit = Unit::parse(kind, granule, children, bytes);
        let Some((unit, reach)) = unit.and_then(|unit| Some((unit, reach(&unit.nodes)?))) else {
            let detail = format!("the nodes of unit {number} of layer {layer} are malformed, or out of order");
            self.report.add(section.offset, detail);
            return Ok(None);
        };
        *node_count += unit.nodes.count as u64;
        let is_last = number + 1 == inner.children(layer);
        let is_numeric = kind != NodeKind::CodedStrings;
        let first = if kind == NodeKind::Coded { reach.first.saturating_mul(granule) } else { reach.first };
        let follows = expected.is_none_or(|(child, separator)| {
            first == child && (number == 0 || !is_numeric || unit.nodes.start() == Some(separator))
        });
        let rest = reach.bytes.and_then(|used| bytes.get(used..bytes.len() - UNIT_TRAILER_BYTES));
        let end_is_right = match reach.end {
            Some(end) if is_last => self.fits(layer - 1, end),
            Some(end) => end.saturating_mul(granule) == unit.nodes.end_child,
            None => !is_last || unit.nodes.end_child == children,
        };
        let sound = follows
            && end_is_right
            && rest.is_none_or(|rest| rest.iter().all(|&byte| byte == 0))
            && (!is_last || unit.end_separator == u64::MAX);
        if !sound {
            let detail = format!("unit {number} of layer {layer} does not begin and end where its neighbours do");
            self.report.add(section.offset, detail);
        }
        Ok(Some((unit.nodes.end_child, unit.end_separator)))
    }

    /// All units of the filter, and that there are as many as the blocks need.
    pub(super) fn filter_units(&mut self) -> Result<()> {
        let Some(meta) = self.inner.meta.filter else { return Ok(()) };
        if meta.section.bytes != meta.layout.filter_bytes(self.inner.meta.blocks) {
            self.report.add(meta.section.offset, "the filter has not the size that its blocks need");
        }
        let mut offset = meta.section.offset;
        let end = offset + meta.section.bytes;
        while offset < end {
            let bytes = self.read(Section { offset, bytes: STRETCH_BYTES.min(end - offset) })?;
            for unit in bytes.chunks(filter::UNIT_BYTES) {
                self.report.units += 1;
                if !checksum::check(self.inner.file_id, offset, unit) {
                    self.report.add(offset, "the checksum of a filter unit does not match");
                }
                offset += unit.len() as u64;
            }
            self.advance(bytes.len() as u64);
        }
        Ok(())
    }
}

impl Inner {
    /// The nodes of the root, which lead to the children of `level`.
    fn root_nodes(&self, level: usize) -> Nodes<'_> {
        let (kind, granule) = self.nodes_over(level);
        let (count, children) = (self.meta.layers[level].nodes as usize, self.children(level));
        Nodes { kind, granule, payload: &self.root, count, end_child: children, children }
    }

    /// What the root says of a target.
    pub(super) fn ask_root(&self, level: usize, target: &Target<'_>) -> Option<Window> {
        self.root_nodes(level).search(target)
    }
}
