//! The learning policy that the tests draw, in the place of the engine's module of this name.

use ogive::lsm::Learning;
use ogive_research::bourbon::{Bourbon, LearningRule, ModelReads, ModelScope};
use ogive_testkit::Random;

/// Draws a policy.
pub(crate) fn drawn_policy(random: &mut Random) -> Learning {
    let rule = LearningRule::ALL.get(random.below(LearningRule::ALL.len() as u64 + 1) as usize).copied();
    // Only by explicit calls: otherwise every write would train the level again.
    let is_by_level = rule == Some(LearningRule::Offline) && random.one_in(2);
    let scope = if is_by_level { ModelScope::Levels } else { ModelScope::Tables };
    let reads = if random.one_in(2) { ModelReads::Block } else { ModelReads::Window };
    rule.map_or(Learning::CODED, |rule| Bourbon { scope, reads, ..Bourbon::new(rule) }.into())
}
