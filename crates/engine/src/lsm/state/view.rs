//! The view of a keyspace: an immutable set of memtables, tables and value files, and point lookups in it.

use super::entry::{EXPIRY_BYTES, Sequence, ValueKind, split_expiry};
use super::expiry::store_time::{ReadPoint, StoreTime};
use super::memtable::Memtable;
use super::range_tombstones::RangeTombstones;
use super::tables::learner::PositionWindow;
use super::tables::level::LevelTables;
use super::tables::table_file::TableFile;
use super::tables::value_files::ValueFiles;
use crate::block::Slice;
use crate::error::Result;
use crate::table::read::lookup::LookupStep;
use std::sync::Arc;

/// Everything a reader needs, immutable. Holding a view keeps all its files.
#[derive(Clone, Debug)]
pub(crate) struct KeyspaceView {
    pub(crate) active: Arc<Memtable>,
    /// Memtables being flushed, newest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    pub(crate) levels: Arc<OpenLevels>,
    pub(crate) values: Arc<ValueFiles>,
    /// The time by which entries expire.
    pub(in crate::lsm) time: Arc<StoreTime>,
}

/// The open tables of a keyspace.
#[derive(Debug, Default)]
pub(crate) struct OpenLevels {
    /// Tables of level 0, newest first; they may overlap.
    pub(crate) newest: Vec<Arc<TableFile>>,
    /// The non-empty levels from 1 on, with their numbers; the tables of each are disjoint and sorted.
    pub(crate) deeper: Vec<(usize, Arc<LevelTables>)>,
}

impl OpenLevels {
    /// Whether the levels from 1 on are those of `other`.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let mut levels = self.numbered().zip(other.numbered());
        self.deeper.len() == other.deeper.len() && levels.all(|((_, one), (_, other))| Arc::ptr_eq(one, other))
    }

    /// The non-empty levels from 1 on, with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Arc<LevelTables>)> {
        self.deeper.iter().map(|(number, level)| (*number, level))
    }

    /// An existing level of exactly these tables, or a new one.
    pub(crate) fn reused(&self, tables: Vec<Arc<TableFile>>) -> Arc<LevelTables> {
        let is_same = |level: &&Arc<LevelTables>| {
            let others = level.tables();
            others.len() == tables.len() && others.iter().zip(&tables).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        let found = self.deeper.iter().map(|(_, level)| level).find(is_same).cloned();
        found.unwrap_or_else(|| Arc::new(LevelTables::new(tables)))
    }
}

/// The result of a lookup: [`ValueKind::Value`] with the value, or [`ValueKind::Pointer`] with the encoded pointer.
pub(crate) type FoundValue = (ValueKind, Slice);

/// An entry of a key: its kind, its sequence number, and its value in the form that the lookup asked for.
type KeyEntry<T> = (ValueKind, Sequence, T);

/// The answer of one source: its newest range tombstone that covers the key, and its newest entry of the key.
pub(in crate::lsm) struct SourceAnswer<T> {
    pub(in crate::lsm) hidden: Sequence,
    pub(in crate::lsm) entry: Option<KeyEntry<T>>,
}

/// The key of a lookup, and the newest sequence number that it may see.
#[derive(Clone, Copy)]
pub(in crate::lsm) struct VisibleKey<'a> {
    key: &'a [u8],
    at: Sequence,
}

/// The way in which a lookup returns a value.
pub(in crate::lsm) trait CaptureValue {
    type Captured;

    /// Called at the end of each step.
    #[inline]
    fn ended(&self, _step: LookupStep) {}

