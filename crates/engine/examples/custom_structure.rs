//! A structure of another crate, registered as a kind of index.
//!
//! The inner structure is the simplest one possible: a sorted array of separators and leaves in one extent of pages,
//! read as a whole for every lookup and written anew for every change. B+-tree leaves, cursors, repeated keys, commits
//! and snapshots come from the engine.

#![expect(clippy::disallowed_macros, reason = "an example prints")]

use ogive::index::IndexLayout;
use ogive::index::extend::{
    Gap, IndexLevelStatistics, IndexStatistics, IndexVisit, LeafTree, LeafVisit, PageVisit, Router, RouterBuilder,
    Structure, StructureFactory, Tunable, Word,
};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};
use ogive::{Index, IndexKind, IndexOptions, MemoryStorage, Result};
use std::sync::Arc;

/// The kind of index: its name, its code, its structure.
pub(crate) const DIRECTORY: IndexKind = IndexKind::new(&DirectoryFactory);

#[derive(Debug)]
struct DirectoryFactory;

impl StructureFactory for DirectoryFactory {
    fn name(&self) -> &'static str {
        "directory"
    }

    fn code(&self) -> u8 {
        128
    }

    fn allows_duplicates(&self) -> bool {
        true
    }

    fn for_u64(&self, layout: IndexLayout, _: &[Tunable]) -> Arc<dyn Structure<u64>> {
        Arc::new(LeafTree::new(Directory, layout))
    }

    fn for_u128(&self, layout: IndexLayout, _: &[Tunable]) -> Arc<dyn Structure<u128>> {
        Arc::new(LeafTree::new(Directory, layout))
    }
}

/// A sorted array of separators and leaves. Its state takes 8 bytes: the first page and the number of entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directory;

type Entries<W> = Vec<(W, PageNumber)>;

/// Bytes of a page number.
const PAGE_NUMBER_BYTES: usize = 4;

/// The extent of a state: first page, pages, entries.
fn extent<W: Word>(pages: &dyn Pages, state: &[u8]) -> Result<(PageNumber, u32, usize)> {
    let (Some(first), Some(count)) = (state.first_chunk(), state.last_chunk()) else {
        return Err(pages.damaged(0, "the state of a directory is too short"));
    };
    let (first, count) = (u32::from_le_bytes(*first), u32::from_le_bytes(*count) as usize);
    let pages_taken = count.div_ceil(per_page::<W>(pages)) as u32;
    if first.checked_add(pages_taken).is_none_or(|end| end > pages.page_count()) {
        return Err(pages.damaged(first, "a directory lies beyond the end of the file"));
    }
    Ok((first, pages_taken, count))
}

fn per_page<W: Word>(pages: &dyn Pages) -> usize {
    pages.payload_bytes() / (W::BYTES + PAGE_NUMBER_BYTES)
}

fn load<W: Word>(pages: &dyn Pages, state: &[u8]) -> Result<Entries<W>> {
    let (first, pages_taken, count) = extent::<W>(pages, state)?;
    let mut entries = Vec::with_capacity(count);
    for page in first..first + pages_taken {
        let content = pages.read(page, Purpose::Inner(0))?;
        for entry in content.chunks_exact(W::BYTES + PAGE_NUMBER_BYTES).take(count - entries.len()) {
            let leaf = entry.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            entries.push((W::load(entry), leaf));
        }
    }
    if !entries.is_sorted_by(|left, right| left.0 < right.0) {
        return Err(pages.damaged(first, "the separators of a directory do not ascend"));
    }
    Ok(entries)
}

/// Writes the array to new pages; the state.
fn store<W: Word>(tx: &mut Transaction, entries: &[(W, PageNumber)]) -> Result<Vec<u8>> {
    let per_page = per_page::<W>(tx);
    let mut first = 0;
    if !entries.is_empty() {
        first = tx.allocate_extent(entries.len().div_ceil(per_page) as u32)?;
        for (page, part) in (first..).zip(entries.chunks(per_page)) {
            let mut content = Vec::with_capacity(tx.payload_bytes());
            for (separator, leaf) in part {
                let start = content.len();
                content.resize(start + W::BYTES, 0);
                separator.store(&mut content[start..]);
                content.extend_from_slice(&leaf.to_le_bytes());
            }
            tx.write_fresh(page, Purpose::Inner(0), &content)?;
        }
    }
    Ok([first.to_le_bytes(), (entries.len() as u32).to_le_bytes()].concat())
}

