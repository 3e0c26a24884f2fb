//! A bulk import in batches: each batch is written by one group of the log, all or nothing.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{Db, DbOptions, Durability};

/// Large enough that the cost of a commit is spread thin, small enough to need little memory.
const BATCH: u64 = 1_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path(), &DbOptions::default())?;
    for first in (0..100_000_u64).step_by(BATCH as usize) {
        let mut batch = db.batch();
        // Not synced one by one: an import that is interrupted is started again.
        batch.durability(Durability::Buffered);
        for id in first..first + BATCH {
            batch.insert(&db, id.to_be_bytes(), format!("row {id}"));
        }
        batch.commit()?;
    }
    db.persist()?;
    db.compact()?;
    assert_eq!(db.get(4_711_u64.to_be_bytes())?.as_deref(), Some(&b"row 4711"[..]));
    let activity = db.activity();
    println!("{} operations in {} groups, {} flushes", activity.operations, activity.groups, activity.flushes);
    Ok(())
}
