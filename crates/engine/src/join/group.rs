//! The join of two runs of equal keys that span several chunks of a stream.
//!
//! One side's run is retained while the other's streams past. A run within one chunk is used in place; any other is
//! copied, as far as memory allows:
//!
//! ```text
//! left run fits memory               retained left  x  right run as it streams
//! left run does not, right one does  retained right x  (left rows retained so far, then the rest of the left run)
//! neither does                       right run spilled; each memory load of left rows  x  the spilled run
//! ```
//!
//! A key with more rows than memory on both sides is thus a block nested loop join of its two runs. (Chesetti and
//! Pandey exclude such keys: their keys are distinct.)

use super::merge::{PAIRS_AT_ONCE, Side, Sink, run_end_of};
use super::rows::{RowStream, RowsView, Span};
use super::task::{Share, Task};
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Rows of the first segment, which is there from the start, take so many bytes: most runs at the end of a chunk are a few rows.
const FIRST_SEGMENT_BYTES: usize = 4 << 10;
/// Further segments are at least and at most so long, in bytes.
const SEGMENT_BYTES: std::ops::RangeInclusive<usize> = FIRST_SEGMENT_BYTES..=1 << 20;
/// Bytes that a new group takes of its share at once.
const LEAST_BYTES: u64 = 2 * FIRST_SEGMENT_BYTES as u64;

