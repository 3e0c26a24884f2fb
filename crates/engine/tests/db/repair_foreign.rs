//! Repair tests with foreign files. Goal: when the manifest is lost, no file of a diverged copy, and none of another
//! store, is accepted as the store's; such files are named and set aside, and the store keeps everything that its own
//! files contain. Method: a store and its diverged copy; each file of the copy is put beside, or in place of, those of
//! the store.

use crate::support::{Files, files, memory};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::repair::{RepairReport, repair_store};
use ogive::verify::verify_store;
use std::sync::Arc;

fn options() -> DbOptions {
    DbOptions::default()
        .memory_bytes(8 << 20)
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .values(|values| values.separation_bytes(200))
        .threads(0)
}

fn open(memory: &MemoryStorage) -> Db {
    Db::open(Arc::new(memory.clone()), &options()).unwrap()
}

/// Writes that differ only by `mark`, so that copies use the same file numbers, lengths and keys.
fn go_on(memory: &MemoryStorage, mark: u8, rounds: std::ops::Range<u64>) {
    for round in rounds {
        let db = open(memory);
        for half in 0..2 {
            for i in 0..30_u64 {
                let value = vec![mark; if i.is_multiple_of(3) { 300 } else { 20 }];
                db.insert((round * 100 + half * 50 + i).to_be_bytes(), value).unwrap();
            }
            db.flush().unwrap();
        }
        db.close().unwrap();
    }
}

/// A store and its copy, both written to after the copy was made.
fn parted() -> [Files; 2] {
    let first = MemoryStorage::new();
    go_on(&first, b'0', 0..2);
    let second = memory(&files(&first));
    go_on(&first, b'1', 2..4);
    go_on(&second, b'2', 2..4);
    [files(&first), files(&second)]
}

/// A repaired store: its storage, the report, and the values of all entries.
fn repaired(files: &Files) -> (MemoryStorage, RepairReport, Vec<Vec<u8>>) {
    let memory = memory(files);
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let repaired = repair_store(&storage, &mut |_, _| {}).unwrap();
    let report = verify_store(&storage, &mut |_, _| {}).unwrap();
    assert!(report.is_sound() && report.orphans.is_empty(), "{:?} {:?}", report.findings, report.orphans);
    let values = open(&memory).iter().map(|record| record.unwrap().1.to_vec()).collect();
    (memory, repaired, values)
}

fn without_manifest(files: &Files) -> Files {
    files.clone().into_iter().filter(|(name, _)| !name.ends_with(".manifest")).collect()
}

#[test]
fn value_files_of_a_copy_are_set_aside() {
    let [own, copy] = parted();
    let whole = repaired(&without_manifest(&own)).2;
    assert_eq!(whole.len(), 240);
    for (name, content) in
        copy.iter().filter(|(name, _)| name.ends_with(".values") && own.get(*name) != copy.get(*name))
    {
        let mut files = without_manifest(&own);
        let lost = files.insert(name.clone(), content.clone());
        assert!(lost.is_some(), "{name}: both went on alike");
        let (memory, said, values) = repaired(&files);
        assert_eq!(said.foreign_files, [name.as_str()]);
        assert!(values.iter().all(|value| value[0] != b'2'), "{name}: a value of the copy");
        assert_eq!((values.len(), said.lost_entries), (230, 10), "{name}");
        assert_eq!(&memory.content(&format!("{name}.foreign")).unwrap(), content);
    }
}

#[test]
fn files_of_a_copy_among_those_of_the_store_are_set_aside() {
    let [own, copy] = parted();
    // The first or last file of an opening may as well belong to an opening that wrote nothing else. Value files are
    // first and last of each here.
    let number = |name: &str| name.split_once('.').unwrap().0.parse::<u64>().unwrap();
    let apart = own.keys().filter(|name| name.ends_with(".values") && own.get(*name) != copy.get(*name));
    let ends: Vec<u64> = apart.map(|name| number(name)).collect();
    let openings = [(ends[0], ends[1]), (ends[2], ends[3])];
    let is_among = |name: &String| {
        !name.ends_with(".manifest")
            && own.get(name) != copy.get(name)
            && openings.iter().any(|&(first, last)| (first..=last).contains(&number(name)))
    };
    for (name, content) in copy.iter().filter(|(name, _)| is_among(name)) {
        let mut files = without_manifest(&own);
        files.insert(name.clone(), content.clone());
        let (_, said, values) = repaired(&files);
        assert_eq!(said.foreign_files, [name.as_str()], "{ends:?}");
        assert!(!said.is_loss_known && values.iter().all(|value| value[0] != b'2'), "{name}");
    }
}

