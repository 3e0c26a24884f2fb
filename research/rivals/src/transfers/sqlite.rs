//! SQLite: `BEGIN IMMEDIATE`, so one writer at a time.

use super::bank::{Bank, BankSystem, Teller, Transfer};
use crate::systems::sqlite::{DATA, GET, PUT, SQLITE, connect};
use anyhow::Result;
use ogive_research::stores::StoreSettings;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};

pub(super) const SQLITE_BANK: BankSystem = BankSystem { store: &SQLITE, isolation: "BEGIN IMMEDIATE", open };

struct SqliteBank {
    path: PathBuf,
    settings: StoreSettings,
}

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn Bank>> {
    Ok(Box::new(SqliteBank { path: folder.join(DATA), settings: *settings }))
}

impl Bank for SqliteBank {
    fn teller(&self) -> Result<Box<dyn Teller + '_>> {
        Ok(Box::new(SqliteTeller(connect(&self.path, &self.settings)?)))
    }
}

struct SqliteTeller(Connection);

fn get(tx: &Transaction<'_>, key: &[u8]) -> Result<Option<Vec<u8>>> {
    Ok(tx.prepare_cached(GET)?.query_row([key], |row| row.get(0)).optional()?)
}

impl Teller for SqliteTeller {
    fn transfer(&mut self, transfer: &Transfer) -> Result<u64> {
        let tx = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (from, to) = (get(&tx, &transfer.from)?, get(&tx, &transfer.to)?);
        let balances = transfer.balances(from.as_deref(), to.as_deref())?;
        {
            let mut put = tx.prepare_cached(PUT)?;
            for (key, balance) in [transfer.from, transfer.to].iter().zip(&balances) {
                put.execute(params![&key[..], &balance[..]])?;
            }
        }
        tx.commit()?;
        Ok(0)
    }
}
