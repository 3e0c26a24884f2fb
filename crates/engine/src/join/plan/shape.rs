//! The read shape: the size of requests, and how many are issued at once.

use crate::io::Profile;

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

    fn us_per_byte(self, profile: &Profile) -> f64 {
        let rounds = f64::from(self.at_once.div_ceil(profile.parallel()));
        rounds * profile.time_us(self.request_bytes) / self.batch_bytes() as f64
    }
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
    fn more_memory_never_reads_slower() {
        for name in Profile::names() {
            let profile = Profile::named(name).unwrap();
            let times: Vec<f64> =
                (16..28).map(|bits| ReadShape::sequential(&profile, 1 << bits).us_per_byte(&profile)).collect();
            assert!(times.is_sorted_by(|a, b| a >= b), "{name}: {times:?}");
        }
    }
}
