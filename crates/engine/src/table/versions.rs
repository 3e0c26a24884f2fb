//! The lookups of a store: a version of a key, from tables that share one block cache.

mod steps;

pub use steps::LookupStep;

use super::block::{BlockView, ValueLocation};
use super::column_search::{FixedKeyColumns, SearchStart, VersionHit, note_of};
use super::filter::{ResidentFilter, hash_key};
use super::format::{DataSource, NodeKind, TableMeta};
use super::key::KeyBound;
use super::last_keys::LastKeys;
use super::options::OpenOptions;
use super::reader::{ReadContext, Table, TableInner};
use super::separators::{self, PredictedRecord, ResidentSeparators};
use crate::block::Slice;
use crate::block::cache::BlockCache;
use crate::block::slots::{BlockNote, SlotDirectory};
use crate::error::Result;
use crate::io::{FastPaths, Profile, Storage};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Options for opening a table of a store.
#[derive(Clone, Debug)]
pub(crate) struct SharedOptions {
    /// Profile of the storage that the table is read from; decides when two reads are merged into one.
    pub(crate) profile: Profile,
    /// Largest separately stored value that is read as a whole, in bytes.
    pub(crate) value_bytes: u64,
    /// Limit for the opening read in bytes; reads up to 1 MiB are always made.
    pub(crate) opening_bytes: u64,
    /// Kind and sequence number of all records of a table that is not versioned.
    pub(crate) unversioned: (u8, u64),
    pub(crate) fast_paths: FastPaths,
}

/// The search path of a lookup. Results are the same on every path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SearchPath {
    /// Exact separators lead to the block, and interpolation to the record.
    #[default]
    Coded,
    /// As in LevelDB: a resident array of the blocks' full last keys, and restart points in the block.
    Plain,
    /// Exact separators lead to the block; the record is searched first between two positions of the table (both
    /// included), as predicted by a model. A wrong prediction costs only time.
    Window(u64, u64),
    /// As in Bourbon: the model alone leads to the blocks, which are two if the window crosses a border.
    WindowAlone(u64, u64),
}

/// A version that was found: kind, sequence number, value.
pub(crate) type FoundVersion = (u8, u64, Slice);

