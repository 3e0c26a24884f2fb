//! Parallel execution: the key range is cut into *morsels*, and each is joined on its own.
//!
//! ```text
//! worker 0   | morsel 0 | morsel 3       ...
//! worker 1   | morsel 1         | morsel 4
//! worker 2   | morsel 2 |(waits: the queue is full)
//! caller     0 0 0 0 1 1 2 2 2 ...              takes rows in morsel order, as the current morsel produces them
//! ```
//!
//! Rows of the current morsel pass at once. Rows of later morsels wait in memory; when that is full, their workers
//! wait. The current morsel is the oldest unfinished one, so at least one worker always makes progress. If any order is
//! acceptable, rows pass as they are produced.

use super::emit::{Emitter, RowForm, RowWriter};
use super::merge::Sink;
use super::rows::RowsView;
use super::source::KeyRange;
use super::task::{Spent, Task};
use crate::error::{Error, Result};
use crate::io::spawn_helper;
use crate::io::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows are handed over in batches of about so many bytes, or a sixteenth of what may wait.
const BATCH_BYTES: usize = 64 << 10;
const BATCH_BYTES_MIN: usize = 4 << 10;
/// Batches of the morsel whose turn it is that may wait whatever else does.
const OWN_BATCHES: usize = 2;
/// Morsels for each thread: enough that they end together although morsels differ.
const MORSELS_A_THREAD: usize = 8;
/// In front of each row of a batch: lengths of key, left and right value.
const HEAD_BYTES: usize = 12;
/// The length of a right value that there is not.
const NO_VALUE: u32 = u32::MAX;

/// All keys, cut at `cuts`.
pub(super) fn ranges(cuts: Vec<Vec<u8>>) -> Vec<KeyRange> {
    let mut ranges = vec![KeyRange::all()];
    for cut in cuts {
        if let Some(last) = ranges.last_mut() {
            last.to = Some(cut.clone());
        }
        ranges.push(KeyRange { from: Some(cut), to: None });
    }
    ranges
}

/// How morsels are joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parallel {
    /// Threads that join.
    pub(super) threads: usize,
    /// Whether rows may come in any order.
    pub(super) any_order: bool,
    /// Bytes of rows that may wait. What batches take that are being filled comes on top: [`Self::batch_bytes`] for each thread.
    pub(super) queue_bytes: u64,
}

impl Parallel {
    /// Morsels to be cut for so many threads.
    pub(super) fn morsels(self) -> usize {
        if self.threads > 1 { self.threads * MORSELS_A_THREAD } else { 1 }
    }

    /// Bytes of a batch.
    pub(super) fn batch_bytes(self) -> usize {
        (self.queue_bytes as usize / 16).clamp(BATCH_BYTES_MIN, BATCH_BYTES)
    }

    /// Bytes that handing rows over takes at most: what waits, and for each thread the batch that is filled and the one that it hands over.
    pub(super) fn memory_bytes(self) -> u64 {
        self.queue_bytes + (2 * self.threads * self.batch_bytes()) as u64
    }

    /// Has `work` join each of the ranges, on so many threads, and gives the rows to `sink`.
    ///
    /// # Errors
    /// The first that a thread or the sink reports; the others are stopped then.
    pub(super) fn run(
        self,
        task: &Arc<Task>,
        ranges: &[KeyRange],
        work: &(dyn Fn(&KeyRange, &mut dyn Sink) -> Result<()> + Sync),
        sink: &mut dyn Sink,
    ) -> Result<()> {
        if let [range] = ranges {
            return work(range, sink);
        }
        let queue = Queue::new(self, task, ranges.len());
        let form = sink.dense_form();
        let next = AtomicUsize::new(0);
        let worker = || {
            loop {
                let morsel = next.fetch_add(1, Ordering::Relaxed);
                let Some(range) = ranges.get(morsel) else { return };
                let ending = Ending { queue: &queue, morsel };
                let outcome = join_morsel(&queue, morsel, form, &|sink| work(range, sink));
                if ending.end(outcome) {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            let started = (0..self.threads.min(ranges.len()))
                .take_while(|_| spawn_helper(scope, "ogive-join", worker).is_ok())
                .count();
            if started == 0 {
                // The system gives no thread.
                return ranges.iter().try_for_each(|range| work(range, sink));
            }
            let given = give(&queue, form.is_some(), sink);
            if given.is_err() {
                queue.stop();
            }
            given
        })
    }
}

/// Ends a morsel even where joining it panics: the caller would wait for it for ever.
struct Ending<'a, 'q> {
    queue: &'a Queue<'q>,
    morsel: usize,
}

impl Ending<'_, '_> {
    fn end(self, outcome: Result<()>) -> bool {
        let stop = self.queue.end(self.morsel, outcome);
        std::mem::forget(self);
        stop
    }
}

impl Drop for Ending<'_, '_> {
    fn drop(&mut self) {
        self.queue.end(self.morsel, Err(Error::InvalidArgument("a thread of the join broke down".into())));
    }
}

/// Joins one morsel, its rows going to the queue.
fn join_morsel(
    queue: &Queue<'_>,
    morsel: usize,
    form: Option<RowForm>,
    work: &dyn Fn(&mut dyn Sink) -> Result<()>,
) -> Result<()> {
    let batch = Batch { queue, morsel, bytes: Vec::with_capacity(queue.batch_bytes) };
    let mut sink: Box<dyn Sink + '_> = match form {
        Some(form) => Box::new(Emitter::new(form, Box::new(DenseBatches(batch)))),
        None => Box::new(RowBatches { batch, rows: 0 }),
    };
    work(&mut *sink)?;
    sink.finish()
}

