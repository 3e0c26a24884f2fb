//! Reference tests of stores. Goal: a store answers as ordered maps do, after any sequence of operations. Method: a
//! state machine. Random operations go to a store and to a model of it, and all answers are compared: single writes,
//! batches over many keyspaces, range removals, compare-and-swap, streams, ingested tables, lookups, ranges from both
//! ends, snapshots; with flushes, compactions, value collection, keyspaces created and dropped, clean closes,
//! checkpoints, and images of the folder taken while it is open. Memory and tables are so small that all of this
//! happens often. The options are drawn anew for each opening. Without background threads each run is the same.

use crate::learning::{POLICIES, SCOPES, USUAL_SCOPE, policy};
use crate::model::{Space, Value, bounds, key};
use crate::support::Draws;
use ogive::block::Slice;
use ogive::io::{LocalStorage, MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions, DbSnapshot, Keyspace, Swap};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::{Cause, Durability, Error};
use ogive_testkit::{Random, Repeat, named_seed, seeds};
use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;
use tempfile::{TempDir, tempdir};

/// The default keyspace, two others that stay, and one that is dropped now and then.
const SPACES: [&str; 4] = ["default", "letters", "numbers", "passing"];

/// A random keyspace, mostly the first.
fn space(random: &mut Random) -> &'static str {
    SPACES[if random.below(100) < 85 { 0 } else { 1 + random.below(3) as usize }]
}

/// A store and its model.
struct World {
    storage: Arc<dyn Storage>,
    place: Place,
    /// The folder of the files, if they are in one.
    folder: Option<TempDir>,
    /// The previous folder, until the store in it is closed.
    left: Option<TempDir>,
    /// The options of this opening, and those drawn for all.
    options: DbOptions,
    draws: Draws,
    db: Option<Db>,
    handles: BTreeMap<&'static str, Keyspace>,
    spaces: BTreeMap<&'static str, Space>,
    snapshots: Vec<(DbSnapshot, u64, u64)>,
    random: Random,
    /// Number of distinct keys.
    keys: u64,
    now: u64,
    /// Operations so far.
    operations: u64,
    /// Number of dropped keyspaces: older snapshots see nothing of their successors.
    drops: u64,
    /// The keyspaces that were dropped since the store was opened, which older snapshots still see, by their number.
    gone: BTreeMap<u64, (Keyspace, Space)>,
    stored: Seen,
}

/// The kind of storage in which a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Memory,
    Folder,
    Objects,
}

impl Place {
    /// Files in memory, or objects.
    fn any(seed: u64) -> Self {
        if seed.is_multiple_of(2) { Self::Memory } else { Self::Objects }
    }

    fn in_memory(self) -> Arc<dyn Storage> {
        Arc::new(if self == Self::Objects { MemoryStorage::objects() } else { MemoryStorage::new() })
    }
}

/// The activity of the store, to check that a run exercised it.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    flushes: u64,
    compactions: u64,
    moved_value_bytes: u64,
    reopened: u64,
    most_keys: usize,
}

impl World {
    /// Creates the store in memory or in a folder; the first opening has the given options.
    fn new(seed: u64, keys: u64, options: DbOptions, place: Place) -> Self {
        let mut world = Self {
            storage: place.in_memory(),
            place,
            folder: (place == Place::Folder).then(|| tempdir().unwrap()),
            left: None,
            draws: Draws::new(seed, &options),
            options,
            db: None,
            handles: BTreeMap::new(),
            spaces: BTreeMap::new(),
            snapshots: Vec::new(),
            random: Random::new(seed),
            keys,
            now: 0,
            operations: 0,
            drops: 0,
            gone: BTreeMap::new(),
            stored: Seen::default(),
        };
        world.open();
        world
    }

