//! Inserts, removals and replacements of leaves, and the rebuild of a hierarchy that has drifted.
//!
//! A separator goes into the gap of its page. A page without a gap passes its upper half to an overflow page, which
//! costs the lookups of those keys one more read. The directory and its layers are built anew
//!
//! * when the reads of overflow pages since the last build have cost as much time, by the model, as a build does;
//! * when a page and its overflow page are full, so that no lookup ever reads two overflow pages;
//! * when a page becomes empty, so that none ever searches through empty pages;
//! * when few of the separators are left.
//!
//! The first rule is the answer to the question that the paper leaves open, when to tune again (Section 6): it is that
//! of the ski rental problem, and costs at most twice as much as a build at the best moment, known in advance. The
//! others bound the reads of a lookup whatever a build costs: an index that grows at one place only, such as by
//! ascending keys, is built about once for each page that the directory gets.

use super::build::build;
use super::directory::{DirectoryGroup, DirectoryHeader, DirectoryPart, GroupSide};
use super::metanode::AirMetanode;
use super::router::AirIndexRouter;
use ogive::Result;
use ogive::index::extend::{Gap, Word};
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, PagePhase, Pages, Transaction};
use ogive_model::inner::{Children as CodedChildren, roundest};

/// The hierarchy is rebuilt when the time lost is this multiple of the time of a build: 1, at which either error, too
/// early or too late, costs at most as much as the build itself.
const REGRET_RATIO: f64 = 1.0;
/// A build reads the directory and writes it again.
const BUILD_PASSES: f64 = 2.0;
/// A leaf is split by half of its entries.
const SPLITS_PER_LEAF_FILL: f64 = 2.0;
/// With fewer than 1/4 of the separators it was built for, the hierarchy is rebuilt: removals paid for it three times.
const SHRINK_DIVISOR: u32 = 4;

/// An index within a transaction.
#[derive(Debug)]
pub(super) struct AirEditor<'a, W> {
    router: &'a AirIndexRouter,
    tx: &'a mut Transaction,
    metanode: AirMetanode<W>,
}

/// A separator in the directory.
struct SeparatorPlace<W> {
    group: DirectoryGroup<W>,
    side: GroupSide,
    index: usize,
}

impl<'a, W: Word> AirEditor<'a, W> {
    /// Applies `call` to the index with the state `bytes`, and updates them; after an error they are unchanged.
    pub(super) fn change<T>(
        router: &'a AirIndexRouter,
        tx: &'a mut Transaction,
        bytes: &mut Vec<u8>,
        call: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let metanode = AirMetanode::decode(tx, bytes)?;
        tx.enter(PagePhase::Structure);
        let mut editor = Self { router, tx, metanode };
        let result = call(&mut editor)?;
        *bytes = editor.metanode.encode();
        Ok(result)
    }

    pub(super) fn insert(&mut self, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        let separator = roundest(gap.low.to_u128(), gap.high.to_u128());
        if self.metanode.separators == 0 {
            let only = CodedChildren { separators: vec![separator], pages: vec![leaf], ..CodedChildren::default() };
            self.metanode = build(self.router, self.tx, &only)?;
            return Ok(());
        }
        let key = W::from_u128(separator);
        let mut group = self.group_of(key)?;
        let side = group.side_of(key);
        let part = group.part(side);
        let index = part.lower_bound(key);
        if part.children.separators.get(index) == Some(&separator) {
            return Err(self.tx.damaged(part.number, "the directory already has the new separator"));
        }
        part.children.separators.insert(index, separator);
        part.children.pages.insert(index, leaf);
        self.metanode.separators = self.metanode.separators.saturating_add(1);
        if side == GroupSide::Overflow {
            self.metanode.overflow_separators = self.metanode.overflow_separators.saturating_add(1);
        }
        self.store(group, side)?;
        self.rebuild_if_drifted()
    }