impl Table {
    /// Opens a table whose blocks are kept in a cache shared with other tables. Its other memory is reported by
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
        let (budget_bytes, profile) = (options.value_bytes, options.profile.clone());
        let open = OpenOptions { budget_bytes, profile, fast_paths: options.fast_paths };
        Self::open_in(storage, name, &open, Some((cache, options)))
    }

    /// Memory use in bytes, apart from the blocks in the cache.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.inner.resident_bytes()
    }

    /// Removes a property from a table that is not shared yet, to free its memory.
    pub(crate) fn take_property(&mut self, name: &str) -> Option<Vec<u8>> {
        let properties = &mut Arc::get_mut(&mut self.inner)?.meta.properties;
        let at = properties.iter().position(|(known, _)| known == name)?;
        Some(properties.swap_remove(at).1)
    }

    /// Bytes of the cache's budget that the table cannot do without.
    pub(crate) fn needed_bytes(&self) -> u64 {
        self.inner.needed_bytes
    }

    /// Whether the separators are out of order, as earlier versions of this program wrote some. Lookups then bisect the
    /// blocks instead.
    pub(crate) fn has_unordered_separators(&self) -> bool {
        self.inner.resident.has_unordered_separators
    }

    /// Whether the table's own file holds all its data; an external index refers to another file.
    pub(crate) fn is_self_contained(&self) -> bool {
        self.inner.meta.source == DataSource::Own
    }

    /// Finds the newest version of a key with a sequence number of at most `at`; calls `ended` at the end of each step.
    ///
    /// # Errors
    /// Storage errors and damage; [`crate::Error::ValueTooLarge`] for a separately stored value larger than the options
    /// allow.
    #[inline]
    pub(crate) fn find_version(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        ended: impl Fn(LookupStep) + Copy,
    ) -> Result<Option<FoundVersion>> {
        self.inner.look_up(key, at, path, ended, |tag, sequence, value| match value {
            FoundValue::InBlock(block, place) => {
                // The value's first byte is accessed before the block's reference count, so that the processor fetches
                // both at once.
                std::hint::black_box(block.get(place.start));
                Slice::of_block(block, place).map(|value| (tag, sequence, value))
            }
            FoundValue::Read(value) => Some((tag, sequence, value.into())),
        })
    }

    /// Passes the newest version of a key with a sequence number of at most `at` to `visit` (kind, sequence number,
    /// value), without sharing the block. `visit` must not look anything up: the block's cache slot is locked
    /// meanwhile.
    ///
    /// # Errors
    /// As [`Self::find_version`].
    #[inline]
    pub(crate) fn visit_version<R>(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        visit: impl FnOnce(u8, u64, &[u8]) -> R,
    ) -> Result<Option<R>> {
        self.inner.look_up(
            key,
            at,
            path,
            |_| {},
            |tag, sequence, value| match value {
                FoundValue::InBlock(block, place) => block.get(place).map(|value| visit(tag, sequence, value)),
                FoundValue::Read(value) => Some(visit(tag, sequence, &value)),
            },
        )
    }

    /// Builds the array of last keys by a scan of the table, unless it exists.
    ///
    /// # Errors
    /// Storage errors and damage.
    #[cfg(test)]
    pub(crate) fn prepare_plain(&self) -> Result<()> {
        self.inner.last_keys().map(|_| ())
    }

    /// Reads the block positions that model windows refer to, unless they exist.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub(crate) fn prepare_windows(&self) -> Result<()> {
        self.inner.block_starts().map(|_| ())
    }
}

/// The location of a version: its block, its index there, and the number of the block.
type VersionLocation = (Arc<[u8]>, usize, u64);

/// A value that was found.
enum FoundValue<'a> {
    InBlock(&'a Arc<[u8]>, Range<usize>),
    Read(Vec<u8>),
}

/// The result of the fast path.
enum FastLookup<R> {
    FoundValue(R),
    Absent,
    /// The fallback must decide.
    Unknown,
}

/// Data for lookups that is kept in memory besides the blocks.
#[derive(Debug, Default)]
pub(super) struct ResidentParts {
    separators: Option<ResidentSeparators>,
    /// Whether the separators of the root are out of order and cannot be used.
    pub(super) has_unordered_separators: bool,
    /// `None` inside if there can be none.
    last_keys: OnceLock<Option<LastKeys>>,
    /// The position of each block's first record.
    starts: OnceLock<Option<Vec<u32>>>,
}

impl ResidentParts {
    /// Decodes what the tail provides.
    pub(super) fn decode(meta: &TableMeta, root: &[u8]) -> Self {
        let Some(top) = meta.layers.last().filter(|top| top.kind == NodeKind::CodedStrings) else {
            return Self::default();
        };
        let nodes = usize::try_from(top.nodes).unwrap_or(0);
        let has_unordered_separators = !separators::ascend(root, nodes);
        let is_whole = meta.layers.len() == 1 && !has_unordered_separators;
        let separators = is_whole.then(|| ResidentSeparators::decode(root, nodes, meta.blocks)).flatten();
        Self { separators, has_unordered_separators, ..Self::default() }
    }

    /// Memory of the flat separators, which only speed up lookups.
    pub(super) fn flat_bytes(&self) -> u64 {
        self.separators.as_ref().map_or(0, ResidentSeparators::bytes)
    }

    /// Drops the flat separators.
    pub(super) fn forget_flat(&mut self) {
        self.separators = None;
    }

