//! Conformance tests of the updatable AirIndex, on storages with different layers; drift and rebuilds; wrong models.

use super::hierarchy::LayerForm;
use super::metanode::{AirMetanode, ROOT_BYTES_MAX, RootNodes};
use super::{AirIndexOptions, AirIndexRouter};
use crate::AIRINDEX;
use ogive::index::extend::{Gap, LeafTree, Router, Structure, Word};
use ogive::index::{Index, IndexLayout, IndexOptions, IndexStatistics};
use ogive::io::{MemoryStorage, Profile};
use ogive::page::{PageFile, Transaction};
use ogive_model::line::{self, LineNode};
use ogive_model::step::{self, StepPiece};
use ogive_testkit::index::{CountedPages, page_file};
use ogive_testkit::{Random, router_tests, structure_tests};
use std::sync::Arc;

/// A storage on which each byte counts: layers of small pages.
fn slow_transfer() -> AirIndexOptions {
    AirIndexOptions { latency_us: 1.0, bandwidth_mb_per_s: 1.0, ..AirIndexOptions::default() }
}

/// A storage on which the number of reads counts: the directory is read as a whole.
fn far_away() -> AirIndexOptions {
    AirIndexOptions { latency_us: 1e6, bandwidth_mb_per_s: 1e6, ..AirIndexOptions::default() }
}

fn router<W: Word>(options: AirIndexOptions) -> Box<dyn Router<W>> {
    Box::new(AirIndexRouter::new(options, IndexLayout { fill_percent: 80, ..IndexLayout::default() }))
}

fn tree<W: Word>(options: AirIndexOptions, layout: IndexLayout) -> Box<dyn Structure<W>> {
    Box::new(LeafTree::new(AirIndexRouter::new(options, layout), layout))
}

router_tests!(short_keys, u64, || router(AirIndexOptions::default()));
router_tests!(long_keys, u128, || router(AirIndexOptions::default()));
router_tests!(layers_of_small_pages, u64, || router(slow_transfer()));
router_tests!(wide_layers_of_small_pages, u128, || router(slow_transfer()));
router_tests!(one_wide_window, u64, || router(far_away()));
router_tests!(no_rebuild_by_cost, u64, || router(AirIndexOptions { lookups_per_insert: 0.0, ..slow_transfer() }));
router_tests!(rebuilds_at_once, u64, || router(AirIndexOptions { lookups_per_insert: 1e9, ..slow_transfer() }));
structure_tests!(under_leaves, u64, |layout| tree(AirIndexOptions::default(), layout), duplicates);
structure_tests!(under_leaves_of_long_keys, u128, |layout| tree(slow_transfer(), layout), duplicates);

/// The separator of a leaf: neither dense nor linear.
fn separator(leaf: u64) -> u64 {
    leaf * leaf * 977 + leaf % 5
}

/// A directory of this many leaves in small pages.
fn built(file: &PageFile, options: AirIndexOptions, leaves: u64) -> (Transaction, AirMetanode<u64>) {
    let mut tx = file.begin().unwrap();
    let router = AirIndexRouter::new(options, IndexLayout::default());
    let mut builder = Router::<u64>::builder(&router, &mut tx).unwrap();
    for leaf in 1..=leaves {
        let gap = Gap { low: separator(leaf), high: separator(leaf) };
        builder.push(&mut tx, gap, leaf as u32).unwrap();
    }
    let state = builder.finish(&mut tx).unwrap();
    let metanode = AirMetanode::decode(&tx, &state).unwrap();
    (tx, metanode)
}

/// Roots that lead anywhere within `children` pages, in valid nodes.
fn wrong_roots(children: u64) -> Vec<RootNodes> {
    let middle = separator(1500);
    let mut roots = Vec::new();
    for first_child in [0, 1, children / 2, children - 1] {
        for (slope, window) in [(0.0, 1), (1e-9, 2), (1e9, 1)] {
            let mut bytes = Vec::new();
            line::encode(&[LineNode { start: middle, first_child, slope, window, drop: 0 }], &mut bytes);
            roots.push(RootNodes { form: LayerForm::Lines, count: 1, bytes });
        }
        let mut bytes = Vec::new();
        step::encode(&[StepPiece { separator: middle, first_child }], &mut bytes);
        roots.push(RootNodes { form: LayerForm::Steps, count: 1, bytes });
    }
    roots
}

