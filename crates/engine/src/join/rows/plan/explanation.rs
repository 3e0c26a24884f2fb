//! The explanation of a plan: the method chosen, its alternatives, and their predicted costs.

use super::cost::JoinCost;
use crate::join::rows::options::JoinSide;
use crate::join::rows::text_hints::ParsedText;
use serde::Serialize;

/// The explanation of a plan: the chosen method, each alternative with its predicted cost or the reason why it cannot
/// run, and, after the join, the measured cost.
#[derive(Clone, Debug, Serialize)]
pub struct JoinExplanation {
    /// The chosen or requested method.
    pub method: String,
    /// Whether the caller requested it.
    pub is_asked_for: bool,
    /// The inner relation: looked up in, hashed or indexed; none if both are read alike.
    pub inner: Option<JoinSide>,
    /// Name of the storage profile.
    pub profile: String,
    /// Memory limit in bytes.
    pub memory_bytes: u64,
    /// Number of joining threads.
    pub threads: usize,
    /// The reads of the relations.
    pub reads: JoinReadPlan,
    /// The left relation.
    pub left: JoinRelationSummary,
    /// The right relation.
    pub right: JoinRelationSummary,
    /// Predicted cost of the chosen method.
    pub predicted: JoinCost,
    /// Measured cost; none before the join has run.
    pub actual: Option<JoinActual>,
    /// All methods, the cheapest first, those that cannot run last.
    pub alternatives: Vec<JoinAlternative>,
}

/// The read sizes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JoinReadPlan {
    /// Request size of full scans, in bytes.
    pub request_bytes: u64,
    /// Requests submitted at once.
    pub at_once: u32,
    /// Largest gap between needed blocks that is read along, in bytes.
    pub gap_bytes: u64,
    /// Fraction of the inner relation that is dense enough to be read in ranges, from 0 to 1; the rest is read block by
    /// block.
    pub range_share: f64,
}

/// The planner's knowledge of a relation.
#[derive(Clone, Debug, Serialize)]
pub struct JoinRelationSummary {
    /// Name for messages.
    pub name: String,
    /// Estimated number of rows.
    pub rows: f64,
    /// Bytes read by a full scan.
    pub bytes: f64,
    /// The text that it is parsed from, if it is.
    pub text: Option<ParsedText>,
    /// Whether rows are in key order.
    pub is_sorted: bool,
    /// Whether it has an exact index.
    pub has_index: bool,
}

/// One method among the alternatives.
#[derive(Clone, Debug, Serialize)]
pub struct JoinAlternative {
    /// The method.
    pub method: String,
    /// The inner relation.
    pub inner: Option<JoinSide>,
    /// Predicted cost, if it can run.
    pub predicted: Option<JoinCost>,
    /// The reason why it cannot run.
    pub refused: Option<String>,
}

/// The measured cost of a join.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JoinActual {
    /// Time from the call to the durable output, in microseconds.
    pub total_us: f64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Read requests.
    pub requests: u64,
    /// Number of output rows.
    pub rows: u64,
    /// Peak of the reserved memory, in bytes.
    pub peak_memory_bytes: u64,
}
