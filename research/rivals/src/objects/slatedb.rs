//! SlateDB 0.18.

use super::compare::{Load, ObjectSystem, block_on};
use super::throttle::version_14::{Throttled, stored_bytes};
use super::throttle::{Counts, Line};
use anyhow::Result;
use futures_util::future::try_join_all;
use slatedb::config::{ScanOptions, Settings, SstBlockSize};
use slatedb::db_cache::SplitCache;
use slatedb::db_cache::foyer::{FoyerCache, FoyerCacheOptions};
use slatedb::{Db, DbBuilder, WriteBatch};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The compactor looks for work every five seconds: nothing was written for longer than that.
const QUIET: Duration = Duration::from_secs(12);
/// Compactions are waited for at most this long.
const SETTLE_MOST: Duration = Duration::from_secs(120);
/// Polls of the manifest do not fall into a measurement of reads.
const POLL: Duration = Duration::from_secs(3600);
const META_CACHE_BYTES: u64 = 128 << 20;
/// Scans of the best settings: bytes read ahead, and requests in flight.
const READ_AHEAD_BYTES: usize = 256 << 10;
const FETCH_TASKS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caches {
    None,
    /// Filters and indexes.
    Meta,
    Usual,
}

/// How it is set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    caches: Caches,
    is_best: bool,
}

/// With the settings of the crate, and with those that suit this store best among those tried: blocks of 16 KiB, scans
/// that read ahead.
pub(super) const USUAL: [Variant; 3] = [
    Variant { name: "slatedb", about: "as it comes, block cache of 640 MiB", caches: Caches::Usual, is_best: false },
    Variant { name: "slatedb-meta", about: "filters and indexes are cached", caches: Caches::Meta, is_best: false },
    Variant { name: "slatedb-uncached", about: "no cache", caches: Caches::None, is_best: false },
];
pub(super) const BEST: [Variant; 3] = [
    Variant { name: "slatedb-best", about: "blocks of 16 KiB, scans read ahead", caches: Caches::Usual, is_best: true },
    Variant {
        name: "slatedb-best-meta",
        about: "and filters and indexes are cached",
        caches: Caches::Meta,
        is_best: true,
    },
    Variant { name: "slatedb-best-uncached", about: "and no cache", caches: Caches::None, is_best: true },
];

pub(super) struct SlateDb {
    line: Arc<Line>,
    store: Throttled,
    db: Option<Db>,
    variant: Variant,
}

impl SlateDb {
    pub(super) fn new(variant: Variant) -> Self {
        let line = Arc::new(Line::new());
        Self { store: Throttled::new(line.clone()), line, db: None, variant }
    }

    pub(super) fn set(&mut self, variant: Variant) {
        self.variant = variant;
    }

    fn builder(&self, settings: Settings) -> DbBuilder<&'static str> {
        let builder = Db::builder("store", Arc::new(self.store.clone())).with_settings(settings);
        if self.variant.is_best { builder.with_sst_block_size(SstBlockSize::Block16Kib) } else { builder }
    }

    fn db(&self) -> Result<&Db> {
        self.db.as_ref().ok_or_else(|| anyhow::anyhow!("no store is open"))
    }
}

impl ObjectSystem for SlateDb {
    fn counts(&self) -> Counts {
        self.line.counts()
    }

    fn stored_bytes(&self) -> Result<u64> {
        Ok(block_on(stored_bytes(&self.store))??)
    }

    fn load(&mut self, load: &Load<'_>) -> Result<()> {
        let db = block_on(self.builder(Settings::default()).build())??;
        load.batches(|records| {
            let mut batch = WriteBatch::new();
            for (key, value) in records {
                batch.put(key, value);
            }
            block_on(db.write(batch))??;
            Ok(())
        })?;
        block_on(db.flush())??;
        self.db = Some(db);
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        let Some(db) = self.db.take() else { return Ok(()) };
        let (start, mut last, mut written) = (Instant::now(), Instant::now(), self.counts().written_bytes);
        while last.elapsed() < QUIET && start.elapsed() < SETTLE_MOST {
            std::thread::sleep(Duration::from_millis(100));
            let now = self.counts().written_bytes;
            // Polls write little.
            if now > written + (64 << 10) {
                (last, written) = (Instant::now(), now);
            }
        }
        Ok(block_on(db.close())??)
    }

    fn open(&mut self) -> Result<()> {
        self.close()?;
        let settings = Settings {
            compactor_options: None,
            garbage_collector_options: None,
            manifest_poll_interval: POLL,
            ..Settings::default()
        };
        let builder = self.builder(settings);
        let builder = match self.variant.caches {
            Caches::Usual => builder,
            Caches::None => builder.with_db_cache_disabled(),
            Caches::Meta => {
                let options = FoyerCacheOptions { max_capacity: META_CACHE_BYTES, ..FoyerCacheOptions::default() };
                let meta = Arc::new(FoyerCache::new_with_opts(options));
                builder.with_db_cache(Arc::new(SplitCache::new().with_meta_cache(Some(meta)).build()), 1)
            }
        };
        self.db = Some(block_on(builder.build())??);
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(block_on(self.db()?.get(key))??.map(|value| value.to_vec()))
    }

    fn multi_get(&self, keys: &[Vec<u8>]) -> Result<usize> {
        let db = self.db()?;
        let found = block_on(try_join_all(keys.iter().map(|key| db.get(key))))??;
        Ok(found.iter().flatten().count())
    }

    fn scan(&self, from: &[u8], entries: usize) -> Result<usize> {
        let options = match self.variant.is_best {
            true => {
                ScanOptions { read_ahead_bytes: READ_AHEAD_BYTES, max_fetch_tasks: FETCH_TASKS, ..Default::default() }
            }
            false => ScanOptions::default(),
        };
        let db = self.db()?;
        let scan = async {
            let mut records = db.scan_with_options(from.to_vec().., &options).await?;
            let mut count = 0;
            while count < entries && records.next().await?.is_some() {
                count += 1;
            }
            Ok::<_, slatedb::Error>(count)
        };
        Ok(block_on(scan)??)
    }

    fn close(&mut self) -> Result<()> {
        match self.db.take() {
            Some(db) => Ok(block_on(db.close())??),
            None => Ok(()),
        }
    }
}
