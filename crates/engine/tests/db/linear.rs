//! Linearizability tests. Goal: the operations of many threads have an order that explains all answers and agrees with
//! real time, and a snapshot shows a single point of that order. Method: histories of real threads on few keys, while
//! tables are flushed and compacted. Each operation records when it began and when it was answered; a search as in J.
//! M. Wing and C. Gong ("Testing and verifying concurrent objects", 1993) looks for the order. Then money is moved
//! between accounts: their sum is the same in every snapshot.

#![expect(clippy::disallowed_methods, reason = "a sync that takes its time is simulated by sleeping")]

use ogive::io::{
    MemoryStorage, Purpose, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, UpdatableFile,
    UpdaterWrapper, WritableFile, WriterWrapper,
};
use ogive::lsm::{Db, DbOptions, Swap};
use ogive::{Durability, Result};
use ogive_testkit::Random;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

/// Keys of a history.
const KEYS: usize = 3;

/// The values of all keys; 0 means absent.
type State = [u32; KEYS];

/// An operation and its answer.
#[derive(Clone, Debug)]
enum Operation {
    /// Writes some keys at once.
    Write([Option<u32>; KEYS]),
    /// Removes all keys at once, as a range.
    RemoveAll,
    /// Read the value of a key.
    Get(usize, u32),
    /// Read the values of all keys.
    GetAll(State),
    /// Compared and swapped a value; `found` is the actual value if it differed.
    Swap { key: usize, expected: u32, new: u32, found: Option<u32> },
}

impl Operation {
    /// The state after the operation; `None` if it contradicts the answer.
    fn apply(&self, mut state: State) -> Option<State> {
        match self {
            Self::Write(values) => {
                for (there, value) in state.iter_mut().zip(values) {
                    *there = value.unwrap_or(*there);
                }
                Some(state)
            }
            Self::RemoveAll => Some([0; KEYS]),
            Self::Get(key, value) => (state[*key] == *value).then_some(state),
            Self::GetAll(values) => (state == *values).then_some(state),
            Self::Swap { key, expected, found: Some(found), .. } => {
                (state[*key] == *found && found != expected).then_some(state)
            }
            Self::Swap { key, expected, new, found: None } => (state[*key] == *expected).then(|| {
                state[*key] = *new;
                state
            }),
        }
    }
}

/// An operation with its start and end times.
#[derive(Clone, Debug)]
struct Event {
    began: u64,
    answered: u64,
    operation: Operation,
}

/// Whether some sequential order of the events that respects their times leads from one state to the other.
fn is_explained(events: &[Event], from: State, to: State) -> bool {
    let mut tried = HashSet::new();
    let mut open = vec![(0_u64, from)];
    let all = (1_u64 << events.len()) - 1;
    while let Some((done, state)) = open.pop() {
        if done == all && state == to {
            return true;
        }
        if !tried.insert((done, state)) {
            continue;
        }
        let left = || events.iter().enumerate().filter(|(index, _)| done >> index & 1 == 0);
        let first_answer = left().map(|(_, event)| event.answered).min().unwrap_or(0);
        for (index, event) in left().filter(|(_, event)| event.began <= first_answer) {
            open.extend(event.operation.apply(state).map(|state| (done | 1 << index, state)));
        }
    }
    false
}

#[test]
fn the_search_tells_histories_apart() {
    let event = |began, answered, operation| Event { began, answered, operation };
    let write = |value| Operation::Write([Some(value), None, None]);
    let get = |value| Operation::Get(0, value);
    let swap = |expected, new, found| Operation::Swap { key: 0, expected, new, found };
    let is_fine = |events: &[Event]| (0..9).any(|last| is_explained(events, [0; KEYS], [last, 0, 0]));
    assert!(is_fine(&[event(1, 4, write(1)), event(2, 3, get(0)), event(5, 6, get(1))]));
    assert!(is_fine(&[event(1, 4, write(1)), event(2, 3, get(1))]));
    assert!(!is_fine(&[event(1, 2, write(1)), event(3, 4, get(0))]));
    assert!(!is_fine(&[event(1, 9, write(1)), event(2, 3, get(1)), event(4, 5, get(0))]));
    assert!(!is_fine(&[
        event(1, 9, write(1)),
        event(1, 9, write(2)),
        event(2, 3, get(1)),
        event(4, 5, get(2)),
        event(6, 7, get(1))
    ]));
    assert!(is_fine(&[event(1, 5, swap(0, 1, None)), event(2, 6, swap(0, 2, Some(1)))]));
    assert!(!is_fine(&[event(1, 5, swap(0, 1, None)), event(2, 6, swap(0, 2, None))]));
    assert!(!is_fine(&[
        event(1, 2, Operation::Write([Some(1), Some(1), None])),
        event(3, 4, Operation::GetAll([1, 0, 0]))
    ]));
    assert!(!is_explained(&[event(1, 2, write(1))], [0; KEYS], [0; KEYS]));
}

