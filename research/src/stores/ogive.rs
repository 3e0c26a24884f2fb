//! Ogive as a system under test: by its default path, and by each of its paths alone.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::bourbon::LearningRule;
use anyhow::Result;
use ogive::Durability;
use ogive::block::Compression;
use ogive::io::LocalStorage;
use ogive::lsm::{Batch as Together, Db, DbOptions, Learning};

use super::batch::StoreBatch;
use super::store::{KeyValueStore, StoreSessions};
use super::system::{StoreSettings, StoreSystem};

/// Ogive, as it is by default.
pub const OGIVE: StoreSystem = StoreSystem {
    name: "ogive",
    settings: |settings| described(settings, Learning::default()),
    reads_directly: true,
    open: |folder, settings| open(folder, settings, Learning::default()),
};

/// All values in the value log, as in WiscKey.
pub(super) const SEPARATED: StoreSystem = StoreSystem {
    name: "ogive-separated",
    settings: |settings| format!("all values separated, {}", described(settings, Learning::default())),
    reads_directly: true,
    open: |folder, settings| {
        open_with(folder, settings, &options(settings, Learning::default()).values(|values| values.separation_bytes(0)))
    },
};

/// LevelDB's way: resident full keys of all blocks, restart points in them.
pub(super) const PLAIN: StoreSystem = StoreSystem {
    name: "ogive-plain",
    settings: |settings| described(settings, LearningRule::Never.into()),
    reads_directly: true,
    open: |folder, settings| open(folder, settings, LearningRule::Never.into()),
};

/// A piecewise linear model of each table.
pub(super) const PLR: StoreSystem = StoreSystem {
    name: "ogive-plr",
    settings: |settings| described(settings, LearningRule::Inline.into()),
    reads_directly: true,
    open: |folder, settings| open(folder, settings, LearningRule::Inline.into()),
};

struct OgiveStore(Db);

fn options(settings: &StoreSettings, learning: Learning) -> DbOptions {
    DbOptions::default()
        .memory_bytes(settings.memory_bytes)
        .writes(|writes| writes.memtable_bytes(settings.memtable_bytes))
        .durability(if settings.synced { Durability::Synced } else { Durability::Buffered })
        .compression(if settings.lz4 { Compression::Lz4 } else { Compression::None })
        .learning(learning)
}

fn described(settings: &StoreSettings, learning: Learning) -> String {
    let name = learning.name();
    let options = options(settings, learning);
    format!(
        "learning {name}, memory {} MiB, memtable {} MiB, {} threads, {}, otherwise as it comes",
        options.memory_bytes >> 20,
        options.writes.memtable_bytes >> 20,
        options.threads,
        settings.compression_name()
    )
}

fn open(folder: &Path, settings: &StoreSettings, learning: Learning) -> Result<Box<dyn StoreSessions>> {
    open_with(folder, settings, &options(settings, learning))
}

fn open_with(folder: &Path, settings: &StoreSettings, options: &DbOptions) -> Result<Box<dyn StoreSessions>> {
    let storage = if settings.direct { LocalStorage::direct(folder) } else { LocalStorage::new(folder) };
    Ok(Box::new(OgiveStore(Db::open(Arc::new(storage), options)?)))
}

impl KeyValueStore for OgiveStore {
    fn write(&self, batch: &StoreBatch) -> Result<()> {
        if let (1, Some((key, value))) = (batch.len(), batch.iter().next()) {
            return Ok(self.0.insert(key, value)?);
        }
        let mut together: Together = self.0.batch();
        for (key, value) in batch.iter() {
            together.insert(&self.0, key, value);
        }
        Ok(together.commit()?)
    }

    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        Ok(self.0.get_into(key, out)?)
    }

    fn scan(&self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        out.clear();
        let mut count = 0;
        if entries == 0 {
            return Ok(0);
        }
        self.0.range(from..).visit(|key, value| {
            out.extend_from_slice(key);
            out.extend_from_slice(value);
            count += 1;
            if count < entries { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(count)
    }

    fn compact(&mut self) -> Result<()> {
        Ok(self.0.compact()?)
    }

    fn wait_idle(&mut self) -> Result<()> {
        Ok(self.0.flush()?)
    }
}
