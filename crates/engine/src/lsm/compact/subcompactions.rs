//! Subcompactions: one job split by key range and run on several threads.

use super::context::JobContext;
use super::run::{JobOutput, JobRange, MergeJob, run_job};
use crate::error::Result;
use crate::io::spawn_helper;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs a job in parts separated by the ascending `borders`, on up to `threads` threads including this one. `job`
/// creates the job of a part.
///
/// # Errors
/// As [`run_job`]; the new files of all parts are then removed.
pub(crate) fn run_subcompactions<'a>(
    context: &JobContext<'_>,
    threads: usize,
    borders: Vec<Vec<u8>>,
    job: impl Fn(JobRange) -> MergeJob<'a> + Sync,
) -> Result<JobOutput> {
    let parts = parts(borders);
    let results: Mutex<Vec<(usize, Result<JobOutput>)>> = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((number, part)) = parts.get(next.fetch_add(1, Ordering::Relaxed)).map(|(n, part)| (*n, part)) {
            let result = run_job(context, job(part.clone()));
            let has_failed = result.is_err();
            results.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
            if has_failed {
                // The remaining parts would be discarded.
                next.store(parts.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(parts.len()) {
            // If a thread cannot be started, the other threads take over its part.
            _ = spawn_helper(scope, "ogive-compact", work);
        }
        work();
    });
    join(context, results.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The numbered parts between the borders.
fn parts(borders: Vec<Vec<u8>>) -> Vec<(usize, JobRange)> {
    let mut parts = vec![JobRange::default()];
    for border in borders {
        if let Some(last) = parts.last_mut() {
            last.to = Some(border.clone());
        }
        parts.push(JobRange { from: Some(border), to: None });
    }
    parts.into_iter().enumerate().collect()
}

/// Joins the outputs of all parts, in order.
fn join(context: &JobContext<'_>, mut results: Vec<(usize, Result<JobOutput>)>) -> Result<JobOutput> {
    results.sort_unstable_by_key(|&(number, _)| number);
    let (mut joined, mut failure) = (JobOutput::default(), None);
    for (_, result) in results {
        match result {
            Ok(outcome) => joined.join(outcome),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        Some(error) => {
            joined.discard(context);
            Err(error)
        }
        None => Ok(joined),
    }
}
