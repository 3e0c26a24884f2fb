//! Batched lookups. Goal: `multi_get` answers as single gets do, whatever the shape of the store, and waits for its
//! reads together. Method: stores of random shape (memtables, several levels, removed keys and ranges, values in value
//! files, small blocks and budgets, with and without caches) are asked for random batches, sorted or not, with repeats
//! and absent keys, and each answer is compared with a map; a storage that counts calls, and one that fails at each of
//! them in turn.

use ogive::io::{
    Clock, FastPaths, MemoryStorage, PendingReads, Purpose, RangeRequest, ReadRequest, ReadableFile, ReaderWrapper,
    Storage, StorageWrapper,
};
use ogive::lsm::{Db, DbOptions};
use ogive::types::{IndexDefinition, KeyType, RecordType, Value, ValueType};
use ogive_testkit::{Fault, FaultInjector, Operation, Random, fast_paths};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// A key of one of two shapes: integers of one width, and text of several lengths.
fn key(random: &mut Random, keys: u64, is_text: bool) -> Vec<u8> {
    let number = random.below(keys);
    if is_text { format!("key/{:x}/{number}", number % 7).into_bytes() } else { number.to_be_bytes().to_vec() }
}

fn options(random: &mut Random) -> DbOptions {
    let paths = match random.below(4) {
        0 => FastPaths { cache: false, ..FastPaths::ALL },
        1 => fast_paths::drawn(random),
        _ => FastPaths::ALL,
    };
    DbOptions::default()
        .memory_bytes(1 << (22 + random.below(3)))
        .writes(|writes| writes.memtable_bytes(4 << (10 + random.below(3))))
        .levels(|levels| {
            levels
                .table_bytes(4 << (10 + random.below(4)))
                .level_bytes(8 << (10 + random.below(3)))
                .block_bytes(512 << random.below(4))
        })
        .values(|values| values.separation_bytes(200 << random.below(3)))
        .threads(random.below(2) as usize)
        .fast_paths(paths)
}

/// Writes random operations to a store and a map.
fn write(db: &Db, contents: &mut Contents, random: &mut Random, keys: u64, is_text: bool) {
    for _ in 0..random.below(600) {
        let key = key(random, keys, is_text);
        match random.below(40) {
            0..8 => {
                db.remove(&key).unwrap();
                contents.remove(&key);
            }
            8 => {
                let mut end = key.clone();
                *end.last_mut().unwrap() |= 15;
                if key < end {
                    db.remove_range(key.clone()..end.clone()).unwrap();
                    contents.retain(|other, _| *other < key || *other >= end);
                }
            }
            _ => {
                let length =
                    if random.below(4) == 0 { random.below(70_000) / (1 + random.below(9)) } else { random.below(300) };
                let value: Vec<u8> = (0..length).map(|i| (i + random.below(3)) as u8).collect();
                db.insert(&key, &value).unwrap();
                contents.insert(key, value);
            }
        }
    }
}

#[test]
fn batches_of_any_shape_answer_as_single_lookups_do() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let (keys, is_text) = (1 + random.below(2000), random.below(2) == 0);
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut contents = Contents::new();
        for _ in 0..3 {
            let options = options(&mut random);
            let db = Db::open(storage.clone(), &options).unwrap();
            write(&db, &mut contents, &mut random, keys, is_text);
            let (snapshot, then) = (db.snapshot(), contents.clone());
            match random.below(3) {
                0 => db.flush().unwrap(),
                1 => db.compact().unwrap(),
                _ => {}
            }
            write(&db, &mut contents, &mut random, keys, is_text);
            for _ in 0..6 {
                // Some keys are absent, some repeated.
                let count = [0, 1, 2, 64, 300][random.below(5) as usize];
                let mut asked: Vec<Vec<u8>> = (0..count).map(|_| key(&mut random, keys + 20, is_text)).collect();
                if random.below(2) == 0 {
                    asked.sort();
                }
                let compare = |found: Vec<Option<ogive::Slice>>, expected: &Contents| {
                    assert_eq!(found.len(), asked.len());
                    for (key, found) in asked.iter().zip(&found) {
                        assert!(
                            found.as_deref() == expected.get(key).map(Vec::as_slice),
                            "{seed}: {key:x?}, {options:?}"
                        );
                    }
                };
                compare(db.multi_get(&asked).unwrap(), &contents);
                let room_bytes = [0, 2_000, 100_000, u64::MAX][random.below(4) as usize];
                let mut found = Vec::new();
                while found.len() < asked.len() {
                    let some = db.multi_get_within(&asked[found.len()..], room_bytes).unwrap();
                    assert!(!some.is_empty());
                    let mut values: Vec<&[u8]> = some.iter().flatten().map(|value| &**value).collect();
                    // Those of one key share their memory.
                    values.sort_unstable();
                    values.dedup();
                    let bytes: usize = values.iter().map(|value| value.len()).sum();
                    assert!(some.len() == 1 || bytes as u64 <= room_bytes, "{seed}: {bytes} of {room_bytes} B");
                    found.extend(some);
                }
                compare(found, &contents);
                compare(snapshot.multi_get(&db, &asked).unwrap(), &then);
            }
        }
    }
}

