//! The sort, the block cache and the readers and writers of long values and filters stay within their memory, as a
//! counting allocator sees it. One test at a time: the allocator counts all threads.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use ogive::block::{BlockCache, BlockKey};
use ogive::io::{LocalStorage, Storage};
use ogive::table::filter::{FilterBuilder, hash_key};
use ogive::table::sort::Sorter;
use ogive::table::value::{ValueReader, ValueWriter};
use ogive_testkit::PeakAlloc;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Names, paths and the like, and what the test harness itself allocates.
const SLACK_BYTES: usize = 48 << 10;

/// Runs `work` and returns the most bytes that were allocated meanwhile, beyond those before.
fn peak_of(work: impl FnOnce()) -> usize {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    work();
    ALLOCATOR.peak_usage().saturating_sub(before)
}

fn sort(storage: &Arc<dyn Storage>, budget_bytes: u64, count: u64, value_bytes: usize) {
    let mut random = 1_u64;
    let mut sorter = Sorter::new(Arc::clone(storage), budget_bytes, "table").unwrap();
    let value = vec![7; value_bytes];
    for _ in 0..count {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sorter.push(&random.to_be_bytes(), &value).unwrap();
    }
    let mut sorted = sorter.finish().unwrap();
    let (mut last, mut found) = ([0; 8], 0);
    while let Some((key, _)) = sorted.next_record().unwrap() {
        assert!(last.as_slice() <= key);
        last.copy_from_slice(key);
        found += 1;
    }
    assert_eq!(found, count);
}

#[test]
fn a_sort_of_more_than_its_budget_stays_within_it() {
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
    for (budget, count, value_bytes) in
        [(1 << 20, 400_000, 8), (4 << 20, 500_000, 8), (1 << 20, 100, 200_000), (256 << 10, 6000, 3000)]
    {
        let peak = peak_of(|| sort(&storage, budget, count, value_bytes));
        assert!(
            peak <= budget as usize + SLACK_BYTES + value_bytes,
            "{peak} bytes within {budget}, values of {value_bytes}"
        );
        assert!(peak >= budget as usize / 2, "a budget of {budget} is hardly used: {peak}");
        assert!(storage.list().unwrap().is_empty());
    }
}

#[test]
fn a_block_cache_stays_within_its_budget() {
    for (budget, block_bytes) in [(1 << 20, 512), (8 << 20, 4096), (64 << 20, 1 << 20)] {
        let peak = peak_of(|| {
            let cache = BlockCache::new(budget, block_bytes as u64);
            let owner = cache.owner();
            for number in 0..20_000.min(budget as u32 * 4 / block_bytes as u32) {
                cache.insert(BlockKey { owner, number }, Arc::from(vec![1_u8; block_bytes]));
                cache.get(BlockKey { owner, number: number / 2 });
            }
            assert!(cache.held_bytes() > budget / 2);
        });
        // The block that is being made, twice for a moment, is the caller's.
        assert!(peak <= budget as usize + 2 * block_bytes + SLACK_BYTES, "{peak} bytes within {budget}");
    }
}

#[test]
fn a_value_of_any_length_is_written_and_read_in_the_memory_of_two_chunks() {
    let directory = tempfile::tempdir().unwrap();
    let storage = LocalStorage::new(directory.path());
    let peak = peak_of(|| {
        let mut file = storage.create("values").unwrap();
        let mut writer = ValueWriter::new(3, "values");
        let mut sink = |bytes: &[u8]| file.append(bytes);
        let pointer = writer.write_stream(0, &mut std::io::repeat(5).take(20 << 20), &mut sink).unwrap();
        drop(writer);
        let mut reader = ValueReader::new(storage.open("values").unwrap(), 3, pointer).unwrap();
        assert_eq!(std::io::copy(&mut reader, &mut std::io::sink()).unwrap(), 20 << 20);
    });
    assert!(peak <= (128 << 10) + SLACK_BYTES, "{peak} bytes");
}

#[test]
fn a_filter_is_built_in_the_memory_of_its_first_blocks() {
    for (blocks, keys_per_block) in [(5000_u64, 255), (20, 65_536)] {
        let peak = peak_of(|| {
            let mut builder = FilterBuilder::new(10).unwrap();
            let mut sink = |_: &mut [u8]| Ok(());
            for block in 0..blocks {
                (0..keys_per_block).for_each(|i| builder.add(hash_key(&(block << 32 | i).to_le_bytes())));
                builder.end_block(&mut sink).unwrap();
            }
            builder.finish(&mut sink).unwrap();
        });
        // Eight bytes a key while the first blocks are only noted, in a vector that doubles, and the group's units.
        let noted_bytes = 8 * (keys_per_block as usize + 3300);
        assert!(peak <= 4 * noted_bytes, "{peak} bytes for blocks of {keys_per_block} keys");
    }
}
