//! Loads, overwrites, and mixes of reads and writes.

use std::thread;

use anyhow::{Result, anyhow};

use super::answers::KeptAnswers;
use super::content::missing;
use super::state::State;
use crate::random::{Permutation, Random};
use crate::stores::batch::StoreBatch;
use crate::stores::protocol::LoadOrder;
use crate::stores::resources::{Measure, Timed};
use crate::stores::store::{StoreReader, StoreWriter};
use crate::workload::{Chooser, Requests, StoreMix, StoreOperation};

/// Records of one commit of a load.
const BATCH_RECORDS: usize = 1_000;

impl State {
    /// Making keys and values is part of the time, and the same for all.
    pub(super) fn load(&mut self, order: LoadOrder) -> Result<Timed> {
        let loaded = self.population.loaded();
        let shuffled = Permutation::new(loaded.len() as u64, &mut Random::new(self.setup.seed, "order of loading"));
        let place = |index: usize| loaded[placed(order, &shuffled, index as u64) as usize];
        self.inserted = 0;
        self.version = 1;
        self.content.load(loaded);
        self.write((0..loaded.len()).map(place), 0)
    }

    /// Overwrites values, and waits for what that makes the store do.
    pub(super) fn overwrites(&mut self, requests: &str, count: u64, seed: u64) -> Result<Timed> {
        let places = self.places(requests, count, seed)?;
        let version = self.version;
        self.version += 1;
        let start = Measure::start();
        let operations = self.write(places.iter().copied(), version)?.operations;
        self.store_mut()?.wait_idle()?;
        let timed = start.stop(operations);
        places.into_iter().for_each(|place| self.content.put(place, version));
        Ok(timed)
    }

    fn write(&self, places: impl Iterator<Item = u64>, version: u32) -> Result<Timed> {
        let mut writer = self.store()?.writer()?;
        let (mut batch, mut key, mut value) = (StoreBatch::default(), Vec::new(), Vec::new());
        let mut operations = 0;
        let start = Measure::start();
        for place in places {
            self.records.key(place, &mut key);
            self.records.value(place, version.into(), &mut value);
            batch.push(&key, &value);
            operations += 1;
            if batch.len() == BATCH_RECORDS {
                writer.write(&batch)?;
                batch.clear();
            }
        }
        if !batch.is_empty() {
            writer.write(&batch)?;
        }
        Ok(start.stop(operations))
    }

