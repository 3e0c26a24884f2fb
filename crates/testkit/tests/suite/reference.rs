//! The reference table and the key sets are what their users take them for.

use ogive_testkit::{Random, ReferenceTable, key_sets};
use std::collections::BTreeSet;
use std::ops::Bound;

fn key(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

#[test]
fn the_reference_answers_as_the_definitions_say() {
    let records =
        [("c", "4"), ("b", "2"), ("a", "1"), ("b", "3")].map(|(key, value)| (self::key(key), self::key(value)));
    let table = ReferenceTable::new(records);
    assert_eq!(table.get(b"b"), Some(key("2")));
    assert_eq!(table.get_all(b"b"), [key("2"), key("3")]);
    assert_eq!(table.multi_get(&[b"c", b"x"]), [Some(key("4")), None]);
    assert!(table.contains_key(b"a") && !table.contains_key(b"aa"));
    assert_eq!((table.rank(b""), table.rank(b"b"), table.rank(b"bb"), table.rank(b"z")), (0, 1, 3, 4));
    assert_eq!(table.nth(2), Some((key("b"), key("3"))));
    assert_eq!(table.nth(u64::MAX), None);
    assert_eq!((table.first(), table.last()), (table.nth(0), table.nth(3)));
    assert_eq!(table.count(key("b")..key("c")), 2);
    assert_eq!(table.count(key("b")..=key("c")), 3);
    assert_eq!(table.count((Bound::Excluded(key("b")), Bound::Unbounded)), 1);
    assert_eq!(table.count(key("c")..key("a")), 0);
    assert_eq!(table.range(..).len(), 4);
    assert!(ReferenceTable::default().first().is_none());
}

#[test]
fn nasty_sets_are_sorted_named_once_and_as_large_as_asked() {
    for size in [0, 1, 2, 10, 1_000, 20_000] {
        let sets = key_sets::nasty(size);
        let names: BTreeSet<_> = sets.iter().map(|set| set.0).collect();
        assert_eq!(names.len(), sets.len());
        for (name, keys) in &sets {
            assert!(keys.is_sorted(), "{name}");
            assert!(keys.len() <= size.max(2), "{name}");
            let repeats = keys.windows(2).any(|pair| pair[0] == pair[1]);
            assert!(!repeats || ["all_equal", "zipf_duplicates"].contains(name), "{name}");
        }
        assert!(sets == key_sets::nasty(size), "the same every time");
        if size == 20_000 {
            let small = sets.iter().filter(|set| set.1.len() < 15_000).map(|set| set.0).collect::<Vec<_>>();
            let expected = [
                "empty",
                "one_zero",
                "one_max",
                "two_ends",
                "two_neighbours_at_the_top",
                "powers_of_two",
                "nested_halves",
                "fibonacci",
            ];
            assert_eq!(small, expected);
        }
    }
}

#[test]
fn random_numbers_are_the_same_everywhere() {
    let mut random = Random::new(1_234_567);
    assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
    assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    assert!((0..1_000).all(|_| random.below(10) < 10 && (0.0..1.0).contains(&random.unit())));
    assert_eq!(random.below(0), 0);
}