/// Where a run goes that memory does not hold, and comes back from.
pub(crate) trait Overflow {
    /// Appends rows to the run.
    fn put(&mut self, rows: RowsView<'_>, range: Range<usize>) -> Result<()>;

    /// Shows the run from its start, chunk by chunk.
    fn visit(&mut self, see: &mut dyn FnMut(RowsView<'_>) -> Result<()>) -> Result<()>;

    /// Forgets the run.
    fn clear(&mut self) -> Result<()>;
}

/// Joins runs of equal keys within a share of memory.
pub(crate) struct Group {
    left: Held,
    right: Held,
    key: Vec<u8>,
    overflow: Option<Box<dyn Overflow>>,
    pairs: Vec<(u32, u32)>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Group").field("left", &self.left).field("right", &self.right).finish_non_exhaustive()
    }
}

impl Group {
    /// A group that holds runs in up to `memory_bytes` of the task's budget, as far as there are so many when they are needed; what is more goes to
    /// `overflow`.
    ///
    /// # Errors
    /// [`Error::JoinMemoryShort`] where the budget is used up.
    pub(crate) fn new(task: &Task, memory_bytes: u64, overflow: Option<Box<dyn Overflow>>) -> Result<Self> {
        let held = || Held::new(task, memory_bytes / 2);
        Ok(Self { left: held()?, right: held()?, key: Vec::new(), overflow, pairs: Vec::new() })
    }

    /// Joins the runs at which both streams stand; afterwards both stand behind them. Returns whether there are further left rows, and further
    /// right rows.
    pub(super) fn join(
        &mut self,
        task: &Arc<Task>,
        left: (&mut dyn RowStream, &mut Side),
        right: (&mut dyn RowStream, &mut Side),
        sink: &mut dyn Sink,
        done: &mut dyn FnMut(u64),
    ) -> Result<(bool, bool)> {
        self.key.clear();
        self.key.extend_from_slice(left.0.rows().key(left.1.at));
        let key = std::mem::take(&mut self.key);
        let mut left = Passing { stream: left.0, side: left.1, key: &key, task, done };
        let mut right = Passing { stream: right.0, side: right.1, key: &key, task, done: &mut |_| () };
        let outcome = self.join_runs(&mut left, &mut right, sink);
        self.left.clear();
        self.right.clear();
        self.key = key;
        outcome
    }

    fn join_runs(
        &mut self,
        left: &mut Passing<'_>,
        right: &mut Passing<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(bool, bool)> {
        let pairs = &mut self.pairs;
        if let Some(range) = left.lies_in_chunk() {
            let held = [left.stream.rows()];
            let more = right.pass(|stream, rows| cross(&held, range.clone(), (stream, rows), true, sink, pairs))?;
            left.side.at = range.end;
            return Ok((true, more));
        }
        if let Some(range) = right.lies_in_chunk() {
            let held = [right.stream.rows()];
            let more = left.pass(|stream, rows| cross(&held, range.clone(), (stream, rows), false, sink, pairs))?;
            right.side.at = range.end;
            return Ok((more, true));
        }
        if let Some(left_more) = self.left.collect(left)? {
            let held = self.left.views();
            let more = right.pass(|stream, rows| cross(&held, 0..usize::MAX, (stream, rows), true, sink, pairs))?;
            return Ok((left_more, more));
        }
        if let Some(right_more) = self.right.collect(right)? {
            let held = self.right.views();
            for view in self.left.views() {
                cross_views(&held, 0..usize::MAX, view, 0..view.len(), false, sink, pairs)?;
            }
            self.left.clear();
            let more = left.pass(|stream, rows| cross(&held, 0..usize::MAX, (stream, rows), false, sink, pairs))?;
            return Ok((more, right_more));
        }
        self.join_spilled(left, right, sink)
    }

    /// Both runs are larger than memory; a part of each is held.
    fn join_spilled(
        &mut self,
        left: &mut Passing<'_>,
        right: &mut Passing<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(bool, bool)> {
        let Some(overflow) = &mut self.overflow else {
            let what = "a key has more rows on both sides than memory holds, and there is nowhere to spill them";
            return Err(self.right.short(what));
        };
        let right_more = loop {
            for view in self.right.views() {
                overflow.put(view, 0..view.len())?;
            }
            self.right.clear();
            if let Some(more) = self.right.collect(right)? {
                break more;
            }
        };
        for view in self.right.views() {
            overflow.put(view, 0..view.len())?;
        }
        self.right.clear();
        let mut left_more = None;
        loop {
            let (held, pairs) = (self.left.views(), &mut self.pairs);
            overflow.visit(&mut |rows| cross_views(&held, 0..usize::MAX, rows, 0..rows.len(), true, sink, pairs))?;
            left.task.check()?;
            self.left.clear();
            if let Some(more) = left_more {
                overflow.clear()?;
                return Ok((more, right_more));
            }
            left_more = self.left.collect(left)?;
        }
    }
}

/// A stream that passes through a run.
struct Passing<'a> {
    stream: &'a mut dyn RowStream,
    side: &'a mut Side,
    key: &'a [u8],
    task: &'a Task,
    done: &'a mut dyn FnMut(u64),
}

impl Passing<'_> {
    /// The rows of the run, where it ends in this chunk and none of its values lies elsewhere.
    fn lies_in_chunk(&self) -> Option<Range<usize>> {
        let rows = self.stream.rows();
        let end = run_end_of(&rows, self.side.at, self.key);
        let range = self.side.at..end;
        (end < rows.len() && !range.clone().any(|row| rows.is_long(row))).then_some(range)
    }

    /// Shows the rows of the run, chunk by chunk; returns whether there are rows behind it.
    fn pass(&mut self, mut see: impl FnMut(&mut dyn RowStream, Range<usize>) -> Result<()>) -> Result<bool> {
        loop {
            let rows = self.stream.rows();
            let range = self.side.at..run_end_of(&rows, self.side.at, self.key);
            self.side.at = range.end;
            let in_chunk = range.end < rows.len();
            if !range.is_empty() {
                see(self.stream, range)?;
            }
            if in_chunk {
                return Ok(true);
            }
            if !self.next_chunk()? {
                return Ok(false);
            }
        }
    }

    fn next_chunk(&mut self) -> Result<bool> {
        self.task.check()?;
        let more = self.side.advance(self.stream, Some(self.key))?;
        if more {
            (self.done)(self.stream.rows().len() as u64);
        }
        Ok(more)
    }
}

/// Rows that were copied: segments, so that nothing moves when there are more.
#[derive(Debug)]
struct Held {
    segments: Vec<Segment>,
    /// Segments that hold rows.
    used: usize,
    share: Share,
    most_bytes: u64,
    long: Vec<u8>,
}

#[derive(Debug)]
struct Segment {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    /// Widths of key and value, where rows lie densely; then there are no spans.
    dense: Option<(usize, usize)>,
}

impl Segment {
    fn view(&self) -> RowsView<'_> {
        match self.dense {
            Some((key, value)) => RowsView::Dense { bytes: &self.bytes, key, value },
            None => RowsView::Spans { bytes: &self.bytes, spans: &self.spans },
        }
    }
}

impl Held {
    fn new(task: &Task, most_bytes: u64) -> Result<Self> {
        let share = task.budget.take(LEAST_BYTES, "the rows of one key")?;
        let mut held = Self { segments: Vec::new(), used: 0, share, most_bytes, long: Vec::new() };
        held.segments.push(segment_of(FIRST_SEGMENT_BYTES));
        Ok(held)
    }

