//! A backup: a checkpoint of a running store, verified before anybody relies on it.

use ogive::{Db, DbOptions, LocalStorage, Storage, verify_store};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (store, backup) = (folder.path().join("store"), folder.path().join("backup"));
    let db = Db::open(store, &DbOptions::default())?;
    (0..10_000_u32).try_for_each(|id| db.insert(id.to_be_bytes(), "before"))?;

    // Tables are linked, not copied, where both folders are on one file system.
    db.checkpoint(&backup)?;
    (0..10_000_u32).try_for_each(|id| db.insert(id.to_be_bytes(), "after"))?;

    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(&backup));
    let report = verify_store(&storage, &mut |_, _| ())?;
    assert!(report.findings.is_empty(), "{report:?}");
    let copy = Db::open(backup, &DbOptions::default())?;
    assert_eq!(copy.get(7_u32.to_be_bytes())?.as_deref(), Some(&b"before"[..]));
    Ok(())
}
