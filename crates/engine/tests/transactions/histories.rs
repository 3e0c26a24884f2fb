//! Histories of transactions. Goal: whatever runs at once, and whatever is flushed, compacted, killed and recovered
//! meanwhile, committed transactions are serialisable, acknowledged ones are there, and each is there wholly or not at
//! all. Method: threads with several open transactions each, on few keys, whose values are lists that are appended to;
//! [`check_history`] searches what they have read and written for cycles. Under snapshot isolation it finds write skew.

use crate::support::small;
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::DbTransaction;
use ogive::{Cause, Db, Error, Isolation, Keyspace, Result};
use ogive_testkit::{
    Ending, HistoryTransaction, ListRead, Random, Repeat, SimulatedDisk, SimulatedObjects, Survival, check_history,
    seeds,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Keys of a history, in two keyspaces.
const KEYS: u64 = 10;
/// Open transactions of a thread.
const OPEN: usize = 3;

fn key_name(key: u64) -> String {
    format!("key {key:02}")
}

fn list_of(value: Option<impl AsRef<[u8]>>) -> Vec<u64> {
    let text = value.map(|value| String::from_utf8(value.as_ref().to_vec()).unwrap()).unwrap_or_default();
    text.split_terminator(',').map(|element| element.parse().unwrap()).collect()
}

fn appended(list: &[u64], element: u64) -> Vec<u8> {
    list.iter().chain([&element]).map(|element| format!("{element},")).collect::<String>().into_bytes()
}

/// The end of what was committed with this outcome.
fn ending(outcome: &Result<()>) -> Ending {
    match outcome {
        Ok(()) => Ending::Committed,
        Err(Error { cause: Cause::Conflict, .. }) => Ending::Aborted,
        Err(_) => Ending::Unknown,
    }
}

/// A store, as the threads of a history use it.
struct Lists<'a> {
    db: &'a Db,
    keyspaces: [Keyspace; 2],
    isolation: Isolation,
    next_element: &'a AtomicU64,
}

/// A transaction that was begun.
struct OpenTransaction {
    tx: DbTransaction,
    seen: HistoryTransaction,
    /// The keys that it has written.
    own: BTreeSet<u64>,
    steps: u64,
}

