//! Progress of long work on standard error: a bar on a terminal, else occasional lines.

use crate::output::note;
use crate::size::{grouped, human_bytes};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

/// Without a terminal, work shorter than this shows nothing.
const QUIET_FOR: Duration = Duration::from_secs(2);
/// Time between two lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Unit of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Bytes.
    Bytes,
    /// Anything else, named in the message.
    Items,
}

/// A piece of long work. Dropping it removes the bar.
pub(crate) struct Progress {
    what: String,
    total: Option<u64>,
    unit: Unit,
    bar: Option<ProgressBar>,
    next_line: Instant,
}

impl Progress {
    /// Starts; `total` is in `unit`, if known.
    pub(crate) fn start(what: impl Into<String>, total: Option<u64>, unit: Unit) -> Self {
        let what = what.into();
        let bar = stderr().is_terminal().then(|| bar(&what, total, unit));
        Self { what, total, unit, bar, next_line: Instant::now() + QUIET_FOR }
    }

    /// Sets how much is done in total.
    pub(crate) fn reach(&mut self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            return;
        }
        let now = Instant::now();
        if now >= self.next_line {
            self.next_line = now + LINE_EVERY;
            note(format_args!("{}: {}", self.what, self.describe(done)));
        }
    }

    /// Replaces the total, which may become known late.
    fn set_total(&mut self, total: u64) {
        if self.total != Some(total) {
            self.total = Some(total);
            if let Some(bar) = &self.bar {
                bar.set_length(total);
            }
        }
    }

    /// Shows progress during `work`, which reports how much is done and the total.
    pub(crate) fn during<T>(what: &str, unit: Unit, work: impl FnOnce(&mut dyn FnMut(u64, u64)) -> T) -> T {
        let mut progress = Self::start(what, None, unit);
        work(&mut |done, total| progress.reach_of(done, total))
    }

    /// Sets how much is done, and the total.
    pub(crate) fn reach_of(&mut self, done: u64, total: u64) {
        self.set_total(total);
        self.reach(done);
    }

    fn describe(&self, done: u64) -> String {
        let shown = |count| if self.unit == Unit::Bytes { human_bytes(count) } else { grouped(count) };
        match self.total {
            Some(total) if total > 0 => {
                let percent = (done.min(total) as f64 / total as f64 * 100.0) as u64;
                format!("{} of {} ({percent} %)", shown(done), shown(total))
            }
            _ => shown(done),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &str, total: Option<u64>, unit: Unit) -> ProgressBar {
    let template = match (total.is_some(), unit) {
        (true, Unit::Bytes) => "{msg} {wide_bar} {binary_bytes} of {binary_total_bytes}, {eta} left",
        (true, Unit::Items) => "{msg} {wide_bar} {human_pos} of {human_len}, {eta} left",
        (false, Unit::Bytes) => "{spinner} {msg} {binary_bytes}",
        (false, Unit::Items) => "{spinner} {msg} {human_pos}",
    };
    let bar = match total {
        Some(total) => ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(8)),
        None => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8)),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_the_share_that_is_done() {
        let mut progress = Progress::start("reading", Some(200), Unit::Items);
        assert_eq!(progress.describe(50), "50 of 200 (25 %)");
        assert_eq!(progress.describe(500), "500 of 200 (100 %)");
        progress.set_total(1000);
        assert_eq!(progress.describe(50), "50 of 1,000 (5 %)");
        assert_eq!(Progress::start("reading", None, Unit::Bytes).describe(20_480), "20.0 KiB");
    }
}
