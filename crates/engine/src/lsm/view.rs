//! What a keyspace consists of at one moment, and how a key is found in it.

use super::entry::{KeyspaceId, Kind, Sequence};
use super::level::LevelTables;
use super::memtable::Memtable;
use super::removals::Removals;
use super::table_file::TableFile;
use super::values::ValueFiles;
use crate::block::Slice;
use crate::error::Result;
use crate::io::sync::Published;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A keyspace.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) id: KeyspaceId,
    pub(crate) name: String,
    pub(crate) view: Published<View>,
    dropped: AtomicBool,
}

impl Tree {
    pub(crate) fn new(id: KeyspaceId, name: String, view: View) -> Self {
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
pub(crate) struct View {
    pub(crate) active: Arc<Memtable>,
    /// Memtables that are being written out, newest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    pub(crate) levels: Arc<Levels>,
    pub(crate) values: Arc<ValueFiles>,
}

/// The tables of a keyspace.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// Level 0: tables may overlap, newest first.
    pub(crate) newest: Vec<Arc<TableFile>>,
    /// Levels 1 and below that have tables, with their numbers: tables are disjoint and sorted.
    pub(crate) deeper: Vec<(usize, Arc<LevelTables>)>,
}

impl Levels {
    /// Levels 1 and below, with their numbers.
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

/// What a look-up has found: the kind is [`Kind::Value`] or [`Kind::Pointer`].
pub(crate) type Found = (Kind, Slice);

/// The newest range removal that hides older entries, and what was found in one source.
pub(super) struct Source {
    pub(super) hidden: Sequence,
    pub(super) entry: Option<(Kind, Sequence, Slice)>,
}

impl View {
    /// The newest entry of a key that a reader at `at` sees; `None` where it was removed or never there.
    ///
    /// Sources are asked newest first. All that an older source knows of a key is older than what a newer one does, so the
    /// first that knows anything decides.
    pub(crate) fn find(&self, key: &[u8], at: Sequence) -> Result<Option<Found>> {
        for memtable in std::iter::once(&self.active).chain(&self.sealed) {
            if memtable.is_empty() {
                continue;
            }
            let source = Source { hidden: memtable.covering(key, at), entry: memtable.get_slice(key, at) };
            if let Some(found) = source.decide() {
                return Ok(found);
            }
        }
        for table in &self.levels.newest {
            if table.may_hold(key)
                && let Some(found) = ask(table, key, at)?
            {
                return Ok(found);
            }
        }
        for (_, level) in &self.levels.deeper {
            if let Some((table, window)) = level.ask(key) {
                let entry = match window {
                    Some(_) => table.get_in(key, at, window)?,
                    None => table.get(key, at)?,
                };
                if let Some(found) = (Source { hidden: table.covering(key, at), entry }).decide() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// The range removals of all sources that have any.
    pub(crate) fn removals(&self) -> Vec<Arc<Removals>> {
        let memtables = std::iter::once(&self.active).chain(&self.sealed).map(|memtable| memtable.removals());
        let newest = self.levels.newest.iter().map(|table| &table.removals);
        let deeper = self.levels.deeper.iter().flat_map(|(_, level)| level.removals());
        let with_any = newest.chain(deeper).filter(|removals| !removals.is_empty()).map(Arc::clone);
        memtables.filter(|removals| !removals.is_empty()).chain(with_any).collect()
    }
}

fn ask(table: &TableFile, key: &[u8], at: Sequence) -> Result<Option<Option<Found>>> {
    let source = Source { hidden: table.covering(key, at), entry: table.get(key, at)? };
    Ok(source.decide())
}

impl Source {
    /// What the source says: `None` that it knows nothing of the key.
    pub(super) fn decide(self) -> Option<Option<Found>> {
        match self.entry {
            Some((kind, sequence, value)) if kind != Kind::Remove && sequence >= self.hidden => {
                Some(Some((kind, value)))
            }
            Some(_) => Some(None),
            None => (self.hidden > 0).then_some(None),
        }
    }
}
