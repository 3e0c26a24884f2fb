//! A structure of indexes: a sorted array of separators in pages, under a top that samples it.
//!
//! ```text
//!  top      greatest separator and number of each page below       one page for some hundred
//!  array    (separator, leaf), (separator, leaf), ...              split in two when full
//!  leaves   B+-tree leaves of the engine
//! ```
//!
//! A lookup reads the pages of the top up to the one that leads on, then one page of the array, then the leaf. The
//! state of the index is the first page of the top and its number of entries. Whenever a page of the array gets another
//! greatest separator, the top is written anew.

use std::sync::Arc;

use ogive::index::IndexLayout;
use ogive::index::extend::{
    Gap, IndexLevelStatistics, IndexStatistics, IndexVisit, LeafTree, LeafVisit, PageVisit, Router, RouterBuilder,
    Structure, StructureFactory, Tunable, Word,
};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};
use ogive::{IndexKind, Result};

/// The kind of index: its name, its code, its structure.
pub const SAMPLED_ARRAY: IndexKind = IndexKind::new(&SampledArrayFactory);

#[derive(Debug)]
struct SampledArrayFactory;

impl StructureFactory for SampledArrayFactory {
    fn name(&self) -> &'static str {
        "sampled-array"
    }

    fn code(&self) -> u8 {
        130
    }

    fn for_u64(&self, layout: IndexLayout, _: &[Tunable]) -> Arc<dyn Structure<u64>> {
        Arc::new(LeafTree::new(SampledArray, layout))
    }

    fn for_u128(&self, layout: IndexLayout, _: &[Tunable]) -> Arc<dyn Structure<u128>> {
        Arc::new(LeafTree::new(SampledArray, layout))
    }
}

/// The inner structure. All that changes is in pages and in the state, 8 bytes.
#[derive(Clone, Copy, Debug)]
pub struct SampledArray;

/// Separators, each with a page.
type Separators<W> = Vec<(W, PageNumber)>;

const PAGE_NUMBER_BYTES: usize = 4;
/// Bytes of the number of entries, at the start of each page.
const COUNT_BYTES: usize = 4;

fn per_page<W: Word>(pages: &dyn Pages) -> usize {
    (pages.payload_bytes() - COUNT_BYTES) / (W::BYTES + PAGE_NUMBER_BYTES)
}

fn encode<W: Word>(entries: &[(W, PageNumber)]) -> Vec<u8> {
    let mut content = (entries.len() as u32).to_le_bytes().to_vec();
    for (separator, page) in entries {
        let start = content.len();
        content.resize(start + W::BYTES, 0);
        separator.store(&mut content[start..]);
        content.extend_from_slice(&page.to_le_bytes());
    }
    content
}

/// The entries of a page, which may hold anything.
fn read<W: Word>(pages: &dyn Pages, page: PageNumber, depth: u8) -> Result<Separators<W>> {
    let content = pages.read(page, Purpose::Inner(depth))?;
    let Some((count, entries)) = content.split_first_chunk() else {
        return Err(pages.damaged(page, "a page of separators is too short"));
    };
    let count = u32::from_le_bytes(*count) as usize;
    if count == 0 || count > per_page::<W>(pages) {
        return Err(pages.damaged(page, "a page of separators has a wrong number of them"));
    }
    let entries = entries.chunks_exact(W::BYTES + PAGE_NUMBER_BYTES).take(count);
    let entry = |bytes: &[u8]| (W::load(bytes), bytes.last_chunk().map_or(0, |page| u32::from_le_bytes(*page)));
    let entries: Separators<W> = entries.map(entry).collect();
    if !entries.is_sorted_by(|left, right| left.0 < right.0) {
        return Err(pages.damaged(page, "the separators of a page do not ascend"));
    }
    Ok(entries)
}

/// The place of the first separator that is not below `key`.
fn place_of<W: Word>(entries: &Separators<W>, key: W) -> Option<usize> {
    let place = entries.partition_point(|&(separator, _)| separator < key);
    (place < entries.len()).then_some(place)
}

