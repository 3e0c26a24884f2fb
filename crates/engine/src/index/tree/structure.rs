//! The `Structure` trait, which every index structure implements, and its companions.

use crate::error::Result;
use crate::index::entries::word::Word;
use crate::page::{PageNumber, Pages, Transaction};
use std::fmt::Debug;

/// A sorted stream of entries for a bulk load or a batch.
pub trait Entries<W: Word> {
    /// The next entry: returns its key and writes its payload to `payload`, which has the payload size. Keys ascend,
    /// and repeat only if duplicates are allowed. `None` at the end.
    ///
    /// # Errors
    /// Those of the source; [`crate::Cause::Unsorted`].
    fn next(&mut self, payload: &mut [u8]) -> Result<Option<W>>;
}

/// The number of entries of a key to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Any one of them.
    One,
    /// All of them.
    All,
}

/// The answers of a batched lookup, as in [`Structure::get_many`].
pub(in crate::index) struct BatchAnswers<'a> {
    payload_bytes: usize,
    payloads: &'a mut [u8],
    found: &'a mut [bool],
}

impl<'a> BatchAnswers<'a> {
    /// No answers yet for this number of keys.
    pub(in crate::index) fn new(keys: usize, payloads: &'a mut [u8], found: &'a mut [bool]) -> Self {
        Self { payload_bytes: payloads.len().checked_div(keys).unwrap_or(0), payloads, found }
    }

    /// Answers the key of a rank by a lookup, which copies the payload and returns whether the key exists.
    #[inline]
    pub(in crate::index) fn set(&mut self, rank: usize, lookup: impl FnOnce(&mut [u8]) -> Result<bool>) -> Result<()> {
        let payload = self.payloads.get_mut(rank * self.payload_bytes..(rank + 1) * self.payload_bytes);
        let exists = lookup(payload.unwrap_or_default())?;
        if let Some(found) = self.found.get_mut(rank) {
            *found = exists;
        }
        Ok(())
    }
}

/// An on-disk index structure.
///
/// A structure is stateless: all that changes is in pages and in its *state*, a few bytes committed with them (the
/// root, its model, counts; the AULID paper's metanode). The caller passes the state in and keeps the new one.
/// Therefore aborts, snapshots and reopening need no code here, and one structure can be the inner part of another,
/// with a state of its own.
pub trait Structure<W: Word>: Debug + Send + Sync {
    /// Builds an index of sorted entries, possibly none, and returns its state.
    ///
    /// # Errors
    /// Those of `entries` and of the pages.
    fn bulk_load(&self, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>>;

    /// Copies the payload of `key` (of its first entry if keys repeat) to `payload`, which has the payload size; false
    /// if the key is absent.
    ///
    /// # Errors
    /// Those of the pages; [`crate::Cause::Damaged`] for an invalid node.
    fn get(&self, pages: &dyn Pages, state: &[u8], key: W, payload: &mut [u8]) -> Result<bool>;

    /// Looks up ascending keys with concurrent reads: writes their payloads to `payloads`, one after another, and
    /// whether each key exists to `found`, which has the length of `keys`.
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
        let mut answers = BatchAnswers::new(keys.len(), payloads, found);
        for (rank, &key) in keys.iter().enumerate() {
            answers.set(rank, |payload| self.get(pages, state, key, payload))?;
        }
        Ok(())
    }

    /// Inserts an entry; without duplicates, overwrites an existing entry of the key. True if the number of entries
    /// grew.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, payload: &[u8]) -> Result<bool>;

    /// Inserts sorted entries, each like [`Self::insert`]; returns the number by which the entries grew. The default
    /// inserts them one by one. `payload_bytes` is the payload size.
    ///
    /// # Errors
    /// As for [`Self::get`], and those of `entries`.
    fn insert_sorted(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        entries: &mut dyn Entries<W>,
        payload_bytes: usize,
    ) -> Result<u64> {
        let mut payload = vec![0; payload_bytes];
        let mut grown = 0;
        while let Some(key) = entries.next(&mut payload)? {
            tx.begin_operation();
            grown += u64::from(self.insert(tx, state, key, &payload)?);
        }
        Ok(grown)
    }

    /// Removes entries of `key` and returns their number.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, amount: Amount) -> Result<u64>;

    /// Creates a cursor without a position.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] for an invalid state.
    fn cursor(&self, state: &[u8]) -> Result<Box<dyn Cursor<W>>>;

