//! Tests of the PGM index: conformance with several errors, bases and buffers, and costs.

use super::line::PgmLine;
use super::state::PgmState;
use super::{PgmOptions, PgmTree};
use ogive::index::extend::{Amount, IndexLayout, Structure};
use ogive::io::Purpose;
use ogive_testkit::Random;
use ogive_testkit::index::{SortedEntries, StructureHarness, counts_blocks, page_file};
use ogive_testkit::structure_tests;

fn options(error: u32, base: u32, buffer_entries: usize) -> PgmOptions {
    PgmOptions { error, base, buffer_entries }
}

structure_tests!(short_keys, u64, |layout| Box::new(PgmTree::new(layout, PgmOptions::default())));
structure_tests!(long_keys, u128, |layout| Box::new(PgmTree::new(layout, PgmOptions::default())));
structure_tests!(tight_lines_and_many_runs, u64, |layout| Box::new(PgmTree::new(layout, options(1, 2, 4))));
structure_tests!(one_entry_a_buffer, u64, |layout| Box::new(PgmTree::new(layout, options(4, 3, 1))));
structure_tests!(any_error, u128, |layout| Box::new(PgmTree::new(layout, options(u32::MAX, u32::MAX, 1000))));

/// `count` random keys, ascending.
fn random_keys(count: u64) -> Vec<u64> {
    let mut random = Random::new(22);
    let mut keys: Vec<u64> = (0..count).map(|_| random.next_u64()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn detail(harness: &StructureHarness<'_, u64>, name: &str) -> u64 {
    let found = harness.with_pages(|pages| harness.structure.statistics(pages, &harness.state).unwrap());
    found.details.iter().find(|(other, _)| *other == name).unwrap().1
}

#[test]
fn lookups_after_a_bulk_load_rarely_read_more_than_two_pages() {
    let tree = PgmTree::new(IndexLayout::default(), PgmOptions::default());
    let (mean, most) = counts_blocks(&tree, IndexLayout::default(), 4096, &random_keys(60_000));
    assert!((1.0..2.15).contains(&mean), "{mean} blocks");
    assert!(most <= 3);
    // The description of the run has at most two segments.
    let line: Vec<u64> = (0..60_000).map(|i| 977 * i).collect();
    assert_eq!(counts_blocks(&tree, IndexLayout::default(), 4096, &line), (1.0, 1));
}

#[test]
fn the_number_of_runs_is_logarithmic() {
    let tree = PgmTree::new(IndexLayout::default(), options(16, 4, 8));
    let mut harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &[]);
    let mut random = Random::new(3);
    for inserted in 1..=6000_u64 {
        harness.insert(random.next_u64());
        if inserted % 500 == 0 {
            let most = u64::from((inserted / 8 + 1).ilog2()).div_ceil(2) + 1;
            assert!(detail(&harness, "runs") <= most, "{} runs of {inserted} entries", detail(&harness, "runs"));
        }
    }
    harness.check();
}

#[test]
fn tombstones_and_hidden_entries_are_dropped() {
    let tree = PgmTree::new(IndexLayout::default(), options(64, 8, 8));
    let keys = random_keys(8000);
    let mut harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &keys);
    let mut random = Random::new(5);
    let (removed, kept): (Vec<u64>, Vec<u64>) = keys.iter().partition(|_| !random.one_in(20));
    for key in removed {
        harness.remove(key, Amount::One);
    }
    let found = harness.with_pages(|pages| harness.structure.statistics(pages, &harness.state).unwrap());
    assert!(detail(&harness, "tombstones") * 2 < kept.len() as u64);
    assert!(found.leaf_pages * 10 < 8000 / 31, "{} pages for {} entries", found.leaf_pages, kept.len());
    harness.check();
    for key in kept {
        harness.remove(key, Amount::One);
    }
    assert!(detail(&harness, "tombstones") <= 8);
    harness.check();
}

#[test]
fn wrong_models_cost_reads_but_never_answers() {
    let tree = PgmTree::new(IndexLayout::default(), options(2, 8, 8));
    let keys = random_keys(20_000);
    let file = page_file(512);
    let mut tx = file.begin().unwrap();
    let entries = keys.iter().map(|&key| (key, key.to_le_bytes().to_vec())).collect();
    let bytes = tree.bulk_load(&mut tx, &mut SortedEntries::new(entries)).unwrap();
    let geometry = tree.geometry::<u64>(&tx);
    let mut state = PgmState::<u64>::load(&bytes, &tx, &geometry).unwrap();
    let run = state.oldest.as_mut().unwrap();
    assert!(!run.counts.is_empty());
    let mut random = Random::new(9);
    for level in 0..run.counts.len() {
        let segments = run.segments(&geometry, level);
        for position in 0..segments.count {
            let (index, slot) = segments.locate(position);
            let offset = segments.shape.offset(slot) + segments.shape.entry_bytes() - 8;
            let noise = random.next_u64().to_le_bytes();
            tx.edit(segments.page_number(index), Purpose::Inner(0)).unwrap().write(offset, &noise);
        }
    }
    run.roots.iter_mut().for_each(|root| root.line = PgmLine::load(&random.next_u64().to_le_bytes()));
    let bytes = state.bytes();
    let mut payload = [0; 8];
    for &key in keys.iter().step_by(3) {
        assert!(tree.get(&tx, &bytes, key, &mut payload).unwrap());
        assert_eq!(payload, key.to_le_bytes());
        assert!(!tree.get(&tx, &bytes, key ^ 1, &mut payload).unwrap());
        let mut cursor = Structure::<u64>::cursor(&tree, &bytes).unwrap();
        cursor.seek(&tx, key).unwrap();
        assert_eq!(cursor.next(&tx, &mut payload).unwrap(), Some(key));
    }
}