/// Changes the array, in new pages; those of the old one are freed.
fn change<W: Word, T>(tx: &mut Transaction, state: &mut Vec<u8>, edit: impl FnOnce(&mut Entries<W>) -> T) -> Result<T> {
    let mut entries = load(tx, state)?;
    let (first, pages_taken, _) = extent::<W>(tx, state)?;
    let result = edit(&mut entries);
    tx.free(first, pages_taken);
    *state = store(tx, &entries)?;
    Ok(result)
}

/// The place of the first separator that is not below `key`.
fn place_of<W: Word>(entries: &Entries<W>, key: W) -> Option<usize> {
    let place = entries.partition_point(|&(separator, _)| separator < key);
    (place < entries.len()).then_some(place)
}

/// Collects separators while leaves are written.
#[derive(Debug)]
struct DirectoryBuilder<W>(Entries<W>);

impl<W: Word> RouterBuilder<W> for DirectoryBuilder<W> {
    fn push(&mut self, _tx: &mut Transaction, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        self.0.push((gap.low, leaf));
        Ok(())
    }

    fn finish(self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>> {
        store(tx, &self.0)
    }
}

impl<W: Word> Router<W> for Directory {
    fn builder(&self, _tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>> {
        Ok(Box::new(DirectoryBuilder(Vec::new())))
    }

    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>> {
        let entries = load(pages, state)?;
        Ok(place_of(&entries, key).map(|place| entries[place].1))
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        change(tx, state, |entries: &mut Entries<W>| {
            let place = entries.partition_point(|&(separator, _)| separator < gap.low);
            entries.insert(place, (gap.low, leaf));
        })
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>> {
        change(tx, state, |entries| place_of(entries, key).map(|place| entries.remove(place).1))
    }

    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool> {
        change(tx, state, |entries| place_of(entries, key).map(|place| entries[place].1 = leaf).is_some())
    }

    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()> {
        let (first, pages_taken, _) = extent::<W>(pages, state)?;
        claim(first, pages_taken)?;
        load(pages, state)?.into_iter().try_for_each(|(separator, page)| leaf(separator, page))
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        let (_, pages_taken, count) = extent::<W>(pages, state)?;
        let (inner_pages, entries) = (u64::from(pages_taken), count as u64);
        if count == 0 {
            return Ok(IndexStatistics::default());
        }
        let levels = vec![IndexLevelStatistics { nodes: 1, pages: inner_pages, entries }];
        Ok(IndexStatistics { entries, inner_pages, height: 1, mean_height: 1.0, levels, ..IndexStatistics::default() })
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        let (first, _, count) = extent::<W>(pages, state)?;
        let entries: Entries<W> = load(pages, state)?;
        let detail = format!("place {} of {count}", place_of(&entries, key).unwrap_or(count));
        let visit = IndexVisit { node: "directory", page: first, depth: 0, entries: count as u64, detail };
        Ok(if count > 0 { vec![visit] } else { Vec::new() })
    }
}

/// Registers the kind, and uses an index of it.
pub(crate) fn main() -> Result<()> {
    DIRECTORY.register()?;
    let storage = Arc::new(MemoryStorage::new());
    let options = IndexOptions::default().kind(DIRECTORY);
    let index: Index<u64, u64> = Index::create((storage, "squares"), &options)?;
    index.bulk_load((0..100_000).map(|i| (i * i, i)))?;
    let mut transaction = index.write()?;
    (0..1000).try_for_each(|i| transaction.insert(i * i + 1, i).map(|_| ()))?;
    transaction.commit()?;
    println!("12² + 1 = {:?}", index.get(145)?);
    for visit in index.explain(145)? {
        println!("  {} in page {}: {}", visit.node, visit.page, visit.detail);
    }
    println!("{} entries are sound", index.verify()?.entries);
    Ok(())
}
