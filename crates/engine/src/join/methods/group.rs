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

use super::cursor::{StreamCursor, run_end_of};
use crate::error::{Error, Result};
use crate::join::rows::condition::JoinCondition;
use crate::join::rows::sink::{PAIR_BATCH_MAX, RowSink};
use crate::join::rows::stream::{RowSpan, RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use std::ops::Range;
use std::sync::Arc;

/// Size of the first segment, which is allocated in advance: most runs at the end of a chunk are a few rows.
const FIRST_SEGMENT_BYTES: usize = 4 << 10;
/// Smallest and largest size of further segments, in bytes.
const SEGMENT_BYTES: std::ops::RangeInclusive<usize> = FIRST_SEGMENT_BYTES..=1 << 20;
/// Memory that a new group takes for each side.
const MEMORY_BYTES_MIN: u64 = 2 * FIRST_SEGMENT_BYTES as u64;

/// Overflow storage for a run that exceeds memory.
pub(crate) trait Overflow {
    /// Appends rows to the run.
    fn put(&mut self, rows: RowsView<'_>, range: Range<usize>) -> Result<()>;

    /// Visits the run from its start, chunk by chunk.
    fn visit(&mut self, visit: &mut dyn FnMut(RowsView<'_>) -> Result<()>) -> Result<()>;

    /// Discards the run.
    fn clear(&mut self) -> Result<()>;
}

/// Joins runs of equal keys within a memory limit.
pub(crate) struct KeyGroup {
    pub(super) left: RetainedRun,
    pub(super) right: RetainedRun,
    key: Vec<u8>,
    pub(super) overflow: Option<Box<dyn Overflow>>,
    pairs: Vec<(u32, u32)>,
    /// The condition on pairs, if there is one.
    condition: Option<JoinCondition>,
}

impl std::fmt::Debug for KeyGroup {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KeyGroup").field("left", &self.left).field("right", &self.right).finish_non_exhaustive()
    }
}

impl KeyGroup {
    /// A group that retains runs in up to `memory_bytes` of the task's budget, as far as it has them at the time; the
    /// rest goes to `overflow`. Pairs must meet `condition`, if there is one.
    ///
    /// # Errors
    /// [`Cause::JoinMemory`](crate::Cause::JoinMemory) if the budget is used up.
    pub(crate) fn new(
        task: &Task,
        memory_bytes: u64,
        overflow: Option<Box<dyn Overflow>>,
        condition: Option<&JoinCondition>,
    ) -> Result<Self> {
        let retained = || RetainedRun::new(task, memory_bytes / 2, condition.is_some());
        Ok(Self {
            left: retained()?,
            right: retained()?,
            key: Vec::new(),
            overflow,
            pairs: Vec::new(),
            condition: condition.cloned(),
        })
    }

    /// Whether the values of rows tell which pairs match, so that every pair of runs is left to the group.
    pub(crate) fn needs_values(&self) -> bool {
        self.condition.is_some()
    }

    /// Joins the runs at the positions of both streams, and moves both past them. Returns whether there are more left
    /// rows, and whether there are more right rows.
    pub(super) fn join(
        &mut self,
        task: &Arc<Task>,
        left: (&mut dyn RowStream, &mut StreamCursor),
        right: (&mut dyn RowStream, &mut StreamCursor),
        sink: &mut dyn RowSink,
        done: &mut dyn FnMut(u64),
    ) -> Result<(bool, bool)> {
        self.key.clear();
        self.key.extend_from_slice(left.0.rows().key(left.1.at));
        let key = std::mem::take(&mut self.key);
        let mut left = GroupCursor { stream: left.0, side: left.1, key: &key, task, done };
        let mut right = GroupCursor { stream: right.0, side: right.1, key: &key, task, done: &mut |_| () };
        let condition = self.condition.take();
        let outcome = match &condition {
            Some(condition) => self.join_runs_where(condition, &mut left, &mut right, sink),
            None => self.join_runs(&mut left, &mut right, sink),
        };
        self.left.clear();
        self.right.clear();
        (self.key, self.condition) = (key, condition);
        outcome
    }

    fn join_runs(
        &mut self,
        left: &mut GroupCursor<'_>,
        right: &mut GroupCursor<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<(bool, bool)> {
        let pairs = &mut self.pairs;
        if let Some(range) = left.lies_in_chunk() {
            let retained = [left.stream.rows()];
            let more =
                right.visit_run(|stream, rows| cross(&retained, range.clone(), (stream, rows), true, sink, pairs))?;
            left.side.at = range.end;
            return Ok((true, more));
        }
        if let Some(range) = right.lies_in_chunk() {
            let retained = [right.stream.rows()];
            let more =
                left.visit_run(|stream, rows| cross(&retained, range.clone(), (stream, rows), false, sink, pairs))?;
            right.side.at = range.end;
            return Ok((more, true));
        }
        if let Some(left_more) = self.left.collect(left)? {
            let retained = self.left.views();
            let more =
                right.visit_run(|stream, rows| cross(&retained, 0..usize::MAX, (stream, rows), true, sink, pairs))?;
            return Ok((left_more, more));
        }
        if let Some(right_more) = self.right.collect(right)? {
            let retained = self.right.views();
            for view in self.left.views() {
                cross_views(&retained, 0..usize::MAX, view, 0..view.len(), false, sink, pairs)?;
            }
            self.left.clear();
            let more =
                left.visit_run(|stream, rows| cross(&retained, 0..usize::MAX, (stream, rows), false, sink, pairs))?;
            return Ok((more, right_more));
        }
        self.join_spilled(left, right, sink)
    }

    /// Joins two runs larger than memory, of each of which a part is retained.
    fn join_spilled(
        &mut self,
        left: &mut GroupCursor<'_>,
        right: &mut GroupCursor<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<(bool, bool)> {
        let (right_more, _) = self.spill_right(right)?;
        let mut left_more = None;
        while let Some(overflow) = &mut self.overflow {
            let (retained, pairs) = (self.left.views(), &mut self.pairs);
            overflow
                .visit(&mut |rows| cross_views(&retained, 0..usize::MAX, rows, 0..rows.len(), true, sink, pairs))?;
            left.task.check()?;
            self.left.clear();
            if let Some(more) = left_more {
                overflow.clear()?;
                return Ok((more, right_more));
            }
            left_more = self.left.collect(left)?;
        }
        Ok((false, right_more))
    }

    /// Spills the right run, of which a part is retained. Returns whether more rows follow it, and its length in rows.
    pub(super) fn spill_right(&mut self, right: &mut GroupCursor<'_>) -> Result<(bool, u64)> {
        let Some(overflow) = &mut self.overflow else {
            let what = "a key has more rows on both sides than fit memory, and this join has no spill storage";
            return Err(self.right.short(what));
        };
        let (mut more, mut rows) = (None, 0);
        loop {
            for view in self.right.views() {
                overflow.put(view, 0..view.len())?;
                rows += view.len() as u64;
            }
            self.right.clear();
            if let Some(more) = more {
                return Ok((more, rows));
            }
            more = self.right.collect(right)?;
        }
    }
}

/// A cursor over one run of a stream.
pub(super) struct GroupCursor<'a> {
    pub(super) stream: &'a mut dyn RowStream,
    pub(super) side: &'a mut StreamCursor,
    key: &'a [u8],
    pub(super) task: &'a Task,
    done: &'a mut dyn FnMut(u64),
}

impl GroupCursor<'_> {
    /// The rows of the run, if it ends in this chunk and has no out-of-line values.
    pub(super) fn lies_in_chunk(&self) -> Option<Range<usize>> {
        let rows = self.stream.rows();
        let end = run_end_of(&rows, self.side.at, self.key);
        let range = self.side.at..end;
        (end < rows.len() && !range.clone().any(|row| rows.is_long(row))).then_some(range)
    }

    /// Visits the rows of the run, chunk by chunk; returns whether rows follow it.
    pub(super) fn visit_run(
        &mut self,
        mut visit: impl FnMut(&mut dyn RowStream, Range<usize>) -> Result<()>,
    ) -> Result<bool> {
        loop {
            let rows = self.stream.rows();
            let range = self.side.at..run_end_of(&rows, self.side.at, self.key);
            self.side.at = range.end;
            let in_chunk = range.end < rows.len();
            if !range.is_empty() {
                visit(self.stream, range)?;
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

/// Copied rows of a run, in segments, so that growth moves nothing.
#[derive(Debug)]
pub(super) struct RetainedRun {
    segments: Vec<RetainedSegment>,
    /// Number of segments in use.
    used: usize,
    grant: MemoryGrant,
    bytes_max: u64,
    /// Whether each row has a bit, for a condition.
    has_bits: bool,
    long: Vec<u8>,
}

#[derive(Debug)]
struct RetainedSegment {
    bytes: Vec<u8>,
    spans: Vec<RowSpan>,
    /// Widths of key and value if rows are dense; `spans` is then empty.
    dense: Option<(usize, usize)>,
}

impl RetainedSegment {
    fn view(&self) -> RowsView<'_> {
        match self.dense {
            Some((key, value)) => RowsView::Dense { bytes: &self.bytes, key, value },
            None => RowsView::Spans { bytes: &self.bytes, spans: &self.spans },
        }
    }
}

impl RetainedRun {
    fn new(task: &Task, bytes_max: u64, has_bits: bool) -> Result<Self> {
        let grant = task.budget.take(MEMORY_BYTES_MIN, "the rows of one key")?;
        let mut retained = Self { segments: Vec::new(), used: 0, grant, bytes_max, has_bits, long: Vec::new() };
        retained.segments.push(segment_of(FIRST_SEGMENT_BYTES));
        Ok(retained)
    }

    pub(super) fn clear(&mut self) {
        // The first segment is kept; the others are returned to the budget.
        self.segments.truncate(1);
        if let Some(first) = self.segments.first_mut() {
            first.bytes.clear();
            first.spans.clear();
        }
        self.used = 0;
        self.long = Vec::new();
        self.grant.shrink_to(MEMORY_BYTES_MIN);
    }

    pub(super) fn views(&self) -> Vec<RowsView<'_>> {
        self.segments.iter().take(self.used).map(RetainedSegment::view).collect()
    }

    /// Copies the run. Returns whether rows follow it, or `None` if memory has no room for more of it.
    pub(super) fn collect(&mut self, run: &mut GroupCursor<'_>) -> Result<Option<bool>> {
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
        let what =
            format!("a single row does not fit in the {} bytes available for the rows of one key", self.bytes_max);
        self.grant.short_of_row(self.bytes_max, what)
    }

    /// The memory needed is unknown until more is available, so the error asks for twice as much.
    fn short(&self, what: impl Into<String>) -> Error {
        self.grant.short((2, 1), what)
    }

    /// Copies rows while there is room; returns their number.
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
            let key_at = segment.bytes.len();
            segment.bytes.extend_from_slice(key);
            segment.bytes.extend_from_slice(value);
            segment.spans.push(RowSpan::of_row(key_at, key, value));
        }
        self.long = long;
        Ok(usize::from(taken))
    }

    /// The segment that receives a row of `row_bytes`; `None` if memory has no room for one.
    fn segment_for(&mut self, row_bytes: usize, dense: Option<(usize, usize)>) -> Option<&mut RetainedSegment> {
        let fits = |segment: &RetainedSegment| {
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
                    (self.bytes_max as usize / 8).clamp(*SEGMENT_BYTES.start(), *SEGMENT_BYTES.end()).max(row_bytes);
                // Rows have a byte or more.
                let bits = if self.has_bits { wanted.div_ceil(8) } else { 0 };
                let memory = segment_memory(wanted) + bits as u64;
                if self.grant.bytes() + memory > self.bytes_max.max(MEMORY_BYTES_MIN) || !self.grant.try_grow(memory) {
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

/// Bytes of a segment per span: about the size of a row that is not dense.
const BYTES_PER_SPAN: usize = 32;

fn segment_of(bytes: usize) -> RetainedSegment {
    RetainedSegment { bytes: Vec::with_capacity(bytes), spans: Vec::with_capacity(bytes / BYTES_PER_SPAN), dense: None }
}

/// Memory of a segment for `bytes` of rows.
fn segment_memory(bytes: usize) -> u64 {
    (bytes + bytes / BYTES_PER_SPAN * size_of::<RowSpan>()) as u64
}

/// Emits all pairs of retained rows (in `retained_range` of each view) and the rows of a stream's chunk. The retained
/// rows are left rows if `retained_is_left`.
fn cross(
    retained: &[RowsView<'_>],
    retained_range: Range<usize>,
    (stream, rows): (&mut dyn RowStream, Range<usize>),
    retained_is_left: bool,
    sink: &mut dyn RowSink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<()> {
    let view = stream.rows();
    if !rows.clone().any(|row| view.is_long(row)) {
        return cross_views(retained, retained_range, view, rows, retained_is_left, sink, pairs);
    }
    let mut value = Vec::new();
    for row in rows {
        let is_long = stream.rows().is_long(row);
        if is_long {
            stream.long_value(row, &mut value)?;
        }
        let view = stream.rows();
        let ours = if is_long { &value } else { view.value(row) };
        for other in retained {
            for i in retained_range.start..retained_range.end.min(other.len()) {
                let (left, right) = if retained_is_left { (other.value(i), ours) } else { (ours, other.value(i)) };
                sink.row(view.key(row), Some(left), Some(right))?;
            }
        }
    }
    Ok(())
}

/// As [`cross`], for rows without out-of-line values.
fn cross_views(
    retained: &[RowsView<'_>],
    retained_range: Range<usize>,
    view: RowsView<'_>,
    rows: Range<usize>,
    retained_is_left: bool,
    sink: &mut dyn RowSink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<()> {
    for other in retained {
        let (left, right) = if retained_is_left { (*other, view) } else { (view, *other) };
        pairs.clear();
        for i in retained_range.start..retained_range.end.min(other.len()) {
            for row in rows.clone() {
                pairs.push(if retained_is_left { (i as u32, row as u32) } else { (row as u32, i as u32) });
                if pairs.len() >= PAIR_BATCH_MAX {
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
