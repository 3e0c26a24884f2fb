//! A table as a part of the store: what its levels consist of.

use super::cursor::Cursor;
use super::entry::{Entry, KeyspaceId, Kind, Sequence};
use super::learn::{ModelBuilder, PositionModel, Sample, Times};
use super::obsolete::Removal;
use super::options::{DbOptions, Learning, MAX_INLINE_BYTES, ModelReads};
use super::removals::Removals;
use super::version::{FileKind, TableMeta, file_name};
use crate::block::Slice;
use crate::block::cache::{BlockCache, Reservation};
use crate::error::{Error, Result};
use crate::io::sync::Published;
use crate::io::{StepClock, Storage, Timer};
use crate::table::{SearchPath, SharedOptions, Table, TableCursor, TableSteps};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Name of the property that holds a table's range removals.
pub(crate) const REMOVALS_PROPERTY: &str = "range-removals";
/// Name of the property that holds a model that was fitted while the table was written.
pub(crate) const MODEL_PROPERTY: &str = "plr";
/// After so many keys learning looks whether it is to go on.
const KEYS_PER_CHECK: u64 = 1 << 12;
/// What walks over a table by itself reads so much at a time, in bytes.
pub(crate) const WALK_AHEAD_BYTES: u64 = 256 << 10;
/// An opening read of this size is made whatever the memory, in bytes, to say how much the table takes.
pub(super) const LEAST_OPENING_BYTES: u64 = 64 << 20;
/// Name of the property that says which file of which store a table is: both numbers, little-endian.
pub(crate) const PLACE_PROPERTY: &str = "store";

/// Name of the property that says what a table was made of.
pub(crate) const ORIGIN_PROPERTY: &str = "origin";

/// What a table was made of: what only a repair asks for that has no manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The keyspace that it was written for.
    pub(crate) keyspace: KeyspaceId,
    /// The newest operation that any entry of its inputs came from, whatever sequence numbers they have by now: logs that end before it
    /// are in tables.
    pub(crate) newest: Sequence,
}

impl Origin {
    /// `keyspace: u32 | newest: u64`.
    pub(crate) fn encode(self) -> Vec<u8> {
        [&self.keyspace.to_le_bytes()[..], &self.newest.to_le_bytes()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (keyspace, newest) = bytes.split_first_chunk()?;
        let newest = u64::from_le_bytes(newest.try_into().ok()?);
        Some(Self { keyspace: KeyspaceId::from_le_bytes(*keyspace), newest })
    }
}

/// Name of the property that says which opening wrote a table, and which wrote the value files that it points into.
pub(crate) const OPENINGS_PROPERTY: &str = "openings";

/// Which openings a table comes from, by nonce: what only a repair asks for that has no manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Openings {
    /// The one that wrote the table.
    pub(crate) nonce: u64,
    /// Those that wrote the value files which it points into, by number of the file.
    pub(crate) values: BTreeMap<u64, u64>,
}

impl Openings {
    /// `nonce: u64`, then `number: u64 | nonce: u64` for each value file, by number.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let pairs = self.values.iter().flat_map(|(&number, &nonce)| [number, nonce]);
        std::iter::once(self.nonce).chain(pairs).flat_map(u64::to_le_bytes).collect()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let (first, pairs) = words.split_first()?;
        let (pairs, odd) = pairs.as_chunks::<2>();
        let values = pairs.iter().map(|&[number, nonce]| (u64::from_le_bytes(number), u64::from_le_bytes(nonce)));
        let is_whole = rest.is_empty() && odd.is_empty();
        is_whole.then(|| Self { nonce: u64::from_le_bytes(*first), values: values.collect() })
    }
}

/// The value of [`PLACE_PROPERTY`].
pub(crate) fn place_property(owner: u64, number: u64) -> Vec<u8> {
    [owner.to_le_bytes(), number.to_le_bytes()].concat()
}

/// How a cursor reads: through the cache; or, for one pass over everything that nobody else will read soon, past the cache and about
/// so many bytes at a time.
pub(crate) type Ahead = Option<u64>;

