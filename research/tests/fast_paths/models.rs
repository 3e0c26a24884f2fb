//! The switch of models: without it, no lookup goes by one.

use crate::cases::{learn, store_of, store_reads};
use crate::support::Watched;
use ogive::io::FastPaths;
use ogive::lsm::Db;
use ogive_research::bourbon::{Bourbon, LearningRule, ModelScope};

#[test]
fn without_models_no_lookup_goes_by_one() {
    let offline = Bourbon::new(LearningRule::Offline);
    for policy in [offline, Bourbon { scope: ModelScope::Levels, ..offline }, Bourbon::new(LearningRule::Inline)] {
        let storage = Watched::new();
        let options = store_of(&storage, policy.into());
        let stats = |fast_paths| {
            let work = |db: &Db| {
                learn(db, &options);
                (0..4000_u64).for_each(|i| assert!(db.contains_key((10 * i).to_be_bytes()).unwrap()));
            };
            store_reads(&storage, &options, fast_paths, work).1
        };
        let (on, off) = (stats(FastPaths::ALL), stats(FastPaths { models: false, ..FastPaths::ALL }));
        assert!(on.learning.models > 0 && on.learning.model_lookups > 0, "{policy:?}: {:?}", on.learning);
        assert_eq!((off.learning.models, off.learning.model_lookups), (0, 0), "{policy:?}");
        assert!(off.learning.baseline_lookups > 0, "{policy:?}: {:?}", off.learning);
    }
}
