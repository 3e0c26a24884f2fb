//! The output of a join: a table, a file of records, a text file, or a callback.

use super::file::{LineFormatter, LineSink, OutputFile, RecordWriter};
use super::handed_rows::RowSender;
use super::table::TableOutput;
use crate::error::Result;
use crate::io::Storage;
use crate::join::methods::emit::{CallerSink, Emitter, RowCallback};
use crate::join::rows::form::RowForm;
use crate::join::rows::joined_records::JoinedRecords;
use crate::join::rows::sink::RowSink;
use crate::join::rows::task::Task;
use crate::table::TableWriteOptions;
use crate::tune::DesignRequest;
use std::fmt;
use std::sync::Arc;

/// The output of a join. A table or file appears under its name only when it is complete and durable; a failed or
/// interrupted join leaves nothing behind.
///
/// In a table, a record is a key and a row with the fields of both sides ([`JoinedRecords`]); the table states their
/// types. In a file of records, all keys have one width and so have the values of each side that appears: in an inner
/// join, the left value is followed by the right one; in a left or full join there is the byte 1, the left and the
/// right value, or, for a left row without partner, the byte 0, the left value and zeros, or, for a right one, the byte
/// 2, zeros and the right value; in a semi or anti join the left value. Keys have one width if their type has (text and
/// bytes do not), values if the source says so. The keys of a full join of sides with keys of different types are
/// bytes.
#[derive(Debug)]
pub struct JoinOutput<'a> {
    target: OutputTarget<'a>,
}

enum OutputTarget<'a> {
    Table { storage: Arc<dyn Storage>, name: String, options: Box<TableWriteOptions> },
    Records { storage: Arc<dyn Storage>, name: String, replace: bool },
    Lines { storage: Arc<dyn Storage>, name: String, replace: bool, header: Vec<u8>, line: Box<LineFormatter> },
    Caller(Box<RowCallback<'a>>),
    Rows(RowSender),
}

impl fmt::Debug for OutputTarget<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table { name, .. } => write!(formatter, "table {name:?}"),
            Self::Records { name, .. } => write!(formatter, "records {name:?}"),
            Self::Lines { name, .. } => write!(formatter, "lines {name:?}"),
            Self::Caller(_) => formatter.write_str("caller"),
            Self::Rows(_) => formatter.write_str("rows"),
        }
    }
}

impl<'a> JoinOutput<'a> {
    /// A new table. The join overrides the key and value options. The design [`DesignRequest::Coded`], the default of
    /// [`Self::options`], takes a few bytes of memory per block; [`DesignRequest::Tuned`] takes a few hundred.
    #[must_use]
    pub fn table(storage: Arc<dyn Storage>, name: &str, options: TableWriteOptions) -> Self {
        Self { target: OutputTarget::Table { storage, name: name.to_owned(), options: Box::new(options) } }
    }

    /// Options for [`Self::table`] with the least memory and time: exact separators, plain blocks of 4 KiB.
    #[must_use]
    pub fn options() -> TableWriteOptions {
        TableWriteOptions { design: DesignRequest::Coded, coding: false, ..TableWriteOptions::default() }
    }

    /// A file of plain records that an external index can be built over (`table::external::RecordFile`, big-endian
    /// keys, no header). Keys, and the values of each side, must have one width. `replace` allows replacing an existing
    /// file.
    #[must_use]
    pub fn records(storage: Arc<dyn Storage>, name: &str, replace: bool) -> Self {
        Self { target: OutputTarget::Records { storage, name: name.to_owned(), replace } }
    }

    /// A text file. `line` appends the line of a row to a buffer, including the line break: key, and the left and right
    /// values, as in [`Self::caller`]; an error that it returns ends the join. `replace` allows replacing an existing
    /// file.
    #[must_use]
    pub fn lines(
        storage: Arc<dyn Storage>,
        name: &str,
        replace: bool,
        line: impl FnMut(&[u8], Option<&[u8]>, Option<&[u8]>, &mut Vec<u8>) -> Result<()> + Send + 'static,
    ) -> Self {
        Self {
            target: OutputTarget::Lines {
                storage,
                name: name.to_owned(),
                replace,
                header: Vec::new(),
                line: Box::new(line),
            },
        }
    }