/// An open table of the store. Its file is removed when the last handle goes, once it is obsolete.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) meta: Arc<TableMeta>,
    pub(crate) table: Table,
    pub(crate) removals: Arc<Removals>,
    pub(crate) origin: Origin,
    /// Which openings it comes from; `None` for a table that was taken in, and those that earlier versions wrote.
    pub(crate) openings: Option<Openings>,
    /// What its look-ups cost, from a sample.
    pub(crate) times: Times,
    /// When it became part of the store, or was opened.
    pub(crate) born: Timer,
    /// How keys are found without a model.
    baseline: SearchPath,
    model_reads: ModelReads,
    /// Error of models that are learned, in records.
    pub(crate) model_error: u64,
    /// Whether there is a model, so that look-ups without one need not look.
    has_model: AtomicBool,
    model: Published<Option<Kept>>,
    cache: Arc<BlockCache>,
    /// What it keeps of the store's memory for as long as it is open, whatever is asked of it.
    reserved_bytes: u64,
    /// The part of that for its range removals.
    _held: Reservation,
    // Dropped last.
    removal: Removal,
}

/// A model, and the part of the store's memory that is kept for it.
#[derive(Debug)]
struct Kept {
    model: PositionModel,
    _held: Reservation,
}

impl Kept {
    fn new(model: PositionModel, cache: &Arc<BlockCache>) -> Self {
        Self { _held: cache.reserve_scoped(model.memory_bytes()), model }
    }
}

impl TableFile {
    /// Opens the table that `meta` describes, by one read at its end.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a file that is another than `meta` says; and those of [`Table::open`].
    pub(crate) fn open(
        storage: &Arc<dyn Storage>,
        owner: u64,
        meta: Arc<TableMeta>,
        cache: &Arc<BlockCache>,
        options: &DbOptions,
    ) -> Result<Arc<Self>> {
        let name = file_name(meta.number, FileKind::Table);
        let shared = SharedOptions {
            profile: options.profile.clone(),
            value_bytes: MAX_INLINE_BYTES,
            opening_bytes: options.memory_bytes.max(LEAST_OPENING_BYTES),
            unversioned: (Kind::Value as u8, meta.global_sequence.unwrap_or(0)),
            fast_paths: options.fast_paths,
        };
        let mut table = Table::open_with(Arc::clone(storage), &name, cache, &shared)?;
        // Both may be long, and are needed but once.
        let (removals, model) = (table.take_property(REMOVALS_PROPERTY), table.take_property(MODEL_PROPERTY));
        let removals = removals.as_deref().map_or(Some(Removals::default()), Removals::decode);
        let removals = removals.filter(|removals| removals.is_empty() != meta.has_range_removals);
        let place = place_property(owner, meta.number);
        let is_ours = match meta.global_sequence {
            Some(_) => !table.is_versioned(),
            None => table.is_versioned() && table.property(PLACE_PROPERTY) == Some(&place),
        };
        let is_inline = options.learning == Learning::Inline && options.fast_paths.models;
        // A model that is missing, damaged or another table's means the plain path.
        let model = model.filter(|_| is_inline).as_deref().and_then(PositionModel::decode);
        let model = model.filter(|model| model.records() == meta.records);
        let is_this = meta.file_id.is_none_or(|file_id| file_id == table.file_id());
        match removals {
            Some(removals) if is_ours && is_this && table.len() == meta.records => Ok(Arc::new(Self {
                _held: cache.reserve_scoped(removals.memory_bytes()),
                reserved_bytes: table.needed_bytes() + removals.memory_bytes(),
                removals: Arc::new(removals),
                origin: table.property(ORIGIN_PROPERTY).and_then(Origin::decode).unwrap_or_default(),
                openings: table.take_property(OPENINGS_PROPERTY).as_deref().and_then(Openings::decode),
                times: Times::default(),
                born: Timer::start(),
                baseline: match options.learning {
                    Learning::Inline | Learning::Coded => SearchPath::Coded,
                    _ => SearchPath::Plain,
                },
                model_reads: options.model_reads,
                model_error: options.model_error,
                has_model: AtomicBool::new(model.is_some()),
                model: Published::new(model.map(|model| Kept::new(model, cache))),
                cache: Arc::clone(cache),
                removal: Removal::new(storage, name),
                table,
                meta,
            })),
            _ => Err(Error::damaged(storage.path(&name), 0, "it is another table than the manifest says")),
        }
    }

