//! The read shape: the size of requests, how many are issued at once, and the gaps that are read through.

use crate::io::{LARGE_PAGE_BYTES, Profile};

/// Shortest and longest request of a scan, in bytes: below, calls cost more than the bytes read; above, no known device
/// gains.
const REQUEST_BYTES_MIN: u64 = 64 << 10;
const REQUEST_BYTES_MAX: u64 = 8 << 20;
/// A shape with more memory must take at most this fraction of the time.
const SPEEDUP_RATIO_MAX: f64 = 0.9;

/// The requests of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::join) struct ReadShape {
    /// Size of a request in bytes.
    pub(in crate::join) request_bytes: u64,
    /// Requests submitted at once.
    pub(in crate::join) at_once: u32,
}

impl ReadShape {
    /// The fastest shape for a long sequential read, with one batch of requests in a buffer of `buffer_bytes`; of about
    /// equally fast shapes, the one with the least memory.
    pub(in crate::join) fn sequential(profile: &Profile, buffer_bytes: u64) -> Self {
        let mut best = Self { request_bytes: REQUEST_BYTES_MIN.min(buffer_bytes.max(1)), at_once: 1 };
        let mut best_us = best.us_per_byte(profile);
        let mut taken_bytes = REQUEST_BYTES_MIN;
        while taken_bytes <= buffer_bytes {
            let mut at_once = 1;
            while at_once <= profile.parallel() && taken_bytes / u64::from(at_once) >= REQUEST_BYTES_MIN {
                let shape = Self { request_bytes: taken_bytes / u64::from(at_once), at_once };
                let us = shape.us_per_byte(profile);
                if shape.request_bytes <= REQUEST_BYTES_MAX && us < best_us * SPEEDUP_RATIO_MAX {
                    (best, best_us) = (shape, us);
                }
                at_once *= 2;
            }
            taken_bytes *= 2;
        }
        best
    }

    /// Size of one batch of requests, in bytes.
    pub(in crate::join) fn batch_bytes(self) -> u64 {
        self.request_bytes * u64::from(self.at_once)
    }

    /// Size of the requests of a batch of `bytes`, in bytes: a short one is read by as many requests at once, too.
    pub(in crate::join) fn request_bytes_of(self, bytes: u64) -> u64 {
        let least = REQUEST_BYTES_MIN.min(self.request_bytes);
        bytes.div_ceil(u64::from(self.at_once.max(1))).clamp(least, self.request_bytes)
    }

    fn us_per_byte(self, profile: &Profile) -> f64 {
        let rounds = f64::from(self.at_once.div_ceil(profile.parallel()));
        rounds * profile.time_us(self.request_bytes) / self.batch_bytes() as f64
    }
}

/// Runs of requests in flight ahead of the joining thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::join) struct StreamShape {
    /// The requests of a run.
    pub(in crate::join) run: ReadShape,
    /// Runs in flight.
    pub(in crate::join) in_flight: u32,
}

/// Shortest request of a stream on a measured device, unless memory is short: each costs a wake-up or two, and fills a
/// large page of memory.
const STREAM_REQUEST_BYTES_MIN: u64 = LARGE_PAGE_BYTES as u64;
/// Least memory of a stream with such requests.
const STREAM_BYTES_MIN: u64 = 16 << 20;
/// Most runs in flight: of single requests on a measured device, and of batches that fill the device by themselves.
const RUNS_MAX: u32 = 8;
const BATCHES_MAX: u32 = 2;
/// Runs in flight at least, if memory allows: several may end while the thread that starts the next is not running, as
/// on a machine with more work than processors.
const RUNS_MIN: u32 = 6;
/// A stream needs this fraction of the time of the fastest one, or less memory counts.
const STREAM_RATIO_MAX: f64 = 1.05;

/// Memory of a run beside its bytes: its alignment.
const RUN_OVERHEAD_BYTES: u64 = 4096;

impl StreamShape {
    /// The fastest shape within `memory_bytes` for runs of at least `least_bytes`, with a run in addition for the
    /// joining thread; of about equally fast shapes, the one with the least memory. On a device whose peak is unknown,
    /// runs are batches that fill it by themselves.
    pub(in crate::join) fn within(profile: &Profile, memory_bytes: u64, least_bytes: u64) -> Self {
        if profile.peak_mb_per_s().is_none() {
            let run = ReadShape::sequential(profile, (memory_bytes / 2).max(least_bytes));
            let runs = memory_bytes / run.batch_bytes().max(least_bytes).max(1);
            let in_flight = u32::try_from(runs.saturating_sub(1)).unwrap_or(BATCHES_MAX).clamp(1, BATCHES_MAX);
            return Self { run, in_flight };
        }
        let shortest = if memory_bytes < STREAM_BYTES_MIN { least_bytes } else { STREAM_REQUEST_BYTES_MIN };
        let shortest = shortest.max(least_bytes).max(1);
        let mut shapes = Vec::new();
        let mut request_bytes = shortest;
        while request_bytes <= REQUEST_BYTES_MAX.max(shortest) {
            let room = (memory_bytes / (request_bytes + RUN_OVERHEAD_BYTES)).saturating_sub(1);
            let most = u32::try_from(room).unwrap_or(RUNS_MAX).clamp(1, RUNS_MAX);
            let least = RUNS_MIN.min(most);
            let run = ReadShape { request_bytes, at_once: 1 };
            shapes.extend((least..=most).map(|in_flight| Self { run, in_flight }));
            if u64::from(most) > room {
                break;
            }
            request_bytes *= 2;
        }
        let us = |shape: &Self| shape.us_per_byte(profile);
        let best_us = shapes.iter().map(us).fold(f64::INFINITY, f64::min);
        let fast = shapes.iter().filter(|shape| us(shape) <= best_us * STREAM_RATIO_MAX);
        let smallest = fast.min_by_key(|shape| shape.run.request_bytes * u64::from(shape.in_flight + 1));
        smallest.copied().unwrap_or(Self { run: ReadShape { request_bytes: shortest, at_once: 1 }, in_flight: 1 })
    }

