//! Tests of manifest edits against a model. Goal: a state is the sum of its edits, and an edit that does not fit is
//! refused. Method: random valid and invalid edits are applied to a state and to plain maps, which are compared; each
//! edit and state is encoded and decoded.

use super::edit::{ManifestEdit, StatedTypes};
use super::keyspace_options::KeyspaceOptions;
use super::levels::{KeyspaceLevels, LEVELS};
use super::state::ManifestState;
use super::table::TableFileMeta;
use crate::types::{KeyType, RecordType, ValueType};
use ogive_testkit::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// Upper bound of the tables' keys.
const KEYS: u64 = 60;

fn key(number: u64) -> Vec<u8> {
    format!("{number:03}").into_bytes()
}

pub(super) fn table(number: u64, smallest: u64, largest: u64, sequences: (u64, u64)) -> TableFileMeta {
    TableFileMeta {
        number,
        bytes: 1000 + number,
        records: 10,
        smallest: key(smallest),
        largest: key(largest),
        smallest_sequence: sequences.0,
        largest_sequence: sequences.1,
        ..TableFileMeta::default()
    }
}

/// A random table, not always a consistent one.
fn drawn(random: &mut Random, number: u64, sequence: u64, files: &[u64]) -> TableFileMeta {
    let smallest = random.below(KEYS);
    let largest = smallest + random.below(6);
    let mut table = table(number, smallest, largest, (sequence, sequence + random.below(3)));
    table.tombstones = random.below(11);
    table.has_range_tombstones = random.one_in(4);
    (0..random.below(4)).for_each(|_| table.note_expiring(random.below(1000)));
    table.largest_excluded = table.has_range_tombstones && random.one_in(2);
    table.global_sequence = random.one_in(5).then_some(sequence);
    table.object = random.one_in(6).then(|| ["part-17", "a table", "000001.log"][random.below(3) as usize].into());
    for &file in files {
        if random.one_in(3) {
            table.values.push((file, random.below(100)));
        }
    }
    table
}

/// The model: tables by keyspace, level and number; names; value files; logs.
#[derive(Clone, Debug, Default, PartialEq)]
struct StateModel {
    tables: BTreeMap<(u32, usize, u64), TableFileMeta>,
    names: BTreeMap<u32, String>,
    types: BTreeMap<u32, StatedTypes>,
    options: BTreeMap<u32, KeyspaceOptions>,
    files: BTreeMap<u64, u64>,
    logs: BTreeSet<u64>,
}

impl StateModel {
    fn of(state: &ManifestState) -> Self {
        Self {
            tables: state
                .tables()
                .map(|(keyspace, level, table)| ((keyspace, level, table.number), table.as_ref().clone()))
                .collect(),
            names: state.keyspaces.iter().map(|(&id, keyspace)| (id, keyspace.name.clone())).collect(),
            types: state.keyspaces.iter().map(|(&id, keyspace)| (id, keyspace.types.clone())).collect(),
            options: state.options().into_iter().collect(),
            files: state.value_files.iter().map(|(&number, file)| (number, file.bytes)).collect(),
            logs: state.logs.clone(),
        }
    }

    fn apply(&mut self, edit: &ManifestEdit) {
        self.names.extend(edit.keyspaces_created.iter().cloned());
        self.types.extend(edit.keyspaces_created.iter().map(|(id, _)| (*id, StatedTypes::default())));
        for (id, stated) in &edit.types {
            let before = self.types[id].generation;
            let generation = if stated.generation == 0 { before + 1 } else { stated.generation };
            self.types.insert(*id, StatedTypes { generation, ..stated.clone() });
        }
        self.options.extend(edit.options.iter().cloned());
        self.options.retain(|_, options| !options.is_default());
        self.files.extend(edit.value_files_added.iter().copied());
        for &(keyspace, level, number) in &edit.removed {
            self.tables.remove(&(keyspace, level, number)).unwrap();
        }
        for (keyspace, level, table) in &edit.added {
            self.tables.insert((*keyspace, *level, table.number), table.as_ref().clone());
        }
        for &id in &edit.keyspaces_dropped {
            self.names.remove(&id).unwrap();
            self.types.remove(&id).unwrap();
            self.options.remove(&id);
            self.tables.retain(|&(keyspace, ..), _| keyspace != id);
        }
        edit.value_files_removed.iter().for_each(|number| assert!(self.files.remove(number).is_some()));
        self.logs.extend(&edit.logs_added);
        if let Some(oldest) = edit.oldest_log {
            self.logs.retain(|&number| number >= oldest);
        }
    }

