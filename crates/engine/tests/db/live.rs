//! Tests of readers of stores that others write to. Goal: checkpoints, backups and verifications made while another
//! thread writes, flushes, compacts and reopens the store show the store as it was at one moment after they began, and
//! are never noticed by the writer. Method: group number k of a writer is a function of k, so the contents after each
//! group are known; each copy must equal them for one k between the last group acknowledged before and the last one
//! begun after. Options and steps are drawn.

use crate::support::{Draws, Records, collect, small};
use ogive::backup::{BackupOptions, Backups};
use ogive::io::{LocalStorage, MemoryStorage, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper};
use ogive::lsm::{Db, DbOptions, checkpoint_store};
use ogive::verify::verify_store;
use ogive::{Cause, Durability, Error};
use ogive_testkit::{Random, Repeat, seeds};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The key whose value is the number of the last group.
const LAST: &[u8] = b"last";

/// The contents of both keyspaces.
type Model = [Records; 2];

/// Group `number`: keyspace, key, and the value or a removal.
fn group(number: u64) -> Vec<(usize, Vec<u8>, Option<Vec<u8>>)> {
    let mut random = Random::new(number.wrapping_mul(77) + 5);
    let mut operations = vec![(0, LAST.to_vec(), Some(number.to_be_bytes().to_vec()))];
    for _ in 0..1 + random.below(5) {
        let key = format!("key {:03}", random.below(200)).into_bytes();
        let length = if random.one_in(3) { 200 + random.below(400) } else { random.below(60) };
        let value = (!random.one_in(4)).then(|| (0..length).map(|_| random.next_u64() as u8).collect());
        operations.push((random.below(2) as usize, key, value));
    }
    operations
}

fn apply(model: &mut Model, number: u64) {
    for (keyspace, key, value) in group(number) {
        match value {
            Some(value) => _ = model[keyspace].insert(key, value),
            None => _ = model[keyspace].remove(&key),
        }
    }
}

/// The model after each group, computed in order.
#[derive(Default)]
struct Models {
    number: u64,
    model: Model,
}

impl Models {
    fn after(&mut self, number: u64) -> &Model {
        assert!(number >= self.number, "group {number} after {}", self.number);
        while self.number < number {
            self.number += 1;
            apply(&mut self.model, self.number);
        }
        &self.model
    }
}

/// The progress of a writer.
#[derive(Default)]
struct Writing {
    begun: AtomicU64,
    acknowledged: AtomicU64,
    stop: AtomicBool,
}

fn write(db: &Db, number: u64) {
    let other = db.keyspace("other").unwrap();
    let mut batch = db.batch();
    for (keyspace, key, value) in group(number) {
        let keyspace = if keyspace == 0 { db.as_ref() } else { &other };
        match value {
            Some(value) => batch.insert(keyspace, &key, &value),
            None => batch.remove(keyspace, &key),
        };
    }
    batch.durability(Durability::Synced);
    batch.commit().unwrap();
}

/// Stops a writer when it is dropped, also by a failed test.
struct StopOnDrop<'a>(&'a Writing);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Release);
    }
}

/// Writes, flushes, compacts and reopens until it is told to stop.
fn run_writer(storage: &Arc<dyn Storage>, mut draws: Draws, writing: &Writing) {
    let mut random = Random::new(9);
    let mut db = Db::open(Arc::clone(storage), &draws.next()).unwrap();
    let mut number = 0;
    while !writing.stop.load(Ordering::Acquire) {
        match random.below(100) {
            0 => {
                db.close().unwrap();
                db = Db::open(Arc::clone(storage), &draws.next()).unwrap();
            }
            1 => db.compact().unwrap(),
            2..8 => db.flush().unwrap(),
            // A copy while nothing is written.
            8 => std::thread::yield_now(),
            _ => {
                number += 1;
                writing.begun.store(number, Ordering::Release);
                write(&db, number);
                writing.acknowledged.store(number, Ordering::Release);
            }
        }
    }
    db.close().unwrap();
}

fn contents(storage: Arc<dyn Storage>) -> (u64, Model) {
    let db = Db::open(storage, &DbOptions::default().create(false).threads(0)).unwrap();
    let other = db.keyspace("other").unwrap();
    let model = [collect(db.iter()).unwrap(), collect(other.iter()).unwrap()];
    let number = model[0].get(LAST).map_or(0, |number| u64::from_be_bytes(number[..].try_into().unwrap()));
    (number, model)
}

