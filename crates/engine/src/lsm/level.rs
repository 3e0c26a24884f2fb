//! A level: disjoint tables in the order of their keys, read as if they were one.

use super::cursor::Cursor;
use super::entry::{Entry, Sequence};
use super::learn::{LevelModel, ModelBuilder};
use super::removals::Removals;
use super::table_file::{Ahead, TableFile, TableFileCursor};
use crate::block::Slice;
use crate::block::cache::Reservation;
use crate::error::{Error, Result};
use std::sync::{Arc, OnceLock};

/// Disjoint tables in the order of their keys.
///
/// A key's table is found by the eight bytes that follow what all ends of tables begin with; whole keys are compared only where
/// these are alike.
#[derive(Debug, Default)]
pub(crate) struct LevelTables {
    tables: Vec<Arc<TableFile>>,
    /// What the largest keys of all tables begin with.
    shared: Vec<u8>,
    /// Of each table the eight bytes of the largest key behind that.
    numbers: Vec<u64>,
    /// The range removals of those that have any.
    removals: Vec<Arc<Removals>>,
    /// The model of the level, once it was learned.
    model: OnceLock<(LevelModel, Reservation)>,
}

/// The first eight bytes of a key as a number, filled up with zeros.
#[inline]
fn number_of(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(&bytes) => u64::from_be_bytes(bytes),
        None => key.iter().enumerate().fold(0, |number, (at, &byte)| number | u64::from(byte) << (56 - 8 * at)),
    }
}

/// The first and the last position in a table that a model leads to.
pub(crate) type Window = (u64, u64);

impl LevelTables {
    /// `tables` are disjoint and in order.
    pub(crate) fn new(tables: Vec<Arc<TableFile>>) -> Self {
        let largest = |table: Option<&Arc<TableFile>>| table.map_or(Vec::new(), |table| table.meta.largest.clone());
        let (first, last) = (largest(tables.first()), largest(tables.last()));
        let length = first.iter().zip(&last).take_while(|(one, other)| one == other).count();
        let shared = first.get(..length).unwrap_or_default().to_vec();
        let numbers = tables.iter().map(|table| match table.meta.is_endless() {
            true => u64::MAX,
            false => number_of(table.meta.largest.get(length..).unwrap_or_default()),
        });
        let with_removals = tables.iter().filter(|table| table.meta.has_range_removals);
        let removals = with_removals.map(|table| Arc::clone(&table.removals)).collect();
        Self { numbers: numbers.collect(), shared, removals, tables, model: OnceLock::new() }
    }

    pub(crate) fn tables(&self) -> &[Arc<TableFile>] {
        &self.tables
    }

    /// The range removals of all tables that have any.
    pub(crate) fn removals(&self) -> &[Arc<Removals>] {
        &self.removals
    }

    /// The first table that does not end before `key`; the number of tables where all do.
    #[inline]
    fn place(&self, key: &[u8]) -> usize {
        let Some(rest) = key.strip_prefix(self.shared.as_slice()) else {
            // All ends of tables lie on one side of the key.
            return if key < self.shared.as_slice() { 0 } else { self.tables.len() };
        };
        let number = number_of(rest);
        let place = self.numbers.partition_point(|&other| other < number);
        if self.numbers.get(place) != Some(&number) {
            return place;
        }
        let alike = self.numbers.get(place..).map_or(0, |rest| rest.partition_point(|&other| other == number));
        let tables = self.tables.get(place..place + alike).unwrap_or_default();
        place + tables.partition_point(|table| table.meta.ends_before(key))
    }

    /// The table to ask for a key, and where in it the model of the level leads to, if there is one.
    #[inline]
    pub(crate) fn ask(&self, key: &[u8]) -> Option<(&Arc<TableFile>, Option<Window>)> {
        let Some((model, _)) = self.model.get() else { return self.find(key).map(|table| (table, None)) };
        let (first, behind) = model.locate(key).map_or((None, None), |(first, behind)| (Some(first), behind));
        for (place, window) in [first, behind].into_iter().flatten() {
            if let Some(table) = self.tables.get(place).filter(|table| table.may_hold(key)) {
                return Some((table, Some(window)));
            }
        }
        // The model is wrong, or no table has the key in its range.
        self.find(key).map(|table| (table, None))
    }

    /// Learns the level; `None` where `go_on` says to stop.
    ///
    /// # Errors
    /// What the storage reports, and damage.
    pub(crate) fn learn(&self, go_on: &dyn Fn() -> bool) -> Result<Option<LevelModel>> {
        let (Some(first), Some(last)) = (self.tables.first(), self.tables.last()) else { return Ok(None) };
        let mut builder = ModelBuilder::new(&first.meta.smallest, &last.meta.largest, first.model_error);
        for table in &self.tables {
            if !table.teach(&mut builder, go_on)? {
                return Ok(None);
            }
        }
        Ok(LevelModel::new(builder, self.tables.iter().map(|table| table.meta.records)))
    }

