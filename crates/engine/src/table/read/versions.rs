//! The lookups of a store: a version of a key, from tables that share one block cache.

mod steps;

pub use steps::LookupStep;

use super::reader::{ReadContext, Table, TableInner};
use super::search::FilterQuery;
use super::separators::{self, ResidentSeparators};
use crate::block::Slice;
use crate::block::cache::{BlockCache, BlockNote};
use crate::error::Result;
use crate::io::{FastPaths, Profile, Storage};
use crate::table::block::coded::CodedBlock;
pub use crate::table::block::column_search::SearchHint;
use crate::table::block::column_search::{FixedKeyColumns, VersionHit, coded_note, is_coded, note_of};
use crate::table::block::key::KeyBound;
use crate::table::block::parts::{ShortValue, ValueLocation, VersionTag};
use crate::table::block::view::BlockView;
use crate::table::format::filter::{ResidentFilter, hash_key};
use crate::table::format::meta::{DataSource, NodeKind, TableMeta};
use crate::table::format::options::TableOptions;
use std::ops::Range;
use std::sync::Arc;

/// Blocks read at a time for their last keys.
const READ_BLOCKS_MAX: u64 = 64;

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

/// The start of a lookup in a table: a block, and where to search in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupStart {
    /// The number of the block.
    pub block: u64,
    /// Where to search in the block; a wrong hint costs only time.
    pub hint: SearchHint,
    /// Whether this is certainly the block of the key, if any is. Otherwise, the next block is searched too if the keys
    /// of this one are less, and then the table without this start, unless the keys around prove the answer.
    pub is_exact: bool,
}

/// The search path of a lookup. Results are the same on every path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SearchPath {
    /// Exact separators lead to the block, and interpolation to the record.
    Separators,
    /// A guide chose the start; without one, the index of the table is searched.
    Guided(Option<LookupStart>),
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
        let (memory_bytes, profile) = (options.value_bytes, options.profile.clone());
        let fast_paths = options.fast_paths;
        let open = TableOptions { memory_bytes, profile, fast_paths, ..TableOptions::default() };
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

    /// Reads the filter, if there is one, and if the budget has room for it.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub(crate) fn load_filter(&self) -> Result<()> {
        match &self.inner.asked_filter {
            Some(meta) => self.inner.resident_filter(meta, &mut ReadContext::default()).map(drop),
            None => Ok(()),
        }
    }

    /// Bytes of the cache's budget that the table cannot do without.
    pub(crate) fn needed_bytes(&self) -> u64 {
        self.inner.needed_bytes
    }

    /// Whether the table's own file holds all its data; an external index refers to another file.
    pub(crate) fn is_self_contained(&self) -> bool {
        self.inner.meta.source == DataSource::Own
    }

    /// Finds the newest version of a key with a sequence number of at most `at`; calls `ended` at the end of each step.
    ///
    /// # Errors
    /// Storage errors and damage; [`crate::Cause::ValueTooLarge`] for a separately stored value larger than the options
    /// allow.
    #[inline]
    pub(crate) fn find_version(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        ended: impl Fn(LookupStep) + Copy,
    ) -> Result<Option<FoundVersion>> {
        self.find_version_by(key, at, path, None, ended)
    }

    /// As [`Self::find_version`], with the reads of a batch.
    #[inline]
    pub(in crate::table) fn find_version_by(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        reads: Option<&mut ReadContext<'_>>,
        ended: impl Fn(LookupStep) + Copy,
    ) -> Result<Option<FoundVersion>> {
        self.inner.look_up(key, at, path, reads, ended, |tag, sequence, value| match value {
            VersionValue::InBlock(block, place) => {
                // The value's first byte is accessed before the block's reference count, so that the processor fetches
                // both at once.
                std::hint::black_box(block.get(place.start));
                Slice::of_block(block, place).map(|value| (tag, sequence, value))
            }
            VersionValue::Short(value) => Some((tag, sequence, Slice::from(&*value))),
            VersionValue::Read(value) => Some((tag, sequence, value.into())),
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
            None,
            |_| {},
            |tag, sequence, value| match value {
                VersionValue::InBlock(block, place) => block.get(place).map(|value| visit(tag, sequence, value)),
                VersionValue::Short(value) => Some(visit(tag, sequence, &value)),
                VersionValue::Read(value) => Some(visit(tag, sequence, &value)),
            },
        )
    }

    /// The block of a key by the exact separators, if they are resident.
    #[inline]
    pub(crate) fn find_block(&self, key: &[u8]) -> Option<LookupStart> {
        self.inner.separators_start(key)
    }

    /// The position of the first record of each block; `None` if one exceeds the type.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub(crate) fn first_positions(&self) -> Result<Option<Vec<u32>>> {
        let counts = self.inner.counts(&mut ReadContext::default())?;
        let start = |block| counts.before(block).and_then(|start| u32::try_from(start).ok());
        Ok((0..self.inner.meta.blocks).map(start).collect())
    }

    /// Reads all blocks and shows the last key of each, until `visit` returns `false`.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub(crate) fn visit_last_keys(&self, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        let (inner, mut key, mut next) = (&*self.inner, Vec::new(), 0);
        while next < inner.meta.blocks {
            for (block, bytes) in inner.read_past_cache(next, READ_BLOCKS_MAX)? {
                let view = inner.view(block, &bytes)?;
                let last = view.count().checked_sub(1).and_then(|last| view.key(last));
                last.ok_or_else(|| inner.malformed(block))?.copy_to(&mut key);
                if !visit(&key) {
                    return Ok(());
                }
                next = block + 1;
            }
        }
        Ok(())
    }
}

