//! The reader of comma-separated values and of files with other delimiters.

use super::InputError;
use super::rows::TextRows;
use crate::pipe::InputFile;
use crate::size::counted;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    reader: csv::Reader<WatchedInput<InputFile>>,
    watch: Arc<InputWatch>,
    record_limit_bytes: u64,
    row: csv::ByteRecord,
    path: PathBuf,
    length_bytes: Option<u64>,
    names: Vec<String>,
    records: u64,
}

impl CsvRows {
    /// The rows of an open file, which is at `path`; reads the names of its columns: without a header they are
    /// `column1` and so on.
    ///
    /// # Errors
    /// [`InputError::Empty`] without any row.
    pub(crate) fn open(file: InputFile, path: &Path, layout: CsvLayout) -> Result<Self, InputError> {
        let refused = |source| InputError::Io { path: path.to_owned(), source };
        let length_bytes = file.length_bytes().map_err(refused)?;
        let watch = Arc::new(InputWatch::default());
        let limit_bytes = layout.record_limit_bytes.saturating_add(BUFFER_BYTES as u64);
        let watched = WatchedInput { inner: file, watch: Arc::clone(&watch), limit_bytes, marked: 0 };
        let reader = csv::ReaderBuilder::new()
            .delimiter(layout.delimiter)
            .has_headers(layout.has_header)
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(watched);
        let mut rows = Self {
            reader,
            watch,
            record_limit_bytes: layout.record_limit_bytes,
            row: csv::ByteRecord::new(),
            path: path.to_owned(),
            length_bytes,
            names: Vec::new(),
            records: 0,
        };
        rows.read_names(layout.has_header)?;
        Ok(rows)
    }

    fn read_names(&mut self, has_header: bool) -> Result<(), InputError> {
        // Without a header, the reader keeps the first row and hands it out again as a record.
        let first_row = match self.reader.byte_headers() {
            Ok(row) => row.clone(),
            Err(error) => return Err(self.explain(error)),
        };
        let is_end = self.is_end(&first_row)?;
        if is_end || first_row.is_empty() {
            return Err(InputError::Empty { path: self.path.clone() });
        }
        self.names = if has_header {
            first_row.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
        } else {
            (1..=first_row.len()).map(|number| format!("column{number}")).collect()
        };
        Ok(())
    }

    /// Whether a record is the mark after the last one.
    ///
    /// # Errors
    /// [`InputError::Malformed`] when the mark became part of a field because a quote was not closed.
    fn is_end(&self, row: &csv::ByteRecord) -> Result<bool, InputError> {
        let behind = self.reader.position().byte().saturating_sub(self.watch.read_bytes.load(Ordering::Relaxed));
        if behind < END_MARK.len() as u64 || !self.watch.ended.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if row.len() == 1 && row.get(0) == Some(&END_MARK[1..]) {
            return Ok(true);
        }
        let line = row.position().map_or(1, csv::Position::line);
        let detail = format!("the row that starts in line {line} has an unclosed quote");
        Err(InputError::Malformed { path: self.path.clone(), detail })
    }

    fn explain(&self, error: csv::Error) -> InputError {
        let path = self.path.clone();
        let record = self.records;
        let detail = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(source) if source.kind() == io::ErrorKind::FileTooLarge => {
                InputError::RowTooLong { path, record, limit_bytes: self.record_limit_bytes }
            }
            csv::ErrorKind::Io(source) => InputError::Io { path, source },
            csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
                let line = pos.map_or(0, |position| position.line());
                let detail = format!(
                    "the row in line {line} has {}, the rows before it have {expected_len}",
                    counted(len, "field")
                );
                InputError::Malformed { path, detail }
            }
            _ => InputError::Malformed { path, detail },
        }
    }
}

impl TextRows for CsvRows {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn advance(&mut self) -> Result<bool, InputError> {
        self.watch.since_record.store(0, Ordering::Relaxed);
        let outcome = self.reader.read_byte_record(&mut self.row);
        // The mark has one field, so it may differ from the rows in length.
        if matches!(outcome, Ok(true) | Err(_)) && self.is_end(&self.row)? {
            return Ok(false);
        }
        self.records += 1;
        outcome.map_err(|error| self.explain(error))
    }

    fn field(&self, column: usize) -> &[u8] {
        self.row.get(column).unwrap_or_default()
    }

    fn position_bytes(&self) -> u64 {
        self.reader.position().byte().min(self.watch.read_bytes.load(Ordering::Relaxed))
    }

    fn length_bytes(&self) -> Option<u64> {
        self.length_bytes
    }
}

/// A mark appended to the input, to detect unclosed quotes: after a complete row it is a row of its own, within a quote
/// it is part of a field. The crate `csv` itself closes quotes at the end of the input.
const END_MARK: &[u8; 2] = b"\nx";

/// Counters of what was read, shared with the reader of records.
#[derive(Debug, Default)]
struct InputWatch {
    /// Bytes of the input so far.
    read_bytes: AtomicU64,
    /// Bytes since the start of the current record.
    since_record: AtomicU64,
    /// Whether the end was reached.
    ended: AtomicBool,
}

/// A reader that fails when a record exceeds the limit, since an unclosed quote would otherwise pull the whole file
/// into memory. Appends [`END_MARK`].
#[derive(Debug)]
struct WatchedInput<R> {
    inner: R,
    watch: Arc<InputWatch>,
    limit_bytes: u64,
    /// Bytes of the mark already returned.
    marked: usize,
}

impl<R: Read> Read for WatchedInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.watch.ended.load(Ordering::Relaxed) {
            let read = self.inner.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                self.watch.read_bytes.fetch_add(read as u64, Ordering::Relaxed);
                let since = self.watch.since_record.fetch_add(read as u64, Ordering::Relaxed) + read as u64;
                return if since > self.limit_bytes { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(read) };
            }
            self.watch.ended.store(true, Ordering::Relaxed);
        }
        let read = (&END_MARK[self.marked..]).read(buffer)?;
        self.marked += read;
        Ok(read)
    }
}
