//! Crash tests of stores. Goal: after a power loss, all data acknowledged as durable is present, batches are whole,
//! nothing that was removed comes back, and the store accepts new work. Method: random work on a simulated disk, with a
//! power loss at every call that changes the disk, in writes, flushes, compaction, value collection, keyspace changes
//! and recovery; each possible disk image is opened, compared with the states of a model, and worked on. The options
//! are drawn anew for each opening.

use crate::support::{Draws, History, World, after, matching, small};
use ogive::io::Storage;
use ogive::lsm::{Db, DbOptions};
use ogive_testkit::{CrashOptions, CrashPoint, Random, Repeat, SimulatedDisk, Survival, enumerate_crashes, named_seed};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Work continues on one in this many disk images; not a divisor of the number of images per crash.
const GOES_ON_ONE_IN: u64 = 17;

/// Sizes that lead to about the same number of calls with any options, since each call is a crash.
fn draws(seed: u64) -> Draws {
    let like = small()
        .writes(|writes| writes.memtable_bytes(4 << 10))
        .levels(|levels| levels.table_bytes(4 << 10).level_bytes(8 << 10));
    Draws::new(seed, &like).timeless()
}

fn storage(disk: &SimulatedDisk) -> Arc<dyn Storage> {
    Arc::new(disk.clone())
}

/// Random work until the power loss, or the end.
fn work(disk: &SimulatedDisk, draws: &Draws, history: &History, seed: u64, steps: u32) -> History {
    let mut history = history.clone();
    let _ = try_work(&storage(disk), draws.clone(), seed, steps, &mut history);
    history
}

fn try_work(
    storage: &Arc<dyn Storage>,
    draws: Draws,
    seed: u64,
    steps: u32,
    history: &mut History,
) -> ogive::Result<()> {
    let mut random = Random::new(seed);
    let mut world = World::open(storage, draws, history)?;
    history.is_made = true;
    for _ in 0..steps {
        world.step(history, &mut random)?;
    }
    world.close(history)
}

/// Opens a disk image; returns the state of the history that it has.
fn recover(history: &History, disk: &SimulatedDisk, options: &DbOptions) -> Result<(usize, usize), String> {
    let opened = Db::open(storage(disk), options).map_err(|error| format!("cannot be opened: {error}"));
    opened.and_then(|db| matching(history, &db)).map_err(|error| format!("{error}; opened with {options:?}"))
}

/// Checks a disk image, and continues work on it.
fn check(history: &History, disk: &SimulatedDisk, mut draws: Draws, goes_on: bool) -> Result<(), String> {
    let found = recover(history, disk, &draws.next())?;
    if !goes_on {
        return Ok(());
    }
    let mut history = after(history, found);
    for seed in 0..2 {
        try_work(&storage(disk), draws.others(seed), seed, 12, &mut history)
            .map_err(|error| format!("afterwards: {error}"))?;
        recover(&history, disk, &draws.next()).map_err(|error| format!("closed afterwards: {error}"))?;
    }
    Ok(())
}

fn fingerprint(disk: &SimulatedDisk) -> u64 {
    let mut hasher = DefaultHasher::new();
    disk.files().hash(&mut hasher);
    hasher.finish()
}

/// Runs random work with every crash, and in `nested` of them also with every crash of the recovery. Returns the number
/// of distinct disk images.
fn enumerate(seeds: std::ops::Range<u64>, steps: u32, random_images: u32, nested: Option<u64>) -> usize {
    let mut seen = HashSet::new();
    for seed in ogive_testkit::seeds(seeds) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let (draws, mut images) = (draws(seed), 0);
        let crash = CrashOptions { random_images, stride: 1, seed };
        let outcome = enumerate_crashes(
            crash,
            &SimulatedDisk::new(),
            |disk| work(disk, &draws, &History::default(), seed, steps),
            |history, disk, point: &CrashPoint| {
                images += 1;
                if !seen.insert(fingerprint(disk)) {
                    return Ok(());
                }
                if nested.is_some_and(|one_in| point.call % one_in == seed % one_in) {
                    crash_in_recovery(history, disk, &draws, seed + point.call, &mut seen)?;
                }
                check(history, disk, draws.others(images), images % GOES_ON_ONE_IN == 0)
            },
        );
        if let Err(failure) = outcome {
            panic!("seed {seed}: {failure}");
        }
    }
    seen.len()
}

fn crash_in_recovery(
    history: &History,
    disk: &SimulatedDisk,
    draws: &Draws,
    seed: u64,
    seen: &mut HashSet<u64>,
) -> Result<(), String> {
    let crash = CrashOptions { random_images: 2, stride: 1, seed };
    let (options, mut images) = (draws.others(seed).next(), seed);
    let outcome = enumerate_crashes(
        crash,
        disk,
        |disk| drop(Db::open(storage(disk), &options)),
        |(), disk, _| {
            images += 1;
            if !seen.insert(fingerprint(disk)) {
                return Ok(());
            }
            recover(history, disk, &draws.others(images).next()).map(drop)
        },
    );
    outcome.map(drop).map_err(|failure| format!("in recovery with {options:?}: {failure}"))
}

/// A test with few distinct disk images has seen few crashes, unless a single seed was requested.
#[track_caller]
fn assert_many(images: usize, least: usize) {
    assert!(images > least || named_seed().is_some(), "only {images} distinct disks");
}

#[test]
fn no_crash_loses_mixes_or_brings_back() {
    let images = enumerate(0..8, 20, 4, None);
    assert_many(images, 13_000);
}

#[test]
fn no_crash_of_recovery_loses_mixes_or_brings_back() {
    let images = enumerate(100..103, 25, 2, Some(97));
    assert_many(images, 8_000);
}

#[test]
#[ignore = "long: 60 minutes"]
fn a_million_crashes_lose_nothing() {
    let images = enumerate(1_000..1_120, 40, 8, None) + enumerate(5_000..5_012, 25, 4, Some(7));
    assert_many(images, 1_000_000);
}

/// The process ends but the machine does not: data in the operating system is found, and a flush makes it durable.
#[test]
fn what_is_found_after_the_end_of_a_process_is_durable_after_a_flush() {
    for seed in ogive_testkit::seeds(0..60) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let mut draws = draws(seed);
        let disk = SimulatedDisk::new();
        let mut history = History::default();
        let mut random = Random::new(seed);
        let world = World::open(&storage(&disk), draws.others(seed), &history).unwrap();
        for _ in 0..30 {
            world.write(&mut history, &mut random).unwrap();
        }
        // Locks are not carried over, unsynced changes are.
        let later = disk.fork();
        drop(world);
        history.durable = history.contents.len() - 1;
        let db = Db::open(storage(&later), &draws.next()).unwrap();
        matching(&history, &db).unwrap();
        db.flush().unwrap();
        let left = later.crash(Survival::Nothing);
        let db = Db::open(storage(&left), &draws.next()).unwrap();
        matching(&history, &db).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}
