//! An index design: its layers and their cost.

use super::layer::{INDEX_PAGE_HEADER_BYTES, Layer, LayerNodes, line_windows_at};
use super::level_input::{LevelInput, LookupShares};
use super::problem::Problem;
use super::reads::ReadSizes;
use crate::io::Profile;
use serde::Serialize;

/// Stored bytes of one step piece: separator u64, first child u40.
pub const STEP_PIECE_BYTES: u64 = 13;
/// Stored bytes of one line node: start u64, slope f32, first child u40, two reaches of 12 bits.
pub const LINE_NODE_BYTES: u64 = 20;

/// A whole index: the layers, bottom first; the last one is the root. No layer means that the data is read whole.
///
/// Source: AirIndex, Section 4.1 (Equation 2).
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// The layers, bottom first.
    pub layers: Vec<Layer>,
    /// Sizes of the reads that one look-up makes after opening: first those of data blocks, then those of pages of
    /// each layer below the root, bottom first.
    pub reads: Vec<ReadSizes>,
    /// Bytes of the data.
    pub data_bytes: u64,
    /// What a look-up costs on the storage that the design was built for.
    pub cost: Cost,
}

/// Expected time of one look-up, in microseconds, by read.
///
/// Source: AirIndex, Equation 6.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// The read that opens the table, root included.
    pub opening_us: f64,
    /// The reads after it: first data, then the layers below the root, bottom first.
    pub reads_us: Vec<f64>,
    /// The sum.
    pub total_us: f64,
}

/// One layer as a report shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    /// Name of the builder with its parameters, such as `gband(4096)`.
    pub kind: String,
    /// Step pieces, line nodes or coded groups.
    pub nodes: u64,
    /// Stored bytes, headers of pages included.
    pub size_bytes: u64,
    /// Mean bytes that a look-up reads from this layer.
    pub mean_read_bytes: f64,
    /// Most bytes that a look-up reads from this layer.
    pub max_read_bytes: u64,
}

impl Design {
    /// The design of these layers over `row`, with the cost of its look-ups; `reads` as in the field of that name.
    ///
    /// The reads from the layers are measured once more, with coordinates of the data: while a layer is built, how
    /// look-ups spread over the coordinates of one page is not known.
    pub(super) fn assemble(
        row: &LevelInput,
        layers: Vec<Layer>,
        mut reads: Vec<ReadSizes>,
        problem: &Problem<'_>,
    ) -> Self {
        let shares = row.shares();
        for (pair, reads) in layers.windows(2).zip(reads.iter_mut().skip(1)) {
            if let LayerNodes::Line(nodes) = &pair[1].nodes {
                let windows = line_windows_at(nodes, pair[1].children, coordinates(row, &shares));
                *reads = windows.sizes(u64::from(pair[0].page_bytes));
            }
        }
        let mut design = Self { layers, reads, data_bytes: row.size_bytes(), cost: Cost::default() };
        design.cost = design.cost_under(problem.profile, problem);
        design
    }

    /// The index that is none.
    pub(super) fn without_index(row: &LevelInput, problem: &Problem<'_>) -> Self {
        let data_bytes = row.size_bytes();
        let reads = if problem.opening_holds_data { Vec::new() } else { vec![ReadSizes::constant(data_bytes)] };
        Self::assemble(row, Vec::new(), reads, problem)
    }

    /// Bytes of the root, which stays in memory; 0 without index.
    pub fn root_bytes(&self) -> u64 {
        self.layers.last().map_or(0, Layer::root_bytes)
    }

    /// Stored bytes of the whole index: layers in pages, and the root.
    pub fn index_bytes(&self) -> u64 {
        let below = self.layers.len().saturating_sub(1);
        self.layers[..below].iter().map(Layer::size_in_pages_bytes).sum::<u64>() + self.root_bytes()
    }

    /// Expected cost of one look-up on storage of another profile than the one that the design was tuned for.
    pub fn cost_under(&self, profile: &Profile, problem: &Problem<'_>) -> Cost {
        let opened_bytes = if self.reads.is_empty() { self.data_bytes } else { self.root_bytes() };
        let opening_us = problem.opening_us(opened_bytes, profile);
        let reads_us: Vec<f64> =
            self.reads.iter().enumerate().map(|(depth, reads)| problem.expected_us(depth, reads, profile)).collect();
        let total_us = opening_us + reads_us.iter().sum::<f64>();
        Cost { opening_us, reads_us, total_us }
    }

    /// Each layer, bottom first. The data's own reads are `reads[0]`.
    pub fn report(&self) -> Vec<LayerReport> {
        let top = self.layers.len().saturating_sub(1);
        let describe = |(i, layer): (usize, &Layer)| {
            let whole = ReadSizes::constant(layer.root_bytes());
            let reads = if i == top { &whole } else { &self.reads[i + 1] };
            LayerReport {
                kind: layer.builder.to_string(),
                nodes: layer.node_count(),
                size_bytes: if i == top { layer.root_bytes() } else { layer.size_in_pages_bytes() },
                mean_read_bytes: reads.mean_bytes(),
                max_read_bytes: reads.max_bytes(),
            }
        };
        self.layers.iter().enumerate().map(describe).collect()
    }
}

/// Most data blocks whose coordinates measure the reads from layers; of more, every so many-th.
const MEASURED_CHILDREN_MAX: usize = 1 << 16;

/// Coordinates of the data in rising order, each with the share of look-ups that it stands for.
fn coordinates(row: &LevelInput, shares: &LookupShares) -> impl Iterator<Item = (u64, f64)> {
    let children = row.fences.len() + 1;
    let stride = children.div_ceil(MEASURED_CHILDREN_MAX);
    (0..children).step_by(stride).flat_map(move |child| {
        let share = shares.between(child as u64, (child + stride).min(children) as u64) / 2.0;
        [(row.starts(child), share), (row.ends(child), share)]
    })
}

/// Bytes of a root of `nodes` nodes of `node_bytes` each, with the header that every run of nodes has.
pub(super) fn root_blob_bytes(nodes: u64, node_bytes: u64) -> u64 {
    INDEX_PAGE_HEADER_BYTES + nodes * node_bytes
}
