//! Goal: readers see committed states and nothing else under every interleaving of one writer and many readers. Method:
//! random schedules, which may switch threads at each lock and each storage call.

use super::{PageFile, PageNumber, PageOptions, PageSnapshot, Pages};
use crate::error::Result;
use crate::io::reads::test_schedule;
use crate::io::{
    MemoryStorage, Purpose, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, UpdatableFile,
    UpdaterWrapper,
};
use std::sync::Arc;

const PAGES: usize = 5;

/// A storage that lets others run at each read and write.
#[derive(Debug)]
struct YieldingStorage(MemoryStorage);

#[derive(Debug)]
struct YieldingFile(Arc<dyn UpdatableFile>);

impl StorageWrapper for YieldingStorage {
    fn inner(&self) -> &dyn Storage {
        &self.0
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(YieldingFile(self.0.open_update(name)?)))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(YieldingFile(self.0.create_update(name)?)))
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

impl UpdaterWrapper for YieldingFile {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.0
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        test_schedule::pass();
        self.0.write_at(offset, bytes, purpose)
    }
}

fn write(file: &PageFile, pages: &mut [PageNumber], number: u64) {
    let mut tx = file.begin().unwrap();
    for (index, page) in pages.iter_mut().enumerate() {
        match (number + index as u64) % 4 {
            0 => {
                tx.free(*page, 1);
                *page = tx.allocate_extent(1).unwrap();
                tx.write_fresh(*page, Purpose::Leaf, &number.to_le_bytes()).unwrap();
            }
            1 => {
                tx.free(*page, 1);
                *page = tx.allocate().unwrap();
                tx.edit(*page, Purpose::Inner(1)).unwrap().write(0, &number.to_le_bytes());
            }
            _ => tx.edit(*page, Purpose::Leaf).unwrap().write(0, &number.to_le_bytes()),
        }
    }
    let mut state = number.to_le_bytes().to_vec();
    state.extend(pages.iter().flat_map(|page| page.to_le_bytes()));
    tx.set_state(&state);
    tx.commit().unwrap();
}

fn read(snapshot: &PageSnapshot) -> u64 {
    let (number, pages) = snapshot.state().split_first_chunk::<8>().unwrap();
    for (index, page) in pages.chunks_exact(4).enumerate() {
        let page = PageNumber::from_le_bytes(page.try_into().unwrap());
        let purpose = if index % 2 == 0 { Purpose::Leaf } else { Purpose::Inner(index as u8) };
        let content = snapshot.read(page, purpose).unwrap();
        assert_eq!(content[..8], number[..], "page {page} of commit {}", snapshot.sequence());
    }
    u64::from_le_bytes(*number)
}

/// One schedule: a writer of some commits, with checkpoints, beside readers that take, keep and drop snapshots.
fn try_schedule(seed: u64, readers: usize) -> u64 {
    let storage: Arc<dyn Storage> = Arc::new(YieldingStorage(MemoryStorage::new()));
    let options = PageOptions {
        page_bytes: 512,
        memory_bytes: [0, 30_000, 1 << 20][seed as usize % 3],
        resident_bytes: [0, 1024][seed as usize / 3 % 2],
        checkpoint_bytes: [500, 3_000][seed as usize / 6 % 2],
        ..PageOptions::default()
    };
    let file = PageFile::create(&storage, "f", &options, b"").unwrap();
    let mut pages = Vec::new();
    let mut tx = file.begin().unwrap();
    pages.extend((0..PAGES).map(|_| tx.allocate().unwrap()));
    tx.commit().unwrap();
    write(&file, &mut pages, 1);
    let mut work: Vec<Box<dyn FnOnce() + Send + '_>> = vec![Box::new(|| {
        for number in 2..8 {
            write(&file, &mut pages, number);
            if number % 3 == 0 {
                file.checkpoint().unwrap();
            }
        }
    })];
    for _ in 0..readers {
        work.push(Box::new(|| {
            let kept = file.snapshot().unwrap();
            let then = read(&kept);
            for _ in 0..2 {
                assert!(read(&file.snapshot().unwrap()) >= then);
                assert_eq!(read(&kept), then);
            }
        }));
    }
    let passes = test_schedule::run(seed, work);
    assert_eq!(read(&file.snapshot().unwrap()), 7);
    passes
}

#[test]
fn readers_see_only_committed_states_under_any_schedule() {
    let passes: u64 = (0..120).map(|seed| try_schedule(seed, 8)).sum();
    assert!(passes > 10_000, "only {passes} choices");
}

#[test]
#[ignore = "long: 5 minutes"]
fn readers_see_only_committed_states_under_many_more_schedules() {
    for seed in 1_000..11_000 {
        try_schedule(seed, 1 + seed as usize % 8);
    }
}
