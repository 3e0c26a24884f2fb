//! Attempts at a request: retries with backoff and jitter, within one deadline for a call.

use crate::failure::{Failure, FailureKind};
use crate::telemetry::telemetry;
use crate::waiting::{WaitingCall, report};
use ogive::Error;
use ogive::io::random_u64;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// The wait after the n-th failed attempt is at most the first one times 2^n, and this.
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// A call is reported when it has waited this long, or would when it is tried again; and then as often.
const REPORTED_EVERY: Duration = Duration::from_secs(5);

/// Attempts that get a wrong answer; each further one would.
const WRONG_ANSWERS_MAX: u32 = 4;

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
        attempt: impl FnMut(u32) -> F,
    ) -> Result<T, Error> {
        self.reported_attempts((action, path), attempt, REPORTED_EVERY, &report).await
    }

    /// As [`Self::attempts`], with a listener, and the time after which the call is reported.
    async fn reported_attempts<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        (action, path): (&'static str, &Path),
        mut attempt: impl FnMut(u32) -> F,
        reported_every: Duration,
        report: &(dyn Fn(&WaitingCall) + Sync),
    ) -> Result<T, Error> {
        let (mut made, mut wrong) = (0, 0);
        let begun = self.ends - self.limits.deadline;
        let mut next_report = begun + reported_every;
        let waiting = |attempts, failure: Option<&Failure>| WaitingCall {
            action,
            path: path.to_owned(),
            attempts,
            waited: begun.elapsed(),
            deadline: self.limits.deadline,
            failure: failure.map(|failure| failure.detail().to_owned()),
        };
        let mut last: Option<Failure> = None;
        loop {
            let mut running = pin!(attempt(made));
            let outcome = loop {
                match timeout_at(next_report.min(self.ends), &mut running).await {
                    Err(_) if next_report < self.ends => {
                        report(&waiting(made, last.as_ref()));
                        next_report = Instant::now() + reported_every;
                    }
                    outcome => break outcome,
                }
            };
            made += 1;
            let failure = match outcome {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(failure)) => failure,
                Err(_) => {
                    let late = format!("no answer within {} s", self.limits.deadline.as_secs_f32());
                    return Err(Failure::new(FailureKind::TimedOut, late).into_error(action, path.to_owned(), made));
                }
            };
            wrong += u32::from(failure.kind == FailureKind::Wrong);
            let wait = self.backoff(made);
            if wrong >= WRONG_ANSWERS_MAX {
                return Err(failure.into_error(action, path.to_owned(), made));
            }
            if !failure.is_transient() || Instant::now() + wait >= self.ends {
                return Err(failure.into_error(action, path.to_owned(), made));
            }
            telemetry().note_retry(action, path, made, wait.as_secs_f64(), failure.detail());
            if Instant::now() + wait >= next_report {
                report(&waiting(made, Some(&failure)));
                next_report = Instant::now() + reported_every;
            }
            last = Some(failure);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn refused() -> Failure {
        Failure::new(FailureKind::Broken, "no connection")
    }

    /// The reports of a call whose first attempts are refused.
    fn reports(refusals: u32, reported_every: Duration) -> (Vec<WaitingCall>, Result<u32, Error>) {
        let limits = CallLimits { deadline: Duration::from_secs(600), backoff: Duration::from_millis(1) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let told = Mutex::new(Vec::new());
        let attempt = |made| async move { if made < refusals { Err(refused()) } else { Ok(made) } };
        let outcome = runtime.block_on(Call::begin(limits).reported_attempts(
            ("open", Path::new("s3://a/b")),
            attempt,
            reported_every,
            &|call| told.lock().unwrap().push(call.clone()),
        ));
        (told.into_inner().unwrap(), outcome)
    }

    #[test]
    fn a_call_that_waits_is_reported_with_its_last_failure_and_one_that_does_not_is_not() {
        let (told, outcome) = reports(3, Duration::ZERO);
        assert_eq!(outcome.unwrap(), 3);
        let failed: Vec<u32> = told.iter().filter(|call| call.failure.is_some()).map(|call| call.attempts).collect();
        assert!([1, 2, 3].iter().all(|attempts| failed.contains(attempts)), "{told:?}");
        let last = told.iter().rfind(|call| call.failure.is_some()).unwrap();
        let text = WaitingCall { waited: Duration::from_secs(7), ..last.clone() }.to_string();
        assert_eq!(text, "cannot open s3://a/b yet: no connection (3 attempts, 7 of 600 s); trying on");
        assert_eq!(reports(3, Duration::from_secs(300)).0, []);
    }

    /// By the usual schedule, whatever is drawn: no wait but the last begins after the time, and all before end in it.
    #[test]
    fn a_port_that_refuses_is_reported_within_five_seconds() {
        let limits = CallLimits { deadline: Duration::from_secs(60), backoff: Duration::from_millis(100) };
        let call = Call::begin(limits);
        for _ in 0..1_000 {
            let (mut waited, mut failed) = (Duration::ZERO, 0);
            loop {
                failed += 1;
                let wait = call.backoff(failed);
                if waited + wait >= REPORTED_EVERY {
                    break;
                }
                waited += wait;
            }
            assert!(waited <= Duration::from_secs(5) && failed >= 4, "{failed} attempts in {waited:?}");
        }
    }
}
