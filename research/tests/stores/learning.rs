//! The learning policies that the tests draw, in the place of the engine's module of this name.

use ogive::lsm::Learning;
use ogive_research::bourbon::{
    Bourbon, ExpectedLookups, LearningRule, ModelReads, ModelScope, ModelShape, ShapeChoice,
};
use ogive_testkit::Random;

/// Policies that do not depend on time, so that each run reads the same.
const TIMELESS: [Option<LearningRule>; 4] =
    [Some(LearningRule::Never), Some(LearningRule::Offline), Some(LearningRule::Inline), None];
/// All policies.
const RULES: [Option<LearningRule>; 6] = [
    Some(LearningRule::Never),
    Some(LearningRule::Offline),
    Some(LearningRule::Always),
    Some(LearningRule::CostBenefit),
    Some(LearningRule::Inline),
    None,
];

/// What models cover.
pub(crate) type Scope = ModelScope;

/// The scope unless a test says another: writers would relearn a level at each change, for minutes.
pub(crate) const USUAL_SCOPE: Scope = ModelScope::Tables;

/// The scopes that tests turn by.
pub(crate) const SCOPES: [Scope; 3] = [Scope::Levels, Scope::Tables, Scope::ByChange];

/// Number of learning policies.
pub(crate) const POLICIES: u64 = LearningRule::ALL.len() as u64 + 1;

/// The policy of a number: one of the paper, or the default.
pub(crate) fn policy(number: u64, scope: Scope) -> Learning {
    let rule = LearningRule::ALL.get((number % POLICIES) as usize);
    rule.map_or(Learning::CODED, |&rule| Bourbon { scope, ..Bourbon::new(rule) }.into())
}

/// One of these.
fn any<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// Draws a policy.
pub(crate) fn drawn(random: &mut Random, is_timeless: bool, scope: Scope) -> Learning {
    let rule = if is_timeless { any(random, &TIMELESS) } else { any(random, &RULES) };
    let fixed = ShapeChoice::Fixed(any(random, &ModelShape::ALL));
    let shape = if is_timeless || random.one_in(2) { fixed } else { ShapeChoice::ByCost };
    let expected = any(random, &[ExpectedLookups::LikeLevel, ExpectedLookups::LikeBefore]);
    let (reads, error) = (any(random, &[ModelReads::Block, ModelReads::Window]), 1 << random.below(7));
    rule.map_or(Learning::CODED, |rule| Bourbon { rule, scope, shape, expected, reads, error }.into())
}
