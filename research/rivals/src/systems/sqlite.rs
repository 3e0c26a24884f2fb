//! SQLite: one table without row ids, keyed by blobs, with a write-ahead log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use ogive_research::stores::{StoreBatch, StoreReader, StoreSessions, StoreSettings, StoreSystem, StoreWriter};
use rusqlite::{Connection, params};

pub(crate) const SQLITE: StoreSystem = StoreSystem { name: "sqlite", settings, reads_directly: false, open };

pub(crate) const DATA: &str = "data.sqlite";
pub(crate) const PUT: &str = "INSERT OR REPLACE INTO records VALUES (?1, ?2)";
pub(crate) const GET: &str = "SELECT value FROM records WHERE key = ?1";
const SCAN: &str = "SELECT key, value FROM records WHERE key >= ?1 ORDER BY key LIMIT ?2";
const PAGE_BYTES: i64 = 4096;
/// A commit waits so long for the ones before it.
const PATIENCE: Duration = Duration::from_secs(600);

struct Sqlite {
    path: PathBuf,
    settings: StoreSettings,
    /// Kept open, so that the log is not folded in whenever a handle goes.
    keeper: std::sync::Mutex<Connection>,
}

fn settings(settings: &StoreSettings) -> String {
    let synchronous = if settings.synced { "FULL" } else { "NORMAL" };
    format!(
        "SQLite 3 (rusqlite 0.41, bundled), WITHOUT ROWID, WAL, synchronous {synchronous}, pages {PAGE_BYTES} B, \
        cache and map {} MiB, \
         one read transaction for all lookups",
        settings.memory_bytes >> 20
    )
}

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn StoreSessions>> {
    let path = folder.join(DATA);
    let keeper = connect(&path, settings)?;
    keeper
        .execute("CREATE TABLE IF NOT EXISTS records (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID", [])?;
    Ok(Box::new(Sqlite { path, settings: *settings, keeper: keeper.into() }))
}

pub(crate) fn connect(path: &Path, settings: &StoreSettings) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", if settings.synced { "FULL" } else { "NORMAL" })?;
    // Negative: KiB instead of pages.
    connection.pragma_update(None, "cache_size", -((settings.memory_bytes >> 10) as i64))?;
    connection.pragma_update(None, "mmap_size", settings.memory_bytes as i64)?;
    Ok(connection)
}

impl Sqlite {
    fn keeper(&self) -> Result<std::sync::MutexGuard<'_, Connection>> {
        self.keeper.lock().map_err(|_| anyhow::anyhow!("a thread failed while it held the connection"))
    }
}

impl StoreSessions for Sqlite {
    fn writer(&self) -> Result<Box<dyn StoreWriter + '_>> {
        Ok(Box::new(SqliteHandle(connect(&self.path, &self.settings)?)))
    }

    fn reader(&self, fresh: bool) -> Result<Box<dyn StoreReader + '_>> {
        let connection = connect(&self.path, &self.settings)?;
        if !fresh {
            connection.execute_batch("BEGIN")?;
        }
        Ok(Box::new(SqliteHandle(connection)))
    }

    fn compact(&mut self) -> Result<()> {
        self.keeper()?.execute_batch("VACUUM")?;
        self.wait_idle()
    }

    fn wait_idle(&mut self) -> Result<()> {
        self.keeper()?.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }
}

struct SqliteHandle(Connection);

impl StoreWriter for SqliteHandle {
    fn write(&mut self, batch: &StoreBatch) -> Result<()> {
        if batch.len() == 1 {
            for (key, value) in batch.iter() {
                self.0.prepare_cached(PUT)?.execute(params![key, value])?;
            }
            return Ok(());
        }
        let transaction = self.0.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        {
            let mut put = transaction.prepare_cached(PUT)?;
            for (key, value) in batch.iter() {
                put.execute(params![key, value])?;
            }
        }
        Ok(transaction.commit()?)
    }
}

impl StoreReader for SqliteHandle {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let mut get = self.0.prepare_cached(GET)?;
        let mut rows = get.query([key])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        out.extend_from_slice(row.get_ref(0)?.as_blob()?);
        Ok(true)
    }

    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        out.clear();
        let mut scan = self.0.prepare_cached(SCAN)?;
        let mut rows = scan.query(params![from, entries as i64])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            out.extend_from_slice(row.get_ref(0)?.as_blob()?);
            out.extend_from_slice(row.get_ref(1)?.as_blob()?);
            count += 1;
        }
        Ok(count)
    }
}