/// The ways to copy a live store.
fn copy(storage: &Arc<dyn Storage>, backups: &Backups, way: u64) -> Arc<dyn Storage> {
    let target = if storage.is_object_store() { MemoryStorage::objects() } else { MemoryStorage::new() };
    let target: Arc<dyn Storage> = Arc::new(target);
    match way {
        0 => checkpoint_store(storage, &target).unwrap(),
        _ => {
            let made = backups.create(storage, &BackupOptions::default().keep(3), &mut |_, _| ()).unwrap();
            assert_eq!((made.removal_failure, made.damaged.len()), (None, 0));
            backups.restore(Some(made.backup.number), &target, &mut |_, _| ()).unwrap();
        }
    }
    target
}

/// Copies a store while it is written to, until enough has happened, and compares all copies.
fn follow(storage: &Arc<dyn Storage>, draws: Draws, copies: u64) {
    let backups = Backups::at(Arc::new(MemoryStorage::new())).unwrap();
    let (writing, mut models) = (Writing::default(), Models::default());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| run_writer(storage, draws, &writing));
        let stop = StopOnDrop(&writing);
        while writing.acknowledged.load(Ordering::Acquire) == 0 {
            assert!(!writer.is_finished(), "the writer does not start");
        }
        for round in 0..copies {
            let before = writing.acknowledged.load(Ordering::Acquire);
            if round % 3 == 2 {
                let report = verify_store(storage, &mut |_, _| ()).unwrap();
                assert!(report.is_sound(), "{:?}", report.findings);
                continue;
            }
            let copied = copy(storage, &backups, round % 3);
            let after = writing.begun.load(Ordering::Acquire);
            let (number, found) = contents(copied);
            assert!((before..=after).contains(&number), "group {number} is not among {before}..={after}");
            assert!(*models.after(number) == found, "the copy differs from the store after group {number}");
        }
        drop(stop);
        writer.join().unwrap();
    });
    let (number, found) = contents(Arc::clone(storage));
    assert_eq!(number, writing.acknowledged.load(Ordering::Acquire));
    assert!(*models.after(number) == found, "the store itself");
    let problems = backups.verify(&mut |_, _| ()).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}

fn options() -> DbOptions {
    small()
        .threads(2)
        .writes(|writes| writes.memtable_bytes(4 << 10))
        .levels(|levels| levels.table_bytes(4 << 10).level_bytes(16 << 10))
}

#[test]
fn copies_of_a_store_that_is_written_to_equal_it_at_one_moment() {
    for seed in seeds(1..=4) {
        let _repeat = Repeat::new("db", seed);
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        follow(&storage, Draws::new(seed, &options()), 30);
    }
}

#[test]
fn copies_of_a_folder_that_is_written_to_equal_it_at_one_moment() {
    for seed in seeds(11..=12) {
        let _repeat = Repeat::new("db", seed);
        let folder = tempfile::tempdir().unwrap();
        // Few handles, so that files are closed while they are pinned.
        let storage = LocalStorage::new(folder.path()).with_open_files(if seed == 11 { 8 } else { 64 });
        follow(&(Arc::new(storage) as Arc<dyn Storage>), Draws::new(seed, &options()), 15);
    }
}

#[test]
fn copies_of_an_object_store_that_is_written_to_equal_it_at_one_moment() {
    for seed in seeds(31..=32) {
        let _repeat = Repeat::new("db", seed);
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
        follow(&storage, Draws::new(seed, &options()), 15);
    }
}

/// The last log is overwritten by a later one as soon as it is not needed: then it looks like a torn tail.
#[test]
fn a_log_that_is_recycled_while_it_is_read_loses_no_group() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let like = small().threads(1).writes(|writes| writes.memtable_bytes(1 << 10));
    follow(&storage, Draws::new(21, &like), 60);
}

/// Work of a writer between two reads of a log.
type Work = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// A storage whose reader of a log is slow: the writer works after the first bytes.
struct SlowLogs {
    inner: Arc<dyn Storage>,
    work: Work,
}

impl fmt::Debug for SlowLogs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SlowLogs")
    }
}

impl StorageWrapper for SlowLogs {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> ogive::Result<Arc<dyn ReadableFile>> {
        let inner = self.inner.open(name)?;
        match name.ends_with(".log") {
            true => Ok(Arc::new(SlowReader { inner, work: Arc::clone(&self.work) })),
            false => Ok(inner),
        }
    }
}

struct SlowReader {
    inner: Arc<dyn ReadableFile>,
    work: Work,
}

impl fmt::Debug for SlowReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SlowReader")
    }
}

impl ReaderWrapper for SlowReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> ogive::Result<()> {
        let ReadRequest { offset, buffer, purpose } = request;
        let (first, rest) = buffer.split_at_mut(buffer.len().min(64));
        let rest_offset = offset + first.len() as u64;
        self.inner.read(ReadRequest { offset, buffer: first, purpose })?;
        if let Some(work) = self.work.lock().unwrap().take() {
            work();
        }
        self.inner.read(ReadRequest { offset: rest_offset, buffer: rest, purpose })
    }
}

