//! Log segments: files of records with a header.

use super::record::{self, RECORD_OVERHEAD_BYTES, RecordLocation};
use super::replay::RecordSource;
use super::writer::LogWriter;
use crate::block::checksum::{self, identity};
use crate::error::{Error, Result};
use crate::file_format::{PAGE_LOG_MAGIC, check_not_of_development};
use crate::io::{Purpose, ReadRequest, ReadableFile, Storage, UpdatableFile};
use std::sync::Arc;

/// The format version.
const VERSION: u32 = 1;

/// `magic | version: u32 | number: u32 | owner: u64 | base: u64 | note: u32 | previous number: u32`, then
/// `previous nonce: u64 | nonce: u64 | zeros: u32 | checksum: u32`.
const HEADER_BYTES: usize = 64;

/// The identity of a segment, as used in links to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentId {
    /// Its number; 0 means no segment.
    pub(crate) number: u32,
    /// The nonce of the opening that wrote it, which distinguishes it from a segment of the same number in a copy.
    pub(crate) nonce: u64,
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// Identity of the file that the log belongs to.
    pub(crate) owner: u64,
    /// Identity of the segment.
    pub(crate) id: SegmentId,
    /// The previous segment that is still needed, if any.
    pub(crate) previous: SegmentId,
    /// Sequence number of the last commit before the segment.
    pub(crate) base: u64,
    /// A note of the owner.
    pub(crate) note: u32,
}

impl SegmentHeader {
    fn encode(self) -> Vec<u8> {
        let mut bytes = PAGE_LOG_MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.id.number.to_le_bytes());
        bytes.extend_from_slice(&self.owner.to_le_bytes());
        bytes.extend_from_slice(&self.base.to_le_bytes());
        bytes.extend_from_slice(&self.note.to_le_bytes());
        bytes.extend_from_slice(&self.previous.number.to_le_bytes());
        bytes.extend_from_slice(&self.previous.nonce.to_le_bytes());
        bytes.extend_from_slice(&self.id.nonce.to_le_bytes());
        bytes.resize(HEADER_BYTES, 0);
        checksum::seal(identity(self.owner, self.id.number.into()), 0, &mut bytes);
        bytes
    }

    /// Reads the header of segment `number` of `owner`; `None` if the file does not begin with it.
    pub(crate) fn read(file: &dyn ReadableFile, owner: u64, number: u32) -> Result<Option<Self>> {
        let mut bytes = [0; HEADER_BYTES];
        let length = file.len().min(HEADER_BYTES as u64) as usize;
        file.read(ReadRequest { offset: 0, buffer: &mut bytes[..length], purpose: Purpose::Log })?;
        let word = |offset: usize| {
            u32::from_le_bytes([bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]])
        };
        check_not_of_development(file.path(), &bytes)?;
        if bytes[..8] != PAGE_LOG_MAGIC || length < HEADER_BYTES {
            return Ok(None);
        }
        let version = word(8);
        let matches = |bytes: &[u8]| checksum::check(identity(owner, number.into()), 0, bytes);
        if version > VERSION {
            // A damaged version is no newer one.
            let mut known = bytes;
            known[8..12].copy_from_slice(&VERSION.to_le_bytes());
            if matches(&known) {
                return Ok(None);
            }
            return Err(Error::version(file.path(), version, VERSION));
        }
        if !matches(&bytes) {
            return Ok(None);
        }
        let long = |offset: usize| record::u64_at(&bytes, offset);
        let previous = SegmentId { number: word(36), nonce: long(40) };
        let id = SegmentId { number: word(12), nonce: long(48) };
        let header = Self { owner: long(16), id, previous, base: long(24), note: word(32) };
        Ok((header.owner == owner && id.number == number).then_some(header))
    }
}

/// The name of a segment of the log of `name`.
pub(crate) fn segment_name(name: &str, number: u32) -> String {
    format!("{name}.log-{number}")
}

