//! A sample of the keys that a program looks up, for the design of an index by its lookups.

use crate::error::Result;
use crate::io::local::sync::Mutex;
use crate::io::{random_u64, save_text};
use crate::table::block::key::KEY_BYTES_MAX;
use crate::types::KeyType;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Longer keys are not sampled, so that a sample takes at most this much memory, 1 KiB, for each of its keys.
pub(crate) const SAMPLED_KEY_BYTES_MAX: usize = 1 << 10;

const _: () = assert!(SAMPLED_KEY_BYTES_MAX <= KEY_BYTES_MAX);

/// A uniform sample of the keys that are looked up, present or absent, whatever their number. Clones are cheap, and are
/// the same sample.
///
/// Each lookup is equally likely to be in the sample, so a key is in it as often as its share of the lookups says. A
/// sample takes at most 1 KiB and some bytes for each of its keys. It costs a lookup an addition; only the few that
/// enter the sample, of n lookups some k ln(n / k), take a lock.
///
/// ```
/// # use ogive::io::MemoryStorage;
/// # use ogive::table::{LookupSample, Table, TableOptions, TableWriter, TableWriteOptions};
/// # let storage = std::sync::Arc::new(MemoryStorage::new());
/// # let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default())?;
/// # writer.append(b"apple", b"red")?;
/// # writer.finish()?;
/// let asked = LookupSample::new(10_000);
/// let table = Table::open((storage, "t"), &TableOptions::default().lookup_sample(asked.clone()))?;
/// table.get(b"apple")?;
/// assert_eq!(asked.keys(), [b"apple"]);
/// # Ok::<(), ogive::Error>(())
/// ```
///
/// [`Self::save`] writes the file that `ogive tune --lookups FILE` reads.
///
/// Source: Li, "Reservoir-Sampling Algorithms of Time Complexity O(n(1 + log(N/n)))", 1994, Algorithm L. AirIndex,
/// Section 6, names such a tracker of the workload as future work.
#[derive(Clone, Debug)]
pub struct LookupSample(Arc<SampleState>);

#[derive(Debug)]
struct SampleState {
    keys_max: usize,
    /// Number of lookups so far.
    seen: AtomicU64,
    /// Number of the next lookup that enters the sample.
    next: AtomicU64,
    reservoir: Mutex<Reservoir>,
}

#[derive(Debug)]
struct Reservoir {
    /// The keys, each with the number of its lookup.
    keys: Vec<(u64, Box<[u8]>)>,
    /// W of Algorithm L: the largest of `keys_max` random numbers that a lookup must fall below.
    threshold: f64,
    random: SplitMix,
}

impl LookupSample {
    /// An empty sample of at most `keys` keys, and at least one.
    #[must_use]
    pub fn new(keys: usize) -> Self {
        Self::seeded(keys, random_u64())
    }

    fn seeded(keys: usize, seed: u64) -> Self {
        let reservoir = Reservoir { keys: Vec::new(), threshold: 1.0, random: SplitMix(seed) };
        Self(Arc::new(SampleState {
            keys_max: keys.max(1),
            seen: AtomicU64::new(0),
            next: AtomicU64::new(0),
            reservoir: Mutex::new(reservoir),
        }))
    }

    /// Notes a lookup.
    #[inline]
    pub(crate) fn note(&self, key: &[u8]) {
        let number = self.0.seen.fetch_add(1, Ordering::Relaxed);
        if number >= self.0.next.load(Ordering::Relaxed) {
            self.0.take(number, key);
        }
    }

    /// The number of lookups so far, of which the sample is one.
    #[must_use]
    pub fn lookups(&self) -> u64 {
        self.0.seen.load(Ordering::Relaxed)
    }

    /// The sampled keys, in the order of their lookups.
    #[must_use]
    pub fn keys(&self) -> Vec<Vec<u8>> {
        let mut keys = self.0.reservoir.lock().keys.clone();
        keys.sort_by_key(|&(number, _)| number);
        keys.into_iter().map(|(_, key)| key.into_vec()).collect()
    }