    fn of_memtable(&mut self, memtable: &Memtable, wanted: VisibleKey<'_>) -> Option<KeyEntry<Self::Captured>>;

    /// The guide of the level may have predicted a window of positions.
    fn of_table(
        &mut self,
        table: &TableFile,
        wanted: VisibleKey<'_>,
        window: Option<PositionWindow>,
    ) -> Result<Option<KeyEntry<Self::Captured>>>;

    /// Takes the time off the value of an expiring entry; 0 if it has none.
    fn take_expiry(&mut self, captured: Self::Captured) -> (u64, Self::Captured);
}

/// Returns the value as a slice that shares its buffer, and reports each step.
pub(in crate::lsm) struct ShareValue<F>(pub(in crate::lsm) F);

impl<F: Fn(LookupStep) + Copy> CaptureValue for ShareValue<F> {
    type Captured = Slice;

    #[inline]
    fn ended(&self, step: LookupStep) {
        (self.0)(step);
    }

    #[inline]
    fn of_memtable(&mut self, memtable: &Memtable, wanted: VisibleKey<'_>) -> Option<KeyEntry<Slice>> {
        memtable.get_slice(wanted.key, wanted.at)
    }

    #[inline]
    fn of_table(
        &mut self,
        table: &TableFile,
        wanted: VisibleKey<'_>,
        window: Option<PositionWindow>,
    ) -> Result<Option<KeyEntry<Slice>>> {
        table.get(wanted.key, wanted.at, window, None, self.0, |value| value.into_slice())
    }

    fn take_expiry(&mut self, captured: Slice) -> (u64, Slice) {
        take_expiry(captured)
    }
}

/// Copies the value into a buffer, replacing its contents, without touching the reference count of a block.
pub(in crate::lsm) struct CopyValue<'a>(pub(in crate::lsm) &'a mut Vec<u8>);

impl CaptureValue for CopyValue<'_> {
    type Captured = ();

    fn of_memtable(&mut self, memtable: &Memtable, wanted: VisibleKey<'_>) -> Option<KeyEntry<()>> {
        let entry = memtable.get(wanted.key, wanted.at)?;
        self.0.clear();
        self.0.extend_from_slice(entry.value);
        Some((entry.kind, entry.sequence, ()))
    }

    fn of_table(
        &mut self,
        table: &TableFile,
        wanted: VisibleKey<'_>,
        window: Option<PositionWindow>,
    ) -> Result<Option<KeyEntry<()>>> {
        table.get(
            wanted.key,
            wanted.at,
            window,
            None,
            |_| {},
            |value| {
                let value = value.bytes()?;
                self.0.clear();
                self.0.extend_from_slice(value);
                Some(())
            },
        )
    }

    fn take_expiry(&mut self, (): ()) -> (u64, ()) {
        let time_ms = split_expiry(self.0).map_or(0, |(time_ms, _)| time_ms);
        self.0.drain(..EXPIRY_BYTES.min(self.0.len()));
        (time_ms, ())
    }
}

/// Takes the time off the value of an expiring entry; 0, by which it has expired, if there is none.
fn take_expiry(stored: Slice) -> (u64, Slice) {
    let time_ms = split_expiry(&stored).map_or(0, |(time_ms, _)| time_ms);
    (time_ms, stored.without_first(EXPIRY_BYTES))
}

impl KeyspaceView {
    /// Size of the largest blocks of the tables, and at least 1.
    pub(crate) fn block_bytes(&self) -> u64 {
        let deeper = self.levels.deeper.iter().flat_map(|(_, level)| level.tables());
        let tables = self.levels.newest.iter().chain(deeper);
        tables.map(|table| table.table.block_bytes()).max().unwrap_or(1).max(1)
    }

    /// What a lookup has found, as its reader sees it. Absent keys, which are most of what is looked up in some stores,
    /// do not come here.
    #[inline]
    fn seen<T: CaptureValue>(
        &self,
        found: Option<(ValueKind, T::Captured)>,
        point: ReadPoint,
        take: &mut T,
    ) -> Option<(ValueKind, T::Captured)> {
        match found {
            Some((kind, value)) if kind.expires() => self.unexpired((kind, value), point, take),
            found => found,
        }
    }

