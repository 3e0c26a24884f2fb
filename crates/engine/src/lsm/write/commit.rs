//! The write path: group commit of batches, value separation, memtable switches, and write stalls.
//!
//! Batches that wait at the same time are written as one group by the first of their writers (the leader). Groups and
//! all other writers take turns in the order in which they ask.
//!
//! Long values of a group go to the value file, except those of small batches: these stay inline until a flush, since
//! a second call of the operating system would cost more than copying them into the log. Then the group goes to the
//! log and to the memtables, and becomes visible. With [`Durability::Synced`], the value file and the log are synced
//! before. A group is one commit of the log, so it is recovered as a whole or not at all, and so is each batch in it.
//!
//! A batch that meets no other write and is not synced is a group of its own, without the queue.

use super::validate::GroupSoFar;
use crate::block::cache::Reservation;
use crate::durability::Durability;
use crate::error::{Cause, Error, Result, StoreFailure};
use crate::io::Timer;
use crate::io::local::sync::{Mutex, MutexGuard, yield_briefly};
use crate::io::reads::fair::FairGuard;
use crate::lsm::core::groups_in_flight::BegunGroup;
use crate::lsm::core::shared::StateChange;
use crate::lsm::core::store::Core;
use crate::lsm::core::wal::WalWriter;
use crate::lsm::core::write_queue::{PendingBatch, WriteQueue, WriteRequest};
use crate::lsm::core::writer::{WriteGroup, WriterState};
use crate::lsm::state::entry::{Action, GROUP_HEAD_BYTES, KeyspaceId, SEQUENCE_MAX, Sequence, ValueKind};
use crate::lsm::state::entry::{
    EXPIRY_BYTES, Operation, decode_group, decode_group_into, encode_operation, encode_operation_of, mark_batch,
};
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::file_numbers::FileNumberSource;
use crate::lsm::state::memtable_set::{BackingLog, MemtableSet};
use crate::lsm::state::operations::Operations;
use crate::lsm::state::options::INLINE_BYTES_MAX;
use crate::lsm::state::tables::value_files::{VALUE_FILE_BYTES, ValueHandle};
use crate::lsm::state::version::ManifestEdit;
use crate::lsm::state::view::ShareValue;
use crate::vlog::{ValueFilePointer, ValueFileWriter};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The leader of a group waits for writers to join for up to 1/4 of the time that the last group took.
const GATHER_TIME_DIVISOR: f64 = 4.0;
/// Memtables grow in steps: a memtable found to be full may exceed its limit by up to 1/8.
const MEMTABLE_SLACK_DIVISOR: u64 = 8;
/// Log2 of the sampling rate of hidden values: one write in 32 looks up the old value, enough for an estimate at little
/// cost.
const HIDDEN_SAMPLE_BITS: u32 = 5;
/// A memtable with less room than this, in operations, counts as full.
const ROOM_OPERATIONS_MIN: usize = 1 << 20;
/// Writes stall while level 0 has this many tables, since each of them slows every read.
const LEVEL0_STALL_TABLES: usize = 20;

/// In batches of at most this many bytes, long values stay inline until a flush: copying this much takes about a
/// quarter of the time of a call of the operating system.
const DEFERRED_BATCH_BYTES_MAX: usize = 512;

/// The changes of indexes are computed this number of times without the lock of writers, and then under it.
const UPKEEP_TRIES: u32 = 8;

/// Operations whose memory the writer keeps between groups.
const KEPT_OPERATIONS_MAX: usize = 1 << 10;

/// A group that its leader is to put, with its requests.
struct LedGroup {
    group: BegunGroup,
    requests: Vec<Arc<WriteRequest>>,
}

impl Core {
    /// Commits a batch; returns once it has the requested durability.
    pub(in crate::lsm) fn commit(&self, mut operations: Operations, durability: Option<Durability>) -> Result<()> {
        if operations.count == 0 {
            return Ok(());
        }
        if operations.have_indexes() {
            return self.commit_kept(operations, durability).map_err(|error| self.naming_row(error));
        }
        let outcome = self.commit_once(&mut operations, durability);
        if outcome.is_err() && operations.take_stale() {
            return self.commit_kept(operations, durability).map_err(|error| self.naming_row(error));
        }
        outcome.map_err(|error| self.naming_row(error))
    }