/// The location of a version: its block, its index there, and the number of the block.
type VersionLocation = (Arc<[u8]>, usize, u64);

/// A value that was found.
enum VersionValue<'a> {
    InBlock(&'a Arc<[u8]>, Range<usize>),
    Short(ShortValue),
    Read(Vec<u8>),
}

/// What is known of a block that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockClaim {
    /// It is the block of the key, if any is.
    Exact,
    /// A guide chose it.
    Guessed,
    /// All keys of the block before it are less than the key.
    Next,
}

impl BlockClaim {
    /// Whether records with the key may be in earlier blocks, if the first record of this one is not less.
    fn may_begin_before(self, block: u64) -> bool {
        self == Self::Guessed && block > 0
    }

    /// The result of a search that did not find the key, in a block of `count` records of which the one at `index` is
    /// the first after the key.
    fn not_found<R>(self, block: u64, index: usize, count: usize) -> FastLookup<R> {
        match self {
            Self::Exact => FastLookup::Absent,
            _ if index == count => FastLookup::Behind,
            _ if index == 0 && self.may_begin_before(block) => FastLookup::Unknown,
            _ => FastLookup::Absent,
        }
    }
}

/// The search of a version in a block.
#[derive(Clone, Copy, Debug)]
struct BlockSearch<'k> {
    block: u64,
    hint: SearchHint,
    claim: BlockClaim,
    key: &'k [u8],
    /// Largest sequence number.
    at: u64,
}

/// The result of the fast path.
enum FastLookup<R> {
    VersionValue(R),
    Absent,
    /// All keys of the block are less than the key.
    Behind,
    /// The fallback must decide.
    Unknown,
}

/// Data for lookups that is kept in memory besides the blocks.
#[derive(Debug, Default)]
pub(in crate::table) struct ResidentParts {
    separators: Option<ResidentSeparators>,
}

impl ResidentParts {
    /// Decodes what the tail provides for lookups of stores; `None` if the separators of the root do not ascend.
    pub(in crate::table) fn decode(meta: &TableMeta, root: &[u8], is_of_store: bool) -> Option<Self> {
        let Some(top) = meta.layers.last().filter(|top| is_of_store && top.kind == NodeKind::CodedStrings) else {
            return Some(Self::default());
        };
        let nodes = usize::try_from(top.nodes).unwrap_or(0);
        let is_whole = meta.layers.len() == 1;
        separators::ascend(root, nodes).then(|| Self {
            separators: is_whole.then(|| ResidentSeparators::decode(root, nodes, meta.blocks)).flatten(),
        })
    }

    /// Memory of the flat separators, which only speed up lookups.
    pub(in crate::table) fn flat_bytes(&self) -> u64 {
        self.separators.as_ref().map_or(0, ResidentSeparators::bytes)
    }

    /// Drops the flat separators.
    pub(in crate::table) fn forget_flat(&mut self) {
        self.separators = None;
    }
}

impl TableInner {
    pub(in crate::table) fn resident_bytes(&self) -> u64 {
        let filter = self.filter.get().map_or(0, ResidentFilter::bytes);
        let counts = if self.counts.get().is_some() { self.meta.counts.bytes } else { 0 };
        let beside = self.resident.flat_bytes() + filter + counts;
        self.root.len() as u64 + self.locations.resident_bytes() + beside
    }

    /// Kind and sequence number of a record.
    pub(in crate::table) fn version_in(&self, view: &BlockView<'_>, index: usize) -> Option<(u8, u64)> {
        if !self.meta.versioned {
            return Some(self.unversioned);
        }
        view.tag(index).map(|tag| (tag.kind, tag.sequence))
    }

    /// The first block that may hold records at or after `key`, if it is found without reading.
    pub(in crate::table) fn resident_block_of(&self, key: &[u8]) -> Option<u64> {
        let separators = self.resident.separators.as_ref()?;
        separators.find(key).map(|spot| spot.block)
    }

