//! Tests of routers: generated operations compared with a map from separators to leaves, and damaged pages.

use super::counted_pages::CountedPages;
use super::damage::damage;
use super::scenarios::{PAGE_BYTES, word};
use super::structures::page_file;
use crate::{Random, key_sets};
use ogive::index::extend::{Gap, Router, Word};
use ogive::io::Purpose;
use ogive::page::{PageFile, PageNumber, Pages, Transaction};
use std::collections::{BTreeMap, BTreeSet};

/// Creates a router.
pub type MakeRouter<W> = dyn Fn() -> Box<dyn Router<W>>;

/// Generates the tests of a router, as a module `$name`, for words of type `$word`.
#[macro_export]
macro_rules! router_tests {
    ($name:ident, $word:ty, $make:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn agrees_with_a_map() {
                $crate::index::router_agrees_with_a_map::<$word>(&$make);
            }

            #[test]
            fn takes_nasty_key_sets_in_any_order() {
                $crate::index::router_takes_nasty_sets::<$word>(&$make);
            }

            #[test]
            fn grows_and_shrinks_by_levels() {
                $crate::index::router_grows_high::<$word>(&$make);
            }

            #[test]
            fn survives_damaged_pages() {
                $crate::index::router_survives_damage::<$word>(&$make);
            }
        }
    };
}

/// A router under test. The separator of leaf `i` of the model is between `keys[i]` and just below `keys[model[i].0]`.
struct RouterHarness<'a, W: Word> {
    router: &'a dyn Router<W>,
    /// Ascending, distinct.
    keys: Vec<W>,
    model: BTreeMap<usize, (usize, PageNumber)>,
    file: PageFile,
    state: Vec<u8>,
    transaction: Option<Transaction>,
    committed: BTreeMap<usize, (usize, PageNumber)>,
    leaves: PageNumber,
}

fn gap<W: Word>(keys: &[W], low: usize, above: usize) -> Gap<W> {
    Gap { low: keys[low], high: W::from_u128(keys[above].to_u128() - 1) }
}

impl<'a, W: Word> RouterHarness<'a, W> {
    /// Loads a leaf at each `step`-th key, or none if `step` is 0.
    fn new(router: &'a dyn Router<W>, keys: Vec<W>, step: usize) -> Self {
        let file = page_file(PAGE_BYTES);
        let mut transaction = file.begin().unwrap();
        let leaves = transaction.allocate_extent(keys.len() as u32 + 1).unwrap();
        (0..=keys.len() as u32).for_each(|i| transaction.write_fresh(leaves + i, Purpose::Leaf, &[]).unwrap());
        let mut model = BTreeMap::new();
        let mut builder = router.builder(&mut transaction).unwrap();
        for low in (0..keys.len().saturating_sub(1)).step_by(step.max(1)).take_while(|_| step > 0) {
            let ahead = &keys[low..keys.len().min(low + 40)];
            if ahead.len() > 30 {
                let end = builder.choose_end(ahead, 20, 25, 29);
                assert!((20..=29).contains(&end), "a leaf of {end} entries");
            }
            let leaf = leaves + low as u32;
            builder.push(&mut transaction, gap(&keys, low, low + 1), leaf).unwrap();
            model.insert(low, (low + 1, leaf));
        }
        let state = builder.finish(&mut transaction).unwrap();
        let transaction = Some(transaction);
        let mut harness = Self { router, keys, committed: model.clone(), model, file, state, transaction, leaves };
        harness.commit();
        harness
    }

    fn commit(&mut self) {
        assert!(self.state.len() <= 160, "a state of {} bytes", self.state.len());
        if let Some(mut transaction) = self.transaction.take() {
            transaction.set_state(&self.state);
            transaction.commit().unwrap();
        }
        self.committed.clone_from(&self.model);
    }

    fn with_pages<T>(&self, call: impl FnOnce(&dyn Pages) -> T) -> T {
        match &self.transaction {
            Some(transaction) => call(transaction),
            None => call(&self.file.snapshot().unwrap()),
        }
    }

