//! Tests of the memtable against a sorted map, with one thread and with many.

use super::handle::Memtable;
use crate::io::Timer;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{
    Action, Entry, GROUP_HEAD_BYTES, SEQUENCE_MAX, Sequence, ValueKind, decode_group, encode_operation,
};
use ogive_testkit::Random;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

pub(super) type Put = (ValueKind, Vec<u8>, Vec<u8>);
type MemtableModel = BTreeMap<(Vec<u8>, Reverse<Sequence>), (ValueKind, Vec<u8>)>;

/// Inserts a group that begins with sequence number `first`.
pub(super) fn add(memtable: &Memtable, first: Sequence, puts: &[Put]) {
    let mut group = first.to_le_bytes().to_vec();
    for (kind, key, value) in puts {
        encode_operation(&mut group, Action::Put(*kind), 3, key, value);
    }
    let operations = decode_group(&group).unwrap();
    assert!(memtable.add(&Arc::new(group), &operations));
}

fn model(groups: &[Vec<Put>]) -> MemtableModel {
    let puts = groups.iter().flatten().zip(1..);
    puts.map(|((kind, key, value), sequence)| {
        let value = if *kind == ValueKind::Remove { Vec::new() } else { value.clone() };
        ((key.clone(), Reverse(sequence)), (*kind, value))
    })
    .collect()
}

fn filled(groups: &[Vec<Put>]) -> Arc<Memtable> {
    let memtable = Arc::new(Memtable::new());
    let mut sequence = 1;
    for group in groups {
        add(&memtable, sequence, group);
        sequence += group.len() as u64;
    }
    memtable
}

/// An entry: key, sequence number, kind and value.
type Owned = ((Vec<u8>, Reverse<Sequence>), (ValueKind, Vec<u8>));

pub(super) fn owned(entry: Option<Entry<'_>>) -> Option<Owned> {
    entry.map(|entry| ((entry.key.to_vec(), Reverse(entry.sequence)), (entry.kind, entry.value.to_vec())))
}

fn put() -> impl Strategy<Value = Put> {
    let key = prop_oneof![
        proptest::collection::vec(0..3_u8, 0..5),
        proptest::collection::vec(0..2_u8, 7..20),
        any::<[u8; 2]>().prop_map(|tail| [b"a common prefix ", &tail[..]].concat()),
    ];
    let kind =
        prop_oneof![Just(ValueKind::Remove), Just(ValueKind::Value), Just(ValueKind::Value), Just(ValueKind::Pointer)];
    (kind, key, proptest::collection::vec(any::<u8>(), 0..300))
}

fn groups() -> impl Strategy<Value = Vec<Vec<Put>>> {
    proptest::collection::vec(proptest::collection::vec(put(), 0..30), 1..12)
}

