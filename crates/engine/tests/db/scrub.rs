//! Scrubbing. Goal: damage that no lookup meets is found in the background, with file and offset, and the store goes
//! on; reads keep to the rate, leave the block cache as it is, and delay neither the end of a file nor that of the
//! store. Method: bytes of files of open stores are changed, or cannot be read; the statistics tell what was found.

#![expect(clippy::disallowed_methods, reason = "a test waits for a background thread")]

use ogive::Error;
use ogive::block::Compression;
use ogive::io::{MemoryStorage, Storage, Timer};
use ogive::lsm::{Db, DbOptions, ScrubFinding, ScrubStats};
use ogive_testkit::BadSectors;
use std::sync::Arc;
use std::time::Duration;

/// Waits until statistics are as expected.
fn wait_until(db: &Db, is_expected: impl Fn(&ScrubStats) -> bool) -> ScrubStats {
    let timer = Timer::start();
    loop {
        let found = db.stats().scrub;
        assert!(timer.elapsed_s() < 100.0, "{found:?}");
        if is_expected(&found) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn next_pass(db: &Db) -> ScrubStats {
    // The pass that is under way may have read a file before it was changed.
    let passes = db.stats().scrub.passes + 2;
    wait_until(db, |found| found.passes >= passes)
}

fn options(bytes_per_s: u64) -> DbOptions {
    DbOptions::default()
        .threads(1)
        .compression(Compression::None)
        .memory_bytes(32 << 20)
        .levels(|levels| levels.block_bytes(512))
        .values(|values| values.separation_bytes(100))
        .scrub_bytes_per_s(bytes_per_s)
}

/// A store with a table, and a value file of the same keys.
fn filled(storage: Arc<dyn Storage>, bytes_per_s: u64) -> Db {
    let db = Db::open(storage, &options(bytes_per_s)).unwrap();
    for i in 0..400_u32 {
        db.insert(i.to_be_bytes(), vec![i as u8; if i % 2 == 0 { 20 } else { 900 }]).unwrap();
    }
    db.compact().unwrap();
    db
}

fn named(storage: &dyn Storage, end: &str) -> Vec<String> {
    storage.list().unwrap().into_iter().filter(|name| name.ends_with(end)).collect()
}

#[test]
fn damage_that_no_lookup_meets_is_found_with_its_place_and_the_store_goes_on() {
    let memory = MemoryStorage::new();
    let db = filled(Arc::new(memory.clone()), 1 << 30);
    assert_eq!(next_pass(&db).findings, []);
    let (table, values) = (named(&memory, ".table").remove(0), named(&memory, ".values").remove(0));
    for (name, at) in [(&table, 1700), (&values, 40_000)] {
        let sound = memory.content(name).unwrap();
        let mut damaged = sound.clone();
        damaged[at] ^= 1;
        memory.put(name, damaged).unwrap();
        let found = wait_until(&db, |found| !found.findings.is_empty()).findings;
        for ScrubFinding { file, offset, .. } in &found {
            assert_eq!(file, name);
            assert!((at as u64 - 1000..=at as u64).contains(offset), "{offset}");
        }
        db.insert("more", name.as_bytes()).unwrap();
        assert_eq!(db.get("more").unwrap().as_deref(), Some(name.as_bytes()));
        // It is told as long as it is there.
        assert_eq!(next_pass(&db).findings, found);
        memory.put(name, sound).unwrap();
        assert_eq!(next_pass(&db).findings, []);
    }
    memory.remove(&table).unwrap();
    let found = wait_until(&db, |found| !found.findings.is_empty()).findings;
    assert_eq!(found[0].file, table);
    db.remove_range::<&[u8]>(..).unwrap();
    db.compact().unwrap();
    assert_eq!(next_pass(&db).findings, []);
    db.close().unwrap();
}

#[test]
fn what_the_device_cannot_read_is_found() {
    let memory = MemoryStorage::new();
    filled(Arc::new(memory.clone()), 0).close().unwrap();
    for end in [".table", ".values"] {
        let name = named(&memory, end).remove(0);
        let bad: Arc<dyn Storage> = Arc::new(BadSectors::new(Arc::new(memory.clone())).with(&name, 4096..8192));
        let db = Db::open(bad, &options(1 << 30)).unwrap();
        let found = wait_until(&db, |found| !found.findings.is_empty()).findings;
        assert!(found.iter().all(|finding| finding.file == name), "{found:?}");
        let told = found.iter().find(|finding| finding.detail.contains("cannot be read"));
        assert_eq!(told.map(|finding| finding.offset), Some(4096), "{found:?}");
    }
}

#[test]
fn reads_keep_to_the_rate_and_leave_the_cache_as_it_is() {
    const RATE: u64 = 2 << 20;
    let memory = MemoryStorage::new();
    let db = filled(Arc::new(memory.clone()), 0);
    for i in 0..40_u32 {
        db.insert(format!("long {i}"), vec![i as u8; 80_000]).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    let timer = Timer::start();
    let db = Db::open(Arc::new(memory), &options(RATE)).unwrap();
    let all_bytes = 200 * 920 + 40 * 80_000;
    let read_all = || assert_eq!(db.iter().map(|record| record.unwrap().1.len()).sum::<usize>(), all_bytes);
    read_all();
    read_all();
    let (cached_bytes, passes) = (db.stats().cache_bytes, db.stats().scrub.passes);
    assert!(cached_bytes > 0);
    while db.stats().scrub.passes < passes + 1 {
        // One read may be ahead of the rate; none is longer than a megabyte and a chunk.
        let (read_bytes, allowed) = (db.stats().scrub.read_bytes, timer.elapsed_s() * RATE as f64);
        assert!(read_bytes as f64 <= allowed + 1.2 * f64::from(1 << 20), "{read_bytes}");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(db.stats().cache_bytes, cached_bytes);
    let (found, stats) = (db.stats().scrub, db.stats());
    assert!(found.read_bytes >= stats.table_bytes + all_bytes as u64, "{found:?}");
}

#[test]
fn neither_a_file_nor_a_store_waits_for_slow_scrubbing() {
    let memory = MemoryStorage::new();
    let db = filled(Arc::new(memory.clone()), 1);
    wait_until(&db, |found| found.read_bytes > 0);
    let before: Vec<String> = [named(&memory, ".table"), named(&memory, ".values")].concat();
    db.remove_range::<&[u8]>(..).unwrap();
    db.compact().unwrap();
    while before.iter().any(|name| memory.exists(name).unwrap()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    db.close().unwrap();
}

#[test]
fn a_store_without_threads_refuses_to_be_scrubbed() {
    let refused: Error = Db::open(Arc::new(MemoryStorage::new()), &options(1).threads(0)).unwrap_err();
    assert!(refused.to_string().contains("scrubbed"), "{refused}");
    // A reader has no background work.
    let memory = MemoryStorage::new();
    filled(Arc::new(memory.clone()), 0).close().unwrap();
    let reader = Db::open_read_only(Arc::new(memory), &options(1 << 30)).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(reader.stats().scrub, ScrubStats::default());
}
