//! Unsorted relations: files of plain records, and records supplied by the caller.

use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, Storage};
use crate::join::rows::relation::{KeyRange, Relation, RelationFacts};
use crate::join::rows::stream::{RowChunk, RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task, TimedPhase};
use crate::table::Record;
use crate::table::external::RecordFile;
use crate::types::KeyType;
use std::fmt;
use std::sync::Arc;

/// Largest read of a file of records, in bytes.
const READ_BYTES_MAX: u64 = 1 << 20;
/// Size of a sampled block, in bytes: a device reads it at the cost of one record.
const SAMPLE_BLOCK_BYTES: u64 = 4 << 10;
/// Sampled blocks per batch of requests, within 1/8 of the memory that is left.
const SAMPLE_BATCH_BLOCKS_MAX: u64 = 64;
const SAMPLE_MEMORY_DIVISOR: u64 = 8;
/// Approximate size of the chunks into which a caller's records are copied, in bytes.
const CHUNK_BYTES_MAX: usize = 64 << 10;

/// A file of consecutive records of one width.
#[derive(Debug)]
pub(crate) struct FileRelation {
    file: Arc<dyn ReadableFile>,
    records: RecordFile,
    facts: RelationFacts,
}

impl FileRelation {
    pub(crate) fn open(storage: &dyn Storage, name: &str, records: RecordFile, is_sorted: bool) -> Result<Self> {
        let file = storage.open(name)?;
        let key_type = records.key_type()?;
        let rows = records.count(&*file)?;
        let facts = RelationFacts {
            name: file.path().display().to_string(),
            rows,
            is_exact: true,
            bytes: rows * records.record_bytes(),
            decoded_bytes: rows * records.record_bytes(),
            key_type,
            key_bytes: Some(records.key_bytes as usize),
            value_bytes: Some(records.value_bytes as usize),
            is_sorted,
            is_distinct: false,
        };
        Ok(Self { file, records, facts })
    }

    fn record_bytes(&self) -> usize {
        self.records.record_bytes() as usize
    }

    fn read(&self, task: &Task, offset: u64, buffer: &mut [u8]) -> Result<()> {
        task.count_reads(1, buffer.len() as u64);
        let request = ReadRequest { offset, buffer, purpose: Purpose::Input };
        task.timed(TimedPhase::Reading, || self.file.read(request))
    }

    /// Converts keys to order-preserving bytes.
    fn orient(&self, rows: &mut [u8]) {
        if self.records.little_endian {
            orient(rows, self.record_bytes(), self.records.key_bytes as usize);
        }
    }
}

/// Reverses the first `key` bytes of each record.
fn orient(rows: &mut [u8], record: usize, key: usize) {
    if key == 8 && record == 16 {
        let (rows, _) = rows.as_chunks_mut::<16>();
        rows.iter_mut().for_each(|row| row[..8].reverse());
    } else {
        rows.chunks_exact_mut(record).for_each(|row| row[..key].reverse());
    }
}

impl Relation for FileRelation {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let reader = FileRelation { file: Arc::clone(&self.file), records: self.records, facts: self.facts.clone() };
        let record = self.record_bytes();
        let mut memory = memory;
        memory.hold_record(record as u64, &self.facts.name)?;
        let buffer_bytes = memory.bytes().min(READ_BYTES_MAX) as usize / record * record;
        memory.shrink_to(buffer_bytes.max(record) as u64);
        Ok(Box::new(FileScan {
            relation: reader,
            task: Arc::clone(task),
            range: (*range != KeyRange::all()).then(|| range.clone()),
            buffer: Vec::new(),
            buffer_bytes: buffer_bytes.max(record),
            next_row: 0,
            last_key: Vec::new(),
            _memory: memory,
        }))
    }

    fn sample(&self, rows: usize, seed: u64, task: &Arc<Task>, visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let record = self.record_bytes();
        let block_rows = (SAMPLE_BLOCK_BYTES / record as u64).max(1);
        let blocks = self.facts.rows.div_ceil(block_rows);
        let wanted = (rows as u64).div_ceil(block_rows).min(blocks);
        let block_bytes = block_rows * record as u64;
        let room = task.budget.left_bytes() / SAMPLE_MEMORY_DIVISOR / block_bytes;
        let at_once = room.clamp(1, SAMPLE_BATCH_BLOCKS_MAX).min(wanted.max(1));
        let Some(_memory) = task.budget.try_take(at_once * block_bytes) else { return Ok(false) };
        let mut buffers = vec![0; (at_once * block_bytes) as usize];
        let mut next = 0;
        while next < wanted {
            task.check()?;
            let count = (wanted - next).min(at_once);
            let mut requests = Vec::with_capacity(count as usize);
            let mut rest = &mut buffers[..];
            for number in next..next + count {
                // One block from each of equally long segments: evenly spread, yet random within a segment, so that no
                // pattern in the file biases the sample.
                let (from, to) = (segment_start(blocks, wanted, number), segment_start(blocks, wanted, number + 1));
                let block = from + mix(seed ^ number) % (to - from).max(1);
                let first = block * block_rows;
                let taken = block_rows.min(self.facts.rows - first) as usize * record;
                let (buffer, later) = rest.split_at_mut(taken);
                rest = later;
                let offset = self.records.header_bytes + first * record as u64;
                requests.push(ReadRequest { offset, buffer, purpose: Purpose::Input });
            }
            let bytes: usize = requests.iter().map(|request| request.buffer.len()).sum();
            task.count_reads(count, bytes as u64);
            task.timed(TimedPhase::Reading, || self.file.read_many(requests))?;
            self.orient(&mut buffers[..bytes]);
            buffers[..bytes].chunks_exact(record).for_each(|row| visit(&row[..self.records.key_bytes as usize]));
            next += count;
        }
        Ok(true)
    }
}