    fn live_bytes(&self, file: u64) -> u64 {
        self.tables.values().map(|table| table.bytes_in(file)).sum()
    }

    /// Checks all invariants, pair by pair.
    fn is_consistent(&self) -> bool {
        let pairs = self.tables.iter().flat_map(|one| self.tables.iter().map(move |other| (one, other)));
        type Placed<'a> = (&'a (u32, usize, u64), &'a TableFileMeta);
        let clash = |((place, one), (other_place, other)): (Placed<'_>, Placed<'_>)| {
            if place == other_place || (place.0, place.1) != (other_place.0, other_place.1) || !shares_keys(one, other)
            {
                return false;
            }
            let apart =
                one.largest_sequence <= other.smallest_sequence || other.largest_sequence <= one.smallest_sequence;
            place.1 > 0 || !apart
        };
        !pairs.into_iter().any(clash)
            && self.tables.values().all(|table| table.values.iter().all(|(file, _)| self.files.contains_key(file)))
    }
}

/// Whether some key, or some position between two keys, is in both.
fn shares_keys(one: &TableFileMeta, other: &TableFileMeta) -> bool {
    let has = |table: &TableFileMeta, key: &[u8], behind: bool| {
        let below_end =
            if table.largest_excluded { key < table.largest.as_slice() } else { key <= table.largest.as_slice() };
        // The position after a key is in a table that extends beyond the key.
        key >= table.smallest.as_slice() && if behind { key < table.largest.as_slice() } else { below_end }
    };
    (0..KEYS + 10).any(|number| {
        let key = key(number);
        [false, true].into_iter().any(|behind| has(one, &key, behind) && has(other, &key, behind))
    })
}

fn random_edit(random: &mut Random, state: &ManifestState) -> ManifestEdit {
    let mut edit = ManifestEdit::default();
    let mut number = state.next_file;
    let files: Vec<u64> = state.value_files.keys().copied().collect();
    if random.one_in(6) {
        edit.value_files_added.push((number, random.below(1000)));
        number += 1;
    }
    if random.one_in(6) {
        edit.logs_added.push(number);
        edit.oldest_log = Some(number.saturating_sub(random.below(12)).max(state.oldest_log));
        number += 1;
    }
    if random.one_in(8) {
        edit.keyspaces_created.push((state.next_keyspace, format!("k{}", state.next_keyspace)));
        edit.next_keyspace = Some(state.next_keyspace + 1);
    }
    let tables: Vec<_> = state.tables().map(|(keyspace, level, table)| (keyspace, level, Arc::clone(table))).collect();
    for (keyspace, level, table) in &tables {
        match random.below(12) {
            0 | 1 => edit.removed.push((*keyspace, *level, table.number)),
            2 => edit.move_table(*keyspace, *level, (*level + 1).min(LEVELS - 1), table),
            _ => {}
        }
    }
    let keyspaces: Vec<u32> = state.keyspaces.keys().copied().collect();
    if random.one_in(8) {
        let keyspace = keyspaces[random.below(keyspaces.len() as u64) as usize];
        let names = ["bytes", "{a: u8}", "{a: u8, b: text?}"];
        let values: ValueType = names[random.below(3) as usize].parse().unwrap();
        let before = state.keyspaces[&keyspace].types.generation;
        let generation = if random.one_in(2) { 0 } else { before + 1 + random.below(3) };
        edit.types.push((
            keyspace,
            StatedTypes { generation, ..StatedTypes::next(Arc::new(RecordType::new(KeyType::U64, values))) },
        ));
    }
    if random.one_in(8) {
        let keyspace = keyspaces[random.below(keyspaces.len() as u64) as usize];
        let bits = random.one_in(2).then(|| random.below(33) as u32);
        let options = KeyspaceOptions::default().filter_bits_per_key(bits);
        edit.options.push((keyspace, options.separation_bytes(random.one_in(2).then(|| random.next_u64()))));
    }
    for _ in 0..random.below(4) {
        let keyspace = keyspaces[random.below(keyspaces.len() as u64) as usize];
        let table = drawn(random, number, state.last_sequence + 1, &files);
        edit.last_sequence = edit.last_sequence.max(Some(table.largest_sequence));
        edit.added.push((keyspace, random.below(LEVELS as u64) as usize, Arc::new(table)));
        number += 1;
    }
    if random.one_in(4) {
        edit.reserved = Some(state.reserved.max(number) + random.below(50));
        edit.known.push(random.next_u64());
        edit.logs_ended = edit.logs_added.iter().map(|&log| (log, random.below(1000))).collect();
        let files = edit.value_files_added.iter().map(|&(file, _)| file);
        edit.bound = files.filter(|file| file % 2 == 0).map(|file| (file, random.next_u64())).collect();
    }
    if random.one_in(30) && keyspaces.len() > 1 {
        edit.keyspaces_dropped.push(keyspaces[1]);
    }
    if random.one_in(3) {
        edit.value_files_removed = state.unreferenced_value_files();
    }
    edit.next_file = Some(number);
    edit
}