/// Gives what comes out of the queue to the sink.
fn give(queue: &Queue<'_>, is_dense: bool, sink: &mut dyn Sink) -> Result<()> {
    while let Some(batch) = queue.take()? {
        queue.task.check()?;
        if is_dense {
            sink.dense(&batch)?;
        } else {
            replay(&batch, sink)?;
        }
    }
    Ok(())
}

fn replay(mut batch: &[u8], sink: &mut dyn Sink) -> Result<()> {
    let cut_off = || Error::InvalidArgument("a batch of rows is cut off".into());
    while let Some((head, rest)) = batch.split_first_chunk::<HEAD_BYTES>() {
        let length = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let right_bytes = Some(length(8)).filter(|&bytes| bytes != NO_VALUE);
        let (key, rest) = rest.split_at_checked(length(0) as usize).ok_or_else(cut_off)?;
        let (left, rest) = rest.split_at_checked(length(4) as usize).ok_or_else(cut_off)?;
        let (right, rest) = rest.split_at_checked(right_bytes.unwrap_or(0) as usize).ok_or_else(cut_off)?;
        sink.row(key, left, right_bytes.map(|_| right))?;
        batch = rest;
    }
    Ok(())
}

/// Rows on their way from the workers to the caller.
struct Queue<'a> {
    task: &'a Task,
    any_order: bool,
    limit_bytes: usize,
    batch_bytes: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    morsels: Vec<Waiting>,
    /// The morsel whose turn it is.
    turn: usize,
    /// Bytes that wait, of all morsels.
    bytes: usize,
    /// Morsels that are not ended.
    left: usize,
    failed: Option<Error>,
    stopped: bool,
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<Vec<u8>>,
    ended: bool,
}

impl<'a> Queue<'a> {
    fn new(parallel: Parallel, task: &'a Task, morsels: usize) -> Self {
        let waiting = (0..morsels).map(|_| Waiting::default()).collect();
        let state = State { morsels: waiting, turn: 0, bytes: 0, left: morsels, failed: None, stopped: false };
        Self {
            task,
            any_order: parallel.any_order,
            limit_bytes: parallel.queue_bytes as usize,
            batch_bytes: parallel.batch_bytes(),
            state: Mutex::new(state),
            changed: Condvar::default(),
        }
    }

