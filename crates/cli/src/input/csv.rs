//! Rows of files of separated fields.

use super::InputError;
use super::error::is_like_value;
use super::rows::TextRows;
use crate::reading::decoded::{DecodedInput, RawReads};
use crate::reading::standard_input::shown;
use ogive_text::{FieldReader, Layout, TextError, Written};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What to say of quotes in a form without them.
const QUOTES_ARE_CHARACTERS: &str = "quotes are characters of TSV; --quote '\"' reads fields in quotes";

/// The rows of a file of separated fields.
#[derive(Debug)]
pub(crate) struct CsvRows {
    rows: FieldReader<DecodedInput>,
    path: PathBuf,
    length_bytes: Option<u64>,
    raw: Arc<RawReads>,
    names: Vec<String>,
    has_header: bool,
}

impl CsvRows {
    /// The rows of an open file, which is at `path`; reads the names of its columns.
    ///
    /// # Errors
    /// [`InputError::Empty`] without any row.
    pub(crate) fn open(file: DecodedInput, path: &Path, layout: Layout) -> Result<Self, InputError> {
        let (length_bytes, raw) = (file.length_bytes(), file.raw_reads());
        let has_header = layout.has_header;
        let (rows, names) = FieldReader::open(file, layout).map_err(|error| InputError::of_text(path, error))?;
        Ok(Self { rows, path: path.to_owned(), length_bytes, raw, names, has_header })
    }
}

impl InputError {
    /// The error of the text of a file.
    fn of_text(path: &Path, error: TextError) -> Self {
        let path = path.to_owned();
        match error {
            TextError::Io(source) => Self::Io { path, source },
            TextError::Empty => Self::Empty { path },
            TextError::RowTooLong { record, limit_bytes } => Self::RowTooLong { path, record, limit_bytes },
            TextError::TextBehindQuote { line } => Self::TextBehindQuote { path, line },
            TextError::UnknownEscape { line } => Self::UnknownEscape { path, line },
            TextError::BareReturn { line } => Self::BareReturn { path, line },
            error @ TextError::FieldCount { .. } => Self::BadRow { path, detail: error.to_string() },
            error => Self::Malformed { path, detail: error.to_string() },
        }
    }
}

impl TextRows for CsvRows {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn advance(&mut self) -> Result<bool, InputError> {
        let error = match self.rows.advance() {
            Ok(is_row) => return Ok(is_row),
            Err(error) => InputError::of_text(&self.path, error),
        };
        Err(match error {
            InputError::Malformed { path, detail } if self.rows.has_quotes() => {
                InputError::Malformed { path, detail: format!("{detail}; {QUOTES_ARE_CHARACTERS}") }
            }
            InputError::BadRow { path, detail } if self.rows.has_quotes() => {
                InputError::BadRow { path, detail: format!("{detail}; {QUOTES_ARE_CHARACTERS}") }
            }
            error => error,
        })
    }

    fn remarks(&self) -> Vec<String> {
        let path = shown(&self.path);
        let altered = self.rows.altered_names().iter().map(|(column, written)| {
            let (number, name) = (column + 1, &self.names[*column]);
            format!("the name of column {number} of {path}, '{written}', is not UTF-8, and became '{name}'")
        });
        let quotes = format!("{path} has fields that begin with quotes: {QUOTES_ARE_CHARACTERS}");
        // A row of numbers or dates is hardly one of names.
        let value = self.names.iter().filter(|_| self.has_header).find(|name| is_like_value(name));
        let header = value.map(|value| {
            let line = self.rows.header_line();
            format!(
                "line {line} of {path} has the names of columns, although one is '{value}'; --no-header reads it as a \
                 row"
            )
        });
        altered.chain(header).chain(self.rows.has_quotes().then_some(quotes)).collect()
    }

    fn is_blank(&self) -> bool {
        self.rows.is_blank()
    }

    fn line(&self) -> u64 {
        self.rows.line()
    }

    fn write_row(&self, row: &mut Vec<u8>) {
        self.rows.write_row(row);
    }

    fn field(&self, column: usize) -> Written<'_> {
        self.rows.field(column)
    }

    fn position_bytes(&self) -> u64 {
        self.raw.bytes()
    }

    fn length_bytes(&self) -> Option<u64> {
        self.length_bytes
    }
}
