//! The trait that all index structures implement.

use super::word::Word;
use crate::error::Result;
use crate::page::{PageNumber, Pages, Transaction};
use std::fmt::Debug;

/// A sorted stream of entries for a bulk load.
pub trait Entries<W: Word> {
    /// The next entry: its key, and its payload in `payload`, which is as long as payloads are. Keys ascend; they
    /// repeat only where duplicates are allowed. `None` at the end.
    ///
    /// # Errors
    /// Those of the source; [`crate::Error::Unsorted`].
    fn next(&mut self, payload: &mut [u8]) -> Result<Option<W>>;
}

/// How many entries of a key to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// One of them, any.
    One,
    /// All.
    All,
}

/// An on-disk index structure.
///
/// A structure is stateless: what changes lies in pages and in its *state*, a few bytes that are committed with them
/// (the root, its model, counts; the AULID paper's metanode). The caller hands the state in and keeps what comes back.
/// So aborts, snapshots and reopening need no code here, and one structure can serve another as its inner part, with a
/// state of its own.
pub trait Structure<W: Word>: Debug + Send + Sync {
    /// Makes an index of sorted entries and returns its state; no entries make an empty index.
    ///
    /// # Errors
    /// Those of `entries` and of the pages.
    fn bulk_load(&self, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>>;

    /// Copies the payload of `key` (of the first entry where keys repeat) into `payload`, which is as long as payloads
    /// are; false if the key is absent.
    ///
    /// # Errors
    /// Those of the pages; [`crate::Error::Damaged`] where a node makes no sense.
    fn get(&self, pages: &dyn Pages, state: &[u8], key: W, payload: &mut [u8]) -> Result<bool>;

    /// Copies the payloads of many keys, which ascend, into `payloads`, one behind the other, with many reads at a
    /// time; says in `found`, which is as long as `keys`, which of them there are.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn get_many(
        &self,
        pages: &dyn Pages,
        state: &[u8],
        keys: &[W],
        payloads: &mut [u8],
        found: &mut [bool],
    ) -> Result<()> {
        let width = payloads.len().checked_div(keys.len()).unwrap_or(0);
        for ((rank, &key), found) in keys.iter().enumerate().zip(found) {
            let payload = payloads.get_mut(rank * width..(rank + 1) * width).unwrap_or_default();
            *found = self.get(pages, state, key, payload)?;
        }
        Ok(())
    }

    /// Puts an entry in; one that has the key is overwritten, unless duplicates are allowed. True if the number of
    /// entries grew.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, payload: &[u8]) -> Result<bool>;

    /// Removes entries of `key` and returns how many.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, amount: Amount) -> Result<u64>;

    /// A cursor that stands nowhere yet.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where the state makes no sense.
    fn cursor(&self, state: &[u8]) -> Result<Box<dyn Cursor<W>>>;

    /// The first entry whose key is not below `key`: its key, and its payload in `payload`. What a structure does that
    /// serves as a map from separators to leaves; one that knows a cheaper way than its cursor goes it here.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn successor(&self, pages: &dyn Pages, state: &[u8], key: W, payload: &mut [u8]) -> Result<Option<W>> {
        let mut cursor = self.cursor(state)?;
        cursor.seek(pages, key)?;
        cursor.next(pages, payload)
    }

    /// Counts nodes, by walking over all of them.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<Statistics>;

    /// Walks over everything, trusting nothing: order, ranges, counts, links, models as look-ups use them. Tells
    /// `visitor` of each page that belongs to the structure and of each entry in order.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] at the first thing that does not hold.
    fn verify(&self, pages: &dyn Pages, state: &[u8], visitor: &mut dyn Visitor<W>) -> Result<()>;

    /// The path that a look-up of `key` takes, node by node.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<Visit>>;

    /// Gives all pages back, as when a structure inside another is built anew.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn free(&self, tx: &mut Transaction, state: &[u8]) -> Result<()>;
}

/// A place between two entries, or before the first, or behind the last. Belongs to the pages that it was first used
/// with.
pub trait Cursor<W: Word>: Debug + Send {
    /// Moves before the first entry whose key is not below `key`.
    ///
    /// # Errors
    /// Those of the pages; [`crate::Error::Damaged`].
    fn seek(&mut self, pages: &dyn Pages, key: W) -> Result<()>;

    /// Moves behind the last entry whose key is not above `key`.
    ///
    /// # Errors
    /// As for [`Self::seek`].
    fn seek_back(&mut self, pages: &dyn Pages, key: W) -> Result<()>;

    /// Passes the next entry: its key, and its payload in `payload`.
    ///
    /// # Errors
    /// As for [`Self::seek`].
    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>>;

    /// Passes the previous entry.
    ///
    /// # Errors
    /// As for [`Self::seek`].
    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>>;

    /// What tells the entry passed last from others of the same key; 0 where keys are unique.
    fn place(&self) -> u64 {
        0
    }
}

/// What [`Structure::verify`] tells.
pub trait Visitor<W: Word> {
    /// Pages `first .. first + pages` belong to the structure.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where one of them was told before, or is free.
    fn pages(&mut self, first: PageNumber, pages: u32) -> Result<()>;

    /// The next entry in order.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where the order does not hold.
    fn entry(&mut self, key: W) -> Result<()>;
}

/// Counts of a structure's nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Entries.
    pub entries: u64,
    /// Leaves or data nodes.
    pub leaves: u64,
    /// Pages of leaves or data nodes, chained ones included.
    pub leaf_pages: u64,
    /// Pages above them.
    pub inner_pages: u64,
    /// Nodes on the longest path from the root to an entry, both included; 1 when the root is a leaf.
    pub height: u32,
    /// Mean number of nodes on the path to an entry, both ends included, weighted by entries.
    pub mean_height: f64,
    /// By depth, the root first.
    pub levels: Vec<LevelStatistics>,
    /// What only this structure has, by name: "mixed nodes", "packed arrays", "segments".
    pub details: Vec<(&'static str, u64)>,
}

/// Nodes of one depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelStatistics {
    /// Nodes.
    pub nodes: u64,
    /// Pages that they take.
    pub pages: u64,
    /// Entries or children in them.
    pub entries: u64,
}

/// One node on the path of a look-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// What it is: "inner node", "leaf", "mixed node", "packed array".
    pub node: &'static str,
    /// The page that was read.
    pub page: PageNumber,
    /// Depth of the node, 0 for the root.
    pub depth: u8,
    /// Entries, children or slots in the node.
    pub entries: u64,
    /// What was decided there, for people: "separator 1844 of child 17 of 901".
    pub detail: String,
}
