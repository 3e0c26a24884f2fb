//! Snapshots: a reader sees one commit despite later writes, and never waits for the writer.
//!
//! Readers are kept over many commits; eight readers run concurrently with a writer whose every commit changes all
//! entries.

use super::support::{IndexChange, Map, empty, entries, nasty};
use crate::Random;
use ogive::Result;
use ogive::index::IndexKind;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps readers over many commits.
pub fn readers_keep_their_snapshot(kind: IndexKind) {
    let (_, index) = empty(kind);
    let keys = nasty(300).into_iter().find(|(name, _)| *name == "thousand_clusters").unwrap().1;
    let mut random = Random::new(3);
    let mut map: Map = keys.iter().map(|&key| (key, 0)).collect();
    index.bulk_load(map.clone()).unwrap();
    let mut readers = Vec::new();
    for _ in 0..12 {
        readers.push((index.reader().unwrap(), map.clone()));
        let mut transaction = index.write().unwrap();
        for _ in 0..60 {
            let change = IndexChange::random(&mut random, &keys, true);
            change.in_index(&mut transaction).unwrap();
            change.in_map(&mut map);
        }
        assert_eq!(entries(&readers.last().unwrap().0).unwrap(), readers.last().unwrap().1, "{kind}");
        transaction.commit().unwrap();
    }
    for (reader, seen) in &readers {
        assert_eq!(&entries(reader).unwrap(), seen, "{kind}");
        assert_eq!(reader.verify().unwrap().entries, seen.len() as u64, "{kind}");
    }
    assert_eq!(entries(&index.reader().unwrap()).unwrap(), map, "{kind}");
}

/// Aborts and drops transactions.
pub fn aborted_transactions_change_nothing(kind: IndexKind) {
    let (_, index) = empty(kind);
    index.bulk_load((0..500).map(|i| (i, i))).unwrap();
    for dropped in [false, true] {
        let mut transaction = index.write().unwrap();
        (0..500).for_each(|i| _ = transaction.insert(1000 + i, i).unwrap());
        (0..100).for_each(|i| _ = transaction.remove(i * 3).unwrap());
        assert_eq!(transaction.len(), 900, "{kind}");
        if dropped {
            drop(transaction)
        } else {
            transaction.abort()
        }
        let expected: Map = (0..500).map(|i| (i, i)).collect();
        assert_eq!(entries(&index.reader().unwrap()).unwrap(), expected, "{kind}");
        index.verify().unwrap();
    }
}

/// Runs eight readers concurrently with a writer.
pub fn concurrent_readers_see_whole_commits(kind: IndexKind) {
    let (_, index) = empty(kind);
    index.bulk_load((0..400).map(|i| (i * 10, 0))).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..8 {
            let (index, done) = (&index, &done);
            scope.spawn(move || {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    // Every commit sets all payloads to its number, and adds one entry.
                    let snapshot = index.reader().unwrap();
                    let values: Vec<u64> = snapshot.iter().map(|entry| entry.unwrap().1).collect();
                    let round = values[0];
                    assert!(values.iter().all(|&value| value == round), "{kind}, reader {reader}: mixed commits");
                    assert_eq!(values.len() as u64, 400 + round, "{kind}, reader {reader}");
                    assert!(round >= last, "{kind}, reader {reader}: an older commit than before");
                    assert_eq!(snapshot.get(3990).unwrap(), Some(round), "{kind}");
                    last = round;
                }
            });
        }
        let rounds = || -> Result<()> {
            for round in 1..=15 {
                let mut transaction = index.write()?;
                let keys: Vec<u64> = transaction.range(..).map(|entry| Ok(entry?.0)).collect::<Result<_>>()?;
                for key in keys {
                    transaction.insert(key, round)?;
                }
                transaction.insert(round * 7 + 1_000_000, round)?;
                transaction.commit()?;
            }
            Ok(())
        };
        let result = rounds();
        done.store(true, Ordering::Relaxed);
        result.unwrap();
    });
}
