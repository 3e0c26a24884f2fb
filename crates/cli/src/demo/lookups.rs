//! Many look-ups, counted: what one costs on average, for keys that are there and keys that are not.

use super::files::{Files, Order};
use crate::failure::{Failure, Result};
use crate::key;
use ogive::table::{Receipt, Table};
use serde::Serialize;

/// Sums over many look-ups in an open table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LookUps {
    /// How many keys were looked up.
    pub(crate) keys: u64,
    /// Requests to storage.
    pub(crate) requests: u64,
    /// Bytes that they read.
    pub(crate) read_bytes: u64,
}

impl LookUps {
    /// Requests of one look-up, on average.
    pub(crate) fn requests_each(&self) -> f64 {
        self.requests as f64 / self.keys.max(1) as f64
    }

    /// Bytes read by one look-up, on average.
    pub(crate) fn bytes_each(&self) -> f64 {
        self.read_bytes as f64 / self.keys.max(1) as f64
    }
}

/// Looks up to `count` keys up, evenly taken from all: those of files, or such that no file has. Counts what is read from
/// storage.
///
/// # Errors
/// [`Failure::Refused`] when a look-up gives a wrong answer: the demonstration is also a test.
pub(crate) fn look_up(table: &Table, files: &Files, order: Order, present: bool, count: usize) -> Result<LookUps> {
    let mut sums = LookUps::default();
    let stride = (files.len() / count.max(1)).max(1);
    for position in (stride / 2..files.len()).step_by(stride) {
        let Some(file) = files.at(order, position) else { break };
        let key = if present { Some(Files::key(order, file)) } else { files.absent_key(order, file) };
        let Some(key) = key else { continue };
        let mut receipt = Receipt::new();
        let found = table.traced(&mut receipt).get(&key)?.is_some();
        if found != present {
            return Err(Failure::refused(
                format!("'{}' was looked up and the answer is wrong", key::shown(table.key_type(), &key)),
                "run `ogive verify` on the table, and report what it says",
            ));
        }
        sums.keys += 1;
        sums.requests += receipt.reads.len() as u64;
        sums.read_bytes += receipt.bytes();
    }
    Ok(sums)
}
