//! Reader threads: many direct reads in flight at once.
//!
//! ```text
//! read_many --> batch: the ranges of one call --> queue --> threads claim ranges, and read into buffers of their own
//!      |                                                        |
//!      '-- claims ranges, too, and reads them in place          v
//!          then copies what the threads read  <----------  filled buffers
//! ```
//!
//! The threads belong to a storage: they start when first needed, and end with the last of its handles and files. The
//! thread that asks reads as well, so a pool without any thread still answers. A thread of the pool never holds a
//! destination, only a buffer that it hands over, as safe Rust permits; copying 4 KiB takes a hundredth of the time to
//! read it.

use super::read_ahead::{PendingReads, RangeRequest, ReadBuffer};
use super::worker::{Worker, spawn_helper};
use crate::error::{Error, Result};
use crate::io::local::local_file::LocalFile;
use crate::io::local::positional::AlignedBuffer;
use crate::io::storage::request::ReadRequest;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Threads of a pool. With the caller, 32 reads are in flight: more gain nothing on local SSDs.
const THREADS_MAX: usize = 31;

/// Longer ranges are read in place, by threads that start with the call and end with it: that takes less time than
/// copying them.
const COPIED_BYTES_MAX: usize = 64 << 10;

/// Threads of such a call, with the caller. More do not read faster: each request is long enough for the device.
const IN_PLACE_THREADS_MAX: usize = 16;

/// Bytes of all pieces read before the first of the next ones, which bounds the buffers of the threads.
const WAVE_BYTES: usize = 16 << 20;

/// Bytes of all buffers kept for later reads.
const SPARE_BYTES_MAX: usize = 4 << 20;

/// Threads that the caller wakes; each of these wakes another as long as there is work.
const WOKEN_BY_CALLER: usize = 2;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait<'a, T>(changed: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// The reader threads of a storage.
#[derive(Debug, Default)]
pub(in crate::io) struct ReadPool {
    shared: Arc<SharedQueue>,
    threads: Mutex<Vec<Worker>>,
}

#[derive(Debug, Default)]
struct SharedQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    /// Batches with ranges that no thread reads yet, oldest first.
    batches: VecDeque<Arc<ReadBatch>>,
    idle_threads: usize,
    is_ended: bool,
    spare: SpareBuffers,
}

/// Buffers for later reads.
#[derive(Debug, Default)]
struct SpareBuffers {
    buffers: Vec<AlignedBuffer>,
    bytes: usize,
}

impl SpareBuffers {
    fn take(&mut self) -> AlignedBuffer {
        let buffer = self.buffers.pop().unwrap_or_default();
        self.bytes -= buffer.capacity_bytes();
        buffer
    }

    fn give_back(&mut self, buffer: AlignedBuffer) {
        let bytes = self.bytes + buffer.capacity_bytes();
        if bytes <= SPARE_BYTES_MAX {
            self.bytes = bytes;
            self.buffers.push(buffer);
        }
    }
}

/// A range, and its destination.
struct ReadPiece<'a> {
    offset: u64,
    target: &'a mut [u8],
}

/// The ranges of one wave of a call.
#[derive(Debug)]
struct ReadBatch {
    file: Arc<LocalFile>,
    ranges: Vec<(u64, usize)>,
    progress: Mutex<BatchProgress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct BatchProgress {
    /// The first range that no thread reads.
    next: usize,
    /// Ranges that threads of the pool are reading.
    in_threads: usize,
    /// Ranges that threads of the pool have read, by their index.
    filled: Vec<(usize, ReadBuffer)>,
    /// The first error of a thread of the pool.
    failure: Option<Error>,
    is_stopped: bool,
}

impl ReadBatch {
    fn new(file: &Arc<LocalFile>, ranges: Vec<(u64, usize)>) -> Arc<Self> {
        Arc::new(Self { file: Arc::clone(file), ranges, progress: Mutex::default(), changed: Condvar::new() })
    }

    /// The next range to read, unless all are being read or one has failed.
    fn claim(&self, by_thread: bool) -> Option<usize> {
        let mut progress = lock(&self.progress);
        let index = progress.next;
        if progress.is_stopped || index == self.ranges.len() {
            return None;
        }
        progress.next += 1;
        progress.in_threads += usize::from(by_thread);
        Some(index)
    }

    fn is_claimed(&self) -> bool {
        let progress = lock(&self.progress);
        progress.is_stopped || progress.next == self.ranges.len()
    }

