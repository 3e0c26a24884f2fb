//! A storage of one's own: a wrapper that counts how often each file is opened, under an unchanged store.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::io::{ReadableFile, StorageWrapper};
use ogive::{Db, DbOptions, MemoryStorage, Storage};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Default)]
struct Counting {
    inner: MemoryStorage,
    opened: Mutex<BTreeMap<String, u64>>,
}

impl StorageWrapper for Counting {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn open(&self, name: &str) -> ogive::Result<Arc<dyn ReadableFile>> {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default() += 1;
        self.inner.open(name)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let storage = Arc::new(Counting::default());
    let db = Db::open(storage.clone(), &DbOptions::default())?;
    (0..1_000_u32).try_for_each(|key| db.insert(key.to_be_bytes(), "value"))?;
    db.flush()?;
    db.close()?;
    drop(Db::open(storage.clone(), &DbOptions::default())?);
    let opened = storage.opened.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{opened:?}");
    assert!(opened.keys().any(|name| name.ends_with(".table")));
    Ok(())
}
