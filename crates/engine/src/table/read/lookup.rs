//! The point lookup: the newest version of a key that a sequence number admits.
//!
//! ```text
//! start   resident separators, a guide, or the layers of the index ---> a window of blocks
//! filter  ---> absent
//! block   where the cache holds it, else read: search by its note ---> found, absent
//! window  of several blocks, or a start that was wrong: read them, and widen where an approximate node was wrong
//! ```
//!
//! In a table without versions, the newest version is the first record of the key. What a batch of lookups lacks is
//! noted in its [`ReadContext`], and read for all of them together ([`deferred`](super::deferred)).

mod steps;

pub use steps::LookupStep;

use super::context::ReadContext;
use super::reader::{Table, TableInner};
use super::search::RecordPosition;
use super::separators::ResidentSeparators;
use crate::block::Slice;
use crate::error::Result;
pub use crate::table::block::column_search::SearchHint;
use crate::table::block::key::KeyBound;
use crate::table::block::note::{self, NotedForm};
use crate::table::block::parts::{ShortValue, ValueLocation, VersionTag};
use crate::table::block::records::BlockRecords;
use crate::table::block::view::BlockView;
use crate::table::format::index_page::ChildWindow;
use crate::table::format::meta::DataSource;
use crate::table::format::value::ValuePointer;
use std::ops::Range;
use std::sync::Arc;

/// Blocks read at a time for their last keys.
const READ_BLOCKS_MAX: u64 = 64;

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

impl Table {
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
        match self.inner.filter.asked() {
            Some(meta) => self.inner.resident_filter(meta, &mut ReadContext::default()).map(drop),
            None => Ok(()),
        }
    }

    /// Bytes of the cache's budget that the table cannot do without.
    pub(crate) fn needed_bytes(&self) -> u64 {
        self.inner.memory.needed_bytes()
    }

    /// Whether the table's own file holds all its data; an external index refers to another file.
    pub(crate) fn is_self_contained(&self) -> bool {
        self.inner.meta.source == DataSource::Own
    }

    /// Finds the newest version of a key with a sequence number of at most `at`, and passes kind, sequence number and
    /// value to `show`, which returns `None` if the location of the value is invalid. The cache is locked while `show`
    /// runs. Calls `ended` at the end of each step. What the `reads` of a batch lack is not read.
    ///
    /// # Errors
    /// Storage errors and damage; [`crate::Cause::ValueTooLarge`] for a separately stored value larger than the options
    /// allow.
    #[inline]
    pub(crate) fn find<R>(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        reads: Option<&mut ReadContext<'_>>,
        ended: impl Fn(LookupStep) + Copy,
        show: impl FnOnce(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Result<Option<R>> {
        let query = VersionQuery { key, at, path, reads_long: true };
        self.inner.find_version(&query, reads, ended, show)
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

/// A value that was found.
pub(crate) enum VersionValue<'a> {
    InBlock(&'a Arc<[u8]>, Range<usize>),
    Short(ShortValue),
    /// It is stored outside the blocks.
    Long(ValuePointer),
    Read(Vec<u8>),
}

impl<'a> VersionValue<'a> {
    fn of(block: &'a Arc<[u8]>, location: ValueLocation) -> Self {
        match location {
            ValueLocation::Inline(place) => Self::InBlock(block, place),
            ValueLocation::Short(value) => Self::Short(value),
            ValueLocation::Long(pointer) => Self::Long(pointer),
        }
    }

    /// The value, which shares the block that it is in.
    #[inline]
    pub(crate) fn into_slice(self) -> Option<Slice> {
        match self {
            Self::InBlock(block, place) => {
                // The value's first byte is accessed before the block's reference count, so that the processor fetches
                // both at once.
                std::hint::black_box(block.get(place.start));
                Slice::of_block(block, place)
            }
            Self::Read(value) => Some(value.into()),
            value => value.bytes().map(Slice::from),
        }
    }

    /// The same as a vector.
    pub(in crate::table) fn into_vec(self) -> Option<Vec<u8>> {
        match self {
            Self::Read(value) => Some(value),
            value => value.bytes().map(<[u8]>::to_vec),
        }
    }

    /// The bytes of a value that was read; `None` if its location is invalid.
    #[inline]
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::InBlock(block, place) => block.get(place.clone()),
            Self::Short(value) => Some(value),
            Self::Read(value) => Some(value),
            Self::Long(_) => None,
        }
    }
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
    fn not_found<R>(self, block: u64, index: usize, count: usize) -> BlockOutcome<R> {
        match self {
            Self::Exact => BlockOutcome::Absent,
            _ if index == count => BlockOutcome::Behind,
            _ if index == 0 && self.may_begin_before(block) => BlockOutcome::Unknown,
            _ => BlockOutcome::Absent,
        }
    }
}

/// The version that a lookup asks for.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct VersionQuery<'k> {
    pub(in crate::table) key: &'k [u8],
    /// Largest sequence number.
    pub(in crate::table) at: u64,
    pub(in crate::table) path: SearchPath,
    /// Whether a value that is stored outside the blocks is read before it is shown. Else its pointer is shown.
    pub(in crate::table) reads_long: bool,
}