    /// Claims no further range.
    fn stop(&self) {
        lock(&self.progress).is_stopped = true;
    }

    /// Takes what the threads have read so far.
    fn take_filled(&self) -> Vec<(usize, ReadBuffer)> {
        mem::take(&mut lock(&self.progress).filled)
    }

    /// Waits until the threads read nothing more; returns the first error.
    fn wait_for_threads(&self) -> Result<()> {
        let mut progress = lock(&self.progress);
        // A thread wakes this one only after the last range: each wake-up costs as much as copying many blocks.
        while progress.in_threads > 0 {
            progress = wait(&self.changed, progress);
        }
        progress.failure.take().map_or(Ok(()), Err)
    }
}

/// A range that a thread of the pool reads. If the thread panics, the batch fails instead of waiting forever.
struct ClaimedRange<'a> {
    batch: &'a ReadBatch,
    index: usize,
    outcome: Option<Result<ReadBuffer>>,
}

impl Drop for ClaimedRange<'_> {
    fn drop(&mut self) {
        let mut progress = lock(&self.batch.progress);
        progress.in_threads -= 1;
        let panicked = || Err(Error::io("read", &self.batch.file.path, ErrorKind::Other.into()));
        match self.outcome.take().unwrap_or_else(panicked) {
            Ok(filled) => progress.filled.push((self.index, filled)),
            Err(error) => {
                progress.is_stopped = true;
                progress.failure.get_or_insert(error);
            }
        }
        if progress.in_threads == 0 {
            self.batch.changed.notify_all();
        }
    }
}

impl SharedQueue {
    /// Reads ranges until the pool ends.
    fn serve(&self) {
        while let Some((batch, index, buffer)) = self.next() {
            let mut claimed = ClaimedRange { batch: &batch, index, outcome: None };
            let (offset, length) = batch.ranges[index];
            claimed.outcome = Some(batch.file.read_owned(offset, length, buffer));
        }
    }

    /// Waits for a range to read; `None` if the pool ends.
    fn next(&self) -> Option<(Arc<ReadBatch>, usize, AlignedBuffer)> {
        let mut state = lock(&self.state);
        loop {
            if let Some(batch) = state.batches.front().cloned() {
                let claimed = batch.claim(true);
                if batch.is_claimed() {
                    state.batches.pop_front();
                }
                if let Some(index) = claimed {
                    let buffer = state.spare.take();
                    let wakes = !state.batches.is_empty() && state.idle_threads > 0;
                    drop(state);
                    if wakes {
                        self.changed.notify_one();
                    }
                    return Some((batch, index, buffer));
                }
            } else if state.is_ended {
                return None;
            } else {
                state.idle_threads += 1;
                state = wait(&self.changed, state);
                state.idle_threads -= 1;
            }
        }
    }
}

impl ReadPool {
    /// Fills all ranges, many at a time.
    pub(in crate::io) fn read(&self, file: &Arc<LocalFile>, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        let piece = |ReadRequest { offset, buffer, .. }| ReadPiece { offset, target: buffer };
        let mut pieces: Vec<ReadPiece<'_>> = requests.into_iter().map(piece).collect();
        if pieces.len() > 1 && pieces.iter().any(|piece| piece.target.len() > COPIED_BYTES_MAX) {
            return read_in_place(file, pieces);
        }
        let mut rest = pieces.as_mut_slice();
        while !rest.is_empty() {
            let mut bytes = 0;
            let fitting = rest.iter().take_while(|piece| {
                bytes += piece.target.len();
                bytes <= WAVE_BYTES
            });
            let (wave, others) = rest.split_at_mut(fitting.count().max(1));
            self.read_wave(file, wave)?;
            rest = others;
        }
        Ok(())
    }

