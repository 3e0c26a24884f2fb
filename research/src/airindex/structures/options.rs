//! Options of the updatable AirIndex: the storage that the hierarchy is tuned for, and the workload.

use ogive::io::Profile;

/// Options of [`super::AirIndexRouter`]. The default is the profile `nvme` and one lookup per insert.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct AirIndexOptions {
    /// Latency of the storage, in microseconds: the constant part of T(n).
    pub latency_us: f64,
    /// Bandwidth of one read, in MB per second (10^6 bytes): T(n) rises by 1 us for this number of bytes.
    pub bandwidth_mb_per_s: f64,
    /// Expected number of lookups per insert, including the search of the insert itself (Section 7.6). With more of
    /// them, a hierarchy that has drifted is rebuilt earlier. 0 leaves it as it is until a page of the directory has no
    /// room left.
    pub lookups_per_insert: f64,
}

/// The read from which the bandwidth of a profile is derived: as long as the longest that the tuner considers.
const BANDWIDTH_BYTES: u64 = 1 << 20;
/// Most lookups per insert that are accepted: a workload with fewer inserts is read-only for every purpose.
pub(crate) const LOOKUPS_PER_INSERT_MAX: f64 = 1e9;

impl Default for AirIndexOptions {
    fn default() -> Self {
        Self::for_profile(&Profile::default())
    }
}

impl AirIndexOptions {
    /// Options for storage with this profile. T(n) is stored as latency and bandwidth: for a profile of other shape, as
    /// the line through T(0) and T(1 MiB).
    pub fn for_profile(profile: &Profile) -> Self {
        let latency_us = profile.time_us(0);
        let transfer_us = profile.time_us(BANDWIDTH_BYTES) - latency_us;
        // A profile may be constant; then bandwidth is of no consequence, and any high one will do.
        let bandwidth_mb_per_s = BANDWIDTH_BYTES as f64 / transfer_us.max(1.0);
        Self { latency_us, bandwidth_mb_per_s, lookups_per_insert: 1.0 }
    }

    /// T(n) of the options; `None` for values that no storage has.
    pub(crate) fn profile(&self) -> Option<Profile> {
        Profile::affine("index", self.latency_us, self.bandwidth_mb_per_s, 1).ok()
    }
}
