//! Backups of a running store: incremental, verified, and restored to an earlier day.

use ogive::backup::{BackupOptions, Backups};
use ogive::{Db, DbOptions, LocalStorage, Storage};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let db = Db::open(path("store"), &DbOptions::default())?;
    let source: Arc<dyn Storage> = Arc::new(LocalStorage::new(path("store")));
    let backups = Backups::at(path("backups"))?;
    let options = BackupOptions::default().keep(7);

    (0..10_000_u32).try_for_each(|id| db.insert(id.to_be_bytes(), "monday"))?;
    db.flush()?;
    // The store stays open; another process could make the backup as well.
    let monday = backups.create(&source, &options, &mut |_, _| ())?;
    (0..10_u32).try_for_each(|id| db.insert(id.to_be_bytes(), "tuesday"))?;
    let tuesday = backups.create(&source, &options, &mut |_, _| ())?;
    // Tables that monday has are not copied again.
    assert!(tuesday.copied_bytes < monday.copied_bytes);

    assert!(backups.verify(&mut |_, _| ())?.is_empty());
    backups.restore(Some(monday.backup.number), path("restored"), &mut |_, _| ())?;
    let restored = Db::open(path("restored"), &DbOptions::default())?;
    assert_eq!(restored.get(7_u32.to_be_bytes())?.as_deref(), Some(&b"monday"[..]));
    // A backup can also be read where it is.
    let newest = backups.open(None, &DbOptions::default())?;
    assert_eq!(newest.get(7_u32.to_be_bytes())?.as_deref(), Some(&b"tuesday"[..]));
    Ok(())
}
