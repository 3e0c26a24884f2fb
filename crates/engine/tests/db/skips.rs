//! Tests of tombstone skipping. Goal: iterators do not skip the same removed entries forever. Method: queues whose head
//! is removed, with counts of the entries skipped.

use ogive::io::MemoryStorage;
use ogive::lsm::{Db, DbOptions};
use std::sync::Arc;

const KEYS: u32 = 20_000;

/// Keys of the queue; the test takes time proportional to their number to the power of 3/2.
const QUEUE: u32 = 8_000;

/// Stored size of a record.
const BYTES_OF_AN_ENTRY: u64 = 10;

/// Entries skipped in memtables before they are flushed.
const FLUSH_PRICE: u64 = 1 << 16;

fn store(options: &DbOptions) -> Db {
    Db::open(Arc::new(MemoryStorage::new()), options).unwrap()
}

fn inline() -> DbOptions {
    DbOptions::default().threads(0)
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn skipped(db: &Db) -> u64 {
    db.stats().activity.skipped_entries
}

/// The key at one end, and the number of entries skipped on the way to it.
fn end(db: &Db, forward: bool) -> (Option<u32>, u64) {
    let before = skipped(db);
    let mut range = db.iter();
    let record = if forward { range.next() } else { range.next_back() };
    let number = record.map(|record| u32::from_be_bytes(record.unwrap().0[..].try_into().unwrap()));
    (number, skipped(db) - before)
}

/// Where the entries are when they are removed, and where the tombstones are when iterators meet them.
#[derive(Clone, Copy, Debug)]
enum Lie {
    InMemory,
    BelowMemory,
    InTables,
    UnderARange,
}

fn with_tombstones(db: &Db, lie: Lie, kept: u32) {
    for number in 0..KEYS {
        db.insert(key(number), b"value").unwrap();
    }
    if !matches!(lie, Lie::InMemory) {
        db.compact().unwrap();
    }
    match lie {
        Lie::UnderARange => {
            db.remove_range(..key(kept)).unwrap();
            db.remove_range(key(kept + 1)..).unwrap();
        }
        _ => (0..KEYS).filter(|&number| number != kept).for_each(|number| db.remove(key(number)).unwrap()),
    }
    if matches!(lie, Lie::InTables) {
        db.flush().unwrap();
    }
}

#[test]
fn the_first_and_the_last_key_are_soon_near() {
    for lie in [Lie::InMemory, Lie::BelowMemory, Lie::InTables, Lie::UnderARange] {
        for forward in [true, false] {
            let db = store(&inline());
            let kept = if forward { KEYS - 1 } else { 0 };
            with_tombstones(&db, lie, kept);
            let before = skipped(&db);
            let steps: Vec<u64> = (0..12)
                .map(|_| {
                    let (found, steps) = end(&db, forward);
                    assert_eq!(found, Some(kept), "{lie:?}");
                    // Without threads, work made due by reads is run by the next write.
                    db.insert(key(kept), b"value").unwrap();
                    steps
                })
                .collect();
            assert!(steps[0] > u64::from(KEYS) / 2, "{lie:?}: nothing was there to skip: {steps:?}");
            assert_eq!(steps[11], 0, "{lie:?}, forward {forward}: {steps:?}");
            // A cleanup reads the entries and their tombstones: that many are skipped before it is due, plus one run.
            let most = FLUSH_PRICE + 4 * u64::from(KEYS);
            assert!(skipped(&db) - before <= most, "{lie:?}, forward {forward}: {steps:?}");
            assert_eq!(db.iter().count(), 1);
        }
    }
}

#[test]
fn threads_clean_up_without_another_write() {
    let db = store(&DbOptions::default().threads(2));
    with_tombstones(&db, Lie::InMemory, KEYS - 1);
    // The bound exceeds what the slowest machine needs: each look before the work is done takes milliseconds.
    let looks = (0..100_000).take_while(|_| end(&db, true).1 > 0).count();
    assert!(looks < 100_000, "nothing was cleaned up");
    assert_eq!(end(&db, true), (Some(KEYS - 1), 0));
}

#[test]
fn the_head_of_a_queue_costs_less_than_a_step_for_each_key_taken() {
    let db = store(&inline());
    for number in 0..QUEUE {
        db.insert(key(number), b"value").unwrap();
    }
    for number in 0..QUEUE {
        let (head, _) = db.iter().next().unwrap().unwrap();
        assert_eq!(head[..], key(number));
        db.remove(key(number)).unwrap();
    }
    assert!(db.iter().next().is_none());
    let activity = db.stats().activity;
    // Without cleanups this would be half of the square; with them, it is the square root of the cost of a cleanup for
    // each key.
    let most = u64::from(QUEUE) * 2 * u64::from(QUEUE.isqrt());
    assert!(activity.skipped_entries <= most, "{} are more than {most}", activity.skipped_entries);
    let read = activity.compaction_read_bytes / BYTES_OF_AN_ENTRY;
    assert!(read <= most, "{read} entries compacted are more than {most}");
    assert!(activity.flushes <= most / FLUSH_PRICE, "{} flushes", activity.flushes);
}

#[test]
fn what_a_snapshot_needs_is_left_alone_until_it_is_gone() {
    let db = store(&inline());
    for number in 0..KEYS {
        db.insert(key(number), b"value").unwrap();
    }
    let snapshot = db.snapshot();
    (0..KEYS - 1).for_each(|number| db.remove(key(number)).unwrap());
    for _ in 0..100 {
        assert_eq!(end(&db, true).0, Some(KEYS - 1));
        db.insert(key(KEYS - 1), b"value").unwrap();
    }
    let activity = db.stats().activity;
    assert!(activity.flushes + activity.compactions <= 10, "useless work: {activity:?}");
    assert_eq!(snapshot.range::<&[u8]>(&db, ..).count(), KEYS as usize);
    drop(snapshot);
    for _ in 0..12 {
        end(&db, true);
        db.insert(key(KEYS - 1), b"value").unwrap();
    }
    assert_eq!(end(&db, true), (Some(KEYS - 1), 0));
}

#[test]
fn a_store_that_is_only_read_skips_and_answers() {
    let storage: Arc<MemoryStorage> = Arc::new(MemoryStorage::new());
    let db = Db::open(storage.clone(), &inline()).unwrap();
    with_tombstones(&db, Lie::InTables, KEYS - 1);
    drop(db);
    let db = Db::open_read_only(storage, &inline()).unwrap();
    for _ in 0..4 {
        let (found, steps) = end(&db, true);
        assert_eq!(found, Some(KEYS - 1));
        assert!(steps > u64::from(KEYS) / 2);
    }
}
