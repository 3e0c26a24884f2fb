//! The progress of sorts: reports of the rows that are sorted, partitioned or hashed before they are joined.

use super::options::JoinPhase;
use super::task::Task;
use std::sync::Arc;

/// Number of progress reports.
const PROGRESS_REPORTS: u64 = 100;

/// Progress of sorting or partitioning both relations.
#[derive(Debug)]
pub(crate) struct SortProgress {
    task: Arc<Task>,
    done: u64,
    total: u64,
    next: u64,
}

impl SortProgress {
    /// Progress over `total` rows.
    pub(crate) fn new(task: &Arc<Task>, total: u64) -> Self {
        Self { task: Arc::clone(task), done: 0, total, next: 0 }
    }

    /// Counts processed rows.
    pub(crate) fn add(&mut self, rows: u64) {
        self.done += rows;
        if self.done >= self.next {
            self.task.report(JoinPhase::Preparing, self.done, self.total.max(self.done));
            self.next = self.done + self.total.div_ceil(PROGRESS_REPORTS).max(1);
        }
    }
}
