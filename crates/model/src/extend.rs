//! The seam for builders of line nodes in other crates. Only `ogive-research` has any, so it is hidden and may change.

pub use crate::greedy::Part;
