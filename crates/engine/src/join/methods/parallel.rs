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

use super::emit::{Emitter, RowWriter};
use crate::error::{Error, Result};
use crate::io::local::sync::{Condvar, Mutex, MutexGuard};
use crate::io::spawn_helper;
use crate::join::rows::form::RowForm;
use crate::join::rows::packed_rows::{pack, packed_bytes, unpack};
use crate::join::rows::relation::KeyRange;
use crate::join::rows::sink::RowSink;
use crate::join::rows::task::{Task, TimedPhase};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Approximate size of a batch of rows, in bytes: at most a sixteenth of the queue.
const BATCH_BYTES: usize = 64 << 10;
const BATCH_BYTES_MIN: usize = 4 << 10;
/// Batches of the current morsel that may wait even if the queue is full.
const CURRENT_MORSEL_BATCHES_MAX: usize = 2;
/// Morsels per thread: enough for threads to finish together although morsels differ.
const MORSELS_PER_THREAD: usize = 8;

/// Splits the key space at `cuts`.
pub(in crate::join) fn ranges(cuts: Vec<Vec<u8>>) -> Vec<KeyRange> {
    let mut ranges = vec![KeyRange::all()];
    for cut in cuts {
        if let Some(last) = ranges.last_mut() {
            last.to = Some(cut.clone());
        }
        ranges.push(KeyRange { from: Some(cut), to: None });
    }
    ranges
}

/// The settings of a parallel join.
#[derive(Clone, Copy, Debug)]
pub(in crate::join) struct Parallel {
    /// Number of joining threads.
    pub(in crate::join) threads: usize,
    /// Whether rows may come in any order.
    pub(in crate::join) any_order: bool,
    /// Bytes of rows that may wait. Batches being filled are additional: [`Self::batch_bytes`] per thread.
    pub(in crate::join) queue_bytes: u64,
}

impl Parallel {
    /// Number of morsels for this many threads.
    pub(in crate::join) fn morsels(self) -> usize {
        if self.threads > 1 { self.threads * MORSELS_PER_THREAD } else { 1 }
    }

    /// Size of a batch in bytes.
    pub(in crate::join) fn batch_bytes(self) -> usize {
        (self.queue_bytes as usize / 16).clamp(BATCH_BYTES_MIN, BATCH_BYTES)
    }

    /// Memory limit of the hand-over: the queue, and for each thread the batch being filled and the one being handed
    /// over.
    pub(in crate::join) fn memory_bytes(self) -> u64 {
        self.queue_bytes + (2 * self.threads * self.batch_bytes()) as u64
    }

    /// Calls `work` for each of the ranges, on several threads, and passes the rows to `sink`.
    ///
    /// # Errors
    /// The first error of a thread or the sink; the other threads are then stopped.
    pub(in crate::join) fn run(
        self,
        task: &Arc<Task>,
        ranges: &[KeyRange],
        work: &(dyn Fn(&KeyRange, &mut dyn RowSink) -> Result<()> + Sync),
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        if let [range] = ranges {
            return work(range, sink);
        }
        let queue = MorselQueue::new(self, task, ranges.len());
        let form = sink.dense_form();
        let next = AtomicUsize::new(0);
        let worker = || {
            loop {
                let morsel = next.fetch_add(1, Ordering::Relaxed);
                let Some(range) = ranges.get(morsel) else { return };
                let ending = MorselGuard { queue: &queue, morsel };
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
                // The system refused every thread.
                return ranges.iter().try_for_each(|range| work(range, sink));
            }
            let given = forward_rows(&queue, form.is_some(), sink);
            if given.is_err() {
                queue.stop();
            }
            given
        })
    }
}

/// Ends a morsel even if joining it panics: otherwise the caller would wait forever.
struct MorselGuard<'a, 'q> {
    queue: &'a MorselQueue<'q>,
    morsel: usize,
}

impl MorselGuard<'_, '_> {
    fn end(self, outcome: Result<()>) -> bool {
        let stop = self.queue.end(self.morsel, outcome);
        std::mem::forget(self);
        stop
    }
}

impl Drop for MorselGuard<'_, '_> {
    fn drop(&mut self) {
        self.queue.end(self.morsel, Err(Error::input("a thread of the join panicked")));
    }
}

