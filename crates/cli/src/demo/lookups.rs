//! Cold lookups, with their reads and measured times.

use crate::failure::{Failure, Result};
use crate::values::key;
use ogive::io::Storage;
use ogive::table::{ReadTrace, Table, TableOptions};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after which no more lookups are started.
const PATIENCE: Duration = Duration::from_secs(2);

/// A table that is opened for each lookup, so that nothing is cached.
#[derive(Debug)]
pub(crate) struct ColdTable<'a> {
    /// Storage that bypasses the page cache, if possible.
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) name: &'a str,
}

impl ColdTable<'_> {
    /// Opens the table and looks up a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<(Table, Option<Vec<u8>>, ReadTrace)> {
        let table = Table::open((Arc::clone(&self.storage), self.name), &TableOptions::default())?;
        let mut trace = ReadTrace { reads: vec![table.opening()] };
        let value = table.traced(&mut trace).get(key)?;
        Ok((table, value, trace))
    }
}

/// Totals of many lookups, including opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LookUps {
    /// Number of keys looked up.
    pub(crate) keys: u64,
    /// Requests to storage.
    pub(crate) requests: u64,
    /// Bytes that they read.
    pub(crate) read_bytes: u64,
    /// Measured median time of a lookup, in microseconds.
    pub(crate) median_us: f64,
    /// Whether the reads bypassed the page cache.
    pub(crate) cold: bool,
}

impl LookUps {
    /// Mean requests per lookup.
    pub(crate) fn requests_each(&self) -> f64 {
        self.requests as f64 / self.keys.max(1) as f64
    }

    /// Mean bytes per lookup.
    pub(crate) fn bytes_each(&self) -> f64 {
        self.read_bytes as f64 / self.keys.max(1) as f64
    }
}

/// Looks up keys that are all there or all absent, until the time for it is over.
///
/// # Errors
/// [`Failure::Refused`] when a lookup gives a wrong answer: the demonstration is also a test.
pub(crate) fn look_up(cold: &ColdTable<'_>, keys: impl Iterator<Item = Vec<u8>>, present: bool) -> Result<LookUps> {
    let mut sums = LookUps { cold: true, ..LookUps::default() };
    let mut times_us = Vec::new();
    let begun = Instant::now();
    for key in keys {
        // At least one, even if this process was paused.
        if sums.keys > 0 && begun.elapsed() >= PATIENCE {
            break;
        }
        let started = Instant::now();
        let (table, value, trace) = cold.get(&key)?;
        times_us.push(started.elapsed().as_secs_f64() * 1e6);
        if value.is_some() != present {
            return Err(Failure::refused(
                format!("the lookup of '{}' gave a wrong answer", key::shown(table.key_type(), &key)),
                "run `ogive verify` on the table, and report its output",
            ));
        }
        sums.keys += 1;
        sums.requests += trace.reads.len() as u64;
        sums.read_bytes += trace.bytes();
        sums.cold &= table.is_direct();
    }
    times_us.sort_by(f64::total_cmp);
    sums.median_us = times_us.get(times_us.len() / 2).copied().unwrap_or(0.0);
    Ok(sums)
}