    fn open(&mut self) {
        if let Some(folder) = &self.folder {
            self.storage = self.draws.storage(folder.path(), &self.options);
        }
        let db = crate::support::open_or_raise(&self.storage, &self.options);
        for name in SPACES {
            let handle = if name == "default" { (*db).clone() } else { db.keyspace(name).unwrap() };
            self.handles.insert(name, handle);
            self.spaces.entry(name).or_default();
        }
        self.db = Some(db);
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    /// The position in the run, for messages.
    fn place(&self) -> String {
        format!("operation {}", self.operations)
    }

    fn put(&mut self, name: &'static str, key: &[u8], value: Option<Value>) {
        let keeps_versions = !self.snapshots.is_empty();
        self.spaces.get_mut(name).unwrap().put(key, value, self.now, keeps_versions);
    }

    fn key(&mut self) -> Vec<u8> {
        key(&mut self.random, self.keys)
    }

    fn value(&mut self) -> Value {
        Value::random(&mut self.random)
    }

    /// A random time to read at: now, or that of a snapshot.
    fn moment(&mut self) -> (Option<DbSnapshot>, u64, u64) {
        if self.snapshots.is_empty() || !self.random.one_in(3) {
            return (None, u64::MAX, u64::MAX);
        }
        let index = self.random.below(self.snapshots.len() as u64) as usize;
        let (snapshot, at, drops) = &self.snapshots[index];
        (Some(snapshot.clone()), *at, *drops)
    }

    fn write_one(&mut self) {
        let (name, key, value) = (space(&mut self.random), self.key(), self.value());
        self.now += 1;
        self.operations += 1;
        match self.random.below(100) {
            0..75 => self.handles[name].insert(&key, value.bytes()).unwrap(),
            75 => self.handles[name].insert_stream(&key, &mut &value.bytes()[..]).unwrap(),
            76..97 => {
                self.handles[name].remove(&key).unwrap();
                return self.put(name, &key, None);
            }
            _ => return self.remove_range(name),
        }
        self.put(name, &key, Some(value));
    }

    /// A random range, usually of a few keys.
    fn small_range(&mut self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        if self.random.one_in(2_000) {
            return bounds(&mut self.random, self.keys);
        }
        let start = self.key();
        let mut end = start.clone();
        match end.last_mut() {
            Some(last) if self.random.one_in(2) => *last = last.saturating_add(3),
            _ => end.extend_from_slice(b"\x05\x05"),
        }
        (Bound::Included(start), if self.random.one_in(2) { Bound::Included(end) } else { Bound::Excluded(end) })
    }

    fn remove_range(&mut self, name: &'static str) {
        let range = self.small_range();
        self.handles[name].remove_range(range.clone()).unwrap();
        let keeps_versions = !self.snapshots.is_empty();
        self.spaces.get_mut(name).unwrap().remove_range(&range, self.now, keeps_versions);
    }

    fn write_batch(&mut self, most: u64) {
        let mut batch = self.db().batch();
        let count = 1 + self.random.below(most);
        self.now += 1;
        for _ in 0..count {
            let (name, key) = (space(&mut self.random), self.key());
            if self.random.one_in(200) {
                let range = self.small_range();
                batch.remove_range(&self.handles[name], range.clone());
                let keeps_versions = !self.snapshots.is_empty();
                self.spaces.get_mut(name).unwrap().remove_range(&range, self.now, keeps_versions);
            } else if self.random.one_in(12) {
                batch.remove(&self.handles[name], &key);
                self.put(name, &key, None);
            } else {
                let value = self.value();
                batch.insert(&self.handles[name], &key, value.bytes());
                self.put(name, &key, Some(value));
            }
        }
        if self.random.one_in(4) {
            batch.durability([Durability::Synced, Durability::Grouped, Durability::Buffered][count as usize % 3]);
        }
        assert!(batch.len() <= count);
        self.operations += count;
        batch.commit().unwrap();
    }

    fn compare_and_swap(&mut self) {
        let (name, key) = (space(&mut self.random), self.key());
        let current = self.spaces[name].get(&key, u64::MAX);
        let expected = if self.random.one_in(3) { Some(self.value()) } else { current };
        let new = if self.random.one_in(4) { None } else { Some(self.value()) };
        let (expected_bytes, new_bytes) = (expected.map(Value::bytes), new.map(Value::bytes));
        self.now += 1;
        self.operations += 1;
        let outcome =
            self.handles[name].compare_and_swap(&key, expected_bytes.as_deref(), new_bytes.as_deref()).unwrap();
        match outcome {
            Swap::Done => {
                assert_eq!(current.map(Value::bytes), expected_bytes, "{}", self.place());
                self.put(name, &key, new);
            }
            Swap::Mismatch(found) => {
                assert_ne!(current.map(Value::bytes), expected_bytes, "{}", self.place());
                assert_same(found.as_ref(), current, &self.place());
            }
        }
    }

    fn look_up(&mut self) {
        let name = space(&mut self.random);
        let (snapshot, at, drops) = self.moment();
        let key = self.key();
        self.operations += 1;
        let expected = if drops < self.drops && name == "passing" { None } else { self.spaces[name].get(&key, at) };
        let (handle, place) = (&self.handles[name], self.place());
        match (snapshot, self.random.below(4)) {
            (Some(snapshot), 0) => {
                assert_eq!(snapshot.contains_key(handle, &key).unwrap(), expected.is_some(), "{place}")
            }
            (Some(snapshot), _) => assert_same(snapshot.get(handle, &key).unwrap().as_ref(), expected, &place),
            (None, 0) => assert_eq!(handle.contains_key(&key).unwrap(), expected.is_some(), "{place}"),
            (None, 1) => {
                let mut value = vec![1, 2, 3];
                assert_eq!(handle.get_into(&key, &mut value).unwrap(), expected.is_some(), "{place}");
                assert!(expected.map_or(value.is_empty(), |expected| expected.is(&value)), "{place}");
            }
            (None, _) => {
                assert_same(handle.get(&key).unwrap().as_ref(), expected, &place);
                // The same lookup, step by step.
                assert_same(handle.get_observed(&key, &|_| {}).unwrap().as_ref(), expected, &place);
            }
        }
    }

    fn look_up_many(&mut self) {
        let name = space(&mut self.random);
        let keys: Vec<Vec<u8>> = (0..self.random.below(20)).map(|_| key(&mut self.random, self.keys)).collect();
        self.operations += 1;
        let values = self.handles[name].multi_get(&keys).unwrap();
        assert_eq!(values.len(), keys.len());
        for (key, value) in keys.iter().zip(&values) {
            assert_same(value.as_ref(), self.spaces[name].get(key, u64::MAX), &self.place());
        }
        if let Some(key) = keys.first() {
            let mut bytes = Vec::new();
            let stream = self.handles[name].get_stream(key).unwrap();
            let has_value = stream.is_some_and(|mut stream| stream.read_to_end(&mut bytes).is_ok());
            let expected = self.spaces[name].get(key, u64::MAX);
            assert_eq!(has_value.then_some(bytes), expected.map(Value::bytes), "{}", self.place());
        }
    }

    /// Some steps through a range, from both ends in any order.
    fn scan(&mut self) {
        let name = space(&mut self.random);
        let (snapshot, at, drops) = self.moment();
        let of_prefix = self.random.one_in(4);
        let range = if of_prefix {
            let mut prefix = self.key();
            prefix.truncate(self.random.below(prefix.len() as u64 + 1) as usize);
            (Bound::Included(prefix), Bound::Unbounded)
        } else {
            bounds(&mut self.random, self.keys)
        };
        self.operations += 1;
        let (steps, back, place) = (1 + self.random.below(40), self.random.below(101), self.place());
        let mut random = self.random.clone();
        self.random.next_u64();
        let mut goes_back = || random.below(100) < back;
        let (handle, space) = self.seen_at(name, drops);
        let found = match (&range.0, snapshot) {
            (Bound::Included(prefix), None) if of_prefix => handle.prefix(prefix),
            (Bound::Included(prefix), Some(snapshot)) if of_prefix => snapshot.prefix(handle, prefix),
            (_, None) => handle.range(range.clone()),
            (_, Some(snapshot)) => snapshot.range(handle, range.clone()),
        };
        let range = if of_prefix { with_end_of_prefix(range) } else { range };
        let mut expected = space.range(&range, at);
        match steps % 4 {
            0 => follow(found.keys(), &mut expected, steps, &mut goes_back, |key, (there, _)| {
                assert_eq!(*key, **there, "{place}");
            }),
            1 => follow(found.pairs(), &mut expected, steps, &mut goes_back, |pair, (key, value)| {
                assert_eq!(*pair.key(), **key, "{place}");
                assert_same(Some(&pair.value().unwrap()), Some(*value), &place);
            }),
            _ => follow(found, &mut expected, steps, &mut goes_back, |(key, found), (there, value)| {
                assert_eq!(*key, **there, "{place}");
                assert_same(Some(found), Some(*value), &place);
            }),
        }
    }

    fn take_or_drop_snapshot(&mut self) {
        if self.snapshots.len() < 6 && self.random.one_in(2) {
            let moment = (self.db().snapshot(), self.now, self.drops);
            self.snapshots.push(moment);
        } else if !self.snapshots.is_empty() {
            let index = self.random.below(self.snapshots.len() as u64) as usize;
            self.snapshots.swap_remove(index);
        }
    }

    fn drop_keyspace(&mut self) {
        let old = self.handles["passing"].clone();
        assert!(self.db().drop_keyspace("passing").unwrap());
        assert!(!self.db().drop_keyspace("passing").unwrap());
        assert!(matches!(old.get("a"), Err(Error { cause: Cause::KeyspaceDropped, .. })), "{}", self.place());
        assert!(matches!(old.insert("a", "b"), Err(Error { cause: Cause::KeyspaceDropped, .. })), "{}", self.place());
        let new = self.db().keyspace("passing").unwrap();
        assert_eq!(new.iter().count(), 0, "{}", self.place());
        self.handles.insert("passing", new);
        let left = self.spaces.insert("passing", Space::default()).unwrap();
        self.gone.insert(self.drops, (old, left));
        self.drops += 1;
    }

    /// Ingests tables; of duplicate keys, the later table wins.
    fn ingest(&mut self) {
        let (name, elsewhere) = (space(&mut self.random), MemoryStorage::new());
        let shared: Arc<dyn Storage> = Arc::new(elsewhere);
        let mut files = Vec::new();
        self.now += 1;
        for number in 0..1 + self.random.below(3) {
            let first = self.random.below(self.keys);
            let near = self.random.one_in(2);
            let records: BTreeMap<Vec<u8>, Value> = (0..self.random.below(300))
                .map(|index| {
                    let key = if near { (first + index).to_be_bytes().to_vec() } else { self.key() };
                    (key, self.value())
                })
                .collect();
            let mut writer =
                TableWriter::create((Arc::clone(&shared), &format!("{number}")), TableWriteOptions::default()).unwrap();
            for (key, value) in &records {
                writer.append(key, &value.bytes()).unwrap();
            }
            writer.finish().unwrap();
            self.operations += records.len() as u64;
            records.into_iter().for_each(|(key, value)| self.put(name, &key, Some(value)));
            files.push((Arc::clone(&shared), format!("{number}")));
        }
        self.handles[name].ingest_from(&files).unwrap();
    }

    /// Switches to a storage with the current contents: the same, an image of its files, or a checkpoint.
    fn succeed(&mut self) {
        let is_alone = self.options.threads == 0;
        let way = self.random.below(4);
        if way == 3 || way > 0 && !is_alone {
            return;
        }
        let folder = self.folder.is_some().then(|| tempdir().unwrap());
        let target: Arc<dyn Storage> = match &folder {
            Some(folder) => Arc::new(LocalStorage::new(folder.path())),
            None => self.place.in_memory(),
        };
        self.make_visible();
        if way == 0 {
            self.db().checkpoint(&target).unwrap();
        } else {
            crate::support::copy(&*self.storage, &*target);
        }
        // The open store keeps its folder.
        self.left = std::mem::replace(&mut self.folder, folder);
        self.storage = target;
    }

    /// Opens the store read-only, while it is open.
    fn look_beside(&mut self) {
        if self.options.threads > 0 {
            return;
        }
        self.make_visible();
        let drawn = self.draws.others(1).next();
        let memory_bytes = drawn.memory_bytes.max(8 << 20);
        let options = drawn.memory_bytes(memory_bytes);
        let beside = Db::open_read_only(Arc::clone(&self.storage), &options).unwrap();
        for _ in 0..50 {
            let key = self.key();
            let expected = self.spaces["default"].get(&key, u64::MAX);
            assert_same(beside.get(&key).unwrap().as_ref(), expected, &self.place());
        }
        let refused = beside.insert("a", "b");
        assert!(matches!(refused, Err(Error { cause: Cause::ReadOnly, .. })), "{refused:?}");
    }

    /// Writes that are not durable yet are in no object.
    fn make_visible(&self) {
        if self.place == Place::Objects {
            self.db().persist().unwrap();
        }
    }

    /// Closes and reopens the store, or an equivalent storage.
    fn reopen(&mut self) {
        let options = self.draws.next();
        self.reopen_with(options);
    }

    /// The activity of all openings so far.
    fn seen(&self) -> Seen {
        let activity = self.db().activity();
        Seen {
            flushes: self.stored.flushes + activity.flushes,
            compactions: self.stored.compactions + activity.compactions,
            moved_value_bytes: self.stored.moved_value_bytes + activity.moved_value_bytes,
            ..self.stored
        }
    }

    /// As [`Self::seen`], with the two openings at the end of a run.
    fn seen_at_the_end(&self) -> Seen {
        let seen = self.seen();
        Seen { reopened: seen.reopened + 2, ..seen }
    }

    fn reopen_with(&mut self, options: DbOptions) {
        self.look_beside();
        self.snapshots.clear();
        self.gone.clear();
        self.stored = self.seen();
        self.stored.reopened += 1;
        self.succeed();
        self.handles.clear();
        let db = self.db.take().unwrap();
        if self.random.one_in(2) {
            db.close().unwrap();
        } else {
            drop(db);
        }
        (self.options, self.left) = (options, None);
        self.open();
        for space in self.spaces.values_mut() {
            space.forget();
        }
    }

    /// A keyspace, and what is in it, of the time after `drops` keyspaces had been dropped.
    fn seen_at(&self, name: &str, drops: u64) -> (&Keyspace, &Space) {
        match self.gone.get(&drops).filter(|_| name == "passing") {
            Some((handle, space)) => (handle, space),
            None => (&self.handles[name], &self.spaces[name]),
        }
    }

    /// Compares everything.
    fn compare(&mut self) {
        for name in SPACES {
            let mut expected = self.spaces[name].range(&(Bound::Unbounded, Bound::Unbounded), u64::MAX);
            let mut found = self.handles[name].iter();
            let count = self.spaces[name].len() as u64 + 1;
            follow(&mut found, &mut expected, count, &mut || false, |(key, found), (there, value)| {
                assert_eq!(*key, **there, "{}", self.place());
                assert_same(Some(found), Some(*value), &self.place());
            });
            assert!(found.next().is_none());
            let stats = self.db().stats().keyspaces.into_iter().find(|keyspace| keyspace.name == name).unwrap();
            let rows = self.spaces[name].range(&(Bound::Unbounded, Bound::Unbounded), u64::MAX).count() as u64;
            assert!(stats.rows == rows || !stats.is_exact, "{}: {rows} rows, {stats:?}", self.place());
        }
        for (snapshot, at, drops) in &self.snapshots {
            for name in SPACES {
                let (handle, space) = self.seen_at(name, *drops);
                let named = snapshot.keyspace(name).unwrap();
                assert_eq!(snapshot.range::<&[u8]>(&named, ..).count(), snapshot.range::<&[u8]>(handle, ..).count());
                let expected = space.range(&(Bound::Unbounded, Bound::Unbounded), *at);
                let mut found = snapshot.range::<&[u8]>(handle, ..);
                let mut expected = expected.rev();
                while let Some(record) = found.next_back() {
                    let (key, value) = record.unwrap();
                    let (there, wanted) = expected.next().expect("a record too many");
                    assert_eq!(key, *there, "{}", self.place());
                    assert_same(Some(&value), Some(wanted), &self.place());
                }
                assert!(expected.next().is_none(), "{}", self.place());
            }
        }
        assert_eq!(self.db().keyspaces().len(), SPACES.len());
    }

    /// One random step.
    fn step(&mut self, most_in_batch: u64) {
        match self.random.below(1_000) {
            0..250 => self.write_one(),
            250..330 => self.write_batch(most_in_batch),
            330..380 => self.compare_and_swap(),
            380..800 => self.look_up(),
            800..830 => self.look_up_many(),
            830..985 => self.scan(),
            985..997 => self.take_or_drop_snapshot(),
            _ => match self.random.below(60) {
                0..16 => self.db().flush().unwrap(),
                16..18 => self.db().compact().unwrap(),
                18..40 => self.db().persist().unwrap(),
                40..50 => self.reopen(),
                50..53 => self.drop_keyspace(),
                53 => self.compare(),
                _ => self.ingest(),
            },
        }
        let keys = self.spaces.values().map(Space::len).sum();
        self.stored.most_keys = self.stored.most_keys.max(keys);
    }
}

/// A prefix range, as a range with an end.
fn with_end_of_prefix(range: (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let Bound::Included(mut end) = range.0.clone() else { return range };
    while end.pop_if(|last| *last == u8::MAX).is_some() {}
    match end.last_mut() {
        Some(last) => {
            *last += 1;
            (range.0, Bound::Excluded(end))
        }
        None => range,
    }
}

/// Compares actual and expected records from either end, until both end or for a number of steps.
fn follow<F, E>(
    mut found: impl DoubleEndedIterator<Item = Result<F, Error>>,
    expected: &mut impl DoubleEndedIterator<Item = E>,
    steps: u64,
    goes_back: &mut impl FnMut() -> bool,
    compare: impl Fn(&F, &E),
) {
    for _ in 0..steps {
        let is_back = goes_back();
        let (here, there) = match is_back {
            true => (found.next_back(), expected.next_back()),
            false => (found.next(), expected.next()),
        };
        match (here, there) {
            (Some(here), Some(there)) => compare(&here.unwrap(), &there),
            (here, there) => {
                assert!(here.is_none(), "a record too many");
                assert!(there.is_none(), "a record is missing");
                assert!(found.next().is_none() && found.next_back().is_none(), "records behind the end");
                return;
            }
        }
    }
}

fn assert_same(found: Option<&Slice>, expected: Option<Value>, place: &str) {
    match (found, expected) {
        (Some(found), Some(expected)) => assert!(expected.is(found), "{place}: {found:?} is not {expected:?}"),
        (found, expected) => assert_eq!(found.is_some(), expected.is_some(), "{place}: {found:?}, {expected:?}"),
    }
}

/// Options with which everything happens often.
fn options(threads: usize) -> DbOptions {
    DbOptions::default()
        .memory_bytes(8 << 20)
        .writes(|writes| writes.memtable_bytes(256 << 10))
        .values(|values| values.separation_bytes(200))
        .levels(|levels| levels.table_bytes(128 << 10).level_bytes(512 << 10).level_factor(4))
        .objects(|objects| objects.gather_ms(0))
        .threads(threads)
}

/// Fills a store, then takes random steps up to a number of operations. With background threads, which may lag behind,
/// goes on until the activity `is_enough`, up to three times as many.
fn run(seed: u64, keys: u64, operations: u64, (options, place): (DbOptions, Place), is_enough: impl Fn(&Seen) -> bool) {
    let has_threads = options.threads > 0 && named_seed().is_none();
    let operations_max = if has_threads { 3 * operations } else { operations };
    run_in(World::new(seed, keys, options, place), seed, operations..=operations_max, is_enough);
}

/// As [`run`], from a new store.
fn run_in(mut world: World, seed: u64, operations: RangeInclusive<u64>, is_enough: impl Fn(&Seen) -> bool) {
    let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
    let (operations, operations_max) = operations.into_inner();
    while world.operations < operations / 5 * 3 {
        world.write_batch(1_000);
        if world.operations.is_multiple_of(7) {
            world.look_up();
            world.scan();
        }
    }
    while world.operations < operations || world.operations < operations_max && !is_enough(&world.seen_at_the_end()) {
        world.step(100);
    }
    world.compare();
    world.snapshots.clear();
    world.db().compact().unwrap();
    world.compare();
    // With the minimum memory and with more, the contents are the same.
    for memory_bytes in [crate::support::LEAST_MEMORY, 1 << 30] {
        let options = world.draws.next().memory_bytes(memory_bytes);
        world.reopen_with(options);
        world.compare();
    }
    assert!(is_enough(&world.stored) || named_seed().is_some(), "{:?}", world.stored);
}

#[test]
fn a_store_answers_as_maps_do() {
    run(named_seed().unwrap_or(1), 900_000, 650_000, (options(0), Place::Memory), |seen| {
        let is_large = seen.most_keys > 250_000 && seen.moved_value_bytes > 0;
        is_large && seen.flushes > 50 && seen.compactions > 50 && seen.reopened > 10
    });
}

#[test]
fn a_store_with_background_threads_answers_as_maps_do() {
    run(named_seed().unwrap_or(2), 900_000, 400_000, (options(2), Place::Memory), |seen| {
        seen.flushes > 20 && seen.compactions > 20 && seen.reopened > 5
    });
}

/// As in memory, on a storage without append, rename and lock.
#[test]
fn a_store_on_an_object_store_answers_as_maps_do() {
    for seed in seeds(5..9) {
        let options = options(seed as usize % 3).writes(|writes| writes.memtable_bytes(40 << 10));
        run(seed, 6_000, 30_000, (options, Place::Objects), |seen| seen.flushes > 5 && seen.compactions > 2);
    }
}

/// Each opening reads its files through the page cache or past it, with few or many open files.
#[test]
fn a_store_in_a_folder_answers_as_maps_do() {
    for seed in seeds(3..5) {
        let options = options(seed as usize % 2).writes(|writes| writes.memtable_bytes(40 << 10));
        run(seed, 6_000, 8_000, (options, Place::Folder), |seen| seen.flushes > 5 && seen.compactions > 2);
    }
}

/// Few keys have many versions, and ranges that are removed again and again.
#[test]
fn a_store_of_few_keys_answers_as_maps_do() {
    for seed in seeds(10..10 + POLICIES) {
        let scope = SCOPES[seed as usize % 3];
        let options = options(0)
            .writes(|writes| writes.memtable_bytes(40 << 10))
            // Not of the same remainder, so that scopes meet several thresholds.
            .values(|values| values.separation_bytes([0, 30, u64::MAX][(seed + seed / 3) as usize % 3]))
            .learning(policy(seed + 2, scope));
        let mut world = World::new(seed, [40, 600, 3_000][seed as usize / 2 % 3], options, Place::any(seed));
        world.draws.use_scope(scope);
        run_in(world, seed, 40_000..=40_000, |_| true);
    }
}

#[test]
#[ignore = "long: 20 minutes"]
fn a_store_answers_as_maps_do_for_many_more_operations() {
    for seed in seeds(100..140) {
        let options = options(seed as usize % 3)
            .values(|values| values.separation_bytes([0, 100, 1_000, u64::MAX][seed as usize % 4]))
            .learning(policy(seed, USUAL_SCOPE));
        let keys = [300, 5_000, 100_000, 1_000_000][seed as usize / 2 % 4];
        // A write in a folder takes about a hundred times as long.
        let operations = if seed % 5 == 0 { 100_000 } else { 500_000 };
        run(
            seed,
            keys,
            operations,
            (options, if seed % 5 == 0 { Place::Folder } else { Place::any(seed / 5) }),
            |_| true,
        );
    }
}
