//! The filter of an open table: read at first use and kept if it fits the memory, else page by page through the cache.

use super::context::ReadContext;
use super::reader::TableInner;
use crate::block::cache::BlockKey;
use crate::block::checksum;
use crate::error::Result;
use crate::io::Purpose;
use crate::io::local::sync::Mutex;
use crate::table::format::filter::{self, ResidentFilter};
use crate::table::format::index_page::ChildWindow;
use crate::table::format::meta::{FilterMeta, Section};
use std::sync::{Arc, OnceLock};

/// The filter of an open table.
#[derive(Debug)]
pub(in crate::table) struct TableFilter {
    asked: Option<FilterMeta>,
    /// Whether it is kept as a whole.
    is_kept: bool,
    resident: OnceLock<ResidentFilter>,
    /// Held while the filter is read, so that lookups of several threads read it once.
    reading: Mutex<()>,
}

impl TableFilter {
    /// The filter that lookups consult: `None` if there is none, it does not fit memory, or it is switched off.
    pub(super) fn new(asked: Option<FilterMeta>, is_kept: bool) -> Self {
        Self { asked, is_kept, resident: OnceLock::new(), reading: Mutex::new(()) }
    }

    /// The filter that lookups consult.
    #[inline]
    pub(in crate::table) fn asked(&self) -> Option<&FilterMeta> {
        self.asked.as_ref()
    }

    /// The filter, if it is in memory.
    #[inline]
    pub(super) fn resident(&self) -> Option<&ResidentFilter> {
        self.resident.get()
    }

    /// Memory of the resident filter in bytes.
    pub(super) fn resident_bytes(&self) -> u64 {
        self.resident.get().map_or(0, ResidentFilter::bytes)
    }
}

/// A key's hash, and the page of the filter that covers the key.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct FilterQuery {
    pub(in crate::table) page: u64,
    pub(in crate::table) hash: u64,
}

impl TableInner {
    /// Whether the filter admits a key in the blocks of a window; the filter is read at first use if it fits the
    /// budget.
    ///
    /// An approximate window may contain only blocks whose filter groups never saw the key, so the result of a filter
    /// with several groups is ignored for such windows.
    #[inline]
    pub(in crate::table) fn filter_allows(
        &self,
        key: &[u8],
        window: ChildWindow,
        reads: Option<&mut ReadContext<'_>>,
    ) -> Result<bool> {
        let Some(meta) = &self.filter.asked() else { return Ok(true) };
        if !window.is_exact && !self.has_one_filter_group() {
            return Ok(true);
        }
        let hash = filter::hash_key(key);
        if let (Some(filter), true) = (self.filter.resident(), window.first == window.last) {
            return Ok(filter.may_contain(meta.layout.page_of(window.first, hash), hash));
        }
        self.any_page_allows(meta, hash, window, reads)
    }