#[test]
fn a_wrong_model_changes_no_answer_and_reads_each_page_once() {
    let file = page_file(512);
    let (tx, mut metanode) = built(&file, far_away(), 3000);
    let children = metanode.directory.pages;
    assert!(children > 20 && metanode.layers.is_empty(), "{metanode:?}");
    for root in wrong_roots(u64::from(children)) {
        metanode.root = Some(root);
        for leaf in (1..=3000).step_by(7) {
            for (key, expected) in
                [(separator(leaf), leaf), (separator(leaf) - 1, leaf), (separator(leaf) + 1, leaf + 1)]
            {
                let pages = CountedPages::new(&tx);
                let found = metanode.find(&pages, key).unwrap();
                assert_eq!(found, (expected <= 3000).then_some(expected as u32), "{key} by {:?}", metanode.root);
                // A key above the last separator of its page reads the next page for the leaf.
                assert!(pages.requests() <= u64::from(children) + 1, "{} reads", pages.requests());
            }
        }
    }
}

#[test]
fn layers_follow_the_storage() {
    let file = page_file(512);
    let (tx, far) = built(&file, far_away(), 3000);
    let reads = |tx: &Transaction, metanode: &AirMetanode<u64>| {
        let pages = CountedPages::new(tx);
        metanode.find(&pages, separator(2000)).unwrap();
        pages.blocks()
    };
    assert_eq!(far.layers, []);
    drop(tx);
    // Where each byte counts, a lookup reads few pages, through layers.
    let (tx, near) = built(&file, slow_transfer(), 3000);
    assert!(near.root.is_some() || !near.layers.is_empty());
    assert!(reads(&tx, &near) <= 3, "{} reads by {near:?}", reads(&tx, &near));
    assert!(near.root.is_none_or(|root| root.bytes.len() <= ROOT_BYTES_MAX));
}

/// Modifications of an index that grows from 2,000 to 42,000 random keys, and its statistics at the end.
fn grown(lookups_per_insert: f64) -> (u64, u64, IndexStatistics) {
    AIRINDEX.register().unwrap();
    let tunables = AirIndexOptions { lookups_per_insert, ..AirIndexOptions::default() }.tunables();
    let mut options = IndexOptions::default().kind(AIRINDEX).tunables(tunables);
    options.pages.page_bytes = 512;
    let index: Index<u64, u64> = Index::create((Arc::new(MemoryStorage::new()), "index"), &options).unwrap();
    index.bulk_load((0..2000).map(|i| (i << 50, i))).unwrap();
    let mut random = Random::new(3);
    let mut transaction = index.write().unwrap();
    for i in 0..40_000 {
        transaction.insert(random.next_u64(), i).unwrap();
    }
    let counts = transaction.write_statistics().structure_modifications.clone();
    transaction.commit().unwrap();
    index.reader().unwrap().verify().unwrap();
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    (of("overflow page"), of("hierarchy rebuild"), index.statistics().unwrap())
}

#[test]
fn a_hierarchy_that_drifts_is_rebuilt_when_it_has_cost_as_much() {
    let overflow_pages = |statistics: &IndexStatistics| {
        statistics.details.iter().find(|(name, _)| *name == "overflow pages").map_or(0, |&(_, pages)| pages)
    };
    let (overflows, rarely, last) = grown(0.0);
    assert!(overflows > rarely && rarely > 0, "{overflows} overflow pages, {rarely} rebuilds");
    let (_, by_cost, balanced) = grown(1.0);
    let (overflows_at_once, at_once, first) = grown(1e9);
    assert!(rarely < by_cost && by_cost < at_once, "{rarely}, {by_cost}, {at_once} rebuilds");
    assert_eq!(overflows_at_once, at_once);
    assert_eq!(overflow_pages(&first), 0);
    assert!(overflow_pages(&balanced) < overflow_pages(&last));
}

#[test]
fn options_describe_a_profile_and_the_tuned_leaves_grow_with_latency() {
    let keys: Vec<u64> = (0..400_000_u64).map(|i| i * i).collect();
    let mut sizes = Vec::new();
    for name in ["optane", "nfs"] {
        let named = Profile::named(name).unwrap();
        let options = AirIndexOptions::for_profile(&named);
        let profile = options.profile().unwrap();
        for bytes in [0, 4096, 1 << 20] {
            let (ours, theirs) = (profile.time_us(bytes), named.time_us(bytes));
            assert!((ours / theirs - 1.0).abs() < 1e-6, "{name}: {ours} us, {theirs} us");
        }
        sizes.push(options.tuned_page_bytes(&keys, IndexLayout::default()));
    }
    assert!(sizes.is_sorted() && sizes[0] == 4096, "{sizes:?}");
    let constant = AirIndexOptions { latency_us: 0.0, ..AirIndexOptions::default() };
    assert!(constant.profile().is_none());
}
