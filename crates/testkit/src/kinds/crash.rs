//! Power loss: after a crash at any moment, an index of any kind opens with all acknowledged commits, each whole.
//!
//! Every mutating call of a short history fails once: in commits, splits, merges, adjustments, bulk loads, checkpoints,
//! and in recovery itself. Every possible disk image afterwards is opened, read completely and verified. Repeated
//! images are skipped.

use super::support::{IndexChange, Map, NAME, Numbers, entries, options};
use crate::{CrashOptions, Random, SimulatedDisk, enumerate_crashes};
use ogive::Result;
use ogive::SortingWriter;
use ogive::index::{IndexKind, IndexOptions};
use ogive::io::{Storage, seed_random};
use ogive::page::PageOptions;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Distinct images per kind in the normal run: more than 20,000 for all twelve.
const IMAGES_PER_KIND_MIN: usize = 1900;

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<IndexChange>),
    BulkLoad(Map),
    /// Sorted entries in one transaction.
    Batch(Map),
    /// The same in descending order, through the sorting loader.
    Load(Map),
    Checkpoint,
    Reopen,
}

/// Steps of an index, and its entries after each.
struct History {
    steps: Vec<Step>,
    states: Vec<Map>,
}

impl History {
    fn new(start: Map) -> Self {
        Self { steps: Vec::new(), states: vec![start] }
    }

    fn now(&self) -> Map {
        self.states.last().unwrap().clone()
    }

    fn push(&mut self, step: Step) {
        let mut map = self.now();
        match &step {
            Step::Commit(changes) => changes.iter().for_each(|change| _ = change.in_map(&mut map)),
            Step::BulkLoad(loaded) => map = loaded.clone(),
            Step::Batch(added) | Step::Load(added) => map.extend(added),
            Step::Checkpoint | Step::Reopen => {}
        }
        self.steps.push(step);
        self.states.push(map);
    }

    /// Random transactions that first grow, then shrink the index, with checkpoints in between.
    fn random(seed: u64, start: Map, transactions: u64) -> Self {
        let mut random = Random::new(seed);
        let mut history = Self::new(start);
        let keys: Vec<u64> = (0..400).map(|i| (i % 7) * (1 << 40) + i * 3).collect();
        for transaction in 0..transactions {
            let growing = transaction < transactions / 2;
            let changes = (0..1 + random.below(30)).map(|_| IndexChange::random(&mut random, &keys, growing)).collect();
            history.push(Step::Commit(changes));
            match random.below(8) {
                0 => history.push(Step::Checkpoint),
                1 => history.push(Step::Reopen),
                _ => {}
            }
        }
        history
    }

    /// Runs the steps; returns the number of acknowledged ones.
    fn run(&self, disk: &SimulatedDisk) -> usize {
        // Every run up to a crash writes the same bytes, so that equal images have equal fingerprints.
        seed_random(Some(disk.files().len() as u64));
        let mut done = 0;
        let mut work = || -> Result<()> {
            let mut index = open(&shared(disk))?;
            for step in &self.steps {
                match step {
                    Step::Commit(changes) => {
                        let mut transaction = index.write()?;
                        changes.iter().try_for_each(|change| change.in_index(&mut transaction).map(|_| ()))?;
                        transaction.commit()?;
                    }
                    Step::BulkLoad(map) => _ = index.bulk_load(map.clone())?,
                    Step::Batch(map) => {
                        let mut transaction = index.write()?;
                        transaction.insert_sorted(map.clone())?;
                        transaction.commit()?;
                    }
                    Step::Load(map) => {
                        let mut loader = index.sorting_loader(SortingWriter::MEMORY_BYTES_MIN)?;
                        map.iter().rev().try_for_each(|(&key, &value)| loader.append(key, value))?;
                        loader.finish()?;
                    }
                    Step::Checkpoint => index.checkpoint()?,
                    Step::Reopen => {
                        drop(index);
                        index = open(&shared(disk))?;
                    }
                }
                done += 1;
            }
            Ok(())
        };
        // The crash is an error here; only the acknowledged steps count.
        let _ = work();
        done
    }
}

