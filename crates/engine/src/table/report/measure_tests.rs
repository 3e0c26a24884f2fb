//! Benchmarks of lookups in a store's tables, by search path, with every block cached. Run by hand in a release build;
//! they print timings and assert nothing.
//!
//! `cargo test --release -p ogive --lib measure_look_ups -- --ignored --nocapture`

#![expect(clippy::print_stdout, clippy::disallowed_macros, reason = "it prints what it measures")]

use crate::block::cache::BlockCache;
use crate::io::{FastPaths, LocalStorage, Profile, Storage, Timer};
use crate::table::*;
use crate::tune::DesignRequest;
use std::sync::Arc;

const RECORDS: u64 = 10_000_000;
const TABLE_RECORDS: usize = 800_000;
const LOOK_UPS: u64 = 2_000_000;

/// The finaliser of SplitMix64.
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn key_of(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed(number).to_be_bytes());
    key[8..].copy_from_slice(&mixed(number ^ 77).to_be_bytes());
    key
}

fn tables(storage: &Arc<dyn Storage>) -> Vec<([u8; 16], Table)> {
    let mut keys: Vec<[u8; 16]> = (0..RECORDS).map(key_of).collect();
    keys.sort_unstable();
    let cache = Arc::new(BlockCache::for_blocks_of(2 << 30, 4096));
    let shared = SharedOptions {
        keeps_filter: true,
        profile: Profile::default(),
        value_bytes: 1 << 20,
        opening_bytes: 0,
        unversioned: (1, 0),
        fast_paths: FastPaths::ALL,
    };
    let (mut file_bytes, timer) = (0, Timer::start());
    let parts = keys.chunks(TABLE_RECORDS).enumerate();
    for (number, part) in parts {
        let options = TableWriteOptions {
            block_bytes: Some(4096),
            design: DesignRequest::Coded,
            filter_bits_per_key: Some(10),
            versioned: true,
            replace: true,
            ..TableWriteOptions::default()
        };
        let mut writer = TableWriter::create((storage.clone(), &format!("{number}")), options).unwrap();
        for key in part {
            writer.append_version(key, 1, 0, &[7; 64]).unwrap();
        }
        file_bytes += writer.finish().unwrap().file_bytes;
    }
    println!(
        "write    {:7.1} ns a record, {:.2} bytes a record",
        each(&timer, RECORDS),
        file_bytes as f64 / RECORDS as f64
    );
    let parts = keys.chunks(TABLE_RECORDS).enumerate();
    parts
        .map(|(i, part)| (part[0], Table::open_with(storage.clone(), &format!("{i}"), &cache, &shared).unwrap()))
        .collect()
}

fn each(timer: &Timer, count: u64) -> f64 {
    timer.elapsed_us() * 1000.0 / count as f64
}

fn table_of<'t>(tables: &'t [([u8; 16], Table)], key: &[u8; 16]) -> (usize, &'t Table) {
    let number = tables.partition_point(|(first, _)| first <= key).saturating_sub(1);
    (number, &tables[number].1)
}

fn scan(cursor: &mut TableCursor, key: &[u8]) -> usize {
    cursor.seek(key, u64::MAX).unwrap();
    let mut bytes = 0;
    for _ in 0..100 {
        let Some(entry) = cursor.entry() else { break };
        bytes += entry.key.len() + entry.value.len();
        cursor.next().unwrap();
    }
    bytes
}

#[test]
#[ignore = "long: 1 minutes"]
fn measure_look_ups() {
    let folder = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    let tables = tables(&storage);
    for (_, table) in &tables {
        let mut cursor = table.cursor();
        cursor.first().unwrap();
        while cursor.entry().is_some() {
            cursor.next().unwrap();
        }
    }
    let resident: u64 = tables.iter().map(|(_, table)| table.resident_bytes()).sum();
    println!("resident {:7.2} bytes a record", resident as f64 / RECORDS as f64);
    for round in 0..3 {
        let random = |i: u64| mixed(i + round * LOOK_UPS + (1 << 40)) % RECORDS;
        for path in [SearchPath::Separators, SearchPath::Guided(None)] {
            let (timer, mut sum, mut value) = (Timer::start(), 0_u64, [0; 64]);
            for i in 0..LOOK_UPS {
                let key = key_of(random(i));
                let (_, table) = table_of(&tables, &key);
                let found = table.find(
                    &key,
                    u64::MAX,
                    path,
                    None,
                    |_| {},
                    |_, _, bytes| {
                        value.copy_from_slice(bytes.bytes()?);
                        Some(())
                    },
                );
                sum += u64::from(found.unwrap().is_some()) + u64::from(std::hint::black_box(&value)[0]);
            }
            println!("present  {:7.1} ns by {path:?}", each(&timer, LOOK_UPS));
            assert_eq!(sum, LOOK_UPS * 8);
            let (timer, mut found) = (Timer::start(), 0);
            for i in 0..LOOK_UPS {
                let key = key_of(RECORDS + random(i));
                let (_, table) = table_of(&tables, &key);
                found +=
                    u64::from(table.find(&key, u64::MAX, path, None, |_| {}, |_, _, _| Some(())).unwrap().is_some());
            }
            println!("absent   {:7.1} ns by {path:?}", each(&timer, LOOK_UPS));
            assert_eq!(found, 0);
        }
        let mut cursors: Vec<TableCursor> = tables.iter().map(|(_, table)| table.cursor()).collect();
        let (timer, mut bytes) = (Timer::start(), 0);
        for i in 0..LOOK_UPS / 20 {
            let key = key_of(random(i));
            bytes += scan(&mut cursors[table_of(&tables, &key).0], &key);
        }
        println!("scan 100 {:7.1} ns, {} bytes", each(&timer, LOOK_UPS / 20), bytes as u64 / (LOOK_UPS / 20));
    }
}
