//! Tests of range tombstone sets against a list that is searched linearly.

use super::set::RangeTombstone;
use super::{RangeTombstones, known_end};
use crate::io::{MemoryStorage, Storage};
use crate::lsm::state::entry::{SEQUENCE_MAX, put_varint};
use crate::lsm::{Db, DbOptions};
use crate::table::KEY_BYTES_MAX;
use ogive_testkit::Random;
use proptest::prelude::*;
use std::sync::Arc;

fn key() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0..4_u8, 0..4)
}

fn tombstones() -> impl Strategy<Value = Vec<RangeTombstone>> {
    let tombstone = (key(), key(), 1..60_u64, 0..5_u8).prop_map(|(one, other, sequence, endless)| {
        let (start, end) = if one <= other { (one, other) } else { (other, one) };
        let end = if endless == 0 { Vec::new() } else { end };
        RangeTombstone { start: start.into(), end: end.into(), sequence }
    });
    proptest::collection::vec(tombstone, 0..80)
}

fn expected(list: &[RangeTombstone], key: &[u8], at: u64) -> u64 {
    let covering = list.iter().filter(|tombstone| tombstone.covers(key) && tombstone.sequence <= at);
    covering.map(|tombstone| tombstone.sequence).max().unwrap_or(0)
}

fn added(list: &[RangeTombstone]) -> RangeTombstones {
    let mut tombstones = RangeTombstones::new();
    for tombstone in list {
        tombstones.add(&tombstone.start, &tombstone.end, tombstone.sequence);
    }
    tombstones
}

