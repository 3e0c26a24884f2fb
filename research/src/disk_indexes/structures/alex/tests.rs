//! Tests of ALEX: conformance, and bounds on height and file size for all key sets and insert orders.

use super::{Alex, AlexOptions};
use ogive::index::extend::IndexLayout;
use ogive_testkit::structure_tests;

structure_tests!(narrow_keys, u64, |layout: IndexLayout| Box::new(Alex::new(&layout, AlexOptions::default())));
structure_tests!(wide_keys, u128, |layout: IndexLayout| Box::new(Alex::new(&layout, AlexOptions::default())));

mod bounds {
    use super::{Alex, AlexOptions, IndexLayout};
    use crate::disk_indexes::structures::hard_inserts::{closing_inserts, hard_inserts};
    use ogive::index::extend::{Amount, Structure, Word};
    use ogive_testkit::Random;
    use ogive_testkit::index::{StructureHarness, counts_blocks, shuffled};

    const PAGE_BYTES: usize = 512;
    /// Number of slots of a page of that size.
    const SLOTS: usize = 29;

    fn alex() -> Alex {
        Alex::new(&IndexLayout::default(), AlexOptions::default())
    }

    /// Inserts keys one by one, and checks the height and the number of pages of the tree.
    fn grows_within_bounds(name: &str, keys: &[u64]) {
        let alex = alex();
        let mut harness = StructureHarness::new(&alex, IndexLayout::default(), PAGE_BYTES, &[]);
        keys.iter().for_each(|&key| harness.insert(key));
        harness.check();
        let statistics =
            harness.with_pages(|pages| Structure::<u64>::statistics(&alex, pages, &harness.state).unwrap());
        let least_pages = keys.len().div_ceil(SLOTS) as u64;
        let pages = statistics.leaf_pages + statistics.inner_pages;
        assert!(statistics.height <= 7, "{name}: height {}", statistics.height);
        assert!(pages <= 64 + 3 * least_pages, "{name}: {pages} pages, {least_pages} at least");
    }

    /// The authors' code reaches a depth of 855 on lognormal inserts, and runs out of memory after a few hundred
    /// adversarial ones.
    #[test]
    fn hard_insert_orders_keep_tree_and_file_small() {
        hard_inserts().iter().for_each(|(name, keys)| grows_within_bounds(name, keys));
    }

    /// Each key halves the distance to a fixed one, so that a line never divides the keys to come.
    #[test]
    fn converging_keys_keep_the_tree_low() {
        closing_inserts().iter().for_each(|(name, keys)| grows_within_bounds(name, keys));
    }

    #[test]
    fn evenly_spaced_keys_cost_two_blocks() {
        let keys: Vec<u64> = (0..20_000).map(|i| i * 1000).collect();
        let (mean, most) = counts_blocks(&alex(), IndexLayout::default(), 4096, &keys);
        assert!(mean < 2.01 && most <= 3, "{mean} blocks on average, {most} at most");
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
            let structure = alex();
            let mut harness = StructureHarness::new(&structure, IndexLayout::default(), PAGE_BYTES, &keys);
            let before = pages_of(&structure, &harness);
            order.iter().skip(125).for_each(|&key| harness.remove(key, Amount::One));
            harness.check();
            let after = pages_of(&structure, &harness);
            assert!(after * 8 <= before, "{before} pages before, {after} after");
        }
    }

    #[test]
    fn appends_keep_the_file_small() {
        let structure = alex();
        let keys: Vec<u64> = (0..6000).map(|i| (1 << 50) | (i * 1024)).collect();
        let mut harness = StructureHarness::new(&structure, IndexLayout::default(), PAGE_BYTES, &keys[..1000]);
        keys[1000..].iter().for_each(|&key| harness.insert(key));
        harness.check();
        let pages = pages_of(&structure, &harness);
        assert!(pages <= 260, "{pages} pages");
    }
}