/// First page, pages and entries of the top.
fn extent<W: Word>(pages: &dyn Pages, state: &[u8]) -> Result<(PageNumber, u32, usize)> {
    let (Some(first), Some(count)) = (state.first_chunk(), state.last_chunk()) else {
        return Err(pages.damaged(0, "the state of a sampled array is too short"));
    };
    let (first, count) = (u32::from_le_bytes(*first), u32::from_le_bytes(*count) as usize);
    let pages_taken = count.div_ceil(per_page::<W>(pages)) as u32;
    if first.checked_add(pages_taken).is_none_or(|end| end > pages.page_count()) {
        return Err(pages.damaged(first, "the top of a sampled array lies beyond the end of the file"));
    }
    Ok((first, pages_taken, count))
}

/// The whole top.
fn read_top<W: Word>(pages: &dyn Pages, state: &[u8]) -> Result<Separators<W>> {
    let (first, pages_taken, count) = extent::<W>(pages, state)?;
    let mut top = Vec::new();
    for page in first..first + pages_taken {
        top.extend(read::<W>(pages, page, 0)?);
    }
    if top.len() != count || !top.is_sorted_by(|left, right| left.0 < right.0) {
        return Err(pages.damaged(first, "the top of a sampled array has other entries than its state says"));
    }
    Ok(top)
}

/// Writes entries to new pages, and returns the greatest separator and the number of each page.
fn write_fresh<W: Word>(tx: &mut Transaction, entries: &[(W, PageNumber)], depth: u8) -> Result<Separators<W>> {
    let mut written = Vec::new();
    if !entries.is_empty() {
        let per_page = per_page::<W>(tx);
        let first = tx.allocate_extent(entries.len().div_ceil(per_page) as u32)?;
        for (page, part) in (first..).zip(entries.chunks(per_page)) {
            tx.write_fresh(page, Purpose::Inner(depth), &encode(part))?;
            written.extend(part.last().map(|(separator, _)| (*separator, page)));
        }
    }
    Ok(written)
}

/// Writes a top to new pages; the state.
fn write_top<W: Word>(tx: &mut Transaction, top: &[(W, PageNumber)]) -> Result<Vec<u8>> {
    let first = write_fresh(tx, top, 0)?.first().map_or(0, |(_, page)| *page);
    Ok([first.to_le_bytes(), (top.len() as u32).to_le_bytes()].concat())
}

/// Replaces the page of the array at `place` of the top by `entries`, which may have become one too many, or none.
fn replace_page<W: Word>(
    tx: &mut Transaction,
    state: &mut Vec<u8>,
    mut top: Separators<W>,
    place: usize,
    entries: &[(W, PageNumber)],
) -> Result<()> {
    let former: Separators<W> = top.get(place).copied().into_iter().collect();
    let most = if entries.len() > per_page::<W>(tx) { entries.len().div_ceil(2) } else { entries.len().max(1) };
    let mut reused = former.first().map(|(_, page)| *page);
    let mut parts = Vec::new();
    for part in entries.chunks(most) {
        let page = match reused.take() {
            Some(page) => page,
            None => tx.allocate()?,
        };
        tx.edit(page, Purpose::Inner(1))?.write(0, &encode(part));
        parts.extend(part.last().map(|(separator, _)| (*separator, page)));
    }
    if let Some(page) = reused {
        tx.free(page, 1);
    }
    if parts != former {
        top.splice(place..place + former.len(), parts);
        let (first, pages_taken, _) = extent::<W>(tx, state)?;
        tx.free(first, pages_taken);
        *state = write_top(tx, &top)?;
    }
    Ok(())
}

/// Changes the entry of the first separator not below `key`; `None` if there is no such separator.
fn change<W: Word, T>(
    tx: &mut Transaction,
    state: &mut Vec<u8>,
    key: W,
    change: impl FnOnce(&mut Separators<W>, usize) -> T,
) -> Result<Option<T>> {
    let top = read_top(tx, state)?;
    let Some(place) = place_of(&top, key) else { return Ok(None) };
    let mut entries = read(tx, top[place].1, 1)?;
    let Some(at) = place_of(&entries, key) else { return Err(lost(tx, top[place].1)) };
    let changed = change(&mut entries, at);
    replace_page(tx, state, top, place, &entries)?;
    Ok(Some(changed))
}

