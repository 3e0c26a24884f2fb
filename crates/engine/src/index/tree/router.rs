//! The `Router` trait: inner structures over B+-tree leaves.

use super::structure::{IndexStatistics, IndexVisit};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::page::{PageNumber, Pages, Transaction};
use std::fmt::Debug;

/// The interval of valid separators of a leaf: any value of `low..=high`.
///
/// `low` is the greatest key of the leaf, `high` the value just below the least key of the next leaf; `low <= high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap<W> {
    /// The least possible separator.
    pub low: W,
    /// The greatest possible separator.
    pub high: W,
}

/// An inner structure: a sorted map from separators to leaves.
///
/// Leaf `i` holds the keys above separator `i - 1` and up to separator `i`, inclusive; separators ascend strictly. The
/// last leaf has no separator and is not in the map: the caller knows it (the AULID paper's metanode, Section 3.3.1).
/// A split leaves the larger half in the old block, so that the old separator stays valid, and inserts the new left
/// block under its own separator (Section 4.3.1). Like a [`Structure`](crate::index::extend::Structure), a router is
/// stateless: the caller keeps its state.
pub trait Router<W: Word>: Debug + Send + Sync {
    /// Starts a bulk load.
    ///
    /// # Errors
    /// Those of the pages.
    fn builder(&self, tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>>;

    /// The leaf of the first separator not below `key`; `None` if all are below, so that the key belongs to the last
    /// leaf.
    ///
    /// # Errors
    /// Those of the pages; [`crate::Cause::Damaged`].
    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>>;

    /// The leaves of ascending keys, with concurrent reads.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn find_many(&self, pages: &dyn Pages, state: &[u8], keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
        keys.iter().map(|&key| self.find(pages, state, key)).collect()
    }

    /// Chooses the gap at which to split a leaf, and returns its index. Each gap is an interval for the separator of
    /// the new left half, in ascending order. The default is the middle one.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn choose_split(&self, pages: &dyn Pages, state: &[u8], gaps: &[Gap<W>]) -> Result<usize> {
        let _ = (pages, state);
        Ok(gaps.len() / 2)
    }

    /// Inserts a leaf under some separator of `gap`, which contains no separator yet.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()>;

    /// Removes the first separator not below `key`, so that the next leaf takes over the range of its leaf. Returns the
    /// leaf; `None` if there was no such separator.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>>;

    /// Replaces the leaf of the first separator not below `key`. False if there is no such separator.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool>;

    /// Walks over all nodes and validates them. Calls `claim` for each extent of pages, and `leaf` for each separator
    /// and its leaf, in order.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] at the first violation.
    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()>;

    /// Statistics of the inner nodes; `height` is that of the inner part, 0 if it is empty; `entries` counts
    /// separators.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics>;

    /// The inner nodes on the path of a lookup.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>>;
}

/// Visits an extent of pages: the first, and their number.
pub type PageVisit<'a> = &'a mut dyn FnMut(PageNumber, u32) -> Result<()>;

/// Visits a separator and its leaf.
pub type LeafVisit<'a, W> = &'a mut dyn FnMut(W, PageNumber) -> Result<()>;

/// Builder of an inner structure, fed while the leaves are written.
pub trait RouterBuilder<W: Word>: Debug {
    /// Chooses the number of entries of the next leaf, in `least..=most`; `near` is the number that the fill asks for.
    /// `keys` are the keys ahead, the leaf's own first: more than `most`. The returned `end` parts equal keys
    /// (`keys[end - 1] == keys[end]`) only if every choice does.
    fn choose_end(&mut self, keys: &[W], least: usize, near: usize, most: usize) -> usize {
        let _ = (keys, least, most);
        near
    }

    /// Adds the next leaf; not called for the last one.
    ///
    /// # Errors
    /// Those of the pages.
    fn push(&mut self, tx: &mut Transaction, gap: Gap<W>, leaf: PageNumber) -> Result<()>;

    /// Finishes the build and returns the state.
    ///
    /// # Errors
    /// Those of the pages.
    fn finish(self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>>;
}
