//! Index layers above the directory: their choice by the engine's tuner, their stored form, and their predictions.
//!
//! ```text
//! form u8 (1 steps, 2 lines), 0 u8, nodes u16
//! first child of the next page u32, 0 in the last page
//! smallest key prefix u64, smallest key prefix of the next page u64
//! the nodes
//! ```

use super::locate::AirWindow;
use super::metanode::ROOT_BYTES_MAX;
use crate::kinds::numbers::{u16_at, u32_at, u64_at};
use ogive::io::Profile;
use ogive::tune::{
    Design, DesignCaching, DesignLayer, DesignProblem, DesignSearchOptions, INDEX_PAGE_HEADER_BYTES, IndexPage,
    LayerBuilderKind, LayerNodes, LevelInput, tune,
};
use ogive_model::{Fence, line, step};
use std::cmp::Ordering;
use std::ops::Range;

const HEADER_BYTES: usize = 24;
const NODES_AT: usize = 2;
const NEXT_CHILD_AT: usize = 4;
const START_AT: usize = 8;
const END_AT: usize = 16;

/// The paper's builders. Coded steps are below: the pages of the directory.
const BUILDERS: [LayerBuilderKind; 3] = [LayerBuilderKind::GStep, LayerBuilderKind::GBand, LayerBuilderKind::EBand];
/// Longest read that the tuner considers, as in the paper (Section 5.2), but at least this many pages.
pub(super) const WINDOW_BYTES_MAX: u64 = 1 << 20;
pub(super) const WINDOW_PAGES_MIN: u64 = 16;

/// The nodes of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerForm {
    Steps,
    Lines,
}

impl LayerForm {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Steps => 1,
            Self::Lines => 2,
        }
    }

    pub(super) fn of_code(code: u8) -> Option<Self> {
        [Self::Steps, Self::Lines].into_iter().find(|form| form.code() == code)
    }

    pub(super) fn node_bytes(self) -> usize {
        match self {
            Self::Steps => step::PIECE_BYTES,
            Self::Lines => line::NODE_BYTES,
        }
    }

    /// The children that may hold key prefix `x`, of `children` in total, by `count` stored nodes. `next_child` is the
    /// first child of the node after them, if there is one. `None` for malformed nodes.
    pub(super) fn predict(
        self,
        nodes: &[u8],
        count: usize,
        next_child: Option<u32>,
        children: u32,
        x: u64,
    ) -> Option<AirWindow> {
        let next_child = next_child.map(u64::from);
        let last = u64::from(children).checked_sub(1)?;
        let (first, end) = match self {
            Self::Steps => {
                // The first piece also covers all keys before it.
                let (first, next) = step::search(nodes, count, x.max(u64_at(nodes, 0)))?;
                (first, next.or(next_child).map_or(Some(last), |next| next.checked_sub(1))?)
            }
            Self::Lines => {
                let (node, next) = line::search(nodes, count, x)?;
                node.window(x, next.or(next_child).unwrap_or(last)).into_inner()
            }
        };
        let window = AirWindow { first: u32::try_from(first).ok()?, last: u32::try_from(end.min(last)).ok()? };
        (window.first <= window.last).then_some(window)
    }
}

/// A page of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerPage<'a> {
    form: LayerForm,
    pub(super) count: usize,
    next_child: Option<u32>,
    pub(super) start: u64,
    end: u64,
    nodes: &'a [u8],
}

impl<'a> LayerPage<'a> {
    pub(super) fn parse(payload: &'a [u8]) -> Option<Self> {
        let form = LayerForm::of_code(*payload.first()?)?;
        let count = usize::from(u16_at(payload, NODES_AT));
        let nodes = payload.get(HEADER_BYTES..)?.get(..count.checked_mul(form.node_bytes())?)?;
        let next_child = Some(u32_at(payload, NEXT_CHILD_AT)).filter(|&child| child > 0);
        let page =
            Self { form, count, next_child, start: u64_at(payload, START_AT), end: u64_at(payload, END_AT), nodes };
        (count > 0).then_some(page)
    }

