//! Range removals hold what a list of them holds that is searched from end to end.

use super::Removals;
use super::set::Removal;
use crate::lsm::entry::MAX_SEQUENCE;
use ogive_testkit::Random;
use proptest::prelude::*;

fn key() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0..4_u8, 0..4)
}

fn removals() -> impl Strategy<Value = Vec<Removal>> {
    let removal = (key(), key(), 1..60_u64).prop_map(|(one, other, sequence)| {
        let (start, end) = if one <= other { (one, other) } else { (other, one) };
        Removal { start: start.into(), end: end.into(), sequence }
    });
    proptest::collection::vec(removal, 0..80)
}

fn expected(list: &[Removal], key: &[u8], at: u64) -> u64 {
    let covering = list.iter().filter(|removal| removal.covers(key) && removal.sequence <= at);
    covering.map(|removal| removal.sequence).max().unwrap_or(0)
}

fn added(list: &[Removal]) -> Removals {
    let mut removals = Removals::new();
    for removal in list {
        removals.add(&removal.start, &removal.end, removal.sequence);
    }
    removals
}

proptest! {
    #[test]
    fn the_newest_visible_removal_that_covers_a_key_is_found(list in removals(), keys in proptest::collection::vec((key(), 0..70_u64), 30)) {
        let one_by_one = added(&list);
        let at_once = Removals::of(list.clone());
        prop_assert_eq!(&one_by_one, &at_once);
        for (key, at) in &keys {
            prop_assert_eq!(one_by_one.covering(key, *at), expected(&list, key, *at));
            prop_assert_eq!(at_once.covering(key, *at), expected(&list, key, *at));
        }
    }

    #[test]
    fn clipping_leaves_what_lies_between(list in removals(), from in proptest::option::of(key()), to in proptest::option::of(key()), keys in proptest::collection::vec(key(), 20)) {
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
    fn joined_sets_cover_what_either_covers(one in removals(), other in removals(), keys in proptest::collection::vec((key(), 0..70_u64), 20)) {
        let (mut joined, second) = (added(&one), added(&other));
        let kept = joined.clone();
        joined.extend(&second);
        for (key, at) in &keys {
            prop_assert_eq!(joined.covering(key, *at), expected(&one, key, *at).max(expected(&other, key, *at)));
            prop_assert_eq!(kept.covering(key, *at), expected(&one, key, *at));
        }
        let newer = joined.filter(|removal| removal.sequence > 30);
        prop_assert_eq!(newer.len(), joined.iter().filter(|removal| removal.sequence > 30).count());
    }

    #[test]
    fn what_was_encoded_is_decoded_and_every_cut_is_noticed(list in removals()) {
        let removals = added(&list);
        let bytes = removals.encode();
        prop_assert_eq!(&Removals::decode(&bytes).unwrap(), &removals);
        for cut in 1..bytes.len() {
            prop_assert!(Removals::decode(&bytes[..cut]).is_none(), "cut at {}", cut);
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>) {
        if let Some(removals) = Removals::decode(&bytes) {
            prop_assert!(removals.iter().all(|removal| removal.start < removal.end && removal.sequence <= MAX_SEQUENCE));
        }
    }
}

#[test]
fn a_count_or_length_beyond_the_bytes_allocates_nothing() {
    assert!(Removals::decode(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0]).is_none());
    assert!(Removals::decode(&[1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).is_none());
    assert!(Removals::decode(&[0]).is_none());
    assert_eq!(Removals::decode(&[]).map(|removals| removals.len()), Some(0));
}

/// A list of sequence numbers for each piece would take 10^8 of them here.
#[test]
fn ranges_inside_ranges_take_memory_in_proportion() {
    let key = |number: u32| number.to_be_bytes();
    let nested = (0..20_000_u32).map(|i| Removal {
        start: key(i).into(),
        end: key(100_000 - i).into(),
        sequence: u64::from(i) + 1,
    });
    let removals = Removals::of(nested);
    assert!(removals.memory_bytes() < 20_000 * 500, "{} bytes", removals.memory_bytes());
    let mut random = Random::new(1);
    for _ in 0..1_000 {
        let (number, at) = (random.below(100_001) as u32, random.below(20_001));
        let depth = u64::from(number.saturating_add(1).min((100_000 - number).min(20_000)));
        assert_eq!(removals.covering(&key(number), at), depth.min(at), "{number} at {at}");
    }
}

#[test]
fn many_removals_are_added_in_little_time() {
    let mut removals = Removals::new();
    for i in 0..50_000_u32 {
        removals.add(&(3 * i).to_be_bytes(), &(3 * i + 2).to_be_bytes(), u64::from(i) + 1);
        assert!(removals.clone().len() == i as usize + 1);
    }
    for i in (0..50_000_u32).step_by(97) {
        assert_eq!(removals.covering(&(3 * i + 1).to_be_bytes(), u64::MAX), u64::from(i) + 1);
        assert_eq!(removals.covering(&(3 * i + 2).to_be_bytes(), u64::MAX), 0);
    }
}
