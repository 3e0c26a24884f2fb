//! The search for a page of a level within a predicted window: reads the window, checks it, and widens it if the
//! prediction was wrong.

use super::metanode::AirExtent;
use ogive::Result;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use std::cmp::Ordering;

/// Most pages in memory at once: 1 MiB of 4 KiB, the longest read that the tuner designs.
const PAGES_AT_ONCE: u32 = 256;

/// Neighbouring pages of a level, by their place in it: both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AirWindow {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl AirWindow {
    /// All pages of a level.
    pub(super) fn whole(extent: AirExtent) -> Self {
        Self { first: 0, last: extent.pages.saturating_sub(1) }
    }
}

/// Position of the wanted page relative to a page, given its place and its payload; `None` if the page is invalid.
pub(super) type SideOf<'a> = &'a dyn Fn(u32, &[u8]) -> Option<Ordering>;

/// The result of reading a window.
enum WindowSearch {
    Found(u32, Page),
    Before,
    After,
}

/// A level of pages to search.
#[derive(Clone, Copy, Debug)]
pub(super) struct AirLevel<'a> {
    pub(super) pages: &'a dyn Pages,
    pub(super) extent: AirExtent,
    pub(super) purpose: Purpose,
}

impl AirLevel<'_> {
    /// The page for which `side` says `Equal`, near `window`, and its place. Reads each page of the level at most once.
    ///
    /// A window that does not hold it is continued on that side, twice as wide each time: a wrong prediction costs
    /// time, never an answer.
    pub(super) fn locate(&self, window: AirWindow, side: SideOf<'_>) -> Result<(u32, Page)> {
        let greatest = self.extent.pages.saturating_sub(1);
        let first = window.first.min(greatest);
        let mut here = AirWindow { first, last: window.last.clamp(first, greatest) };
        let mut width = here.last - here.first + 1;
        let mut went = Ordering::Equal;
        loop {
            let next = match self.search(here, side)? {
                WindowSearch::Found(place, page) => return Ok((place, page)),
                WindowSearch::Before => Ordering::Less,
                WindowSearch::After => Ordering::Greater,
            };
            let at_end = if next == Ordering::Less { here.first == 0 } else { here.last == greatest };
            if at_end || went == next.reverse() {
                return Err(self.gap(here.first));
            }
            went = next;
            width = width.saturating_mul(2);
            here = if next == Ordering::Less {
                AirWindow { first: here.first.saturating_sub(width), last: here.first - 1 }
            } else {
                AirWindow { first: here.last + 1, last: here.last.saturating_add(width).min(greatest) }
            };
        }
    }

    fn search(&self, window: AirWindow, side: SideOf<'_>) -> Result<WindowSearch> {
        let mut first = window.first;
        loop {
            let last = window.last.min(first.saturating_add(PAGES_AT_ONCE - 1));
            for (place, page) in (first..).zip(self.read(first, last)?) {
                match side(place, &page).ok_or_else(|| self.invalid(place))? {
                    Ordering::Equal => return Ok(WindowSearch::Found(place, page)),
                    Ordering::Less if place == window.first => return Ok(WindowSearch::Before),
                    Ordering::Less => return Err(self.gap(place)),
                    Ordering::Greater => {}
                }
            }
            if last == window.last {
                return Ok(WindowSearch::After);
            }
            first = last + 1;
        }
    }

    /// Reads the pages of these places, at once.
    fn read(&self, first: u32, last: u32) -> Result<Vec<Page>> {
        if first == last {
            return Ok(vec![self.pages.read(self.number(first), self.purpose)?]);
        }
        let numbers: Vec<PageNumber> = (first..=last).map(|place| self.number(place)).collect();
        self.pages.read_many(&numbers, self.purpose)
    }

    /// Calls `visit` for each page of the level in order, with its place.
    pub(super) fn each(&self, mut visit: impl FnMut(u32, Page) -> Result<()>) -> Result<()> {
        let mut first = 0;
        while first < self.extent.pages {
            let last = (self.extent.pages - 1).min(first + (PAGES_AT_ONCE - 1));
            for (place, page) in (first..).zip(self.read(first, last)?) {
                visit(place, page)?;
            }
            first = last + 1;
        }
        Ok(())
    }

    pub(super) fn number(&self, place: u32) -> PageNumber {
        self.extent.first.saturating_add(place)
    }

    fn gap(&self, place: u32) -> ogive::Error {
        self.pages.damaged(self.number(place), "the pages of an index layer leave a gap between their keys")
    }

    pub(super) fn invalid(&self, place: u32) -> ogive::Error {
        self.pages.damaged(self.number(place), "not a page of this index layer")
    }
}
