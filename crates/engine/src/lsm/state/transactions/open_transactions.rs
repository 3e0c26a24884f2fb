//! The transactions of a store that have begun and not ended, for its statistics.

use crate::io::local::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The open transactions, each with the time at which it began, by the milliseconds that have passed on the clock of
/// the store; oldest first.
#[derive(Debug, Default)]
pub(in crate::lsm) struct OpenTransactions(Mutex<BTreeMap<u64, u64>>);

/// An open transaction, until it is dropped.
#[derive(Debug)]
pub(in crate::lsm) struct OpenTransaction {
    all: Arc<OpenTransactions>,
    number: u64,
    begun_ms: u64,
}

impl OpenTransactions {
    /// Registers a transaction that begins at a time.
    pub(in crate::lsm) fn begin(all: &Arc<Self>, begun_ms: u64) -> OpenTransaction {
        let mut open = all.0.lock();
        let number = open.last_key_value().map_or(0, |(newest, _)| newest + 1);
        open.insert(number, begun_ms);
        OpenTransaction { all: Arc::clone(all), number, begun_ms }
    }

    /// The number of open transactions, and the age of the oldest in seconds, if there is one.
    pub(in crate::lsm) fn ages(&self, passed_ms: u64) -> (u64, Option<f64>) {
        let open = self.0.lock();
        let age_s = |begun_ms: u64| passed_ms.saturating_sub(begun_ms) as f64 / 1e3;
        (open.len() as u64, open.first_key_value().map(|(_, &begun_ms)| age_s(begun_ms)))
    }
}

impl OpenTransaction {
    /// When it began, by the milliseconds that have passed on the clock of the store.
    pub(in crate::lsm) fn begun_ms(&self) -> u64 {
        self.begun_ms
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.number);
    }
}
