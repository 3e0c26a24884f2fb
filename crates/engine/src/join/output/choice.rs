//! The output of a join: a table, a file of records, a text file, or a callback.

use super::file::{LineSink, RecordWriter};
use super::table::TableOutput;
use crate::error::Result;
use crate::io::Storage;
use crate::join::emit::{CallerSink, Emitter, RowForm, Visit};
use crate::join::merge::Sink;
use crate::join::task::Task;
use crate::table::WriteOptions;
use crate::tune::DesignRequest;
use std::fmt;
use std::sync::Arc;

/// Appends the line of a row, its end included: key, left value, and right value unless there is none.
pub(super) type Line = dyn FnMut(&[u8], &[u8], Option<&[u8]>, &mut Vec<u8>) + Send;

/// Where the rows of a join go. A table or a file has its name only when it is complete and durable; what takes fewer rows than there are,
/// because of an error or an interruption, leaves nothing behind.
///
/// A row of a table, or of a file of records, is the key and one value: in an inner join the left value and the right one behind it; in a
/// left join the byte 1, the left and the right value, or, for a row without partner, the byte 0, the left value and zeros; in the others
/// the left value. So it is where all keys, and all values of each side that is given, are known to have one width: keys by their type
/// (those of text and bytes have none), values by what the source states. A table then has that of its values as [`Table::value_width`],
/// and none otherwise. Else the value begins with the length of the left value (a varint: seven bits a byte, the lowest first), in joins of
/// any kind; then come the left value, in a left join the byte 1 or 0, and the right value, if there is one.
///
/// [`Table::value_width`]: crate::table::Table::value_width
#[derive(Debug)]
pub struct Output {
    target: Target,
}

enum Target {
    Table { storage: Arc<dyn Storage>, name: String, options: Box<WriteOptions> },
    Records { storage: Arc<dyn Storage>, name: String, replace: bool },
    Lines { storage: Arc<dyn Storage>, name: String, replace: bool, line: Box<Line> },
    Caller(Box<Visit>),
}

impl fmt::Debug for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table { name, .. } => write!(formatter, "table {name:?}"),
            Self::Records { name, .. } => write!(formatter, "records {name:?}"),
            Self::Lines { name, .. } => write!(formatter, "lines {name:?}"),
            Self::Caller(_) => formatter.write_str("caller"),
        }
    }
}

impl Output {
    /// A new table. Of the options, those of keys and values are set by the join. The design [`DesignRequest::Coded`], which
    /// [`Self::options`] has, takes a few bytes of memory for each block; [`DesignRequest::Tuned`] some hundred.
    #[must_use]
    pub fn table(storage: Arc<dyn Storage>, name: &str, options: WriteOptions) -> Self {
        Self { target: Target::Table { storage, name: name.to_owned(), options: Box::new(options) } }
    }

    /// Options for [`Self::table`] that need the least memory and time: exact separators, blocks of 4 KiB.
    #[must_use]
    pub fn options() -> WriteOptions {
        WriteOptions { design: DesignRequest::Coded, ..WriteOptions::default() }
    }

    /// A file of plain records, which an index can be made beside (`table::external::RecordFile`, keys big-endian, no header): keys, and values of
    /// each side, must have one width. An existing file is replaced only where `replace` is set.
    #[must_use]
    pub fn records(storage: Arc<dyn Storage>, name: &str, replace: bool) -> Self {
        Self { target: Target::Records { storage, name: name.to_owned(), replace } }
    }

    /// A text file; `line` appends the line of a row to what is written, its end included: key, left value, and right value unless there is none.
    #[must_use]
    pub fn lines(
        storage: Arc<dyn Storage>,
        name: &str,
        replace: bool,
        line: impl FnMut(&[u8], &[u8], Option<&[u8]>, &mut Vec<u8>) + Send + 'static,
    ) -> Self {
        Self { target: Target::Lines { storage, name: name.to_owned(), replace, line: Box::new(line) } }
    }

    /// The caller: key, left value, and right value, which is `None` in semi and anti joins and for rows without partner. An error ends the join.
    #[must_use]
    pub fn caller(visit: impl FnMut(&[u8], &[u8], Option<&[u8]>) -> Result<()> + Send + 'static) -> Self {
        Self { target: Target::Caller(Box::new(visit)) }
    }

    /// Where files of the output go, if it has any.
    pub(crate) fn storage(&self) -> Option<(&Arc<dyn Storage>, &str)> {
        match &self.target {
            Target::Table { storage, name, .. }
            | Target::Records { storage, name, .. }
            | Target::Lines { storage, name, .. } => Some((storage, name)),
            Target::Caller(_) => None,
        }
    }

    /// Whether rows must come in key order, whatever the join was told.
    pub(crate) fn needs_order(&self) -> bool {
        matches!(self.target, Target::Table { .. })
    }

    /// Begins the output, with about `memory_bytes` of the task's budget for what it buffers.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] where rows have no one width and the output needs one, or where memory is short;
    /// those of [`TableWriter::create`](crate::table::TableWriter::create); whatever the storage reports.
    pub(crate) fn begin(self, form: RowForm, task: &Arc<Task>, memory_bytes: u64) -> Result<Box<dyn Sink>> {
        match self.target {
            Target::Table { storage, name, options } => {
                let writer = TableOutput::create(storage, &name, *options, form, task, memory_bytes)?;
                Ok(Box::new(Emitter::new(form, Box::new(writer))))
            }
            Target::Records { storage, name, replace } => {
                let writer = RecordWriter::create(storage, &name, replace, form, task, memory_bytes)?;
                Ok(Box::new(Emitter::new(form, Box::new(writer))))
            }
            Target::Lines { storage, name, replace, line } => {
                Ok(Box::new(LineSink::create(storage, &name, replace, line, task, memory_bytes)?))
            }
            Target::Caller(visit) => Ok(Box::new(CallerSink { visit, rows: 0 })),
        }
    }
}
