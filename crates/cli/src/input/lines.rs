//! The reader of lines of text: each line is a key without a value.

use super::InputError;
use super::rows::TextRows;
use crate::reading::pipe::InputFile;
use ogive_text::{BYTE_ORDER_MARK, Written};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 20;
/// Longest line: a key of 64 KiB and two bytes for the end of the line.
const LINE_LIMIT_BYTES: u64 = (1 << 16) + 2;

/// Reads a file line by line.
#[derive(Debug)]
pub(super) struct LineReader {
    reader: BufReader<InputFile>,
    pub(super) path: PathBuf,
    pub(super) length_bytes: Option<u64>,
    /// The current line, with its end.
    pub(super) line: Vec<u8>,
    /// Lines read so far.
    pub(super) lines: u64,
    pub(super) position_bytes: u64,
}

impl LineReader {
    /// The lines of an open file, which is at `path`.
    pub(super) fn open(file: InputFile, path: &Path) -> Result<Self, InputError> {
        let refused = |source| InputError::Io { path: path.to_owned(), source };
        Ok(Self {
            length_bytes: file.length_bytes().map_err(refused)?,
            reader: BufReader::with_capacity(BUFFER_BYTES, file),
            path: path.to_owned(),
            line: Vec::new(),
            lines: 0,
            position_bytes: 0,
        })
    }

    /// Reads the next line, but at most `limit_bytes` of it, and returns the bytes read: 0 at the end. The first line
    /// lacks the byte order mark of the file.
    pub(super) fn advance(&mut self, limit_bytes: u64) -> Result<u64, InputError> {
        self.line.clear();
        let read = (&mut self.reader)
            .take(limit_bytes)
            .read_until(b'\n', &mut self.line)
            .map_err(|source| InputError::Io { path: self.path.clone(), source })? as u64;
        if read > 0 {
            self.lines += 1;
            self.position_bytes += read;
        }
        if self.lines == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(read)
    }
}

/// The lines of a file, each a row of one field. Lines end with LF or CR LF, which is optional for the last line.
#[derive(Debug)]
pub(crate) struct LineRows {
    lines: LineReader,
    names: [String; 1],
}

impl LineRows {
    /// The lines of an open file, which is at `path`.
    pub(crate) fn open(file: InputFile, path: &Path) -> Result<Self, InputError> {
        Ok(Self { lines: LineReader::open(file, path)?, names: [String::new()] })
    }
}

impl TextRows for LineRows {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn has_columns(&self) -> bool {
        false
    }

    fn advance(&mut self) -> Result<bool, InputError> {
        let read = self.lines.advance(LINE_LIMIT_BYTES)?;
        let line = &mut self.lines.line;
        if line.last() == Some(&b'\n') {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        } else if read == LINE_LIMIT_BYTES {
            let (path, limit_bytes) = (self.lines.path.clone(), LINE_LIMIT_BYTES - 2);
            return Err(InputError::LineTooLong { path, line: self.lines.lines, limit_bytes });
        }
        Ok(read > 0)
    }

    fn field(&self, _column: usize) -> Written<'_> {
        Written::Text(&self.lines.line)
    }

    fn position_bytes(&self) -> u64 {
        self.lines.position_bytes
    }

    fn length_bytes(&self) -> Option<u64> {
        self.lines.length_bytes
    }
}
