//! Snapshots: a reader that sees one moment of a store while others write.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{Db, DbOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path(), &DbOptions::default())?;
    for account in 0..100_u32 {
        db.insert(account.to_be_bytes(), 10_u64.to_le_bytes())?;
    }

    let snapshot = db.snapshot();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..100_u32).try_for_each(|account| db.remove(account.to_be_bytes())));
    });

    let mut total = 0;
    for entry in snapshot.range::<&[u8]>(&db, ..) {
        let (_, value) = entry?;
        total += u64::from_le_bytes((*value).try_into()?);
    }
    println!("{total} in the snapshot, {} entries in the store", db.iter().count());
    assert_eq!((total, db.iter().count()), (1000, 0));
    Ok(())
}
