//! Tests of a store under explored thread schedules. Goal: under every interleaving, readers see whole batches in
//! commit order and snapshots do not change while memtables are switched, views replaced, and values moved out of files
//! that are then removed. Method: a scheduler may switch threads at each lock and at each call to the storage.

use crate::error::{Error, Result};
use crate::io::reads::test_schedule;
use crate::io::{
    MemoryStorage, Purpose, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, UpdatableFile,
    UpdaterWrapper, WritableFile, WriterWrapper,
};
use crate::lsm::{Db, DbOptions, DbSnapshot};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A storage that lets other threads run at each call.
#[derive(Debug)]
struct YieldingStorage(MemoryStorage);

#[derive(Debug)]
struct YieldingFile(Arc<dyn ReadableFile>);

#[derive(Debug)]
struct YieldingUpdater(Arc<dyn UpdatableFile>);

#[derive(Debug)]
struct YieldingWriter(Box<dyn WritableFile>);

impl StorageWrapper for YieldingStorage {
    fn inner(&self) -> &dyn Storage {
        &self.0
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        test_schedule::pass();
        Ok(Arc::new(YieldingFile(self.0.open(name)?)))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        test_schedule::pass();
        Ok(Box::new(YieldingWriter(self.0.create(name)?)))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        test_schedule::pass();
        Ok(Arc::new(YieldingUpdater(self.0.open_update(name)?)))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        test_schedule::pass();
        Ok(Arc::new(YieldingUpdater(self.0.create_update(name)?)))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        test_schedule::pass();
        self.0.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        test_schedule::pass();
        self.0.remove(name)
    }
}

impl ReaderWrapper for YieldingFile {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.0
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        test_schedule::pass();
        self.0.read(request)
    }
}

impl ReaderWrapper for YieldingUpdater {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.0
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        test_schedule::pass();
        self.0.read(request)
    }
}

impl UpdaterWrapper for YieldingUpdater {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.0
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        test_schedule::pass();
        self.0.write_at(offset, bytes, purpose)
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
        test_schedule::pass();
        self.0.append(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        test_schedule::pass();
        self.0.write_at(offset, bytes)
    }

    fn sync(&mut self) -> Result<()> {
        test_schedule::pass();
        self.0.sync()
    }
}

/// Keys per writer.
const KEYS: u8 = 4;

/// Batches per writer.
const BATCHES: u64 = 6;

/// Number of writers.
const WRITERS: u8 = 2;

fn key(writer: u8, index: u8) -> [u8; 2] {
    [writer, index]
}

