//! Counts of queries in a cluster: stages, tasks, reads of the storage by each executor, and the bytes of each link.
//!
//! The scheduler and the executors run in this process, each with ports, tables and a working folder of its own. All
//! connections between them pass through links that count bytes ([`link`]); what a task reads is counted by the
//! metrics of its plan ([`engine`]). Each query gets a new cluster, so that no table is open and no block cached.

mod counts;
mod engine;
mod link;
mod local;
mod run;

pub(crate) use counts::QueryCounts;
pub(crate) use local::{ClusterShape, count_query};
pub use run::{ClusterArguments, run};