/// The header of the log is read, then the writer flushes and gives the file to the next log: what is left looks like
/// a log without any group.
#[test]
fn a_log_that_is_recycled_between_two_reads_is_not_an_empty_one() {
    let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    // So large that no compaction removes a table, which would be noticed.
    let options =
        DbOptions::default().threads(0).memory_bytes(16 << 20).writes(|writes| writes.memtable_bytes(1 << 20));
    let db = Db::open(Arc::clone(&memory), &options.values(|values| values.separation_bytes(u64::MAX))).unwrap();
    (1..=40).for_each(|number| write(&db, number));
    let writer = db.clone();
    let work = move || {
        for number in 41..=42 {
            writer.flush().unwrap();
            write(&writer, number);
        }
    };
    let slow: Arc<dyn Storage> = Arc::new(SlowLogs { inner: memory, work: Arc::new(Mutex::new(Some(Box::new(work)))) });
    let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    checkpoint_store(&slow, &target).unwrap();
    let (number, found) = contents(target);
    assert_eq!(number, 42, "groups that were durable are missing");
    assert!(*Models::default().after(42) == found);
    db.close().unwrap();
}

/// A storage that permits reading only, and no lock.
#[derive(Debug)]
struct ReadOnly(Arc<dyn Storage>);

impl ReadOnly {
    fn refuse<T>(&self, name: &str) -> ogive::Result<T> {
        let source = std::io::ErrorKind::PermissionDenied.into();
        Err(Error::io("change", self.0.path(name), source))
    }
}

impl Storage for ReadOnly {
    fn open(&self, name: &str) -> ogive::Result<Arc<dyn ogive::io::ReadableFile>> {
        self.0.open(name)
    }

    fn create(&self, name: &str) -> ogive::Result<Box<dyn ogive::io::WritableFile>> {
        self.refuse(name)
    }

    fn open_update(&self, name: &str) -> ogive::Result<Arc<dyn ogive::io::UpdatableFile>> {
        self.refuse(name)
    }

    fn create_update(&self, name: &str) -> ogive::Result<Arc<dyn ogive::io::UpdatableFile>> {
        self.refuse(name)
    }

    fn rename(&self, from: &str, _: &str) -> ogive::Result<()> {
        self.refuse(from)
    }

    fn remove(&self, name: &str) -> ogive::Result<()> {
        self.refuse(name)
    }

    fn exists(&self, name: &str) -> ogive::Result<bool> {
        self.0.exists(name)
    }

    fn list(&self) -> ogive::Result<Vec<String>> {
        self.0.list()
    }

    fn sync_directory(&self) -> ogive::Result<()> {
        self.refuse("")
    }

    fn lock(&self, name: &str) -> ogive::Result<Box<dyn ogive::io::FileLock>> {
        self.refuse(name)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path(name)
    }
}

fn written(storage: &Arc<dyn Storage>, groups: u64) -> Db {
    let db = Db::open(Arc::clone(storage), &options().threads(0)).unwrap();
    for number in 1..=groups {
        write(&db, number);
    }
    db
}

#[test]
fn a_live_store_is_verified_and_copied_with_permission_to_read_only() {
    let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let db = written(&memory, 120);
    let read_only: Arc<dyn Storage> = Arc::new(ReadOnly(Arc::clone(&memory)));
    assert!(verify_store(&read_only, &mut |_, _| ()).unwrap().is_sound());
    let mut models = Models::default();
    let backups = Backups::at(Arc::new(MemoryStorage::new())).unwrap();
    for way in 0..2 {
        let (number, found) = contents(copy(&read_only, &backups, way));
        assert_eq!(number, 120);
        assert!(*models.after(120) == found);
    }
    // And backups are restored, listed and verified with no more.
    let read_only = Backups::at(Arc::new(ReadOnly(written_backups(&memory)))).unwrap();
    assert_eq!(read_only.list().unwrap().backups.len(), 1);
    assert!(read_only.verify(&mut |_, _| ()).unwrap().is_empty());
    let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    read_only.restore(None, &target, &mut |_, _| ()).unwrap();
    assert_eq!(contents(target).0, 120);
    let denied = read_only.create(&memory, &BackupOptions::default(), &mut |_, _| ()).unwrap_err();
    assert!(matches!(denied, Error { cause: Cause::Io(_), .. }), "{denied}");
    db.close().unwrap();
}

