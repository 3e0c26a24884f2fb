//! Test scenarios of structures: generated operations, nasty key sets in several orders, repeated keys.

use super::structures::StructureHarness;
use crate::{Random, key_sets};
use ogive::index::extend::{Amount, IndexLayout, Structure, Word};

/// Small pages make high trees of few keys.
pub(super) const PAGE_BYTES: usize = 512;

/// Creates a structure for a layout.
pub type MakeStructure<W> = dyn Fn(IndexLayout) -> Box<dyn Structure<W>>;

/// Generates the tests of a structure, as a module `$name`, for words of type `$word`. `duplicates` at the end adds
/// tests of repeated keys.
#[macro_export]
macro_rules! structure_tests {
    ($name:ident, $word:ty, $make:expr, duplicates) => {
        mod $name {
            use super::*;
            $crate::structure_tests!(@common $word, $make);

            #[test]
            fn agrees_with_a_map_of_lists() {
                $crate::index::agrees_with_a_map_of_lists::<$word>(&$make);
            }

            #[test]
            fn takes_long_runs_of_equal_keys() {
                $crate::index::takes_duplicates::<$word>(&$make);
            }
        }
    };
    ($name:ident, $word:ty, $make:expr) => {
        mod $name {
            use super::*;
            $crate::structure_tests!(@common $word, $make);
        }
    };
    (@common $word:ty, $make:expr) => {
        #[test]
        fn agrees_with_a_map() {
            $crate::index::agrees_with_a_map::<$word>(&$make);
        }

        #[test]
        fn takes_nasty_key_sets_in_any_order() {
            $crate::index::takes_nasty_sets::<$word>(&$make);
        }

        #[test]
        fn survives_damaged_pages() {
            $crate::index::survives_damage::<$word>(&$make);
        }
    };
}

/// Maps a key of a key set to a word, in order and over the whole range of words.
pub fn word<W: Word>(key: u64) -> W {
    let wide = u128::from(key);
    W::from_u128(if W::BYTES > 8 { wide << 64 | wide } else { wide })
}

fn words<W: Word>(keys: &[u64]) -> Vec<W> {
    keys.iter().map(|&key| word(key)).collect()
}

/// Key sets without repeated keys.
fn distinct_sets(size: usize) -> Vec<(&'static str, Vec<u64>)> {
    let sets = key_sets::nasty(size);
    sets.into_iter().filter(|(_, keys)| keys.is_sorted_by(|a, b| a < b)).collect()
}

/// Runs generated operations on several layouts.
pub fn agrees_with_a_map<W: Word>(make: &MakeStructure<W>) {
    for (seed, (payload_bytes, fill_percent)) in [(8, 80), (4, 100), (20, 50)].into_iter().enumerate() {
        let layout = IndexLayout { payload_bytes, fill_percent, ..IndexLayout::default() };
        mixed_operations(make(layout).as_ref(), layout, seed as u64);
    }
}

/// Runs generated operations with repeated keys.
pub fn agrees_with_a_map_of_lists<W: Word>(make: &MakeStructure<W>) {
    for (seed, (payload_bytes, fill_percent)) in [(8, 80), (4, 100)].into_iter().enumerate() {
        let layout = IndexLayout { payload_bytes, fill_percent, duplicates: true };
        mixed_operations(make(layout).as_ref(), layout, 100 + seed as u64);
    }
}

/// Grows and shrinks a structure several times over keys of all nasty sets, with commits, aborts and snapshots.
fn mixed_operations<W: Word>(structure: &dyn Structure<W>, layout: IndexLayout, seed: u64) {
    let mut random = Random::new(seed);
    let mut pool: Vec<W> = key_sets::nasty(90).iter().flat_map(|(_, keys)| words(keys)).collect();
    pool.sort_unstable();
    if !layout.duplicates {
        pool.dedup();
    }
    let loaded: Vec<W> = pool.iter().copied().filter(|_| random.one_in(2)).collect();
    let mut harness = StructureHarness::new(structure, layout, PAGE_BYTES, &loaded);
    harness.check();
    for growing in [true, false, true, false, true] {
        for step in 0..900 {
            let key = pool[random.below(pool.len() as u64) as usize];
            one_operation(&mut harness, key, growing, &mut random);
            if step % 300 == 299 {
                harness.check();
            }
        }
    }
    for key in pool {
        harness.remove(key, Amount::All);
    }
    harness.reopen();
    harness.check();
    harness.insert(word(7));
    harness.commit();
    harness.check();
    harness.free();
}

fn one_operation<W: Word>(harness: &mut StructureHarness<'_, W>, key: W, growing: bool, random: &mut Random) {
    let amount = if random.one_in(4) { Amount::All } else { Amount::One };
    match random.below(100) {
        0..30 => harness.insert(key),
        30..50 if growing => harness.insert(key),
        30..65 if !growing => harness.remove(key, amount),
        50..60 => harness.remove(key, amount),
        60..90 => harness.get(key),
        90..95 => harness.random_walk(key, 80, random),
        95..98 => harness.commit(),
        98 if random.one_in(2) => harness.abort(),
        98 => harness.reopen(),
        _ => harness.change_readers(),
    }
}

