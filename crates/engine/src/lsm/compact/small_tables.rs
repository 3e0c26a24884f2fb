//! Small tables that lie side by side in a level: they are merged, since each table takes memory while it is open.
//!
//! Small tables come about when memtables are flushed before they are full and their keys overlap nothing, as in a
//! store that many short-lived programs fill in the order of its keys.

use super::job::{CompactionJob, JobReason};
use super::pick::{JobRequest, LAST_LEVEL, Picker, RangeStep, SMALL_TABLE_DIVISOR, groups};
use crate::lsm::entry::KeyspaceId;
use crate::lsm::version::{KeyBounds, KeyspaceLevels, LEVELS, TableFileMeta};
use std::sync::Arc;

/// Maximum number of small tables merged at once, since each needs a buffer.
const RUN_TABLES_MAX: usize = 128;

/// Adjacent tables of one class of sizes that make a merge due.
const CLASS_TABLES: usize = 8;

/// Ratio of the sizes of adjacent classes. Eight tables of one class are then one of a greater class, so each record is
/// written once for each class.
const CLASS_RATIO: u64 = 4;

/// Size below which tables are not told apart: a table of one record takes about as much.
const CLASS_BYTES_MIN: u64 = 16 << 10;

/// Merged tables overlap at most this many full tables in the level below: with more, the outputs might be cut where
/// the inputs were, and nothing would be gained.
const OVERLAP_TABLES_MAX: u64 = 10;

impl Picker<'_> {
    /// Merges adjacent small tables of a level, those of the smallest class first.
    pub(super) fn small_tables_job(&self, keyspace: KeyspaceId, levels: &KeyspaceLevels) -> Option<CompactionJob> {
        let request = JobRequest { keyspace, levels, reason: JobReason::SmallTables };
        let classes = small_classes(self.limits.table_bytes);
        (1..LEVELS).filter(|&level| levels.level(level).len() >= CLASS_TABLES).find_map(|level| {
            classes.iter().find_map(|&class_bytes| {
                let is_taken = |table: &Arc<TableFileMeta>| {
                    table.bytes < class_bytes && !self.is_busy(table) && !self.is_misindexed(table)
                };
                let runs = levels.level(level).split(|table| !is_taken(table)).filter(|run| run.len() >= CLASS_TABLES);
                runs.flat_map(|run| run.chunks(RUN_TABLES_MAX)).find_map(|run| self.small_run_job(request, level, run))
            })
        })
    }

    fn small_run_job(
        &self,
        request: JobRequest<'_>,
        level: usize,
        run: &[Arc<TableFileMeta>],
    ) -> Option<CompactionJob> {
        if run.len() < CLASS_TABLES {
            return None;
        }
        let job = request.job(run.iter().map(|table| (level, Arc::clone(table))).collect(), level)?;
        let bytes_below_max = OVERLAP_TABLES_MAX.saturating_mul(self.limits.table_bytes);
        self.unless_blocked(job).filter(|job| job.bytes_below() <= bytes_below_max)
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
        let inputs = run.into_iter().map(|table| (LAST_LEVEL, table)).collect();
        let request = JobRequest { keyspace, levels, reason: JobReason::Requested };
        let job = request.job(inputs, LAST_LEVEL).and_then(|job| self.unless_blocked(job));
        job.map_or(RangeStep::Wait, |job| RangeStep::Job(Box::new(self.collecting(job))))
    }
}

/// The sizes that end the classes of small tables, in bytes, smallest first.
fn small_classes(table_bytes: u64) -> Vec<u64> {
    let largest = table_bytes / SMALL_TABLE_DIVISOR;
    let mut classes: Vec<u64> = std::iter::successors(Some(largest), |bytes| Some(bytes / CLASS_RATIO))
        .take_while(|&bytes| bytes >= CLASS_BYTES_MIN)
        .collect();
    if classes.is_empty() {
        classes.push(largest);
    }
    classes.reverse();
    classes
}

/// Runs of adjacent tables of the last level, each of at most the size of one full table, in key order.
#[derive(Debug)]
struct TableRuns {
    table_bytes: u64,
    runs: Vec<Vec<Arc<TableFileMeta>>>,
    /// Bytes of the last run; `None` if the next table begins another run.
    bytes: Option<u64>,
}

impl TableRuns {
    fn new(table_bytes: u64) -> Self {
        Self { table_bytes, runs: Vec::new(), bytes: None }
    }

    fn add(&mut self, table: Arc<TableFileMeta>) {
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

    /// Ends the last run, since the next table is not adjacent to it.
    fn end(&mut self) {
        self.bytes = None;
    }

    /// The run with most tables, if it has several. Of equally long runs it takes the last, so that its output does not
    /// shift the others, and every table is rewritten once before any is rewritten again.
    fn longest(self) -> Option<Vec<Arc<TableFileMeta>>> {
        self.runs.into_iter().max_by_key(Vec::len).filter(|run| run.len() > 1)
    }
}
