//! Compaction picking: the next job, as a pure function of the state and the running jobs.

use super::targets::LevelTargets;
use crate::lsm::state::compaction_job::{CompactionJob, JobReason};
use crate::lsm::state::entry::{KeyspaceId, Sequence};
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::version::{KeyBounds, KeySpan, KeyspaceLevels, LEVELS, ManifestState, SpanEnd, TableFileMeta};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The last level.
pub(super) const LAST_LEVEL: usize = LEVELS - 1;

/// Score, in thousandths, from which a level is due.
const DUE_SCORE: u64 = 1000;

/// A job adds tables of the upper level that cause no further inputs below, up to this many times the size of a table.
const EXPANDED_TABLES_MAX: u64 = 25;

/// A table is moved rather than merged if it overlaps at most this many times the size of a table two levels below.
const MOVED_OVERLAP_TABLES_MAX: u64 = 10;

/// A table smaller than 1/4 of the full size is small.
const SMALL_TABLE_DIVISOR: u64 = 4;

/// Tables of level 0 that make it due, provided that they have at least as many bytes as the tables they are merged
/// with. As in LevelDB.
const LEVEL0_DUE_TABLES: usize = 4;

/// Tables of level 0 that make it due in any case, since each costs every lookup a filter query.
const LEVEL0_TABLES_MAX: usize = 12;

/// A table is rewritten when at least this much of it can be dropped, in percent.
const DROPPABLE_PERCENT_MIN: u64 = 50;

/// Value files with less dead data are left alone, in bytes: their header and footer exceed what could be gained.
const DEAD_BYTES_MIN: u64 = 512;

/// A level is merged into the next when it hides more than 1/16 of all live values; until then the hidden values are
/// not known to be dead, and their space is lost.
const LEVEL_HIDDEN_DIVISOR: u64 = 16;

/// A table is rewritten only for collection when the dead share exceeds its limit by this factor, in percent.
const COLLECTION_DELAY_PERCENT: u64 = 125;

/// A larger requested compaction runs in parts, since its inputs exist until it ends.
const ASKED_JOB_BYTES_MAX: u64 = 4 << 30;

/// The limits that determine which compactions are due.
#[derive(Clone, Debug)]
pub(crate) struct PickLimits {
    /// Level 0 is due from this many tables on, provided that they have at least as many bytes as the tables they are
    /// merged with.
    pub(crate) level0_tables: usize,
    /// Level 0 is due from this many tables on in any case.
    pub(crate) level0_tables_max: usize,
    /// Maximum size of the first level below level 0.
    pub(crate) base_bytes: u64,
    /// Size ratio of adjacent levels.
    pub(crate) factor: u64,
    /// Size of a table.
    pub(crate) table_bytes: u64,
    /// Maximum size of one requested job, if it can be split.
    pub(crate) job_bytes: u64,
    /// A table is rewritten when this much of it can be dropped, in percent.
    pub(crate) dropped_percent: u64,
    /// Values are collected when this much of all value files is dead, in percent.
    pub(crate) dead_percent: u64,
    /// Estimated bytes of older values that a table hides in tables below it, by table number.
    pub(crate) hidden: BTreeMap<u64, u64>,
    /// The oldest snapshot: of each key, only one entry at or below it is needed.
    pub(crate) oldest_snapshot: Sequence,
    /// Entries that expire up to this time are seen by no reader, and need not be kept; 0 if there are none.
    pub(crate) expired_by_ms: u64,
}

impl PickLimits {
    /// The limits that the options of a store imply.
    pub(crate) fn of(
        options: &DbOptions,
        (oldest_snapshot, expired_by_ms): (Sequence, u64),
        hidden: BTreeMap<u64, u64>,
    ) -> Self {
        Self {
            level0_tables: LEVEL0_DUE_TABLES,
            level0_tables_max: LEVEL0_TABLES_MAX,
            base_bytes: options.levels.level_bytes,
            factor: u64::from(options.levels.level_factor),
            table_bytes: options.levels.table_bytes,
            job_bytes: ASKED_JOB_BYTES_MAX,
            dropped_percent: DROPPABLE_PERCENT_MIN,
            dead_percent: (options.values.dead_share * 100.0) as u64,
            hidden,
            oldest_snapshot,
            expired_by_ms,
        }
    }
}