    /// Where the nodes of key prefix `x` lie, relative to this page, which is the `index`-th of its layer.
    pub(super) fn side(&self, index: u32, x: u64) -> Ordering {
        if index > 0 && x < self.start {
            Ordering::Less
        } else if self.next_child.is_some() && x >= self.end {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    pub(super) fn predict(&self, children: u32, x: u64) -> Option<AirWindow> {
        self.form.predict(self.nodes, self.count, self.next_child, children, x)
    }

    /// Whether nodes and borders ascend, within `children` children; for verification.
    pub(super) fn is_sound(&self, children: u32) -> bool {
        let starts: Option<Vec<(u64, u64)>> = match self.form {
            LayerForm::Steps => step::decode(self.nodes, self.count)
                .map(|pieces| pieces.iter().map(|piece| (piece.separator, piece.first_child)).collect()),
            LayerForm::Lines => line::decode(self.nodes, self.count)
                .map(|nodes| nodes.iter().map(|node| (node.start, node.first_child)).collect()),
        };
        starts.as_deref().and_then(<[_]>::first).is_some_and(|&(start, _)| start == self.start)
            && starts.as_deref().and_then(<[_]>::last).is_some_and(|&(start, child)| {
                let next_child = self.next_child.unwrap_or(children);
                child < u64::from(next_child) && (self.next_child.is_none() || start < self.end)
            })
    }
}

/// The stored nodes of a part of a layer; `None` for nodes of another form.
pub(super) fn stored_nodes(layer: &DesignLayer, nodes: Range<usize>) -> Option<(LayerForm, Vec<u8>)> {
    let mut bytes = Vec::new();
    let form = match &layer.nodes {
        LayerNodes::Step(pieces) => {
            step::encode(pieces.get(nodes)?, &mut bytes);
            LayerForm::Steps
        }
        LayerNodes::Line(lines) => {
            line::encode(lines.get(nodes)?, &mut bytes);
            LayerForm::Lines
        }
        _ => return None,
    };
    Some((form, bytes))
}

/// The stored pages of a layer; `None` for nodes of another form.
pub(super) fn stored_pages(layer: &DesignLayer) -> Option<Vec<Vec<u8>>> {
    let pages = layer.pages();
    let store = |(index, page): (usize, &IndexPage)| {
        let (form, nodes) = stored_nodes(layer, page.nodes.clone())?;
        let next = pages.get(index + 1);
        let mut bytes = vec![form.code(), 0];
        bytes.extend_from_slice(&u16::try_from(page.nodes.len()).ok()?.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(next.map_or(0, |next| next.first_child)).ok()?.to_le_bytes());
        bytes.extend_from_slice(&page.separator.to_le_bytes());
        bytes.extend_from_slice(&next.map_or(u64::MAX, |next| next.separator).to_le_bytes());
        bytes.extend_from_slice(&nodes);
        Some(bytes)
    };
    pages.iter().enumerate().map(store).collect()
}

/// The fastest layers over directory pages with these fences, for pages of `page_bytes` (AirIndex, Algorithm 2): with a
/// root of any size in pages, or with one in the metanode, which costs no read.
pub(super) fn design(fences: Vec<Fence>, page_bytes: u64, profile: &Profile) -> Design {
    let row = LevelInput { first: 0, fences, child_bytes: page_bytes, weights: None };
    let options = DesignSearchOptions::default()
        .builders(BUILDERS.to_vec())
        .page_bytes(u32::try_from(page_bytes).unwrap_or(u32::MAX))
        .lambda_low_bytes(page_bytes)
        .lambda_high_bytes(WINDOW_BYTES_MAX.max(WINDOW_PAGES_MIN * page_bytes));
    let whole_pages = |root_bytes: u64| root_bytes.div_ceil(page_bytes).max(1) * page_bytes;
    let in_pages = DesignProblem { open_bytes: &whole_pages, options, ..DesignProblem::new(profile) };
    let in_metanode = DesignProblem {
        resident_bytes: Some(INDEX_PAGE_HEADER_BYTES + ROOT_BYTES_MAX as u64),
        caching: DesignCaching { opening_hit_rate: 1.0, ..DesignCaching::default() },
        ..in_pages.clone()
    };
    let [small, large] = [tune(&row, &in_metanode), tune(&row, &in_pages)];
    if large.cost.total_us < small.cost.total_us { large } else { small }
}
