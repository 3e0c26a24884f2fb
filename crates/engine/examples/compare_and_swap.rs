//! Compare-and-swap: a counter that several threads increase without losing an increment.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::lsm::Swap;
use ogive::{Db, DbOptions};

fn increase(db: &Db) -> ogive::Result<()> {
    let mut current = db.get("counter")?;
    loop {
        let count = current.as_deref().and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
        match db.compare_and_swap("counter", current.as_deref(), Some(&(count + 1).to_le_bytes()))? {
            Swap::Done => return Ok(()),
            // Another thread was faster: continue from the current value.
            Swap::Mismatch(found) => current = found,
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path(), &DbOptions::default())?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| (0..100).try_for_each(|_| increase(&db)))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().map_err(|_| "a thread panicked")?.map_err(|error| {
                eprintln!("{error}");
                "an increment failed"
            })
        })
    })?;
    let count = db.get("counter")?.ok_or("no counter")?;
    assert_eq!(*count, 400_u64.to_le_bytes());
    Ok(())
}
