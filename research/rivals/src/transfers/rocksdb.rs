//! RocksDB's `OptimisticTransactionDB`: both accounts are read with `GetForUpdate`, which validates them.

use super::bank::{Bank, BankSystem, Teller, Transfer};
use crate::systems::rocksdb::{ROCKSDB, cached_options};
use anyhow::Result;
use ogive_research::stores::StoreSettings;
use rocksdb::{ErrorKind, OptimisticTransactionDB, OptimisticTransactionOptions, SingleThreaded, WriteOptions};
use std::path::Path;

pub(super) const ROCKSDB_BANK: BankSystem =
    BankSystem { store: &ROCKSDB, isolation: "OptimisticTransactionDB, GetForUpdate", open };

struct RocksDbBank {
    db: OptimisticTransactionDB<SingleThreaded>,
    synced: bool,
}

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn Bank>> {
    let db = OptimisticTransactionDB::open(&cached_options(settings)?, folder)?;
    Ok(Box::new(RocksDbBank { db, synced: settings.synced }))
}

impl Bank for RocksDbBank {
    fn teller(&self) -> Result<Box<dyn Teller + '_>> {
        let mut write = WriteOptions::default();
        write.set_sync(self.synced);
        let mut transaction = OptimisticTransactionOptions::default();
        transaction.set_snapshot(true);
        Ok(Box::new(RocksDbTeller { db: &self.db, write, transaction }))
    }
}

struct RocksDbTeller<'s> {
    db: &'s OptimisticTransactionDB<SingleThreaded>,
    write: WriteOptions,
    transaction: OptimisticTransactionOptions,
}

impl Teller for RocksDbTeller<'_> {
    fn transfer(&mut self, transfer: &Transfer) -> Result<u64> {
        for conflicts in 0.. {
            let tx = self.db.transaction_opt(&self.write, &self.transaction);
            let (from, to) = (tx.get_for_update(transfer.from, true)?, tx.get_for_update(transfer.to, true)?);
            let [from, to] = transfer.balances(from.as_deref(), to.as_deref())?;
            tx.put(transfer.from, from)?;
            tx.put(transfer.to, to)?;
            match tx.commit() {
                Ok(()) => return Ok(conflicts),
                Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::TryAgain) => {}
                Err(error) => return Err(error.into()),
            }
        }
        unreachable!("the loop has no end")
    }
}
