//! Tests of the visibility cursor against a model, under random moves.

use super::visible::{EntrySource, VisibleCursor};
use crate::lsm::state::entry::ValueKind;
use crate::lsm::state::entry::{SEQUENCE_MAX, Sequence};
use crate::lsm::state::test_model::{History, TIME_MAX_MS, TestOperation, keys, steps};
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
enum Move {
    Seek(Vec<u8>),
    SeekBefore(Vec<u8>),
    First,
    Last,
    Next,
    Prev,
    /// Parks once or twice, and moves from there.
    ParkNext(Vec<u8>, Vec<u8>),
    ParkPrev(Vec<u8>, Vec<u8>),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        2 => keys().prop_map(Move::Seek),
        2 => keys().prop_map(Move::SeekBefore),
        1 => Just(Move::First),
        1 => Just(Move::Last),
        6 => Just(Move::Next),
        6 => Just(Move::Prev),
        2 => (keys(), keys()).prop_map(|(first, key)| Move::ParkNext(first, key)),
        2 => (keys(), keys()).prop_map(|(first, key)| Move::ParkPrev(first, key)),
    ];
    proptest::collection::vec(one, 0..60)
}

fn visible(history: &History, at: Sequence, now_ms: u64) -> VisibleCursor {
    VisibleCursor::new(EntrySource::Any(history.cursor()), vec![Arc::new(history.tombstones.clone())], at, now_ms)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_walk_shows_what_the_model_shows(
        operations in steps(120),
        at in 0..140_u64,
        now_ms in 0..=TIME_MAX_MS,
        walk in moves(),
    ) {
        let history = History::of(&operations, 1);
        let seen: Vec<_> = history.seen_by(at, now_ms).into_iter().collect();
        let mut visible = visible(&history, at, now_ms);
        let mut place: Option<usize> = None;
        for step in walk {
            match &step {
                Move::Seek(key) => {
                    visible.seek(key).unwrap();
                    place = Some(seen.partition_point(|(other, _)| other < key));
                }
                Move::SeekBefore(key) => {
                    visible.seek_before(key).unwrap();
                    place = seen.partition_point(|(other, _)| other < key).checked_sub(1);
                }
                Move::First => {
                    visible.first().unwrap();
                    place = Some(0);
                }
                Move::Last => {
                    visible.last().unwrap();
                    place = seen.len().checked_sub(1);
                }
                Move::Next => {
                    visible.next().unwrap();
                    place = place.map(|place| place + 1);
                }
                Move::Prev => {
                    visible.prev().unwrap();
                    place = place.and_then(|place| place.checked_sub(1));
                }
                Move::ParkNext(first, key) | Move::ParkPrev(first, key) => {
                    visible.park(first);
                    prop_assert!(visible.entry().is_none() && visible.value_slice().is_none());
                    visible.park(key);
                    let before = seen.partition_point(|(other, _)| other < key);
                    place = if matches!(step, Move::ParkNext(..)) {
                        visible.next().unwrap();
                        Some(before)
                    } else {
                        visible.prev().unwrap();
                        before.checked_sub(1)
                    };
                }
            }
            place = place.filter(|&place| place < seen.len());
            let shown = visible.entry().map(|entry| (entry.key.to_vec(), (entry.kind, entry.value.to_vec())));
            prop_assert_eq!(shown, place.map(|place| seen[place].clone()), "after {:?}", step);
            let expected = place.map(|place| seen[place].1.1.clone());
            prop_assert_eq!(visible.value_slice().map(|value| value.to_vec()), expected);
            prop_assert_eq!(visible.key().map(<[u8]>::to_vec), place.map(|place| seen[place].0.clone()));
        }
    }

    #[test]
    fn after_an_error_every_move_fails_and_nothing_is_shown(
        operations in steps(60),
        good in 0..40_usize,
        forward: bool,
    ) {
        let history = History::of(&operations, 1);
        let cursor = EntrySource::Any(history.failing_cursor(good));
        let mut visible = VisibleCursor::new(cursor, Vec::new(), SEQUENCE_MAX, 0);
        let mut moved = if forward { visible.first() } else { visible.last() };
        while moved.is_ok() && visible.entry().is_some() {
            moved = if forward { visible.next() } else { visible.prev() };
        }
        if moved.is_err() {
            for _ in 0..3 {
                prop_assert!(visible.entry().is_none() && visible.value_slice().is_none());
                prop_assert!(visible.next().is_err() && visible.prev().is_err());
                prop_assert!(visible.first().is_err() && visible.seek(b"a").is_err() && visible.last().is_err());
            }
        }
    }
}

/// A thousand versions of a key, with readers between them: long runs are skipped on both sides.
#[test]
fn long_runs_of_versions_are_passed_in_both_directions() {
    let put = |key: &[u8], value: u32| TestOperation::Put(key.to_vec(), ValueKind::Value, value.to_be_bytes().to_vec());
    let mut operations = vec![put(b"a", 0), put(b"c", 0)];
    operations.extend((0..1000).map(|i| put(b"b", i)));
    operations.extend([put(b"a", 1), put(b"c", 1)]);
    let history = History::of(&operations, 1);
    for at in (0..1004).step_by(7) {
        let mut visible = visible(&history, at, 0);
        let expected: Vec<_> = history.seen(at).into_keys().collect();
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        visible.first().unwrap();
        while let Some(key) = visible.key() {
            forward.push(key.to_vec());
            visible.next().unwrap();
        }
        visible.last().unwrap();
        while let Some(key) = visible.key() {
            backward.push(key.to_vec());
            visible.prev().unwrap();
        }
        backward.reverse();
        assert_eq!((&forward, &backward), (&expected, &expected), "at {at}");
    }
}
