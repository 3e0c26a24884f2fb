//! Sorted entries of one size, packed into consecutive pages, and searches among them.

use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use std::cmp::Ordering;

/// The layout of entries in a page. Each starts with its key; none spans two pages.
///
/// ```text
/// | header | entry 0 | entry 1 | ... | flags, one bit per entry, if any | unused |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryLayout {
    header_bytes: usize,
    entry_bytes: usize,
    per_page: usize,
    flagged: bool,
}

impl EntryLayout {
    /// A layout without flags.
    pub(crate) fn plain(payload_bytes: usize, header_bytes: usize, entry_bytes: usize) -> Self {
        let per_page = payload_bytes.saturating_sub(header_bytes) / entry_bytes.max(1);
        Self { header_bytes, entry_bytes, per_page: per_page.max(1), flagged: false }
    }

    /// A layout with a flag per entry.
    pub(crate) fn flagged(payload_bytes: usize, header_bytes: usize, entry_bytes: usize) -> Self {
        let room = payload_bytes.saturating_sub(header_bytes);
        let bound = room * 8 / (entry_bytes * 8 + 1);
        let fits = |count: &usize| count * entry_bytes + count.div_ceil(8) <= room;
        let per_page = (0..=bound).rev().find(fits).unwrap_or(0);
        Self { header_bytes, entry_bytes, per_page: per_page.max(1), flagged: true }
    }

    /// Bytes of an entry.
    pub(crate) fn entry_bytes(&self) -> usize {
        self.entry_bytes
    }

    /// Number of entries of a full page.
    pub(crate) fn per_page(&self) -> usize {
        self.per_page
    }

    /// Number of pages for `count` entries.
    pub(crate) fn pages(&self, count: u64) -> u64 {
        count.div_ceil(self.per_page as u64)
    }

    /// The offset of entry `slot` in its page.
    pub(crate) fn offset(&self, slot: usize) -> usize {
        self.header_bytes + slot * self.entry_bytes
    }

    /// The offset of the flags.
    pub(crate) fn flags_offset(&self) -> usize {
        self.offset(self.per_page)
    }

    /// Bytes of the flags.
    pub(crate) fn flags_bytes(&self) -> usize {
        if self.flagged { self.per_page.div_ceil(8) } else { 0 }
    }

    /// Entry `slot`; empty beyond the page.
    pub(crate) fn entry<'a>(&self, page: &'a [u8], slot: usize) -> &'a [u8] {
        page.get(self.offset(slot)..self.offset(slot) + self.entry_bytes).unwrap_or(&[])
    }

    /// The key of entry `slot`.
    pub(crate) fn key<W: Word>(&self, page: &[u8], slot: usize) -> W {
        W::load(self.entry(page, slot))
    }

    /// Whether entry `slot` is flagged.
    pub(crate) fn flag(&self, page: &[u8], slot: usize) -> bool {
        self.flagged && page.get(self.flags_offset() + slot / 8).is_some_and(|byte| byte >> (slot % 8) & 1 == 1)
    }

    /// The number of the first `count` entries with keys below `key`, and whether the next one has `key`.
    pub(crate) fn lower_bound<W: Word>(&self, page: &[u8], count: usize, key: W) -> (usize, bool) {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key::<W>(page, middle) < key { low = middle + 1 } else { high = middle }
        }
        (low, low < count && self.key::<W>(page, low) == key)
    }

    /// The last of the first `count` entries with a key not above `key`; 0 if all are above.
    pub(crate) fn floor<W: Word>(&self, page: &[u8], count: usize, key: W) -> usize {
        let (below, exact) = self.lower_bound(page, count, key);
        if exact { below } else { below.saturating_sub(1) }
    }
}

/// Entries packed into pages from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedEntries {
    pub(crate) first: PageNumber,
    pub(crate) count: u64,
    pub(crate) shape: EntryLayout,
}

/// The result of a search: the position of a key, or of its successor.
#[derive(Clone, Debug)]
pub(crate) struct FoundEntry {
    /// Number of entries with lesser keys.
    pub(crate) position: u64,
    /// Whether the entry there has the key.
    pub(crate) exact: bool,
    /// The page with the entry, if it was read: its index among the pages, and its content.
    pub(crate) page: Option<(u64, Page)>,
    /// Number of pages read.
    pub(crate) probes: u32,
}