/// The numbers of all segments of the log of `name`, in order.
pub(crate) fn segment_numbers(storage: &dyn Storage, name: &str) -> Result<Vec<u32>> {
    let prefix = format!("{name}.log-");
    let names = storage.list()?;
    let numbers = names.iter().filter_map(|found| found.strip_prefix(&prefix));
    // Other spellings of a number are not segments.
    let parsed = numbers.filter_map(|digits| digits.parse().ok().filter(|number: &u32| number.to_string() == digits));
    let mut numbers: Vec<u32> = parsed.collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A segment open for reading.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) file: Arc<dyn ReadableFile>,
    pub(crate) id: SegmentId,
    identity: u64,
}

impl Segment {
    pub(crate) fn new(file: Arc<dyn ReadableFile>, owner: u64, id: SegmentId) -> Self {
        Self { file, id, identity: identity(owner, id.number.into()) ^ id.nonce }
    }

    /// The number of the segment.
    pub(crate) fn number(&self) -> u32 {
        self.id.number
    }

    /// The records of the segment.
    pub(super) fn records(&self) -> RecordSource<'_> {
        RecordSource { file: &*self.file, identity: self.identity, start: HEADER_BYTES as u64 }
    }

    /// Reads the bodies of valid records, with as many reads at a time as the storage serves concurrently.
    pub(crate) fn read_many(&self, locations: &[RecordLocation]) -> Result<Vec<Vec<u8>>> {
        let mut buffers: Vec<Vec<u8>> =
            locations.iter().map(|location| vec![0; location.body_bytes as usize + RECORD_OVERHEAD_BYTES]).collect();
        let requests = locations.iter().zip(&mut buffers).map(|(location, buffer)| ReadRequest {
            offset: location.position,
            buffer,
            purpose: Purpose::Log,
        });
        self.file.read_many(requests.collect())?;
        locations.iter().zip(&buffers).map(|(&location, buffer)| self.body(location, buffer)).collect()
    }

    fn body(&self, location: RecordLocation, buffer: &[u8]) -> Result<Vec<u8>> {
        match record::decode(self.identity, location.position, buffer) {
            Some((_, body, _)) if body.len() == location.body_bytes as usize => Ok(body.to_vec()),
            _ => {
                Err(Error::damaged(self.file.path(), location.position, "the checksum of a log record does not match"))
            }
        }
    }
}

/// The writer of a segment.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    pub(crate) segment: Arc<Segment>,
    records: LogWriter,
}

impl SegmentWriter {
    /// Creates a segment. Its header and its name are durable when this returns, so any link to the segment proves that
    /// it existed.
    pub(crate) fn create(storage: &dyn Storage, name: &str, header: SegmentHeader) -> Result<Self> {
        let file = storage.create_update(&segment_name(name, header.id.number))?;
        let segment = Arc::new(Segment::new(Arc::<dyn UpdatableFile>::clone(&file), header.owner, header.id));
        let mut records = LogWriter::new(file, segment.identity, &header.encode());
        records.flush()?;
        records.sync()?;
        storage.sync_directory()?;
        Ok(Self { segment, records })
    }

    /// Offset of the next record, and so the length of the segment.
    pub(crate) fn position(&self) -> u64 {
        self.records.position()
    }

    /// Appends a record, which becomes valid with a commit.
    pub(crate) fn append(&mut self, kind: u8, parts: &[&[u8]]) -> Result<RecordLocation> {
        self.records.append(kind, parts)
    }

    /// Appends a commit of all records from `first` on, and writes buffered bytes.
    pub(crate) fn commit(&mut self, sequence: u64, first: u64) -> Result<()> {
        self.records.commit(sequence, first)
    }

    /// Writes buffered bytes; a crash of the machine may still lose them.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.records.flush()
    }

    /// Syncs all written bytes.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.records.sync()
    }
}
