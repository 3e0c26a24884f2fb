//! Tests of `verify` and `repair`. Goal: `verify` reports any change of any file of a closed store, and `repair` turns
//! the rest into a sound store that contains what the damage did not reach. Method: small stores with every kind of
//! file; flipped bits, truncations and missing files everywhere; models of the records that each repaired store may
//! have.

use crate::support::in_any_memory;
use ogive::io::{FastPaths, MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::repair::repair_store;
use ogive::verify::{StoreReport, verify_store};
use ogive::{Cause, Error};
use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) type Model = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn options() -> DbOptions {
    DbOptions::default()
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .levels(|levels| levels.table_bytes(8 << 10).level_bytes(32 << 10))
        .memory_bytes(8 << 20)
        .values(|values| values.separation_bytes(200))
        // Each value goes to a value file at once: all logs are about as long, so a recycled one has no old end.
        .fast_paths(FastPaths { deferred_values: false, ..FastPaths::ALL })
        .threads(0)
}

pub(crate) fn shared(memory: &MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

pub(crate) fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// A closed store with tables on several levels, value files and a needed log, and its contents.
pub(crate) fn store(seed: u64) -> (MemoryStorage, Model) {
    let (memory, mut model, mut random) = (MemoryStorage::new(), Model::new(), Random::new(seed));
    let db = Db::open(shared(&memory), &options()).unwrap();
    for round in 0..3 {
        for _ in 0..150 {
            let number = random.below(400);
            let value = vec![random.next_u64() as u8; if random.one_in(3) { 300 } else { 20 }];
            db.insert(key(number), &value).unwrap();
            model.insert(key(number), value);
        }
        match round {
            0 => db.compact().unwrap(),
            1 => db.flush().unwrap(),
            _ => {}
        }
    }
    db.close().unwrap();
    in_any_memory(&memory, &options(), |db| {
        assert!(model.iter().all(|(key, value)| db.get(key).unwrap().as_deref() == Some(&value[..])));
    });
    (memory, model)
}

pub(crate) fn copy(memory: &MemoryStorage) -> MemoryStorage {
    let copied = MemoryStorage::new();
    memory.list().unwrap().iter().for_each(|name| copied.put(name, memory.content(name).unwrap()).unwrap());
    copied
}

pub(crate) fn verify(memory: &MemoryStorage) -> ogive::Result<StoreReport> {
    verify_store(shared(memory), &mut |_, _| {})
}

pub(crate) fn names(memory: &MemoryStorage, suffix: &str) -> Vec<String> {
    memory.list().unwrap().into_iter().filter(|name| name.ends_with(suffix)).collect()
}

/// The files in which damage matters: not the lock, and no log kept for recycling.
pub(crate) fn needed(memory: &MemoryStorage) -> Vec<String> {
    let mut names: Vec<String> = memory.list().unwrap().into_iter().filter(|name| name != "LOCK").collect();
    let last_log = names.iter().filter(|name| name.ends_with(".log")).max().cloned();
    names.retain(|name| !name.ends_with(".log") || Some(name) == last_log.as_ref());
    names
}

/// Repairs a store, checks that it is sound, and returns its contents.
pub(crate) fn repaired(memory: &MemoryStorage) -> (ogive::repair::RepairReport, Model) {
    let repaired = repair_store(shared(memory), &mut |_, _| {}).unwrap();
    let report = verify(memory).unwrap();
    assert!(report.is_sound() && report.orphans.is_empty(), "{:?} {:?}", report.findings, report.orphans);
    let db = Db::open(shared(memory), &options()).unwrap();
    let held = db.iter().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect();
    (repaired, held)
}

#[test]
fn a_sound_store_is_sound_in_every_part() {
    let (memory, model) = store(1);
    let report = verify(&memory).unwrap();
    assert!(report.is_sound() && report.orphans.is_empty(), "{report:?}");
    assert!(report.tables >= 2 && report.value_files > 0 && report.logs == 1 && report.groups == 150, "{report:?}");
    assert!(report.records >= model.len() as u64 - 150 && report.pointers > 20 && report.values >= report.pointers / 2);
    let (repaired, held) = repaired(&memory);
    assert!(repaired.damaged_files.is_empty());
    assert_eq!(held, model);
}

/// The valid length of a file: a recycled log may contain older groups after it.
fn end_of(memory: &MemoryStorage, name: &str, length: usize) -> usize {
    if !name.ends_with(".log") {
        return length;
    }
    let is_short = |length: usize| {
        let cut = copy(memory);
        cut.put(name, memory.content(name).unwrap()[..length].to_vec()).unwrap();
        !verify(&cut).unwrap().is_sound()
    };
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = (low + high) / 2;
        if is_short(middle) { low = middle + 1 } else { high = middle }
    }
    assert!(low > 1000, "{name} has hardly anything");
    low
}

