//! Ogive: `Db::transaction`, serialisable and optimistic.

use super::bank::{Bank, BankSystem, Teller, Transfer};
use ::ogive::{Db, DbOptions, Durability, Error};
use anyhow::Result;
use ogive_research::stores::{OGIVE, StoreSettings};
use std::path::Path;

pub(super) const OGIVE_BANK: BankSystem = BankSystem { store: &OGIVE, isolation: "serialisable, optimistic", open };

struct OgiveBank(Db);

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn Bank>> {
    let options = DbOptions::default()
        .memory_bytes(settings.memory_bytes)
        .writes(|writes| writes.memtable_bytes(settings.memtable_bytes))
        .durability(if settings.synced { Durability::Synced } else { Durability::Buffered })
        .compression(::ogive::block::Compression::None);
    Ok(Box::new(OgiveBank(Db::open(folder, &options)?)))
}

impl Bank for OgiveBank {
    fn teller(&self) -> Result<Box<dyn Teller + '_>> {
        Ok(Box::new(OgiveTeller(&self.0)))
    }
}

struct OgiveTeller<'s>(&'s Db);

impl Teller for OgiveTeller<'_> {
    fn transfer(&mut self, transfer: &Transfer) -> Result<u64> {
        let (accounts, mut runs) = (self.0, 0);
        accounts.transaction(|tx| {
            runs += 1;
            let (from, to) = (tx.get(accounts, transfer.from)?, tx.get(accounts, transfer.to)?);
            let balances = transfer.balances(from.as_deref(), to.as_deref());
            let [from, to] = balances.map_err(|error| Error::input(error.to_string()))?;
            tx.insert(accounts, transfer.from, from)?;
            tx.insert(accounts, transfer.to, to)?;
            Ok::<_, Error>(())
        })?;
        Ok(runs - 1)
    }
}