impl Lists<'_> {
    fn keyspace(&self, key: u64) -> &Keyspace {
        &self.keyspaces[(key % 2) as usize]
    }

    fn element(&self) -> u64 {
        self.next_element.fetch_add(1, Ordering::Relaxed)
    }

    fn begin(&self, random: &mut Random) -> OpenTransaction {
        let mut tx = self.db.begin();
        tx.isolation(self.isolation);
        let seen = HistoryTransaction { reads: Vec::new(), appends: Vec::new(), ending: Ending::Aborted };
        OpenTransaction { tx, seen, own: BTreeSet::new(), steps: 1 + random.below(4) }
    }

    /// One read or write of a transaction.
    fn step(&self, open: &mut OpenTransaction, random: &mut Random) -> Result<()> {
        let key = random.below(KEYS);
        match random.below(5) {
            0 => self.read_range(open, random),
            1 | 2 => self.read(open, key).map(drop),
            _ => {
                let list = self.read(open, key)?;
                let element = self.element();
                open.tx.insert(self.keyspace(key), key_name(key), appended(&list, element))?;
                open.seen.appends.push((key, element));
                open.own.insert(key);
                Ok(())
            }
        }
    }

    fn read(&self, open: &mut OpenTransaction, key: u64) -> Result<Vec<u64>> {
        let list = list_of(open.tx.get(self.keyspace(key), key_name(key))?);
        if !open.own.contains(&key) {
            open.seen.reads.push(ListRead { key, list: list.clone(), is_of_range: false });
        }
        Ok(list)
    }

    /// Reads a range of one keyspace from one end, to the other end or to a record before it.
    fn read_range(&self, open: &mut OpenTransaction, random: &mut Random) -> Result<()> {
        let ends = [random.below(KEYS), random.below(KEYS)];
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let (parity, forward) = (random.below(2), random.one_in(2));
        let most = if random.one_in(2) { usize::MAX } else { 1 + random.below(3) as usize };
        let mut range = open.tx.range(&self.keyspaces[parity as usize], key_name(from)..=key_name(to));
        let mut found = BTreeMap::new();
        let mut reached = None;
        while found.len() < most {
            let record = if forward { range.next() } else { range.next_back() };
            let Some((key, value)) = record.transpose()? else {
                reached = None;
                break;
            };
            let key = std::str::from_utf8(&key).unwrap().strip_prefix("key ").unwrap().parse().unwrap();
            found.insert(key, list_of(Some(value)));
            reached = Some(key);
        }
        let (from, to) = match (reached, forward) {
            (None, _) => (from, to),
            (Some(last), true) => (from, last),
            (Some(first), false) => (first, to),
        };
        for key in (from..=to).filter(|key| key % 2 == parity && !open.own.contains(key)) {
            let list = found.remove(&key).unwrap_or_default();
            open.seen.reads.push(ListRead { key, list, is_of_range: true });
        }
        Ok(())
    }

    /// Appends to a list by one of the calls for one key.
    fn append_at_once(&self, random: &mut Random) -> HistoryTransaction {
        let (key, element) = (random.below(KEYS), self.element());
        let (keyspace, name) = (self.keyspace(key), key_name(key));
        let mut list = Vec::new();
        // Whether it was made.
        let outcome = match random.below(3) {
            0 => keyspace
                .update(&name, |old| {
                    list = list_of(old);
                    Some(appended(&list, element))
                })
                .map(|_| true),
            way => keyspace.get(&name).and_then(|found| {
                list = list_of(found.as_deref());
                let (found, new) = (found.as_deref(), appended(&list, element));
                if way == 1 {
                    return keyspace.compare_and_swap(&name, found, Some(&new)).map(|swap| swap.is_done());
                }
                let mut batch = self.db.batch();
                batch.expect(keyspace, &name, found).insert(keyspace, &name, new);
                batch.commit().map(|()| true)
            }),
        };
        let ending = match outcome {
            Ok(false) => Ending::Aborted,
            outcome => ending(&outcome.map(drop)),
        };
        let reads = vec![ListRead { key, list, is_of_range: false }];
        HistoryTransaction { reads, appends: vec![(key, element)], ending }
    }

    /// Runs transactions until there are enough, or the store fails.
    fn run(&self, count: usize, mut random: Random) -> Vec<HistoryTransaction> {
        let mut done = Vec::new();
        let mut open: Vec<OpenTransaction> = (0..OPEN).map(|_| self.begin(&mut random)).collect();
        while done.len() < count {
            if self.isolation == Isolation::Serializable && random.one_in(16) {
                done.push(self.append_at_once(&mut random));
                match done.last() {
                    Some(last) if last.ending == Ending::Unknown => break,
                    _ => continue,
                }
            }
            let at = random.below(OPEN as u64) as usize;
            if open[at].steps > 0 {
                open[at].steps -= 1;
                if self.step(&mut open[at], &mut random).is_ok() {
                    continue;
                }
                break;
            }
            let mut ended = std::mem::replace(&mut open[at], self.begin(&mut random));
            let outcome = ended.tx.commit();
            ended.seen.ending = ending(&outcome);
            done.push(ended.seen);
            if matches!(outcome, Err(ref error) if error.cause != Cause::Conflict) {
                break;
            }
        }
        done
    }
}

/// Runs threads of transactions, beside one that flushes and compacts.
fn run_threads(
    db: &Db,
    next_element: &AtomicU64,
    (threads, count): (u64, usize),
    isolation: Isolation,
    seed: u64,
) -> Vec<HistoryTransaction> {
    let keyspaces = ["even", "odd"].map(|name| db.keyspace(name).unwrap());
    let lists = &Lists { db, keyspaces, isolation, next_element };
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || lists.run(count, Random::new(seed << 8 | thread)))).collect();
        let maintenance = scope.spawn(|| {
            let mut random = Random::new(seed);
            while !is_done.load(Ordering::Relaxed) {
                // The store may be killed meanwhile.
                _ = if random.one_in(3) { db.compact() } else { db.flush() };
            }
        });
        let history = runs.into_iter().flat_map(|run| run.join().unwrap()).collect();
        is_done.store(true, Ordering::Relaxed);
        maintenance.join().unwrap();
        history
    })
}

