//! Damaged files: damage to the file of an index of any kind never causes a wrong answer or a panic.
//!
//! In small indexes, bits are flipped everywhere, pages are moved within the file and from another file, and the file
//! is truncated and zeroed in parts. Each damaged file is opened, read in every way, verified, and changed.

use super::support::{Map, NAME, Numbers, entries, open, options};
use crate::{Random, SimulatedDisk};
use ogive::index::IndexKind;
use ogive::io::Storage;
use ogive::{Cause, Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const PAGE_BYTES: usize = 512;
/// Bytes of the two headers of a page file.
const HEADER_BYTES: usize = 8192;
/// Distance between flipped bits, in bytes: a prime, so that flips cover all offsets within a page.
const FLIP_STRIDE_BYTES: usize = 29;

/// The files of a disk.
type Files = BTreeMap<String, Vec<u8>>;

fn storage(files: &Files) -> Arc<dyn Storage> {
    Arc::new(SimulatedDisk::with_files(files.clone()))
}

/// The checkpointed files of an index after some changes, the files after more changes, and their entries.
fn samples(kind: IndexKind) -> (Files, Files, Map) {
    let disk = SimulatedDisk::new();
    let shared: Arc<dyn Storage> = Arc::new(disk.clone());
    let index = Numbers::create((shared.clone(), NAME), &options(kind)).unwrap();
    let mut map: Map = (0..250).map(|i| ((i % 4) * (1 << 40) + i * 7, i)).collect();
    index.bulk_load(map.clone()).unwrap();
    let mut change = |step: u64| {
        let mut transaction = index.write().unwrap();
        for i in 0..40 {
            let key = (i % 4) * (1 << 40) + i * step;
            transaction.insert(key, i).unwrap();
            map.insert(key, i);
            let key = (i % 4) * (1 << 40) + i * 14;
            assert_eq!(transaction.remove(key).unwrap(), map.remove(&key).is_some());
        }
        transaction.commit().unwrap();
        index.checkpoint().unwrap();
    };
    change(3);
    let older = disk.files();
    change(5);
    drop(index);
    (older, disk.files(), map)
}

/// Runs all operations on a damaged file: answers must be right, or errors. Whether the damage was detected.
fn detects_damage(files: &Files, map: &Map, what: &str) -> bool {
    let read = || -> Result<()> {
        let index = open(&storage(files))?;
        for (&key, &value) in map {
            assert_eq!(index.get(key)?, Some(value), "{what}: a wrong answer for {key}");
            assert!(!index.contains_key(key + 1)? || map.contains_key(&(key + 1)), "{what}");
        }
        let reader = index.reader()?;
        assert_eq!(&entries(&reader)?, map, "{what}: wrong entries");
        let backward: Result<Vec<(u64, u64)>> = reader.iter().rev().collect();
        assert_eq!(backward?.len(), map.len(), "{what}");
        reader.statistics()?;
        reader.verify()?;
        Ok(())
    };
    let detected = match read() {
        Ok(()) => false,
        Err(Error {
            cause: Cause::Damaged | Cause::NotAnIndex | Cause::Version { .. } | Cause::WrongType { .. },
            ..
        }) => true,
        Err(Error { cause: Cause::Io(std::io::ErrorKind::UnexpectedEof), .. }) => true,
        Err(error) => panic!("{what}: {error:?}"),
    };
    // A writer must not panic either.
    let write = || -> Result<()> {
        let index = open(&storage(files))?;
        let mut transaction = index.write()?;
        for &key in map.keys().step_by(5) {
            transaction.remove(key)?;
            transaction.insert(key + 2, 1)?;
        }
        transaction.commit()
    };
    let _ = write();
    detected
}

fn damaged(files: &Files, name: &str, damage: impl FnOnce(&mut Vec<u8>)) -> Files {
    let mut files = files.clone();
    damage(files.get_mut(name).unwrap());
    files
}

/// Flips bits everywhere: each flip is detected, or lies in an unused page.
pub fn flip_bits(kind: IndexKind) {
    let (_, files, map) = samples(kind);
    assert!(!detects_damage(&files, &map, kind.name()), "{kind}: the sound file");
    let free_pages = open(&storage(&files)).unwrap().page_statistics().free_pages;
    let mut random = Random::new(4);
    for (name, content) in &files {
        let mut undetected = BTreeSet::new();
        for at in (0..content.len()).step_by(FLIP_STRIDE_BYTES) {
            let flipped = damaged(&files, name, |content| content[at] ^= 1 << random.below(8));
            if !detects_damage(&flipped, &map, &format!("{kind}: {name}, byte {at}")) {
                undetected.insert(at / PAGE_BYTES);
            }
        }
        // There are two headers, one of which may be damaged.
        let pages = undetected.range(HEADER_BYTES / PAGE_BYTES..).count() as u64;
        assert!(
            pages <= free_pages,
            "{kind}: {name}: flips in pages {undetected:?} were not detected; {free_pages} are free"
        );
    }
}

/// Moves pages, and replaces them by those of another index: no wrong answer.
pub fn move_pages(kind: IndexKind) {
    let (_, files, map) = samples(kind);
    let (_, other, _) = samples(if kind == IndexKind::BTREE { IndexKind::OGIVE } else { IndexKind::BTREE });
    let pages = files[NAME].len() / PAGE_BYTES;
    let mut random = Random::new(5);
    for _ in 0..60 {
        let (from, to) = (random.below(pages as u64) as usize, random.below(pages as u64) as usize);
        let what = format!("{kind}: page {from} moved to {to}");
        let moved = damaged(&files, NAME, |content| {
            content.copy_within(from * PAGE_BYTES..(from + 1) * PAGE_BYTES, to * PAGE_BYTES);
        });
        detects_damage(&moved, &map, &what);
        let foreign = damaged(&files, NAME, |content| {
            if let Some(page) = other[NAME].get(from * PAGE_BYTES..(from + 1) * PAGE_BYTES) {
                content[to * PAGE_BYTES..(to + 1) * PAGE_BYTES].copy_from_slice(page);
            }
        });
        detects_damage(&foreign, &map, &what);
    }
}

/// Truncates the files, and zeroes parts of them: no wrong answer.
pub fn cut_and_zero(kind: IndexKind) {
    let (_, files, map) = samples(kind);
    for (name, content) in &files {
        for length in (0..content.len()).step_by(1499) {
            let cut = damaged(&files, name, |content| content.truncate(length));
            detects_damage(&cut, &map, &format!("{kind}: {name} cut to {length}"));
        }
        for start in (0..content.len()).step_by(PAGE_BYTES) {
            let end = (start + PAGE_BYTES).min(content.len());
            let zeroed = damaged(&files, name, |content| content[start..end].fill(0));
            detects_damage(&zeroed, &map, &format!("{kind}: {name} zeroed from {start}"));
        }
    }
}
