//! A storage that is as slow as a device with a given profile.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ogive::Result;
use ogive::io::{
    PendingReads, Profile, RangeRequest, ReadBuffer, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper,
    WritableFile, WriterWrapper,
};

/// A storage that forwards to another, and delays each read and write by T(n). At most P of them are served at a time,
/// whichever threads ask; the others wait for their turn. Where a [`ModelledClock`](ogive::io::ModelledClock) adds up
/// the reads of all threads, the time that passes here is that of reads which overlap. Files that are updated in place
/// are not delayed. Clones share the device.
#[derive(Clone, Debug)]
pub(super) struct EmulatedStorage {
    inner: Arc<dyn Storage>,
    device: Arc<EmulatedDevice>,
}

#[derive(Debug)]
struct EmulatedDevice {
    profile: Profile,
    /// When each request that was served last in its place ends: at most P of them.
    ends: Mutex<BinaryHeap<Reverse<Instant>>>,
}

impl EmulatedDevice {
    /// The time at which requests of these sizes, made now, end.
    fn end_of(&self, sizes_bytes: impl Iterator<Item = u64>) -> Instant {
        let now = Instant::now();
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = now;
        for bytes in sizes_bytes {
            let is_full = ends.len() >= self.profile.parallel() as usize;
            let freed = if is_full { ends.pop().map_or(now, |Reverse(end)| end) } else { now };
            let end = freed.max(now) + Duration::from_secs_f64(self.profile.time_us(bytes) / 1e6);
            ends.push(Reverse(end));
            last = last.max(end);
        }
        last
    }

    /// Waits for the end of requests of these sizes.
    fn serve(&self, sizes_bytes: impl Iterator<Item = u64>) {
        wait_until(self.end_of(sizes_bytes));
    }
}

fn wait_until(end: Instant) {
    // A thread sleeps 50 microseconds longer by default, which is about what a fast device takes.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    thread::sleep(end.saturating_duration_since(Instant::now()));
}

impl EmulatedStorage {
    pub(super) fn new(inner: Arc<dyn Storage>, profile: Profile) -> Self {
        let device = EmulatedDevice { profile, ends: Mutex::default() };
        Self { inner, device: Arc::new(device) }
    }

    /// Another storage on the same device.
    pub(super) fn over(&self, inner: Arc<dyn Storage>) -> Self {
        Self { inner, device: Arc::clone(&self.device) }
    }
}

impl StorageWrapper for EmulatedStorage {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(EmulatedReader { inner: self.inner.open(name)?, device: Arc::clone(&self.device) }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(EmulatedWriter { inner: self.inner.create(name)?, device: Arc::clone(&self.device) }))
    }
}

#[derive(Debug)]
struct EmulatedReader {
    inner: Arc<dyn ReadableFile>,
    device: Arc<EmulatedDevice>,
}

impl ReaderWrapper for EmulatedReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        let bytes = request.buffer.len() as u64;
        self.inner.read(request)?;
        self.device.serve([bytes].into_iter());
        Ok(())
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        let sizes: Vec<u64> = requests.iter().map(|request| request.buffer.len() as u64).collect();
        self.inner.read_many(requests)?;
        self.device.serve(sizes.into_iter());
        Ok(())
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        let end = self.device.end_of(ranges.iter().map(|range| range.bytes as u64));
        Ok(Box::new(EmulatedReads { inner: self.inner.start_reads(ranges)?, end }))
    }
}

/// Reads in progress until a point in time.
#[derive(Debug)]
struct EmulatedReads {
    inner: Box<dyn PendingReads>,
    end: Instant,
}

impl PendingReads for EmulatedReads {
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        let filled = self.inner.wait()?;
        wait_until(self.end);
        Ok(filled)
    }
}

#[derive(Debug)]
struct EmulatedWriter {
    inner: Box<dyn WritableFile>,
    device: Arc<EmulatedDevice>,
}

impl WriterWrapper for EmulatedWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.inner
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.append(bytes)?;
        self.device.serve([bytes.len() as u64].into_iter());
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.inner.write_at(offset, bytes)?;
        self.device.serve([bytes.len() as u64].into_iter());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_overlap_in_as_many_places_as_the_profile_has() {
        let ms = Duration::from_millis;
        for (parallel, bytes, expected) in
            [(1, vec![0; 3], ms(30)), (2, vec![0; 3], ms(20)), (4, vec![0; 4], ms(10)), (2, vec![10_000, 0], ms(20))]
        {
            let profile = Profile::affine("x", 10_000.0, 1.0, parallel).unwrap();
            let inner: Arc<dyn Storage> = Arc::new(ogive::io::MemoryStorage::new());
            let EmulatedStorage { device, .. } = EmulatedStorage::new(inner, profile);
            let before = Instant::now();
            // The calls of two threads share the places.
            let (first, rest) = bytes.split_at(1);
            let end = device.end_of(first.iter().copied()).max(device.end_of(rest.iter().copied()));
            let (least, most) = (before + expected, Instant::now() + expected);
            assert!((least..=most).contains(&end), "{parallel} {bytes:?}: {:?}", end - before);
        }
    }
}
