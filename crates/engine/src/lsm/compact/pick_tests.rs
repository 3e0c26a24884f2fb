//! Tests of compaction picking against a model. Goal: whatever jobs are chosen, and in whatever order they run and end,
//! every read finds what was written, now and at the oldest snapshot; the work ends, and is bounded. Method: tables of
//! single entries in memory, merged by the simplest code possible; several concurrent jobs that end in random order.

use super::pick::{PickLimits, Picker, RangeStep};
use crate::lsm::state::compaction_job::{CompactionJob, JobReason};
use crate::lsm::state::version::{LEVELS, ManifestEdit, ManifestState, TableFileMeta};
use ogive_testkit::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

const ENTRY_BYTES: u64 = 10;
const VALUE_BYTES: u64 = 100;

/// By key, then newest first: `None` for a removal, or the value file.
type ModelEntries = BTreeMap<(u64, std::cmp::Reverse<u64>), Option<u64>>;

struct ModelStore {
    state: ManifestState,
    contents: BTreeMap<u64, ModelEntries>,
    written: ModelEntries,
    limits: PickLimits,
    running: Vec<Arc<CompactionJob>>,
    flushed_bytes: u64,
    merged_bytes: u64,
}

fn limits() -> PickLimits {
    PickLimits {
        level0_tables: 4,
        level0_tables_max: 12,
        base_bytes: 4_000,
        factor: 4,
        table_bytes: 1_000,
        job_bytes: 1 << 40,
        dropped_percent: 50,
        dead_percent: 25,
        hidden: BTreeMap::new(),
        oldest_snapshot: u64::MAX,
        expired_by_ms: 0,
    }
}

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn meta(number: u64, entries: &ModelEntries) -> TableFileMeta {
    let sequences = || entries.keys().map(|(_, sequence)| sequence.0);
    let keys: BTreeSet<u64> = entries.keys().map(|(key, _)| *key).collect();
    let mut values: BTreeMap<u64, u64> = BTreeMap::new();
    entries.values().flatten().for_each(|&file| *values.entry(file).or_default() += VALUE_BYTES);
    TableFileMeta {
        number,
        bytes: entries.len() as u64 * ENTRY_BYTES,
        records: entries.len() as u64,
        tombstones: entries.values().filter(|value| value.is_none()).count() as u64,
        shadowed: (entries.len() - keys.len()) as u64,
        smallest: key(*keys.first().unwrap()),
        largest: key(*keys.last().unwrap()),
        smallest_sequence: sequences().min().unwrap(),
        largest_sequence: sequences().max().unwrap(),
        values: values.into_iter().collect(),
        ..TableFileMeta::default()
    }
}

impl ModelStore {
    fn new(limits: PickLimits) -> Self {
        Self {
            state: ManifestState::new(1),
            contents: BTreeMap::new(),
            written: ModelEntries::new(),
            limits,
            running: Vec::new(),
            flushed_bytes: 0,
            merged_bytes: 0,
        }
    }

