//! Ogive on an object store.

use super::compare::{Load, ObjectSystem, block_on};
use super::throttle::version_13::{Throttled, stored_bytes};
use super::throttle::{Counts, Line};
use anyhow::Result;
use ogive::Durability;
use ogive::io::{Profile, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive_object_store::{ObjectOptions, ObjectStorage};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Memory for reading that has no room for blocks beside what opens tables, and their filters.
const SMALL_MEMORY_BYTES: u64 = 8 << 20;

/// How it is set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    memory_bytes: Option<u64>,
}

pub(super) const VARIANTS: [Variant; 2] = [
    Variant { name: "ogive", about: "as it comes", memory_bytes: None },
    Variant {
        name: "ogive-small",
        about: "8 MiB of memory: ends of tables and filters, few blocks",
        memory_bytes: Some(SMALL_MEMORY_BYTES),
    },
];

pub(super) struct Ogive {
    line: Arc<Line>,
    store: Throttled,
    storage: Arc<dyn Storage>,
    db: Option<Db>,
    variant: Variant,
}

impl Ogive {
    pub(super) fn new() -> Result<Self> {
        let line = Arc::new(Line::new());
        let store = Throttled::new(line.clone());
        let options = ObjectOptions::default().profile(Profile::named("s3")?);
        let storage = ObjectStorage::new(Arc::new(store.clone()), "store", "throttled://bucket/store", &options)?;
        Ok(Self { line, store, storage: Arc::new(storage), db: None, variant: VARIANTS[0] })
    }

    pub(super) fn set(&mut self, variant: Variant) {
        self.variant = variant;
    }

    fn options(&self) -> DbOptions {
        let options = DbOptions::default();
        match self.variant.memory_bytes {
            Some(bytes) => options.memory_bytes(bytes),
            None => options,
        }
    }

    fn db(&self) -> Result<&Db> {
        self.db.as_ref().ok_or_else(|| anyhow::anyhow!("no store is open"))
    }
}

impl ObjectSystem for Ogive {
    fn counts(&self) -> Counts {
        self.line.counts()
    }

    fn stored_bytes(&self) -> Result<u64> {
        Ok(block_on(stored_bytes(&self.store))??)
    }

    fn load(&mut self, load: &Load<'_>) -> Result<()> {
        // As with SlateDB, a write returns before it is durable, and all of them are when the load ends.
        let db = Db::open(self.storage.clone(), &DbOptions::default().durability(Durability::Buffered))?;
        load.batches(|records| {
            let mut batch = db.batch();
            for (key, value) in records {
                batch.insert(&db, key, value);
            }
            Ok(batch.commit()?)
        })?;
        db.persist()?;
        self.db = Some(db);
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        if let Some(db) = self.db.take() {
            db.flush()?;
            db.close()?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        self.db = None;
        self.db = Some(Db::open_read_only(self.storage.clone(), &self.options())?);
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.db()?.get(key)?.map(|value| value.to_vec()))
    }

    fn multi_get(&self, keys: &[Vec<u8>]) -> Result<usize> {
        Ok(self.db()?.multi_get(keys)?.iter().flatten().count())
    }

    fn scan(&self, from: &[u8], entries: usize) -> Result<usize> {
        let mut count = 0;
        self.db()?.range(from..).visit(|_, _| {
            count += 1;
            if count < entries { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(count)
    }

    fn close(&mut self) -> Result<()> {
        self.db = None;
        Ok(())
    }
}
