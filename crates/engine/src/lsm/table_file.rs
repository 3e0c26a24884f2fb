//! An open table of a store, with its metadata, range tombstones and optional model.

use super::cursor::EntryCursor;
use super::entry::{Entry, KeyspaceId, Sequence, ValueKind};
use super::learn::{ModelBuilder, PositionModel, Sample, Times};
use super::obsolete_file::ObsoleteFile;
use super::options::{DbOptions, INLINE_BYTES_MAX, Learning, ModelReads};
use super::range_tombstones::RangeTombstones;
use super::version::{FileKind, TableMeta, file_name};
use crate::block::Slice;
use crate::block::cache::{BlockCache, Reservation};
use crate::error::{Error, Result};
use crate::io::sync::Published;
use crate::io::{Storage, Timer};
use crate::table::versions::LookupStep;
use crate::table::{SearchPath, SharedOptions, Table, TableCursor};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The property with a table's range tombstones.
pub(crate) const RANGE_TOMBSTONES_PROPERTY: &str = "range-removals";
/// The property with a model that was fitted while the table was written.
pub(crate) const MODEL_PROPERTY: &str = "plr";
/// Learning checks whether to go on after this many keys.
const KEYS_PER_CHECK: u64 = 1 << 12;
/// Read size of background scans of tables, in bytes.
pub(crate) const SCAN_READ_AHEAD_BYTES: u64 = 256 << 10;
/// The opening read of a table may always have this size, in bytes, to report how much memory the table needs.
pub(super) const OPENING_BYTES_MIN: u64 = 64 << 20;
/// The property with the identity of the store and the file number, both little-endian.
pub(crate) const STORE_PROPERTY: &str = "store";

/// The property with the origin of a table.
pub(crate) const ORIGIN_PROPERTY: &str = "origin";

/// The origin of a table, used only by repairs without a manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableOrigin {
    /// The keyspace of the table.
    pub(crate) keyspace: KeyspaceId,
    /// The newest operation among its inputs, regardless of rewritten sequence numbers: logs that end before it are
    /// contained in tables.
    pub(crate) newest: Sequence,
}

impl TableOrigin {
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

/// The property with the opening that wrote a table, and those that wrote the value files it points into.
pub(crate) const OPENINGS_PROPERTY: &str = "openings";

/// The openings that a table comes from, by nonce; used only by repairs without a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Openings {
    /// The opening that wrote the table.
    pub(crate) nonce: u64,
    /// The openings that wrote the value files it points into, by file number.
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

/// The value of [`STORE_PROPERTY`].
pub(crate) fn store_property(owner: u64, number: u64) -> Vec<u8> {
    [owner.to_le_bytes(), number.to_le_bytes()].concat()
}

/// The read-ahead of a cursor: `None` reads through the cache; a size, for a single pass over everything, bypasses it
/// and reads this many bytes at a time.
pub(crate) type ReadAheadBytes = Option<u64>;

/// An open table of a store. Once obsolete, its file is removed when the last handle is dropped.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) meta: Arc<TableMeta>,
    pub(crate) table: Table,
    pub(crate) tombstones: Arc<RangeTombstones>,
    pub(crate) origin: TableOrigin,
    /// The openings it comes from; `None` for an ingested table, and for those of earlier versions.
    pub(crate) openings: Option<Openings>,
    /// Sampled costs of its lookups.
    pub(crate) times: Times,
    /// When it was added to the store, or opened.
    pub(crate) born: Timer,
    /// The search path without a model.
    baseline: SearchPath,
    model_reads: ModelReads,
    /// Error bound of learned models, in records.
    pub(crate) model_error: u64,
    /// Whether there is a model, so that lookups without one skip the check.
    has_model: AtomicBool,
    model: Published<Option<ResidentModel>>,
    cache: Arc<BlockCache>,
    /// Memory that the table needs while it is open.
    reserved_bytes: u64,
    /// The reservation for its range tombstones.
    _held: Reservation,
    // Must be dropped last.
    obsolete_file: ObsoleteFile,
}

/// A model, and its memory reservation.
#[derive(Debug)]
struct ResidentModel {
    model: PositionModel,
    _held: Reservation,
}

impl ResidentModel {
    fn new(model: PositionModel, cache: &Arc<BlockCache>) -> Self {
        Self { _held: cache.reserve_scoped(model.memory_bytes()), model }
    }
}