proptest! {
    #[test]
    fn each_key_has_the_newest_value_that_a_reader_may_see(groups in groups(), extra in put(), at in 0..200_u64) {
        let (memtable, model) = (filled(&groups), model(&groups));
        prop_assert_eq!(memtable.len(), model.len());
        for (_, key, _) in groups.iter().flatten().chain([&extra]) {
            for at in [at, SEQUENCE_MAX] {
                let expected = model.range((key.clone(), Reverse(at))..).next().filter(|((found, _), _)| found == key);
                let expected_entry = expected.map(|(key, value)| (key.clone(), value.clone()));
                prop_assert_eq!(owned(memtable.get(key, at)), expected_entry);
                let slice = memtable.get_slice(key, at);
                let slice = slice.map(|(kind, sequence, value)| (sequence, (kind, value.to_vec())));
                prop_assert_eq!(slice, expected.map(|((_, sequence), value)| (sequence.0, value.clone())));
            }
        }
    }

    #[test]
    fn a_cursor_goes_through_all_entries_in_both_directions(
        groups in groups(),
        steps in proptest::collection::vec((0..8_u8, put(), 0..200_u64), 40),
    ) {
        let (memtable, model) = (filled(&groups), model(&groups));
        let mut cursor = memtable.cursor();
        let mut place = None;
        for (step, (_, key, _), sequence) in steps {
            match step {
                0 => cursor.seek(&key, sequence).unwrap(),
                1 => cursor.seek_before(&key).unwrap(),
                2 => cursor.first().unwrap(),
                3 => cursor.last().unwrap(),
                4 | 5 => cursor.next().unwrap(),
                _ => cursor.prev().unwrap(),
            }
            place = match (step, place) {
                (0, _) => model.range((key, Reverse(sequence))..).next(),
                (1, _) => model.range(..(key, Reverse(SEQUENCE_MAX))).next_back(),
                (2, _) => model.iter().next(),
                (3, _) => model.iter().next_back(),
                (4 | 5, Some((at, _))) => model.range(at..).nth(1),
                (_, Some((at, _))) => model.range(..at).next_back(),
                (_, None) => None,
            };
            let expected: Option<Owned> = place.map(|(key, value)| (key.clone(), value.clone()));
            prop_assert_eq!(owned(cursor.entry()), expected.clone());
            prop_assert_eq!(cursor.value_slice().map(|value| value.to_vec()), expected.map(|(_, (_, value))| value));
        }
    }
}

#[test]
fn many_entries_in_any_order_come_back_in_order() {
    let orders: [fn(u64) -> u64; 4] = [
        |i| i,
        |i| u64::MAX - i,
        |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        |i| if i % 2 == 0 { i } else { u64::MAX - i },
    ];
    for (order, group_keys) in orders.into_iter().flat_map(|order| [(order, 1), (order, 7), (order, 500)]) {
        let memtable = Arc::new(Memtable::new());
        let mut expected: Vec<(u64, u64)> = (0..20_000).map(|i| (order(i), i + 1)).collect();
        for group in expected.chunks(group_keys) {
            let puts: Vec<Put> =
                group.iter().map(|(key, _)| (ValueKind::Value, key.to_be_bytes().to_vec(), b"v".to_vec())).collect();
            add(&memtable, group[0].1, &puts);
        }
        expected.sort_unstable();
        let mut cursor = memtable.cursor();
        cursor.first().unwrap();
        for (key, sequence) in expected {
            let entry = cursor.entry().unwrap();
            assert_eq!((entry.key, entry.sequence), (&key.to_be_bytes()[..], sequence));
            cursor.next().unwrap();
        }
        assert_eq!(cursor.entry(), None);
    }
}

#[test]
fn the_least_and_greatest_keys_are_ordinary() {
    let memtable = Arc::new(Memtable::new());
    let keys: [&[u8]; 7] = [&[], &[0], &[0; 8], &[0; 9], &[0xff; 8], &[0xff; 9], &[0xff; 65_536]];
    for (sequence, key) in (1..).zip(keys.iter().rev()) {
        assert_eq!(memtable.get(key, SEQUENCE_MAX), None);
        add(&memtable, sequence, &[(ValueKind::Value, key.to_vec(), key.to_vec())]);
    }
    let mut cursor = memtable.cursor();
    cursor.first().unwrap();
    for key in keys {
        assert_eq!(memtable.get(key, SEQUENCE_MAX).unwrap().value, key);
        assert_eq!(cursor.entry().unwrap().key, key);
        cursor.next().unwrap();
    }
    cursor.last().unwrap();
    for key in keys.iter().rev() {
        assert_eq!(cursor.entry().unwrap().key, *key);
        cursor.prev().unwrap();
    }
    cursor.seek_before(&[]).unwrap();
    assert_eq!(cursor.entry(), None);
}

