//! B+-tree leaves beyond the common tests of structures. Goal: leaves are as many and as full as documented, appends
//! and runs of equal keys cost what they should, and verify finds every broken promise. Method: counted pages, and
//! leaves that are damaged byte by byte.

use ogive::Result;
use ogive::index::extend::{
    Amount, BtreeRouter, Gap, IndexLayout, IndexStatistics, IndexVisit, LeafTree, Router, RouterBuilder, Structure,
    Visitor, Word,
};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};
use ogive_testkit::Random;
use ogive_testkit::index::{CountedPages, SortedEntries, StructureHarness, counts_blocks, page_file, word};

const PAGE_BYTES: usize = 4096;

fn tree(layout: IndexLayout) -> LeafTree<BtreeRouter> {
    LeafTree::new(BtreeRouter::default(), layout)
}

fn statistics(harness: &StructureHarness<'_, u64>) -> IndexStatistics {
    harness.with_pages(|pages| harness.structure.statistics(pages, &harness.state).unwrap())
}

#[test]
fn a_bulk_load_fills_leaves_and_inner_nodes_as_it_is_told() {
    let tree = tree(IndexLayout::default());
    let keys: Vec<u64> = (0..203 * 600).map(|i| i * 10).collect();
    let harness = StructureHarness::new(&tree, IndexLayout::default(), PAGE_BYTES, &keys);
    let statistics = statistics(&harness);
    assert_eq!(statistics.leaves, 600, "254 entries fit a leaf, 203 are 80 %");
    // 599 separators: 340 fit an inner node, 272 are 80 %; then what is left is shared by two.
    let pages: Vec<u64> = statistics.levels.iter().map(|level| level.pages).collect();
    assert_eq!(pages, [1, 3, 600]);
    assert_eq!(statistics.height, 3);
    assert_eq!(harness.state.len(), 24 + 5);
}

#[test]
fn a_look_up_reads_each_level_once_and_one_beyond_the_last_separator_only_the_leaf() {
    let keys: Vec<u64> = (0..100_000).map(|i| i * 7).collect();
    let tree = tree(IndexLayout::default());
    let (mean, most) = counts_blocks(&tree, IndexLayout::default(), PAGE_BYTES, &keys[..keys.len() - 300]);
    assert!(most == 3 && mean > 2.9, "{mean} blocks a lookup, at most {most}");
    let harness = StructureHarness::new(&tree, IndexLayout::default(), PAGE_BYTES, &keys);
    assert_eq!(harness.blocks_of_get(keys[99_999]), 1);
    assert_eq!(harness.blocks_of_get(u64::MAX), 1);
    harness.with_pages(|pages| {
        let counted = CountedPages::new(pages);
        tree.get(&counted, &harness.state, keys[500], &mut [0; 8]).unwrap();
        assert_eq!((counted.requests(), counted.inner_blocks()), (3, 2));
    });
}

#[test]
fn appends_leave_full_leaves_and_full_inner_nodes_behind() {
    let tree = tree(IndexLayout::default());
    let mut harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &[]);
    (0..30 * 1000).for_each(|i| harness.insert(i * 3));
    harness.check();
    let statistics = statistics(&harness);
    assert_eq!(statistics.leaves, 1000, "30 entries fit a leaf");
    assert!(statistics.levels[1].pages <= 27, "41 children fit an inner node, 999 / 41 = 25: {:?}", statistics.levels);
}

#[test]
fn a_tree_that_lost_all_entries_is_one_empty_leaf_and_its_pages_are_used_again() {
    let tree = tree(IndexLayout::default());
    let mut harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &[]);
    let mut pages = Vec::new();
    for round in 0..6 {
        let mut random = Random::new(round);
        let keys: Vec<u64> = (0..3000).map(|_| random.below(1 << 40)).collect();
        keys.iter().for_each(|&key| harness.insert(key));
        keys.iter().for_each(|&key| harness.remove(key, Amount::One));
        harness.commit();
        let statistics = statistics(&harness);
        assert_eq!((statistics.leaf_pages, statistics.inner_pages, statistics.entries), (1, 0, 0));
        pages.push(harness.with_pages(|pages| pages.page_count()));
    }
    assert!(pages[5] <= pages[0] + pages[0] / 10, "pages of the file after each round: {pages:?}");
}

#[test]
fn the_last_leaf_is_known_after_the_one_behind_it_is_gone() {
    let tree = tree(IndexLayout::default());
    let keys: Vec<u64> = (0..3000).map(|i| i * 10).collect();
    let mut harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &keys);
    for (rank, &key) in keys.iter().enumerate().rev().take(2500) {
        harness.remove(key, Amount::One);
        assert_eq!(harness.blocks_of_get(keys[rank - 1]), 1);
    }
}

