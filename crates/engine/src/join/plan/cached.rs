//! The cost profile of reads served by the page cache.

use crate::io::Profile;

/// Latency of a system call and the start of a copy, in microseconds: measured; 4 KiB take about 1.3 in total.
const LATENCY_US: f64 = 0.7;
/// Copy rate out of the page cache, in MB/s.
const BANDWIDTH_MB_PER_S: f64 = 7_000.0;

/// The profile of reads served by the page cache, named `cached`: one request at a time, as the joining core does the
/// copying itself.
#[must_use]
pub fn cached_profile() -> Profile {
    // The constants are valid for a profile; the default is a fallback.
    let profile = Profile::affine("cached", LATENCY_US, BANDWIDTH_MB_PER_S, 1);
    // One core copies at this rate however many requests there are.
    profile.and_then(|profile| profile.with_peak(BANDWIDTH_MB_PER_S)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_faster_than_every_device() {
        let cached = cached_profile();
        assert_eq!(cached.name(), "cached");
        for name in Profile::names() {
            for bytes in [512, 4096, 1 << 20] {
                assert!(cached.time_us(bytes) < Profile::named(name).unwrap().time_us(bytes), "{name} {bytes}");
            }
        }
    }
}
