//! The builders of lines of the papers' designs, for layers of tables.

use crate::models::rmi::{self, RootKind};
use crate::models::{hist_tree as tree, plr, radix_spline};
use ogive::tune::extend::{LineBuilder, VALUES_MAX, granule};
use ogive::tune::{LayerBuilder, LevelInput};
use ogive_model::FenceRun;
use ogive_model::line::LineNode;

/// The builders of this crate. Forced designs name them and their fields.
pub(super) static BUILDERS: [LineBuilder; 7] = [PLR, SPLINE, RADIX, HIST_TREE, RMI_LINEAR, RMI_CUBIC, RMI_RADIX];

/// Positions in [`BUILDERS`].
const SPLINE_AT: usize = 1;
const RADIX_AT: usize = 2;
const HIST_TREE_AT: usize = 3;

/// Greedy piecewise linear regression, from Bourbon, with the largest distance of the right child from its prediction.
const PLR: LineBuilder = LineBuilder {
    name: "plr",
    fields: &["error"],
    build: |run, _, [error_children, _]| plr::greedy(run, error_children),
};

/// The segments of a greedy spline, with the same.
const SPLINE: LineBuilder = LineBuilder {
    name: "spline",
    fields: &["error"],
    build: |run, _, [error_children, _]| radix_spline::lines(run, error_children),
};

/// A radix table: bins of equal width over the keys, each with a flat line over its children. Their number is rounded
/// down to a power of two.
const RADIX: LineBuilder =
    LineBuilder { name: "radix", fields: &["bins"], build: |run, _, [bins, _]| tree::lines(run, bins, u64::MAX) };

/// A compact hist-tree: a radix table whose crowded bins are divided again; with the number of bins that a range of
/// keys is divided into, and the largest window of a bin that is not divided, in bytes.
const HIST_TREE: LineBuilder = LineBuilder {
    name: "hist-tree",
    fields: &["bins", "lambda"],
    build: |run, row, [bins, lambda_bytes]| tree::lines(run, bins, granule(lambda_bytes, row)),
};

/// Regression lines, one for each range of keys that a trained root model assigns to one of its leaves. The root is not
/// stored: it only determines the borders between nodes. Leaves without children are omitted.
const RMI_LINEAR: LineBuilder = LineBuilder {
    name: "rmi-linear",
    fields: &["leaves"],
    build: |run, row, values| rmi_lines(run, row, values, RootKind::Linear),
};

/// The same with a cubic root.
const RMI_CUBIC: LineBuilder = LineBuilder {
    name: "rmi-cubic",
    fields: &["leaves"],
    build: |run, row, values| rmi_lines(run, row, values, RootKind::Cubic),
};

/// The same with a radix root.
const RMI_RADIX: LineBuilder = LineBuilder {
    name: "rmi-radix",
    fields: &["leaves"],
    build: |run, row, values| rmi_lines(run, row, values, RootKind::Radix),
};

/// The leaves of a run are its share of those of the whole.
fn rmi_lines(run: &FenceRun<'_>, row: &LevelInput, [leaves, _]: [u64; VALUES_MAX], root: RootKind) -> Vec<LineNode> {
    let share = leaves as f64 / row.children() as f64;
    rmi::lines(run, root, (run.children() as f64 * share).ceil() as usize)
}

/// A spline with this error.
pub(super) fn spline(error_children: u64) -> LayerBuilder {
    LayerBuilder::Given { builder: &BUILDERS[SPLINE_AT], values: [error_children, 0] }
}

/// A radix table with this number of bins.
pub(super) fn radix_table(bins: u64) -> LayerBuilder {
    LayerBuilder::Given { builder: &BUILDERS[RADIX_AT], values: [bins, 0] }
}

/// A hist-tree with this number of bins and this window.
pub(super) fn hist_tree(bins: u64, lambda_bytes: u64) -> LayerBuilder {
    LayerBuilder::Given { builder: &BUILDERS[HIST_TREE_AT], values: [bins, lambda_bytes] }
}

/// An RMI with this root and number of leaves.
pub(crate) fn rmi_builder(root: RootKind, leaves: u64) -> LayerBuilder {
    let at = match root {
        RootKind::Linear => 4,
        RootKind::Cubic => 5,
        RootKind::Radix => 6,
    };
    LayerBuilder::Given { builder: &BUILDERS[at], values: [leaves, 0] }
}