impl TableFile {
    /// Opens the table that `meta` describes, with one read at its end.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match `meta`; errors of [`Table::open`].
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
            value_bytes: INLINE_BYTES_MAX,
            opening_bytes: options.memory_bytes.max(OPENING_BYTES_MIN),
            unversioned: (ValueKind::Value as u8, meta.global_sequence.unwrap_or(0)),
            fast_paths: options.fast_paths,
        };
        let mut table = Table::open_with(Arc::clone(storage), &name, cache, &shared)?;
        // Both may be long, and are needed only once.
        let (tombstones, model) = (table.take_property(RANGE_TOMBSTONES_PROPERTY), table.take_property(MODEL_PROPERTY));
        let tombstones = tombstones.as_deref().map_or(Some(RangeTombstones::default()), RangeTombstones::decode);
        let tombstones = tombstones.filter(|tombstones| tombstones.is_empty() != meta.has_range_tombstones);
        let identity = store_property(owner, meta.number);
        let is_ours = match meta.global_sequence {
            Some(_) => !table.is_versioned(),
            None => table.is_versioned() && table.property(STORE_PROPERTY) == Some(&identity),
        };
        let is_inline = options.learning == Learning::Inline && options.fast_paths.models;
        // Without a valid model of this table, the plain search path is used.
        let model = model.filter(|_| is_inline).as_deref().and_then(PositionModel::decode);
        let model = model.filter(|model| model.records() == meta.records);
        let is_this = meta.file_id.is_none_or(|file_id| file_id == table.file_id());
        match tombstones {
            Some(tombstones) if is_ours && is_this && table.len() == meta.records => Ok(Arc::new(Self {
                _held: cache.reserve_scoped(tombstones.memory_bytes()),
                reserved_bytes: table.needed_bytes() + tombstones.memory_bytes(),
                tombstones: Arc::new(tombstones),
                origin: table.property(ORIGIN_PROPERTY).and_then(TableOrigin::decode).unwrap_or_default(),
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
                model: Published::new(model.map(|model| ResidentModel::new(model, cache))),
                cache: Arc::clone(cache),
                obsolete_file: ObsoleteFile::new(storage, name),
                table,
                meta,
            })),
            _ => Err(Error::damaged(storage.path(&name), 0, "it is not the table that the manifest describes")),
        }
    }

    /// Memory that the table needs while it is open.
    pub(crate) fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// Whether the key is in the table's range.
    #[inline]
    pub(crate) fn may_hold(&self, key: &[u8]) -> bool {
        self.meta.smallest.as_slice() <= key && !self.meta.ends_before(key)
    }

    /// The window of positions that the model predicts for a key, if there is a model.
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

    /// The newest entry of a key that is not newer than `at`. The model of the level may have predicted a window of
    /// positions. Calls `ended` at the end of each step.
    #[inline]
    pub(crate) fn get(
        &self,
        key: &[u8],
        at: Sequence,
        window: Option<(u64, u64)>,
        ended: impl Fn(LookupStep) + Copy,
    ) -> Result<Option<(ValueKind, Sequence, Slice)>> {
        let window = window.or_else(|| self.window(key));
        let sample = Sample::begin();
        let found = self.table.find_version(key, at, self.path_of(window), ended)?;
        self.times.end(sample, window.is_some(), found.is_some());
        let Some((tag, sequence, value)) = found else { return Ok(None) };
        let kind = ValueKind::from_code(tag).ok_or_else(|| self.corrupt_entry())?;
        Ok(Some((kind, sequence, value)))
    }

    /// As [`Self::get`]; copies the value into a buffer, replacing its contents.
    #[inline]
    pub(crate) fn copy(
        &self,
        key: &[u8],
        at: Sequence,
        window: Option<(u64, u64)>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(ValueKind, Sequence, ())>> {
        let window = window.or_else(|| self.window(key));
        let sample = Sample::begin();
        let found = self.table.visit_version(key, at, self.path_of(window), |tag, sequence, found| {
            value.clear();
            value.extend_from_slice(found);
            (tag, sequence)
        })?;
        self.times.end(sample, window.is_some(), found.is_some());
        let Some((tag, sequence)) = found else { return Ok(None) };
        let kind = ValueKind::from_code(tag).ok_or_else(|| self.corrupt_entry())?;
        Ok(Some((kind, sequence, ())))
    }

    /// Learns a model of its keys; returns `None` if `keep_going` returns `false`.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub(crate) fn learn(self: &Arc<Self>, keep_going: &dyn Fn() -> bool) -> Result<Option<PositionModel>> {
        let mut builder = ModelBuilder::new(&self.meta.smallest, &self.meta.largest, self.model_error);
        let is_whole = self.feed_model(&mut builder, keep_going)?;
        // Loaded here rather than by the first lookup by position.
        self.table.prepare_windows()?;
        Ok(builder.finish().filter(|_| is_whole))
    }

    /// Adds all keys to a model builder; returns `false` if `keep_going` returned `false`.
    pub(crate) fn feed_model(
        self: &Arc<Self>,
        builder: &mut ModelBuilder,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let mut cursor = TableFileCursor::new(self, Some(SCAN_READ_AHEAD_BYTES));
        let mut count = 0_u64;
        cursor.first()?;
        while let Some(entry) = cursor.entry() {
            builder.add(entry.key);
            count += 1;
            if count.is_multiple_of(KEYS_PER_CHECK) && !keep_going() {
                return Ok(false);
            }
            cursor.next()?;
        }
        Ok(true)
    }

    /// Sets or removes the model.
    pub(crate) fn set_model(&self, model: Option<PositionModel>) {
        let is_some = model.is_some();
        self.model.set(model.map(|model| ResidentModel::new(model, &self.cache)));
        self.has_model.store(is_some, Ordering::Relaxed);
    }

    /// Memory of the model in bytes.
    pub(crate) fn model_bytes(&self) -> u64 {
        self.model.peek().as_ref().as_ref().map_or(0, |kept| kept.model.memory_bytes())
    }

    /// Number of segments of the model.
    pub(crate) fn model_segments(&self) -> u64 {
        self.model.peek().as_ref().as_ref().map_or(0, |kept| kept.model.segments()) as u64
    }

    /// The error for an entry of an unknown kind.
    #[cold]
    pub(super) fn corrupt_entry(&self) -> Error {
        let path = self.table.path();
        Error::damaged(path, 0, "an entry has an unknown kind")
    }

    /// The newest range tombstone at or below `at` that covers `key`; 0 if there is none.
    #[inline]
    pub(crate) fn covering(&self, key: &[u8], at: Sequence) -> Sequence {
        if self.meta.has_range_tombstones { self.tombstones.covering(key, at) } else { 0 }
    }

    /// A cursor over its entries.
    pub(crate) fn cursor(self: &Arc<Self>, ahead: ReadAheadBytes) -> Box<dyn EntryCursor> {
        Box::new(TableFileCursor::new(self, ahead))
    }

    /// Reverts [`Self::mark_obsolete`].
    pub(crate) fn keep(&self) {
        self.obsolete_file.keep();
    }

    /// Lets the file be removed once its last reader is gone.
    pub(crate) fn mark_obsolete(&self) {
        self.obsolete_file.mark_obsolete();
    }
}

