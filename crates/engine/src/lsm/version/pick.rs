//! Compaction picking: the next job, as a pure function of the state and the running jobs.

use super::job::{CompactionJob, JobReason};
use super::levels::{KeyspaceLevels, LEVELS};
use super::span::{KeyBounds, KeySpan, SpanEnd};
use super::state::ManifestState;
use super::table::TableMeta;
use super::targets::LevelTargets;
use crate::lsm::entry::{KeyspaceId, Sequence};
use crate::lsm::options::DbOptions;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The last level.
const LAST_LEVEL: usize = LEVELS - 1;

/// Scores count in thousandths: from here on a level is due.
const DUE_SCORE: u64 = 1000;

/// A job takes further tables of the upper level, which cost nothing below, until it has so many times the size of a table.
const EXPANDED_TABLES_MAX: u64 = 25;

/// A table is moved rather than merged if it shares keys with at most so many times the size of a table two levels below.
const MOVED_OVERLAP_TABLES_MAX: u64 = 10;

/// So many tables or more that make one of full size are small.
const SMALL_TABLE_DIVISOR: u64 = 4;

/// Tables of level 0 that make it due, if they are not fewer bytes than those that they are merged with. As in LevelDB.
const LEVEL0_DUE_TABLES: usize = 4;

/// Tables of level 0 that make it due in any case: each costs a look-up a filter.
const LEVEL0_TABLES_MAX: usize = 12;

/// A table is rewritten when so much of it can be dropped, in percent.
const DROPPABLE_PERCENT_MIN: u64 = 50;

/// Value files with less that is dead are left alone, in bytes: their own head and foot are more of them than what could be gained.
const DEAD_BYTES_MIN: u64 = 512;

/// A level is merged into the next when it hides more than this part of all live values: until then nobody knows which of them are
/// dead, and at most so much space is lost to that.
const LEVEL_HIDDEN_DIVISOR: u64 = 16;

/// A table is rewritten for the sake of collection alone when so many percent of what may be dead are.
const COLLECTION_DELAY_PERCENT: u64 = 125;

/// A compaction that was asked for takes more than this in parts: until it ends, its outputs lie beside its inputs.
const ASKED_JOB_BYTES_MAX: u64 = 4 << 30;

/// At most so many small tables are merged at once: each takes a buffer.
const RUN_TABLES_MAX: usize = 128;

/// What is asked of compaction.
#[derive(Clone, Debug)]
pub(crate) struct PickLimits {
    /// Level 0 is due from so many tables on, if they are not fewer bytes than those that they are merged with.
    pub(crate) level0_tables: usize,
    /// Level 0 is due from so many tables on, whatever it costs.
    pub(crate) level0_tables_max: usize,
    /// Most bytes of the first level below level 0.
    pub(crate) base_bytes: u64,
    /// How many times as large as a level the one below it is.
    pub(crate) factor: u64,
    /// Size of a table.
    pub(crate) table_bytes: u64,
    /// A job that was asked for takes no more at once, where it can be parted.
    pub(crate) job_bytes: u64,
    /// A table is rewritten when so much of it, in percent, can be dropped.
    pub(crate) dropped_percent: u64,
    /// Values are collected when so much of all value files is dead, in percent.
    pub(crate) dead_percent: u64,
    /// Of tables, by number: bytes of older values in tables below that their entries are estimated to hide.
    pub(crate) hidden: BTreeMap<u64, u64>,
    /// Tables whose index leads look-ups astray: they are written anew, and never moved as they are.
    pub(crate) misindexed: BTreeSet<u64>,
    /// No snapshot is older: of a key, one entry of this number or less is needed.
    pub(crate) oldest_snapshot: Sequence,
}

impl PickLimits {
    /// As the options of a store have it.
    pub(crate) fn of(options: &DbOptions, oldest_snapshot: Sequence, hidden: BTreeMap<u64, u64>) -> Self {
        Self {
            level0_tables: LEVEL0_DUE_TABLES,
            level0_tables_max: LEVEL0_TABLES_MAX,
            base_bytes: options.level_bytes,
            factor: u64::from(options.level_factor),
            table_bytes: options.table_bytes,
            job_bytes: ASKED_JOB_BYTES_MAX,
            dropped_percent: DROPPABLE_PERCENT_MIN,
            dead_percent: (options.dead_share * 100.0) as u64,
            hidden,
            misindexed: BTreeSet::new(),
            oldest_snapshot,
        }
    }
}

