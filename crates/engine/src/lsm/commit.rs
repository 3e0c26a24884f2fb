//! Writing: batches that wait at the same time are written as one group, by the first of their writers. Groups and all else that writes
//! take turns, in the order in which they ask.
//!
//! A group goes to the value file (long values), to the log, and to the memtables; then readers see it. With
//! [`Durability::Synced`] values and log are synced before. A group is one commit of the log: it is there wholly, or not at
//! all, and so is each batch in it.

use super::batch::Operations;
use super::compact::VALUE_FILE_BYTES;
use super::core::{Change, Core, Shared};
use super::entry::{Action, GROUP_HEAD_BYTES, KeyspaceId, Kind, MAX_SEQUENCE, Operation, Sequence};
use super::entry::{decode_group, encode_operation};
use super::generation::{Generation, LogPart};
use super::maintain::is_there;
use super::memtable::Memtable;
use super::numbers::NumberSource;
use super::options::{Durability, MAX_INLINE_BYTES};
use super::values::ValueHandle;
use super::version::Edit;
use super::view::Tree;
use super::wal::Wal;
use crate::block::cache::Reservation;
use crate::error::{Error, Result};
use crate::io::Timer;
use crate::io::sync::{Mutex, MutexGuard, yield_briefly};
use crate::vlog::{ValuePlace, ValueWriter};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A group waits for writers to join it for one part in so many of the time that the last one took.
const GATHER_SHARE: f64 = 4.0;
/// A memtable grows in steps: when it is found to be full, it may be larger by one part in so many.
const MEMTABLE_SLACK: u64 = 8;
/// Of two to the power of this many values that are written, one is looked up before: often enough for an estimate of those that are
/// hidden, and seldom enough not to show.
const SAMPLED_BITS: u32 = 5;
/// A memtable without room for so many operations is full.
const OPERATIONS_MAX: usize = 1 << 20;
/// Writes wait while level 0 has this many tables: each costs every reader a look.
const TABLES_AT_LEVEL_0_MAX: usize = 20;

/// A batch that waits.
#[derive(Debug)]
pub(super) struct Request {
    durability: Durability,
    work: Mutex<Work>,
}

#[derive(Debug)]
struct Work {
    operations: Operations,
    outcome: Option<Result<()>>,
}

/// Batches that wait, oldest first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Vec<Arc<Request>>,
    /// Somebody writes a group; the others wait until they are done, or it is their turn.
    is_led: bool,
    /// How many writers there were when the last group was done, and how long that took in microseconds.
    writers: usize,
    group_us: f64,
}

impl Queue {
    /// The batches that are written next.
    fn take_group(&mut self, bytes_max: usize) -> Vec<Arc<Request>> {
        let (mut bytes, mut count) = (0, 0);
        for request in &self.waiting {
            bytes += request.work.lock().operations.bytes.len();
            if count > 0 && bytes > bytes_max {
                break;
            }
            count += 1;
        }
        self.waiting.drain(..count).collect()
    }
}

/// Where groups go. Who holds the lock on it is the writer.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` after a failure.
    pub(super) log: Option<Wal>,
    /// The value file that grows.
    pub(super) values: Option<ValueWriter>,
    /// Whether values were written that are not durable yet.
    values_unsynced: bool,
    /// Bytes of log since the last sync.
    unsynced_bytes: u64,
    pub(super) active: Generation,
    pub(super) next_sequence: Sequence,
    /// Values that were written to value files.
    separated: u64,
}

impl Writer {
    pub(super) fn new(log: Option<Wal>, active: Generation, next_sequence: Sequence) -> Self {
        Self { log, values: None, values_unsynced: false, unsynced_bytes: 0, active, next_sequence, separated: 0 }
    }

    /// Gives log and value file up: what has reached them is not known.
    pub(super) fn abandon(&mut self) {
        self.log = None;
        if let Some(values) = self.values.take() {
            self.active.doubtful.push(values.number());
        }
        self.values_unsynced = false;
    }

