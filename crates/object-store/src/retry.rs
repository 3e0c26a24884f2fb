//! Attempts at a request: retries with backoff and jitter, within one deadline for a call.

use crate::failure::{Failure, FailureKind};
use crate::telemetry::telemetry;
use ogive::Error;
use ogive::io::random_u64;
use std::future::Future;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// The wait after the n-th failed attempt is at most the first one times 2^n, and this.
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// The limits of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLimits {
    /// Time for all attempts of a call.
    pub(crate) deadline: Duration,
    /// Longest wait after the first failed attempt.
    pub(crate) backoff: Duration,
}

/// A call with its deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    limits: CallLimits,
    ends: Instant,
}

impl Call {
    /// Begins a call now.
    pub(crate) fn begin(limits: CallLimits) -> Self {
        Self { limits, ends: Instant::now() + limits.deadline }
    }

    /// Makes attempts until one succeeds, fails for good, or the deadline has passed. `attempt` receives the number of
    /// attempts before it.
    ///
    /// # Errors
    /// The failure of the last attempt, in the words of `action` on `path`.
    pub(crate) async fn attempts<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        action: &'static str,
        path: &Path,
        mut attempt: impl FnMut(u32) -> F,
    ) -> Result<T, Error> {
        let mut made = 0;
        loop {
            let outcome = timeout_at(self.ends, attempt(made)).await;
            made += 1;
            let failure = match outcome {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(failure)) => failure,
                Err(_) => {
                    let late = format!("no answer within {} s", self.limits.deadline.as_secs_f32());
                    return Err(Failure::new(FailureKind::TimedOut, late).into_error(action, path.to_owned(), made));
                }
            };
            let wait = self.backoff(made);
            if !failure.is_transient() || Instant::now() + wait >= self.ends {
                return Err(failure.into_error(action, path.to_owned(), made));
            }
            telemetry().note_retry(action, path, made, wait.as_secs_f64(), failure.detail());
            sleep(wait).await;
        }
    }

    /// The wait after this number of failed attempts: a random part of a limit that doubles.
    fn backoff(&self, failed: u32) -> Duration {
        let limit = self.limits.backoff.saturating_mul(1 << (failed - 1).min(16)).min(BACKOFF_MAX);
        let share = (random_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        limit.mul_f64(0.5 + share / 2.0)
    }
}