/// Duration of a sync.
const SYNC: Duration = Duration::from_micros(20);

/// A storage that sometimes yields to other threads during reads and writes, so that operations interleave even on one
/// core.
#[derive(Debug)]
struct Yielding(MemoryStorage);

impl Yielding {
    fn shared() -> Arc<dyn Storage> {
        Arc::new(Self(MemoryStorage::new()))
    }
}

#[derive(Debug)]
struct YieldingReader(Arc<dyn ReadableFile>);

#[derive(Debug)]
struct YieldingWriter(Box<dyn WritableFile>);

#[derive(Debug)]
struct YieldingUpdate(Arc<dyn UpdatableFile>);

impl StorageWrapper for Yielding {
    fn inner(&self) -> &dyn Storage {
        &self.0
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(YieldingReader(self.0.open(name)?)))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(YieldingWriter(self.0.create(name)?)))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(YieldingUpdate(self.0.open_update(name)?)))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(YieldingUpdate(self.0.create_update(name)?)))
    }
}

impl ReaderWrapper for YieldingUpdate {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.0
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.0.read(request)
    }
}

impl UpdaterWrapper for YieldingUpdate {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.0
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        std::thread::yield_now();
        self.0.write_at(offset, bytes, purpose)
    }

    fn sync(&self) -> Result<()> {
        std::thread::sleep(SYNC);
        self.0.sync()
    }
}

impl ReaderWrapper for YieldingReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.0
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        std::thread::yield_now();
        self.0.read(request)
    }
}

impl WriterWrapper for YieldingWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.0
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.0
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        std::thread::yield_now();
        self.0.append(bytes)
    }

    fn sync(&mut self) -> Result<()> {
        // Like a device, it takes so long that others write in the meantime.
        std::thread::sleep(SYNC);
        self.0.sync()
    }
}

/// The bytes of a value; some are long enough to be separated.
fn bytes(value: u32) -> Vec<u8> {
    let mut bytes = value.to_be_bytes().to_vec();
    bytes.resize([4, 4, 40, 400][value as usize % 4], value as u8);
    bytes
}

fn number(found: Option<&[u8]>) -> u32 {
    found.map_or(0, |found| {
        let value = u32::from_be_bytes(*found.first_chunk().unwrap());
        assert_eq!(found, bytes(value));
        value
    })
}

fn options() -> DbOptions {
    DbOptions::default()
        .memory_bytes(8 << 20)
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .values(|values| values.separation_bytes(100))
        .levels(|levels| levels.table_bytes(64 << 10).level_bytes(256 << 10).level_factor(4))
        .threads(2)
}

/// A random operation on a store.
fn act(db: &Db, keys: &[Vec<u8>; KEYS], random: &mut Random, next: &AtomicU64) -> Operation {
    let value = || next.fetch_add(1, Ordering::Relaxed) as u32;
    let key = random.below(KEYS as u64) as usize;
    match random.below(12) {
        0..2 => {
            let value = value();
            db.insert(&keys[key], bytes(value)).unwrap();
            Operation::Write(std::array::from_fn(|index| (index == key).then_some(value)))
        }
        2 => {
            db.remove(&keys[key]).unwrap();
            Operation::Write(std::array::from_fn(|index| (index == key).then_some(0)))
        }
        3..5 => {
            let (mut batch, value) = (db.batch(), value());
            let writes = std::array::from_fn(|index| (index != key).then_some(if index == 1 { 0 } else { value }));
            for (key, write) in keys.iter().zip(writes) {
                match write {
                    Some(0) => _ = batch.remove(db, key),
                    Some(value) => _ = batch.insert(db, key, bytes(value)),
                    None => {}
                }
            }
            batch.durability([Durability::Synced, Durability::Buffered][random.below(2) as usize]);
            batch.commit().unwrap();
            Operation::Write(writes)
        }
        5 if random.one_in(2) => {
            db.remove_range(all_of(keys)).unwrap();
            Operation::RemoveAll
        }
        5..8 => Operation::Get(key, number(db.get(&keys[key]).unwrap().as_deref())),
        8 => Operation::GetAll(std::array::from_fn({
            let values = db.multi_get(keys).unwrap();
            move |index| number(values[index].as_deref())
        })),
        9 => Operation::GetAll(scan(db, keys, random.one_in(2))),
        _ => {
            let new = value();
            let expected = number(db.get(&keys[key]).unwrap().as_deref());
            let (expected_bytes, new_bytes) = (bytes(expected), bytes(new));
            let expected_bytes = (expected != 0).then_some(&expected_bytes[..]);
            let outcome = db.compare_and_swap(&keys[key], expected_bytes, Some(&new_bytes)).unwrap();
            let found = match outcome {
                Swap::Done => None,
                Swap::Mismatch(found) => Some(number(found.as_deref())),
            };
            Operation::Swap { key, expected, new, found }
        }
    }
}

