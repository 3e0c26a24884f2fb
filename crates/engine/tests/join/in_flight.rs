//! Goal: several reads in flight change no row, no error and no memory limit of a join, and none outlives it.
//! Method: relations of random shapes on memory, on files read past the page cache and through it, joined with and
//! without reads in flight and large pages, and held against the reference; reads that fail while others are in flight;
//! joins that are dropped in the middle.

use crate::support::{DENSE, Row, Shape, check, numbered, options, reference, write_table};
use ogive::io::{FastPaths, LocalStorage, MemoryStorage, Profile, Storage};
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinSource, join, join_rows};
use ogive::table::{Table, TableOptions};
use ogive::{Cause, Error, Result};
use ogive_testkit::{Fault, FaultInjector, Operation, Random, seeds};
use std::sync::Arc;
use tempfile::TempDir;

const METHODS: [JoinMethod; 3] = [JoinMethod::Merge, JoinMethod::Inlj, JoinMethod::Auto];
const BLOCK_BYTES: [u32; 5] = [512, 1024, 4096, 16 << 10, 64 << 10];

/// Profiles of which one has a peak as `ogive profile` measures it, so that streams have single requests in flight.
fn profile(random: &mut Random) -> Profile {
    let measured = Profile::affine("measured", 80.0, 900.0, 4).unwrap().with_peak(1500.0).unwrap();
    if random.one_in(3) { Profile::named("nvme").unwrap() } else { measured }
}

fn storage(random: &mut Random, folder: &TempDir) -> Arc<dyn Storage> {
    match random.below(3) {
        0 => Arc::new(MemoryStorage::new()),
        1 => Arc::new(LocalStorage::new(folder.path())),
        _ => Arc::new(LocalStorage::direct(folder.path())),
    }
}

/// Sorted keys, of which one in this many is another than the one before.
fn keys(random: &mut Random, count: u64, apart: u64, one_in: u64) -> Vec<u64> {
    let mut key = 0;
    let next = |_| {
        key += if random.one_in(one_in) { 1 + random.below(apart) } else { 0 };
        key
    };
    (0..count).map(next).collect()
}

/// With reads in flight, without, and without large pages.
const SETTINGS: [FastPaths; 3] = [
    FastPaths::ALL,
    FastPaths { in_flight: false, ..FastPaths::ALL },
    FastPaths { large_pages: false, ..FastPaths::ALL },
];

#[test]
fn rows_do_not_depend_on_reads_in_flight() {
    for seed in seeds(1..=9) {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir_in(".").unwrap();
        let storage = storage(&mut random, &folder);
        let any = |random: &mut Random| {
            let block_bytes = BLOCK_BYTES[random.below(5) as usize];
            // A coded block takes many times its size in memory.
            Shape { block_bytes, coding: block_bytes <= 4096 && random.one_in(2), ..DENSE }
        };
        // Runs of up to several blocks of equal keys, so that what is read ahead is not always what is needed.
        let (few, apart, one_in) = (1 + random.below(3000), 1 + random.below(60), [1, 2, 50][random.below(3) as usize]);
        let (few, many) = (keys(&mut random, few, apart, 1), keys(&mut random, 250_000, 3, one_in));
        let (left, right) = (numbered(&few, 1), numbered(&many, 2));
        let shapes = [any(&mut random), any(&mut random)];
        let one = JoinSource::table(&write_table(&storage, "left", &left, shapes[0]));
        let other = JoinSource::table(&write_table(&storage, "right", &right, shapes[1]));
        let profile = profile(&mut random);
        for kind in [JoinKind::Inner, JoinKind::Semi] {
            let expected = reference(kind, &left, &right);
            for method in METHODS {
                for memory_bytes in [8 << 20, 48 << 20] {
                    for fast_paths in SETTINGS {
                        let options =
                            options(kind, method, memory_bytes).profile(profile.clone()).fast_paths(fast_paths);
                        let what = format!("seed {seed}, {shapes:?}, {memory_bytes} bytes, {fast_paths:?}");
                        assert!(check(&one, &other, &options, &expected, &what));
                    }
                }
            }
        }
    }
}

/// Blocks that are stored as they are, so that they are many.
const PLAIN: Shape = Shape { coding: false, ..DENSE };

/// Left rows of every seventh right one.
fn relations() -> (Vec<Row>, Vec<Row>) {
    let right: Vec<u64> = (0..200_000).collect();
    let left: Vec<u64> = right.iter().copied().step_by(7).collect();
    (numbered(&left, 1), numbered(&right, 2))
}

fn sources(storage: &Arc<dyn Storage>) -> Result<(JoinSource, JoinSource)> {
    let open = |name| Table::open((Arc::clone(storage), name), &TableOptions::default().memory_bytes(1 << 18));
    Ok((JoinSource::table(&open("left")?), JoinSource::table(&open("right")?)))
}

