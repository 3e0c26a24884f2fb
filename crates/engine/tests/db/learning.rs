//! The learning policies that the tests draw: the engine has none but its default. `ogive-research` runs the same tests
//! of stores with its own policies, by a module in the place of this one.

use ogive::lsm::Learning;
use ogive_testkit::Random;

/// What models cover; of one kind where there are none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope;

/// The scope unless a test says another.
pub(crate) const USUAL_SCOPE: Scope = Scope;

/// The scopes that tests turn by.
pub(crate) const SCOPES: [Scope; 3] = [Scope; 3];

/// Number of runs that turn by policies.
pub(crate) const POLICIES: u64 = 6;

/// The policy of a number.
pub(crate) fn policy(_number: u64, _scope: Scope) -> Learning {
    Learning::CODED
}

/// Draws a policy.
pub(crate) fn drawn(_random: &mut Random, _is_timeless: bool, _scope: Scope) -> Learning {
    Learning::CODED
}
