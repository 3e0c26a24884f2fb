//! The view of a keyspace: an immutable set of memtables, tables and value files, and point lookups in it.

use super::entry::{KeyspaceId, Sequence, ValueKind};
use super::level::{LevelTables, PositionWindow};
use super::memtable::Memtable;
use super::range_tombstones::RangeTombstones;
use super::table_file::TableFile;
use super::values::ValueFiles;
use crate::block::Slice;
use crate::error::Result;
use crate::io::sync::Published;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A keyspace.
#[derive(Debug)]
pub(crate) struct KeyspaceTree {
    pub(crate) id: KeyspaceId,
    pub(crate) name: String,
    pub(crate) view: Published<KeyspaceView>,
    dropped: AtomicBool,
}

impl KeyspaceTree {
    pub(crate) fn new(id: KeyspaceId, name: String, view: KeyspaceView) -> Self {
        Self { id, name, view: Published::new(view), dropped: AtomicBool::new(false) }
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    pub(crate) fn mark_dropped(&self, dropped: bool) {
        self.dropped.store(dropped, Ordering::Release);
    }
}

/// All that a reader needs; it never changes, so that who holds it holds all files that it leads to.
#[derive(Clone, Debug)]
pub(crate) struct KeyspaceView {
    pub(crate) active: Arc<Memtable>,
    /// Memtables that are being written out, newest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    pub(crate) levels: Arc<OpenLevels>,
    pub(crate) values: Arc<ValueFiles>,
}

/// The tables of a keyspace.
#[derive(Debug, Default)]
pub(crate) struct OpenLevels {
    /// Level 0: tables may overlap, newest first.
    pub(crate) newest: Vec<Arc<TableFile>>,
    /// OpenLevels 1 and below that have tables, with their numbers: tables are disjoint and sorted.
    pub(crate) deeper: Vec<(usize, Arc<LevelTables>)>,
}

impl OpenLevels {
    /// OpenLevels 1 and below, with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Arc<LevelTables>)> {
        self.deeper.iter().map(|(number, level)| (*number, level))
    }

    /// Whether one of the levels is this very one.
    pub(crate) fn has(&self, level: &Arc<LevelTables>) -> bool {
        self.deeper.iter().any(|(_, other)| Arc::ptr_eq(level, other))
    }

    /// The level of these tables if there is one, or a new one.
    pub(crate) fn reused(&self, tables: Vec<Arc<TableFile>>) -> Arc<LevelTables> {
        let is_same = |level: &&Arc<LevelTables>| {
            let others = level.tables();
            others.len() == tables.len() && others.iter().zip(&tables).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        let found = self.deeper.iter().map(|(_, level)| level).find(is_same).cloned();
        found.unwrap_or_else(|| Arc::new(LevelTables::new(tables)))
    }
}

/// What a look-up has found: the kind is [`ValueKind::Value`] or [`ValueKind::Pointer`].
pub(crate) type FoundValue = (ValueKind, Slice);

/// The newest range tombstone that hides older entries, and what was found in one source.
pub(super) struct SourceAnswer<T> {
    pub(super) hidden: Sequence,
    pub(super) entry: Option<(ValueKind, Sequence, T)>,
}

/// How a look-up takes what it finds.
trait CaptureValue {
    type Captured;

    fn of_memtable(
        &mut self,
        memtable: &Memtable,
        key: &[u8],
        at: Sequence,
    ) -> Option<(ValueKind, Sequence, Self::Captured)>;

    fn of_table(
        &mut self,
        table: &TableFile,
        key: &[u8],
        at: Sequence,
        place: Option<PositionWindow>,
    ) -> Result<Option<(ValueKind, Sequence, Self::Captured)>>;
}

/// Shares the value with what holds it.
struct ShareValue;

impl CaptureValue for ShareValue {
    type Captured = Slice;

    fn of_memtable(&mut self, memtable: &Memtable, key: &[u8], at: Sequence) -> Option<(ValueKind, Sequence, Slice)> {
        memtable.get_slice(key, at)
    }

    fn of_table(
        &mut self,
        table: &TableFile,
        key: &[u8],
        at: Sequence,
        place: Option<PositionWindow>,
    ) -> Result<Option<(ValueKind, Sequence, Slice)>> {
        match place {
            Some(_) => table.get_in(key, at, place),
            None => table.get(key, at),
        }
    }
}

/// Copies the value, whatever was in the buffer before; so no count of a block's users is touched.
struct CopyValue<'a>(&'a mut Vec<u8>);

impl CaptureValue for CopyValue<'_> {
    type Captured = ();

    fn of_memtable(&mut self, memtable: &Memtable, key: &[u8], at: Sequence) -> Option<(ValueKind, Sequence, ())> {
        let entry = memtable.get(key, at)?;
        self.0.clear();
        self.0.extend_from_slice(entry.value);
        Some((entry.kind, entry.sequence, ()))
    }

    fn of_table(
        &mut self,
        table: &TableFile,
        key: &[u8],
        at: Sequence,
        place: Option<PositionWindow>,
    ) -> Result<Option<(ValueKind, Sequence, ())>> {
        table.copy(key, at, place, self.0)
    }
}

impl KeyspaceView {
    /// The newest entry of a key that a reader at `at` sees; `None` where it was removed or never there.
    ///
    /// Sources are asked newest first. All that an older source knows of a key is older than what a newer one does, so the
    /// first that knows anything decides.
    pub(crate) fn find(&self, key: &[u8], at: Sequence) -> Result<Option<FoundValue>> {
        self.find_by(key, at, &mut ShareValue)
    }

    /// As [`Self::find`], with the value, or the place of it, copied into a buffer.
    pub(crate) fn find_into(&self, key: &[u8], at: Sequence, value: &mut Vec<u8>) -> Result<Option<ValueKind>> {
        Ok(self.find_by(key, at, &mut CopyValue(value))?.map(|(kind, ())| kind))
    }

    #[inline]
    fn find_by<T: CaptureValue>(
        &self,
        key: &[u8],
        at: Sequence,
        take: &mut T,
    ) -> Result<Option<(ValueKind, T::Captured)>> {
        for memtable in self.memtables() {
            if memtable.is_empty() {
                continue;
            }
            let source =
                SourceAnswer { hidden: memtable.covering(key, at), entry: take.of_memtable(memtable, key, at) };
            if let Some(found) = source.decide() {
                return Ok(found);
            }
        }
        for table in &self.levels.newest {
            if table.may_hold(key) {
                let entry = take.of_table(table, key, at, None)?;
                if let Some(found) = (SourceAnswer { hidden: table.covering(key, at), entry }).decide() {
                    return Ok(found);
                }
            }
        }
        for (_, level) in &self.levels.deeper {
            if let Some((table, window)) = level.route(key) {
                let entry = take.of_table(table, key, at, window)?;
                if let Some(found) = (SourceAnswer { hidden: table.covering(key, at), entry }).decide() {
                    return Ok(found);
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
    /// What the source says: `None` that it knows nothing of the key.
    pub(super) fn decide(self) -> Option<Option<(ValueKind, T)>> {
        match self.entry {
            Some((kind, sequence, value)) if kind != ValueKind::Remove && sequence >= self.hidden => {
                Some(Some((kind, value)))
            }
            Some(_) => Some(None),
            None => (self.hidden > 0).then_some(None),
        }
    }
}
