//! The background work of an open store.

use super::scrub::ScrubStats;
use crate::io::Timer;
use crate::io::local::sync::{Condvar, Mutex};
use crate::lsm::state::tables::learner::Learner;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The background work of an open store, apart from what its shared state says of it.
#[derive(Debug)]
pub(in crate::lsm) struct Background {
    /// The learner of the policy, if there is one.
    pub(in crate::lsm) learner: Option<Arc<dyn Learner>>,
    /// What scrubbing has done.
    pub(in crate::lsm) scrubbed: Mutex<ScrubStats>,
    stop: AtomicBool,
    pauses: Mutex<()>,
    /// Signalled when the work is to stop.
    woken: Condvar,
}

impl Background {
    pub(super) fn new(learner: Option<Arc<dyn Learner>>) -> Self {
        let (scrubbed, pauses, woken) = Default::default();
        Self { learner, scrubbed, stop: AtomicBool::new(false), pauses, woken }
    }

    /// Tells the work to stop.
    pub(in crate::lsm) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        drop(self.pauses.lock());
        self.woken.notify_all();
    }

    /// Waits for this time in microseconds, or until the work is to stop.
    pub(in crate::lsm) fn pause(&self, time_us: f64) {
        let timer = Timer::start();
        let mut pausing = self.pauses.lock();
        while !self.is_stopped() && timer.elapsed_us() < time_us {
            pausing = self.woken.wait_for(&self.pauses, pausing, time_us - timer.elapsed_us());
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Tells jobs to stop.
    pub(in crate::lsm) fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }
}
