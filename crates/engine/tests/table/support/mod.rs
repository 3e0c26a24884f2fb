//! Test records, and the comparison of a table with a sorted vector over all operations.

#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test binary uses a part of what all of them share")]

mod draws;

pub use draws::{Drawn, value_bytes, value_width};
use ogive::table::{ReadTrace, Table};
use ogive::{Cause, Error};
use ogive_testkit::{Random, Record, ReferenceTable};

/// Keys to query: a selection of the present ones, their neighbours, and the extremes.
fn questions(records: &[Record], random: &mut Random) -> Vec<Vec<u8>> {
    let mut keys = vec![vec![], vec![0], vec![0xFF; 9]];
    let step = (records.len() / 300).max(1);
    for (i, (key, _)) in records.iter().enumerate() {
        if i % step != 0 && i % 63 > 1 {
            continue;
        }
        keys.push(key.clone());
        if let Ok(word) = <[u8; 8]>::try_from(key.as_slice()) {
            let x = u64::from_be_bytes(word);
            for y in [x.wrapping_sub(1), x.wrapping_add(1), random.next_u64()] {
                keys.push(y.to_be_bytes().to_vec());
            }
        } else {
            if let Ok(word) = <[u8; 16]>::try_from(key.as_slice()) {
                let x = u128::from_be_bytes(word);
                keys.extend([x.wrapping_sub(1), x.wrapping_add(1)].map(|y| y.to_be_bytes().to_vec()));
            }
            keys.push([key.as_slice(), &[0]].concat());
            keys.push(key[..key.len() / 2].to_vec());
        }
    }
    keys
}

/// Checks that a key of a wrong width is an error in every operation and at either end of a range.
pub fn check_strange(table: &Table, key: &[u8], present: &[u8], name: &str) {
    let is_refused = |outcome: Result<(), Error>| {
        let told =
            matches!(&outcome, Err(Error { cause: Cause::KeyLength { length }, .. }) if *length == key.len() as u64);
        assert!(told, "{name}: {key:?} gives {outcome:?}");
    };
    is_refused(table.get(key).map(drop));
    is_refused(table.contains_key(key).map(drop));
    is_refused(table.get_all(key).map(drop));
    is_refused(table.value_reader(key).map(drop));
    is_refused(table.multi_get(&[present, key, present]).map(drop));
    is_refused(table.rank(key).map(drop));
    is_refused(table.count(key..).map(drop));
    is_refused(table.count(..key).map(drop));
    is_refused(table.count(present..=key).map(drop));
    if table.is_versioned() {
        is_refused(table.get_version(key, 1).map(drop));
    }
    let mut range = table.range(key..);
    is_refused(range.next().unwrap().map(drop));
    assert!(range.next().is_none() && range.next_back().is_none(), "{name}: a failed range has ended");
    is_refused(table.range(..=key).next_back().unwrap().map(drop));
    is_refused(table.range(..key).keys().next().unwrap().map(drop));
}