    /// Takes rows of a morsel, once there is room.
    fn put(&self, morsel: usize, batch: Vec<u8>) -> Result<()> {
        let mut state = self.state.lock();
        let is_blocked = |state: &State| {
            let own_turn = self.any_order || state.turn == morsel;
            let own = state.morsels.get(morsel).map_or(0, |waiting| waiting.batches.len());
            let has_room = state.bytes + batch.len() + OWN_BATCHES * self.batch_bytes <= self.limit_bytes;
            !(state.stopped || has_room || (own_turn && own < OWN_BATCHES))
        };
        if is_blocked(&state) {
            state = self.task.spend(Spent::Writing, || {
                while is_blocked(&state) {
                    state = self.changed.wait(&self.state, state);
                }
                state
            });
        }
        if state.stopped {
            return Err(Error::Interrupted);
        }
        state.bytes += batch.len();
        if let Some(waiting) = state.morsels.get_mut(morsel) {
            waiting.batches.push_back(batch);
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Notes that nothing more comes of a morsel; returns whether its worker is to end.
    fn end(&self, morsel: usize, outcome: Result<()>) -> bool {
        let mut state = self.state.lock();
        if let Err(error) = outcome {
            // Those that are stopped because of the first tell nothing of their own.
            if !state.stopped {
                state.failed.get_or_insert(error);
            }
            state.stopped = true;
        }
        if let Some(waiting) = state.morsels.get_mut(morsel) {
            waiting.ended = true;
        }
        state.left -= 1;
        self.changed.notify_all();
        state.stopped
    }

    fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// The rows that are next; `None` behind the last.
    fn take(&self) -> Result<Option<Vec<u8>>> {
        let mut state = self.state.lock();
        loop {
            if let Some(error) = state.failed.take() {
                return Err(error);
            }
            if let Some(batch) = self.next(&mut state) {
                state.bytes -= batch.len();
                self.changed.notify_all();
                return Ok(Some(batch));
            }
            if state.turn >= state.morsels.len() || (self.any_order && state.left == 0) {
                return Ok(None);
            }
            state = self.changed.wait(&self.state, state);
        }
    }

    fn next(&self, state: &mut MutexGuard<'_, State>) -> Option<Vec<u8>> {
        if self.any_order {
            return state.morsels.iter_mut().find_map(|waiting| waiting.batches.pop_front());
        }
        loop {
            let turn = state.turn;
            let waiting = state.morsels.get_mut(turn)?;
            if let Some(batch) = waiting.batches.pop_front() {
                return Some(batch);
            }
            if !waiting.ended {
                return None;
            }
            state.turn += 1;
            // Whoever joins the next morsel may have waited for its turn.
            self.changed.notify_all();
        }
    }
}

/// Rows that are handed over together.
struct Batch<'a, 'q> {
    queue: &'a Queue<'q>,
    morsel: usize,
    bytes: Vec<u8>,
}

impl Batch<'_, '_> {
    /// Makes room for so many bytes.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        if !self.bytes.is_empty() && self.bytes.len() + bytes > self.queue.batch_bytes { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let empty = Vec::with_capacity(self.queue.batch_bytes);
        self.queue.put(self.morsel, std::mem::replace(&mut self.bytes, empty))
    }
}

/// Takes rows of one width from an emitter.
struct DenseBatches<'a, 'q>(Batch<'a, 'q>);

impl RowWriter for DenseBatches<'_, '_> {
    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        self.0.make_room(rows.len())?;
        self.0.bytes.extend_from_slice(rows);
        Ok(())
    }

    fn row(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        Err(Error::InvalidArgument("rows of one width were expected".into()))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.0.flush()
    }
}

/// Takes rows of any length apart from each other.
struct RowBatches<'a, 'q> {
    batch: Batch<'a, 'q>,
    rows: u64,
}

