//! The structures of the engine and the common tests. Goal: each structure and each router agrees with a map, whatever
//! the keys, on pages as small as they may be; and coded inner nodes never take more pages than those of a B+-tree.
//! Method: the tests of the test kit; statistics of both routers on the same separators, in several orders.

use ogive::index::extend::{BtreeRouter, CodedRouter, Gap, IndexStatistics, LeafTree, Router, Word};
use ogive_testkit::index::{page_file, word};
use ogive_testkit::{Random, key_sets, router_tests, structure_tests};

structure_tests!(
    btree_of_short_keys,
    u64,
    |layout| Box::new(LeafTree::new(BtreeRouter::default(), layout)),
    duplicates
);
structure_tests!(
    btree_of_long_keys,
    u128,
    |layout| Box::new(LeafTree::new(BtreeRouter::default(), layout)),
    duplicates
);
structure_tests!(ogive_of_short_keys, u64, |layout| Box::new(LeafTree::new(CodedRouter::new(), layout)), duplicates);
structure_tests!(ogive_of_long_keys, u128, |layout| Box::new(LeafTree::new(CodedRouter::new(), layout)), duplicates);

router_tests!(btree_router_of_short_keys, u64, || Box::new(BtreeRouter::default()));
router_tests!(btree_router_of_long_keys, u128, || Box::new(BtreeRouter { fill_percent: 100 }));
router_tests!(coded_router_of_short_keys, u64, || Box::new(CodedRouter::new()));
router_tests!(coded_router_of_long_keys, u128, || Box::new(CodedRouter::new()));

const PAGE_BYTES: usize = 512;

/// Statistics of a map of these gaps, of which the first `loaded` in the order given are bulk-loaded and the others
/// inserted.
fn statistics<W: Word>(router: &dyn Router<W>, gaps: &[Gap<W>], order: &[usize], loaded: usize) -> IndexStatistics {
    let file = page_file(PAGE_BYTES);
    let mut tx = file.begin().unwrap();
    let (first, rest) = order.split_at(loaded);
    let mut first = first.to_vec();
    first.sort_unstable();
    let leaves = tx.allocate_extent(gaps.len() as u32 + 1).unwrap();
    let mut builder = router.builder(&mut tx).unwrap();
    for place in first {
        builder.push(&mut tx, gaps[place], leaves + place as u32).unwrap();
    }
    let mut state = builder.finish(&mut tx).unwrap();
    for &place in rest {
        router.insert(&mut tx, &mut state, gaps[place], leaves + place as u32).unwrap();
    }
    router.statistics(&tx, &state).unwrap()
}

/// The places of `count` gaps: ascending, descending, from both ends, in any order, and in the order that hits one
/// place again and again.
fn orders(count: usize) -> Vec<(&'static str, Vec<usize>)> {
    let mut random = Random::new(4);
    let ascending: Vec<usize> = (0..count).collect();
    let mut shuffled = ascending.clone();
    for i in (1..count).rev() {
        shuffled.swap(i, random.below(i as u64 + 1) as usize);
    }
    let zig_zag = (0..count).map(|i| if i % 2 == 0 { i / 2 } else { count - 1 - i / 2 }).collect();
    let middle = (0..count).map(|i| if i % 2 == 0 { count / 2 + i / 2 } else { count / 2 - 1 - i / 2 });
    let descending = ascending.iter().rev().copied().collect();
    vec![
        ("ascending", ascending),
        ("descending", descending),
        ("zig-zag", zig_zag),
        ("from the middle", middle.collect()),
        ("any", shuffled),
    ]
}

fn takes_no_more_than_a_b_tree<W: Word>() {
    for (name, keys) in key_sets::nasty(1500) {
        let mut keys: Vec<W> = keys.iter().map(|&key| word(key)).collect();
        keys.dedup();
        let gaps: Vec<Gap<W>> =
            keys.windows(2).map(|pair| Gap { low: pair[0], high: W::from_u128(pair[1].to_u128() - 1) }).collect();
        for (order_name, order) in orders(gaps.len()) {
            for loaded in [0, order.len() / 2, order.len()] {
                let ours = statistics::<W>(&CodedRouter::new(), &gaps, &order, loaded);
                let theirs = statistics::<W>(&BtreeRouter { fill_percent: 80 }, &gaps, &order, loaded);
                let what =
                    format!("{name}, {order_name}, {loaded} of {} loaded: {ours:?}, B+-tree {theirs:?}", order.len());
                assert_eq!(ours.entries, theirs.entries, "{what}");
                assert!(ours.height <= theirs.height, "{what}");
                assert!(ours.inner_pages <= theirs.inner_pages, "{what}");
                for (ours, theirs) in ours.levels.iter().rev().zip(theirs.levels.iter().rev()) {
                    assert!(ours.pages <= theirs.pages, "{what}");
                }
            }
        }
    }
}

#[test]
fn no_keys_in_no_order_take_more_pages_or_levels_than_in_a_b_tree() {
    takes_no_more_than_a_b_tree::<u64>();
    takes_no_more_than_a_b_tree::<u128>();
}
