//! The seam for index designs of other crates. Only `ogive-research` uses it, for the designs that AirIndex is compared
//! with, so it is hidden, and may change with any version.
//!
//! A [`DesignFamily`] reads the names of its designs; each is a [`GivenDesign`], which builds layers over a level input
//! and hands them to [`given_layers`]. Builders of lines ([`LineBuilder`]) can be named in forced designs, too. Of all
//! of them, a table stores step pieces, lines and coded separators: readers need nothing of the crate.

use super::design::Design;
use super::layer::DesignLayer;
use super::level_input::LevelInput;
use super::problem::DesignProblem;
use super::reads::ReadSizes;

pub use super::build_layer::granule;
pub use super::design_request::{above_zero, forms, lines_by_error, pile, whole_children};
#[cfg(feature = "tune")]
pub use super::families::{best, error_grid, score};
pub use super::given::{DesignFamily, GivenDesign, ParsedDesign, compared, register};
pub use super::line_builder::{LineBuilder, VALUES_MAX};
pub use super::parallel::map;
pub use super::problem::DesignScore;

/// The design of these layers over `row`, bottom first, each built over the pages of the one below ([`pages_of`]).
pub fn given_layers(row: &LevelInput, layers: Vec<DesignLayer>, problem: &DesignProblem<'_>) -> Design {
    let mut reads = Vec::with_capacity(layers.len());
    let mut below: Option<LevelInput> = None;
    for layer in &layers {
        let input = below.as_ref().unwrap_or(row);
        reads.push(reads_of(layer, input));
        below = Some(pages_of(layer, input));
    }
    if layers.is_empty() { Design::without_index(row, problem) } else { Design::assemble(row, layers, reads, problem) }
}

/// Sizes of the reads from `row`, by a lookup through a layer over it.
pub fn reads_of(layer: &DesignLayer, row: &LevelInput) -> ReadSizes {
    layer.windows(row, &row.shares()).sizes(row.child_bytes)
}

/// The pages of a layer over `row`, as the input of the next layer.
pub fn pages_of(layer: &DesignLayer, row: &LevelInput) -> LevelInput {
    layer.row_above(&row.shares())
}
