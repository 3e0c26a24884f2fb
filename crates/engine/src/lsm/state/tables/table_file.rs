//! An open table of a store, with its metadata, range tombstones and optional guide.

use super::learner::{GuidedStart, Learner, ModelSize, PositionWindow, TableGuide};
use super::lookup_times::TableLookups;
use super::lookup_times::{LookupTimes, TimedLookup};
use crate::block::Slice;
use crate::block::cache::BlockCache;
use crate::block::cache::Reservation;
use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::io::local::sync::Published;
use crate::lsm::state::cursor::{EntryCursor, SeekGoal};
use crate::lsm::state::entry::{Entry, KeyspaceId, Sequence, ValueKind};
use crate::lsm::state::obsolete_file::ObsoleteFile;
use crate::lsm::state::range_tombstones::RangeTombstones;
use crate::lsm::state::value_forms::ValueForms;
use crate::lsm::state::version::{FileKind, KeyspaceOptions, KeyspaceState, StatedTypes, TableFileMeta, file_name};
use crate::table::read::context::ReadContext;
use crate::table::read::deferred::{Deferrable, DeferredReads, StartedReads};
use crate::table::read::lookup::{LookupStart, LookupStep, VersionValue};
use crate::table::{SearchPath, SharedOptions, Table, TableCursor, TablePlace};
use crate::types::RecordType;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The property with a table's range tombstones.
pub(crate) const RANGE_TOMBSTONES_PROPERTY: &str = "range-removals";
/// The property with the model of a learning policy that was fitted while the table was written.
pub(crate) const MODEL_PROPERTY: &str = "plr";
/// Read size of background scans of tables, in bytes.
pub(crate) const SCAN_READ_AHEAD_BYTES: u64 = 256 << 10;
/// A table counts at least this many bytes. A table of the coarsest form with up to some thirty blocks takes less.
pub(in crate::lsm) const TABLE_BYTES_MIN: u64 = 2560;
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

/// The property with the name and the types of the keyspace of a table, if it has types or options; used only by
/// repairs without a manifest.
pub(crate) const KEYSPACE_PROPERTY: &str = "keyspace";

/// The property with the forms of the values of an altered keyspace, beside [`KEYSPACE_PROPERTY`].
pub(crate) const FORMS_PROPERTY: &str = "forms";

/// The property with the options that the keyspace of a table has of its own, beside [`KEYSPACE_PROPERTY`].
pub(crate) const OPTIONS_PROPERTY: &str = "options";

/// The name, the types and the options of a keyspace, as its tables state them, and by which their values are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyspaceStatement {
    pub(crate) name: String,
    pub(crate) types: StatedTypes,
    /// What the keyspace has other than the options of the store say.
    pub(crate) options: KeyspaceOptions,
}

impl KeyspaceStatement {
    pub(crate) fn new(name: &str, types: &StatedTypes, options: &KeyspaceOptions) -> Self {
        Self { name: name.to_owned(), types: types.clone(), options: options.clone() }
    }

    /// That of a keyspace as the manifest records it.
    pub(crate) fn of_keyspace(keyspace: &KeyspaceState) -> Self {
        Self::new(&keyspace.name, &keyspace.types, &keyspace.options)
    }

    /// The properties for a table; none for keys and values of bytes without options. [`KEYSPACE_PROPERTY`] is
    /// `length of the name: varint | name | types`, [`FORMS_PROPERTY`] the code of the forms, and [`OPTIONS_PROPERTY`]
    /// that of the options.
    pub(crate) fn properties(&self) -> Vec<(String, Vec<u8>)> {
        let mut properties = Vec::new();
        if !self.types.types.is_bytes() || !self.options.is_default() {
            let mut property = Vec::new();
            put_varint(&mut property, self.name.len() as u64);
            property.extend_from_slice(self.name.as_bytes());
            property.extend_from_slice(&self.types.types.code());
            properties.push((KEYSPACE_PROPERTY.to_owned(), property));
        }
        if self.types.forms.is_altered() {
            let mut forms = Vec::new();
            self.types.forms.encode(&mut forms);
            properties.push((FORMS_PROPERTY.to_owned(), forms));
        }
        if !self.options.is_default() {
            properties.push((OPTIONS_PROPERTY.to_owned(), self.options.encode()));
        }
        properties
    }

