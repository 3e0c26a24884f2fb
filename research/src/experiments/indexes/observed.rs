//! An observed storage: pages read, bytes written per file, and modelled device time.
//!
//! The cost model of a device with profile T(n) and parallelism P:
//!
//! - a read of n bytes takes T(n), and concurrent reads run P at a time;
//! - a write takes nothing until its file is synced. A sync takes the time of the writes since the last sync, as runs
//!   of consecutive bytes with one request of T(n) each, P at a time, and T(0) without writes. So a commit costs one
//!   request for its part of the log, and a checkpoint one per run of adjacent pages.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ogive::Result;
use ogive::io::{
    Profile, Purpose, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, UpdatableFile, UpdaterWrapper,
};

use super::touches::Role;

/// Flag in the number of a block outside the page file.
const ELSEWHERE: u64 = 1 << 63;

/// The writes to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ObservedWrites {
    pub(crate) bytes: u64,
    pub(crate) syncs: u64,
}

/// An observed storage that behaves like the inner one. Clones share the observations.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    inner: Arc<dyn Storage>,
    seen: Arc<Seen>,
}

#[derive(Debug)]
struct Seen {
    /// The page file, and the page size.
    pages_name: String,
    page_bytes: u64,
    watching: AtomicBool,
    reads: Mutex<Vec<(u64, Role)>>,
    written: Mutex<BTreeMap<String, ObservedWrites>>,
    /// Blocks read, for inner nodes and for anything else.
    inner_blocks: AtomicU64,
    other_blocks: AtomicU64,
    /// Read requests, and their bytes.
    requests: AtomicU64,
    bytes_read: AtomicU64,
    clocks: Vec<Clock>,
}

#[derive(Debug)]
struct Clock {
    profile: Profile,
    time_ns: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observed {
    /// Observes `inner`, whose file `pages_name` has pages of `page_bytes`, and prices it by each profile.
    pub(crate) fn new(inner: Arc<dyn Storage>, pages_name: &str, page_bytes: u64, profiles: &[Profile]) -> Self {
        let clock = |profile: &Profile| Clock { profile: profile.clone(), time_ns: AtomicU64::new(0) };
        let seen = Seen {
            pages_name: pages_name.into(),
            page_bytes,
            watching: AtomicBool::new(false),
            reads: Mutex::default(),
            written: Mutex::default(),
            inner_blocks: AtomicU64::new(0),
            other_blocks: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            clocks: profiles.iter().map(clock).collect(),
        };
        Self { inner, seen: Arc::new(seen) }
    }

    /// Starts or stops recording reads.
    pub(crate) fn watch(&self, on: bool) {
        self.seen.watching.store(on, Ordering::Relaxed);
        lock(&self.seen.reads).clear();
    }

    /// The reads since the last call, in order: pages by number, blocks of other files by flagged numbers.
    pub(crate) fn take_reads(&self) -> Vec<(u64, Role)> {
        std::mem::take(&mut lock(&self.seen.reads))
    }

    /// Bytes written to the page file, and to the log segments.
    pub(crate) fn written(&self) -> (ObservedWrites, ObservedWrites) {
        let (mut pages, mut log) = (ObservedWrites::default(), ObservedWrites::default());
        for (name, written) in &*lock(&self.seen.written) {
            let sum = if *name == self.seen.pages_name { &mut pages } else { &mut log };
            sum.bytes += written.bytes;
            sum.syncs += written.syncs;
        }
        (pages, log)
    }

    /// Blocks read since the start, including repeats: of inner nodes, and others.
    pub(crate) fn blocks_read(&self) -> (u64, u64) {
        (self.seen.inner_blocks.load(Ordering::Relaxed), self.seen.other_blocks.load(Ordering::Relaxed))
    }

    /// Read requests since the start, and their bytes.
    pub(crate) fn requests(&self) -> (u64, u64) {
        (self.seen.requests.load(Ordering::Relaxed), self.seen.bytes_read.load(Ordering::Relaxed))
    }

    /// Microseconds since the start, by each profile.
    pub(crate) fn elapsed_us(&self) -> Vec<f64> {
        self.seen.clocks.iter().map(|clock| clock.time_ns.load(Ordering::Relaxed) as f64 / 1e3).collect()
    }
}

impl Seen {
    fn price(&self, time_us: impl Fn(&Profile) -> f64) {
        for clock in &self.clocks {
            clock.time_ns.fetch_add((time_us(&clock.profile) * 1e3).round() as u64, Ordering::Relaxed);
        }
    }

    fn count_write(&self, name: &str, count: impl FnOnce(&mut ObservedWrites)) {
        let mut all = lock(&self.written);
        match all.get_mut(name) {
            Some(written) => count(written),
            None => count(all.entry(name.into()).or_default()),
        }
    }

    fn read(&self, file: &dyn ReadableFile, is_pages: bool, request: ReadRequest<'_>) -> Result<()> {
        let read = described(&request);
        file.read(request)?;
        self.price(|profile| profile.time_us(read.2));
        self.remember(is_pages, &[read]);
        Ok(())
    }

    fn read_many(&self, file: &dyn ReadableFile, is_pages: bool, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        let reads: Vec<_> = requests.iter().map(described).collect();
        file.read_many(requests)?;
        let sizes_bytes: Vec<u64> = reads.iter().map(|read| read.2).collect();
        self.price(|profile| profile.batch_us(&sizes_bytes));
        self.remember(is_pages, &reads);
        Ok(())
    }

