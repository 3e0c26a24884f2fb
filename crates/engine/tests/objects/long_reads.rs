//! Verification by long reads. Goal: a verification of a store, a table or a backup in an object store reads each byte
//! about once, in a few long reads, within its memory, and finds what it found before. Method: a meter around a storage
//! in memory, and stores with small and with long values.

use ogive::backup::{BackupOptions, Backups};
use ogive::io::{MemoryStorage, Meter, MeterSnapshot, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::verify::verify_store_within;
use ogive_testkit::Random;
use std::sync::Arc;

/// A store of about 12 MB, with values of this many bytes.
fn store_of(value_bytes: usize) -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let options = DbOptions::default()
        .threads(0)
        .writes(|writes| writes.memtable_bytes(4 << 20))
        .levels(|levels| levels.table_bytes(2 << 20));
    let db = Db::open(Arc::clone(&storage), &options).unwrap();
    let mut random = Random::new(7);
    for _ in 0..12_000_000 / (value_bytes + 16) / 100 {
        let mut batch = db.batch();
        for _ in 0..100 {
            let value: Vec<u8> = (0..value_bytes).map(|_| random.next_u64() as u8).collect();
            batch.insert(&db, random.next_u64().to_be_bytes(), value);
        }
        batch.commit().unwrap();
    }
    db.compact().unwrap();
    db.close().unwrap();
    storage
}

/// The length of the tables and value files, and their number.
fn length_of(storage: &Arc<dyn Storage>) -> (u64, u64) {
    let is_data = |name: &String| name.ends_with(".table") || name.ends_with(".values");
    let names: Vec<String> = storage.list().unwrap().into_iter().filter(is_data).collect();
    (names.iter().map(|name| storage.open(name).unwrap().len()).sum(), names.len() as u64)
}

fn metered<T>(storage: &Arc<dyn Storage>, work: impl FnOnce(&Arc<dyn Storage>) -> T) -> (T, MeterSnapshot) {
    let meter = Meter::new(Arc::clone(storage));
    let shared: Arc<dyn Storage> = Arc::new(meter.clone());
    let done = work(&shared);
    (done, meter.reset())
}

#[test]
fn a_verification_of_a_store_reads_each_table_once_in_long_reads() {
    let storage = store_of(100);
    let (bytes, files) = length_of(&storage);
    for memory_bytes in [4 << 20, 16 << 20, 256 << 20] {
        let verify = |storage: &_| verify_store_within(storage, memory_bytes, &mut |_, _| {}).unwrap();
        let (report, counts) = metered(&storage, verify);
        assert!(report.is_sound() && report.records > 90_000, "{report:?}");
        let reads = counts.reads;
        assert!(reads.bytes <= bytes + bytes / 20, "{memory_bytes}: {reads:?} of {bytes} bytes");
        // Besides the manifest and the logs.
        let pieces = bytes / (memory_bytes / 16).min(4 << 20);
        assert!(reads.requests <= files + pieces + 12, "{memory_bytes}: {reads:?} of {files} files, {bytes} bytes");
    }
}

#[test]
fn a_verification_follows_pointers_in_the_order_of_the_value_files() {
    let storage = store_of(2_000);
    let (bytes, files) = length_of(&storage);
    let (report, counts) = metered(&storage, |storage| verify_store_within(storage, 64 << 20, &mut |_, _| {}).unwrap());
    assert!(report.is_sound() && report.pointers > 5_000, "{report:?}");
    assert!(counts.reads.requests <= 3 * files + 20, "{:?} for {} pointers", counts.reads, report.pointers);
    assert!(counts.reads.bytes <= 2 * bytes, "{:?} of {bytes} bytes", counts.reads);
}

#[test]
fn a_verification_of_a_table_reads_it_once_in_long_reads() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let mut writer = TableWriter::create((Arc::clone(&storage), "t"), TableWriteOptions::default()).unwrap();
    (0..100_000_u64).for_each(|number| writer.append(&number.to_be_bytes(), &[7; 100]).unwrap());
    writer.finish().unwrap();
    let bytes = storage.open("t").unwrap().len();
    for memory_bytes in [2 << 20, 64 << 20] {
        let (report, counts) = metered(&storage, |storage| {
            let options = TableOptions::default().memory_bytes(memory_bytes);
            Table::open((Arc::clone(storage), "t"), &options).unwrap().verify(&mut |_, _| {}).unwrap()
        });
        assert!(report.is_sound() && report.records == 100_000);
        let pieces = bytes / (memory_bytes / 16).min(8 << 20);
        assert!(counts.reads.requests <= 4 + pieces, "{memory_bytes}: {:?} of {bytes} bytes", counts.reads);
        assert!(counts.reads.bytes <= bytes + bytes / 10, "{memory_bytes}: {:?} of {bytes} bytes", counts.reads);
    }
}

#[test]
fn a_verification_of_backups_reads_each_file_once_in_long_reads() {
    let storage = store_of(100);
    let (bytes, files) = length_of(&storage);
    let backups: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    Backups::at(Arc::clone(&backups)).unwrap().create(&storage, &BackupOptions::default(), &mut |_, _| ()).unwrap();
    let verify = |backups: &Arc<dyn Storage>| Backups::at(Arc::clone(backups)).unwrap().verify(&mut |_, _| ());
    let (findings, counts) = metered(&backups, |backups| verify(backups).unwrap());
    assert_eq!(findings, []);
    assert!(counts.reads.bytes <= bytes + bytes / 20, "{:?} of {bytes} bytes", counts.reads);
    assert!(counts.reads.requests <= files + 4, "{:?} of {files} files", counts.reads);
}
