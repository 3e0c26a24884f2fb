//! Moves of the ends of ranges of transactions. Goal: they go on as new ranges would, over snapshot and own writes, and
//! the transaction has read what was passed, and not what was skipped. Method: drawn writes, steps and moves, compared
//! with a model; then another write to one key, which is a conflict if, and only if, the model has passed the key.

use crate::support::{is_conflict, small};
use ogive::Db;
use ogive::io::MemoryStorage;
use ogive_testkit::{MovedRange, Random, Repeat, seeds};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

fn key(random: &mut Random) -> Vec<u8> {
    (0..1 + random.below(2)).map(|_| b'a' + random.below(5) as u8).collect()
}

fn bound(random: &mut Random) -> Bound<Vec<u8>> {
    match random.below(4) {
        0 => Bound::Included(key(random)),
        1 => Bound::Excluded(key(random)),
        _ => Bound::Unbounded,
    }
}

#[test]
fn a_moved_range_of_a_transaction_has_read_what_it_has_passed_and_no_more() {
    let mut conflicts = [0; 2];
    for seed in seeds(0..1500) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        let db = Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap();
        let mut records = BTreeMap::new();
        for _ in 0..random.below(16) {
            let (key, value) = (key(random), vec![b'x'; 1 + (random.below(2) * 120) as usize]);
            db.insert(&key, &value).unwrap();
            records.insert(key, value);
        }
        if random.one_in(2) {
            db.flush().unwrap();
        }
        let tx = db.begin();
        tx.insert(&db, "zz", "written").unwrap();
        records.insert(b"zz".to_vec(), b"written".to_vec());
        for _ in 0..random.below(6) {
            let key = key(random);
            if random.one_in(2) {
                tx.remove(&db, &key).unwrap();
                records.remove(&key);
            } else {
                tx.insert(&db, &key, "own").unwrap();
                records.insert(key, b"own".to_vec());
            }
        }
        let bounds = (bound(random), bound(random));
        let (mut range, mut model) = (tx.range(&db, bounds.clone()), MovedRange::new(&records, bounds));
        let only = random.below(3);
        for _ in 0..random.below(16) {
            let forward = only == 0 || only == 1 && random.one_in(2);
            if random.one_in(3) {
                let key = key(random);
                match forward {
                    true => (range.seek(&key), model.seek(&key)),
                    false => (range.seek_for_prev(&key), model.seek_for_prev(&key)),
                };
            } else {
                let found = if forward { range.next() } else { range.next_back() };
                let found = found.map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())));
                assert_eq!(found.transpose().unwrap(), model.step(forward));
            }
        }
        let written = key(random);
        db.insert(&written, "other").unwrap();
        let has_conflict = is_conflict(tx.commit());
        assert_eq!(has_conflict, model.has_passed(&written), "{}", written.escape_ascii());
        conflicts[usize::from(has_conflict)] += 1;
    }
    assert!(ogive_testkit::named_seed().is_some() || conflicts.iter().all(|&count| count > 100), "{conflicts:?}");
}
