//! The one shape in which all inputs arrive.

use super::InputError;
use ogive::table::KeyType;
use std::fmt::Debug;
use std::path::PathBuf;

/// One record, borrowed from the reader until the next one is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// The key, in bytes that compare as the keys do.
    pub(crate) key: &'a [u8],
    /// The value.
    pub(crate) value: &'a [u8],
}

/// What is known about an input before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Where they come from, for messages.
    pub(crate) path: PathBuf,
    /// What its keys are.
    pub(crate) key_type: KeyType,
    /// Bytes of every value, if they are all of one width.
    pub(crate) value_width: Option<u32>,
    /// Number of records, if known.
    pub(crate) records: Option<u64>,
    /// Length of the file in bytes, if known.
    pub(crate) length_bytes: Option<u64>,
}

/// Records of fixed width lie densely in blocks of any size when this many fit into the smallest one.
const LEAST_DENSE_RECORDS: usize = 4;
const SMALLEST_BLOCK_BYTES: usize = 512;

impl Facts {
    /// The width of values that lie densely in blocks; nothing where records are too wide for that, or of several widths.
    pub(crate) fn dense_value_width(&self) -> Option<u32> {
        let key_width = self.key_type.width()?;
        let fits = |width: &u32| (key_width + *width as usize) * LEAST_DENSE_RECORDS <= SMALLEST_BLOCK_BYTES;
        self.value_width.filter(fits)
    }
}

/// A stream of records from a file.
pub(crate) trait Input: Debug + Send {
    /// What is known beforehand.
    fn facts(&self) -> &Facts;

    /// The next record, or nothing at the end.
    ///
    /// # Errors
    /// [`InputError`] for whatever the file does not allow; the stream is of no use afterwards.
    fn next(&mut self) -> Result<Option<Record<'_>>, InputError>;

    /// Bytes of the file that were read so far, for showing progress.
    fn position_bytes(&self) -> u64;
}