    /// Commits a batch with the changes of indexes that it has. One that is not admitted is left as it was.
    fn commit_once(&self, operations: &mut Operations, durability: Option<Durability>) -> Result<()> {
        self.validate_early(operations)?;
        if !operations.stating().is_empty() {
            return self.commit_alone(&mut || Ok(true), operations, durability).map(drop);
        }
        let durability = durability.unwrap_or(self.options.durability);
        let outcome = match self.idle_writer(durability) {
            Some(mut writer) => self.write_alone(&mut writer, operations, durability),
            None => self.commit_queued(operations, durability),
        };
        self.work_after_write();
        outcome
    }

    /// Commits a batch that changes keyspaces with indexes: computes the changes of entries from the rows of now, and
    /// again if these were written meanwhile.
    #[cold]
    fn commit_kept(&self, mut operations: Operations, durability: Option<Durability>) -> Result<()> {
        for _ in 0..UPKEEP_TRIES {
            let outcome = {
                let pinned = self.pin_newest();
                let kept = self.keep_indexes(&mut operations, pinned.point());
                if let Err(error @ Error { cause: Cause::NotUnique, .. }) = kept {
                    // A transaction that has looked for such a row conflicts: run again, it finds it.
                    self.validate_early(&mut operations)?;
                    return Err(error);
                }
                kept?;
                self.commit_once(&mut operations, durability)
            };
            if outcome.is_ok() || !operations.take_stale() {
                return outcome;
            }
        }
        self.commit_if(|| Ok(true), operations, durability).map(drop)
    }

