//! Progress of a join on standard error.

use crate::progress::{Progress, Unit};
use ogive::join::{JoinPhase, JoinProgress};
use std::sync::{Mutex, PoisonError};

/// A watcher that shows a progress bar per phase.
pub(super) fn watcher() -> impl Fn(JoinProgress) + Send + Sync + 'static {
    let shown: Mutex<Option<(JoinPhase, Progress)>> = Mutex::new(None);
    move |progress: JoinProgress| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.as_ref().is_none_or(|(phase, _)| *phase != progress.phase) {
            // Remove the old bar before the new one appears.
            *shown = None;
            *shown = Some((progress.phase, Progress::start(word(progress.phase), Some(progress.total), Unit::Items)));
        }
        if let Some((_, bar)) = shown.as_mut() {
            bar.reach_of(progress.done, progress.total);
        }
    }
}

fn word(phase: JoinPhase) -> &'static str {
    match phase {
        JoinPhase::Planning => "planning",
        JoinPhase::Loading => "loading indexes",
        JoinPhase::Preparing => "preparing rows",
        JoinPhase::Joining => "joining",
        JoinPhase::Finishing => "completing the output",
        _ => "working",
    }
}