    /// Gives the level its model, with the memory that is kept for it.
    pub(crate) fn set_model(&self, model: LevelModel, held: Reservation) {
        // One that is there already is as good.
        _ = self.model.set((model, held));
    }

    /// The model, if the level has one.
    pub(crate) fn model(&self) -> Option<&LevelModel> {
        self.model.get().map(|(model, _)| model)
    }

    /// The one table whose range has `key`.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<&Arc<TableFile>> {
        let table = self.tables.get(self.place(key))?;
        (table.meta.smallest.as_slice() <= key).then_some(table)
    }
}

/// A position among the entries of a level. A table is looked into only when the position comes to it.
#[derive(Debug)]
pub(crate) struct LevelCursor {
    level: Arc<LevelTables>,
    ahead: Ahead,
    /// Which table the position is in, and the position there.
    at: usize,
    cursor: Option<TableFileCursor>,
    failed: bool,
}

/// Where to go in a table.
#[derive(Clone, Copy)]
enum Goal<'a> {
    First,
    Last,
    From(&'a [u8], Sequence),
    Before(&'a [u8]),
}

impl LevelCursor {
    pub(crate) fn new(level: Arc<LevelTables>, ahead: Ahead) -> Self {
        Self { level, ahead, at: 0, cursor: None, failed: false }
    }

    fn moves(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.failed {
            return Err(Error::InvalidArgument("a cursor was moved on after an error; make a new one".into()));
        }
        let moved = step(self);
        if moved.is_err() {
            (self.failed, self.cursor) = (true, None);
        }
        moved
    }

    /// Goes to a place in table `at`; nowhere if there is no such table.
    fn enter(&mut self, at: usize, goal: Goal<'_>) -> Result<()> {
        let Some(table) = self.level.tables.get(at) else {
            self.cursor = None;
            return Ok(());
        };
        if self.cursor.is_none() || self.at != at {
            self.cursor = Some(TableFileCursor::new(table, self.ahead));
            self.at = at;
        }
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        match goal {
            Goal::First => cursor.first(),
            Goal::Last => cursor.last(),
            Goal::From(key, sequence) => cursor.seek(key, sequence),
            Goal::Before(key) => cursor.seek_before(key),
        }
    }

    #[inline]
    fn has_entry(&self) -> bool {
        self.cursor.as_ref().is_some_and(TableFileCursor::is_placed)
    }

    /// Where the cursor is behind the end of its table: to the first entry of those that follow.
    fn go_on(&mut self) -> Result<()> {
        while self.cursor.is_some() && !self.has_entry() {
            self.enter(self.at + 1, Goal::First)?;
        }
        Ok(())
    }

    /// Where the cursor is before the start of its table: to the last entry of those before.
    fn go_back(&mut self) -> Result<()> {
        while self.cursor.is_some() && !self.has_entry() {
            match self.at.checked_sub(1) {
                Some(before) => self.enter(before, Goal::Last)?,
                None => self.cursor = None,
            }
        }
        Ok(())
    }
}

impl Cursor for LevelCursor {
    #[inline]
    fn entry(&self) -> Option<Entry<'_>> {
        self.cursor.as_ref()?.entry()
    }

    #[inline]
    fn value_slice(&self) -> Option<Slice> {
        self.cursor.as_ref()?.value_slice()
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        self.moves(|this| {
            this.enter(this.level.place(key), Goal::From(key, sequence))?;
            this.go_on()
        })
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.moves(|this| {
            // Tables before this one have lesser keys alone; behind the last one, all have.
            let Some(last) = this.level.tables.len().checked_sub(1) else { return Ok(()) };
            this.enter(this.level.place(key).min(last), Goal::Before(key))?;
            this.go_back()
        })
    }

    fn first(&mut self) -> Result<()> {
        self.moves(|this| {
            this.enter(0, Goal::First)?;
            this.go_on()
        })
    }

    fn last(&mut self) -> Result<()> {
        self.moves(|this| {
            let Some(last) = this.level.tables.len().checked_sub(1) else { return Ok(()) };
            this.enter(last, Goal::Last)?;
            this.go_back()
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
        self.moves(Self::go_on)
    }

    fn prev(&mut self) -> Result<()> {
        self.moves(|this| {
            if let Some(cursor) = &mut this.cursor {
                cursor.prev()?;
            }
            this.go_back()
        })
    }
}