    fn change<T>(&mut self, call: impl FnOnce(&dyn Router<W>, &mut Transaction, &mut Vec<u8>) -> T) -> T {
        let file = &self.file;
        call(self.router, self.transaction.get_or_insert_with(|| file.begin().unwrap()), &mut self.state)
    }

    /// Whether no separator can be between key `low` and just below key `above`.
    fn is_free(&self, low: usize, above: usize) -> bool {
        let before = self.model.range(..above).next_back();
        before.is_none_or(|(_, &(end, _))| end <= low)
    }

    /// Inserts a leaf at a gap that the router chooses among several.
    fn insert(&mut self, low: usize, random: &mut Random) {
        let width = if random.one_in(5) { 4 } else { 1 };
        let choices: Vec<(usize, usize)> = (low..low + 3).map(|low| (low, low + width)).collect();
        let last = self.keys.len() - 1;
        let free = |&(low, above): &(usize, usize)| above <= last && self.is_free(low, above);
        let choices: Vec<_> = choices.into_iter().filter(free).collect();
        let gaps: Vec<_> = choices.iter().map(|&(low, above)| gap(&self.keys, low, above)).collect();
        if gaps.is_empty() {
            return;
        }
        let chosen = self.with_pages(|pages| self.router.choose_split(pages, &self.state, &gaps).unwrap());
        let (low, above) = choices[chosen];
        let leaf = self.leaves + random.below(self.keys.len() as u64) as u32;
        self.change(|router, tx, state| router.insert(tx, state, gaps[chosen], leaf).unwrap());
        self.model.insert(low, (above, leaf));
    }

    /// The leaf under the first separator not below key `index`; `None` if that depends on the choices of the router.
    fn expected(&self, index: usize) -> Option<Option<(usize, PageNumber)>> {
        let before = self.model.range(..index).next_back();
        if before.is_some_and(|(_, &(end, _))| end > index) {
            return None;
        }
        Some(self.model.range(index..).next().map(|(&low, &(_, leaf))| (low, leaf)))
    }

    fn find(&self, index: usize) {
        if let Some(expected) = self.expected(index) {
            let found = self.with_pages(|pages| self.router.find(pages, &self.state, self.keys[index]).unwrap());
            assert_eq!(found, expected.map(|(_, leaf)| leaf), "leaf of {}", self.keys[index]);
        }
    }

    fn remove(&mut self, index: usize) {
        if let Some(expected) = self.expected(index) {
            let key = self.keys[index];
            let found = self.change(|router, tx, state| router.remove(tx, state, key).unwrap());
            assert_eq!(found, expected.map(|(_, leaf)| leaf), "leaf removed at {key}");
            if let Some((low, _)) = expected {
                self.model.remove(&low);
            }
        }
    }

    fn replace(&mut self, index: usize, leaf: PageNumber) {
        if let Some(expected) = self.expected(index) {
            let key = self.keys[index];
            let found = self.change(|router, tx, state| router.replace(tx, state, key, leaf).unwrap());
            assert_eq!(found, expected.is_some(), "whether there was a leaf to replace at {key}");
            if let Some((low, _)) = expected
                && let Some((_, old)) = self.model.get_mut(&low)
            {
                *old = leaf;
            }
        }
    }

    /// Checks the walk, and lookups at and next to each separator.
    fn check(&self) {
        self.with_pages(|pages| {
            let (mut claimed, mut walked) = (BTreeSet::new(), Vec::new());
            let mut claim = |first: PageNumber, count: u32| {
                (first..first + count).for_each(|page| assert!(claimed.insert(page), "page {page} twice"));
                Ok(())
            };
            let mut leaf = |separator: W, leaf: PageNumber| {
                walked.push((separator, leaf));
                Ok(())
            };
            let bounded = CountedPages::bounded(pages, 64 + 8 * u64::from(pages.page_count()));
            self.router.walk(&bounded, &self.state, &mut claim, &mut leaf).unwrap();
            assert_eq!(walked.len(), self.model.len(), "leaves by the walk");
            for (&(separator, leaf), (&low, &(above, expected))) in walked.iter().zip(&self.model) {
                let gap = gap(&self.keys, low, above);
                assert!((gap.low..=gap.high).contains(&separator), "separator {separator} is not in {gap:?}");
                assert_eq!(leaf, expected, "leaf of separator {separator}");
            }
            let statistics = self.router.statistics(pages, &self.state).unwrap();
            assert_eq!(statistics.entries, self.model.len() as u64, "separators by statistics");
            assert_eq!(statistics.inner_pages, claimed.len() as u64, "pages by statistics and by the walk");
            self.check_lookups(pages, &walked);
        });
    }

