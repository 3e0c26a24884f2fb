//! "Evaluating Learned Indexes for External-Memory Joins" (Chesetti and Pandey, 2024): its methods, experiments,
//! claims, and what is drawn.

pub(crate) mod claims;
pub(crate) mod experiments;
pub(crate) mod sketches;
pub mod structures;

pub use structures::{
    BTREE, BTREE_CURSOR, METHODS, PARTITION_BTREE, PGM, ProbeOptions, RADIX_SPLINE, RMI, SAMPLED_PGM,
};
