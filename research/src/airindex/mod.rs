//! AirIndex (Chockchowwat et al., SIGMOD 2024): index designs tuned to data and storage, and the index with updates.
//!
//! The search for a design is `ogive::tune`. Here are the designs it is compared with ([`designs`]), the updatable
//! index ([`structures`]), the experiments, the claims of the paper with their judges, and what is drawn.

pub(crate) mod claims;
pub mod designs;
pub(crate) mod experiments;
pub(crate) mod sketches;
pub mod structures;

pub use structures::{AirIndexOptions, AirIndexRouter};
