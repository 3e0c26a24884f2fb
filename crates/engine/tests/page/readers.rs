//! Goal: readers see consistent commits beside the writer. Method: readers in threads, readers through a second handle
//! as another process has it, and readers of old snapshots.

use crate::support::{Model, options, transact};
use ogive::io::{FileLock, LocalStorage, MemoryStorage, Purpose, ReadableFile, Storage, UpdatableFile, WritableFile};
use ogive::page::{PageFile, PageNumber, PageOptions, PageSnapshot, Pages};
use ogive::{Cause, Error, Result};
use ogive_testkit::Random;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Pages that every commit of [`stamp`] changes together.
const STAMPED: u32 = 12;

/// Makes a file whose pages all begin with the same number: that of the commit.
fn stamped(storage: &Arc<dyn Storage>, options: &PageOptions) -> (PageFile, Vec<PageNumber>) {
    let file = PageFile::create(storage, "f", options, b"").unwrap();
    let mut tx = file.begin().unwrap();
    let pages = (0..STAMPED).map(|_| tx.allocate().unwrap()).collect();
    tx.set_state(&0_u64.to_le_bytes());
    tx.commit().unwrap();
    (file, pages)
}

/// Gives all pages the next number; now and then moves one of them to a fresh page.
fn stamp(file: &PageFile, pages: &mut [PageNumber], number: u64) -> Result<()> {
    let mut tx = file.begin()?;
    for (index, page) in pages.iter_mut().enumerate() {
        if (number + index as u64).is_multiple_of(17) {
            tx.free(*page, 1);
            *page = tx.allocate_extent(1)?;
            tx.write_fresh(*page, Purpose::Leaf, &number.to_le_bytes())?;
        } else {
            tx.edit(*page, Purpose::Leaf)?.write(0, &number.to_le_bytes());
        }
    }
    let mut state = number.to_le_bytes().to_vec();
    state.extend(pages.iter().flat_map(|page| page.to_le_bytes()));
    tx.set_state(&state);
    tx.commit()
}

/// The number of a snapshot, which all its pages must have.
fn number_of(snapshot: &PageSnapshot) -> u64 {
    let (number, pages) = snapshot.state().split_first_chunk::<8>().unwrap();
    for page in pages.chunks_exact(4) {
        let page = PageNumber::from_le_bytes(page.try_into().unwrap());
        let content = snapshot.read(page, Purpose::Leaf).unwrap();
        assert_eq!(content[..8], number[..], "page {page} is of another commit than the state");
    }
    u64::from_le_bytes(*number)
}

fn small() -> PageOptions {
    let mut options = options(512);
    options.checkpoint_bytes = 20_000;
    options
}

/// Tries until a checkpoint has succeeded. Readers on old commits may have delayed all so far; each reader moves on.
fn checkpoint_beside_readers(file: &PageFile) {
    while file.statistics().checkpoints == 0 {
        file.checkpoint().unwrap();
        std::thread::yield_now();
    }
}

#[test]
fn eight_readers_see_only_committed_states_while_one_writes() {
    for memory_bytes in [0, 60_000, 1 << 22] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut options = small();
        options.memory_bytes = memory_bytes;
        let (file, mut pages) = stamped(&storage, &options);
        let (done, reads) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut last = 0;
                    let mut old: Option<(PageSnapshot, u64)> = None;
                    while !done.load(Ordering::Relaxed) {
                        let snapshot = file.snapshot().unwrap();
                        let number = number_of(&snapshot);
                        assert!(number >= last, "time ran backwards");
                        last = number;
                        if reads.fetch_add(1, Ordering::Relaxed).is_multiple_of(50) {
                            old = Some((snapshot, number));
                        }
                        if let Some((snapshot, number)) = &old {
                            assert_eq!(number_of(snapshot), *number);
                        }
                    }
                });
            }
            for number in 1..=500 {
                stamp(&file, &mut pages, number).unwrap();
            }
            checkpoint_beside_readers(&file);
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(number_of(&file.snapshot().unwrap()), 500);
    }
}

