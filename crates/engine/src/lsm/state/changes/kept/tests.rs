//! Tests of the record of kept changes: it comes back, damage is noticed, and what is forgotten is the oldest.

use super::*;
use crate::block::test_examples::example as document_example;
use crate::io::MemoryStorage;
use crate::lsm::state::version::{
    DroppedKeyspace, KeptLogs, KeptTable, StatedTypes, is_name_of_changes, is_subscriber_name,
};
use crate::types::{KeyType, RecordType, ValueType};
use proptest::prelude::*;

const STORE: u64 = 0x0123_4567_89ab_cdef;
const DOCUMENT: &str = include_str!("../../../../../../../docs/format/changes.md");

/// What the example of the format has.
fn example() -> KeptChanges {
    let types = RecordType::new(KeyType::U32, "{a: text?}".parse::<ValueType>().unwrap());
    let types = StatedTypes { generation: 1, ..StatedTypes::next(types.into()) };
    let set = KeptLogs { last: 42, since_s: 1_800_000_000, bytes: 300, logs: vec![(7, 0x1111)], values: vec![9] };
    KeptChanges {
        after: 40,
        sets: [set].into(),
        tables: [(43, KeptTable { number: 12, bytes: 4096, since_s: 1_800_000_001, ..KeptTable::default() })].into(),
        dropped: [(45, vec![DroppedKeyspace { since_s: 1_800_000_002, id: 2, name: "fruit".into(), types }])].into(),
        gaps: [(46, 48)].into(),
    }
}

#[test]
fn records_and_subscribers_come_back_and_damage_is_noticed() {
    let storage = MemoryStorage::new();
    assert!(KeptChanges::read(&storage, STORE).unwrap().is_empty());
    for kept in [KeptChanges::default(), example()] {
        kept.write(&storage, STORE).unwrap();
        assert_eq!(KeptChanges::read(&storage, STORE).unwrap(), kept);
        assert!(KeptChanges::read(&storage, STORE + 1).unwrap().is_empty(), "it is of another store");
    }
    let mut body = Vec::new();
    example().encode(&mut body);
    let whole = RECORD.encode(STORE, &body);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        assert!(RECORD.decode(STORE, &damaged).is_none(), "{at}");
        assert!(RECORD.decode(STORE, &whole[..at]).is_none(), "{at}");
        // Whatever the body is, decoding ends.
        _ = KeptChanges::decode(&body[..at.min(body.len())]);
    }
    for (name, sequence) in [("search", 0), ("a-1_B", SEQUENCE_MAX)] {
        acknowledge(&storage, STORE, name, sequence).unwrap();
        assert_eq!(acknowledged(&storage, STORE, name).unwrap(), Some(sequence));
    }
    assert_eq!(subscribers(&storage, STORE).unwrap().len(), 2);
    assert!(subscribers(&storage, STORE + 1).unwrap().is_empty());
    remove_subscriber(&storage, "search").unwrap();
    assert_eq!(acknowledged(&storage, STORE, "search").unwrap(), None);
    for name in ["", "a b", "a.b", "a/b", "ä", &"x".repeat(65)] {
        assert!(!is_subscriber_name(name), "{name}");
    }
    for name in ["CHANGES", "CHANGES.new", "000013.log.kept", "000014.table.kept", "search.subscriber"] {
        assert!(is_name_of_changes(name), "{name}");
    }
    for name in ["changes", "000013.log", "13.log.kept", "x.kept", ".subscriber", "000013.log.new"] {
        assert!(!is_name_of_changes(name), "{name}");
    }
}

#[test]
fn the_oldest_changes_are_forgotten_first() {
    let set = |last, since_s| KeptLogs { last, since_s, bytes: 100, logs: vec![(last, 1)], values: vec![last] };
    let table = KeptTable { number: 99, bytes: 50, ..KeptTable::default() };
    let all = KeptChanges {
        sets: [set(10, 5), set(20, 6), set(30, 7)].into(),
        tables: [(9, table.clone()), (25, table)].into(),
        gaps: [(15, 20), (21, 22)].into(),
        ..KeptChanges::default()
    };
    let left = |change: &dyn Fn(&mut KeptChanges)| {
        let mut kept = all.clone();
        change(&mut kept);
        (kept.sets.len(), kept.tables.len(), kept.gaps.len())
    };
    assert_eq!(left(&|kept| assert!(!kept.forget(8))), (3, 2, 2));
    assert_eq!(left(&|kept| assert!(kept.forget(10))), (2, 1, 2));
    assert_eq!(left(&|kept| assert!(kept.forget(20))), (1, 1, 1));
    assert_eq!(left(&|kept| kept.forget_beyond(400, 0)), (3, 2, 2));
    assert_eq!(left(&|kept| kept.forget_beyond(399, 0)), (2, 1, 2));
    assert_eq!(left(&|kept| kept.forget_beyond(u64::MAX, 7)), (1, 1, 1));
    assert_eq!(left(&|kept| kept.forget_beyond(0, 0)), (0, 0, 0));
}

#[test]
fn the_examples_of_the_document_are_what_is_written_and_what_is_read() {
    let storage = MemoryStorage::new();
    example().write(&storage, STORE).unwrap();
    acknowledge(&storage, STORE, "search", 42).unwrap();
    for (name, of_document) in [(RECORD_NAME, "record"), ("search.subscriber", "subscriber")] {
        assert_eq!(storage.content(name).unwrap(), document_example(DOCUMENT, of_document));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_refused(bytes: Vec<u8>) {
        if let Some(kept) = KeptChanges::decode(&bytes) {
            let mut again = Vec::new();
            kept.encode(&mut again);
            prop_assert_eq!(KeptChanges::decode(&again), Some(kept));
        }
    }
}