fn written_backups(store: &Arc<dyn Storage>) -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    Backups::at(Arc::clone(&storage)).unwrap().create(store, &BackupOptions::default(), &mut |_, _| ()).unwrap();
    storage
}

#[test]
fn a_live_store_with_a_missing_or_damaged_file_is_reported_and_not_copied() {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let db = written(&storage, 300);
    let image: BTreeMap<String, Vec<u8>> =
        memory.list().unwrap().into_iter().map(|name| (name.clone(), memory.content(&name).unwrap())).collect();
    drop(db);
    let named = checkpointed_names(&image);
    let mut reported = 0;
    for name in named {
        for flipped in [false, true] {
            let damaged = MemoryStorage::new();
            for (other, content) in image.iter().filter(|(other, _)| flipped || **other != name) {
                damaged.put(other, content.clone()).unwrap();
            }
            if flipped {
                let mut content = image[&name].clone();
                let at = content.len() / 3;
                content[at] ^= 1;
                damaged.put(&name, content).unwrap();
            }
            let damaged: Arc<dyn Storage> = Arc::new(damaged);
            let report = verify_store(&damaged, &mut |_, _| ()).unwrap();
            assert!(report.findings.iter().any(|finding| finding.file == name), "{name} {flipped}: {report:?}");
            let backups = Backups::at(Arc::new(MemoryStorage::new())).unwrap();
            let error = backups.create(&damaged, &BackupOptions::default(), &mut |_, _| ()).unwrap_err();
            assert!(error.to_string().contains(&name), "{name} {flipped}: {error}");
            assert_eq!(backups.list().unwrap().backups, []);
            reported += 1;
        }
    }
    assert!(reported > 10, "{reported}");
}

/// The tables, the value files and the older logs of a store; the last log may have a torn tail.
fn checkpointed_names(image: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let memory = MemoryStorage::new();
    image.iter().for_each(|(name, content)| memory.put(name, content.clone()).unwrap());
    let target = MemoryStorage::new();
    checkpoint_store(&(Arc::new(memory) as Arc<dyn Storage>), &(Arc::new(target.clone()) as Arc<dyn Storage>)).unwrap();
    let names = target.list().unwrap();
    names.into_iter().filter(|name| name.ends_with(".table") || name.ends_with(".values")).collect()
}

#[test]
fn a_checkpoint_of_a_live_folder_fills_a_new_folder_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(path("store")));
    let db = Db::open(path("store"), &options()).unwrap();
    (1..=50).for_each(|number| write(&db, number));
    checkpoint_store(&storage, path("deep/copy")).unwrap();
    let again = checkpoint_store(&storage, path("deep/copy")).unwrap_err();
    assert!(matches!(&again, Error { cause: Cause::Io(std::io::ErrorKind::AlreadyExists), .. }), "{again}");
    let nothing: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    assert!(matches!(checkpoint_store(&nothing, path("other")), Err(Error { cause: Cause::NotAStore, .. })));
    assert!(LocalStorage::names(&path("other")).is_err());
    assert_eq!(contents(Arc::new(LocalStorage::new(path("deep/copy")))).0, 50);
    db.close().unwrap();
}

/// A storage whose store changes whenever its manifest is read, at most so often.
struct Restless {
    inner: MemoryStorage,
    writer: Db,
    changes_left: AtomicU64,
}

impl fmt::Debug for Restless {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Restless").field(&self.changes_left).finish()
    }
}

impl StorageWrapper for Restless {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn open(&self, name: &str) -> ogive::Result<Arc<dyn ReadableFile>> {
        let left = self.changes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if name.ends_with(".manifest")
            && let Ok(left) = left
        {
            self.writer.keyspace(&format!("k{left}"))?;
        }
        self.inner.open(name)
    }
}

#[test]
fn a_reader_whose_writer_is_too_fast_is_told_that_the_store_is_busy() {
    let memory = MemoryStorage::new();
    let writer = Db::open(Arc::new(memory.clone()), &small()).unwrap();
    writer.insert("key", "value").unwrap();
    let open = |changes: u64| {
        let writer = writer.clone();
        let storage = Restless { inner: memory.clone(), writer, changes_left: AtomicU64::new(changes) };
        Db::open_read_only(Arc::new(storage), &small())
    };
    match open(u64::MAX) {
        // A program that takes it for a missing store would make another one.
        Err(error @ Error { cause: Cause::Io(std::io::ErrorKind::ResourceBusy), .. }) => {
            assert_eq!(error.path(), memory.path("x").parent());
        }
        opened => panic!("{opened:?}"),
    }
    assert_eq!(open(2).unwrap().get("key").unwrap().unwrap()[..], *b"value");
}
