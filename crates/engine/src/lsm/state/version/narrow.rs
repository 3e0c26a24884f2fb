//! A state with less than a store has: with few ends of tables, or the tables of few keys.

use super::state::ManifestState;
use super::table::TableFileMeta;
use crate::lsm::state::entry::KeyspaceId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl ManifestState {
    /// Leaves out the ends of tables that exceed this many bytes in all. Those of upper levels stay first: more keys
    /// lie in the ranges of their tables.
    pub(crate) fn limit_tails(&mut self, bytes_max: usize) {
        let tail = |(_, level, table): (_, usize, &Arc<TableFileMeta>)| {
            Some((level, table.tail.as_ref()?.len(), table.number))
        };
        let mut tails: Vec<(usize, usize, u64)> = self.tables().filter_map(tail).collect();
        tails.sort_unstable();
        let mut bytes = 0;
        let fits = |(_, length, _): &&(usize, usize, u64)| {
            bytes += length;
            bytes <= bytes_max
        };
        let kept: BTreeSet<u64> = tails.iter().take_while(fits).map(|&(.., number)| number).collect();
        self.change_tables(|table| {
            let is_left_out = table.tail.is_some() && !kept.contains(&table.number);
            is_left_out.then(|| TableFileMeta { tail: None, ..table.clone() })
        });
    }

    /// Adds the ends of tables, by number.
    pub(crate) fn add_tails(&mut self, tails: &BTreeMap<u64, Arc<[u8]>>) {
        self.change_tables(|table| {
            let tail = tails.get(&table.number).filter(|_| table.tail.is_none())?;
            Some(TableFileMeta { tail: Some(Arc::clone(tail)), ..table.clone() })
        });
    }

    fn change_tables(&mut self, mut change: impl FnMut(&TableFileMeta) -> Option<TableFileMeta>) {
        self.keyspaces.values_mut().for_each(|keyspace| keyspace.levels.change_tables(&mut change));
    }

    /// Keeps only the tables that may hold one of these keys. Returns the numbers of those that are the last ones to
    /// be asked for each of their keys.
    pub(crate) fn keep_tables_of(&mut self, keys: &[(KeyspaceId, Vec<u8>)]) -> BTreeSet<u64> {
        let mut last = BTreeSet::new();
        let mut earlier = BTreeSet::new();
        for (id, key) in keys {
            let levels = self.levels(*id).into_iter().flat_map(|levels| levels.iter());
            let mut candidates: Vec<u64> =
                levels.filter(|(_, table)| table.may_hold(key)).map(|(_, table)| table.number).collect();
            last.extend(candidates.pop());
            earlier.extend(candidates);
        }
        let is_kept = |table: &TableFileMeta| last.contains(&table.number) || earlier.contains(&table.number);
        self.keyspaces.values_mut().for_each(|keyspace| keyspace.levels.keep_tables(is_kept));
        last.difference(&earlier).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::state::version::ManifestEdit;

    fn table(number: u64, (smallest, largest): (&str, &str), tail_bytes: usize) -> Arc<TableFileMeta> {
        Arc::new(TableFileMeta {
            number,
            bytes: 1 << 20,
            records: 10,
            smallest: smallest.into(),
            largest: largest.into(),
            smallest_sequence: 10 * number,
            largest_sequence: 10 * number + 9,
            tail: Some(vec![0; tail_bytes].into()),
            ..TableFileMeta::default()
        })
    }

    /// Two tables of level 0, and two levels below.
    fn state() -> ManifestState {
        let added = vec![
            (0, 0, table(9, ("a", "m"), 30)),
            (0, 0, table(8, ("k", "z"), 20)),
            (0, 1, table(5, ("a", "f"), 10)),
            (0, 1, table(6, ("p", "z"), 10)),
            (0, 2, table(1, ("b", "q"), 40)),
        ];
        let edit = ManifestEdit { added, next_file: Some(20), last_sequence: Some(1000), ..ManifestEdit::default() };
        ManifestState::new(7).apply(&edit).unwrap()
    }

    fn numbers(state: &ManifestState, has_tail: bool) -> Vec<u64> {
        let tables = state.tables().filter(|(.., table)| table.tail.is_some() || !has_tail);
        tables.map(|(.., table)| table.number).collect()
    }

    #[test]
    fn ends_of_upper_levels_stay_first() {
        let kept = |bytes| {
            let mut state = state();
            state.limit_tails(bytes);
            (numbers(&state, true), numbers(&state, false).len())
        };
        assert_eq!(kept(0), (vec![], 5));
        assert_eq!(kept(49), (vec![8], 5));
        assert_eq!(kept(60), (vec![9, 8, 5], 5));
        assert_eq!(kept(110), (vec![9, 8, 5, 6, 1], 5));
        let mut state = state();
        state.limit_tails(0);
        state.add_tails(&[(5, vec![1; 10].into()), (77, vec![1].into())].into());
        assert_eq!(numbers(&state, true), [5]);
    }

    #[test]
    fn the_tables_of_a_key_stay_and_the_last_of_them_is_told() {
        let kept = |keys: &[&str]| {
            let mut state = state();
            let keys: Vec<(KeyspaceId, Vec<u8>)> = keys.iter().map(|key| (0, key.as_bytes().to_vec())).collect();
            let last = state.keep_tables_of(&keys);
            (numbers(&state, false), last.into_iter().collect::<Vec<u64>>())
        };
        assert_eq!(kept(&["l"]), (vec![9, 8, 1], vec![1]));
        assert_eq!(kept(&["a"]), (vec![9, 5], vec![5]));
        assert_eq!(kept(&["zz"]), (vec![], vec![]));
        assert_eq!(kept(&["c"]), (vec![9, 5, 1], vec![1]));
        assert_eq!(kept(&["a", "c"]), (vec![9, 5, 1], vec![1]), "of table 5, one key is asked for further on");
        assert_eq!(kept(&["z"]), (vec![8, 6], vec![6]));
    }
}
