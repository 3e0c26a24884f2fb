//! Read-ahead of scans. Goal: a scan whose values are in value files returns the same records from both ends, in any
//! order of steps, reads many values with each call, and reports an error at the record that has it. Method: ranges are
//! taken from both ends at random and compared with a map, also where they go on as keys or pairs; calls are counted;
//! reads fail one by one, in scans from one end and from both.

use crate::batches::{Call, Noting};
use ogive::io::{FastPaths, MemoryStorage, Purpose, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive_testkit::{Fault, FaultInjector, Operation, Random};
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

fn value(number: u64) -> Vec<u8> {
    vec![number as u8; (number % 5 * 60) as usize]
}

/// A store of which most values are in value files, with the records of several flushes.
fn store(storage: Arc<dyn Storage>, options: &DbOptions) -> (Db, BTreeMap<Vec<u8>, Vec<u8>>) {
    let db = Db::open(storage, options).unwrap();
    let mut contents = BTreeMap::new();
    for round in 0..3_u64 {
        for i in 0..400_u64 {
            let number = (i * 7 + round) % 1000;
            let key = number.to_be_bytes();
            if i % 11 == round {
                db.remove(key).unwrap();
                contents.remove(&key[..]);
            } else {
                db.insert(key, value(number + round)).unwrap();
                contents.insert(key.to_vec(), value(number + round));
            }
        }
        db.flush().unwrap();
    }
    (db, contents)
}

fn options() -> DbOptions {
    DbOptions::default()
        .threads(0)
        .values(|values| values.separation_bytes(100))
        .levels(|levels| levels.block_bytes(1024))
}

#[test]
fn scans_of_separated_values_meet_between_their_ends() {
    for prefetch in [true, false] {
        let options = options().fast_paths(FastPaths { prefetch, ..FastPaths::ALL });
        let (db, contents) = store(Arc::new(MemoryStorage::new()), &options);
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let (from, to) = (random.below(1000), random.below(1001));
            let bounds = from.min(to).to_be_bytes().to_vec()..to.max(from).to_be_bytes().to_vec();
            let mut expected: VecDeque<_> = contents.range(bounds.clone()).collect();
            let mut range = db.range(bounds);
            // Long runs from one end, or single steps in turn.
            let run = 1 + random.below(80);
            loop {
                let (forward, mut left, mut is_over) = (random.below(2) == 0, 1 + random.below(run), false);
                if forward && random.below(4) == 0 {
                    range
                        .visit(|key, value| {
                            let (expected_key, expected_value) = expected.pop_front().unwrap();
                            assert!(key == &expected_key[..] && value == &expected_value[..], "{seed}");
                            left -= 1;
                            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                        })
                        .unwrap();
                    is_over = left > 0;
                } else {
                    for _ in 0..left {
                        let (found, next) = match forward {
                            true => (range.next(), expected.pop_front()),
                            false => (range.next_back(), expected.pop_back()),
                        };
                        let found = found.map(Result::unwrap);
                        let found = found.as_ref().map(|(key, value)| (&key[..], &value[..]));
                        assert!(found == next.map(|(key, value)| (&key[..], &value[..])), "{seed}");
                        is_over |= next.is_none();
                    }
                }
                if is_over {
                    assert!(expected.is_empty() && range.next().is_none() && range.next_back().is_none(), "{seed}");
                    break;
                }
            }
        }
    }
}

#[test]
fn a_scan_of_separated_values_reads_many_with_each_call() {
    let storage = Noting::new();
    let db = Db::open(Arc::new(storage.clone()), &options()).unwrap();
    let mut random = Random::new(3);
    // In random order, so that neighbours in the range are not neighbours in the value files.
    let mut numbers: Vec<u64> = (0..5000).collect();
    (1..numbers.len()).for_each(|i| numbers.swap(i, random.below(i as u64 + 1) as usize));
    for number in &numbers {
        db.insert(number.to_be_bytes(), vec![*number as u8; 2000]).unwrap();
    }
    db.compact().unwrap();
    db.close().unwrap();
    let db = Db::open(Arc::new(storage.clone()), &options()).unwrap();
    storage.take();
    assert!(db.iter().zip(0_u64..).all(|(record, number)| record.unwrap().1[..] == vec![number as u8; 2000]));
    let calls = storage.take();
    let of_values = |call: &&Call| match call {
        Call::Single(purpose) => *purpose == Purpose::Value,
        Call::Started(purposes) => purposes.contains(&Purpose::Value),
    };
    let count = calls.iter().filter(of_values).count();
    assert!((2..40).contains(&count), "{count} calls");
    // A scan that ends after a few records reads few in vain.
    db.iter().take(5).for_each(|record| drop(record.unwrap()));
    let ranges = |call: &Call| match call {
        Call::Single(purpose) => usize::from(*purpose == Purpose::Value),
        Call::Started(purposes) => purposes.iter().filter(|&&purpose| purpose == Purpose::Value).count(),
    };
    let read: usize = storage.take().iter().map(ranges).sum();
    assert!(read <= 8, "{read} values");
}

