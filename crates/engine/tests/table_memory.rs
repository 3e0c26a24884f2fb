//! Memory tests of tables. Goal: an open table stays within its budget, writers need memory that hardly grows with the
//! table, and no size stated by a file is allocated before it was checked against the file. Method: a counting
//! allocator; one test runs at a time, because it counts all threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "makes a file that no writer would")]

use ogive::io::{LocalStorage, Storage};
use ogive::table::{ReadTrace, Table, TableCache, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Advice, Cause, Error, KeyType, Setting};
use ogive_testkit::{PeakAlloc, Random};
use std::sync::{Arc, Mutex, PoisonError};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Names, paths, metadata, the cache's bookkeeping, and allocations of the test harness.
const SLACK_BYTES: usize = 256 << 10;

/// Runs `work` and returns the peak of its allocations.
fn peak_of(work: impl FnOnce()) -> usize {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    work();
    ALLOCATOR.peak_usage().saturating_sub(before)
}

fn one_at_a_time() -> std::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn dense(design: &str) -> TableWriteOptions {
    TableWriteOptions::default().key_type(KeyType::U64).value_width(8).block_bytes(4096).design(design.parse().unwrap())
}

fn write(storage: &Arc<dyn Storage>, name: &str, records: u64, options: TableWriteOptions) {
    let mut random = Random::new(records);
    let mut key = 0_u64;
    let mut writer = TableWriter::create((Arc::clone(storage), name), options).unwrap();
    for i in 0..records {
        key += 1 + random.below(1 << 40);
        writer.append(&key.to_be_bytes(), &i.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn writing_two_million_records_takes_bounded_memory() {
    let _guard = one_at_a_time();
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
    let peaks = [1_000_000, 2_000_000].map(|records| {
        let options = dense("tuned").block_bytes(None);
        peak_of(|| write(&storage, &format!("t{records}"), records, options))
    });
    assert!(peaks[1] <= 28 << 20, "{peaks:?}");
    // Memory grows with the input of the index design: for each block of 4 KiB its border and its counts, some of them
    // twice.
    let more_blocks = 1_000_000 / 250;
    assert!(peaks[1] <= peaks[0] + more_blocks * 200 + SLACK_BYTES, "{peaks:?}");
}

#[test]
fn tables_share_the_memory_of_a_cache() {
    let _guard = one_at_a_time();
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
    let (tables, records, cache_bytes) = (6_u64, 200_000_u64, 2_u64 << 20);
    let names: Vec<String> = (0..tables).map(|number| format!("t{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(8).block_bytes(4096);
        let mut writer = TableWriter::create((storage.clone(), name), options).unwrap();
        for key in 0..records {
            writer.append(&key.to_be_bytes(), &(key + number as u64).to_le_bytes()).unwrap();
        }
        writer.finish().unwrap();
    }
    let peak = peak_of(|| {
        let options = TableOptions::default().memory_bytes(1 << 20).cache(TableCache::new(cache_bytes));
        let open: Vec<Table> =
            names.iter().map(|name| Table::open((storage.clone(), name), &options).unwrap()).collect();
        let mut random = Random::new(7);
        let mut look_up = |table: usize, keys: u64| {
            let key = random.below(keys);
            let mut trace = ReadTrace::new();
            let value = open[table].traced(&mut trace).get(&key.to_be_bytes()).unwrap();
            assert_eq!(value.unwrap(), (key + table as u64).to_le_bytes(), "key {key} of table {table}");
            trace.reads.len()
        };
        // All blocks of six tables, which are more than the cache has room for.
        for round in 0..40_000 {
            look_up(round % open.len(), records);
        }
        // The first blocks of each of them stay there together, under places that are the same in all tables.
        for round in 0..6_000 {
            look_up(round % open.len(), 2_000);
        }
        let reads: usize = (0..6_000).map(|round| look_up(round % open.len(), 2_000)).sum();
        assert!(reads < 600, "{reads} reads of blocks that are cached");
    });
    assert!(peak <= cache_bytes as usize + 6 * (100 << 10) + SLACK_BYTES, "{peak}");
}

#[test]
fn an_open_table_stays_within_its_budget() {
    let _guard = one_at_a_time();
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
    for design in ["coded", "layers=2,builder=gband/gband,lambda=16384/1024", "none"] {
        let filter = if design == "coded" { Some(10) } else { None };
        write(&storage, "t", 500_000, dense(design).replace(true).filter_bits_per_key(filter));
        for budget in [1_u64 << 20, 4 << 20] {
            let peak = peak_of(|| {
                let options = TableOptions::default().memory_bytes(budget);
                let table = Table::open((Arc::clone(&storage), "t"), &options).unwrap();
                let mut random = Random::new(7);
                for _ in 0..4000 {
                    table.get(&(random.next_u64() >> 5).to_be_bytes()).unwrap();
                    table.rank(&(random.next_u64() >> 5).to_be_bytes()).unwrap();
                }
                assert_eq!(table.iter().keys().count(), 500_000);
                assert_eq!(table.iter().rev().take(100_000).count(), 100_000);
                let keys: Vec<[u8; 8]> = (0..2000).map(|_| (random.next_u64() >> 5).to_be_bytes()).collect();
                let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
                table.multi_get(&keys).unwrap();
                assert!(table.verify(&mut |_, _| {}).unwrap().is_sound());
            });
            // Verification also holds one run of blocks and some pages.
            assert!(peak <= budget as usize + (2 << 20) + SLACK_BYTES, "{design}: {peak} bytes within {budget}");
        }
    }
}

#[test]
fn a_large_file_of_another_kind_is_refused_without_being_read() {
    let _guard = one_at_a_time();
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
    // A sparse file of 8 GiB, whose length implies the largest opening read.
    #[expect(clippy::disallowed_methods, reason = "no storage makes holes")]
    let hole = std::fs::File::create(directory.path().join("hole")).unwrap();
    hole.set_len((8 << 30) + 511).unwrap();
    let peak = peak_of(|| {
        let opened = Table::open((Arc::clone(&storage), "hole"), &TableOptions::default());
        assert!(matches!(opened, Err(Error { cause: Cause::NotATable, .. })));
        let options = TableWriteOptions::default().replace(true);
        assert!(matches!(
            TableWriter::create((Arc::clone(&storage), "hole"), options),
            Err(Error { cause: Cause::NotATable, .. })
        ));
    });
    assert!(peak <= SLACK_BYTES, "{peak} bytes");
}

#[test]
fn a_table_whose_root_exceeds_the_budget_says_so() {
    let _guard = one_at_a_time();
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
    let properties = vec![("statistics".to_owned(), vec![7; 3 << 20])];
    let options = dense("coded").properties(properties).replace(true);
    write(&storage, "t", 1000, options);
    let small = TableOptions::default().memory_bytes(1 << 20);
    let refused = Table::open((Arc::clone(&storage), "t"), &small);
    let Err(error @ Error { cause: Cause::Memory { needed_bytes, given_bytes }, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(given_bytes, 1 << 20);
    assert_eq!(error.advice(), Some(&Advice::Raise { option: Setting::TableMemory, to: Some(needed_bytes) }));
    // The stated amount suffices, and is not excessive.
    let raised = small.clone().memory_bytes(needed_bytes);
    assert!(Table::open((Arc::clone(&storage), "t"), &raised).is_ok());
    let less = small.memory_bytes(needed_bytes - 1);
    assert!(matches!(Table::open((Arc::clone(&storage), "t"), &less), Err(Error { cause: Cause::Memory { .. }, .. })));
    // A writer that replaces the table needs only to know that it is a table.
    write(&storage, "t", 1000, dense("coded").replace(true));
    assert!(Table::open((storage, "t"), &TableOptions::default()).is_ok());
}
