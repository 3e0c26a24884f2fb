//! Tests of stores with the learning policies of this crate. Goal: the stored form of models stays as it is, and
//! models stored by earlier versions are used. Method: the fixture `store-models` of the engine, whose tables carry
//! models; its models are built anew from the keys and compared.

use ogive::io::MemoryStorage;
use ogive::lsm::{Db, DbOptions, Learning};
use ogive::table::{Table, TableOptions};
use ogive_papers::bourbon::{Bourbon, LearningRule};
use std::sync::Arc;

const FILES: &[(&str, &[u8])] = &[
    ("000003.log", include_bytes!("../../../engine/tests/fixtures/store-models/000003.log")),
    ("000004.table", include_bytes!("../../../engine/tests/fixtures/store-models/000004.table")),
    ("000005.log", include_bytes!("../../../engine/tests/fixtures/store-models/000005.log")),
    ("000006.table", include_bytes!("../../../engine/tests/fixtures/store-models/000006.table")),
    ("000007.manifest", include_bytes!("../../../engine/tests/fixtures/store-models/000007.manifest")),
];

/// The options under which the fixture was written.
fn options() -> DbOptions {
    ogive_papers::register();
    DbOptions::default()
        .memory_bytes(8 << 20)
        .memtable_bytes(1 << 20)
        .block_bytes(512)
        .threads(0)
        .learning(Learning::named("inline").unwrap())
}

fn model(storage: &Arc<MemoryStorage>, table: &str) -> Vec<u8> {
    let table = Table::open(storage.clone(), table, &TableOptions::default()).unwrap();
    table.property("plr").unwrap().to_vec()
}

#[test]
fn stored_models_are_used_and_written_as_before() {
    let old = Arc::new(MemoryStorage::new());
    FILES.iter().for_each(|(name, bytes)| old.put(name, bytes.to_vec()).unwrap());
    let db = Db::open_read_only_in(old.clone(), &options()).unwrap();
    assert_eq!(db.learning_stats().models, 2);
    for i in 0..400_u32 {
        assert!(db.get(format!("key {:05}", i * i)).unwrap().is_some());
        assert_eq!(db.get(format!("key {:05}?", i * i)).unwrap(), None);
    }
    let stats = db.learning_stats();
    assert!(stats.model_lookups > 0 && stats.baseline_lookups == 0, "{stats:?}");

    let new = Arc::new(MemoryStorage::new());
    let db = Db::open_in(new.clone(), &options()).unwrap();
    let mut batch = db.batch();
    (0..400_u32).for_each(|i| _ = batch.insert(&db, format!("key {:05}", i * i), i.to_le_bytes()));
    batch.commit().unwrap();
    db.compact().unwrap();
    let mut batch = db.batch();
    (0..100_u32).for_each(|i| _ = batch.insert(&db, format!("key {:05}", 3 * i), (i + 1000).to_le_bytes()));
    batch.commit().unwrap();
    db.flush().unwrap();
    for table in ["000004.table", "000006.table"] {
        assert_eq!(model(&new, table), model(&old, table), "{table}");
    }
}

#[test]
fn every_policy_is_found_by_its_name() {
    ogive_papers::register();
    let names: Vec<&str> = Learning::all().iter().map(Learning::name).collect();
    assert_eq!(names, ["coded", "never", "offline", "always", "cost-benefit", "inline"]);
    for rule in LearningRule::ALL {
        let learning = Learning::named(rule.name()).unwrap();
        assert_eq!(format!("{learning:?}"), format!("{:?}", Learning::from(Bourbon::new(rule))));
    }
}
