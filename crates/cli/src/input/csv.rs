//! The reader of comma-separated values and of files with other delimiters (RFC 4180).
//!
//! Where the standard is silent, it reads what other readers do: rows end with LF, CR or both, empty lines are no rows,
//! a quote within a field that does not begin with one is a character, and so is what follows a closing quote. Other
//! than those readers, it tells `""` from a field without any characters, and refuses a quote that is not closed.

use super::InputError;
use super::rows::{TextRows, Written};
use crate::pipe::InputFile;
use crate::size::counted;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 16;

/// Layout of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CsvLayout {
    /// Byte between fields.
    pub(crate) delimiter: u8,
    /// Whether the first record names the columns.
    pub(crate) has_header: bool,
    /// A record longer than this is refused.
    pub(crate) record_limit_bytes: u64,
}

/// The rows of a file of comma-separated values.
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
            row: RowParser::new(layout.delimiter),
            path: path.to_owned(),
            length_bytes,
            position_bytes,
            names: Vec::new(),
            records: 0,
            is_ahead: false,
        };
        rows.read_names()?;
        Ok(rows)
    }

    fn read_names(&mut self) -> Result<(), InputError> {
        if !self.read_row()? {
            return Err(InputError::Empty { path: self.path.clone() });
        }
        let columns = 0..self.row.ends.len();
        if self.layout.has_header {
            self.names = columns.map(|column| String::from_utf8_lossy(self.row.field(column)).into_owned()).collect();
        } else {
            self.names = columns.map(|column| format!("column{}", column + 1)).collect();
            self.is_ahead = true;
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
            match (is_done, is_end) {
                (true, _) => return Ok(true),
                (false, true) if self.row.state == State::Quoted => {
                    let detail = format!("the row that starts in line {} has an unclosed quote", self.row.line);
                    return Err(InputError::Malformed { path: self.path.clone(), detail });
                }
                (false, true) => return Ok(false),
                (false, false) => {}
            }
        }
    }
}

impl TextRows for CsvRows {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn advance(&mut self) -> Result<bool, InputError> {
        self.records += 1;
        if std::mem::take(&mut self.is_ahead) {
            return Ok(true);
        }
        if !self.read_row()? {
            return Ok(false);
        }
        let (found, expected) = (self.row.ends.len(), self.names.len());
        if found != expected {
            let detail = format!(
                "the row in line {} has {}, the rows before it have {expected}",
                self.row.line,
                counted(found as u64, "field")
            );
            return Err(InputError::Malformed { path: self.path.clone(), detail });
        }
        Ok(true)
    }

    fn field(&self, column: usize) -> Written<'_> {
        match self.row.field(column) {
            [] if !self.row.is_quoted(column) => Written::Nothing,
            text => Written::Text(text),
        }
    }

    fn position_bytes(&self) -> u64 {
        self.position_bytes
    }

    fn length_bytes(&self) -> Option<u64> {
        self.length_bytes
    }
}

/// What some editors put at the start of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The fields of one row, taken from the pieces of the input as they come.
#[derive(Debug)]
struct RowParser {
    delimiter: u8,
    state: State,
    /// The text of the fields, one after the other.
    text: Vec<u8>,
    /// Where each field ends in the text, and whether it was in quotes.
    ends: Vec<(usize, bool)>,
    /// Whether the current field was in quotes.
    is_quoted: bool,
    /// The line in which the row starts, and the current one, from 1.
    line: u64,
    current_line: u64,
}

/// The place in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a row, where ends of lines are skipped.
    RowStart,
    FieldStart,
    Plain,
    Quoted,
    /// Behind a quote in quotes, which is the closing one unless another follows.
    Closed,
}

impl RowParser {
    fn new(delimiter: u8) -> Self {
        let (text, ends) = (Vec::new(), Vec::new());
        Self { delimiter, state: State::RowStart, text, ends, is_quoted: false, line: 1, current_line: 1 }
    }

    fn begin(&mut self) {
        self.state = State::RowStart;
        self.text.clear();
        self.ends.clear();
    }

    /// Whether the row has not begun.
    fn is_empty(&self) -> bool {
        self.state == State::RowStart && self.ends.is_empty()
    }

