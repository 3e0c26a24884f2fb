//! Partition files of a hash join, as relations: rows whose hashes share bits.

use crate::error::{Error, Result};
use crate::join::input::sorted::SortInput;
use crate::join::methods::partition::{Buckets, FRAME_BYTES, Scatter, frame, framed};
use crate::join::rows::relation::{KeyRange, Relation, RelationFacts};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::Spill;
use crate::join::rows::stream::{RowSpan, RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use std::sync::Arc;

/// Reads the rows of a relation within a key range, using `input_bytes` of memory, and partitions them by a hash.
pub(super) fn scatter(
    relation: &dyn Relation,
    range: &KeyRange,
    spill: &Arc<Spill>,
    (buckets, flush_bytes, input_bytes): (usize, usize, u64),
    hash: impl Fn(&[u8]) -> u64,
    progress: &mut SortProgress,
) -> Result<Arc<HashPartitions>> {
    let task = spill.task();
    let facts = relation.facts().clone();
    let widths = facts.key_bytes.zip(facts.value_bytes).filter(|(key, value)| key + value > 0);
    let width = widths.map(|(key, value)| key + value);
    let flush_bytes = width.map_or(flush_bytes, |width| flush_bytes.max(width) / width * width);
    let mut scatter = Scatter::create(spill, buckets, flush_bytes)?;
    let memory = task.budget.take(input_bytes, "reading")?;
    let mut input = SortInput::open(relation, range, task, memory, progress)?;
    let mut long = Vec::new();
    // Uses the high bits; the table uses the low ones.
    let bucket_of = |key: &[u8]| ((u128::from(hash(key)) * buckets as u128) >> 64) as usize;
    while input.advance()? {
        input.visit(&mut long, |key, value| {
            if width.is_some() {
                return scatter.put_parts(bucket_of(key), [key, value, &[]]);
            }
            scatter.put_parts(bucket_of(key), [&frame(key, value), key, value])
        })?;
    }
    drop((input, long));
    Ok(Arc::new(HashPartitions { buckets: scatter.finish(None)?, facts, widths }))
}

/// A relation partitioned by a hash.
#[derive(Debug)]
pub(super) struct HashPartitions {
    buckets: Buckets,
    facts: RelationFacts,
    widths: Option<(usize, usize)>,
}

impl HashPartitions {
    /// One of the partitions, as a relation.
    pub(super) fn bucket(self: &Arc<Self>, number: usize) -> BucketRelation {
        let bucket = &self.buckets.buckets[number];
        let frames = if self.widths.is_some() { 0 } else { FRAME_BYTES as u64 * bucket.rows };
        let facts = RelationFacts {
            rows: bucket.rows,
            is_exact: true,
            bytes: bucket.bytes - frames,
            decoded_bytes: bucket.bytes - frames,
            is_sorted: false,
            ..self.facts.clone()
        };
        BucketRelation { scattered: Arc::clone(self), number, facts }
    }
}

/// A partition as an unsorted relation.
#[derive(Debug)]
pub(super) struct BucketRelation {
    scattered: Arc<HashPartitions>,
    number: usize,
    facts: RelationFacts,
}

impl Relation for BucketRelation {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, mut memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let bucket = &self.scattered.buckets.buckets[self.number];
        let largest = bucket.chunks.iter().map(|location| u64::from(location.stored_bytes)).max().unwrap_or(0);
        // A framed row takes at least twelve bytes, and its span more.
        let spans = if self.scattered.widths.is_some() { 0 } else { 2 * largest };
        let missing = (largest + spans).saturating_sub(memory.bytes());
        if missing > 0 && !memory.try_grow(missing) {
            task.budget.take(missing, "a row of a spill file")?;
        }
        Ok(Box::new(BucketScan {
            scattered: Arc::clone(&self.scattered),
            number: self.number,
            next: 0,
            bytes: Vec::with_capacity(largest as usize),
            spans: Vec::new(),
            range: range.clone(),
            task: Arc::clone(task),
            _memory: memory,
        }))
    }
}

struct BucketScan {
    scattered: Arc<HashPartitions>,
    number: usize,
    /// The next chunk.
    next: usize,
    bytes: Vec<u8>,
    spans: Vec<RowSpan>,
    range: KeyRange,
    task: Arc<Task>,
    _memory: MemoryGrant,
}

impl BucketScan {
    /// Reads the next chunk; `false` at the end.
    fn load(&mut self) -> Result<bool> {
        let HashPartitions { buckets, widths, .. } = &*self.scattered;
        let bucket = &buckets.buckets[self.number];
        self.spans.clear();
        let Some(location) = bucket.chunks.get(self.next) else {
            self.bytes.clear();
            return Ok(false);
        };
        self.next += 1;
        self.bytes.resize(location.stored_bytes as usize, 0);
        buckets.file.read_chunks(vec![(location.offset, &mut self.bytes[..])])?;
        self.bytes.truncate(location.payload_bytes());
        if widths.is_none() {
            let mut at = 0;
            while at < self.bytes.len() {
                let (key, value) = framed(&self.bytes[at..])
                    .ok_or_else(|| Error::input("a spill file does not consist of whole rows; run the join again"))?;
                let (key_at, end) = (at + FRAME_BYTES, at + FRAME_BYTES + key.len() + value.len());
                self.spans.push(RowSpan::of_row(key_at, key, value));
                at = end;
            }
        }
        Ok(true)
    }

    /// Drops rows outside the range.
    fn retain_range(&mut self) {
        if self.range == KeyRange::all() {
            return;
        }
        let (bytes, range) = (&self.bytes, &self.range);
        let key = |span: &RowSpan| &bytes[span.key_at as usize..(span.key_at + span.key_bytes) as usize];
        self.spans.retain(|span| range.holds(key(span)));
        if let Some((key, value)) = self.scattered.widths {
            let mut kept = 0;
            for at in (0..self.bytes.len()).step_by(key + value) {
                if self.range.holds(&self.bytes[at..at + key]) {
                    self.bytes.copy_within(at..at + key + value, kept);
                    kept += key + value;
                }
            }
            self.bytes.truncate(kept);
        }
    }
}

impl RowStream for BucketScan {
    fn advance(&mut self, _from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        while self.load()? {
            self.retain_range();
            if !self.rows().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rows(&self) -> RowsView<'_> {
        match self.scattered.widths {
            Some((key, value)) => RowsView::Dense { bytes: &self.bytes, key, value },
            None => RowsView::Spans { bytes: &self.bytes, spans: &self.spans },
        }
    }
}
