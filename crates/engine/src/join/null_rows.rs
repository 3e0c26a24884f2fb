//! Rows whose keys have a null, and so match nothing: they do not enter the join. Where it keeps rows without partner,
//! they are put among the rows of the output in the order of the keys, which have a type with nulls then.

use super::input::sorted;
use super::input::source::JoinSource;
use super::rows::options::JoinKind;
use super::rows::relation::{KeyRange, Relation};
use super::rows::sink::RowSink;
use super::rows::sort_progress::SortProgress;
use super::rows::spill::Spill;
use super::rows::stream::RowStream;
use crate::error::Result;
use crate::types::{KeyType, Value};
use std::sync::Arc;

/// A scan of such rows gets 1/16 of the memory that is left, up to a useful maximum in bytes; their sort, and each scan
/// of the sorted copy, this fraction of it.
const SCAN_DIVISOR: u64 = 16;
const SCAN_BYTES_MAX: u64 = 256 << 10;
const SORT_DIVISOR: u64 = 8;

/// The rows with nulls in their keys that a join returns, as it keeps rows without partner.
pub(super) struct NullRows {
    /// Those of each side, and whether it is the left one.
    sides: Vec<(Arc<dyn Relation>, bool)>,
    /// The type of the keys of the join, and that of its output.
    joined: KeyType,
    returned: KeyType,
}

impl NullRows {
    /// Those of a join of these relations, whose other rows have keys of this type.
    pub(super) fn of(sources: [&JoinSource; 2], kind: JoinKind, joined: KeyType) -> Result<Option<Self>> {
        let kept = [kind.keeps_unmatched(), kind.keeps_unmatched_right()];
        let of_side = |side: usize| Some((Arc::clone(sources[side].null_rows()?), side == 0));
        let sides: Vec<_> = [0, 1].into_iter().filter(|&side| kept[side]).filter_map(of_side).collect();
        if sides.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { sides, joined, returned: joined.with_nulls()? }))
    }

    /// The type of the keys of the output.
    pub(super) fn key_type(&self) -> KeyType {
        self.returned
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
        let mut sink = NullRowSink { rows: self, sink, streams: streams.collect::<Result<_>>()?, any_order };
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
    ) -> Result<NullRowStream> {
        let task = spill.task();
        // Keys of one component that are null are equal.
        let has_order = any_order || matches!(self.returned, KeyType::Tuple(tuple) if tuple.components().len() == 1);
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
        let key_type = relation.facts().key_type;
        Ok(NullRowStream { key_type, is_left, rows, next: 0, is_done: false, key: Vec::new(), _relation: relation })
    }

    /// The key of a row of the join as one of the output.
    fn returned_key(&self, key: &[u8]) -> Result<Vec<u8>> {
        let value = match self.joined.decode(key)? {
            tuple @ Value::Tuple(_) => tuple,
            scalar => Value::Tuple(vec![scalar]),
        };
        self.returned.encode(&value)
    }
}

/// The rows of one side.
struct NullRowStream {
    key_type: KeyType,
    is_left: bool,
    rows: Box<dyn RowStream>,
    /// The next row of the chunk, whose key as one of the output is `key`.
    next: usize,
    key: Vec<u8>,
    is_done: bool,
    /// Holds a sorted copy.
    _relation: Arc<dyn Relation>,
}

impl NullRowStream {
    /// Moves to the next row, unless it is at one; whether there is one.
    fn load(&mut self, returned: KeyType) -> Result<bool> {
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
        let key = self.rows.rows().key(self.next);
        self.key = match self.key_type == returned {
            true => key.to_vec(),
            false => returned.encode(&self.key_type.decode(key)?)?,
        };
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

/// A sink that puts the rows among those of the join.
struct NullRowSink<'a> {
    rows: &'a NullRows,
    sink: &'a mut dyn RowSink,
    streams: Vec<NullRowStream>,
    any_order: bool,
}

impl NullRowSink<'_> {
    /// Passes those on whose keys come before this one, or all.
    fn pass_below(&mut self, limit: Option<&[u8]>) -> Result<()> {
        loop {
            let mut first: Option<&mut NullRowStream> = None;
            for stream in &mut self.streams {
                let is_first = stream.load(self.rows.returned)?
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

impl RowSink for NullRowSink<'_> {
    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        let key = self.rows.returned_key(key)?;
        if !self.any_order {
            self.pass_below(Some(&key))?;
        }
        self.sink.row(&key, left, right)
    }

    fn rows(&self) -> u64 {
        self.sink.rows()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