fn all_of(keys: &[Vec<u8>; KEYS]) -> RangeInclusive<Vec<u8>> {
    keys[0].clone()..=keys[KEYS - 1].clone()
}

/// Reads the values of all keys by a range, from either end, or by a snapshot.
fn scan(db: &Db, keys: &[Vec<u8>; KEYS], by_snapshot: bool) -> State {
    let snapshot = db.snapshot();
    let range = if by_snapshot { snapshot.range(db, all_of(keys)) } else { db.range(all_of(keys)) };
    let mut state = [0; KEYS];
    for record in range.rev() {
        let (key, value) = record.unwrap();
        state[keys.iter().position(|there| key == *there).unwrap()] = number(Some(&value));
    }
    state
}

#[test]
fn concurrent_histories_have_an_order_that_explains_them() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 3_000;
    /// Rounds after which the test fails if too few operations overlapped.
    const ROUNDS_MAX: u64 = 50 * ROUNDS;
    const STEPS: usize = 5;
    let db = Db::open(Yielding::shared(), &options()).unwrap();
    let (clock, next) = (AtomicU64::new(1), AtomicU64::new(1));
    let history = Mutex::new(Vec::new());
    let (mut overlapping, mut rounds) = (0, 0);
    let is_enough = AtomicBool::new(false);
    let barrier = Barrier::new(THREADS as usize + 1);
    // Other keys between those of the history change, so that there is work for flushes and compactions.
    let keys = |round: u64| std::array::from_fn(|index| format!("{:04}/{index}", round * 7_919 % 100).into_bytes());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, clock, next, history, barrier) = (&db, &clock, &next, &history, &barrier);
            let is_enough = &is_enough;
            scope.spawn(move || {
                let mut random = Random::new(thread);
                for round in 0.. {
                    barrier.wait();
                    if is_enough.load(Ordering::SeqCst) {
                        break;
                    }
                    for _ in 0..STEPS {
                        let began = clock.fetch_add(1, Ordering::SeqCst);
                        let operation = act(db, &keys(round), &mut random, next);
                        let answered = clock.fetch_add(1, Ordering::SeqCst);
                        history.lock().unwrap().push(Event { began, answered, operation });
                    }
                    barrier.wait();
                }
            });
        }
        // Whether operations overlap is up to the system, so rounds go on until enough of them have.
        while rounds < ROUNDS || overlapping <= ROUNDS as usize && rounds < ROUNDS_MAX {
            let round = rounds;
            let before = scan(&db, &keys(round), false);
            barrier.wait();
            if round % 50 == 0 {
                db.flush().unwrap();
            }
            if round % 300 == 299 {
                db.compact().unwrap();
            }
            barrier.wait();
            let events = std::mem::take(&mut *history.lock().unwrap());
            let after = scan(&db, &keys(round), true);
            overlapping += events.iter().filter(|event| event.answered > event.began + 1).count();
            assert!(is_explained(&events, before, after), "round {round}: {before:?} to {after:?} by {events:#?}");
            rounds += 1;
        }
        is_enough.store(true, Ordering::SeqCst);
        barrier.wait();
    });
    let activity = db.activity();
    assert!(activity.flushes > 20 && activity.compactions > 0, "{activity:?}");
    assert!(overlapping > ROUNDS as usize, "only {overlapping} operations met another in {rounds} rounds");
}