#[test]
fn a_memtable_that_follows_another_takes_keys_of_any_prefix() {
    let older = filled(&[(0..50).map(|i| (ValueKind::Value, format!("user{i:020}").into_bytes(), vec![])).collect()]);
    assert_eq!(older.list().unwrap().1.key_prefixes.common(), b"user0000000000000000");
    let memtable = Memtable::after(&older);
    let keys =
        ["", "u", "user", "user000000000000000000", "user00000000000000000017", "uses", "v", "user0000000000000000001"];
    for (sequence, key) in (1..).zip(keys) {
        add(&memtable, sequence, &[(ValueKind::Value, key.into(), key.into())]);
    }
    assert_eq!(memtable.list().unwrap().1.key_prefixes.common(), b"user0000000000000000");
    let mut sorted = keys;
    sorted.sort_unstable();
    let memtable = Arc::new(memtable);
    let mut cursor = memtable.cursor();
    cursor.first().unwrap();
    for key in sorted {
        assert_eq!(memtable.get(key.as_bytes(), SEQUENCE_MAX).unwrap().value, key.as_bytes());
        assert_eq!(cursor.entry().unwrap().key, key.as_bytes());
        cursor.next().unwrap();
    }
    let last = Memtable::after(&Memtable::after(&Memtable::new()));
    add(&last, 1, &[(ValueKind::Value, b"any".to_vec(), vec![])]);
    assert!(last.list().unwrap().1.key_prefixes.common().is_empty());
}

#[test]
fn a_memtable_finds_the_common_prefix_of_keys_that_come_one_by_one() {
    let keys: Vec<Vec<u8>> = (0..100_u64).map(|i| [&[0; 8][..], &(i * 71 % 100).to_be_bytes()].concat()).collect();
    let memtable = Arc::new(Memtable::new());
    let mut cursor = memtable.cursor();
    for (sequence, key) in (1..).zip(&keys) {
        add(&memtable, sequence, &[(ValueKind::Value, key.clone(), key.clone())]);
        // The cursor stands in the first list when the second one replaces it, and walks on in that.
        if sequence == 10 {
            cursor.first().unwrap();
        }
    }
    assert_eq!(memtable.list().unwrap().1.key_prefixes.common(), [0; 12]);
    let mut sorted = keys.clone();
    sorted.sort();
    for key in &sorted {
        assert_eq!(cursor.entry().unwrap().value, key);
        assert_eq!(memtable.get(key, SEQUENCE_MAX).unwrap().value, key);
        cursor.next().unwrap();
    }
    assert_eq!(cursor.entry(), None);
    assert_eq!(memtable.len(), keys.len());
}

#[test]
fn range_tombstones_are_kept_apart_from_entries() {
    let memtable = Arc::new(Memtable::new());
    assert!(memtable.is_empty());
    let mut group = 1_u64.to_le_bytes().to_vec();
    encode_operation(&mut group, Action::Put(ValueKind::Value), 0, b"b", b"1");
    encode_operation(&mut group, Action::RemoveRange, 0, b"a", b"c");
    encode_operation(&mut group, Action::Put(ValueKind::Value), 0, b"b", b"2");
    let operations = decode_group(&group).unwrap();
    let before = memtable.memory_bytes();
    let kept = memtable.tombstones();
    assert!(memtable.add(&Arc::new(group), &operations));
    assert!(memtable.memory_bytes() > before);
    assert_eq!((memtable.len(), kept.len(), memtable.tombstones().len()), (2, 0, 1));
    assert_eq!(memtable.get(b"b", 2).unwrap().value, b"1");
    assert_eq!((memtable.covering(b"b", 1), memtable.covering(b"b", 2), memtable.covering(b"c", 3)), (0, 2, 0));
    let alone = Memtable::new();
    assert!(alone.add(
        &Arc::new(b"\x01\0\0\0\0\0\0\0\x03\0\x01a\x01b".to_vec()),
        &operations_of(b"\x01\0\0\0\0\0\0\0\x03\0\x01a\x01b")
    ));
    assert!(!alone.is_empty());
    assert_eq!((alone.len(), alone.get(b"a", SEQUENCE_MAX)), (0, None));
}