impl Sink for RowBatches<'_, '_> {
    fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        pairs.iter().try_for_each(|&(i, j)| {
            let (i, j) = (i as usize, j as usize);
            self.row(left.key(i), left.value(i), Some(right.value(j)))
        })
    }

    fn lefts(&mut self, left: RowsView<'_>, rows: Range<usize>) -> Result<()> {
        rows.into_iter().try_for_each(|i| self.row(left.key(i), left.value(i), None))
    }

    fn row(&mut self, key: &[u8], left: &[u8], right: Option<&[u8]>) -> Result<()> {
        self.rows += 1;
        self.batch.make_room(HEAD_BYTES + key.len() + left.len() + right.map_or(0, <[u8]>::len))?;
        let lengths = [key.len() as u32, left.len() as u32, right.map_or(NO_VALUE, |right| right.len() as u32)];
        lengths.iter().for_each(|length| self.batch.bytes.extend_from_slice(&length.to_le_bytes()));
        self.batch.bytes.extend_from_slice(key);
        self.batch.bytes.extend_from_slice(left);
        self.batch.bytes.extend_from_slice(right.unwrap_or_default());
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.batch.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::emit::CallerSink;
    use crate::join::options::{JoinKind, JoinOptions};
    use crate::table::KeyType;
    use std::sync::Mutex as Shared;
    use std::sync::atomic::AtomicBool;

    const RANGES: usize = 23;

    fn ranges() -> Vec<KeyRange> {
        (0..RANGES).map(|i| KeyRange { from: Some(vec![i as u8]), to: Some(vec![i as u8 + 1]) }).collect()
    }

    /// Gives for each range as many rows as its number says, a hundred times over.
    fn rows(range: &KeyRange, sink: &mut dyn Sink) -> Result<()> {
        let number = range.from.as_ref().map_or(0, |from| from[0]);
        for i in 0..u32::from(number) * 100 {
            sink.row(&[number], &i.to_be_bytes(), (i % 3 > 0).then_some(&[7; 4][..]))?;
        }
        Ok(())
    }

    /// Key and left value.
    type Row = (Vec<u8>, Vec<u8>);

    fn run(
        parallel: Parallel,
        options: &JoinOptions,
        work: &(dyn Fn(&KeyRange, &mut dyn Sink) -> Result<()> + Sync),
    ) -> (Result<()>, Vec<Row>) {
        let seen = Arc::new(Shared::new(Vec::new()));
        let theirs = seen.clone();
        let visit = move |key: &[u8], left: &[u8], _: Option<&[u8]>| {
            theirs.lock().unwrap().push((key.to_vec(), left.to_vec()));
            Ok(())
        };
        let mut sink = CallerSink { visit: Box::new(visit), rows: 0 };
        let outcome = parallel.run(&Task::new(options).unwrap(), &ranges(), work, &mut sink);
        drop(sink);
        (outcome, Arc::into_inner(seen).unwrap().into_inner().unwrap())
    }

    #[test]
    fn rows_come_in_the_order_of_morsels_unless_any_will_do() {
        for (threads, any_order, queue_bytes) in [(2, false, 1), (3, false, 1 << 20), (4, true, 1 << 14)] {
            let parallel = Parallel { threads, any_order, queue_bytes };
            let (outcome, mut seen) = run(parallel, &JoinOptions::default(), &rows);
            outcome.unwrap();
            assert_eq!(seen.len(), RANGES * (RANGES - 1) / 2 * 100);
            if any_order {
                seen.sort();
            }
            assert!(seen.is_sorted(), "{parallel:?}");
        }
    }

    #[test]
    fn dense_rows_are_handed_over_as_they_are_made() {
        struct Whole(Arc<Shared<Vec<u8>>>);
        impl RowWriter for Whole {
            fn dense(&mut self, rows: &[u8]) -> Result<()> {
                self.0.lock().unwrap().extend_from_slice(rows);
                Ok(())
            }
            fn row(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
                unreachable!("rows have one width")
            }
            fn finish(self: Box<Self>) -> Result<()> {
                Ok(())
            }
        }
        let form =
            RowForm { kind: JoinKind::Left, key_type: KeyType::Bytes, key: Some(1), left: Some(4), right: Some(4) };
        let task = Task::new(&JoinOptions { kind: JoinKind::Left, ..JoinOptions::default() }).unwrap();
        let written = [1, 3].map(|threads| {
            let bytes = Arc::new(Shared::new(Vec::new()));
            let mut sink = Emitter::new(form, Box::new(Whole(bytes.clone())));
            let parallel = Parallel { threads, any_order: false, queue_bytes: 1 << 16 };
            let all = [KeyRange::all()];
            let ranges = if threads == 1 { all.to_vec() } else { ranges() };
            let work = |range: &KeyRange, sink: &mut dyn Sink| match range.from {
                None => super::tests::ranges().iter().try_for_each(|range| rows(range, sink)),
                Some(_) => rows(range, sink),
            };
            parallel.run(&task, &ranges, &work, &mut sink).unwrap();
            assert_eq!(sink.rows() as usize, RANGES * (RANGES - 1) / 2 * 100);
            drop(sink);
            Arc::into_inner(bytes).unwrap().into_inner().unwrap()
        });
        assert!(written[0] == written[1]);
    }

    #[test]
    fn an_error_or_an_interruption_ends_all_threads() {
        let parallel = Parallel { threads: 3, any_order: false, queue_bytes: 1 };
        let (outcome, _) = run(parallel, &JoinOptions::default(), &|range, sink| {
            rows(range, sink)?;
            match range.from.as_deref() {
                Some([9]) => Err(Error::InvalidArgument("nine".into())),
                _ => Ok(()),
            }
        });
        assert!(matches!(outcome, Err(Error::InvalidArgument(text)) if text == "nine"));
        let stop = Arc::new(AtomicBool::new(false));
        let options = JoinOptions { stop: Some(stop.clone()), ..JoinOptions::default() };
        let (outcome, seen) = run(parallel, &options, &|range, sink| {
            if range.from.as_deref() == Some(&[5]) {
                stop.store(true, Ordering::Relaxed);
            }
            rows(range, sink)
        });
        assert!(matches!(outcome, Err(Error::Interrupted)));
        assert!(seen.len() < RANGES * (RANGES - 1) / 2 * 100);
    }
}
