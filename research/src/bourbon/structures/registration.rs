//! The policies of Bourbon as those of stores: the learners that they start, and their registration by name.

use super::learner::BourbonLearner;
use super::policy::{Bourbon, LearningRule};
use ogive::lsm::Learning;
use ogive::lsm::extend::{Learner, LearningPolicy};
use std::sync::Arc;

impl From<Bourbon> for Learning {
    fn from(policy: Bourbon) -> Self {
        Self::new(policy)
    }
}

impl From<LearningRule> for Learning {
    fn from(rule: LearningRule) -> Self {
        Bourbon::new(rule).into()
    }
}

impl LearningPolicy for Bourbon {
    fn name(&self) -> &'static str {
        self.rule.name()
    }

    fn start(&self, memory_bytes: u64) -> Arc<dyn Learner> {
        Arc::new(BourbonLearner::new(*self, memory_bytes))
    }
}

/// Makes all policies known to the engine by name. May be called any number of times, from any thread.
pub fn register() {
    for rule in LearningRule::ALL {
        let registered = Learning::from(rule).register();
        debug_assert!(registered.is_ok(), "{registered:?}");
    }
}
