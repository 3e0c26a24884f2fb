//! Accounts in a store: a key of eight bytes, big-endian, and a balance of eight bytes.

use anyhow::{Context, Result};
use ogive_research::stores::{StoreSettings, StoreSystem};
use std::path::Path;

/// A system, and how it opens a store of accounts for transfers.
pub(super) struct BankSystem {
    /// The system that loads the accounts, and reads them at the end.
    pub(super) store: &'static StoreSystem,
    /// How a transfer is isolated, in one line.
    pub(super) isolation: &'static str,
    pub(super) open: fn(&Path, &StoreSettings) -> Result<Box<dyn Bank>>,
}

/// An open store of accounts.
pub(super) trait Bank: Sync {
    /// A handle for one thread.
    fn teller(&self) -> Result<Box<dyn Teller + '_>>;
}

/// What one thread transfers with.
pub(super) trait Teller {
    /// Moves money from one account to another, unless there is too little. Returns how often it met a conflict.
    fn transfer(&mut self, transfer: &Transfer) -> Result<u64>;
}

/// Two accounts and an amount.
pub(super) struct Transfer {
    pub(super) from: [u8; 8],
    pub(super) to: [u8; 8],
    pub(super) amount: u64,
}

impl Transfer {
    /// The balances afterwards, as they are stored.
    pub(super) fn balances(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<[[u8; 8]; 2]> {
        let (from, to) = (balance(from)?, balance(to)?);
        let moved = if from < self.amount { 0 } else { self.amount };
        Ok([(from - moved).to_le_bytes(), (to + moved).to_le_bytes()])
    }
}

/// A stored balance.
pub(super) fn balance(stored: Option<&[u8]>) -> Result<u64> {
    let stored = stored.context("an account is gone")?;
    Ok(u64::from_le_bytes(stored.try_into().context("a balance has 8 bytes")?))
}