#[test]
fn a_reader_in_another_process_keeps_its_commit_while_the_writer_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
    let (file, mut pages) = stamped(&storage, &small());
    for number in 1..=20 {
        stamp(&file, &mut pages, number).unwrap();
    }
    assert!(matches!(PageFile::open(&storage, "f", &small()), Err(Error { cause: Cause::Locked { .. }, .. })));
    for memory_bytes in [0, 1 << 20] {
        let mut reading = small();
        reading.memory_bytes = memory_bytes;
        let before = number_of(&file.snapshot().unwrap());
        // Another instance, as another process has it: nothing is shared but the files.
        let there: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
        let reader = PageFile::open_read_only(&there, "f", &reading).unwrap();
        assert!(matches!(reader.begin(), Err(Error { cause: Cause::Input, .. })));
        for number in before + 1..before + 120 {
            stamp(&file, &mut pages, number).unwrap();
        }
        file.checkpoint().unwrap();
        assert!(file.statistics().checkpointed <= before + 1, "the checkpoint passed a reader");
        assert_eq!(number_of(&reader.snapshot().unwrap()), before);
        reader.snapshot().unwrap().verify(&claimed(&reader)).unwrap();
        drop(reader);
        file.checkpoint().unwrap();
        assert_eq!(file.statistics().log_bytes, 0);
    }
    let left = storage.list().unwrap();
    assert!(!left.iter().any(|name| name.contains("reader")), "{left:?}");
}

fn claimed(file: &PageFile) -> Vec<(PageNumber, u32)> {
    let snapshot = file.snapshot().unwrap();
    snapshot.state()[8..].chunks_exact(4).map(|page| (PageNumber::from_le_bytes(page.try_into().unwrap()), 1)).collect()
}

#[test]
fn readers_of_another_process_may_come_at_any_moment() {
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
    let mut options = small();
    options.checkpoint_bytes = 3_000;
    let (file, mut pages) = stamped(&storage, &options);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|reader| {
                let (done, directory) = (&done, &directory);
                scope.spawn(move || {
                    let there: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
                    let mut options = small();
                    options.memory_bytes = reader * 1_000_000;
                    while !done.load(Ordering::Relaxed) {
                        let reader = PageFile::open_read_only(&there, "f", &options).unwrap();
                        let number = number_of(&reader.snapshot().unwrap());
                        assert_eq!(number_of(&reader.snapshot().unwrap()), number);
                    }
                })
            })
            .collect();
        for number in 1..=300 {
            stamp(&file, &mut pages, number).unwrap();
        }
        checkpoint_beside_readers(&file);
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn what_a_dead_reader_left_is_removed() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (file, mut pages) = stamped(&storage, &small());
    for name in ["f.reader-0-0000", "f.reader-1-0001", "f.reader-invalid"] {
        drop(storage.lock(name).unwrap());
    }
    stamp(&file, &mut pages, 1).unwrap();
    file.checkpoint().unwrap();
    assert_eq!(file.statistics().log_bytes, 0);
    assert!(!storage.list().unwrap().iter().any(|name| name.contains("reader")));
}

/// A medium that takes no files, whose content another machine changes.
#[derive(Debug)]
struct ReadOnly(MemoryStorage);

fn refused<T>() -> Result<T> {
    Err(Error::io("change", "the medium", ErrorKind::ReadOnlyFilesystem.into()))
}

impl Storage for ReadOnly {
    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        self.0.open(name)
    }
    fn create(&self, _: &str) -> Result<Box<dyn WritableFile>> {
        refused()
    }
    fn open_update(&self, _: &str) -> Result<Arc<dyn UpdatableFile>> {
        refused()
    }
    fn create_update(&self, _: &str) -> Result<Arc<dyn UpdatableFile>> {
        refused()
    }
    fn rename(&self, _: &str, _: &str) -> Result<()> {
        refused()
    }
    fn remove(&self, _: &str) -> Result<()> {
        refused()
    }
    fn exists(&self, name: &str) -> Result<bool> {
        self.0.exists(name)
    }
    fn list(&self) -> Result<Vec<String>> {
        self.0.list()
    }
    fn sync_directory(&self) -> Result<()> {
        refused()
    }
    fn lock(&self, _: &str) -> Result<Box<dyn FileLock>> {
        refused()
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }
}

