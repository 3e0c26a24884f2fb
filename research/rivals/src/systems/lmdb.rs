//! LMDB, through the crate `heed`.
//!
//! It has no cache of its own: its data are mapped into memory, so that no limit of memory holds it. Loads go through
//! the map (MDB_WRITEMAP), which saves a system call a page. `compact` copies the data into a new file in which the
//! pages lie in order.

use std::ops::Bound;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use heed::types::Bytes;
use heed::{CompactionOption, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithoutTls};
use ogive_research::stores::{StoreBatch, StoreReader, StoreSessions, StoreSettings, StoreSystem, StoreWriter};

pub(crate) const LMDB: StoreSystem = StoreSystem { name: "lmdb", settings, reads_directly: false, open };

/// Address space of the map: more than any data here.
const MAP_BYTES: usize = 256 << 30;
const MOST_READERS: u32 = 64;
const DATA: &str = "data.mdb";
const COPY: &str = "copy.mdb";

struct Lmdb {
    folder: PathBuf,
    synced: bool,
    /// None only while it is replaced.
    open: Option<Open>,
}

pub(crate) struct Open {
    pub(crate) env: Env<WithoutTls>,
    pub(crate) database: Database<Bytes, Bytes>,
}

fn settings(settings: &StoreSettings) -> String {
    let durable = if settings.synced { "synced" } else { "MDB_NOSYNC and MDB_WRITEMAP" };
    format!(
        "LMDB 0.9.70 and later (heed 0.22), {durable}, MDB_NORDAHEAD, one read transaction for all lookups; \
         no limit of memory"
    )
}

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn StoreSessions>> {
    let open = Some(Open::new(folder, settings.synced)?);
    Ok(Box::new(Lmdb { folder: folder.into(), synced: settings.synced, open }))
}

impl Open {
    #[expect(
        unsafe_code,
        reason = "the map is undefined if another process changes the file; no other process knows the folder"
    )]
    pub(crate) fn new(folder: &Path, synced: bool) -> Result<Self> {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(MAP_BYTES).max_readers(MOST_READERS);
        let unsynced = if synced { EnvFlags::empty() } else { EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP };
        let env = unsafe { options.flags(EnvFlags::NO_READ_AHEAD | unsynced).open(folder)? };
        let mut transaction = env.write_txn()?;
        let database = env.create_database(&mut transaction, None)?;
        transaction.commit()?;
        Ok(Self { env, database })
    }

    pub(crate) fn close(self) {
        self.env.prepare_for_closing().wait();
    }
}

impl Lmdb {
    fn open(&self) -> Result<&Open> {
        self.open.as_ref().context("the store is closed")
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            open.close();
        }
    }
}

impl Drop for Lmdb {
    fn drop(&mut self) {
        self.close();
    }
}

impl StoreSessions for Lmdb {
    fn writer(&self) -> Result<Box<dyn StoreWriter + '_>> {
        Ok(Box::new(LmdbWriter(self.open()?)))
    }

    fn reader(&self, fresh: bool) -> Result<Box<dyn StoreReader + '_>> {
        let open = self.open()?;
        let transaction = if fresh { None } else { Some(open.env.read_txn()?) };
        Ok(Box::new(LmdbReader { open, transaction }))
    }

    fn compact(&mut self) -> Result<()> {
        let (data, copy) = (self.folder.join(DATA), self.folder.join(COPY));
        self.open()?.env.copy_to_path(&copy, CompactionOption::Enabled)?;
        self.close();
        std::fs::rename(copy, data)?;
        self.open = Some(Open::new(&self.folder, self.synced)?);
        Ok(())
    }

    fn wait_idle(&mut self) -> Result<()> {
        Ok(())
    }
}

struct LmdbWriter<'s>(&'s Open);

impl StoreWriter for LmdbWriter<'_> {
    fn write(&mut self, batch: &StoreBatch) -> Result<()> {
        let mut transaction = self.0.env.write_txn()?;
        for (key, value) in batch.iter() {
            self.0.database.put(&mut transaction, key, value)?;
        }
        Ok(transaction.commit()?)
    }
}

struct LmdbReader<'s> {
    open: &'s Open,
    transaction: Option<RoTxn<'s, WithoutTls>>,
}

impl LmdbReader<'_> {
    fn with<T>(&self, read: impl FnOnce(&Database<Bytes, Bytes>, &RoTxn<'_, WithoutTls>) -> Result<T>) -> Result<T> {
        match &self.transaction {
            Some(transaction) => read(&self.open.database, transaction),
            None => read(&self.open.database, &self.open.env.read_txn()?),
        }
    }
}

impl StoreReader for LmdbReader<'_> {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        self.with(|database, transaction| {
            let found = database.get(transaction, key)?;
            found.iter().for_each(|value| out.extend_from_slice(value));
            Ok(found.is_some())
        })
    }

    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        out.clear();
        self.with(|database, transaction| {
            let mut count = 0;
            for record in database.range(transaction, &(Bound::Included(from), Bound::Unbounded))?.take(entries) {
                let (key, value) = record?;
                out.extend_from_slice(key);
                out.extend_from_slice(value);
                count += 1;
            }
            Ok(count)
        })
    }
}
