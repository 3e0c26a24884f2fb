//! Clocks and random numbers: a modelled clock that prices reads by a storage profile, a real timer, and a random
//! source.

use super::profile::Profile;
use super::storage::{Purpose, ReadRequest, ReadableFile, Storage, UpdatableFile};
use super::wrapper::{ReaderWrapper, StorageWrapper, UpdaterWrapper};
use crate::error::Result;
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A storage that forwards to another and adds up the time that the reads would take on a device with a given profile:
/// T(n) for each read, and up to P at once for [`ReadableFile::read_many`]. It does not delay anything.
///
/// Writes to an [`UpdatableFile`] cost as much as reads of their size: the profile has no other price, and devices
/// buffer writes. Other writes, syncs and directory operations cost nothing. The reads of several threads add up as if
/// they were sequential. Clones share the time.
#[derive(Clone, Debug)]
pub struct ModelledClock {
    inner: Arc<dyn Storage>,
    meter: Arc<Elapsed>,
}

#[derive(Debug)]
struct Elapsed {
    profile: Profile,
    nanoseconds: AtomicU64,
}

impl Elapsed {
    fn add(&self, time_us: f64) {
        self.nanoseconds.fetch_add((time_us * 1e3).round() as u64, Ordering::Relaxed);
    }

    fn read(&self, file: &dyn ReadableFile, request: ReadRequest<'_>) -> Result<()> {
        let size_bytes = request.buffer.len() as u64;
        file.read(request)?;
        self.add(self.profile.time_us(size_bytes));
        Ok(())
    }

    fn read_many(&self, file: &dyn ReadableFile, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        let sizes_bytes: Vec<u64> = requests.iter().map(|request| request.buffer.len() as u64).collect();
        file.read_many(requests)?;
        self.add(self.profile.batch_us(&sizes_bytes));
        Ok(())
    }
}

impl ModelledClock {
    /// Creates a clock at zero that prices the reads of `inner` by `profile`.
    pub fn new(inner: Arc<dyn Storage>, profile: Profile) -> Self {
        Self { inner, meter: Arc::new(Elapsed { profile, nanoseconds: AtomicU64::new(0) }) }
    }

    /// Modelled microseconds since the start or the last reset. Each read call is rounded to a nanosecond.
    pub fn elapsed_us(&self) -> f64 {
        self.meter.nanoseconds.load(Ordering::Relaxed) as f64 / 1e3
    }

    /// Resets the clock to zero and returns its last value in microseconds.
    pub fn reset(&self) -> f64 {
        self.meter.nanoseconds.swap(0, Ordering::Relaxed) as f64 / 1e3
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.meter.profile
    }
}

impl StorageWrapper for ModelledClock {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        let inner = self.inner.open(name)?;
        Ok(Arc::new(ClockedFile { inner, meter: Arc::clone(&self.meter) }))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        let inner = self.inner.open_update(name)?;
        Ok(Arc::new(ClockedUpdate { inner, meter: Arc::clone(&self.meter) }))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        let inner = self.inner.create_update(name)?;
        Ok(Arc::new(ClockedUpdate { inner, meter: Arc::clone(&self.meter) }))
    }
}

#[derive(Debug)]
struct ClockedFile {
    inner: Arc<dyn ReadableFile>,
    meter: Arc<Elapsed>,
}

impl ReaderWrapper for ClockedFile {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.meter.read(&*self.inner, request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.meter.read_many(&*self.inner, requests)
    }
}

#[derive(Debug)]
struct ClockedUpdate {
    inner: Arc<dyn UpdatableFile>,
    meter: Arc<Elapsed>,
}

impl ReaderWrapper for ClockedUpdate {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.meter.read(&*self.inner, request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.meter.read_many(&*self.inner, requests)
    }
}

impl UpdaterWrapper for ClockedUpdate {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.inner
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        self.inner.write_at(offset, bytes, purpose)?;
        self.meter.add(self.meter.profile.time_us(bytes.len() as u64));
        Ok(())
    }
}

/// A monotonic stopwatch, used for all real-time measurements.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    start: Instant,
}

impl Timer {
    /// Starts a timer.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Microseconds since the start.
    pub fn elapsed_us(&self) -> f64 {
        self.start.elapsed().as_nanos() as f64 / 1e3
    }

    /// Seconds since the start.
    pub fn elapsed_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

thread_local! {
    static DRAWN: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Makes [`random_u64`] deterministic on this thread, with the sequence of `seed`, so that a test can repeat a run
/// exactly; `None` makes it random again.
pub fn seed_random(seed: Option<u64>) {
    DRAWN.set(seed);
}

/// A random number that differs between calls and runs; not for cryptography.
pub fn random_u64() -> u64 {
    if let Some(drawn) = DRAWN.get() {
        // SplitMix64.
        let next = drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        DRAWN.set(Some(next));
        let mixed = (next ^ next >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        return mixed ^ mixed >> 31;
    }
    // Each `RandomState` has its own keys, seeded by the operating system.
    RandomState::new().build_hasher().finish()
}
/// Number of threads that this machine runs in parallel; 1 if unknown.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
