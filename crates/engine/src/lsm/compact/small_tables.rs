//! Small tables that lie side by side in a level: they are merged into one, since each takes memory while it is open.
//!
//! Small tables come about when memtables are flushed before they are full and their keys overlap nothing, as in a
//! store that many short-lived programs fill in the order of its keys.
//!
//! A merge of a run writes all of it to one table, whatever that takes: so there are fewer tables afterwards, and the
//! work ends. If tables ended where the writer's count of bytes says, there might be as many as before: that count
//! includes records that are not compressed yet.

use super::pick::{JobRequest, LAST_LEVEL, Picker, RangeStep, groups};
use crate::lsm::state::compaction_job::{CompactionJob, JobReason};
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::version::{KeyBounds, KeyspaceLevels, LEVELS, TableFileMeta};
use std::sync::Arc;

/// Maximum number of small tables merged at once, since each needs a buffer.
const RUN_TABLES_MAX: usize = 128;

/// Adjacent tables of one class of sizes that make a merge due. A table larger than 1/8 of a full one is in no
/// class, so eight always fit one table.
const CLASS_TABLES: usize = 8;

/// Ratio of the sizes of adjacent classes.
const CLASS_RATIO: u64 = 4;

/// Size below which tables are not told apart: a table of one record takes about as much.
const CLASS_BYTES_MIN: u64 = 16 << 10;

/// A merged table overlaps at most this many full tables in the level below, which bounds its later compaction.
const OVERLAP_TABLES_MAX: u64 = 10;

impl Picker<'_> {
    /// Merges adjacent small tables of a level, those of the smallest class first. The merged table leaves its class as
    /// a rule, so each record is written about once for each class, except for the smallest.
    pub(super) fn small_tables_job(&self, keyspace: KeyspaceId, levels: &KeyspaceLevels) -> Option<CompactionJob> {
        let request = JobRequest { keyspace, levels, reason: JobReason::SmallTables };
        let classes = small_classes(self.limits.table_bytes);
        (1..LEVELS).filter(|&level| levels.level(level).len() >= CLASS_TABLES).find_map(|level| {
            classes.iter().enumerate().find_map(|(place, &class_bytes)| {
                let is_due =
                    |run: &TableRun| run.tables.len() >= CLASS_TABLES && (place == 0 || run.bytes >= class_bytes);
                let runs = self.small_runs(levels.level(level), class_bytes);
                runs.into_iter().filter(is_due).find_map(|run| self.small_run_job(request, level, run))
            })
        })
    }

    /// The runs of tables of a level that are smaller than `class_bytes`.
    fn small_runs(&self, tables: &[Arc<TableFileMeta>], class_bytes: u64) -> Vec<TableRun> {
        let mut small = TableRuns::new(self.limits.table_bytes);
        for table in tables {
            match table.bytes < class_bytes && !self.is_busy(table) {
                true => small.add(Arc::clone(table)),
                false => small.end(),
            }
        }
        small.runs
    }

    fn small_run_job(&self, request: JobRequest<'_>, level: usize, run: TableRun) -> Option<CompactionJob> {
        let bytes_below_max = OVERLAP_TABLES_MAX.saturating_mul(self.limits.table_bytes);
        self.run_job(request, level, run).filter(|job| job.bytes_below() <= bytes_below_max)
    }

    /// Merges adjacent small tables of the last level, such as many ingested ones, up to the size of one table. Used
    /// when nothing else is left to do in the range.
    pub(crate) fn pick_run(&self, keyspace: KeyspaceId, range: KeyBounds<'_>) -> RangeStep {
        let Some(levels) = self.state.levels(keyspace) else { return RangeStep::Done };
        let mut finished = TableRuns::new(self.limits.table_bytes);
        for group in groups(levels) {
            match group.iter().any(|(_, table)| table.overlaps(range)) && self.is_finished(&group) {
                true => group.into_iter().for_each(|(_, table)| finished.add(table)),
                false => finished.end(),
            }
        }
        let Some(run) = finished.longest() else { return RangeStep::Done };
        let request = JobRequest { keyspace, levels, reason: JobReason::Requested };
        let job = self.run_job(request, LAST_LEVEL, run);
        job.map_or(RangeStep::Wait, |job| RangeStep::Job(Box::new(self.collecting(job))))
    }

    /// Reduces the number of tables although nothing is due, so that there is memory for another: merges the run of
    /// adjacent tables of a level with the fewest bytes into one; or else the tables of a level with those below, or
    /// moves them down, so that they become adjacent.
    pub(super) fn room_job(&self) -> Option<CompactionJob> {
        self.job_over_run().or_else(|| self.job_over_levels())
    }

    fn job_over_levels(&self) -> Option<CompactionJob> {
        let several = self.state.keyspaces.keys().filter(|&&id| {
            let levels = self.state.levels(id);
            levels.is_some_and(|levels| (0..LEVELS).map(|level| levels.level(level).len()).sum::<usize>() > 1)
        });
        let mut job = several
            .flat_map(|&id| (0..LAST_LEVEL).filter_map(move |level| self.due_job(id, level)))
            .min_by_key(CompactionJob::bytes)?;
        job.makes_one_table = !job.moves;
        Some(job)
    }

    fn job_over_run(&self) -> Option<CompactionJob> {
        let levels = self.state.keyspaces.keys().filter_map(|&id| Some((id, self.state.levels(id)?)));
        let mut runs: Vec<(u64, KeyspaceId, usize, &[Arc<TableFileMeta>])> = Vec::new();
        for (keyspace, levels) in levels {
            for level in 1..LEVELS {
                let tables = levels.level(level);
                let windows = tables.windows(tables.len().clamp(2, CLASS_TABLES));
                runs.extend(windows.map(|run| (run.iter().map(|table| table.bytes).sum(), keyspace, level, run)));
            }
        }
        runs.sort_by_key(|&(bytes, keyspace, level, _)| (bytes, keyspace, level));
        runs.into_iter().find_map(|(bytes, keyspace, level, run)| {
            let request = JobRequest { keyspace, levels: self.state.levels(keyspace)?, reason: JobReason::SmallTables };
            self.run_job(request, level, TableRun { tables: run.to_vec(), bytes })
        })
    }

    /// Merges a run into one table, unless a running job conflicts with it.
    fn run_job(&self, request: JobRequest<'_>, level: usize, run: TableRun) -> Option<CompactionJob> {
        let mut job = request.job(run.tables.into_iter().map(|table| (level, table)).collect(), level)?;
        job.makes_one_table = true;
        self.unless_blocked(job)
    }
}

