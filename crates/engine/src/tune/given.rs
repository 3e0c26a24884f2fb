//! Index designs that another crate supplies, as a family.

use super::design::Design;
use super::level_input::LevelInput;
use super::line_builder::LineBuilder;
use super::problem::DesignProblem;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

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
