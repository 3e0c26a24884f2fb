//! The reader of lines of text: each line is a key without a value.

use super::InputError;
use super::rows::TextRows;
use crate::reading::decoded::{DecodedInput, RawReads};
use ogive_text::{BYTE_ORDER_MARK, Written};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const BUFFER_BYTES: usize = 1 << 20;
/// Longest line: a key of 64 KiB and two bytes for the end of the line.
const LINE_LIMIT_BYTES: u64 = (1 << 16) + 2;

/// Reads a file line by line.
#[derive(Debug)]
pub(super) struct LineReader {
    reader: BufReader<PutBack>,
    /// The byte that ends lines.
    end: u8,
    pub(super) path: PathBuf,
    pub(super) length_bytes: Option<u64>,
    /// The current line, with its end.
    pub(super) line: Vec<u8>,
    /// Lines read so far.
    pub(super) lines: u64,
    raw: Arc<RawReads>,
}

impl LineReader {
    /// The lines of an open file, which is at `path`.
    pub(super) fn open(file: DecodedInput, path: &Path) -> Result<Self, InputError> {
        Ok(Self {
            length_bytes: file.length_bytes(),
            raw: file.raw_reads(),
            reader: BufReader::with_capacity(BUFFER_BYTES, PutBack { ahead: Cursor::default(), file }),
            end: b'\n',
            path: path.to_owned(),
            line: Vec::new(),
            lines: 0,
        })
    }

    /// Bytes of the input itself that were read, perhaps ahead of the line.
    pub(super) fn position_bytes(&self) -> u64 {
        self.raw.bytes()
    }

    /// The first byte of the text that is no space, before anything is read; the spaces before it are skipped.
    pub(super) fn first_byte(&mut self) -> Result<Option<u8>, InputError> {
        let mut is_start = true;
        loop {
            let piece = self.reader.fill_buf().map_err(|source| InputError::Io { path: self.path.clone(), source })?;
            let mark = usize::from(is_start && piece.starts_with(BYTE_ORDER_MARK)) * BYTE_ORDER_MARK.len();
            let spaces = piece[mark..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let (skipped, length) = (mark + spaces, piece.len());
            let found = piece.get(skipped).copied();
            self.lines += piece[..skipped].iter().filter(|byte| **byte == b'\n').count() as u64;
            self.reader.consume(skipped);
            if found.is_some() || length == 0 {
                return Ok(found);
            }
            is_start = false;
        }
    }

    /// Reads the next line, but at most `limit_bytes` of it, and returns the bytes read: 0 at the end. The first line
    /// lacks the byte order mark of the file.
    pub(super) fn advance(&mut self, limit_bytes: u64) -> Result<u64, InputError> {
        self.line.clear();
        let read = (&mut self.reader)
            .take(limit_bytes)
            .read_until(self.end, &mut self.line)
            .map_err(|source| InputError::Io { path: self.path.clone(), source })? as u64;
        if read > 0 {
            self.lines += 1;
        }
        if self.lines == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(read)
    }

    /// Takes the first line again, as several ones that end with carriage returns.
    fn divide_by_returns(&mut self) {
        let buffered = self.reader.buffer();
        let (ahead, length) = ([&self.line, buffered].concat(), buffered.len());
        self.reader.consume(length);
        self.reader.get_mut().ahead = Cursor::new(ahead);
        (self.end, self.lines) = (b'\r', 0);
    }
}

/// A file, and bytes that were read of it and are read again.
#[derive(Debug)]
struct PutBack {
    ahead: Cursor<Vec<u8>>,
    file: DecodedInput,
}

impl Read for PutBack {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.ahead.read(buffer)? {
            0 => self.file.read(buffer),
            read => Ok(read),
        }
    }
}

/// The lines of a file, each a row of one field. Lines end with LF or CR LF, or, as on old Macs, with CR if no LF is in
/// the first bytes that a line may have. The end of the last line is optional.
#[derive(Debug)]
pub(crate) struct LineRows {
    lines: LineReader,
    names: [String; 1],
}

impl LineRows {
    /// The lines of an open file, which is at `path`.
    pub(crate) fn open(file: DecodedInput, path: &Path) -> Result<Self, InputError> {
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
        let mut read = self.lines.advance(LINE_LIMIT_BYTES)?;
        let is_divided = |line: &[u8]| line.last() != Some(&b'\n') && line.contains(&b'\r');
        if self.lines.lines == 1 && self.lines.end == b'\n' && is_divided(&self.lines.line) {
            self.lines.divide_by_returns();
            read = self.lines.advance(LINE_LIMIT_BYTES)?;
        }
        let end = self.lines.end;
        let line = &mut self.lines.line;
        if line.pop_if(|last| *last == end).is_some() {
            line.pop_if(|last| *last == b'\r' && end == b'\n');
        } else if read == LINE_LIMIT_BYTES {
            let (path, limit_bytes) = (self.lines.path.clone(), LINE_LIMIT_BYTES - 2);
            return Err(InputError::LineTooLong { path, line: self.lines.lines, limit_bytes });
        }
        Ok(read > 0)
    }

    fn line(&self) -> u64 {
        self.lines.lines
    }

    fn write_row(&self, row: &mut Vec<u8>) {
        row.extend_from_slice(&self.lines.line);
    }

    fn field(&self, _column: usize) -> Written<'_> {
        Written::Text(&self.lines.line)
    }

    fn position_bytes(&self) -> u64 {
        self.lines.position_bytes()
    }

    fn length_bytes(&self) -> Option<u64> {
        self.lines.length_bytes
    }
}