fn operations_of(group: &[u8]) -> Vec<crate::lsm::state::entry::Operation> {
    decode_group(group).unwrap()
}

/// A store has a memtable for each keyspace.
#[test]
fn a_memtable_without_entries_takes_little_memory() {
    let memtable = Memtable::new();
    assert!(memtable.memory_bytes() < 1_000, "{} bytes", memtable.memory_bytes());
    add(&memtable, 1, &[]);
    assert!(memtable.memory_bytes() < 1_000, "{} bytes", memtable.memory_bytes());
    add(&memtable, 1, &[(ValueKind::Value, vec![1], vec![2])]);
    assert!((5_000..20_000).contains(&memtable.memory_bytes()), "{} bytes", memtable.memory_bytes());
}

#[test]
fn memtables_that_share_a_buffer_share_what_it_counts_for() {
    let mut group = 1_u64.to_le_bytes().to_vec();
    for keyspace in [1, 1, 2, 1, 2] {
        encode_operation(&mut group, Action::Put(ValueKind::Value), keyspace, b"a key", &[7; 20_000]);
    }
    group.shrink_to_fit();
    let operations = operations_of(&group);
    let (one, two) = (Memtable::new(), Memtable::new());
    let bytes = Arc::new(group);
    let of =
        |keyspace| operations.iter().filter(|operation| operation.keyspace == keyspace).cloned().collect::<Vec<_>>();
    assert!(one.add(&bytes, &of(1)) && two.add(&bytes, &of(2)));
    let fixed = 2 * Memtable::new().memory_bytes();
    let (first, second) = (one.memory_bytes(), two.memory_bytes());
    assert!((60_000..80_000).contains(&first) && (40_000..60_000).contains(&second), "{first} and {second}");
    assert!(first + second - fixed < bytes.len() as u64 + 35_000, "{first} and {second}");
}

#[test]
#[ignore = "long: 1 minutes"]
fn the_time_of_inserts_and_gets_is_told() {
    for (name, group_keys) in [("one by one", 1), ("in groups of 32", 32), ("in groups of 1,000", 1_000)] {
        let memtable = Arc::new(Memtable::new());
        let mut random = Random::new(5);
        let mut keys = Vec::new();
        let mut groups = Vec::new();
        while keys.len() < 500_000 {
            let mut group = (keys.len() as u64 + 1).to_le_bytes().to_vec();
            for _ in 0..group_keys {
                let key = [random.next_u64().to_be_bytes(), random.next_u64().to_be_bytes()].concat();
                encode_operation(&mut group, Action::Put(ValueKind::Value), 0, &key, &[7; 64]);
                keys.push(key);
            }
            let operations = decode_group(&group).unwrap();
            groups.push((Arc::new(group), operations));
        }
        let start = Timer::start();
        for (group, operations) in &groups {
            assert!(memtable.add(group, operations));
        }
        let inserted_us = start.elapsed_us();
        let start = Timer::start();
        let mut found = 0;
        for _ in 0..500_000 {
            let key = &keys[random.below(keys.len() as u64) as usize];
            found += memtable.get(key, SEQUENCE_MAX).map_or(0, |entry| entry.value.len());
        }
        let got_us = start.elapsed_us();
        let bytes: usize = groups.iter().map(|(group, _)| group.len() - GROUP_HEAD_BYTES).sum();
        let mut cursor = memtable.cursor();
        let start = Timer::start();
        cursor.first().unwrap();
        while cursor.entry().is_some() {
            cursor.next().unwrap();
        }
        let each = |time_us: f64| time_us / 500.0;
        let _ = writeln!(
            std::io::stderr(),
            "{name}: insert {:.0} ns, get {:.0} ns, step {:.0} ns; {bytes} bytes of operations take {} ({found})",
            each(inserted_us),
            each(got_us),
            each(start.elapsed_us()),
            memtable.memory_bytes()
        );
    }
}
