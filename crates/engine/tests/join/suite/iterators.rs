//! Goal: `join_rows` gives the rows of the join, in order and once; its errors come last; an iterator that is dropped
//! ends its join and its thread, in every phase. Method: joins that give many rows, drop after none, one and some, and
//! joins that fail or sort for long.

use crate::support::{DENSE, collect, file, numbered, options, table, unsorted};
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinPhase, JoinSource, RecordShape, join, join_rows};
use ogive::{Cause, Error, KeyType};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn the_rows_are_those_of_the_join() {
    let left = numbered(&(0..30_000).map(|at| at / 2).collect::<Vec<_>>(), 1);
    let right = numbered(&(7000..9000).chain(14_000..40_000).collect::<Vec<_>>(), 2);
    let (one, other) = (table(&left, DENSE), file(&right, false));
    for (kind, _) in JoinKind::ALL {
        for (memory_bytes, threads) in [(1 << 20, 1), (32 << 20, 3)] {
            let options = options(kind, JoinMethod::Auto, memory_bytes).threads(threads);
            let (expected, report) = collect(&one, &other, &options).unwrap();
            let mut rows = join_rows(&one, &other, &options).unwrap();
            assert!(rows.report().is_none());
            let found: Vec<_> =
                rows.by_ref().map(|row| row.unwrap()).map(|row| (row.key, row.left, row.right)).collect();
            assert!(found == expected, "{kind}");
            assert!(rows.next().is_none());
            assert_eq!(rows.report().unwrap().rows, report.rows);
        }
    }
    // Rows longer than a batch.
    let long = vec![(b"a".to_vec(), vec![1; 300_000]), (b"b".to_vec(), vec![2; 10])];
    let long = unsorted(&long, KeyType::Text, None);
    let found: Vec<_> = join_rows(&long, &long, &JoinOptions::default()).unwrap().map(|row| row.unwrap()).collect();
    assert_eq!(found.iter().map(|row| row.right.as_ref().unwrap().len()).collect::<Vec<_>>(), [300_000, 10]);
}

#[test]
fn dropping_the_iterator_ends_the_join_and_its_thread() {
    let rows = numbered(&(0..40_000).collect::<Vec<_>>(), 1);
    let (one, other) = (table(&rows, DENSE), unsorted(&rows, KeyType::U64, Some(8)));
    for taken in [0, 1, 5000] {
        for threads in [1, 3] {
            let alive = Arc::new(());
            let held = Arc::clone(&alive);
            let options = options(JoinKind::Inner, JoinMethod::Merge, 8 << 20).threads(threads).condition(move |_| {
                let _held = &held;
                Ok(true)
            });
            let mut found = join_rows(&one, &other, &options).unwrap();
            assert_eq!(found.by_ref().take(taken).filter(Result::is_ok).count(), taken);
            drop((found, options));
            assert_eq!(Arc::strong_count(&alive), 1, "the thread has ended");
        }
    }
}

#[test]
fn a_join_that_gives_no_row_yet_ends_when_its_iterator_is_dropped() {
    let read = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&read);
    let shape =
        RecordShape { name: "endless".into(), key_type: KeyType::U64, value_bytes: Some(0), rows: 9, bytes: 72 };
    let endless = JoinSource::unsorted(shape, move || {
        let counted = Arc::clone(&counted);
        Box::new((0_u64..).map(move |key| {
            counted.store(key, Ordering::Relaxed);
            Ok((key.to_be_bytes().to_vec(), Vec::new()))
        }))
    });
    let rows = join_rows(&endless, &endless, &options(JoinKind::Full, JoinMethod::Merge, 64 << 20)).unwrap();
    while read.load(Ordering::Relaxed) < 10_000 {
        std::thread::yield_now();
    }
    drop(rows);
}

#[test]
fn few_rows_with_very_many_pairs_can_be_stopped() {
    const ROWS: u64 = 40_000;
    let shape =
        RecordShape { name: "one key".into(), key_type: KeyType::U64, value_bytes: Some(8), rows: ROWS, bytes: 16 };
    let one_key = JoinSource::unsorted(shape, || {
        Box::new((0..ROWS).map(|row| Ok((7_u64.to_be_bytes().to_vec(), row.to_be_bytes().to_vec()))))
    });
    for method in [JoinMethod::Merge, JoinMethod::Hash] {
        let stop = Arc::new(AtomicBool::new(false));
        let (pairs, asked) = (Arc::new(AtomicU64::new(0)), Arc::clone(&stop));
        let counted = Arc::clone(&pairs);
        let output = JoinOutput::caller(move |_, _, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            asked.store(true, Ordering::Relaxed);
            Ok(())
        });
        // In any order: else a hash join would sort all pairs before it returns the first.
        let options = options(JoinKind::Inner, method, 64 << 20).any_order(true).stop(Some(stop));
        let outcome = join(&one_key, &one_key, output, &options);
        assert!(matches!(outcome, Err(Error { cause: Cause::Interrupted, .. })), "{method}: {outcome:?}");
        // Of the 1.6 billion pairs.
        assert!(pairs.load(Ordering::Relaxed) < 1 << 20, "{method}: {pairs:?}");
    }
}

#[test]
fn errors_and_panics_come_last() {
    let rows = numbered(&(0..9000).collect::<Vec<_>>(), 1);
    let one = table(&rows, DENSE);
    let failing = options(JoinKind::Inner, JoinMethod::Merge, 8 << 20).condition(|pair| match pair.key {
        [.., 30, 0] => Err(Error::input("no row")),
        _ => Ok(true),
    });
    let found: Vec<_> = join_rows(&one, &one, &failing).unwrap().collect();
    assert!(matches!(found.last(), Some(Err(error @ Error { cause: Cause::Input, .. })) if error.detail() == "no row"));
    assert!(found.len() <= 30 * 256 + 1 && found.iter().rev().skip(1).all(Result::is_ok));

    let stop = Arc::new(AtomicBool::new(true));
    let mut stopped = join_rows(&one, &one, &failing.clone().stop(Some(stop))).unwrap();
    assert!(matches!(stopped.next(), Some(Err(Error { cause: Cause::Interrupted, .. }))) && stopped.next().is_none());

    let panicking = options(JoinKind::Inner, JoinMethod::Merge, 8 << 20).condition(|_| panic!("as the test wants"));
    let phases = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&phases);
    let panicking = panicking.watcher(move |progress| seen.lock().unwrap().push(progress.phase));
    let mut ended = join_rows(&one, &one, &panicking).unwrap();
    assert!(matches!(ended.next(), Some(Err(Error { cause: Cause::Input, .. }))) && ended.next().is_none());
    assert!(phases.lock().unwrap().contains(&JoinPhase::Joining) && ended.report().is_none());
}