fn lost(pages: &dyn Pages, page: PageNumber) -> ogive::Error {
    pages.damaged(page, "the top of a sampled array leads to a page without the separator")
}

/// Collects separators while leaves are written.
#[derive(Debug)]
struct SampledArrayBuilder<W>(Separators<W>);

impl<W: Word> RouterBuilder<W> for SampledArrayBuilder<W> {
    fn push(&mut self, _tx: &mut Transaction, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        self.0.push((gap.low, leaf));
        Ok(())
    }

    fn finish(self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>> {
        let top = write_fresh(tx, &self.0, 1)?;
        write_top(tx, &top)
    }
}

impl<W: Word> Router<W> for SampledArray {
    fn builder(&self, _tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>> {
        Ok(Box::new(SampledArrayBuilder(Vec::new())))
    }

    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>> {
        let (first, pages_taken, _) = extent::<W>(pages, state)?;
        for page in first..first + pages_taken {
            let top = read(pages, page, 0)?;
            if let Some(place) = place_of(&top, key) {
                let entries = read(pages, top[place].1, 1)?;
                let at = place_of(&entries, key).ok_or_else(|| lost(pages, top[place].1))?;
                return Ok(Some(entries[at].1));
            }
        }
        Ok(None)
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        let top: Separators<W> = read_top(tx, state)?;
        // Beyond the last separator, the last page grows; there is none yet in an empty array.
        let place = place_of(&top, gap.low).unwrap_or(top.len().saturating_sub(1));
        let mut entries = match top.get(place) {
            Some((_, page)) => read(tx, *page, 1)?,
            None => Vec::new(),
        };
        let at = place_of(&entries, gap.low).unwrap_or(entries.len());
        entries.insert(at, (gap.low, leaf));
        replace_page(tx, state, top, place, &entries)
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>> {
        change(tx, state, key, |entries: &mut Separators<W>, at| entries.remove(at).1)
    }

    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool> {
        Ok(change(tx, state, key, |entries, at| entries[at].1 = leaf)?.is_some())
    }

    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()> {
        let (first, pages_taken, count) = extent::<W>(pages, state)?;
        if count > 0 {
            claim(first, pages_taken)?;
        }
        let mut above: Option<W> = None;
        for (greatest, page) in read_top::<W>(pages, state)? {
            claim(page, 1)?;
            let entries = read::<W>(pages, page, 1)?;
            let (least, last) = (entries.first().map(|entry| entry.0), entries.last().map(|entry| entry.0));
            if last != Some(greatest) || above.is_some_and(|above| least <= Some(above)) {
                return Err(lost(pages, page));
            }
            above = last;
            entries.into_iter().try_for_each(|(separator, page)| leaf(separator, page))?;
        }
        Ok(())
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        let (_, pages_taken, count) = extent::<W>(pages, state)?;
        if count == 0 {
            return Ok(IndexStatistics::default());
        }
        let mut entries = 0;
        for (_, page) in read_top::<W>(pages, state)? {
            entries += read::<W>(pages, page, 1)?.len() as u64;
        }
        let (top, array) = (u64::from(pages_taken), count as u64);
        let levels = vec![
            IndexLevelStatistics { nodes: 1, pages: top, entries: array },
            IndexLevelStatistics { nodes: array, pages: array, entries },
        ];
        let inner_pages = top + array;
        Ok(IndexStatistics { entries, inner_pages, height: 2, mean_height: 2.0, levels, ..IndexStatistics::default() })
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        let top: Separators<W> = read_top(pages, state)?;
        let Some(place) = place_of(&top, key) else { return Ok(Vec::new()) };
        let (first, ..) = extent::<W>(pages, state)?;
        let page = top[place].1;
        let entries = read::<W>(pages, page, 1)?;
        let visit = |node, page, depth, place: usize, count: usize| {
            let detail = format!("place {place} of {count}");
            IndexVisit { node, page, depth, entries: count as u64, detail }
        };
        let at = place_of(&entries, key).ok_or_else(|| lost(pages, page))?;
        Ok(vec![visit("top", first, 0, place, top.len()), visit("array", page, 1, at, entries.len())])
    }
}
