//! Sets of pages as extents, searchable by position and by length.

use super::pages::PageNumber;
use std::collections::{BTreeMap, BTreeSet};

/// An extent: first page and number of pages.
pub(super) type Extent = (PageNumber, u32);

/// A set of pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Extents {
    by_first: BTreeMap<PageNumber, u32>,
    by_length: BTreeSet<(u32, PageNumber)>,
    pages: u64,
}

impl Extents {
    /// Number of pages.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// The extents in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Extent> {
        self.by_first.iter().map(|(&first, &length)| (first, length))
    }

    pub(super) fn contains(&self, page: PageNumber) -> bool {
        let below = self.by_first.range(..=page).next_back();
        below.is_some_and(|(&first, &length)| page - first < length)
    }

    /// Adds pages, some of which may be there already.
    pub(super) fn insert(&mut self, first: PageNumber, length: u32) {
        if length == 0 {
            return;
        }
        let (mut start, mut end) = (u64::from(first), u64::from(first) + u64::from(length));
        let reach = u32::try_from(end).unwrap_or(u32::MAX);
        // Merge every extent that overlaps or touches the new one.
        while let Some((&from, &pages)) = self.by_first.range(..=reach).next_back() {
            let stop = u64::from(from) + u64::from(pages);
            if stop < start {
                break;
            }
            self.drop_run(from, pages);
            start = start.min(u64::from(from));
            end = end.max(stop);
        }
        self.add_run(start as PageNumber, (end - start) as u32);
    }

    /// Takes pages out, some of which may be absent.
    pub(super) fn remove(&mut self, first: PageNumber, length: u32) {
        let (start, end) = (u64::from(first), u64::from(first) + u64::from(length));
        loop {
            let below = u32::try_from(end).map_or(PageNumber::MAX, |end| end.saturating_sub(1));
            let Some((&from, &pages)) = self.by_first.range(..=below).next_back() else {
                return;
            };
            let stop = u64::from(from) + u64::from(pages);
            if length == 0 || stop <= start {
                return;
            }
            self.drop_run(from, pages);
            if stop > end {
                self.add_run(end as PageNumber, (stop - end) as u32);
            }
            if u64::from(from) < start {
                self.add_run(from, (start - u64::from(from)) as u32);
                return;
            }
        }
    }

    /// Takes `length` consecutive pages from the shortest extent that has them.
    pub(super) fn take(&mut self, length: u32) -> Option<PageNumber> {
        let &(pages, first) = self.by_length.range((length, 0)..).next()?;
        self.drop_run(first, pages);
        if pages > length {
            self.add_run(first + length, pages - length);
        }
        Some(first)
    }

    fn add_run(&mut self, first: PageNumber, length: u32) {
        self.by_first.insert(first, length);
        self.by_length.insert((length, first));
        self.pages += u64::from(length);
    }

    fn drop_run(&mut self, first: PageNumber, length: u32) {
        self.by_first.remove(&first);
        self.by_length.remove(&(length, first));
        self.pages -= u64::from(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_hold_what_a_plain_set_holds() {
        let mut random = 9_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((random >> 33) % below) as u32
        };
        let (mut runs, mut plain) = (Extents::default(), BTreeSet::new());
        for _ in 0..5_000 {
            let (first, length) = (next(80), next(9));
            match next(3) {
                0 => {
                    runs.insert(first, length);
                    plain.extend(first..first + length);
                }
                1 => {
                    runs.remove(first, length);
                    plain.retain(|page| !(first..first + length).contains(page));
                }
                _ => {
                    let taken = runs.take(length.max(1));
                    let pages = taken.map(|first| first..first + length.max(1));
                    let possible = (0..90).any(|from| (from..from + length.max(1)).all(|page| plain.contains(&page)));
                    assert_eq!(pages.is_some(), possible);
                    for page in pages.into_iter().flatten() {
                        assert!(plain.remove(&page));
                    }
                }
            }
            assert_eq!(runs.pages(), plain.len() as u64);
            assert!((0..100).all(|page| runs.contains(page) == plain.contains(&page)));
            let joined: Vec<u32> = runs.iter().flat_map(|(first, length)| first..first + length).collect();
            assert!(joined.into_iter().eq(plain.iter().copied()));
        }
    }

    #[test]
    fn runs_reach_the_last_page_of_all() {
        let mut runs = Extents::default();
        runs.insert(u32::MAX - 2, 3);
        runs.insert(u32::MAX - 4, 2);
        assert_eq!(runs.iter().collect::<Vec<_>>(), [(u32::MAX - 4, 5)]);
        runs.remove(u32::MAX, 1);
        assert_eq!(runs.iter().collect::<Vec<_>>(), [(u32::MAX - 4, 4)]);
    }
}
