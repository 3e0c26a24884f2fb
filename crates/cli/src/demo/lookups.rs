//! Many look-ups, each from cold: what one reads, and how long it takes here.

use super::files::{Files, Order};
use crate::failure::{Failure, Result};
use crate::key;
use ogive::io::Storage;
use ogive::table::{OpenOptions, ReadTrace, Table};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// No more look-ups are started after this, however slow the storage.
const PATIENCE: Duration = Duration::from_secs(2);

/// A table that is opened anew for each look-up, so that nothing of it is in memory.
#[derive(Debug)]
pub(crate) struct Cold<'a> {
    /// Reads past the page cache, where it can.
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) name: &'a str,
}

impl Cold<'_> {
    /// Opens the table and looks one key up.
    pub(crate) fn get(&self, key: &[u8]) -> Result<(Table, Option<Vec<u8>>, ReadTrace)> {
        let table = Table::open(Arc::clone(&self.storage), self.name, &OpenOptions::default())?;
        let mut receipt = ReadTrace { reads: vec![table.opening()] };
        let value = table.traced(&mut receipt).get(key)?;
        Ok((table, value, receipt))
    }
}

/// Sums over many look-ups, opening included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LookUps {
    /// How many keys were looked up.
    pub(crate) keys: u64,
    /// Requests to storage.
    pub(crate) requests: u64,
    /// Bytes that they read.
    pub(crate) read_bytes: u64,
    /// Median time of one, measured, in microseconds.
    pub(crate) median_us: f64,
    /// Whether the reads went past the page cache.
    pub(crate) cold: bool,
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

/// Looks up to `count` keys up, evenly taken from all: those of files, or such that no file has.
///
/// # Errors
/// [`Failure::Refused`] when a look-up gives a wrong answer: the demonstration is also a test.
pub(crate) fn look_up(cold: &Cold<'_>, files: &Files, order: Order, present: bool, count: usize) -> Result<LookUps> {
    let mut sums = LookUps { cold: true, ..LookUps::default() };
    let mut times_us = Vec::new();
    let stride = (files.len() / count.max(1)).max(1);
    let begun = Instant::now();
    for position in (stride / 2..files.len()).step_by(stride).take_while(|_| begun.elapsed() < PATIENCE) {
        let Some(file) = files.at(order, position) else { break };
        let key = if present { Some(Files::key(order, file)) } else { files.absent_key(order, file) };
        let Some(key) = key else { continue };
        let started = Instant::now();
        let (table, value, receipt) = cold.get(&key)?;
        times_us.push(started.elapsed().as_secs_f64() * 1e6);
        if value.is_some() != present {
            return Err(Failure::refused(
                format!("'{}' was looked up and the answer is wrong", key::shown(table.key_type(), &key)),
                "run `ogive verify` on the table, and report what it says",
            ));
        }
        sums.keys += 1;
        sums.requests += receipt.reads.len() as u64;
        sums.read_bytes += receipt.bytes();
        sums.cold &= table.is_direct();
    }
    times_us.sort_by(f64::total_cmp);
    sums.median_us = times_us.get(times_us.len() / 2).copied().unwrap_or(0.0);
    Ok(sums)
}
