//! AULID (Lan et al., WWW 2024): a learned index on disk; its structure, experiments, claims, and what is drawn.

pub(crate) mod claims;
pub(crate) mod experiments;
pub(crate) mod sketches;
pub mod structures;

pub use structures::{AulidOptions, AulidRouter};