    fn remember(&self, is_pages: bool, reads: &[(Purpose, u64, u64)]) {
        for &(purpose, offset, length) in reads {
            let blocks = (offset + length).div_ceil(self.page_bytes) - offset / self.page_bytes;
            let count = if matches!(purpose, Purpose::Inner(_)) { &self.inner_blocks } else { &self.other_blocks };
            count.fetch_add(blocks, Ordering::Relaxed);
            self.requests.fetch_add(1, Ordering::Relaxed);
            self.bytes_read.fetch_add(length, Ordering::Relaxed);
        }
        if !self.watching.load(Ordering::Relaxed) {
            return;
        }
        let mut known = lock(&self.reads);
        for &(purpose, offset, length) in reads {
            let (first, end) = (offset / self.page_bytes, (offset + length).div_ceil(self.page_bytes));
            let block = |number: u64| if is_pages { number } else { number | ELSEWHERE };
            known.extend((first..end).map(|number| (block(number), Role::of(purpose))));
        }
    }
}

impl StorageWrapper for Observed {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        let is_pages = name == self.seen.pages_name;
        Ok(Arc::new(ObservedReader { inner: self.inner.open(name)?, seen: Arc::clone(&self.seen), is_pages }))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(ObservedFile::new(self.inner.open_update(name)?, name, &self.seen)))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(ObservedFile::new(self.inner.create_update(name)?, name, &self.seen)))
    }
}

fn described(request: &ReadRequest<'_>) -> (Purpose, u64, u64) {
    (request.purpose, request.offset, request.buffer.len() as u64)
}

#[derive(Debug)]
struct ObservedReader {
    inner: Arc<dyn ReadableFile>,
    seen: Arc<Seen>,
    is_pages: bool,
}

impl ReaderWrapper for ObservedReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.seen.read(&*self.inner, self.is_pages, request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.seen.read_many(&*self.inner, self.is_pages, requests)
    }
}

#[derive(Debug)]
struct ObservedFile {
    inner: Arc<dyn UpdatableFile>,
    name: String,
    seen: Arc<Seen>,
    /// Start and end of the writes since the last sync, in order; adjacent ones are merged.
    pending: Mutex<Vec<(u64, u64)>>,
}

impl ObservedFile {
    fn new(inner: Arc<dyn UpdatableFile>, name: &str, seen: &Arc<Seen>) -> Self {
        Self { inner, name: name.into(), seen: Arc::clone(seen), pending: Mutex::default() }
    }

    fn is_pages(&self) -> bool {
        self.name == self.seen.pages_name
    }

    /// Lengths of the unsynced runs of bytes.
    fn runs(&self) -> Vec<u64> {
        let mut ranges = std::mem::take(&mut *lock(&self.pending));
        ranges.sort_unstable();
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for (first, end) in ranges {
            match runs.last_mut() {
                Some(last) if first <= last.1 => last.1 = last.1.max(end),
                _ => runs.push((first, end)),
            }
        }
        if runs.is_empty() { vec![0] } else { runs.into_iter().map(|(first, end)| end - first).collect() }
    }
}

impl ReaderWrapper for ObservedFile {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.seen.read(&*self.inner, self.is_pages(), request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.seen.read_many(&*self.inner, self.is_pages(), requests)
    }
}

impl UpdaterWrapper for ObservedFile {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.inner
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        self.inner.write_at(offset, bytes, purpose)?;
        let length = bytes.len() as u64;
        self.seen.count_write(&self.name, |written| written.bytes += length);
        let mut pending = lock(&self.pending);
        match pending.last_mut() {
            Some(last) if last.1 == offset => last.1 += length,
            _ => pending.push((offset, offset + length)),
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()?;
        let sizes_bytes = self.runs();
        self.seen.price(|profile| profile.batch_us(&sizes_bytes));
        self.seen.count_write(&self.name, |written| written.syncs += 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::io::MemoryStorage;

    #[test]
    fn reads_are_priced_at_once_and_writes_by_runs_when_they_are_synced() -> Result<()> {
        // One microsecond a request, one for each thousand bytes, one at a time.
        let profile = Profile::affine("test", 1.0, 1_000.0, 1)?;
        let storage = Observed::new(Arc::new(MemoryStorage::new()), "pages", 1_000, &[profile]);
        let file = Storage::create_update(&storage, "pages")?;
        let write = |at: u64, bytes: &[u8]| file.write_at(at, bytes, Purpose::Leaf);
        write(0, &[0; 10_000])?;
        file.sync()?;
        assert_eq!(storage.elapsed_us(), [11.0]);
        // Two runs: pages 1 and 2, the latter twice, and page 5.
        for page in [2, 5, 1, 2] {
            write(page * 1_000, &[1; 1_000])?;
        }
        assert_eq!(storage.elapsed_us(), [11.0]);
        file.sync()?;
        assert_eq!(storage.elapsed_us(), [16.0]);
        assert_eq!(storage.written(), (ObservedWrites { bytes: 14_000, syncs: 2 }, ObservedWrites::default()));
        Storage::create_update(&storage, "log")?.write_at(0, &[0; 7], Purpose::Log)?;
        assert_eq!(storage.written().1.bytes, 7);
        storage.watch(true);
        let reader = Storage::open(&storage, "pages")?;
        reader.read(ReadRequest { offset: 3_000, buffer: &mut [0; 2_000], purpose: Purpose::Inner(1) })?;
        assert_eq!(storage.elapsed_us(), [19.0]);
        assert_eq!(storage.take_reads(), [(3, Role::Inner(1)), (4, Role::Inner(1))]);
        assert_eq!((storage.take_reads(), storage.blocks_read()), (vec![], (2, 0)));
        assert_eq!(storage.requests(), (1, 2_000));
        Ok(())
    }
}
