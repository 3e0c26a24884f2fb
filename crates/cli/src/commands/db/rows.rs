//! Rows of keyspaces: counted where that takes a moment, else estimated.

use super::keys;
use crate::failure::Result;
use crate::values::size::{counted, grouped};
use ogive::lsm::{Db, KeyspaceStats};

/// Most entries of a store that are read only to count the rows among them; some milliseconds.
const ENTRIES_COUNTED_MAX: u64 = 100_000;

/// The statistics of the user's keyspaces. The rows of small ones are exact, unless they may expire.
pub(super) fn keyspaces(db: &Db) -> Vec<KeyspaceStats> {
    let names = keys::named(db);
    let mut keyspaces = db.stats().keyspaces;
    keyspaces.retain(|keyspace| names.contains(&keyspace.name));
    let mut entries_left = ENTRIES_COUNTED_MAX;
    for keyspace in keyspaces.iter_mut().filter(|keyspace| !keyspace.is_exact) {
        let Some(rest) = entries_left.checked_sub(entries(keyspace)) else { continue };
        entries_left = rest;
        // Statistics of a damaged store are shown, too.
        if let Ok(rows) = count(db, &keyspace.name) {
            (keyspace.rows, keyspace.is_exact) = (rows, !keyspace.may_expire);
        }
    }
    keyspaces
}

/// The rows of a keyspace in words.
pub(super) fn shown(keyspace: &KeyspaceStats) -> String {
    match (keyspace.rows, keyspace.is_exact) {
        (0, true) => "no rows".into(),
        (rows, true) => format!("exactly {}", counted(rows, "row")),
        (rows, false) => format!("about {}", counted(rows, "row")),
    }
}

/// The rows of a keyspace, as short as in a column.
pub(super) fn short(keyspace: &KeyspaceStats) -> String {
    if keyspace.is_exact { grouped(keyspace.rows) } else { format!("about {}", grouped(keyspace.rows)) }
}

fn entries(keyspace: &KeyspaceStats) -> u64 {
    keyspace.memtable_records + keyspace.levels.iter().map(|level| level.records).sum::<u64>()
}

fn count(db: &Db, name: &str) -> Result<u64> {
    let mut rows = 0;
    for key in db.keyspace(name)?.iter().keys() {
        key?;
        rows += 1;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::io::MemoryStorage;
    use ogive::lsm::DbOptions;
    use std::sync::Arc;

    #[test]
    fn a_count_is_exact_if_it_is_cheap_and_says_so_if_it_is_not() {
        let db = Db::open(Arc::new(MemoryStorage::new()), &DbOptions::default()).unwrap();
        let rows = || shown(&keyspaces(&db)[0]);
        assert_eq!(rows(), "no rows");
        let mut batch = db.batch();
        (0..ENTRIES_COUNTED_MAX as u32).for_each(|number| _ = batch.insert(&db, (number / 2).to_be_bytes(), ""));
        batch.commit().unwrap();
        assert_eq!(rows(), "exactly 50,000 rows");
        db.insert("one more", "").unwrap();
        assert_eq!((rows(), short(&keyspaces(&db)[0])), ("about 100,001 rows".into(), "about 100,001".into()));
        db.compact().unwrap();
        assert_eq!((rows(), short(&keyspaces(&db)[0])), ("exactly 50,001 rows".into(), "50,001".into()));
    }
}
