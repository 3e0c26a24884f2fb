//! The transactions of a store that have begun and not ended, for its statistics.

use crate::io::Timer;
use crate::io::local::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The open transactions, each with a timer that was started at its beginning, oldest first.
#[derive(Debug, Default)]
pub(in crate::lsm) struct OpenTransactions(Mutex<BTreeMap<u64, Timer>>);

/// An open transaction, until it is dropped.
#[derive(Debug)]
pub(in crate::lsm) struct OpenTransaction {
    all: Arc<OpenTransactions>,
    number: u64,
}

impl OpenTransactions {
    /// Registers a transaction that begins now.
    pub(in crate::lsm) fn begin(all: &Arc<Self>) -> OpenTransaction {
        let mut open = all.0.lock();
        let number = open.last_key_value().map_or(0, |(newest, _)| newest + 1);
        open.insert(number, Timer::start());
        OpenTransaction { all: Arc::clone(all), number }
    }

    /// The number of open transactions, and the age of the oldest in seconds, if there is one.
    pub(in crate::lsm) fn ages(&self) -> (u64, Option<f64>) {
        let open = self.0.lock();
        (open.len() as u64, open.first_key_value().map(|(_, begun)| begun.elapsed_s()))
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.number);
    }
}
