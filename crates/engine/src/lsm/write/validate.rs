//! Validation of transactions: whether anybody has written what a transaction has read.
//!
//! ```text
//! begin    snapshot at 100, kept to the end
//! commit   without a lock        is anything that was read newer than 100, up to 120?        reads tables, if any
//!          writer's lock         newer than 120, in memtables?   dropped, altered?
//!                                in groups in flight?   in batches in front, in the same group?
//!          one group of the log  this batch and others
//! ```
//!
//! A transaction that has read what is still there when it is committed has the same effect as if it ran as a whole at
//! that moment, so the order of commits is one that explains all of them: they are serialisable. One that only reads is
//! explained at its snapshot, and is not validated. How newer operations are found:
//! [`newer`](crate::lsm::state::transactions::newer).
//!
//! The reads of tables come first, without the lock, so that other writers do not wait for the storage. Under the lock
//! only what was written meanwhile is left.

use crate::error::{Cause, Error, Result};
use crate::lsm::core::store::Core;
use crate::lsm::state::entry::{Action, Operation, decode_group};
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::operations::{Operations, ReadCondition};
use crate::lsm::state::transactions::newer::{ConflictCheck, ConflictChecks};
use crate::lsm::state::transactions::read_set::{KeyspaceReads, ReadSet};
use std::sync::Arc;

/// Batches that are to be written as one group, in their order.
#[derive(Debug, Default)]
pub(super) struct GroupSoFar {
    pub(super) batches: Vec<Operations>,
    /// The operations of the first of them: decoded once a transaction asks for them.
    decoded: Vec<Vec<Operation>>,
}

impl Core {
    /// The parts of the validation that are made.
    pub(in crate::lsm) fn checks(&self) -> ConflictChecks {
        #[cfg(test)]
        return *self.writes.checks.lock();
        #[cfg(not(test))]
        ConflictChecks::default()
    }

    /// Validates operations as far as it can be done without the writer's lock.
    pub(super) fn validate_early(&self, operations: &mut Operations) -> Result<()> {
        operations.condition_mut().map_or(Ok(()), |condition| self.validate_until_now(condition))
    }

    /// Validates a condition as far as it can be done without the writer's lock.
    pub(super) fn validate_until_now(&self, condition: &mut ReadCondition) -> Result<()> {
        // The views that are read below have all operations up to this one.
        let visible = self.visible();
        self.validate_visible(condition)?;
        condition.after = visible;
        Ok(())
    }

    /// Checks that operations may be written behind others in a group: their keyspaces exist, and what their
    /// transaction has read was not written since, and they keep all indexes. The caller holds the writer's lock.
    pub(super) fn admit(&self, operations: &mut Operations, group: &mut GroupSoFar) -> Result<()> {
        if let Some(condition) = operations.condition() {
            self.validate(condition, group)?;
        }
        if operations.expire() {
            self.check_clock()?;
        }
        if let Some(gone) = operations.keyspaces.iter().find(|tree| tree.is_dropped()) {
            let error = self.gone(gone);
            // An index that was dropped since is another matter.
            if operations.upkeep().is_some() && !operations.keep_all_indexes() {
                operations.set_stale();
            }
            return Err(error);
        }
        if operations.keep_all_indexes() && operations.upkeep().is_none() {
            return Ok(());
        }
        self.admit_upkeep(operations, group)
    }

    /// Checks that operations keep all indexes, as of now; else they are marked as stale.
    #[cold]
    fn admit_upkeep(&self, operations: &mut Operations, group: &mut GroupSoFar) -> Result<()> {
        let outcome = match operations.upkeep() {
            Some(upkeep) if operations.keep_all_indexes() => self.validate(&upkeep.condition, group),
            _ => {
                let name = operations.keyspaces.first().map_or("", |tree| &tree.name);
                Err(Error::conflict(self.path(), name, "its indexes have changed"))
            }
        };
        if outcome.as_ref().is_err_and(|error| error.cause == Cause::Conflict) {
            operations.set_stale();
        }
        outcome
    }

    /// Checks that what was read was not written since, by batches of a group either. The caller holds the writer's
    /// lock.
    pub(super) fn validate(&self, condition: &ReadCondition, group: &mut GroupSoFar) -> Result<()> {
        condition.reads.keyspaces().iter().try_for_each(|reads| self.check_kept(reads))?;
        if self.visible() > condition.after {
            self.validate_visible(condition)?;
        }
        let checks = self.checks();
        if checks.has(ConflictCheck::GroupsInFlight) {
            let in_flight = self.writes.in_flight.groups.lock();
            for group in in_flight.iter() {
                self.validate_group(&condition.reads, &group.group.bytes, &group.group.operations)?;
            }
        }
        if checks.has(ConflictCheck::SameGroup) {
            group.decode();
            for (batch, operations) in group.batches.iter().zip(&group.decoded) {
                self.validate_group(&condition.reads, &batch.bytes, operations)?;
            }
        }
        Ok(())
    }

    /// Validates against what memtables and tables have.
    fn validate_visible(&self, condition: &ReadCondition) -> Result<()> {
        let checks = self.checks();
        for reads in condition.reads.keyspaces() {
            let view = reads.tree.view.get();
            for interval in reads.intervals.iter() {
                if let Some(key) = view.newer_within(interval, condition.after, checks)? {
                    return Err(self.conflict(&reads.tree, &key));
                }
            }
        }
        Ok(())
    }

    /// Validates against operations that are not in memtables yet.
    fn validate_group(&self, reads: &ReadSet, bytes: &[u8], operations: &[Operation]) -> Result<()> {
        for operation in operations {
            let Some(reads) = reads.of(operation.keyspace) else { continue };
            let (key, end) = operation.parts(bytes);
            let written = match operation.action {
                Action::Put(_) => reads.intervals.contains(key).then_some(key),
                Action::RemoveRange => reads.intervals.first_within(key, (!end.is_empty()).then_some(end)),
            };
            if let Some(key) = written {
                return Err(self.conflict(&reads.tree, key));
            }
        }
        Ok(())
    }

    /// Checks that a keyspace that was read was neither dropped nor altered since.
    fn check_kept(&self, reads: &KeyspaceReads) -> Result<()> {
        let (tree, checks) = (&reads.tree, self.checks());
        if tree.is_dropped() && checks.has(ConflictCheck::Drops) {
            let detail = "it was dropped since the transaction began";
            return Err(if self.is_closed() {
                self.closed()
            } else {
                Error::conflict(self.path(), &tree.name, detail)
            });
        }
        if tree.generation() != reads.generation && checks.has(ConflictCheck::Alterations) {
            return Err(Error::conflict(self.path(), &tree.name, "it has other types since the transaction read it"));
        }
        Ok(())
    }

    /// The error of a transaction that has read a key that was written since.
    pub(in crate::lsm) fn conflict(&self, tree: &Arc<KeyspaceTree>, key: &[u8]) -> Error {
        Error::conflict_of_key(self.path(), &tree.name, key)
    }
}

impl GroupSoFar {
    fn decode(&mut self) {
        let rest = self.batches.get(self.decoded.len()..).unwrap_or_default();
        let rest: Vec<_> = rest.iter().map(|batch| decode_group(&batch.bytes).unwrap_or_default()).collect();
        self.decoded.extend(rest);
    }
}