fn shared(disk: &SimulatedDisk) -> Arc<dyn Storage> {
    Arc::new(disk.clone())
}

/// Opens an index with automatic checkpoints after few transactions, whose larger transactions exceed memory.
fn open(storage: &Arc<dyn Storage>) -> Result<Numbers> {
    let mut options = PageOptions::default();
    options.checkpoint_bytes = 8192;
    options.transaction_bytes = 6_000;
    Numbers::open((Arc::clone(storage), NAME), &IndexOptions::default().pages(options.clone()))
}

/// A hash of the content of a disk.
fn fingerprint(disk: &SimulatedDisk) -> u64 {
    let mut hasher = DefaultHasher::new();
    disk.files().hash(&mut hasher);
    hasher.finish()
}

/// Opens a disk image, and checks that its entries are among the allowed ones.
fn recover(disk: &SimulatedDisk, allowed: &[Map]) -> std::result::Result<(), String> {
    let index = open(&shared(disk)).map_err(|error| format!("it cannot be opened: {error}"))?;
    let reader = index.reader().map_err(|error| error.to_string())?;
    let found = entries(&reader).map_err(|error| format!("it cannot be read: {error}"))?;
    if !allowed.contains(&found) {
        return Err(format!("{} entries were found, which no commit had together", found.len()));
    }
    let report = reader.verify().map_err(|error| format!("it is not sound: {error}"))?;
    if report.entries != found.len() as u64 {
        return Err(format!("{} entries were verified of {}", report.entries, found.len()));
    }
    Ok(())
}

/// Checks that a recovered index accepts writes.
fn accepts_writes(disk: &SimulatedDisk) -> std::result::Result<(), String> {
    let again = disk.fork();
    let write = || -> Result<(Map, Map)> {
        let index = open(&shared(&again))?;
        let mut map = entries(&index.reader()?)?;
        let mut transaction = index.write()?;
        transaction.insert(12_345, 54_321)?;
        transaction.commit()?;
        map.insert(12_345, 54_321);
        drop(index);
        Ok((map, entries(&open(&shared(&again))?.reader()?)?))
    };
    match write() {
        Ok((expected, found)) if expected == found => Ok(()),
        Ok(_) => Err("a write after recovery is missing".into()),
        Err(error) => Err(format!("the next writer failed: {error}")),
    }
}

/// Crashes a history at every call, and adds the distinct images to `seen`.
fn crash_everywhere(start: &SimulatedDisk, history: &History, crashes: CrashOptions, seen: &mut BTreeSet<u64>) {
    let before = seen.len();
    let checked = enumerate_crashes(
        crashes,
        start,
        |disk| history.run(disk),
        |&acknowledged, disk, point| {
            let mut hasher = DefaultHasher::new();
            (fingerprint(disk), acknowledged).hash(&mut hasher);
            if !seen.insert(hasher.finish()) {
                return Ok(());
            }
            let allowed = &history.states[acknowledged..(acknowledged + 2).min(history.states.len())];
            if seen.len().is_multiple_of(16) {
                // Power fails again during recovery.
                let again = CrashOptions { random_images: 1, seed: point.call, ..CrashOptions::default() };
                let nested = enumerate_crashes(
                    again,
                    &disk.fork(),
                    |disk| open(&shared(disk)).is_ok(),
                    |_, disk, _| match seen.insert(fingerprint(disk)) {
                        true => recover(disk, allowed),
                        false => Ok(()),
                    },
                );
                nested.map_err(|failure| format!("in recovery, {failure}"))?;
                accepts_writes(disk)?;
            }
            recover(disk, allowed)
        },
    );
    checked.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(seen.len() > before, "no image was found");
}

/// A disk with an empty index, fully synced.
fn with_index(kind: IndexKind) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    drop(Numbers::create((shared(&disk), NAME), &options(kind)).unwrap());
    disk
}

