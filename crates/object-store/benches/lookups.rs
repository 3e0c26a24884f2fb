//! Requests and bytes of cold lookups in an object store, with records of 16 bytes: in a table by URL and in an open
//! one, beside what its tuned design says; in a store of five levels, of present and absent keys; in batches.
//!
//! ```console
//! $ cargo bench -p ogive-object-store --bench lookups               # ten million records
//! $ cargo bench -p ogive-object-store --bench lookups -- 1000000
//! ```

#![expect(clippy::disallowed_macros, reason = "a program prints what it found")]

#[path = "../tests/objects/faulty_store.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "a module of tests, of which no faults are used here")]
mod faulty_store;

use faulty_store::{Counts, FaultyStore};
use ogive::KeyType;
use ogive::io::{Profile, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::table::{Table, TableOptions, TableReport, TableWriteOptions, TableWriter};
use ogive_object_store::{ObjectOptions, opening_bytes};
use ogive_testkit::Random;
use std::error::Error;
use std::sync::Arc;

/// Lookups of each kind.
const LOOKUPS: u64 = 1000;
/// Openings by URL, of which each reads the end of the table.
const OPENINGS: u64 = 100;
/// Batches of lookups, and keys of each.
const BATCHES: u64 = 10;
const BATCH_KEYS: usize = 100;
/// Bits of filter a key of the store.
const FILTER_BITS: u32 = 20;

/// The key at a place: ascending, with irregular gaps, and an even number.
fn key(place: u64) -> [u8; 8] {
    (place * 1_000 + Random::new(place).below(1_000) / 2 * 2).to_be_bytes()
}

fn print(what: &str, lookups: u64, counts: &Counts) {
    let each = |sum: u64| sum as f64 / lookups as f64;
    println!("{what:44} {:7.3} GETs {:12.0} bytes", each(counts.gets + counts.heads), each(counts.bytes));
}

fn open(storage: &Arc<dyn Storage>, profile: &Profile) -> Result<Table, Box<dyn Error>> {
    // Without a cache of blocks, so that all is read.
    let options = TableOptions::default().profile(profile.clone()).memory_bytes(1 << 20);
    Ok(Table::open((Arc::clone(storage), "t"), &options)?)
}

fn table(number: u64, profile: &Profile) -> Result<(), Box<dyn Error>> {
    let store = FaultyStore::new();
    let storage = store.storage(ObjectOptions::default());
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(Some(8)).profile(profile.clone());
    let mut writer = TableWriter::create((Arc::clone(&storage), "t"), options)?;
    let mut random = Random::new(1);
    for place in 0..number {
        writer.append(&key(place), &random.next_u64().to_le_bytes())?;
    }
    let report = writer.finish()?;
    println!(
        "table: {number} records in {} bytes, {} blocks of {} bytes, index {} bytes in {} layers",
        report.file_bytes,
        report.blocks,
        report.block_size_bytes,
        report.index_bytes,
        report.layers.len()
    );
    println!(
        "design: opening {} bytes, then {:.0}; the adapter opens with {} bytes",
        report.opening_bytes(),
        below(&report),
        opening_bytes(profile)
    );
    let mut random = Random::new(2);
    store.take_counts();
    for _ in 0..OPENINGS {
        let found = open(&storage, profile)?.get(&key(random.below(number)))?;
        assert!(found.is_some());
    }
    print("get by URL", OPENINGS, &store.take_counts());
    let table = open(&storage, profile)?;
    store.take_counts();
    for _ in 0..LOOKUPS {
        assert!(table.get(&key(random.below(number)))?.is_some());
    }
    print("get in the open table", LOOKUPS, &store.take_counts());

    let slow = store.copy_in_waves();
    let storage = slow.storage(ObjectOptions::default());
    let table = open(&storage, profile)?;
    let (mut waves, mut modelled_us, mut gets) = (0, 0.0, 0);
    for _ in 0..BATCHES {
        slow.take_counts();
        let keys: Vec<[u8; 8]> = (0..BATCH_KEYS).map(|_| key(random.below(number))).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        assert!(table.multi_get(&keys)?.iter().all(Option::is_some));
        let counts = slow.take_counts();
        (waves, modelled_us, gets) =
            (waves + counts.waves.len(), modelled_us + counts.modelled_us(profile), gets + counts.gets);
    }
    let each = |sum: f64| sum / BATCHES as f64;
    println!(
        "multi_get of {BATCH_KEYS}: {:.1} GETs in {:.1} rounds, modelled {:.1} ms; one get {:.1} ms",
        each(gets as f64),
        each(waves as f64),
        each(modelled_us) / 1e3,
        profile.time_us(below(&report) as u64) / 1e3
    );
    Ok(())
}

/// Mean bytes that a lookup reads after the opening, by the design.
fn below(report: &TableReport) -> f64 {
    let layers = report.layers.split_last().map_or(&[][..], |(_, below)| below);
    layers.iter().map(|layer| layer.mean_read_bytes).sum::<f64>() + report.data_mean_read_bytes
}

fn store(number: u64) -> Result<(), Box<dyn Error>> {
    let store = FaultyStore::new();
    let storage = store.storage(ObjectOptions::default());
    // Five levels: the last one has most records, each above a quarter of the next.
    let last_bytes = number * 16;
    let options = DbOptions::default()
        .levels(|levels| {
            levels
                .filter_bits_per_key(FILTER_BITS)
                .table_bytes((last_bytes / 64).max(64 << 10))
                .level_bytes((last_bytes / 200).max(64 << 10))
                .level_factor(4)
        })
        .writes(|writes| writes.memtable_bytes((last_bytes / 256).max(64 << 10)))
        .objects(|objects| objects.gather_ms(0));
    let db = Db::open(Arc::clone(&storage), &options)?;
    let mut random = Random::new(3);
    for _ in 0..number / 1000 {
        let mut batch = db.batch();
        for _ in 0..1000 {
            batch.insert(&db, key(random.below(number)), random.next_u64().to_le_bytes());
        }
        batch.commit()?;
    }
    db.flush()?;
    let levels: Vec<(u64, u64)> =
        db.stats().keyspaces[0].levels.iter().map(|level| (level.tables, level.bytes)).collect();
    db.close()?;
    let filled = levels.iter().filter(|(tables, _)| *tables > 0).count();
    println!(
        "store: {number} writes, {filled} levels (tables, bytes): {levels:?}; filters of {FILTER_BITS} bits a key"
    );
    store.take_counts();
    let mut uncached = options.clone();
    uncached.fast_paths.cache = false;
    let reader = Db::open_read_only(Arc::clone(&storage), &uncached)?;
    print("opening, read only", 1, &store.take_counts());
    let mut present = Counts::default();
    let mut found = 0;
    while found < LOOKUPS {
        let is_there = reader.get(key(random.below(number)))?.is_some();
        let counts = store.take_counts();
        if is_there {
            found += 1;
            present.gets += counts.gets + counts.heads;
            present.bytes += counts.bytes;
        }
    }
    print("get of a present key", LOOKUPS, &present);
    for _ in 0..LOOKUPS * 10 {
        let [key @ .., last] = key(random.below(number));
        // Odd numbers are not there.
        let mut absent = [0; 8];
        absent[..7].copy_from_slice(&key);
        absent[7] = last | 1;
        assert!(reader.get(absent)?.is_none());
    }
    print("get of an absent key", LOOKUPS * 10, &store.take_counts());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds options of its own.
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let number = words.next().map_or(Ok(10_000_000), |word| word.parse())?;
    table(number, &Profile::named("s3")?)?;
    store(number)
}