/// Joins one morsel, and puts its rows into the queue.
fn join_morsel(
    queue: &MorselQueue<'_>,
    morsel: usize,
    form: Option<RowForm>,
    work: &dyn Fn(&mut dyn RowSink) -> Result<()>,
) -> Result<()> {
    let batch = MorselBatch { queue, morsel, bytes: Vec::with_capacity(queue.batch_bytes) };
    let mut sink: Box<dyn RowSink + '_> = match form.and_then(|form| Some((form, form.widths()?))) {
        Some((form, widths)) => Box::new(Emitter::dense(form, widths, Box::new(DenseBatches(batch)))),
        None => Box::new(RowBatches { batch, rows: 0 }),
    };
    work(&mut *sink)?;
    sink.finish()
}

/// Forwards rows from the queue to the sink.
fn forward_rows(queue: &MorselQueue<'_>, is_dense: bool, sink: &mut dyn RowSink) -> Result<()> {
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

fn replay(mut batch: &[u8], sink: &mut dyn RowSink) -> Result<()> {
    while let Some(((key, left, right), rest)) = unpack(batch)? {
        sink.row(key, left, right)?;
        batch = rest;
    }
    Ok(())
}

/// The queue of rows between the workers and the caller.
struct MorselQueue<'a> {
    task: &'a Task,
    any_order: bool,
    limit_bytes: usize,
    batch_bytes: usize,
    state: Mutex<MorselQueueState>,
    changed: Condvar,
}

struct MorselQueueState {
    morsels: Vec<MorselBacklog>,
    /// The morsel whose rows are passed on now.
    current: usize,
    /// Bytes waiting, over all morsels.
    bytes: usize,
    /// Number of unfinished morsels.
    left: usize,
    failed: Option<Error>,
    stopped: bool,
}

#[derive(Default)]
struct MorselBacklog {
    batches: VecDeque<Vec<u8>>,
    ended: bool,
}

impl<'a> MorselQueue<'a> {
    fn new(parallel: Parallel, task: &'a Task, morsels: usize) -> Self {
        let backlog = (0..morsels).map(|_| MorselBacklog::default()).collect();
        let state =
            MorselQueueState { morsels: backlog, current: 0, bytes: 0, left: morsels, failed: None, stopped: false };
        Self {
            task,
            any_order: parallel.any_order,
            limit_bytes: parallel.queue_bytes as usize,
            batch_bytes: parallel.batch_bytes(),
            state: Mutex::new(state),
            changed: Condvar::default(),
        }
    }

    /// Adds rows of a morsel, waiting for room.
    fn put(&self, morsel: usize, batch: Vec<u8>) -> Result<()> {
        let mut state = self.state.lock();
        let is_blocked = |state: &MorselQueueState| {
            let own_turn = self.any_order || state.current == morsel;
            let own = state.morsels.get(morsel).map_or(0, |backlog| backlog.batches.len());
            let has_room =
                state.bytes + batch.len() + CURRENT_MORSEL_BATCHES_MAX * self.batch_bytes <= self.limit_bytes;
            !(state.stopped || has_room || (own_turn && own < CURRENT_MORSEL_BATCHES_MAX))
        };
        if is_blocked(&state) {
            state = self.task.timed(TimedPhase::Writing, || {
                while is_blocked(&state) {
                    state = self.changed.wait(&self.state, state);
                }
                state
            });
        }
        if state.stopped {
            return Err(Error::interrupted());
        }
        state.bytes += batch.len();
        if let Some(backlog) = state.morsels.get_mut(morsel) {
            backlog.batches.push_back(batch);
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Marks a morsel as finished; returns whether its worker must stop.
    fn end(&self, morsel: usize, outcome: Result<()>) -> bool {
        let mut state = self.state.lock();
        if let Err(error) = outcome {
            // Workers that were stopped because of the first error report none of their own.
            if !state.stopped {
                state.failed.get_or_insert(error);
            }
            state.stopped = true;
        }
        if let Some(backlog) = state.morsels.get_mut(morsel) {
            backlog.ended = true;
        }
        state.left -= 1;
        self.changed.notify_all();
        state.stopped
    }

    fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// The next rows; `None` at the end.
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
            if state.current >= state.morsels.len() || (self.any_order && state.left == 0) {
                return Ok(None);
            }
            state = self.changed.wait(&self.state, state);
        }
    }

    fn next(&self, state: &mut MutexGuard<'_, MorselQueueState>) -> Option<Vec<u8>> {
        if self.any_order {
            return state.morsels.iter_mut().find_map(|backlog| backlog.batches.pop_front());
        }
        loop {
            let current = state.current;
            let backlog = state.morsels.get_mut(current)?;
            if let Some(batch) = backlog.batches.pop_front() {
                return Some(batch);
            }
            if !backlog.ended {
                return None;
            }
            state.current += 1;
            // The worker of the next morsel may be waiting for its turn.
            self.changed.notify_all();
        }
    }
}