/// A cursor over the entries of a table.
#[derive(Debug)]
pub(crate) struct TableFileCursor {
    cursor: TableCursor,
    file: Arc<TableFile>,
    /// The kind of the current entry; `None` if there is none.
    kind: Option<ValueKind>,
}

impl TableFileCursor {
    pub(crate) fn new(file: &Arc<TableFile>, ahead: ReadAheadBytes) -> Self {
        let cursor = match ahead {
            Some(bytes) => file.table.compaction_cursor(bytes),
            None => file.table.cursor(),
        };
        Self { cursor, file: Arc::clone(file), kind: None }
    }

    /// Reads the kind of the current entry, which is invalid in a damaged table.
    #[inline]
    fn read_kind(&mut self) -> Result<()> {
        self.kind = self.cursor.tag().and_then(ValueKind::from_code);
        if self.kind.is_none() && self.cursor.tag().is_some() { Err(self.file.corrupt_entry()) } else { Ok(()) }
    }
}

impl TableFileCursor {
    /// Moves to the entry at a position, counted from 0, without using the index.
    pub(crate) fn seek_position(&mut self, position: u64) -> Result<()> {
        self.kind = None;
        self.cursor.seek_position(position)?;
        self.read_kind()
    }

    #[inline]
    pub(super) fn is_placed(&self) -> bool {
        self.kind.is_some()
    }
}

impl EntryCursor for TableFileCursor {
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
        self.read_kind()
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.kind = None;
        self.cursor.seek_before(key)?;
        self.read_kind()
    }

    fn first(&mut self) -> Result<()> {
        self.kind = None;
        self.cursor.first()?;
        self.read_kind()
    }

    fn last(&mut self) -> Result<()> {
        self.kind = None;
        self.cursor.last()?;
        self.read_kind()
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.kind = None;
        self.cursor.next()?;
        self.read_kind()
    }

    fn prev(&mut self) -> Result<()> {
        self.kind = None;
        self.cursor.prev()?;
        self.read_kind()
    }
}