    fn check_lookups(&self, pages: &dyn Pages, walked: &[(W, PageNumber)]) {
        let mut probes: Vec<W> =
            walked.iter().flat_map(|&(separator, _)| around(separator)).chain([W::MIN, W::MAX]).collect();
        probes.sort_unstable();
        let many = self.router.find_many(pages, &self.state, &probes).unwrap();
        assert_eq!(many.len(), probes.len());
        for (&key, many) in probes.iter().zip(many) {
            let expected = walked.get(walked.partition_point(|&(separator, _)| separator < key)).map(|&(_, leaf)| leaf);
            assert_eq!(self.router.find(pages, &self.state, key).unwrap(), expected, "leaf of {key}");
            assert_eq!(many, expected, "leaf of {key}, in a batch");
        }
        for key in probes.iter().step_by(1 + probes.len() / 10) {
            self.router.explain(pages, &self.state, *key).unwrap();
        }
    }
}

fn around<W: Word>(key: W) -> [W; 3] {
    let wide = key.to_u128();
    [wide.saturating_sub(1), wide, wide.saturating_add(1).min(W::MAX.to_u128())].map(W::from_u128)
}

fn distinct<W: Word>(keys: &[u64]) -> Vec<W> {
    let mut keys: Vec<W> = keys.iter().map(|&key| word(key)).collect();
    keys.dedup();
    keys
}

/// Runs generated operations, growing and shrinking alternately, with commits and aborts.
pub fn router_agrees_with_a_map<W: Word>(make: &MakeRouter<W>) {
    let router = make();
    let mut keys: Vec<u64> = key_sets::nasty(120).into_iter().flat_map(|(_, keys)| keys).collect();
    keys.sort_unstable();
    let mut random = Random::new(5);
    let mut harness = RouterHarness::new(router.as_ref(), distinct(&keys), 3);
    harness.check();
    for growing in [true, false, true, false] {
        for step in 0..2000 {
            let index = random.below(harness.keys.len() as u64) as usize;
            match random.below(20) {
                0..12 if growing => harness.insert(index, &mut random),
                0..12 => harness.remove(index),
                12..14 => harness.replace(index, harness.leaves + index as u32),
                14..19 => harness.find(index),
                _ if random.one_in(5) => {
                    harness.transaction = None;
                    harness.model.clone_from(&harness.committed);
                    harness.state = harness.file.snapshot().unwrap().state().to_vec();
                }
                _ => harness.commit(),
            }
            if step % 500 == 499 {
                harness.check();
            }
        }
    }
}

/// Loads each nasty key set, or inserts it in each of several orders; then removes it in that order.
pub fn router_takes_nasty_sets<W: Word>(make: &MakeRouter<W>) {
    let router = make();
    for (_, keys) in key_sets::nasty(400) {
        let keys: Vec<W> = distinct(&keys);
        if keys.is_empty() {
            continue;
        }
        for step in [1, 2] {
            RouterHarness::new(router.as_ref(), keys.clone(), step).check();
        }
        for order in 0..4 {
            let mut random = Random::new(order);
            let mut harness = RouterHarness::new(router.as_ref(), keys.clone(), 0);
            let n = keys.len() - 1;
            let index = |i: usize, random: &mut Random| match order {
                0 => i,
                1 => n - 1 - i,
                2 if i.is_multiple_of(2) => i / 2,
                2 => n - 1 - i / 2,
                _ => random.below(n as u64) as usize,
            };
            (0..n).for_each(|i| harness.insert(index(i, &mut random), &mut random));
            harness.check();
            (0..n).take(n * 2 / 3).for_each(|i| harness.remove(index(i, &mut random)));
            harness.check();
            (0..n).for_each(|i| harness.remove(i));
            harness.check();
        }
    }
}

