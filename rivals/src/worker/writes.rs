//! Loads, overwrites, and mixes of reads and writes.

use std::thread;

use anyhow::{Result, anyhow};
use ogive_bench::random::{Permutation, Random};
use ogive_bench::workload::{Chooser, Requests, StoreMix, StoreOperation};

use super::state::State;
use crate::process::{Measure, Timed};
use crate::protocol::Order;
use crate::store::{Batch, Reader, Writer};

/// Records of one commit of a load.
const BATCH_RECORDS: usize = 1_000;

impl State {
    /// Making keys and values is part of the time, and the same for all.
    pub(super) fn load(&mut self, order: Order) -> Result<Timed> {
        let loaded = self.population.loaded();
        let shuffled = Permutation::new(loaded.len() as u64, &mut Random::new(self.setup.seed, "order of loading"));
        let place = |index: usize| loaded[placed(order, &shuffled, index as u64) as usize];
        self.inserted = 0;
        self.version = 1;
        self.write((0..loaded.len()).map(place), 0)
    }

    /// Overwrites values, and waits for what that makes the store do.
    pub(super) fn overwrites(&mut self, requests: &str, count: u64, seed: u64) -> Result<Timed> {
        let places = self.places(requests, count, seed)?;
        let version = self.version;
        self.version += 1;
        let start = Measure::start();
        let operations = self.write(places.into_iter(), version)?.operations;
        self.store_mut()?.wait_idle()?;
        Ok(start.stop(operations))
    }

    fn write(&self, places: impl Iterator<Item = u64>, version: u64) -> Result<Timed> {
        let mut writer = self.store()?.writer()?;
        let (mut batch, mut key, mut value) = (Batch::default(), Vec::new(), Vec::new());
        let mut operations = 0;
        let start = Measure::start();
        for place in places {
            self.records.key(place, &mut key);
            self.records.value(place, version, &mut value);
            batch.push(&key, &value);
            operations += 1;
            if batch.len() == BATCH_RECORDS {
                writer.write(&batch)?;
                batch.clear();
            }
        }
        if batch.len() > 0 {
            writer.write(&batch)?;
        }
        Ok(start.stop(operations))
    }

    pub(super) fn load_one_by_one(&mut self, order: Order, threads: usize, commits: u64) -> Result<Timed> {
        let loaded = self.population.loaded();
        let shuffled = Permutation::new(loaded.len() as u64, &mut Random::new(self.setup.seed, "order of loading"));
        let commits = commits.min(loaded.len() as u64);
        let (store, records) = (self.store()?, &self.records);
        let start = Measure::start();
        thread::scope(|scope| {
            let of = |thread: usize| {
                let shuffled = &shuffled;
                move || -> Result<()> {
                    let mut writer = store.writer()?;
                    let (mut batch, mut key, mut value) = (Batch::default(), Vec::new(), Vec::new());
                    for index in (thread as u64..commits).step_by(threads) {
                        let place = loaded[placed(order, shuffled, index) as usize];
                        records.key(place, &mut key);
                        records.value(place, 0, &mut value);
                        batch.clear();
                        batch.push(&key, &value);
                        writer.write(&batch)?;
                    }
                    Ok(())
                }
            };
            let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(of(thread))).collect();
            let joined =
                handles.into_iter().map(|handle| handle.join().map_err(|_| anyhow!("a writing thread panicked"))?);
            joined.collect::<Result<()>>()
        })?;
        Ok(start.stop(commits))
    }

    /// Each write is a commit; each read sees the writes before it.
    pub(super) fn mix(&mut self, mix: &str, requests: &str, count: u64, seed: u64) -> Result<Timed> {
        let mix: StoreMix = mix.parse()?;
        let requests: Requests = requests.parse()?;
        let operations: Vec<StoreOperation> =
            mix.operations(&self.population, &requests, self.inserted, count as usize, seed)?.collect();
        let store = self.store()?;
        let (mut reader, mut writer) = (store.reader(true)?, store.writer()?);
        let mut run = Run { state: self, batch: Batch::default(), key: Vec::new(), value: Vec::new(), inserted: 0 };
        let start = Measure::start();
        for operation in &operations {
            run.perform(*operation, reader.as_mut(), writer.as_mut())?;
        }
        let timed = start.stop(operations.len() as u64);
        let inserted = run.inserted;
        drop((reader, writer));
        self.inserted += inserted;
        self.version += 1;
        Ok(timed)
    }

    /// Places of records that are asked for.
    pub(super) fn places(&self, requests: &str, count: u64, seed: u64) -> Result<Vec<u64>> {
        let requests: Requests = requests.parse()?;
        let mut chooser = Chooser::new(&self.population, &requests, seed)?;
        Ok((0..count).map(|_| chooser.next_key(self.inserted)).collect())
    }
}

/// The number of the record that comes in as the `index`-th.
fn placed(order: Order, shuffled: &Permutation, index: u64) -> u64 {
    match order {
        Order::Random => shuffled.apply(index),
        Order::Sequential => index,
    }
}

/// The state of a mix.
struct Run<'s> {
    state: &'s State,
    batch: Batch,
    key: Vec<u8>,
    value: Vec<u8>,
    inserted: usize,
}

impl Run<'_> {
    fn perform(&mut self, operation: StoreOperation, reader: &mut dyn Reader, writer: &mut dyn Writer) -> Result<()> {
        match operation {
            StoreOperation::Read(place) => self.read(place, reader),
            StoreOperation::Update(place) => self.put(place, writer),
            StoreOperation::Insert(place) => {
                self.inserted += 1;
                self.put(place, writer)
            }
            StoreOperation::Scan(place, entries) => {
                self.state.records.key(place, &mut self.key);
                reader.scan(&self.key, entries as usize, &mut self.value)?;
                Ok(())
            }
            StoreOperation::ReadModifyWrite(place) => {
                self.read(place, reader)?;
                self.put(place, writer)
            }
        }
    }

    fn read(&mut self, place: u64, reader: &mut dyn Reader) -> Result<()> {
        self.state.records.key(place, &mut self.key);
        if reader.get(&self.key, &mut self.value)? { Ok(()) } else { Err(anyhow!("record {place} is missing")) }
    }

    fn put(&mut self, place: u64, writer: &mut dyn Writer) -> Result<()> {
        self.state.records.key(place, &mut self.key);
        self.state.records.value(place, self.state.version, &mut self.value);
        self.batch.clear();
        self.batch.push(&self.key, &self.value);
        writer.write(&self.batch)
    }
}