    pub(super) fn remove(&mut self, key: W) -> Result<Option<PageNumber>> {
        let Some(SeparatorPlace { mut group, side, index }) = self.find(key)? else { return Ok(None) };
        let part = group.part(side);
        part.children.separators.remove(index);
        let leaf = part.children.pages.remove(index);
        let is_empty = part.children.pages.is_empty();
        self.metanode.separators = self.metanode.separators.saturating_sub(1);
        if side == GroupSide::Overflow {
            self.metanode.overflow_separators = self.metanode.overflow_separators.saturating_sub(1);
        }
        if self.metanode.separators < self.metanode.built_separators / SHRINK_DIVISOR {
            self.rebuild(Some(&group))?;
        } else if is_empty {
            self.store_emptied(group, side)?;
        } else {
            self.store(group, side)?;
        }
        Ok(Some(leaf))
    }

    pub(super) fn replace(&mut self, key: W, leaf: PageNumber) -> Result<bool> {
        let Some(SeparatorPlace { mut group, side, index }) = self.find(key)? else { return Ok(false) };
        if let Some(page) = group.part(side).children.pages.get_mut(index) {
            *page = leaf;
        }
        self.store(group, side)?;
        Ok(true)
    }

    /// The place of the first separator not below `key`.
    fn find(&self, key: W) -> Result<Option<SeparatorPlace<W>>> {
        if self.metanode.separators == 0 {
            return Ok(None);
        }
        let group = self.group_of(key)?;
        if let Some((side, index)) = group.find(key) {
            return Ok(Some(SeparatorPlace { group, side, index }));
        }
        let next = group.place + 1;
        if next >= self.metanode.directory.pages {
            return Ok(None);
        }
        let level = self.metanode.directory_level(self.tx);
        let content = self.tx.read(level.number(next), level.purpose)?;
        let group = self.metanode.group(self.tx, next, &content)?;
        let found = group.find(W::MIN);
        let number = group.base.number;
        let place = found.map(|(side, index)| SeparatorPlace { group, side, index });
        place.map(Some).ok_or_else(|| self.tx.damaged(number, "an empty page of the directory"))
    }

    fn group_of(&self, key: W) -> Result<DirectoryGroup<W>> {
        let found = self.metanode.locate(self.tx, key, None)?;
        self.metanode.group(self.tx, found.place, &found.page)
    }

    /// Writes a changed page of a group. If it does not fit, its upper half moves to an overflow page, or the directory
    /// is built anew.
    fn store(&mut self, mut group: DirectoryGroup<W>, side: GroupSide) -> Result<()> {
        let room = self.tx.payload_bytes();
        let part = group.part(side);
        if let Some(image) = part.image(room) {
            let number = part.number;
            return self.write(number, side, &image);
        }
        if group.overflow.is_none() && self.divide(&mut group)? { Ok(()) } else { self.rebuild(Some(&group)) }
    }

    /// Moves the upper half of a page to a new overflow page. False, and nothing written, if a half does not fit.
    fn divide(&mut self, group: &mut DirectoryGroup<W>) -> Result<bool> {
        let room = self.tx.payload_bytes();
        let mut lower = group.base.clone();
        let middle = lower.children.separators.len() / 2;
        let upper = CodedChildren {
            separators: lower.children.separators.split_off(middle),
            pages: lower.children.pages.split_off(middle),
            ..CodedChildren::default()
        };
        let moved = upper.separators.len() as u32;
        let Some(&split) = lower.children.separators.last() else { return Ok(false) };
        let (split, high) = (W::from_u128(split), lower.header.high);
        let header = DirectoryHeader { is_overflow: true, ..DirectoryHeader::new(split, high) };
        // The number of the page does not change the size of the image.
        lower.header = DirectoryHeader { split, overflow: Some(u32::MAX), ..lower.header };
        let mut part = DirectoryPart { number: 0, header, children: upper };
        let (Some(image), true) = (part.image(room), lower.image(room).is_some()) else { return Ok(false) };
        self.tx.count("overflow page");
        part.number = self.tx.allocate()?;
        lower.header.overflow = Some(part.number);
        self.write(part.number, GroupSide::Overflow, &image)?;
        self.write(lower.number, GroupSide::Base, &lower.image(room).unwrap_or_default())?;
        self.metanode.overflow_pages = self.metanode.overflow_pages.saturating_add(1);
        self.metanode.overflow_separators = self.metanode.overflow_separators.saturating_add(moved);
        Ok(true)
    }

