//! Models learned by a store, and their cost.

use ogive::lsm::LearningStats;

use super::store::Store;

/// Models learned between two points in time, and their use by lookups.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Learned {
    pub(super) learned: u64,
    /// Models of levels that changed before they were ready.
    pub(super) given_up: u64,
    /// Tables judged not worth a model.
    pub(super) skipped: u64,
    /// Internal lookups by a model, and by the path without one.
    pub(super) by_model: u64,
    pub(super) by_baseline: u64,
}

impl Learned {
    /// The difference to `before`.
    pub(super) fn since(store: &Store<'_>, before: &LearningStats) -> Self {
        let now = store.db.learning_stats();
        Self {
            learned: now.learned - before.learned,
            given_up: now.given_up - before.given_up,
            skipped: now.skipped - before.skipped,
            by_model: now.model_lookups.saturating_sub(before.model_lookups),
            by_baseline: now.baseline_lookups.saturating_sub(before.baseline_lookups),
        }
    }

    /// The share of internal lookups that a model served.
    pub(super) fn model_share(&self) -> f64 {
        self.by_model as f64 / (self.by_model + self.by_baseline).max(1) as f64
    }
}
