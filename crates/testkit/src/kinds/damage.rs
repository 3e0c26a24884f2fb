//! Damaged files: no damage to the file of an index leads to a wrong answer or a panic, whatever the index is made of.
//!
//! In small indexes, bits are flipped everywhere, pages are swapped, taken from an older state of the file and from
//! another file, and the file is cut short and zeroed in parts. Each damaged file is opened, read in every way,
//! verified, and changed.

use super::support::{Map, NAME, Numbers, entries, open, options};
use crate::{Random, SimulatedDisk};
use ogive::index::Kind;
use ogive::io::Storage;
use ogive::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const PAGE_BYTES: usize = 512;
/// Bytes of the two headers of a page file.
const HEADER_BYTES: usize = 8192;
/// One bit is flipped in so many bytes: a number that is prime, so that every place of a page has its turn.
const FLIP_EVERY_BYTES: usize = 29;

/// The files of a disk.
type Files = BTreeMap<String, Vec<u8>>;

fn storage(files: &Files) -> Arc<dyn Storage> {
    Arc::new(SimulatedDisk::with_files(files.clone()))
}

/// An index after a bulk load and some changes, checkpointed, and the same after more changes.
fn samples(kind: Kind) -> (Files, Files, Map) {
    let disk = SimulatedDisk::new();
    let shared: Arc<dyn Storage> = Arc::new(disk.clone());
    let index = Numbers::create(&shared, NAME, &options(kind)).unwrap();
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

/// Does everything with a damaged file: the answers must be right, or errors. Whether anything noticed the damage.
fn noticed(files: &Files, map: &Map, what: &str) -> bool {
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
    let noticed = match read() {
        Ok(()) => false,
        Err(
            Error::Damaged { .. }
            | Error::NotAPageFile { .. }
            | Error::NotAnIndex { .. }
            | Error::UnknownVersion { .. }
            | Error::WrongType { .. },
        ) => true,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::UnexpectedEof => true,
        Err(error) => panic!("{what}: {error:?}"),
    };
    // What a writer makes of it must not panic either.
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
    noticed
}

fn damaged(files: &Files, name: &str, damage: impl FnOnce(&mut Vec<u8>)) -> Files {
    let mut files = files.clone();
    damage(files.get_mut(name).unwrap());
    files
}

/// Flips bits everywhere: each flip is noticed, or lies where nothing is read.
pub fn flip_bits(kind: Kind) {
    let (_, files, map) = samples(kind);
    assert!(!noticed(&files, &map, kind.name()), "{kind}: the sound file");
    let free_pages = open(&storage(&files)).unwrap().page_statistics().free_pages;
    let mut random = Random::new(4);
    for (name, content) in &files {
        let mut unnoticed = BTreeSet::new();
        for at in (0..content.len()).step_by(FLIP_EVERY_BYTES) {
            let flipped = damaged(&files, name, |content| content[at] ^= 1 << random.below(8));
            if !noticed(&flipped, &map, &format!("{kind}: {name}, byte {at}")) {
                unnoticed.insert(at / PAGE_BYTES);
            }
        }
        // The header stands there twice, so that one of the two may be damaged.
        let pages = unnoticed.range(HEADER_BYTES / PAGE_BYTES..).count() as u64;
        assert!(
            pages <= free_pages,
            "{kind}: {name}: flips in pages {unnoticed:?} were not noticed; {free_pages} are free"
        );
    }
}

/// Misplaces pages, and puts in those of another index: no wrong answer.
pub fn move_pages(kind: Kind) {
    let (_, files, map) = samples(kind);
    let (_, other, _) = samples(if kind == Kind::BTREE { Kind::OGIVE } else { Kind::BTREE });
    let pages = files[NAME].len() / PAGE_BYTES;
    let mut random = Random::new(5);
    for _ in 0..60 {
        let (from, to) = (random.below(pages as u64) as usize, random.below(pages as u64) as usize);
        let what = format!("{kind}: page {from} in the place of {to}");
        let moved = damaged(&files, NAME, |content| {
            content.copy_within(from * PAGE_BYTES..(from + 1) * PAGE_BYTES, to * PAGE_BYTES);
        });
        noticed(&moved, &map, &what);
        let foreign = damaged(&files, NAME, |content| {
            if let Some(page) = other[NAME].get(from * PAGE_BYTES..(from + 1) * PAGE_BYTES) {
                content[to * PAGE_BYTES..(to + 1) * PAGE_BYTES].copy_from_slice(page);
            }
        });
        noticed(&foreign, &map, &what);
    }
}

/// Cuts the files short, and zeroes parts of them: no wrong answer.
pub fn cut_and_zero(kind: Kind) {
    let (_, files, map) = samples(kind);
    for (name, content) in &files {
        for length in (0..content.len()).step_by(1499) {
            let cut = damaged(&files, name, |content| content.truncate(length));
            noticed(&cut, &map, &format!("{kind}: {name} cut to {length}"));
        }
        for start in (0..content.len()).step_by(PAGE_BYTES) {
            let end = (start + PAGE_BYTES).min(content.len());
            let zeroed = damaged(&files, name, |content| content[start..end].fill(0));
            noticed(&zeroed, &map, &format!("{kind}: {name} zeroed from {start}"));
        }
    }
}