/// Inserts thousands of separators at the right end, at the left end, and at random, into trees of several levels; then
/// removes them.
pub fn router_grows_high<W: Word>(make: &MakeRouter<W>) {
    let router = make();
    let keys: Vec<W> = (0..4000_u64).map(|i| word((i << 20) | (i * i % 1009))).collect();
    let n = keys.len() - 1;
    for order in 0..3 {
        let mut random = Random::new(order);
        let mut harness = RouterHarness::new(router.as_ref(), keys.clone(), if order == 2 { 2 } else { 0 });
        let index = |i: usize, random: &mut Random| match order {
            0 => i,
            1 => n - 1 - i,
            _ => random.below(n as u64) as usize,
        };
        (0..n).for_each(|i| harness.insert(index(i, &mut random), &mut random));
        harness.check();
        (0..n).take(n * 3 / 4).for_each(|i| harness.remove(index(i, &mut random)));
        harness.check();
        (0..n).rev().for_each(|i| harness.remove(i));
        harness.check();
    }
}

/// Damages pages and states: any answer or error is accepted, but no panic and no endless loop.
pub fn router_survives_damage<W: Word>(make: &MakeRouter<W>) {
    let router = make();
    let keys: Vec<W> = (0..3000_u64).map(|i| word(i * i * 977)).collect();
    let mut random = Random::new(8);
    let mut harness = RouterHarness::new(router.as_ref(), keys, 2);
    (0..300).for_each(|i| harness.insert(i * 7 + 1, &mut random));
    harness.commit();
    let mut pages = Vec::new();
    let mut claim = |first: PageNumber, count: u32| {
        pages.extend(first..first + count);
        Ok(())
    };
    harness.with_pages(|all| router.walk(all, &harness.state, &mut claim, &mut |_, _| Ok(()))).unwrap();
    for round in 0..6 {
        for &page in &pages {
            let mut transaction = harness.file.begin().unwrap();
            damage(&mut transaction, page, &pages, round % 3, &mut random);
            run_router_operations(&harness, transaction, harness.state.clone(), &mut random);
        }
    }
    for i in 0..100 {
        let mut state = harness.state.clone();
        if i % 4 == 0 {
            state.truncate(random.below(state.len() as u64 + 1) as usize);
        } else if let Some(offset) = state.len().checked_sub(1).map(|last| random.below(last as u64 + 1) as usize) {
            state[offset] = random.next_u64() as u8;
        }
        run_router_operations(&harness, harness.file.begin().unwrap(), state, &mut random);
    }
}

fn run_router_operations<W: Word>(
    harness: &RouterHarness<'_, W>,
    mut transaction: Transaction,
    mut state: Vec<u8>,
    random: &mut Random,
) {
    let reads_max = 1000 + 20 * u64::from(transaction.page_count());
    let indexes: Vec<usize> = (0..6).map(|_| random.below(harness.keys.len() as u64 - 1) as usize).collect();
    for &index in &indexes {
        let pages = CountedPages::bounded(&transaction, reads_max);
        let _ = harness.router.find(&pages, &state, harness.keys[index]);
        let _ = harness.router.explain(&pages, &state, harness.keys[index]);
        let _ = harness.router.choose_split(&pages, &state, &[gap(&harness.keys, index, index + 1)]);
    }
    let pages = CountedPages::bounded(&transaction, reads_max);
    let mut leaves = 0;
    let mut leaf = |_, _| {
        leaves += 1;
        assert!(leaves < 1_000_000, "an endless walk");
        Ok(())
    };
    let _ = harness.router.walk(&pages, &state, &mut |_, _| Ok(()), &mut leaf);
    let _ = harness.router.statistics(&CountedPages::bounded(&transaction, reads_max), &state);
    for &index in &indexes {
        let _ = harness.router.insert(&mut transaction, &mut state, gap(&harness.keys, index, index + 1), 1);
        let _ = harness.router.replace(&mut transaction, &mut state, harness.keys[index], 2);
        let _ = harness.router.remove(&mut transaction, &mut state, harness.keys[index]);
    }
}