#[test]
fn a_state_is_what_its_edits_say_and_nothing_inconsistent_is_taken() {
    let (mut taken, mut refused) = (0, 0);
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut state = ManifestState::new(7);
        for step in 0..120 {
            let edit = random_edit(&mut random, &state);
            let mut bytes = Vec::new();
            edit.encode(&mut bytes);
            let sensible = edit.added.iter().all(|(_, _, table)| table.is_sensible());
            assert_eq!(ManifestEdit::decode(&bytes), sensible.then(|| edit.clone()), "seed {seed}, step {step}");
            match state.apply(&edit) {
                Ok(next) => {
                    let mut model = StateModel::of(&state);
                    model.apply(&edit);
                    assert_eq!(StateModel::of(&next), model, "seed {seed}, step {step}");
                    assert!(model.is_consistent(), "seed {seed}, step {step}: {edit:?}");
                    for (&file, found) in &next.value_files {
                        assert_eq!(found.live_bytes, model.live_bytes(file), "seed {seed}, step {step}");
                    }
                    let mut again = ManifestState::empty(7);
                    again.change(&next.as_edit()).unwrap();
                    // The format is that of the header.
                    again.format = next.format;
                    assert_eq!(again, next);
                    state = next;
                    taken += 1;
                }
                Err(detail) => {
                    refused += 1;
                    let is_right = sensible
                        && edit.removed.iter().all(|&(keyspace, level, number)| {
                            state
                                .levels(keyspace)
                                .is_some_and(|levels| levels.level(level).iter().any(|table| table.number == number))
                        });
                    if is_right && edit.keyspaces_dropped.is_empty() && edit.value_files_removed.is_empty() {
                        let mut model = StateModel::of(&state);
                        model.apply(&edit);
                        assert!(!model.is_consistent(), "seed {seed}, step {step}: {detail:?} for {edit:?}");
                    }
                }
            }
        }
    }
    assert!(taken > 1000 && refused > 300, "{taken} taken, {refused} refused");
}