    fn clear(&mut self) {
        // The first segment stays; what else there is goes back.
        self.segments.truncate(1);
        if let Some(first) = self.segments.first_mut() {
            first.bytes.clear();
            first.spans.clear();
        }
        self.used = 0;
        self.long = Vec::new();
        self.share.shrink_to(LEAST_BYTES);
    }

    fn views(&self) -> Vec<RowsView<'_>> {
        self.segments.iter().take(self.used).map(Segment::view).collect()
    }

    /// Copies the run; `Some` of whether there are rows behind it, `None` where memory has no room for more of it.
    fn collect(&mut self, run: &mut Passing<'_>) -> Result<Option<bool>> {
        loop {
            let rows = run.stream.rows();
            let end = run_end_of(&rows, run.side.at, run.key);
            let is_last = end < rows.len();
            while run.side.at < end {
                let taken = self.take(run.stream, run.side.at..end)?;
                if taken == 0 {
                    return if self.used > 0 { Ok(None) } else { Err(self.too_small()) };
                }
                run.side.at += taken;
            }
            if is_last {
                return Ok(Some(true));
            }
            if !run.next_chunk()? {
                return Ok(Some(false));
            }
        }
    }

    fn too_small(&self) -> Error {
        self.short(format!(
            "a single row does not fit the {} bytes that are left for the rows of one key",
            self.most_bytes
        ))
    }

    /// How much more it takes is known only with more: twice as much is the next to try.
    fn short(&self, what: impl Into<String>) -> Error {
        self.share.short((2, 1), what)
    }

    /// Copies rows for as long as there is room; returns how many.
    fn take(&mut self, stream: &mut dyn RowStream, range: Range<usize>) -> Result<usize> {
        let rows = stream.rows();
        if let RowsView::Dense { bytes, key, value } = rows {
            let width = key + value;
            let Some(segment) = self.segment_for(width, Some((key, value))) else { return Ok(0) };
            let fitting = ((segment.bytes.capacity() - segment.bytes.len()) / width).min(range.len());
            segment
                .bytes
                .extend_from_slice(bytes.get(range.start * width..(range.start + fitting) * width).unwrap_or(&[]));
            return Ok(fitting);
        }
        let mut long = std::mem::take(&mut self.long);
        let is_long = rows.is_long(range.start);
        if is_long {
            stream.long_value(range.start, &mut long)?;
        }
        let rows = stream.rows();
        let (key, value) = (rows.key(range.start), if is_long { &long } else { rows.value(range.start) });
        let segment = self.segment_for(key.len() + value.len(), None);
        let taken = segment.is_some();
        if let Some(segment) = segment {
            let key_at = segment.bytes.len() as u32;
            segment.bytes.extend_from_slice(key);
            segment.bytes.extend_from_slice(value);
            segment.spans.push(Span {
                key_at,
                key_bytes: key.len() as u32,
                value_at: key_at + key.len() as u32,
                value_bytes: value.len() as u32,
                is_long: false,
            });
        }
        self.long = long;
        Ok(usize::from(taken))
    }