    fn bytes(&self) -> u64 {
        let last_keys = self.last_keys.get().and_then(Option::as_ref).map_or(0, LastKeys::bytes);
        let starts = self.starts.get().and_then(Option::as_ref).map_or(0, |starts| starts.len() as u64 * 4);
        last_keys + starts + self.flat_bytes()
    }
}

/// The start of a lookup: a block, and a search method within it.
struct LookupStart {
    block: u64,
    within: SearchStart,
    /// Whether the block is certainly the one that holds the key, if any does.
    is_exact: bool,
}

impl TableInner {
    pub(super) fn resident_bytes(&self) -> u64 {
        let filter = self.filter.get().map_or(0, ResidentFilter::bytes);
        let counts = if self.counts.get().is_some() { self.meta.counts.bytes } else { 0 };
        let directory = self.directory.as_ref().map_or(0, SlotDirectory::bytes);
        let beside = self.resident.bytes() + directory + filter + counts;
        self.root.len() as u64 + self.locations.resident_bytes() + beside
    }

    /// Kind and sequence number of a record.
    pub(super) fn version_in(&self, view: &BlockView<'_>, index: usize) -> Option<(u8, u64)> {
        if !self.meta.versioned {
            return Some(self.unversioned);
        }
        view.tag(index).map(|tag| (tag.kind, tag.sequence))
    }

    /// The first block that may hold records at or after `key`; the number of blocks if all lie before it.
    pub(super) fn block_of(&self, key: &[u8]) -> Result<u64> {
        if let Some(spot) = self.resident.separators.as_ref().and_then(|separators| separators.find(key)) {
            return Ok(spot.block);
        }
        Ok(self.lower_bound(KeyBound { key, after: false }, &mut ReadContext::default())?.block)
    }

    /// Reserves memory of the shared cache's budget that is in use already.
    fn reserve(&self, bytes: u64) {
        self.cache.reserve(bytes);
        self.note_reserved(bytes);
    }

    fn last_keys(&self) -> Result<Option<&LastKeys>> {
        if self.resident.last_keys.get().is_none() {
            let keys = LastKeys::read(self)?;
            let bytes = keys.as_ref().map_or(0, LastKeys::bytes);
            if self.resident.last_keys.set(keys).is_ok() {
                self.reserve(bytes);
            }
        }
        Ok(self.resident.last_keys.get().and_then(Option::as_ref))
    }

    fn block_starts(&self) -> Result<Option<&[u32]>> {
        if self.resident.starts.get().is_none() {
            let counts = self.counts(&mut ReadContext::default())?;
            let start = |block| counts.before(block).and_then(|start| u32::try_from(start).ok());
            if self.resident.starts.set((0..self.meta.blocks).map(start).collect()).is_ok() {
                self.reserve(self.meta.blocks * 4);
            }
        }
        Ok(self.resident.starts.get().and_then(Option::as_deref))
    }

