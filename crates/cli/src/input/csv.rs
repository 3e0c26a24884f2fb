//! Comma-separated values, and files like them with another delimiter.

use super::InputError;
use super::columns::{Column, find};
use super::keys::KeyReader;
use super::record::{Facts, Input, Record};
use crate::size::counted;
use ogive::table::KeyType;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BUFFER_BYTES: usize = 1 << 16;

/// Which columns to take, and how the file is laid out.
#[derive(Clone, Debug)]
pub(crate) struct CsvLayout {
    /// Byte between two fields.
    pub(crate) delimiter: u8,
    /// Whether the first record names the columns.
    pub(crate) has_header: bool,
    /// The column of the keys; the first one unless said.
    pub(crate) key: Option<Column>,
    /// The column of the values; none unless said.
    pub(crate) value: Option<Column>,
    /// Whether the type of the keys was guessed.
    pub(crate) key_type_guessed: bool,
    /// A record longer than this is refused.
    pub(crate) record_limit_bytes: u64,
}

/// Reads one record for each row.
#[derive(Debug)]
pub(crate) struct CsvInput {
    reader: csv::Reader<Limited<File>>,
    since_record: Arc<AtomicU64>,
    record_limit_bytes: u64,
    row: csv::ByteRecord,
    facts: Facts,
    keys: KeyReader,
    key_column: usize,
    value_column: Option<usize>,
}

impl CsvInput {
    /// Opens a file and finds its columns.
    ///
    /// # Errors
    /// [`InputError::NoSuchColumn`] when one of them is not there, [`InputError::Empty`] when there is no row at all.
    pub(crate) fn open(path: &Path, key_type: KeyType, layout: &CsvLayout) -> Result<Self, InputError> {
        let refused = |source| InputError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(refused)?;
        let metadata = file.metadata().map_err(refused)?;
        let since_record = Arc::new(AtomicU64::new(0));
        let limit_bytes = layout.record_limit_bytes.saturating_add(BUFFER_BYTES as u64);
        let limited = Limited { inner: file, since_record: Arc::clone(&since_record), limit_bytes };
        let reader = csv::ReaderBuilder::new()
            .delimiter(layout.delimiter)
            .has_headers(layout.has_header)
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(limited);
        let facts = Facts {
            path: path.to_owned(),
            key_type,
            value_width: layout.value.is_none().then_some(0),
            records: None,
            length_bytes: metadata.is_file().then_some(metadata.len()),
        };
        let mut input = Self {
            reader,
            since_record,
            record_limit_bytes: layout.record_limit_bytes,
            row: csv::ByteRecord::new(),
            facts,
            keys: KeyReader::new(path, key_type, layout.key_type_guessed),
            key_column: 0,
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
        if first_row.is_empty() {
            return Err(InputError::Empty { path: self.facts.path.clone() });
        }
        let names: Vec<String> = if layout.has_header {
            first_row.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
        } else {
            (1..=first_row.len()).map(|number| number.to_string()).collect()
        };
        if let Some(column) = &layout.key {
            self.key_column = find(&self.facts.path, &names, column)?;
        }
        if let Some(column) = &layout.value {
            self.value_column = Some(find(&self.facts.path, &names, column)?);
        }
        Ok(())
    }

    fn explain(&self, error: csv::Error) -> InputError {
        let path = self.facts.path.clone();
        let record = self.keys.records() + 1;
        let detail = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(source) if source.kind() == io::ErrorKind::FileTooLarge => {
                InputError::RecordTooLong { path, record, limit_bytes: self.record_limit_bytes }
            }
            csv::ErrorKind::Io(source) => InputError::Io { path, source },
            csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
                let line = pos.map_or(0, |position| position.line());
                let detail = format!(
                    "the row in line {line} has {}, the rows ahead of it {expected_len}",
                    counted(len, "field")
                );
                InputError::Malformed { path, detail }
            }
            _ => InputError::Malformed { path, detail },
        }
    }
}

impl Input for CsvInput {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        self.since_record.store(0, Ordering::Relaxed);
        match self.reader.read_byte_record(&mut self.row) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Err(self.explain(error)),
        }
        let key = self.keys.read(self.row.get(self.key_column).unwrap_or_default())?;
        let value = self.value_column.and_then(|column| self.row.get(column)).unwrap_or_default();
        Ok(Some(Record { key, value }))
    }

    fn position_bytes(&self) -> u64 {
        self.reader.position().byte()
    }
}

/// Fails when too much was read since the last record: a quote that never closes would otherwise pull the whole file
/// into memory.
#[derive(Debug)]
struct Limited<R> {
    inner: R,
    since_record: Arc<AtomicU64>,
    limit_bytes: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let since = self.since_record.fetch_add(read as u64, Ordering::Relaxed) + read as u64;
        if since > self.limit_bytes { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(read) }
    }
}
