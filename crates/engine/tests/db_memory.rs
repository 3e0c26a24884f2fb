//! Memory tests of stores. Goal: a store stays within its memory limit while it loads and reads twenty times as much
//! data. Method: a counting allocator sees all allocations, and the system reports the resident size. The tests run one
//! at a time, since both count all threads.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "the system says in a file what is resident")]

use ogive::Durability;
use ogive::io::{LocalStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive_testkit::{PeakAlloc, Random};
use std::sync::{Arc, Mutex, PoisonError};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const MEMORY_BYTES: u64 = 16 << 20;
/// Allowed excess of the resident set.
const RESIDENT_SLACK_BYTES: usize = 64 << 20;
const BATCH: u64 = 50;

fn key(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The peak resident set of this process in bytes; `None` if the system does not report it.
fn resident_peak_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()? << 10)
}

fn load(db: &Db, records: u64, value_bytes: usize) {
    let mut random = Random::new(7);
    let mut value = vec![0; value_bytes];
    for first in (0..records).step_by(BATCH as usize) {
        let mut batch = db.batch();
        batch.durability(Durability::Buffered);
        for number in first..records.min(first + BATCH) {
            value[..8].copy_from_slice(&random.next_u64().to_le_bytes());
            batch.insert(db, key(number), &value);
        }
        batch.commit().unwrap();
    }
}

fn read(db: &Db, records: u64, value_bytes: usize) {
    let mut random = Random::new(11);
    let mut value = Vec::new();
    for _ in 0..60_000 {
        let number = random.below(records * 5 / 4);
        assert_eq!(db.get_into(key(number), &mut value).unwrap(), number < records, "{number}");
        assert!(number >= records || value.len() == value_bytes);
    }
    for _ in 0..200 {
        let pairs = db.range(key(random.below(records)).to_vec()..);
        assert!(pairs.take(100).all(|pair| pair.is_ok()));
    }
    assert_eq!(db.iter().rev().take(20_000).filter(|pair| pair.is_ok()).count(), 20_000);
}

fn holds(options: &DbOptions, value_bytes: usize) {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    let records = 20 * MEMORY_BYTES / (16 + value_bytes as u64);
    let within = |phase: &str, peak: usize| {
        assert!(peak as u64 <= MEMORY_BYTES, "{phase}: {peak} bytes within {MEMORY_BYTES}");
    };
    let start = ALLOCATOR.current_usage();
    let since_start = |phase: &str, work: &dyn Fn()| {
        ALLOCATOR.reset_peak_usage();
        work();
        within(phase, ALLOCATOR.peak_usage().saturating_sub(start));
    };
    let db = Db::open(storage.clone(), options).unwrap();
    since_start("loading", &|| load(&db, records, value_bytes));
    since_start("reading", &|| read(&db, records, value_bytes));
    since_start("compacting", &|| db.compact().unwrap());
    since_start("reading what was compacted", &|| read(&db, records, value_bytes));
    db.close().unwrap();
    since_start("opening and reading", &|| {
        read(&Db::open(storage.clone(), options).unwrap(), records, value_bytes);
    });
    if let Some(resident) = resident_peak_bytes() {
        assert!(resident <= MEMORY_BYTES as usize + RESIDENT_SLACK_BYTES, "{resident} bytes are resident");
    }
}

fn options() -> DbOptions {
    DbOptions::default()
        .memory_bytes(MEMORY_BYTES)
        .threads(2)
        .levels(|levels| levels.table_bytes(4 << 20).level_bytes(16 << 20))
}

#[test]
fn memory_is_kept_with_values_in_tables() {
    holds(&options(), 300);
}

#[test]
fn memory_is_kept_with_values_apart() {
    holds(&options(), 4000);
}

#[test]
#[ignore = "long: 3 minutes"]
fn memory_is_kept_with_small_values() {
    holds(&options(), 64);
}
