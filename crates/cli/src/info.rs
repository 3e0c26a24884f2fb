//! The summary of a path, in a sentence and in JSON, for `ogive info`.

use serde_json::Value;

/// What a path is.
#[derive(Debug)]
pub(crate) struct Info {
    /// Its kind, such as `table`; `other` if it is none of Ogive's.
    pub(crate) kind: &'static str,
    /// A sentence about it, without its name.
    pub(crate) text: String,
    /// Lines that say more of it.
    pub(crate) details: Vec<String>,
    /// Further fields in JSON.
    pub(crate) facts: Value,
    /// A command that goes on from here.
    pub(crate) next: String,
}