    fn picker(&self) -> Picker<'_> {
        Picker { state: &self.state, limits: &self.limits, running: &self.running }
    }

    fn apply(&mut self, edit: &ManifestEdit) {
        self.state = self.state.apply(edit).unwrap();
        self.contents.retain(|number, _| self.state.tables().any(|(_, _, table)| table.number == *number));
        let removed =
            ManifestEdit { value_files_removed: self.state.unreferenced_value_files(), ..ManifestEdit::default() };
        self.state = self.state.apply(&removed).unwrap();
    }

    /// Flushes a memtable with these keys, some of them removed.
    fn flush(&mut self, keys: impl Iterator<Item = u64>, mut is_removal: impl FnMut() -> bool) {
        let (table, file) = (self.state.next_file, self.state.next_file + 1);
        let mut entries = ModelEntries::new();
        let mut sequence = self.state.last_sequence;
        for key in keys {
            sequence += 1;
            entries.insert((key, std::cmp::Reverse(sequence)), (!is_removal()).then_some(file));
        }
        let value_bytes = entries.values().flatten().count() as u64 * VALUE_BYTES;
        self.flushed_bytes += entries.len() as u64 * ENTRY_BYTES;
        self.written.extend(entries.iter().map(|(place, value)| (*place, *value)));
        let edit = ManifestEdit {
            added: vec![(0, 0, Arc::new(meta(table, &entries)))],
            value_files_added: vec![(file, value_bytes)],
            next_file: Some(file + 1),
            last_sequence: Some(sequence),
            ..ManifestEdit::default()
        };
        self.contents.insert(table, entries);
        self.apply(&edit);
    }

    /// Runs a job, whatever has changed since it was picked.
    fn finish(&mut self, job: &CompactionJob) {
        let mut edit = job.edit();
        if !job.moves {
            let mut entries = ModelEntries::new();
            for (_, table) in &job.inputs {
                entries.extend(self.contents[&table.number].iter().map(|(place, value)| (*place, *value)));
            }
            self.merged_bytes += entries.len() as u64 * ENTRY_BYTES;
            let mut next_file = self.state.next_file;
            let file = next_file;
            next_file += 1;
            let kept = collected(kept(&entries, self.limits.oldest_snapshot, job.is_bottom), &job.collect, file);
            let copied = kept.values().flatten().filter(|&&found| found == file).count() as u64;
            if copied > 0 {
                edit.value_files_added.push((file, copied * VALUE_BYTES));
            }
            for entries in outputs(kept, job, self.limits.table_bytes) {
                edit.added.push((0, job.output_level, Arc::new(meta(next_file, &entries))));
                self.contents.insert(next_file, entries);
                next_file += 1;
            }
            edit.next_file = Some(next_file);
        }
        self.apply(&edit);
    }

    fn get(&self, key_number: u64, at: u64) -> Option<u64> {
        let sought = key(key_number);
        let bounds = (Bound::Included(sought.as_slice()), Bound::Included(sought.as_slice()));
        let levels = self.state.levels(0).unwrap();
        let mut tables = (0..LEVELS).flat_map(|level| levels.overlapping(level, bounds));
        tables.find_map(|table| {
            let from = (key_number, std::cmp::Reverse(at));
            let mut found = self.contents[&table.number].range(from..=(key_number, std::cmp::Reverse(0)));
            found.next().map(|((_, sequence), value)| value.map(|_| sequence.0))
        })?
    }

    fn check(&self, keys: u64) {
        for key in 0..keys {
            for at in [self.state.last_sequence, self.limits.oldest_snapshot.min(self.state.last_sequence)] {
                let mut written = self.written.range((key, std::cmp::Reverse(at))..=(key, std::cmp::Reverse(0)));
                let expected = written.next().and_then(|((_, sequence), value)| value.map(|_| sequence.0));
                assert_eq!(self.get(key, at), expected, "key {key} at {at}");
            }
        }
    }

    /// Runs all due jobs.
    fn drain(&mut self) {
        for job in std::mem::take(&mut self.running) {
            self.finish(&job);
        }
        let mut jobs = 0;
        while let Some(job) = self.picker().pick() {
            self.finish(&job);
            jobs += 1;
            assert!(jobs < 10_000, "compaction does not end: {job:?}");
        }
    }

    /// Compacts a range to the last level; returns the number of jobs.
    fn compact(&mut self, range: (Bound<&[u8]>, Bound<&[u8]>)) -> u32 {
        let mut jobs = 0;
        loop {
            let step = match self.picker().pick_range(0, range) {
                RangeStep::Done => self.picker().pick_run(0, range),
                step => step,
            };
            match step {
                RangeStep::Job(job) => self.finish(&job),
                RangeStep::Wait => panic!("nothing is running"),
                RangeStep::Done => return jobs,
            }
            jobs += 1;
            assert!(jobs < 10_000, "compaction does not end");
        }
    }
}

/// The entries that a compaction keeps.
fn kept(entries: &ModelEntries, oldest_snapshot: u64, is_bottom: bool) -> ModelEntries {
    let (mut kept, mut decided) = (ModelEntries::new(), None);
    for (&(key, sequence), &value) in entries {
        if decided == Some(key) {
            continue;
        }
        if sequence.0 <= oldest_snapshot {
            decided = Some(key);
            if is_bottom && value.is_none() {
                continue;
            }
        }
        kept.insert((key, sequence), value);
    }
    kept
}

fn collected(mut entries: ModelEntries, collect: &BTreeSet<u64>, file: u64) -> ModelEntries {
    for value in entries.values_mut() {
        *value = value.map(|found| if collect.contains(&found) { file } else { found });
    }
    entries
}

