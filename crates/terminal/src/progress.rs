//! Progress of long work on standard error: a bar on a terminal, else occasional lines.

use crate::{grouped, human_bytes};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Without a terminal, work shorter than this shows nothing.
const QUIET_FOR: Duration = Duration::from_secs(2);
/// Time between two lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Unit of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Anything else, named in the message.
    Items,
    /// Parts of a whole that has phases of different units; only the share is shown, and the time left.
    Parts,
}

/// The parts into which work in phases is divided.
const PARTS: u64 = 1 << 20;

/// A piece of long work. Dropping it removes the bar.
#[derive(Debug)]
pub struct Progress {
    what: String,
    total: Option<u64>,
    unit: Unit,
    bar: Option<ProgressBar>,
    next_line: Instant,
    started: Instant,
}

/// Long work in phases, as one whole: the work of the phases to come is estimated until it is known, and what is shown
/// never goes back.
#[derive(Debug)]
pub struct PhasedProgress {
    progress: Progress,
    reached: u64,
}

impl PhasedProgress {
    /// Starts.
    pub fn start(what: impl Into<String>) -> Self {
        Self { progress: Progress::start(what, Some(PARTS), Unit::Parts), reached: 0 }
    }

    /// Sets how much is done of all phases together, and the total as it is known now.
    pub fn reach_of(&mut self, done: u64, total: u64) {
        let part = (u128::from(done) * u128::from(PARTS)).checked_div(u128::from(total)).unwrap_or(0) as u64;
        self.reached = self.reached.max(part.min(PARTS));
        self.progress.reach(self.reached);
    }

    /// The share that is shown, in percent.
    #[must_use]
    pub fn percent(&self) -> u64 {
        self.reached * 100 / PARTS
    }
}

impl Progress {
    /// Starts; `total` is in `unit`, if known.
    pub fn start(what: impl Into<String>, total: Option<u64>, unit: Unit) -> Self {
        let what = what.into();
        let bar = stderr().is_terminal().then(|| bar(&what, total, unit));
        let started = Instant::now();
        Self { what, total, unit, bar, next_line: started + QUIET_FOR, started }
    }

    /// Sets how much is done in total.
    pub fn reach(&mut self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            return;
        }
        let now = Instant::now();
        if now >= self.next_line {
            self.next_line = now + LINE_EVERY;
            // A failure of standard error cannot be reported.
            _ = writeln!(stderr(), "{}: {}", self.what, self.describe(done, now - self.started));
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
    pub fn during<T>(what: &str, unit: Unit, work: impl FnOnce(&mut dyn FnMut(u64, u64)) -> T) -> T {
        let mut progress = Self::start(what, None, unit);
        work(&mut |done, total| progress.reach_of(done, total))
    }

    /// Sets how much is done, and the total.
    pub fn reach_of(&mut self, done: u64, total: u64) {
        self.set_total(total);
        self.reach(done);
    }

    fn describe(&self, done: u64, spent: Duration) -> String {
        let shown = |count| if self.unit == Unit::Bytes { human_bytes(count) } else { grouped(count) };
        match self.total {
            Some(total) if total > 0 => {
                let share = done.min(total) as f64 / total as f64;
                let (percent, left) = ((share * 100.0) as u64, time_left(share, spent));
                match self.unit {
                    Unit::Parts => format!("{percent} %{left}"),
                    _ => format!("{} of {} ({percent} %){left}", shown(done), shown(total)),
                }
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

/// The time that the rest takes if it goes on as before.
fn time_left(share: f64, spent: Duration) -> String {
    if share <= 0.0 || share >= 1.0 {
        return String::new();
    }
    let left_s = (spent.as_secs_f64() / share * (1.0 - share)).ceil() as u64;
    match left_s {
        0..120 => format!(", about {left_s} s left"),
        _ => format!(", about {} min left", left_s.div_ceil(60)),
    }
}

fn bar(what: &str, total: Option<u64>, unit: Unit) -> ProgressBar {
    let template = match (total.is_some(), unit) {
        (true, Unit::Bytes) => "{msg} {wide_bar} {binary_bytes} of {binary_total_bytes}, {eta} left",
        (_, Unit::Parts) => "{msg} {wide_bar} {percent} %, {eta} left",
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
        let spent = Duration::from_secs(10);
        assert_eq!(progress.describe(50, spent), "50 of 200 (25 %), about 30 s left");
        assert_eq!(progress.describe(0, spent), "0 of 200 (0 %)");
        assert_eq!(progress.describe(500, spent), "500 of 200 (100 %)");
        progress.set_total(1000);
        assert_eq!(progress.describe(50, spent), "50 of 1,000 (5 %), about 4 min left");
        assert_eq!(Progress::start("reading", None, Unit::Bytes).describe(20_480, spent), "20.0 KiB");
    }

    #[test]
    fn work_in_phases_is_one_whole_that_never_goes_back() {
        let mut work = PhasedProgress::start("building");
        let mut percents = Vec::new();
        // The total turns out to be greater, and then less, than expected.
        for (done, total) in [(100, 400), (200, 400), (200, 800), (450, 900), (450, 600), (600, 600)] {
            work.reach_of(done, total);
            percents.push(work.percent());
        }
        assert_eq!(percents, [25, 50, 50, 50, 75, 100]);
        assert_eq!(work.progress.describe(PARTS / 4, Duration::from_secs(9)), "25 %, about 27 s left");
        PhasedProgress::start("nothing").reach_of(0, 0);
    }
}
