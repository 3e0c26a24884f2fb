//! Tests of stores in the least memory that an opening accepts. Goal: what an opening accepts suffices for every flush
//! and compaction of the records that are there. Method: stores of drawn shapes, written with ample memory, are opened
//! with exactly the least accepted memory, found by bisection, and with other options than they were written with; then
//! everything is flushed and compacted.

use crate::support::{LEAST_MEMORY, Records, collect, copy_of};
use ogive::block::Compression;
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::{Cause, Durability, Error};
use ogive_testkit::{Random, Repeat, named_seed, seeds};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Memory with which the stores are written: no limit is met.
const AMPLE_MEMORY: u64 = 256 << 20;

/// Number of drawn stores. At least half of them need more than the least memory of any store.
const STORES: u64 = 16;

fn any<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// Draws options of small tables, whose indexes and handles take more memory than the least of a store.
fn options(random: &mut Random) -> DbOptions {
    DbOptions::default()
        .threads(any(random, &[0, 0, 2]))
        .durability(Durability::Buffered)
        .writes(|writes| writes.memtable_bytes(any(random, &[64 << 10, 256 << 10])))
        .levels(|levels| {
            levels
                .table_bytes(any(random, &[8 << 10, 90_000, 110_000]))
                .level_bytes(any(random, &[256 << 10, 1 << 20]))
                .level_factor(any(random, &[2, 10]))
                .block_bytes(any(random, &[512, 512, 4096]))
        })
        .values(|values| values.separation_bytes(any(random, &[64, 1 << 10])))
        .levels(|levels| levels.filter_bits_per_key(any(random, &[None, Some(10)])))
        .compression(any(random, &[Compression::None, Compression::Lz4]))
        .levels(|levels| levels.coding(random.one_in(2)))
}

/// The shape of the keys of a store.
#[derive(Clone, Copy, Debug)]
enum Keys {
    Short,
    /// Each is a prefix of the next longer one, so that separators are as long as keys.
    Nested,
    /// Pairs of long keys that differ at their ends, with nothing in common with others, so that indexes are large.
    Pairs,
}

impl Keys {
    fn draw(self, random: &mut Random) -> Vec<u8> {
        let number = random.below(3000);
        match self {
            Self::Short => number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec(),
            Self::Nested => vec![b'n'; 1 + number as usize % 1500],
            Self::Pairs => {
                let mixed = (number / 2).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
                [&mixed[..], &[b'p'; 600], &[number as u8 % 2]].concat()
            }
        }
    }
}

/// Writes records of drawn shape into some keyspaces; returns all that is in them.
fn write(db: &Db, random: &mut Random) -> BTreeMap<String, Records> {
    let keys = any(random, &[Keys::Short, Keys::Nested, Keys::Pairs, Keys::Pairs, Keys::Pairs]);
    let value_bytes = any(random, &[4, 40, 300]);
    let removals = random.one_in(3);
    let mut contents = BTreeMap::new();
    for name in ["default", "b", "c"].into_iter().take(1 + random.below(3) as usize) {
        let (keyspace, mut records) = (db.keyspace(name).unwrap(), Records::new());
        for number in 0..1500 + random.below(2500) {
            let key = keys.draw(random);
            if removals && random.one_in(10) {
                let end = if random.one_in(50) { keys.draw(random) } else { [&key[..], b"!"].concat() };
                if key < end {
                    keyspace.remove_range(&key[..]..&end[..]).unwrap();
                    records.retain(|found, _| *found < key || *found >= end);
                }
            } else if random.one_in(20) {
                keyspace.remove(&key).unwrap();
                records.remove(&key);
            } else {
                let value = number.to_be_bytes().repeat(value_bytes / 8 + 1);
                keyspace.insert(&key, &value).unwrap();
                records.insert(key, value);
            }
            if random.one_in(600) {
                db.flush().unwrap();
            }
        }
        contents.insert(name.to_owned(), records);
    }
    if random.one_in(2) {
        db.flush().unwrap();
    }
    contents
}

fn open(files: &MemoryStorage, options: &DbOptions, memory_bytes: u64) -> Result<Db, Error> {
    let storage: Arc<dyn Storage> = copy_of(files);
    Db::open(storage, &options.clone().memory_bytes(memory_bytes))
}

/// The least memory that an opening accepts: what it says when it is refused, of which one byte less is refused.
fn least_memory(files: &MemoryStorage, options: &DbOptions) -> u64 {
    let mut least = LEAST_MEMORY;
    loop {
        match open(files, options, least) {
            Ok(_) => break,
            Err(Error { cause: Cause::Memory { needed_bytes, .. }, .. }) => {
                assert!(needed_bytes > least, "{needed_bytes} are no more than {least}");
                least = needed_bytes;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(
        matches!(open(files, options, least - 1), Err(Error { cause: Cause::Memory { .. }, .. })),
        "less than {least}"
    );
    least
}

fn check(db: &Db, contents: &BTreeMap<String, Records>) {
    for (name, records) in contents {
        assert!(collect(db.keyspace(name).unwrap().iter()).unwrap() == *records, "{name}");
    }
}

#[test]
fn the_least_memory_that_opens_a_store_suffices_to_flush_and_compact_it() {
    let mut large = 0;
    for seed in seeds(1..STORES + 1) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        let files = Arc::new(MemoryStorage::new());
        let written = options(random).memory_bytes(AMPLE_MEMORY);
        let db = Db::open(Arc::clone(&files) as Arc<dyn Storage>, &written).unwrap();
        let contents = write(&db, random);
        db.close().unwrap();
        let changed = if random.one_in(2) { options(random) } else { written.clone() };
        let least = least_memory(&files, &changed);
        large += u64::from(least > LEAST_MEMORY);
        let db = open(&files, &changed, least).unwrap();
        let told = db.stats();
        assert!(told.memory_bytes == least && told.least_memory_bytes <= least, "{told:?}, {least}");
        if random.one_in(2) {
            db.flush().unwrap();
        }
        db.compact().unwrap_or_else(|error| panic!("{error}; written with {written:?}, opened with {changed:?}"));
        check(&db, &contents);
        let after = db.stats().least_memory_bytes;
        assert!(after <= least, "{after} after a compaction, {least} before");
        db.close().unwrap();
    }
    assert!(named_seed().is_some() || large >= STORES / 2, "{large}");
}
