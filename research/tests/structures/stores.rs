//! Tests of stores with the learning policies of this crate.

use ogive::lsm::Learning;
use ogive_research::bourbon::{Bourbon, LearningRule};

#[test]
fn every_policy_is_found_by_its_name() {
    ogive_research::register();
    let names: Vec<&str> = Learning::all().iter().map(Learning::name).collect();
    assert_eq!(names, ["coded", "never", "offline", "always", "cost-benefit", "inline"]);
    for rule in LearningRule::ALL {
        let learning = Learning::named(rule.name()).unwrap();
        assert_eq!(format!("{learning:?}"), format!("{:?}", Learning::from(Bourbon::new(rule))));
    }
}
