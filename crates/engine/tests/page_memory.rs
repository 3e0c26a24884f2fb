//! Goal: a page file stays within its memory budget. Method: a counting allocator while the file is loaded, updated at
//! random, read and checkpointed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "page/support/mod.rs"]
mod page_support;

use ogive::io::{LocalStorage, Purpose, Storage};
use ogive::page::{PageFile, Pages};
use ogive_testkit::{PeakAlloc, Random};
use page_support::options;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What does not depend on the budget: buffers of 1 MiB for direct writes and for the log, the floors of the log map
/// and of changed pages, a batch of pages in a checkpoint, and a byte for each page.
const BESIDE_BYTES: usize = 9 << 20;

#[test]
fn a_budget_is_a_limit() {
    for memory_bytes in [0, 4 << 20, 24 << 20] {
        let directory = tempfile::tempdir().unwrap();
        let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
        let mut options = options(4096);
        options.memory_bytes = memory_bytes;
        options.resident_bytes = memory_bytes / 4;
        options.checkpoint_bytes = 12 << 20;
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let file = PageFile::create(&storage, "f", &options, b"").unwrap();
        let pages = 12_000;
        let mut tx = file.begin().unwrap();
        let first = tx.allocate_extent(pages).unwrap();
        for page in first..first + pages {
            tx.write_fresh(page, Purpose::Leaf, &page.to_le_bytes()).unwrap();
        }
        tx.commit().unwrap();
        let mut random = Random::new(1);
        for _ in 0..5 {
            // More changed pages than there is room for.
            let mut tx = file.begin().unwrap();
            for _ in 0..3_000 {
                tx.begin_operation();
                let page = first + random.below(u64::from(pages)) as u32;
                let bytes = random.next_u64().to_le_bytes();
                tx.edit(page, Purpose::Inner(page as u8 % 4)).unwrap().write(8 + page as usize % 4000, &bytes);
            }
            tx.commit().unwrap();
            let snapshot = file.snapshot().unwrap();
            for _ in 0..5_000 {
                let page = first + random.below(u64::from(pages)) as u32;
                assert_eq!(snapshot.read(page, Purpose::Leaf).unwrap()[..4], page.to_le_bytes());
            }
        }
        file.close().unwrap();
        let peak = ALLOCATOR.peak_usage() - before;
        let limit = memory_bytes as usize + BESIDE_BYTES;
        assert!(peak <= limit, "{peak} bytes with a budget of {memory_bytes}");
    }
}