    /// The lock of writers, if no other write holds it or waits for it. The queue costs a single writer more than its
    /// write. A synced write takes the queue in any case: its sync costs more than that, and those that come meanwhile
    /// share the next one.
    fn idle_writer(&self, durability: Durability) -> Option<FairGuard<'_, WriterState>> {
        if durability == Durability::Synced || !self.options.fast_paths.unqueued_writes {
            return None;
        }
        // The queue is locked meanwhile, so that no batch in it is overtaken.
        let queue = self.writes.queue.lock();
        if queue.has_leader || !queue.waiting.is_empty() { None } else { self.writes.writer.try_lock() }
    }

    /// Writes a batch as a group of its own.
    fn write_alone(&self, writer: &mut WriterState, operations: &mut Operations, durability: Durability) -> Result<()> {
        self.admit(operations, &mut GroupSoFar::default())?;
        self.make_room(writer)?;
        self.write_group(writer, std::slice::from_mut(operations), durability)
    }

    /// Commits a batch together with those that wait at the same time.
    fn commit_queued(&self, operations: &mut Operations, durability: Durability) -> Result<()> {
        let pending = PendingBatch { operations: std::mem::take(operations), outcome: None };
        let request = Arc::new(WriteRequest { durability, work: Mutex::new(pending) });
        let mut queue = self.writes.queue.lock();
        queue.waiting.push(Arc::clone(&request));
        let outcome = loop {
            let mut work = request.work.lock();
            if let Some(outcome) = work.outcome.take() {
                // One that was not admitted is as it was.
                *operations = std::mem::take(&mut work.operations);
                break outcome;
            }
            drop(work);
            // A batch that does not wait is in flight.
            if queue.has_leader || !queue.waiting.iter().any(|waiting| Arc::ptr_eq(waiting, &request)) {
                queue = self.writes.written.wait(&self.writes.queue, queue);
                continue;
            }
            queue.has_leader = true;
            if durability == Durability::Synced && self.files.objects.is_some() {
                queue = self.gather_for_put(queue);
            } else if durability == Durability::Synced && self.options.fast_paths.batches {
                queue = self.gather(queue);
            }
            drop(queue);
            self.wait_for_flight();
            let mut writer = self.writes.writer.lock();
            // Batches that arrived while this thread waited for its turn join the group.
            let group = self.writes.queue.lock().take_group(self.options.joined_bytes_max());
            let timer = Timer::start();
            let led = self.write_requests(&mut writer, &group);
            drop(writer);
            queue = self.writes.queue.lock();
            queue.has_leader = false;
            if let Some(LedGroup { group, requests }) = led {
                // Another group may be begun meanwhile.
                self.writes.written.notify_all();
                drop(queue);
                let outcome = self.end_group(group);
                self.tell(&requests, outcome);
                queue = self.writes.queue.lock();
                self.writes.written.notify_all();
                continue;
            }
            (queue.writers, queue.group_us) = (group.len() + queue.waiting.len(), timer.elapsed_us());
            if queue.writers > 1 {
                self.writes.written.notify_all();
            }
        };
        drop(queue);
        outcome
    }

    /// Waits briefly for the writers of the last group, which are likely to write again: one sync serves all of them.
    fn gather<'a>(&'a self, mut queue: MutexGuard<'a, WriteQueue>) -> MutexGuard<'a, WriteQueue> {
        let most_us = queue.group_us / GATHER_TIME_DIVISOR;
        let timer = Timer::start();
        while queue.waiting.len() < queue.writers && timer.elapsed_us() < most_us {
            drop(queue);
            let has_passed = yield_briefly();
            queue = self.writes.queue.lock();
            if !has_passed {
                break;
            }
        }
        queue
    }

    /// Waits as long as the options say for batches that one request can store together.
    fn gather_for_put<'a>(&'a self, mut queue: MutexGuard<'a, WriteQueue>) -> MutexGuard<'a, WriteQueue> {
        let (most_us, timer) = (f64::from(self.options.objects.gather_ms) * 1e3, Timer::start());
        loop {
            let left_us = most_us - timer.elapsed_us();
            if left_us <= 0.0 {
                return queue;
            }
            queue = self.writes.written.wait_for(&self.writes.queue, queue, left_us);
        }
    }

    /// The lock of writers, when no group is in flight.
    pub(in crate::lsm) fn writer_alone(&self) -> FairGuard<'_, WriterState> {
        let mut writer = self.writes.writer.lock();
        self.drain(&mut writer);
        writer
    }

    /// As [`Self::writer_alone`], with all that is written durable.
    ///
    /// # Errors
    /// As [`Self::sync_writes`].
    pub(in crate::lsm) fn durable_writer(&self) -> Result<FairGuard<'_, WriterState>> {
        let mut writer = self.writer_alone();
        if writer.unsynced_bytes > 0 || writer.values_unsynced {
            self.sync_writes(&mut writer)?;
        }
        Ok(writer)
    }

    /// Runs the work that a write has made due. Its failure closes the store to writes, but the write itself has
    /// succeeded.
    pub(in crate::lsm) fn work_after_write(&self) {
        _ = self.work_inline();
    }

    /// Commits a batch if `condition` holds, with no other write in between; returns whether it did. The changes of
    /// indexes are computed under the lock of writers, where the condition reads, too.
    pub(in crate::lsm) fn commit_if(
        &self,
        mut condition: impl FnMut() -> Result<bool>,
        mut operations: Operations,
        durability: Option<Durability>,
    ) -> Result<bool> {
        operations.drop_upkeep();
        self.commit_alone(&mut condition, &mut operations, durability)
    }

    /// As [`Self::commit_if`], with the changes of indexes that the batch has, if it has any.
    fn commit_alone(
        &self,
        condition: &mut dyn FnMut() -> Result<bool>,
        operations: &mut Operations,
        durability: Option<Durability>,
    ) -> Result<bool> {
        {
            let mut writer = self.writer_alone();
            self.make_room(&mut writer)?;
            // Bytes of other types are compared with none.
            self.admit_statements(operations.stating())?;
            if !condition()? {
                return Ok(false);
            }
            if operations.upkeep().is_none() && operations.have_indexes() {
                self.keep_indexes(operations, self.newest_point())?;
            }
            self.admit(operations, &mut GroupSoFar::default())?;
            if operations.count > 0 {
                let durability = durability.unwrap_or(self.options.durability);
                self.write_group(&mut writer, std::slice::from_mut(operations), durability)?;
            }
        }
        self.work_after_write();
        Ok(true)
    }

    /// Writes batches as one group.
    fn write_requests(&self, writer: &mut WriterState, requests: &[Arc<WriteRequest>]) -> Option<LedGroup> {
        let durability = requests.iter().map(|request| request.durability).min_by_key(|durability| match durability {
            Durability::Synced => 0,
            Durability::Grouped => 1,
            Durability::Buffered => 2,
        });
        let durability = durability?;
        let (alive, mut batches) = self.admit_requests(requests);
        let is_put_later = self.files.objects.is_some() && durability == Durability::Synced;
        let outcome = self.make_room(writer).and_then(|()| match is_put_later {
            true => self.begin_write(writer, &mut batches),
            false => self.write_group(writer, &mut batches, durability).map(|()| None),
        });
        match outcome {
            Ok(Some(group)) => Some(LedGroup { group, requests: alive }),
            outcome => {
                self.tell(&alive, outcome.map(drop));
                None
            }
        }
    }

    /// Tells the writers of a group its outcome.
    fn tell(&self, alive: &[Arc<WriteRequest>], outcome: Result<()>) {
        let failed = outcome.as_ref().err().map(StoreFailure::from);
        let is_of = |cause: Cause| outcome.as_ref().is_err_and(|error| error.cause == cause);
        let (is_fenced, is_gone) = (is_of(Cause::Fenced), is_of(Cause::Gone));
        let is_unknown = outcome.as_ref().is_err_and(Error::is_outcome_unknown);
        let mut outcome = Some(outcome);
        for (index, request) in alive.iter().enumerate() {
            let mut work = request.work.lock();
            work.outcome = Some(match (&failed, index == 0) {
                (None, _) => Ok(()),
                (Some(_), true) => outcome.take().unwrap_or(Ok(())),
                (Some(_), false) if self.is_closed() => Err(self.closed()),
                (Some(_), false) if is_fenced => Err(Error::fenced(self.path(), false)),
                (Some(_), false) if is_gone => Err(Error::gone(self.path())),
                (Some(failure), false) if is_unknown => Err(Error::stopped(self.path(), failure).of_unknown_outcome()),
                (Some(failure), false) => Err(Error::stopped(self.path(), failure)),
            });
        }
    }

    /// The requests of a group that may be written, with their batches; the others fail.
    fn admit_requests(&self, requests: &[Arc<WriteRequest>]) -> (Vec<Arc<WriteRequest>>, Vec<Operations>) {
        let (mut alive, mut group) = (Vec::with_capacity(requests.len()), GroupSoFar::default());
        for request in requests {
            let mut work = request.work.lock();
            match self.admit(&mut work.operations, &mut group) {
                Ok(()) => {
                    group.batches.push(std::mem::take(&mut work.operations));
                    alive.push(Arc::clone(request));
                }
                Err(error) => work.outcome = Some(Err(error)),
            }
        }
        (alive, group.batches)
    }

    fn write_group(&self, writer: &mut WriterState, batches: &mut [Operations], durability: Durability) -> Result<()> {
        if batches.is_empty() {
            return Ok(());
        }
        self.drain(writer);
        let first = writer.next_sequence;
        let outcome = self.try_write_group(writer, batches, durability);
        self.note_failed_group(writer, first, outcome)
    }

    /// As [`Self::write_group`], up to the request that makes the group durable. `None` if there are no batches.
    fn begin_write(&self, writer: &mut WriterState, batches: &mut [Operations]) -> Result<Option<BegunGroup>> {
        if batches.is_empty() {
            return Ok(None);
        }
        let first = writer.next_sequence;
        let outcome = self.try_begin_write(writer, batches);
        self.note_failed_group(writer, first, outcome).map(Some)
    }

    fn try_begin_write(&self, writer: &mut WriterState, batches: &mut [Operations]) -> Result<BegunGroup> {
        let (group, last) = self.prepare_group(writer, batches)?;
        self.begin_expiry_of(batches)?;
        let Some(log) = &mut writer.log else { return Err(self.no_log()) };
        log.append(&group.bytes, last)?;
        let part = log.begin_sync()?;
        self.telemetry.counters.log_bytes.add(group.bytes.len() as u64);
        self.telemetry.counters.syncs.add(1);
        writer.unsynced_bytes = 0;
        Ok(self.begin_group(group, last, batches.len() as u64, part))
    }

    /// As [`Self::note_failure`], of a group whose first operation has this number: the next one has it if the log was
    /// left as it was.
    fn note_failed_group<T>(&self, writer: &mut WriterState, first: Sequence, outcome: Result<T>) -> Result<T> {
        let outcome = self.note_failure(writer, outcome);
        if outcome.is_err() && writer.log.is_some() {
            writer.next_sequence = first;
        }
        outcome
    }

    /// Closes the store to writes after a failure, unless it left the log as it was.
    pub(in crate::lsm) fn note_failure<T>(&self, writer: &mut WriterState, mut outcome: Result<T>) -> Result<T> {
        let leaves_log = |error: &Error| matches!(error, Error { cause: Cause::Input | Cause::WrongType { .. }, .. });
        if outcome.as_ref().is_err_and(leaves_log) {
            // Values without a group must not precede values that are referenced: a crash could tear them.
            outcome = writer.finish_values().and(outcome);
        }
        if let Err(error) = &outcome
            && !leaves_log(error)
        {
            writer.abandon();
            self.fail(&mut self.contents.lock(), error);
        }
        outcome
    }

    fn try_write_group(
        &self,
        writer: &mut WriterState,
        batches: &mut [Operations],
        durability: Durability,
    ) -> Result<()> {
        let first = writer.next_sequence;
        let (group, last) = self.prepare_group(writer, batches)?;
        if let Err(error) = self.state_types_of(batches).and_then(|()| self.begin_expiry_of(batches)) {
            writer.next_sequence = first;
            return Err(error);
        }
        self.log_group(writer, &group.bytes, last, durability)?;
        self.apply_group(writer, group, last, batches.len() as u64);
        Ok(())
    }

    /// Assembles a group, and numbers its operations; returns the last number.
    fn prepare_group(&self, writer: &mut WriterState, batches: &mut [Operations]) -> Result<(WriteGroup, Sequence)> {
        let group = self.assemble(writer, batches)?;
        let count = group.operations.len() as u64;
        let last = writer.next_sequence + count - 1;
        if last > SEQUENCE_MAX {
            return Err(Error::input(format!("{} has no further sequence numbers", self.path().display())));
        }
        if !writer.active.has_room(group.operations.len() + self.operations_in_flight()) {
            self.drain(writer);
        }
        if !writer.active.has_room(group.operations.len()) {
            let detail = format!("a batch of {count} operations does not fit into a memtable; split it");
            return Err(Error::input(detail));
        }
        writer.next_sequence = last + 1;
        Ok((group, last))
    }

    /// Inserts a logged group into the memtables, and makes it visible.
    pub(super) fn apply_group(&self, writer: &mut WriterState, mut group: WriteGroup, last: Sequence, batches: u64) {
        self.telemetry.counters.batches.add(batches);
        self.telemetry.counters.groups.add(1);
        self.telemetry.counters.operations.add(group.operations.len() as u64);
        // Room was checked before.
        let is_taken = writer.active.insert(group.bytes, &mut group.operations, |id| self.new_memtable(id));
        debug_assert!(is_taken, "a memtable without room");
        if group.operations.capacity() <= KEPT_OPERATIONS_MAX {
            writer.decoded = group.operations;
        }
        writer.active.last_sequence = last;
        self.contents.show(last);
    }

    /// The error for a write without a log.
    fn no_log(&self) -> Error {
        self.failure(&self.contents.lock()).unwrap_or_else(|| self.closed())
    }

    /// Writes a group to the log with the given durability.
    pub(super) fn log_group(
        &self,
        writer: &mut WriterState,
        bytes: &[u8],
        last: Sequence,
        durability: Durability,
    ) -> Result<()> {
        if let Some(values) = &mut writer.values {
            values.flush()?;
        }
        let Some(log) = &mut writer.log else { return Err(self.no_log()) };
        if durability == Durability::Synced && writer.values_unsynced {
            if let Some(values) = &mut writer.values {
                values.sync()?;
            }
            writer.values_unsynced = false;
        }
        log.append(bytes, last).map_err(Error::of_unknown_outcome)?;
        self.telemetry.counters.log_bytes.add(bytes.len() as u64);
        writer.unsynced_bytes += bytes.len() as u64;
        let sync = match durability {
            Durability::Synced => true,
            Durability::Grouped => writer.unsynced_bytes >= self.options.writes.group_bytes,
            Durability::Buffered => false,
        };
        if sync {
            self.telemetry.counters.syncs.add(1);
            writer.sync().map_err(Error::of_unknown_outcome)?;
        }
        Ok(())
    }

    /// Assembles a group from its batches; long values go to the value file and are replaced by pointers.
    fn assemble(&self, writer: &mut WriterState, batches: &mut [Operations]) -> Result<WriteGroup> {
        // Values of at least this many bytes go to a value file before they are logged, if the batch is not small. On
        // an object store, only those that no log may have do: a value file is written as a whole.
        let at_once = if self.files.objects.is_some() { INLINE_BYTES_MAX + 1 } else { 0 };
        let least = writer.separation.least_bytes;
        let mut bytes = Vec::new();
        for operations in batches {
            self.telemetry.counters.user_bytes.add(operations.byte_len() as u64);
            let mut is_separated = operations.longest_value_bytes.is_some_and(|length| length >= least);
            if is_separated && self.is_deferred(operations, at_once) {
                is_separated = false;
                self.note_deferred(writer, operations);
            }
            let batch_at = bytes.len();
            match (is_separated, bytes.is_empty()) {
                (false, true) => bytes = std::mem::take(&mut operations.bytes),
                (false, false) => bytes.extend_from_slice(&operations.bytes[GROUP_HEAD_BYTES..]),
                (true, is_first) => {
                    if is_first {
                        bytes.resize(GROUP_HEAD_BYTES, 0);
                    }
                    self.separate(writer, &operations.bytes, at_once, &mut bytes)?;
                }
            }
            mark_batch(&mut bytes, batch_at);
        }
        if self.files.objects.is_some() {
            // A value file can be read, and is durable, when it is complete.
            writer.finish_values()?;
        }
        bytes[..GROUP_HEAD_BYTES].copy_from_slice(&writer.next_sequence.to_le_bytes());
        let mut operations = std::mem::take(&mut writer.decoded);
        decode_group_into(&bytes, &mut operations)
            .ok_or_else(|| Error::input("a write group has at most 4 GiB; split the batch"))?;
        Ok(WriteGroup { bytes, operations })
    }

    /// Whether the values of a batch stay in the log and in the memtable, until a flush moves them to a value file.
    fn is_deferred(&self, operations: &Operations, at_once_from_bytes: u64) -> bool {
        if self.files.objects.is_some() {
            return operations.longest_value_bytes.is_none_or(|length| length < at_once_from_bytes);
        }
        self.options.fast_paths.deferred_values && operations.byte_len() <= DEFERRED_BATCH_BYTES_MAX
    }

    /// Estimates what the deferred values of a batch hide.
    fn note_deferred(&self, writer: &mut WriterState, operations: &Operations) {
        for operation in decode_group(&operations.bytes).unwrap_or_default() {
            let (key, value) = operation.parts(&operations.bytes);
            let from_bytes = writer.separation.of(operation.keyspace).from_bytes;
            if long_value(&operation, value, from_bytes).is_some() {
                self.estimate_hidden(writer, operation.keyspace, key);
            }
        }
    }

    /// Appends the operations in `bytes` to `out`, with long values, of at least `least` bytes, replaced by pointers.
    fn separate(&self, writer: &mut WriterState, bytes: &[u8], least: u64, out: &mut Vec<u8>) -> Result<()> {
        let malformed = || Error::input("a batch has at most 4 GiB; split it");
        for operation in decode_group(bytes).ok_or_else(malformed)? {
            let (key, value) = operation.parts(bytes);
            let from_bytes = writer.separation.of(operation.keyspace).from_bytes.max(least);
            if let Some((kind, time, value)) = long_value(&operation, value, from_bytes) {
                let pointer = self.values(writer, operation.keyspace)?.append(key, value)?;
                writer.values_unsynced = true;
                self.estimate_hidden(writer, operation.keyspace, key);
                self.telemetry.counters.value_bytes.add(pointer.stored_bytes);
                let action = Action::Put(kind.separated());
                encode_operation_of(out, action, operation.keyspace, key, time, &encoded(&pointer));
            } else {
                encode_operation(out, operation.action, operation.keyspace, key, value);
            }
        }
        Ok(())
    }

    /// Estimates the bytes of values that new values hide, from a sample of the writes. Hidden values are dead, but not
    /// yet known to be.
    fn estimate_hidden(&self, writer: &mut WriterState, keyspace: KeyspaceId, key: &[u8]) {
        writer.separated += 1;
        // Multiplied by the golden ratio, so that the sample does not coincide with a period of the keys.
        if writer.separated.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HIDDEN_SAMPLE_BITS) != 0 {
            return;
        }
        let Some(tree) = self.contents.lock().trees.get(&keyspace).cloned() else { return };
        let view = tree.view.get();
        // Read errors are left to readers; this is only an estimate.
        if let Ok(Some((ValueKind::Pointer, pointer))) =
            view.find(key, ReadPoint::with_expired(self.visible()), ShareValue(|_| {}))
            && let Some(pointer) = ValueFilePointer::decode(&pointer)
        {
            writer.active.hidden_bytes += pointer.stored_bytes << HIDDEN_SAMPLE_BITS;
        }
    }

    /// The current value file, for values of a keyspace; a new one if there is none, or if it has reached its size.
    pub(in crate::lsm) fn values<'w>(
        &self,
        writer: &'w mut WriterState,
        keyspace: KeyspaceId,
    ) -> Result<&'w mut ValueFileWriter> {
        let compression = writer.separation.of(keyspace).compression;
        if writer.values.as_ref().is_some_and(|values| values.len_bytes() >= VALUE_FILE_BYTES) {
            writer.finish_values()?;
        }
        if writer.values.is_none() {
            let number = self.take_number()?;
            let created = ValueFileWriter::create(&self.files.storage, self.files.binding, number, compression)?;
            self.files.storage.sync_directory()?;
            let handle = ValueHandle::new(&self.files.storage, number, created.file());
            writer.active.values.push(Arc::clone(&handle));
            writer.values = Some(created);
            let mut shared = self.contents.lock();
            shared.unflushed_values.insert(number);
            shared.add_values(handle);
            self.publish(&mut shared, BTreeSet::new());
        }
        let values = writer.values.as_mut().ok_or_else(|| Error::input("no value file could be created"))?;
        values.set_compression(compression);
        Ok(values)
    }

    /// Waits until the next group may be written, and switches full memtables.
    pub(super) fn make_room(&self, writer: &mut WriterState) -> Result<()> {
        let is_full = !writer.active.has_room(ROOM_OPERATIONS_MIN)
            || writer.active.memory_bytes() >= self.options.memtable_limit_bytes()
            || writer.active.hidden_bytes >= self.writes.hidden_limit_bytes()
            || self.writes.is_switch_requested() && !writer.active.is_empty();
        self.check_place_of_group(is_full)?;
        self.check_writable()?;
        if !is_full {
            return Ok(());
        }
        self.writes.request_switch(false);
        self.drain(writer);
        self.wait_for_room()?;
        self.switch(writer)
    }

    /// Stalls until flushes and compactions catch up.
    pub(in crate::lsm) fn wait_for_room(&self) -> Result<()> {
        let timer = Timer::start();
        let mut waited = false;
        let mut shared = self.contents.lock();
        loop {
            if let Some(error) = self.refusal(&shared) {
                return Err(error);
            }
            // This many tables make a compaction due.
            let is_crowded = shared.sealed.len() >= self.options.sealed_max()
                || shared
                    .compaction_candidates
                    .iter()
                    .filter_map(|id| shared.state.levels(*id))
                    .any(|levels| levels.level(0).len() >= LEVEL0_STALL_TABLES);
            if !is_crowded {
                break;
            }
            if !std::mem::replace(&mut waited, true) {
                self.report_stall(&shared);
            }
            shared = match self.proceed(shared)? {
                Some(shared) => shared,
                None => break,
            };
        }
        if waited {
            self.report_stall_end(timer);
        }
        Ok(())
    }

    /// Reserves memory for a memtable set, up to its size limit plus one group; `found_bytes` are in use already.
    pub(in crate::lsm) fn reserve_for_memtables(&self, found_bytes: u64) -> Option<Arc<Reservation>> {
        let limit = self.options.memtable_limit_bytes();
        let most = limit + limit / MEMTABLE_SLACK_DIVISOR + self.options.group_bytes_max() as u64;
        Some(Arc::new(self.files.cache.reserve_scoped(found_bytes.max(most))))
    }

    /// Switches to a new memtable set; the old one is sealed, and will be flushed.
    pub(in crate::lsm) fn switch(&self, writer: &mut WriterState) -> Result<()> {
        let outcome = self.try_switch(writer);
        if let Err(error) = &outcome {
            writer.abandon();
            self.fail(&mut self.contents.lock(), error);
        }
        outcome
    }

    fn try_switch(&self, writer: &mut WriterState) -> Result<()> {
        self.drain(writer);
        // Groups of the next log must not survive a crash without those of this one.
        writer.sync()?;
        writer.finish_values()?;
        let number = self.take_number()?;
        let recycled = self.contents.lock().recyclable.pop();
        let previous = writer.log.take().map(WalWriter::finish).transpose()?;
        let log = self.files.create_log(number, recycled, previous)?;
        let mut shared = self.contents.lock();
        let edit = ManifestEdit {
            logs_added: vec![number],
            logs_ended: previous.iter().map(|previous| (previous.number, previous.bytes)).collect(),
            last_sequence: Some(writer.active.last_sequence),
            ..ManifestEdit::default()
        };
        let memtables = shared.fresh_memtables();
        let mut sealed = std::mem::take(&mut writer.active);
        if let (Some(part), Some(previous)) = (sealed.logs.last_mut(), previous) {
            part.bytes = previous.bytes;
        }
        writer.active = MemtableSet::of(memtables.clone());
        writer.active.logs = vec![BackingLog { number, bytes: 0 }];
        writer.active.last_sequence = sealed.last_sequence;
        writer.active.reservation = self.reserve_for_memtables(0);
        shared.sealed.push_back(Arc::new(sealed));
        let moved = std::mem::replace(&mut shared.active, memtables).into_keys().collect();
        // Once the number of the log is durable, its groups will be replayed.
        self.apply(&mut shared, StateChange { edit, switched: moved, ..StateChange::default() })?;
        writer.log = Some(log);
        Ok(())
    }
}

/// The kind, the time if it expires, and the value of an operation that puts one of at least this length.
fn long_value<'a>(operation: &Operation, stored: &'a [u8], threshold: u64) -> Option<(ValueKind, &'a [u8], &'a [u8])> {
    let (kind, (time, value)) = match operation.action {
        Action::Put(ValueKind::Value) => (ValueKind::Value, (&[][..], stored)),
        Action::Put(ValueKind::ExpiringValue) => (ValueKind::ExpiringValue, stored.split_at_checked(EXPIRY_BYTES)?),
        _ => return None,
    };
    (value.len() as u64 >= threshold).then_some((kind, time, value))
}

pub(in crate::lsm) fn encoded(pointer: &ValueFilePointer) -> Vec<u8> {
    let mut bytes = Vec::new();
    pointer.encode(&mut bytes);
    bytes
}
