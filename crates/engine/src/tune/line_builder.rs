//! Line builders that another crate supplies.

use super::level_input::LevelInput;
use ogive_model::FenceRun;
use ogive_model::line::LineNode;

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