impl PackedEntries {
    /// Checks that all pages are within the file; else returns `Damaged` for page `from`, which describes the entries.
    pub(crate) fn check(self, pages: &dyn Pages, from: PageNumber) -> Result<Self> {
        let end = u64::from(self.first) + self.pages();
        if self.first > 0 && end <= u64::from(pages.page_count()) {
            return Ok(self);
        }
        Err(pages.damaged(from, "entries lie beyond the end of the file"))
    }

    pub(crate) fn pages(&self) -> u64 {
        self.shape.pages(self.count)
    }

    /// The page number of the page `index` of the entries.
    pub(crate) fn page_number(&self, index: u64) -> PageNumber {
        u32::try_from(index).map_or(PageNumber::MAX, |index| self.first.saturating_add(index))
    }

    /// Number of entries on that page.
    pub(crate) fn count_on(&self, index: u64) -> usize {
        let per_page = self.shape.per_page as u64;
        self.count.saturating_sub(index.saturating_mul(per_page)).min(per_page) as usize
    }

    /// The page and the slot of a position.
    pub(crate) fn locate(&self, position: u64) -> (u64, usize) {
        let per_page = self.shape.per_page as u64;
        (position / per_page, (position % per_page) as usize)
    }

    /// Finds `key` by a galloping search from its predicted position. A wrong prediction costs reads, but never the
    /// answer.
    pub(crate) fn find<W: Word>(
        &self,
        pages: &dyn Pages,
        key: W,
        predicted: u64,
        purpose: Purpose,
    ) -> Result<FoundEntry> {
        let mut read: Option<(u64, Page)> = None;
        let mut probes = 0;
        let start = self.locate(predicted).0;
        let spot = gallop(self.pages(), start, |index| {
            probes += 1;
            let page = pages.read(self.page_number(index), purpose)?;
            let last = self.shape.key::<W>(&page, self.count_on(index).saturating_sub(1));
            let before = key < self.shape.key(&page, 0);
            read = Some((index, page));
            Ok(if before { Ordering::Less } else { key.cmp(&last).max(Ordering::Equal) })
        })?;
        match spot {
            GallopResult::Within(index) => {
                let (slot, exact) = read
                    .as_ref()
                    .map_or((0, false), |(_, page)| self.shape.lower_bound(page, self.count_on(index), key));
                let position = index * self.shape.per_page as u64 + slot as u64;
                Ok(FoundEntry { position, exact, page: read, probes })
            }
            GallopResult::Before(index) => {
                let position = (index * self.shape.per_page as u64).min(self.count);
                let page = read.filter(|&(at, _)| at == index);
                Ok(FoundEntry { position, exact: false, page, probes })
            }
        }
    }
}

/// The result of a galloping search among pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GallopResult {
    /// The key is in the range of this page.
    Within(u64),
    /// The key is in the gap before this page, or after the last.
    Before(u64),
}

/// Galloping search among `count` sorted pages: from page `start` in doubling steps, then by bisection. `side` compares
/// the key with a page. Ends after about `2 * log2(count)` calls, even if `side` is inconsistent.
pub(crate) fn gallop(count: u64, start: u64, mut side: impl FnMut(u64) -> Result<Ordering>) -> Result<GallopResult> {
    let (mut low, mut high, mut step) = (0, count, 1);
    let mut at = start.min(count.saturating_sub(1));
    let (mut bounded_below, mut bounded_above) = (false, false);
    while low < high {
        match side(at)? {
            Ordering::Equal => return Ok(GallopResult::Within(at)),
            Ordering::Less => (high, bounded_above) = (at, true),
            Ordering::Greater => (low, bounded_below) = (at + 1, true),
        }
        at = match (bounded_below, bounded_above) {
            (true, true) => low + (high - low) / 2,
            (true, false) => low.saturating_add(step - 1).min(high.saturating_sub(1)),
            _ => high.saturating_sub(step).max(low),
        };
        step *= 2;
    }
    Ok(GallopResult::Before(low))
}

/// A reader of packed entries that caches the last page.
#[derive(Clone, Debug)]
pub(crate) struct PackedReader {
    packed: PackedEntries,
    purpose: Purpose,
    page: Option<(u64, Page)>,
}

