//! The background work of an open store.

use crate::lsm::state::tables::learner::Learner;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The background work of an open store, apart from what its shared state says of it.
#[derive(Debug)]
pub(in crate::lsm) struct Background {
    /// The learner of the policy, if there is one.
    pub(in crate::lsm) learner: Option<Arc<dyn Learner>>,
    stop: AtomicBool,
}

impl Background {
    pub(super) fn new(learner: Option<Arc<dyn Learner>>) -> Self {
        Self { learner, stop: AtomicBool::new(false) }
    }

    /// Tells the work to stop.
    pub(in crate::lsm) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Tells jobs to stop.
    pub(in crate::lsm) fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }
}
