//! The levels of a keyspace, as metadata of tables.

use super::span::{self, KeyBounds};
use super::table::TableFileMeta;
use std::cmp::Reverse;
use std::sync::Arc;

/// Number of levels. With a factor of 10, the last one holds a million times as much as the first.
pub(crate) const LEVELS: usize = 7;

/// The tables of a keyspace by level. Tables of level 0 may overlap, and are ordered newest first; those of any other
/// level are disjoint, and in key order. For each key, deeper levels are older.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyspaceLevels {
    levels: [Vec<Arc<TableFileMeta>>; LEVELS],
}

impl KeyspaceLevels {
    /// The tables of a level; none if it does not exist.
    pub(crate) fn level(&self, level: usize) -> &[Arc<TableFileMeta>] {
        self.levels.get(level).map_or(&[], Vec::as_slice)
    }

    /// All tables with their levels.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Arc<TableFileMeta>)> {
        self.levels.iter().enumerate().flat_map(|(level, tables)| tables.iter().map(move |table| (level, table)))
    }

    /// The table of a level below level 0 that may contain `key`.
    #[cfg(test)]
    pub(crate) fn find(&self, level: usize, key: &[u8]) -> Option<&Arc<TableFileMeta>> {
        let tables = self.level(level);
        let table = tables.get(tables.partition_point(|table| table.ends_before(key)))?;
        (table.smallest.as_slice() <= key).then_some(table)
    }

    /// The tables of a level that overlap `range`, in the level's order.
    pub(crate) fn overlapping<'a>(
        &'a self,
        level: usize,
        range: KeyBounds<'a>,
    ) -> impl Iterator<Item = &'a Arc<TableFileMeta>> {
        let tables = self.level(level);
        let tables = if level == 0 { tables } else { narrowed(tables, range) };
        tables.iter().filter(move |table| table.overlaps(range))
    }

    /// Bytes of a level's tables.
    pub(crate) fn bytes(&self, level: usize) -> u64 {
        self.level(level).iter().map(|table| table.bytes).sum()
    }

    /// Bytes of all tables.
    #[cfg(test)]
    pub(crate) fn total_bytes(&self) -> u64 {
        (0..LEVELS).map(|level| self.bytes(level)).sum()
    }

    /// The first non-empty level below level 0.
    pub(crate) fn first_filled(&self) -> Option<usize> {
        (1..LEVELS).find(|&level| !self.level(level).is_empty())
    }

    /// Removes a table; `None` if it is absent.
    pub(super) fn remove(&mut self, level: usize, number: u64) -> Option<Arc<TableFileMeta>> {
        let tables = self.levels.get_mut(level)?;
        let index = tables.iter().position(|table| table.number == number)?;
        Some(tables.remove(index))
    }

    /// Gives all tables names of their own.
    pub(super) fn forget_objects(&mut self) {
        self.change_tables(|table| {
            table.object.is_some().then(|| TableFileMeta { object: None, ..TableFileMeta::clone(table) })
        });
    }

    /// Replaces the metadata of tables by what `change` makes of it; `None` leaves it as it is.
    pub(super) fn change_tables(&mut self, mut change: impl FnMut(&TableFileMeta) -> Option<TableFileMeta>) {
        for table in self.levels.iter_mut().flatten() {
            if let Some(changed) = change(table) {
                *table = Arc::new(changed);
            }
        }
    }

    /// Keeps some tables only.
    pub(super) fn keep_tables(&mut self, keeps: impl Fn(&TableFileMeta) -> bool) {
        self.levels.iter_mut().for_each(|tables| tables.retain(|table| keeps(table)));
    }

    /// Adds tables to a level, unless they violate its order.
    pub(crate) fn add(&mut self, level: usize, added: Vec<Arc<TableFileMeta>>) -> Result<(), String> {
        let tables = self.levels.get_mut(level).ok_or_else(|| format!("there is no level {level}"))?;
        tables.extend(added);
        if level == 0 {
            tables.sort_by_key(|table| Reverse((table.largest_sequence, table.number)));
            return check_ages(tables);
        }
        tables.sort_by(|one, other| one.smallest.cmp(&other.smallest));
        match tables.windows(2).find(|pair| !pair[0].ends_before(&pair[1].smallest)) {
            Some(pair) => Err(format!("tables {} and {} of level {level} overlap", pair[0].number, pair[1].number)),
            None => Ok(()),
        }
    }
}

/// Checks that level 0 is ordered by age, so that the first table with a key has its newest entry.
fn check_ages(tables: &[Arc<TableFileMeta>]) -> Result<(), String> {
    for (index, newer) in tables.iter().enumerate() {
        let mixed = |older: &&Arc<TableFileMeta>| {
            older.largest_sequence > newer.smallest_sequence && older.overlaps(newer.bounds())
        };
        if let Some(older) = tables[index + 1..].iter().find(mixed) {
            return Err(format!("neither of tables {} and {} of level 0 is newer", newer.number, older.number));
        }
    }
    Ok(())
}

/// The part of a sorted list of disjoint tables that may overlap `range`.
fn narrowed<'a>(tables: &'a [Arc<TableFileMeta>], range: KeyBounds<'_>) -> &'a [Arc<TableFileMeta>] {
    let start = tables.partition_point(|table| span::lies_before(table.bounds().1, range.0));
    let length = tables[start..].partition_point(|table| !span::lies_before(range.1, table.bounds().0));
    &tables[start..start + length]
}
