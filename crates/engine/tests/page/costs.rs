//! Goal: operations cost what they should: bytes of log, pages read with and without cache. Method: the write
//! statistics and the meter of the storage are checked against each other.

use crate::support::options;
use ogive::io::{MemoryStorage, Meter, Purpose, Storage};
use ogive::page::{PageFile, PageNumber, PageOptions, PagePhase, Pages};
use ogive::{Cause, Durability, Error};
use ogive_testkit::Random;
use std::io::ErrorKind;
use std::sync::Arc;

/// A file of some pages, checkpointed, behind a meter.
fn filled(options: &PageOptions, pages: u32) -> (Meter, PageFile, PageNumber) {
    let meter = Meter::new(Arc::new(MemoryStorage::new()));
    let storage: Arc<dyn Storage> = Arc::new(meter.clone());
    let file = PageFile::create(&storage, "f", options, b"").unwrap();
    let mut tx = file.begin().unwrap();
    let first = tx.allocate_extent(pages).unwrap();
    for page in first..first + pages {
        tx.write_fresh(page, Purpose::Leaf, &[page as u8; 4000]).unwrap();
    }
    tx.commit().unwrap();
    file.checkpoint().unwrap();
    meter.reset();
    (meter, file, first)
}

/// An entry of 16 bytes put in the middle of a leaf, as an index does it.
fn insert(file: &PageFile, page: PageNumber, count: u16) {
    let mut tx = file.begin().unwrap();
    tx.begin_operation();
    let mut edit = tx.edit(page, Purpose::Leaf).unwrap();
    edit.shift(1000..3900, 1016);
    edit.write(1000, &u64::from(count).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    edit.write(1008, &(!u64::from(count)).to_le_bytes());
    edit.write(0, &count.to_le_bytes());
    drop(edit);
    let mut state = [5; 80];
    state[8..16].copy_from_slice(&u64::from(count).to_le_bytes());
    tx.set_state(&state);
    tx.commit().unwrap();
}

#[test]
fn an_insert_into_a_page_already_logged_takes_less_than_200_bytes_of_log() {
    let (_, file, page) = filled(&options(4096), 3);
    insert(&file, page, 1);
    for count in 2..40 {
        let before = file.statistics().log_bytes_written;
        insert(&file, page, count);
        let bytes = file.statistics().log_bytes_written - before;
        assert!(bytes <= 200, "insert {count} took {bytes} bytes");
    }
    let before = file.statistics().log_bytes_written;
    for count in 40..1040 {
        insert(&file, page, count);
    }
    let bytes = (file.statistics().log_bytes_written - before) / 1000;
    assert!(bytes <= 200, "inserts took {bytes} bytes each");
}

#[test]
fn pages_written_directly_are_not_logged() {
    let (meter, file, _) = filled(&options(4096), 1);
    let before = file.statistics().log_bytes_written;
    let mut tx = file.begin().unwrap();
    let first = tx.allocate_extent(1000).unwrap();
    for page in first..first + 1000 {
        tx.write_fresh(page, Purpose::Leaf, &[1; 4088]).unwrap();
    }
    tx.commit().unwrap();
    assert!(file.statistics().log_bytes_written - before < 200);
    let counts = meter.reset();
    assert_eq!(counts.writes_by_purpose[&Purpose::Leaf].blocks, 1000);
    assert!(counts.writes_by_purpose[&Purpose::Leaf].requests <= 5, "direct writes are combined");
    assert_eq!(counts.reads.requests, 0);
}

#[test]
fn with_no_budget_every_operation_reads_its_pages_once() {
    let mut options = options(4096);
    options.memory_bytes = 0;
    let (meter, file, first) = filled(&options, 10);
    let snapshot = file.snapshot().unwrap();
    for _ in 0..3 {
        snapshot.read(first, Purpose::Leaf).unwrap();
        assert_eq!(meter.reset().reads_by_purpose[&Purpose::Leaf].blocks, 1);
    }
    let mut tx = file.begin().unwrap();
    for _ in 0..3 {
        tx.begin_operation();
        for _ in 0..2 {
            tx.read(first, Purpose::Inner(0)).unwrap();
            tx.read(first + 1, Purpose::Leaf).unwrap();
        }
        let counts = meter.reset();
        assert_eq!(counts.reads.requests, 2, "an operation keeps what it has read");
    }
    tx.begin_operation();
    tx.edit(first + 1, Purpose::Leaf).unwrap().write(0, b"x");
    meter.reset();
    tx.begin_operation();
    assert_eq!(tx.read(first + 1, Purpose::Leaf).unwrap()[0], b'x');
    assert_eq!(meter.reset().reads.requests, 0, "changed pages are kept");
    let statistics = tx.write_statistics();
    assert_eq!(statistics.phases[&PagePhase::Search].pages_read, 3 * 2 + 1 + 1);
    assert_eq!(statistics.phases[&PagePhase::Search].pages_changed, 1);
}

/// Changes pages at random in one transaction, 24 bytes each time; the bytes of log that were written.
fn change_at_random(meter: &Meter, file: &PageFile, first: PageNumber, pages: u32, changes: u64) -> u64 {
    let mut random = Random::new(5);
    meter.reset();
    let mut tx = file.begin().unwrap();
    for change in 0..changes {
        tx.begin_operation();
        let page = first + random.below(u64::from(pages)) as u32;
        let at = 8 + 24 * random.below(160) as usize;
        tx.edit(page, Purpose::Leaf)
            .unwrap()
            .write(at, &[change.to_le_bytes(), page.to_le_bytes().repeat(2).try_into().unwrap(), [7; 8]].concat());
    }
    tx.commit().unwrap();
    meter.reset().writes_by_purpose[&Purpose::Log].bytes
}

#[test]
fn a_transaction_larger_than_memory_takes_log_for_each_page_once_and_for_each_change() {
    const PAGES: u32 = 600;
    const CHANGES: u64 = 20_000;
    // What a change takes: its record, and its share of the image that follows fifteen of them.
    const CHANGE_BYTES: u64 = 50 + 4096 / 15;
    let image_bytes = u64::from(PAGES) * 4200;
    for memory_bytes in [0, 1 << 20, 64 << 20] {
        let mut options = options(4096);
        options.memory_bytes = memory_bytes;
        options.transaction_bytes = 100_000;
        // A limit that no snapshot keeps the log beyond is none.
        options.log_limit_bytes = 1 << 20;
        let (meter, file, first) = filled(&options, PAGES);
        let once = change_at_random(&meter, &file, first, PAGES, u64::from(PAGES));
        assert!(once <= image_bytes, "{once} bytes where each page changes once or so");
        let often = change_at_random(&meter, &file, first, PAGES, CHANGES);
        assert!(often <= image_bytes + CHANGES * CHANGE_BYTES, "{often} bytes for {CHANGES} changes");
        // Few changes cost what they cost without any of this.
        insert(&file, first, 1);
        let before = file.statistics().log_bytes_written;
        insert(&file, first, 2);
        assert!(file.statistics().log_bytes_written - before <= 200);
    }
}

#[test]
fn resident_bytes_keep_the_top_of_the_tree() {
    let mut options = options(4096);
    options.memory_bytes = 8192;
    options.resident_bytes = 8192;
    let (meter, file, first) = filled(&options, 20);
    let snapshot = file.snapshot().unwrap();
    // Deeper pages come first, but give way; leaves never get in; within a depth the first comers stay.
    let depths = [2, 1, 1, 0, 1, 1];
    for _ in 0..3 {
        for (page, depth) in (first..).zip(depths) {
            snapshot.read(page, Purpose::Inner(depth)).unwrap();
        }
        for page in first + 10..first + 20 {
            snapshot.read(page, Purpose::Leaf).unwrap();
        }
    }
    meter.reset();
    snapshot.read(first + 3, Purpose::Inner(0)).unwrap();
    assert_eq!(meter.reset().reads.requests, 0, "the root is resident");
    let resident = (first..).zip(depths).filter(|&(page, depth)| {
        snapshot.read(page, Purpose::Inner(depth)).unwrap();
        meter.reset().reads.requests == 0
    });
    assert_eq!(resident.count(), 2);
    // A commit that changes a resident page keeps it resident.
    let mut tx = file.begin().unwrap();
    tx.edit(first + 3, Purpose::Inner(0)).unwrap().write(5, b"new");
    tx.commit().unwrap();
    for _ in 0..2 {
        meter.reset();
        assert_eq!(file.snapshot().unwrap().read(first + 3, Purpose::Inner(0)).unwrap()[5..8], *b"new");
        assert_eq!(meter.reset().reads.requests, 0);
        drop(snapshot.clone());
        file.checkpoint().unwrap();
    }
}

#[test]
fn phases_are_told_apart_and_timed_on_request() {
    let (_, file, first) = filled(&options(4096), 4);
    let mut tx = file.begin().unwrap();
    tx.set_timed(true);
    for _ in 0..2 {
        tx.enter(PagePhase::Search);
        tx.read(first, Purpose::Leaf).unwrap();
        tx.enter(PagePhase::Insert);
        tx.edit(first, Purpose::Leaf).unwrap().write(0, b"abc");
        tx.enter(PagePhase::Structure);
        tx.read(first + 1, Purpose::Leaf).unwrap();
        tx.count("leaf split");
    }
    tx.enter(PagePhase::Search);
    let statistics = tx.write_statistics();
    assert_eq!(
        (statistics.phases[&PagePhase::Search].pages_read, statistics.phases[&PagePhase::Search].pages_changed),
        (2, 0)
    );
    assert_eq!(
        (statistics.phases[&PagePhase::Insert].pages_read, statistics.phases[&PagePhase::Insert].pages_changed),
        (0, 2)
    );
    assert_eq!(statistics.phases[&PagePhase::Structure].pages_read, 2);
    assert_eq!(statistics.structure_modifications["leaf split"], 2);
    assert!(statistics.phases[&PagePhase::Structure].time_ns > 0);
}

#[test]
fn syncs_are_as_the_durability_says() {
    for (durability, syncs) in [(Durability::Synced, 30), (Durability::Grouped, 3), (Durability::Buffered, 0)] {
        let mut options = options(4096);
        options.durability = durability;
        options.group_commits = 10;
        let (meter, file, page) = filled(&options, 3);
        // The first commit begins a segment, whose header is durable before the page file leads to it.
        insert(&file, page, 0);
        file.sync().unwrap();
        meter.reset();
        for count in 1..31 {
            insert(&file, page, count);
        }
        assert_eq!(meter.snapshot().writes.file_syncs, syncs, "{durability:?}");
        file.sync().unwrap();
        assert_eq!(meter.snapshot().writes.file_syncs, syncs + u64::from(syncs == 0), "{durability:?}");
    }
}

#[test]
fn freed_space_is_used_again() {
    let (_, file, _) = filled(&options(4096), 100);
    let pages = file.statistics().pages;
    for round in 0..30 {
        let mut tx = file.begin().unwrap();
        let first = tx.allocate_extent(50).unwrap();
        for page in first..first + 50 {
            tx.write_fresh(page, Purpose::Leaf, &[round; 100]).unwrap();
        }
        tx.commit().unwrap();
        let mut tx = file.begin().unwrap();
        tx.free(first, 50);
        tx.commit().unwrap();
        file.checkpoint().unwrap();
    }
    assert!(file.statistics().pages < pages + 120, "{} pages grew to {}", pages, file.statistics().pages);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let invalid = |outcome: ogive::Result<()>| assert!(matches!(outcome, Err(Error { cause: Cause::Input, .. })));
    for page_bytes in [0, 256, 1000, 131_072] {
        invalid(PageFile::create(&storage, "f", &options(page_bytes), b"").map(drop));
    }
    invalid(PageFile::create(&storage, "f", &options(512), &[0; 1025]).map(drop));
    let file = PageFile::create(&storage, "f", &options(512), &[1; 1024]).unwrap();
    let taken = PageFile::create(&storage, "f", &options(512), b"").map(drop).unwrap_err();
    assert!(matches!(&taken, Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }), "{taken}");
    let mut tx = file.begin().unwrap();
    invalid(tx.allocate_extent(0).map(drop));
    invalid(tx.allocate_extent(u32::MAX).map(drop));
    let page = tx.allocate_extent(1).unwrap();
    invalid(tx.write_fresh(page, Purpose::Leaf, &[0; 505]));
    invalid(tx.write_fresh(page + 1, Purpose::Leaf, &[0; 5]));
    for page in [0, 15, page + 1, u32::MAX] {
        assert!(matches!(tx.read(page, Purpose::Leaf), Err(Error { cause: Cause::Damaged, .. })), "page {page}");
    }
    tx.set_state(&[0; 257]);
    invalid(tx.commit());
    let mut tx = file.begin().unwrap();
    let page = tx.allocate().unwrap();
    let mut edit = tx.edit(page, Purpose::Leaf).unwrap();
    edit.write(500, &[7; 100]);
    edit.write(usize::MAX, &[7]);
    edit.shift(400..900, 100);
    edit.shift(0..504, 500);
    assert_eq!(edit.len(), 504);
    drop(edit);
    tx.commit().unwrap();
    drop(file);
    let file = PageFile::open(&storage, "f", &options(4096)).unwrap();
    assert_eq!(file.options().page_bytes, 512, "the file knows its own size of pages");
    assert_eq!(file.header(), [1; 1024]);
}