/// The sizes that end the classes of small tables, in bytes, smallest first.
fn small_classes(table_bytes: u64) -> Vec<u64> {
    let largest = table_bytes / CLASS_TABLES as u64;
    let mut classes: Vec<u64> = std::iter::successors(Some(largest), |bytes| Some(bytes / CLASS_RATIO))
        .take_while(|&bytes| bytes >= CLASS_BYTES_MIN)
        .collect();
    if classes.is_empty() {
        classes.push(largest);
    }
    classes.reverse();
    classes
}

/// Adjacent tables of a level.
#[derive(Debug)]
struct TableRun {
    tables: Vec<Arc<TableFileMeta>>,
    bytes: u64,
}

/// Runs of adjacent tables of a level, each of at most the size of one full table, in key order.
#[derive(Debug)]
struct TableRuns {
    table_bytes: u64,
    runs: Vec<TableRun>,
    /// Whether the next table begins another run.
    is_ended: bool,
}

impl TableRuns {
    fn new(table_bytes: u64) -> Self {
        Self { table_bytes, runs: Vec::new(), is_ended: true }
    }

    fn add(&mut self, table: Arc<TableFileMeta>) {
        let last = self.runs.last_mut().filter(|run| {
            let fits = run.bytes.checked_add(table.bytes).is_some_and(|sum| sum <= self.table_bytes);
            fits && !self.is_ended && run.tables.len() < RUN_TABLES_MAX
        });
        match last {
            Some(run) => {
                run.bytes += table.bytes;
                run.tables.push(table);
            }
            None => self.runs.push(TableRun { bytes: table.bytes, tables: vec![table] }),
        }
        self.is_ended = false;
    }

    /// Ends the last run, since the next table is not adjacent to it.
    fn end(&mut self) {
        self.is_ended = true;
    }

    /// The run with most tables, if it has several. Of equally long runs it takes the last, so that its output does not
    /// shift the others, and every table is rewritten once before any is rewritten again.
    fn longest(self) -> Option<TableRun> {
        self.runs.into_iter().max_by_key(|run| run.tables.len()).filter(|run| run.tables.len() > 1)
    }
}