/// The lists at the end.
fn last_lists(db: &Db) -> BTreeMap<u64, Vec<u64>> {
    let keyspaces = ["even", "odd"].map(|name| db.keyspace(name).unwrap());
    let list = |key: u64| list_of(keyspaces[(key % 2) as usize].get(key_name(key)).unwrap());
    (0..KEYS).map(|key| (key, list(key))).filter(|(_, list)| !list.is_empty()).collect()
}

#[track_caller]
fn assert_serialisable(history: &[HistoryTransaction], db: &Db, seed: u64) {
    check_history(history, &last_lists(db)).unwrap_or_else(|anomaly| panic!("seed {seed}: {anomaly}"));
    let count = |ending| history.iter().filter(|transaction| transaction.ending == ending).count();
    let (committed, aborted) = (count(Ending::Committed), count(Ending::Aborted));
    assert!(committed > history.len() / 10, "{committed} committed, {aborted} conflicts");
}

fn run_in_memory(sizes: (u64, usize), isolation: Isolation, seed: u64) -> (Db, Vec<HistoryTransaction>) {
    let db = Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap();
    let history = run_threads(&db, &AtomicU64::new(1), sizes, isolation, seed);
    (db, history)
}

#[test]
fn histories_of_many_threads_are_serialisable() {
    for seed in seeds(0..4) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let (db, history) = run_in_memory((8, 150), Isolation::Serializable, seed);
        assert_serialisable(&history, &db, seed);
    }
}

/// The search finds what snapshot isolation allows, in a run of one thread, and nothing worse.
#[test]
fn histories_at_snapshots_have_write_skew() {
    for seed in seeds(0..4) {
        let (db, history) = run_in_memory((1, 300), Isolation::Snapshot, seed);
        let anomaly = check_history(&history, &last_lists(&db)).unwrap_err();
        assert!(anomaly.starts_with("G2"), "seed {seed}: {anomaly}");
    }
}

#[test]
fn histories_with_kills_are_serialisable_and_lose_nothing() {
    for seed in seeds(0..6) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let (mut random, next_element) = (Random::new(seed), AtomicU64::new(1));
        let (mut disk, mut history) = (SimulatedDisk::new(), Vec::new());
        for round in 0..5 {
            let db = Db::open(Arc::new(disk.clone()) as Arc<dyn Storage>, &small()).unwrap();
            disk.stop_at(disk.mutating_calls() + 50 + random.below(400));
            history.extend(run_threads(&db, &next_element, (4, 60), Isolation::Serializable, seed << 4 | round));
            drop(db);
            disk = disk.crash(Survival::Subset(seed << 4 | round));
        }
        let db = Db::open(Arc::new(disk) as Arc<dyn Storage>, &small()).unwrap();
        assert_serialisable(&history, &db, seed);
        assert!(history.iter().any(|transaction| transaction.ending == Ending::Unknown));
    }
}

/// A commit whose request failed may be there; its error is that of the request, and no conflict.
#[test]
fn histories_on_an_object_store_with_kills_are_serialisable() {
    for seed in seeds(0..4) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let (mut random, next_element) = (Random::new(seed), AtomicU64::new(1));
        let (server, mut history) = (SimulatedObjects::new(), Vec::new());
        for round in 0..3 {
            let client = server.client();
            let db = Db::open(Arc::new(client.clone()) as Arc<dyn Storage>, &small()).unwrap();
            client.die_at(client.changes() + 40 + random.below(200), None);
            history.extend(run_threads(&db, &next_element, (4, 60), Isolation::Serializable, seed << 4 | round));
        }
        let db = Db::open(Arc::new(server.client()) as Arc<dyn Storage>, &small()).unwrap();
        assert_serialisable(&history, &db, seed);
        assert!(history.iter().any(|transaction| transaction.ending == Ending::Unknown));
    }
}

/// Four hundred thousand transactions in a hundred histories, so that lists stay short.
#[test]
#[ignore = "long: 2 minutes"]
fn long_histories_of_many_threads_are_serialisable() {
    for seed in 100..200 {
        let (db, history) = run_in_memory((8, 500), Isolation::Serializable, seed);
        assert_serialisable(&history, &db, seed);
    }
}
