//! Repeated keys: an index keeps all entries of a key, and removes them one by one or at once.
//!
//! Generated changes are applied to an index and to a map of lists; keys repeat over one page and over many.

use super::support::{NAME, Numbers, memory, open, options};
use crate::Random;
use ogive::index::{IndexKind, IndexOptions};
use std::collections::BTreeMap;

/// Payloads by key, in any order.
type Lists = BTreeMap<u64, Vec<u64>>;

fn with_duplicates(kind: IndexKind) -> IndexOptions {
    options(kind).duplicates(true)
}

#[track_caller]
fn assert_same(index: &Numbers, lists: &Lists, what: &str) {
    let count: usize = lists.values().map(Vec::len).sum();
    assert_eq!(index.len().unwrap(), count as u64, "{what}");
    assert_eq!(index.verify().unwrap().entries, count as u64, "{what}");
    let sorted = |mut entries: Vec<(u64, u64)>| {
        assert!(entries.is_sorted_by_key(|entry| entry.0), "{what}");
        entries.sort_unstable();
        entries
    };
    let expected: Vec<(u64, u64)> =
        sorted(lists.iter().flat_map(|(&key, values)| values.iter().map(move |&value| (key, value))).collect());
    assert!(sorted(index.iter().unwrap().map(Result::unwrap).collect()) == expected, "{what}: forward");
    let mut backward: Vec<(u64, u64)> = index.iter().unwrap().rev().map(Result::unwrap).collect();
    backward.reverse();
    assert!(sorted(backward) == expected, "{what}: backward");
    for (&key, values) in lists {
        let mut found = index.get_all(key).unwrap();
        assert_eq!(found.first().copied(), index.get(key).unwrap(), "{what}: the first of {key}");
        found.sort_unstable();
        let mut values = values.clone();
        values.sort_unstable();
        assert_eq!(found, values, "{what}: all of {key}");
    }
}

/// Inserts and removes repeated keys in an index and in a map of lists.
pub fn repeated_keys_match_a_map_of_lists(kind: IndexKind) {
    let storage = memory();
    let mut index = Numbers::create((storage.clone(), NAME), &with_duplicates(kind)).unwrap();
    let mut random = Random::new(1);
    let mut lists = Lists::new();
    let mut entries = Vec::new();
    for key in 0..60_u64 {
        let copies = [1, 2, 30, 200][random.below(4) as usize];
        for _ in 0..copies {
            let value = random.next_u64();
            lists.entry(key * 10).or_default().push(value);
            entries.push((key * 10, value));
        }
    }
    index.bulk_load(entries).unwrap();
    assert_same(&index, &lists, kind.name());
    for round in 0..40 {
        let mut transaction = index.write().unwrap();
        for _ in 0..30 {
            let key = random.below(60) * 10 + random.below(2) * 5;
            match random.below(if round < 20 { 12 } else { 5 }) {
                0 => {
                    let removed = transaction.remove_all(key).unwrap();
                    assert_eq!(removed as usize, lists.remove(&key).unwrap_or_default().len(), "{kind}");
                }
                1 | 2 => {
                    let before = transaction.get_all(key).unwrap();
                    let removed = transaction.remove(key).unwrap();
                    assert_eq!(removed, !before.is_empty(), "{kind}: {key}");
                    let after = transaction.get_all(key).unwrap();
                    assert_eq!(before.len(), after.len() + usize::from(removed), "{kind}: {key}");
                    if after.is_empty() { _ = lists.remove(&key) } else { _ = lists.insert(key, after) }
                }
                _ => {
                    let value = random.next_u64();
                    assert!(transaction.insert(key, value).unwrap(), "{kind}");
                    lists.entry(key).or_default().push(value);
                }
            }
        }
        transaction.commit().unwrap();
        if round % 10 == 7 {
            drop(index);
            index = open(&storage).unwrap();
        }
        if round % 5 == 0 {
            assert_same(&index, &lists, kind.name());
        }
    }
    assert_same(&index, &lists, kind.name());
}

/// Reads the entries of one key from both ends.
pub fn both_ends_of_a_range_meet_within_one_key(kind: IndexKind) {
    let index = Numbers::create((memory(), NAME), &with_duplicates(kind)).unwrap();
    index.bulk_load((0..1000).map(|value| (7, value))).unwrap();
    let mut random = Random::new(2);
    let mut range = index.iter().unwrap();
    let mut values = Vec::new();
    while let Some(entry) = if random.one_in(2) { range.next() } else { range.next_back() } {
        values.push(entry.unwrap().1);
    }
    values.sort_unstable();
    assert_eq!(values, (0..1000).collect::<Vec<u64>>(), "{kind}");
}

/// Inserts 20,000 entries of one key.
pub fn one_key_may_have_any_number_of_entries(kind: IndexKind) {
    let index = Numbers::create((memory(), NAME), &with_duplicates(kind)).unwrap();
    let mut transaction = index.write().unwrap();
    for value in 0..20_000 {
        transaction.insert(u64::MAX, value).unwrap();
        if value % 100 == 0 {
            transaction.insert(value, value).unwrap();
        }
    }
    transaction.commit().unwrap();
    assert_eq!(index.get_all(u64::MAX).unwrap().len(), 20_000, "{kind}");
    index.verify().unwrap();
    let mut transaction = index.write().unwrap();
    assert_eq!(transaction.remove_all(u64::MAX).unwrap(), 20_000, "{kind}");
    transaction.commit().unwrap();
    assert_eq!(index.len().unwrap(), 200, "{kind}");
    index.verify().unwrap();
}