impl PackedReader {
    pub(crate) fn new(packed: PackedEntries, purpose: Purpose) -> Self {
        Self { packed, purpose, page: None }
    }

    /// Takes over a page that a search has read.
    pub(crate) fn keep(&mut self, page: Option<(u64, Page)>) {
        self.page = page.or(self.page.take());
    }

    pub(crate) fn packed(&self) -> &PackedEntries {
        &self.packed
    }

    /// The page and the slot of a position, which must be below the count.
    fn at(&mut self, pages: &dyn Pages, position: u64) -> Result<(&Page, usize)> {
        let (index, slot) = self.packed.locate(position);
        if self.page.as_ref().is_none_or(|&(at, _)| at != index) {
            self.page = None;
        }
        let (_, page) = match self.page.take() {
            Some(read) => self.page.insert(read),
            None => self.page.insert((index, pages.read(self.packed.page_number(index), self.purpose)?)),
        };
        Ok((page, slot))
    }

    /// The key at a position; `None` at the end.
    pub(crate) fn key<W: Word>(&mut self, pages: &dyn Pages, position: u64) -> Result<Option<W>> {
        if position >= self.packed.count {
            return Ok(None);
        }
        let shape = self.packed.shape;
        let (page, slot) = self.at(pages, position)?;
        Ok(Some(shape.key(page, slot)))
    }

    /// Whether the entry at a position is flagged.
    pub(crate) fn flag(&mut self, pages: &dyn Pages, position: u64) -> Result<bool> {
        let shape = self.packed.shape;
        let (page, slot) = self.at(pages, position)?;
        Ok(shape.flag(page, slot))
    }

    /// Copies the payload of the entry at a position.
    pub(crate) fn payload<W: Word>(&mut self, pages: &dyn Pages, position: u64, payload: &mut [u8]) -> Result<()> {
        let shape = self.packed.shape;
        let (page, slot) = self.at(pages, position)?;
        copy_payload::<W>(shape.entry(page, slot), payload);
        Ok(())
    }
}

/// Copies the payload of an entry, up to its end.
pub(crate) fn copy_payload<W: Word>(entry: &[u8], payload: &mut [u8]) {
    for (target, &byte) in payload.iter_mut().zip(entry.get(W::BYTES..).unwrap_or(&[])) {
        *target = byte;
    }
}

/// Appends an entry to `bytes`.
pub(crate) fn push_entry<W: Word>(bytes: &mut Vec<u8>, key: W, payload: &[u8]) {
    let from = bytes.len();
    bytes.resize(from + W::BYTES, 0);
    if let Some(target) = bytes.get_mut(from..) {
        key.store(target);
    }
    bytes.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_entries_share_a_page_without_overlap() {
        for payload_bytes in [504, 1016, 4088, 65_528] {
            for entry_bytes in [8, 12, 16, 17, 24, 100] {
                let shape = EntryLayout::flagged(payload_bytes, 13, entry_bytes);
                assert!(shape.flags_offset() + shape.flags_bytes() <= payload_bytes);
                let more = shape.per_page() + 1;
                assert!(13 + more * entry_bytes + more.div_ceil(8) > payload_bytes);
            }
        }
        assert_eq!(EntryLayout::plain(4088, 0, 16).per_page(), 255);
        assert_eq!(EntryLayout::flagged(4088, 0, 16).per_page(), 253);
    }

    #[test]
    fn gallop_finds_every_page_in_logarithmic_steps() {
        for count in [1, 2, 3, 10, 257] {
            for (target, start) in (0..count).flat_map(|target| (0..count + 3).map(move |start| (target, start))) {
                let mut steps = 0;
                let side = |at: u64| {
                    steps += 1;
                    assert!(at < count);
                    Ok(target.cmp(&at))
                };
                assert_eq!(gallop(count, start, side).unwrap(), GallopResult::Within(target));
                let away = target.abs_diff(start.min(count - 1));
                assert!(steps <= 2 * (u64::BITS - away.leading_zeros()) + 1, "{steps} steps for {away} pages");
                let gap = |at: u64| Ok(if at < target { Ordering::Greater } else { Ordering::Less });
                assert_eq!(gallop(count, start, gap).unwrap(), GallopResult::Before(target));
            }
        }
        assert_eq!(gallop(0, 5, |_| Ok(Ordering::Equal)).unwrap(), GallopResult::Before(0));
    }
}
