//! Lookups: from the metanode through the layers to a page of the directory, and from there to the leaf.

use super::directory::{DirectoryPage, side_of};
use super::hierarchy::LayerPage;
use super::locate::{AirLevel, AirWindow};
use super::metanode::AirMetanode;
use ogive::Result;
use ogive::index::extend::{IndexVisit, Word};
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};

/// A page of the directory, by its place.
#[derive(Clone, Debug)]
pub(super) struct FoundPage {
    pub(super) place: u32,
    pub(super) page: Page,
}

impl<W: Word> AirMetanode<W> {
    /// The directory as a level of pages.
    pub(super) fn directory_level<'a>(&self, pages: &'a dyn Pages) -> AirLevel<'a> {
        AirLevel { pages, extent: self.directory, purpose: Purpose::Inner(self.directory_depth()) }
    }

    /// A layer as a level of pages, by its number from the bottom.
    pub(super) fn layer_level<'a>(&self, pages: &'a dyn Pages, number: usize) -> AirLevel<'a> {
        let extent = self.layers.get(number).copied().unwrap_or_default();
        let depth = self.layers.len().saturating_sub(number + 1);
        AirLevel { pages, extent, purpose: Purpose::Inner(depth as u8) }
    }

    /// The page of the directory that covers `key`. The map must not be empty.
    pub(super) fn locate(
        &self,
        pages: &dyn Pages,
        key: W,
        mut visits: Option<&mut Vec<IndexVisit>>,
    ) -> Result<FoundPage> {
        let x = self.prefixes.of(key);
        let top = self.layers.last().copied().unwrap_or(self.directory);
        let mut window = match &self.root {
            Some(root) => root
                .form
                .predict(&root.bytes, root.count, None, top.pages, x)
                .ok_or_else(|| pages.damaged(0, "the root of the index layers is invalid"))?,
            None => AirWindow::whole(top),
        };
        for number in (0..self.layers.len()).rev() {
            let level = self.layer_level(pages, number);
            let below = number.checked_sub(1).and_then(|below| self.layers.get(below)).unwrap_or(&self.directory);
            let side = |place: u32, payload: &[u8]| LayerPage::parse(payload).map(|page| page.side(place, x));
            let (place, page) = level.locate(window, &side)?;
            let found = LayerPage::parse(&page);
            let predicted = found.and_then(|page| Some((page.predict(below.pages, x)?, page.count)));
            let (predicted, nodes) = predicted.ok_or_else(|| level.invalid(place))?;
            if let Some(visits) = visits.as_deref_mut() {
                let depth = self.layers.len().saturating_sub(number + 1) as u8;
                let (page, detail) = (level.number(place), describe(window, predicted));
                visits.push(IndexVisit { node: "index layer", page, depth, entries: nodes as u64, detail });
            }
            window = predicted;
        }
        let level = self.directory_level(pages);
        let (place, page) = level.locate(window, &|place, payload| side_of(key, place, payload))?;
        Ok(FoundPage { place, page })
    }

    /// The leaf of the first separator not below `key`, from the page that covers it.
    pub(super) fn leaf(
        &self,
        pages: &dyn Pages,
        key: W,
        found: &FoundPage,
        mut visits: Option<&mut Vec<IndexVisit>>,
    ) -> Result<Option<PageNumber>> {
        let level = self.directory_level(pages);
        let depth = self.directory_depth();
        let page = DirectoryPage::<W>::parse(&found.page).ok_or_else(|| level.invalid(found.place))?;
        if let Some(visits) = visits.as_deref_mut() {
            let (page, entries) = (level.number(found.place), page.node.separators() as u64);
            let detail = format!("page {} of {}", found.place + 1, self.directory.pages);
            visits.push(IndexVisit { node: "directory page", page, depth, entries, detail });
        }
        if (page.header.overflow.is_none() || key <= page.header.split)
            && let Some(leaf) = page.leaf(key).ok_or_else(|| level.invalid(found.place))?
        {
            return Ok(Some(leaf));
        }
        if let Some(overflow) = page.header.overflow {
            let content = pages.read(overflow, Purpose::Inner(depth + 1))?;
            let page = DirectoryPage::<W>::parse(&content).filter(|page| page.header.is_overflow);
            let page = page.ok_or_else(|| pages.damaged(overflow, "not an overflow page of the directory"))?;
            if let Some(visits) = visits {
                let (depth, entries) = (depth + 1, page.node.separators() as u64);
                let detail = format!("keys above {}", page.header.low);
                visits.push(IndexVisit { node: "overflow page", page: overflow, depth, entries, detail });
            }
            let leaf = page.leaf(key);
            if let Some(leaf) = leaf.ok_or_else(|| pages.damaged(overflow, "an invalid overflow page"))? {
                return Ok(Some(leaf));
            }
        }
        self.first_leaf_of(pages, found.place + 1)
    }

    /// The first leaf of a page of the directory; `None` beyond the last one. Pages are never empty.
    fn first_leaf_of(&self, pages: &dyn Pages, place: u32) -> Result<Option<PageNumber>> {
        if place >= self.directory.pages {
            return Ok(None);
        }
        let level = self.directory_level(pages);
        let content = pages.read(level.number(place), level.purpose)?;
        let leaf = DirectoryPage::<W>::parse(&content).and_then(|page| page.leaf(W::MIN)).flatten();
        leaf.map(Some).ok_or_else(|| level.invalid(place))
    }

    pub(super) fn find(&self, pages: &dyn Pages, key: W) -> Result<Option<PageNumber>> {
        if self.separators == 0 {
            return Ok(None);
        }
        let found = self.locate(pages, key, None)?;
        self.leaf(pages, key, &found, None)
    }

    /// The leaves of ascending keys: neighbours share the page of the directory.
    pub(super) fn find_many(&self, pages: &dyn Pages, keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
        if self.separators == 0 {
            return Ok(vec![None; keys.len()]);
        }
        let mut last: Option<FoundPage> = None;
        let mut leaves = Vec::with_capacity(keys.len());
        for &key in keys {
            let covers = |found: &FoundPage| side_of(key, found.place, &found.page).is_some_and(|side| side.is_eq());
            let found = match last.take().filter(covers) {
                Some(found) => found,
                None => self.locate(pages, key, None)?,
            };
            leaves.push(self.leaf(pages, key, &found, None)?);
            last = Some(found);
        }
        Ok(leaves)
    }

    pub(super) fn explain(&self, pages: &dyn Pages, key: W) -> Result<Vec<IndexVisit>> {
        let mut visits = Vec::new();
        if self.separators > 0 {
            let found = self.locate(pages, key, Some(&mut visits))?;
            self.leaf(pages, key, &found, Some(&mut visits))?;
        }
        Ok(visits)
    }
}

fn describe(read: AirWindow, predicted: AirWindow) -> String {
    let pages = |window: AirWindow| window.last - window.first + 1;
    format!(
        "read in a window of {} pages; leads to {} pages from {} on",
        pages(read),
        pages(predicted),
        predicted.first
    )
}
