//! The explanation of a plan: the method chosen, its alternatives, and their predicted costs.

use super::cost::Cost;
use crate::join::options::Side;
use serde::Serialize;

/// Why a join is done as it is: the choice, each alternative with its predicted cost or the reason why it cannot run, and once
/// the join is done what it really took.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The method that was chosen or asked for.
    pub method: String,
    /// Whether the caller asked for it.
    pub is_asked_for: bool,
    /// The relation that is looked up in, hashed or indexed; none where both are read alike.
    pub inner: Option<Side>,
    /// Name of the profile by which requests are priced.
    pub profile: String,
    /// The limit of memory, in bytes.
    pub memory_bytes: u64,
    /// Threads that join.
    pub threads: usize,
    /// How the inner relation is read.
    pub reads: ReadPlan,
    /// The left relation.
    pub left: RelationSummary,
    /// The right relation.
    pub right: RelationSummary,
    /// What the chosen method is expected to take.
    pub predicted: Cost,
    /// What it took; none before the join is done.
    pub actual: Option<Actual>,
    /// All methods, the cheapest first, those that cannot run last.
    pub alternatives: Vec<Alternative>,
}

/// How relations are read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReadPlan {
    /// Bytes of a request where all is read.
    pub request_bytes: u64,
    /// Requests handed to the storage at a time.
    pub at_once: u32,
    /// Gaps of up to so many bytes between wanted blocks are read along.
    pub gap_bytes: u64,
    /// Share of the inner relation that is dense enough to be read in ranges, from 0 to 1; the rest is read block by block.
    pub range_share: f64,
}

/// What was known of a relation.
#[derive(Clone, Debug, Serialize)]
pub struct RelationSummary {
    /// What messages call it.
    pub name: String,
    /// Rows, about.
    pub rows: f64,
    /// Bytes that reading all of it takes.
    pub bytes: f64,
    /// Whether its rows come in key order.
    pub is_sorted: bool,
    /// Whether it carries an exact index.
    pub has_index: bool,
}

/// One method beside the others.
#[derive(Clone, Debug, Serialize)]
pub struct Alternative {
    /// The method.
    pub method: String,
    /// The relation that it looks up in.
    pub inner: Option<Side>,
    /// What it is expected to take.
    pub predicted: Option<Cost>,
    /// Why it cannot run.
    pub refused: Option<String>,
}

/// What a join took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Actual {
    /// From the first call to the durable output, in microseconds.
    pub total_us: f64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Requests.
    pub requests: u64,
    /// Rows of the output.
    pub rows: u64,
    /// Most memory set aside at one time, in bytes.
    pub peak_memory_bytes: u64,
}
