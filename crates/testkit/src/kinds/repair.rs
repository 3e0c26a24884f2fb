//! Repair of damaged indexes: all entries of intact leaves are saved, and nothing else.
//!
//! Indexes of small pages are changed until freed leaves lie among those in use, and then damaged: pages are flipped,
//! zeroed and replaced, the file is cut, a copy of the header is lost. The model reads the leaves from the bytes of the
//! sound file, as `docs/format/index-leaves.md` describes them: those whose pages have not changed must be saved. Logs
//! are damaged as well: what is saved must be the state after one of the commits.

use super::support::{Map, NAME, Numbers, options};
use crate::{BadSectors, Random, SimulatedDisk};
use ogive::index::{IndexKind, IndexOptions};
use ogive::io::Storage;
use ogive::page::{PageFile, PageOptions};
use ogive::repair::{FileRepairReport, LostRange, repair_index};
use ogive::{Cause, Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

const PAGE_BYTES: usize = 512;
const HEADER_BYTES: usize = 8192;
/// The upper bits of the first byte of each leaf.
const LEAF_TAG: u8 = 0xa4;
const NEW: &str = "new";
const ROUNDS: usize = 60;

type DiskFiles = BTreeMap<String, Vec<u8>>;
type Entries = Vec<(u64, u64)>;

/// Kinds without B+-tree leaves.
const WITHOUT_LEAVES: [&str; 4] = ["fiting", "pgm", "alex", "lipp"];

/// An index whose leaves were split, merged and freed, checkpointed.
fn sample(kind: IndexKind, duplicates: bool) -> DiskFiles {
    let disk = SimulatedDisk::new();
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let index = Numbers::create((storage, NAME), &options(kind).duplicates(duplicates)).unwrap();
    index.bulk_load((0..700_u64).map(|i| (if duplicates { i / 90 * 90 } else { i } * 5, i))).unwrap();
    let mut random = Random::new(7);
    for round in 0..6_u64 {
        let mut transaction = index.write().unwrap();
        for i in 0..120 {
            transaction.insert(random.below(3500) + round, i).unwrap();
            transaction.remove(random.below(3500)).unwrap();
        }
        // Empties leaves, which are freed.
        let start = round * 500;
        (start..start + 200).for_each(|key| _ = transaction.remove_all(key).unwrap());
        transaction.commit().unwrap();
    }
    index.close().unwrap();
    disk.files()
}

/// The pages of the leaves with their entries, in order of the chain.
fn leaves(content: &[u8]) -> Vec<(usize, Entries)> {
    let word = |at: usize| u64::from_le_bytes(content[at..at + 8].try_into().unwrap());
    let half = |at: usize| u32::from_le_bytes(content[at..at + 4].try_into().unwrap()) as usize;
    // The state follows the larger turn; after the count and the router's own comes the chain.
    let slot = if word(24) > word(4096 + 24) { 0 } else { 4096 };
    let state_bytes = usize::from(u16::from_le_bytes(content[slot + 60..slot + 62].try_into().unwrap()));
    let mut page = half(slot + 64 + state_bytes - 24);
    let mut found = Vec::new();
    while page != 0 {
        let at = page * PAGE_BYTES;
        let count = usize::from(u16::from_le_bytes([content[at + 1], content[at + 2]]));
        let entry = |i: usize| (word(at + 11 + i * 16), word(at + 11 + i * 16 + 8));
        found.push((page, (0..count).map(entry).collect()));
        page = half(at + 7);
    }
    found
}

fn repair(files: &DiskFiles) -> Result<(FileRepairReport, Entries)> {
    repair_on(Arc::new(SimulatedDisk::with_files(files.clone())))
}

fn repair_on(storage: Arc<dyn Storage>) -> Result<(FileRepairReport, Entries)> {
    let report = repair_index((&storage, NAME), (&storage, NEW), &IndexOptions::default(), &mut |_, _| {})?;
    for name in storage.list()? {
        assert!(!name.contains("tmp"), "{name} stayed behind");
    }
    assert_eq!(storage.exists(NEW)?, report.saved_records > 0);
    if report.saved_records == 0 {
        return Ok((report, Vec::new()));
    }
    let new = Numbers::open((storage, NEW), &IndexOptions::default())?;
    assert_eq!(new.verify()?.entries, report.saved_records);
    let entries: Result<Entries> = new.iter()?.collect();
    Ok((report, entries?))
}

fn covers(range: &LostRange, key: u64) -> bool {
    let key = key.to_be_bytes();
    range.after.as_ref().is_none_or(|after| after[..] <= key[..])
        && range.before.as_ref().is_none_or(|before| key[..] <= before[..])
}

/// Damages some pages of the page file.
fn damage(content: &mut Vec<u8>, pages: &[usize], random: &mut Random) {
    for _ in 0..=random.below(8) {
        let at = pages[random.below(pages.len() as u64) as usize] * PAGE_BYTES;
        match random.below(4) {
            0 => content[at + random.below(512) as usize] ^= 1 << random.below(8),
            1 => content[at..at + PAGE_BYTES].fill(0),
            2 => {
                let from = pages[random.below(pages.len() as u64) as usize] * PAGE_BYTES;
                content.copy_within(from..from + PAGE_BYTES, at);
            }
            _ => (at..at + PAGE_BYTES).for_each(|at| content[at] = random.next_u64() as u8),
        }
    }
    match random.below(8) {
        0 => content[random.below(HEADER_BYTES as u64) as usize / 4096 * 4096 + 100] ^= 1,
        1 => content.truncate(content.len() - random.below(4) as usize * 300),
        _ => {}
    }
}

fn compare(files: &DiskFiles, map_pages: &[usize], leaves: &[(usize, Entries)], random: &mut Random, what: &str) {
    let sound = &files[NAME];
    let mut damaged = files.clone();
    // Damage to leaves alone, or to all pages.
    let pages: Vec<usize> = match random.below(2) {
        0 => leaves.iter().map(|(page, _)| *page).collect(),
        _ => (HEADER_BYTES / PAGE_BYTES..sound.len() / PAGE_BYTES).collect(),
    };
    damage(damaged.get_mut(NAME).unwrap(), &pages, random);
    let found = &damaged[NAME];
    let is_same = |page: usize| {
        let place = page * PAGE_BYTES..(page + 1) * PAGE_BYTES;
        found.get(place.clone()) == sound.get(place)
    };
    let (kept, lost): (Vec<_>, Vec<_>) = leaves.iter().partition(|(page, _)| is_same(*page));
    let (report, saved) = repair(&damaged).unwrap_or_else(|error| panic!("{what}: {error}"));
    let expected: Entries = kept.iter().flat_map(|(_, entries)| entries.iter().copied()).collect();
    let stated: u64 = leaves.iter().map(|(_, entries)| entries.len() as u64).sum();
    assert_eq!(report.saved_records + report.lost_records, stated, "{what}");
    assert_eq!(report.lost_ranges.iter().map(|range| range.records).sum::<u64>(), report.lost_records, "{what}");
    for (key, _) in lost.iter().flat_map(|(_, entries)| entries) {
        assert!(report.lost_ranges.iter().any(|range| covers(range, *key)), "{what}: {key} in {report:?}");
    }
    if map_pages.iter().all(|&page| is_same(page)) {
        // Entries of one key have no order.
        let sorted = |mut entries: Entries| {
            entries.sort_unstable();
            entries
        };
        assert!(saved.is_sorted_by_key(|entry| entry.0), "{what}");
        assert_eq!(sorted(saved), sorted(expected), "{what}: {report:?}");
    } else {
        assert!(saved.iter().all(|entry| expected.contains(entry)), "{what}: something false was saved");
    }
}

/// The pages of the space map: without one of them, the file cannot be opened for writing.
fn map_pages(files: &DiskFiles) -> Vec<usize> {
    let is_map_page = |&page: &usize| {
        let mut damaged = files.clone();
        damaged.get_mut(NAME).unwrap()[page * PAGE_BYTES] ^= 1;
        let storage: Arc<dyn Storage> = Arc::new(SimulatedDisk::with_files(damaged));
        Numbers::open((storage, NAME), &IndexOptions::default()).is_err()
    };
    (HEADER_BYTES / PAGE_BYTES..files[NAME].len() / PAGE_BYTES).filter(is_map_page).collect()
}

fn check(kind: IndexKind, duplicates: bool) {
    let files = sample(kind, duplicates);
    if WITHOUT_LEAVES.contains(&kind.name()) {
        let error = repair(&files).unwrap_err();
        assert!(
            matches!(&error, error @ Error { cause: Cause::NotRepairable, .. } if error.detail().contains(kind.name())),
            "{error}"
        );
        return;
    }
    let leaves = leaves(&files[NAME]);
    assert!(leaves.len() > 20, "{kind}: {} leaves", leaves.len());
    let map_pages = map_pages(&files);
    assert!(!map_pages.is_empty());
    let (report, saved) = repair(&files).unwrap();
    assert_eq!((report.lost_records, report.damaged_parts, report.lost_ranges.len()), (0, 0, 0), "{kind}");
    assert_eq!(saved, leaves.iter().flat_map(|(_, entries)| entries.iter().copied()).collect::<Entries>(), "{kind}");
    let mut random = Random::new(11);
    for round in 0..ROUNDS {
        compare(&files, &map_pages, &leaves, &mut random, &format!("{kind}, round {round}"));
    }
}

/// All entries of intact leaves are saved, and nothing else; the lost ranges cover the others.
pub fn intact_leaves_are_saved(kind: IndexKind) {
    check(kind, false);
}

/// The same with runs of equal keys, longer than a leaf.
pub fn intact_leaves_of_repeated_keys_are_saved(kind: IndexKind) {
    check(kind, true);
}

/// With a damaged log, the state before the damage is saved.
pub fn commits_before_damage_to_the_log_are_saved(kind: IndexKind) {
    if WITHOUT_LEAVES.contains(&kind.name()) {
        return;
    }
    let disk = SimulatedDisk::new();
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let index = Numbers::create((storage, NAME), &options(kind)).unwrap();
    let mut map: Map = (0..1000).map(|i| (i * 3, i)).collect();
    index.bulk_load(map.clone()).unwrap();
    index.checkpoint().unwrap();
    let mut states = vec![map.clone()];
    for round in 0..5 {
        let mut transaction = index.write().unwrap();
        for i in 0..20 {
            transaction.insert(i * 30 + round, round).unwrap();
            map.insert(i * 30 + round, round);
        }
        // Empties leaves, which are freed, and stay in the log.
        for key in round * 600..round * 600 + 300 {
            map.remove(&key);
            transaction.remove(key).unwrap();
        }
        transaction.commit().unwrap();
        states.push(map.clone());
    }
    let files = disk.files();
    let name = files.keys().find(|name| name.contains(".log-")).unwrap().clone();
    let saved_of = |files: &DiskFiles| {
        let (report, saved) = repair(files).unwrap();
        assert_eq!(report.lost_records, 0, "{kind}: {report:?}");
        (report.lost_commits, states.iter().position(|state| state.iter().map(|(&k, &v)| (k, v)).eq(saved.clone())))
    };
    assert_eq!(saved_of(&files), (None, Some(5)), "{kind}");
    let mut seen = std::collections::BTreeSet::new();
    for at in (0..files[&name].len()).step_by(97) {
        let mut damaged = files.clone();
        damaged.get_mut(&name).unwrap()[at] ^= 16;
        let (lost, state) = saved_of(&damaged);
        let state = state.unwrap_or_else(|| panic!("{kind}: byte {at} of the log: no state of any commit"));
        // What only the last commit wrote cannot be told from a write that power interrupted.
        assert!(lost.is_some() || state >= 4, "{kind}: byte {at}: state {state}");
        seen.insert(state);
    }
    assert!(seen.len() > 3, "{kind}: {seen:?}");
    let mut without = files.clone();
    without.remove(&name);
    let (lost, state) = saved_of(&without);
    assert!(lost.is_some_and(|lost| lost.contains("missing")) && state == Some(0), "{kind}: {state:?}");
    let map_pages = map_pages(&files);
    let pages = HEADER_BYTES / PAGE_BYTES..files[NAME].len() / PAGE_BYTES;
    let mut pages: Vec<usize> = pages.filter(|page| !map_pages.contains(page)).collect();
    // Without the router, and without a leaf or two, freed leaves would fit the gaps.
    let inner: Vec<usize> =
        pages.iter().copied().filter(|page| files[NAME][page * PAGE_BYTES] & !3 != LEAF_TAG).collect();
    (0..8).for_each(|_| pages.extend(&inner));
    let mut random = Random::new(12);
    for round in 0..ROUNDS {
        let mut damaged = files.clone();
        damage(damaged.get_mut(NAME).unwrap(), &pages, &mut random);
        let (report, saved) = repair(&damaged).unwrap_or_else(|error| panic!("{kind}, round {round}: {error}"));
        let state = &states[if report.lost_commits.is_none() { 5 } else { 0 }];
        let is_true = |&(key, value): &(u64, u64)| state.get(&key) == Some(&value);
        assert!(saved.iter().all(is_true), "{kind}, round {round}: something false was saved");
        let is_saved = |key: u64| saved.binary_search_by_key(&key, |entry| entry.0).is_ok();
        let is_covered = |key: u64| report.lost_ranges.iter().any(|range| covers(range, key));
        assert!(state.keys().all(|&key| is_saved(key) || is_covered(key)), "{kind}, round {round}: {report:?}");
    }
}

/// The files of an index whose only checkpoint is empty: its pages lie in the page file, and the log says which.
fn loaded(kind: IndexKind) -> (DiskFiles, Map) {
    let disk = SimulatedDisk::new();
    let index = Numbers::create((Arc::new(disk.clone()), NAME), &options(kind)).unwrap();
    let mut map: Map = (0..1000).map(|i| (i * 3, i)).collect();
    index.bulk_load(map.clone()).unwrap();
    for number in 0..60 {
        let mut transaction = index.write().unwrap();
        for key in (0..10).map(|i| (i * 60 + number) * 3 + 1) {
            transaction.insert(key, number).unwrap();
            map.insert(key, number);
        }
        transaction.commit().unwrap();
    }
    (disk.files(), map)
}

/// Checks that a repair saved entries of the last commit alone, and that its ranges cover the others; returns how many.
fn check_saved(kind: IndexKind, report: &FileRepairReport, saved: &Entries, map: &Map) -> usize {
    assert!(saved.iter().all(|(key, value)| map.get(key) == Some(value)), "{kind}: something false was saved");
    let is_saved = |key: u64| saved.binary_search_by_key(&key, |entry| entry.0).is_ok();
    let is_covered = |key: u64| report.lost_ranges.iter().any(|range| covers(range, key));
    assert!(map.keys().all(|&key| is_saved(key) || is_covered(key)), "{kind}: {report:?}");
    assert_eq!(report.saved_records + report.lost_records, map.len() as u64, "{kind}");
    saved.len()
}

/// If the page file ends early, that is told, and the log beside it is not blamed: it leads to all pages that are left.
pub fn a_page_file_cut_off_beside_its_log_keeps_what_is_left(kind: IndexKind) {
    let (files, map) = loaded(kind);
    for cut in [1, 300, 512, 4096] {
        let mut damaged = files.clone();
        let content = damaged.get_mut(NAME).unwrap();
        content.truncate(content.len() - cut);
        let storage: Arc<dyn Storage> = Arc::new(SimulatedDisk::with_files(damaged.clone()));
        let pages = PageOptions::default();
        let errors = [
            Numbers::open((Arc::clone(&storage), NAME), &IndexOptions::default().pages(pages.clone()))
                .map(drop)
                .unwrap_err(),
            Numbers::open_read_only((Arc::clone(&storage), NAME), &IndexOptions::default().pages(pages.clone()))
                .map(drop)
                .unwrap_err(),
            // Its last checkpoint is no way back: the log is whole.
            PageFile::without_log(&storage, NAME, &pages).map(drop).unwrap_err(),
        ];
        for error in errors {
            let is_of_pages =
                matches!(&error, error @ Error { cause: Cause::Damaged, .. } if error.path().unwrap().ends_with(NAME));
            assert!(is_of_pages, "{kind}, {cut} bytes: {error}");
        }
        if !WITHOUT_LEAVES.contains(&kind.name()) {
            let (report, saved) = repair(&damaged).unwrap();
            assert_eq!(report.lost_commits, None, "{kind}, {cut} bytes");
            let lost = map.len() - check_saved(kind, &report, &saved, &map);
            assert!(lost < 500, "{kind}: {cut} bytes cost {lost} entries");
        }
    }
}

/// A sector that cannot be read costs the leaves in it, or the commits behind it in the log, and both are told.
pub fn sectors_that_cannot_be_read_are_told_and_cost_their_leaves(kind: IndexKind) {
    const SECTOR_BYTES: u64 = 4096;
    let (files, map) = loaded(kind);
    assert!(files.iter().any(|(name, content)| name.contains(".log-") && content.len() > 8192), "{kind}: a short log");
    let sectors =
        files.iter().filter(|(name, _)| *name == NAME || name.contains(".log-")).flat_map(|(name, content)| {
            (0..content.len() as u64).step_by(SECTOR_BYTES as usize).map(move |start| (name, start))
        });
    for (name, start) in sectors.collect::<Vec<_>>() {
        let disk: Arc<dyn Storage> = Arc::new(SimulatedDisk::with_files(files.clone()));
        let storage: Arc<dyn Storage> = Arc::new(BadSectors::new(disk).with(name, start..start + 512));
        // The last checkpoint is a way back from a log that is lost, and from nothing else.
        let lost = PageFile::without_log(&storage, NAME, &PageOptions::default());
        let is_way_back = lost.is_ok_and(|lost| lost.is_some());
        assert_eq!(is_way_back, name != NAME, "{kind}, {name} from {start}");
        let (report, saved) = match repair_on(storage) {
            Ok(repaired) => repaired,
            Err(Error { cause: Cause::NotRepairable, .. }) if WITHOUT_LEAVES.contains(&kind.name()) => continue,
            Err(error) => panic!("{kind}, {name} from {start}: {error}"),
        };
        if name == NAME {
            assert_eq!(report.lost_commits, None, "{kind}, from {start}");
            let lost = map.len() - check_saved(kind, &report, &saved, &map);
            assert!(lost < 500, "{kind}: the sector from {start} cost {lost} entries");
        } else {
            assert!(
                report.lost_commits.is_some_and(|lost| lost.contains(name.as_str())),
                "{kind}, {name} from {start}"
            );
            assert!(saved.iter().all(|(key, value)| map.get(key) == Some(value)), "{kind}, {name} from {start}");
        }
    }
}