    /// What it keeps of the store's memory for as long as it is open, whatever is asked of it.
    pub(crate) fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// Whether the key lies in the table's range.
    #[inline]
    pub(crate) fn may_hold(&self, key: &[u8]) -> bool {
        self.meta.smallest.as_slice() <= key && !self.meta.ends_before(key)
    }

    /// The newest entry of a key that is not newer than `at`.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], at: Sequence) -> Result<Option<(Kind, Sequence, Slice)>> {
        self.get_in(key, at, self.window(key))
    }

    /// The positions that the model, if there is one, says the key lies between.
    #[inline]
    fn window(&self, key: &[u8]) -> Option<(u64, u64)> {
        match self.has_model.load(Ordering::Relaxed) {
            true => self.model.peek().as_ref().as_ref().and_then(|kept| kept.model.window(key)),
            false => None,
        }
    }

    #[inline]
    fn path_of(&self, window: Option<(u64, u64)>) -> SearchPath {
        match (window, self.model_reads) {
            (Some((low, high)), ModelReads::Block) => SearchPath::Window(low, high),
            (Some((low, high)), ModelReads::Window) => SearchPath::WindowAlone(low, high),
            (None, _) => self.baseline,
        }
    }

    /// As [`Self::get`], with the positions that a model says the key lies between.
    #[inline]
    pub(crate) fn get_in(
        &self,
        key: &[u8],
        at: Sequence,
        window: Option<(u64, u64)>,
    ) -> Result<Option<(Kind, Sequence, Slice)>> {
        let sample = Sample::begin();
        let found = self.table.find_version(key, at, self.path_of(window))?;
        self.times.end(sample, window.is_some(), found.is_some());
        let Some((tag, sequence, value)) = found else { return Ok(None) };
        let kind = Kind::from_tag(tag).ok_or_else(|| self.nonsense())?;
        Ok(Some((kind, sequence, value)))
    }

    /// As [`Self::get_in`], or [`Self::get`] without a window, with the value copied into a buffer, whatever was there.
    #[inline]
    pub(crate) fn copy(
        &self,
        key: &[u8],
        at: Sequence,
        window: Option<(u64, u64)>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Kind, Sequence, ())>> {
        let window = window.or_else(|| self.window(key));
        let sample = Sample::begin();
        let found = self.table.visit_version(key, at, self.path_of(window), |tag, sequence, found| {
            value.clear();
            value.extend_from_slice(found);
            (tag, sequence)
        })?;
        self.times.end(sample, window.is_some(), found.is_some());
        let Some((tag, sequence)) = found else { return Ok(None) };
        let kind = Kind::from_tag(tag).ok_or_else(|| self.nonsense())?;
        Ok(Some((kind, sequence, ())))
    }

    /// As [`Self::get_in`], or [`Self::get`] without a window; adds what the steps take.
    pub(crate) fn get_timed(
        &self,
        key: &[u8],
        at: Sequence,
        window: Option<(u64, u64)>,
        clock: &mut StepClock,
        steps: &mut TableSteps,
    ) -> Result<Option<(Kind, Sequence, Slice)>> {
        let window = window.or_else(|| self.window(key));
        let found = self.table.find_version_timed(key, at, self.path_of(window), clock, steps)?;
        let Some((tag, sequence, value)) = found else { return Ok(None) };
        let kind = Kind::from_tag(tag).ok_or_else(|| self.nonsense())?;
        Ok(Some((kind, sequence, value)))
    }

    /// Learns where its records lie; `None` where `go_on` says to stop.
    ///
    /// # Errors
    /// What the storage reports, and damage.
    pub(crate) fn learn(self: &Arc<Self>, go_on: &dyn Fn() -> bool) -> Result<Option<PositionModel>> {
        let mut builder = ModelBuilder::new(&self.meta.smallest, &self.meta.largest, self.model_error);
        let is_whole = self.teach(&mut builder, go_on)?;
        // What look-ups by positions need is better read now than by the first of them.
        self.table.prepare_windows()?;
        Ok(builder.finish().filter(|_| is_whole))
    }

    /// Shows all its keys to a builder; `false` where `go_on` said to stop.
    pub(crate) fn teach(self: &Arc<Self>, builder: &mut ModelBuilder, go_on: &dyn Fn() -> bool) -> Result<bool> {
        let mut cursor = TableFileCursor::new(self, Some(WALK_AHEAD_BYTES));
        let mut count = 0_u64;
        cursor.first()?;
        while let Some(entry) = cursor.entry() {
            builder.add(entry.key);
            count += 1;
            if count.is_multiple_of(KEYS_PER_CHECK) && !go_on() {
                return Ok(false);
            }
            cursor.next()?;
        }
        Ok(true)
    }

    /// Gives it a model, or takes the one it has.
    pub(crate) fn set_model(&self, model: Option<PositionModel>) {
        let is_some = model.is_some();
        self.model.set(model.map(|model| Kept::new(model, &self.cache)));
        self.has_model.store(is_some, Ordering::Relaxed);
    }

    /// Bytes of its model.
    pub(crate) fn model_bytes(&self) -> u64 {
        self.model.peek().as_ref().as_ref().map_or(0, |kept| kept.model.memory_bytes())
    }

    /// Lines of its model.
    pub(crate) fn model_segments(&self) -> u64 {
        self.model.peek().as_ref().as_ref().map_or(0, |kept| kept.model.segments()) as u64
    }

    /// What an entry of no known kind is.
    #[cold]
    pub(super) fn nonsense(&self) -> Error {
        let path = self.table.path();
        Error::damaged(path, 0, "an entry of a kind that there is not")
    }

    /// The newest range removal that is not newer than `at` and covers `key`; 0 if there is none.
    #[inline]
    pub(crate) fn covering(&self, key: &[u8], at: Sequence) -> Sequence {
        if self.meta.has_range_removals { self.removals.covering(key, at) } else { 0 }
    }

    /// A position among its entries.
    pub(crate) fn cursor(self: &Arc<Self>, ahead: Ahead) -> Box<dyn Cursor> {
        Box::new(TableFileCursor::new(self, ahead))
    }

    /// Takes [`Self::mark_obsolete`] back.
    pub(crate) fn keep(&self) {
        self.removal.keep();
    }

    /// Lets the file be removed when the last reader has gone.
    pub(crate) fn mark_obsolete(&self) {
        self.removal.mark_obsolete();
    }
}

