//! One level: disjoint tables in key order, read as a single sorted sequence.

use super::learner::{LevelGuide, PositionWindow};
use super::table_file::{ReadAheadBytes, TableFile, TableFileCursor};
use crate::block::{Slice, key_prefix_after, key_prefix_at};
use crate::error::{Error, Result};
use crate::lsm::state::cursor::{EntryCursor, SeekGoal};
use crate::lsm::state::entry::{Entry, Sequence};
use crate::lsm::state::range_tombstones::RangeTombstones;
use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

/// The tables of a level, disjoint and in key order.
///
/// The table of a key is found by the eight bytes behind the common prefix of the tables' largest keys; whole keys are
/// compared only if these are equal.
#[derive(Debug, Default)]
pub struct LevelTables {
    tables: Vec<Arc<TableFile>>,
    /// The common prefix of the largest keys.
    shared: Vec<u8>,
    /// For each table, the eight bytes of its largest key behind the common prefix.
    end_prefixes: Vec<u64>,
    /// The range tombstones of the tables that have any.
    tombstones: Vec<Arc<RangeTombstones>>,
    /// The guide of lookups in the level, if a learner gave it one.
    guide: OnceLock<Arc<dyn LevelGuide>>,
}

impl LevelTables {
    /// `tables` are disjoint and in order.
    pub(crate) fn new(tables: Vec<Arc<TableFile>>) -> Self {
        let largest = |table: Option<&Arc<TableFile>>| table.map_or(Vec::new(), |table| table.meta.largest.clone());
        let (first, last) = (largest(tables.first()), largest(tables.last()));
        let length = first.iter().zip(&last).take_while(|(one, other)| one == other).count();
        let shared = first.get(..length).unwrap_or_default().to_vec();
        let end_prefixes = tables.iter().map(|table| match table.meta.is_endless() {
            true => u64::MAX,
            false => key_prefix_at(&table.meta.largest, length),
        });
        let with_range_tombstones = tables.iter().filter(|table| table.meta.has_range_tombstones);
        let tombstones = with_range_tombstones.map(|table| Arc::clone(&table.tombstones)).collect();
        Self { end_prefixes: end_prefixes.collect(), shared, tombstones, tables, guide: OnceLock::new() }
    }

    /// The tables, in key order.
    #[must_use]
    pub fn tables(&self) -> &[Arc<TableFile>] {
        &self.tables
    }

    /// The range tombstones of all tables that have any.
    pub(crate) fn tombstones(&self) -> &[Arc<RangeTombstones>] {
        &self.tombstones
    }

    /// The index of the first table that does not end before `key`, or the number of tables.
    #[inline]
    fn index_of(&self, key: &[u8]) -> usize {
        let number = match key_prefix_after(&self.shared, key) {
            Ok(number) => number,
            // The key sorts before or after the largest keys of all tables.
            Err(Ordering::Less) => return 0,
            Err(_) => return self.tables.len(),
        };
        let index = self.end_prefixes.partition_point(|&other| other < number);
        if self.end_prefixes.get(index) != Some(&number) {
            return index;
        }
        let alike = self.end_prefixes.get(index..).map_or(0, |rest| rest.partition_point(|&other| other == number));
        let tables = self.tables.get(index..index + alike).unwrap_or_default();
        index + tables.partition_point(|table| table.meta.ends_before(key))
    }

    /// The table that may contain a key, with the window that the level's guide predicts, if there is one.
    #[inline]
    pub(crate) fn route(&self, key: &[u8]) -> Option<(&Arc<TableFile>, Option<PositionWindow>)> {
        let Some(guide) = self.guide.get() else { return self.find(key).map(|table| (table, None)) };
        for (index, window) in guide.locate(key).into_iter().flatten() {
            if let Some(table) = self.tables.get(index).filter(|table| table.may_hold(key)) {
                return Some((table, Some(window)));
            }
        }
        // The guide is wrong, or no table covers the key.
        self.find(key).map(|table| (table, None))
    }

    /// Sets the guide of lookups in the level. The first one stays.
    pub fn set_guide(&self, guide: Arc<dyn LevelGuide>) {
        _ = self.guide.set(guide);
    }

    /// The guide, if the level has one.
    pub(crate) fn guide(&self) -> Option<&dyn LevelGuide> {
        self.guide.get().map(|guide| &**guide)
    }

    /// The table that covers a key, or the first one behind it.
    pub(in crate::lsm) fn at_or_behind(&self, key: &[u8]) -> Option<&Arc<TableFile>> {
        self.tables.get(self.index_of(key))
    }

    /// The table that covers `key`.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<&Arc<TableFile>> {
        let table = self.tables.get(self.index_of(key))?;
        (table.meta.smallest.as_slice() <= key).then_some(table)
    }
}