/// What a step of compacting a range came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RangeStep {
    /// This is next; there may be more to do beside it.
    Job(Box<CompactionJob>),
    /// Jobs under way must end first.
    Wait,
    /// Nothing is left to do.
    Done,
}

/// Chooses jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picker<'a> {
    pub(crate) state: &'a ManifestState,
    pub(crate) limits: &'a PickLimits,
    /// The jobs under way.
    pub(crate) running: &'a [Arc<CompactionJob>],
}

impl<'a> Picker<'a> {
    /// The job that is most urgent, if any is due.
    #[cfg(test)]
    pub(crate) fn pick(&self) -> Option<CompactionJob> {
        self.pick_among(&self.state.keyspaces.keys().copied().collect())
    }

    /// The job that is most urgent, if any is due in some keyspaces, or to collect values.
    pub(crate) fn pick_among(&self, keyspaces: &BTreeSet<KeyspaceId>) -> Option<CompactionJob> {
        let all = || keyspaces.iter().filter_map(|&id| Some((id, self.state.levels(id)?)));
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
            .or_else(|| self.collection_job())
            .or_else(|| self.reindex_job())
            .map(|job| self.collecting(job))
    }

    /// How urgent each level is, in thousandths: 1000 and more is due.
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

    /// Value files that are to be collected: those of which most is dead, until no more of all files is dead than the limit.
    ///
    /// Which files are taken decides what collection costs: to free a byte of a file of which the part *d* is dead, `(1 - d) / d` bytes
    /// are moved. So how much is dead of all of them says when, and how much of each says which.
    pub(crate) fn collectable(&self) -> BTreeSet<u64> {
        let mut files: Vec<(u64, u64, u64)> = self
            .state
            .value_files
            .iter()
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
            // What is alive of it lies in another file then.
            bytes = bytes.saturating_sub(file_dead.min(file_bytes));
        }
        chosen
    }

    /// Bytes of all value files, and how many of them are dead.
    fn value_bytes(&self) -> (u64, u64) {
        let files = self.state.value_files.values();
        files.fold((0, 0), |(bytes, dead), file| (bytes + file.bytes, dead + file.dead_bytes()))
    }

    /// Whether the tables of a level hide too many bytes of older values from readers, while the tables below still lead to them.
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

    pub(super) fn is_busy(&self, table: &TableMeta) -> bool {
        self.running.iter().any(|job| job.has(table.number))
    }

    /// Whether a running job writes to the same level among the same keys.
    fn is_written(&self, keyspace: KeyspaceId, level: usize, span: &KeySpan) -> bool {
        let writes =
            |job: &Arc<CompactionJob>| job.keyspace == keyspace && job.output_level == level && job.span.overlaps(span);
        self.running.iter().any(writes)
    }

    /// The job, unless one under way is in its way.
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
        // Tables that wait for more of them are merged with the base for less in all, and cost look-ups a filter each.
        let merged: u64 = KeySpan::of(tables.iter().map(AsRef::as_ref))
            .map_or(0, |span| levels.overlapping(base, span.bounds()).map(|table| table.bytes).sum());
        let is_due = is_hiding || tables.len() >= self.limits.level0_tables_max || levels.bytes(0) >= merged;
        if is_due { per_mille(tables.len() as u64, self.limits.level0_tables as u64) } else { 0 }
    }

    fn due_job(&self, keyspace: KeyspaceId, level: usize) -> Option<CompactionJob> {
        let levels = self.state.levels(keyspace)?;
        if level == 0 {
            return self.level0_job(keyspace, levels, JobReason::Level0, self.targets(levels).base);
        }
        let mut candidates: Vec<(u64, &Arc<TableMeta>)> = levels
            .level(level)
            .iter()
            .filter(|table| !self.is_busy(table))
            .map(|table| (cost_of_merging(levels, level, table), table))
            .collect();
        candidates.sort_by_key(|(cost, _)| *cost);
        candidates.into_iter().find_map(|(_, table)| self.table_job(keyspace, levels, JobReason::Size, level, table))
    }

    /// Merges level 0, or the part of it that its oldest table shares keys with, into `output`; no level between has tables there.
    pub(super) fn level0_job(
        &self,
        keyspace: KeyspaceId,
        levels: &KeyspaceLevels,
        reason: JobReason,
        output: usize,
    ) -> Option<CompactionJob> {
        let tables = levels.level(0);
        if let Some(job) = self.moving_level0(keyspace, levels, reason, output) {
            return Some(job);
        }
        let oldest = tables.last()?;
        // Small tables that lie apart become one; moved as they are, they would be ever more.
        let group = if self.is_small(oldest) { tables.to_vec() } else { connected(tables, oldest) };
        let span = KeySpan::of(group.iter().map(AsRef::as_ref))?;
        let mut inputs: Vec<_> = group.into_iter().map(|table| (0, table)).collect();
        inputs.extend(levels.overlapping(output, span.bounds()).map(|table| (output, Arc::clone(table))));
        self.unless_blocked(CompactionJob::new(keyspace, reason, inputs, output, levels)?)
    }

    /// Moves tables of level 0 that share keys with nothing: a load in the order of keys is written once.
    fn moving_level0(
        &self,
        keyspace: KeyspaceId,
        levels: &KeyspaceLevels,
        reason: JobReason,
        output: usize,
    ) -> Option<CompactionJob> {
        let tables = levels.level(0);
        let is_free = |table: &&Arc<TableMeta>| {
            let mut others = tables.iter().filter(|other| other.number != table.number);
            let stays = self.is_busy(table) || self.is_small(table) || self.is_misindexed(table);
            let is_cut = output == LAST_LEVEL && table.is_dropped_at_the_bottom();
            !stays
                && !is_cut
                && !others.any(|other| other.overlaps(table.bounds()))
                && (1..=output).all(|level| levels.overlapping(level, table.bounds()).next().is_none())
        };
        let free: Vec<_> = tables.iter().filter(is_free).map(|table| (0, Arc::clone(table))).collect();
        let mut job = CompactionJob::new(keyspace, reason, free, output, levels)?;
        job.moves = true;
        // The span of tables that lie apart is more than their keys; what another job writes there may be among them.
        self.unless_blocked(job)
    }

    fn is_small(&self, table: &TableMeta) -> bool {
        table.bytes < self.limits.table_bytes / SMALL_TABLE_DIVISOR
    }

    /// Merges a table into the next level, or moves it there.
    pub(super) fn table_job(
        &self,
        keyspace: KeyspaceId,
        levels: &KeyspaceLevels,
        reason: JobReason,
        level: usize,
        table: &Arc<TableMeta>,
    ) -> Option<CompactionJob> {
        let next = level + 1;
        let mut below: Vec<_> =
            levels.overlapping(next, table.bounds()).map(|table| (next, Arc::clone(table))).collect();
        let is_alone = below.is_empty();
        let mut inputs = vec![(level, Arc::clone(table))];
        inputs.append(&mut below);
        let mut job = CompactionJob::new(keyspace, reason, inputs, next, levels)?;
        if is_alone
            && !self.is_misindexed(table)
            && !(job.is_bottom && table.is_dropped_at_the_bottom())
            && job.bytes_below() <= MOVED_OVERLAP_TABLES_MAX * self.limits.table_bytes
        {
            job.moves = true;
            return self.unless_blocked(job);
        }
        let expanded = self.expanded(&job, levels, level);
        self.unless_blocked(expanded.unwrap_or(job))
    }

    /// The job with all tables of its upper level whose keys lie among its own: they cost nothing more below.
    fn expanded(&self, job: &CompactionJob, levels: &KeyspaceLevels, level: usize) -> Option<CompactionJob> {
        let is_within = |table: &&Arc<TableMeta>| {
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
        levels
            .iter()
            .filter(|(level, table)| *level > 0 && self.is_mostly_dropped(table))
            .find_map(|(level, table)| self.dropping_job(keyspace, levels, JobReason::Droppable, level, table))
    }

    /// Rewrites a table where nothing lies below it, so that what can be dropped is; or brings it down by a level.
    fn dropping_job(
        &self,
        keyspace: KeyspaceId,
        levels: &KeyspaceLevels,
        reason: JobReason,
        level: usize,
        table: &Arc<TableMeta>,
    ) -> Option<CompactionJob> {
        if level == 0 {
            return self.level0_job(keyspace, levels, reason, self.targets(levels).base);
        }
        let job = CompactionJob::new(keyspace, reason, vec![(level, Arc::clone(table))], level, levels)?;
        if job.is_bottom {
            return self.unless_blocked(job);
        }
        self.table_job(keyspace, levels, reason, level, table)
    }

    /// The next step of dropping what was removed between two keys.
    pub(crate) fn pick_cleanup(&self, keyspace: KeyspaceId, range: KeyBounds<'_>) -> RangeStep {
        let Some(levels) = self.state.levels(keyspace) else { return RangeStep::Done };
        let mut step = RangeStep::Done;
        for (level, table) in self.droppable_within(levels, range) {
            match self.dropping_job(keyspace, levels, JobReason::Skips, level, table) {
                Some(job) => return RangeStep::Job(Box::new(self.collecting(job))),
                None => step = RangeStep::Wait,
            }
        }
        step
    }

    /// How many entries the first of these steps read, for all tables between two keys that have something to drop; `None` without any.
    pub(crate) fn cleanup_cost(&self, keyspace: KeyspaceId, range: KeyBounds<'_>) -> Option<u64> {
        let levels = self.state.levels(keyspace)?;
        let records = |(level, table): (usize, &Arc<TableMeta>)| {
            let below = (level + 1..LEVELS).map(|next| levels.overlapping(next, table.bounds()));
            let below = below.map(|tables| tables.map(|table| table.records).sum::<u64>()).find(|&records| records > 0);
            table.records + below.unwrap_or(0)
        };
        self.droppable_within(levels, range).map(records).reduce(|one, other| one + other)
    }

    /// The tables with keys in a range that hold what a compaction may drop, level 0 first.
    fn droppable_within<'l>(
        &self,
        levels: &'l KeyspaceLevels,
        range: KeyBounds<'l>,
    ) -> impl Iterator<Item = (usize, &'l Arc<TableMeta>)> {
        let oldest_snapshot = self.limits.oldest_snapshot;
        levels.iter().filter(move |(_, table)| is_droppable(table, oldest_snapshot) && table.overlaps(range))
    }

    fn is_mostly_dropped(&self, table: &TableMeta) -> bool {
        // What a snapshot needs cannot be dropped, and trying again would not end.
        self.is_mostly_droppable(table) && table.largest_sequence <= self.limits.oldest_snapshot
    }

    /// Whether a keyspace has tables that are to be rewritten when snapshots are gone.
    pub(crate) fn waits_for_snapshot(&self, keyspace: KeyspaceId) -> bool {
        let mut tables = self.state.levels(keyspace).into_iter().flat_map(|levels| levels.iter());
        tables.any(|(level, table)| {
            level > 0 && self.is_mostly_droppable(table) && table.largest_sequence > self.limits.oldest_snapshot
        })
    }

    fn is_mostly_droppable(&self, table: &TableMeta) -> bool {
        let dropped = table.removals.saturating_add(table.shadowed).saturating_mul(100);
        let share = table.records.saturating_mul(self.limits.dropped_percent.clamp(1, 100));
        table.is_dropped_at_the_bottom() && dropped >= share
    }

    /// Rewrites the table that points at most bytes of files that are to be collected.
    ///
    /// Merges that are due anyway collect along their way, for nothing more than the values that they move; so one for its own sake waits
    /// until they have not kept up.
    fn collection_job(&self) -> Option<CompactionJob> {
        let (bytes, dead) = self.value_bytes();
        if !is_share(dead, bytes, self.limits.dead_percent.saturating_mul(COLLECTION_DELAY_PERCENT) / 100) {
            return None;
        }
        let collectable = self.collectable();
        let pointed = |table: &TableMeta| -> u64 { collectable.iter().map(|&file| table.bytes_in(file)).sum() };
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
            let mut job =
                CompactionJob::new(keyspace, JobReason::Collection, vec![(level, Arc::clone(table))], level, levels)?;
            // Of level 0, older entries may be in other tables of the same level.
            job.is_bottom &= level > 0;
            self.unless_blocked(job)
        })
    }

    /// Rewrites a table whose index leads look-ups astray, where it lies.
    fn reindex_job(&self) -> Option<CompactionJob> {
        let mut misindexed = self.state.tables().filter(|(_, _, table)| self.is_misindexed(table));
        misindexed.find_map(|(keyspace, level, table)| {
            let levels = self.state.levels(keyspace)?;
            let mut job =
                CompactionJob::new(keyspace, JobReason::Index, vec![(level, Arc::clone(table))], level, levels)?;
            // Of level 0, older entries may be in other tables of the same level.
            job.is_bottom &= level > 0;
            self.unless_blocked(job)
        })
    }

    /// Whether nothing proves that a table's index leads to all its keys: that of one which was taken in as it was may be of any design, and
    /// of any age.
    fn is_unconfirmed(&self, table: &TableMeta) -> bool {
        table.global_sequence.is_some() || self.is_misindexed(table)
    }

    fn is_misindexed(&self, table: &TableMeta) -> bool {
        self.limits.misindexed.contains(&table.number)
    }

    /// The next step of bringing all entries of `range` to the last level, dropping what no snapshot needs.
    pub(crate) fn pick_range(&self, keyspace: KeyspaceId, range: KeyBounds<'_>) -> RangeStep {
        let Some(levels) = self.state.levels(keyspace) else { return RangeStep::Done };
        let mut step = RangeStep::Done;
        for group in groups(levels) {
            let touches = group.iter().any(|(_, table)| table.overlaps(range));
            if !touches || self.is_settled(&group) {
                continue;
            }
            match self.group_job(keyspace, levels, group) {
                Some(job) => return RangeStep::Job(Box::new(self.collecting(job))),
                None => step = RangeStep::Wait,
            }
        }
        step
    }

    /// Merges neighbours of the last level that are one table together: many that were taken in as they are stay small otherwise. For
    /// when nothing else of a range is left to do.
    pub(crate) fn pick_run(&self, keyspace: KeyspaceId, range: KeyBounds<'_>) -> RangeStep {
        let Some(levels) = self.state.levels(keyspace) else { return RangeStep::Done };
        let mut settled = TableRuns::new(self.limits.table_bytes);
        for group in groups(levels) {
            match group.iter().any(|(_, table)| table.overlaps(range)) && self.is_settled(&group) {
                true => group.into_iter().for_each(|(_, table)| settled.add(table)),
                false => settled.end(),
            }
        }
        let Some(run) = settled.longest() else { return RangeStep::Done };
        let inputs = run.into_iter().map(|table| (LAST_LEVEL, table)).collect();
        let job = CompactionJob::new(keyspace, JobReason::Requested, inputs, LAST_LEVEL, levels)
            .and_then(|job| self.unless_blocked(job));
        job.map_or(RangeStep::Wait, |job| RangeStep::Job(Box::new(self.collecting(job))))
    }

    /// Whether nothing is left to do for tables that share keys with no others.
    fn is_settled(&self, group: &[(usize, Arc<TableMeta>)]) -> bool {
        let oldest_snapshot = self.limits.oldest_snapshot;
        matches!(group, [(LAST_LEVEL, table)] if !is_droppable(table, oldest_snapshot) && !self.is_unconfirmed(table))
    }

    fn group_job(
        &self,
        keyspace: KeyspaceId,
        levels: &KeyspaceLevels,
        group: Vec<(usize, Arc<TableMeta>)>,
    ) -> Option<CompactionJob> {
        let bytes: u64 = group.iter().map(|(_, table)| table.bytes).sum();
        if let [(level, table)] = &group[..]
            && *level != LAST_LEVEL
            && !table.is_dropped_at_the_bottom()
            && !self.is_unconfirmed(table)
        {
            let mut job = CompactionJob::new(keyspace, JobReason::Requested, group, LAST_LEVEL, levels)?;
            job.moves = true;
            return self.unless_blocked(job);
        }
        if bytes <= self.limits.job_bytes || group.iter().all(|(level, _)| *level == LAST_LEVEL) {
            return self.unless_blocked(CompactionJob::new(keyspace, JobReason::Requested, group, LAST_LEVEL, levels)?);
        }
        self.part_of_group(keyspace, levels, &group)
    }

    /// One level at a time, for what is too much at once: level 0 to the next level with tables, or a table to the next level.
    fn part_of_group(
        &self,
        keyspace: KeyspaceId,
        levels: &KeyspaceLevels,
        group: &[(usize, Arc<TableMeta>)],
    ) -> Option<CompactionJob> {
        let &(level, _) = group.iter().min_by_key(|(level, _)| *level)?;
        if level == 0 {
            return self.level0_job(keyspace, levels, JobReason::Requested, self.targets(levels).base);
        }
        let mut tables = group.iter().filter(|(found, _)| *found == level);
        tables.find_map(|(_, table)| self.table_job(keyspace, levels, JobReason::Requested, level, table))
    }
}

