//! Reports of calls that an object store keeps waiting, for the users who wait with them.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A call that is reported: it has not succeeded yet, and goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingCall {
    /// The action, as a verb: "open", "read", "list".
    pub action: &'static str,
    /// The URL of the object or folder, without its query.
    pub path: PathBuf,
    /// Attempts that have failed so far.
    pub attempts: u32,
    /// Time since the call began.
    pub waited: Duration,
    /// Time for all attempts, after which the call fails.
    pub deadline: Duration,
    /// The failure of the last attempt, without secrets; `None` if none has got any answer yet.
    pub failure: Option<String>,
}

impl fmt::Display for WaitingCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, path, attempts, waited, deadline, failure } = self;
        let failure = failure.as_deref().unwrap_or("no answer");
        write!(formatter, "cannot {action} {} yet: {failure} (", path.display())?;
        match attempts {
            0 => {}
            1 => formatter.write_str("1 attempt, ")?,
            attempts => write!(formatter, "{attempts} attempts, ")?,
        }
        write!(formatter, "{} of {} s); trying on", waited.as_secs(), deadline.as_secs())
    }
}

/// The listener of the process, the least time between two reports, and the time of the last one.
struct Reports {
    tell: Box<dyn Fn(&WaitingCall) + Send + Sync>,
    every: Duration,
    told: Mutex<Option<Instant>>,
}

static REPORTS: OnceLock<Reports> = OnceLock::new();

/// Reports calls that an object store keeps waiting: within five seconds, and then as they go on, but no two reports
/// within `every`, since many calls may wait side by side. The first listener of the process counts; the threads that
/// make the requests call it.
pub fn report_waiting_calls(every: Duration, tell: impl Fn(&WaitingCall) + Send + Sync + 'static) {
    _ = REPORTS.set(Reports { tell: Box::new(tell), every, told: Mutex::default() });
}

/// Tells the listener of the process, if there is one.
pub(crate) fn report(call: &WaitingCall) {
    if let Some(reports) = REPORTS.get() {
        reports.tell(call, Instant::now());
    }
}

impl Reports {
    fn tell(&self, call: &WaitingCall, now: Instant) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|told| now.saturating_duration_since(told) >= self.every) {
            *told = Some(now);
            (self.tell)(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_first_call_is_told_at_once_and_others_not_too_often() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let tell = Box::new(move |call: &WaitingCall| heard.lock().unwrap().push(call.attempts));
        let reports = Reports { tell, every: Duration::from_secs(4), told: Mutex::default() };
        let begun = Instant::now();
        for (attempts, seconds) in [(1, 0), (2, 0), (3, 3), (4, 4), (5, 7), (6, 100)] {
            let call = WaitingCall {
                action: "open",
                path: "s3://a".into(),
                attempts,
                waited: Duration::from_secs(seconds),
                deadline: Duration::from_secs(60),
                failure: None,
            };
            reports.tell(&call, begun + call.waited);
        }
        assert_eq!(*told.lock().unwrap(), [1, 4, 6]);
    }
}
