//! Reference model: an index gives the answers of a `BTreeMap`, for all key sets, in committed and aborted
//! transactions, and after reopening.
//!
//! The same generated changes are applied to an index and to a map, on key sets that have broken learned indexes.

use super::support::{
    IndexChange, Map, NAME, assert_same, assert_same_at, empty, memory, nasty, open, open_in, options,
};
use crate::Random;
use ogive::index::{Index, IndexKind, IndexOptions, Key, Payload};
use ogive::{Cause, Error};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Some keys of a set, including the first and the last.
fn probes(random: &mut Random, keys: &[u64]) -> Vec<u64> {
    let some = (0..10).filter_map(|_| keys.get(random.below(keys.len() as u64) as usize).copied());
    [0, u64::MAX].into_iter().chain(keys.first().copied()).chain(keys.last().copied()).chain(some).collect()
}

/// Bulk-loads every other key, then changes the index in many transactions, some of which abort.
fn follow(kind: IndexKind, name: &str, keys: &[u64], transactions: u64, reopen: bool) {
    let (storage, mut index) = empty(kind);
    let what = format!("{kind} on {name}");
    let mut map: Map = keys.iter().step_by(2).map(|&key| (key, key ^ 1)).collect();
    assert_eq!(index.bulk_load(map.clone()).unwrap(), map.len() as u64, "{what}");
    assert_same(&index, &map, &what);
    let mut random = Random::new(keys.len() as u64);
    for round in 0..transactions {
        let growing = round < transactions / 2;
        let mut transaction = index.write().unwrap();
        let mut changed = map.clone();
        for _ in 0..1 + random.below(40) {
            let change = IndexChange::random(&mut random, keys, growing);
            let (found, expected) = (change.in_index(&mut transaction).unwrap(), change.in_map(&mut changed));
            assert_eq!(found, expected, "{what}: {change:?}");
        }
        assert_eq!(transaction.len(), changed.len() as u64, "{what}");
        let own: Vec<u64> = transaction.range(..).take(50).map(|entry| entry.unwrap().0).collect();
        assert_eq!(own, changed.keys().take(50).copied().collect::<Vec<_>>(), "{what}: its own changes");
        if random.one_in(4) {
            transaction.abort();
        } else {
            transaction.commit().unwrap();
            map = changed;
        }
        if reopen && random.one_in(8) {
            drop(index);
            // With no memory for pages, with little, with plenty.
            index = open_in(&storage, [0, 5000, 64 << 20, 4 << 30][random.below(4) as usize]).unwrap();
        }
        if random.one_in(5) {
            assert_same(&index, &map, &what);
        }
        assert_same_at(&index, &map, &probes(&mut random, keys), &what);
    }
    assert_same(&index, &map, &what);
}

/// Compares an index with a map on key sets that have broken learned indexes.
pub fn follow_nasty_keys(kind: IndexKind) {
    for (name, keys) in nasty(400) {
        follow(kind, name, &keys, 12, true);
    }
}

/// Compares an index with a map on large key sets: takes minutes.
pub fn follow_many_nasty_keys(kind: IndexKind) {
    for (name, keys) in nasty(20_000) {
        follow(kind, name, &keys, 400, true);
    }
}

/// Fills and empties an index several times.
pub fn an_emptied_index_can_be_refilled(kind: IndexKind) {
    let (_, index) = empty(kind);
    let map: Map = (0..2000).map(|i| (i * 7, i)).collect();
    for round in 0..3 {
        assert_eq!(index.bulk_load(map.clone()).unwrap(), 2000, "{kind}, round {round}");
        assert!(matches!(index.bulk_load(map.clone()), Err(Error { cause: Cause::NotEmpty, .. })), "{kind}");
        assert_same(&index, &map, kind.name());
        let mut transaction = index.write().unwrap();
        for (&key, _) in map.iter().rev() {
            assert!(transaction.remove(key).unwrap(), "{kind}: {key}");
            assert!(!transaction.remove(key).unwrap(), "{kind}: {key}");
        }
        transaction.commit().unwrap();
        assert_same(&index, &Map::new(), kind.name());
    }
}

/// Fails bulk loads: keys out of order, repeated keys, a failing source, an interrupting observer.
pub fn failed_bulk_loads_change_nothing(kind: IndexKind) {
    let (_, index) = empty(kind);
    let mut entries: Vec<(u64, u64)> = (0..1000).map(|i| (i, i)).collect();
    entries[700] = (3, 3);
    match index.bulk_load(entries.clone()) {
        Err(Error { cause: Cause::Unsorted { record: 700 }, .. }) => {}
        other => panic!("{kind}: {other:?}"),
    }
    entries[700] = (699, 3);
    match index.bulk_load(entries) {
        Err(Error { cause: Cause::Repeated { record: 700 }, .. }) => {}
        other => panic!("{kind}: {other:?}"),
    }
    assert_same(&index, &Map::new(), kind.name());
    let source = (0..1000).map(|i| if i < 500 { Ok((i, i)) } else { Err(Error::interrupted()) });
    assert!(
        matches!(index.try_bulk_load(source, &mut |_| Ok(())), Err(Error { cause: Cause::Interrupted, .. })),
        "{kind}"
    );
    let mut reported = Vec::new();
    let mut observer = |count| {
        reported.push(count);
        if count > 5000 { Err(Error::interrupted()) } else { Ok(()) }
    };
    let source = (0..100_000).map(|i| Ok((i, i)));
    assert!(
        matches!(index.try_bulk_load(source, &mut observer), Err(Error { cause: Cause::Interrupted, .. })),
        "{kind}"
    );
    assert!(reported.len() > 2 && reported.is_sorted(), "{kind}: {reported:?}");
    assert_same(&index, &Map::new(), kind.name());
    assert_eq!(index.bulk_load((0..1000).map(|i| (i, i))).unwrap(), 1000, "{kind}");
}