/// The first block of the `number`th of `segments` equal segments of `blocks`.
fn segment_start(blocks: u64, segments: u64, number: u64) -> u64 {
    (u128::from(blocks) * u128::from(number) / u128::from(segments.max(1))) as u64
}

/// A hash of a number: the finaliser of splitmix64.
pub(crate) fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

struct FileScan {
    relation: FileRelation,
    task: Arc<Task>,
    /// The requested key range, unless it is everything.
    range: Option<KeyRange>,
    buffer: Vec<u8>,
    buffer_bytes: usize,
    next_row: u64,
    /// The last key of the previous chunk, for files declared as sorted.
    last_key: Vec<u8>,
    _memory: MemoryGrant,
}

impl FileScan {
    /// Reads the next rows; `false` at the end.
    fn load(&mut self) -> Result<bool> {
        let record = self.relation.record_bytes();
        let rows = (self.relation.facts.rows - self.next_row).min((self.buffer_bytes / record) as u64);
        let length = rows as usize * record;
        self.buffer.reserve_exact(length.saturating_sub(self.buffer.len()));
        self.buffer.resize(length, 0);
        if rows > 0 {
            let offset = self.relation.records.header_bytes + self.next_row * record as u64;
            self.relation.read(&self.task, offset, &mut self.buffer)?;
            self.relation.orient(&mut self.buffer);
            if self.relation.facts.is_sorted {
                self.check_order()?;
            }
            self.next_row += rows;
        }
        Ok(rows > 0)
    }

    /// Checks the declared order: a join of an unsorted file would return wrong rows.
    fn check_order(&mut self) -> Result<()> {
        let (record, key) = (self.relation.record_bytes(), self.relation.records.key_bytes as usize);
        let mut last = &self.last_key[..];
        for (row, record) in (self.next_row..).zip(self.buffer.chunks_exact(record)) {
            if &record[..key] < last {
                return Err(Error::unsorted(self.relation.file.path(), row));
            }
            last = &record[..key];
        }
        self.last_key = last.to_vec();
        Ok(())
    }

    /// Drops rows outside the key range.
    fn retain_range(&mut self, range: &KeyRange) {
        let (record, key) = (self.relation.record_bytes(), self.relation.records.key_bytes as usize);
        let mut kept = 0;
        for at in (0..self.buffer.len()).step_by(record) {
            if range.holds(&self.buffer[at..at + key]) {
                self.buffer.copy_within(at..at + record, kept);
                kept += record;
            }
        }
        self.buffer.truncate(kept);
    }
}

impl RowStream for FileScan {
    fn advance(&mut self, _from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        while self.load()? {
            if let Some(range) = self.range.take() {
                self.retain_range(&range);
                self.range = Some(range);
            }
            if !self.buffer.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rows(&self) -> RowsView<'_> {
        let key = self.relation.records.key_bytes as usize;
        RowsView::Dense { bytes: &self.buffer, key, value: self.relation.records.value_bytes as usize }
    }
}

/// An iterator over records. An error ends the join.
pub type JoinRecords = Box<dyn Iterator<Item = Result<Record>> + Send>;

/// A reader of records, which lends each of them until the next call.
pub trait RecordReader: Send {
    /// The key and the value of the next record; `None` at the end.
    ///
    /// # Errors
    /// Those of the records; they end the join.
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>>;

