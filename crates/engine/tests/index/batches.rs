//! The cost of batches. Goal: a batch reads and changes each leaf once, and takes no more space than single inserts of
//! the same entries. Method: batches of many shapes beside the same entries inserted in random order; counted pages.

use ogive::index::{Index, IndexKind, IndexOptions};
use ogive::io::MemoryStorage;
use ogive::page::PagePhase;
use ogive_testkit::Random;
use ogive_testkit::index::shuffled;
use std::sync::Arc;

type Numbers = Index<u64, u64>;

/// Entries of the index before the batch.
const LOADED: u64 = 30_000;
/// Distance of their keys.
const STEP: u64 = 1 << 30;

fn loaded(kind: IndexKind) -> Numbers {
    let options = IndexOptions::default().kind(kind);
    let index = Numbers::create((Arc::new(MemoryStorage::new()), "index"), &options).unwrap();
    index.bulk_load((0..LOADED).map(|i| (i * STEP, i))).unwrap();
    // After a checkpoint, pages that the bulk load has left over can be written directly.
    index.checkpoint().unwrap();
    index
}

/// Batches without repeated keys, in ascending order.
fn batches() -> Vec<(&'static str, Vec<u64>)> {
    let mut random = Random::new(1);
    let mut some = |count: u64, low: u64, width: u64| -> Vec<u64> {
        let mut keys: Vec<u64> = (0..count).map(|_| low + random.below(width)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    let whole = LOADED * STEP;
    vec![
        ("a few", some(20, 0, whole)),
        ("one in two leaves", some(75, 0, whole)),
        ("a tenth", some(LOADED / 10, 0, whole)),
        ("as many", some(LOADED, 0, whole)),
        ("four times as many", some(4 * LOADED, 0, whole)),
        ("in one gap", some(LOADED, 77 * STEP, STEP)),
        ("in one leaf", some(LOADED, 77 * STEP, 40 * STEP)),
        ("in a third", some(LOADED, whole / 3, whole / 3)),
        ("behind all", some(LOADED, whole, whole)),
    ]
}

/// Pages read and changed by the search for leaves and by inserts, and all of these with changes of the structure.
fn insert_batch(index: &Numbers, keys: &[u64]) -> (u64, u64, u64) {
    let mut transaction = index.write().unwrap();
    transaction.insert_sorted(keys.iter().map(|&key| (key, 1))).unwrap();
    let statistics = transaction.write_statistics();
    let of = |phase| statistics.phases.get(&phase).copied().unwrap_or_default();
    let structure = of(PagePhase::Structure);
    transaction.commit().unwrap();
    let (search, insert) = (of(PagePhase::Search), of(PagePhase::Insert));
    (
        search.pages_read,
        search.pages_changed + insert.pages_changed,
        insert.pages_read + structure.pages_read + structure.pages_changed,
    )
}

#[test]
fn a_batch_takes_no_more_space_than_single_inserts() {
    for kind in [IndexKind::OGIVE, IndexKind::BTREE] {
        for (name, keys) in batches() {
            let (single, batch) = (loaded(kind), loaded(kind));
            let mut transaction = single.write().unwrap();
            // In ascending order, appends fill leaves, and other inserts leave them half full.
            let order = if name == "behind all" { keys.clone() } else { shuffled(keys.clone(), 3) };
            order.into_iter().for_each(|key| _ = transaction.insert(key, 1).unwrap());
            transaction.commit().unwrap();
            insert_batch(&batch, &keys);
            let leaves = [&single, &batch].map(|index| index.statistics().unwrap().leaves);
            [&single, &batch].into_iter().for_each(|index| index.checkpoint().unwrap());
            let pages = [&single, &batch].map(|index| index.page_statistics().pages);
            // One leaf in 200 more, where even parts are less lucky than the order of single inserts.
            assert!(leaves[1] <= leaves[0] + leaves[0] / 200, "{kind}, {name}: leaves {leaves:?}");
            assert!(pages[1] <= pages[0] + pages[0] / 100 + 2, "{kind}, {name}: pages {pages:?}");
        }
    }
}

#[test]
fn a_batch_reads_and_changes_each_leaf_once() {
    for (name, keys) in batches() {
        let index = loaded(IndexKind::OGIVE);
        let before = index.statistics().unwrap().leaves;
        let (searched, changed, structure) = insert_batch(&index, &keys);
        let after = index.statistics().unwrap().leaves;
        let touched = before.min(keys.len() as u64);
        // The leaf, the inner node above it, and at most one probe past its end; parts of large batches overlap.
        assert!(searched <= 4 * touched + after / 8, "{name}: {searched} pages read for {touched} leaves");
        assert!(changed <= touched + (after - before) * 9 / 8 + 8, "{name}: {changed} pages changed");
        // The leaf in front, and two pages of the router.
        assert!(structure <= 6 * (after - before) + touched + 64, "{name}: {structure} pages for the structure");
    }
}