    /// Time per byte with all runs in flight, in microseconds.
    pub(in crate::join) fn us_per_byte(&self, profile: &Profile) -> f64 {
        let at_once = self.run.at_once * self.in_flight;
        profile.stream_us(self.run.request_bytes, at_once) / self.run.request_bytes as f64
    }
}

/// Largest gap between two blocks that is cheaper to read than to skip, in bytes: T(a + gap + b) against T(a) + T(b).
pub(in crate::join) fn worthwhile_gap_bytes(profile: &Profile, block_bytes: u64) -> u64 {
    let apart_us = 2.0 * profile.time_us(block_bytes);
    let along_is_cheaper = |gap: u64| profile.time_us(2 * block_bytes + gap) <= apart_us;
    let (mut low, mut high) = (0_u64, 1_u64 << 40);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if along_is_cheaper(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_fill_the_device_and_never_the_memory() {
        for name in Profile::names() {
            let profile = Profile::named(name).unwrap();
            for buffer_bytes in [1_u64 << 16, 1 << 20, 16 << 20, 256 << 20] {
                let shape = ReadShape::sequential(&profile, buffer_bytes);
                assert!(shape.batch_bytes() <= buffer_bytes && shape.at_once <= profile.parallel(), "{name} {shape:?}");
            }
            let shape = ReadShape::sequential(&profile, 64 << 20);
            // If memory allows, at most a tenth of the time is latency, or the device queue is full.
            let latency_share = profile.time_us(0) / profile.time_us(shape.request_bytes);
            assert!(latency_share < 0.15 || shape.at_once > 1, "{name} {shape:?}");
        }
    }

    #[test]
    fn a_short_batch_is_cut_into_as_many_requests_as_a_long_one() {
        let shape = ReadShape { request_bytes: 1 << 20, at_once: 8 };
        for (bytes, request_bytes) in [(8 << 20, 1 << 20), (1 << 20, 128 << 10), (100, 64 << 10), (9 << 20, 1 << 20)] {
            assert_eq!(shape.request_bytes_of(bytes), request_bytes, "{bytes}");
        }
        let tiny = ReadShape { request_bytes: 4096, at_once: 1 };
        assert_eq!(tiny.request_bytes_of(100), 4096);
    }

    #[test]
    fn a_stream_reaches_the_peak_within_its_memory() {
        for (latency_us, bandwidth, peak) in [(50.0, 1000.0, 2000.0), (400.0, 200.0, 800.0), (5.0, 7000.0, 7000.0)] {
            let profile = Profile::affine("x", latency_us, bandwidth, 16).unwrap().with_peak(peak).unwrap();
            let mut before_us = f64::INFINITY;
            for bits in 14..28 {
                let shape = StreamShape::within(&profile, 1 << bits, 16 << 10);
                let runs = u64::from(shape.in_flight) + 1;
                assert!(runs <= 2 || shape.run.batch_bytes() * runs <= 1 << bits, "{bits}: {shape:?}");
                let us = shape.us_per_byte(&profile);
                assert!(us <= before_us * STREAM_RATIO_MAX, "{bits}: {shape:?}");
                before_us = us;
            }
            assert!(before_us * peak < STREAM_RATIO_MAX, "{before_us}");
        }
        let nvme = StreamShape::within(&Profile::default(), 64 << 20, 16 << 10);
        assert_eq!((nvme.run, nvme.in_flight), (ReadShape::sequential(&Profile::default(), 32 << 20), 2));
    }

    #[test]
    fn more_memory_never_reads_slower() {
        for name in Profile::names() {
            let profile = Profile::named(name).unwrap();
            let times: Vec<f64> =
                (16..28).map(|bits| ReadShape::sequential(&profile, 1 << bits).us_per_byte(&profile)).collect();
            assert!(times.is_sorted_by(|a, b| a >= b), "{name}: {times:?}");
        }
    }

    #[test]
    fn a_gap_is_read_along_for_as_long_as_it_is_cheaper_than_a_request() {
        for (name, at_least, at_most) in
            [("nvme", 60 << 10, 80 << 10), ("s3", 3 << 20, 4 << 20), ("hdd", 1 << 20, 2 << 20)]
        {
            let gap = worthwhile_gap_bytes(&Profile::named(name).unwrap(), 4096);
            assert!((at_least..=at_most).contains(&gap), "{name}: {gap}");
        }
    }
}
