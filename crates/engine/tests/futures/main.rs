//! Stores of asynchronous programs. Goal: futures answer as plain calls do, on any runtime; what memory answers is
//! ready at once; dropping a future cancels what has not begun, and nothing else; panics are errors; threads are
//! bounded. Method: a runtime of some lines, stores whose reads and syncs wait for the test, and calls that wait for
//! each other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a runtime parks its thread, and tests wait for others")]

use futures_core::Stream;
use ogive::io::{
    MemoryStorage, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, UpdatableFile, UpdaterWrapper,
};
use ogive::{AsyncDb, Cause, Db, DbOptions, Error, Keyspace, Result, Slice};
use ogive_testkit::{Random, Repeat, seeds};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

/// Wakes a thread.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => thread::park(),
        }
    }
}

/// Polls a future once.
fn poll_once<T>(future: &mut Pin<Box<impl Future<Output = T>>>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// All records of a stream, as the combinators of other crates collect them.
async fn collected(stream: impl Stream<Item = Result<(Slice, Slice)>>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let (mut stream, mut found) = (pin!(stream), Vec::new());
    while let Some(record) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        let (key, value) = record?;
        found.push((key.to_vec(), value.to_vec()));
    }
    Ok(found)
}

fn options() -> DbOptions {
    DbOptions::default().threads(0).values(|values| values.separation_bytes(100))
}

fn open(storage: Arc<dyn Storage>) -> AsyncDb {
    block_on(AsyncDb::open(storage, &options())).unwrap()
}

fn default_of(db: &AsyncDb) -> Keyspace {
    db.db().as_ref().clone()
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn futures_answer_as_plain_calls_do() {
    for seed in seeds(0..6) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let random = &mut Random::new(seed);
        let memory = MemoryStorage::new();
        let db = open(Arc::new(memory.clone()));
        let keyspace = block_on(db.run(|db| db.keyspace("k"))).unwrap();
        let mut records = BTreeMap::new();
        for round in 0..60 {
            let mut batch = db.batch();
            for _ in 0..random.below(100) {
                let key = (random.below(3000) as u32).to_be_bytes().to_vec();
                if random.one_in(4) {
                    batch.remove(&keyspace, &key);
                    records.remove(&key);
                } else {
                    let value = vec![round; (random.below(3) * 90) as usize];
                    batch.insert(&keyspace, &key, &value);
                    records.insert(key, value);
                }
            }
            block_on(db.commit(batch)).unwrap();
            if random.one_in(8) {
                block_on(db.run(Db::flush)).unwrap();
            }
        }
        // Also from files that nothing has read.
        block_on(db.close()).unwrap();
        let db = open(Arc::new(memory.clone()));
        let keyspace = block_on(db.run(|db| db.keyspace("k"))).unwrap();
        let keys: Vec<Vec<u8>> = (0..400).map(|_| (random.below(3100) as u32).to_be_bytes().to_vec()).collect();
        let together = block_on(db.multi_get(&keyspace, &keys)).unwrap();
        for (key, together) in keys.iter().zip(together) {
            let expected = records.get(key).map(Vec::as_slice);
            assert_eq!(together.as_deref(), expected);
            assert_eq!(block_on(db.get(&keyspace, key)).unwrap().as_deref(), expected);
        }
        for _ in 0..8 {
            let (from, to) = (random.below(3000) as u32, random.below(3000) as u32);
            let bounds = from.min(to).to_be_bytes()..to.max(from).to_be_bytes();
            let mut range = db.range(&keyspace, bounds.clone());
            let stream = db.range(&keyspace, bounds.clone());
            // What is written from now on is not in it.
            keyspace.insert(from.min(to).to_be_bytes(), "later").unwrap();
            let found = block_on(async {
                let mut found = Vec::new();
                while let Some(record) = range.next().await {
                    let (key, value) = record?;
                    found.push((key.to_vec(), value.to_vec()));
                }
                Ok::<_, Error>(found)
            });
            let expected = records.range(bounds.start.to_vec()..bounds.end.to_vec());
            let expected: Vec<_> = expected.map(|(key, value)| (key.clone(), value.clone())).collect();
            assert_eq!(found.unwrap(), expected);
            assert_eq!(block_on(collected(stream)).unwrap(), expected);
            records.insert(from.min(to).to_be_bytes().to_vec(), b"later".to_vec());
        }
    }
}

