//! The reader of lines of text: each line is a key without a value.

use super::InputError;
use super::keys::KeyReader;
use super::record::{Input, InputFacts, Record};
use crate::pipe::InputFile;
use ogive::KeyType;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

const BUFFER_BYTES: usize = 1 << 20;
/// Longest line: a key of 64 KiB and two bytes for the end of the line.
const LINE_LIMIT_BYTES: u64 = (1 << 16) + 2;

/// Reads one key per line. Lines end with LF or CR LF, which is optional for the last line.
#[derive(Debug)]
pub(crate) struct LinesInput {
    reader: BufReader<InputFile>,
    facts: InputFacts,
    line: Vec<u8>,
    keys: KeyReader,
    position_bytes: u64,
}

impl LinesInput {
    /// Opens a file whose lines are keys of `key_type`.
    pub(crate) fn open(path: &Path, key_type: KeyType, guessed: bool) -> Result<Self, InputError> {
        let refused = |source| InputError::Io { path: path.to_owned(), source };
        let file = InputFile::open(path).map_err(refused)?;
        let facts = InputFacts {
            path: path.to_owned(),
            key_type,
            value_width: Some(0),
            records: None,
            length_bytes: file.length_bytes().map_err(refused)?,
        };
        Ok(Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, file),
            facts,
            line: Vec::new(),
            keys: KeyReader::new(path, key_type, guessed),
            position_bytes: 0,
        })
    }
}

impl Input for LinesInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        self.line.clear();
        let read = (&mut self.reader)
            .take(LINE_LIMIT_BYTES)
            .read_until(b'\n', &mut self.line)
            .map_err(|source| InputError::Io { path: self.facts.path.clone(), source })?;
        if read == 0 {
            return Ok(None);
        }
        self.position_bytes += read as u64;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        } else if read as u64 == LINE_LIMIT_BYTES {
            let (path, line) = (self.facts.path.clone(), self.keys.records() + 1);
            return Err(InputError::LineTooLong { path, line, limit_bytes: LINE_LIMIT_BYTES - 2 });
        }
        let key = self.keys.read(&self.line)?;
        Ok(Some(Record { key, value: &[] }))
    }

    fn position_bytes(&self) -> u64 {
        self.position_bytes
    }
}
