//! Moves of the ends of open ranges. Goal: an end moves to any key of its range, ahead and back, and the range goes on
//! from there as a new one would, whatever its cursors have read ahead; a move to a near key reads nothing. Method:
//! drawn steps and moves of ranges of stores with drawn options, compared with a sorted map; calls are counted; reads
//! fail.

use crate::batches::Noting;
use crate::support::Draws;
use ogive::io::{FastPaths, MemoryStorage};
use ogive::lsm::{Db, DbOptions};
use ogive_testkit::{Fault, FaultInjector, MovedRange, Operation, Random, Repeat, seeds};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(random: &mut Random) -> Vec<u8> {
    (random.below(60) as u16).to_be_bytes()[..if random.one_in(9) { 1 } else { 2 }].to_vec()
}

fn bound(random: &mut Random) -> Bound<Vec<u8>> {
    match random.below(3) {
        0 => Bound::Included(key(random)),
        1 => Bound::Excluded(key(random)),
        _ => Bound::Unbounded,
    }
}

/// A store of several tables and memtables, with removed keys and ranges.
fn store(random: &mut Random, options: &DbOptions) -> (Db, Records) {
    let db = Db::open(Arc::new(MemoryStorage::new()), options).unwrap();
    let mut records = Records::new();
    for _ in 0..random.below(120) {
        let key = key(random);
        match random.below(30) {
            0 => db.flush().unwrap(),
            1 => {
                let end = [&key[..], &[random.below(9) as u8]].concat();
                db.remove_range(key.clone()..end.clone()).unwrap();
                records.retain(|its, _| *its < key || *its >= end);
            }
            2..7 => {
                db.remove(&key).unwrap();
                records.remove(&key);
            }
            _ => {
                let value = vec![random.below(256) as u8; (random.below(3) * 120) as usize];
                db.insert(&key, &value).unwrap();
                records.insert(key, value);
            }
        }
    }
    (db, records)
}

#[test]
fn a_moved_end_of_a_range_goes_on_as_a_new_range_would() {
    let like = DbOptions::default()
        .memory_bytes(4 << 20)
        .writes(|writes| writes.memtable_bytes(4 << 10))
        .levels(|levels| levels.table_bytes(4 << 10));
    for seed in seeds(0..200) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        let mut draws = Draws::new(seed, &like.clone().threads(0));
        let (db, records) = store(random, &draws.next());
        for _ in 0..6 {
            let bounds = (bound(random), bound(random));
            let (mut range, mut model) = (db.range(bounds.clone()), MovedRange::new(&records, bounds));
            let only = random.below(3);
            for _ in 0..random.below(60) {
                // The front alone, the back alone, or both.
                let forward = only == 0 || only == 1 && random.one_in(2);
                match random.below(6) {
                    0 | 1 if forward => {
                        let key = key(random);
                        range.seek(&key);
                        model.seek(&key);
                    }
                    0 | 1 => {
                        let key = key(random);
                        range.seek_for_prev(&key);
                        model.seek_for_prev(&key);
                    }
                    2 if forward => {
                        let mut left = 1 + random.below(3);
                        range
                            .visit(|key, value| {
                                assert_eq!(model.step(true), Some((key.to_vec(), value.to_vec())));
                                left -= 1;
                                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                            })
                            .unwrap();
                        assert!(left == 0 || model.step(true).is_none());
                    }
                    _ => {
                        let found = if forward { range.next() } else { range.next_back() };
                        let found = found.map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())));
                        assert_eq!(found.transpose().unwrap(), model.step(forward));
                    }
                }
            }
        }
    }
}

#[test]
fn a_move_to_a_near_key_reads_nothing() {
    let storage = Noting::new();
    let options = DbOptions::default().threads(0).levels(|levels| levels.block_bytes(4096));
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    for i in 0..20_000_u32 {
        db.insert(i.to_be_bytes(), [7; 40]).unwrap();
    }
    db.compact().unwrap();
    db.close().unwrap();
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    let mut range = db.iter();
    range.seek(9_000_u32.to_be_bytes());
    storage.take();
    // The moves alone read nothing.
    for i in (0..20_000_u32).rev() {
        range.seek(i.to_be_bytes());
    }
    assert!(storage.take().is_empty());
    range.seek(9_000_u32.to_be_bytes());
    let first = range.next().unwrap().unwrap().0;
    assert_eq!(first[..], 9_000_u32.to_be_bytes());
    storage.take();
    for i in [9_003, 9_010, 9_001, 9_020, 9_000_u32] {
        range.seek(i.to_be_bytes());
        assert_eq!(range.next().unwrap().unwrap().0[..], i.to_be_bytes());
    }
    let calls = storage.take();
    assert!(calls.len() <= 1, "{calls:?}");
}

#[test]
fn a_range_that_has_failed_stays_ended_when_it_is_moved() {
    let injector = FaultInjector::new(Arc::new(MemoryStorage::new()));
    let fast_paths = FastPaths { cache: false, ..FastPaths::ALL };
    let options = DbOptions::default().threads(0).fast_paths(fast_paths).values(|values| values.separation_bytes(10));
    let db = Db::open(Arc::new(injector.clone()), &options).unwrap();
    for i in 0..2_000_u32 {
        db.insert(i.to_be_bytes(), [7; 40]).unwrap();
    }
    db.compact().unwrap();
    let keys = 0..2_000_u32;
    for forward in [true, false] {
        for failing in 0..12 {
            injector.fail_from(Operation::Read, failing, Fault::DeviceError);
            let (mut range, mut expected) = (db.iter(), keys.clone());
            let failed = loop {
                let (found, next) = match forward {
                    true => (range.next(), expected.next()),
                    false => (range.next_back(), expected.next_back()),
                };
                match found {
                    Some(Ok((key, _))) => assert_eq!(key[..], next.unwrap().to_be_bytes()),
                    Some(Err(_)) => break true,
                    None => break false,
                }
                // Also where records were read ahead, before one that fails.
                match forward {
                    true => range.seek(expected.start.to_be_bytes()),
                    false => range.seek_for_prev((expected.end.max(1) - 1).to_be_bytes()),
                }
            };
            assert_eq!(failed, injector.triggered(), "read {failing}");
            injector.clear();
            if failed {
                range.seek(7_u32.to_be_bytes());
                range.seek_for_prev(9_u32.to_be_bytes());
                assert!(range.next().is_none() && range.next_back().is_none());
            }
        }
    }
}