    /// The first block that may hold records at or after `key`; the number of blocks if all lie before it.
    pub(in crate::table) fn block_of(&self, key: &[u8]) -> Result<u64> {
        if let Some(block) = self.resident_block_of(key) {
            return Ok(block);
        }
        Ok(self.lower_bound(KeyBound { key, after: false }, &mut ReadContext::default())?.block)
    }

    /// Looks up a version; `show` receives kind, sequence number and value, and returns `None` if the location is
    /// invalid.
    #[inline]
    fn look_up<R>(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        mut reads: Option<&mut ReadContext<'_>>,
        ended: impl Fn(LookupStep) + Copy,
        show: impl FnOnce(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Result<Option<R>> {
        if !self.meta.versioned && at < self.unversioned.1 {
            return Ok(None);
        }
        let mut show = Some(show);
        let quickly = |tag, sequence, value: VersionValue<'_>| show.take()?(tag, sequence, value);
        match self.quickly(key, at, path, reads.as_deref_mut(), ended, quickly)? {
            FastLookup::VersionValue(found) => Ok(Some(found)),
            FastLookup::Absent => Ok(None),
            FastLookup::Behind | FastLookup::Unknown => match show.take() {
                Some(show) => {
                    let found = self.look_up_general(key, at, reads, show);
                    ended(LookupStep::SearchBlock);
                    found
                }
                // The location of a value was invalid.
                None => Err(self.damaged(self.tail_offset, "a record lies outside its block")),
            },
        }
    }

    /// The start of a lookup by the exact separators, if they are resident.
    #[inline]
    fn separators_start(&self, key: &[u8]) -> Option<LookupStart> {
        let spot = self.resident.separators.as_ref()?.find(key)?;
        Some(LookupStart { block: spot.block, hint: SearchHint::Share(spot.share), is_exact: true })
    }

    /// The start of a lookup; `None` if only the fallback can decide.
    #[inline]
    fn start(&self, key: &[u8], path: SearchPath) -> Option<LookupStart> {
        match path {
            SearchPath::Separators => self.separators_start(key),
            SearchPath::Guided(start) => start.filter(|start| start.block < self.meta.blocks),
        }
    }

    #[inline]
    fn quickly<R>(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        mut reads: Option<&mut ReadContext<'_>>,
        ended: impl Fn(LookupStep) + Copy,
        mut show: impl FnMut(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Result<FastLookup<R>> {
        if self.meta.blocks == 0 {
            return Ok(FastLookup::Unknown);
        }
        let start = self.start(key, path);
        ended(LookupStep::SearchIndex);
        let Some(start) = start else { return Ok(FastLookup::Unknown) };
        let is_filtered = start.is_exact || self.has_one_filter_group();
        let may_hold = !is_filtered || self.filter_may_hold(key, start.block, reads.as_deref_mut())?;
        ended(LookupStep::SearchFilter);
        if !may_hold {
            return Ok(FastLookup::Absent);
        }
        let claim = if start.is_exact { BlockClaim::Exact } else { BlockClaim::Guessed };
        let search = BlockSearch { block: start.block, hint: start.hint, claim, key, at };
        let outcome = match self.in_block(&search, reads.as_deref_mut(), ended, &mut show)? {
            Some(FastLookup::Behind) if start.block + 1 < self.meta.blocks => {
                let (hint, claim) = (SearchHint::Share(0.0), BlockClaim::Next);
                let next = BlockSearch { block: start.block + 1, hint, claim, ..search };
                self.in_block(&next, reads, ended, &mut show)?
            }
            outcome => outcome,
        };
        Ok(outcome.unwrap_or(FastLookup::Unknown))
    }

    /// Whether the filter admits a key in a block.
    #[inline]
    fn filter_may_hold(&self, key: &[u8], block: u64, reads: Option<&mut ReadContext<'_>>) -> Result<bool> {
        let Some(meta) = &self.asked_filter else { return Ok(true) };
        let hash = hash_key(key);
        let query = FilterQuery { page: meta.layout.page_of(block, hash), hash };
        match reads {
            Some(reads) => self.filter_may_contain(meta, query, reads),
            None => self.filter_may_contain(meta, query, &mut ReadContext::default()),
        }
    }

    /// Searches one block for a version; `None` if it is not of the kind that the fast path supports.
    #[inline]
    fn in_block<R>(
        &self,
        search: &BlockSearch<'_>,
        reads: Option<&mut ReadContext<'_>>,
        ended: impl Fn(LookupStep) + Copy,
        show: &mut impl FnMut(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Result<Option<FastLookup<R>>> {
        let block = search.block;
        let visited = self.cache.visit(self.cache_key(0, block), |bytes, note| {
            ended(LookupStep::LoadBlock);
            self.in_quick(search, bytes, note, show)
        });
        let outcome = match visited {
            Some(outcome) => outcome,
            None => {
                let bytes = self.child(0, block, reads.unwrap_or(&mut ReadContext::default()))?;
                let note = note_of(&self.view(block, &bytes)?);
                ended(LookupStep::LoadBlock);
                self.in_quick(search, &bytes, &note, show)
            }
        };
        ended(LookupStep::SearchBlock);
        Ok(outcome)
    }

    #[inline]
    fn in_quick<R>(
        &self,
        search: &BlockSearch<'_>,
        bytes: &Arc<[u8]>,
        note: &BlockNote,
        show: &mut impl FnMut(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Option<FastLookup<R>> {
        if is_coded(note) {
            let coded = match coded_note(note) {
                Some(note) => CodedBlock::of_note(bytes, &note)?,
                None => *self.view(search.block, bytes).ok()?.coded()?,
            };
            return self.in_coded(search, bytes, &coded, show);
        }
        let &BlockSearch { block, hint, claim, key, at } = search;
        let columns = FixedKeyColumns::of(note)?;
        let hit = columns.search(bytes, key, hint)?;
        if !hit.is_key {
            return Some(claim.not_found(block, hit.index, columns.count()));
        }
        if hit.index == 0 && claim.may_begin_before(block) {
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
        show(tag, sequence, VersionValue::InBlock(bytes, columns.value(bytes, index)?)).map(FastLookup::VersionValue)
    }

    /// As [`Self::in_quick`], in a coded block.
    #[inline]
    fn in_coded<R>(
        &self,
        search: &BlockSearch<'_>,
        bytes: &Arc<[u8]>,
        coded: &CodedBlock,
        show: &mut impl FnMut(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Option<FastLookup<R>> {
        let &BlockSearch { block, claim, key, at, .. } = search;
        let (mut index, is_key) = coded.search(bytes, key)?;
        if !is_key {
            return Some(claim.not_found(block, index, coded.count()));
        }
        if index == 0 && claim.may_begin_before(block) {
            // Newer versions may be in the previous block.
            return Some(FastLookup::Unknown);
        }
        let (mut kind, mut sequence) = self.unversioned;
        if self.meta.versioned {
            VersionTag { kind, sequence } = coded.tag(bytes, index)?;
            while sequence > at {
                index += 1;
                if index == coded.count() {
                    return None;
                }
                if !coded.key(bytes, index)?.is(key) {
                    return Some(FastLookup::Absent);
                }
                VersionTag { kind, sequence } = coded.tag(bytes, index)?;
            }
        }
        let value = match coded.value(bytes, index)? {
            ValueLocation::Inline(place) => VersionValue::InBlock(bytes, place),
            ValueLocation::Short(value) => VersionValue::Short(value),
            ValueLocation::Long(_) => return None,
        };
        show(kind, sequence, value).map(FastLookup::VersionValue)
    }

    /// The fallback, for blocks and tables of any kind.
    #[cold]
    fn look_up_general<R>(
        &self,
        key: &[u8],
        at: u64,
        reads: Option<&mut ReadContext<'_>>,
        show: impl FnOnce(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Result<Option<R>> {
        let mut own = ReadContext::default();
        let located = match reads {
            Some(reads) => self.locate_version(key, at, reads)?,
            None => self.locate_version(key, at, &mut own)?,
        };
        let Some((bytes, index, block)) = located else { return Ok(None) };
        let view = self.view(block, &bytes)?;
        let malformed = || self.malformed(block);
        let (tag, sequence) = self.version_in(&view, index).ok_or_else(malformed)?;
        let value = match view.place(index).ok_or_else(malformed)? {
            ValueLocation::Inline(place) => VersionValue::InBlock(&bytes, place),
            ValueLocation::Short(value) => VersionValue::Short(value),
            ValueLocation::Long(pointer) => VersionValue::Read(self.long_value(pointer)?),
        };
        show(tag, sequence, value).ok_or_else(malformed).map(Some)
    }

    /// Locates the newest version of a key with a sequence number of at most `at`.
    fn locate_version(&self, key: &[u8], at: u64, reads: &mut ReadContext<'_>) -> Result<Option<VersionLocation>> {
        let Some(position) = self.find(key, reads)? else { return Ok(None) };
        let newest = self.version_in(&self.view_at(&position)?, position.index);
        let (mut block, mut bytes) = (position.block, position.bytes);
        if newest.ok_or_else(|| self.malformed(block))?.1 <= at {
            return Ok(bytes.map(|here| (here, position.index, block)));
        }
        while block < self.meta.blocks {
            let here = match bytes.take() {
                Some(bytes) => bytes,
                None => self.child(0, block, reads)?,
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
