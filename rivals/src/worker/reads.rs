//! Lookups and scans.

use anyhow::{Result, ensure};
use ogive_bench::random::Random;
use ogive_bench::workload::Asked;

use super::state::State;
use crate::process::{Measure, Timed};

/// Values that are compared with what was written.
const CHECKED: u64 = 10_000;
/// Entries of each scan that warms the caches.
const WARM_ENTRIES: usize = 1_000;

impl State {
    fn asked(&self, present: bool, requests: &str, count: u64, seed: u64) -> Result<Asked> {
        Ok(Asked::of(&self.records, self.places(requests, count, seed)?, present, seed))
    }

    pub(super) fn gets(&self, present: bool, requests: &str, count: u64, seed: u64) -> Result<Timed> {
        let asked = self.asked(present, requests, count, seed)?;
        let mut reader = self.store()?.reader(false)?;
        let (mut value, mut found) = (Vec::with_capacity(self.setup.value_bytes), 0);
        let start = Measure::start();
        for key in asked.iter() {
            found += u64::from(reader.get(key, &mut value)?);
        }
        let timed = start.stop(count);
        ensure!(found == if present { count } else { 0 }, "{found} of {count} keys were found");
        Ok(timed)
    }

    pub(super) fn scans(&self, entries: usize, requests: &str, count: u64, seed: u64) -> Result<Timed> {
        let asked = self.asked(true, requests, count, seed)?;
        let mut reader = self.store()?.reader(false)?;
        let (mut records, mut passed) = (Vec::new(), 0);
        let start = Measure::start();
        for key in asked.iter() {
            passed += reader.scan(key, entries, &mut records)?;
        }
        let timed = start.stop(count);
        ensure!(passed > 0, "the scans passed nothing");
        Ok(timed)
    }

    /// Reads everything once in order, and compares some values of a store that nothing was overwritten in.
    pub(super) fn warm(&self) -> Result<Timed> {
        let mut reader = self.store()?.reader(false)?;
        let loaded = self.population.loaded();
        let (mut key, mut out) = (Vec::new(), Vec::new());
        let start = Measure::start();
        for places in loaded.chunks(WARM_ENTRIES) {
            self.records.key(places[0], &mut key);
            let passed = reader.scan(&key, places.len(), &mut out)?;
            ensure!(
                passed == places.len(),
                "{passed} entries follow record {}, instead of {}",
                places[0],
                places.len()
            );
        }
        let timed = start.stop(loaded.len() as u64);
        let mut random = Random::new(self.setup.seed, "checks");
        let mut expected = Vec::new();
        for _ in 0..CHECKED {
            let place = loaded[random.below(loaded.len() as u64) as usize];
            self.records.key(place, &mut key);
            self.records.value(place, 0, &mut expected);
            let found = reader.get(&key, &mut out)?;
            ensure!(found && (self.version > 1 || out == expected), "record {place} is missing or has another value");
        }
        Ok(timed)
    }
}
