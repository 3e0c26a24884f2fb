//! Marks of keyspaces whose import is under way: written before the first record, removed once all are checked.
//!
//! A process that is killed leaves its marks, so that the next run says what is there.

use crate::failure::Result;
use ogive::types::{KeyType, RecordType};
use ogive::{Db, Durability};
use std::collections::BTreeMap;

/// The keyspace of the marks: from the name of a keyspace to the path of its source. It is there only as long as there
/// is a mark.
pub(crate) const KEYSPACE: &str = "ogive-import.unfinished";

/// The marks of a store.
pub(crate) fn marks(db: &Db) -> Result<BTreeMap<String, String>> {
    let mut marks = BTreeMap::new();
    if db.keyspaces().iter().any(|name| name == KEYSPACE) {
        for mark in db.keyspace(KEYSPACE)?.iter() {
            let (name, source) = mark?;
            marks.insert(String::from_utf8_lossy(&name).into_owned(), String::from_utf8_lossy(&source).into_owned());
        }
    }
    Ok(marks)
}

/// Marks keyspaces, durably.
pub(crate) fn mark(db: &Db, names: &[String], source: &str) -> Result<()> {
    let keyspace = db.keyspace(KEYSPACE)?.stating(&RecordType::new(KeyType::Text, KeyType::Text))?;
    let mut batch = db.batch();
    for name in names {
        batch.insert(&keyspace, name, source);
    }
    batch.durability(Durability::Synced);
    Ok(batch.commit()?)
}

/// Removes the marks of keyspaces in one step, and the keyspace of the marks with the last one.
pub(crate) fn unmark(db: &Db, names: &[String]) -> Result<()> {
    let keyspace = db.keyspace(KEYSPACE)?;
    let mut batch = db.batch();
    for name in names {
        batch.remove(&keyspace, name);
    }
    batch.durability(Durability::Synced);
    batch.commit()?;
    if keyspace.is_empty()? {
        db.drop_keyspace(KEYSPACE)?;
    }
    Ok(())
}
