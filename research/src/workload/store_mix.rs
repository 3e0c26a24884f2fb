//! The core workloads of YCSB, and mixes of lookups and writes, as streams of operations on a store.
//!
//! B. F. Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010, Table 2.

use std::str::FromStr;

use super::population::Population;
use super::requests::{Chooser, Requests};
use crate::error::{Error, Result};
use crate::random::Random;

/// Entries of the longest scan of workload E; lengths are uniform from 1.
const MOST_SCANNED: u64 = 100;
/// Reads and scans among a hundred operations of the read-heavy workloads.
const READ_HEAVY: u64 = 95;

/// One operation on a store, on the record at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOperation {
    /// Looks up a key that is there.
    Read(u64),
    /// Overwrites the value of a key that is there.
    Update(u64),
    /// Puts in a key that is not there.
    Insert(u64),
    /// Reads this number of entries from a present key.
    Scan(u64, u64),
    /// Looks up a key that is there, and overwrites its value.
    ReadModifyWrite(u64),
}

/// A mix of operations on a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreMix {
    /// Half reads, half updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Reads.
    C,
    /// 95 % reads of what came in lately, 5 % inserts.
    D,
    /// 95 % scans of 1 to 100 entries, 5 % inserts.
    E,
    /// Half reads, half read-modify-writes.
    F,
    /// Updates with this percentage, else reads (Bourbon, Sections 3.2 and 5.4).
    Writes(u64),
    /// Scans of 1 to 100 entries with this percentage, else updates.
    Scans(u64),
}

impl StoreMix {
    /// The six workloads of YCSB.
    pub const YCSB: [Self; 6] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F];

    /// The name in records and on the command line.
    pub fn name(self) -> String {
        match self {
            Self::A => "ycsb-a".into(),
            Self::B => "ycsb-b".into(),
            Self::C => "ycsb-c".into(),
            Self::D => "ycsb-d".into(),
            Self::E => "ycsb-e".into(),
            Self::F => "ycsb-f".into(),
            Self::Writes(percent) => format!("writes:{percent}"),
            Self::Scans(percent) => format!("scans:{percent}"),
        }
    }

    /// The distribution of requests that the workload has by itself.
    pub fn requests(self) -> Requests {
        match self {
            Self::D => Requests::Latest { skew: Requests::YCSB_SKEW },
            Self::Writes(_) | Self::Scans(_) => Requests::Uniform,
            _ => Requests::Zipf { skew: Requests::YCSB_SKEW },
        }
    }

    /// Operations in a hundred that put in a key.
    pub fn insert_percent(self) -> u64 {
        if matches!(self, Self::D | Self::E) { 100 - READ_HEAVY } else { 0 }
    }

    /// The operations in turn, `inserted` of the keys to come being there already; fewer than `most` where those run
    /// out.
    ///
    /// # Errors
    /// As for [`Chooser::new`].
    pub fn operations<'p>(
        self,
        population: &'p Population,
        requests: &Requests,
        mut inserted: usize,
        most: usize,
        seed: u64,
    ) -> Result<impl Iterator<Item = StoreOperation> + use<'p>> {
        let mut chooser = Chooser::new(population, requests, seed)?;
        let mut random = Random::new(seed, "store operations");
        let stream = std::iter::from_fn(move || {
            let percent = random.below(100);
            if percent >= 100 - self.insert_percent() {
                let place = *population.coming().get(inserted)?;
                inserted += 1;
                return Some(StoreOperation::Insert(place));
            }
            let place = chooser.next_key(inserted);
            let (reads, other): (u64, fn(u64) -> StoreOperation) = match self {
                Self::A => (50, StoreOperation::Update),
                Self::B => (READ_HEAVY, StoreOperation::Update),
                Self::C | Self::D => (100, StoreOperation::Read),
                Self::E => return Some(StoreOperation::Scan(place, 1 + random.below(MOST_SCANNED))),
                Self::F => (50, StoreOperation::ReadModifyWrite),
                Self::Writes(writes) => (100_u64.saturating_sub(writes), StoreOperation::Update),
                Self::Scans(scans) if percent < scans => {
                    return Some(StoreOperation::Scan(place, 1 + random.below(MOST_SCANNED)));
                }
                Self::Scans(_) => (0, StoreOperation::Update),
            };
            Some(if percent < reads { StoreOperation::Read(place) } else { other(place) })
        });
        Ok(stream.take(most))
    }
}

impl FromStr for StoreMix {
    type Err = Error;

    /// Reads `ycsb-a` to `ycsb-f`, `writes:PERCENT` or `scans:PERCENT`.
    fn from_str(text: &str) -> Result<Self> {
        let refused = || Error::spec(text, "a mix is one of ycsb-a to ycsb-f, writes:PERCENT or scans:PERCENT");
        if let Some((name, percent)) = text.split_once(':') {
            let percent = percent.parse().ok().filter(|percent| *percent <= 100).ok_or_else(refused)?;
            return match name {
                "writes" => Ok(Self::Writes(percent)),
                "scans" => Ok(Self::Scans(percent)),
                _ => Err(refused()),
            };
        }
        Self::YCSB.into_iter().find(|mix| mix.name() == text).ok_or_else(refused)
    }
}

impl std::fmt::Display for StoreMix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_in_the_shares_of_the_workload() -> Result<()> {
        let population = Population::split((0..20_000).collect(), 9, 10, 1);
        // Reads, updates, inserts, scans and read-modify-writes in a hundred.
        let shares = [
            ("ycsb-a", [50, 50, 0, 0, 0]),
            ("ycsb-b", [95, 5, 0, 0, 0]),
            ("ycsb-c", [100, 0, 0, 0, 0]),
            ("ycsb-d", [95, 0, 5, 0, 0]),
            ("ycsb-e", [0, 0, 5, 95, 0]),
            ("ycsb-f", [50, 0, 0, 0, 50]),
            ("writes:20", [80, 20, 0, 0, 0]),
            ("scans:50", [0, 50, 0, 50, 0]),
        ];
        for (name, shares) in shares {
            let mix: StoreMix = name.parse()?;
            assert_eq!(mix.name(), name);
            let mut counts = [0_u64; 5];
            for operation in mix.operations(&population, &mix.requests(), 0, 20_000, 1)? {
                counts[match operation {
                    StoreOperation::Read(_) => 0,
                    StoreOperation::Update(_) => 1,
                    StoreOperation::Insert(_) => 2,
                    StoreOperation::Scan(..) => 3,
                    StoreOperation::ReadModifyWrite(_) => 4,
                }] += 1;
            }
            for (count, share) in counts.into_iter().zip(shares) {
                assert!(count.abs_diff(200 * share) < 300 && (share > 0 || count == 0), "{name}: {counts:?}");
            }
        }
        for text in ["ycsb-g", "writes:101", "writes:", "scans:101", ""] {
            assert!(text.parse::<StoreMix>().is_err(), "{text}");
        }
        Ok(())
    }

    #[test]
    fn only_what_is_there_is_read_and_each_key_comes_in_once() -> Result<()> {
        let population = Population::split((0..2_000).collect(), 1, 2, 1);
        let mut present: std::collections::BTreeSet<u64> = population.loaded().iter().copied().collect();
        present.extend(&population.coming()[..10]);
        for operation in StoreMix::D.operations(&population, &StoreMix::D.requests(), 10, 10_000, 1)? {
            match operation {
                StoreOperation::Insert(place) => assert!(present.insert(place)),
                StoreOperation::Read(place) => assert!(present.contains(&place)),
                _ => unreachable!("workload D reads and inserts"),
            }
        }
        Ok(())
    }
}