#[test]
fn value_files_beside_those_of_the_store_cost_it_nothing() {
    let [own, _] = parted();
    let copy = memory(&own);
    go_on(&copy, b'2', 4..5);
    let copy = files(&copy);
    for (name, content) in copy.iter().filter(|(name, _)| name.ends_with(".values") && !own.contains_key(*name)) {
        let mut files = without_manifest(&own);
        files.insert(name.clone(), content.clone());
        let (_, said, values) = repaired(&files);
        assert_eq!((said.foreign_files, said.lost_entries), (vec![name.clone()], 0));
        assert_eq!((values.len(), values.iter().any(|value| value[0] == b'2')), (240, false));
    }
}

#[test]
fn files_of_another_store_are_set_aside() {
    let [own, _] = parted();
    let other = MemoryStorage::new();
    go_on(&other, b'2', 0..1);
    for (name, content) in files(&other).iter().filter(|(name, _)| !name.ends_with(".manifest")) {
        let mut files = without_manifest(&own);
        let foreign = format!("000900.{}", name.split_once('.').unwrap().1);
        files.insert(foreign.clone(), content.clone());
        let (_, said, values) = repaired(&files);
        // A log whose name does not match its number proves nothing.
        if !name.ends_with(".log") {
            assert_eq!(said.foreign_files, [foreign]);
        }
        assert_eq!((values.len(), values.iter().any(|value| value[0] == b'2')), (240, false), "{name}");
    }
}

/// A store with its manifest and all named files needs no repair: files of a copy that went further are set aside, and
/// displace nothing, not even entries that are only in the log.
#[test]
fn files_of_a_copy_beside_a_whole_store_are_set_aside_and_nothing_else_is_done() {
    let first = MemoryStorage::new();
    go_on(&first, b'0', 0..2);
    let second = memory(&files(&first));
    let db = open(&first);
    (0..40_u64).for_each(|i| db.insert((1_000 + i).to_be_bytes(), [b'1'; 20]).unwrap());
    db.close().unwrap();
    go_on(&second, b'2', 2..6);
    let db = open(&second);
    db.insert(b"last", b"2").unwrap();
    db.compact().unwrap();
    db.insert(b"very last", b"2").unwrap();
    db.close().unwrap();
    let (own, copy) = (files(&first), files(&second));
    let whole: Vec<_> = open(&memory(&own)).iter().map(|record| record.unwrap()).collect();
    let added: Vec<&String> =
        copy.keys().filter(|name| !name.ends_with(".manifest") && !own.contains_key(*name)).collect();
    let of_kind = |kind: &str| added.iter().filter(|name| name.ends_with(kind)).count();
    assert!(of_kind(".log") > 0 && of_kind(".table") > 0 && of_kind(".values") > 0, "{added:?}");
    let mut refused = 0;
    for chosen in added.iter().map(|name| vec![*name]).chain([added.clone()]) {
        let mut files = own.clone();
        chosen.iter().for_each(|name| _ = files.insert((*name).clone(), copy[*name].clone()));
        if Db::open(Arc::new(memory(&files)), &options()).is_ok() {
            // Below the manifest's reservation it is a leftover.
            continue;
        }
        refused += 1;
        let (memory, said, _) = repaired(&files);
        assert!(said.damaged_files.is_empty() && !said.manifest_rebuilt, "{chosen:?}: {said:?}");
        assert!(!said.foreign_files.is_empty());
        for name in &said.foreign_files {
            assert_eq!(memory.content(&format!("{name}.foreign")).unwrap(), copy[name], "{name}");
        }
        let found: Vec<_> = open(&memory).iter().map(|record| record.unwrap()).collect();
        assert!(found == whole, "{chosen:?}: {} of {} entries", found.len(), whole.len());
    }
    assert!(refused > 3, "{refused}");
}