/// The search of a version in a block.
#[derive(Clone, Copy, Debug)]
struct BlockSearch<'q> {
    query: &'q VersionQuery<'q>,
    block: u64,
    hint: SearchHint,
    claim: BlockClaim,
}

/// The result of a search in a block.
enum BlockOutcome<R> {
    Found(R),
    /// Kind, sequence number, and the place of a value that must be read before it is shown.
    Long(u8, u64, ValuePointer),
    Absent,
    /// All keys of the block are less than the key.
    Behind,
    /// Other blocks are needed, or the block is malformed.
    Unknown,
}

impl TableInner {
    pub(in crate::table) fn resident_bytes(&self) -> u64 {
        let counts = if self.counts.get().is_some() { self.meta.counts.bytes } else { 0 };
        let separators = self.separators.as_ref().map_or(0, ResidentSeparators::bytes);
        let beside = separators + self.filter.resident_bytes() + counts;
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
        let separators = self.separators.as_ref()?;
        separators.find(key).map(|spot| spot.block)
    }

    /// The first block that may hold records at or after `key`; the number of blocks if all lie before it.
    pub(in crate::table) fn block_of(&self, key: &[u8]) -> Result<u64> {
        if let Some(block) = self.resident_block_of(key) {
            return Ok(block);
        }
        Ok(self.lower_bound(KeyBound { key, after: false }, &mut ReadContext::default())?.block)
    }

