//! Power loss: whatever an index is made of, a crash at any moment loses nothing acknowledged, mixes nothing, and
//! leaves a file that opens.
//!
//! Every mutating call of a short history fails once: in commits, splits, merges, adjustments, bulk loads, checkpoints,
//! and in recovery itself. Every disk that may be found afterwards is opened, read to its end and verified. Images that
//! were seen before are skipped.

use super::support::{Change, Map, NAME, Numbers, entries, options};
use crate::{CrashOptions, Random, SimulatedDisk, enumerate_crashes};
use ogive::Result;
use ogive::index::{Kind, OpenOptions};
use ogive::io::{Storage, seed_random};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The distinct images that each kind must have met in the normal run: more than 20,000 of all eleven.
const IMAGES_OF_A_KIND_MIN: usize = 1900;

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<Change>),
    BulkLoad(Map),
    Checkpoint,
    Reopen,
}

/// What is done to an index, and what it holds after each acknowledged step.
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
            Step::Checkpoint | Step::Reopen => {}
        }
        self.steps.push(step);
        self.states.push(map);
    }

    /// Random transactions that grow the index, then shrink it, with checkpoints between.
    fn random(seed: u64, start: Map, transactions: u64) -> Self {
        let mut random = Random::new(seed);
        let mut history = Self::new(start);
        let keys: Vec<u64> = (0..400).map(|i| (i % 7) * (1 << 40) + i * 3).collect();
        for transaction in 0..transactions {
            let growing = transaction < transactions / 2;
            let changes = (0..1 + random.below(30)).map(|_| Change::random(&mut random, &keys, growing)).collect();
            history.push(Step::Commit(changes));
            match random.below(8) {
                0 => history.push(Step::Checkpoint),
                1 => history.push(Step::Reopen),
                _ => {}
            }
        }
        history
    }

    /// Does the steps; how many were acknowledged.
    fn run(&self, disk: &SimulatedDisk) -> usize {
        // Every run up to a crash writes the same bytes, so that images are told apart by what matters.
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
        // A disk that stopped shows itself by errors; what was acknowledged until then is what counts.
        let _ = work();
        done
    }
}

fn shared(disk: &SimulatedDisk) -> Arc<dyn Storage> {
    Arc::new(disk.clone())
}

/// Opens an index whose log is brought into the file after some transactions, without being asked to, and whose larger
/// transactions do not fit in memory.
fn open(storage: &Arc<dyn Storage>) -> Result<Numbers> {
    let mut options = OpenOptions::default();
    options.pages.checkpoint_bytes = 8192;
    options.pages.transaction_bytes = 6_000;
    Numbers::open(storage, NAME, &options)
}

/// What a disk holds, as a number.
fn fingerprint(disk: &SimulatedDisk) -> u64 {
    let mut hasher = DefaultHasher::new();
    disk.files().hash(&mut hasher);
    hasher.finish()
}

/// Opens what was found and holds it against the states that it may have.
fn recover(disk: &SimulatedDisk, allowed: &[Map]) -> std::result::Result<(), String> {
    let index = open(&shared(disk)).map_err(|error| format!("it cannot be opened: {error}"))?;
    let reader = index.reader().map_err(|error| error.to_string())?;
    let found = entries(&reader).map_err(|error| format!("it cannot be read: {error}"))?;
    if !allowed.contains(&found) {
        return Err(format!("{} entries were found that were never there together", found.len()));
    }
    let report = reader.verify().map_err(|error| format!("it is not sound: {error}"))?;
    if report.entries != found.len() as u64 {
        return Err(format!("{} entries were verified of {}", report.entries, found.len()));
    }
    Ok(())
}

/// The next writer goes on where recovery left off.
fn goes_on(disk: &SimulatedDisk) -> std::result::Result<(), String> {
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
        Ok(_) => Err("what was written after recovery is not there".into()),
        Err(error) => Err(format!("the next writer failed: {error}")),
    }
}

/// Crashes a history everywhere; the distinct images that were found.
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
                // Power fails again while recovery is at work.
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
                goes_on(disk)?;
            }
            recover(disk, allowed)
        },
    );
    checked.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(seen.len() > before, "no image was found");
}

/// A disk with an empty index, wholly written.
fn with_index(kind: Kind) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    drop(Numbers::create(&shared(&disk), NAME, &options(kind)).unwrap());
    disk
}

/// Some hundreds of keys in clusters, so that every structure has several nodes.
fn clustered(count: u64) -> Map {
    (0..count).map(|i| ((i % 5) * (1 << 50) + i * 11, i)).collect()
}

/// The histories of the normal run: from a bulk load on, and of the bulk load itself.
fn crash(kind: Kind, seed: u64, transactions: u64, crashes: CrashOptions, seen: &mut BTreeSet<u64>) {
    let start = with_index(kind);
    let map = clustered(150);
    let mut loading = History::new(Map::new());
    loading.push(Step::BulkLoad(map.clone()));
    loading.push(Step::Commit(vec![Change::Insert(3, 3), Change::Remove(11)]));
    loading.push(Step::Checkpoint);
    crash_everywhere(&start, &loading, crashes, seen);
    let loaded = start.fork();
    open(&shared(&loaded)).unwrap().bulk_load(map.clone()).unwrap();
    crash_everywhere(&loaded, &History::random(seed, map, transactions), crashes, seen);
}

/// Crashes generated histories everywhere, until enough distinct images were found.
pub fn crash_in_the_normal_run(kind: Kind) {
    let mut seen = BTreeSet::new();
    for seed in 1.. {
        let crashes = CrashOptions { random_images: 32, seed, ..CrashOptions::default() };
        crash(kind, seed, 24, crashes, &mut seen);
        if seen.len() >= IMAGES_OF_A_KIND_MIN {
            break;
        }
    }
}

/// Crashes while an index is created.
pub fn a_new_index_is_there_wholly_or_not_at_all(kind: Kind) {
    enumerate_crashes(
        CrashOptions::default(),
        &SimulatedDisk::new(),
        |disk| Numbers::create(&shared(disk), NAME, &options(kind)).is_ok(),
        |&made, disk, _| {
            let storage = shared(disk);
            if !made && !storage.exists(NAME).unwrap() {
                // The name is free for the next one.
                return Numbers::create(&storage, NAME, &options(kind)).map(|_| ()).map_err(|e| e.to_string());
            }
            let index = Numbers::open(&storage, NAME, &OpenOptions::default()).map_err(|error| error.to_string())?;
            if index.is_empty().map_err(|error| error.to_string())? { Ok(()) } else { Err("entries".into()) }
        },
    )
    .unwrap_or_else(|failure| panic!("{kind}: {failure}"));
}

/// Crashes long histories of several kinds, until `images_min` distinct images were found and all were whole.
pub fn many_images_of_lost_power_are_all_whole(kinds: &[Kind], images_min: usize) {
    let mut seen: BTreeMap<Kind, BTreeSet<u64>> = BTreeMap::new();
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