    /// Looks up a version; `show` receives kind, sequence number and value, and returns `None` if the location is
    /// invalid.
    #[inline]
    fn look_up<R>(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        ended: impl Fn(LookupStep) + Copy,
        show: impl FnOnce(u8, u64, FoundValue<'_>) -> Option<R>,
    ) -> Result<Option<R>> {
        if !self.meta.versioned && at < self.unversioned.1 {
            return Ok(None);
        }
        let mut show = Some(show);
        match self.quickly(key, at, path, ended, |tag, sequence, value| show.take()?(tag, sequence, value))? {
            FastLookup::FoundValue(found) => Ok(Some(found)),
            FastLookup::Absent => Ok(None),
            FastLookup::Unknown => match show.take() {
                Some(show) => {
                    let found = self.look_up_general(key, at, show);
                    ended(LookupStep::SearchBlock);
                    found
                }
                // The location of a value was invalid.
                None => Err(self.damaged(self.tail_offset, "a record lies outside its block")),
            },
        }
    }

    /// The start of a lookup; `None` if only the fallback can decide.
    #[inline]
    fn start(&self, key: &[u8], path: SearchPath) -> Result<Option<LookupStart>> {
        let spot = self.resident.separators.as_ref().and_then(|separators| separators.find(key));
        let by_separators = |spot: PredictedRecord, within| LookupStart { block: spot.block, within, is_exact: true };
        Ok(match path {
            SearchPath::Coded => spot.map(|spot| by_separators(spot, SearchStart::Share(spot.share))),
            SearchPath::Plain => {
                let Some(keys) = self.last_keys()? else { return Ok(None) };
                // There is nothing after the last key, which a search of the last block confirms.
                let block = keys.find(key).unwrap_or(self.meta.blocks.saturating_sub(1));
                Some(LookupStart { block, within: SearchStart::Restarts, is_exact: true })
            }
            SearchPath::Window(first, last) => {
                let (Some(spot), Some(starts)) = (spot, self.block_starts()?) else { return Ok(None) };
                let start = starts.get(spot.block as usize).map_or(0, |&start| u64::from(start));
                let within = SearchStart::Between(within_usize(first, start), within_usize(last, start));
                Some(by_separators(spot, within))
            }
            SearchPath::WindowAlone(first, last) => {
                let Some(starts) = self.block_starts()? else { return Ok(None) };
                let block = starts.partition_point(|&start| u64::from(start) <= first).saturating_sub(1);
                let start = starts.get(block).map_or(0, |&start| u64::from(start));
                let within = SearchStart::Between(within_usize(first, start), within_usize(last, start));
                Some(LookupStart { block: block as u64, within, is_exact: false })
            }
        })
    }

    #[inline]
    fn quickly<R>(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        ended: impl Fn(LookupStep) + Copy,
        mut show: impl FnMut(u8, u64, FoundValue<'_>) -> Option<R>,
    ) -> Result<FastLookup<R>> {
        if self.meta.blocks == 0 || self.directory.is_none() {
            return Ok(FastLookup::Unknown);
        }
        let start = self.start(key, path)?;
        ended(LookupStep::SearchIndex);
        let Some(start) = start else { return Ok(FastLookup::Unknown) };
        let may_hold = !start.is_exact || self.filter_may_hold(key, start.block)?;
        ended(LookupStep::SearchFilter);
        if !may_hold {
            return Ok(FastLookup::Absent);
        }
        let outcome = self.in_block(&start, key, at, ended, &mut show)?;
        match (start.is_exact, outcome) {
            (true, Some(outcome)) => Ok(outcome),
            (false, Some(FastLookup::FoundValue(found))) => Ok(FastLookup::FoundValue(found)),
            // The model may have predicted the wrong block, or the key is in the next one.
            (false, _) if start.block + 1 < self.meta.blocks => {
                let next = LookupStart { block: start.block + 1, within: SearchStart::Share(0.0), is_exact: false };
                let next = self.in_block(&next, key, at, ended, &mut show)?;
                Ok(next.filter(|next| matches!(next, FastLookup::FoundValue(_))).unwrap_or(FastLookup::Unknown))
            }
            _ => Ok(FastLookup::Unknown),
        }
    }

    /// Whether the filter admits a key in a block.
    #[inline]
    fn filter_may_hold(&self, key: &[u8], block: u64) -> Result<bool> {
        let Some(meta) = &self.asked_filter else { return Ok(true) };
        let hash = hash_key(key);
        self.filter_page_may_contain(meta, meta.layout.page_of(block, hash), hash, &mut ReadContext::default())
    }

    /// Searches one block for a version; `None` if it is not of the kind that the fast path supports.
    #[inline]
    fn in_block<R>(
        &self,
        start: &LookupStart,
        key: &[u8],
        at: u64,
        ended: impl Fn(LookupStep) + Copy,
        show: &mut impl FnMut(u8, u64, FoundValue<'_>) -> Option<R>,
    ) -> Result<Option<FastLookup<R>>> {
        let block = start.block;
        let (Some(directory), Some(slots)) = (&self.directory, self.cache.slots()) else { return Ok(None) };
        let visited = slots.visit(directory, block, |bytes, note| {
            ended(LookupStep::LoadBlock);
            self.in_quick(start, bytes, note, key, at, show)
        });
        let outcome = match visited {
            Some(outcome) => outcome,
            None => {
                let bytes = self.child(0, block, &mut ReadContext::default())?;
                let note = note_of(&self.view(block, &bytes)?);
                ended(LookupStep::LoadBlock);
                self.in_quick(start, &bytes, &note, key, at, show)
            }
        };
        ended(LookupStep::SearchBlock);
        Ok(outcome)
    }

    #[inline]
    fn in_quick<R>(
        &self,
        start: &LookupStart,
        bytes: &Arc<[u8]>,
        note: &BlockNote,
        key: &[u8],
        at: u64,
        show: &mut impl FnMut(u8, u64, FoundValue<'_>) -> Option<R>,
    ) -> Option<FastLookup<R>> {
        let columns = FixedKeyColumns::of(note)?;
        let hit = columns.search(bytes, key, start.within)?;
        if !hit.is_key {
            return Some(FastLookup::Absent);
        }
        if !start.is_exact && hit.index == 0 && start.block > 0 {
            // Newer versions may be in the previous block.
            return Some(FastLookup::Unknown);
        }
        let (index, tag, sequence) = if self.meta.versioned {
            match columns.version(bytes, key, hit.index, at)? {
                VersionHit::Found(index, tag) => (index, tag.kind, tag.sequence),
                VersionHit::Absent => return Some(FastLookup::Absent),
            }
        } else {
            (hit.index, self.unversioned.0, self.unversioned.1)
        };
        show(tag, sequence, FoundValue::InBlock(bytes, columns.value(bytes, index)?)).map(FastLookup::FoundValue)
    }

    /// The fallback, for blocks and tables of any kind.
    #[cold]
    fn look_up_general<R>(
        &self,
        key: &[u8],
        at: u64,
        show: impl FnOnce(u8, u64, FoundValue<'_>) -> Option<R>,
    ) -> Result<Option<R>> {
        let Some((bytes, index, block)) = self.locate_version(key, at)? else { return Ok(None) };
        let view = self.view(block, &bytes)?;
        let malformed = || self.malformed(block);
        let (tag, sequence) = self.version_in(&view, index).ok_or_else(malformed)?;
        let value = match view.place(index).ok_or_else(malformed)? {
            ValueLocation::Inline(place) => FoundValue::InBlock(&bytes, place),
            ValueLocation::Long(pointer) => FoundValue::Read(self.long_value(pointer)?),
        };
        show(tag, sequence, value).ok_or_else(malformed).map(Some)
    }

    /// Locates the newest version of a key with a sequence number of at most `at`.
    fn locate_version(&self, key: &[u8], at: u64) -> Result<Option<VersionLocation>> {
        let Some(position) = self.find(key, &mut ReadContext::default())? else { return Ok(None) };
        let (mut block, mut bytes) = (position.block, position.bytes);
        while block < self.meta.blocks {
            let here = match bytes.take() {
                Some(bytes) => bytes,
                None => self.child(0, block, &mut ReadContext::default())?,
            };
            let view = self.view(block, &here)?;
            let malformed = || self.malformed(block);
            let index = view.lower_bound_of_version(key, at, self.unversioned.1).ok_or_else(malformed)?;
            if index < view.count() {
                let is_found = view.key(index).ok_or_else(malformed)?.is(key);
                return Ok(is_found.then_some((here, index, block)));
            }
            block += 1;
        }
        Ok(None)
    }
}

/// Converts a position in the table to an index in the block that begins at `start`.
fn within_usize(position: u64, start: u64) -> usize {
    usize::try_from(position.saturating_sub(start)).unwrap_or(usize::MAX)
}