    pub(super) fn load_one_by_one(&mut self, order: LoadOrder, threads: usize, commits: u64) -> Result<Timed> {
        let loaded = self.population.loaded();
        let shuffled = Permutation::new(loaded.len() as u64, &mut Random::new(self.setup.seed, "order of loading"));
        let commits = commits.min(loaded.len() as u64);
        let places: Vec<u64> = (0..commits).map(|index| loaded[placed(order, &shuffled, index) as usize]).collect();
        self.content.load(&places);
        let (store, records) = (self.store()?, &self.records);
        let start = Measure::start();
        thread::scope(|scope| {
            let of = |thread: usize| {
                let places = &places;
                move || -> Result<()> {
                    let mut writer = store.writer()?;
                    let (mut batch, mut key, mut value) = (StoreBatch::default(), Vec::new(), Vec::new());
                    for &place in places.iter().skip(thread).step_by(threads) {
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
        let answer_bytes = operations.iter().map(|operation| self.answer_bytes(*operation)).max().unwrap_or(0);
        let store = self.store()?;
        let (mut reader, mut writer) = (store.reader(true)?, store.writer()?);
        let mut run = MixRun {
            state: self,
            batch: StoreBatch::default(),
            key: Vec::new(),
            value: Vec::new(),
            answers: KeptAnswers::new(operations.len() as u64, answer_bytes),
        };
        let start = Measure::start();
        for operation in &operations {
            run.perform(*operation, reader.as_mut(), writer.as_mut())?;
        }
        let timed = start.stop(operations.len() as u64);
        let answers = run.answers;
        drop((reader, writer));
        self.replay(&operations, &answers)?;
        self.version += 1;
        Ok(timed)
    }

    fn answer_bytes(&self, operation: StoreOperation) -> usize {
        match operation {
            StoreOperation::Read(_) | StoreOperation::ReadModifyWrite(_) => self.setup.value_bytes,
            StoreOperation::Scan(_, entries) => entries as usize * self.record_bytes(),
            StoreOperation::Update(_) | StoreOperation::Insert(_) => 0,
        }
    }

    /// Does the operations of a mix to what the store must hold, and compares the answers that were kept.
    fn replay(&mut self, operations: &[StoreOperation], answers: &KeptAnswers) -> Result<()> {
        let (records, content, version) = (&self.records, &mut self.content, self.version);
        let mut number = 0;
        for operation in operations {
            let mut kept = || {
                number += 1;
                answers.at(number - 1)
            };
            match *operation {
                StoreOperation::Read(place) | StoreOperation::ReadModifyWrite(place) => {
                    if let Some((_, value)) = kept() {
                        content.check_get(records, place, Some(value))?;
                    }
                }
                StoreOperation::Scan(place, entries) => {
                    if let Some(answer) = kept() {
                        content.check_scan(records, place, entries as usize, answer)?;
                    }
                }
                StoreOperation::Update(_) | StoreOperation::Insert(_) => {}
            }
            match *operation {
                StoreOperation::Update(place) | StoreOperation::ReadModifyWrite(place) => content.put(place, version),
                StoreOperation::Insert(place) => {
                    content.put(place, version);
                    self.inserted += 1;
                }
                StoreOperation::Read(_) | StoreOperation::Scan(..) => {}
            }
        }
        Ok(())
    }

    /// Places of records that are asked for.
    pub(super) fn places(&self, requests: &str, count: u64, seed: u64) -> Result<Vec<u64>> {
        let requests: Requests = requests.parse()?;
        let mut chooser = Chooser::new(&self.population, &requests, seed)?;
        Ok((0..count).map(|_| chooser.next_key(self.inserted)).collect())
    }
}

/// The number of the record that comes in as the `index`-th.
fn placed(order: LoadOrder, shuffled: &Permutation, index: u64) -> u64 {
    match order {
        LoadOrder::Random => shuffled.apply(index),
        LoadOrder::Sequential => index,
    }
}

/// The state of a mix.
struct MixRun<'s> {
    state: &'s State,
    batch: StoreBatch,
    key: Vec<u8>,
    value: Vec<u8>,
    answers: KeptAnswers,
}

impl MixRun<'_> {
    fn perform(
        &mut self,
        operation: StoreOperation,
        reader: &mut dyn StoreReader,
        writer: &mut dyn StoreWriter,
    ) -> Result<()> {
        match operation {
            StoreOperation::Read(place) => self.read(place, reader),
            StoreOperation::Update(place) | StoreOperation::Insert(place) => self.put(place, writer),
            StoreOperation::Scan(place, entries) => {
                self.state.records.key(place, &mut self.key);
                let passed = reader.scan(&self.key, entries as usize, &mut self.value)?;
                self.answers.offer(passed, &self.value);
                Ok(())
            }
            StoreOperation::ReadModifyWrite(place) => {
                self.read(place, reader)?;
                self.put(place, writer)
            }
        }
    }

    fn read(&mut self, place: u64, reader: &mut dyn StoreReader) -> Result<()> {
        self.state.records.key(place, &mut self.key);
        if !reader.get(&self.key, &mut self.value)? {
            return Err(missing(&self.key));
        }
        self.answers.offer(1, &self.value);
        Ok(())
    }

    fn put(&mut self, place: u64, writer: &mut dyn StoreWriter) -> Result<()> {
        self.state.records.key(place, &mut self.key);
        self.state.records.value(place, self.state.version.into(), &mut self.value);
        self.batch.clear();
        self.batch.push(&self.key, &self.value);
        writer.write(&self.batch)
    }
}
