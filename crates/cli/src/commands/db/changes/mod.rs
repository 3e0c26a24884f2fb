//! Changes of stores as lines of JSON: printed, and applied.

pub(super) mod apply;
mod lines;
pub(super) mod show;