/// The next step of compacting a range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RangeStep {
    /// Run this job; there may be more to do concurrently.
    Job(Box<CompactionJob>),
    /// Wait for running jobs.
    Wait,
    /// Nothing is left to do.
    Done,
}

/// A request for a job: in which keyspace, and for what reason.
#[derive(Clone, Copy)]
pub(super) struct JobRequest<'a> {
    pub(super) keyspace: KeyspaceId,
    pub(super) levels: &'a KeyspaceLevels,
    pub(super) reason: JobReason,
}

impl JobRequest<'_> {
    /// The job over `inputs`; `None` if there are none.
    pub(super) fn job(self, inputs: Vec<(usize, Arc<TableFileMeta>)>, output: usize) -> Option<CompactionJob> {
        CompactionJob::new(self.keyspace, self.reason, inputs, output, self.levels)
    }
}

/// The compaction picker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picker<'a> {
    pub(crate) state: &'a ManifestState,
    pub(crate) limits: &'a PickLimits,
    /// The running jobs.
    pub(crate) running: &'a [Arc<CompactionJob>],
}

impl<'a> Picker<'a> {
    /// The most urgent job, if any is due.
    #[cfg(test)]
    pub(crate) fn pick(&self) -> Option<CompactionJob> {
        self.pick_among(&self.state.keyspaces.keys().copied().collect())
    }

