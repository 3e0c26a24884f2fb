//! The reader of comma-separated values and of files with other delimiters.

use super::InputError;
use super::columns::{Column, find};
use super::keys::KeyReader;
use super::record::{Input, InputFacts, Record};
use crate::pipe::InputFile;
use crate::size::counted;
use ogive::KeyType;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const BUFFER_BYTES: usize = 1 << 16;

/// Layout of a file and its columns to read.
#[derive(Clone, Debug)]
pub(crate) struct CsvLayout {
    /// Byte between fields.
    pub(crate) delimiter: u8,
    /// Whether the first record names the columns.
    pub(crate) has_header: bool,
    /// The columns of the keys; by default the first.
    pub(crate) key: Vec<Column>,
    /// The column of the values; by default none.
    pub(crate) value: Option<Column>,
    /// Whether the type of the keys was guessed.
    pub(crate) key_type_guessed: bool,
    /// A record longer than this is refused.
    pub(crate) record_limit_bytes: u64,
}

/// Reads one record per row.
#[derive(Debug)]
pub(crate) struct CsvInput {
    reader: csv::Reader<WatchedInput<InputFile>>,
    watch: Arc<InputWatch>,
    record_limit_bytes: u64,
    row: csv::ByteRecord,
    facts: InputFacts,
    keys: KeyReader,
    key_columns: Vec<usize>,
    value_column: Option<usize>,
}

impl CsvInput {
    /// Opens a file and finds its columns.
    ///
    /// # Errors
    /// [`InputError::NoSuchColumn`] for a missing column, [`InputError::Empty`] without any row.
    pub(crate) fn open(path: &Path, key_type: KeyType, layout: &CsvLayout) -> Result<Self, InputError> {
        let refused = |source| InputError::Io { path: path.to_owned(), source };
        let file = InputFile::open(path).map_err(refused)?;
        let length_bytes = file.length_bytes().map_err(refused)?;
        let watch = Arc::new(InputWatch::default());
        let limit_bytes = layout.record_limit_bytes.saturating_add(BUFFER_BYTES as u64);
        let watched = WatchedInput { inner: file, watch: Arc::clone(&watch), limit_bytes, marked: 0 };
        let reader = csv::ReaderBuilder::new()
            .delimiter(layout.delimiter)
            .has_headers(layout.has_header)
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(watched);
        let facts = InputFacts {
            path: path.to_owned(),
            key_type,
            value_width: layout.value.is_none().then_some(0),
            records: None,
            length_bytes,
        };
        let mut input = Self {
            reader,
            watch,
            record_limit_bytes: layout.record_limit_bytes,
            row: csv::ByteRecord::new(),
            facts,
            keys: KeyReader::new(path, key_type, layout.key_type_guessed),
            key_columns: vec![0],
            value_column: None,
        };
        input.find_columns(layout)?;
        Ok(input)
    }

    fn find_columns(&mut self, layout: &CsvLayout) -> Result<(), InputError> {
        // Without a header, the reader keeps the first row and hands it out again as a record.
        let first_row = match self.reader.byte_headers() {
            Ok(row) => row.clone(),
            Err(error) => return Err(self.explain(error)),
        };
        let is_end = self.is_end(&first_row)?;
        if is_end || first_row.is_empty() {
            return Err(InputError::Empty { path: self.facts.path.clone() });
        }
        let names: Vec<String> = if layout.has_header {
            first_row.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
        } else {
            (1..=first_row.len()).map(|number| number.to_string()).collect()
        };
        if !layout.key.is_empty() {
            let columns = layout.key.iter().map(|column| find(&self.facts.path, &names, column));
            self.key_columns = columns.collect::<Result<_, _>>()?;
        }
        if let Some(column) = &layout.value {
            self.value_column = Some(find(&self.facts.path, &names, column)?);
        }
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
        Err(InputError::Malformed { path: self.facts.path.clone(), detail })
    }

    fn explain(&self, error: csv::Error) -> InputError {
        let path = self.facts.path.clone();
        let record = self.keys.records() + 1;
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

impl Input for CsvInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        self.watch.since_record.store(0, Ordering::Relaxed);
        let outcome = self.reader.read_byte_record(&mut self.row);
        // The mark has one field, so it may differ from the rows in length.
        if matches!(outcome, Ok(true) | Err(_)) && self.is_end(&self.row)? {
            return Ok(None);
        }
        match outcome {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Err(self.explain(error)),
        }
        let field = |&column: &usize| self.row.get(column).unwrap_or_default();
        let key = match &self.key_columns[..] {
            [column] => self.keys.read(field(column))?,
            columns => self.keys.read_fields(&columns.iter().map(field).collect::<Vec<_>>())?,
        };
        let value = self.value_column.and_then(|column| self.row.get(column)).unwrap_or_default();
        Ok(Some(Record { key, value }))
    }

    fn position_bytes(&self) -> u64 {
        self.reader.position().byte().min(self.watch.read_bytes.load(Ordering::Relaxed))
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
