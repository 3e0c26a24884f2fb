//! Goal: a page file behaves like a plain model. Method: random transactions, aborts, checkpoints, snapshots and
//! reopenings on both.

use crate::support::{Model, change, options, transact};
use ogive::Durability;
use ogive::io::{LocalStorage, MemoryStorage, Storage};
use ogive::page::{PageFile, PageOptions};
use ogive_testkit::Random;
use std::sync::Arc;

/// Works on a file and on a model at random, and compares.
fn run(storage: &Arc<dyn Storage>, options: &PageOptions, seed: u64, steps: u32) {
    let mut random = Random::new(seed);
    let mut file = PageFile::create(storage, "f", options, b"mine").unwrap();
    let mut model = Model::default();
    let mut old = Vec::new();
    for _ in 0..steps {
        match random.below(20) {
            0 => {
                old.clear();
                file.close().unwrap();
                file = PageFile::open(storage, "f", options).unwrap();
                assert_eq!(file.header(), b"mine");
            }
            1 => file.checkpoint().unwrap(),
            2 => {
                let mut tx = file.begin().unwrap();
                let mut forgotten = model.clone();
                for _ in 0..random.below(10) {
                    change(&mut tx, &mut forgotten, &mut random).unwrap();
                    forgotten.check(&tx, tx.state()).unwrap();
                }
            }
            3 => old.push((file.snapshot().unwrap(), model.clone())),
            4 if !old.is_empty() => {
                let (snapshot, then) = old.swap_remove(random.below(old.len() as u64) as usize);
                then.check_snapshot(&snapshot).unwrap();
            }
            5 => file.verify(&model.claimed()).unwrap(),
            6 => {
                drop(old);
                old = Vec::new();
                drop(file);
                file = PageFile::open(storage, "f", options).unwrap();
            }
            _ => {
                let changes = random.below(15);
                model = transact(&file, &model, &mut random, changes).unwrap();
            }
        }
        model.check_snapshot(&file.snapshot().unwrap()).unwrap();
    }
    for (snapshot, then) in &old {
        then.check_snapshot(snapshot).unwrap();
    }
    file.verify(&model.claimed()).unwrap();
}

fn various(seed: u64) -> PageOptions {
    let mut options = options([512, 4096, 1024, 16384][seed as usize % 4]);
    options.memory_bytes = [0, 100_000, 1 << 22][seed as usize % 3];
    options.resident_bytes = [0, 4096, 50_000][seed as usize / 3 % 3];
    options.checkpoint_bytes = [2_000, 50_000, 1 << 26][seed as usize / 2 % 3];
    options.durability = match seed % 5 {
        0 => Durability::Grouped,
        1 => Durability::Buffered,
        _ => Durability::Synced,
    };
    options.group_commits = 4;
    // In some runs transactions spill, of small pages after a few.
    options.transaction_bytes = if seed % 7 == 3 { 3_000 } else { 0 };
    options
}

#[test]
fn a_file_holds_what_a_plain_model_holds() {
    for seed in 0..48 {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        run(&storage, &various(seed), seed, 120);
    }
}

#[test]
fn local_files_buffered_and_direct_hold_the_same() {
    for seed in 0..8 {
        let directory = tempfile::tempdir().unwrap();
        let local =
            if seed % 2 == 0 { LocalStorage::new(directory.path()) } else { LocalStorage::direct(directory.path()) };
        let storage: Arc<dyn Storage> = Arc::new(local);
        run(&storage, &various(seed / 2), seed, 60);
    }
}
