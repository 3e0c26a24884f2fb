//! `MapRouter`: a structure as a [`Router`].

use super::build::MapBuilder;
use super::pages::InnerPages;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::{Amount, IndexStatistics, IndexVisit, Structure, Visitor};
use ogive::index::extend::{Gap, LeafVisit, PageVisit, Router, RouterBuilder};
use ogive::page::{PageNumber, Pages, Transaction};
use std::sync::Arc;

/// Bytes of a leaf's page number: the payload of an entry.
pub(super) const LEAF_BYTES: usize = 4;

/// A structure that maps the greatest key of each leaf to the leaf's page. Its layout must have payloads of
/// [`Self::PAYLOAD_BYTES`] and no duplicates.
///
/// A lookup is the structure's search for a successor. With LIPP this is the LIPP-B+ of the AULID paper. All its pages
/// count as inner nodes.
#[derive(Debug)]
pub struct MapRouter<S> {
    structure: Arc<S>,
}

impl<S> MapRouter<S> {
    /// Payload bytes of the structure's layout.
    pub const PAYLOAD_BYTES: usize = LEAF_BYTES;

    /// Creates a router from `structure`.
    pub fn new(structure: S) -> Self {
        Self { structure: Arc::new(structure) }
    }

    /// The first separator not below `key`, and its leaf.
    fn successor<W: Word>(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<(W, PageNumber)>>
    where
        S: Structure<W>,
    {
        let mut leaf = [0; LEAF_BYTES];
        let separator = self.structure.successor(pages, state, key, &mut leaf)?;
        match separator {
            Some(separator) if separator < key => Err(pages.damaged(0, "an inner structure found a lesser key")),
            separator => Ok(separator.map(|separator| (separator, u32::from_le_bytes(leaf)))),
        }
    }
}

/// A visitor of the pages of a structure that ignores its entries.
struct PagesOnly<'a>(&'a mut dyn FnMut(PageNumber, u32) -> Result<()>);

impl<W: Word> Visitor<W> for PagesOnly<'_> {
    fn pages(&mut self, first: PageNumber, pages: u32) -> Result<()> {
        (self.0)(first, pages)
    }

    fn entry(&mut self, _key: W) -> Result<()> {
        Ok(())
    }
}

impl<W: Word, S: Structure<W> + 'static> Router<W> for MapRouter<S> {
    fn builder(&self, _tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>> {
        Ok(Box::new(MapBuilder { structure: Arc::clone(&self.structure), entries: Vec::new() }))
    }

    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>> {
        Ok(self.successor(&InnerPages::new(pages), state, key)?.map(|(_, leaf)| leaf))
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        if !self.structure.insert(tx, state, gap.low, &leaf.to_le_bytes())? {
            return Err(tx.damaged(leaf, "an inner structure already has the new separator"));
        }
        Ok(())
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>> {
        let Some((separator, leaf)) = self.successor(tx, state, key)? else { return Ok(None) };
        if self.structure.remove(tx, state, separator, Amount::One)? != 1 {
            return Err(tx.damaged(leaf, "an inner structure does not find its own separator"));
        }
        Ok(Some(leaf))
    }

    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool> {
        let Some((separator, _)) = self.successor(tx, state, key)? else { return Ok(false) };
        self.structure.insert(tx, state, separator, &leaf.to_le_bytes())?;
        Ok(true)
    }

    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()> {
        let pages = &InnerPages::new(pages);
        self.structure.verify(pages, state, &mut PagesOnly(claim))?;
        let mut cursor = self.structure.cursor(state)?;
        cursor.seek(pages, W::MIN)?;
        let (mut number, mut last) = ([0; LEAF_BYTES], None);
        while let Some(separator) = cursor.next(pages, &mut number)? {
            if last.is_some_and(|last| last >= separator) {
                return Err(pages.damaged(0, "the separators of an inner structure do not ascend"));
            }
            last = Some(separator);
            leaf(separator, u32::from_le_bytes(number))?;
        }
        Ok(())
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        let mut statistics = self.structure.statistics(&InnerPages::new(pages), state)?;
        statistics.details.push(("inner data nodes", statistics.leaves));
        statistics.inner_pages += statistics.leaf_pages;
        (statistics.leaves, statistics.leaf_pages) = (0, 0);
        Ok(statistics)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        // The lookup ends at the successor, which may be on a neighbouring path if `key` is not a separator.
        let pages = &InnerPages::new(pages);
        let separator = self.successor(pages, state, key)?.map_or(key, |(separator, _)| separator);
        self.structure.explain(pages, state, separator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::index::extend::BtreeRouter;
    use ogive::index::extend::IndexLayout;
    use ogive::index::extend::LeafTree;
    use ogive_testkit::{router_tests, structure_tests};

    fn inner() -> MapRouter<LeafTree<BtreeRouter>> {
        let layout = IndexLayout { payload_bytes: LEAF_BYTES, ..IndexLayout::default() };
        MapRouter::new(LeafTree::new(BtreeRouter::default(), layout))
    }

    router_tests!(as_a_router, u64, || Box::new(inner()));
    structure_tests!(under_leaves, u64, |layout| Box::new(LeafTree::new(inner(), layout)), duplicates);
}