/// A value that states its batch. It is long and incompressible, so that mostly dead value files are worth collecting.
fn value(batch: u64) -> Vec<u8> {
    let words = (0..300 + batch).map(|word| (word << 8 | batch).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    std::iter::once(batch).chain(words).flat_map(u64::to_le_bytes).collect()
}

fn batch_of(found: &[u8]) -> u64 {
    let batch = u64::from_le_bytes(*found.first_chunk().unwrap());
    assert_eq!(found, value(batch));
    batch
}

/// The keys that a writer overwrites.
fn keys_of(writer: u8) -> Range<[u8; 2]> {
    key(writer, 0)..key(writer, KEYS)
}

/// A key that is written once, so that it stays alive while the values around it die.
fn lasting_key(writer: u8, batch: u64) -> [u8; 2] {
    key(writer, 100 + batch as u8)
}

/// Writes all keys of a writer in one batch; odd batches first remove them by range.
fn write(db: &Db, writer: u8, batch: u64) {
    let mut operations = db.batch();
    if batch % 2 == 1 {
        operations.remove_range(db, keys_of(writer));
    }
    for index in 0..KEYS {
        operations.insert(db, key(writer, index), value(batch));
    }
    operations.insert(db, lasting_key(writer, batch), value(batch));
    operations.commit().unwrap();
}

/// Reads the keys of a writer in one of several ways; checks that they have the same batch, and returns it.
fn read(db: &Db, snapshot: Option<&DbSnapshot>, writer: u8, way: u64) -> u64 {
    let keys = || (0..KEYS).map(|index| key(writer, index));
    let range = || keys_of(writer);
    let found: Vec<u64> = match (snapshot, way % 4) {
        (None, 0) => keys().map(|key| batch_of(&db.get(key).unwrap().unwrap())).collect(),
        (None, 1) => db.multi_get(keys()).unwrap().iter().map(|value| batch_of(value.as_ref().unwrap())).collect(),
        (None, 2) => db.range(range()).map(|record| batch_of(&record.unwrap().1)).collect(),
        (None, _) => db.range(range()).rev().map(|record| batch_of(&record.unwrap().1)).collect(),
        (Some(snapshot), 0..2) => keys().map(|key| batch_of(&snapshot.get(db, key).unwrap().unwrap())).collect(),
        (Some(snapshot), 2) => snapshot.range(db, range()).map(|record| batch_of(&record.unwrap().1)).collect(),
        (Some(snapshot), _) => {
            let pairs: Vec<_> = snapshot.range(db, range()).pairs().collect();
            pairs.into_iter().map(|pair| batch_of(&pair.unwrap().value().unwrap())).collect()
        }
    };
    assert_eq!(found.len(), usize::from(KEYS), "keys are missing: {found:?}");
    // Separate lookups may see different batches, but never an older one later.
    assert!(
        found.is_sorted()
            && (found.iter().all(|&batch| batch == found[0]) || snapshot.is_none() && way.is_multiple_of(4))
    );
    found[0]
}

/// Reads the current contents and a snapshot, until the writers are done.
fn look(db: &Db, seed: u64, writing: &AtomicU64) {
    let (mut newest, mut way) = ([0; WRITERS as usize], seed);
    let kept = db.snapshot();
    let then: Vec<u64> = (0..WRITERS).map(|writer| read(db, Some(&kept), writer, way)).collect();
    loop {
        let is_done = writing.load(Ordering::Acquire) == 0;
        for writer in 0..WRITERS {
            way += 1;
            let snapshot = way.is_multiple_of(3).then(|| db.snapshot());
            let batch = read(db, snapshot.as_ref(), writer, way);
            assert!(batch >= newest[usize::from(writer)], "what was read before is gone");
            newest[usize::from(writer)] = batch;
            assert_eq!(read(db, Some(&kept), writer, way / 2), then[usize::from(writer)], "a snapshot has changed");
        }
        if is_done {
            assert_eq!(newest, [BATCHES; WRITERS as usize]);
            return;
        }
    }
}

/// Options by seed: memtables of one group or of several, values separated or not, and who runs background work.
fn options(seed: u64, threads: usize) -> DbOptions {
    DbOptions::default()
        .memory_bytes(4 << 20)
        .writes(|writes| writes.memtable_bytes([1, 12 << 10][seed as usize % 2]))
        .values(|values| values.separation_bytes([0, 64, u64::MAX][seed as usize % 3]).dead_share(0.2))
        .levels(|levels| levels.table_bytes(1 << 10).level_bytes(2 << 10).level_factor(2))
        .threads(threads)
}

/// Counts down at the end of a thread. The last one stops the worker; a panic fails the store, so that no thread waits
/// for it.
struct ThreadCountdown<'a> {
    db: &'a Db,
    running: &'a AtomicU64,
    writing: Option<&'a AtomicU64>,
}

impl Drop for ThreadCountdown<'_> {
    fn drop(&mut self) {
        let core = self.db.core();
        if std::thread::panicking() {
            core.fail(&mut core.contents.lock(), &Error::interrupted());
        }
        if let Some(writing) = self.writing {
            writing.fetch_sub(1, Ordering::AcqRel);
        }
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            core.stop();
        }
    }
}

