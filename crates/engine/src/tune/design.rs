//! An index design: its layers and their cost.

use super::layer::{DesignLayer, LayerNodes, line_windows_at};
use super::level_input::{LevelInput, LookupShares};
use super::problem::DesignProblem;
use super::reads::ReadSizes;
use crate::io::Profile;
use serde::Serialize;
use std::borrow::Cow;

/// An index design: the layers, bottom first, of which the last is the root. Without layers the data is read as a
/// whole.
///
/// Source: AirIndex, Section 4.1 (Equation 2).
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// The layers, bottom first.
    pub layers: Vec<DesignLayer>,
    /// Read sizes of a lookup after opening: first those of data blocks, then those of index pages of each layer below
    /// the root, bottom first.
    pub reads: Vec<ReadSizes>,
    /// Size of the data in bytes.
    pub data_bytes: u64,
    /// Cost of a lookup on the storage that the design was built for.
    pub cost: DesignCost,
}

/// Expected time of a lookup by read, in microseconds.
///
/// Source: AirIndex, Equation 6.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DesignCost {
    /// The opening read, including the root.
    pub opening_us: f64,
    /// The reads after it: first data, then the layers below the root, bottom first.
    pub reads_us: Vec<f64>,
    /// The sum.
    pub total_us: f64,
}

/// A layer as shown in reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    /// Name of the builder with its parameters, such as `gband(4096)`.
    pub kind: String,
    /// Number of step pieces, line nodes or coded groups.
    pub nodes: u64,
    /// Stored size in bytes, page headers included.
    pub size_bytes: u64,
    /// Mean size of a lookup's read from this layer in bytes.
    pub mean_read_bytes: f64,
    /// Largest size of a lookup's read from this layer in bytes.
    pub max_read_bytes: u64,
}

impl Design {
    /// The design with these layers over `row`, and the cost of its lookups; `reads` as in the field of that name.
    ///
    /// The reads from the layers are measured again with keys of the data: while a layer is built, the distribution of
    /// lookups over the keys of one page is not known.
    pub(super) fn assemble(
        row: &LevelInput,
        layers: Vec<DesignLayer>,
        mut reads: Vec<ReadSizes>,
        problem: &DesignProblem<'_>,
    ) -> Self {
        let shares = row.shares();
        for (pair, reads) in layers.windows(2).zip(reads.iter_mut().skip(1)) {
            if let LayerNodes::Line(nodes) = &pair[1].nodes {
                let windows = line_windows_at(nodes, pair[1].children, keys(row, &shares));
                *reads = windows.sizes(u64::from(pair[0].page_bytes));
            }
        }
        let mut design = Self { layers, reads, data_bytes: row.size_bytes(), cost: DesignCost::default() };
        design.cost = design.cost_under(problem.profile, problem);
        design
    }

    /// The design without an index.
    pub(super) fn without_index(row: &LevelInput, problem: &DesignProblem<'_>) -> Self {
        let data_bytes = row.size_bytes();
        let reads = if problem.opening_holds_data { Vec::new() } else { vec![ReadSizes::constant(data_bytes)] };
        Self::assemble(row, Vec::new(), reads, problem)
    }

    /// Size of the root, which stays in memory, in bytes; 0 without an index.
    pub fn root_bytes(&self) -> u64 {
        self.layers.last().map_or(0, DesignLayer::root_bytes)
    }

    /// Stored size of the whole index in bytes: layers in pages, and the root.
    pub fn index_bytes(&self) -> u64 {
        let below = self.layers.len().saturating_sub(1);
        self.layers[..below].iter().map(DesignLayer::size_in_pages_bytes).sum::<u64>() + self.root_bytes()
    }

    /// Expected cost of a lookup on storage with another profile than the one that the design was tuned for.
    pub fn cost_under(&self, profile: &Profile, problem: &DesignProblem<'_>) -> DesignCost {
        let opened_bytes = if self.reads.is_empty() { self.data_bytes } else { self.root_bytes() };
        let opening_us = problem.opening_us(opened_bytes, profile);
        let reads_us: Vec<f64> =
            self.reads.iter().enumerate().map(|(depth, reads)| problem.expected_us(depth, reads, profile)).collect();
        let total_us = opening_us + reads_us.iter().sum::<f64>();
        DesignCost { opening_us, reads_us, total_us }
    }

    /// The objective's cost of a lookup in microseconds: the expected time, or a quantile (see
    /// [`DesignObjective`](super::DesignObjective)).
    pub fn objective_us(&self, problem: &DesignProblem<'_>) -> f64 {
        let opened_bytes = if self.reads.is_empty() { self.data_bytes } else { self.root_bytes() };
        problem.lookup_us(opened_bytes, &self.reads)
    }

    /// The same layers with the reads and the cost of other lookups: `row` is what they were built over, with other
    /// weights.
    #[must_use]
    pub fn repriced(self, row: &LevelInput, problem: &DesignProblem<'_>) -> Self {
        if self.layers.is_empty() {
            return Self::without_index(row, problem);
        }
        let mut reads = Vec::new();
        let mut top = Cow::Borrowed(row);
        for (depth, layer) in self.layers.iter().enumerate() {
            let shares = top.shares();
            reads.push(layer.windows(&top, &shares).sizes(top.child_bytes));
            if depth + 1 < self.layers.len() {
                top = Cow::Owned(layer.row_above(&shares));
            }
        }
        Self::assemble(row, self.layers, reads, problem)
    }

    /// A report of each layer, bottom first. The data's own reads are `reads[0]`.
    pub fn report(&self) -> Vec<LayerReport> {
        let top = self.layers.len().saturating_sub(1);
        let describe = |(i, layer): (usize, &DesignLayer)| {
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

/// Limit for the number of data blocks whose keys measure the reads from layers; of more blocks, every n-th is used.
const MEASURED_CHILDREN_MAX: usize = 1 << 16;

/// Keys of the data in ascending order, each with its share of the lookups.
fn keys(row: &LevelInput, shares: &LookupShares) -> impl Iterator<Item = (u64, f64)> {
    let children = row.fences.len() + 1;
    let stride = children.div_ceil(MEASURED_CHILDREN_MAX);
    (0..children).step_by(stride).flat_map(move |child| {
        let share = shares.between(child as u64, (child + stride).min(children) as u64) / 2.0;
        [(row.starts(child), share), (row.ends(child), share)]
    })
}