fn outputs(entries: ModelEntries, job: &CompactionJob, table_bytes: u64) -> Vec<ModelEntries> {
    let table_bytes = if job.makes_one_table { u64::MAX } else { table_bytes };
    let (mut cuts, mut tables, mut last) = (job.cuts(table_bytes), Vec::<ModelEntries>::new(), None);
    for (place, value) in entries {
        let is_new = last != Some(place.0) && {
            let is_cut = cuts.is_cut(&key(place.0));
            tables.last().is_none_or(|table| table.len() as u64 * ENTRY_BYTES >= table_bytes || is_cut)
        };
        if is_new {
            tables.push(ModelEntries::new());
        }
        tables.last_mut().unwrap().insert(place, value);
        last = Some(place.0);
    }
    tables
}

#[test]
fn reads_stay_right_while_jobs_run_side_by_side_and_the_work_ends() {
    let mut reasons = BTreeMap::new();
    for seed in 0..25 {
        let mut random = Random::new(seed);
        let keys = [40, 300, 3_000][seed as usize % 3];
        let job_bytes = if seed % 2 == 0 { 1 << 40 } else { 3_000 };
        let mut store = ModelStore::new(PickLimits { job_bytes, oldest_snapshot: 0, ..limits() });
        for step in 0..250 {
            match random.below(8) {
                0..=2 => {
                    // Some stores are filled in the order of their keys, by memtables of a few records.
                    let (start, count, spread) = match seed % 5 {
                        4 => (step * 7 % keys, random.below(3) + 1, 3),
                        _ => (random.below(keys), random.below(60) + 1, if random.one_in(2) { keys } else { 20 }),
                    };
                    let mut drawn = random.clone();
                    let share = [2, 10, 1000][random.below(3) as usize];
                    let mut removals = random.clone();
                    let keys = (0..count).map(|_| (start + drawn.below(spread)) % keys);
                    store.flush(keys, || removals.one_in(share));
                }
                3 => {
                    let oldest = store.state.last_sequence.saturating_sub(random.below(100));
                    store.limits.oldest_snapshot = store.limits.oldest_snapshot.max(oldest);
                }
                4 if store.running.is_empty() && random.one_in(10) => {
                    let (from, to) = (key(random.below(keys)), key(random.below(keys)));
                    store.compact((Bound::Included(&from), Bound::Excluded(&to)));
                }
                4 | 5 if !store.running.is_empty() => {
                    let job = store.running.swap_remove(random.below(store.running.len() as u64) as usize);
                    store.finish(&job);
                }
                _ if store.running.len() < 3 => {
                    if let Some(job) = store.picker().pick() {
                        *reasons.entry(format!("{:?} {}", job.reason, job.moves)).or_insert(0) += 1;
                        store.running.push(Arc::new(job));
                    }
                }
                _ => {}
            }
            if step % 10 == 0 {
                store.check(keys);
            }
        }
        store.drain();
        store.check(keys);
        store.limits.oldest_snapshot = u64::MAX;
        store.drain();
        store.check(keys);
        let files = store.state.value_files.values();
        let (dead, bytes) = files.fold((0, 0), |sums, file| (sums.0 + file.dead_bytes(), sums.1 + file.bytes));
        // Files of a few values are left alone, however many of these are dead.
        assert!(dead * 100 <= bytes * 32 || seed % 5 == 4, "seed {seed}: {dead} bytes of {bytes} are dead");
        store.compact((Bound::Unbounded, Bound::Unbounded));
        store.check(keys);
        assert!(store.state.tables().all(|(_, level, table)| level == LEVELS - 1 && !table.is_dropped_at_the_bottom()));
        assert_eq!(store.compact((Bound::Unbounded, Bound::Unbounded)), 0, "nothing is left to do");
    }
    // Moves are rare here; a load in key order has many.
    for reason in ["Level0 false", "Size false", "Droppable false", "Collection false", "SmallTables false"] {
        assert!(reasons.contains_key(reason), "{reason} never happened: {reasons:?}");
    }
}

