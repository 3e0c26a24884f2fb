//! The trait of inner structures over B+-tree leaves.

use super::structure::{Statistics, Visit};
use super::word::Word;
use crate::error::Result;
use crate::page::{PageNumber, Pages, Transaction};
use std::fmt::Debug;

/// Where the separator of a leaf may lie: any value of `low..=high` will do.
///
/// `low` is the greatest key of the leaf, `high` the one just below the least key of the next leaf; `low <= high`.
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
/// last leaf has no separator and is not in the map: it is known to whoever uses the router (the AULID paper's
/// metanode, Section 3.3.1). A split leaves the larger half in the old block, so that the old separator stays true, and
/// puts the new left block in, under its own separator (Section 4.3.1). Like a [`Structure`](super::extend::Structure),
/// a router keeps its state outside itself.
pub trait Router<W: Word>: Debug + Send + Sync {
    /// Starts a bulk load.
    ///
    /// # Errors
    /// Those of the pages.
    fn builder(&self, tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>>;

    /// The leaf of the first separator that is not below `key`; `None` where all are below: the key belongs to the last
    /// leaf.
    ///
    /// # Errors
    /// Those of the pages; [`crate::Error::Damaged`].
    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>>;

    /// The leaves of many keys, which ascend, with many reads at a time.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn find_many(&self, pages: &dyn Pages, state: &[u8], keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
        keys.iter().map(|&key| self.find(pages, state, key)).collect()
    }

    /// Which of the gaps to split a leaf at: each is a possible separator of the new left half, in order. The one in
    /// the middle, unless the router knows better.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn choose_split(&self, pages: &dyn Pages, state: &[u8], gaps: &[Gap<W>]) -> Result<usize> {
        let _ = (pages, state);
        Ok(gaps.len() / 2)
    }

    /// Puts a leaf in under some separator of `gap`, in which no separator lies yet.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()>;

    /// Removes the first separator that is not below `key`, so that the leaf's range falls to the next leaf. Returns
    /// the leaf; `None` if there was no such separator.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>>;

    /// Gives the first separator that is not below `key` another leaf. False if there was no such separator.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool>;

    /// Walks over all nodes, trusting nothing; passes each run of pages to `claim`, and each separator with
    /// its leaf to `leaf`, in order.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] at the first thing that does not hold.
    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()>;

    /// Counts of the inner nodes; `height` is that of the inner part, 0 when it is empty, `entries` the separators.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<Statistics>;

    /// The inner nodes on the path of a look-up.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<Visit>>;
}

/// Takes a run of pages: the first, and their number.
pub type PageVisit<'a> = &'a mut dyn FnMut(PageNumber, u32) -> Result<()>;

/// Takes a separator and its leaf.
pub type LeafVisit<'a, W> = &'a mut dyn FnMut(W, PageNumber) -> Result<()>;

/// Builds the inner structure while leaves are written.
pub trait RouterBuilder<W: Word>: Debug {
    /// Where to end the next leaf: a number of entries in `least..=most`, given the keys ahead, of which the first
    /// belongs to the leaf; `keys` holds more than `most` keys, and never are `keys[end - 1]` and `keys[end]` equal for
    /// the `end` returned if some choice avoids it. `near` is what the fill asks for.
    fn choose_end(&mut self, keys: &[W], least: usize, near: usize, most: usize) -> usize {
        let _ = (keys, least, most);
        near
    }

    /// The next leaf, but for the last.
    ///
    /// # Errors
    /// Those of the pages.
    fn push(&mut self, tx: &mut Transaction, gap: Gap<W>, leaf: PageNumber) -> Result<()>;

    /// Finishes, and returns the state.
    ///
    /// # Errors
    /// Those of the pages.
    fn finish(self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>>;
}
