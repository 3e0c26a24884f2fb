//! The reader of files of separated fields: comma-separated values (RFC 4180), tab-separated ones with escapes, and
//! others.
//!
//! Where the standard is silent, it reads what other readers do: rows end with LF, CR or both, empty lines are no rows
//! (of one column, those that may be null are rows, as PostgreSQL has them), and a quote within a field that does not
//! begin with one is a character. Other than those readers, it tells `""` from a field without any characters, and
//! refuses a quote that is not closed and text behind one that is.

use crate::infer::CONVERTED;
use crate::row_parser::{FieldKind, RowParser, State};
pub use crate::separated::BYTE_ORDER_MARK;
use crate::separated::{FieldForm, QUOTE, Separated, SeparatorLine};
use ogive_terminal::counted;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

const BUFFER_BYTES: usize = 1 << 16;
/// Most columns of a file: sixteen times those of a row of Ogive. A column takes hundreds of bytes, a field sixteen.
pub const COLUMNS_MAX: usize = 32_768;

/// A file that cannot be read, or has no meaning.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// An error of the system.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A file without any row.
    #[error("contains no records")]
    Empty,
    /// A row that exceeds the limit on memory.
    #[error("row {record} is longer than {limit_bytes} bytes")]
    RowTooLong {
        /// Number of the row, counted from 1 without the header.
        record: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// A row of more fields than any file has columns, which would take much more memory than its bytes.
    #[error("the row in line {line} has more than {COLUMNS_MAX} fields")]
    TooManyFields {
        /// Number of its line, counted from 1.
        line: u64,
    },
    /// Text behind the quote that ends a field.
    #[error("line {line} has text behind a closing quote; write a quote within quotes twice")]
    TextBehindQuote {
        /// Number of the line, counted from 1.
        line: u64,
    },
    /// A backslash that begins no escape.
    #[error("line {line} has a backslash that begins no escape")]
    UnknownEscape {
        /// Number of the line, counted from 1.
        line: u64,
    },
    /// A carriage return that belongs to a field with escapes.
    #[error("line {line} has a carriage return within a field; write it as \\r")]
    BareReturn {
        /// Number of the line, counted from 1.
        line: u64,
    },
    /// A row of another number of fields than those before it. Other than after other errors, the rows behind it can be
    /// read.
    #[error("the row in line {line} has {}, the rows before it have {expected}", counted(*fields as u64, "field"))]
    FieldCount {
        /// Number of its line, counted from 1.
        line: u64,
        /// Its fields.
        fields: usize,
        /// Those of the rows before it.
        expected: usize,
    },
    /// A column whose name is no text.
    #[error("line {line}: the name of column {column} is not UTF-8: {name}; {CONVERTED}")]
    NameNotText {
        /// Number of the line, counted from 1.
        line: u64,
        /// Number of the column, counted from 1.
        column: usize,
        /// The name, with escapes for bytes that are no text.
        name: String,
    },
    /// A quote that is not closed.
    #[error("{0}")]
    Malformed(String),
}

/// A field as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written<'a> {
    /// A null.
    Null,
    /// Nothing at all: a null where there may be one, else empty text.
    Nothing,
    /// Text of any type; empty text is a null in columns of other types.
    Text(&'a [u8]),
    /// A string, which is neither a number nor a truth value.
    String(&'a [u8]),
    /// What is no scalar.
    Nested(&'a [u8]),
}

impl<'a> Written<'a> {
    /// The text.
    #[must_use]
    pub fn text(self) -> &'a [u8] {
        match self {
            Self::Null | Self::Nothing => &[],
            Self::Text(text) | Self::String(text) | Self::Nested(text) => text,
        }
    }
}

/// Layout of a file.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The form of its rows.
    pub form: Separated,
    /// Whether what has no meaning is taken as it is.
    pub is_lenient: bool,
    /// Whether the first record names the columns.
    pub has_header: bool,
    /// A record longer than this is refused.
    pub record_limit_bytes: u64,
    /// The text of a field without quotes that is a null. A field without anything is empty text then.
    pub null: Option<Box<str>>,
    /// Whether a first line such as `sep=;`, which is no row in quoted form, states the delimiter.
    pub takes_stated_delimiter: bool,
}

impl Layout {
    /// Comma-separated values with names of the columns, and records of at most 256 MiB.
    pub const CSV: Self = Self {
        form: Separated::CSV,
        is_lenient: false,
        has_header: true,
        record_limit_bytes: 256 << 20,
        null: None,
        takes_stated_delimiter: true,
    };
}