/// Loads each nasty key set, or inserts it in each of several orders; then removes it.
pub fn takes_nasty_sets<W: Word>(make: &MakeStructure<W>) {
    let layout = IndexLayout::default();
    let structure = make(layout);
    for (name, keys) in distinct_sets(500) {
        let keys: Vec<W> = words(&keys);
        let harness = StructureHarness::new(structure.as_ref(), layout, PAGE_BYTES, &keys);
        harness.check();
        absent_neighbours(&harness, &keys);
        for order in ["random", "append", "prepend", "zig-zag", "onto half"] {
            insert_and_remove_in_order(structure.as_ref(), layout, &keys, order, name);
        }
    }
}

/// Looks up keys and their neighbours, where learned models often err.
fn absent_neighbours<W: Word>(harness: &StructureHarness<'_, W>, keys: &[W]) {
    for key in keys.iter().step_by(1 + keys.len() / 100) {
        harness.get(*key);
        harness.get(W::from_u128(key.to_u128().saturating_add(1).min(W::MAX.to_u128())));
        harness.get(W::from_u128(key.to_u128().saturating_sub(1)));
    }
    harness.get(W::MIN);
    harness.get(W::MAX);
}

fn insert_and_remove_in_order<W: Word>(
    structure: &dyn Structure<W>,
    layout: IndexLayout,
    keys: &[W],
    order: &str,
    name: &str,
) {
    let mut random = Random::new(keys.len() as u64);
    let (loaded, inserted) = match order {
        "onto half" => {
            let (loaded, rest): (Vec<_>, Vec<_>) = keys.iter().enumerate().partition(|(i, _)| i % 2 == 0);
            let plain = |side: Vec<(usize, &W)>| side.into_iter().map(|(_, key)| *key).collect::<Vec<_>>();
            (plain(loaded), in_order_of(plain(rest), "random", &mut random))
        }
        _ => (Vec::new(), in_order_of(keys.to_vec(), order, &mut random)),
    };
    let mut harness = StructureHarness::new(structure, layout, PAGE_BYTES, &loaded);
    for key in inserted {
        harness.insert(key);
    }
    harness.commit();
    harness.check();
    absent_neighbours(&harness, keys);
    let mut removed = in_order_of(keys.to_vec(), if order == "onto half" { "random" } else { order }, &mut random);
    let rest = removed.split_off(keys.len() * 3 / 4);
    for key in removed {
        harness.remove(key, Amount::One);
    }
    harness.commit();
    harness.check();
    for key in rest {
        harness.remove(key, Amount::All);
    }
    harness.reopen();
    harness.check();
    assert_eq!(harness.count(), 0, "{name} in order {order}");
}

fn in_order_of<W: Word>(mut keys: Vec<W>, order: &str, random: &mut Random) -> Vec<W> {
    match order {
        "prepend" => keys.reverse(),
        "zig-zag" => {
            let n = keys.len();
            keys = (0..n).map(|i| if i % 2 == 0 { keys[i / 2] } else { keys[n - 1 - i / 2] }).collect();
        }
        "random" => {
            for i in (1..keys.len()).rev() {
                keys.swap(i, random.below(i as u64 + 1) as usize);
            }
        }
        _ => {}
    }
    keys
}

/// Loads, grows and removes runs of equal keys, many of them far longer than a leaf.
pub fn takes_duplicates<W: Word>(make: &MakeStructure<W>) {
    let layout = IndexLayout { duplicates: true, ..IndexLayout::default() };
    let structure = make(layout);
    let sets = key_sets::nasty(700).into_iter().filter(|(_, keys)| !keys.is_sorted_by(|a, b| a < b));
    let runs: Vec<u64> = (0..700).map(|i| [5, 5, 5, 9, u64::MAX][(i / 90) as usize % 5]).collect();
    for (_, mut keys) in sets.chain([("runs", runs)]) {
        keys.sort_unstable();
        let keys: Vec<W> = words(&keys);
        let harness = StructureHarness::new(structure.as_ref(), layout, PAGE_BYTES, &keys);
        harness.check();
        absent_neighbours(&harness, &keys);
        for order in ["random", "append", "prepend", "zig-zag"] {
            grow_and_shrink(structure.as_ref(), layout, &keys, order);
        }
    }
}

fn grow_and_shrink<W: Word>(structure: &dyn Structure<W>, layout: IndexLayout, keys: &[W], order: &str) {
    let mut random = Random::new(17);
    let mut harness = StructureHarness::new(structure, layout, PAGE_BYTES, &keys[..keys.len() / 3]);
    for key in in_order_of(keys.to_vec(), order, &mut random) {
        harness.insert(key);
    }
    harness.commit();
    harness.check();
    absent_neighbours(&harness, keys);
    for key in keys.iter().step_by(3) {
        harness.remove(*key, Amount::One);
        harness.random_walk(*key, 3, &mut random);
    }
    harness.check();
    for key in in_order_of(keys.to_vec(), order, &mut random) {
        harness.remove(key, if random.one_in(50) { Amount::All } else { Amount::One });
    }
    harness.check();
    for key in keys {
        harness.remove(*key, Amount::All);
    }
    harness.reopen();
    harness.check();
}

/// Loads `keys` and looks each up; returns the mean and the maximum number of blocks fetched.
pub fn counts_blocks<W: Word>(
    structure: &dyn Structure<W>,
    layout: IndexLayout,
    page_bytes: usize,
    keys: &[W],
) -> (f64, usize) {
    let harness = StructureHarness::new(structure, layout, page_bytes, keys);
    let blocks: Vec<usize> = keys.iter().map(|&key| harness.blocks_of_get(key)).collect();
    (blocks.iter().sum::<usize>() as f64 / blocks.len().max(1) as f64, blocks.iter().copied().max().unwrap_or(0))
}