#[test]
fn a_scan_whose_reads_fail_returns_the_records_before_and_then_the_error() {
    let injector = FaultInjector::new(Arc::new(MemoryStorage::new()));
    let options = options().fast_paths(FastPaths { cache: false, ..FastPaths::ALL });
    let (db, contents) = store(Arc::new(injector.clone()), &options);
    for forward in [true, false] {
        for failing in 0..60 {
            injector.fail_from(Operation::Read, failing, Fault::DeviceError);
            let mut range = db.iter();
            let mut expected: VecDeque<_> = contents.iter().collect();
            let failure = loop {
                let (found, next) = match forward {
                    true => (range.next(), expected.pop_front()),
                    false => (range.next_back(), expected.pop_back()),
                };
                match found {
                    Some(Ok((key, value))) => {
                        assert!(
                            next.is_some_and(|(other, expected)| key[..] == other[..] && value[..] == expected[..])
                        );
                    }
                    Some(Err(error)) => break Some(error),
                    None => {
                        assert!(next.is_none());
                        break None;
                    }
                }
            };
            assert!(failure.is_none() || range.next().is_none() && range.next_back().is_none());
            assert_eq!(failure.is_some(), injector.triggered(), "read {failing}");
            injector.clear();
        }
    }
}

/// Each end reads ahead for itself, so one may fail while records wait at the other, or at its own.
#[test]
fn after_an_error_at_either_end_a_scan_has_ended_at_both() {
    let injector = FaultInjector::new(Arc::new(MemoryStorage::new()));
    let options = options().fast_paths(FastPaths { cache: false, ..FastPaths::ALL });
    let (db, contents) = store(Arc::new(injector.clone()), &options);
    for seed in 0..20 {
        for failing in 0..60 {
            let mut random = Random::new(seed);
            injector.fail_from(Operation::Read, failing, Fault::DeviceError);
            let mut range = db.iter();
            let mut expected: VecDeque<_> = contents.iter().collect();
            let failed = loop {
                let (forward, visits) = (random.below(2) == 0, random.below(4) == 0);
                let (found, next) = match forward {
                    true if visits => {
                        let mut found = None;
                        let visited = range.visit(|key, value| {
                            found = Some(Ok((key.into(), value.into())));
                            ControlFlow::Break(())
                        });
                        (visited.err().map(Err).or(found), expected.pop_front())
                    }
                    true => (range.next(), expected.pop_front()),
                    false => (range.next_back(), expected.pop_back()),
                };
                let place = format!("seed {seed}, read {failing}, {} left", expected.len());
                match (found, next) {
                    (Some(Ok((key, value))), Some((other, expected))) => {
                        assert!(key[..] == other[..] && value[..] == expected[..], "{place}");
                    }
                    (Some(Err(_)), _) => break true,
                    (None, None) => break false,
                    (found, next) => panic!("{place}: {found:?}, not {next:?}"),
                }
            };
            assert_eq!(failed, injector.triggered(), "read {failing}");
            // What fails no longer does not bring it back.
            injector.clear();
            for _ in 0..2 {
                assert!(range.next().is_none() && range.next_back().is_none(), "seed {seed}, read {failing}");
                range.visit(|_, _| panic!("seed {seed}, read {failing}: a record after the error")).unwrap();
            }
            assert!(range.keys().next().is_none());
        }
    }
}

#[test]
fn a_scan_that_goes_on_as_keys_or_pairs_leaves_none_out() {
    let (db, contents) = store(Arc::new(MemoryStorage::new()), &options());
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let (mut range, mut expected) = (db.iter(), contents.iter().collect::<VecDeque<_>>());
        for _ in 0..random.below(60) {
            let found = if random.below(2) == 0 {
                expected.pop_front();
                range.next()
            } else {
                expected.pop_back();
                range.next_back()
            };
            found.unwrap().unwrap();
        }
        let (mut front, mut back) = (Vec::new(), Vec::new());
        // Records are taken on from both ends in turn.
        let mut collect = |next: &mut dyn FnMut(bool) -> Option<(Vec<u8>, Vec<u8>)>| {
            while let Some(found) = next(true) {
                front.push(found);
                back.extend(next(false));
            }
        };
        if seed % 2 == 0 {
            let mut keys = range.keys();
            collect(&mut |forward| {
                let key = if forward { keys.next() } else { keys.next_back() };
                key.map(|key| key.unwrap().to_vec()).map(|key| (key.clone(), contents[&key].clone()))
            });
        } else {
            let mut pairs = range.pairs();
            collect(&mut |forward| {
                let pair = if forward { pairs.next() } else { pairs.next_back() };
                pair.map(Result::unwrap).map(|pair| (pair.key().to_vec(), pair.value().unwrap().to_vec()))
            });
        }
        let found: Vec<_> = front.into_iter().chain(back.into_iter().rev()).collect();
        let expected: Vec<_> = expected.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        assert!(found == expected, "seed {seed}: {} records of {}", found.len(), expected.len());
    }
}