/// A call of a storage: how many ranges it asked for, and of which purpose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Single(Purpose),
    Started(Vec<Purpose>),
}

/// A storage that notes the calls of its readers.
#[derive(Clone, Debug)]
pub(crate) struct Noting {
    inner: Arc<dyn Storage>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Noting {
    /// A storage in memory.
    pub(crate) fn new() -> Self {
        Self { inner: Arc::new(MemoryStorage::new()), calls: Arc::default() }
    }

    /// The calls since the last time.
    pub(crate) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

impl StorageWrapper for Noting {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> ogive::Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(NotingReader { inner: self.inner.open(name)?, calls: Arc::clone(&self.calls) }))
    }
}

#[derive(Debug)]
struct NotingReader {
    inner: Arc<dyn ReadableFile>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl ReaderWrapper for NotingReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> ogive::Result<()> {
        self.calls.lock().unwrap().push(Call::Single(request.purpose));
        self.inner.read(request)
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> ogive::Result<Box<dyn PendingReads>> {
        self.calls.lock().unwrap().push(Call::Started(ranges.iter().map(|range| range.purpose).collect()));
        self.inner.start_reads(ranges)
    }
}

/// The calls of a batch in a store of one level, opened anew, whose filters were read before.
fn calls_of_a_batch(separates: bool, memory_bytes: u64, keys: &[[u8; 8]]) -> Vec<Call> {
    let storage = Noting::new();
    let options = DbOptions::default().threads(0).memory_bytes(memory_bytes);
    let options = options
        .values(|values| values.separation_bytes(if separates { 50 } else { 1 << 20 }))
        .levels(|levels| levels.block_bytes(4096));
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    let mut batch = db.batch();
    for number in 0..20_000_u64 {
        batch.insert(&db, (number * 5).to_be_bytes(), [number as u8; 100]);
    }
    batch.commit().unwrap();
    db.compact().unwrap();
    db.close().unwrap();
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    // The first lookup of a table reads its filter.
    assert!(db.get(1_u64.to_be_bytes()).unwrap().is_none());
    storage.take();
    let found = db.multi_get(keys).unwrap();
    for (key, found) in keys.iter().zip(&found) {
        let number = u64::from_be_bytes(*key);
        let expected = number.is_multiple_of(5).then_some([(number / 5) as u8; 100]);
        assert_eq!(found.as_deref(), expected.as_ref().map(|value| &value[..]));
    }
    storage.take()
}

fn random_keys(count: usize) -> Vec<[u8; 8]> {
    let mut random = Random::new(7);
    (0..count).map(|_| (random.below(20_000) * 5).to_be_bytes()).collect()
}

#[test]
fn a_cold_batch_reads_the_blocks_of_a_level_in_one_wave() {
    let keys = random_keys(64);
    let calls = calls_of_a_batch(false, 64 << 20, &keys);
    let [Call::Started(blocks)] = &calls[..] else { panic!("{calls:?}") };
    assert!((32..=64).contains(&blocks.len()) && blocks.iter().all(|&purpose| purpose == Purpose::Data), "{calls:?}");
    // Keys of one block read it once.
    let near: Vec<[u8; 8]> = (0..20_u64).rev().map(|number| (number % 10 * 5).to_be_bytes()).collect();
    assert_eq!(calls_of_a_batch(false, 64 << 20, &near), [Call::Started(vec![Purpose::Data])]);
    // Absent keys that the filter excludes read nothing, and an empty batch neither.
    assert!(calls_of_a_batch(false, 64 << 20, &[3_u64.to_be_bytes()]).len() <= 1);
    assert_eq!(calls_of_a_batch(false, 64 << 20, &[]), []);
}

#[test]
fn a_batch_checks_its_values_of_a_unique_index_in_one_wave() {
    let storage = Noting::new();
    let options = DbOptions::default().threads(0).levels(|levels| levels.block_bytes(4096));
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    let values: ValueType = "{email: text}".parse().unwrap();
    let row = |number: u64| {
        values.encode(&Value::Tuple(vec![Value::Text(format!("{:08}@x", number * 31 % 40_000))])).unwrap()
    };
    let users = db.keyspace("users").unwrap();
    drop(users.declare(&RecordType::new(KeyType::U64, values.clone())).unwrap());
    let mut batch = db.batch();
    (0..20_000_u64).for_each(|number| _ = batch.insert(&users, number.to_be_bytes(), row(number)));
    batch.commit().unwrap();
    db.create_index("by_email", &users, &IndexDefinition::by("email").unwrap().unique()).unwrap();
    db.compact().unwrap();
    db.close().unwrap();
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    let users = db.keyspace("users").unwrap();
    // The first lookup of a table reads its filter.
    assert!(!users.contains_key(90_000_u64.to_be_bytes()).unwrap());
    storage.take();
    let mut batch = db.batch();
    (20_000..39_648_u64)
        .step_by(307)
        .for_each(|number| _ = batch.insert(&users, (number + 80_000).to_be_bytes(), row(number)));
    batch.commit().unwrap();
    let calls: Vec<Call> = storage.take().into_iter().filter(is_of_data).collect();
    let [Call::Started(blocks)] = &calls[..] else { panic!("{calls:?}") };
    assert!((16..=64).contains(&blocks.len()), "{calls:?}");
}

fn is_of_data(call: &Call) -> bool {
    match call {
        Call::Single(purpose) => *purpose == Purpose::Data,
        Call::Started(purposes) => purposes.contains(&Purpose::Data),
    }
}

#[test]
fn rows_that_indexes_replace_are_read_in_one_wave_together_with_their_times() {
    let (storage, clock) = (Noting::new(), Clock::moved_by_hand(1 << 40));
    // Nothing that was read once is there the second time.
    let fast_paths = FastPaths { cache: false, ..FastPaths::ALL };
    let options = DbOptions::default().threads(0).clock(clock).fast_paths(fast_paths);
    let options = options.levels(|levels| levels.block_bytes(4096));
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    let values: ValueType = "{email: text}".parse().unwrap();
    let row = |number: u64| {
        values.encode(&Value::Tuple(vec![Value::Text(format!("{:08}@x", number * 31 % 40_000))])).unwrap()
    };
    let users = db.keyspace("users").unwrap();
    drop(users.declare(&RecordType::new(KeyType::U64, values.clone())).unwrap());
    db.create_index("by_email", &users, &IndexDefinition::by("email").unwrap()).unwrap();
    let expires = SystemTime::UNIX_EPOCH + Duration::from_millis(1 << 41);
    let write = |numbers: &mut dyn Iterator<Item = u64>| {
        let mut batch = db.batch();
        numbers.for_each(|number| _ = batch.insert_with(&users, number.to_be_bytes(), row(number), expires));
        batch.commit().unwrap();
    };
    write(&mut (0..20_000));
    db.compact().unwrap();
    storage.take();
    // Their entries stay as they are, so nothing else is read but filters.
    write(&mut (0..20_000).step_by(311));
    let calls: Vec<Call> = storage.take().into_iter().filter(is_of_data).collect();
    let [Call::Started(blocks)] = &calls[..] else { panic!("{calls:?}") };
    assert!((16..=65).contains(&blocks.len()), "{calls:?}");
    let index = db.indexes().into_iter().next().unwrap();
    assert_eq!(index.range(Bound::Unbounded, Bound::Unbounded).unwrap().count(), 20_000);
}

#[test]
fn values_of_a_batch_are_read_in_a_wave_of_their_own() {
    let calls = calls_of_a_batch(true, 64 << 20, &random_keys(64));
    let [Call::Started(blocks), Call::Started(values)] = &calls[..] else { panic!("{calls:?}") };
    assert!(blocks.iter().all(|&purpose| purpose == Purpose::Data), "{calls:?}");
    assert!((32..=64).contains(&values.len()) && values.iter().all(|&purpose| purpose == Purpose::Value), "{calls:?}");
}

#[test]
fn values_without_room_are_not_read() {
    let storage = Noting::new();
    let options = DbOptions::default().threads(0).values(|values| values.separation_bytes(50));
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    let keys: Vec<[u8; 8]> = (0..100_u64).map(u64::to_be_bytes).collect();
    keys.iter().for_each(|key| db.insert(key, [7; 10_000]).unwrap());
    db.close().unwrap();
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    storage.take();
    // Ten values, with as many keys as may have short values in blocks.
    assert_eq!(db.multi_get_within(&keys, 105_000).unwrap().len(), 10);
    let reads = |call: &Call| match call {
        Call::Single(purpose) => usize::from(*purpose == Purpose::Value),
        Call::Started(purposes) => purposes.iter().filter(|purpose| **purpose == Purpose::Value).count(),
    };
    let calls = storage.take();
    assert!((1..=10).contains(&calls.iter().map(reads).sum::<usize>()), "{calls:?}");
    assert_eq!(db.multi_get_within(&keys, 9_000).unwrap().len(), 1);
}

#[test]
fn the_waves_of_a_long_batch_stay_within_the_memory() {
    let memory_bytes = 1 << 20;
    let calls = calls_of_a_batch(false, memory_bytes, &random_keys(2000));
    assert!(calls.len() > 3, "{} calls", calls.len());
    for call in &calls {
        let Call::Started(ranges) = call else { panic!("{call:?}") };
        // One block above the limit, at most.
        assert!(ranges.len() as u64 * 4096 <= memory_bytes / 16 + 3 * 4096, "{} ranges", ranges.len());
    }
}

#[test]
fn a_batch_whose_reads_fail_fails_and_the_next_one_answers() {
    let inner = MemoryStorage::new();
    let injector = FaultInjector::new(Arc::new(inner));
    let options = DbOptions::default()
        .threads(0)
        .values(|values| values.separation_bytes(150))
        .levels(|levels| levels.block_bytes(1024));
    let options = options.fast_paths(FastPaths { cache: false, ..FastPaths::ALL });
    let db = Db::open(Arc::new(injector.clone()), &options).unwrap();
    let value = |number: u64| vec![number as u8; (number % 300) as usize];
    (0..3000_u64).for_each(|number| db.insert(number.to_be_bytes(), value(number)).unwrap());
    db.compact().unwrap();
    let keys: Vec<[u8; 8]> = (0..100_u64).map(|number| (number * 43).to_be_bytes()).collect();
    let mut failures = 0;
    for failing in 0.. {
        injector.fail_once(Operation::Read, failing, Fault::DeviceError);
        let outcome = db.multi_get(&keys);
        let was_met = outcome.is_err();
        injector.clear();
        let found = match outcome {
            Ok(found) => found,
            Err(error) => {
                assert!(matches!(error, ogive::Error { cause: ogive::Cause::Io(_), .. }), "{error}");
                failures += 1;
                db.multi_get(&keys).unwrap()
            }
        };
        for (key, found) in keys.iter().zip(&found) {
            let number = u64::from_be_bytes(*key);
            assert_eq!(found.as_deref().map(<[u8]>::to_vec), (number < 3000).then(|| value(number)));
        }
        if !was_met {
            break;
        }
    }
    assert!(failures > 30, "{failures} failures");
}
