//! The reader of lines of text: each line is a key without a value.

use super::InputError;
use super::csv::BYTE_ORDER_MARK;
use super::rows::{TextRows, Written};
use crate::pipe::InputFile;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 20;
/// Longest line: a key of 64 KiB and two bytes for the end of the line.
const LINE_LIMIT_BYTES: u64 = (1 << 16) + 2;

/// The lines of a file, each a row of one field. Lines end with LF or CR LF, which is optional for the last line.
#[derive(Debug)]
pub(crate) struct LineRows {
    reader: BufReader<InputFile>,
    path: PathBuf,
    length_bytes: Option<u64>,
    names: [String; 1],
    line: Vec<u8>,
    lines: u64,
    position_bytes: u64,
}

impl LineRows {
    /// The lines of an open file, which is at `path`.
    pub(crate) fn open(file: InputFile, path: &Path) -> Result<Self, InputError> {
        let refused = |source| InputError::Io { path: path.to_owned(), source };
        let length_bytes = file.length_bytes().map_err(refused)?;
        Ok(Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, file),
            path: path.to_owned(),
            length_bytes,
            names: [String::new()],
            line: Vec::new(),
            lines: 0,
            position_bytes: 0,
        })
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
        self.line.clear();
        let read = (&mut self.reader)
            .take(LINE_LIMIT_BYTES)
            .read_until(b'\n', &mut self.line)
            .map_err(|source| InputError::Io { path: self.path.clone(), source })?;
        if read == 0 {
            return Ok(false);
        }
        self.lines += 1;
        self.position_bytes += read as u64;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        } else if read as u64 == LINE_LIMIT_BYTES {
            let (path, limit_bytes) = (self.path.clone(), LINE_LIMIT_BYTES - 2);
            return Err(InputError::LineTooLong { path, line: self.lines, limit_bytes });
        }
        if self.lines == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(true)
    }

    fn field(&self, _column: usize) -> Written<'_> {
        Written::Text(&self.line)
    }

    fn position_bytes(&self) -> u64 {
        self.position_bytes
    }

    fn length_bytes(&self) -> Option<u64> {
        self.length_bytes
    }
}
