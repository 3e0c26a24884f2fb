//! The reader of files of separated fields: comma-separated values (RFC 4180), tab-separated ones with escapes, and
//! others.
//!
//! Where the standard is silent, it reads what other readers do: rows end with LF, CR or both, empty lines are no rows
//! (of one column, those that may be null are rows, as PostgreSQL has them), and a quote within a field that does not
//! begin with one is a character. Other than those readers, it tells `""` from
//! a field without any characters, and refuses a quote that is not closed and text behind one that is.

use super::InputError;
use super::row_parser::{FieldKind, RowParser, State};
use super::rows::{TextRows, Written};
use crate::pipe::InputFile;
use crate::separated::{BYTE_ORDER_MARK, FieldForm, Separated};
use crate::size::counted;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 16;

/// Layout of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CsvLayout {
    pub(crate) form: Separated,
    /// Whether what has no meaning is taken as it is.
    pub(crate) is_lenient: bool,
    /// Whether the first record names the columns.
    pub(crate) has_header: bool,
    /// A record longer than this is refused.
    pub(crate) record_limit_bytes: u64,
}

/// The rows of a file of separated fields.
#[derive(Debug)]
pub(crate) struct CsvRows {
    reader: BufReader<Chain<Cursor<Vec<u8>>, InputFile>>,
    layout: CsvLayout,
    row: RowParser,
    path: PathBuf,
    length_bytes: Option<u64>,
    position_bytes: u64,
    names: Vec<String>,
    records: u64,
    /// Whether the row is the first record, read for its number of fields and not handed out yet.
    is_ahead: bool,
    /// Empty lines before that record which are rows of its only column, not handed out yet.
    blanks_ahead: u64,
    /// Whether the row is one of them.
    is_blank_ahead: bool,
}

impl CsvRows {
    /// The rows of an open file, which is at `path`; reads the names of its columns: without a header they are
    /// `column1` and so on.
    ///
    /// # Errors
    /// [`InputError::Empty`] without any row.
    pub(crate) fn open(mut file: InputFile, path: &Path, layout: CsvLayout) -> Result<Self, InputError> {
        let refused = |source| InputError::Io { path: path.to_owned(), source };
        let length_bytes = file.length_bytes().map_err(refused)?;
        let mut start = Vec::new();
        (&mut file).take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut start).map_err(refused)?;
        let mut position_bytes = 0;
        if start == BYTE_ORDER_MARK {
            position_bytes = start.len() as u64;
            start.clear();
        }
        let mut rows = Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, Cursor::new(start).chain(file)),
            layout,
            row: RowParser::new(layout.form, layout.is_lenient),
            path: path.to_owned(),
            length_bytes,
            position_bytes,
            names: Vec::new(),
            records: 0,
            is_ahead: false,
            blanks_ahead: 0,
            is_blank_ahead: false,
        };
        rows.read_names()?;
        Ok(rows)
    }

    fn read_names(&mut self) -> Result<(), InputError> {
        if !self.read_row()? {
            return Err(InputError::Empty { path: self.path.clone() });
        }
        let columns_count = self.row.len();
        let columns = 0..columns_count;
        self.row.set_fields(columns_count);
        if self.layout.has_header {
            self.names = columns.map(|column| String::from_utf8_lossy(self.row.field(column)).into_owned()).collect();
        } else {
            self.names = columns.map(|column| format!("column{}", column + 1)).collect();
            self.is_ahead = true;
            self.blanks_ahead = if columns_count == 1 { self.row.empty_lines() } else { 0 };
        }
        Ok(())
    }

    /// Reads a row; `false` at the end.
    fn read_row(&mut self) -> Result<bool, InputError> {
        self.row.begin();
        let start_bytes = self.position_bytes;
        loop {
            let piece = match self.reader.fill_buf() {
                Ok(piece) => piece,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(InputError::Io { path: self.path.clone(), source }),
            };
            let (taken, is_done) = match piece {
                [] => (0, self.row.end_input()),
                piece => self.row.take(piece),
            };
            let is_end = piece.is_empty();
            self.reader.consume(taken);
            self.position_bytes += taken as u64;
            if self.position_bytes - start_bytes > self.layout.record_limit_bytes && !self.row.is_empty() {
                // An unclosed quote would otherwise pull the whole file into memory.
                let (path, limit_bytes) = (self.path.clone(), self.layout.record_limit_bytes);
                return Err(InputError::RowTooLong { path, record: self.records, limit_bytes });
            }
            match (self.row.state(), is_done, is_end) {
                (State::Refused, ..) => return Err(self.refused()),
                (_, true, _) if self.is_bare_return()? => {
                    let (path, line) = (self.path.clone(), self.row.current_line());
                    return Err(InputError::BareReturn { path, line });
                }
                (_, true, _) => return Ok(true),
                (State::Quoted, false, true) => {
                    let detail = format!("the row that starts in line {} has an unclosed quote", self.row.line());
                    return Err(InputError::Malformed { path: self.path.clone(), detail });
                }
                (_, false, true) => return Ok(false),
                (_, false, false) => {}
            }
        }
    }

    /// Whether the row of escaped fields ended with a carriage return that belongs to a field: no line feed follows as
    /// behind other rows.
    fn is_bare_return(&mut self) -> Result<bool, InputError> {
        let is_escaped = self.layout.form.fields == FieldForm::Escaped;
        if !is_escaped || self.layout.is_lenient || !self.row.wants_line_feed() {
            return Ok(false);
        }
        loop {
            match self.reader.fill_buf() {
                Ok(piece) => return Ok(piece.first().is_some_and(|byte| *byte != b'\n')),
                Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(InputError::Io { path: self.path.clone(), source }),
            }
        }
    }

    /// The error at what has no meaning.
    fn refused(&self) -> InputError {
        let (path, line) = (self.path.clone(), self.row.current_line());
        match self.layout.form.fields {
            FieldForm::Quoted => InputError::TextBehindQuote { path, line },
            FieldForm::Escaped => InputError::UnknownEscape { path, line },
        }
    }
}

impl TextRows for CsvRows {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn advance(&mut self) -> Result<bool, InputError> {
        self.records += 1;
        self.is_blank_ahead = self.blanks_ahead > 0;
        if self.is_blank_ahead {
            self.blanks_ahead -= 1;
            return Ok(true);
        }
        if std::mem::take(&mut self.is_ahead) {
            return Ok(true);
        }
        if !self.read_row()? {
            return Ok(false);
        }
        let (found, expected) = (self.row.len(), self.names.len());
        if found != expected {
            let detail = format!(
                "the row in line {} has {}, the rows before it have {expected}",
                self.row.line(),
                counted(found as u64, "field")
            );
            return Err(InputError::Malformed { path: self.path.clone(), detail });
        }
        Ok(true)
    }

    fn is_blank(&self) -> bool {
        self.names.len() == 1 && self.field(0) == Written::Nothing
    }

    fn field(&self, column: usize) -> Written<'_> {
        if self.is_blank_ahead {
            return Written::Nothing;
        }
        match (self.row.field(column), self.row.kind(column), self.layout.form.fields) {
            (_, FieldKind::Null, _) => Written::Null,
            ([], FieldKind::Plain, FieldForm::Quoted) => Written::Nothing,
            (text, ..) => Written::Text(text),
        }
    }

    fn position_bytes(&self) -> u64 {
        self.position_bytes
    }

    fn length_bytes(&self) -> Option<u64> {
        self.length_bytes
    }
}
