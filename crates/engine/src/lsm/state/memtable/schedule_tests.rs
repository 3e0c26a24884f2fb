//! Tests of concurrent memtable readers. Goal: readers see every published entry while another thread inserts. Method:
//! real threads, and explored schedules that may switch threads between any two link reads or writes.

use super::handle::Memtable;
use super::tests::{Put, add, owned};
use crate::io::local::sync::Mutex;
use crate::io::reads::test_schedule;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{SEQUENCE_MAX, ValueKind};
use ogive_testkit::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Keys with a common prefix, which a memtable finds out after some insertions, and then begins another list.
fn key(sequence: u64) -> Vec<u8> {
    [b"prefix", &sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[..5]].concat()
}

/// Entries whose value is their sequence number.
fn puts(first: u64, count: u64) -> Vec<Put> {
    (first..first + count).map(|sequence| (ValueKind::Value, key(sequence), sequence.to_le_bytes().to_vec())).collect()
}

/// Checks that a reader finds the published entries during insertions.
fn read(memtable: &Arc<Memtable>, at: u64, random: &mut Random, gets: u64) {
    for _ in 0..gets.min(at) {
        let sequence = 1 + random.below(at);
        let entry = memtable.get(&key(sequence), at).unwrap();
        assert_eq!((entry.sequence, entry.value), (sequence, &sequence.to_le_bytes()[..]));
    }
    let mut cursor = memtable.cursor();
    cursor.seek(&key(random.next_u64()), SEQUENCE_MAX).unwrap();
    for _ in 0..gets {
        let Some((before, _)) = owned(cursor.entry()) else { break };
        let is_back = random.one_in(4);
        if is_back {
            cursor.prev().unwrap()
        } else {
            cursor.next().unwrap()
        }
        let Some((after, _)) = owned(cursor.entry()) else { break };
        assert!(if is_back { after < before } else { before < after });
    }
}

/// Checks that all published entries are found from either end, in order.
fn walk(memtable: &Arc<Memtable>, at: u64) {
    let mut cursor = memtable.cursor();
    for is_back in [false, true] {
        if is_back {
            cursor.last().unwrap()
        } else {
            cursor.first().unwrap()
        }
        let mut seen = Vec::new();
        while let Some(entry) = cursor.entry() {
            assert_eq!(entry.value, &entry.sequence.to_le_bytes()[..]);
            seen.push((entry.key.to_vec(), entry.sequence));
            if is_back { cursor.prev().unwrap() } else { cursor.next().unwrap() }
        }
        assert!(if is_back { seen.iter().rev().is_sorted() } else { seen.iter().is_sorted() });
        let mut published: Vec<u64> = seen.iter().map(|(_, sequence)| *sequence).filter(|&s| s <= at).collect();
        published.sort_unstable();
        assert!(published.iter().copied().eq(1..=at), "{} of {at} entries", published.len());
    }
}

#[test]
fn readers_see_every_published_entry_while_others_are_inserted() {
    const GROUPS: u64 = 3_000;
    let memtable = Arc::new(Memtable::new());
    let (visible, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (memtable, visible, is_done) = (&memtable, &visible, &is_done);
            scope.spawn(move || {
                let mut random = Random::new(reader);
                while !is_done.load(Ordering::Acquire) {
                    read(memtable, visible.load(Ordering::Acquire), &mut random, 50);
                }
            });
        }
        for group in 0..GROUPS {
            let first = 1 + group * 20;
            add(&memtable, first, &puts(first, 20));
            visible.store(first + 19, Ordering::Release);
        }
        is_done.store(true, Ordering::Release);
    });
    walk(&memtable, GROUPS * 20);
}

/// One schedule: two threads insert in turn, others read.
fn try_schedule(seed: u64) -> u64 {
    let memtable = Arc::new(Memtable::new());
    let (visible, next, inserting) = (AtomicU64::new(0), Mutex::new(1_u64), AtomicU64::new(2));
    let insert = || {
        for _ in 0..6 {
            // As in the store, the holder of the writer's lock numbers, inserts and publishes.
            let mut next = next.lock();
            let count = 1 + (seed + *next) % 12;
            add(&memtable, *next, &puts(*next, count));
            *next += count;
            visible.store(*next - 1, Ordering::Release);
        }
        inserting.fetch_sub(1, Ordering::Release);
    };
    let look = |reader: u64| {
        let mut random = Random::new(seed * 8 + reader);
        while inserting.load(Ordering::Acquire) > 0 {
            test_schedule::pass();
            read(&memtable, visible.load(Ordering::Acquire), &mut random, 4);
            walk(&memtable, visible.load(Ordering::Acquire));
        }
    };
    let mut work: Vec<Box<dyn FnOnce() + Send + '_>> = vec![Box::new(insert), Box::new(insert)];
    let look = &look;
    work.extend((0..3).map(|reader| Box::new(move || look(reader)) as Box<dyn FnOnce() + Send + '_>));
    let passes = test_schedule::run(seed, work);
    walk(&memtable, visible.load(Ordering::Acquire));
    passes
}

#[test]
fn readers_see_every_published_entry_under_any_schedule() {
    let passes: u64 = (0..60).map(try_schedule).sum();
    assert!(passes > 10_000, "only {passes} choices");
}

#[test]
#[ignore = "long: 2 minutes"]
fn readers_see_every_published_entry_under_many_more_schedules() {
    for seed in 1_000..6_000 {
        try_schedule(seed);
    }
}