/// A cursor over a level. A table is opened only when the cursor reaches it.
#[derive(Debug)]
pub(crate) struct LevelCursor {
    level: Arc<LevelTables>,
    ahead: ReadAheadBytes,
    /// The index of the current table, and the position in it.
    at: usize,
    cursor: Option<TableFileCursor>,
    failed: bool,
}

impl LevelCursor {
    pub(crate) fn new(level: Arc<LevelTables>, ahead: ReadAheadBytes) -> Self {
        Self { level, ahead, at: 0, cursor: None, failed: false }
    }

    fn guarded_move(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.failed {
            return Err(Error::input("the cursor has failed before; create a new one"));
        }
        let moved = step(self);
        if moved.is_err() {
            (self.failed, self.cursor) = (true, None);
        }
        moved
    }

    /// The cursor of table `at`; none if there is no such table.
    fn cursor_of(&mut self, at: usize) -> Option<&mut TableFileCursor> {
        let table = self.level.tables.get(at);
        if table.is_none() || self.at != at {
            self.cursor = None;
        }
        self.at = at;
        let ahead = self.ahead;
        table.map(|table| self.cursor.get_or_insert_with(|| TableFileCursor::new(table, ahead)))
    }

    /// Moves to a position in table `at`; becomes unpositioned if there is no such table.
    fn enter(&mut self, at: usize, goal: SeekGoal<'_>) -> Result<()> {
        let Some(cursor) = self.cursor_of(at) else { return Ok(()) };
        match goal {
            SeekGoal::First => cursor.first(),
            SeekGoal::Last => cursor.last(),
            SeekGoal::From(key, sequence) => cursor.seek(key, sequence),
            SeekGoal::Before(key) => cursor.seek_before(key),
        }
    }

    #[inline]
    fn has_entry(&self) -> bool {
        self.cursor.as_ref().is_some_and(TableFileCursor::is_placed)
    }

    /// If the cursor is behind the end of its table, guarded_move to the first entry of the following tables.
    fn skip_to_next_table(&mut self) -> Result<()> {
        while self.cursor.is_some() && !self.has_entry() {
            self.enter(self.at + 1, SeekGoal::First)?;
        }
        Ok(())
    }

    /// If the cursor is before the start of its table, guarded_move to the last entry of the preceding tables.
    fn skip_to_previous_table(&mut self) -> Result<()> {
        while self.cursor.is_some() && !self.has_entry() {
            match self.at.checked_sub(1) {
                Some(before) => self.enter(before, SeekGoal::Last)?,
                None => self.cursor = None,
            }
        }
        Ok(())
    }
}

impl EntryCursor for LevelCursor {
    #[inline]
    fn entry(&self) -> Option<Entry<'_>> {
        self.cursor.as_ref()?.entry()
    }

    #[inline]
    fn value_slice(&self) -> Option<Slice> {
        self.cursor.as_ref()?.value_slice()
    }

    fn start(&mut self, goal: SeekGoal<'_>) {
        let Some(last) = self.level.tables.len().checked_sub(1) else { return };
        let at = match goal {
            SeekGoal::First => 0,
            SeekGoal::Last => last,
            SeekGoal::From(key, _) => self.level.index_of(key),
            SeekGoal::Before(key) => self.level.index_of(key).min(last),
        };
        if let Some(cursor) = self.cursor_of(at) {
            cursor.start(goal);
        }
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        self.guarded_move(|this| {
            this.enter(this.level.index_of(key), SeekGoal::From(key, sequence))?;
            this.skip_to_next_table()
        })
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.guarded_move(|this| {
            // Earlier tables have only smaller keys, and if `key` is behind the last table, all keys are smaller.
            let Some(last) = this.level.tables.len().checked_sub(1) else { return Ok(()) };
            this.enter(this.level.index_of(key).min(last), SeekGoal::Before(key))?;
            this.skip_to_previous_table()
        })
    }

    fn first(&mut self) -> Result<()> {
        self.guarded_move(|this| {
            this.enter(0, SeekGoal::First)?;
            this.skip_to_next_table()
        })
    }

    fn last(&mut self) -> Result<()> {
        self.guarded_move(|this| {
            let Some(last) = this.level.tables.len().checked_sub(1) else { return Ok(()) };
            this.enter(last, SeekGoal::Last)?;
            this.skip_to_previous_table()
        })
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if let Some(cursor) = &mut self.cursor {
            match cursor.next() {
                Ok(()) if cursor.is_placed() => return Ok(()),
                Ok(()) => {}
                Err(error) => {
                    (self.failed, self.cursor) = (true, None);
                    return Err(error);
                }
            }
        }
        self.guarded_move(Self::skip_to_next_table)
    }

    fn prev(&mut self) -> Result<()> {
        self.guarded_move(|this| {
            if let Some(cursor) = &mut this.cursor {
                cursor.prev()?;
            }
            this.skip_to_previous_table()
        })
    }
}