    fn read_wave(&self, file: &Arc<LocalFile>, pieces: &mut [ReadPiece<'_>]) -> Result<()> {
        let batch = ReadBatch::new(file, pieces.iter().map(|piece| (piece.offset, piece.target.len())).collect());
        if pieces.len() > 1 {
            self.submit(&batch, pieces.len() - 1);
        }
        let mut outcome = Ok(());
        while let Some(piece) = batch.claim(false).map(|index| &mut pieces[index]) {
            outcome = file.read(piece.offset, piece.target);
            if outcome.is_err() {
                batch.stop();
            }
            self.collect(&batch, pieces);
        }
        if pieces.len() > 1 {
            self.withdraw(&batch);
            self.collect(&batch, pieces);
            // Awaited even after an error, so that no read goes on after the call.
            outcome = outcome.and(batch.wait_for_threads());
            self.collect(&batch, pieces);
        }
        outcome
    }

    /// Copies what threads have read to its destination, and keeps their buffers.
    fn collect(&self, batch: &ReadBatch, pieces: &mut [ReadPiece<'_>]) {
        let filled = batch.take_filled();
        if filled.is_empty() {
            return;
        }
        let copy = |(index, filled): (usize, ReadBuffer)| {
            pieces[index].target.copy_from_slice(&filled);
            filled.into_aligned()
        };
        let buffers: Vec<AlignedBuffer> = filled.into_iter().map(copy).collect();
        let mut state = lock(&self.shared.state);
        buffers.into_iter().for_each(|buffer| state.spare.give_back(buffer));
    }

    /// Starts to read all ranges, each into a buffer of its own.
    pub(in crate::io) fn start(self: &Arc<Self>, file: &Arc<LocalFile>, ranges: &[RangeRequest]) -> DirectReads {
        let batch = ReadBatch::new(file, ranges.iter().map(|range| (range.offset, range.bytes)).collect());
        if !ranges.is_empty() {
            self.submit(&batch, ranges.len());
        }
        DirectReads { batch, pool: Arc::clone(self) }
    }

    /// Removes a batch from the queue, where it would keep its file open.
    fn withdraw(&self, batch: &Arc<ReadBatch>) {
        lock(&self.shared.state).batches.retain(|other| !Arc::ptr_eq(other, batch));
    }

    /// Passes a batch to this many threads, and starts more of them if too few are idle.
    fn submit(&self, batch: &Arc<ReadBatch>, threads: usize) {
        let mut state = lock(&self.shared.state);
        state.batches.push_back(Arc::clone(batch));
        let idle = state.idle_threads;
        drop(state);
        (0..idle.min(WOKEN_BY_CALLER)).for_each(|_| self.shared.changed.notify_one());
        let wanted = threads.saturating_sub(idle);
        if wanted == 0 {
            return;
        }
        let mut threads = lock(&self.threads);
        for _ in 0..wanted.min(THREADS_MAX.saturating_sub(threads.len())) {
            let shared = Arc::clone(&self.shared);
            match Worker::spawn("ogive-read", &batch.file.path, move || shared.serve()) {
                Ok(thread) => threads.push(thread),
                // The caller and the threads that there are read all.
                Err(_) => break,
            }
        }
    }
}

/// Reads long ranges side by side, straight to their destinations.
fn read_in_place(file: &LocalFile, pieces: Vec<ReadPiece<'_>>) -> Result<()> {
    let threads = pieces.len().min(IN_PLACE_THREADS_MAX);
    let pieces = Mutex::new(pieces.into_iter());
    let work = || -> Result<()> {
        loop {
            let Some(piece) = lock(&pieces).next() else { return Ok(()) };
            file.read(piece.offset, piece.target)?;
        }
    };
    thread::scope(|scope| {
        // If the system cannot start a thread, the others read its part.
        let workers: Vec<_> = (1..threads).map_while(|_| spawn_helper(scope, "ogive-read", work).ok()).collect();
        let own = work();
        workers.into_iter().fold(own, |outcome, worker| match worker.join() {
            Ok(theirs) => outcome.and(theirs),
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

impl Drop for ReadPool {
    fn drop(&mut self) {
        lock(&self.shared.state).is_ended = true;
        self.shared.changed.notify_all();
        // Dropping the threads waits for their end.
    }
}

/// Direct reads in progress.
#[derive(Debug)]
pub(in crate::io) struct DirectReads {
    batch: Arc<ReadBatch>,
    pool: Arc<ReadPool>,
}

impl PendingReads for DirectReads {
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        let batch = &self.batch;
        let mut own = Vec::new();
        while let Some(index) = batch.claim(false) {
            let (offset, length) = batch.ranges[index];
            own.push((index, batch.file.read_owned(offset, length, AlignedBuffer::default())?));
        }
        batch.wait_for_threads()?;
        let mut filled = batch.take_filled();
        filled.append(&mut own);
        filled.sort_unstable_by_key(|&(index, _)| index);
        Ok(filled.into_iter().map(|(_, buffer)| buffer).collect())
    }
}

impl Drop for DirectReads {
    /// Waits for the reads of the threads, so that none goes on after it.
    fn drop(&mut self) {
        self.batch.stop();
        self.pool.withdraw(&self.batch);
        // Only the first call returns an error, and who drops unfinished reads does not ask for it.
        _ = self.batch.wait_for_threads();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::io::{LocalStorage, Purpose, ReadableFile, Storage, refusing};

    const RANGES: usize = 40;
    const RANGE_BYTES: usize = 5_000;

    fn content() -> Vec<u8> {
        (0..RANGES * RANGE_BYTES).map(|i| (i * 31 % 253) as u8).collect()
    }

    /// A file of a storage of direct reads.
    fn file() -> (tempfile::TempDir, Arc<dyn ReadableFile>) {
        let folder = tempfile::tempdir_in(".").unwrap();
        let storage = LocalStorage::direct(folder.path());
        let mut writer = storage.create("a").unwrap();
        writer.append(&content()).unwrap();
        writer.sync().unwrap();
        (folder, storage.open("a").unwrap())
    }

    fn read_all(file: &dyn ReadableFile) -> Vec<u8> {
        let mut read = vec![0; RANGES * RANGE_BYTES];
        let ranges = read.chunks_mut(RANGE_BYTES).enumerate();
        let request = |(i, buffer)| ReadRequest { offset: (i * RANGE_BYTES) as u64, buffer, purpose: Purpose::Data };
        file.read_many(ranges.map(request).collect()).unwrap();
        read
    }

    fn started(file: &dyn ReadableFile) -> Box<dyn PendingReads> {
        let range = |i| RangeRequest { offset: (i * RANGE_BYTES) as u64, bytes: RANGE_BYTES, purpose: Purpose::Data };
        file.start_reads(&(0..RANGES).map(range).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_pool_without_some_or_all_of_its_threads_reads_the_same() {
        for (at, lasting) in [(0, true), (1, true), (0, false), (30, true)] {
            let (_folder, file) = file();
            let (read, asked) = refusing(at, lasting, || {
                let read = read_all(&*file);
                let filled = started(&*file).wait().unwrap();
                assert!(filled.iter().flat_map(|bytes| bytes.iter()).eq(&read));
                read
            });
            assert!(read == content(), "{at}");
            assert!(asked || !file.is_direct(), "{at}: no thread was asked for");
        }
    }

    #[test]
    fn threads_start_once_and_are_bounded() {
        let (_folder, file) = file();
        if !file.is_direct() {
            return;
        }
        for _ in 0..50 {
            // Only a bounded number of threads is ever asked for.
            let (_, asked_more) = refusing(THREADS_MAX as u64, true, || read_all(&*file));
            assert!(!asked_more);
        }
        let (_, asked) = refusing(0, true, || read_all(&*file));
        assert!(!asked, "all threads run already");
    }

    #[test]
    fn a_damaged_disk_fails_the_call_and_the_pool_reads_on() {
        let (folder, file) = file();
        // The file is cut behind the back of the storage, so that some reads end early.
        let longer = std::fs::OpenOptions::new().write(true).open(folder.path().join("a")).unwrap();
        longer.set_len((RANGES / 2 * RANGE_BYTES) as u64).unwrap();
        let range = |i| RangeRequest { offset: (i * RANGE_BYTES) as u64, bytes: RANGE_BYTES, purpose: Purpose::Data };
        for _ in 0..20 {
            let pending = file.start_reads(&(0..RANGES).map(range).collect::<Vec<_>>()).unwrap();
            assert!(matches!(pending.wait(), Err(Error { cause: Cause::Io(ErrorKind::UnexpectedEof), .. })));
        }
        let pending = file.start_reads(&(0..RANGES / 2).map(range).collect::<Vec<_>>()).unwrap();
        let whole: Vec<u8> = pending.wait().unwrap().iter().flat_map(|bytes| bytes.to_vec()).collect();
        assert!(whole == content()[..RANGES / 2 * RANGE_BYTES]);
    }

    #[test]
    fn reads_that_are_given_up_keep_no_file_and_no_batch() {
        let (_folder, file) = file();
        for _ in 0..50 {
            drop(started(&*file));
        }
        let pending = started(&*file);
        drop(file);
        let whole: Vec<u8> = pending.wait().unwrap().iter().flat_map(|bytes| bytes.to_vec()).collect();
        assert!(whole == content());
    }
}