    fn field(&self, column: usize) -> &[u8] {
        let start = column.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(end, _)| *end);
        self.ends.get(column).and_then(|(end, _)| self.text.get(start..*end)).unwrap_or_default()
    }

    fn is_quoted(&self, column: usize) -> bool {
        self.ends.get(column).is_some_and(|(_, is_quoted)| *is_quoted)
    }

    /// Takes bytes of a piece of the input; gives their number, and whether the row is complete.
    fn take(&mut self, piece: &[u8]) -> (usize, bool) {
        let delimiter = self.delimiter;
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            match self.state {
                State::RowStart if matches!(byte, b'\r' | b'\n') => {
                    self.current_line += u64::from(byte == b'\n');
                    at += 1;
                }
                State::RowStart => (self.state, self.line) = (State::FieldStart, self.current_line),
                State::FieldStart if byte == b'"' => {
                    (self.state, self.is_quoted) = (State::Quoted, true);
                    at += 1;
                }
                State::FieldStart => self.state = State::Plain,
                State::Plain => {
                    let rest = &piece[at..];
                    let is_end = |byte: &u8| *byte == delimiter || matches!(byte, b'\r' | b'\n');
                    let length = rest.iter().position(is_end).unwrap_or(rest.len());
                    self.text.extend_from_slice(&rest[..length]);
                    at += length;
                    if let Some(&end) = rest.get(length) {
                        at += 1;
                        if self.end_field(end) {
                            return (at, true);
                        }
                    }
                }
                State::Quoted => {
                    let rest = &piece[at..];
                    let length = rest.iter().position(|byte| *byte == b'"').unwrap_or(rest.len());
                    self.text.extend_from_slice(&rest[..length]);
                    self.current_line += rest[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
                    at += length;
                    if length < rest.len() {
                        self.state = State::Closed;
                        at += 1;
                    }
                }
                State::Closed if byte == b'"' => {
                    self.text.push(byte);
                    self.state = State::Quoted;
                    at += 1;
                }
                State::Closed => self.state = State::Plain,
            }
        }
        (at, false)
    }

    /// Ends a field at a delimiter or the end of a line; `true` if the row ends, too.
    fn end_field(&mut self, end: u8) -> bool {
        self.ends.push((self.text.len(), self.is_quoted));
        self.is_quoted = false;
        if end == self.delimiter {
            self.state = State::FieldStart;
            return false;
        }
        self.current_line += u64::from(end == b'\n');
        self.state = State::RowStart;
        true
    }

    /// Ends the row at the end of the input; `false` if there is none, or if it ends within quotes.
    fn end_input(&mut self) -> bool {
        !matches!(self.state, State::RowStart | State::Quoted) && self.end_field(b'\r')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a text that comes in pieces of `step` bytes.
    fn rows(text: &[u8], step: usize) -> Vec<Vec<Vec<u8>>> {
        let mut parser = RowParser::new(b',');
        let mut rows = Vec::new();
        let mut row = |parser: &mut RowParser| {
            rows.push((0..parser.ends.len()).map(|column| parser.field(column).to_vec()).collect());
            parser.begin();
        };
        for piece in text.chunks(step) {
            let mut at = 0;
            while at < piece.len() {
                let (taken, is_done) = parser.take(&piece[at..]);
                at += taken;
                if is_done {
                    row(&mut parser);
                }
            }
        }
        if parser.end_input() {
            row(&mut parser);
        }
        rows
    }

    /// All short texts of the bytes that matter, in pieces of each size, against the crate `csv`, which closes an open
    /// quote at the end.
    #[test]
    fn rows_are_those_that_other_readers_find() {
        const ALPHABET: [u8; 5] = *b"a,\"\n\r";
        for length in 0..7_u32 {
            for number in 0..5_usize.pow(length) {
                let text: Vec<u8> = (0..length).map(|place| ALPHABET[number / 5_usize.pow(place) % 5]).collect();
                let mut reference = csv::ReaderBuilder::new();
                let mut reference = reference.has_headers(false).flexible(true).from_reader(&text[..]);
                let expected: Vec<Vec<Vec<u8>>> = reference
                    .byte_records()
                    .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
                    .collect();
                let found = rows(&text, 7);
                let mut open = RowParser::new(b',');
                let mut at = 0;
                while at < text.len() {
                    if open.state == State::RowStart {
                        open.begin();
                    }
                    at += open.take(&text[at..]).0;
                }
                let is_open = open.state == State::Quoted;
                let expected = &expected[..expected.len() - usize::from(is_open)];
                assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(&text));
                for step in 1..4 {
                    assert_eq!(rows(&text, step), found, "{:?}", String::from_utf8_lossy(&text));
                }
            }
        }
    }

    #[test]
    fn lines_are_counted_to_the_start_of_a_row() {
        let mut parser = RowParser::new(b',');
        let text = b"a,b\r\n\n\"x\ny\",c\nlast\n";
        let mut lines = Vec::new();
        let mut at = 0;
        while at < text.len() {
            parser.begin();
            at += parser.take(&text[at..]).0;
            lines.push(parser.line);
        }
        assert_eq!(lines, [1, 3, 5]);
    }
}