#[test]
fn each_wrong_edit_is_refused() {
    let first = ManifestEdit {
        added: vec![(0, 1, Arc::new(table(3, 10, 20, (1, 2)))), (0, 0, Arc::new(table(4, 10, 20, (5, 9))))],
        value_files_added: vec![(5, 100)],
        logs_added: vec![6],
        oldest_log: Some(6),
        next_file: Some(7),
        last_sequence: Some(9),
        ..ManifestEdit::default()
    };
    let state = ManifestState::new(1).apply(&first).unwrap();
    let numbers = ManifestEdit { next_file: Some(100), last_sequence: Some(20), ..ManifestEdit::default() };
    let with = |change: &dyn Fn(&mut ManifestEdit)| {
        let mut edit = numbers.clone();
        change(&mut edit);
        state.apply(&edit)
    };
    let add = |level: usize, table: TableFileMeta| with(&|edit| edit.added.push((0, level, Arc::new(table.clone()))));
    assert!(add(1, table(8, 21, 30, (1, 2))).is_ok());
    assert!(add(1, table(8, 20, 30, (1, 2))).is_err(), "overlaps");
    assert!(add(0, table(8, 20, 30, (8, 12))).is_err(), "neither newer nor older");
    assert!(add(0, table(8, 20, 30, (10, 12))).is_ok());
    assert!(add(LEVELS, table(8, 30, 31, (1, 2))).is_err(), "no such level");
    assert!(add(2, table(100, 30, 31, (1, 2))).is_err(), "number not given out");
    assert!(add(2, table(8, 30, 31, (1, 21))).is_err(), "sequence number not given out");
    assert!(add(2, table(8, 31, 30, (1, 2))).is_err(), "ends before it begins");
    for number in 3..7 {
        assert!(add(2, table(number, 30, 31, (1, 2))).is_err(), "number {number} used twice");
    }
    assert!(add(2, TableFileMeta { values: vec![(8, 1)], ..table(9, 30, 31, (1, 2)) }).is_err(), "no such value file");
    assert!(with(&|edit| edit.removed.push((0, 1, 4))).is_err(), "of another level");
    assert!(with(&|edit| edit.removed.push((1, 1, 3))).is_err(), "of no keyspace");
    assert!(with(&|edit| edit.added.push((1, 1, Arc::new(table(8, 30, 31, (1, 2)))))).is_err(), "to no keyspace");
    assert!(with(&|edit| edit.next_file = Some(6)).is_err());
    assert!(with(&|edit| edit.next_file = Some(u64::MAX)).is_err());
    assert!(with(&|edit| edit.reserved = Some(u64::MAX)).is_err());
    assert!(with(&|edit| edit.last_sequence = Some(8)).is_err());
    assert!(with(&|edit| edit.oldest_log = Some(5)).is_err());
    assert!(with(&|edit| edit.logs_added.push(5)).is_err());
    assert!(with(&|edit| edit.value_files_added.push((6, 1))).is_err());
    assert!(with(&|edit| edit.value_files_removed.push(6)).is_err());
    assert!(with(&|edit| edit.bound.push((7, 1))).is_err(), "no such log or value file");
    assert!(with(&|edit| edit.bound.push((3, 1))).is_err(), "a table");
    assert!(with(&|edit| edit.logs_ended.push((5, 1))).is_err(), "a value file");
    assert!(with(&|edit| edit.keyspaces_dropped.push(0)).is_err(), "the default keyspace");
    assert!(with(&|edit| edit.keyspaces_dropped.push(1)).is_err());
    assert!(with(&|edit| edit.keyspaces_created.push((1, "a".to_owned()))).is_err(), "number not given out");
    assert!(with(&|edit| edit.types.push((1, StatedTypes::default()))).is_err(), "types of no keyspace");
    assert!(with(&|edit| edit.options.push((1, KeyspaceOptions::default()))).is_err(), "options of no keyspace");
    let create = |name: &str| {
        let created = vec![(1, name.to_owned())];
        state.apply(&ManifestEdit { keyspaces_created: created, next_keyspace: Some(2), ..ManifestEdit::default() })
    };
    assert!(create("default").is_err(), "two of one name");
    let pointing = TableFileMeta { values: vec![(5, 40)], ..table(8, 30, 31, (1, 2)) };
    let pointed = with(&|edit| edit.added.push((0, 2, Arc::new(pointing.clone())))).unwrap();
    assert_eq!(pointed.value_files[&5].dead_bytes(), 60);
    assert!(
        pointed.apply(&ManifestEdit { value_files_removed: vec![5], ..ManifestEdit::default() }).is_err(),
        "still pointed into"
    );
    let emptied = pointed.apply(&ManifestEdit {
        removed: vec![(0, 2, 8)],
        value_files_removed: vec![5],
        ..ManifestEdit::default()
    });
    assert!(emptied.unwrap().value_files.is_empty());
}

#[test]
fn every_cut_and_every_changed_byte_of_an_edit_is_decoded_or_refused_without_a_panic() {
    let mut random = Random::new(3);
    let mut state = ManifestState::new(7);
    for _ in 0..30 {
        if let Ok(next) = state.apply(&random_edit(&mut random, &state)) {
            state = next;
        }
    }
    let (mut bytes, mut edit) = (Vec::new(), state.as_edit());
    edit.options.clear();
    edit.encode(&mut bytes);
    for cut in 0..bytes.len() {
        assert_eq!(ManifestEdit::decode(&bytes[..cut]), None);
    }
    // Options come last, and only if there are any.
    bytes.clear();
    state.as_edit().encode(&mut bytes);
    for place in 0..bytes.len() {
        for change in [1, 0x7f, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[place] ^= change;
            if let Some(edit) = ManifestEdit::decode(&changed) {
                let _ = ManifestState::empty(7).change(&edit);
            }
        }
    }
}

