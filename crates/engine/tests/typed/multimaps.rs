//! Tests of multimaps. Goal: they answer as a map of sets does. Method: drawn operations, compared with a `BTreeSet`;
//! keys and values at the ends of their ranges, and text with zero bytes.

use super::keyspaces::open;
use ogive::io::MemoryStorage;
use ogive::typed::Desc;
use ogive::{Cause, Error};
use std::collections::BTreeSet;
use std::ops::{Bound, RangeBounds};

#[test]
fn a_multimap_answers_as_a_set_of_pairs_does() {
    let memory = MemoryStorage::new();
    let mut db = open(&memory);
    let mut model = BTreeSet::new();
    let keys = [0_u8, 1, 254, 255];
    let values = ["", "a", "a\0", "a\0b", "b"];
    let mut state = 7_u64;
    for round in 0..400 {
        let map = db.multimap::<u8, str>("map").unwrap();
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (key, value) = (keys[(state >> 60) as usize % 4], values[(state >> 40) as usize % 5]);
        match (state >> 33) % 8 {
            0 => {
                map.remove_all(key).unwrap();
                model.retain(|&(kept, _)| kept != key);
            }
            1 | 2 => {
                map.remove(key, value).unwrap();
                model.remove(&(key, value));
            }
            _ => {
                map.insert(key, value).unwrap();
                model.insert((key, value));
            }
        }
        let found: Vec<String> = map.get(key).map(|value| value.unwrap().value().unwrap().into_owned()).collect();
        assert!(found.iter().map(String::as_str).eq(model.range((key, "")..).filter(|it| it.0 == key).map(|it| it.1)));
        let mut back: Vec<_> = map.get(key).rev().map(|value| value.unwrap().value().unwrap().into_owned()).collect();
        back.reverse();
        assert_eq!(back, found);
        assert_eq!(map.contains(key, value).unwrap(), model.contains(&(key, value)));
        let other = keys[(state >> 50) as usize % 4].max(key);
        for (start, end) in [
            (Bound::Included(key), Bound::Included(other)),
            (Bound::Included(key), Bound::Excluded(other)),
            (Bound::Excluded(key), Bound::Included(other)),
            (Bound::Excluded(key), Bound::Unbounded),
        ] {
            let count = map.range((start, end)).map(Result::unwrap).count();
            assert_eq!(count, model.iter().filter(|it| (start, end).contains(&it.0)).count(), "{start:?} {end:?}");
        }
        if round % 100 == 0 {
            drop(map);
            db.close().unwrap();
            db = open(&memory);
        }
    }
    assert!(!model.is_empty());
}

#[test]
fn keys_and_values_of_several_components_are_one_tuple() {
    let db = open(&MemoryStorage::new());
    let map = db.multimap::<(u8, &str), (Desc<u16>, Option<bool>)>("map").unwrap();
    assert_eq!(map.untyped().record_type().to_string(), "(u8, text, u16 desc, bool? nulls last) -> {}");
    let mut batch = db.batch();
    batch.multimap_insert(&map, (1, "x"), (Desc(3), None)).multimap_insert(&map, (1, "x"), (Desc(4), Some(true)));
    batch.multimap_insert(&map, (1, "xy"), (Desc(5), None)).multimap_remove(&map, (1, "xy"), (Desc(5), None));
    batch.commit().unwrap();
    let found: Vec<_> = map.get((1, "x")).map(|value| value.unwrap().value().unwrap()).collect();
    assert_eq!(found, [(Desc(4), Some(true)), (Desc(3), None)]);
    let (key, _) = map.iter().next().unwrap().unwrap();
    assert_eq!(key.value().unwrap(), (1, "x".into()));
    assert_eq!(map.iter().count(), 2);
    assert!(matches!(db.multimap::<u8, str>("map").unwrap_err(), Error { cause: Cause::WrongType { .. }, .. }));
}
