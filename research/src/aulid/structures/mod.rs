//! AULID: a shallow tree of learned inner nodes over B+-tree leaves.
//!
//! Source: Lan et al., "A Simple Yet High-Performing On-disk Learned Index". [`AulidRouter`] describes the structure
//! and the differences.

mod adjust;
mod arrays;
#[cfg(test)]
mod behaviour_tests;
mod build;
mod edit;
mod inner;
mod insert;
mod layers;
mod many;
mod node;
mod options;
mod reader;
mod remove;
mod run;
mod search;
mod shape;
#[cfg(test)]
mod tests;
mod walk;

pub use inner::AulidRouter;
pub use options::AulidOptions;
