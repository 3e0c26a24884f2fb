//! Tests of the FITing-tree: conformance with several errors and buffers, and costs.

use super::directory::{DirectoryPath, EntryChoice};
use super::node::{FitingGeometry, FitingState, SegmentRecord};
use super::{Fiting, FitingOptions, splice};
use crate::disk_indexes::structures::pgm::line::PgmLine;
use ogive::Result;
use ogive::index::extend::{Amount, IndexLayout, IndexStatistics, Structure, Visitor};
use ogive::page::PageNumber;
use ogive_testkit::Random;
use ogive_testkit::index::{SortedEntries, StructureHarness, counts_blocks, page_file};
use ogive_testkit::key_sets::nasty;
use ogive_testkit::structure_tests;

fn options(error: u32, buffer_entries: usize) -> FitingOptions {
    FitingOptions { error, buffer_entries }
}

structure_tests!(short_keys, u64, |layout| Box::new(Fiting::new(layout, FitingOptions::default())));
structure_tests!(long_keys, u128, |layout| Box::new(Fiting::new(layout, FitingOptions::default())));
structure_tests!(no_error_and_small_buffers, u64, |layout| Box::new(Fiting::new(layout, options(0, 3))));
structure_tests!(one_entry_a_buffer, u64, |layout| Box::new(Fiting::new(layout, options(4, 1))));
structure_tests!(any_error, u128, |layout| Box::new(Fiting::new(layout, options(u32::MAX, 1000))));

/// `count` random keys, ascending.
fn random_keys(count: u64) -> Vec<u64> {
    let mut random = Random::new(21);
    let mut keys: Vec<u64> = (0..count).map(|_| random.next_u64()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn tree() -> Fiting {
    Fiting::new(IndexLayout::default(), FitingOptions::default())
}

fn statistics(harness: &StructureHarness<'_, u64>) -> IndexStatistics {
    harness.with_pages(|pages| harness.structure.statistics(pages, &harness.state).unwrap())
}

fn detail(statistics: &IndexStatistics, name: &str) -> u64 {
    statistics.details.iter().find(|(other, _)| *other == name).unwrap().1
}

#[test]
fn lookups_rarely_read_more_than_one_page_of_entries() {
    let keys = random_keys(60_000);
    let (mean, most) = counts_blocks(&tree(), IndexLayout::default(), 4096, &keys);
    assert!((1.0..2.15).contains(&mean), "{mean} blocks: one of the directory, and the page with the entry");
    assert!(most <= 3, "an error of 64 entries needs at most one more page");
}

#[test]
fn segments_never_outnumber_pages() {
    for (name, mut keys) in nasty(6000) {
        keys.dedup();
        if keys.is_empty() {
            continue;
        }
        let tree = tree();
        let harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &keys);
        let found = statistics(&harness);
        let full = FitingGeometry::new::<u64>(504, 8, 1).data.per_page();
        let segments = detail(&found, "segments") as usize;
        assert!(segments <= keys.len().div_ceil(full) + 1, "{name}: {segments} segments of {} keys", keys.len());
        let wasted = found.leaf_pages as usize * full - keys.len();
        assert!(wasted <= keys.len() / 16 + 2 * full, "{name}: room for {wasted} entries is wasted");
    }
}

#[test]
fn appended_and_prepended_keys_form_long_segments() {
    for ascending in [true, false] {
        let tree = tree();
        let mut harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &[]);
        for i in 0..6000_u64 {
            harness.insert(if ascending { i } else { 1_000_000 - i } * 1000);
        }
        let found = statistics(&harness);
        let (segments, removed) = (detail(&found, "segments"), detail(&found, "removed entries"));
        assert!(segments * 4 < found.leaf_pages, "{segments} segments in {} pages", found.leaf_pages);
        assert_eq!(removed, 0);
        harness.check();
    }
}

#[test]
fn space_of_removed_entries_is_reused() {
    let tree = tree();
    let keys = random_keys(8000);
    let mut harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &keys);
    let before = statistics(&harness).leaf_pages;
    let mut random = Random::new(5);
    let removed: Vec<u64> = keys.iter().copied().filter(|_| !random.one_in(20)).collect();
    for key in removed {
        harness.remove(key, Amount::One);
    }
    let after = statistics(&harness).leaf_pages;
    assert!(after * 6 < before, "{after} pages for a twentieth of {before}");
    harness.check();
}

#[test]
fn wrong_models_cost_reads_but_never_answers() {
    let tree = tree();
    let keys = random_keys(3000);
    let file = page_file(512);
    let mut tx = file.begin().unwrap();
    let entries = keys.iter().map(|&key| (key, key.to_le_bytes().to_vec())).collect();
    let bytes = tree.bulk_load(&mut tx, &mut SortedEntries::new(entries)).unwrap();
    let state = FitingState::load(&bytes, &tx).unwrap();
    let geometry = tree.geometry::<u64>(&tx);
    let mut random = Random::new(9);
    let mut path = DirectoryPath::<u64>::find(&tx, &geometry, &state, EntryChoice::First).unwrap().unwrap();
    loop {
        let noise = random.next_u64().to_le_bytes();
        splice::update(&mut tx, &path, &SegmentRecord { line: PgmLine::load(&noise), ..path.record() }).unwrap();
        if !path.forward(&tx).unwrap() {
            break;
        }
    }
    let mut payload = [0; 8];
    for &key in &keys {
        assert!(tree.get(&tx, &bytes, key, &mut payload).unwrap());
        assert_eq!(payload, key.to_le_bytes());
        assert!(!tree.get(&tx, &bytes, key ^ 1, &mut payload).unwrap());
        let mut cursor = Structure::<u64>::cursor(&tree, &bytes).unwrap();
        cursor.seek(&tx, key).unwrap();
        assert_eq!(cursor.next(&tx, &mut payload).unwrap(), Some(key));
    }
    struct IgnoreAll;
    impl Visitor<u64> for IgnoreAll {
        fn pages(&mut self, _first: PageNumber, _pages: u32) -> Result<()> {
            Ok(())
        }

        fn entry(&mut self, _key: u64) -> Result<()> {
            Ok(())
        }
    }
    assert!(tree.verify(&tx, &bytes, &mut IgnoreAll).is_err(), "verify must detect the wrong models");
}