#[test]
fn the_tables_of_a_key_and_of_a_range_are_found() {
    let mut random = Random::new(5);
    for _ in 0..200 {
        let mut levels = KeyspaceLevels::default();
        for number in 1..12 {
            let mut next = levels.clone();
            let table = drawn(&mut random, number, number * 10, &[]);
            if table.is_sensible() && next.add(random.below(3) as usize, vec![Arc::new(table)]).is_ok() {
                levels = next;
            }
        }
        let numbers = |tables: &mut dyn Iterator<Item = &Arc<TableFileMeta>>| {
            tables.map(|table| table.number).collect::<Vec<_>>()
        };
        for level in 0..3 {
            for number in 0..KEYS + 8 {
                let sought = key(number);
                let bounds = (Bound::Included(sought.as_slice()), Bound::Included(sought.as_slice()));
                let has = |table: &&Arc<TableFileMeta>| {
                    table.smallest <= sought
                        && if table.largest_excluded { sought < table.largest } else { sought <= table.largest }
                };
                let expected = numbers(&mut levels.level(level).iter().filter(has));
                assert_eq!(numbers(&mut levels.overlapping(level, bounds)), expected);
                if level > 0 {
                    assert_eq!(numbers(&mut levels.find(level, &sought).into_iter()), expected);
                }
            }
            let (from, to) = (key(random.below(KEYS)), key(random.below(KEYS)));
            for range in [
                (Bound::Excluded(&from[..]), Bound::Excluded(&to[..])),
                (Bound::Unbounded, Bound::Included(&to[..])),
                (Bound::Excluded(&from[..]), Bound::Unbounded),
            ] {
                let expected = numbers(&mut levels.level(level).iter().filter(|table| table.overlaps(range)));
                assert_eq!(numbers(&mut levels.overlapping(level, range)), expected);
            }
        }
    }
}

#[test]
fn files_stay_bound_to_the_opening_that_wrote_them() {
    let first = ManifestEdit {
        logs_added: vec![3],
        value_files_added: vec![(4, 100)],
        next_file: Some(5),
        ..ManifestEdit::default()
    };
    let mut state = ManifestState { nonce: 11, ..ManifestState::new(7) }.apply(&first).unwrap();
    assert_eq!((state.binding_of(3).nonce, state.binding_of(4).nonce), (11, 11));
    state.begin_opening(12);
    let second = ManifestEdit {
        logs_added: vec![6],
        value_files_added: vec![(5, 9)],
        bound: vec![(5, 11)],
        next_file: Some(7),
        ..ManifestEdit::default()
    };
    let state = state.apply(&second).unwrap();
    let nonces = |state: &ManifestState| [3, 4, 5, 6].map(|number| state.binding_of(number).nonce);
    assert_eq!(nonces(&state), [11, 11, 11, 12]);
    let knows = |state: &ManifestState, nonce| state.knows(crate::block::header::StoreBinding { store: 7, nonce });
    assert!(knows(&state, 11) && knows(&state, 12) && !knows(&state, 13));
    // Through its encoding.
    let again = ManifestState { nonce: 12, ..ManifestState::empty(7) }.apply(&state.as_edit()).unwrap();
    assert_eq!(again, state);
    let mut state = state
        .apply(&ManifestEdit { oldest_log: Some(6), value_files_removed: vec![4, 5], ..ManifestEdit::default() })
        .unwrap();
    assert!(state.bound.is_empty());
    state.forget_openings();
    assert!(!knows(&state, 11) && knows(&state, 12));
}

#[test]
fn types_that_are_stated_are_counted() {
    let types = |values: &str| Arc::new(RecordType::new(KeyType::U64, values.parse::<ValueType>().unwrap()));
    let mut state = ManifestState::new(7);
    for (count, values) in [(1, "u8"), (2, "{a: u8}"), (3, "bytes")] {
        let stated = StatedTypes { generation: count, ..StatedTypes::next(types(values)) };
        let mut bytes = Vec::new();
        ManifestEdit { types: vec![(0, stated.clone())], ..ManifestEdit::default() }.encode(&mut bytes);
        state = state.apply(&ManifestEdit::decode(&bytes).unwrap()).unwrap();
        assert_eq!(state.keyspaces[&0].types, stated);
    }
    let again = ManifestEdit {
        types: vec![(0, StatedTypes { generation: 3, ..StatedTypes::next(types("u8")) })],
        ..Default::default()
    };
    assert!(state.apply(&again).is_err(), "generations grow");
    let mut bytes = Vec::new();
    state.as_edit().encode(&mut bytes);
    let edit = ManifestEdit::decode(&bytes).unwrap();
    let copy = ManifestState::empty(7).apply(&edit).unwrap();
    assert_eq!(copy.keyspaces[&0].types.generation, 3, "a new manifest keeps them");
}