#[test]
fn a_get_that_memory_answers_is_ready_at_once() {
    let (memory, gate) = (MemoryStorage::new(), Arc::new(Gate::default()));
    let db = open(Arc::new(memory.clone()));
    db.db().insert("short", "1").unwrap();
    db.db().insert("long", vec![7; 1000]).unwrap();
    // No read ends before the first poll returns.
    let is_ready = |db: &AsyncDb, key: &str| {
        let default = default_of(db);
        gate.set(true);
        let mut get = Box::pin(db.get(&default, key));
        let polled = poll_once(&mut get);
        gate.set(false);
        match polled {
            Poll::Ready(found) => (true, found.unwrap()),
            Poll::Pending => (false, block_on(get).unwrap()),
        }
    };
    assert!(is_ready(&db, "short").0 && is_ready(&db, "absent").0);
    db.db().compact().unwrap();
    db.db().close().unwrap();
    let db = open(Arc::new(GatedStorage { inner: Arc::new(memory), gate: Arc::clone(&gate) }));
    // A block has to be read, and then is in memory; a value in a value file is read each time.
    for (round, key) in [(0, "short"), (1, "short"), (1, "long")] {
        let (ready, found) = is_ready(&db, key);
        assert_eq!(
            (ready, found.map(|value| value.len())),
            (round == 1 && key == "short", db.db().get(key).unwrap().map(|value| value.len()))
        );
    }
}

/// A storage whose reads and syncs of files wait while its gate is shut.
#[derive(Clone, Debug)]
struct GatedStorage {
    inner: Arc<dyn Storage>,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
struct Gate {
    is_shut: Mutex<bool>,
    opened: Condvar,
    waiting: AtomicUsize,
}

impl Gate {
    fn set(&self, is_shut: bool) {
        *self.is_shut.lock().unwrap() = is_shut;
        self.opened.notify_all();
    }

    fn pass(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        drop(self.opened.wait_while(self.is_shut.lock().unwrap(), |is_shut| *is_shut).unwrap());
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct GatedFile<F: ?Sized> {
    inner: Arc<F>,
    gate: Arc<Gate>,
}

impl StorageWrapper for GatedStorage {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(GatedFile { inner: self.inner.open(name)?, gate: Arc::clone(&self.gate) }))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(GatedFile { inner: self.inner.create_update(name)?, gate: Arc::clone(&self.gate) }))
    }
}

impl ReaderWrapper for GatedFile<dyn ReadableFile> {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.gate.pass();
        self.inner.read(request)
    }
}

impl ReaderWrapper for GatedFile<dyn UpdatableFile> {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.inner.read(request)
    }
}

impl UpdaterWrapper for GatedFile<dyn UpdatableFile> {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.inner
    }

    fn sync(&self) -> Result<()> {
        self.gate.pass();
        self.inner.sync()
    }
}

