//! redb: one write transaction at a time.

use super::bank::{Bank, BankSystem, Teller, Transfer};
use crate::systems::redb::{REDB, Redb, TABLE, create};
use anyhow::Result;
use ogive_research::stores::StoreSettings;
use redb::ReadableTable;
use std::path::Path;

pub(super) const REDB_BANK: BankSystem = BankSystem { store: &REDB, isolation: "one writer at a time", open };

struct RedbBank(Redb);

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn Bank>> {
    Ok(Box::new(RedbBank(create(folder, settings)?)))
}

impl Bank for RedbBank {
    fn teller(&self) -> Result<Box<dyn Teller + '_>> {
        Ok(Box::new(RedbTeller(&self.0)))
    }
}

struct RedbTeller<'s>(&'s Redb);

impl Teller for RedbTeller<'_> {
    fn transfer(&mut self, transfer: &Transfer) -> Result<u64> {
        let tx = self.0.begin()?;
        {
            let mut accounts = tx.open_table(TABLE)?;
            let [from, to] = {
                let (from, to) = (accounts.get(&transfer.from[..])?, accounts.get(&transfer.to[..])?);
                transfer.balances(from.as_ref().map(|from| from.value()), to.as_ref().map(|to| to.value()))?
            };
            accounts.insert(&transfer.from[..], &from[..])?;
            accounts.insert(&transfer.to[..], &to[..])?;
        }
        tx.commit()?;
        Ok(0)
    }
}
