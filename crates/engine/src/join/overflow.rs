//! The run of a key that memory does not hold, in a spill file.
//!
//! ```text
//! | length of the value u32 | value | length | value | ...        keys are all the same, and not stored
//! ```

use super::group::Overflow;
use super::rows::{RowsView, Span};
use super::spill::{ByteWriter, Bytes, Spill};
use super::task::Share;
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Chunks of the file, in bytes: a share of memory gives room for one, and for about as many bytes of rows.
const CHUNK_BYTES_MIN: usize = 4 << 10;
const CHUNK_BYTES_MAX: usize = 256 << 10;
/// Bytes of rows that come with a span, about.
const BYTES_A_SPAN: usize = 32;
/// Bytes of a value's length.
const LENGTH_BYTES: usize = 4;

/// Keeps a run in a spill file, which is made when it is needed.
#[derive(Debug)]
pub(crate) struct SpilledRun {
    spill: Arc<Spill>,
    chunk_bytes: usize,
    writer: Option<ByteWriter>,
    run: Option<Bytes>,
    key: Vec<u8>,
    rows: Vec<u8>,
    spans: Vec<Span>,
    memory_bytes: u64,
    share: Option<Share>,
}

impl SpilledRun {
    /// A run that takes about `memory_bytes` of the task's budget once it is needed.
    pub(crate) fn new(spill: &Arc<Spill>, memory_bytes: u64) -> Self {
        let chunk_bytes = (memory_bytes as usize / 4).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        Self {
            spill: spill.clone(),
            chunk_bytes,
            writer: None,
            run: None,
            key: Vec::new(),
            rows: Vec::new(),
            spans: Vec::new(),
            memory_bytes: 4 * chunk_bytes as u64,
            share: None,
        }
    }

    fn writer(&mut self) -> Result<&mut ByteWriter> {
        if self.share.is_none() {
            self.share = Some(self.spill.task().budget.take(self.memory_bytes, "spilling the rows of one key")?);
        }
        let (writer, chunk_bytes) = (&mut self.writer, self.chunk_bytes);
        match writer {
            Some(writer) => Ok(writer),
            None => Ok(writer.insert(ByteWriter::create(&self.spill, chunk_bytes)?)),
        }
    }
}

impl Overflow for SpilledRun {
    fn put(&mut self, rows: RowsView<'_>, range: Range<usize>) -> Result<()> {
        if let Some(first) = range.clone().next() {
            self.key.clear();
            self.key.extend_from_slice(rows.key(first));
        }
        let writer = self.writer()?;
        for row in range {
            let value = rows.value(row);
            writer.write(&(value.len() as u32).to_le_bytes())?;
            writer.write(value)?;
        }
        Ok(())
    }

    fn visit(&mut self, see: &mut dyn FnMut(RowsView<'_>) -> Result<()>) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            self.run = Some(writer.finish()?);
        }
        let Some(run) = &self.run else { return Ok(()) };
        let mut reader = run.reader(self.chunk_bytes);
        let (mut left_bytes, key_bytes) = (run.len(), self.key.len());
        let (rows, spans) = (&mut self.rows, &mut self.spans);
        spans.reserve_exact((self.chunk_bytes / BYTES_A_SPAN).saturating_sub(spans.len()));
        let start = |rows: &mut Vec<u8>, spans: &mut Vec<Span>, key: &[u8]| {
            spans.clear();
            rows.clear();
            rows.extend_from_slice(key);
        };
        start(rows, spans, &self.key);
        let cut_off = || Error::InvalidArgument("the spilled rows of a key are cut off".into());
        while left_bytes > 0 {
            let at = rows.len();
            if !reader.read(LENGTH_BYTES, rows)? {
                return Err(cut_off());
            }
            let length =
                rows.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes));
            rows.truncate(at);
            if !reader.read(length as usize, rows)? {
                return Err(cut_off());
            }
            left_bytes = left_bytes.saturating_sub(LENGTH_BYTES as u64 + u64::from(length));
            let (value_at, key_bytes) = (at as u32, key_bytes as u32);
            spans.push(Span { key_at: 0, key_bytes, value_at, value_bytes: length, is_long: false });
            if rows.len() >= self.chunk_bytes || spans.len() >= self.chunk_bytes / BYTES_A_SPAN {
                see(RowsView::Spans { bytes: rows, spans })?;
                start(rows, spans, &self.key);
            }
        }
        if spans.is_empty() { Ok(()) } else { see(RowsView::Spans { bytes: rows, spans }) }
    }

    fn clear(&mut self) -> Result<()> {
        self.writer = None;
        self.run = None;
        self.rows = Vec::new();
        self.spans = Vec::new();
        self.share = None;
        Ok(())
    }
}
