//! The search for a page of a level within a predicted window: reads the window, checks it, and searches beside it if
//! the prediction was wrong.

use super::hierarchy::{WINDOW_BYTES_MAX, WINDOW_PAGES_MIN};
use super::metanode::AirExtent;
use ogive::Result;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use std::cmp::Ordering;

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
    /// Beside a window that does not hold it, single pages are searched: a wrong prediction costs time, and never an
    /// answer.
    pub(super) fn locate(&self, window: AirWindow, side: SideOf<'_>) -> Result<(u32, Page)> {
        let greatest = self.extent.pages.saturating_sub(1);
        let first = window.first.min(greatest);
        let window = AirWindow { first, last: window.last.clamp(first, greatest) };
        match self.search(window, side)? {
            WindowSearch::Found(place, page) => Ok((place, page)),
            WindowSearch::Before => self.search_beside(window.first, Ordering::Less, side),
            WindowSearch::After => self.search_beside(window.last, Ordering::Greater, side),
        }
    }

    /// The wanted page before or after the one at `from`: reads pages at doubling distances until one lies beyond it,
    /// then those in the middle.
    fn search_beside(&self, from: u32, towards: Ordering, side: SideOf<'_>) -> Result<(u32, Page)> {
        let (sign, beyond) = if towards == Ordering::Less { (-1, -1) } else { (1, i64::from(self.extent.pages)) };
        // It lies between these, both excluded.
        let (mut near, mut far) = (i64::from(from), beyond);
        let mut step = 1;
        loop {
            let between = (far - near).abs() - 1;
            if between == 0 {
                return Err(self.gap(from));
            }
            let distance = if far == beyond { step.min(between) } else { (between + 1) / 2 };
            let place = (near + sign * distance) as u32;
            let page = self.pages.read(self.number(place), self.purpose)?;
            match side(place, &page).ok_or_else(|| self.invalid(place))? {
                Ordering::Equal => return Ok((place, page)),
                found if found == towards => (near, step) = (i64::from(place), step * 2),
                _ => far = i64::from(place),
            }
        }
    }

    fn search(&self, window: AirWindow, side: SideOf<'_>) -> Result<WindowSearch> {
        let mut first = window.first;
        loop {
            let last = window.last.min(first.saturating_add(self.pages_at_once() - 1));
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

    /// Most pages in memory at once: those of the longest read that the tuner designs.
    fn pages_at_once(&self) -> u32 {
        let pages = WINDOW_BYTES_MAX / self.pages.payload_bytes().max(1) as u64;
        u32::try_from(pages.max(WINDOW_PAGES_MIN)).unwrap_or(u32::MAX)
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
            let last = (self.extent.pages - 1).min(first + (self.pages_at_once() - 1));
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