/// Compares every operation with the reference, for present, absent and extreme keys.
pub fn check(table: &Table, records: &[Record], name: &str) {
    let reference = ReferenceTable::new(records.to_vec());
    let mut random = Random::new(7);
    let fits = |key: &Vec<u8>| table.key_type().width().is_none_or(|width| width == key.len());
    let (keys, strange): (Vec<_>, Vec<_>) = questions(records, &mut random).into_iter().partition(fits);
    let width = table.key_type().width().unwrap_or(0);
    strange.iter().take(20).for_each(|key| check_strange(table, key, &vec![0; width], name));
    assert_eq!(table.len(), records.len() as u64, "{name}");
    let report = table.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{name}: {:?}", report.findings.iter().take(5).collect::<Vec<_>>());
    assert_eq!(report.records, table.len(), "{name}");
    for key in &keys {
        assert_eq!(table.get(key).unwrap_or_else(|e| panic!("{name}: {e}")), reference.get(key), "{name}: get {key:?}");
        assert_eq!(table.rank(key).unwrap(), reference.rank(key), "{name}: rank {key:?}");
        assert_eq!(table.contains_key(key).unwrap(), reference.contains_key(key), "{name}: contains {key:?}");
    }
    for pair in keys.chunks(2).filter(|pair| pair.len() == 2).take(60) {
        let (low, high) = (pair[0].clone().min(pair[1].clone()), pair[0].clone().max(pair[1].clone()));
        let expected = reference.range(low.clone()..=high.clone());
        assert_eq!(table.count(low.clone()..=high.clone()).unwrap(), expected.len() as u64, "{name}: count");
        let forward: Vec<Record> = table.range(low.clone()..=high.clone()).take(700).map(Result::unwrap).collect();
        assert_eq!(forward, expected[..expected.len().min(700)], "{name}: {low:?}..={high:?}");
        let backward: Vec<Record> = table.range(low..=high).rev().take(700).map(Result::unwrap).collect();
        let last: Vec<Record> = expected.iter().rev().take(700).cloned().collect();
        assert_eq!(backward, last, "{name}: backward");
    }
    for i in [0, 1, records.len() / 2, records.len().saturating_sub(1), records.len()] {
        assert_eq!(table.nth(i as u64).unwrap(), records.get(i).cloned(), "{name}: nth {i}");
    }
    for key in keys.iter().take(200) {
        let all: Vec<Vec<u8>> = reference.get_all(key).iter().map(|value| value.to_vec()).collect();
        if all.len() < 2000 {
            assert_eq!(table.get_all(key).unwrap(), all, "{name}: get_all {key:?}");
        }
    }
    let many: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let expected: Vec<_> = many.iter().map(|key| reference.get(key)).collect();
    assert_eq!(table.multi_get(&many).unwrap(), expected, "{name}: multi_get");
    let mut visited: Vec<(usize, Option<Vec<u8>>)> = Vec::new();
    let visit = |place, value: &[u8]| {
        visited.push((place, Some(value.to_vec())));
        Ok(())
    };
    table.multi_get_with(&many, visit).unwrap();
    assert!(visited.is_sorted_by_key(|(place, _)| many[*place]), "{name}: multi_get_with follows the keys");
    visited.sort_unstable();
    let wanted = expected.into_iter().enumerate().filter(|(_, value)| value.is_some());
    assert!(visited.into_iter().eq(wanted), "{name}: multi_get_with");
    check_within(table, &reference, &many, name);
    assert_eq!(table.first().unwrap(), records.first().cloned());
    assert_eq!(table.last().unwrap(), records.last().cloned());
}

/// Compares lookups of many keys with room for some of their values.
fn check_within(table: &Table, reference: &ReferenceTable, keys: &[&[u8]], name: &str) {
    let is_short = |key: &&&[u8]| reference.get_all(key).len() < 2000;
    let keys: Vec<&[u8]> = keys.iter().filter(is_short).take(200).copied().collect();
    for (room_bytes, all) in [(0, true), (700, false), (5_000, true), (u64::MAX, false), (u64::MAX, true)] {
        let mut rest = &keys[..];
        while !rest.is_empty() {
            let mut trace = ReadTrace::new();
            let found = table.traced(&mut trace).multi_get_within(rest, all, room_bytes).unwrap();
            let (now, behind) = rest.split_at(found.len());
            for (key, found) in now.iter().zip(&found) {
                let expected: Vec<Vec<u8>> = reference.get_all(key).iter().map(|value| value.to_vec()).collect();
                let expected = if all { &expected[..] } else { expected.get(..1).unwrap_or_default() };
                assert_eq!(found, expected, "{name}: {key:?}, {all}");
            }
            // The first key is answered in any case, and absent keys need no room.
            let with_values = found.iter().skip(1).filter(|values| !values.is_empty()).count();
            let bytes: usize = found.iter().flatten().map(Vec::len).sum();
            assert!(with_values == 0 || bytes as u64 <= room_bytes, "{name}: {bytes} of {room_bytes} B");
            assert!(!found.is_empty() && (room_bytes < u64::MAX || behind.is_empty()), "{name}: {room_bytes} B");
            rest = behind;
        }
    }
}

/// Records with 8-byte keys; each value is its record's number.
pub fn numbers(keys: &[u64], value_bytes: usize) -> Vec<Record> {
    let value = |i: usize| i.to_le_bytes().iter().cycle().take(value_bytes).copied().collect();
    keys.iter().enumerate().map(|(i, key)| (key.to_be_bytes().to_vec(), value(i))).collect()
}

/// Sorted paths, some of them equal.
pub fn words(count: usize, random: &mut Random) -> Vec<Vec<u8>> {
    let parts = ["usr", "share", "lib", "doc", "python3", "a", "b", "zz", "README", "", "\u{fc}ber"];
    let mut keys: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            let depth = 1 + random.next_u64() % 7;
            let word = (0..depth).map(|_| parts[(random.next_u64() % parts.len() as u64) as usize]);
            format!("{}{}", word.collect::<Vec<_>>().join("/"), random.next_u64() % 50).into_bytes()
        })
        .collect();
    keys.sort();
    keys
}
