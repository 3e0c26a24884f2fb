//! Tests of LIPP: conformance, and bounds on height and file size for all key sets and insert orders.

use super::{Lipp, LippOptions};
use ogive::index::extend::IndexLayout;
use ogive_testkit::structure_tests;

structure_tests!(narrow_keys, u64, |layout: IndexLayout| Box::new(Lipp::new(&layout, LippOptions::default())));
structure_tests!(wide_keys, u128, |layout: IndexLayout| Box::new(Lipp::new(&layout, LippOptions::default())));

mod bounds {
    use super::{IndexLayout, Lipp, LippOptions};
    use crate::disk_indexes::structures::hard_inserts::{closing_inserts, hard_inserts};
    use ogive::index::extend::{Amount, Cursor, Structure, Word};
    use ogive_testkit::Random;
    use ogive_testkit::index::{CountedPages, StructureHarness, counts_blocks, shuffled};

    const PAGE_BYTES: usize = 512;

    fn lipp() -> Lipp {
        Lipp::new(&IndexLayout::default(), LippOptions::default())
    }

    /// Inserts keys one by one, and checks the height and the size of the tree.
    fn grows_within_bounds(name: &str, keys: &[u64]) {
        let lipp = lipp();
        let mut harness = StructureHarness::new(&lipp, IndexLayout::default(), PAGE_BYTES, &[]);
        keys.iter().for_each(|&key| harness.insert(key));
        harness.check();
        let statistics =
            harness.with_pages(|pages| Structure::<u64>::statistics(&lipp, pages, &harness.state).unwrap());
        let bytes = (statistics.leaf_pages + statistics.inner_pages) * PAGE_BYTES as u64;
        assert!(statistics.height <= 9, "{name}: height {}", statistics.height);
        assert!(bytes <= 20_000 + 400 * keys.len() as u64, "{name}: {bytes} bytes for {} keys", keys.len());
    }

    /// The authors' code grows without bound on sequential inserts, and runs out of memory on conflicts.
    #[test]
    fn hard_insert_orders_keep_tree_and_file_small() {
        hard_inserts().iter().for_each(|(name, keys)| grows_within_bounds(name, keys));
    }

    /// Each key halves the distance to a fixed one, so that all keys to come share a slot.
    #[test]
    fn converging_keys_keep_the_tree_low() {
        closing_inserts().iter().for_each(|(name, keys)| grows_within_bounds(name, keys));
    }

    #[test]
    fn dense_keys_cost_one_block() {
        let keys: Vec<u64> = (0..20_000).map(|i| (1 << 40) | i).collect();
        let (mean, most) = counts_blocks(&lipp(), IndexLayout::default(), 4096, &keys);
        assert!(mean < 1.1 && most <= 2, "{mean} blocks on average, {most} at most");
    }

    /// Two distant runs, with only NULL slots between them in the pages of the root.
    #[test]
    fn finding_the_next_entry_over_null_slots_reads_few_blocks() {
        let run = |start: u64| (0..6000).map(move |i| start + i * 7);
        let keys: Vec<u64> = run(0).chain(run(1 << 21)).collect();
        let lipp = lipp();
        let harness = StructureHarness::new(&lipp, IndexLayout::default(), PAGE_BYTES, &keys);
        harness.check();
        harness.with_pages(|pages| {
            for key in [6000 * 7, 1 << 18, 1 << 20, (1 << 21) - 1] {
                let counted = CountedPages::new(pages);
                let mut cursor: Box<dyn Cursor<u64>> = lipp.cursor(&harness.state).unwrap();
                let mut payload = [0; 8];
                cursor.seek(&counted, key).unwrap();
                assert_eq!(cursor.next(&counted, &mut payload).unwrap(), Some(1 << 21));
                cursor.seek_back(&counted, key).unwrap();
                assert_eq!(cursor.previous(&counted, &mut payload).unwrap(), Some(5999 * 7));
                assert!(counted.blocks() <= 9, "{} blocks from {key}", counted.blocks());
            }
        });
    }

    fn pages_of<W: Word>(structure: &dyn Structure<W>, harness: &StructureHarness<'_, W>) -> u64 {
        let statistics = harness.with_pages(|pages| structure.statistics(pages, &harness.state).unwrap());
        statistics.leaf_pages + statistics.inner_pages
    }

    #[test]
    fn removals_free_pages() {
        let mut random = Random::new(3);
        let keys: Vec<u64> = (0..4000).map(|i| (i << 40) | random.below(1 << 40)).collect();
        for order in [keys.clone(), shuffled(keys.clone(), 1)] {
            let structure = lipp();
            let mut harness = StructureHarness::new(&structure, IndexLayout::default(), PAGE_BYTES, &keys);
            let before = pages_of(&structure, &harness);
            order.iter().skip(125).for_each(|&key| harness.remove(key, Amount::One));
            harness.check();
            let after = pages_of(&structure, &harness);
            assert!(after * 4 <= before, "{before} pages before, {after} after");
        }
    }

    #[test]
    fn appends_keep_the_file_small() {
        let structure = lipp();
        let keys: Vec<u64> = (0..6000).map(|i| (1 << 50) | (i * 1024)).collect();
        let mut harness = StructureHarness::new(&structure, IndexLayout::default(), PAGE_BYTES, &keys[..1000]);
        keys[1000..].iter().for_each(|&key| harness.insert(key));
        harness.check();
        let pages = pages_of(&structure, &harness);
        assert!(pages <= 2600, "{pages} pages");
    }
}