    /// The most urgent job among these keyspaces, or a job that collects values, if any is due.
    pub(crate) fn pick_among(&self, keyspaces: &BTreeSet<KeyspaceId>) -> Option<CompactionJob> {
        let all = || keyspaces.iter().filter_map(|&id| Some((id, self.state.levels(id)?)));
        if let Some(job) = all().find_map(|(keyspace, levels)| self.expired_job(keyspace, levels)) {
            return Some(job);
        }
        let mut due: Vec<(u64, KeyspaceId, usize)> = Vec::new();
        for (keyspace, levels) in all() {
            let scores = self.scores(levels);
            due.extend(
                (0..LAST_LEVEL)
                    .filter(|&level| scores[level] >= DUE_SCORE)
                    .map(|level| (scores[level], keyspace, level)),
            );
        }
        due.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.cmp(other)));
        due.into_iter()
            .find_map(|(_, keyspace, level)| self.due_job(keyspace, level))
            .or_else(|| all().find_map(|(keyspace, levels)| self.droppable_job(keyspace, levels)))
            .or_else(|| all().find_map(|(keyspace, levels)| self.small_tables_job(keyspace, levels)))
            .or_else(|| self.collection_job())
            .map(|job| self.collecting(job))
    }

    /// The urgency of each level, in thousandths; it is due from 1000 on.
    pub(crate) fn scores(&self, levels: &KeyspaceLevels) -> [u64; LEVELS] {
        let targets = self.targets(levels);
        let mut scores = [0; LEVELS];
        scores[0] = self.score_of_level0(levels, targets.base);
        for (level, score) in scores.iter_mut().enumerate().take(LAST_LEVEL).skip(1) {
            let idle = levels.level(level).iter().filter(|table| !self.is_busy(table));
            let is_hiding = self.is_hiding(levels, level);
            *score = per_mille(idle.map(|table| table.bytes).sum(), targets.bytes[level]).max(if is_hiding {
                DUE_SCORE
            } else {
                0
            });
        }
        scores
    }

    /// The value files to collect: those with the largest dead share, until the dead share of all files is within its
    /// limit.
    ///
    /// The choice of files determines the cost of collection: freeing a byte of a file whose share *d* is dead moves
    /// `(1 - d) / d` bytes. So the overall dead share decides when to collect, and that of each file decides which.
    pub(crate) fn collectable(&self) -> BTreeSet<u64> {
        let mut files: Vec<(u64, u64, u64)> = self
            .state
            .value_files
            .iter()
            .filter(|(_, file)| file.tables > 0)
            .map(|(&number, file)| (number, file.bytes, file.dead_bytes()))
            .filter(|&(_, _, dead)| dead >= DEAD_BYTES_MIN)
            .collect();
        files.sort_unstable_by(|one, other| {
            (u128::from(other.2) * u128::from(one.1)).cmp(&(u128::from(one.2) * u128::from(other.1)))
        });
        let (mut bytes, mut dead) = self.value_bytes();
        let mut chosen = BTreeSet::new();
        for (number, file_bytes, file_dead) in files {
            if !is_share(dead, bytes, self.limits.dead_percent) {
                break;
            }
            chosen.insert(number);
            dead = dead.saturating_sub(file_dead);
            // Its live values move to another file.
            bytes = bytes.saturating_sub(file_dead.min(file_bytes));
        }
        chosen
    }

    /// Bytes of all value files, and of the dead values in them. Those that no table points into are kept for others.
    fn value_bytes(&self) -> (u64, u64) {
        let files = self.state.value_files.values().filter(|file| file.tables > 0);
        files.fold((0, 0), |(bytes, dead), file| (bytes + file.bytes, dead + file.dead_bytes()))
    }

    /// Whether a level hides too many bytes of values that tables below still point to.
    fn is_hiding(&self, levels: &KeyspaceLevels, level: usize) -> bool {
        let idle = levels.level(level).iter().filter(|table| !self.is_busy(table));
        let hidden: u64 = idle.filter_map(|table| self.limits.hidden.get(&table.number)).sum();
        if hidden == 0 {
            return false;
        }
        let (bytes, dead) = self.value_bytes();
        hidden > bytes.saturating_sub(dead) / LEVEL_HIDDEN_DIVISOR
    }

    pub(super) fn targets(&self, levels: &KeyspaceLevels) -> LevelTargets {
        LevelTargets::of(levels, self.limits.base_bytes, self.limits.factor)
    }

    pub(super) fn is_busy(&self, table: &TableFileMeta) -> bool {
        self.running.iter().any(|job| job.has(table.number))
    }

    /// Whether a running job writes to this level within this span.
    fn is_written(&self, keyspace: KeyspaceId, level: usize, span: &KeySpan) -> bool {
        let writes =
            |job: &Arc<CompactionJob>| job.keyspace == keyspace && job.output_level == level && job.span.overlaps(span);
        self.running.iter().any(writes)
    }

    /// The job, unless a running job conflicts with it.
    pub(super) fn unless_blocked(&self, job: CompactionJob) -> Option<CompactionJob> {
        let blocked = job.inputs.iter().any(|(_, table)| self.is_busy(table))
            || self.is_written(job.keyspace, job.output_level, &job.span);
        (!blocked).then_some(job)
    }

    pub(super) fn collecting(&self, mut job: CompactionJob) -> CompactionJob {
        job.collect = self.collectable();
        job
    }

    fn score_of_level0(&self, levels: &KeyspaceLevels, base: usize) -> u64 {
        let tables = levels.level(0);
        if tables.is_empty() || tables.iter().any(|table| self.is_busy(table)) {
            return 0;
        }
        let is_hiding = self.is_hiding(levels, 0);
        if tables.len() < self.limits.level0_tables.max(1) {
            return if is_hiding { DUE_SCORE } else { 0 };
        }
        // It is cheaper in total to wait for more tables of level 0, at the price of one filter query each.
        let merged: u64 = KeySpan::of(tables.iter().map(AsRef::as_ref))
            .map_or(0, |span| levels.overlapping(base, span.bounds()).map(|table| table.bytes).sum());
        let is_due = is_hiding || tables.len() >= self.limits.level0_tables_max || levels.bytes(0) >= merged;
        if is_due { per_mille(tables.len() as u64, self.limits.level0_tables as u64) } else { 0 }
    }

    /// The next job of a level, whether or not it is due.
    pub(super) fn due_job(&self, keyspace: KeyspaceId, level: usize) -> Option<CompactionJob> {
        let levels = self.state.levels(keyspace)?;
        let request = |reason| JobRequest { keyspace, levels, reason };
        if level == 0 {
            return self.level0_job(request(JobReason::Level0), self.targets(levels).base);
        }
        let mut candidates: Vec<(u64, &Arc<TableFileMeta>)> = levels
            .level(level)
            .iter()
            .filter(|table| !self.is_busy(table))
            .map(|table| (cost_of_merging(levels, level, table), table))
            .collect();
        candidates.sort_by_key(|(cost, _)| *cost);
        candidates.into_iter().find_map(|(_, table)| self.table_job(request(JobReason::Size), level, table))
    }

    /// Merges level 0, or the tables connected with its oldest one, into `output`; the levels between have no tables
    /// there.
    fn level0_job(&self, request: JobRequest<'_>, output: usize) -> Option<CompactionJob> {
        let JobRequest { levels, .. } = request;
        let tables = levels.level(0);
        if let Some(job) = self.moving_level0(request, output) {
            return Some(job);
        }
        let oldest = tables.last()?;
        // Small tables that lie apart are merged into one; if they were moved, their number would grow.
        let group = if self.is_small(oldest) { tables.to_vec() } else { connected(tables, oldest) };
        let span = KeySpan::of(group.iter().map(AsRef::as_ref))?;
        let mut inputs: Vec<_> = group.into_iter().map(|table| (0, table)).collect();
        inputs.extend(levels.overlapping(output, span.bounds()).map(|table| (output, Arc::clone(table))));
        self.unless_blocked(request.job(inputs, output)?)
    }

    /// Moves tables of level 0 that overlap nothing, so a load in key order is written only once.
    fn moving_level0(&self, request: JobRequest<'_>, output: usize) -> Option<CompactionJob> {
        let JobRequest { levels, .. } = request;
        let tables = levels.level(0);
        let is_free = |table: &&Arc<TableFileMeta>| {
            let mut others = tables.iter().filter(|other| other.number != table.number);
            let stays = self.is_busy(table) || self.is_small(table);
            let is_cut = output == LAST_LEVEL && table.is_dropped_at_the_bottom();
            !stays
                && !is_cut
                && !others.any(|other| other.overlaps(table.bounds()))
                && (1..=output).all(|level| levels.overlapping(level, table.bounds()).next().is_none())
        };
        let free: Vec<_> = tables.iter().filter(is_free).map(|table| (0, Arc::clone(table))).collect();
        let mut job = request.job(free, output)?;
        job.moves = true;
        // The span of tables that lie apart covers more than their keys, so outputs of other jobs may lie between them.
        self.unless_blocked(job)
    }

    fn is_small(&self, table: &TableFileMeta) -> bool {
        table.bytes < self.limits.table_bytes / SMALL_TABLE_DIVISOR
    }

    /// Merges a table into the next level, or moves it there.
    fn table_job(&self, request: JobRequest<'_>, level: usize, table: &Arc<TableFileMeta>) -> Option<CompactionJob> {
        let JobRequest { levels, .. } = request;
        let next = level + 1;
        let mut below: Vec<_> =
            levels.overlapping(next, table.bounds()).map(|table| (next, Arc::clone(table))).collect();
        let is_alone = below.is_empty();
        let mut inputs = vec![(level, Arc::clone(table))];
        inputs.append(&mut below);
        let mut job = request.job(inputs, next)?;
        if is_alone
            && !(job.is_bottom && table.is_dropped_at_the_bottom())
            && job.bytes_below() <= MOVED_OVERLAP_TABLES_MAX * self.limits.table_bytes
        {
            job.moves = true;
            return self.unless_blocked(job);
        }
        let expanded = self.expanded(&job, levels, level);
        self.unless_blocked(expanded.unwrap_or(job))
    }

    /// The job with all tables of its upper level within its span, which cause no further inputs below.
    fn expanded(&self, job: &CompactionJob, levels: &KeyspaceLevels, level: usize) -> Option<CompactionJob> {
        let is_within = |table: &&Arc<TableFileMeta>| {
            KeySpan::of([table.as_ref()]).is_some_and(|span| covers(&job.span, &span)) && !self.is_busy(table)
        };
        let mut inputs: Vec<_> = levels
            .overlapping(level, job.span.bounds())
            .filter(is_within)
            .map(|table| (level, Arc::clone(table)))
            .collect();
        inputs.extend(job.inputs.iter().filter(|(found, _)| *found != level).cloned());
        let bytes: u64 = inputs.iter().map(|(_, table)| table.bytes).sum();
        if inputs.len() <= job.inputs.len() || bytes > EXPANDED_TABLES_MAX * self.limits.table_bytes {
            return None;
        }
        CompactionJob::new(job.keyspace, job.reason, inputs, job.output_level, levels)
    }

    /// Rewrites a table of which much can be dropped, or merges it into the next level.
    fn droppable_job(&self, keyspace: KeyspaceId, levels: &KeyspaceLevels) -> Option<CompactionJob> {
        let request = JobRequest { keyspace, levels, reason: JobReason::Droppable };
        levels
            .iter()
            .filter(|(level, table)| *level > 0 && (self.is_mostly_dropped(table) || self.has_mostly_expired(table)))
            .find_map(|(level, table)| self.dropping_job(request, level, table))
    }

    /// Rewrites a table with nothing below it, which drops what can be dropped; otherwise merges it into the next
    /// level.
    fn dropping_job(&self, request: JobRequest<'_>, level: usize, table: &Arc<TableFileMeta>) -> Option<CompactionJob> {
        if level == 0 {
            return self.level0_job(request, self.targets(request.levels).base);
        }
        let job = request.job(vec![(level, Arc::clone(table))], level)?;
        if job.is_bottom {
            return self.unless_blocked(job);
        }
        self.table_job(request, level, table)
    }

    /// The next step of dropping removed entries between two keys.
    pub(crate) fn pick_cleanup(&self, keyspace: KeyspaceId, range: KeyBounds<'_>) -> RangeStep {
        let Some(levels) = self.state.levels(keyspace) else { return RangeStep::Done };
        let request = JobRequest { keyspace, levels, reason: JobReason::Skips };
        let mut step = RangeStep::Done;
        for (level, table) in self.droppable_within(levels, range) {
            match self.dropping_job(request, level, table) {
                Some(job) => return RangeStep::Job(Box::new(self.collecting(job))),
                None => step = RangeStep::Wait,
            }
        }
        step
    }

    /// The number of entries that the first of these steps read, over all tables in the range with something to drop;
    /// `None` if there are none.
    pub(crate) fn cleanup_cost(&self, keyspace: KeyspaceId, range: KeyBounds<'_>) -> Option<u64> {
        let levels = self.state.levels(keyspace)?;
        let records = |(level, table): (usize, &Arc<TableFileMeta>)| {
            let below = (level + 1..LEVELS).map(|next| levels.overlapping(next, table.bounds()));
            let below = below.map(|tables| tables.map(|table| table.records).sum::<u64>()).find(|&records| records > 0);
            table.records + below.unwrap_or(0)
        };
        self.droppable_within(levels, range).map(records).reduce(|one, other| one + other)
    }

    /// The tables overlapping a range that contain entries to drop, level 0 first.
    fn droppable_within<'l>(
        &self,
        levels: &'l KeyspaceLevels,
        range: KeyBounds<'l>,
    ) -> impl Iterator<Item = (usize, &'l Arc<TableFileMeta>)> {
        let limits = self.limits;
        levels.iter().filter(move |(_, table)| is_droppable(table, limits) && table.overlaps(range))
    }

    /// Whether half of a table has expired, so that it is rewritten.
    fn has_mostly_expired(&self, table: &TableFileMeta) -> bool {
        let dropped = table.expired_by(self.limits.expired_by_ms).saturating_add(table.tombstones).saturating_mul(100);
        let share = table.records.saturating_mul(self.limits.dropped_percent.clamp(1, 100));
        table.expired_by(self.limits.expired_by_ms) > 0
            && dropped >= share
            && table.largest_sequence <= self.limits.oldest_snapshot
    }

    /// Drops tables of which all entries have expired, without reading them. Nothing older lies below, where they would
    /// uncover it.
    fn expired_job(&self, keyspace: KeyspaceId, levels: &KeyspaceLevels) -> Option<CompactionJob> {
        let has_expired = |table: &TableFileMeta| {
            table.has_expired_by(self.limits.expired_by_ms) && table.largest_sequence <= self.limits.oldest_snapshot
        };
        let request = JobRequest { keyspace, levels, reason: JobReason::Expired };
        levels.iter().filter(|(_, table)| has_expired(table) && !self.is_busy(table)).find_map(|(level, table)| {
            let mut job = request.job(vec![(level, Arc::clone(table))], level)?;
            let older = levels.level(0).iter().skip_while(|other| other.number != table.number).skip(1);
            let is_above = level == 0 && older.into_iter().any(|other| other.overlaps(table.bounds()));
            job.drops = true;
            if job.is_bottom && !is_above { self.unless_blocked(job) } else { None }
        })
    }

    /// The next time from which on entries that expire make a compaction due in some keyspace.
    pub(crate) fn next_expiry_ms(&self) -> Option<u64> {
        let next = |table: &TableFileMeta| {
            let expiring = table.expiring?;
            let middle = expiring.first_ms + (expiring.last_ms - expiring.first_ms) / 2;
            [middle, expiring.last_ms].into_iter().find(|&time_ms| time_ms > self.limits.expired_by_ms)
        };
        self.state.tables().filter_map(|(.., table)| next(table)).min()
    }

    fn is_mostly_dropped(&self, table: &TableFileMeta) -> bool {
        // Entries that a snapshot needs cannot be dropped, so rewriting would never end.
        self.is_mostly_droppable(table) && table.largest_sequence <= self.limits.oldest_snapshot
    }

    /// Whether a keyspace has tables to be rewritten once snapshots are dropped.
    pub(crate) fn waits_for_snapshot(&self, keyspace: KeyspaceId) -> bool {
        let mut tables = self.state.levels(keyspace).into_iter().flat_map(|levels| levels.iter());
        tables.any(|(level, table)| {
            level > 0 && self.is_mostly_droppable(table) && table.largest_sequence > self.limits.oldest_snapshot
        })
    }

    fn is_mostly_droppable(&self, table: &TableFileMeta) -> bool {
        let dropped = table.tombstones.saturating_add(table.shadowed).saturating_mul(100);
        let share = table.records.saturating_mul(self.limits.dropped_percent.clamp(1, 100));
        table.is_dropped_at_the_bottom() && dropped >= share
    }

    /// Rewrites the table that points at most bytes of collectable files.
    ///
    /// Regular merges collect values along the way, at no cost beyond moving them. A merge only for collection
    /// therefore waits until they fall behind.
    fn collection_job(&self) -> Option<CompactionJob> {
        let (bytes, dead) = self.value_bytes();
        if !is_share(dead, bytes, self.limits.dead_percent.saturating_mul(COLLECTION_DELAY_PERCENT) / 100) {
            return None;
        }
        let collectable = self.collectable();
        let pointed = |table: &TableFileMeta| -> u64 { collectable.iter().map(|&file| table.bytes_in(file)).sum() };
        let mut tables: Vec<_> = self
            .state
            .tables()
            .filter(|(_, _, table)| !self.is_busy(table))
            .map(|(keyspace, level, table)| (pointed(table), keyspace, level, table))
            .filter(|&(bytes, ..)| bytes > 0)
            .collect();
        tables.sort_by_key(|(bytes, ..)| std::cmp::Reverse(*bytes));
        tables.into_iter().find_map(|(_, keyspace, level, table)| {
            let levels = self.state.levels(keyspace)?;
            self.in_place(JobRequest { keyspace, levels, reason: JobReason::Collection }, level, table)
        })
    }

    /// Rewrites a table in its level.
    fn in_place(&self, request: JobRequest<'_>, level: usize, table: &Arc<TableFileMeta>) -> Option<CompactionJob> {
        let mut job = request.job(vec![(level, Arc::clone(table))], level)?;
        // Other tables of level 0 may contain older entries.
        job.is_bottom &= level > 0;
        self.unless_blocked(job)
    }

    /// Whether the index of a table is not proven to lead to all its keys: an ingested table may have any design.
    fn is_unconfirmed(&self, table: &TableFileMeta) -> bool {
        table.global_sequence.is_some()
    }

    /// The next step of moving all entries of `range` to the last level, dropping those that no snapshot needs.
    pub(crate) fn pick_range(&self, keyspace: KeyspaceId, range: KeyBounds<'_>) -> RangeStep {
        let Some(levels) = self.state.levels(keyspace) else { return RangeStep::Done };
        let request = JobRequest { keyspace, levels, reason: JobReason::Requested };
        let mut step = RangeStep::Done;
        for group in groups(levels) {
            let touches = group.iter().any(|(_, table)| table.overlaps(range));
            if !touches || self.is_finished(&group) {
                continue;
            }
            match self.group_job(request, group) {
                Some(job) => return RangeStep::Job(Box::new(self.collecting(job))),
                None => step = RangeStep::Wait,
            }
        }
        step
    }

    /// Whether nothing is left to do for tables that overlap no others.
    pub(super) fn is_finished(&self, group: &[(usize, Arc<TableFileMeta>)]) -> bool {
        matches!(group, [(LAST_LEVEL, table)] if !is_droppable(table, self.limits) && !self.is_unconfirmed(table))
    }

    fn group_job(&self, request: JobRequest<'_>, group: Vec<(usize, Arc<TableFileMeta>)>) -> Option<CompactionJob> {
        let bytes: u64 = group.iter().map(|(_, table)| table.bytes).sum();
        if let [(level, table)] = &group[..]
            && *level != LAST_LEVEL
            && !table.is_dropped_at_the_bottom()
            && !self.is_unconfirmed(table)
        {
            let mut job = request.job(group, LAST_LEVEL)?;
            job.moves = true;
            return self.unless_blocked(job);
        }
        if bytes <= self.limits.job_bytes || group.iter().all(|(level, _)| *level == LAST_LEVEL) {
            return self.unless_blocked(request.job(group, LAST_LEVEL)?);
        }
        self.part_of_group(request, &group)
    }

    /// For a group too large for one job, compacts one level at a time: level 0 to the next level with tables, or a
    /// table to the next level.
    fn part_of_group(&self, request: JobRequest<'_>, group: &[(usize, Arc<TableFileMeta>)]) -> Option<CompactionJob> {
        let &(level, _) = group.iter().min_by_key(|(level, _)| *level)?;
        if level == 0 {
            return self.level0_job(request, self.targets(request.levels).base);
        }
        let mut tables = group.iter().filter(|(found, _)| *found == level);
        tables.find_map(|(_, table)| self.table_job(request, level, table))
    }
}

