//! Lookups and scans, and the comparison of their answers.

use anyhow::{Result, ensure};

use super::answers::KeptAnswers;
use super::content::wrong_get;
use super::state::State;
use crate::random::Random;
use crate::stores::resources::{Measure, Timed};
use crate::stores::store::StoreReader;
use crate::workload::Asked;

/// Entries of each scan that warms the caches.
const WARM_ENTRIES: usize = 1_000;

impl State {
    pub(super) fn gets(&self, present: bool, requests: &str, count: u64, seed: u64) -> Result<Timed> {
        let places = self.places(requests, count, seed)?;
        let asked = Asked::of(&self.records, places.iter().copied(), present, seed);
        let mut reader = self.store()?.reader(false)?;
        let (mut value, mut found) = (Vec::with_capacity(self.setup.value_bytes), 0);
        let mut answers = KeptAnswers::new(count, self.setup.value_bytes);
        let start = Measure::start();
        for key in asked.iter() {
            let is_there = reader.get(key, &mut value)?;
            found += u64::from(is_there);
            answers.offer(is_there.into(), &value);
        }
        let timed = start.stop(count);
        if found != if present { count } else { 0 } {
            self.find_wrong_get(&places, &asked, present, reader.as_mut())?;
        }
        ensure!(found == if present { count } else { 0 }, "{found} of {count} gets found a record");
        if present {
            for (number, place) in (0..).zip(&places) {
                if let Some((found, value)) = answers.at(number) {
                    self.content.check_get(&self.records, *place, (found > 0).then_some(value))?;
                }
            }
        }
        Ok(timed)
    }

    /// Asks again until an answer is wrong, which is an error with its key.
    fn find_wrong_get(&self, places: &[u64], asked: &Asked, present: bool, reader: &mut dyn StoreReader) -> Result<()> {
        let mut value = Vec::new();
        for (place, key) in places.iter().zip(asked.iter()) {
            let answer = reader.get(key, &mut value)?.then_some(value.as_slice());
            if present {
                self.content.check_get(&self.records, *place, answer)?;
            } else if answer.is_some() {
                return Err(wrong_get(key, answer, None));
            }
        }
        Ok(())
    }

    pub(super) fn scans(&self, entries: usize, requests: &str, count: u64, seed: u64) -> Result<Timed> {
        let places = self.places(requests, count, seed)?;
        let asked = Asked::of(&self.records, places.iter().copied(), true, seed);
        let mut reader = self.store()?.reader(false)?;
        let (mut records, mut passed) = (Vec::new(), 0);
        let mut answers = KeptAnswers::new(count, entries * self.record_bytes());
        let start = Measure::start();
        for key in asked.iter() {
            let found = reader.scan(key, entries, &mut records)?;
            passed += found;
            answers.offer(found, &records);
        }
        let timed = start.stop(count);
        ensure!(passed > 0, "the scans passed nothing");
        for (number, place) in (0..).zip(&places) {
            if let Some(answer) = answers.at(number) {
                self.content.check_scan(&self.records, *place, entries, answer)?;
            }
        }
        Ok(timed)
    }

    /// Reads everything once in order, and compares it.
    pub(super) fn warm(&self) -> Result<Timed> {
        let mut reader = self.store()?.reader(false)?;
        let loaded = self.population.loaded();
        let (mut key, mut out) = (Vec::new(), Vec::new());
        let start = Measure::start();
        for places in loaded.chunks(WARM_ENTRIES) {
            self.records.key(places[0], &mut key);
            let passed = reader.scan(&key, places.len(), &mut out)?;
            self.content.check_scan(&self.records, places[0], places.len(), (passed, &out))?;
        }
        Ok(start.stop(loaded.len() as u64))
    }

    /// Looks up records at random, and compares the answers.
    pub(super) fn check(&self, count: u64, seed: u64) -> Result<Timed> {
        let mut reader = self.store()?.reader(true)?;
        let loaded = self.population.loaded();
        let mut random = Random::new(seed, "checks");
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let start = Measure::start();
        for _ in 0..count {
            let place = loaded[random.below(loaded.len() as u64) as usize];
            self.records.key(place, &mut key);
            let answer = reader.get(&key, &mut value)?.then_some(value.as_slice());
            self.content.check_get(&self.records, place, answer)?;
        }
        Ok(start.stop(count))
    }

    /// Bytes of key and value of a record, in the mean.
    pub(super) fn record_bytes(&self) -> usize {
        self.records.raw_bytes() as usize / self.records.len().max(1)
    }
}
