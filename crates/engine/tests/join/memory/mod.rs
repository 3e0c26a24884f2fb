//! Goal: a join stays within its memory limit for every relation and method, and gives the right rows.
//! Method: a counting allocator; relations and spill files are in a real folder, and rows are counted and summed as
//! they come. The reference iterates over the keys of both sides independently. One test at a time: the allocator
//! counts all threads.

use crate::{methods, some_methods};
use ogive::KeyType;
use ogive::io::{LocalStorage, Profile, Storage};
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinReport, JoinSource, join};
use ogive::table::external::RecordFile;
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive_testkit::PeakAlloc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Memory that open relations may hold, in bytes.
const OPEN_BYTES: u64 = 256 << 10;
/// Names, paths, error messages, threads, and what the harness allocates meanwhile.
const SLACK_BYTES: u64 = 64 << 10;

pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sorted keys that are made as they are asked for: `distinct` of them, `apart` from each other, each `repeats` times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pub(crate) distinct: u64,
    pub(crate) apart: u64,
    pub(crate) repeats: u64,
}

impl Keys {
    fn rows(self) -> u64 {
        self.distinct * self.repeats
    }

    /// Key and value of a row.
    fn row(self, at: u64) -> (u64, u64) {
        (at / self.repeats * self.apart, at.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The number of a row behind every row that has a smaller key, and of one behind those of this key.
    fn rows_of(self, key: u64) -> std::ops::Range<u64> {
        let at = key / self.apart * self.repeats;
        if key.is_multiple_of(self.apart) && at < self.rows() { at..at + self.repeats } else { 0..0 }
    }
}

/// Sums rows up so that their order does not matter.
fn mix(key: u64, left: u64, right: Option<u64>) -> u64 {
    let mut state = key.wrapping_mul(0xBF58_476D_1CE4_E5B9)
        ^ left.rotate_left(17)
        ^ right.map_or(7, |right| !right.rotate_left(41));
    state = (state ^ (state >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 29)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    rows: u64,
    sum: u64,
}

pub(crate) fn reference(kind: JoinKind, left: Keys, right: Keys) -> Sum {
    let mut found = Sum::default();
    let mut add = |key, left, right| {
        found.rows += 1;
        found.sum = found.sum.wrapping_add(mix(key, left, right));
    };
    for at in 0..left.rows() {
        let (key, value) = left.row(at);
        let partners = right.rows_of(key);
        match kind {
            JoinKind::Semi if !partners.is_empty() => add(key, value, None),
            JoinKind::Left | JoinKind::Full | JoinKind::Anti if partners.is_empty() => add(key, value, None),
            JoinKind::Inner | JoinKind::Left | JoinKind::Full => {
                partners.for_each(|at| add(key, value, Some(right.row(at).1)))
            }
            _ => {}
        }
    }
    if kind == JoinKind::Full {
        for (key, value) in (0..right.rows()).map(|at| right.row(at)) {
            if left.rows_of(key).is_empty() {
                add(key, NO_LEFT, Some(value));
            }
        }
    }
    found
}

/// The place of the left value in the sum of rows that have none.
const NO_LEFT: u64 = u64::MAX;

/// A folder with relations in it.
pub(crate) struct Folder {
    storage: Arc<dyn Storage>,
    folder: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { storage: Arc::new(LocalStorage::new(folder.path())), folder }
    }

    pub(crate) fn table(&self, name: &str, keys: Keys) -> JoinSource {
        let options = TableWriteOptions::default()
            .key_type(KeyType::U64)
            .value_width(8)
            .design("coded".parse().unwrap())
            .block_bytes(4096);
        let mut writer = TableWriter::create((self.storage.clone(), name), options).unwrap();
        for at in 0..keys.rows() {
            let (key, value) = keys.row(at);
            writer.append(&key.to_be_bytes(), &value.to_le_bytes()).unwrap();
        }
        writer.finish().unwrap();
        let options = TableOptions::default().memory_bytes(OPEN_BYTES);
        JoinSource::table(&Table::open((self.storage.clone(), name), &options).unwrap())
    }

    /// The same rows in a file, in an order that has nothing to do with their keys.
    pub(crate) fn shuffled(&self, name: &str, keys: Keys) -> JoinSource {
        let rows = keys.rows();
        // Coprime to the number of rows, so that each row comes once.
        let step = (rows * 3 / 5..).find(|&step| gcd(step, rows) == 1).unwrap_or(1);
        let mut file = self.storage.create(name).unwrap();
        let mut buffer = Vec::with_capacity(1 << 16);
        let mut at = 0;
        for _ in 0..rows {
            let (key, value) = keys.row(at);
            buffer.extend_from_slice(&key.to_be_bytes());
            buffer.extend_from_slice(&value.to_le_bytes());
            if buffer.len() >= 1 << 16 {
                file.append(&buffer).unwrap();
                buffer.clear();
            }
            at = (at + step) % rows;
        }
        file.append(&buffer).unwrap();
        file.sync().unwrap();
        drop(file);
        let layout = RecordFile { header_bytes: 0, counted: false, key_bytes: 8, value_bytes: 8, little_endian: false };
        JoinSource::records((&self.storage, name), layout, false).unwrap()
    }

    fn names(&self) -> Vec<String> {
        self.storage.list().unwrap()
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Joins within a limit, and holds rows and memory against what they should be; the report where the method can join
/// these at all.
pub(crate) fn check(
    folder: &Folder,
    (left, right): (&JoinSource, &JoinSource),
    options: &JoinOptions,
    expected: Sum,
) -> Option<JoinReport> {
    let what = format!("{} by {} within {} KiB", options.kind, options.method, options.memory_bytes >> 10);
    let before = folder.names();
    let spill = Some((folder.storage.clone(), "spilled".to_owned()));
    let options = options.clone().spill(spill);
    let sums: Arc<[AtomicU64; 3]> = Arc::default();
    let taken = sums.clone();
    let output = JoinOutput::caller(move |key, left, right| {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let key = u64::from_be_bytes(key.try_into().unwrap());
        taken[0].fetch_add(1, Ordering::Relaxed);
        taken[1].fetch_add(mix(key, left.map_or(NO_LEFT, word), right.map(word)), Ordering::Relaxed);
        let last = taken[2].swap(key, Ordering::Relaxed);
        assert!(last <= key, "not in key order: {last} before {key}");
        Ok(())
    });
    ALLOCATOR.reset_peak_usage();
    let before_bytes = ALLOCATOR.current_usage();
    let outcome = join(left, right, output, &options);
    let peak_bytes = ALLOCATOR.peak_usage().saturating_sub(before_bytes) as u64;
    let report = match outcome {
        Ok(report) => report,
        Err(error @ ogive::Error { cause: ogive::Cause::Input, .. })
            if error.detail().contains("cannot join these") =>
        {
            return None;
        }
        Err(error) => panic!("{what}: {error}"),
    };
    let found = Sum { rows: sums[0].load(Ordering::Relaxed), sum: sums[1].load(Ordering::Relaxed) };
    assert_eq!(found, expected, "{what}");
    assert!(report.peak_memory_bytes <= options.memory_bytes, "{what}: {}", report.peak_memory_bytes);
    assert!(
        peak_bytes <= options.memory_bytes + SLACK_BYTES,
        "{what}: {} KiB allocated, {} KiB set aside",
        peak_bytes >> 10,
        report.peak_memory_bytes >> 10
    );
    assert_eq!(folder.names(), before, "{what}");
    Some(report)
}

pub(crate) fn within(kind: JoinKind, method: JoinMethod, memory_bytes: u64) -> JoinOptions {
    // Some limits with the profile of a measured device, on which streams have many requests in flight.
    let (profile, is_measured) = (Profile::default(), memory_bytes >> 21 & 1 == 0);
    let profile = if is_measured { profile.with_peak(2000.0).unwrap() } else { profile };
    JoinOptions::default().kind(kind).method(method).memory_bytes(memory_bytes).profile(profile)
}

/// Joins two sets of keys by every method, sorted and shuffled.
pub(crate) fn check_forms(
    left: Keys,
    right: Keys,
    kinds: &[JoinKind],
    memory_bytes: u64,
    wanted: &dyn Fn(JoinMethod) -> bool,
) {
    let folder = Folder::new();
    let sorted = (folder.table("left", left), folder.table("right", right));
    let shuffled = (folder.shuffled("left.bin", left), folder.shuffled("right.bin", right));
    for &kind in kinds {
        let expected = reference(kind, left, right);
        for method in methods().into_iter().filter(|method| wanted(*method)) {
            let options = within(kind, method, memory_bytes);
            check(&folder, (&sorted.0, &sorted.1), &options, expected);
            check(&folder, (&shuffled.0, &shuffled.1), &options, expected);
        }
    }
    drop(folder.folder);
}

#[test]
fn relations_larger_than_memory_are_joined_within_it() {
    let _guard = one_at_a_time();
    let (left, right) =
        (Keys { distinct: 150_000, apart: 3, repeats: 1 }, Keys { distinct: 120_000, apart: 2, repeats: 1 });
    check_forms(left, right, &[JoinKind::Inner], 2 << 20, &|_| true);
    let kinds = [JoinKind::Left, JoinKind::Full];
    check_forms(left, right, &kinds, 1 << 20, &|method| method.to_string() != "partition:btree");
}

#[test]
fn a_key_with_many_rows_on_both_sides_is_joined_within_memory() {
    let _guard = one_at_a_time();
    let both = Keys { distinct: 1, apart: 1, repeats: 700 };
    check_forms(both, both, &[JoinKind::Inner], 1 << 20, &|_| true);
}

#[test]
fn threads_share_one_limit() {
    let _guard = one_at_a_time();
    let (left, right) =
        (Keys { distinct: 200_000, apart: 3, repeats: 1 }, Keys { distinct: 200_000, apart: 2, repeats: 1 });
    let folder = Folder::new();
    let tables = (folder.table("left", left), folder.table("right", right));
    let expected = reference(JoinKind::Inner, left, right);
    for method in some_methods() {
        for threads in [2, 4] {
            let options = within(JoinKind::Inner, method, 16 << 20).threads(threads);
            check(&folder, (&tables.0, &tables.1), &options, expected);
        }
    }
}
