//! A measured store: loading, reading and writing.

use std::io::ErrorKind;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use ogive::io::{LocalStorage, MemoryStorage, Storage};
use ogive::lsm::{Activity, Db, DbOptions, TableStats};
use tempfile::TempDir;

use super::subjects::Subject;
use super::table_watch::TableSeen;
use crate::experiments::Context;
use crate::random::{Permutation, Random};
use crate::stopwatch::{Elapsed, Stopwatch};
use crate::workload::{Asked, Chooser, Population, Records, Requests, StoreOperation};

/// Records per commit of a load.
const BATCH_RECORDS: usize = 1_000;

/// The order in which records are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Random,
    Sequential,
}

impl Order {
    pub(super) fn name(self) -> &'static str {
        if self == Self::Random { "random" } else { "sequential" }
    }
}

/// What to load into a store: the records of a population, in an order.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoreSetup<'a, 'r> {
    pub(super) context: &'a Context,
    pub(super) records: &'r Records,
    pub(super) population: &'r Population,
    pub(super) order: Order,
    pub(super) options: &'a DbOptions,
    pub(super) subject: &'a Subject,
}

/// A store in memory, or in a temporary folder on the requested device.
#[derive(Debug)]
pub(super) struct Store<'r> {
    pub(super) db: Db,
    pub(super) records: &'r Records,
    /// Positions of the loaded records, and of those inserted later.
    pub(super) population: &'r Population,
    /// Version of the next written value.
    version: u64,
    /// Threads of the store itself.
    threads: usize,
    storage: Arc<dyn Storage>,
    _folder: Option<TempDir>,
}

/// Processor time of operations by part, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    pub(super) operations: u64,
    /// Time of the operations themselves.
    pub(super) foreground_s: f64,
    pub(super) learning_s: f64,
    /// Flushes and compactions.
    pub(super) compaction_s: f64,
}

impl Work {
    pub(super) fn total_s(&self) -> f64 {
        self.foreground_s + self.learning_s + self.compaction_s
    }

    /// Foreground microseconds per operation.
    pub(super) fn foreground_us(&self) -> f64 {
        1e6 * self.foreground_s / self.operations.max(1) as f64
    }
}

/// Storage in memory, where syncs cost nothing, or a folder on the requested device.
fn storage(context: &Context) -> Result<(Arc<dyn Storage>, Option<TempDir>)> {
    let Some(device) = &context.device else { return Ok((Arc::new(MemoryStorage::new()), None)) };
    let folder =
        tempfile::tempdir_in(device).with_context(|| format!("no folder can be made under {}", device.display()))?;
    Ok((Arc::new(LocalStorage::new(folder.path())), Some(folder)))
}

impl<'r> Store<'r> {
    /// Loads the records of a population, and learns them if the subject begins with models.
    pub(super) fn load(setup: &StoreSetup<'_, 'r>) -> Result<Self> {
        Self::load_around(setup, |storage| storage)
    }

    /// As [`Self::load`], with the storage wrapped by `around`.
    pub(super) fn load_around(
        setup: &StoreSetup<'_, 'r>,
        around: impl FnOnce(Arc<dyn Storage>) -> Arc<dyn Storage>,
    ) -> Result<Self> {
        let StoreSetup { context, records, population, order, options, subject } = *setup;
        let (storage, folder) = storage(context)?;
        let db = Db::open(around(Arc::clone(&storage)), options)?;
        let mut store =
            Self { db, records, population, version: 0, threads: options.threads, storage, _folder: folder };
        store.put_all(order, context.seed)?;
        store.db.flush()?;
        if subject.learned {
            store.db.learn()?;
        }
        Ok(store)
    }

    fn put_all(&mut self, order: Order, seed: u64) -> Result<()> {
        let loaded = self.population.loaded();
        let shuffled = Permutation::new(loaded.len() as u64, &mut Random::new(seed, "order of loading"));
        let (mut key, mut value, mut batch) = (Vec::new(), Vec::new(), self.db.batch());
        for index in 0..loaded.len() {
            let place =
                if order == Order::Random { loaded[shuffled.apply(index as u64) as usize] } else { loaded[index] };
            self.records.key(place, &mut key);
            self.records.value(place, 0, &mut value);
            batch.insert(&self.db, &key, &value);
            if (index + 1).is_multiple_of(BATCH_RECORDS) {
                std::mem::replace(&mut batch, self.db.batch()).commit()?;
            }
        }
        batch.commit()?;
        self.version = 1;
        Ok(())
    }

    /// The current tables.
    pub(super) fn tables(&self) -> Vec<TableSeen> {
        let seen = |table: TableStats| TableSeen {
            number: table.number,
            level: table.level,
            positive: table.positive_lookups,
            negative: table.negative_lookups,
        };
        self.db.tables().into_iter().map(seen).collect()
    }

    /// Positive and negative internal lookups, summed over the current tables.
    pub(super) fn internal_lookups(&self) -> (u64, u64) {
        let add = |sum: (u64, u64), table: TableSeen| (sum.0 + table.positive, sum.1 + table.negative);
        self.tables().into_iter().fold((0, 0), add)
    }