/// Clustered keys, so that every structure has several nodes.
fn clustered(count: u64) -> Map {
    (0..count).map(|i| ((i % 5) * (1 << 50) + i * 11, i)).collect()
}

/// Crashes a bulk load, and generated transactions after one.
fn crash(kind: IndexKind, seed: u64, transactions: u64, crashes: CrashOptions, seen: &mut BTreeSet<u64>) {
    let start = with_index(kind);
    let map = clustered(150);
    let mut loading = History::new(Map::new());
    loading.push(Step::BulkLoad(map.clone()));
    loading.push(Step::Commit(vec![IndexChange::Insert(3, 3), IndexChange::Remove(11)]));
    loading.push(Step::Checkpoint);
    crash_everywhere(&start, &loading, crashes, seen);
    let loaded = start.fork();
    open(&shared(&loaded)).unwrap().bulk_load(map.clone()).unwrap();
    crash_everywhere(&loaded, &History::random(seed, map, transactions), crashes, seen);
}

/// Crashes generated histories at every call, until enough distinct images were found.
pub fn crashes_lose_no_acknowledged_commit(kind: IndexKind) {
    let mut seen = BTreeSet::new();
    for seed in 1.. {
        let crashes = CrashOptions { random_images: 32, seed, ..CrashOptions::default() };
        crash(kind, seed, 24, crashes, &mut seen);
        if seen.len() >= IMAGES_PER_KIND_MIN {
            break;
        }
    }
}

/// Crashes batches at every call: few entries, which are logged, and many, whose new leaves are written directly.
pub fn batches_are_whole_or_absent(kind: IndexKind) {
    let start = with_index(kind);
    open(&shared(&start)).unwrap().bulk_load(clustered(150)).unwrap();
    let mut history = History::new(clustered(150));
    history.push(Step::Batch((0..40).map(|i| ((i % 5) * (1 << 50) + i * 17, i)).collect()));
    history.push(Step::Load((0..2000).map(|i| ((i % 3) * (1 << 50) + i * 5, i)).collect()));
    history.push(Step::Batch((0..300).map(|i| (i * 41, i)).collect()));
    history.push(Step::Commit(vec![IndexChange::Insert(4, 4), IndexChange::Remove(5)]));
    let crashes = CrashOptions { random_images: 4, seed: 1, ..CrashOptions::default() };
    crash_everywhere(&start, &history, crashes, &mut BTreeSet::new());
}

/// Crashes while an index is created.
pub fn creation_is_atomic(kind: IndexKind) {
    enumerate_crashes(
        CrashOptions::default(),
        &SimulatedDisk::new(),
        |disk| Numbers::create((shared(disk), NAME), &options(kind)).is_ok(),
        |&made, disk, _| {
            let storage = shared(disk);
            if !made && !storage.exists(NAME).unwrap() {
                // The name can be used again.
                return Numbers::create((storage.clone(), NAME), &options(kind)).map(|_| ()).map_err(|e| e.to_string());
            }
            let index =
                Numbers::open((storage.clone(), NAME), &IndexOptions::default()).map_err(|error| error.to_string())?;
            if index.is_empty().map_err(|error| error.to_string())? { Ok(()) } else { Err("entries".into()) }
        },
    )
    .unwrap_or_else(|failure| panic!("{kind}: {failure}"));
}

/// Crashes long histories of several kinds, until at least `images_min` distinct images were recovered.
pub fn many_crash_images_recover(kinds: &[IndexKind], images_min: usize) {
    let mut seen: BTreeMap<IndexKind, BTreeSet<u64>> = BTreeMap::new();
    for seed in 1.. {
        for &kind in kinds {
            let crashes = CrashOptions { random_images: 64, seed, ..CrashOptions::default() };
            crash(kind, seed, 60, crashes, seen.entry(kind).or_default());
        }
        let all: usize = seen.values().map(BTreeSet::len).sum();
        if all >= images_min {
            break;
        }
    }
}