    /// Ends the value file that grows.
    pub(super) fn finish_values(&mut self) -> Result<()> {
        let Some(values) = self.values.take() else { return Ok(()) };
        let number = values.number();
        self.values_unsynced = false;
        values.finish().map(drop).inspect_err(|_| self.active.doubtful.push(number))
    }

    /// Makes all that was written durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        if let Some(values) = self.values.as_mut().filter(|_| self.values_unsynced) {
            values.sync()?;
            self.values_unsynced = false;
        }
        if let Some(log) = &mut self.log {
            log.sync()?;
        }
        self.unsynced_bytes = 0;
        Ok(())
    }
}

/// The bytes of a group, and the operations in it.
struct Group {
    bytes: Vec<u8>,
    operations: Vec<Operation>,
}

impl Core {
    /// Makes a batch happen; returns when it counts as done.
    pub(super) fn commit(&self, operations: Operations, durability: Option<Durability>) -> Result<()> {
        if operations.count == 0 {
            return Ok(());
        }
        let durability = durability.unwrap_or(self.options.durability);
        let request = Arc::new(Request { durability, work: Mutex::new(Work { operations, outcome: None }) });
        let mut queue = self.queue.lock();
        queue.waiting.push(Arc::clone(&request));
        let outcome = loop {
            if let Some(outcome) = request.work.lock().outcome.take() {
                break outcome;
            }
            if queue.is_led {
                queue = self.written.wait(&self.queue, queue);
                continue;
            }
            queue.is_led = true;
            if durability == Durability::Synced && self.options.fast_paths.batches {
                queue = self.gather(queue);
            }
            drop(queue);
            let mut writer = self.writer.lock();
            // Who came while others had their turns is taken along.
            let group = self.queue.lock().take_group(self.options.joined_bytes_max());
            let timer = Timer::start();
            self.write_requests(&mut writer, &group);
            drop(writer);
            queue = self.queue.lock();
            queue.is_led = false;
            (queue.writers, queue.group_us) = (group.len() + queue.waiting.len(), timer.elapsed_us());
            self.written.notify_all();
        };
        drop(queue);
        self.work_after_write();
        outcome
    }