#[test]
fn a_commit_that_has_begun_completes_when_its_future_is_dropped() {
    let gate = Arc::new(Gate::default());
    let memory = MemoryStorage::new();
    let db = open(Arc::new(GatedStorage { inner: Arc::new(memory.clone()), gate: Arc::clone(&gate) }));
    db.db().insert("before", "1").unwrap();
    gate.set(true);
    let mut batch = db.batch();
    batch.insert(db.db(), "a", "1").insert(db.db(), "b", "2");
    let mut commit = Box::pin(db.commit(batch));
    assert!(poll_once(&mut commit).is_pending());
    wait_until(|| gate.waiting.load(Ordering::SeqCst) == 1);
    drop(commit);
    gate.set(false);
    wait_until(|| db.db().get("a").unwrap().is_some());
    assert_eq!(db.db().get("b").unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn what_has_not_begun_is_cancelled_when_its_future_is_dropped() {
    let db = open(Arc::new(MemoryStorage::new()));
    let (gate, running) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
    gate.set(true);
    let most = Arc::new(AtomicUsize::new(0));
    let mut blocked: Vec<_> = (0..200)
        .map(|_| {
            let (gate, running, most) = (Arc::clone(&gate), Arc::clone(&running), Arc::clone(&most));
            Box::pin(db.run(move |_| {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                gate.pass();
                running.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Error>(())
            }))
        })
        .collect();
    assert!(blocked.iter_mut().all(|call| poll_once(call).is_pending()));
    wait_until(|| running.load(Ordering::SeqCst) == 32);
    // No thread is left for these.
    let mut batch = db.batch();
    batch.insert(db.db(), "a", "1");
    let mut commit = Box::pin(db.commit(batch));
    assert!(poll_once(&mut commit).is_pending());
    drop(commit);
    let default = default_of(&db);
    let inner = default.clone();
    let mut work = Box::pin(db.transaction(move |tx| tx.insert(&inner, "b", "1")));
    assert!(poll_once(&mut work).is_pending());
    drop(work);
    gate.set(false);
    blocked.into_iter().for_each(|call| block_on(call).unwrap());
    block_on(db.run(|db| db.insert("c", "1"))).unwrap();
    assert_eq!(default.iter().map(|record| record.unwrap().0.to_vec()).collect::<Vec<_>>(), [b"c"]);
    assert_eq!(most.load(Ordering::SeqCst), 32);
    // The work of a transaction was begun, and its commit was not.
    gate.set(true);
    let (inner, theirs, (begun, has_begun)) = (default.clone(), Arc::clone(&gate), channel());
    let mut work = Box::pin(db.transaction(move |tx| {
        begun.send(()).unwrap();
        theirs.pass();
        tx.insert(&inner, "d", "1")
    }));
    assert!(poll_once(&mut work).is_pending());
    has_begun.recv().unwrap();
    drop(work);
    gate.set(false);
    // The closure is dropped when the call has ended.
    assert!(has_begun.recv().is_err());
    assert_eq!(default.get("d").unwrap(), None);
}

#[test]
fn transactions_of_many_tasks_lose_no_update() {
    let db = open(Arc::new(MemoryStorage::new()));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let default = default_of(&db);
                    let add = db.transaction(move |tx| {
                        let before = tx.get(&default, "sum")?.map_or(0, |sum| sum[0]);
                        tx.insert(&default, "sum", [before + u8::from(before < 255)])
                    });
                    block_on(add).unwrap();
                }
            });
        }
    });
    assert_eq!(db.db().get("sum").unwrap().unwrap()[0], 255);
}

#[test]
fn panics_and_errors_of_calls_reach_the_caller_and_the_store_goes_on() {
    let db = open(Arc::new(MemoryStorage::new()));
    let default = default_of(&db);
    let inner = default.clone();
    let panicked = block_on(db.transaction::<(), Error>(move |tx| {
        tx.insert(&inner, "a", "1")?;
        panic!("of the test")
    }));
    let error = panicked.unwrap_err();
    assert!(error.cause == Cause::Input && error.to_string().contains("of the test"), "{error}");
    assert_eq!(default.get("a").unwrap(), None);
    #[derive(Debug)]
    struct Refused;
    impl From<Error> for Refused {
        fn from(_: Error) -> Self {
            Self
        }
    }
    assert!(block_on(db.transaction::<(), Refused>(|_| Err(Refused))).is_err());
    // A closure that has the store may be the last one to drop it.
    let (all, (done, has_done)) = (db.clone(), channel());
    let mut call = Box::pin(db.run(move |_| {
        let all = all;
        done.send(all.db().insert("b", "2")).unwrap();
        Ok::<_, Error>(())
    }));
    _ = poll_once(&mut call);
    drop(call);
    drop(db);
    _ = has_done.recv();
    assert!(default.get("b").is_ok());
}

/// All threads of a store are in calls that wait for further calls.
#[test]
fn calls_that_are_made_within_calls_end() {
    let db = open(Arc::new(MemoryStorage::new()));
    let default = default_of(&db);
    let calls: Vec<_> = (0..40_u8)
        .map(|number| {
            let (inner, default) = (db.clone(), default.clone());
            db.run(move |db| {
                let mut batch = db.batch();
                batch.insert(&default, [number], "x");
                block_on(inner.commit(batch))
            })
        })
        .collect();
    calls.into_iter().for_each(|call| block_on(call).unwrap());
    assert_eq!(default.iter().count(), 40);
}