    /// Writes the keys to a file in the order of their lookups, one on each line, as `ogive get` takes them; replaces a
    /// file at `path`. `key_type` is that of the table or keyspace.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io) if the file cannot be written.
    pub fn save(&self, path: &Path, key_type: KeyType) -> Result<()> {
        let lines: String = self.keys().iter().map(|key| key_type.display(key) + "\n").collect();
        save_text(&lines, path)
    }
}

impl SampleState {
    /// Takes a lookup into the sample, unless another thread has just taken one in its place.
    #[cold]
    fn take(&self, number: u64, key: &[u8]) {
        // A longer key leaves its place to the next lookup, without a lock, since all lookups may be of such keys.
        if key.len() > SAMPLED_KEY_BYTES_MAX {
            return;
        }
        let mut reservoir = self.reservoir.lock();
        if number < self.next.load(Ordering::Relaxed) {
            return;
        }
        let Reservoir { keys, threshold, random } = &mut *reservoir;
        if keys.len() < self.keys_max {
            keys.push((number, key.into()));
        } else {
            let place = (random.next() % self.keys_max as u64) as usize;
            keys[place] = (number, key.into());
        }
        if keys.len() == self.keys_max {
            *threshold *= (random.unit().ln() / self.keys_max as f64).exp();
            // Lookups until the next one that falls below the threshold: geometrically distributed. A float too large
            // becomes the greatest integer.
            let skipped = (random.unit().ln() / (-*threshold).ln_1p()).floor() as u64;
            self.next.store(number.saturating_add(skipped).saturating_add(1), Ordering::Relaxed);
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Above 0 and at most 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lookups_are_all_in_the_sample_in_their_order() {
        let sample = LookupSample::seeded(100, 1);
        for number in 0..100_u64 {
            sample.note(&(number * 7 % 13).to_be_bytes());
        }
        let expected: Vec<_> = (0..100_u64).map(|number| (number * 7 % 13).to_be_bytes().to_vec()).collect();
        assert_eq!((sample.keys(), sample.lookups()), (expected, 100));
    }

    #[test]
    fn every_lookup_is_as_likely_as_any_other() {
        // Of 1,000 lookups 10 are kept, 4,000 times: each tenth of them should have 4,000 of the 40,000 keys. The
        // standard deviation is 60.
        let mut tenths = [0_u32; 10];
        for seed in 0..4_000 {
            let sample = LookupSample::seeded(10, seed * 7919);
            (0..1_000_u64).for_each(|number| sample.note(&number.to_be_bytes()));
            let keys = sample.keys();
            assert!(keys.len() == 10 && keys.is_sorted());
            for key in keys {
                let number = u64::from_be_bytes(key.try_into().unwrap());
                tenths[(number / 100) as usize] += 1;
            }
        }
        assert!(tenths.iter().all(|count| count.abs_diff(4_000) < 300), "{tenths:?}");
    }

    #[test]
    fn threads_share_a_sample_of_bounded_size() {
        let sample = LookupSample::new(64);
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let sample = sample.clone();
                scope.spawn(move || {
                    (0..10_000_u64).for_each(|number| sample.note(&(number * 4 + thread).to_be_bytes()))
                });
            }
        });
        assert_eq!((sample.lookups(), sample.keys().len()), (40_000, 64));
    }

    #[test]
    fn keys_too_long_are_left_out() {
        let sample = LookupSample::seeded(2, 3);
        for length in [5, SAMPLED_KEY_BYTES_MAX + 1, SAMPLED_KEY_BYTES_MAX, 60_000] {
            sample.note(&vec![b'a'; length]);
        }
        assert_eq!(sample.keys().iter().map(Vec::len).collect::<Vec<_>>(), [5, SAMPLED_KEY_BYTES_MAX]);
    }
}
