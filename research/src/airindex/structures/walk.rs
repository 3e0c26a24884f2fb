//! Walks over all pages of the hierarchy: validation and statistics.

use super::directory::{DirectoryGroup, DirectoryPart};
use super::hierarchy::LayerPage;
use super::metanode::AirMetanode;
use ogive::Result;
use ogive::index::extend::{IndexLevelStatistics, IndexStatistics, LeafVisit, PageVisit, Word};
use ogive::page::Pages;

impl<W: Word> AirMetanode<W> {
    /// See [`Router::walk`](ogive::index::extend::Router::walk).
    pub(super) fn walk(&self, pages: &dyn Pages, claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()> {
        if self.separators == 0 {
            return Ok(());
        }
        self.check_layers(pages)?;
        let extents = self.layers.iter().chain([&self.directory]);
        extents.into_iter().try_for_each(|extent| claim(extent.first, extent.pages))?;
        let (mut low, mut separators, mut overflow_separators, mut overflow_pages) = (W::MIN, 0, 0, 0);
        self.directory_level(pages).each(|place, content| {
            let group = self.group(pages, place, &content)?;
            self.check_group(pages, &group, low)?;
            low = group.base.header.high;
            separators += group.base.children.separators.len() as u64;
            visit_leaves(&group.base, leaf)?;
            if let Some(overflow) = &group.overflow {
                claim(overflow.number, 1)?;
                visit_leaves(overflow, leaf)?;
                overflow_pages += 1;
                overflow_separators += overflow.children.separators.len() as u64;
            }
            Ok(())
        })?;
        let stated = (u64::from(self.separators), u64::from(self.overflow_separators), self.overflow_pages);
        if stated != (separators + overflow_separators, overflow_separators, overflow_pages) {
            return Err(pages.damaged(self.directory.first, "the directory has not as many separators as it states"));
        }
        Ok(())
    }

    /// Checks the order of nodes in each layer. What they predict need not be checked: lookups do.
    fn check_layers(&self, pages: &dyn Pages) -> Result<()> {
        let mut children = self.directory.pages;
        for (number, extent) in self.layers.iter().enumerate() {
            let level = self.layer_level(pages, number);
            level.each(|place, page| {
                let sound = LayerPage::parse(&page).is_some_and(|page| page.is_sound(children));
                if sound { Ok(()) } else { Err(level.invalid(place)) }
            })?;
            children = extent.pages;
        }
        Ok(())
    }

    /// Checks the borders of a page of the directory, and the order of its separators.
    fn check_group(&self, pages: &dyn Pages, group: &DirectoryGroup<W>, low: W) -> Result<()> {
        let header = group.base.header;
        let is_last = group.place + 1 == self.directory.pages;
        let borders = header.low == low && (header.high == W::MAX) == is_last && (header.low < header.high || is_last);
        let parts = [(&group.base, header.low, header.split)];
        let overflow = group.overflow.as_ref().map(|part| (part, header.split, header.high));
        let sound = parts.into_iter().chain(overflow).all(|(part, low, high)| {
            let all = &part.children.separators;
            let is_first = group.place == 0 && !part.header.is_overflow;
            let above_low = all.first().is_some_and(|&first| is_first || first > low.to_u128());
            let up_to_high = all.last().is_some_and(|&last| last <= high.to_u128());
            above_low && up_to_high && all.is_sorted_by(|a, b| a < b)
        });
        if borders && sound {
            return Ok(());
        }
        Err(pages.damaged(group.base.number, "separators of the directory beyond the borders of their page"))
    }

    /// See [`Router::statistics`](ogive::index::extend::Router::statistics).
    pub(super) fn statistics(&self, pages: &dyn Pages) -> Result<IndexStatistics> {
        if self.separators == 0 {
            return Ok(IndexStatistics::default());
        }
        let mut levels = Vec::new();
        for number in (0..self.layers.len()).rev() {
            let level = self.layer_level(pages, number);
            let mut entries = 0;
            level.each(|place, page| {
                entries += LayerPage::parse(&page).ok_or_else(|| level.invalid(place))?.count as u64;
                Ok(())
            })?;
            let nodes = u64::from(level.extent.pages);
            levels.push(IndexLevelStatistics { nodes, pages: nodes, entries });
        }
        let separators = u64::from(self.separators);
        let overflow_separators = u64::from(self.overflow_separators).min(separators);
        let level =
            |pages: u32, entries| IndexLevelStatistics { nodes: u64::from(pages), pages: u64::from(pages), entries };
        levels.push(level(self.directory.pages, separators - overflow_separators));
        if self.overflow_pages > 0 {
            levels.push(level(self.overflow_pages, overflow_separators));
        }
        let below = overflow_separators as f64 / separators as f64;
        Ok(IndexStatistics {
            entries: separators,
            inner_pages: levels.iter().map(|level| level.pages).sum(),
            height: levels.len() as u32,
            mean_height: self.layers.len() as f64 + 1.0 + below,
            levels,
            details: vec![
                ("directory pages", u64::from(self.directory.pages)),
                ("overflow pages", u64::from(self.overflow_pages)),
                ("bytes of root nodes", self.root.as_ref().map_or(0, |root| root.bytes.len() as u64)),
            ],
            ..IndexStatistics::default()
        })
    }
}

fn visit_leaves<W: Word>(part: &DirectoryPart<W>, leaf: LeafVisit<'_, W>) -> Result<()> {
    let children = &part.children;
    children.separators.iter().zip(&children.pages).try_for_each(|(&key, &page)| leaf(W::from_u128(key), page))
}
