//! A modelled clock: the time that reads would take on a device with a given profile.

use super::curve::Profile;
use crate::io::storage::observer::{ObservedRange, ObservedStorage, StorageObserver};
use crate::io::storage::traits::Storage;
use crate::io::storage::wrapper::StorageWrapper;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A storage that forwards to another and adds up the time that the reads would take on a device with a given profile:
/// T(n) for each read, and up to P at once for [`read_many`](crate::io::ReadableFile::read_many). It does not delay
/// anything.
///
/// Writes to an [`UpdatableFile`](crate::io::UpdatableFile) cost as much as reads of their size: the profile has no
/// other price, and devices buffer writes. Other writes, syncs and directory operations cost nothing. The reads of
/// several threads add up as if they were sequential. Clones share the time.
#[derive(Clone, Debug)]
pub struct ModelledClock {
    storage: ObservedStorage<Elapsed>,
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
}

impl StorageObserver for Elapsed {
    fn read(&self, _path: &Path, ranges: &[ObservedRange]) {
        self.add(match ranges {
            [range] => self.profile.time_us(range.bytes),
            _ => self.profile.batch_us(&ranges.iter().map(|range| range.bytes).collect::<Vec<_>>()),
        });
    }

    fn update(&self, _path: &Path, range: ObservedRange) {
        self.add(self.profile.time_us(range.bytes));
    }
}

impl ModelledClock {
    /// Creates a clock at zero that prices the reads of `inner` by `profile`.
    pub fn new(inner: Arc<dyn Storage>, profile: Profile) -> Self {
        Self { storage: ObservedStorage::new(inner, Elapsed { profile, nanoseconds: AtomicU64::new(0) }) }
    }

    /// Modelled microseconds since the start or the last reset. Each read call is rounded to a nanosecond.
    pub fn elapsed_us(&self) -> f64 {
        self.storage.observer().nanoseconds.load(Ordering::Relaxed) as f64 / 1e3
    }

    /// Resets the clock to zero and returns its last value in microseconds.
    pub fn reset(&self) -> f64 {
        self.storage.observer().nanoseconds.swap(0, Ordering::Relaxed) as f64 / 1e3
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.storage.observer().profile
    }
}

impl StorageWrapper for ModelledClock {
    fn inner(&self) -> &dyn Storage {
        &self.storage
    }
}