/// A position among the entries of a table.
#[derive(Debug)]
pub(crate) struct TableFileCursor {
    cursor: TableCursor,
    file: Arc<TableFile>,
    /// The kind of the entry here; `None` where there is none.
    kind: Option<Kind>,
}

impl TableFileCursor {
    pub(crate) fn new(file: &Arc<TableFile>, ahead: Ahead) -> Self {
        let cursor = match ahead {
            Some(bytes) => file.table.compaction_cursor(bytes),
            None => file.table.cursor(),
        };
        Self { cursor, file: Arc::clone(file), kind: None }
    }

    /// Takes the entry's kind, which a damaged table may not have.
    #[inline]
    fn settle(&mut self) -> Result<()> {
        self.kind = self.cursor.tag().and_then(Kind::from_tag);
        if self.kind.is_none() && self.cursor.tag().is_some() { Err(self.file.nonsense()) } else { Ok(()) }
    }
}

impl TableFileCursor {
    /// To the entry at a position, counted from 0, without asking the index; nowhere behind the last.
    pub(crate) fn seek_position(&mut self, position: u64) -> Result<()> {
        self.kind = None;
        self.cursor.seek_position(position)?;
        self.settle()
    }

    #[inline]
    pub(super) fn is_placed(&self) -> bool {
        self.kind.is_some()
    }
}

impl Cursor for TableFileCursor {
    #[inline]
    fn entry(&self) -> Option<Entry<'_>> {
        let kind = self.kind?;
        self.cursor.entry().map(|entry| Entry { key: entry.key, sequence: entry.sequence, kind, value: entry.value })
    }

    #[inline]
    fn value_slice(&self) -> Option<Slice> {
        self.cursor.value_slice()
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        self.kind = None;
        self.cursor.seek(key, sequence)?;
        self.settle()
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.kind = None;
        self.cursor.seek_before(key)?;
        self.settle()
    }

    fn first(&mut self) -> Result<()> {
        self.kind = None;
        self.cursor.first()?;
        self.settle()
    }

    fn last(&mut self) -> Result<()> {
        self.kind = None;
        self.cursor.last()?;
        self.settle()
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.kind = None;
        self.cursor.next()?;
        self.settle()
    }

    fn prev(&mut self) -> Result<()> {
        self.kind = None;
        self.cursor.prev()?;
        self.settle()
    }
}