#[test]
fn small_neighbours_become_tables_of_full_size_on_request() {
    let mut store = ModelStore::new(limits());
    for start in 0..400 {
        store.flush((0..3).map(|i| start * 10 + i), || false);
    }
    store.compact((Bound::Unbounded, Bound::Unbounded));
    store.check(4_000);
    let mut tables: Vec<_> = store.state.tables().map(|(_, _, table)| Arc::clone(table)).collect();
    tables.sort_by(|one, other| one.smallest.cmp(&other.smallest));
    assert!(tables.len() <= 24, "{} tables", tables.len());
    for pair in tables.windows(2) {
        assert!(pair[0].bytes + pair[1].bytes > store.limits.table_bytes, "two tables would be one");
    }
    // Each of the 1,200 entries is merged a few times at most.
    assert!(store.merged_bytes <= 3 * 1_200 * ENTRY_BYTES, "{} bytes were merged", store.merged_bytes);
}

#[test]
fn a_load_in_the_order_of_keys_is_written_once() {
    let mut store = ModelStore::new(limits());
    for table in 0..200 {
        store.flush(table * 100..(table + 1) * 100, || false);
        store.drain();
    }
    assert_eq!(store.merged_bytes, 0);
    assert!(store.state.levels(0).unwrap().level(0).len() < 4);
    store.compact((Bound::Unbounded, Bound::Unbounded));
    assert_eq!(store.merged_bytes, 0);
    store.check(20_000);
}

#[test]
fn small_tables_in_the_order_of_keys_do_not_stay_small() {
    for (flushes, keys, table_bytes, most) in
        [(400, 10, 1_000, 110), (4_000, 1, 1_000, 140), (4_000, 1, 1 << 20, 24), (400, 1, 0, 400)]
    {
        let mut store = ModelStore::new(PickLimits { table_bytes, ..limits() });
        for table in 0..flushes {
            store.flush(table * keys..(table + 1) * keys, || false);
            store.drain();
        }
        let tables = store.state.tables().count();
        assert!(tables <= most, "{tables} tables of {flushes} flushes");
        let times = store.merged_bytes as f64 / store.flushed_bytes as f64;
        assert!(times <= 3.0 || table_bytes > 1_000, "merged {times} times");
        store.check(4_000);
    }
}

#[test]
fn a_random_load_is_written_no_more_often_than_levels_ask_for() {
    // Proportional to 13 memtables of 64 MiB, as in a load of ten million records of 80 bytes.
    let mut store = ModelStore::new(limits());
    let mut random = Random::new(1);
    for _ in 0..13 {
        let mut drawn = random.clone();
        random.next_u64();
        store.flush((0..100).map(|_| drawn.next_u64() >> 1), || false);
        store.drain();
    }
    store.compact((Bound::Unbounded, Bound::Unbounded));
    let times = (store.flushed_bytes + store.merged_bytes) as f64 / store.flushed_bytes as f64;
    assert!(times < 3.2, "written {times} times");
}

#[test]
fn overwrites_shadow_a_small_part_and_cost_little() {
    let mut store = ModelStore::new(PickLimits { factor: 10, ..limits() });
    let (keys, mut random) = (30_000, Random::new(2));
    store.flush(0..keys, || false);
    store.compact((Bound::Unbounded, Bound::Unbounded));
    let start = store.flushed_bytes;
    for _ in 0..1200 {
        let mut drawn = random.clone();
        random.next_u64();
        store.flush((0..100).map(|_| drawn.below(keys)), || false);
        store.drain();
    }
    let times = (store.flushed_bytes - start + store.merged_bytes) as f64 / (store.flushed_bytes - start) as f64;
    let space = store.state.levels(0).unwrap().total_bytes() as f64 / (keys * ENTRY_BYTES) as f64;
    assert!(times < 14.0 && space < 1.3, "written {times} times, space {space}");
    let dead: u64 = store.state.value_files.values().map(|file| file.dead_bytes()).sum();
    let live: u64 = store.state.value_files.values().map(|file| file.live_bytes).sum();
    assert!(dead * 100 < live * 60, "{dead} bytes of values dead, {live} live");
    store.check(keys);
}

#[test]
fn the_reason_of_an_asked_job_is_that_it_was_asked() {
    let mut store = ModelStore::new(limits());
    store.flush(0..10, || false);
    store.flush(5..15, || false);
    let RangeStep::Job(job) = store.picker().pick_range(0, (Bound::Unbounded, Bound::Unbounded)) else {
        panic!("there is work");
    };
    assert_eq!((job.reason, job.is_bottom, job.inputs.len()), (JobReason::Requested, true, 2));
    store.running.push(Arc::new(*job));
    assert_eq!(store.picker().pick_range(0, (Bound::Unbounded, Bound::Unbounded)), RangeStep::Wait);
}