    /// The segment that takes a row of so many bytes; `None` where memory has no room for one.
    fn segment_for(&mut self, row_bytes: usize, dense: Option<(usize, usize)>) -> Option<&mut Segment> {
        let fits = |segment: &Segment| {
            let has_span = dense.is_some() || segment.spans.len() < segment.spans.capacity();
            segment.dense == dense && segment.bytes.capacity() - segment.bytes.len() >= row_bytes && has_span
        };
        let last = self.used.checked_sub(1);
        if last.is_none_or(|last| !self.segments.get(last).is_some_and(fits)) {
            let is_first = self.used == 0 && row_bytes <= FIRST_SEGMENT_BYTES;
            if is_first {
                self.segments.truncate(1);
            } else {
                let wanted =
                    (self.most_bytes as usize / 8).clamp(*SEGMENT_BYTES.start(), *SEGMENT_BYTES.end()).max(row_bytes);
                let memory = segment_memory(wanted);
                if self.share.bytes() + memory > self.most_bytes.max(LEAST_BYTES) || !self.share.try_grow(memory) {
                    return None;
                }
                if self.used == 0 {
                    // The row is too large for the first segment.
                    self.used = 1;
                }
                self.segments.push(segment_of(wanted));
            }
            self.used += 1;
            self.segments.get_mut(self.used - 1)?.dense = dense;
        }
        self.segments.get_mut(self.used - 1)
    }
}

/// Bytes of a segment for each span that it has room for: rows that are not dense have about so many.
const BYTES_A_SPAN: usize = 32;

fn segment_of(bytes: usize) -> Segment {
    Segment { bytes: Vec::with_capacity(bytes), spans: Vec::with_capacity(bytes / BYTES_A_SPAN), dense: None }
}

/// What a segment for so many bytes of rows takes.
fn segment_memory(bytes: usize) -> u64 {
    (bytes + bytes / BYTES_A_SPAN * size_of::<Span>()) as u64
}

/// Gives all pairs of held rows (in `held_range` of each view) and the rows of a stream's chunk; the held ones are left rows where `held_is_left`.
fn cross(
    held: &[RowsView<'_>],
    held_range: Range<usize>,
    (stream, rows): (&mut dyn RowStream, Range<usize>),
    held_is_left: bool,
    sink: &mut dyn Sink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<()> {
    let view = stream.rows();
    if !rows.clone().any(|row| view.is_long(row)) {
        return cross_views(held, held_range, view, rows, held_is_left, sink, pairs);
    }
    let mut value = Vec::new();
    for row in rows {
        let is_long = stream.rows().is_long(row);
        if is_long {
            stream.long_value(row, &mut value)?;
        }
        let view = stream.rows();
        let ours = if is_long { &value } else { view.value(row) };
        for other in held {
            for i in held_range.start..held_range.end.min(other.len()) {
                let (left, right) = if held_is_left { (other.value(i), ours) } else { (ours, other.value(i)) };
                sink.row(view.key(row), left, Some(right))?;
            }
        }
    }
    Ok(())
}

/// As [`cross`], where no value lies elsewhere.
fn cross_views(
    held: &[RowsView<'_>],
    held_range: Range<usize>,
    view: RowsView<'_>,
    rows: Range<usize>,
    held_is_left: bool,
    sink: &mut dyn Sink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<()> {
    for other in held {
        let (left, right) = if held_is_left { (*other, view) } else { (view, *other) };
        pairs.clear();
        for i in held_range.start..held_range.end.min(other.len()) {
            for row in rows.clone() {
                pairs.push(if held_is_left { (i as u32, row as u32) } else { (row as u32, i as u32) });
                if pairs.len() >= PAIRS_AT_ONCE {
                    sink.pairs(left, right, pairs)?;
                    pairs.clear();
                }
            }
        }
        if !pairs.is_empty() {
            sink.pairs(left, right, pairs)?;
            pairs.clear();
        }
    }
    Ok(())
}
