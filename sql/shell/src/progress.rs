//! Progress of a running query on a terminal: one line on standard error, which is rewritten.

use crate::size::shown_time;
use datafusion::physical_plan::ExecutionPlan;
use ogive_terminal::grouped;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Queries shorter than this show nothing.
const QUIET_FOR: Duration = Duration::from_secs(2);
/// Time between two rewritings.
const EVERY: Duration = Duration::from_millis(250);

/// The line of one query. Dropping it removes the line.
pub(crate) struct Progress {
    started: Instant,
    ticks: Option<tokio::time::Interval>,
    is_shown: bool,
}

impl Progress {
    /// Starts, within a runtime; shows nothing unless standard error is a terminal and `is_wanted`.
    pub(crate) fn start(is_wanted: bool) -> Self {
        let begin = || tokio::time::interval_at((Instant::now() + QUIET_FOR).into(), EVERY);
        let ticks = (is_wanted && io::stderr().is_terminal()).then(begin);
        Self { started: Instant::now(), ticks, is_shown: false }
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits until the line is due.
    pub(crate) async fn due(&mut self) {
        match &mut self.ticks {
            Some(ticks) => _ = ticks.tick().await,
            None => std::future::pending().await,
        }
    }

    /// Writes the line: rows that the tables have given, and rows of the result.
    pub(crate) fn show(&mut self, plan: Option<&Arc<dyn ExecutionPlan>>, rows: u64) {
        let line = line(plan.map_or(0, rows_read), rows, self.elapsed());
        // A terminal that cannot be written to shows nothing.
        _ = write!(io::stderr(), "\r\x1b[K{line}");
        self.is_shown = true;
    }

    /// Removes the line, before other text.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(read: u64, rows: u64, elapsed: Duration) -> String {
    let read = if read > 0 { format!("{} rows read, ", grouped(read)) } else { String::new() };
    let rows = if rows > 0 { format!("{} found, ", grouped(rows)) } else { String::new() };
    format!("{read}{rows}{}; Ctrl-C cancels", shown_time(elapsed))
}

/// Rows that the leaves of a plan have given so far.
fn rows_read(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let inputs = plan.children();
    if inputs.is_empty() {
        return plan.metrics().and_then(|metrics| metrics.output_rows()).unwrap_or(0) as u64;
    }
    inputs.into_iter().map(rows_read).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_leaves_out_what_is_not_known() {
        let second = Duration::from_secs(3);
        assert_eq!(line(0, 0, second), "3.00 s; Ctrl-C cancels");
        assert_eq!(line(12_345, 7, second), "12,345 rows read, 7 found, 3.00 s; Ctrl-C cancels");
    }
}
