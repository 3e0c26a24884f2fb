//! AULID's inner nodes: a tree of learned nodes that stays shallow.

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
mod remove;
mod run;
mod search;
mod shape;
#[cfg(test)]
mod tests;
mod view;
mod walk;

pub use inner::AulidRouter;
pub use options::AulidOptions;
