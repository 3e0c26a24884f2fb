//! Hints of an input for the planner: the text that it is parsed from, the number of its keys, and where it is.

use serde::Serialize;

/// The text that a relation is read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ParsedText {
    /// Its length in bytes.
    pub bytes: u64,
    /// Number of fields of each row that are read.
    pub fields: u32,
}

/// What is known of an input besides its records.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::join) struct InputHints {
    pub(in crate::join) text: Option<ParsedText>,
    /// Estimated number of different keys.
    pub(in crate::join) distinct_keys: Option<u64>,
    /// Whether it is on a local disk, though the profile of the join is of another storage.
    pub(in crate::join) is_local: bool,
}