#[test]
fn every_flipped_bit_of_every_file_is_told() {
    let (memory, _) = store(2);
    let mut random = Random::new(7);
    for name in &needed(&memory) {
        let content = memory.content(name).unwrap();
        let content = content[..end_of(&memory, name, content.len())].to_vec();
        let step = (content.len() as u64 * 8 / 300).max(1);
        let mut bit = random.below(step);
        while bit < content.len() as u64 * 8 {
            let damaged = copy(&memory);
            let mut flipped = content.clone();
            flipped[bit as usize / 8] ^= 1 << (bit % 8);
            flipped.extend_from_slice(&memory.content(name).unwrap()[content.len()..]);
            damaged.put(name, flipped).unwrap();
            match verify(&damaged) {
                Ok(report) => assert!(!report.is_sound(), "bit {bit} of {name}"),
                Err(error) => panic!("bit {bit} of {name}: {error}"),
            }
            bit += 1 + random.below(2 * step);
        }
    }
}

#[test]
fn every_cut_and_every_missing_file_is_told() {
    let (memory, _) = store(3);
    for name in &needed(&memory) {
        let content = memory.content(name).unwrap();
        for cut in [0, 1, content.len() / 2, content.len() - 1] {
            let damaged = copy(&memory);
            damaged.put(name, content[..cut].to_vec()).unwrap();
            assert!(!verify(&damaged).unwrap().is_sound(), "{name} cut at {cut}");
        }
        let damaged = copy(&memory);
        damaged.remove(name).unwrap();
        assert!(!verify(&damaged).unwrap().is_sound(), "{name} is missing");
    }
}

#[test]
fn files_of_others_in_the_place_of_ours_are_told() {
    let (memory, _) = store(4);
    let (other, _) = store(5);
    for suffix in [".table", ".values", ".log"] {
        let ours = names(&memory, suffix);
        let damaged = copy(&memory);
        let (ours, others) = (ours.last().unwrap(), names(&other, suffix));
        damaged.put(ours, other.content(others.last().unwrap()).unwrap()).unwrap();
        assert!(!verify(&damaged).unwrap().is_sound(), "{suffix} of another store");
    }
    let tables = names(&memory, ".table");
    let damaged = copy(&memory);
    damaged.put(&tables[0], memory.content(&tables[1]).unwrap()).unwrap();
    assert!(!verify(&damaged).unwrap().is_sound(), "another table of the store");
}

