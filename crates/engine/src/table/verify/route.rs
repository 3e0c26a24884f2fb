//! The verification of index routes: each key, present or absent, is led to its place within the reads that the file
//! states, without widening an approximate window.

use super::walk::VerifyWalk;
use crate::error::Result;
use crate::table::block::key::KeyBound;
use crate::table::format::index_page::{ChildWindow, IndexPageView, RouteTarget};
use crate::table::format::locations::BlockLocations;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// Size of cached pages in bytes at which they are dropped.
const PAGES_HELD_BYTES_MAX: u64 = 1 << 20;
/// Length to which keys are shortened in findings, in characters.
const SHOWN_CHARACTERS_MAX: usize = 80;

/// Cached pages that were read and found sound (`None` for unsound ones), and the last window of blocks with an
/// accepted size.
#[derive(Default)]
pub(super) struct RouteCache {
    pages: HashMap<(usize, u64), Option<Arc<[u8]>>>,
    held_bytes: u64,
    small_enough: Option<(u64, u64)>,
}

impl VerifyWalk<'_> {
    /// Checks the route of a present key whose first record is in `home`.
    pub(super) fn check_present(&mut self, key: &[u8], home: u64) -> Result<()> {
        let Some(window) = self.route(key)? else { return Ok(()) };
        if !(window.first..=window.last).contains(&home) {
            self.misled(key, home, window);
        }
        Ok(())
    }

    /// Checks the absent keys next to both sides of the border before block `right`.
    pub(super) fn check_border(&mut self, low: &[u8], high: &[u8], right: u64) -> Result<()> {
        for key in between(low, high, self.inner.meta.record_type.keys.is_numeric()) {
            let Some(window) = self.route(&key)? else { continue };
            // An exact window may point to either side. An approximate one must contain both, or the reader has to
            // widen it.
            let (first, last) = if window.is_exact { (right, right - 1) } else { (right - 1, right) };
            if window.first > first || window.last < last {
                self.misled(&key, right, window);
            }
        }
        Ok(())
    }

    /// Checks the keys before all others.
    pub(super) fn check_before(&mut self, first: &[u8]) -> Result<()> {
        let least = vec![0; if self.inner.meta.record_type.keys.is_numeric() { 8 } else { 0 }];
        if least.as_slice() < first {
            self.check_present(&least, 0)?;
        }
        Ok(())
    }

    /// Checks the absent key after a run of one key that ends in `block`, where the next key begins.
    pub(super) fn check_gap(&mut self, low: &[u8], high: &[u8], block: u64) -> Result<()> {
        match between(low, high, self.inner.meta.record_type.keys.is_numeric()).next() {
            Some(key) => self.check_present(&key, block),
            None => Ok(()),
        }
    }

    /// Checks the key after all others.
    pub(super) fn check_after(&mut self, last: &[u8], block: u64) -> Result<()> {
        if self.inner.meta.record_type.keys.is_numeric() && last.iter().all(|&byte| byte == u8::MAX) {
            return Ok(());
        }
        self.check_present(&next_key(last, self.inner.meta.record_type.keys.is_numeric()), block)
    }

    fn misled(&mut self, key: &[u8], home: u64, window: ChildWindow) {
        let detail = format!(
            "key {} belongs to block {home}, and the index leads it to blocks {} to {}",
            self.shown(key),
            window.first,
            window.last
        );
        self.report.add(self.inner.files.tail_offset(), detail);
    }

    fn shown(&self, key: &[u8]) -> String {
        self.inner.meta.record_type.keys.display(key).chars().take(SHOWN_CHARACTERS_MAX).collect()
    }

    /// The blocks to which the index routes a key. `None` if it leads nowhere, which was reported.
    fn route(&mut self, key: &[u8]) -> Result<Option<ChildWindow>> {
        let Some(target) = self.inner.target(KeyBound { key, after: false }) else { return Ok(None) };
        self.report.routes += 1;
        let whole = ChildWindow { first: 0, last: self.inner.meta.blocks.saturating_sub(1), is_exact: true };
        let mut window = whole;
        if let Some(top) = self.inner.meta.layers.len().checked_sub(1) {
            let asked = self.inner.route_in_root(top, &target);
            let Some(found) = self.within(asked, top, key, self.inner.files.tail_offset()) else { return Ok(None) };
            window = found;
            for layer in (1..=top).rev() {
                let Some(found) = self.through_pages(layer, window, &target)? else { return Ok(None) };
                window = found;
            }
        }
        self.check_stated_size(window)?;
        Ok(Some(window))
    }

    /// A window clipped to the existing children; one that begins after them leads nowhere.
    fn within(&mut self, window: Option<ChildWindow>, level: usize, key: &[u8], offset: u64) -> Option<ChildWindow> {
        let last = self.inner.children(level).saturating_sub(1);
        match window {
            Some(window) if window.first <= last => Some(ChildWindow { last: window.last.min(last), ..window }),
            _ => {
                self.report.add(offset, format!("the index leads key {} nowhere", self.shown(key)));
                None
            }
        }
    }

    fn through_pages(
        &mut self,
        layer: usize,
        window: ChildWindow,
        target: &RouteTarget<'_>,
    ) -> Result<Option<ChildWindow>> {
        let inner = self.inner;
        let (kind, granule) = inner.nodes_over(layer - 1);
        let end = inner.children(layer) - 1;
        let summary = &inner.meta.layers[layer - 1];
        if (window.last - window.first + 1).saturating_mul(summary.page_bytes) > summary.max_read_bytes {
            let detail =
                format!("a lookup reads more of layer {layer} than the stated {} bytes", summary.max_read_bytes);
            self.report.add(inner.files.tail_offset(), detail);
        }
        for number in window.first..=window.last {
            // Defects of a page itself were reported by the walk over the layers.
            let Some(bytes) = self.current_page(layer, number)? else { return Ok(None) };
            let Some(page) = IndexPageView::parse(kind, granule, inner.children(layer - 1), &bytes) else {
                return Ok(None);
            };
            let Some(side) = page.side(target) else { return Ok(None) };
            let offset = inner.section(layer, number)?.offset;
            match side {
                Ordering::Greater if number < window.last => {}
                Ordering::Greater if number < end => break,
                Ordering::Less if number > 0 => break,
                _ => return Ok(self.within(page.nodes.search(target), layer - 1, target.probe.key, offset)),
            }
        }
        let detail = format!(
            "key {} belongs to none of the index pages {} to {} of layer {layer}, where the index leads it",
            self.shown(target.probe.key),
            window.first,
            window.last
        );
        self.report.add(inner.files.tail_offset(), detail);
        Ok(None)
    }

    fn current_page(&mut self, layer: usize, number: u64) -> Result<Option<Arc<[u8]>>> {
        if let Some(found) = self.routes.pages.get(&(layer, number)) {
            return Ok(found.clone());
        }
        let section = self.inner.section(layer, number)?;
        let checked = self.inner.check(layer, number, section, &self.read(section)?).ok();
        self.routes.held_bytes += section.bytes;
        if self.routes.held_bytes > PAGES_HELD_BYTES_MAX {
            self.routes.pages.clear();
            self.routes.held_bytes = section.bytes;
        }
        self.routes.pages.insert((layer, number), checked.clone());
        Ok(checked)
    }

    /// Checks the size of a window of blocks against what the file states.
    fn check_stated_size(&mut self, window: ChildWindow) -> Result<()> {
        let ChildWindow { first, last, .. } = window;
        if self.routes.small_enough == Some((first, last)) || self.inner.meta.blocks == 0 {
            return Ok(());
        }
        let most = self.inner.meta.max_read_bytes;
        let section = |block| self.inner.section(0, block).unwrap_or_default();
        let bytes = match self.inner.locations {
            BlockLocations::Coded { .. } => (first..=last).map(|block| section(block).bytes).sum(),
            // Blocks are consecutive.
            _ => section(last).end().saturating_sub(section(first).offset),
        };
        if bytes > most {
            let detail = format!("a lookup reads blocks {first} to {last}, more than the stated {most} bytes");
            self.report.add(self.inner.files.tail_offset(), detail);
        }
        self.routes.small_enough = Some((first, last));
        Ok(())
    }
}

/// The key right after one.
fn next_key(key: &[u8], is_numeric: bool) -> Vec<u8> {
    if !is_numeric {
        return [key, &[0]].concat();
    }
    key.try_into()
        .map_or_else(|_| key.to_vec(), |word| u64::from_be_bytes(word).saturating_add(1).to_be_bytes().to_vec())
}

/// A key shortly before one; the key itself if it is the least.
fn close_before(key: &[u8], is_numeric: bool) -> Vec<u8> {
    if let (true, Ok(word)) = (is_numeric, key.try_into()) {
        return u64::from_be_bytes(word).saturating_sub(1).to_be_bytes().to_vec();
    }
    match key.split_last() {
        None | Some((0, _)) => key[..key.len().saturating_sub(1)].to_vec(),
        Some((&last, rest)) => [rest, &[last - 1], &[u8::MAX; 8]].concat(),
    }
}

/// Absent keys at both ends of the gap between two keys.
fn between(low: &[u8], high: &[u8], is_numeric: bool) -> impl Iterator<Item = Vec<u8>> {
    let sides = [next_key(low, is_numeric), close_before(high, is_numeric)];
    let (low, high) = (low.to_vec(), high.to_vec());
    sides.into_iter().filter(move |key| *key > low && *key < high)
}
