//! Cleanup of tombstones that iterators skip.
//!
//! An iterator steps over removed entries that are not compacted away yet, and so does the next one: at the head of a
//! queue from which 100,000 keys were taken, the first key lies 100,000 steps away. Long runs of skipped entries are
//! therefore counted. Once iterators have skipped as many entries as a flush or a compaction would read to drop them,
//! that job becomes due: in total, the jobs read about as many entries as readers skipped. LevelDB charges wasted seeks
//! to compactions in the same way.

use super::{Picker, RangeStep};
use crate::error::Result;
use crate::lsm::core::shared::SharedState;
use crate::lsm::core::store::Core;
use crate::lsm::state::compaction_job::CompactionJob;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{SEQUENCE_MAX, ValueKind};
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::skipped::{SkippedEntries, SkippedRun, TombstoneCleanup};
use crate::lsm::state::view::KeyspaceView;
use std::ops::Bound;
use std::sync::Arc;

/// Entries of a memtable that are checked for tombstones of a run.
const PROBED_ENTRIES_MAX: usize = 64;

/// The fixed cost of a flush, which needs files and syncs, in skipped entries.
const FLUSH_COST_ENTRIES: u64 = 1 << 16;

/// Maximum number of compactions in one cleanup. Each moves tombstones down by a level or drops them, so only a growing
/// keyspace needs more, and its readers will request another cleanup.
const CLEANUP_JOBS_MAX: u32 = 128;

impl Core {
    /// Counts the entries that an iterator skipped, and schedules a cleanup once it pays off.
    pub(in crate::lsm) fn note_skipped(&self, tree: &KeyspaceTree, run: SkippedRun) {
        self.telemetry.counters.skipped_entries.add(run.entries);
        if self.access.is_read_only() {
            return;
        }
        let mut shared = self.contents.lock();
        let is_under_way = shared.cleanups.iter().any(|cleanup| cleanup.keyspace == tree.id);
        // A snapshot may read a keyspace that was dropped.
        if shared.failure.is_some() || is_under_way || tree.is_dropped() || !shared.has_keyspace(tree.id) {
            return;
        }
        let mut skips = match shared.skips.remove(&tree.id) {
            Some(mut skips) => {
                skips.run.add(run);
                skips
            }
            None => SkippedEntries { run, cost: 0 },
        };
        if skips.run.entries >= skips.cost {
            let flush = flush_cost(&tree.view.get(), &skips.run);
            let limits = self.limits(&shared);
            let picker = Picker { state: &shared.state, limits: &limits, running: &shared.running };
            let cleanup = picker.cleanup_cost(tree.id, skips.run.bounds());
            let is_worth = |cost: Option<u64>| cost.is_some_and(|cost| skips.run.entries >= cost);
            let (is_flush_due, is_cleanup_due) = (is_worth(flush), is_worth(cleanup));
            if is_flush_due || is_cleanup_due {
                let SkippedRun { from, to, .. } = skips.run;
                shared.is_switch_due |= is_flush_due;
                if is_cleanup_due {
                    shared.cleanups.push(TombstoneCleanup { keyspace: tree.id, from, to, jobs_left: CLEANUP_JOBS_MAX });
                }
                drop(shared);
                self.contents.notify_changed();
                return;
            }
            // With neither, a snapshot needs the removed entries, or they are gone.
            let Some(cost) = flush.into_iter().chain(cleanup).min() else { return };
            skips.cost = cost;
        }
        shared.skips.insert(tree.id, skips);
    }

    /// The next compaction of a cleanup, if there is one.
    pub(super) fn next_of_cleanups(&self, shared: &mut SharedState) -> Option<Arc<CompactionJob>> {
        if shared.cleanups.is_empty() {
            return None;
        }
        let limits = self.limits(shared);
        let mut at = 0;
        while let Some(cleanup) = shared.cleanups.get_mut(at) {
            let picker = Picker { state: &shared.state, limits: &limits, running: &shared.running };
            let range = (Bound::Included(&cleanup.from[..]), Bound::Included(&cleanup.to[..]));
            match picker.pick_cleanup(cleanup.keyspace, range) {
                RangeStep::Job(job) => {
                    cleanup.jobs_left -= 1;
                    if cleanup.jobs_left == 0 {
                        shared.cleanups.remove(at);
                    }
                    return Some(shared.start(*job));
                }
                RangeStep::Wait => at += 1,
                RangeStep::Done => _ = shared.cleanups.remove(at),
            }
        }
        None
    }

    /// Switches memtables for a cleanup. If a writer is active it is not waited for, since it may wait for this thread;
    /// its next group will switch.
    pub(super) fn switch_for_cleanup(&self) -> Result<()> {
        self.writes.request_switch(true);
        let Some(mut writer) = self.writes.writer.try_lock() else { return Ok(()) };
        self.writes.request_switch(false);
        let is_crowded = self.contents.lock().sealed.len() >= self.options.sealed_max();
        if is_crowded || writer.active.is_empty() || self.check_writable().is_err() {
            return Ok(());
        }
        self.switch(&mut writer)
    }
}

/// The number of skipped entries at which a flush of the memtables pays off; `None` if they contain no tombstones of
/// the run.
fn flush_cost(view: &KeyspaceView, run: &SkippedRun) -> Option<u64> {
    let has_tombstones = |memtable: &Arc<Memtable>| {
        if !memtable.tombstones().is_empty() {
            return true;
        }
        let mut cursor = memtable.cursor();
        let mut moved = cursor.seek(&run.from, SEQUENCE_MAX);
        for _ in 0..PROBED_ENTRIES_MAX {
            match cursor.entry().filter(|entry| moved.is_ok() && entry.key <= &run.to[..]) {
                Some(entry) if entry.kind == ValueKind::Remove => return true,
                Some(_) => moved = cursor.next(),
                None => return false,
            }
        }
        false
    };
    let entries: u64 = view.memtables().map(|memtable| memtable.len() as u64).sum();
    view.memtables().any(has_tombstones).then_some(entries.max(FLUSH_COST_ENTRIES))
}
