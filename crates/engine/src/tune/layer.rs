//! One index layer: its nodes, their packing into index pages, and the level input that those pages form.

use super::builder::LayerBuilder;
use super::level_input::{LevelInput, LookupShares};
use super::reads::WindowCounts;
use super::sizes::{INDEX_PAGE_HEADER_BYTES, LINE_NODE_BYTES, STEP_PIECE_BYTES, root_blob_bytes};
use ogive_model::Fence;
use ogive_model::coded::CodedLayer;
use ogive_model::line::LineNode;
use ogive_model::step::StepPiece;
use std::ops::Range;

/// The nodes of a layer, in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LayerNodes {
    /// Plain separators.
    Step(Vec<StepPiece>),
    /// Lines with their windows.
    Line(Vec<LineNode>),
    /// Coded separators of every `granule`-th child.
    Coded {
        /// The groups.
        layer: CodedLayer,
        /// Number of children per separator.
        granule: u64,
    },
}

/// One layer of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignLayer {
    /// The builder of the layer.
    pub builder: LayerBuilder,
    /// Its nodes.
    pub nodes: LayerNodes,
    /// Size of an index page in bytes, unless the layer is the root.
    pub page_bytes: u32,
    /// Number of children that the layer leads to.
    pub children: u64,
}

/// One index page of a layer: a run of whole nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPage {
    /// The nodes in it: step pieces, line nodes or coded groups.
    pub nodes: Range<usize>,
    /// Smallest key that the page covers (the first page also covers smaller ones).
    pub separator: u64,
    /// First child that the page leads to.
    pub first_child: u64,
}

impl DesignLayer {
    /// Number of step pieces, line nodes or coded groups.
    pub fn node_count(&self) -> u64 {
        match &self.nodes {
            LayerNodes::Step(pieces) => pieces.len() as u64,
            LayerNodes::Line(nodes) => nodes.len() as u64,
            LayerNodes::Coded { layer, .. } => layer.groups() as u64,
        }
    }

    /// Stored size as a root, in bytes.
    pub fn root_bytes(&self) -> u64 {
        match &self.nodes {
            LayerNodes::Step(pieces) => root_blob_bytes(pieces.len() as u64, STEP_PIECE_BYTES),
            LayerNodes::Line(nodes) => root_blob_bytes(nodes.len() as u64, LINE_NODE_BYTES),
            LayerNodes::Coded { layer, .. } => INDEX_PAGE_HEADER_BYTES + layer.total_len() as u64,
        }
    }

    /// Stored size in pages, in bytes.
    pub fn size_in_pages_bytes(&self) -> u64 {
        let pages = match &self.nodes {
            LayerNodes::Coded { .. } => self.pages().len() as u64,
            _ => self.node_count().div_ceil(self.nodes_per_page()),
        };
        pages * u64::from(self.page_bytes)
    }

    /// Largest number of step pieces or line nodes in one page.
    fn nodes_per_page(&self) -> u64 {
        let room = self.page_room() as u64;
        match (&self.nodes, &self.builder) {
            (LayerNodes::Step(_), LayerBuilder::GStep { pieces, .. }) => {
                (room / STEP_PIECE_BYTES).min(u64::from(*pieces)).max(1)
            }
            (LayerNodes::Step(_), _) => (room / STEP_PIECE_BYTES).max(1),
            _ => (room / LINE_NODE_BYTES).max(1),
        }
    }

    /// The layer with no node larger than a page, for a layer that is not the root.
    pub(super) fn fit_into_pages(mut self) -> Self {
        let room = self.page_room();
        if let LayerNodes::Coded { layer, .. } = &mut self.nodes {
            *layer = std::mem::take(layer).limit_groups(room);
        }
        self
    }

    fn page_room(&self) -> usize {
        u64::from(self.page_bytes).saturating_sub(INDEX_PAGE_HEADER_BYTES) as usize
    }

    /// Splits the layer into pages, without splitting nodes.
    pub fn pages(&self) -> Vec<IndexPage> {
        let each = self.nodes_per_page() as usize;
        let even = |count: usize| (0..count.div_ceil(each)).map(move |i| i * each..((i + 1) * each).min(count));
        let page = |nodes, separator, first_child| IndexPage { nodes, separator, first_child };
        match &self.nodes {
            LayerNodes::Step(all) => even(all.len())
                .map(|nodes| page(nodes.clone(), all[nodes.start].separator, all[nodes.start].first_child))
                .collect(),
            LayerNodes::Line(all) => even(all.len())
                .map(|nodes| page(nodes.clone(), all[nodes.start].start, all[nodes.start].first_child))
                .collect(),
            LayerNodes::Coded { layer, granule } => {
                let place = |nodes: Range<usize>| {
                    let first = nodes.start;
                    page(nodes, layer.start(first), layer.first_child(first) * granule)
                };
                layer.pack(self.page_room()).into_iter().map(place).collect()
            }
        }
    }

