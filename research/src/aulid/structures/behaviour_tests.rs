//! Tests of AULID beyond its answers: nodes are created and removed as in the paper, paths stay short for all key sets,
//! and the read optimisations save blocks. They use separators only, in pages of the default size.

use super::shape::AulidLayout;
use super::{AulidOptions, AulidRouter};
use ogive::index::extend::{Gap, IndexStatistics, Router};
use ogive::page::{PageNumber, PageWriteStatistics, Transaction};
use ogive_testkit::Random;
use ogive_testkit::index::{CountedPages, page_file};

const PAGE_BYTES: usize = 4096;

struct Tree {
    router: AulidRouter,
    tx: Transaction,
    state: Vec<u8>,
    /// The leaf of all separators.
    leaf: PageNumber,
}

impl Tree {
    fn load(options: AulidOptions, separators: &[u64]) -> Self {
        let router = AulidRouter::new(options);
        let mut tx = page_file(PAGE_BYTES).begin().unwrap();
        let leaf = tx.allocate().unwrap();
        let mut builder = router.builder(&mut tx).unwrap();
        for &separator in separators {
            builder.push(&mut tx, Gap { low: separator, high: separator }, leaf).unwrap();
        }
        let state = builder.finish(&mut tx).unwrap();
        Self { router, tx, state, leaf }
    }

    fn insert(&mut self, separator: u64) {
        let gap = Gap { low: separator, high: separator };
        self.router.insert(&mut self.tx, &mut self.state, gap, self.leaf).unwrap();
    }

    fn remove(&mut self, separator: u64) {
        let leaf = self.router.remove(&mut self.tx, &mut self.state, separator).unwrap();
        assert_eq!(leaf, Some(self.leaf), "{separator}");
    }

    /// Statistics, after a validating walk.
    fn statistics(&self) -> IndexStatistics {
        let router: &dyn Router<u64> = &self.router;
        router.walk(&self.tx, &self.state, &mut |_, _| Ok(()), &mut |_, _| Ok(())).unwrap();
        router.statistics(&self.tx, &self.state).unwrap()
    }