    /// The record of an expiring entry, unless it has expired.
    #[cold]
    fn unexpired<T: CaptureValue>(
        &self,
        (kind, captured): (ValueKind, T::Captured),
        point: ReadPoint,
        take: &mut T,
    ) -> Option<(ValueKind, T::Captured)> {
        let (expires_ms, value) = take.take_expiry(captured);
        self.is_alive(expires_ms, point).then(|| (kind.without_expiry(), value))
    }

    /// Whether a record that expires at a time is seen.
    fn is_alive(&self, expires_ms: u64, point: ReadPoint) -> bool {
        expires_ms > point.now_ms(&self.time)
    }

    /// The record of the newest entry of a key, unless it has expired; `note` gets the time at which it expires.
    #[inline]
    pub(in crate::lsm) fn settled(
        &self,
        found: Option<FoundValue>,
        point: ReadPoint,
        note: impl FnOnce(u64),
    ) -> Option<FoundValue> {
        match found {
            Some((kind, value)) if kind.expires() => {
                let (expires_ms, value) = take_expiry(value);
                note(expires_ms);
                self.is_alive(expires_ms, point).then(|| (kind.without_expiry(), value))
            }
            found => found,
        }
    }

    /// Finds the record of a key at a point; `None` if it was removed, has expired, or was never present.
    ///
    /// Sources are searched newest first. Every older source has only older entries of the key, so the first source
    /// with an answer decides.
    #[inline]
    pub(in crate::lsm) fn find<T: CaptureValue>(
        &self,
        key: &[u8],
        point: ReadPoint,
        mut take: T,
    ) -> Result<Option<(ValueKind, T::Captured)>> {
        let at = point.at;
        let wanted = VisibleKey { key, at };
        for memtable in self.memtables() {
            if memtable.is_empty() {
                continue;
            }
            let source = SourceAnswer { hidden: memtable.covering(key, at), entry: take.of_memtable(memtable, wanted) };
            if let Some(found) = source.decide() {
                take.ended(LookupStep::SearchMemtables);
                return Ok(self.seen(found, point, &mut take));
            }
        }
        take.ended(LookupStep::SearchMemtables);
        for table in &self.levels.newest {
            if table.may_hold(key) {
                take.ended(LookupStep::FindTable);
                let entry = take.of_table(table, wanted, None)?;
                if let Some(found) = (SourceAnswer { hidden: table.covering(key, at), entry }).decide() {
                    return Ok(self.seen(found, point, &mut take));
                }
            }
        }
        for (_, level) in &self.levels.deeper {
            let routed = level.route(key);
            take.ended(if level.guide().is_some() { LookupStep::SearchLevel } else { LookupStep::FindTable });
            if let Some((table, window)) = routed {
                let entry = take.of_table(table, wanted, window)?;
                if let Some(found) = (SourceAnswer { hidden: table.covering(key, at), entry }).decide() {
                    return Ok(self.seen(found, point, &mut take));
                }
            }
        }
        Ok(None)
    }

    /// The memtables, newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.sealed)
    }

    /// The range tombstones of all sources that have any.
    pub(crate) fn tombstones(&self) -> Vec<Arc<RangeTombstones>> {
        let memtables = self.memtables().map(|memtable| memtable.tombstones());
        let newest = self.levels.newest.iter().map(|table| &table.tombstones);
        let deeper = self.levels.deeper.iter().flat_map(|(_, level)| level.tombstones());
        let with_any = newest.chain(deeper).filter(|tombstones| !tombstones.is_empty()).map(Arc::clone);
        memtables.filter(|tombstones| !tombstones.is_empty()).chain(with_any).collect()
    }
}

impl<T> SourceAnswer<T> {
    /// The decision of this source; `None` if it has neither an entry nor a tombstone for the key.
    pub(in crate::lsm) fn decide(self) -> Option<Option<(ValueKind, T)>> {
        match self.entry {
            Some((kind, sequence, value)) if kind != ValueKind::Remove && sequence >= self.hidden => {
                Some(Some((kind, value)))
            }
            Some(_) => Some(None),
            None => (self.hidden > 0).then_some(None),
        }
    }
}
