//! Groups in flight: on an object store, several groups are put at once, and acknowledged in order.
//!
//! ```text
//! writer's lock   | log group 1 | log group 2 |                | apply 1, 2 |
//! writer of 1                   |--- put part 7 ---------------|
//! writer of 2                                 |--- put part 8 ---|
//! ```
//!
//! A group is logged under the lock of writers, as a part of the log with a number. Its writer puts the part without
//! the lock. A group is inserted into the memtables, and becomes visible, when its part and all parts before are there,
//! by the next holder of the lock. After a part has failed, those behind it count for nothing, even if they are there.

use crate::error::{Error, Result};
use crate::io::local::sync::Mutex;
use crate::lsm::core::groups_in_flight::{BegunGroup, GroupInFlight, GroupState};
use crate::lsm::core::store::Core;
use crate::lsm::core::writer::{WriteGroup, WriterState};
use crate::lsm::objects::PartInFlight;
use crate::lsm::state::entry::Sequence;
use std::collections::VecDeque;
use std::sync::Arc;

/// Groups in flight, at most.
const GROUPS_MAX: usize = 8;

impl Core {
    /// Hands a logged group over to its writer.
    pub(super) fn begin_group(
        &self,
        group: WriteGroup,
        last: Sequence,
        batches: u64,
        part: Option<PartInFlight>,
    ) -> BegunGroup {
        let state = Arc::new(Mutex::new(GroupState::Put));
        let mut groups = self.writes.in_flight.groups.lock();
        groups.push_back(GroupInFlight { group, last, batches, state: Arc::clone(&state) });
        BegunGroup { part, state }
    }

    /// Operations of the groups in flight.
    pub(super) fn operations_in_flight(&self) -> usize {
        self.writes.in_flight.groups.lock().iter().map(|group| group.group.operations.len()).sum()
    }

    /// Waits until another group may be begun.
    pub(super) fn wait_for_flight(&self) {
        let mut groups = self.writes.in_flight.groups.lock();
        while groups.len() >= GROUPS_MAX {
            groups = self.writes.in_flight.changed.wait(&self.writes.in_flight.groups, groups);
        }
    }

    /// Puts a group, and waits for those before it.
    ///
    /// # Errors
    /// Errors of the storage, after which the outcome is unknown; [`Cause::Fenced`](crate::Cause::Fenced); the failure
    /// of a group before it.
    pub(in crate::lsm) fn end_group(&self, begun: BegunGroup) -> Result<()> {
        let put = begun.part.map_or(Ok(()), |part| part.put());
        {
            let mut groups = self.writes.in_flight.groups.lock();
            *begun.state.lock() = if put.is_ok() { GroupState::Durable } else { GroupState::Failed };
            self.writes.in_flight.changed.notify_all();
            let is_due = |groups: &VecDeque<GroupInFlight>| {
                let before = groups.iter().take_while(|group| !Arc::ptr_eq(&group.state, &begun.state));
                before.into_iter().all(|group| *group.state.lock() != GroupState::Put)
            };
            while !is_due(&groups) {
                groups = self.writes.in_flight.changed.wait(&self.writes.in_flight.groups, groups);
            }
        }
        let mut writer = self.writes.writer.lock();
        if let Err(error) = &put {
            writer.abandon();
            self.fail(&mut self.contents.lock(), error);
        }
        self.apply_groups(&mut writer);
        let is_applied = *begun.state.lock() == GroupState::Applied;
        drop(writer);
        // A part that was put is found when the store is opened again, if those before it are there after all.
        put.and_then(|()| match is_applied {
            true => Ok(()),
            false => Err(self.failure(&self.contents.lock()).unwrap_or_else(|| self.closed())),
        })
        .map_err(Error::of_unknown_outcome)
    }

    /// Applies all groups in flight, and waits for them before.
    pub(in crate::lsm) fn drain(&self, writer: &mut WriterState) {
        let mut groups = self.writes.in_flight.groups.lock();
        while groups.iter().any(|group| *group.state.lock() == GroupState::Put) {
            groups = self.writes.in_flight.changed.wait(&self.writes.in_flight.groups, groups);
        }
        drop(groups);
        self.apply_groups(writer);
    }

    /// Applies the groups whose parts, and all before, are there. Those behind a failed one fail, too.
    fn apply_groups(&self, writer: &mut WriterState) {
        let mut groups = self.writes.in_flight.groups.lock();
        let mut has_failed = false;
        while let Some(first) = groups.front() {
            let state = *first.state.lock();
            has_failed |= state == GroupState::Failed;
            if state == GroupState::Put && !has_failed {
                break;
            }
            let Some(group) = groups.pop_front() else { break };
            if has_failed {
                *group.state.lock() = GroupState::Failed;
                continue;
            }
            self.apply_group(writer, group.group, group.last, group.batches);
            *group.state.lock() = GroupState::Applied;
        }
        self.writes.in_flight.changed.notify_all();
    }
}