    /// As [`Table::find`].
    ///
    /// # Errors
    /// Storage errors and damage.
    #[inline]
    pub(in crate::table) fn find_version<R>(
        &self,
        query: &VersionQuery<'_>,
        mut reads: Option<&mut ReadContext<'_>>,
        ended: impl Fn(LookupStep) + Copy,
        show: impl FnOnce(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Result<Option<R>> {
        let &VersionQuery { key, at, path, .. } = query;
        if self.meta.blocks == 0 || (!self.meta.versioned && at < self.unversioned.1) {
            return Ok(None);
        }
        let start = self.start(key, path);
        let (window, hint) = match start {
            Some(LookupStart { block, hint, is_exact }) => {
                (Some(ChildWindow { first: block, last: block, is_exact }), hint)
            }
            None => (self.routed(key, reads.as_deref_mut())?, SearchHint::NONE),
        };
        ended(LookupStep::SearchIndex);
        let Some(window) = window else { return Ok(None) };
        let may_hold = self.filter_allows(key, window, reads.as_deref_mut())?;
        ended(LookupStep::SearchFilter);
        if !may_hold {
            return Ok(None);
        }
        let mut show = Some(show);
        if start.is_some() || (window.is_exact && window.first == window.last) {
            let claim = if window.is_exact { BlockClaim::Exact } else { BlockClaim::Guessed };
            let search = BlockSearch { query, block: window.first, hint, claim };
            let shown = |tag, sequence, value: VersionValue<'_>| show.take()?(tag, sequence, value);
            match self.search_blocks(search, reads.as_deref_mut(), ended, shown)? {
                BlockOutcome::Found(found) => return Ok(Some(found)),
                BlockOutcome::Absent => return Ok(None),
                BlockOutcome::Long(kind, sequence, pointer) => {
                    let value = VersionValue::Read(self.long_value(pointer)?);
                    return Ok(show.take().and_then(|show| show(kind, sequence, value)));
                }
                BlockOutcome::Behind | BlockOutcome::Unknown => {}
            }
        }
        // Without `show`, the location of a value was invalid.
        let Some(show) = show else {
            return Err(self.damaged(self.files.tail_offset(), "a record lies outside its block"));
        };
        let window = if start.is_some() { None } else { Some(window) };
        let found = self.find_in_window(query, window, reads, show);
        ended(LookupStep::SearchBlock);
        found
    }

    /// The start of a lookup by the exact separators, if they are resident.
    #[inline]
    fn separators_start(&self, key: &[u8]) -> Option<LookupStart> {
        let spot = self.separators.as_ref()?.find(key)?;
        Some(LookupStart { block: spot.block, hint: SearchHint::Share(spot.share), is_exact: true })
    }

    /// The start of a lookup; `None` if the index of the table must be searched.
    #[inline]
    fn start(&self, key: &[u8], path: SearchPath) -> Option<LookupStart> {
        match path {
            SearchPath::Separators => self.separators_start(key),
            SearchPath::Guided(start) => start.filter(|start| start.block < self.meta.blocks),
        }
    }

    /// The blocks to which the index leads; `None` if no record can have the key.
    pub(in crate::table) fn routed(
        &self,
        key: &[u8],
        reads: Option<&mut ReadContext<'_>>,
    ) -> Result<Option<ChildWindow>> {
        let Some(target) = self.target(KeyBound { key, after: false }) else { return Ok(None) };
        if self.meta.record_type.keys.width().is_some_and(|width| width != key.len()) {
            return Ok(None);
        }
        self.route(&target, 0, reads.unwrap_or(&mut ReadContext::default())).map(Some)
    }

    /// Searches the block of a lookup, and the next one if all keys of the first are less.
    #[inline]
    fn search_blocks<R>(
        &self,
        search: BlockSearch<'_>,
        mut reads: Option<&mut ReadContext<'_>>,
        ended: impl Fn(LookupStep) + Copy,
        mut show: impl FnMut(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Result<BlockOutcome<R>> {
        match self.search_block(&search, reads.as_deref_mut(), ended, &mut show)? {
            BlockOutcome::Behind if search.block + 1 < self.meta.blocks => {
                let (hint, claim) = (SearchHint::Share(0.0), BlockClaim::Next);
                let next = BlockSearch { block: search.block + 1, hint, claim, ..search };
                self.search_block(&next, reads, ended, &mut show)
            }
            outcome => Ok(outcome),
        }
    }

    /// Searches one block for a version, in the cache if it is there.
    #[inline(never)]
    fn search_block<R>(
        &self,
        search: &BlockSearch<'_>,
        reads: Option<&mut ReadContext<'_>>,
        ended: impl Fn(LookupStep) + Copy,
        show: &mut impl FnMut(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Result<BlockOutcome<R>> {
        let block = search.block;
        // A block without a note is shared, since the note that it gets then locks its slot.
        let visited =
            self.memory.cache().visit_if_cached(self.cache_key(0, block), |bytes, note| {
                ended(LookupStep::LoadBlock);
                match note::form_of(note) {
                    NotedForm::Columns => Ok(note::columns(note, bytes)
                        .and_then(|columns| self.search_records(search, bytes, &columns, show))),
                    NotedForm::Coded => {
                        Ok(note::coded(note, bytes).and_then(|coded| self.search_records(search, bytes, &coded, show)))
                    }
                    NotedForm::Dense => {
                        let (count, versioned) = (note::dense_count(note), self.meta.versioned);
                        let view = BlockView::of_dense(self.layout, versioned, count, bytes);
                        Ok(view.and_then(|view| self.search_records(search, bytes, &view, show)))
                    }
                    NotedForm::None => Err(bytes.clone()),
                }
            });
        let outcome = match visited {
            Some(Ok(outcome)) => outcome,
            Some(Err(bytes)) => self.search_records(search, &bytes, &self.noted_view(block, &bytes)?, show),
            None => {
                let bytes = self.child(0, block, reads.unwrap_or(&mut ReadContext::default()))?;
                ended(LookupStep::LoadBlock);
                self.search_records(search, &bytes, &self.view(block, &bytes)?, show)
            }
        };
        ended(LookupStep::SearchBlock);
        Ok(outcome.unwrap_or(BlockOutcome::Unknown))
    }

    /// Searches a block for a version; `None` if the block is malformed.
    #[inline]
    fn search_records<R>(
        &self,
        search: &BlockSearch<'_>,
        bytes: &Arc<[u8]>,
        records: &impl BlockRecords,
        show: &mut impl FnMut(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Option<BlockOutcome<R>> {
        let &BlockSearch { query: &VersionQuery { key, at, reads_long, .. }, block, hint, claim } = search;
        let (mut index, is_key) = records.search(bytes, key, hint)?;
        if !is_key {
            return Some(claim.not_found(block, index, records.count()));
        }
        if index == 0 && claim.may_begin_before(block) {
            // Newer versions may be in the previous block.
            return Some(BlockOutcome::Unknown);
        }
        let (mut kind, mut sequence) = self.unversioned;
        if self.meta.versioned {
            VersionTag { kind, sequence } = records.tag(bytes, index)?;
            while sequence > at {
                index += 1;
                if index == records.count() {
                    return Some(BlockOutcome::Unknown);
                }
                if !records.has_key(bytes, index, key)? {
                    return Some(BlockOutcome::Absent);
                }
                VersionTag { kind, sequence } = records.tag(bytes, index)?;
            }
        }
        let value = match VersionValue::of(bytes, records.place(bytes, index)?) {
            VersionValue::Long(pointer) if reads_long => return Some(BlockOutcome::Long(kind, sequence, pointer)),
            value => value,
        };
        show(kind, sequence, value).map(BlockOutcome::Found)
    }

    /// Finds a version in the blocks to which the index leads, which are found first if they are not given.
    #[cold]
    fn find_in_window<R>(
        &self,
        query: &VersionQuery<'_>,
        window: Option<ChildWindow>,
        reads: Option<&mut ReadContext<'_>>,
        show: impl FnOnce(u8, u64, VersionValue<'_>) -> Option<R>,
    ) -> Result<Option<R>> {
        let &VersionQuery { key, at, reads_long, .. } = query;
        let mut own = ReadContext::default();
        let reads = reads.unwrap_or(&mut own);
        let found = match window {
            Some(window) => self.find_record_in(key, window, reads)?,
            None => self.find_record(key, reads)?,
        };
        let Some(mut position) = found else { return Ok(None) };
        if self.meta.versioned && !self.move_to_version(&mut position, key, at, reads)? {
            return Ok(None);
        }
        let (view, malformed) = (self.view_at(&position)?, || self.malformed(position.block));
        let (kind, sequence) = self.version_in(&view, position.index).ok_or_else(malformed)?;
        let bytes = position.bytes.as_ref().ok_or_else(malformed)?;
        let value = match VersionValue::of(bytes, view.place(position.index).ok_or_else(malformed)?) {
            VersionValue::Long(pointer) if reads_long => VersionValue::Read(self.long_value(pointer)?),
            value => value,
        };
        show(kind, sequence, value).ok_or_else(malformed).map(Some)
    }

    /// Moves from the first record of a key on to its newest version with a sequence number of at most `at`; returns
    /// whether there is one.
    fn move_to_version(
        &self,
        position: &mut RecordPosition,
        key: &[u8],
        at: u64,
        reads: &mut ReadContext<'_>,
    ) -> Result<bool> {
        let newest = self.version_in(&self.view_at(position)?, position.index);
        if newest.ok_or_else(|| self.malformed(position.block))?.1 <= at {
            return Ok(true);
        }
        let (mut block, mut bytes) = (position.block, position.bytes.take());
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
                let head = Some(view.head());
                *position = RecordPosition { block, index, bytes: Some(here), head };
                return Ok(is_found);
            }
            block += 1;
        }
        Ok(false)
    }
}
