//! Commits of values that come as streams, which are never in memory as a whole.

use super::commit::encoded;
use crate::durability::Durability;
use crate::error::{Error, Result};
use crate::lsm::core::store::Core;
use crate::lsm::core::writer::WriterState;
use crate::lsm::state::entry::{Action, KeyspaceId, SEQUENCE_MAX, ValueKind, decode_group, encode_operation_of};
use crate::lsm::state::expiry::rule::ExpiryRule;
use crate::lsm::state::operations::Operations;
use crate::lsm::state::value_forms::mark_of;
use crate::lsm::state::written_keyspace::WrittenKeyspace;
use crate::vlog::ValueFilePointer;
use std::io::Read;

impl Core {
    /// Writes one value from a stream, and the entry that points to it.
    pub(in crate::lsm) fn commit_stream(
        &self,
        keyspace: &WrittenKeyspace,
        key: &[u8],
        source: &mut dyn Read,
        durability: Option<Durability>,
    ) -> Result<()> {
        let mut writer = self.writer_alone();
        let tree = keyspace.tree();
        let expires_ms = match tree.expiry_rule() {
            Some(ExpiryRule::After(_)) => keyspace.expires_ms(&[])?,
            _ => None,
        };
        // The time of a row is in it.
        if tree.indexes.changes() > 0 || tree.has_expiry_rule() && expires_ms.is_none() {
            drop(writer);
            return self.commit_read(keyspace, key, source, durability);
        }
        if expires_ms.is_some() {
            self.check_clock()?;
        }
        self.make_room(&mut writer)?;
        if tree.is_dropped() {
            return Err(self.gone(tree));
        }
        // If a value file cannot be finished or begun, the store is closed to writes: its values may not be durable.
        let pointer = match self.values(&mut writer, tree.id) {
            // No alteration happens meanwhile: it takes the writer's lock.
            Ok(values) => values.append_stream(key, &mut mark_of(keyspace.form()).as_slice().chain(source)),
            Err(error) => {
                writer.abandon();
                self.fail(&mut self.contents.lock(), &error);
                return Err(error);
            }
        };
        writer.values_unsynced = true;
        let outcome = match &pointer {
            Ok(pointer) => {
                let finished = if self.files.objects.is_some() { writer.finish_values() } else { Ok(()) };
                let stated = finished.and_then(|()| self.state_types(std::slice::from_ref(keyspace)));
                stated.and_then(|()| self.commit_pointer(&mut writer, (tree.id, key, expires_ms), pointer, durability))
            }
            // The partial value in the file is unreferenced, but the values before it must be durable.
            Err(_) => writer.finish_values(),
        };
        let outcome = self.note_failure(&mut writer, outcome);
        drop(writer);
        self.work_after_write();
        pointer.and(outcome)
    }

    /// Commits a value from a stream that is read first, of a keyspace with indexes: they are made of the whole row.
    fn commit_read(
        &self,
        keyspace: &WrittenKeyspace,
        key: &[u8],
        source: &mut dyn Read,
        durability: Option<Durability>,
    ) -> Result<()> {
        let (limit, mut value) = (self.options.memory_bytes, Vec::new());
        let read = source.take(limit + 1).read_to_end(&mut value);
        read.map_err(|error| Error::io("read the value for", self.path(), error))?;
        if value.len() as u64 > limit {
            return Err(Error::value_too_large(self.path(), value.len() as u64, limit));
        }
        let mut operations = Operations::default();
        operations.push(keyspace, Action::Put(ValueKind::Value), key, &value);
        operations.take_error()?;
        self.commit(operations, durability)
    }

    fn commit_pointer(
        &self,
        writer: &mut WriterState,
        (keyspace, key, expires_ms): (KeyspaceId, &[u8], Option<u64>),
        pointer: &ValueFilePointer,
        durability: Option<Durability>,
    ) -> Result<()> {
        self.telemetry.counters.value_bytes.add(pointer.stored_bytes);
        self.telemetry.counters.user_bytes.add(key.len() as u64 + pointer.length);
        let mut bytes = writer.next_sequence.to_le_bytes().to_vec();
        let kind = if expires_ms.is_some() { ValueKind::ExpiringPointer } else { ValueKind::Pointer };
        let time = expires_ms.map(u64::to_le_bytes);
        let time = time.as_ref().map_or(&[][..], |time| time);
        encode_operation_of(&mut bytes, Action::Put(kind), keyspace, key, time, &encoded(pointer));
        let last = writer.next_sequence;
        if last > SEQUENCE_MAX {
            return Err(Error::input(format!("{} has no further sequence numbers", self.path().display())));
        }
        writer.next_sequence += 1;
        self.log_group(writer, &bytes, last, durability.unwrap_or(self.options.durability))?;
        let mut operations = decode_group(&bytes).unwrap_or_default();
        self.telemetry.counters.batches.add(1);
        self.telemetry.counters.groups.add(1);
        self.telemetry.counters.operations.add(1);
        // Room was checked before.
        let is_taken = writer.active.insert(bytes, &mut operations, |id| self.new_memtable(id));
        debug_assert!(is_taken, "a memtable without room");
        writer.active.last_sequence = last;
        self.contents.show(last);
        Ok(())
    }
}
