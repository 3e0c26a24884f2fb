//! The result of a command that did not fail.

/// Result of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The work is done.
    Done,
    /// The work is done, and the answer is negative: an absent key, or damage found.
    Negative,
}