/// One schedule. With a worker, one thread runs the background work; otherwise the thread that makes it due.
fn try_schedule(storage: &MemoryStorage, seed: u64, has_worker: bool) -> (u64, u64) {
    let passing: Arc<dyn Storage> = Arc::new(YieldingStorage(storage.clone()));
    let db = Db::open_idle(Arc::clone(&passing), &options(seed, usize::from(has_worker))).unwrap();
    (0..WRITERS).for_each(|writer| write(&db, writer, 0));
    let (writers, readers) = (u64::from(WRITERS) + 1, 2);
    let (writing, running) = (AtomicU64::new(writers), AtomicU64::new(writers + readers));
    let part = |writing| ThreadCountdown { db: &db, running: &running, writing };
    let mut work: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
    for writer in 0..WRITERS {
        let (db, part) = (&db, part(Some(&writing)));
        work.push(Box::new(move || {
            let _part = part;
            (1..=BATCHES).for_each(|batch| write(db, writer, batch));
        }));
    }
    let (db, maintainer) = (&db, part(Some(&writing)));
    work.push(Box::new(move || {
        let _part = maintainer;
        for round in 0..2 {
            db.flush().unwrap();
            if (seed + round).is_multiple_of(3) {
                db.compact().unwrap();
            }
        }
    }));
    for reader in 0..readers {
        let (part, writing) = (part(None), &writing);
        work.push(Box::new(move || {
            let _part = part;
            look(db, seed + reader, writing);
        }));
    }
    if has_worker {
        work.push(Box::new(|| db.core().work(0)));
    }
    (test_schedule::run(seed, work), db.activity().moved_value_bytes)
}

/// Runs schedules and checks the result of each; returns the number of choices and of moved bytes.
fn try_schedules(seeds: Range<u64>, has_worker: bool) -> (u64, u64) {
    seeds
        .map(|seed| {
            let storage = MemoryStorage::new();
            let outcome = try_schedule(&storage, seed, has_worker);
            check_again(&storage, &options(seed, 0));
            outcome
        })
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Reopens the store: all data is there, and after a full compaction no unneeded file is left.
fn check_again(storage: &MemoryStorage, options: &DbOptions) {
    let db = Db::open(Arc::new(storage.clone()), options).unwrap();
    for way in 0..4 {
        (0..WRITERS).for_each(|writer| assert_eq!(read(&db, None, writer, way), BATCHES));
    }
    db.compact().unwrap();
    for writer in 0..WRITERS {
        assert_eq!(read(&db, None, writer, 2), BATCHES);
        let is_there =
            |batch| db.get(lasting_key(writer, batch)).unwrap().is_some_and(|found| batch_of(&found) == batch);
        assert!((0..=BATCHES).all(is_there));
    }
    db.close().unwrap();
    let db = Db::open(Arc::new(storage.clone()), options).unwrap();
    let state = db.core().contents.lock().state.clone();
    let numbers = |suffix: &str| {
        let names = storage.list().unwrap().into_iter();
        names.filter_map(|name| name.strip_suffix(suffix)?.parse().ok()).collect::<Vec<u64>>()
    };
    let mut tables: Vec<u64> = state.tables().map(|(_, _, meta)| meta.number).collect();
    tables.sort_unstable();
    assert_eq!(numbers(".table"), tables);
    assert_eq!(numbers(".values"), state.value_files.keys().copied().collect::<Vec<u64>>());
}

#[test]
fn readers_see_whole_batches_while_any_writer_does_the_work() {
    let (passes, moved_bytes) = try_schedules(0..40, false);
    assert!(passes > 10_000 && moved_bytes > 0, "{passes} choices, {moved_bytes} bytes moved");
}

#[test]
fn readers_see_whole_batches_while_a_worker_does_the_work() {
    let (passes, moved_bytes) = try_schedules(100..140, true);
    assert!(passes > 10_000 && moved_bytes > 0, "{passes} choices, {moved_bytes} bytes moved");
}

#[test]
#[ignore = "long: 10 minutes"]
fn readers_see_whole_batches_under_many_more_schedules() {
    try_schedules(1_000..3_500, false);
    try_schedules(1_000..3_500, true);
}
