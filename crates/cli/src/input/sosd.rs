//! The reader of SOSD files: a little-endian u64 count, then sorted little-endian integers.

use super::InputError;
use super::record::{Input, InputFacts, Record};
use crate::reading::pipe::open_seekable;
use ogive::KeyType;
use ogive::tune::TableSample;
use ogive::types::RecordType;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes before the first key.
pub(crate) const HEADER_BYTES: u64 = 8;
const BUFFER_BYTES: usize = 1 << 20;

/// Reads keys of 4 or 8 bytes; they become keys alone of type u64.
#[derive(Debug)]
pub(crate) struct SosdInput {
    reader: BufReader<File>,
    facts: InputFacts,
    key_bytes: u64,
    records: u64,
    done: u64,
    key: [u8; 8],
}

impl SosdInput {
    /// Opens the file at `source`, which messages call `path`, and checks its count against its length.
    ///
    /// # Errors
    /// [`InputError::NotSosd`] when they do not match.
    pub(crate) fn open(source: &Path, path: &Path, key_bytes: u64) -> Result<Self, InputError> {
        let refused = |source| InputError::Io { path: path.to_owned(), source };
        let not_sosd = |detail| InputError::NotSosd { path: path.to_owned(), key_bytes, detail };
        let mut file = open_seekable(source).map_err(refused)?;
        let length_bytes = file.metadata().map_err(refused)?.len();
        if length_bytes < HEADER_BYTES {
            return Err(not_sosd(format!("its {length_bytes} bytes are too few for the count")));
        }
        let mut count = [0; 8];
        file.read_exact(&mut count).map_err(refused)?;
        let records = u64::from_le_bytes(count);
        let asked = records.checked_mul(key_bytes).and_then(|bytes| bytes.checked_add(HEADER_BYTES));
        if asked != Some(length_bytes) {
            return Err(not_sosd(format!("its count of {records} keys does not match its {length_bytes} bytes")));
        }
        let facts = InputFacts {
            path: path.to_owned(),
            record_type: RecordType::new(KeyType::U64, KeyType::Bytes).keys_only(),
            value_width: Some(0),
            records: Some(records),
            length_bytes: Some(length_bytes),
            may_be_empty: true,
        };
        let reader = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Self { reader, facts, key_bytes, records, done: 0, key: [0; 8] })
    }
}

impl SosdInput {
    /// Runs of neighbouring keys, evenly spaced over the file; a single run of all keys if they are few. Rewinds the
    /// file, so call it before reading.
    ///
    /// # Errors
    /// [`InputError::Io`] when the file cannot be read.
    pub(crate) fn runs(&mut self) -> Result<Vec<Vec<u64>>, InputError> {
        let (count, length) = (TableSample::RUNS as u64, TableSample::RUN_RECORDS as u64);
        let (count, length) = if self.records <= count * length { (1, self.records) } else { (count, length) };
        let mut runs = Vec::new();
        for number in 0..count {
            let first =
                u64::try_from(u128::from(self.records - length) * u128::from(number) / u128::from(count.max(2) - 1));
            self.seek(first.unwrap_or(0))?;
            let keys = (0..length).map(|_| self.read_key()).collect::<Result<_, _>>()?;
            runs.push(keys);
        }
        self.seek(0)?;
        Ok(runs)
    }

    fn seek(&mut self, record: u64) -> Result<(), InputError> {
        self.reader
            .seek(SeekFrom::Start(HEADER_BYTES + record * self.key_bytes))
            .map_err(|source| self.refuse(source))?;
        Ok(())
    }

    fn read_key(&mut self) -> Result<u64, InputError> {
        let mut little_endian = [0; 8];
        let read = self.reader.read_exact(&mut little_endian[..self.key_bytes as usize]);
        read.map_err(|source| self.refuse(source))?;
        Ok(u64::from_le_bytes(little_endian))
    }

    fn refuse(&self, source: io::Error) -> InputError {
        InputError::Io { path: self.facts.path.clone(), source }
    }
}

impl Input for SosdInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        if self.done == self.records {
            return Ok(None);
        }
        self.key = self.read_key()?.to_be_bytes();
        self.done += 1;
        Ok(Some(Record { key: &self.key, value: &[] }))
    }

    fn position_bytes(&self) -> u64 {
        HEADER_BYTES + self.done * self.key_bytes
    }
}
