//! A model of a large cluster, from counts of small ones.
//!
//! Each run counts anew: what queries read of an emulated object store ([`emulated`](crate::emulated)), and what moves
//! through the links of clusters of this machine ([`cluster`](crate::cluster)). [`formula`] scales these counts.

mod count;
mod formula;
mod predict;
mod report;
mod run;

pub use run::{ModelArguments, run};