/// Inserts and finds keys of one type.
fn assert_round_trip<K: Key, V: Payload + PartialEq + Copy>(kind: IndexKind, keys: &[K], value: impl Fn(usize) -> V) {
    let storage = memory();
    let index: Index<K, V> = Index::create((storage.clone(), NAME), &options(kind)).unwrap();
    let mut map = BTreeMap::new();
    let mut transaction = index.write().unwrap();
    for (position, &key) in keys.iter().enumerate() {
        transaction.insert(key, value(position)).unwrap();
        map.insert(key, value(position));
    }
    transaction.commit().unwrap();
    drop(index);
    let index: Index<K, V> = Index::open((storage.clone(), NAME), &IndexOptions::default()).unwrap();
    let found: Vec<(K, V)> = index.iter().unwrap().map(Result::unwrap).collect();
    assert_eq!(found, map.iter().map(|(&key, &value)| (key, value)).collect::<Vec<_>>(), "{kind}");
    for (&key, &value) in &map {
        assert_eq!(index.get(key).unwrap(), Some(value), "{kind}: {key:?}");
        let below = index.range(..key).unwrap().next_back().transpose().unwrap().map(|entry| entry.0);
        assert_eq!(below, map.range(..key).next_back().map(|entry| *entry.0), "{kind}: below {key:?}");
    }
    index.verify().unwrap();
}

/// Inserts and finds keys and payloads of every type.
pub fn all_key_and_payload_types_round_trip(kind: IndexKind) {
    let mut random = Random::new(5);
    let wide: Vec<u128> = (0..600)
        .map(|i| (u128::from(random.next_u64()) << (64 - i % 40)) | u128::from(random.next_u64() >> (i % 60)))
        .collect();
    assert_round_trip::<u128, u64>(kind, &wide, |i| i as u64);
    assert_round_trip::<i128, u128>(kind, &wide.iter().map(|&key| key as i128).collect::<Vec<_>>(), |i| i as u128);
    assert_round_trip::<u64, ()>(kind, &wide.iter().map(|&key| key as u64).collect::<Vec<_>>(), |_| ());
    assert_round_trip::<i64, [u8; 3]>(kind, &wide.iter().map(|&key| key as i64).collect::<Vec<_>>(), |i| [i as u8; 3]);
    assert_round_trip::<u32, u32>(kind, &wide.iter().map(|&key| key as u32).collect::<Vec<_>>(), |i| i as u32);
    assert_round_trip::<[u8; 8], [u8; 32]>(
        kind,
        &wide.iter().map(|&key| (key as u64).to_be_bytes()).collect::<Vec<_>>(),
        |i| [i as u8; 32],
    );
    assert_round_trip::<[u8; 16], u64>(kind, &wide.iter().map(|key| key.to_be_bytes()).collect::<Vec<_>>(), |i| {
        i as u64
    });
}

/// Reads ranges from both ends, in any order.
pub fn both_ends_of_a_range_meet(kind: IndexKind) {
    let (_, index) = empty(kind);
    let map: Map = (0..500).map(|i| (i * 3, i)).collect();
    index.bulk_load(map.clone()).unwrap();
    let mut random = Random::new(6);
    for round in 0..40 {
        let (from, to) = (random.below(1600), random.below(1600));
        let bounds = match round % 3 {
            0 => (Bound::Included(from), Bound::Excluded(to)),
            1 => (Bound::Excluded(from), Bound::Included(to)),
            _ => (Bound::Unbounded, Bound::Unbounded),
        };
        let inside = |key: &u64| std::ops::RangeBounds::contains(&bounds, key);
        let mut expected: std::collections::VecDeque<u64> = map.keys().copied().filter(inside).collect();
        let mut range = index.range(bounds).unwrap();
        loop {
            let forward = random.one_in(2);
            let (found, wanted) = match forward {
                true => (range.next(), expected.pop_front()),
                false => (range.next_back(), expected.pop_back()),
            };
            assert_eq!(found.map(|entry| entry.unwrap().0), wanted, "{kind}: {bounds:?}");
            if wanted.is_none() {
                assert!(range.next().is_none() && range.next_back().is_none(), "{kind}: it stays at the end");
                break;
            }
        }
    }
}

/// Reads an index whose structure does not exist yet.
pub fn an_unwritten_index_is_empty(kind: IndexKind) {
    let (storage, index) = empty(kind);
    assert_same(&index, &Map::new(), kind.name());
    assert!(index.explain(5).unwrap().is_empty(), "{kind}");
    index.write().unwrap().commit().unwrap();
    let mut transaction = index.write().unwrap();
    assert!(!transaction.remove(5).unwrap(), "{kind}");
    transaction.commit().unwrap();
    drop(index);
    assert_same(&open(&storage).unwrap(), &Map::new(), kind.name());
}

/// Compares `explain` and `statistics` with the entries.
pub fn explain_and_statistics_match_the_entries(kind: IndexKind) {
    let (_, index) = empty(kind);
    index.bulk_load((0..3000).map(|i| (i * 5, i))).unwrap();
    let path = index.explain(5000).unwrap();
    assert!(!path.is_empty() && path.iter().all(|visit| !visit.node.is_empty()), "{kind}: {path:?}");
    let statistics = index.statistics().unwrap();
    assert_eq!(statistics.entries, 3000, "{kind}");
    assert!(statistics.height >= 1 && statistics.leaves >= 1, "{kind}: {statistics:?}");
    assert!(statistics.mean_height <= f64::from(statistics.height), "{kind}: {statistics:?}");
}
