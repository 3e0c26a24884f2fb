//! What builders of line nodes in other crates need. Only `ogive-research` has any, so it is hidden and may change.

pub use crate::greedy::Part;