#[test]
fn random_removals_leave_leaves_two_fifths_full() {
    let tree = tree(IndexLayout::default());
    let keys: Vec<u64> = (0..40_000).map(|i| i * 5).collect();
    let mut harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &keys);
    let mut random = Random::new(1);
    let mut left = keys.clone();
    while left.len() > 10_000 {
        let key = left.swap_remove(random.below(left.len() as u64) as usize);
        harness.remove(key, Amount::One);
    }
    let statistics = statistics(&harness);
    assert!(statistics.entries * 100 / (statistics.leaves * 30) >= 40, "{statistics:?}");
    harness.check();
}

#[test]
fn many_look_ups_at_once_find_what_single_ones_find() {
    let tree = tree(IndexLayout::default());
    let keys: Vec<u64> = (0..20_000).map(|i| i * i).collect();
    let harness = StructureHarness::new(&tree, IndexLayout::default(), 512, &keys);
    let mut asked: Vec<u64> = (0..1000).map(|i| i * i * 400 + i % 2).chain([u64::MAX, u64::MAX]).collect();
    asked.sort_unstable();
    let (mut payloads, mut found) = (vec![0; asked.len() * 8], vec![false; asked.len()]);
    harness.with_pages(|pages| {
        tree.get_many(pages, &harness.state, &asked, &mut payloads, &mut found).unwrap();
        for (i, &key) in asked.iter().enumerate() {
            let mut payload = [0; 8];
            assert_eq!(tree.get(pages, &harness.state, key, &mut payload).unwrap(), found[i]);
            assert_eq!(payload, payloads[i * 8..][..8], "payload of {key}");
        }
    });
}

#[test]
fn equal_keys_keep_their_order_while_they_fit_a_leaf() {
    let layout = IndexLayout { duplicates: true, ..IndexLayout::default() };
    let tree = tree(layout);
    let mut harness = StructureHarness::<u64>::new(&tree, layout, 512, &[]);
    for i in 0..60 {
        harness.insert(i % 3);
    }
    harness.with_pages(|pages| {
        let mut cursor = Structure::<u64>::cursor(&tree, &harness.state).unwrap();
        cursor.seek(pages, 0).unwrap();
        let mut payload = [0; 8];
        for key in 0..3 {
            for i in 0..20 {
                assert_eq!(cursor.next(pages, &mut payload).unwrap(), Some(key));
                assert_eq!(payload[..], harness.model[&key][i][..]);
            }
        }
    });
}

#[test]
fn a_long_run_of_equal_keys_costs_no_walk_along_it() {
    let layout = IndexLayout { duplicates: true, ..IndexLayout::default() };
    let tree = tree(layout);
    let keys: Vec<u64> = [vec![1; 50], vec![5; 20_000], vec![9; 50]].concat();
    let mut harness = StructureHarness::new(&tree, layout, 512, &keys);
    for _ in 0..2000 {
        harness.insert(5);
    }
    harness.check();
    harness.with_pages(|pages| {
        for (back, key) in [(false, 5), (true, 5), (true, 4), (false, 6)] {
            let counted = CountedPages::new(pages);
            let mut cursor = Structure::<u64>::cursor(&tree, &harness.state).unwrap();
            if back { cursor.seek_back(&counted, key) } else { cursor.seek(&counted, key) }.unwrap();
            cursor.previous(&counted, &mut [0; 8]).unwrap();
            assert!(counted.blocks() <= 5, "{} blocks to seek {key}", counted.blocks());
        }
    });
    let leaves = statistics(&harness).leaves;
    assert!(leaves < 22_100 / 24, "{leaves} leaves");
    harness.remove(5, Amount::All);
    harness.check();
}

/// Wants each leaf to end as early as it may.
#[derive(Debug)]
struct Hasty(BtreeRouter);

#[derive(Debug)]
struct HastyBuilder(Box<dyn RouterBuilder<u64>>);

impl RouterBuilder<u64> for HastyBuilder {
    fn choose_end(&mut self, keys: &[u64], least: usize, near: usize, most: usize) -> usize {
        assert!(least <= near && near <= most && most < keys.len());
        least
    }

    fn push(&mut self, tx: &mut Transaction, gap: Gap<u64>, leaf: PageNumber) -> Result<()> {
        self.0.push(tx, Gap { low: gap.high, ..gap }, leaf)
    }