    /// The bytes that were read for the records so far, such as those of text. By default none are counted.
    fn read_bytes(&self) -> u64 {
        0
    }
}

/// The records of an iterator.
pub(super) struct IteratorReader {
    records: JoinRecords,
    current: Record,
}

impl IteratorReader {
    pub(super) fn new(records: JoinRecords) -> Self {
        Self { records, current: Record::default() }
    }
}

impl RecordReader for IteratorReader {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Some(record) = self.records.next() else { return Ok(None) };
        self.current = record?;
        Ok(Some((&self.current.0, &self.current.1)))
    }
}

/// Opens records from their beginning.
pub(super) type OpenRecords = Arc<dyn Fn() -> Box<dyn RecordReader> + Send + Sync>;

/// Records supplied by the caller, read as often as needed.
pub(crate) struct CallerRelation {
    facts: RelationFacts,
    records: OpenRecords,
}

impl fmt::Debug for CallerRelation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CallerRelation").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl CallerRelation {
    pub(super) fn new(shape: RecordShape, records: OpenRecords) -> Self {
        let RecordShape { name, key_type, value_bytes, rows, bytes } = shape;
        let key_bytes = key_type.width();
        let facts = RelationFacts {
            name,
            rows,
            is_exact: false,
            bytes,
            decoded_bytes: bytes,
            key_type,
            key_bytes,
            value_bytes,
            is_sorted: false,
            is_distinct: false,
        };
        Self { facts, records }
    }

    /// The same, whose keys are all equal.
    pub(super) fn of_one_key(self) -> Self {
        Self { facts: RelationFacts { is_sorted: true, ..self.facts }, ..self }
    }
}

/// Properties of records supplied by a caller; see [`JoinSource::unsorted`](crate::join::JoinSource::unsorted).
#[derive(Clone, Debug)]
pub struct RecordShape {
    /// Name for messages.
    pub name: String,
    /// Key type. Each key has the width of its type.
    pub key_type: KeyType,
    /// Width of all values in bytes, if fixed.
    pub value_bytes: Option<usize>,
    /// Estimated number of records. Affects the plan, never the result.
    pub rows: u64,
    /// Estimated total size of keys and values in bytes.
    pub bytes: u64,
}

impl Relation for CallerRelation {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let capacity = (memory.bytes() as usize / 4).min(CHUNK_BYTES_MAX);
        Ok(Box::new(CallerScan {
            records: (self.records)(),
            counted_bytes: 0,
            chunk: RowChunk::new(self.facts.key_bytes, self.facts.value_bytes, capacity),
            capacity,
            facts: self.facts.clone(),
            range: range.clone(),
            task: Arc::clone(task),
            memory,
        }))
    }
}

struct CallerScan {
    records: Box<dyn RecordReader>,
    /// The bytes that were read for the chunks before.
    counted_bytes: u64,
    chunk: RowChunk,
    capacity: usize,
    facts: RelationFacts,
    range: KeyRange,
    task: Arc<Task>,
    memory: MemoryGrant,
}

/// Refuses a record that is not what was stated, or that does not fit memory.
fn check(facts: &RelationFacts, memory: &mut MemoryGrant, key: &[u8], value: &[u8]) -> Result<()> {
    let RelationFacts { name, key_bytes, value_bytes, .. } = facts;
    if key_bytes.is_some_and(|width| width != key.len()) || value_bytes.is_some_and(|width| width != value.len()) {
        return Err(Error::input(format!(
            "a record of {name} has a key of {} bytes and a value of {} bytes, which is not what was stated",
            key.len(),
            value.len()
        )));
    }
    memory.hold_record((key.len() + value.len()) as u64, name)
}

impl RowStream for CallerScan {
    fn advance(&mut self, _from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        self.chunk.clear();
        while self.chunk.taken_bytes() < self.capacity {
            let Some((key, value)) = self.records.next()? else { break };
            check(&self.facts, &mut self.memory, key, value)?;
            if self.range.holds(key) {
                self.chunk.push(key, value);
            }
        }
        let read_bytes = self.records.read_bytes();
        if read_bytes > self.counted_bytes {
            self.task.count_reads(1, read_bytes - self.counted_bytes);
            self.counted_bytes = read_bytes;
        }
        Ok(!self.chunk.is_empty())
    }

    fn rows(&self) -> RowsView<'_> {
        self.chunk.rows()
    }
}