/// Accounts per writer.
const ACCOUNTS: u64 = 50;

fn account(writer: u64, index: u64) -> Vec<u8> {
    format!("account {index:03} of {writer}").into_bytes()
}

/// The amount in an account; the rest of the value is padding, so that some values are separated.
fn amount(value: &[u8]) -> u64 {
    u64::from_be_bytes(*value.first_chunk().unwrap())
}

fn padded(amount: u64, bytes: u64) -> Vec<u8> {
    let mut value = amount.to_be_bytes().to_vec();
    value.resize(8 + bytes as usize, amount as u8);
    value
}

/// Moves money between two accounts of a writer in one batch.
fn transfer(db: &Db, writer: u64, random: &mut Random) {
    let (from, to) = (account(writer, random.below(ACCOUNTS)), account(writer, random.below(ACCOUNTS)));
    if from == to {
        return;
    }
    let (first, second) = (amount(&db.get(&from).unwrap().unwrap()), amount(&db.get(&to).unwrap().unwrap()));
    let moved = random.below(first + 1);
    let mut batch = db.batch();
    if random.one_in(8) {
        // An account may be absent within a batch.
        batch.remove_range(db, from.clone()..=from.clone());
    }
    batch.insert(db, &from, padded(first - moved, random.below(300)));
    batch.insert(db, &to, padded(second + moved, random.below(300)));
    batch.durability([Durability::Synced, Durability::Grouped, Durability::Buffered][random.below(3) as usize]);
    batch.commit().unwrap();
}

/// The sum of all accounts at one time, read in one of several ways.
fn sum(db: &Db, writers: u64, way: u64) -> u64 {
    let keys = || (0..writers).flat_map(|writer| (0..ACCOUNTS).map(move |index| account(writer, index)));
    match way % 4 {
        0 => db.iter().map(|record| amount(&record.unwrap().1)).sum(),
        1 => db.iter().rev().map(|record| amount(&record.unwrap().1)).sum(),
        2 => db.multi_get(keys()).unwrap().iter().map(|value| amount(value.as_ref().unwrap())).sum(),
        _ => {
            let snapshot = db.snapshot();
            let by_keys: u64 = keys().map(|key| amount(&snapshot.get(db, key).unwrap().unwrap())).sum();
            let by_range: u64 =
                snapshot.range::<&[u8]>(db, ..).pairs().map(|pair| amount(&pair.unwrap().value().unwrap())).sum();
            assert_eq!(by_keys, by_range);
            by_keys
        }
    }
}

#[test]
fn every_snapshot_of_accounts_has_the_same_sum() {
    const WRITERS: u64 = 3;
    let db = Db::open(Yielding::shared(), &options()).unwrap();
    for writer in 0..WRITERS {
        for index in 0..ACCOUNTS {
            db.insert(account(writer, index), padded(1_000, 0)).unwrap();
        }
    }
    let (expected, writing) = (WRITERS * ACCOUNTS * 1_000, AtomicU64::new(WRITERS));
    let kept = db.snapshot();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (db, writing) = (&db, &writing);
            scope.spawn(move || {
                let mut random = Random::new(writer);
                (0..3_000).for_each(|_| transfer(db, writer, &mut random));
                writing.fetch_sub(1, Ordering::Release);
            });
        }
        for reader in 0..2 {
            let (db, writing) = (&db, &writing);
            scope.spawn(move || {
                for way in reader.. {
                    assert_eq!(sum(db, WRITERS, way), expected);
                    if way % 100 == 99 {
                        db.compact().unwrap();
                    }
                    if writing.load(Ordering::Acquire) == 0 {
                        break;
                    }
                }
            });
        }
    });
    // Whatever the threads have left to do: what is still in memory is written over what was flushed before.
    db.compact().unwrap();
    (0..4).for_each(|way| assert_eq!(sum(&db, WRITERS, way), expected));
    let first: Vec<u64> = kept.range::<&[u8]>(&db, ..).map(|record| amount(&record.unwrap().1)).collect();
    assert_eq!(first, vec![1_000; (WRITERS * ACCOUNTS) as usize]);
    let activity = db.activity();
    assert!(activity.flushes > 10 && activity.compactions > 0, "{activity:?}");
}