    /// Waits a little for writers that the last group has let go and that are likely to come back: a sync takes as long for one batch
    /// as for all of theirs.
    fn gather<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        let most_us = queue.group_us / GATHER_SHARE;
        let timer = Timer::start();
        while queue.waiting.len() < queue.writers && timer.elapsed_us() < most_us {
            drop(queue);
            let has_passed = yield_briefly();
            queue = self.queue.lock();
            if !has_passed {
                break;
            }
        }
        queue
    }

    /// Does what a write has made due. What fails there closes the store; the write itself has happened.
    pub(super) fn work_after_write(&self) {
        _ = self.work_inline();
    }

    /// Makes a batch happen if `condition` holds, with no other write in between; whether it did.
    pub(super) fn commit_if(&self, condition: impl FnOnce() -> Result<bool>, operations: Operations) -> Result<bool> {
        let request = Arc::new(Request {
            durability: self.options.durability,
            work: Mutex::new(Work { operations, outcome: None }),
        });
        {
            let mut writer = self.writer.lock();
            self.make_room(&mut writer)?;
            if !condition()? {
                return Ok(false);
            }
            if !self.admit(&writer, &request) {
                return request.work.lock().outcome.take().unwrap_or(Ok(())).map(|()| true);
            }
            self.write_group(&mut writer, &[&request], request.durability)?;
        }
        self.work_after_write();
        Ok(true)
    }

    /// Writes batches as one group.
    fn write_requests(&self, writer: &mut Writer, requests: &[Arc<Request>]) {
        let durability = requests.iter().map(|request| request.durability).min_by_key(|durability| match durability {
            Durability::Synced => 0,
            Durability::Grouped => 1,
            Durability::Buffered => 2,
        });
        let (Some(durability), Some(first)) = (durability, requests.first()) else { return };
        let alive: Vec<&Arc<Request>> = requests.iter().filter(|request| self.admit(writer, request)).collect();
        let outcome = self.make_room(writer).and_then(|()| self.write_group(writer, &alive, durability));
        let failed = outcome.as_ref().err().map(ToString::to_string);
        let mut outcome = Some(outcome);
        for request in &alive {
            let mut work = request.work.lock();
            work.outcome = Some(match (&failed, Arc::ptr_eq(request, first)) {
                (None, _) => Ok(()),
                (Some(_), true) => outcome.take().unwrap_or(Ok(())),
                (Some(cause), false) => Err(Error::StoreReadOnly { path: self.path(), cause: cause.clone() }),
            });
        }
    }

    /// Whether all keyspaces of a batch are there; if not, the batch has failed.
    fn admit(&self, _: &Writer, request: &Request) -> bool {
        let mut work = request.work.lock();
        // None is dropped meanwhile: that takes the writer, too.
        let dropped = work.operations.keyspaces.iter().find(|tree| tree.is_dropped());
        let Some(tree) = dropped else { return true };
        let error = Error::KeyspaceDropped { path: self.path(), name: tree.name.clone() };
        work.outcome = Some(Err(error));
        false
    }

    fn write_group(&self, writer: &mut Writer, requests: &[&Arc<Request>], durability: Durability) -> Result<()> {
        if requests.is_empty() {
            return Ok(());
        }
        let mut outcome = self.try_write_group(writer, requests, durability);
        if matches!(outcome, Err(Error::InvalidArgument(_))) {
            // Values that no group leads to must not lie ahead of some that count: a crash could tear them.
            outcome = writer.finish_values().and(outcome);
        }
        if let Err(error) = &outcome
            && !matches!(error, Error::InvalidArgument(_))
        {
            writer.abandon();
            self.fail(&mut self.shared.lock(), error);
        }
        outcome
    }

    fn try_write_group(&self, writer: &mut Writer, requests: &[&Arc<Request>], durability: Durability) -> Result<()> {
        let group = self.assemble(writer, requests)?;
        let count = group.operations.len() as u64;
        let last = writer.next_sequence + count - 1;
        if last > MAX_SEQUENCE {
            return Err(Error::InvalidArgument(format!("{} has no further sequence numbers", self.path().display())));
        }
        if !writer.active.has_room(group.operations.len()) {
            let detail = format!("a batch of {count} operations is beyond what a memtable takes; split it");
            return Err(Error::InvalidArgument(detail));
        }
        writer.next_sequence = last + 1;
        self.log_group(writer, &group.bytes, last, durability)?;
        self.counters.batches.add(requests.len() as u64);
        self.counters.groups.add(1);
        self.counters.operations.add(count);
        // There is room: that was asked before.
        let is_taken = writer.active.insert(group.bytes, group.operations, |id| self.new_memtable(id));
        debug_assert!(is_taken, "a memtable without room");
        writer.active.last_sequence = last;
        self.visible.store(last, Ordering::Release);
        Ok(())
    }

    /// Writes a group to the log, and makes it as durable as it is to be.
    fn log_group(&self, writer: &mut Writer, bytes: &[u8], last: Sequence, durability: Durability) -> Result<()> {
        if let Some(values) = &mut writer.values {
            values.flush()?;
        }
        let Some(log) = &mut writer.log else {
            let cause = self.shared.lock().failure.clone().unwrap_or_default();
            return Err(Error::StoreReadOnly { path: self.path(), cause });
        };
        if durability == Durability::Synced && writer.values_unsynced {
            if let Some(values) = &mut writer.values {
                values.sync()?;
            }
            writer.values_unsynced = false;
        }
        log.append(bytes, last)?;
        self.counters.log_bytes.add(bytes.len() as u64);
        writer.unsynced_bytes += bytes.len() as u64;
        let sync = match durability {
            Durability::Synced => true,
            Durability::Grouped => writer.unsynced_bytes >= self.options.group_bytes,
            Durability::Buffered => false,
        };
        if sync {
            self.counters.syncs.add(1);
            writer.sync()?;
        }
        Ok(())
    }

    /// Puts the batches of a group together; long values go to the value file, and their places into the group.
    fn assemble(&self, writer: &mut Writer, requests: &[&Arc<Request>]) -> Result<Group> {
        let threshold = self.options.separation_threshold.min(MAX_INLINE_BYTES + 1);
        let mut bytes = Vec::new();
        for request in requests {
            let mut work = request.work.lock();
            let operations = &mut work.operations;
            self.counters.user_bytes.add((operations.bytes.len() - GROUP_HEAD_BYTES) as u64);
            let is_separated = operations.longest_value_bytes.is_some_and(|length| length >= threshold);
            match (is_separated, bytes.is_empty()) {
                (false, true) => bytes = std::mem::take(&mut operations.bytes),
                (false, false) => bytes.extend_from_slice(&operations.bytes[GROUP_HEAD_BYTES..]),
                (true, is_first) => {
                    if is_first {
                        bytes.resize(GROUP_HEAD_BYTES, 0);
                    }
                    self.separate(writer, &operations.bytes, threshold, &mut bytes)?;
                }
            }
        }
        bytes[..GROUP_HEAD_BYTES].copy_from_slice(&writer.next_sequence.to_le_bytes());
        let operations = decode_group(&bytes);
        let operations = operations.ok_or_else(|| {
            Error::InvalidArgument("batches that are written together have at most 4 GiB; write less at once".into())
        })?;
        Ok(Group { bytes, operations })
    }

    /// Appends the operations in `bytes` to `out`, with the places of long values in their stead.
    fn separate(&self, writer: &mut Writer, bytes: &[u8], threshold: u64, out: &mut Vec<u8>) -> Result<()> {
        let malformed = || Error::InvalidArgument("a batch has at most 4 GiB; write less at once".into());
        for operation in decode_group(bytes).ok_or_else(malformed)? {
            let (key, value) = operation.parts(bytes);
            let is_long = operation.action == Action::Put(Kind::Value) && value.len() as u64 >= threshold;
            if is_long {
                let place = self.values(writer)?.append(key, value)?;
                writer.values_unsynced = true;
                self.estimate_hidden(writer, operation.keyspace, key);
                self.counters.value_bytes.add(place.stored_bytes);
                encode_operation(out, Action::Put(Kind::Pointer), operation.keyspace, key, &encoded(&place));
            } else {
                encode_operation(out, operation.action, operation.keyspace, key, value);
            }
        }
        Ok(())
    }

    /// Counts the value that one written now hides, for one in some and as so many: how much is dead without being known to be.
    fn estimate_hidden(&self, writer: &mut Writer, keyspace: KeyspaceId, key: &[u8]) {
        writer.separated += 1;
        // Mixed, lest the choice fall in with the rhythm of the keys: by the golden ratio, whose high bits are spread evenly.
        if writer.separated.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SAMPLED_BITS) != 0 {
            return;
        }
        let Some(tree) = self.shared.lock().trees.get(&keyspace).cloned() else { return };
        let view = tree.view.get();
        // What cannot be read is told to who reads it; here it is an estimate.
        if let Ok(Some((Kind::Pointer, place))) = view.find(key, self.visible())
            && let Some(place) = ValuePlace::decode(&place)
        {
            writer.active.hidden_bytes += place.stored_bytes << SAMPLED_BITS;
        }
    }

    /// The value file that grows; a new one where there is none yet, or it has its size.
    fn values<'w>(&self, writer: &'w mut Writer) -> Result<&'w mut ValueWriter> {
        if writer.values.as_ref().is_some_and(|values| values.len_bytes() >= VALUE_FILE_BYTES) {
            writer.finish_values()?;
        }
        if writer.values.is_none() {
            let number = self.take_number()?;
            let created = ValueWriter::create(&self.storage, self.bond, number, self.options.compression)?;
            self.storage.sync_directory()?;
            let handle = ValueHandle::new(&self.storage, number, created.file());
            writer.active.values.push(Arc::clone(&handle));
            writer.values = Some(created);
            let mut shared = self.shared.lock();
            shared.young_values.insert(number);
            shared.add_values(handle);
            self.publish(&mut shared, BTreeSet::new());
        }
        writer.values.as_mut().ok_or_else(|| Error::InvalidArgument("no value file could be made".into()))
    }

    /// Writes one value from a stream, and the entry that points to it.
    pub(super) fn commit_stream(
        &self,
        tree: &Tree,
        key: &[u8],
        source: &mut dyn Read,
        durability: Option<Durability>,
    ) -> Result<()> {
        let mut writer = self.writer.lock();
        self.make_room(&mut writer)?;
        if tree.is_dropped() {
            return Err(Error::KeyspaceDropped { path: self.path(), name: tree.name.clone() });
        }
        // A value file that cannot be ended or begun closes the store: what it holds may not be durable.
        let place = match self.values(&mut writer) {
            Ok(values) => values.append_stream(key, source),
            Err(error) => {
                writer.abandon();
                self.fail(&mut self.shared.lock(), &error);
                return Err(error);
            }
        };
        writer.values_unsynced = true;
        let outcome = match &place {
            Ok(place) => self.commit_place(&mut writer, tree.id, key, place, durability),
            // What the source gave so far is in the file, and nothing leads to it. What else is there must last.
            Err(_) => writer.finish_values(),
        };
        if let Err(error) = &outcome {
            writer.abandon();
            self.fail(&mut self.shared.lock(), error);
        }
        drop(writer);
        self.work_after_write();
        place.and(outcome)
    }

    fn commit_place(
        &self,
        writer: &mut Writer,
        keyspace: KeyspaceId,
        key: &[u8],
        place: &ValuePlace,
        durability: Option<Durability>,
    ) -> Result<()> {
        self.counters.value_bytes.add(place.stored_bytes);
        self.counters.user_bytes.add(key.len() as u64 + place.length);
        let mut bytes = writer.next_sequence.to_le_bytes().to_vec();
        encode_operation(&mut bytes, Action::Put(Kind::Pointer), keyspace, key, &encoded(place));
        let last = writer.next_sequence;
        if last > MAX_SEQUENCE {
            return Err(Error::InvalidArgument(format!("{} has no further sequence numbers", self.path().display())));
        }
        writer.next_sequence += 1;
        self.log_group(writer, &bytes, last, durability.unwrap_or(self.options.durability))?;
        let operations = decode_group(&bytes).unwrap_or_default();
        self.counters.batches.add(1);
        self.counters.groups.add(1);
        self.counters.operations.add(1);
        // There is room: that was asked before.
        let is_taken = writer.active.insert(bytes, operations, |id| self.new_memtable(id));
        debug_assert!(is_taken, "a memtable without room");
        writer.active.last_sequence = last;
        self.visible.store(last, Ordering::Release);
        Ok(())
    }

    /// Waits, if it must, until the next group may be written: switches memtables that are full, and lets flushes and
    /// compactions catch up.
    pub(super) fn make_room(&self, writer: &mut Writer) -> Result<()> {
        let is_full = !writer.active.has_room(OPERATIONS_MAX)
            || writer.active.memory_bytes() >= self.options.memtable_limit_bytes()
            || writer.active.hidden_bytes >= self.hidden_limit.load(Ordering::Relaxed)
            || self.is_switch_asked.load(Ordering::Relaxed) && !writer.active.is_empty();
        self.check_writable()?;
        if !is_full {
            return Ok(());
        }
        self.is_switch_asked.store(false, Ordering::Relaxed);
        self.wait_for_room()?;
        self.switch(writer)
    }

    fn wait_for_room(&self) -> Result<()> {
        let timer = Timer::start();
        let mut waited = false;
        let mut shared = self.shared.lock();
        loop {
            if let Some(error) = self.refusal(&shared) {
                return Err(error);
            }
            // So many tables make a compaction due.
            let is_crowded = shared.sealed.len() >= self.options.sealed_max()
                || shared
                    .unsettled
                    .iter()
                    .filter_map(|id| shared.state.levels(*id))
                    .any(|levels| levels.level(0).len() >= TABLES_AT_LEVEL_0_MAX);
            if !is_crowded {
                break;
            }
            waited = true;
            if self.options.threads == 0 {
                drop(shared);
                if !self.work_once()? {
                    break;
                }
                shared = self.shared.lock();
            } else {
                shared = self.changed.wait(&self.shared, shared);
            }
        }
        if waited {
            self.counters.stalls.add(1);
            self.counters.stall_us.add(timer.elapsed_us() as u64);
        }
        Ok(())
    }

    /// Keeps memory for the memtables of a generation: up to where they are switched, and the group that does it; `found_bytes` are
    /// there already.
    pub(super) fn hold_for_memtables(&self, found_bytes: u64) -> Option<Arc<Reservation>> {
        let limit = self.options.memtable_limit_bytes();
        let most = limit + limit / MEMTABLE_SLACK + self.options.group_bytes_max() as u64;
        Some(Arc::new(self.cache.reserve_scoped(found_bytes.max(most))))
    }

    /// Begins a new generation; the old one is to be written out.
    pub(super) fn switch(&self, writer: &mut Writer) -> Result<()> {
        let outcome = self.try_switch(writer);
        if let Err(error) = &outcome {
            writer.abandon();
            self.fail(&mut self.shared.lock(), error);
        }
        outcome
    }

    fn try_switch(&self, writer: &mut Writer) -> Result<()> {
        // What the next log holds must not survive without this one.
        writer.sync()?;
        writer.finish_values()?;
        let number = self.take_number()?;
        let recycled = self.shared.lock().recyclable.pop();
        let previous = writer.log.take().map(Wal::finish).transpose()?;
        let log = Wal::create(&self.storage, self.bond, number, recycled, previous)?;
        let mut shared = self.shared.lock();
        let edit = Edit {
            logs_added: vec![number],
            logs_ended: previous.iter().map(|previous| (previous.number, previous.bytes)).collect(),
            last_sequence: Some(writer.active.last_sequence),
            ..Edit::default()
        };
        let memtables = fresh_memtables(&shared);
        let mut sealed = std::mem::take(&mut writer.active);
        if let (Some(part), Some(previous)) = (sealed.logs.last_mut(), previous) {
            part.bytes = previous.bytes;
        }
        writer.active = Generation::of(memtables.clone());
        writer.active.logs = vec![LogPart { number, bytes: 0 }];
        writer.active.last_sequence = sealed.last_sequence;
        writer.active.held = self.hold_for_memtables(0);
        shared.sealed.push_back(Arc::new(sealed));
        let moved = std::mem::replace(&mut shared.active, memtables).into_keys().collect();
        // With the log's number durable the group that comes next is found again.
        self.apply(&mut shared, Change { edit, moved, ..Change::default() })?;
        writer.log = Some(log);
        Ok(())
    }
}

fn encoded(place: &ValuePlace) -> Vec<u8> {
    let mut bytes = Vec::new();
    place.encode(&mut bytes);
    bytes
}

/// A memtable for each keyspace that was written of late.
pub(super) fn fresh_memtables(shared: &Shared) -> BTreeMap<KeyspaceId, Arc<Memtable>> {
    let written = shared.active.iter().filter(|(id, memtable)| !memtable.is_empty() && is_there(shared, **id));
    written.map(|(id, memtable)| (*id, Arc::new(Memtable::after(memtable)))).collect()
}