    fn finish(self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>> {
        self.0.finish(tx)
    }
}

type Claim<'a> = &'a mut dyn FnMut(PageNumber, u32) -> Result<()>;
type Told<'a> = &'a mut dyn FnMut(u64, PageNumber) -> Result<()>;

impl Router<u64> for Hasty {
    fn builder(&self, tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<u64>>> {
        Ok(Box::new(HastyBuilder(self.0.builder(tx)?)))
    }

    fn find(&self, pages: &dyn Pages, state: &[u8], key: u64) -> Result<Option<PageNumber>> {
        self.0.find(pages, state, key)
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<u64>, leaf: PageNumber) -> Result<()> {
        // As far from the keys of the leaf as may be.
        self.0.insert(tx, state, Gap { low: gap.high, ..gap }, leaf)
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: u64) -> Result<Option<PageNumber>> {
        self.0.remove(tx, state, key)
    }

    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: u64, leaf: PageNumber) -> Result<bool> {
        self.0.replace(tx, state, key, leaf)
    }

    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: Claim<'_>, leaf: Told<'_>) -> Result<()> {
        self.0.walk(pages, state, claim, leaf)
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        Router::<u64>::statistics(&self.0, pages, state)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: u64) -> Result<Vec<IndexVisit>> {
        self.0.explain(pages, state, key)
    }
}

#[test]
fn a_router_that_ends_leaves_early_makes_at_most_half_a_percent_more() {
    let hasty = LeafTree::new(Hasty(BtreeRouter::default()), IndexLayout::default());
    let keys: Vec<u64> = (0..203 * 5000).collect();
    let harness = StructureHarness::new(&hasty, IndexLayout::default(), PAGE_BYTES, &keys);
    let leaves = statistics(&harness).leaves;
    assert!((5001..=5025).contains(&leaves), "{leaves} leaves");
}

mod separators_at_the_far_end_of_their_gaps {
    use super::*;

    ogive_testkit::structure_tests!(
        under_leaves,
        u64,
        |layout| Box::new(LeafTree::new(Hasty(BtreeRouter::default()), layout)),
        duplicates
    );
}

#[test]
fn a_stream_out_of_order_is_refused() {
    for (duplicates, keys) in [(false, vec![1_u64, 2, 2]), (true, vec![1, 2, 2, 1])] {
        let layout = IndexLayout { duplicates, ..IndexLayout::default() };
        let mut tx = page_file(512).begin().unwrap();
        let entries = keys.iter().map(|&key| (key, vec![0; 8])).collect();
        tree(layout).bulk_load(&mut tx, &mut SortedEntries::<u64>::new(entries)).unwrap_err();
    }
}

/// Listens to nothing.
struct Deaf;

impl<W: Word> Visitor<W> for Deaf {
    fn pages(&mut self, _first: PageNumber, _pages: u32) -> Result<()> {
        Ok(())
    }

    fn entry(&mut self, _key: W) -> Result<()> {
        Ok(())
    }
}

#[test]
fn verify_finds_each_promise_that_a_leaf_breaks() {
    let tree = tree(IndexLayout::default());
    let keys: Vec<u64> = (1..2000).map(|i| word::<u64>(i * 1000)).collect();
    let file = page_file(512);
    let mut tx = file.begin().unwrap();
    let entries = keys.iter().map(|&key| (key, vec![7; 8])).collect();
    let state = tree.bulk_load(&mut tx, &mut SortedEntries::new(entries)).unwrap();
    tx.set_state(&state);
    tx.commit().unwrap();
    let verify = |pages: &dyn Pages, state: &[u8]| Structure::<u64>::verify(&tree, pages, state, &mut Deaf);
    let visits = tree.explain(&file.begin().unwrap(), &state, keys[1000]).unwrap();
    let leaf = visits.last().unwrap().page;
    verify(&file.begin().unwrap(), &state).unwrap();
    // The flags, the count, the links, the first key, the fourth, the last; and the separators and children above.
    let breaks: [(PageNumber, usize, &[u8]); 8] = [
        (leaf, 0, &[0xa5]),
        (leaf, 1, &[31]),
        (leaf, 3, &[0, 0, 0, 0]),
        (leaf, 7, &[1, 0, 0, 0]),
        (leaf, 11, &[0; 8]),
        (leaf, 11 + 16 * 3, &[0; 8]),
        (leaf, 11 + 16 * 23, &[0xff; 8]),
        (visits[visits.len() - 2].page, 4, &[0; 8]),
    ];
    for (page, offset, bytes) in breaks {
        let mut tx = file.begin().unwrap();
        tx.edit(page, Purpose::Walk).unwrap().write(offset, bytes);
        assert!(verify(&tx, &state).is_err(), "bytes at {offset} of page {page} are overwritten");
    }
    for byte in 0..state.len() {
        let mut state = state.clone();
        state[byte] ^= 1;
        // What lies above the greatest separator may be a little higher: it is a promise in one direction.
        let slack = (state.len() - 8..state.len()).contains(&byte);
        assert!(slack || verify(&file.begin().unwrap(), &state).is_err(), "byte {byte} of the state");
    }
}
