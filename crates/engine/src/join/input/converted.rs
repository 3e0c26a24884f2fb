//! A relation whose keys are converted to the type of the other side's, and the rest of it: rows whose keys that type
//! does not have. They match nothing.

use crate::error::Result;
use crate::join::rows::relation::{KeyRange, Prober, Relation, RelationFacts};
use crate::join::rows::stream::{RowChunk, RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use crate::types::KeyConversion;
use std::sync::Arc;

/// Size of a chunk of converted rows in bytes, and the part of a scan's memory, 1/8, that it is at most.
const CHUNK_BYTES_MAX: u64 = 64 << 10;
const CHUNK_DIVISOR: u64 = 8;

/// The rows of a relation of which either the keys are converted, or that are left over.
#[derive(Debug)]
pub(crate) struct ConvertedRelation {
    source: Arc<dyn Relation>,
    conversion: Arc<KeyConversion>,
    /// Whether it has the rows whose keys cannot be converted, as they are.
    is_rest: bool,
    facts: RelationFacts,
}

impl ConvertedRelation {
    /// The rows whose keys are of the other type, with such keys.
    pub(crate) fn new(source: &Arc<dyn Relation>, conversion: &Arc<KeyConversion>) -> Self {
        let (own, to) = (source.facts(), conversion.to());
        let has_all = to.holds_keys(conversion.from());
        let width = |key: Option<usize>| key.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        let more_bytes = width(to.width()).saturating_sub(width(own.key_bytes));
        let facts = RelationFacts {
            is_exact: own.is_exact && has_all,
            decoded_bytes: own.decoded_bytes.saturating_add(own.rows.saturating_mul(more_bytes)),
            key_type: to,
            key_bytes: to.width(),
            is_sorted: own.is_sorted && to.keeps_order_of(conversion.from()),
            is_distinct: own.is_distinct && !conversion.is_written(),
            ..own.clone()
        };
        Self { source: Arc::clone(source), conversion: Arc::clone(conversion), is_rest: false, facts }
    }

    /// The rows that [`Self::new`] leaves over; `None` if there can be none.
    pub(crate) fn rest(source: &Arc<dyn Relation>, conversion: &Arc<KeyConversion>) -> Option<Self> {
        if conversion.to().holds_keys(conversion.from()) {
            return None;
        }
        // Few are expected.
        let facts = RelationFacts { rows: 0, is_exact: false, ..source.facts().clone() };
        Some(Self { source: Arc::clone(source), conversion: Arc::clone(conversion), is_rest: true, facts })
    }
}

impl Relation for ConvertedRelation {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, mut memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let chunk_bytes = (memory.bytes() / CHUNK_DIVISOR).min(CHUNK_BYTES_MAX);
        memory.shrink_to(memory.bytes() - chunk_bytes);
        let chunk_memory = task.budget.take(chunk_bytes, &self.facts.name)?;
        let capacity = chunk_bytes as usize / 2;
        Ok(Box::new(ConvertedRows {
            rows: self.source.scan(&KeyRange::all(), task, memory)?,
            next: 0,
            chunk: RowChunk::new(self.facts.key_bytes, self.facts.value_bytes, capacity),
            origins: Vec::new(),
            key: Vec::new(),
            capacity,
            name: self.facts.name.clone(),
            conversion: Arc::clone(&self.conversion),
            is_rest: self.is_rest,
            range: range.clone(),
            memory: chunk_memory,
        }))
    }

    /// Ranges are of converted keys, so all rows are read for each.
    fn scans_ranges(&self) -> bool {
        false
    }

    fn sample(&self, rows: usize, seed: u64, task: &Arc<Task>, visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let mut converted = Vec::new();
        self.source.sample(rows, seed, task, &mut |key| {
            converted.clear();
            if !self.is_rest && matches!(self.conversion.append(key, &mut converted), Ok(true)) {
                visit(&converted);
            }
        })
    }

    fn prober(&self) -> Option<Result<Box<dyn Prober>>> {
        let prober = self.source.prober().filter(|_| !self.is_rest)?;
        let conversion = self.conversion.inverse();
        Some(prober.map(|prober| {
            let converting: Box<dyn Prober> = Box::new(ConvertingProber { prober, conversion, key: Vec::new() });
            converting
        }))
    }
}

/// A scan, which copies the rows.
struct ConvertedRows {
    rows: Box<dyn RowStream>,
    /// The next row of the source's chunk.
    next: usize,
    chunk: RowChunk,
    /// The rows of the source's chunk that those of the chunk are.
    origins: Vec<usize>,
    key: Vec<u8>,
    capacity: usize,
    name: String,
    conversion: Arc<KeyConversion>,
    is_rest: bool,
    range: KeyRange,
    memory: MemoryGrant,
}

impl ConvertedRows {
    /// Copies rows of the source's chunk until this one is full.
    fn fill(&mut self) -> Result<()> {
        let rows = self.rows.rows();
        while self.next < rows.len() && self.chunk.taken_bytes() < self.capacity {
            let row = self.next;
            self.next += 1;
            self.key.clear();
            let is_held = self.conversion.append(rows.key(row), &mut self.key)?;
            let key = if self.is_rest { rows.key(row) } else { &self.key };
            if is_held == self.is_rest || !self.range.holds(key) {
                continue;
            }
            let value = rows.value(row);
            self.memory.hold_record((key.len() + value.len()) as u64, &self.name)?;
            match rows.is_long(row) {
                true => self.chunk.push_long(key, value),
                false => self.chunk.push(key, value),
            }
            self.origins.push(row);
        }
        Ok(())
    }
}

impl RowStream for ConvertedRows {
    fn advance(&mut self, _from: Option<&[u8]>) -> Result<bool> {
        self.chunk.clear();
        self.origins.clear();
        while self.origins.is_empty() {
            if self.next == self.rows.rows().len() {
                self.next = 0;
                if !self.rows.advance(None)? {
                    return Ok(false);
                }
            }
            self.fill()?;
        }
        Ok(true)
    }

    fn rows(&self) -> RowsView<'_> {
        self.chunk.rows()
    }

    fn long_value(&mut self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        self.rows.long_value(self.origins.get(row).copied().unwrap_or(row), value)
    }
}

/// Lookups of keys of the other type.
struct ConvertingProber {
    prober: Box<dyn Prober>,
    conversion: KeyConversion,
    key: Vec<u8>,
}

impl Prober for ConvertingProber {
    fn probe(&mut self, key: &[u8], visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        self.key.clear();
        match self.conversion.append(key, &mut self.key)? {
            true => self.prober.probe(&self.key, visit),
            false => Ok(()),
        }
    }
}
