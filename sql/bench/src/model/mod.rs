//! A model of a large cluster, from counts of small ones.
//!
//! Each run counts anew: the reads of queries from an emulated object store ([`emulated`](crate::emulated)), and the
//! traffic on the links of clusters on this machine ([`cluster`](crate::cluster)). [`formula`] scales these counts.

mod count;
mod formula;
mod predict;
mod report;
mod run;

pub use run::{ModelArguments, run};
