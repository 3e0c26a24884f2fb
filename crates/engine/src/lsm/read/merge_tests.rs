//! Tests of the merging cursor against a sorted list of all entries.

use super::merge::MergeCursor;
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{Entry, SEQUENCE_MAX, Sequence, ValueKind};
use proptest::prelude::*;
use std::cmp::Reverse;

/// An entry: key, sequence number, source.
type EntryKey = (Vec<u8>, Reverse<Sequence>, usize);

/// A cursor over a list, which may fail after some moves.
#[derive(Debug)]
struct SourceCursor {
    entries: Vec<EntryKey>,
    at: Option<usize>,
    moves_left: Option<u32>,
}

impl SourceCursor {
    fn stand(&mut self, at: Option<usize>) -> Result<()> {
        self.at = at.filter(|&at| at < self.entries.len());
        if let Some(left) = &mut self.moves_left {
            if *left == 0 {
                self.at = None;
                return Err(Error::input("broken"));
            }
            *left -= 1;
        }
        Ok(())
    }
}

impl EntryCursor for SourceCursor {
    fn entry(&self) -> Option<Entry<'_>> {
        let (key, sequence, source) = &self.entries[self.at?];
        Some(Entry { key, sequence: sequence.0, kind: ValueKind::Value, value: &SOURCES[*source..=*source] })
    }

    fn value_slice(&self) -> Option<Slice> {
        self.entry().map(|entry| Slice::from(entry.value))
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        let at = self.entries.partition_point(|place| (&place.0[..], place.1) < (key, Reverse(sequence)));
        self.stand(Some(at))
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        let behind = self.entries.partition_point(|place| &place.0[..] < key);
        self.stand(behind.checked_sub(1))
    }

    fn first(&mut self) -> Result<()> {
        self.stand(Some(0))
    }

    fn last(&mut self) -> Result<()> {
        self.stand(self.entries.len().checked_sub(1))
    }

    fn next(&mut self) -> Result<()> {
        self.stand(self.at.map(|at| at + 1))
    }

    fn prev(&mut self) -> Result<()> {
        self.stand(self.at.and_then(|at| at.checked_sub(1)))
    }
}

const SOURCES: [u8; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(0..3_u8, 0..3),
        Just(b"longer than 8".to_vec()),
        Just(b"longer than 9".to_vec())
    ]
}

fn sources() -> impl Strategy<Value = Vec<Vec<EntryKey>>> {
    let list = proptest::collection::btree_set((key(), 1..6_u64), 0..12);
    proptest::collection::vec(list, 0..7).prop_map(|lists| {
        let lists = lists.into_iter().enumerate();
        lists
            .map(|(source, list)| {
                let mut entries: Vec<EntryKey> = list.into_iter().map(|(key, s)| (key, Reverse(s), source)).collect();
                entries.sort();
                entries
            })
            .collect()
    })
}

fn merged(sources: &[Vec<EntryKey>], failing: Option<(usize, u32)>) -> MergeCursor {
    let cursor = |(source, entries): (usize, &Vec<EntryKey>)| {
        let moves_left = failing.filter(|(failing, _)| *failing == source).map(|(_, moves)| moves);
        Box::new(SourceCursor { entries: entries.clone(), at: None, moves_left }) as Box<dyn EntryCursor>
    };
    MergeCursor::new(sources.iter().enumerate().map(cursor).collect())
}

fn shown(cursor: &MergeCursor) -> Option<EntryKey> {
    let entry = cursor.entry()?;
    assert_eq!(cursor.value_slice().unwrap(), entry.value);
    assert_eq!(cursor.source(), Some(entry.value[0] as usize));
    Some((entry.key.to_vec(), Reverse(entry.sequence), entry.value[0] as usize))
}

/// A move by its number.
fn step(cursor: &mut dyn EntryCursor, step: u8, key: &[u8], sequence: Sequence) -> Result<()> {
    match step {
        0 => cursor.seek(key, sequence),
        1 => cursor.seek_before(key),
        2 => cursor.first(),
        3 => cursor.last(),
        step if step % 2 == 0 => cursor.next(),
        _ => cursor.prev(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn merged_sources_are_one_in_both_directions(
        sources in sources(),
        steps in proptest::collection::vec((0..12_u8, key(), 0..7_u64), 40),
    ) {
        let mut all: Vec<EntryKey> = sources.concat();
        all.sort();
        let mut cursor = merged(&sources, None);
        let mut expected = SourceCursor { entries: all, at: None, moves_left: None };
        for (number, key, sequence) in steps {
            step(&mut cursor, number, &key, sequence).unwrap();
            step(&mut expected, number, &key, sequence).unwrap();
            prop_assert_eq!(shown(&cursor), expected.at.map(|at| expected.entries[at].clone()));
        }
    }

    #[test]
    fn after_an_error_nothing_is_shown_and_every_move_fails(
        sources in sources(),
        failing in (0..7_usize, 0..20_u32),
        steps in proptest::collection::vec((0..12_u8, key(), 0..7_u64), 60),
    ) {
        let mut cursor = merged(&sources, Some(failing));
        let mut has_failed = false;
        for (number, key, sequence) in steps {
            let moved = step(&mut cursor, number, &key, sequence);
            prop_assert!(!has_failed || moved.is_err());
            has_failed |= moved.is_err();
            prop_assert!(!has_failed || cursor.entry().is_none());
        }
    }
}

#[test]
fn no_sources_have_no_entries() {
    let mut cursor = MergeCursor::new(Vec::new());
    cursor.first().unwrap();
    assert_eq!(cursor.entry(), None);
    cursor.next().unwrap();
    cursor.seek(b"a", SEQUENCE_MAX).unwrap();
    cursor.prev().unwrap();
    assert_eq!(cursor.entry(), None);
}
