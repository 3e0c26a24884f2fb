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
use ogive_model::FenceRun;
use ogive_model::line::LineNode;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

pub use super::builder::granule;
pub use super::families::{best, error_grid, score};
pub use super::parallel::map;
pub use super::problem::DesignScore;
pub use super::request::{above_zero, forms, lines_by_error, pile, whole_children};

/// Most parameters of a builder of lines.
pub const VALUES_MAX: usize = 2;

/// A builder of line nodes.
#[derive(Debug)]
pub struct LineBuilder {
    /// Its name in forced designs and reports.
    pub name: &'static str,
    /// The fields of forced designs that it takes, in the order of its parameters; at most [`VALUES_MAX`].
    pub fields: &'static [&'static str],
    /// Builds the nodes of a run of children of a level input, with these parameters.
    pub build: fn(&FenceRun<'_>, &LevelInput, [u64; VALUES_MAX]) -> Vec<LineNode>,
}

impl PartialEq for LineBuilder {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A design of another crate.
pub trait GivenDesign: Debug + Send + Sync {
    /// Its name, as [`DesignFamily::parse`] reads it.
    fn name(&self) -> String;

    /// Builds it over a level input of data blocks.
    fn build(&self, row: &LevelInput, problem: &DesignProblem<'_>) -> Design;
}

/// A design as text, or why the text is not one of the family's; `None` if it is of no form of the family.
pub type ParsedDesign = Option<Result<Arc<dyn GivenDesign>, String>>;

/// The designs of another crate.
#[derive(Debug)]
pub struct DesignFamily {
    /// The forms of their names, as messages list them.
    pub forms: &'static [&'static str],
    /// Those that are compared with the designs of the engine.
    pub compared: &'static [&'static str],
    /// Reads the name of a design.
    pub parse: fn(&str) -> ParsedDesign,
    /// Builders that forced designs can name.
    pub builders: &'static [LineBuilder],
    /// Fields of forced designs that the engine's builders do not take.
    pub fields: &'static [&'static str],
}

/// The registered family.
static REGISTERED: OnceLock<&'static DesignFamily> = OnceLock::new();

/// Registers the designs of the one crate that has any. Repeated calls have no effect.
pub fn register(family: &'static DesignFamily) {
    REGISTERED.get_or_init(|| family);
}

/// The designs of the other crate, if it is registered.
pub(super) fn registered() -> Option<&'static DesignFamily> {
    REGISTERED.get().copied()
}

/// The names of registered designs that are compared with those of the engine.
pub fn compared() -> &'static [&'static str] {
    registered().map_or(&[], |family| family.compared)
}

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
