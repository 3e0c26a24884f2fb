//! redb.
//!
//! Batches that need not be synced are committed without durability, but for one in [`DURABLE_EVERY`]: the pages that
//! they free are only used again after a durable commit.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use ogive_research::stores::{StoreBatch, StoreReader, StoreSessions, StoreSettings, StoreSystem, StoreWriter};
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, TableDefinition, WriteTransaction};

pub(crate) const REDB: StoreSystem = StoreSystem { name: "redb", settings, reads_directly: false, open };

pub(crate) const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("records");
/// One commit in this number is durable where none need be.
const DURABLE_EVERY: u64 = 256;

pub(crate) struct Redb {
    database: Database,
    synced: bool,
    commits: AtomicU64,
}

fn settings(settings: &StoreSettings) -> String {
    let durable =
        if settings.synced { "each commit durable".into() } else { format!("one commit in {DURABLE_EVERY} durable") };
    format!("redb 4.5, cache {} MiB, {durable}, one read transaction for all lookups", settings.memory_bytes >> 20)
}

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn StoreSessions>> {
    Ok(Box::new(create(folder, settings)?))
}

pub(crate) fn create(folder: &Path, settings: &StoreSettings) -> Result<Redb> {
    let mut builder = Database::builder();
    builder.set_cache_size(settings.memory_bytes as usize);
    let database = builder.create(folder.join("data.redb"))?;
    let transaction = database.begin_write()?;
    transaction.open_table(TABLE)?;
    transaction.commit()?;
    Ok(Redb { database, synced: settings.synced, commits: AtomicU64::new(0) })
}

impl Redb {
    /// A write transaction, as durable as the settings ask for.
    pub(crate) fn begin(&self) -> Result<WriteTransaction> {
        let mut transaction = self.database.begin_write()?;
        let commit = self.commits.fetch_add(1, Ordering::Relaxed);
        if !self.synced && !(commit + 1).is_multiple_of(DURABLE_EVERY) {
            transaction.set_durability(Durability::None)?;
        }
        Ok(transaction)
    }
}

impl StoreSessions for Redb {
    fn writer(&self) -> Result<Box<dyn StoreWriter + '_>> {
        Ok(Box::new(RedbWriter(self)))
    }

    fn reader(&self, fresh: bool) -> Result<Box<dyn StoreReader + '_>> {
        let table = if fresh { None } else { Some(self.database.begin_read()?.open_table(TABLE)?) };
        Ok(Box::new(RedbReader { database: &self.database, table }))
    }

    fn compact(&mut self) -> Result<()> {
        self.wait_idle()?;
        self.database.compact()?;
        Ok(())
    }

    fn wait_idle(&mut self) -> Result<()> {
        Ok(self.database.begin_write()?.commit()?)
    }
}

struct RedbWriter<'s>(&'s Redb);

impl StoreWriter for RedbWriter<'_> {
    fn write(&mut self, batch: &StoreBatch) -> Result<()> {
        let transaction = self.0.begin()?;
        {
            let mut table = transaction.open_table(TABLE)?;
            for (key, value) in batch.iter() {
                table.insert(key, value)?;
            }
        }
        Ok(transaction.commit()?)
    }
}

struct RedbReader<'s> {
    database: &'s Database,
    table: Option<ReadOnlyTable<&'static [u8], &'static [u8]>>,
}

impl RedbReader<'_> {
    fn with<T>(&self, read: impl FnOnce(&ReadOnlyTable<&'static [u8], &'static [u8]>) -> Result<T>) -> Result<T> {
        match &self.table {
            Some(table) => read(table),
            None => read(&self.database.begin_read()?.open_table(TABLE)?),
        }
    }
}

impl StoreReader for RedbReader<'_> {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        self.with(|table| {
            let found = table.get(key)?;
            found.iter().for_each(|value| out.extend_from_slice(value.value()));
            Ok(found.is_some())
        })
    }

    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        out.clear();
        self.with(|table| {
            let mut count = 0;
            for record in table.range(from..)?.take(entries) {
                let (key, value) = record?;
                out.extend_from_slice(key.value());
                out.extend_from_slice(value.value());
                count += 1;
            }
            Ok(count)
        })
    }
}
