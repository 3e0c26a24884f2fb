//! fjall's `OptimisticTxDatabase`, which is serialisable.

use super::bank::{Bank, BankSystem, Teller, Transfer};
use crate::systems::fjall::{FJALL, cache_bytes, keyspace_options};
use anyhow::Result;
use fjall::{OptimisticTxDatabase, OptimisticTxKeyspace, PersistMode, Readable};
use ogive_research::stores::StoreSettings;
use std::path::Path;

pub(super) const FJALL_BANK: BankSystem =
    BankSystem { store: &FJALL, isolation: "OptimisticTxDatabase, serialisable", open };

struct FjallBank {
    database: OptimisticTxDatabase,
    accounts: OptimisticTxKeyspace,
    durability: PersistMode,
}

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn Bank>> {
    let database = OptimisticTxDatabase::builder(folder).cache_size(cache_bytes(settings)).open()?;
    let accounts = database.keyspace("records", || keyspace_options(settings))?;
    let durability = if settings.synced { PersistMode::SyncAll } else { PersistMode::Buffer };
    Ok(Box::new(FjallBank { database, accounts, durability }))
}

impl Bank for FjallBank {
    fn teller(&self) -> Result<Box<dyn Teller + '_>> {
        Ok(Box::new(FjallTeller(self)))
    }
}

struct FjallTeller<'s>(&'s FjallBank);

impl Teller for FjallTeller<'_> {
    fn transfer(&mut self, transfer: &Transfer) -> Result<u64> {
        let FjallBank { database, accounts, durability } = self.0;
        for conflicts in 0.. {
            let mut tx = database.write_tx()?.durability(Some(*durability));
            let (from, to) = (tx.get(accounts, transfer.from)?, tx.get(accounts, transfer.to)?);
            let [from, to] = transfer.balances(from.as_deref(), to.as_deref())?;
            tx.insert(accounts, transfer.from, from);
            tx.insert(accounts, transfer.to, to);
            if tx.commit()?.is_ok() {
                return Ok(conflicts);
            }
        }
        unreachable!("the loop has no end")
    }
}