    /// Bytes of all files.
    pub(super) fn stored_bytes(&self) -> Result<u64> {
        // The lock has no data.
        let names = self.storage.list()?.into_iter().filter(|name| name.contains('.'));
        let bytes = |name: String| match self.storage.open(&name) {
            Ok(file) => Ok(file.len()),
            // A compaction removed it after it was listed.
            Err(ogive::Error { cause: ogive::Cause::Io(ErrorKind::NotFound), .. }) => Ok(0),
            Err(error) => Err(error.into()),
        };
        names.map(bytes).sum()
    }

    /// Requested keys of a read-only run.
    pub(super) fn asked(&self, requests: &Requests, count: usize, present: bool, seed: u64) -> Result<Asked> {
        let mut chooser = Chooser::new(self.population, requests, seed)?;
        let places: Vec<u64> = (0..count).map(|_| chooser.next_key(0)).collect();
        Ok(Asked::of(self.records, places, present, seed))
    }

    /// Looks up present keys and copies their values: processor nanoseconds per lookup.
    pub(super) fn get_ns(&self, asked: &Asked) -> Result<f64> {
        let (mut value, mut found) = (Vec::new(), 0);
        let start = Stopwatch::start();
        for key in asked.iter() {
            found += usize::from(self.db.get_into(key, &mut value)?);
        }
        let elapsed_ns = 1e9 * start.elapsed().thread_s;
        ensure!(found == asked.len(), "{found} of {} keys were found", asked.len());
        Ok(elapsed_ns / asked.len().max(1) as f64)
    }

    /// Reads some records from each of the keys on: processor nanoseconds per range.
    pub(super) fn range_ns(&self, asked: &Asked, entries: usize) -> Result<f64> {
        let (mut bytes, mut passed) = (0, 0);
        let start = Stopwatch::start();
        for key in asked.iter() {
            for record in self.db.range(key..).take(entries) {
                let (key, value) = record?;
                bytes += key.len() + value.len();
                passed += 1;
            }
        }
        let elapsed_ns = 1e9 * start.elapsed().thread_s;
        ensure!(bytes > 0 && passed > 0, "the ranges were empty");
        Ok(elapsed_ns / asked.len().max(1) as f64)
    }

    /// Reads everything once, to fill caches.
    pub(super) fn warm(&self, asked: &Asked) -> Result<()> {
        for record in self.db.iter() {
            record?;
        }
        self.get_ns(asked).map(|_| ())
    }

    /// Runs operations one after the other, passes each to `watch` when done, and gives their time by part.
    pub(super) fn run(
        &mut self,
        operations: &[StoreOperation],
        mut watch: impl FnMut(&Self, usize) -> Result<()>,
    ) -> Result<Work> {
        let before = Spent::of(&self.db, self.threads);
        let mut buffers = Buffers::default();
        let start = Stopwatch::start();
        for (index, operation) in operations.iter().enumerate() {
            self.perform(*operation, &mut buffers)?;
            watch(self, index)?;
        }
        let elapsed = start.elapsed();
        self.version += 1;
        Ok(Spent::of(&self.db, self.threads).since(&before, operations.len() as u64, elapsed))
    }

    fn perform(&self, operation: StoreOperation, buffers: &mut Buffers) -> Result<()> {
        match operation {
            StoreOperation::Read(place) => self.read(place, buffers),
            StoreOperation::Update(place) | StoreOperation::Insert(place) => self.put(place, buffers),
            StoreOperation::Scan(place, entries) => {
                self.records.key(place, &mut buffers.key);
                for record in self.db.range(buffers.key.as_slice()..).take(entries as usize) {
                    record?;
                }
                Ok(())
            }
            StoreOperation::ReadModifyWrite(place) => {
                self.read(place, buffers)?;
                self.put(place, buffers)
            }
        }
    }

    fn read(&self, place: u64, buffers: &mut Buffers) -> Result<()> {
        self.records.key(place, &mut buffers.key);
        ensure!(self.db.get_into(&buffers.key, &mut buffers.value)?, "record {place} is missing");
        Ok(())
    }

    fn put(&self, place: u64, buffers: &mut Buffers) -> Result<()> {
        self.records.key(place, &mut buffers.key);
        self.records.value(place, self.version, &mut buffers.value);
        Ok(self.db.insert(&buffers.key, &buffers.value)?)
    }
}

#[derive(Default)]
struct Buffers {
    key: Vec<u8>,
    value: Vec<u8>,
}

/// Time of a store other than that of operations.
struct Spent {
    threads: usize,
    learning_s: f64,
    compaction_s: f64,
}

impl Spent {
    fn of(db: &Db, threads: usize) -> Self {
        let activity: Activity = db.activity();
        Self {
            threads,
            learning_s: db.learning_stats().learning_us as f64 / 1e6,
            compaction_s: (activity.flush_us + activity.compaction_us) as f64 / 1e6,
        }
    }

    /// The store reports elapsed time, which is taken as processor time in the same proportion.
    fn since(&self, before: &Self, operations: u64, elapsed: Elapsed) -> Work {
        let share = elapsed.process_s / elapsed.wall_s.max(f64::MIN_POSITIVE);
        let learning_s = share * (self.learning_s - before.learning_s);
        let compaction_s = share * (self.compaction_s - before.compaction_s);
        // Work on other threads is not part of this one's time.
        let foreground_s =
            if self.threads == 0 { elapsed.thread_s - learning_s - compaction_s } else { elapsed.thread_s };
        Work { operations, foreground_s, learning_s, compaction_s }
    }
}
