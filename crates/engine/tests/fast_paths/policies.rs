//! The learning policy that the tests draw: the engine has none but its default.

use ogive::lsm::Learning;
use ogive_testkit::Random;

/// Draws a policy.
pub(crate) fn drawn_policy(_random: &mut Random) -> Learning {
    Learning::CODED
}
