//! Sources: the tables, databases or column families of another store, as the keyspaces that they become.

use crate::arguments::Arguments;
use crate::failure::{Failure, Result};
use ogive::types::{IndexDefinition, RecordType};

/// Gets the key and the value of each record.
pub(crate) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// A table, a database or a column family.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its name in the source.
    pub(crate) name: String,
    /// The types of its records as those of a keyspace.
    pub(crate) types: RecordType,
    /// The number of its records, if it is known before they are read.
    pub(crate) records: Option<u64>,
    /// Indexes to create.
    pub(crate) indexes: Vec<FoundIndex>,
    /// What the user may not expect.
    pub(crate) remarks: Vec<String>,
}

/// An index of the source that the store can keep.
#[derive(Debug)]
pub(crate) struct FoundIndex {
    pub(crate) name: String,
    pub(crate) definition: IndexDefinition,
}

/// A part of the source that is not imported.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    /// What it is: "view".
    pub(crate) what: &'static str,
    pub(crate) name: String,
    /// Why, if that is not plain.
    pub(crate) reason: Option<String>,
}

/// An open source. Its records are those of one moment, however often they are read.
pub(crate) trait Source {
    /// What it has, of what was chosen.
    fn found(&self) -> &[Found];

    /// The names of all that can be imported, whether or not it was chosen.
    fn names(&self) -> &[String];

    /// What it has besides.
    fn left_out(&self) -> &[LeftOut];

    /// Visits the records of one of [`Self::found`].
    ///
    /// # Errors
    /// [`Failure::Source`] and [`Failure::Refused`]; those of `visit`.
    fn read(&self, at: usize, visit: &mut Visit<'_>) -> Result<()>;

    /// Checks that all that was read is one state of the source.
    ///
    /// # Errors
    /// [`Failure::Source`] and [`Failure::Refused`].
    fn confirm(&self) -> Result<()> {
        Ok(())
    }

    /// Ends the reading.
    fn close(self: Box<Self>) {}
}

/// A failure to read the source.
#[cfg(any(feature = "lmdb", feature = "rocksdb"))]
pub(crate) fn unreadable(arguments: &Arguments, detail: impl std::fmt::Display) -> Failure {
    Failure::Source { path: arguments.source.display().to_string(), detail: detail.to_string() }
}
