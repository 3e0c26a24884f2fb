//! Metered lookups: their reads, and modelled times for several profiles at once.

use std::sync::Arc;

use anyhow::{Result, ensure};
use ogive::io::{Meter, ModelledClock, Profile, Storage};
use ogive::table::{Table, TableOptions};

use super::keys::{Keys, fill_value};
use super::tables::NAME;
use crate::random::mix;
use crate::workload::Workload;

/// Memory of a table that is opened for one lookup, in bytes; its cache is never used.
pub(super) const COLD_MEMORY_BYTES: u64 = 1 << 20;

/// A storage with the clocks of several profiles over one meter: each lookup is made once and priced by all.
pub(super) struct Bench {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) meter: Meter,
    pub(super) clocks: Vec<ModelledClock>,
}

impl Bench {
    pub(super) fn new(inner: Arc<dyn Storage>, profiles: &[Profile]) -> Self {
        let meter = Meter::new(inner);
        let mut storage: Arc<dyn Storage> = Arc::new(meter.clone());
        let mut clocks = Vec::new();
        for profile in profiles {
            let clock = ModelledClock::new(storage, profile.clone());
            storage = Arc::new(clock.clone());
            clocks.push(clock);
        }
        Self { storage, meter, clocks }
    }

    pub(super) fn open(&self, memory_bytes: u64) -> Result<Table> {
        self.open_with(&TableOptions::default().memory_bytes(memory_bytes))
    }

    pub(super) fn open_with(&self, options: &TableOptions) -> Result<Table> {
        Ok(Table::open((Arc::clone(&self.storage), NAME), options)?)
    }

    /// Microseconds since the last call, by each clock.
    pub(super) fn lap_us(&self) -> Vec<f64> {
        self.clocks.iter().map(ModelledClock::reset).collect()
    }
}

/// Means over lookups that each reopened the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Cold {
    /// Opening and lookup, in microseconds, by each clock.
    pub(super) mean_us: Vec<f64>,
    /// Blocks of 4 KiB of the lookup, without opening.
    pub(super) blocks_per_get: f64,
    /// The same for absent keys.
    pub(super) blocks_per_absent_get: f64,
    /// The same, including opening.
    pub(super) blocks_per_cold_get: f64,
    /// Requests of the lookup, without opening.
    pub(super) requests_per_get: f64,
    /// Bytes read by the lookup, without opening.
    pub(super) bytes_per_get: f64,
    /// Lookups made.
    pub(super) lookups: usize,
}

/// Options of cold lookups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Memory of each opened table.
    pub(super) memory_bytes: u64,
    /// Limit on the bytes read by all lookups.
    pub(super) most_bytes: u64,
}

/// Opens the table and looks up a key, for each of `positions`, then an absent key after each.
pub(super) fn look_up_cold(
    bench: &Bench,
    keys: &Keys,
    positions: &[u64],
    payload_bytes: u32,
    limits: Limits,
) -> Result<Cold> {
    let mut cold = look_up_present(bench, keys, positions, payload_bytes, limits)?;
    let (mut blocks, mut absent) = (0, 0_u64);
    for key in positions.iter().take(cold.lookups).filter_map(|&position| absent_key(keys, position as usize)) {
        let table = bench.open(limits.memory_bytes)?;
        bench.meter.reset();
        let found = table.get(&key)?;
        ensure!(found.is_none(), "a lookup of {key:?}, which is absent, found {found:?}");
        blocks += bench.meter.reset().reads.blocks;
        absent += 1;
    }
    cold.blocks_per_absent_get = blocks as f64 / absent.max(1) as f64;
    Ok(cold)
}

/// A key in the first gap at or after a position; `None` if no gap follows.
fn absent_key(keys: &Keys, position: usize) -> Option<Vec<u8>> {
    match keys {
        Keys::Integers(all) => all[position..].windows(2).find(|pair| pair[1] - pair[0] > 1).map(|pair| {
            let free = pair[1] - pair[0] - 1;
            (pair[0] + 1 + mix(pair[0]) % free).to_be_bytes().to_vec()
        }),
        Keys::Lines(all) => (position..all.len()).find_map(|at| {
            let next = [&all[at][..], &[0]].concat();
            all.get(at + 1).is_none_or(|high| next < *high).then_some(next)
        }),
    }
}

/// Opens the table and looks up a key, for each of `positions`, up to the limit on bytes.
fn look_up_present(bench: &Bench, keys: &Keys, positions: &[u64], payload_bytes: u32, limits: Limits) -> Result<Cold> {
    let mut cold = Cold { mean_us: vec![0.0; bench.clocks.len()], ..Cold::default() };
    let mut bytes = 0;
    bench.lap_us();
    for &position in positions {
        bench.meter.reset();
        let table = bench.open(limits.memory_bytes)?;
        let opening = bench.meter.reset().reads;
        check(&table, &keys.at(position as usize), payload_bytes)?;
        let get = bench.meter.reset().reads;
        cold.blocks_per_get += get.blocks as f64;
        cold.blocks_per_cold_get += (opening.blocks + get.blocks) as f64;
        cold.requests_per_get += get.requests as f64;
        cold.bytes_per_get += get.bytes as f64;
        cold.lookups += 1;
        bytes += opening.bytes + get.bytes;
        if bytes > limits.most_bytes {
            break;
        }
    }
    let count = cold.lookups.max(1) as f64;
    cold.mean_us = bench.lap_us().into_iter().map(|total_us| total_us / count).collect();
    let means =
        [&mut cold.blocks_per_get, &mut cold.blocks_per_cold_get, &mut cold.requests_per_get, &mut cold.bytes_per_get];
    means.into_iter().for_each(|mean| *mean /= count);
    Ok(cold)
}

/// Looks up a present key and compares the value.
pub(super) fn check(table: &Table, key: &[u8], payload_bytes: u32) -> Result<()> {
    let mut expected = vec![0; payload_bytes as usize];
    fill_value(key, &mut expected);
    let found = table.get(key)?;
    ensure!(found.as_deref() == Some(&expected), "a lookup of {key:?} found {found:?} instead of {expected:?}");
    Ok(())
}

/// Random records to look up.
pub(super) fn positions(keys: &Keys, workload: &Workload, lookups: usize, seed: u64) -> Result<Vec<u64>> {
    ensure!(keys.len() > 0, "an empty key set has no keys to look up; take one with keys");
    Ok(workload.positions(keys.len() as u64, lookups, seed)?)
}
