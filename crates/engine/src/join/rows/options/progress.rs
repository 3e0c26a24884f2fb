//! The progress of a running join, as it is reported to a watcher.

use std::sync::Arc;

/// The phase of a running join, for progress reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JoinPhase {
    /// Choosing the method.
    Planning,
    /// Reading or building indexes.
    Loading,
    /// Sorting, partitioning or hashing unsorted input.
    Preparing,
    /// Joining and writing rows.
    Joining,
    /// Completing the output and syncing it.
    Finishing,
}

/// The progress of a join: input rows processed in the current phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinProgress {
    /// The current phase.
    pub phase: JoinPhase,
    /// Input rows processed in this phase.
    pub done: u64,
    /// Estimated number of input rows in this phase.
    pub total: u64,
}

/// A callback for progress reports. Called from any thread, at most a few hundred times per phase.
pub type JoinWatcher = Arc<dyn Fn(JoinProgress) + Send + Sync>;