/// A batch of rows being filled by a worker.
struct MorselBatch<'a, 'q> {
    queue: &'a MorselQueue<'q>,
    morsel: usize,
    bytes: Vec<u8>,
}

impl MorselBatch<'_, '_> {
    /// Flushes the batch unless `bytes` more fit into it.
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

/// Batches fixed-width rows from an emitter.
struct DenseBatches<'a, 'q>(MorselBatch<'a, 'q>);

impl RowWriter for DenseBatches<'_, '_> {
    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        self.0.make_room(rows.len())?;
        self.0.bytes.extend_from_slice(rows);
        Ok(())
    }

    fn row(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        Err(Error::input("expected fixed-width rows"))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.0.flush()
    }
}

/// Batches rows of any length, each with a header.
struct RowBatches<'a, 'q> {
    batch: MorselBatch<'a, 'q>,
    rows: u64,
}

impl RowSink for RowBatches<'_, '_> {
    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        self.rows += 1;
        self.batch.make_room(packed_bytes((key, left, right)))?;
        pack((key, left, right), &mut self.batch.bytes);
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
    use super::super::emit::CallerSink;
    use super::*;
    use crate::error::Cause;
    use crate::join::rows::form::RowMarks;
    use crate::join::rows::options::{JoinKind, JoinOptions};
    use crate::types::KeyType;
    use std::sync::Mutex as Shared;
    use std::sync::atomic::AtomicBool;

    const RANGES: usize = 23;

    fn ranges() -> Vec<KeyRange> {
        (0..RANGES).map(|i| KeyRange { from: Some(vec![i as u8]), to: Some(vec![i as u8 + 1]) }).collect()
    }

    /// Emits for each range a hundred times as many rows as its number.
    fn rows(range: &KeyRange, sink: &mut dyn RowSink) -> Result<()> {
        let number = range.from.as_ref().map_or(0, |from| from[0]);
        for i in 0..u32::from(number) * 100 {
            sink.row(&[number], Some(&i.to_be_bytes()), (i % 3 > 0).then_some(&[7; 4][..]))?;
        }
        Ok(())
    }

    /// Key and left value.
    type Row = (Vec<u8>, Vec<u8>);

    fn run(
        parallel: Parallel,
        options: &JoinOptions,
        work: &(dyn Fn(&KeyRange, &mut dyn RowSink) -> Result<()> + Sync),
    ) -> (Result<()>, Vec<Row>) {
        let seen = Arc::new(Shared::new(Vec::new()));
        let theirs = seen.clone();
        let mut visit = move |key: &[u8], left: Option<&[u8]>, _: Option<&[u8]>| {
            theirs.lock().unwrap().push((key.to_vec(), left.unwrap().to_vec()));
            Ok(())
        };
        let mut sink = CallerSink { visit: &mut visit, rows: 0 };
        let outcome = parallel.run(&Task::new(options).unwrap(), &ranges(), work, &mut sink);
        drop(visit);
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
        let form = RowForm {
            kind: JoinKind::Left,
            key_type: KeyType::Bytes,
            key: Some(1),
            left: Some(4),
            right: Some(4),
            marks: RowMarks::of_kind(JoinKind::Left),
        };
        let task = Task::new(&JoinOptions { kind: JoinKind::Left, ..JoinOptions::default() }).unwrap();
        let written = [1, 3].map(|threads| {
            let bytes = Arc::new(Shared::new(Vec::new()));
            let mut sink = Emitter::dense(form, form.widths().unwrap(), Box::new(Whole(bytes.clone())));
            let parallel = Parallel { threads, any_order: false, queue_bytes: 1 << 16 };
            let all = [KeyRange::all()];
            let ranges = if threads == 1 { all.to_vec() } else { ranges() };
            let work = |range: &KeyRange, sink: &mut dyn RowSink| match range.from {
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
                Some([9]) => Err(Error::input("nine")),
                _ => Ok(()),
            }
        });
        assert!(matches!(outcome, Err(error @ Error { cause: Cause::Input, .. }) if error.detail() == "nine"));
        let stop = Arc::new(AtomicBool::new(false));
        let options = JoinOptions { stop: Some(stop.clone()), ..JoinOptions::default() };
        let (outcome, seen) = run(parallel, &options, &|range, sink| {
            if range.from.as_deref() == Some(&[5]) {
                stop.store(true, Ordering::Relaxed);
            }
            rows(range, sink)
        });
        assert!(matches!(outcome, Err(Error { cause: Cause::Interrupted, .. })));
        assert!(seen.len() < RANGES * (RANGES - 1) / 2 * 100);
    }
}
