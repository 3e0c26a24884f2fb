//! Look-ups and scans.

use std::time::Instant;

use anyhow::{Result, ensure};
use ogive_bench::random::Random;

use super::state::{State, Timed, nanoseconds};

/// Values that are compared with what was written.
const CHECKED: u64 = 10_000;
/// Entries of each scan that warms the caches.
const WARM_ENTRIES: usize = 1_000;

/// Keys in the order in which they are asked for, one after the other in memory: fetching them costs nothing beside the look-up.
struct Asked {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Asked {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

impl State {
    fn asked(&self, present: bool, requests: &str, count: u64, seed: u64) -> Result<Asked> {
        let mut random = Random::new(seed, "absent keys");
        let (mut asked, mut key) = (Asked { bytes: Vec::new(), ends: Vec::new() }, Vec::new());
        for place in self.places(requests, count, seed)? {
            if present {
                self.records.key(place, &mut key);
            } else {
                self.records.absent_key(place, &mut random, &mut key);
            }
            asked.bytes.extend_from_slice(&key);
            asked.ends.push(asked.bytes.len());
        }
        Ok(asked)
    }

    pub(super) fn gets(&self, present: bool, requests: &str, count: u64, seed: u64) -> Result<Timed> {
        let asked = self.asked(present, requests, count, seed)?;
        let mut reader = self.store()?.reader(false)?;
        let (mut value, mut found) = (Vec::with_capacity(self.setup.value_bytes), 0);
        let start = Instant::now();
        for key in asked.iter() {
            found += u64::from(reader.get(key, &mut value)?);
        }
        let elapsed_ns = nanoseconds(start);
        ensure!(found == if present { count } else { 0 }, "{found} of {count} keys were found");
        Ok((count, elapsed_ns))
    }

    pub(super) fn scans(&self, entries: usize, requests: &str, count: u64, seed: u64) -> Result<Timed> {
        let asked = self.asked(true, requests, count, seed)?;
        let mut reader = self.store()?.reader(false)?;
        let (mut records, mut passed) = (Vec::new(), 0);
        let start = Instant::now();
        for key in asked.iter() {
            passed += reader.scan(key, entries, &mut records)?;
        }
        let elapsed_ns = nanoseconds(start);
        ensure!(passed > 0, "the scans passed nothing");
        Ok((count, elapsed_ns))
    }

    /// Reads everything once in order, and compares some values of a store that nothing was overwritten in.
    pub(super) fn warm(&self) -> Result<Timed> {
        let mut reader = self.store()?.reader(false)?;
        let loaded = self.population.loaded();
        let (mut key, mut out) = (Vec::new(), Vec::new());
        let start = Instant::now();
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
        let elapsed_ns = nanoseconds(start);
        let mut random = Random::new(self.setup.seed, "checks");
        let mut expected = Vec::new();
        for _ in 0..CHECKED {
            let place = loaded[random.below(loaded.len() as u64) as usize];
            self.records.key(place, &mut key);
            self.records.value(place, 0, &mut expected);
            let found = reader.get(&key, &mut out)?;
            ensure!(found && (self.version > 1 || out == expected), "record {place} is missing or has another value");
        }
        Ok((loaded.len() as u64, elapsed_ns))
    }
}
