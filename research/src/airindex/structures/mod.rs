//! AirIndex with updates: a tuned hierarchy over a directory of B+-tree leaves, with gaps in both.
//!
//! Source: Chockchowwat et al., "AirIndex: Versatile Index Tuning Through Data and Storage", SIGMOD 2024, Sections 6
//! and 7.6. [`AirIndexRouter`] describes the structure and the differences.

mod build;
mod change;
mod directory;
mod hierarchy;
mod leaf_size;
mod locate;
mod metanode;
mod options;
mod router;
mod search;
#[cfg(test)]
mod tests;
mod walk;

pub use options::AirIndexOptions;
pub(crate) use options::LOOKUPS_PER_INSERT_MAX;
pub use router::AirIndexRouter;
