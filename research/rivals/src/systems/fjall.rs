//! fjall.

use std::path::Path;

use anyhow::Result;
use fjall::config::{HashRatioPolicy, PartitioningPolicy, PinningPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use ogive_research::stores::{StoreBatch, StoreReader, StoreSessions, StoreSettings, StoreSystem, StoreWriter};

/// With each commit at the operating system when it returns.
pub(crate) const FJALL: StoreSystem = StoreSystem {
    name: "fjall",
    settings: |settings| described(settings, Some(PersistMode::Buffer)),
    reads_directly: false,
    open: |folder, settings| open(folder, settings, Some(PersistMode::Buffer)),
};

/// As it comes: a commit may stay in a buffer of the process, so that an end of the process loses it.
pub(crate) const FJALL_IN_PROCESS: StoreSystem = StoreSystem {
    name: "fjall-in-process",
    settings: |settings| described(settings, None),
    reads_directly: false,
    open: |folder, settings| open(folder, settings, None),
};

/// Slots of the hash index of a block for each entry.
const HASH_RATIO: f32 = 1.33;
/// Memtables that may exist at a time; they count against the memory.
const MEMTABLES: u64 = 3;

struct Fjall {
    database: Database,
    keyspace: Keyspace,
    /// What each commit does with the log.
    durability: Option<PersistMode>,
}

pub(crate) fn cache_bytes(settings: &StoreSettings) -> u64 {
    settings.memory_bytes.saturating_sub(MEMTABLES * settings.memtable_bytes).max(8 << 20)
}

fn described(settings: &StoreSettings, durability: Option<PersistMode>) -> String {
    format!(
        "fjall 3.1, cache {} MiB, memtables {} MiB, commits {}, hash index in blocks, indexes and filters whole and \
        pinned, no compression",
        cache_bytes(settings) >> 20,
        settings.memtable_bytes >> 20,
        if durability.is_some() { "handed to the operating system" } else { "in the process only" }
    )
}

fn open(folder: &Path, settings: &StoreSettings, durability: Option<PersistMode>) -> Result<Box<dyn StoreSessions>> {
    let database = Database::builder(folder).cache_size(cache_bytes(settings)).open()?;
    let keyspace = database.keyspace("records", || keyspace_options(settings))?;
    let durability = if settings.synced { Some(PersistMode::SyncAll) } else { durability };
    Ok(Box::new(Fjall { database, keyspace, durability }))
}

pub(crate) fn keyspace_options(settings: &StoreSettings) -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(settings.memtable_bytes)
        .data_block_hash_ratio_policy(HashRatioPolicy::all(HASH_RATIO))
        .index_block_partitioning_policy(PartitioningPolicy::all(false))
        .filter_block_partitioning_policy(PartitioningPolicy::all(false))
        .index_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_pinning_policy(PinningPolicy::all(true))
}

impl StoreSessions for Fjall {
    fn writer(&self) -> Result<Box<dyn StoreWriter + '_>> {
        Ok(Box::new(FjallWriter(self)))
    }

    fn reader(&self, _fresh: bool) -> Result<Box<dyn StoreReader + '_>> {
        Ok(Box::new(FjallReader(&self.keyspace)))
    }

    fn compact(&mut self) -> Result<()> {
        self.wait_idle()?;
        Ok(self.keyspace.major_compact()?)
    }

    fn wait_idle(&mut self) -> Result<()> {
        self.keyspace.rotate_memtable_and_wait()?;
        while self.database.outstanding_flushes() > 0 || self.database.active_compactions() > 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(())
    }
}

struct FjallWriter<'s>(&'s Fjall);

impl StoreWriter for FjallWriter<'_> {
    fn write(&mut self, batch: &StoreBatch) -> Result<()> {
        let mut together = self.0.database.batch().durability(self.0.durability);
        for (key, value) in batch.iter() {
            together.insert(&self.0.keyspace, key, value);
        }
        Ok(together.commit()?)
    }
}

struct FjallReader<'s>(&'s Keyspace);

impl StoreReader for FjallReader<'_> {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let found = self.0.get(key)?;
        found.iter().for_each(|value| out.extend_from_slice(value));
        Ok(found.is_some())
    }

    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        out.clear();
        let mut count = 0;
        for guard in self.0.range(from..).take(entries) {
            let (key, value) = guard.into_inner()?;
            out.extend_from_slice(&key);
            out.extend_from_slice(&value);
            count += 1;
        }
        Ok(count)
    }
}