    /// The first entry whose key is not below `key`: returns its key and writes its payload to `payload`. This is the
    /// lookup of a structure that maps separators to leaves. The default uses a cursor.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn successor(&self, pages: &dyn Pages, state: &[u8], key: W, payload: &mut [u8]) -> Result<Option<W>> {
        let mut cursor = self.cursor(state)?;
        cursor.seek(pages, key)?;
        cursor.next(pages, payload)
    }

    /// Counts the nodes by a walk over all of them.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics>;

    /// Validates the whole structure: order, ranges, counts, links, and models as lookups use them. Reports to
    /// `visitor` each page of the structure, and each entry in order.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] at the first violation.
    fn verify(&self, pages: &dyn Pages, state: &[u8], visitor: &mut dyn Visitor<W>) -> Result<()>;

    /// The path of a lookup of `key`, node by node.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>>;

    /// Frees all pages, for example before a structure inside another is rebuilt.
    ///
    /// # Errors
    /// As for [`Self::get`].
    fn free(&self, tx: &mut Transaction, state: &[u8]) -> Result<()>;

    /// Finds the entries of intact leaves although other pages are damaged. `in_use` lists the pages in use, those of
    /// other nodes included, where the file knows them. `None` if leaves cannot be told from other pages, which is the
    /// default.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] for an invalid state, or if intact leaves contradict each other; errors of the
    /// storage.
    fn rescue(
        &self,
        pages: &dyn Pages,
        state: &[u8],
        in_use: Option<&[PageNumber]>,
    ) -> Result<Option<Box<dyn RescuedEntries<W>>>> {
        let _ = (pages, state, in_use);
        Ok(None)
    }
}

/// The entries of intact leaves of a damaged structure, in key order.
pub trait RescuedEntries<W: Word>: Debug + Send {
    /// The next entry, whose payload is written to `payload`, or the next gap.
    ///
    /// # Errors
    /// Those of the pages.
    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<Rescued<W>>>;
}

/// An entry of an intact leaf, or a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rescued<W> {
    /// An entry.
    Entry(W),
    /// Leaves are lost here.
    Lost {
        /// Their number, or a lower bound of it.
        leaves: u64,
    },
}

/// A position between two entries, before the first, or after the last. Valid only for the pages that it was first used
/// with.
pub trait Cursor<W: Word>: Debug + Send {
    /// Moves to just before the first entry whose key is not below `key`.
    ///
    /// # Errors
    /// Those of the pages; [`crate::Cause::Damaged`].
    fn seek(&mut self, pages: &dyn Pages, key: W) -> Result<()>;

    /// Moves to just after the last entry whose key is not above `key`.
    ///
    /// # Errors
    /// As for [`Self::seek`].
    fn seek_back(&mut self, pages: &dyn Pages, key: W) -> Result<()>;

    /// Moves past the next entry: returns its key and writes its payload to `payload`.
    ///
    /// # Errors
    /// As for [`Self::seek`].
    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>>;

    /// Moves back before the previous entry, and returns it as [`Self::next`] does.
    ///
    /// # Errors
    /// As for [`Self::seek`].
    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>>;

    /// Distinguishes the entry returned last from others of the same key; 0 if keys are unique.
    fn entry_id(&self) -> u64 {
        0
    }
}

/// Receiver of the pages and entries that [`Structure::verify`] walks over.
pub trait Visitor<W: Word> {
    /// Called for each extent of the structure: pages `first .. first + pages`.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] if one of them was reported before, or is free.
    fn pages(&mut self, first: PageNumber, pages: u32) -> Result<()>;

    /// Called for each entry in order.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] if keys are out of order.
    fn entry(&mut self, key: W) -> Result<()>;
}

/// Statistics of the nodes of a structure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexStatistics {
    /// Entries.
    pub entries: u64,
    /// Number of leaves or data nodes.
    pub leaves: u64,
    /// Pages of leaves or data nodes, chained ones included.
    pub leaf_pages: u64,
    /// Pages of the nodes above them.
    pub inner_pages: u64,
    /// Number of nodes on the longest path from the root to an entry; 1 if the root is a leaf.
    pub height: u32,
    /// Mean number of nodes on the path to an entry, over all entries.
    pub mean_height: f64,
    /// Statistics by depth, the root first.
    pub levels: Vec<IndexLevelStatistics>,
    /// Further counts, specific to the structure: "mixed nodes", "packed arrays", "segments".
    pub details: Vec<(&'static str, u64)>,
}

/// Statistics of the nodes of one depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexLevelStatistics {
    /// Nodes.
    pub nodes: u64,
    /// Their pages.
    pub pages: u64,
    /// Their entries or children.
    pub entries: u64,
}

/// One node on the path of a lookup.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexVisit {
    /// The type of the node: "inner node", "leaf", "mixed node", "packed array".
    pub node: &'static str,
    /// The page that was read.
    pub page: PageNumber,
    /// The depth of the node, 0 for the root.
    pub depth: u8,
    /// Its entries, children or slots.
    pub entries: u64,
    /// The decision in this node, as text: "separator 1844 of child 17 of 901".
    pub detail: String,
}
