//! Segments: files of records.

use super::record::{self, FRAME_BYTES, RecordPlace};
use super::replay::Records;
use super::writer::RecordWriter;
use crate::block::checksum::{self, identity};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, Storage, UpdatableFile};
use std::sync::Arc;

/// First bytes of every segment.
const MAGIC: &[u8; 8] = b"OGIVELOG";

/// The newest version of the format of segments known here.
const VERSION: u32 = 1;

/// `magic | version: u32 | number: u32 | owner: u64 | base: u64 | note: u32 | checksum: u32`.
const HEADER_BYTES: usize = 40;

/// What a segment says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// Identity of the file that the log belongs to.
    pub(crate) owner: u64,
    /// Number of the segment; none is used twice.
    pub(crate) number: u32,
    /// Sequence number of the last commit before the segment.
    pub(crate) base: u64,
    /// What the owner wants to find here again.
    pub(crate) note: u32,
}

impl SegmentHeader {
    fn encode(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&self.owner.to_le_bytes());
        bytes.extend_from_slice(&self.base.to_le_bytes());
        bytes.extend_from_slice(&self.note.to_le_bytes());
        bytes.extend_from_slice(&[0; checksum::CHECKSUM_BYTES]);
        checksum::seal(identity(self.owner, self.number.into()), 0, &mut bytes);
        bytes
    }

    /// Reads the header of segment `number` of `owner`; `None` where the file does not begin with one, as after a crash.
    pub(crate) fn read(file: &dyn ReadableFile, owner: u64, number: u32) -> Result<Option<Self>> {
        if file.len() < HEADER_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = [0; HEADER_BYTES];
        file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Log })?;
        let word = |offset: usize| {
            u32::from_le_bytes([bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]])
        };
        if bytes[..8] == MAGIC[..] && word(8) > VERSION {
            return Err(Error::UnknownVersion { path: file.path().into(), found: word(8), supported: VERSION });
        }
        let valid = bytes[..8] == MAGIC[..] && checksum::check(identity(owner, number.into()), 0, &bytes);
        let long = |offset: usize| record::u64_at(&bytes, offset);
        let header = Self { owner: long(16), number: word(12), base: long(24), note: word(32) };
        Ok((valid && header.owner == owner && header.number == number).then_some(header))
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
    // A number in another spelling is none of ours.
    let parsed = numbers.filter_map(|digits| digits.parse().ok().filter(|number: &u32| number.to_string() == digits));
    let mut numbers: Vec<u32> = parsed.collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A segment whose records are read again.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) file: Arc<dyn ReadableFile>,
    pub(crate) number: u32,
    identity: u64,
}

impl Segment {
    pub(crate) fn new(file: Arc<dyn ReadableFile>, owner: u64, number: u32) -> Self {
        Self { file, number, identity: identity(owner, number.into()) }
    }

    /// The records of the segment, to be walked over.
    pub(super) fn records(&self) -> Records<'_> {
        Records { file: &*self.file, identity: self.identity, start: HEADER_BYTES as u64 }
    }

    /// The body of a record that was found valid when it was written or replayed.
    pub(crate) fn read(&self, place: RecordPlace) -> Result<Vec<u8>> {
        let mut frame = vec![0; place.body_bytes as usize + FRAME_BYTES];
        self.file.read(ReadRequest { offset: place.position, buffer: &mut frame, purpose: Purpose::Log })?;
        self.body(place, &frame)
    }

    /// The bodies of many records, as many reads at a time as the storage serves at once.
    pub(crate) fn read_many(&self, places: &[RecordPlace]) -> Result<Vec<Vec<u8>>> {
        let mut frames: Vec<Vec<u8>> =
            places.iter().map(|place| vec![0; place.body_bytes as usize + FRAME_BYTES]).collect();
        let requests = places.iter().zip(&mut frames).map(|(place, frame)| ReadRequest {
            offset: place.position,
            buffer: frame,
            purpose: Purpose::Log,
        });
        self.file.read_many(requests.collect())?;
        places.iter().zip(&frames).map(|(&place, frame)| self.body(place, frame)).collect()
    }

    fn body(&self, place: RecordPlace, frame: &[u8]) -> Result<Vec<u8>> {
        match record::decode(self.identity, place.position, frame) {
            Some((_, body, _)) if body.len() == place.body_bytes as usize => Ok(body.to_vec()),
            _ => Err(Error::damaged(self.file.path(), place.position, "the checksum of a log record does not match")),
        }
    }
}

/// A segment that grows.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    pub(crate) segment: Arc<Segment>,
    records: RecordWriter,
}

impl SegmentWriter {
    /// Creates a segment. It is durable under its name once it and the directory are synced.
    pub(crate) fn create(storage: &dyn Storage, name: &str, header: SegmentHeader) -> Result<Self> {
        let file = storage.create_update(&segment_name(name, header.number))?;
        let segment = Arc::new(Segment::new(Arc::<dyn UpdatableFile>::clone(&file), header.owner, header.number));
        let records = RecordWriter::new(file, segment.identity, &header.encode());
        Ok(Self { segment, records })
    }

    /// Where the next record will begin, and so the length of the segment.
    pub(crate) fn position(&self) -> u64 {
        self.records.position()
    }

    /// Appends a record; it counts once a commit names it.
    pub(crate) fn append(&mut self, kind: u8, parts: &[&[u8]]) -> Result<RecordPlace> {
        self.records.append(kind, parts)
    }

    /// Appends the commit of all records from `first` on, and writes everything out.
    pub(crate) fn commit(&mut self, sequence: u64, first: u64) -> Result<()> {
        self.records.commit(sequence, first)
    }

    /// Writes out what waits; a crash of the machine may still lose it.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.records.flush()
    }

    /// Makes everything that was written out durable.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.records.sync()
    }
}