    fn detail(&self, name: &str) -> u64 {
        self.statistics().details.iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// Numbers of mixed nodes, packed arrays, and two-layer nodes.
    fn nodes(&self) -> (u64, u64, u64) {
        (self.detail("mixed nodes"), self.detail("packed arrays"), self.detail("two-layer nodes"))
    }

    /// Total number of pages read by lookups of many keys.
    fn blocks(&self, keys: impl Iterator<Item = u64>) -> usize {
        let one = |key| {
            let pages = CountedPages::new(&self.tx);
            self.router.find(&pages, &self.state, key).unwrap();
            pages.blocks()
        };
        keys.map(one).sum()
    }
}

#[test]
fn slots_grow_through_all_kinds_and_shrink_back() {
    const BASE: u64 = 1 << 61;
    let mut tree = Tree::load(AulidOptions { adjust: false, ..AulidOptions::default() }, &[0, 1 << 62]);
    assert_eq!(tree.nodes(), (1, 0, 0));
    let mut inserted = 0;
    let mut grow_to = |tree: &mut Tree, count: u64| {
        (inserted..count).for_each(|i| tree.insert(BASE + i));
        inserted = count;
        tree.nodes()
    };
    assert_eq!(grow_to(&mut tree, 1), (1, 0, 0), "a DATA slot");
    for size in [2, 4, 5, 8, 9, 16, 17, 32, 33, 64] {
        assert_eq!(grow_to(&mut tree, size), (1, 1, 0), "an array of {size}");
    }
    let shape = AulidLayout { payload_bytes: PAGE_BYTES - 8, key_bytes: 8 };
    assert_eq!(grow_to(&mut tree, 65), (1, 0, 1), "a two-layer node");
    assert_eq!(grow_to(&mut tree, shape.children_items_max() as u64), (1, 0, 1), "a full two-layer node");
    assert!(shape.children_items_max() >= 1020, "the paper's two-layer nodes hold 1,020");
    grow_to(&mut tree, 4 * shape.child_capacity() as u64 + 1);
    assert_eq!(tree.nodes().0, 2, "a mixed node beneath the root");
    let mut last = u64::MAX;
    for i in (0..inserted).rev() {
        tree.remove(BASE + i);
        if i % 50 == 0 {
            let (mixed, ..) = tree.nodes();
            assert!(mixed <= last, "nodes are removed");
            last = mixed;
        }
    }
    assert_eq!(tree.nodes(), (1, 0, 0));
    assert_eq!(tree.statistics().entries, 2);
    tree.remove(0);
    tree.remove(1);
    assert!(tree.statistics().inner_pages <= 1, "only the heads of the lists are left");
}

/// Adversarial insert orders.
fn attacks(count: u64) -> Vec<(&'static str, Vec<u64>)> {
    vec![
        ("appends", (0..count).map(|i| (1 << 53) + i).collect()),
        ("prepends", (0..count).map(|i| (1 << 63) - i).collect()),
        ("zig-zag", (0..count).map(|i| if i % 2 == 0 { 1000 + i } else { u64::MAX - i }).collect()),
        ("clusters 2^43 apart", (0..count).map(|i| ((i * 7919 % 1000) << 43) + i / 1000).collect()),
        ("nested halves", (0..count).map(|i| (1 << 63) - (1 << (63 - i % 40)) + i / 40).collect()),
        ("into one gap", (0..count).map(|i| if i < 100 { i << 50 } else { (7 << 50) + 1 + i }).collect()),
    ]
}

#[test]
fn paths_stay_short_for_adversarial_inserts() {
    for (name, separators) in attacks(6000) {
        let mut tree = Tree::load(AulidOptions::default(), &[]);
        separators.iter().for_each(|&separator| tree.insert(separator));
        let statistics = tree.statistics();
        assert_eq!(statistics.entries, separators.len() as u64, "{name}");
        assert!(statistics.height <= 4, "{name}: {} layers", statistics.height);
        let bytes_per_leaf = statistics.inner_pages * PAGE_BYTES as u64 / statistics.entries;
        assert!(bytes_per_leaf <= 400, "{name}: {bytes_per_leaf} bytes per leaf");
        // Until a node has grown to beta times its size, all new leaves may be deep; and some key sets are so uneven
        // that no node built from them is shallow.
        let deep = |tree: &Tree| tree.detail("leaves in the third layer or deeper");
        let mut sorted = separators;
        sorted.sort_unstable();
        let loaded = deep(&Tree::load(AulidOptions { slots_per_leaf: Some(6), ..AulidOptions::default() }, &sorted));
        let most = loaded + statistics.entries * 26 / 100;
        assert!(deep(&tree) <= most, "{name}: {} leaves lie deep, and {loaded} after a bulk load", deep(&tree));
    }
}

#[test]
fn without_adjust_paths_are_longer_but_bounded() {
    let (name, separators) = attacks(6000).swap_remove(0);
    let mut tree = Tree::load(AulidOptions { adjust: false, ..AulidOptions::default() }, &[]);
    separators.iter().for_each(|&separator| tree.insert(separator));
    let deep = tree.detail("leaves in the third layer or deeper");
    assert!(deep > 3000, "{name}: {deep}");
    assert!(tree.statistics().height <= 26);
}

fn scattered(count: usize) -> Vec<u64> {
    let mut random = Random::new(17);
    let mut separators: Vec<u64> = (0..count).map(|_| random.below(1 << 60)).collect();
    separators.sort_unstable();
    separators.dedup();
    separators
}

#[test]
fn layers_cost_one_block_and_optimisations_save_some() {
    let separators = scattered(20_000);
    let mut random = Random::new(3);
    let keys: Vec<u64> = (0..4000).map(|_| random.below(1 << 60)).collect();
    let blocks = |options| Tree::load(options, &separators).blocks(keys.iter().copied());
    let default = AulidOptions::default();
    let plain = blocks(default);
    let least: usize = {
        let tree = Tree::load(default, &separators);
        let path = |&key: &u64| tree.router.explain(&tree.tx, &tree.state, key).unwrap().len();
        keys.iter().map(path).sum()
    };
    assert!(plain < least + least / 20, "{plain} blocks for {least} nodes");
    assert!(blocks(AulidOptions { fulfill: true, ..default }) < plain, "Fulfill saves blocks");
    let needless = blocks(AulidOptions { scan_forward: false, ..default });
    assert!(needless > plain + plain / 100, "{needless} without ScanForward, {plain} with it");
}

#[test]
fn slots_and_metanode_have_the_documented_sizes() {
    let tree = Tree::load(AulidOptions::default(), &scattered(3000));
    // Together with the 24 bytes of the leaves, this is less than the paper's 80.
    assert_eq!(tree.state.len(), 50);
    assert_eq!(AulidLayout { payload_bytes: PAGE_BYTES - 8, key_bytes: 8 }.slot_bytes(), 16);
    assert_eq!(AulidLayout { payload_bytes: PAGE_BYTES - 8, key_bytes: 16 }.slot_bytes(), 24);
}

#[test]
fn inserts_change_few_pages() {
    let separators = scattered(6000);
    let mut tree = Tree::load(AulidOptions::default(), &separators);
    let before = tree.tx.write_statistics();
    let mut random = Random::new(23);
    let mut inserted = 0;
    while inserted < 500 {
        let separator = random.below(1 << 60);
        if separators.binary_search(&separator).is_err() {
            tree.insert(separator);
            inserted += 1;
        }
    }
    let changed =
        |statistics: &PageWriteStatistics| statistics.phases.values().map(|phase| phase.pages_changed).sum::<u64>();
    let pages = changed(&tree.tx.write_statistics()) - changed(&before);
    assert!(pages <= 4 * inserted, "{pages} pages changed by {inserted} inserts");
}