    /// Writes a group of which one page became empty.
    fn store_emptied(&mut self, mut group: DirectoryGroup<W>, side: GroupSide) -> Result<()> {
        let Some(overflow) = group.overflow.take() else {
            return self.rebuild(Some(&group));
        };
        self.tx.free(overflow.number, 1);
        self.metanode.overflow_pages = self.metanode.overflow_pages.saturating_sub(1);
        if side == GroupSide::Base {
            let moved = overflow.children.separators.len() as u32;
            self.metanode.overflow_separators = self.metanode.overflow_separators.saturating_sub(moved);
            group.base.children = overflow.children;
        }
        group.base.header = DirectoryHeader::new(group.base.header.low, group.base.header.high);
        self.store(group, GroupSide::Base)
    }

    fn write(&mut self, number: PageNumber, side: GroupSide, image: &[u8]) -> Result<()> {
        let depth = self.metanode.directory_depth() + u8::from(side == GroupSide::Overflow);
        self.tx.edit(number, Purpose::Inner(depth))?.write(0, image);
        Ok(())
    }

    /// Adds the time that lookups lose until the next split, and rebuilds when it has become that of a build.
    fn rebuild_if_drifted(&mut self) -> Result<()> {
        let metanode = &mut self.metanode;
        if metanode.overflow_pages == 0 {
            return Ok(());
        }
        let page_bytes = self.tx.payload_bytes() as u64;
        let profile = self.router.profile();
        // Keys are looked up evenly, and leaves hold about equally many.
        let share = f64::from(metanode.overflow_separators) / f64::from(metanode.separators.max(1));
        let lookups = self.router.options.lookups_per_insert * self.router.leaf_entries::<W>(self.tx.payload_bytes())
            / SPLITS_PER_LEAF_FILL;
        metanode.regret_us += (share * profile.time_us(page_bytes) * lookups) as f32;
        let pages = u64::from(metanode.directory.pages) + u64::from(metanode.overflow_pages);
        let build_us = BUILD_PASSES * profile.time_us(pages.saturating_mul(page_bytes));
        if f64::from(metanode.regret_us) < REGRET_RATIO * build_us { Ok(()) } else { self.rebuild(None) }
    }

    /// Builds directory and layers anew, with `changed` in place of the stored group.
    fn rebuild(&mut self, changed: Option<&DirectoryGroup<W>>) -> Result<()> {
        self.tx.count("hierarchy rebuild");
        let mut all = CodedChildren::default();
        let mut overflow_pages = Vec::new();
        self.metanode.directory_level(self.tx).each(|place, content| {
            let stored = match changed.filter(|group| group.place == place) {
                Some(group) => group.clone(),
                None => self.metanode.group(self.tx, place, &content)?,
            };
            overflow_pages.extend(stored.overflow.as_ref().map(|overflow| overflow.number));
            stored.append_to(&mut all);
            Ok(())
        })?;
        if !all.separators.is_sorted_by(|a, b| a < b) {
            return Err(self
                .tx
                .damaged(self.metanode.directory.first, "the separators of the directory do not ascend"));
        }
        let extents = self.metanode.layers.iter().chain([&self.metanode.directory]);
        extents.for_each(|extent| self.tx.free(extent.first, extent.pages));
        overflow_pages.into_iter().for_each(|page| self.tx.free(page, 1));
        self.metanode = build(self.router, self.tx, &all)?;
        Ok(())
    }
}

impl<W: Word> AirMetanode<W> {
    /// The page at `place` of the directory, which contains `content`, with its overflow page.
    pub(super) fn group(&self, pages: &dyn Pages, place: u32, content: &Page) -> Result<DirectoryGroup<W>> {
        let level = self.directory_level(pages);
        let base = DirectoryPart::decode(level.number(place), content, false).ok_or_else(|| level.invalid(place))?;
        let read_overflow = |number: PageNumber| {
            let content = pages.read(number, Purpose::Inner(self.directory_depth() + 1))?;
            let part = DirectoryPart::decode(number, &content, true).filter(|part| part.continues(&base));
            part.ok_or_else(|| pages.damaged(number, "not an overflow page of the directory"))
        };
        let overflow = base.header.overflow.map(read_overflow).transpose()?;
        Ok(DirectoryGroup { place, base, overflow })
    }
}
