//! The end of an open store: long logs become tables, and a closed manifest states the length of each file.

use crate::error::Result;
use crate::lsm::core::shared::SharedState;
use crate::lsm::core::store::Core;
use crate::lsm::core::writer::WriterState;
use crate::lsm::state::log_header::log_name;
use crate::lsm::state::memtable_set::MemtableSet;
use crate::lsm::state::version::{ClosedLengths, KeptChanges};

/// Longer logs are flushed when a store is closed, in bytes: the next opening replays the rest in a millisecond, and
/// reads it from an object store in the time of a request. A command that writes little leaves no table of its own.
const KEPT_LOG_BYTES_MAX: u64 = 64 << 10;

/// Logs of more parts are flushed as well. Each part is an object, which the next opening reads by a request.
const KEPT_LOG_PARTS_MAX: u64 = 16;

/// The ends of tables that a closed manifest has, in bytes in all: a reader of one key reads the whole manifest. Others
/// are read from the tables that are needed.
const CLOSED_TAILS_BYTES_MAX: usize = 64 << 10;

impl Core {
    /// Flushes the memtables, if it takes long to replay their logs. They stay as they are if there might be no room
    /// for the tables, or if the store takes no writes: then the next opening flushes them.
    ///
    /// # Errors
    /// Errors of the storage; the logs are durable, and the store is closed to writes.
    pub(in crate::lsm) fn flush_long_logs(&self) -> Result<()> {
        if self.access.is_read_only() || self.check_place().is_err() || self.check_writable().is_err() {
            return Ok(());
        }
        let mut writer = self.writer_alone();
        let shared = self.contents.lock();
        let is_due = has_long_logs(&shared, &writer) && self.has_room_to_flush(&shared);
        drop(shared);
        if !is_due {
            return Ok(());
        }
        if !writer.active.is_empty() {
            self.switch(&mut writer)?;
        }
        drop(writer);
        self.wait_until(|shared| shared.sealed.is_empty() && !shared.is_flushing)
    }

    /// Closes the store: syncs everything and writes a closed manifest with the length of each file. If all is in
    /// tables, it names no log.
    pub(in crate::lsm) fn close(&self) -> Result<()> {
        if self.access.is_read_only() {
            return Ok(());
        }
        let mut writer = self.writer_alone();
        let mut shared = self.contents.lock();
        // Another thread may be at work in the name of its own call.
        while shared.is_flushing || !shared.running.is_empty() {
            shared = self.contents.wait(shared);
        }
        if shared.failure.is_some()
            && let Some(error) = self.failure(&shared)
        {
            return Err(error);
        }
        drop(shared);
        writer.sync()?;
        writer.finish_values()?;
        let kept = self.keep_logs_of_no_entries(&writer)?;
        let mut shared = self.contents.lock();
        let recyclable = std::mem::take(&mut shared.recyclable);
        let mut logs = logs_of(&shared, &writer);
        let young = memtable_sets(&shared, &writer).flat_map(|memtable_set| &memtable_set.values);
        let mut value_files: Vec<(u64, u64)> = young.map(|handle| (handle.number, handle.file.len_bytes())).collect();
        value_files.extend(shared.state.value_files.iter().map(|(&number, meta)| (number, meta.bytes)));
        value_files.sort_unstable();
        let mut state = shared.state.clone();
        kept.iter().for_each(|kept| state.kept.apply(kept));
        state.limit_tails(CLOSED_TAILS_BYTES_MAX);
        let is_flushed = memtable_sets(&shared, &writer)
            .all(|memtable_set| memtable_set.is_empty() && memtable_set.values.is_empty());
        let empty = if is_flushed { std::mem::take(&mut logs) } else { Vec::new() };
        if let Some((last, _)) = empty.last() {
            state.last_sequence = state.last_sequence.max(writer.active.last_sequence);
            state.end_logs(last + 1);
        }
        // A file that cannot be removed now is removed at the next opening.
        let unneeded: Vec<u64> = empty.iter().map(|(number, _)| *number).chain(recyclable).collect();
        let remove = |logs: Vec<u64>| logs.iter().for_each(|log| _ = self.files.storage.remove(&log_name(*log)));
        // On an object store they only begin to wait for their removal, which the manifest then says.
        let (before, after) =
            if self.files.objects.is_some() { (unneeded, Vec::new()) } else { (Vec::new(), unneeded) };
        remove(before);
        let anchor = self.files.objects.as_ref().map_or(Ok(None), |objects| objects.anchor_digest())?;
        self.new_manifest(&mut state, Some(&ClosedLengths { anchor, logs, value_files }))?;
        writer.log = None;
        remove(after);
        Ok(())
    }
}

impl Core {
    /// Keeps the logs of memtables without entries, which are forgotten now, for subscribers: they may have changes of
    /// keyspaces that were dropped. On an object store it returns what the manifest is to have of them.
    fn keep_logs_of_no_entries(&self, writer: &WriterState) -> Result<Vec<KeptChanges>> {
        let sealed: Vec<_> = self.contents.lock().sealed.iter().cloned().collect();
        let sets = || sealed.iter().map(|set| &**set).chain([&writer.active]);
        match sets().all(MemtableSet::is_empty) {
            true => sets().filter_map(|set| self.keep_logs(set).transpose()).collect(),
            false => Ok(Vec::new()),
        }
    }
}

/// The memtable sets whose entries are in no table, oldest first.
fn memtable_sets<'a>(shared: &'a SharedState, writer: &'a WriterState) -> impl Iterator<Item = &'a MemtableSet> {
    shared.sealed.iter().map(|memtable_set| &**memtable_set).chain([&writer.active])
}

/// Their logs, with the lengths in bytes.
fn logs_of(shared: &SharedState, writer: &WriterState) -> Vec<(u64, u64)> {
    let logs = memtable_sets(shared, writer).flat_map(|memtable_set| &memtable_set.logs);
    let mut logs: Vec<(u64, u64)> = logs.map(|log| (log.number, log.bytes)).collect();
    if let (Some(log), Some(last)) = (&writer.log, logs.last_mut()) {
        last.1 = log.len_bytes();
    }
    logs
}

/// Whether it takes long to replay the logs.
fn has_long_logs(shared: &SharedState, writer: &WriterState) -> bool {
    let bytes: u64 = logs_of(shared, writer).iter().map(|(_, bytes)| bytes).sum();
    bytes > KEPT_LOG_BYTES_MAX || writer.log.as_ref().is_some_and(|log| log.parts() > KEPT_LOG_PARTS_MAX)
}