/// Reads the rows of a file of separated fields.
#[derive(Debug)]
pub struct FieldReader<R> {
    reader: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    layout: Layout,
    row: RowParser,
    position_bytes: u64,
    fields: usize,
    records: u64,
    /// Whether the row is the first record, read for its number of fields and not handed out yet.
    is_ahead: bool,
    /// Empty lines before that record which are rows of its only column, not handed out yet.
    blanks_ahead: u64,
    /// Whether the row is one of them.
    is_blank_ahead: bool,
    /// Whether a field of a form without quotes was in quotes.
    has_quotes: bool,
    /// The names of columns that are not UTF-8.
    altered_names: Vec<(usize, String)>,
    header_line: u64,
}

/// The line at the start of a file that states the delimiter, if it has one. Bytes are added to `start`, and no more
/// than the line may have: the file may be a pipe, whose writer waits.
fn separator_line(file: &mut impl Read, start: &mut Vec<u8>) -> io::Result<SeparatorLine> {
    loop {
        match SeparatorLine::of(start) {
            SeparatorLine::Begun if file.by_ref().take(1).read_to_end(start)? > 0 => {}
            // The file ends.
            SeparatorLine::Begun => return Ok(SeparatorLine::No),
            known => return Ok(known),
        }
    }
}

impl<R: Read> FieldReader<R> {
    /// The rows of a file, and the names of its columns: without a header they are `column1` and so on.
    ///
    /// # Errors
    /// [`TextError::Empty`] without any row; [`TextError`] for a bad one.
    pub fn open(mut file: R, mut layout: Layout) -> Result<(Self, Vec<String>), TextError> {
        let mut start = Vec::new();
        file.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut start)?;
        let mut position_bytes = 0;
        if start == BYTE_ORDER_MARK {
            position_bytes = start.len() as u64;
            start.clear();
        }
        let mut stated = SeparatorLine::No;
        if layout.form.fields == FieldForm::Quoted {
            stated = separator_line(&mut file, &mut start)?;
        }
        if let SeparatorLine::Line { delimiter, length } = stated {
            position_bytes += length as u64;
            start.drain(..length);
            layout.form.delimiter = if layout.takes_stated_delimiter { delimiter } else { layout.form.delimiter };
        }
        let mut row = RowParser::new(layout.form, layout.is_lenient);
        if matches!(stated, SeparatorLine::Line { .. }) {
            row.skip_line();
        }
        let mut rows = Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, Cursor::new(start).chain(file)),
            row,
            layout,
            position_bytes,
            fields: 0,
            records: 0,
            is_ahead: false,
            blanks_ahead: 0,
            is_blank_ahead: false,
            has_quotes: false,
            altered_names: Vec::new(),
            header_line: 1,
        };
        let names = rows.read_names()?;
        Ok((rows, names))
    }

    /// The line of the names of the columns, if they have one.
    #[must_use]
    pub fn header_line(&self) -> u64 {
        self.header_line
    }

    fn read_names(&mut self) -> Result<Vec<String>, TextError> {
        if !self.read_row()? {
            return Err(TextError::Empty);
        }
        self.header_line = self.row.line();
        self.fields = self.row.len();
        self.row.set_fields(self.fields);
        let columns = 0..self.fields;
        if self.layout.has_header {
            return columns.map(|column| self.name(column)).collect();
        }
        self.is_ahead = true;
        self.blanks_ahead = if self.fields == 1 { self.row.empty_lines() } else { 0 };
        Ok(columns.map(|column| format!("column{}", column + 1)).collect())
    }

    /// The names of columns that are not UTF-8, which only lenient rows have: the position of each, counted from 0, and
    /// what is written, with escapes.
    pub fn altered_names(&self) -> &[(usize, String)] {
        &self.altered_names
    }

    /// The name of a column, in the row of the header.
    fn name(&mut self, column: usize) -> Result<String, TextError> {
        let field = self.row.field(column);
        match std::str::from_utf8(field) {
            Ok(name) => Ok(name.to_owned()),
            Err(_) if self.layout.is_lenient => {
                self.altered_names.push((column, crate::shortened(field)));
                Ok(String::from_utf8_lossy(field).into_owned())
            }
            Err(_) => {
                let (line, name) = (self.row.line(), crate::shortened(field));
                Err(TextError::NameNotText { line, column: column + 1, name })
            }
        }
    }

    /// Reads a row; `false` at the end.
    fn read_row(&mut self) -> Result<bool, TextError> {
        self.row.begin();
        let start_bytes = self.position_bytes;
        loop {
            let piece = match self.reader.fill_buf() {
                Ok(piece) => piece,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(source.into()),
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
                let limit_bytes = self.layout.record_limit_bytes;
                return Err(TextError::RowTooLong { record: self.records, limit_bytes });
            }
            if self.row.len() > COLUMNS_MAX {
                return Err(TextError::TooManyFields { line: self.row.line() });
            }
            match (self.row.state(), is_done, is_end) {
                (State::Refused, ..) => return Err(self.refused()),
                (_, true, _) if self.is_bare_return()? => {
                    return Err(TextError::BareReturn { line: self.row.current_line() });
                }
                (_, true, _) => {
                    self.look_for_quotes();
                    return Ok(true);
                }
                (State::Quoted, false, true) => {
                    let detail = format!("the row that starts in line {} has an unclosed quote", self.row.line());
                    return Err(TextError::Malformed(detail));
                }
                (_, false, true) => return Ok(false),
                (_, false, false) => {}
            }
        }
    }

    /// Notes a field that begins with a quote where these are characters.
    fn look_for_quotes(&mut self) {
        if !self.has_quotes && self.layout.form.fields == FieldForm::Escaped {
            self.has_quotes = (0..self.row.len()).any(|column| self.row.field(column).starts_with(&[QUOTE]));
        }
    }

    /// Whether a field began with a quote though quotes are characters in this form: the file may be one of quoted
    /// fields.
    #[must_use]
    pub fn has_quotes(&self) -> bool {
        self.has_quotes
    }

    /// Whether the row of escaped fields ended with a carriage return that belongs to a field: no line feed follows as
    /// behind other rows.
    fn is_bare_return(&mut self) -> Result<bool, TextError> {
        let is_escaped = self.layout.form.fields == FieldForm::Escaped;
        if !is_escaped || self.layout.is_lenient || !self.row.wants_line_feed() {
            return Ok(false);
        }
        loop {
            match self.reader.fill_buf() {
                Ok(piece) => return Ok(piece.first().is_some_and(|byte| *byte != b'\n')),
                Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(source.into()),
            }
        }
    }

    /// The error at what has no meaning.
    fn refused(&self) -> TextError {
        let line = self.row.current_line();
        match self.layout.form.fields {
            FieldForm::Quoted => TextError::TextBehindQuote { line },
            // Plain fields refuse nothing.
            FieldForm::Escaped | FieldForm::Plain => TextError::UnknownEscape { line },
        }
    }

    /// Reads the next row; `false` at the end.
    ///
    /// # Errors
    /// [`TextError`] for a bad row; there are no others afterwards.
    pub fn advance(&mut self) -> Result<bool, TextError> {
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
        if self.row.len() != self.fields {
            return Err(TextError::FieldCount { line: self.row.line(), fields: self.row.len(), expected: self.fields });
        }
        Ok(true)
    }

    /// Whether the current row is an empty line, which is a row of the only column if that may be null.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.fields == 1 && self.field(0) == Written::Nothing
    }

    /// A field of the current row.
    #[must_use]
    pub fn field(&self, column: usize) -> Written<'_> {
        if self.is_blank_ahead {
            return Written::Nothing;
        }
        let (text, kind) = self.row.part(column);
        match (kind, &self.layout.null) {
            (FieldKind::Null, _) => Written::Null,
            (FieldKind::Plain, Some(null)) if null.as_bytes() == text => Written::Null,
            (FieldKind::Plain, None) if text.is_empty() && self.layout.form.fields == FieldForm::Quoted => {
                Written::Nothing
            }
            _ => Written::Text(text),
        }
    }

    /// The line in which the current row starts, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.row.line()
    }

    /// The fields of the current row, however many it has, as they were written.
    pub fn write_row(&self, line: &mut Vec<u8>) {
        let mut row = self.layout.form.row(line);
        for column in 0..self.row.len() {
            let field = match (self.row.part(column), self.layout.form.fields) {
                ((_, FieldKind::Null), _) | (([], FieldKind::Plain), FieldForm::Quoted) => None,
                ((text, _), _) => Some(text),
            };
            row.field(field);
        }
    }

    /// The number of rows so far, of which the last one may be the end.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of the file read so far.
    #[must_use]
    pub fn position_bytes(&self) -> u64 {
        self.position_bytes
    }
}