    /// As [`Self::filter_allows`], for several blocks, or a filter that is not resident.
    #[inline(never)]
    fn any_page_allows(
        &self,
        meta: &FilterMeta,
        hash: u64,
        window: ChildWindow,
        reads: Option<&mut ReadContext<'_>>,
    ) -> Result<bool> {
        let mut own = ReadContext::default();
        let reads = reads.unwrap_or(&mut own);
        let groups = meta.layout.groups_of_blocks(window.first..=window.last);
        for page in groups.map(|group| meta.layout.page_in_group(group, hash)) {
            if self.filter_may_contain(meta, FilterQuery { page, hash }, reads)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the filter has one group of pages, which any block leads to.
    #[inline]
    fn has_one_filter_group(&self) -> bool {
        self.filter.asked().as_ref().is_some_and(|meta| u64::from(meta.layout.blocks_per_group()) >= self.meta.blocks)
    }

    /// Whether the filter, which is not resident yet, admits a hash.
    fn filter_may_contain(&self, meta: &FilterMeta, query: FilterQuery, reads: &mut ReadContext<'_>) -> Result<bool> {
        match self.resident_filter(meta, reads)? {
            Some(filter) => Ok(filter.may_contain(query.page, query.hash)),
            None => self.cached_filter_may_contain(query, reads),
        }
    }

    /// As [`Self::filter_may_contain`], for a filter that does not fit memory: its pages go through the cache.
    fn cached_filter_may_contain(
        &self,
        FilterQuery { page, hash }: FilterQuery,
        reads: &mut ReadContext<'_>,
    ) -> Result<bool> {
        let key = self.filter_page_key(page);
        if let Some(found) = self.memory.cache().visit(key, |bytes, _| filter::may_contain(bytes, hash)) {
            return Ok(found);
        }
        let Some(section) = self.filter_page_section(page) else { return Ok(true) };
        if let Some(read) = self.deferred_filter_page(page, section, reads)? {
            return Ok(filter::may_contain(read, hash));
        }
        let bytes = self.whole(section, Purpose::Filter, reads)?;
        Ok(filter::may_contain(&self.keep_filter_page(page, section.offset, &bytes)?, hash))
    }

    /// The location of a page of the filter.
    pub(in crate::table) fn filter_page_section(&self, page: u64) -> Option<Section> {
        let (section, page_bytes) = (self.filter.asked()?.section, filter::FILTER_PAGE_BYTES as u64);
        let at = page.checked_mul(page_bytes).filter(|at| at + page_bytes <= section.bytes)?;
        Some(Section { offset: section.offset + at, bytes: page_bytes })
    }

    /// Checks a page of the filter, and offers it to the cache.
    pub(in crate::table) fn keep_filter_page(&self, page: u64, offset: u64, bytes: &[u8]) -> Result<Arc<[u8]>> {
        self.check_filter_page(offset, bytes)?;
        let kept: Arc<[u8]> = bytes.into();
        self.memory.cache().insert(self.filter_page_key(page), Arc::clone(&kept));
        Ok(kept)
    }

    /// The key of a page of the filter in the cache: it follows those of the pages of the layers.
    fn filter_page_key(&self, page: u64) -> BlockKey {
        self.cache_key(self.meta.layers.len() + 1, page)
    }

    fn check_filter_page(&self, offset: u64, page: &[u8]) -> Result<()> {
        match checksum::check(self.files.id(), offset, page) {
            true => Ok(()),
            false => Err(self.damaged(offset, "the checksum of a filter page does not match")),
        }
    }

    /// The filter, read at first use; `None` if it does not fit memory now, or is not to be kept.
    pub(in crate::table) fn resident_filter(
        &self,
        meta: &FilterMeta,
        reads: &mut ReadContext<'_>,
    ) -> Result<Option<&filter::ResidentFilter>> {
        if self.filter.resident().is_none() && self.filter.is_kept {
            self.defer_filter(meta, reads)?;
            self.reserve_filter(meta, || {
                let _reading = self.filter.reading.lock();
                if self.filter.resident().is_some() {
                    return Ok(false);
                }
                let bytes = self.whole(meta.section, Purpose::Filter, reads)?;
                self.keep_filter(meta, &bytes)
            })?;
        }
        Ok(self.filter.resident())
    }

    /// Checks all pages of the filter.
    fn check_filter(&self, meta: &FilterMeta, bytes: &[u8]) -> Result<()> {
        let pages = bytes.chunks(filter::FILTER_PAGE_BYTES);
        pages
            .zip((meta.section.offset..).step_by(filter::FILTER_PAGE_BYTES))
            .try_for_each(|(page, offset)| self.check_filter_page(offset, page))
    }

    /// Whether memory for the filter could be reserved now.
    pub(super) fn has_room_for_filter(&self, meta: &FilterMeta) -> bool {
        let has_room = self.memory.try_reserve(meta.section.bytes);
        if has_room {
            self.memory.release(meta.section.bytes);
        }
        has_room
    }

    /// Reserves memory for the filter, if there is enough, and keeps it by `keep`, which returns whether no other
    /// thread did so first. Returns whether the filter is resident.
    pub(super) fn reserve_filter(&self, meta: &FilterMeta, keep: impl FnOnce() -> Result<bool>) -> Result<bool> {
        if !self.memory.try_reserve(meta.section.bytes) {
            return Ok(self.filter.resident().is_some());
        }
        let is_ours = keep();
        if !matches!(is_ours, Ok(true)) {
            self.memory.release(meta.section.bytes);
        }
        is_ours.map(|_| true)
    }

    /// Checks the bytes of the filter and keeps it; returns whether no other thread did so first.
    pub(super) fn keep_filter(&self, meta: &FilterMeta, bytes: &[u8]) -> Result<bool> {
        self.check_filter(meta, bytes)?;
        Ok(self.filter.resident.set(ResidentFilter::new(bytes)).is_ok())
    }
}

/// Whether a filter stays in memory within a budget.
pub(in crate::table) fn keeps_filter(meta: &FilterMeta, budget_bytes: u64) -> bool {
    meta.section.bytes <= budget_bytes / 2
}