/// Whether a compaction to the bottom would drop entries of a table, and no snapshot needs them.
fn is_droppable(table: &TableFileMeta, limits: &PickLimits) -> bool {
    let has_any = table.is_dropped_at_the_bottom() || table.expired_by(limits.expired_by_ms) > 0;
    has_any && table.largest_sequence <= limits.oldest_snapshot
}

/// Whether `part` is more than `percent` percent of `whole`.
fn is_share(part: u64, whole: u64, percent: u64) -> bool {
    u128::from(part) * 100 > u128::from(whole) * u128::from(percent)
}

fn per_mille(part: u64, whole: u64) -> u64 {
    match (part, whole) {
        (0, _) => 0,
        (_, 0) => DUE_SCORE,
        _ => u64::try_from(u128::from(part) * u128::from(DUE_SCORE) / u128::from(whole)).unwrap_or(u64::MAX),
    }
}

/// Bytes of the next level merged per thousand bytes of a table. Tables with much to drop come first, since dropped
/// entries are not rewritten.
fn cost_of_merging(levels: &KeyspaceLevels, level: usize, table: &TableFileMeta) -> u64 {
    let below: u64 = levels.overlapping(level + 1, table.bounds()).map(|table| table.bytes).sum();
    let kept = table.records.saturating_sub(table.tombstones.max(table.shadowed));
    let ratio = u128::from(below) * 1000 / u128::from(table.bytes.max(1));
    u64::try_from(ratio * u128::from(kept + 1) / u128::from(table.records + 1)).unwrap_or(u64::MAX)
}