proptest! {
    #[test]
    fn the_newest_visible_removal_that_covers_a_key_is_found(
        list in tombstones(),
        keys in proptest::collection::vec((key(), 0..70_u64), 30),
    ) {
        let one_by_one = added(&list);
        let at_once = RangeTombstones::of(list.clone());
        prop_assert_eq!(&one_by_one, &at_once);
        for (key, at) in &keys {
            prop_assert_eq!(one_by_one.covering(key, *at), expected(&list, key, *at));
            prop_assert_eq!(at_once.covering(key, *at), expected(&list, key, *at));
        }
    }

    #[test]
    fn clipping_leaves_what_lies_between(
        list in tombstones(),
        from in proptest::option::of(key()),
        to in proptest::option::of(key()),
        keys in proptest::collection::vec(key(), 20),
    ) {
        let clipped = added(&list).clip(from.as_deref(), to.as_deref());
        for key in &keys {
            let is_inside = from.as_ref().is_none_or(|from| from <= key) && to.as_ref().is_none_or(|to| key < to);
            let wanted = if is_inside { expected(&list, key, 70) } else { 0 };
            prop_assert_eq!(clipped.covering(key, 70), wanted);
        }
        if let (Some(from), Some((start, _))) = (&from, clipped.bounds()) {
            prop_assert!(start >= from);
        }
        if let (Some(to), Some((_, end))) = (&to, clipped.bounds()) {
            prop_assert!(end <= to);
        }
    }

    #[test]
    fn joined_sets_cover_what_either_covers(
        one in tombstones(),
        other in tombstones(),
        keys in proptest::collection::vec((key(), 0..70_u64), 20),
    ) {
        let (mut joined, second) = (added(&one), added(&other));
        let kept = joined.clone();
        joined.extend(&second);
        for (key, at) in &keys {
            prop_assert_eq!(joined.covering(key, *at), expected(&one, key, *at).max(expected(&other, key, *at)));
            prop_assert_eq!(kept.covering(key, *at), expected(&one, key, *at));
        }
        let newer = joined.filter(|tombstone| tombstone.sequence > 30);
        prop_assert_eq!(newer.len(), joined.iter().filter(|tombstone| tombstone.sequence > 30).count());
    }

    #[test]
    fn what_was_encoded_is_decoded_and_every_cut_is_noticed(list in tombstones()) {
        let tombstones = added(&list);
        let bytes = tombstones.encode();
        prop_assert_eq!(&RangeTombstones::decode(&bytes).unwrap(), &tombstones);
        for cut in 1..bytes.len() {
            prop_assert!(RangeTombstones::decode(&bytes[..cut]).is_none(), "cut at {}", cut);
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>) {
        if let Some(tombstones) = RangeTombstones::decode(&bytes) {
            let is_sound = |tombstone: &RangeTombstone| {
                (tombstone.end.is_empty() || tombstone.start < tombstone.end) && tombstone.sequence <= SEQUENCE_MAX
            };
            prop_assert!(tombstones.iter().all(is_sound));
        }
    }
}

#[test]
fn a_count_or_length_beyond_the_bytes_allocates_nothing() {
    assert!(RangeTombstones::decode(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0]).is_none());
    assert!(RangeTombstones::decode(&[1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).is_none());
    assert!(RangeTombstones::decode(&[0]).is_none());
    assert_eq!(RangeTombstones::decode(&[]).map(|tombstones| tombstones.len()), Some(0));
}

/// A list of sequence numbers for each fragment would have 10^8 elements here.
#[test]
fn ranges_inside_ranges_take_memory_in_proportion() {
    let key = |number: u32| number.to_be_bytes();
    let nested = (0..20_000_u32).map(|i| RangeTombstone {
        start: key(i).into(),
        end: key(100_000 - i).into(),
        sequence: u64::from(i) + 1,
    });
    let tombstones = RangeTombstones::of(nested);
    assert!(tombstones.memory_bytes() < 20_000 * 500, "{} bytes", tombstones.memory_bytes());
    let mut random = Random::new(1);
    for _ in 0..1_000 {
        let (number, at) = (random.below(100_001) as u32, random.below(20_001));
        let depth = u64::from(number.saturating_add(1).min((100_000 - number).min(20_000)));
        assert_eq!(tombstones.covering(&key(number), at), depth.min(at), "{number} at {at}");
    }
}

#[test]
fn many_range_tombstones_are_added_in_little_time() {
    let mut tombstones = RangeTombstones::new();
    for i in 0..50_000_u32 {
        tombstones.add(&(3 * i).to_be_bytes(), &(3 * i + 2).to_be_bytes(), u64::from(i) + 1);
        assert!(tombstones.clone().len() == i as usize + 1);
    }
    for i in (0..50_000_u32).step_by(97) {
        assert_eq!(tombstones.covering(&(3 * i + 1).to_be_bytes(), u64::MAX), u64::from(i) + 1);
        assert_eq!(tombstones.covering(&(3 * i + 2).to_be_bytes(), u64::MAX), 0);
    }
}

/// Early versions wrote an end behind all possible keys.
#[test]
fn an_end_behind_all_keys_is_none() {
    let early = vec![0xff; KEY_BYTES_MAX + 1];
    let tombstones = added(&[RangeTombstone { start: b"k".as_slice().into(), end: early.clone().into(), sequence: 7 }]);
    assert!(tombstones.memory_bytes() < 200 && tombstones.encode().len() < 10, "{tombstones:?}");
    assert_eq!((tombstones.covering(&early, 9), tombstones.covering(b"j", 9)), (7, 0));
    let mut bytes = vec![1, 1, b'k'];
    put_varint(&mut bytes, early.len() as u64);
    bytes.extend_from_slice(&early);
    bytes.push(7);
    assert_eq!(RangeTombstones::decode(&bytes), Some(tombstones));
    // A legitimate end of the maximum length is not mistaken for one.
    let shorter = [vec![0xff; KEY_BYTES_MAX], vec![0]].concat();
    assert_eq!(known_end(&shorter), shorter);
}

/// Removing all keys from one on costs as much as removing any range: in the log, in memory, in tables and in the
/// manifest.
#[test]
fn a_removal_without_an_end_takes_a_few_bytes_everywhere() {
    let memory = MemoryStorage::new();
    let options = DbOptions::default().threads(0);
    let open = || Db::open(Arc::new(memory.clone()), &options).unwrap();
    let files = || {
        let names = memory.list().unwrap().into_iter();
        names.map(|name| memory.content(&name).unwrap().len()).sum::<usize>()
    };
    let db = open();
    let mut batch = db.batch();
    batch.remove_range(&db, b"k".as_slice()..).remove_range::<&[u8]>(&db, ..);
    assert!(batch.byte_len() <= 16, "{} bytes", batch.byte_len());
    drop(batch);
    for number in 0..100_u32 {
        db.insert(number.to_be_bytes(), "old").unwrap();
    }
    let snapshot = db.snapshot();
    let before = (db.stats().memtable_bytes, db.activity().log_bytes);
    for number in 0..4_000_u32 {
        match number % 2 {
            0 => db.remove_range::<&[u8]>(..).unwrap(),
            _ => db.remove_range(10_u32.to_be_bytes()..).unwrap(),
        }
    }
    let taken = (db.stats().memtable_bytes - before.0, db.activity().log_bytes - before.1);
    assert!(taken.0 < 4_000 * 400 && taken.1 < 4_000 * 40, "{taken:?} bytes of memory and log");
    assert_eq!(db.iter().count(), 0);
    db.insert(50_u32.to_be_bytes(), "new").unwrap();
    let check = |db: &Db| {
        let found: Vec<_> = db.iter().map(|record| record.unwrap().0.to_vec()).collect();
        assert_eq!(found, [50_u32.to_be_bytes()]);
        assert_eq!(db.get(99_u32.to_be_bytes()).unwrap(), None);
        assert_eq!(db.get([0xff; 300]).unwrap(), None);
    };
    check(&db);
    db.flush().unwrap();
    check(&db);
    assert_eq!(snapshot.range::<&[u8]>(&db, ..).count(), 100);
    let logs = 2 * taken.1 as usize;
    assert!(files() < logs + (256 << 10), "{} bytes of files", files());
    // Newer tables above and below it, and others beside it.
    for number in 200..300_u32 {
        db.insert(number.to_be_bytes(), "later").unwrap();
    }
    db.remove_range(200_u32.to_be_bytes()..).unwrap();
    db.flush().unwrap();
    check(&db);
    drop(snapshot);
    db.compact().unwrap();
    check(&db);
    assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
    db.close().unwrap();
    check(&open());
}

#[test]
fn a_range_that_ends_at_the_empty_key_has_no_keys() {
    let db = Db::open(Arc::new(MemoryStorage::new()), &DbOptions::default().threads(0)).unwrap();
    db.insert("", "here").unwrap();
    db.insert("a", "here").unwrap();
    db.remove_range(..b"".as_slice()).unwrap();
    db.remove_range(b"a".as_slice()..b"".as_slice()).unwrap();
    assert_eq!(db.iter().count(), 2);
    db.remove_range(..=b"".as_slice()).unwrap();
    assert_eq!(db.iter().count(), 1);
}