#[test]
fn a_reader_that_cannot_register_learns_that_its_snapshot_is_gone() {
    for memory_bytes in [0, 1 << 20] {
        let memory = MemoryStorage::new();
        let storage: Arc<dyn Storage> = Arc::new(memory.clone());
        let (file, mut pages) = stamped(&storage, &small());
        stamp(&file, &mut pages, 1).unwrap();
        let there: Arc<dyn Storage> = Arc::new(ReadOnly(memory));
        let mut reading = small();
        reading.memory_bytes = memory_bytes;
        let with_log = PageFile::open_read_only(&there, "f", &reading).unwrap();
        file.checkpoint().unwrap();
        let without_log = PageFile::open_read_only(&there, "f", &reading).unwrap();
        assert_eq!(number_of(&without_log.snapshot().unwrap()), 1);
        for number in 2..30 {
            stamp(&file, &mut pages, number).unwrap();
            file.checkpoint().unwrap();
        }
        // What it had in its log it still has.
        assert_eq!(number_of(&with_log.snapshot().unwrap()), 1);
        let snapshot = without_log.snapshot().unwrap();
        let fresh = PageFile::open_read_only(&there, "f", &{
            let mut nothing_kept = small();
            nothing_kept.memory_bytes = 0;
            nothing_kept
        });
        assert_eq!(number_of(&fresh.unwrap().snapshot().unwrap()), 29);
        if memory_bytes == 0 {
            let claimed = claimed(&without_log);
            let gone = claimed.iter().filter(|&&(page, _)| {
                matches!(snapshot.read(page, Purpose::Leaf), Err(Error { cause: Cause::SnapshotGone, .. }))
            });
            assert!(gone.count() > 0);
        }
    }
}

#[test]
fn past_the_limit_of_the_log_the_writer_is_told_and_readers_go_on() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut options = small();
    options.log_limit_bytes = 60_000;
    let (file, mut pages) = stamped(&storage, &options);
    let snapshot = file.snapshot().unwrap();
    let mut number = 0;
    let error = loop {
        number += 1;
        match stamp(&file, &mut pages.clone(), number) {
            Ok(()) => {
                pages = file.snapshot().unwrap().state()[8..]
                    .chunks_exact(4)
                    .map(|page| PageNumber::from_le_bytes(page.try_into().unwrap()))
                    .collect();
            }
            Err(error) => break error,
        }
        assert!(number < 10_000, "no limit");
    };
    assert!(matches!(error, Error { cause: Cause::LogFull, .. }), "{error}");
    assert!(error.to_string().contains("a snapshot of commit 1, which this process holds, keeps it"), "{error}");
    assert_eq!(snapshot.state(), 0_u64.to_le_bytes());
    for &page in &pages {
        // The old snapshot may not have all of these pages.
        let _ = snapshot.read(page, Purpose::Leaf);
    }
    assert_eq!(number_of(&file.snapshot().unwrap()), number - 1);
    drop(snapshot);
    stamp(&file, &mut pages, number).unwrap();
    assert_eq!(number_of(&file.snapshot().unwrap()), number);
}

#[test]
fn a_second_transaction_waits_for_the_first() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (file, _) = stamped(&storage, &small());
    let page = file.begin().unwrap().allocate().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let mut tx = file.begin().unwrap();
                    let mut count = u64::from_le_bytes(tx.state().first_chunk::<8>().copied().unwrap());
                    count += 1;
                    tx.set_state(&count.to_le_bytes());
                    tx.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(file.snapshot().unwrap().state(), 200_u64.to_le_bytes());
    assert!(page > 0);
}

#[test]
fn old_snapshots_of_random_work_stay_what_they_were() {
    for seed in 0..6 {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut options = small();
        options.memory_bytes = seed * 40_000;
        options.checkpoint_bytes = 5_000;
        let mut random = Random::new(seed);
        let file = PageFile::create(&storage, "f", &options, b"").unwrap();
        let mut kept = vec![(file.snapshot().unwrap(), Model::default())];
        for _ in 0..150 {
            let model = transact(&file, &kept.last().unwrap().1, &mut random, 6).unwrap();
            if random.one_in(4) {
                let gone = random.below(kept.len() as u64) as usize;
                kept.swap_remove(gone);
            }
            kept.push((file.snapshot().unwrap(), model));
            let (snapshot, model) = &kept[random.below(kept.len() as u64) as usize];
            model.check_snapshot(snapshot).unwrap();
            snapshot.verify(&model.claimed()).unwrap();
        }
        for (snapshot, model) in &kept {
            model.check_snapshot(snapshot).unwrap();
        }
    }
}