/// Whether a compaction to the bottom drops something of a table, and no snapshot needs it.
fn is_droppable(table: &TableMeta, oldest_snapshot: Sequence) -> bool {
    table.is_dropped_at_the_bottom() && table.largest_sequence <= oldest_snapshot
}

/// TableRuns of neighbouring tables of the last level that make one table of full size at most, in the order of their keys.
#[derive(Debug)]
struct TableRuns {
    table_bytes: u64,
    runs: Vec<Vec<Arc<TableMeta>>>,
    /// Bytes of the last run; `None` where the next table begins another.
    bytes: Option<u64>,
}

impl TableRuns {
    fn new(table_bytes: u64) -> Self {
        Self { table_bytes, runs: Vec::new(), bytes: None }
    }

    fn add(&mut self, table: Arc<TableMeta>) {
        let sum = self.bytes.map(|bytes| bytes.saturating_add(table.bytes)).filter(|&sum| sum <= self.table_bytes);
        match (sum, self.runs.last_mut()) {
            (Some(sum), Some(run)) if run.len() < RUN_TABLES_MAX => {
                run.push(table);
                self.bytes = Some(sum);
            }
            _ => {
                self.bytes = Some(table.bytes);
                self.runs.push(vec![table]);
            }
        }
    }

    /// Ends the last run: what comes next is no neighbour of it.
    fn end(&mut self) {
        self.bytes = None;
    }

