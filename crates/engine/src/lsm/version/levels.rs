//! The levels of a keyspace, as metadata of tables.

use super::span::{self, KeyBounds};
use super::table::TableMeta;
use std::cmp::Reverse;
use std::sync::Arc;

/// KeyspaceLevels of a keyspace. With a factor of 10 the last one holds a million times what the first does.
pub(crate) const LEVELS: usize = 7;

/// The tables of a keyspace by level. Tables of level 0 overlap, and stand newest first; in each other level they are disjoint, and stand
/// in the order of keys. What lies in a deeper level is older, key by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyspaceLevels {
    levels: [Vec<Arc<TableMeta>>; LEVELS],
}

impl KeyspaceLevels {
    /// The tables of a level; none of one that does not exist.
    pub(crate) fn level(&self, level: usize) -> &[Arc<TableMeta>] {
        self.levels.get(level).map_or(&[], Vec::as_slice)
    }

    /// All tables with their levels.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Arc<TableMeta>)> {
        self.levels.iter().enumerate().flat_map(|(level, tables)| tables.iter().map(move |table| (level, table)))
    }

    /// The one table of a level from 1 on that may hold `key`.
    #[cfg(test)]
    pub(crate) fn find(&self, level: usize, key: &[u8]) -> Option<&Arc<TableMeta>> {
        let tables = self.level(level);
        let table = tables.get(tables.partition_point(|table| table.ends_before(key)))?;
        (table.smallest.as_slice() <= key).then_some(table)
    }

    /// The tables of a level that may hold keys of `range`, in the level's order.
    pub(crate) fn overlapping<'a>(
        &'a self,
        level: usize,
        range: KeyBounds<'a>,
    ) -> impl Iterator<Item = &'a Arc<TableMeta>> {
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

    /// The first level from 1 on that has tables.
    pub(crate) fn first_filled(&self) -> Option<usize> {
        (1..LEVELS).find(|&level| !self.level(level).is_empty())
    }

    /// Takes a table out; `None` if it is not there.
    pub(super) fn remove(&mut self, level: usize, number: u64) -> Option<Arc<TableMeta>> {
        let tables = self.levels.get_mut(level)?;
        let place = tables.iter().position(|table| table.number == number)?;
        Some(tables.remove(place))
    }

    /// Puts tables into a level, unless one of them would be where it may not be.
    pub(super) fn add(&mut self, level: usize, added: Vec<Arc<TableMeta>>) -> Result<(), String> {
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

/// Whether the order of level 0 is that of age, so that the first table that has a key has its newest entry.
fn check_ages(tables: &[Arc<TableMeta>]) -> Result<(), String> {
    for (place, newer) in tables.iter().enumerate() {
        let mixed = |older: &&Arc<TableMeta>| {
            older.largest_sequence > newer.smallest_sequence && older.overlaps(newer.bounds())
        };
        if let Some(older) = tables[place + 1..].iter().find(mixed) {
            return Err(format!("neither of tables {} and {} of level 0 is newer", newer.number, older.number));
        }
    }
    Ok(())
}

/// The part of disjoint tables in order that may overlap `range`.
fn narrowed<'a>(tables: &'a [Arc<TableMeta>], range: KeyBounds<'_>) -> &'a [Arc<TableMeta>] {
    let start = tables.partition_point(|table| span::lies_before(table.bounds().1, range.0));
    let length = tables[start..].partition_point(|table| !span::lies_before(range.1, table.bounds().0));
    &tables[start..start + length]
}
