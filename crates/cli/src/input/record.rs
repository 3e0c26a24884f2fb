//! Input records: the common form of all input formats.

use super::InputError;
use ogive::table::dense_value_width;
use ogive::types::RecordType;
use std::fmt::Debug;
use std::path::PathBuf;

/// A record, borrowed from the reader until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// The key, as bytes that order like the keys.
    pub(crate) key: &'a [u8],
    /// The value.
    pub(crate) value: &'a [u8],
}

/// Facts about an input that are known before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputFacts {
    /// The file, for messages.
    pub(crate) path: PathBuf,
    /// Types of the keys and values.
    pub(crate) record_type: RecordType,
    /// Bytes per value, if all values have one width.
    pub(crate) value_width: Option<u32>,
    /// Number of records, if known.
    pub(crate) records: Option<u64>,
    /// Length of the file in bytes, if known.
    pub(crate) length_bytes: Option<u64>,
    /// Whether it says itself that it has no records, if it has none: by a header, a count or a schema.
    pub(crate) may_be_empty: bool,
}

impl InputFacts {
    /// The width of values in dense blocks; `None` if records are too wide for that, or of variable width.
    pub(crate) fn dense_value_width(&self) -> Option<u32> {
        dense_value_width(self.record_type.keys, self.value_width? as usize)
    }
}

/// A stream of input records.
pub(crate) trait Input: Debug {
    /// The facts known beforehand.
    fn facts(&self) -> &InputFacts;

    /// The next record, or `None` at the end.
    ///
    /// # Errors
    /// [`InputError`] for a bad file; the stream must not be used afterwards.
    fn next(&mut self) -> Result<Option<Record<'_>>, InputError>;

    /// Bytes of the file read so far, for progress.
    fn position_bytes(&self) -> u64;

    /// Records that were left out so far because their keys have nulls.
    fn null_keys(&self) -> u64 {
        0
    }
}