#[test]
fn what_is_no_store_is_refused_and_a_crash_leaves_orphans_but_no_damage() {
    // Creation that was cut short leaves a part of a manifest, which is no store either.
    for names in [&[][..], &["000001.manifest.new"], &["LOCK", "000001.manifest.new", "notes.txt"]] {
        let memory = MemoryStorage::new();
        names.iter().for_each(|name| memory.put(name, b"cut short".to_vec()).unwrap());
        assert!(matches!(verify(&memory), Err(Error { cause: Cause::NotAStore, .. })), "{names:?}");
        let repaired = repair_store(shared(&memory), &mut |_, _| {});
        assert!(matches!(repaired, Err(Error { cause: Cause::NotAStore, .. })), "{names:?}");
        let opened = Db::open(shared(&memory), &DbOptions::default().create(false));
        assert!(matches!(opened, Err(Error { cause: Cause::NotAStore, .. })), "{names:?}");
    }
    let (memory, _) = store(6);
    for name in ["000900.table", "000901.log", "000902.manifest.new", "000001.values"] {
        memory.put(name, b"left by a crash".to_vec()).unwrap();
    }
    let report = verify(&memory).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.orphans, ["000001.values", "000900.table", "000901.log", "000902.manifest.new"]);
    let open = Db::open(shared(&memory), &options()).unwrap();
    assert!(verify(&memory).unwrap().is_sound());
    assert!(open.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn a_damaged_block_of_a_table_costs_its_records_and_no_others() {
    let (memory, mut random) = (MemoryStorage::new(), Random::new(1));
    let db = Db::open(shared(&memory), &options().levels(|levels| levels.table_bytes(1 << 20))).unwrap();
    let model: Model = (0..2_000).map(|i| (key(i), random.next_u64().to_be_bytes().repeat(8))).collect();
    model.iter().for_each(|(key, value)| db.insert(key, value).unwrap());
    db.compact().unwrap();
    db.close().unwrap();
    let table = names(&memory, ".table").remove(0);
    let content = memory.content(&table).unwrap();
    for place in [100, 5_000, 60_000] {
        let damaged = copy(&memory);
        let mut flipped = content.clone();
        flipped[place] ^= 1;
        damaged.put(&table, flipped).unwrap();
        let (report, held) = repaired(&damaged);
        assert_eq!(report.damaged_files, std::slice::from_ref(&table));
        assert_eq!(held.len() as u64 + report.lost_entries, 2_000);
        assert!((1..200).contains(&report.lost_entries), "{report:?}");
        assert!(held.iter().all(|(key, value)| model.get(key) == Some(value)));
    }
}

#[test]
fn a_repaired_store_has_nothing_that_was_never_written_and_all_that_damage_did_not_reach() {
    for seed in 10..16 {
        let (memory, model) = store(seed);
        let mut random = Random::new(seed);
        for name in &needed(&memory) {
            let content = memory.content(name).unwrap();
            for _ in 0..4 {
                let damaged = copy(&memory);
                let mut flipped = content.clone();
                let place = random.below(content.len() as u64) as usize;
                flipped[place] ^= 0x10;
                damaged.put(name, flipped).unwrap();
                let (report, held) = repaired(&damaged);
                assert!(report.damaged_files.contains(name), "{report:?}, byte {place} of {name}");
                assert!(held.keys().all(|key| model.contains_key(key)), "byte {place} of {name}");
                let is_manifest = name.ends_with(".manifest");
                assert_eq!(report.manifest_rebuilt, is_manifest);
                if is_manifest {
                    // All other files are sound, so none of their contents are lost, except for an older log.
                    assert_eq!(held.len(), model.len(), "byte {place} of {name}");
                }
            }
            let damaged = copy(&memory);
            damaged.remove(name).unwrap();
            let (_, held) = repaired(&damaged);
            assert!(held.keys().all(|key| model.contains_key(key)), "{name} is missing");
        }
    }
}

#[test]
fn a_lost_manifest_is_made_again_from_tables_and_logs() {
    let (memory, model) = store(20);
    let manifest = names(&memory, ".manifest").remove(0);
    memory.remove(&manifest).unwrap();
    assert!(matches!(Db::open(shared(&memory), &options()), Err(Error { cause: Cause::Damaged, .. })));
    let (report, held) = repaired(&memory);
    assert!(report.manifest_rebuilt);
    assert_eq!(held, model);
}

#[test]
fn a_log_that_is_missing_after_a_crash_is_told_and_not_taken_for_an_empty_one() {
    let memory = MemoryStorage::new();
    let db = Db::open(shared(&memory), &options()).unwrap();
    for i in 0..50 {
        db.insert(key(i), "value").unwrap();
    }
    // As after a kill.
    let crashed = copy(&memory);
    drop(db);
    let log = names(&crashed, ".log").pop().unwrap();
    crashed.remove(&log).unwrap();
    assert!(!verify(&crashed).unwrap().is_sound());
    assert!(matches!(Db::open(shared(&crashed), &options()), Err(Error { cause: Cause::Damaged, .. })));
}
