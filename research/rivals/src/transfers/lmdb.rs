//! LMDB: one write transaction at a time.

use super::bank::{Bank, BankSystem, Teller, Transfer};
use crate::systems::lmdb::{LMDB, Open};
use anyhow::Result;
use ogive_research::stores::StoreSettings;
use std::path::Path;

pub(super) const LMDB_BANK: BankSystem = BankSystem { store: &LMDB, isolation: "one writer at a time", open };

struct LmdbBank(Option<Open>);

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn Bank>> {
    Ok(Box::new(LmdbBank(Some(Open::new(folder, settings.synced)?))))
}

impl Drop for LmdbBank {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            open.close();
        }
    }
}

impl Bank for LmdbBank {
    fn teller(&self) -> Result<Box<dyn Teller + '_>> {
        let open = self.0.as_ref().ok_or_else(|| anyhow::anyhow!("the store is closed"))?;
        Ok(Box::new(LmdbTeller(open)))
    }
}

struct LmdbTeller<'s>(&'s Open);

impl Teller for LmdbTeller<'_> {
    fn transfer(&mut self, transfer: &Transfer) -> Result<u64> {
        let Open { env, database } = self.0;
        let mut tx = env.write_txn()?;
        let (from, to) = (database.get(&tx, &transfer.from)?, database.get(&tx, &transfer.to)?);
        let [from, to] = transfer.balances(from, to)?;
        database.put(&mut tx, &transfer.from, &from)?;
        database.put(&mut tx, &transfer.to, &to)?;
        tx.commit()?;
        Ok(0)
    }
}