fn measured(method: JoinMethod, memory_bytes: u64) -> JoinOptions {
    let profile = Profile::affine("measured", 80.0, 900.0, 4).unwrap().with_peak(1500.0).unwrap();
    options(JoinKind::Inner, method, memory_bytes).profile(profile)
}

/// Half a large page is read at a time, so the number of requests tells where large pages are used.
#[test]
fn only_direct_reads_with_enough_memory_go_into_large_pages() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let direct: Arc<dyn Storage> = Arc::new(LocalStorage::direct(folder.path()));
    let (left, right) = relations();
    write_table(&direct, "left", &left, PLAIN);
    if !write_table(&direct, "right", &right, PLAIN).is_direct() {
        return;
    }
    let cached: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    let requests = |storage: &Arc<dyn Storage>, memory_bytes, large_pages| {
        let (one, other) = sources(storage).unwrap();
        let options = measured(JoinMethod::Merge, memory_bytes).fast_paths(FastPaths { large_pages, ..FastPaths::ALL });
        let report = join(&one, &other, JoinOutput::caller(|_, _, _| Ok(())), &options).unwrap();
        assert_eq!(report.rows, left.len() as u64);
        report.requests
    };
    let of = |storage, memory_bytes| [true, false].map(|large_pages| requests(storage, memory_bytes, large_pages));
    let [on, off] = of(&direct, 64 << 20);
    assert!(on > off, "{on} and {off} requests");
    for [on, off] in [of(&direct, 2 << 20), of(&cached, 64 << 20)] {
        assert_eq!(on, off);
    }
}

#[test]
fn a_read_that_fails_in_flight_is_the_error_of_the_join() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let inner: Arc<dyn Storage> = Arc::new(LocalStorage::direct(folder.path()));
    let (left, right) = relations();
    write_table(&inner, "left", &left, PLAIN);
    write_table(&inner, "right", &right, PLAIN);
    for method in [JoinMethod::Merge, JoinMethod::Inlj] {
        let counting = FaultInjector::new(Arc::clone(&inner));
        let (one, other) = sources(&(Arc::new(counting.clone()) as Arc<dyn Storage>)).unwrap();
        counting.clear();
        let options = measured(method, 2 << 20);
        let expected = reference(JoinKind::Inner, &left, &right);
        assert!(check(&one, &other, &options, &expected, "no fault"));
        let calls = counting.calls(Operation::Read);
        let mut failed = 0;
        assert!(calls > 8, "{method}: {calls} reads");
        for at in (0..calls).step_by((calls / 16).max(1) as usize) {
            let injector = FaultInjector::new(Arc::clone(&inner));
            let (one, other) = sources(&(Arc::new(injector.clone()) as Arc<dyn Storage>)).unwrap();
            injector.clear();
            injector.fail_from(Operation::Read, at, Fault::TooManyOpenFiles);
            let rows = join_rows(&one, &other, &options).unwrap();
            let outcomes: Vec<Result<_>> = rows.map(|row| row.map(|row| row.key)).collect();
            let (last, before) = outcomes.split_last().unwrap();
            // The number of reads varies by those that are given up. What was given up may fail unnoticed.
            let is_whole = last.is_ok() && outcomes.len() == expected.len();
            assert!(
                is_whole || matches!(last, Err(Error { cause: Cause::Io(_), .. })),
                "{method}, read {at}: {last:?}"
            );
            failed += u64::from(!is_whole);
            let expected = expected.iter().map(|row| &row.0);
            assert!(before.iter().map(|key| key.as_ref().unwrap()).zip(expected).all(|(a, b)| a == b));
        }
        assert!(failed > 8, "{method}: {failed} joins failed");
    }
}

#[test]
fn a_join_that_is_dropped_waits_for_its_reads_and_ends() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::direct(folder.path()));
    let (left, right) = relations();
    write_table(&storage, "left", &left, PLAIN);
    write_table(&storage, "right", &right, PLAIN);
    for method in [JoinMethod::Merge, JoinMethod::Inlj] {
        for taken in [0, 1, 2000] {
            let alive = Arc::new(());
            let held = Arc::clone(&alive);
            let options = measured(method, 2 << 20).condition(move |_| {
                let _held = &held;
                Ok(true)
            });
            let (one, other) = sources(&storage).unwrap();
            let mut rows = join_rows(&one, &other, &options).unwrap();
            assert_eq!(rows.by_ref().take(taken).filter(Result::is_ok).count(), taken);
            drop((rows, options));
            assert_eq!(Arc::strong_count(&alive), 1, "{method}: something of the join is left");
        }
    }
}
