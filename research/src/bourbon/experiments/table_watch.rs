//! Observed lifetimes of tables: level, begin and end, and number of internal lookups.
//!
//! Time is counted in operations; the client of the paper has a fixed rate, so its seconds are operations, too. A table
//! that moves to another level without a rewrite ends one lifetime and begins another.

use std::collections::{BTreeMap, BTreeSet};

use crate::random::Random;

/// A table, as reported by the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableSeen {
    pub(super) number: u64,
    pub(super) level: usize,
    /// Positive and negative lookups of it since it was opened.
    pub(super) positive: u64,
    pub(super) negative: u64,
}

/// A table's time at a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Life {
    pub(super) level: usize,
    /// Operations from its creation to its end; an estimate if it outlived the run.
    pub(super) operations: u64,
    /// Whether it existed when the run began.
    pub(super) is_old: bool,
    pub(super) positive: u64,
    pub(super) negative: u64,
}

/// The part of a level that was rewritten or dropped between two observations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) at: u64,
    pub(super) level: usize,
    pub(super) changes: u64,
    /// Tables of the level before.
    pub(super) tables: u64,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    since: u64,
    is_old: bool,
    /// Counts at the start of the observation or of its time at this level, and the latest ones.
    first: (u64, u64),
    last: (u64, u64),
}

/// Periodic observation of the tables.
#[derive(Debug, Default)]
pub(super) struct TableWatch {
    open: BTreeMap<(u64, usize), Open>,
    ended: Vec<Life>,
    changes: Vec<Change>,
}

impl TableWatch {
    /// Begins with the existing tables.
    pub(super) fn new(tables: &[TableSeen]) -> Self {
        let mut watch = Self::default();
        for table in tables {
            watch.open.insert((table.number, table.level), Open::new(table, 0, true));
        }
        watch
    }

    /// Observes the tables after this number of operations.
    pub(super) fn look(&mut self, at: u64, tables: &[TableSeen]) {
        let mut counts: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for (_, level) in self.open.keys() {
            counts.entry(*level).or_default().1 += 1;
        }
        let there: BTreeSet<(u64, usize)> = tables.iter().map(|table| (table.number, table.level)).collect();
        let gone: Vec<(u64, usize)> = self.open.keys().filter(|known| !there.contains(known)).copied().collect();
        for known in gone {
            if let Some(open) = self.open.remove(&known) {
                counts.entry(known.1).or_default().0 += 1;
                self.ended.push(open.life(known.1, at - open.since));
            }
        }
        for table in tables {
            let known = self.open.entry((table.number, table.level)).or_insert_with(|| {
                counts.entry(table.level).or_default().0 += 1;
                Open::new(table, at, false)
            });
            known.last = (table.positive, table.negative);
        }
        let changed = counts.into_iter().filter(|(_, (changes, _))| *changes > 0);
        self.changes.extend(changed.map(|(level, (changes, tables))| Change { at, level, changes, tables }));
    }

    /// All lifetimes after `total` operations. Remaining tables get the paper's estimate: those older than the run get
    /// the whole run, others a random known lifetime of at least their age.
    pub(super) fn lives(&self, total: u64, seed: u64) -> Vec<Life> {
        let mut random = Random::new(seed, "lives of tables");
        let mut lives = self.ended.clone();
        for ((_, level), open) in &self.open {
            let least = total.saturating_sub(open.since);
            let known: Vec<u64> = self
                .ended
                .iter()
                .filter(|life| life.level == *level && life.operations >= least)
                .map(|life| life.operations)
                .collect();
            let operations = match open.is_old {
                true => total,
                false => known.get(random.below(known.len() as u64) as usize).copied().unwrap_or(least),
            };
            lives.push(open.life(*level, operations));
        }
        lives
    }

    /// All changes of levels, in order.
    pub(super) fn changes(&self) -> &[Change] {
        &self.changes
    }
}

impl Open {
    fn new(table: &TableSeen, since: u64, is_old: bool) -> Self {
        let counts = (table.positive, table.negative);
        // Lookups before the first observation count, unless the observation began later.
        Self { since, is_old, first: if is_old { counts } else { (0, 0) }, last: counts }
    }

    fn life(&self, level: usize, operations: u64) -> Life {
        Life {
            level,
            operations,
            is_old: self.is_old,
            positive: self.last.0.saturating_sub(self.first.0),
            negative: self.last.1.saturating_sub(self.first.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(number: u64, level: usize, positive: u64) -> TableSeen {
        TableSeen { number, level, positive, negative: 0 }
    }

    #[test]
    fn lives_end_with_their_tables_and_the_others_are_estimated() {
        let mut watch = TableWatch::new(&[table(1, 1, 5), table(2, 1, 0)]);
        watch.look(100, &[table(2, 1, 3), table(3, 1, 0)]);
        watch.look(200, &[table(2, 1, 7), table(4, 1, 1)]);
        let mut lives = watch.lives(250, 1);
        lives.sort_by_key(|life| (life.operations, life.positive));
        let shown: Vec<(u64, u64)> = lives.iter().map(|life| (life.operations, life.positive)).collect();
        // Table 1 ended at 100; 3 lived from 100 to 200; 4 lived for 50 or more, as 1 and 3 did; 2 was there all the
        // time.
        assert_eq!(shown, [(100, 0), (100, 0), (100, 1), (250, 7)]);
        assert_eq!(watch.changes()[0], Change { at: 100, level: 1, changes: 2, tables: 2 });
    }

    #[test]
    fn a_table_that_moves_has_a_life_at_each_level() {
        let mut watch = TableWatch::new(&[table(1, 1, 0)]);
        watch.look(10, &[table(1, 2, 4)]);
        watch.look(30, &[]);
        let lives = watch.lives(30, 1);
        assert_eq!(lives.iter().map(|life| (life.level, life.operations)).collect::<Vec<_>>(), [(1, 10), (2, 20)]);
    }
}
