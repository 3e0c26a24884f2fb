//! An index that is updated in place: fixed-width keys and payloads, one writer, readers on snapshots of their own.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{Index, IndexOptions, LocalStorage};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let storage = Arc::new(LocalStorage::new(folder.path()));
    let index: Index<u64, u64> = Index::create((storage.clone(), "orders"), &IndexOptions::default())?;
    index.bulk_load((0..100_000).map(|order| (order * 10, order)))?;

    let reader = index.reader()?;
    let mut transaction = index.write()?;
    transaction.insert(15, 1)?;
    transaction.remove(20)?;
    transaction.commit()?;
    // The reader still sees what it saw.
    assert_eq!((reader.get(15)?, reader.get(20)?), (None, Some(2)));
    assert_eq!((index.get(15)?, index.get(20)?), (Some(1), None));
    // The file is locked until the last of both is gone.
    drop(reader);
    index.close()?;

    let index: Index<u64, u64> = Index::open((storage, "orders"), &IndexOptions::default())?;
    let from_10: Vec<(u64, u64)> = index.range(10..40)?.collect::<Result<_, _>>()?;
    println!("{from_10:?}");
    assert_eq!(from_10, [(10, 1), (15, 1), (30, 3)]);
    Ok(())
}