    /// Sets the first line of a text file, including the line break; it is written even if there is no row. Other
    /// outputs have none.
    #[must_use]
    pub fn header(mut self, first_line: impl Into<Vec<u8>>) -> Self {
        if let OutputTarget::Lines { header, .. } = &mut self.target {
            *header = first_line.into();
        }
        self
    }

    /// A callback that receives key, left value and right value. The right value is `None` in semi and anti joins and
    /// for left rows without partner, the left value for right rows without partner in full joins. The callback may
    /// borrow from its surroundings; an error that it returns ends the join.
    ///
    /// [`join_rows`](crate::join::join_rows) gives the rows as an iterator instead.
    #[must_use]
    pub fn caller(visit: impl FnMut(&[u8], Option<&[u8]>, Option<&[u8]>) -> Result<()> + Send + 'a) -> Self {
        Self { target: OutputTarget::Caller(Box::new(visit)) }
    }

    /// Rows for an iterator on another thread.
    pub(in crate::join) fn rows(sender: RowSender) -> Self {
        Self { target: OutputTarget::Rows(sender) }
    }

    /// Storage and name of the output file, if any.
    pub(crate) fn storage(&self) -> Option<(&Arc<dyn Storage>, &str)> {
        match &self.target {
            OutputTarget::Table { storage, name, .. }
            | OutputTarget::Records { storage, name, .. }
            | OutputTarget::Lines { storage, name, .. } => Some((storage, name)),
            OutputTarget::Caller(_) | OutputTarget::Rows(_) => None,
        }
    }

    /// Whether rows must come in key order, regardless of
    /// [`JoinOptions::any_order`](crate::join::JoinOptions::any_order).
    pub(crate) fn needs_order(&self) -> bool {
        matches!(self.target, OutputTarget::Table { .. })
    }

    /// Whether it can begin again after rows: a file leaves nothing behind, but a caller has had them.
    pub(crate) fn can_begin_again(&self) -> bool {
        self.storage().is_some()
    }

    /// Creates the output, with about `memory_bytes` of the task's budget for its buffers.
    ///
    /// # Errors
    /// [`crate::Cause::Input`] if rows vary in width and the output needs one width, or if memory is short;
    /// errors of [`TableWriter::create`](crate::table::TableWriter::create) and of the storage.
    pub(crate) fn begin(
        &mut self,
        form: RowForm,
        records: JoinedRecords,
        task: &Arc<Task>,
        memory_bytes: u64,
    ) -> Result<Box<dyn RowSink + '_>> {
        match &mut self.target {
            OutputTarget::Table { storage, name, options } => {
                let (form, options) = (form.of_records(records.marks()), (**options).clone());
                let target = (storage.clone(), &name[..]);
                let writer = TableOutput::create(target, options, form, records.record_type(), task, memory_bytes)?;
                Ok(Box::new(Emitter::of_records(form, records, Box::new(writer))))
            }
            OutputTarget::Records { storage, name, replace } => {
                let widths = RecordWriter::widths(&form, &storage.path(name))?;
                let file = OutputFile::create(storage.clone(), name, *replace, task, memory_bytes)?;
                Ok(Box::new(Emitter::dense(form, widths, Box::new(RecordWriter::new(file)))))
            }
            OutputTarget::Lines { storage, name, replace, header, line } => {
                let file = OutputFile::create(storage.clone(), name, *replace, task, memory_bytes)?;
                Ok(Box::new(LineSink::new(file, header, &mut **line)?))
            }
            OutputTarget::Caller(visit) => Ok(Box::new(CallerSink { visit: &mut **visit, rows: 0 })),
            OutputTarget::Rows(sender) => Ok(Box::new(sender.begin(task, memory_bytes)?)),
        }
    }
}
