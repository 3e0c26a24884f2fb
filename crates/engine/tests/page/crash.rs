//! Goal: acknowledged changes survive a loss of power, others are wholly there or wholly absent, and the file opens,
//! verifies and takes new commits. Method: power is lost at every call that changes the disk, in commits, checkpoints,
//! recovery and creation.

use crate::support::{Model, change, options, transact};
use ogive::Durability;
use ogive::io::Storage;
use ogive::page::{PageFile, PageOptions};
use ogive_testkit::{CrashOptions, CrashPoint, Random, SimulatedDisk, enumerate_crashes};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The progress of a run that lost power.
#[derive(Debug)]
struct History {
    /// The models after each commit that was begun, the last one perhaps not acknowledged.
    models: Vec<Model>,
    /// Number of commits that are certainly durable; with 0, not even the file.
    durable: usize,
}

fn storage(disk: &SimulatedDisk) -> Arc<dyn Storage> {
    Arc::new(disk.clone())
}

/// Random work until the power goes or it is done.
fn work(disk: &SimulatedDisk, options: &PageOptions, seed: u64, steps: u32) -> History {
    let mut history = History { models: vec![Model::default()], durable: 0 };
    let _ = try_work(&storage(disk), options, seed, steps, &mut history);
    history
}

fn try_work(
    storage: &Arc<dyn Storage>,
    options: &PageOptions,
    seed: u64,
    steps: u32,
    history: &mut History,
) -> ogive::Result<()> {
    let mut random = Random::new(seed);
    let mut file = PageFile::create(storage, "f", options, b"head")?;
    history.durable = 1;
    let mut held = None;
    for _ in 0..steps {
        match random.below(14) {
            0 => {
                held = None;
                file.close()?;
                history.durable = history.models.len();
                file = PageFile::open(storage, "f", options)?;
            }
            1 => {
                file.sync()?;
                history.durable = history.models.len();
                file.checkpoint()?;
            }
            2 => held = Some(file.snapshot()?),
            3 => held = None,
            4 => {
                let mut forgotten = history.models.last().unwrap().clone();
                let mut tx = file.begin()?;
                for _ in 0..random.below(8) {
                    change(&mut tx, &mut forgotten, &mut random)?;
                }
            }
            _ => {
                let mut after = history.models.last().unwrap().clone();
                let mut tx = file.begin()?;
                for _ in 0..random.below(6) {
                    change(&mut tx, &mut after, &mut random)?;
                }
                history.models.push(after);
                tx.commit()?;
                if options.durability == Durability::Synced {
                    history.durable = history.models.len();
                }
            }
        }
    }
    drop(held);
    file.close()?;
    history.durable = history.models.len();
    Ok(())
}

/// Opens what was left; returns which of the models it holds.
fn recover(history: &History, disk: &SimulatedDisk, options: &PageOptions) -> Result<Option<usize>, String> {
    let storage = storage(disk);
    if history.durable == 0 && !storage.exists("f").map_err(|error| error.to_string())? {
        return Ok(None);
    }
    let file = PageFile::open(&storage, "f", options).map_err(|error| format!("cannot be opened: {error}"))?;
    if file.header() != b"head" {
        return Err("another header".to_owned());
    }
    let snapshot = file.snapshot().map_err(|error| error.to_string())?;
    let mut refusal = format!("none of the models from {} on fits", history.durable);
    for index in (history.durable.saturating_sub(1)..history.models.len()).rev() {
        let model = &history.models[index];
        match model.check_snapshot(&snapshot).and_then(|()| file.verify(&model.claimed()).map_err(|e| e.to_string())) {
            Ok(()) => return Ok(Some(index)),
            Err(error) => refusal.push_str(&format!("; {index}: {error}")),
        }
    }
    Err(refusal)
}

/// Checks what was left, and that work goes on from there.
fn check(history: &History, disk: &SimulatedDisk, options: &PageOptions) -> Result<(), String> {
    let Some(index) = recover(history, disk, options)? else {
        let made = PageFile::create(&storage(disk), "f", options, b"head");
        return made.map(drop).map_err(|error| format!("cannot be made again: {error}"));
    };
    let say = |error: ogive::Error| format!("after recovery: {error}");
    let mut random = Random::new(7);
    let mut model = history.models[index].clone();
    for _ in 0..2 {
        let file = PageFile::open(&storage(disk), "f", options).map_err(say)?;
        for _ in 0..3 {
            model = transact(&file, &model, &mut random, 6).map_err(say)?;
        }
        file.verify(&model.claimed()).map_err(say)?;
        model.check_snapshot(&file.snapshot().map_err(say)?)?;
    }
    Ok(())
}

fn fingerprint(disk: &SimulatedDisk) -> u64 {
    let mut hasher = DefaultHasher::new();
    disk.files().hash(&mut hasher);
    hasher.finish()
}

fn small(checkpoint_bytes: u64, durability: Durability) -> PageOptions {
    let mut options = options(512);
    options.memory_bytes = 200_000;
    options.checkpoint_bytes = checkpoint_bytes;
    options.durability = durability;
    options.group_commits = 3;
    options.group_bytes = 100_000;
    options
}

/// Runs random work with every crash; `nested` crashes recovery as well. Returns how many distinct disks there were.
fn enumerate(seeds: std::ops::Range<u64>, steps: u32, random_images: u32, nested: bool) -> usize {
    let mut seen = HashSet::new();
    for seed in seeds {
        let durability = match seed % 4 {
            0 => Durability::Grouped,
            1 => Durability::Buffered,
            _ => Durability::Synced,
        };
        let mut options = small([1_500, 100_000, 6_000][seed as usize % 3], durability);
        // In half of the runs transactions spill: after each changed page, or each third.
        options.transaction_bytes = [0, 0, 1, 2_000][seed as usize / 2 % 4];
        let crash = CrashOptions { random_images, stride: 1, seed };
        let outcome = enumerate_crashes(
            crash,
            &SimulatedDisk::new(),
            |disk| work(disk, &options, seed, steps),
            |history, disk, point: &CrashPoint| {
                if !seen.insert(fingerprint(disk)) {
                    return Ok(());
                }
                if nested && point.call % 5 == seed % 5 {
                    let inner = CrashOptions { random_images: 2, stride: 1, seed: seed + point.call };
                    let inner = enumerate_crashes(
                        inner,
                        disk,
                        |disk| drop(recover(history, disk, &options)),
                        |(), disk, _| {
                            if seen.insert(fingerprint(disk)) {
                                recover(history, disk, &options).map(drop)
                            } else {
                                Ok(())
                            }
                        },
                    );
                    inner.map_err(|failure| format!("in recovery: {failure}"))?;
                }
                check(history, disk, &options)
            },
        );
        if let Err(failure) = outcome {
            panic!("seed {seed}: {failure}");
        }
    }
    seen.len()
}

#[test]
fn no_crash_loses_mixes_or_spoils_commits() {
    let images = enumerate(0..16, 25, 6, false);
    assert!(images > 3_000, "only {images} distinct disks");
}

#[test]
fn no_crash_of_recovery_loses_mixes_or_spoils_commits() {
    let images = enumerate(100..116, 14, 3, true);
    assert!(images > 2_000, "only {images} distinct disks");
}

#[test]
#[ignore = "long: 20 minutes"]
fn hundreds_of_thousands_of_crashes_lose_nothing() {
    let images = enumerate(1_000..1_300, 40, 20, false) + enumerate(2_000..2_060, 20, 6, true);
    assert!(images > 300_000, "only {images} distinct disks");
}
