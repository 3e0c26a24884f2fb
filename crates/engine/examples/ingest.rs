//! Ingestion: tables that were built elsewhere become part of a store without being written again.

use ogive::{Db, DbOptions, LocalStorage, TableWriteOptions, TableWriter};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path().join("store"), &DbOptions::default())?;
    db.insert("key 00000007", "older")?;

    let storage = Arc::new(LocalStorage::new(folder.path()));
    let mut writer = TableWriter::create((storage, "night.ogive"), TableWriteOptions::default())?;
    (0..10_000).try_for_each(|i| writer.append(format!("key {i:08}").as_bytes(), b"of last night"))?;
    writer.finish()?;

    db.ingest([folder.path().join("night.ogive")])?;
    assert_eq!(db.get("key 00000007")?.as_deref(), Some(&b"of last night"[..]));
    assert_eq!(db.iter().count(), 10_000);
    Ok(())
}