    /// The pages of this layer as the input of the next; `shares` are those of the level below.
    ///
    /// Fences between pages are exact: the right page covers its separator and nothing below it.
    pub(super) fn row_above(&self, shares: &LookupShares) -> LevelInput {
        let pages = self.pages();
        let fences = fences_between(&pages);
        let ends = pages.iter().skip(1).map(|page| page.first_child).chain([self.children]);
        let weights = pages.iter().zip(ends).map(|(page, end)| shares.between(page.first_child, end)).collect();
        LevelInput {
            first: pages.first().map_or(0, |page| page.separator),
            fences,
            child_bytes: u64::from(self.page_bytes),
            weights: Some(weights),
        }
    }

    /// The borders between the pages of this layer, as input of the next.
    pub fn fences_above(&self) -> Vec<Fence> {
        fences_between(&self.pages())
    }

    /// Number of children of `row` that lookups read through this layer.
    pub(super) fn windows(&self, row: &LevelInput, shares: &LookupShares) -> WindowCounts {
        let mut windows = WindowCounts::default();
        let children = row.children();
        match &self.nodes {
            LayerNodes::Step(pieces) => {
                let ends = pieces.iter().skip(1).map(|piece| piece.first_child).chain([children]);
                for (piece, end) in pieces.iter().zip(ends) {
                    windows.add(end - piece.first_child, shares.between(piece.first_child, end));
                }
            }
            LayerNodes::Coded { granule, .. } => {
                let last = (children - 1) / granule * granule;
                windows.add(*granule, shares.between(0, last));
                windows.add(children - last, shares.between(last, children));
            }
            LayerNodes::Line(nodes) => {
                for (i, node) in nodes.iter().enumerate() {
                    let next = nodes.get(i + 1).map(|next| next.first_child);
                    line_windows(node, next, row, shares, &mut windows);
                }
            }
        }
        windows
    }
}

fn fences_between(pages: &[IndexPage]) -> Vec<Fence> {
    pages.iter().skip(1).map(|page| Fence { low: page.separator.saturating_sub(1), high: page.separator }).collect()
}

/// Counts the windows of line nodes over `children` children at ascending keys with their shares.
pub(super) fn line_windows_at(
    nodes: &[LineNode],
    children: u64,
    keys: impl Iterator<Item = (u64, f64)>,
) -> WindowCounts {
    let mut windows = WindowCounts::default();
    let mut at = 0;
    for (x, share) in keys {
        while nodes.get(at + 1).is_some_and(|next| next.start <= x) {
            at += 1;
        }
        let Some(node) = nodes.get(at) else { break };
        let window = node.window(x, nodes.get(at + 1).map_or(children - 1, |next| next.first_child));
        windows.add(window.end() - window.start() + 1, share);
    }
    windows
}

/// Counts the windows of one line node over its own children, each child by the windows of its first and its last key.
/// All are equal except those clipped at the ends of the node, so only children near the ends are examined one by one.
fn line_windows(
    node: &LineNode,
    next: Option<u64>,
    row: &LevelInput,
    shares: &LookupShares,
    windows: &mut WindowCounts,
) {
    let end = next.unwrap_or(row.children());
    let last_child = next.unwrap_or(row.children() - 1);
    // A window holds the right child, so it begins and ends less than its length away: further inside, none is clipped.
    let reach = u64::from(node.window).saturating_sub(1);
    let inner = (node.first_child + reach).min(end)..end.min((last_child + 1).saturating_sub(reach));
    let mut weigh = |from: u64, to: u64| {
        for child in from..to {
            let half = shares.between(child, child + 1) / 2.0;
            for x in [row.starts(child as usize).max(node.start), row.ends(child as usize).max(node.start)] {
                let window = node.window(x, last_child);
                windows.add(window.end() - window.start() + 1, half);
            }
        }
    };
    if inner.start < inner.end {
        weigh(node.first_child, inner.start);
        weigh(inner.end, end);
        windows.add(reach + 1, shares.between(inner.start, inner.end));
    } else {
        weigh(node.first_child, end);
    }
}