    /// The options that a table states.
    pub(crate) fn options_of_table(table: &Table) -> KeyspaceOptions {
        table.property(OPTIONS_PROPERTY).and_then(KeyspaceOptions::decode).unwrap_or_default()
    }

    /// What a table states, its types in whatever generation; `None` if it states nothing.
    pub(crate) fn of_table(table: &Table) -> Option<Self> {
        let (name, types) = decode_keyspace_property(table.property(KEYSPACE_PROPERTY)?)?;
        let forms = table.property(FORMS_PROPERTY).and_then(|forms| ValueForms::decode(forms, &mut 0));
        let types = StatedTypes { forms: forms.unwrap_or_default(), ..StatedTypes::next(Arc::new(types)) };
        Some(Self { name, types, options: Self::options_of_table(table) })
    }
}

fn decode_keyspace_property(property: &[u8]) -> Option<(String, RecordType)> {
    let mut at = 0;
    let length = usize::try_from(take_varint(property, &mut at)?).ok()?;
    let (name, types) = property.get(at..)?.split_at_checked(length)?;
    Some((std::str::from_utf8(name).ok()?.to_owned(), RecordType::from_code(types)?))
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
pub struct TableFile {
    pub(crate) meta: Arc<TableFileMeta>,
    pub(crate) table: Table,
    pub(crate) tombstones: Arc<RangeTombstones>,
    pub(crate) origin: TableOrigin,
    /// The openings it comes from; `None` for an ingested table, and for those of earlier versions.
    pub(crate) openings: Option<Openings>,
    /// Sampled costs of its lookups.
    times: LookupTimes,
    /// Whether there is a guide, so that lookups without one skip the check.
    has_guide: AtomicBool,
    guide: Published<Option<Arc<dyn TableGuide>>>,
    cache: Arc<BlockCache>,
    /// Memory that the table counts while it is open.
    reserved_bytes: u64,
    /// The reservation for its range tombstones.
    _held: Reservation,
    // Must be dropped last.
    obsolete_file: ObsoleteFile,
}

impl TableFile {
    /// Opens the table that `meta` describes, with one read at its end. A learner may give it a guide.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) if the file does not match `meta`; errors of [`Table::open`].
    pub(crate) fn open(
        storage: &Arc<dyn Storage>,
        owner: u64,
        meta: Arc<TableFileMeta>,
        cache: &Arc<BlockCache>,
        options: &SharedOptions,
        learner: Option<&dyn Learner>,
    ) -> Result<Arc<Self>> {
        let name = file_name(meta.number, FileKind::Table);
        let kind = if meta.is_of_removals() { ValueKind::Remove } else { ValueKind::Value };
        let unversioned = (kind as u8, meta.global_sequence.unwrap_or(0));
        let options = SharedOptions { unversioned, ..options.clone() };
        let mut table = Table::open_with(Arc::clone(storage), &name, cache, &options)?;
        // Both may be long, and are needed only once.
        let (tombstones, model) = (table.take_property(RANGE_TOMBSTONES_PROPERTY), table.take_property(MODEL_PROPERTY));
        let tombstones = tombstones.as_deref().map_or(Some(RangeTombstones::default()), RangeTombstones::decode);
        let tombstones = tombstones.filter(|tombstones| tombstones.is_empty() != meta.has_range_tombstones);
        let identity = store_property(owner, meta.number);
        let is_ours = match meta.global_sequence {
            Some(_) => !table.is_versioned(),
            None => table.is_versioned() && table.property(STORE_PROPERTY) == Some(&identity),
        };
        let is_this = meta.file_id.is_none_or(|file_id| file_id == table.file_id());
        match tombstones {
            Some(tombstones) if is_ours && is_this && table.len() == meta.records => {
                let file = Arc::new(Self {
                    _held: cache.reserve_scoped(tombstones.memory_bytes()),
                    reserved_bytes: tombstones.counted_bytes()
                        + (table.needed_bytes() + meta.tail.as_ref().map_or(0, |tail| tail.len() as u64))
                            .max(TABLE_BYTES_MIN),
                    tombstones: Arc::new(tombstones),
                    origin: table.property(ORIGIN_PROPERTY).and_then(TableOrigin::decode).unwrap_or_default(),
                    openings: table.take_property(OPENINGS_PROPERTY).as_deref().and_then(Openings::decode),
                    times: LookupTimes::default(),
                    has_guide: AtomicBool::new(false),
                    guide: Published::new(None),
                    cache: Arc::clone(cache),
                    obsolete_file: ObsoleteFile::new(storage, name),
                    table,
                    meta,
                });
                if let Some(learner) = learner {
                    learner.open_table(&file, model.as_deref());
                }
                Ok(file)
            }
            _ => Err(Error::damaged(storage.path(&name), 0, "it is not the table that the manifest describes")),
        }
    }

    /// Memory that the table counts while it is open: what it cannot do without, or a little more.
    pub(crate) fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// Whether the key is in the table's range.
    #[inline]
    pub(crate) fn may_hold(&self, key: &[u8]) -> bool {
        self.meta.may_hold(key)
    }

    /// The newest entry of a key that is not newer than `at`, with its value in the form that `show` gives it. The
    /// guide of the level may have predicted a window of positions. Calls `ended` at the end of each step.
    #[inline]
    pub(in crate::lsm) fn get<R>(
        &self,
        key: &[u8],
        at: Sequence,
        window: Option<PositionWindow>,
        reads: Option<&mut ReadContext<'_>>,
        ended: impl Fn(LookupStep) + Copy,
        show: impl FnOnce(VersionValue<'_>) -> Option<R>,
    ) -> Result<Option<(ValueKind, Sequence, R)>> {
        let sample = TimedLookup::begin();
        let (path, by_model) = self.path(key, window)?;
        let found = self
            .table
            .find(key, at, path, reads, ended, |kind, sequence, value| Some((kind, sequence, show(value)?)))?;
        self.times.end(sample, by_model, found.is_some());
        let Some((kind, sequence, value)) = found else { return Ok(None) };
        let kind = ValueKind::from_code(kind).ok_or_else(|| self.corrupt_entry())?;
        Ok(Some((kind, sequence, value)))
    }

    /// As [`Self::get`], without waiting for any read.
    #[inline]
    pub(in crate::lsm) fn get_deferred(
        &self,
        key: &[u8],
        at: Sequence,
        window: Option<PositionWindow>,
        reads: &mut DeferredReads<'_>,
    ) -> Result<Deferrable<Option<(ValueKind, Sequence, Slice)>>> {
        reads.attempt(|context| self.get(key, at, window, Some(context), |_| {}, |value| value.into_slice()))
    }

    /// Notes the block at which a range begins as missing, unless it is in memory, or only reads lead there.
    pub(in crate::lsm) fn defer_start(&self, key: &[u8], reads: &mut DeferredReads<'_>) -> Result<()> {
        self.table.defer_start(key, reads)
    }

    /// Starts to read what lookups lack.
    pub(in crate::lsm) fn start_deferred(&self, reads: &mut DeferredReads<'_>) -> Result<StartedReads> {
        self.table.start_deferred(reads)
    }

    /// Waits for reads, and passes them to the lookups.
    pub(in crate::lsm) fn finish_deferred(&self, started: StartedReads, reads: &mut DeferredReads<'_>) -> Result<()> {
        self.table.finish_deferred(started, reads)
    }

    /// The search path of a lookup, and whether a model chose it.
    #[inline]
    fn path(&self, key: &[u8], window: Option<PositionWindow>) -> Result<(SearchPath, bool)> {
        match self.has_guide.load(Ordering::Relaxed) {
            true => self.guided_path(key, window),
            false => Ok((SearchPath::Separators, false)),
        }
    }

    #[inline(never)]
    fn guided_path(&self, key: &[u8], window: Option<PositionWindow>) -> Result<(SearchPath, bool)> {
        let Some(guide) = &**self.guide.peek() else { return Ok((SearchPath::Separators, false)) };
        let GuidedStart { start, by_model } = guide.start(self, key, window)?;
        Ok((SearchPath::Guided(start), by_model))
    }

    /// The size of the guide's model, if there is one.
    pub(crate) fn model(&self) -> Option<ModelSize> {
        self.guide.peek().as_ref().as_ref().and_then(|guide| guide.model())
    }

    /// Memory of the table and its guide in bytes, apart from blocks in the cache and the model.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.table.resident_bytes() + self.guide.peek().as_ref().as_ref().map_or(0, |guide| guide.resident_bytes())
    }

    /// The error for an entry of an unknown kind.
    #[cold]
    fn corrupt_entry(&self) -> Error {
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

    /// Whether the file is to be removed.
    pub(crate) fn is_obsolete(&self) -> bool {
        self.obsolete_file.is_obsolete()
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

/// What the table offers to a [`Learner`] and to guides.
impl TableFile {
    /// The file number, unique within the store.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.meta.number
    }

    /// Number of entries.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.meta.records
    }

    /// Size of the file in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.meta.bytes
    }

    /// The smallest and the largest key. Range tombstones may extend them.
    #[must_use]
    pub fn key_range(&self) -> (&[u8], &[u8]) {
        (&self.meta.smallest, &self.meta.largest)
    }

    /// The lookups since the table was opened, estimated from a sample.
    #[must_use]
    pub fn lookups(&self) -> TableLookups {
        self.times.lookups()
    }

    /// Sets or removes the guide of lookups in the table.
    pub fn set_guide(&self, guide: Option<Arc<dyn TableGuide>>) {
        let is_some = guide.is_some();
        self.guide.set(guide);
        self.has_guide.store(is_some, Ordering::Relaxed);
    }

    /// Reserves memory of the store, until the result is dropped.
    #[must_use]
    pub fn reserve(&self, bytes: u64) -> Reservation {
        self.cache.reserve_scoped(bytes)
    }

    /// The block of a key by the exact separators of the table, if they are resident. They are by default.
    #[inline]
    #[must_use]
    pub fn find_block(&self, key: &[u8]) -> Option<LookupStart> {
        self.table.find_block(key)
    }

    /// The position of the first entry of each block; `None` if one exceeds the type.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub fn first_positions(&self) -> Result<Option<Vec<u32>>> {
        self.table.first_positions()
    }

    /// Reads all blocks and shows the last key of each, until `visit` returns `false`.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub fn visit_last_keys(&self, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        self.table.visit_last_keys(visit)
    }

    /// Reads the table and shows the key of each entry, until `visit` returns `false`.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub fn visit_keys(self: &Arc<Self>, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        let mut cursor = TableFileCursor::new(self, Some(SCAN_READ_AHEAD_BYTES));
        cursor.first()?;
        while let Some(entry) = cursor.entry() {
            if !visit(entry.key) {
                break;
            }
            cursor.next()?;
        }
        Ok(())
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
    pub(in crate::lsm) fn is_placed(&self) -> bool {
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

    fn start(&mut self, goal: SeekGoal<'_>) {
        self.kind = None;
        self.cursor.start(match goal {
            SeekGoal::First => TablePlace::First,
            SeekGoal::Last => TablePlace::Last,
            SeekGoal::From(key, _) => TablePlace::Key(key),
            SeekGoal::Before(key) => TablePlace::Before(key),
        });
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