    /// The run of most tables, where one has several; of those the last, so that what comes of it moves none of the others, and no table
    /// is written again before all others were written once.
    fn longest(self) -> Option<Vec<Arc<TableMeta>>> {
        self.runs.into_iter().max_by_key(Vec::len).filter(|run| run.len() > 1)
    }
}

/// Whether more than so many percent of `whole` are `part`.
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

/// Bytes of the next level that are merged with each thousand bytes of a table. Tables with much to drop come first: what they drop is
/// written nowhere.
fn cost_of_merging(levels: &KeyspaceLevels, level: usize, table: &TableMeta) -> u64 {
    let below: u64 = levels.overlapping(level + 1, table.bounds()).map(|table| table.bytes).sum();
    let kept = table.records.saturating_sub(table.removals.max(table.shadowed));
    let ratio = u128::from(below) * 1000 / u128::from(table.bytes.max(1));
    u64::try_from(ratio * u128::from(kept + 1) / u128::from(table.records + 1)).unwrap_or(u64::MAX)
}

fn covers(outer: &KeySpan, inner: &KeySpan) -> bool {
    outer.smallest <= inner.smallest && inner.end() <= outer.end()
}

/// The tables that share keys with `start`, directly or through each other, in their order.
fn connected(tables: &[Arc<TableMeta>], start: &Arc<TableMeta>) -> Vec<Arc<TableMeta>> {
    let mut span = KeySpan::of([start.as_ref()]);
    let mut found: Vec<Arc<TableMeta>> = Vec::new();
    while let Some(reach) = span {
        let next: Vec<_> = tables.iter().filter(|table| table.overlaps(reach.bounds())).cloned().collect();
        span = KeySpan::of(next.iter().map(AsRef::as_ref)).filter(|_| next.len() > found.len());
        found = next;
    }
    found
}

/// All tables, in groups that share no keys with each other; in each group by level, in the level's order.
fn groups(levels: &KeyspaceLevels) -> Vec<Vec<(usize, Arc<TableMeta>)>> {
    let mut tables: Vec<(usize, usize, &Arc<TableMeta>)> =
        levels.iter().enumerate().map(|(place, (level, table))| (place, level, table)).collect();
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
    let in_order = |mut group: Vec<(usize, usize, &Arc<TableMeta>)>| {
        group.sort_by_key(|(place, ..)| *place);
        group.into_iter().map(|(_, level, table)| (level, Arc::clone(table))).collect()
    };
    groups.into_iter().map(|(group, _)| in_order(group)).collect()
}

/// Whether a range with this end has `key`.
fn reaches((is_none, end, is_included): SpanEnd<'_>, key: &[u8]) -> bool {
    is_none || if is_included { end >= key } else { end > key }
}
