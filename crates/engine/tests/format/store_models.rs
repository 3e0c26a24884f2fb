//! Format compatibility tests of models in tables, in a program that has registered nothing. Goal: a store whose tables
//! carry models of a learning policy opens without the policy, and is read by the exact separators; asking for the
//! policy by name says how to register it. Method: `fixtures/store-models` is a store that a version with the policy
//! `inline` wrote and closed; the expected records are computed here.

use ogive::Error;
use ogive::check::verify_store;
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions, Learning};
use ogive::table::{Table, TableOptions};
use std::collections::BTreeMap;
use std::sync::Arc;

const FILES: &[(&str, &[u8])] = &[
    ("000003.log", include_bytes!("../fixtures/store-models/000003.log")),
    ("000004.table", include_bytes!("../fixtures/store-models/000004.table")),
    ("000005.log", include_bytes!("../fixtures/store-models/000005.log")),
    ("000006.table", include_bytes!("../fixtures/store-models/000006.table")),
    ("000007.manifest", include_bytes!("../fixtures/store-models/000007.manifest")),
];

fn fixture() -> Arc<MemoryStorage> {
    let storage = Arc::new(MemoryStorage::new());
    for (name, bytes) in FILES {
        storage.put(name, bytes.to_vec()).unwrap();
    }
    storage
}

/// A compacted table, and a newer one of level 0.
fn records() -> BTreeMap<Vec<u8>, Vec<u8>> {
    let old = (0..400_u32).map(|i| (format!("key {:05}", i * i), i.to_le_bytes().to_vec()));
    let new = (0..100_u32).map(|i| (format!("key {:05}", 3 * i), (i + 1000).to_le_bytes().to_vec()));
    old.chain(new).map(|(key, value)| (key.into_bytes(), value)).collect()
}

fn check(db: &Db) {
    let records = records();
    let found: Vec<_> = db.iter().map(|record| record.unwrap()).collect();
    assert!(
        found.iter().map(|(key, value)| (&**key, &**value)).eq(records.iter().map(|(key, value)| (&**key, &**value)))
    );
    for (key, value) in &records {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(value.as_slice()));
        assert_eq!(db.get([key, &b"?"[..]].concat()).unwrap(), None);
    }
}

#[test]
fn a_store_whose_tables_carry_models_is_read_by_separators() {
    let storage = fixture();
    for table in ["000004.table", "000006.table"] {
        let table = Table::open(storage.clone(), table, &TableOptions::default()).unwrap();
        assert!(table.property("plr").is_some_and(|model| !model.is_empty()));
    }
    let shared: Arc<dyn Storage> = storage.clone();
    assert!(verify_store(&shared, &mut |_, _| {}).unwrap().is_sound());
    let options = DbOptions::default().create(false).block_bytes(512).threads(0);
    let db = Db::open_read_only_in(storage.clone(), &options).unwrap();
    check(&db);
    let stats = db.learning_stats();
    assert_eq!((stats.models, stats.model_lookups), (0, 0), "{stats:?}");
    assert!(stats.baseline_lookups > 0, "{stats:?}");
    drop(db);

    let db = Db::open_in(storage, &options).unwrap();
    check(&db);
    db.compact().unwrap();
    check(&db);
    let error = db.learn().unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)) && error.to_string().contains("DbOptions::learning"), "{error}");
}

#[test]
fn a_policy_that_is_not_registered_names_itself_and_the_remedy() {
    for name in ["never", "offline", "always", "cost-benefit", "inline"] {
        let error = Learning::named(name).unwrap_err();
        assert!(matches!(&error, Error::UnregisteredPolicy { name: found } if found == name), "{error:?}");
        for part in [name, "ogive-papers", "ogive_papers::register()"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
    let error = Learning::named("plr").unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument(message) if message.contains("coded")), "{error:?}");
}
