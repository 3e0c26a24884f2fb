//! Fast paths: the answers of an index, and what batches insert, do not depend on which are enabled.

use super::support::Numbers;
use crate::{Random, seeds};
use ogive::index::{IndexKind, IndexOptions};
use ogive::io::{FastPaths, MemoryStorage, Storage};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads an index with all fast paths, without the cache, without batches, and without any.
pub fn answers_do_not_depend_on_fast_paths(kind: IndexKind) {
    let settings = [
        FastPaths::ALL,
        FastPaths { cache: false, ..FastPaths::ALL },
        FastPaths { batches: false, ..FastPaths::ALL },
        FastPaths::NONE,
    ];
    for seed in seeds([1]) {
        let mut random = Random::new(seed);
        let rows: BTreeMap<u64, u64> = (0..700).map(|at| (random.next_u64() >> (at % 3 * 20), at)).collect();
        for fast_paths in settings {
            assert_answers(kind, &rows, fast_paths, &format!("{kind}, seed {seed}, {fast_paths:?}"));
        }
    }
}

fn assert_answers(kind: IndexKind, rows: &BTreeMap<u64, u64>, fast_paths: FastPaths, what: &str) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut options = IndexOptions::default().kind(kind);
    (options.pages.fast_paths, options.pages.resident_bytes) = (fast_paths, 1 << 14);
    let index = Numbers::create((storage.clone(), "i"), &options).unwrap();
    index.bulk_load(rows.iter().skip(100).map(|(&key, &value)| (key, value))).unwrap();
    let mut transaction = index.write().unwrap();
    rows.iter().take(20).for_each(|(&key, &value)| _ = transaction.insert(key, value).unwrap());
    let batch = rows.iter().skip(20).take(200).map(|(&key, &value)| (key, value));
    assert_eq!(transaction.insert_sorted(batch).unwrap(), 80, "{what}");
    transaction.commit().unwrap();
    let keys: Vec<u64> = rows.keys().step_by(7).flat_map(|&key| [key, key ^ 1]).collect();
    let expected: Vec<Option<u64>> = keys.iter().map(|key| rows.get(key).copied()).collect();
    assert_eq!(index.multi_get(&keys).unwrap(), expected, "{what}");
    assert!(keys.iter().map(|&key| index.get(key).unwrap()).eq(expected), "{what}");
    let found: Vec<(u64, u64)> = index.range(..).unwrap().map(Result::unwrap).collect();
    assert!(found.into_iter().eq(rows.iter().map(|(&key, &value)| (key, value))), "{what}");
}
