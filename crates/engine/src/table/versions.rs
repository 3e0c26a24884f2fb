//! The look-ups of a store: a version of a key, from tables that share one cache.

use super::block::{BlockView, Place};
use super::format::Source;
use super::key::Probe;
use super::options::OpenOptions;
use super::reader::{Inner, Reads, Table};
use crate::block::Slice;
use crate::block::cache::BlockCache;
use crate::error::Result;
use crate::io::{Profile, Storage};
use std::sync::Arc;

/// How a table of a store is opened.
#[derive(Clone, Debug)]
pub(crate) struct SharedOptions {
    /// The storage that it is read from: decides when two reads are merged into one.
    pub(crate) profile: Profile,
    /// Largest value that lies outside the blocks and is read whole, in bytes.
    pub(crate) value_bytes: u64,
    /// Tag and sequence of all records of a table without tags.
    pub(crate) untagged: (u8, u64),
}

/// By which path a look-up finds a record. The answer is the same on all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SearchPath {
    /// Exact separators lead to the block, and interpolation to the record.
    #[default]
    Coded,
    /// LevelDB's way: a resident array of the blocks' full last keys, restart points in the block.
    Plain,
    /// Exact separators lead to the block; the record is looked for between two positions of the table first (both included), as a
    /// model has it. What a wrong model says costs time alone.
    Window(u64, u64),
    /// Bourbon's own: the model leads to the blocks, which are two where the window crosses a border.
    WindowAlone(u64, u64),
}

/// A version that was found: tag, sequence, value.
pub(crate) type FoundVersion = (u8, u64, Slice);

impl Table {
    /// Opens a table whose blocks go to a cache that it shares with others. What stays in memory beside them is
    /// [`resident_bytes`](Self::resident_bytes).
    ///
    /// # Errors
    /// As [`Table::open`].
    pub(crate) fn open_with(
        storage: Arc<dyn Storage>,
        name: &str,
        cache: &Arc<BlockCache>,
        options: &SharedOptions,
    ) -> Result<Self> {
        let open = OpenOptions { budget_bytes: options.value_bytes, profile: options.profile.clone() };
        Self::open_in(storage, name, &open, Some((cache, options.untagged)))
    }

    /// Bytes that the table takes in memory beside the blocks in the cache.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.inner.resident_bytes()
    }

    /// Whether all that it says lies in its own file; an index beside other data refers to theirs.
    pub(crate) fn is_self_contained(&self) -> bool {
        self.inner.meta.source == Source::Own
    }

    /// Number that tells this table's file from all others.
    pub(crate) fn file_id(&self) -> u64 {
        self.inner.file_id
    }

    /// The newest version of a key whose sequence is at most `at`.
    ///
    /// # Errors
    /// What the storage reports, and damage; [`crate::Error::ValueTooLarge`] for a value that lies outside the blocks and is larger than
    /// the options allow.
    pub(crate) fn find_version(&self, key: &[u8], at: u64, path: SearchPath) -> Result<Option<FoundVersion>> {
        let inner = &*self.inner;
        let Some((bytes, view_index, block)) = inner.locate_version(key, at, path)? else { return Ok(None) };
        let view = inner.view(block, &bytes)?;
        let malformed = || inner.malformed(block);
        let (tag, sequence) = inner.version_in(&view, view_index).ok_or_else(malformed)?;
        let value = match view.place(view_index).ok_or_else(malformed)? {
            Place::Inline(place) => Slice::of_block(&bytes, place).ok_or_else(malformed)?,
            Place::Long(pointer) => inner.long_value(pointer)?.into(),
        };
        Ok(Some((tag, sequence, value)))
    }

    /// Hands the newest version of a key whose sequence is at most `at` to `visit` (tag, sequence, value), without sharing the block.
    ///
    /// # Errors
    /// As [`Self::find_version`].
    pub(crate) fn visit_version<R>(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        visit: impl FnOnce(u8, u64, &[u8]) -> R,
    ) -> Result<Option<R>> {
        Ok(self.find_version(key, at, path)?.map(|(tag, sequence, value)| visit(tag, sequence, &value)))
    }
}

impl Inner {
    fn resident_bytes(&self) -> u64 {
        let filter = self.filter.get().and_then(|filter| filter.as_ref()).map_or(0, |filter| filter.len() as u64);
        let counts = if self.counts.get().is_some() { self.meta.counts.bytes } else { 0 };
        self.root.len() as u64 + self.locations.resident_bytes() + filter + counts
    }

    /// Tag and sequence of a record.
    pub(super) fn version_in(&self, view: &BlockView<'_>, index: usize) -> Option<(u8, u64)> {
        if !self.meta.tagged {
            return Some(self.untagged);
        }
        view.tag(index).map(|tag| (tag.kind, tag.suffix))
    }

    /// The block from which on records at or behind `key` are to be looked for; the number of blocks where all lie before it.
    pub(super) fn block_of(&self, key: &[u8]) -> Result<u64> {
        Ok(self.lower_bound(Probe { key, behind: false }, &mut Reads::default())?.block)
    }

    /// A block that the cache has.
    pub(super) fn cached_block(&self, block: u64) -> Result<Option<Arc<[u8]>>> {
        Ok(self.cache.get(self.cache_key(0, self.section(0, block)?)))
    }

    /// Block, index in it, and number of the block of the newest version of a key at or before `at`.
    fn locate_version(&self, key: &[u8], at: u64, _path: SearchPath) -> Result<Option<(Arc<[u8]>, usize, u64)>> {
        if !self.meta.tagged && at < self.untagged.1 {
            return Ok(None);
        }
        let Some(position) = self.find(key, &mut Reads::default())? else { return Ok(None) };
        let (mut block, mut bytes) = (position.block, position.bytes);
        while block < self.meta.blocks {
            let here = match bytes.take() {
                Some(bytes) => bytes,
                None => self.child(0, block, &mut Reads::default())?,
            };
            let view = self.view(block, &here)?;
            let malformed = || self.malformed(block);
            let index = view.lower_bound_of_version(key, at, self.untagged.1).ok_or_else(malformed)?;
            if index < view.count() {
                let is_found = view.key(index).ok_or_else(malformed)?.is(key);
                return Ok(is_found.then_some((here, index, block)));
            }
            block += 1;
        }
        Ok(None)
    }
}

impl Table {
    /// Whether records have tags and suffixes.
    pub(crate) fn is_tagged(&self) -> bool {
        self.inner.meta.tagged
    }
}
