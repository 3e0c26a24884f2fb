//! Rows whose keys match nothing: they have a null, or are none of the type in which keys are compared. They do not
//! enter the join. Where it keeps rows without partner, they are put among the rows of the output in the order of the
//! keys, which have a type that holds all of them.

use super::input::sorted;
use super::rows::relation::{KeyRange, Relation};
use super::rows::sink::RowSink;
use super::rows::sort_progress::SortProgress;
use super::rows::spill::Spill;
use super::rows::stream::RowStream;
use crate::error::{Error, Result};
use crate::types::{KeyConversion, KeyType};
use std::sync::Arc;

/// A scan of such rows gets 1/16 of the memory that is left, up to a useful maximum in bytes; their sort, and each scan
/// of the sorted copy, this fraction of it.
const SCAN_DIVISOR: u64 = 16;
const SCAN_BYTES_MAX: u64 = 256 << 10;
const SORT_DIVISOR: u64 = 8;

/// Such rows that a join returns, and the type of the keys that it returns.
pub(super) struct UnmatchedRows {
    /// Those of each side, and whether it is the left one.
    sides: Vec<(Arc<dyn Relation>, bool)>,
    /// From the keys that are compared to those of the output.
    conversion: KeyConversion,
}

impl UnmatchedRows {
    /// These rows of the left and of the right side, of a join whose keys are converted.
    pub(super) fn new([left, right]: [Vec<Arc<dyn Relation>>; 2], conversion: KeyConversion) -> Self {
        let left = left.into_iter().map(|rows| (rows, true));
        Self { sides: left.chain(right.into_iter().map(|rows| (rows, false))).collect(), conversion }
    }

    /// The type of the keys of the output.
    pub(super) fn key_type(&self) -> KeyType {
        self.conversion.to()
    }

    /// Runs a join, and passes its rows and these on to `sink`.
    ///
    /// # Errors
    /// Those of the join, of the relations and of the sink.
    pub(super) fn run(
        &self,
        sink: &mut dyn RowSink,
        spill: &Arc<Spill>,
        any_order: bool,
        join: impl FnOnce(&mut dyn RowSink) -> Result<()>,
    ) -> Result<()> {
        let streams = self.sides.iter().map(|(relation, is_left)| self.stream(relation, *is_left, spill, any_order));
        let streams = streams.collect::<Result<_>>()?;
        let mut sink = UnmatchedSink { rows: self, sink, streams, any_order, key: Vec::new() };
        join(&mut sink)?;
        sink.pass_below(None)
    }

    /// The rows of one side, in the order of their keys if that is asked for.
    fn stream(
        &self,
        relation: &Arc<dyn Relation>,
        is_left: bool,
        spill: &Arc<Spill>,
        any_order: bool,
    ) -> Result<UnmatchedStream> {
        let task = spill.task();
        let has_order = any_order || relation.facts().is_sorted;
        let relation = if has_order {
            Arc::clone(relation)
        } else {
            let bytes = task.budget.left_bytes() / SORT_DIVISOR;
            let mut progress = SortProgress::new(task, relation.facts().rows);
            sorted::sorted_copy(relation, spill, bytes, bytes / SORT_DIVISOR, &mut progress)?
        };
        let bytes = (task.budget.left_bytes() / SCAN_DIVISOR).min(SCAN_BYTES_MAX);
        let memory = task.budget.take(bytes, &relation.facts().name)?;
        let rows = relation.scan(&KeyRange::all(), task, memory)?;
        let conversion = KeyConversion::new(relation.facts().key_type, self.key_type(), self.conversion.is_written());
        Ok(UnmatchedStream { conversion, is_left, rows, next: 0, is_done: false, key: Vec::new(), _relation: relation })
    }
}

/// The rows of one side.
struct UnmatchedStream {
    /// From its keys to those of the output.
    conversion: KeyConversion,
    is_left: bool,
    rows: Box<dyn RowStream>,
    /// The next row of the chunk, whose key as one of the output is `key`.
    next: usize,
    key: Vec<u8>,
    is_done: bool,
    /// Holds a sorted copy.
    _relation: Arc<dyn Relation>,
}

impl UnmatchedStream {
    /// Moves to the next row, unless it is at one; whether there is one.
    fn load(&mut self) -> Result<bool> {
        if !self.key.is_empty() {
            return Ok(true);
        }
        if self.next == self.rows.rows().len() {
            self.is_done = self.is_done || !self.rows.advance(None)?;
            self.next = 0;
        }
        if self.is_done {
            return Ok(false);
        }
        returned(&self.conversion, self.rows.rows().key(self.next), &mut self.key)?;
        Ok(true)
    }

    /// Passes the row on to which it moved.
    fn pass(&mut self, sink: &mut dyn RowSink) -> Result<()> {
        let value = Some(self.rows.rows().value(self.next));
        let (left, right) = if self.is_left { (value, None) } else { (None, value) };
        sink.row(&self.key, left, right)?;
        self.next += 1;
        self.key.clear();
        Ok(())
    }
}

/// Writes a key as one of the output.
fn returned(conversion: &KeyConversion, key: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    match conversion.append(key, out)? {
        true => Ok(()),
        false => {
            let (from, to) = (conversion.from(), conversion.to());
            Err(Error::input(format!("the key {} of type {from} is none of type {to}", from.display(key))))
        }
    }
}

/// A sink that puts the rows among those of the join.
struct UnmatchedSink<'a> {
    rows: &'a UnmatchedRows,
    sink: &'a mut dyn RowSink,
    streams: Vec<UnmatchedStream>,
    any_order: bool,
    /// The key of the last row of the join, as one of the output.
    key: Vec<u8>,
}

impl UnmatchedSink<'_> {
    /// Passes those on whose keys come before this one, or all.
    fn pass_below(&mut self, limit: Option<&[u8]>) -> Result<()> {
        loop {
            let mut first: Option<&mut UnmatchedStream> = None;
            for stream in &mut self.streams {
                let is_first = stream.load()?
                    && limit.is_none_or(|limit| &stream.key[..] < limit)
                    && first.as_ref().is_none_or(|first| stream.key < first.key);
                if is_first {
                    first = Some(stream);
                }
            }
            match first {
                Some(stream) => stream.pass(self.sink)?,
                None => return Ok(()),
            }
        }
    }
}

impl RowSink for UnmatchedSink<'_> {
    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        let mut own = std::mem::take(&mut self.key);
        returned(&self.rows.conversion, key, &mut own)?;
        if !self.any_order {
            self.pass_below(Some(&own))?;
        }
        self.sink.row(&own, left, right)?;
        self.key = own;
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.sink.rows()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