fn covers(outer: &KeySpan, inner: &KeySpan) -> bool {
    outer.smallest <= inner.smallest && inner.end() <= outer.end()
}

/// The tables that overlap `start`, directly or through each other, in their order.
fn connected(tables: &[Arc<TableFileMeta>], start: &Arc<TableFileMeta>) -> Vec<Arc<TableFileMeta>> {
    let mut span = KeySpan::of([start.as_ref()]);
    let mut found: Vec<Arc<TableFileMeta>> = Vec::new();
    while let Some(reach) = span {
        let next: Vec<_> = tables.iter().filter(|table| table.overlaps(reach.bounds())).cloned().collect();
        span = KeySpan::of(next.iter().map(AsRef::as_ref)).filter(|_| next.len() > found.len());
        found = next;
    }
    found
}

/// All tables, in groups that do not overlap each other; each group by level, in the level's order.
pub(super) fn groups(levels: &KeyspaceLevels) -> Vec<Vec<(usize, Arc<TableFileMeta>)>> {
    let mut tables: Vec<(usize, usize, &Arc<TableFileMeta>)> =
        levels.iter().enumerate().map(|(index, (level, table))| (index, level, table)).collect();
    tables.sort_by(|one, other| one.2.smallest.cmp(&other.2.smallest));
    let mut groups: Vec<(Vec<_>, SpanEnd<'_>)> = Vec::new();
    for entry in tables {
        let (_, _, table) = entry;
        match groups.last_mut() {
            Some((group, end)) if reaches(*end, &table.smallest) => {
                group.push(entry);
                *end = (*end).max(table.end());
            }
            _ => groups.push((vec![entry], table.end())),
        }
    }
    let in_order = |mut group: Vec<(usize, usize, &Arc<TableFileMeta>)>| {
        group.sort_by_key(|(index, ..)| *index);
        group.into_iter().map(|(_, level, table)| (level, Arc::clone(table))).collect()
    };
    groups.into_iter().map(|(group, _)| in_order(group)).collect()
}

/// Whether a range with this end reaches `key`.
fn reaches((is_none, end, is_included): SpanEnd<'_>, key: &[u8]) -> bool {
    is_none || if is_included { end >= key } else { end > key }
}
