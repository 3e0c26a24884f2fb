//! Joins of a program that has registered nothing. Goal: a method of this crate is refused with an error that names it
//! and the remedy, and can be used once it is registered. Method: one join, in a test binary of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ogive::io::{MemoryStorage, Storage};
use ogive::join::{JoinMethod, JoinOptions, JoinOutput, JoinSource, explain, join};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType, Result};
use ogive_research::joins::{METHODS, PGM};
use ogive_research::register;
use std::sync::Arc;

#[test]
fn a_method_that_is_not_registered_names_itself_and_the_remedy() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(0);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    (0..100_u64).for_each(|key| writer.append(&key.to_be_bytes(), b"").unwrap());
    writer.finish().unwrap();
    let table = JoinSource::table(&Table::open((storage, "t"), &TableOptions::default()).unwrap());
    let ran = |method: JoinMethod| -> Result<u64> {
        let spill: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let options = JoinOptions::default().method(method).spill(Some((spill, "spilled".into())));
        Ok(join(&table, &table, JoinOutput::caller(|_, _, _| Ok(())), &options)?.rows)
    };
    let names = |error: Error, method: &str| {
        assert!(
            matches!(&error, Error { cause: Cause::UnregisteredMethod, .. } if error.name() == method),
            "{error:?}"
        );
        for part in [method, "command `ogive-research`"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    };
    for method in METHODS {
        let name = method.to_string();
        names(name.parse::<JoinMethod>().unwrap_err(), &name);
        names(ran(method).unwrap_err(), &name);
        let options = JoinOptions::default().method(method);
        names(explain(&table, &table, &options).unwrap_err(), &name);
    }
    // The planner lists what the program knows.
    let explanation = explain(&table, &table, &JoinOptions::default()).unwrap();
    assert_eq!(explanation.alternatives.len(), 5);
    register();
    for method in METHODS {
        assert_eq!(method.to_string().parse::<JoinMethod>().unwrap(), method);
        assert_eq!(ran(method).unwrap(), 100, "{method}");
    }
    assert_eq!(ran(PGM.with_number(3)).unwrap(), 100);
}
