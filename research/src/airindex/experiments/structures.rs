//! Updatable structures beside the designs of tables: ALEX, a rival of the paper's Section 7, or any kind of index.
//!
//! They take no duplicates, and hold a payload of 8 bytes for each key. Opening counts as one read of a page, the
//! metanode's: the paper's rivals read theirs once, and have no log to look for.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use ogive::io::{Profile, Storage, Timer};

use super::keys::Keys;
use super::warm::{MEMORY_BYTES, is_point};
use crate::experiments::Context;
use crate::experiments::indexes::{IndexStore, IndexSubject, LOAD_MEMORY_BYTES, pages, subjects};
use crate::output::Record;
use crate::workload::Operation;

/// A bulk-loaded structure.
pub(super) struct LoadedStructure<'p> {
    store: IndexStore,
    page_bytes: usize,
    profiles: &'p [Profile],
    file_bytes: u64,
    /// Time of the bulk load, in seconds.
    build_s: f64,
}

/// Means over lookups, by profile. Those of a curve include opening, as those of tables do.
pub(super) struct StructurePoint {
    pub(super) lookups: usize,
    pub(super) mean_us: Vec<f64>,
    /// Time that passed, opening included.
    pub(super) mean_wall_us: f64,
    pub(super) requests: f64,
    pub(super) bytes: f64,
}

/// The structures that are asked for; none for byte strings, which they do not take.
pub(super) fn rivals(context: &Context, keys: &Keys) -> Result<Vec<IndexSubject>> {
    match keys {
        Keys::Integers(_) => subjects(context, &[]),
        Keys::Lines(_) => Ok(Vec::new()),
    }
}

impl<'p> LoadedStructure<'p> {
    /// Loads the distinct keys into a storage.
    pub(super) fn load(
        storage: Arc<dyn Storage>,
        subject: &IndexSubject,
        keys: &Keys,
        profiles: &'p [Profile],
    ) -> Result<Self> {
        let Keys::Integers(keys) = keys else { anyhow::bail!("{} takes integer keys only", subject.name) };
        let mut distinct = keys.clone();
        distinct.dedup();
        let mut options = subject.options.clone();
        let page_bytes = options.pages.page_bytes;
        options.pages = pages(page_bytes, LOAD_MEMORY_BYTES);
        let keys = distinct.into_iter().map(Ok);
        let (store, build_s) = IndexStore::load(storage, &options, profiles, keys)?;
        let file_bytes = store.file_bytes()?;
        Ok(Self { store, page_bytes, profiles, file_bytes, build_s })
    }

    /// Opens the index anew and looks up a key, for each of the keys.
    pub(super) fn look_up_cold(self, asked: &[u64]) -> Result<(Self, StructurePoint)> {
        let timer = Timer::start();
        let this = self.reopen(0)?;
        let points = this.measure(asked, &timer, |done| done == asked.len())?;
        let opening_us = this.opening_us();
        let point = points.into_iter().next_back().context("cold lookups take at least one key")?;
        let mean_us = point.mean_us.iter().zip(opening_us).map(|(mean_us, opening_us)| mean_us + opening_us).collect();
        Ok((this, StructurePoint { mean_us, ..point }))
    }

    /// Opens the index once, with a cache that holds all of it: means of the first 1, 2, 5, 10, ... lookups.
    pub(super) fn curve(self, asked: &[u64]) -> Result<Vec<StructurePoint>> {
        let timer = Timer::start();
        let this = self.reopen(MEMORY_BYTES)?;
        let mut points = this.measure(asked, &timer, |done| is_point(done) || done == asked.len())?;
        for point in &mut points {
            let share = 1.0 / point.lookups as f64;
            point.mean_us.iter_mut().zip(this.opening_us()).for_each(|(mean_us, open_us)| *mean_us += open_us * share);
            point.requests += share;
            point.bytes += this.page_bytes as f64 * share;
        }
        Ok(points)
    }

    fn reopen(self, memory_bytes: u64) -> Result<Self> {
        let store = self.store.reopen(pages(self.page_bytes, memory_bytes))?;
        Ok(Self { store, ..self })
    }

    fn opening_us(&self) -> impl Iterator<Item = f64> {
        self.profiles.iter().map(|profile| profile.time_us(self.page_bytes as u64))
    }

    fn measure(&self, asked: &[u64], timer: &Timer, is_point: impl Fn(usize) -> bool) -> Result<Vec<StructurePoint>> {
        ensure!(!asked.is_empty(), "a measurement takes at least one lookup; give --lookups 1 or more");
        let start_us = self.store.storage.elapsed_us();
        let start = self.store.storage.requests();
        let mut points = Vec::new();
        self.store.read(asked.iter().map(|&key| Operation::Get(key)), |number| {
            let done = number + 1;
            if is_point(done) {
                let (count, now) = (done as f64, self.store.storage.requests());
                let elapsed_us = self.store.storage.elapsed_us();
                points.push(StructurePoint {
                    lookups: done,
                    mean_us: elapsed_us.iter().zip(&start_us).map(|(end, start)| (end - start) / count).collect(),
                    mean_wall_us: timer.elapsed_us() / count,
                    requests: (now.0 - start.0) as f64 / count,
                    bytes: (now.1 - start.1) as f64 / count,
                });
            }
        })?;
        Ok(points)
    }

    /// Adds the size of the structure, and the time of its bulk load.
    pub(super) fn fill(&self, record: Record) -> Record {
        record.figure("file_bytes", self.file_bytes).figure("build_s", self.build_s)
    }
}

/// The keys at these positions.
pub(super) fn keys_at(keys: &Keys, positions: &[u64]) -> Vec<u64> {
    match keys {
        Keys::Integers(keys) => positions.iter().filter_map(|&at| keys.get(at as usize).copied()).collect(),
        Keys::Lines(_) => Vec::new(),
    }
}
